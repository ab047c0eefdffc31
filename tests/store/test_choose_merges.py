"""Which segments are merged: a pure function of sizes and deletions."""

import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dfjoin.store.compact import choose_merges

TARGET = 1000
segments = st.lists(
    st.tuples(st.integers(0, 3 * TARGET), st.one_of(st.just(0.0), st.sampled_from([0.1, 0.25, 0.26, 1.0]))), max_size=40
)


def alive_size(size, share):
    return round(size * (1 - share))


@given(segments, st.booleans())
def test_groups_are_disjoint_and_within_the_target(given_segments, is_full):
    sizes = [size for size, _ in given_segments]
    deleted = [share for _, share in given_segments]
    groups = choose_merges(sizes, deleted, TARGET, is_full=is_full)
    members = [number for group in groups for number in group]
    assert len(members) == len(set(members)) and set(members) <= set(range(len(sizes)))
    for group in groups:
        if len(group) > 1:
            assert sum(alive_size(*given_segments[n]) for n in group) <= TARGET
            assert all(alive_size(*given_segments[n]) <= TARGET // 2 for n in group)
        else:
            assert deleted[group[0]] > (0 if is_full else 0.25), "a segment is written anew for nothing"


@given(segments, st.booleans())
def test_it_comes_to_rest(given_segments, is_full):
    """Applying the choice again and again ends, and there are few small segments then."""
    found = list(given_segments)
    for _ in range(60):
        groups = choose_merges([s for s, _ in found], [d for _, d in found], TARGET, is_full=is_full)
        if not groups:
            break
        gone = {n for group in groups for n in group}
        merged = [(sum(alive_size(*found[n]) for n in group), 0.0) for group in groups]
        found = [s for n, s in enumerate(found) if n not in gone] + merged
    assert not groups
    small = [alive_size(*s) for s in found if alive_size(*s) <= TARGET // 2]
    assert len(small) <= (1 if is_full else 3 * (math.ceil(math.log(TARGET, 4)) + 1))


def test_nothing_to_do():
    assert choose_merges([], [], TARGET) == []
    assert choose_merges([10], [0.0], TARGET) == choose_merges([10], [0.0], TARGET, is_full=True) == []
    assert choose_merges([10, 10, 10], [0.0] * 3, TARGET) == []
    assert choose_merges([900, 800, 700, 501, 600], [0.0] * 5, TARGET) == []


def test_half_the_target_is_small_and_a_byte_more_is_not():
    assert choose_merges([500, 500], [0.0] * 2, TARGET, is_full=True) == [[0, 1]]
    assert choose_merges([500] * 4, [0.0] * 4, TARGET) == [[0, 1], [2, 3]]
    assert choose_merges([501, 499], [0.0] * 2, TARGET, is_full=True) == []


@given(segments, st.booleans())
def test_what_must_be_merged_is_merged(given_segments, is_full):
    """Four small segments of about one size, or any two of them if all are to go, do not stay as they are."""
    sizes = [alive_size(*segment) for segment in given_segments]
    groups = choose_merges([s for s, _ in given_segments], [d for _, d in given_segments], TARGET, is_full=is_full)
    left = sorted(
        size for n, size in enumerate(sizes) if size <= TARGET // 2 and n not in {m for g in groups for m in g}
    )
    if is_full:
        assert len(left) <= 1
    elif not groups:
        assert not any(d <= 4 * max(1, a) for a, d in zip(left, left[3:], strict=False))


def test_four_of_a_size_are_merged():
    assert choose_merges([10, 11, 12, 13], [0.0] * 4, TARGET) == [[0, 1, 2, 3]]
    assert choose_merges([40, 10, 10, 10], [0.0] * 4, TARGET) == [[1, 2, 3, 0]]
    assert choose_merges([41, 10, 10, 10], [0.0] * 4, TARGET) == []


def test_all_are_merged_when_asked_to():
    assert choose_merges([400, 1, 20], [0.0] * 3, TARGET, is_full=True) == [[1, 2, 0]]
    assert choose_merges([600, 1, 20], [0.0] * 3, TARGET, is_full=True) == [[1, 2]]
    assert choose_merges([600, 1], [0.0] * 2, TARGET, is_full=True) == []


@pytest.mark.parametrize(("share", "groups"), [(0.25, []), (0.2501, [[0]]), (1.0, [[0]])])
def test_a_quarter_deleted_is_the_limit(share, groups):
    assert choose_merges([5000], [share], TARGET) == groups


def test_any_deletion_is_dropped_when_asked_to():
    assert choose_merges([5000, 5000], [0.001, 0.0], TARGET, is_full=True) == [[0]]


def test_deleted_bytes_do_not_count():
    """Segments of twice the target of which little is left go together."""
    assert choose_merges([2000] * 4, [0.9] * 4, TARGET) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("seed", range(3))
def test_segments_stay_few_however_often_tables_are_added(seed):
    """Adding and compacting two thousand times: few segments, each byte written a few times."""
    rng = random.Random(seed)
    target = 100_000
    sizes, written, added = [], 0, 0
    for _ in range(2000):
        size = rng.choice([rng.randint(50, 100), rng.randint(10, 1000)])
        sizes.append(size)
        added += size
        groups = choose_merges(sizes, [0.0] * len(sizes), target)
        merged = [sum(sizes[n] for n in group) for group in groups]
        written += sum(merged)
        gone = {n for group in groups for n in group}
        sizes = [size for n, size in enumerate(sizes) if n not in gone] + merged
        tiers = math.ceil(math.log(target / 10, 4)) + 1
        assert len(sizes) <= 4 * tiers + added // (target // 2)
    assert sum(sizes) == added and written <= added * 2 * tiers


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.sampled_from([0.0, 0.1, 0.25, 0.26, 1.0])), max_size=40), st.booleans()
)
@example([(133, 0.0), (434, 0.0), (578, 0.25)], True)
@example([(300, 0.0)] * 3 + [(450, 0.3)], False)
def test_what_is_mostly_deleted_is_rewritten(segments, is_full):
    """A segment that is alone in its group is written anew all the same."""
    sizes, deleted = [size for size, _ in segments], [share for _, share in segments]
    members = {n for group in choose_merges(sizes, deleted, 1000, is_full=is_full) for n in group}
    assert {n for n, share in enumerate(deleted) if share > (0 if is_full else 0.25)} <= members
