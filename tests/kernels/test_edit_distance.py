import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts.edit_distance import Words, edit_distances, letter_sets, soft_misses
from dfjoin.kernels.texts.token_rows import TextPairs
from dfjoin.kernels.texts.tokenising import CodePoints, SparseRows
from tests.kernels.packing import csr
from tests.oracles.fuzzy import edit_distance, soft_miss

TEXTS = st.text(alphabet="abß€", max_size=9)


def letters(*columns):
    """Number the characters of all texts; each column as CodePoints, then the size of the alphabet."""
    alphabet = {c: i for i, c in enumerate(sorted({c for texts in columns for t in texts for c in t}))}
    packed = [csr([[alphabet[c] for c in text] for text in texts]) for texts in columns]
    return *(CodePoints(points, offsets) for offsets, points in packed), max(1, len(alphabet))


def measure(pairs, limit=1000):
    a, b, n = letters([a for a, _ in pairs], [b for _, b in pairs])
    rows = np.arange(len(pairs), dtype=np.int32)
    return edit_distances(a, b, n, limit, TextPairs(rows, rows)).tolist()


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_distances_are_those_of_the_table(pairs):
    assert measure(pairs) == [edit_distance(a, b) for a, b in pairs]


@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 200])
def test_texts_of_several_blocks(rng, length):
    a = "".join(rng.choice(list("abc"), length))
    b = "".join(rng.choice(list("abc"), length - 7))
    pairs = [(a, b), (b, a), (a, a), (a, ""), ("", a), (a, a[:-1]), ("c" + a, a)]
    assert measure(pairs) == [edit_distance(a, b) for a, b in pairs]


def test_a_pair_leaves_nothing_behind_for_the_next():
    assert measure([("abc", "xyz"), ("xyz", "abc"), ("", ""), ("abc", "abc")]) == [3, 3, 0, 0]


def test_characters_beyond_the_limit_are_not_compared(rng):
    pairs = [("".join(rng.choice(list("ab"), n)), "".join(rng.choice(list("ab"), 150))) for n in (3, 70, 200)]
    expected = [edit_distance(a[:70], b[:70]) for a, b in pairs]
    assert measure(pairs, limit=70) == expected
    assert measure(pairs) != expected


@given(TEXTS, TEXTS)
def test_letters_that_one_word_lacks_bound_the_edits_from_below(a, b):
    spelling, _ = letters([a, b])
    own, other = (int(bits) for bits in letter_sets(spelling))
    assert [own.bit_count(), other.bit_count()] == [len(set(a)), len(set(b))]
    assert max((own & ~other).bit_count(), (other & ~own).bit_count()) <= edit_distance(a, b)


def test_letters_beyond_64_share_bits():
    points = CodePoints(np.array([0, 64, 3, 130], np.int32), np.array([0, 2, 2, 4]))
    assert letter_sets(points).tolist() == [1, 0, 0b1100]


def test_no_pairs():
    assert measure([]) == []


WORDS = st.lists(st.text(alphabet="abc", min_size=1, max_size=6), max_size=4, unique=True)


def miss(a, b, most=5):
    """The share of the weight of the words of a without a counterpart in b; weights are 1, 2, … by spelling."""
    words = sorted({*a, *b})
    spelling, n = letters(words)
    rows_a, rows_b = (SparseRows(*csr([[words.index(w) for w in row]])) for row in (a, b))
    known = Words(np.arange(1.0, 1.0 + len(words)), spelling, letter_sets(spelling), n, 0.6, most)
    return soft_misses(rows_a, rows_b, known, TextPairs(np.zeros(1, np.int32), np.zeros(1, np.int32)))[0]


@given(WORDS, WORDS, st.integers(1, 5))
def test_similar_words_count_in_part(a, b, most):
    weights = {word: 1.0 + i for i, word in enumerate(sorted({*a, *b}))}
    assert miss(a, b, most) == pytest.approx(soft_miss(" ".join(a[:most]), " ".join(b[:most]), weights.get))


def test_words_are_similar_from_the_least_similarity_on():
    assert miss(["aaaaa"], ["aaabb"]) == pytest.approx(0.4)
    assert miss(["aaaaa"], ["aabbb"]) == 1
    assert miss([], ["a"]) == 0


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (2, 0)])
def test_words_behind_the_first_ones_are_not_looked_at(most, expected):
    assert miss(["abc"], ["ccc", "abc"], most) == expected
