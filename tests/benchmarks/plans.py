"""The planner against each plan, warm and cold, with and without strong matches; what a cold query touches.

A cold query runs in a forked child, the index's files dropped from the page cache before. Only Linux can.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.kernels.lists.vocabulary import gather_groups
from dfjoin.search.exact.posting_lists import Query, match_tokens
from dfjoin.search.exact.searcher import run_plan, searcher_of
from dfjoin.search.query import make_query

PLANS = (None, "mergelist", "probeset", "josie")
_STRONG = 0.1  # matches above this share of the query are strong
_NOTHING = np.empty(0, np.uint8)


def _name(plan: str | None) -> str:
    return plan or "planner"


def _query(lake: Any, values: Any, k: int, is_weak: bool) -> Query:
    """Match a query; with `is_weak` the columns that hold more than a tenth of it are left out."""
    (segment,) = lake.segments
    tokens = segment.tokens
    groups = match_tokens(values, tokens)
    gather_groups(groups, tokens.group, tokens.group_indptr.size - 1)
    query = Query(groups, np.empty(0, np.int32), _NOTHING, 1, k)
    if is_weak:
        everything = Query(groups, query.weights, _NOTHING, max(1, int(_STRONG * len(values))), segment.n_columns)
        strong = run_plan(segment, searcher_of(lake.snapshot).scratch_of(0), everything, "mergelist").columns
        allowed = np.ones(segment.n_columns, np.uint8)
        allowed[strong] = 0
        query = Query(groups, query.weights, allowed, 1, k)
    return query


def measure_warm(lake: Any, queries: list[tuple[str, pd.Series]], rounds: int = 3, k: int = 10) -> pd.DataFrame:
    """Time the plans from matched query to ranked columns; µs p50, and the planner over the best, by stratum.

    The ratio is that of medians over the stratum's queries, as a user who fixed one plan would see it, and of
    sums, which large queries rule.
    """
    (segment,) = lake.segments
    scratch = searcher_of(lake.snapshot).scratch_of(0)
    rng = np.random.default_rng(5)
    spent: dict[tuple[bool, str, str], list[float]] = defaultdict(list)
    for is_weak in (False, True):
        made = [
            (stratum, _query(lake, make_query(column, lake.settings, name="q").values, k, is_weak))
            for stratum, column in queries
        ]
        for turn in range(rounds + 1):
            for stratum, query in made:
                for number in rng.permutation(len(PLANS)).tolist():
                    start = time.perf_counter()
                    run_plan(segment, scratch, query, PLANS[number])
                    if turn:
                        spent[is_weak, stratum, _name(PLANS[number])].append((time.perf_counter() - start) * 1e6)
    return _table(spent, ["weak matches only", "stratum"])


def _table(spent: dict[Any, list[float]], names: list[str]) -> pd.DataFrame:
    rows: dict[Any, dict[str, float]] = {}
    for (*place, plan), values in spent.items():
        row = rows.setdefault(tuple(place), {})
        row[plan], row[f"{plan} sum"] = float(np.median(values)), float(np.sum(values))
    for row in rows.values():
        for suffix in ("", " sum"):
            best = min(row[_name(plan) + suffix] for plan in PLANS[1:])
            row[f"planner/best{suffix}"] = row[f"planner{suffix}"] / best
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index = pd.MultiIndex.from_tuples(frame.index, names=names)
    return frame.drop(columns=[f"{_name(plan)} sum" for plan in PLANS])


def drop_from_cache(index: Path) -> None:
    """Ask the operating system to forget the index's pages; those that are mapped somewhere stay."""
    for file in index.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _mapped_kb() -> int:
    """Kilobytes of file pages that this process has touched."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssFile"))


def cold_query(index: Path, column: pd.Series, plan: str | None) -> dict[str, float]:
    """Run one query in a forked child that has never seen the index; seconds, and MB touched and read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before = _mapped_kb()
            start = time.perf_counter()
            lake = dfjoin.open_lake(index)
            opened = time.perf_counter()
            hits = dfjoin.discover_joinable(pd.DataFrame({"q": column}), "q", lake, k=10, plan=plan, rank="matched")
            done = time.perf_counter()
            (search,) = hits.attrs["dfjoin"]["searches"]
            figures = [opened - start, done - opened, (_mapped_kb() - before) / 1e3, search["bytes_read"] / 1e6]
            os.write(writing, " ".join(map(str, figures)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return dict(zip(("open", "query", "touched MB", "postings MB"), map(float, text.split()), strict=True))


def measure_cold(index: Path, warm: Path, queries: list[tuple[str, pd.Series]]) -> pd.DataFrame:
    """Time whole queries on an index of which nothing is in memory; ms p50 by stratum, and what they touched.

    Parameters
    ----------
    index : Path
        The index; no one else may have it open.
    warm : Path
        A small index: kernels are compiled and libraries loaded on it first.
    queries : list of (stratum, column)
    """
    small = dfjoin.open_lake(warm)
    for plan in PLANS:
        dfjoin.discover_joinable(pd.DataFrame({"q": ["france", "peru"]}), "q", small, k=10, plan=plan, rank="matched")
    spent: dict[tuple[str, str], list[float]] = defaultdict(list)
    more: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for stratum, column in queries:
        for plan in PLANS:
            drop_from_cache(index)
            figures = cold_query(index, column, plan)
            spent[stratum, _name(plan)].append(figures["query"] * 1e3)
            if plan is None:
                for name in ("open", "touched MB", "postings MB"):
                    more[stratum][name].append(figures[name] * (1e3 if name == "open" else 1))
    table = _table(spent, ["stratum"])
    for stratum, columns in more.items():
        for name, values in columns.items():
            table.loc[(stratum,), "open ms" if name == "open" else name] = float(np.median(values))
    return table
