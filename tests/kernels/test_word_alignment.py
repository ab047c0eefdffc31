import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare
from dfjoin.kernels.texts.token_rows import TextPairs
from dfjoin.kernels.texts.word_alignment import ALIGNMENT, align_words


def aligned(a, b):
    """Align two texts, in columns that hold other texts as well."""
    others = ["something else", "another 12"]
    sides = [fold_texts(pa.array([text, *others], pa.string())) for text in (b, a)]
    columns = prepare(*sides)
    at = [side.codes[0] for side in sides]
    pairs = TextPairs(np.array([at[1]], np.int32), np.array([at[0]], np.int32))
    found = align_words(columns.query.words, columns.reference.words, columns.lexicon, pairs)[0]
    return dict(zip(ALIGNMENT, found.tolist(), strict=True))


def left_over(a, b):
    found = aligned(a, b)
    return found["left over of the first"], found["left over of the second"]


@pytest.mark.parametrize(
    ("a", "b", "limit"),
    [
        ("red fox", "fox red", 0.0),
        ("mirwais hotak", "mir wais hotak", 0.05),
        ("NSW League", "New South Wales League", 0.17),
        ("Intl Airport", "International Airport", 0.2),
        ("Univ of X", "University of X", 0.15),
        ("Division One", "Division 1", 0.06),
        ("Berenice II", "Berenice 2", 0.06),
        ("Monarhc", "Monarch", 0.3),
        ("Café Kraków", "Cafe Krakow", 0.0),
        ("Łódź Øst", "Lodz Ost", 0.0),
    ],
)
def test_words_that_mean_the_same_are_matched(a, b, limit):
    for pair in ((a, b), (b, a)):
        assert max(left_over(*pair)) <= limit + 1e-9


def test_different_numbers_and_codes_are_told():
    assert aligned("cup 2008", "cup 2009")["numbers differ"] == 1
    assert aligned("Berenice II", "Berenice III")["numbers differ"] == 1
    more = aligned("cup 2008", "cup")
    assert (more["numbers differ"], more["number more in the first"], more["number more in the second"]) == (0, 1, 0)
    assert aligned("tv am53bk", "tv am54bk")["codes differ"] == 1
    assert aligned("tv am53bk", "set am53bk")["code shared"] == pytest.approx(1, abs=0.4)
    assert aligned("tv 53", "tv 53")["code shared"] == 0, "short numbers are no codes"


def test_words_in_brackets_and_behind_commas_are_no_core():
    found = aligned("The Summit (Reno, Nevada)", "The Summit (Reno)")
    assert found["left over of the first"] > 0 == found["left over of the first's core"]
    assert aligned("Touchwood, Solihull", "Touchwood")["left over of the first's core"] == 0


def test_order_and_ends_are_told():
    assert aligned("a b c d", "a b c d")["out of order"] == 0
    assert aligned("d c b a", "a b c d")["out of order"] > 0
    found = aligned("royal oak inn", "royal oak pub")
    assert (found["first words differ"], found["last words differ"]) == (0, 1)


@given(st.text("ab1 (,", max_size=12), st.text("ab1 (,", max_size=12))
def test_swapping_the_texts_swaps_the_sides(a, b):
    if not (fold_texts(pa.array([a])).values and fold_texts(pa.array([b])).values):
        return
    one, other = aligned(a, b), aligned(b, a)
    assert all(np.isfinite(list(one.values())))
    assert one["numbers differ"] == other["numbers differ"]
    assert 0 <= one["left over of the first"] <= 1 + 1e-9
    if a == b:
        assert (
            one["left over of the first"] == one["left over of the second"] == one["words left over of the first"] == 0
        )
