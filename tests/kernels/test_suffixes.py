import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts import suffixes
from tests.kernels.packing import pack

WORDS = st.lists(st.text("abé", min_size=1, max_size=14), min_size=1, max_size=8, unique=True)


def build(values):
    """Build a suffix array; return it, the offsets of the values, and the value of each suffix."""
    data, offsets = pack([value.encode() for value in values])
    begins, ends, rows = suffixes.suffix_positions(data, offsets)
    keys = suffixes.suffix_keys(data, begins, ends)
    order = np.argsort(keys, kind="stable")
    suffixes.sort_ties(data, begins, ends, keys, order)
    found = suffixes.Suffixes(data, begins, ends, order, keys[order])
    for array in found[1:]:
        array.flags.writeable = False
    return found, offsets, rows


def written(found):
    """Return the sorted suffixes, as far as they count."""
    return [bytes(found.data[found.begins[s] : found.ends[s]])[: suffixes.DEPTH] for s in found.order]


def naive_suffixes(values):
    """Return all suffixes of at least three bytes, sorted by their first 64 bytes."""
    found = [value[i:].encode() for value in values for i in range(len(value))]
    return sorted(s[: suffixes.DEPTH] for s in found if len(s) >= suffixes.MIN_Q)


@given(WORDS)
def test_suffixes_are_sorted_by_their_bytes(values):
    assert written(build(values)[0]) == naive_suffixes(values)


def test_long_common_beginnings_are_sorted():
    values = ["x" * 40 + tail for tail in "cab"] + ["x" * 100, "x" * 99]
    assert written(build(values)[0]) == naive_suffixes(values)


def naive_count(gram, values):
    """Count the positions at which a text stands in the values."""
    return sum(value[i:].startswith(gram) for value in values for i in range(len(value)))


def naive_best(value, own, other, limit):
    """Return the best score over all suffixes: Algorithm 3 with a linear search."""
    best = 0.0
    for i in range(len(value)):
        suffix = value[i:]
        lengths = [q for q in range(1, len(suffix) + 1) if naive_count(suffix[:q], other)]
        if lengths and len(suffix[: max(lengths)].encode()) >= suffixes.MIN_Q:
            gram = suffix[: max(lengths)]
            n, m = naive_count(gram, own), naive_count(gram, other)
            if n <= limit and m <= limit:
                best = max(best, 1 / (n * m))
    return best


@given(WORDS, WORDS, st.sampled_from([1, 2, 64]))
def test_best_matches_are_real_and_never_better_than_the_best(values, others, limit):
    own, offsets, _ = build(values)
    theirs, _, rows = build(others)
    scores, lengths, firsts, counts = suffixes.best_matches(offsets, own, theirs, limit)
    for number, value in enumerate(values):
        best = naive_best(value, values, others, limit)
        assert scores[number] <= best
        if scores[number] == 0:
            assert best == 0 or limit < 64  # only what begins inside of a match above the limit is passed over
            continue
        s = theirs.order[firsts[number]]
        gram = bytes(theirs.data[theirs.begins[s] : theirs.begins[s] + lengths[number]]).decode()
        assert gram in value and gram in others[rows[s]]
        assert counts[number] == naive_count(gram, others)
        assert scores[number] == 1 / (naive_count(gram, values) * counts[number])


def test_the_example_of_the_paper():
    left = ["barack obama", "george w. bush", "bill clinton", "george h. w. bush"]
    right = ["obama, barack(1961-)", "bush, george w.(1946-)", "clinton, bill(1946-)", "bush, george h. w.(1924-)"]
    own, offsets, _ = build(left)
    theirs, _, rows = build(right)
    scores, _, firsts, _ = suffixes.best_matches(offsets, own, theirs, 64)
    assert scores.tolist() == [1, 1, 1, 1]
    assert [int(rows[theirs.order[f]]) for f in firsts] == [0, 1, 2, 3]
