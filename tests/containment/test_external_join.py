"""The join within a memory budget: the pairs of brute force, within the budget, and counted reads."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.containment import external_join
from dfjoin.containment.external_join import SMALLEST_BUDGET, ReadCounts, external_pairs
from dfjoin.containment.set_collection import SetCollection, encode_sides
from dfjoin.containment.subset_join import scan_pairs
from dfjoin.errors import InvalidParameterError
from tests.oracles.containment import naive_pairs, random_sets, sets_of


def rows_of(parts):
    return sorted(row for part in parts for row in zip(*(a.tolist() for a in part), strict=True))


def mapped(sets, directory, name):
    np.save(directory / f"{name}-indptr.npy", sets.indptr)
    np.save(directory / f"{name}-elements.npy", sets.elements)
    arrays = [np.load(directory / f"{name}-{part}.npy", mmap_mode="r") for part in ("indptr", "elements")]
    return SetCollection(*arrays, sets.n_elements)


@pytest.mark.parametrize("budget", [1 << 12, 1 << 14, 1 << 22])
@pytest.mark.parametrize("n_elements", [3, 40, 400])
def test_pairs_are_those_of_brute_force_at_any_budget(rng, tmp_path, budget, n_elements):
    left, right = encode_sides(random_sets(rng, 150, n_elements, 8, 0.7), random_sets(rng, 180, n_elements, 16, 0.7))
    expected = [row for row in naive_pairs(sets_of(left), sets_of(right)) if row[2]]
    counts = ReadCounts()
    sides = mapped(left, tmp_path, "left"), mapped(right, tmp_path, "right")
    assert rows_of(external_pairs(*sides, budget, counts)) == expected
    assert counts.partitions >= 1 and counts.batches >= 1
    assert counts.partitions == 1 or budget < 1 << 22
    assert rows_of(external_pairs(left, left, budget, ReadCounts())) == rows_of(scan_pairs(left, left))
    is_left = rng.random(150) < 0.5
    found = rows_of(external_pairs(left, right, budget, ReadCounts(), is_left))
    assert found == [row for row in expected if is_left[row[0]]]


def test_memory_stays_within_the_budget(rng, tmp_path):
    sizes = rng.poisson(7, 120_000) + 1
    made = encode_sides((np.append(0, np.cumsum(sizes)), rng.integers(0, 12_000, int(sizes.sum())).astype(np.uint32)))[
        0
    ]
    sets = mapped(made, tmp_path, "sets")
    n = sum(part.left.size for part in scan_pairs(sets, sets))
    del made
    budget, counts = SMALLEST_BUDGET, ReadCounts()
    tracemalloc.start()
    found = sum(part.left.size for part in external_pairs(sets, sets, budget, counts))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == n
    assert peak <= 1.1 * budget
    assert counts.right_runs <= counts.right_pages


def test_pages_are_counted_once(monkeypatch):
    monkeypatch.setattr(external_join, "_PAGE", 8)
    assert external_join._count_pages(np.array([0, 2, 3]), np.array([2, 3, 5]), 4) == 3
    assert external_join._count_pages(np.array([0, 5]), np.array([2, 6]), 4) == 2
    assert external_join._count_pages(np.array([], np.int64), np.array([], np.int64), 4) == 0


def test_the_public_join_takes_a_budget(rng):
    left = random_sets(rng, 80, 20, 5, 0.5)
    pairs = dfjoin.containment_join(left, memory_budget=SMALLEST_BUDGET)
    assert pairs.stats == {}
    assert pairs.to_frame().equals(dfjoin.containment_join(left).to_frame())
    assert pairs.stats["partitions"] == 1 and pairs.stats["right_pages"] >= 1


def test_a_lake_is_joined_within_a_budget(rng, build):
    frames = {f"t{i}": pd.DataFrame({"a": [f"v{v}" for v in rng.integers(0, 9, 20)], "b": range(20)}) for i in range(6)}
    lake = build(dict(list(frames.items())[:4]))
    lake.add(dict(list(frames.items())[4:]), engine="inline", progress=False)
    lake.remove("t1")
    pairs = lake.containment_join(memory_budget=SMALLEST_BUDGET)
    assert pairs.to_frame().equals(lake.containment_join().to_frame())
    assert pairs.stats["partitions"] >= 2


def test_wrong_budgets_are_refused():
    with pytest.raises(InvalidParameterError, match="`memory_budget` must be at least 1048576 bytes, got 5"):
        dfjoin.containment_join([[1]], memory_budget=5)
    with pytest.raises(InvalidParameterError, match=r"`memory_budget` needs `threshold` 1, got 0\.5"):
        dfjoin.containment_join([[1]], memory_budget=1 << 20, threshold=0.5)
    with pytest.raises(InvalidParameterError, match="`memory_budget` needs `method` None or 'scan', got 'tree'"):
        dfjoin.containment_join([[1]], memory_budget=1 << 20, method="tree")
