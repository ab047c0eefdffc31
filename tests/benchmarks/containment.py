"""The set containment join against the literature and against what a user would write otherwise.

The synthetic protocol of Yang et al. (VLDB Journal 2021, section 7.1.1, Table 3), each collection joined with itself, cut
to a share of its size: cardinality and number of distinct elements are multiplied by it, so that lists are as long as in
the paper. Each run has a process of its own, forked after the kernels are compiled: CPU time, and by how much its memory
exceeded at its peak that with the collection alone (Spark's other process is not among it).
"""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from dfjoin.containment.external_join import SMALLEST_BUDGET
from dfjoin.containment.set_collection import SetCollection, encode_sides
from dfjoin.containment.subset_join import METHODS, ContainmentOptions, join_collections
from tests.benchmarks.containment_rivals import RIVALS, expretti

DEFAULT = {"cardinality": 10_000_000, "size": 8, "elements": 1_000_000, "z": 0.5}
VARIED = {
    "cardinality": (2_500_000, 5_000_000, 20_000_000),
    "size": (4, 16, 32, 64, 128),
    "elements": (10_000, 100_000, 10_000_000),
    "z": (0.25, 0.75, 1.0),
}
SLOW = {"scipy.sparse", "DuckDB"}
SPARK = "Spark SQL"


def synthetic(cardinality: int, size: int, elements: int, z: float, seed: int = 0) -> SetCollection:
    """Sets whose sizes are Poisson distributed around `size`, of elements whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    sizes = rng.poisson(size - 1, cardinality) + 1
    share = np.cumsum(1 / np.arange(1, elements + 1) ** z)
    drawn = np.searchsorted(share / share[-1], rng.random(int(sizes.sum())))
    numbers = rng.permutation(elements).astype(np.uint32)
    return encode_sides((np.append(0, np.cumsum(sizes)), numbers[drawn]))[0]


def ours(method: str | None) -> Callable[[SetCollection, SetCollection], int]:
    """The join by one method of the package, its pairs counted and dropped."""

    def run(left: SetCollection, right: SetCollection) -> int:
        return sum(part.left.size for part in join_collections(left, right, ContainmentOptions(1.0, method)))

    return run


def contenders(names: list[str] | None) -> dict[str, Callable]:
    """What is compared, by name; Spark only where it is asked for."""
    every = {f"dfjoin {name}": ours(name) for name in METHODS} | RIVALS
    return {name: run for name, run in every.items() if name in (names or set(every) - {SPARK})}


def in_own_process(
    run: Callable, sets: SetCollection, limit: int, clock: Callable[[], float] = time.process_time
) -> tuple[int, float, float]:
    """Number of pairs, seconds of a clock and MB of peak memory of one run; -1 pairs if it ran out of CPU time or memory."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        return_freed_memory()
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, int(time.process_time()) + limit))
        Path("/proc/self/clear_refs").write_text("5")  # the peak of the memory is the present one
        before = peak_memory()
        start = clock()
        n = run(sets, sets)
        spent = clock() - start
        os.write(write, pickle.dumps((int(n), spent, peak_memory() - before)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(text) if text else (-1, float("inf"), float("nan"))


def return_freed_memory() -> None:
    """Give what was freed back to the system, now and from now on at once, so that the peak is what a run allocates."""
    libc = ctypes.CDLL(None)
    libc.mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD
    libc.malloc_trim(0)


def peak_memory() -> float:
    """MB of memory that this process had at most."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def run_containment(share: float, names: list[str] | None, limit: int, index: Path | None) -> pd.DataFrame:
    """Print CPU seconds (of Spark: seconds) and peak memory of every contender at every setting of the protocol."""
    known = contenders(names)
    for tiny in (
        synthetic(500, 4, 50, 0.5),
        synthetic(40, 100, 900, 0.5),
    ):  # all kernels are compiled before processes fork
        expected = {name: run(tiny, tiny) for name, run in known.items()}
        assert len(set(expected.values())) == 1, expected
    settings = [DEFAULT] + [DEFAULT | {name: value} for name, values in VARIED.items() for value in values]
    cases = [
        (
            " ".join(f"{k}={v:,}" for k, v in one.items()),
            synthetic(int(one["cardinality"] * share), one["size"], max(2, int(one["elements"] * share)), one["z"]),
        )
        for one in settings
    ]
    if index is not None:
        cases.append((f"columns of {index.name}", lake_sets(index)))
    rows = []
    for title, sets in cases:
        row: dict[str, object] = {"setting": title, "pairs": None}
        for name, run in known.items():
            if name in SLOW and title != cases[0][0]:
                continue
            clock = time.perf_counter if name == SPARK else time.process_time
            n, spent, peak = in_own_process(run, sets, limit, clock)
            row[name], row[f"{name} MB"] = spent, peak
            if n >= 0:
                assert row["pairs"] in (None, n), (title, name, n, row["pairs"])
                row["pairs"] = n
        rows.append(row)
        print(row, flush=True)
    table = pd.DataFrame(rows).set_index("setting")
    print(table.to_string(float_format="{:.2f}".format))
    return table


def run_external(share: float) -> pd.DataFrame:
    """Print time, memory and pages read of the default setting in mapped files, within budgets, and of the extended PRETTI."""
    made = synthetic(
        int(DEFAULT["cardinality"] * share), DEFAULT["size"], int(DEFAULT["elements"] * share), DEFAULT["z"]
    )
    rows = []
    with tempfile.TemporaryDirectory() as place:
        np.save(Path(place) / "indptr.npy", made.indptr)
        np.save(Path(place) / "elements.npy", made.elements)
        arrays = [np.load(Path(place) / f"{name}.npy", mmap_mode="r") for name in ("indptr", "elements")]
        sets = SetCollection(*arrays, made.n_elements)
        in_memory = min(timed(lambda: ours("scan")(made, made))[1] for _ in range(3))
        for part in (4, 16, 64):
            budget = max(made.nbytes // part, SMALLEST_BUDGET)
            options = ContainmentOptions(1.0, None, budget)
            n, spent = timed(lambda o=options: sum(one.left.size for one in join_collections(sets, sets, o)))
            again = ContainmentOptions(1.0, None, budget)
            tracemalloc.start()
            sum(one.left.size for one in join_collections(sets, sets, again))
            peak = tracemalloc.get_traced_memory()[1] / budget
            tracemalloc.stop()
            (n_rival, pages), rival = timed(lambda b=budget: expretti(made, made, b))
            assert n == n_rival, (n, n_rival)
            own = {"seconds": spent, "of in memory": spent / in_memory, "peak / budget": peak, **again.stats()}
            rows.append(
                {"budget": f"1/{part}"} | own | {"EXPRETTI pages": pages, "EXPRETTI seconds, both orders": rival}
            )
    table = pd.DataFrame(rows).set_index("budget")
    print(f"{len(made):,} sets, {made.nbytes / 2**20:.0f} MB; in memory {in_memory:.2f} s")
    print(table.T.to_string(float_format="{:.2f}".format))
    return table


def timed(run: Callable) -> tuple:
    """What a call returns, and its CPU seconds."""
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def lake_sets(index: Path) -> SetCollection:
    """The columns of an index as sets of posting lists, those without one left out."""
    import dfjoin
    from dfjoin.containment.column_pairs import columns_to_join, sides_of

    (segment,) = dfjoin.open_lake(index).segments
    columns = columns_to_join(segment, 2)
    sets = sides_of(segment, segment, columns, columns).left
    sizes = sets.sizes[sets.sizes > 0]
    return SetCollection(np.append(0, np.cumsum(sizes)), sets.elements, sets.n_elements)
