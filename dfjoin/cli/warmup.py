"""Compile every kernel ahead of its first use, by using each: a tiny lake, and all that can be done with it."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.api import auto_join, build_lake, containment_join, discover_joinable
from dfjoin.containment.external_join import SMALLEST_BUDGET
from dfjoin.containment.subset_join import METHODS
from dfjoin.errors import DfjoinError, DfjoinWarning
from dfjoin.index.segment import Segment
from dfjoin.kernels.boosted_trees import (
    BinnedRows,
    add_trees,
    empty_trees,
    grow_tree,
    pack_gradients,
    tree_scratch,
)
from dfjoin.kernels.lists.mergelist import sum_sets
from dfjoin.kernels.lists.paging import cold_blocks
from dfjoin.kernels.lists.usefulness import FEATURES
from dfjoin.kernels.numba._compile import watch
from dfjoin.kernels.numba.shipped_kernels import SHIPPED, PortableTarget, ship_kernels
from dfjoin.kernels.records import Sets, Tally, as_read_only
from dfjoin.lake import Lake
from dfjoin.programs.program import Program
from dfjoin.search.exact.posting_lists import ReadAhead
from dfjoin.search.usefulness.model import model
from dfjoin.vectors.embedders import to_texts
from dfjoin.vectors.fasttext_model import TrainingOptions, train_fasttext

_N = 300  # values of a column: enough for blocks, signatures and trees
_STEPS: tuple[dict[str, Any], ...] = (
    {"step": "split", "separator": " ", "index": 0},
    {"step": "after", "separator": " "},
    {"step": "before", "separator": " "},
    {"step": "run", "kind": "digits", "index": 0},
    {"step": "slice", "start": 0, "stop": 3},
    {"step": "case", "style": "lower"},
    {"step": "case", "style": "title"},
    {"step": "plain"},
    {"step": "keep", "kind": "digits"},
    {"step": "replace", "old": " ", "new": "-"},
    {"step": "squeeze"},
    {"step": "pad", "width": 9, "fill": "0"},
    {"step": "group", "separator": ","},
)


def warm_up() -> tuple[int, float]:
    """Use every kernel once.

    Returns
    -------
    n_compiled : int
        Functions that were compiled for it; 0 when all were kept from before.
    seconds : float
        What compiling them took.

    Notes
    -----
    What is compiled depends on the types of the arrays alone, and these are the same for every lake.
    """
    n_before, seconds_before = watch.n_compiled, watch.seconds
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore", DfjoinWarning)
        lake = _build(Path(directory) / "warmup.dfjoin")
        _search(lake)
        _search_points(Path(directory) / "places.dfjoin")
        _train()
        _join()
        _contain(lake)
        _boost()
    return watch.n_compiled - n_before, watch.seconds - seconds_before


def warm_up_portable() -> tuple[int, float]:
    """Compile every kernel for all processors of a common level, and put them into the package itself.

    Processes that find nothing in their own cache take them from there: those of other users, of containers that
    cannot write, on other machines.

    Returns
    -------
    n_compiled : int
        Functions that were compiled.
    seconds : float
        What compiling them took.

    Raises
    ------
    DfjoinError
        If no level of processors is known for this machine, the package cannot be written, or a kernel cannot be
        compiled.
    """
    if not PortableTarget().level:
        raise DfjoinError(
            f"kernels for many processors can be made on x86_64, not on {platform.machine()}; "
            "`dfjoin warmup` compiles them for this one"
        )
    try:
        written = ship_kernels([sys.executable, "-m", "dfjoin", "warmup", "--json"])
    except subprocess.CalledProcessError as error:
        raise DfjoinError(
            f"the kernels cannot be compiled: the process that uses them ended with status {error.returncode}, and "
            "wrote the reason to standard error; the package is as it was before"
        ) from error
    except OSError as error:
        raise DfjoinError(
            f"the compiled kernels cannot be written to {SHIPPED}: {error.strerror}; call it as the user who may write "
            "there, or `dfjoin warmup`, which keeps them in your own cache"
        ) from error
    found = json.loads(written)
    return found["compiled"], found["seconds"]


def _people() -> pd.DataFrame:
    """Make a table with names, numbers, dates of two spellings, and texts that Python normalises."""
    first = [f"{'abcdefghij'[i % 10]}{'aeiou'[i // 10 % 5]}{'rstlnm'[i // 50]}a" for i in range(_N)]
    last = [f"{'klmnopqrst'[i % 10]}{'aeiou'[i // 10 % 5]}{'vwxyzb'[i // 50]}on" for i in range(_N)]
    return pd.DataFrame(
        {
            "name": [f"{b}, {a}" for a, b in zip(first, last, strict=True)],
            "reversed": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "number": [f"{i:05d}" for i in range(_N)],
            "count": range(1000, 1000 + _N),
            "day": [f"{i % 28 + 1}/{i % 12 + 1}/{2000 + i % 20}" for i in range(_N)],
            "moment": [f"2020-01-{i % 28 + 1:02d} 10:00:00+02:00" for i in range(_N)],
            "accents": [f"e\u0301t\u00e9 {i} \ufb03" for i in range(_N)],
            "nulls": ["NA" if i % 7 == 0 else i + 5000 for i in range(_N)],
        }
    )


def _build(path: Path) -> Lake:
    """Build, add to and compact an index with signatures and pieces."""
    people = _people()
    settings = {"permutations": 32, "signature_min": 50, "partitions": 2, "patterns": True, "row_signatures": True}
    tables = {"people": people, "names": people[["name", "count"]], "some": people.iloc[::3]}
    lake = build_lake(tables, path, engine="inline", progress=False, settings=settings, embedder="fasttext")
    lake.add({"more": people.iloc[::2]}, engine="inline", progress=False)
    return lake.remove("some").compact(full=True)


def _search(lake: Lake) -> None:
    """Search in every mode and by every plan, and join."""
    people = _people()
    for plan in ("mergelist", "probeset", "josie"):
        for weighted in (False, True):
            discover_joinable(people, "name", lake, plan=plan, weighted=weighted)
    discover_joinable(people.head(1), "name", lake)  # fewer postings than its columns have: evidence from the former
    hits = discover_joinable(people, None, lake, k=3)
    str(hits.explain(0))
    key: Any = ["name", "count"]
    discover_joinable(people, key, lake, min_score=0.0)
    for first in (0, 1000):  # once without the leading zeros, once as they are
        discover_joinable(pd.DataFrame({"number": range(first, first + _N)}), "number", lake)
    for verify in (True, False):
        discover_joinable(people, "name", lake, mode="lsh", threshold=0.5, verify=verify)
    for plan in ("tree", "gemm", "pexeso"):
        near = discover_joinable(people, "name", lake, mode="embedding", plan=plan, tables="names")
    str(near.explain(0))
    auto_join(people, near.iloc[:1])
    discover_joinable(people, "number", lake, mode="embedding")
    discover_joinable(people, "name", lake, mode="embedding", rank="useful")
    for metric in ("edit", "jaccard", "tokens"):
        discover_joinable(people, "name", lake, mode="fuzzy", metric=metric, tables="names")
    long = people.assign(name=people["name"] + "n" * 64)  # texts above 64 characters are signed otherwise, too
    discover_joinable(long, "name", lake, mode="fuzzy", metric="edit", tables="names")
    by_program = discover_joinable(people, "reversed", lake, mode="transform", tables="names")
    if len(by_program):
        str(by_program.explain(0))
    auto_join(people, lake, on="name")
    _read_segment(lake.segments[0])


def _search_points(path: Path) -> None:
    """Search among points by both plans, and join with the nearest."""
    places = pd.DataFrame({"lat": [i / 7 for i in range(_N)], "lon": [i / 3 for i in range(_N)]})
    lake = build_lake({"places": places}, path, engine="inline", progress=False)
    on: Any = ["lat", "lon"]
    near: dict[str, Any] = {"mode": "embedding", "radius": 9.0, "radius_unit": "km"}
    for plan in ("tree", "pexeso"):
        hits = discover_joinable(places, on, lake, plan=plan, **near)
    auto_join(places, hits.iloc[:1])
    discover_joinable(places, on, lake, rank="useful", **near)


def _train() -> None:
    """Train vectors of words; a small index has too few of them."""
    texts = to_texts([f"word{i} word{i + 1}" for i in range(1200)])
    train_fasttext(texts, TrainingOptions(dimension=8, n_buckets=64))


def _read_segment(segment: Segment) -> None:
    """Use what a search of a small lake does without: read-ahead of posting lists and tokens, and the sum of sets."""
    tokens, n_columns = segment.tokens, segment.n_columns
    n_lists = tokens.list_indptr.size - 1
    ReadAhead(tokens.list_columns).prefetch(np.arange(n_lists, dtype=np.uint32), tokens.list_indptr)
    cold_blocks(tokens.hash[:1], tokens.directory, tokens.hash.size, np.zeros(1, np.uint8), np.empty(1, np.int64))
    tally = Tally(*(np.zeros(n, np.int32) for n in (n_columns, n_lists, n_columns + 1)))
    model().scores(np.zeros((1, len(FEATURES))))  # fits of the model alone score features that are known
    sum_sets(np.zeros(1, np.int32), Sets(tokens.set_indptr, tokens.set_lists), tally, np.empty(1, np.int32))


def _join() -> None:
    """Join frames by equal values, by programs and by similarity."""
    people = _people()
    auto_join(people[["name"]], people[["name", "count"]])
    auto_join(people[["name"]], people[["reversed", "count"]])
    for counts in (people["count"] + 1, people["count"][::-1]):  # ascending numbers are met, others looked up
        auto_join(people[["count"]], pd.DataFrame({"count": counts, "x": 1.5}), on="count")
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=_N)})
    auto_join(days, days.assign(x=1.5), on="day")
    reference = people["reversed"].str.title()
    spelled = [_misspell(name, i) for i, name in enumerate(reference[::2])]
    auto_join(pd.DataFrame({"person": reference}), pd.DataFrame({"somebody": spelled, "x": range(len(spelled))}))
    texts = pa.array(["Some Body, (1961)", "1234567", None, "\u00c9t\u00e9  \u0141"] * 50)  # fewer need no kernel
    for step in _STEPS:
        program = {"version": 1, "columns": ["a"], "pieces": [{"column": 0, "steps": [step]}]}
        Program.from_dict(program).apply([texts])


def _contain(lake: Lake) -> None:
    """Join sets by every method, some whole, some in part, and find the foreign keys of a lake."""
    lake.join_graph()
    sets = [list(range(i % 7)) for i in range(_N)] + [list(range(100))]
    for method in METHODS:
        containment_join(sets, method=method).count()
    containment_join(sets, threshold=0.5).count()
    containment_join(sets, memory_budget=SMALLEST_BUDGET).count()


def _boost() -> None:
    """Grow a tree, as `LakeAugmenter` does, which needs scikit-learn."""
    bins, rows = as_read_only(np.ones((2, _N), np.uint8)), as_read_only(np.arange(_N))
    trees, scratch = empty_trees(1, 2), tree_scratch(_N, 2, 2, False)
    data = BinnedRows(bins, as_read_only(np.arange(2)), rows)
    grow_tree(data, pack_gradients(np.ones(_N), np.empty(0)), 3, 0.1, scratch, trees, 0, np.zeros(_N))
    add_trees(bins, trees, rows, rows, as_read_only(np.zeros((1, 2), np.uint8)), np.empty(_N), np.zeros((1, _N)))


def _misspell(name: str, i: int) -> str:
    """Spell a name differently, in one of four spellings."""
    first, last = name.split()
    at = 1 + i % (len(last) - 1)
    return (f"{last}, {first}", f"{first} {last[:at]}{last[at + 1 :]}", f"Dr. {name.upper()}", f"{name} (b. 1970)")[
        i % 4
    ]
