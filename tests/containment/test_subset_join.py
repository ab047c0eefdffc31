"""Every method of the set containment join against brute force."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.containment import subset_join, subset_pairs
from dfjoin.containment.external_join import ReadCounts, external_pairs
from dfjoin.containment.lcjoin import tree_join
from dfjoin.containment.set_collection import encode_sides
from dfjoin.containment.subset_join import METHODS, ContainmentOptions, join_collections
from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.sets.subset_runs import Pairs
from tests.oracles.containment import naive_pairs, random_sets, sets_of


def found(sides, options):
    rows = [row for part in join_collections(*sides, options) for row in zip(*(a.tolist() for a in part), strict=True)]
    assert len(set(rows)) == len(rows)
    return sorted(rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_elements", [1, 4, 40, 500])
@pytest.mark.parametrize("is_same", [True, False])
def test_every_method_finds_what_brute_force_finds(rng, method, n_elements, is_same):
    for n, largest in ((0, 3), (1, 3), (60, 1), (150, 9)):
        left = random_sets(rng, n, n_elements, largest, rng.random() * 1.5)
        right = None if is_same else random_sets(rng, 130, n_elements, 14, rng.random() * 1.5)
        sides = encode_sides(left, right)
        expected = naive_pairs(*map(sets_of, sides))
        assert found(sides, ContainmentOptions(1.0, method)) == expected


@given(
    st.lists(st.frozensets(st.integers(0, 9), max_size=6), max_size=12),
    st.lists(st.frozensets(st.integers(0, 9), max_size=9), max_size=12),
    st.sampled_from([*METHODS, 0.01, 0.34, 0.5, 0.9]),
)
def test_lists_of_sets_are_joined_as_brute_force_does(left, right, how):
    options = {"method": how} if isinstance(how, str) else {"threshold": how}
    frame = dfjoin.containment_join(left, right, **options).to_frame()
    expected = naive_pairs(left, right, options.get("threshold", 1.0))
    assert list(zip(frame["left"], frame["right"], frame["matched"], strict=True)) == expected
    shares = [m / len(left[i]) if left[i] else 1.0 for i, _, m in expected]
    assert frame["containment"].tolist() == shares


@pytest.mark.parametrize("n_elements", [20, 400])
def test_long_lists_that_many_sets_share_are_sliced(rng, n_elements):
    sides = encode_sides(random_sets(rng, 1500, n_elements, 5, 0.3), random_sets(rng, 6000, n_elements, 12, 0.3))
    expected = found(sides, ContainmentOptions(1.0, "cross"))
    assert found(sides, ContainmentOptions(1.0, "scan")) == expected
    assert len(expected) > 1000


@pytest.mark.parametrize("n_elements", [90, 3000])
def test_large_right_sets_are_marked_or_sliced(rng, n_elements):
    left, right = random_sets(rng, 900, n_elements, 4, 0.4), random_sets(rng, 150, n_elements, 500, 0.4)
    sides = encode_sides(left, right)
    expected = found(sides, ContainmentOptions(1.0, "cross"))
    assert found(sides, ContainmentOptions(1.0, "scan")) == expected
    assert len(expected) > 1000
    nonempty = [row for row in expected if row[2]]
    rows = [r for part in external_pairs(*sides, 1 << 20, ReadCounts()) for r in zip(*map(list, part), strict=True)]
    assert sorted(rows) == nonempty


@pytest.mark.parametrize("method", METHODS)
def test_batches_are_as_small_as_there_is_room_and_time(rng, monkeypatch, method):
    sides = encode_sides(random_sets(rng, 1200, 12, 3, 0.5))
    expected = found(sides, ContainmentOptions(1.0, method))

    def small(room=0):
        return Pairs(*(np.empty(max(7, min(room, len(sides[0]))), np.int32) for _ in range(2)))

    for module in (subset_join, tree_join):
        monkeypatch.setattr(module, "new_buffer", small)
    monkeypatch.setattr(subset_pairs, "STEPS", 50)
    monkeypatch.setattr(subset_join, "ROOM", 100)
    assert found(sides, ContainmentOptions(1.0, method)) == expected


def test_large_sets_are_searched_by_steps(rng):
    large = np.arange(0, 60_000, 3)
    left = [large[:40], large, np.append(large[:10], 1), [59_997], np.arange(70)]
    right = [large, np.arange(60_000), [0, 3]]
    expected = naive_pairs([frozenset(map(int, one)) for one in left], [frozenset(map(int, one)) for one in right])
    for options in ({"method": name} for name in METHODS):
        frame = dfjoin.containment_join(left, right, **options).to_frame()
        assert list(zip(frame["left"], frame["right"], frame["matched"], strict=True)) == expected


def test_rows_without_a_set_are_in_no_pair():
    column = pd.Series([["a"], None, [], ["a", "b", None]])
    frame = dfjoin.containment_join(column).to_frame()
    assert list(zip(frame["left"], frame["right"], strict=True)) == [(0, 0), (0, 3), (2, 0), (2, 2), (2, 3), (3, 3)]
    assert len(dfjoin.containment_join(pd.Series([], dtype=object)).to_frame()) == 0


def test_wrong_arguments_are_refused():
    with pytest.raises(InvalidParameterError, match="`threshold` must be above 0, got 0"):
        dfjoin.containment_join([["a"]], threshold=0)
    with pytest.raises(
        InvalidParameterError, match="`method` must be one of None, 'scan', 'cross', 'tree', 'partitions', got 'x'"
    ):
        dfjoin.containment_join([["a"]], method="x")
    with pytest.raises(InvalidParameterError, match="`method` must be None where `threshold` is below 1, got 'tree'"):
        dfjoin.containment_join([["a"]], method="tree", threshold=0.5)
