import numpy as np
import pyarrow as pa
import pytest

from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare, read_number


@pytest.mark.parametrize(
    ("word", "number"),
    [("12", 12), ("007", 7), ("xiv", 14), ("third", 3), ("3rd", 3), ("nine", 9), ("a1", -1), ("", -1), ("9" * 19, -1)],
)
def test_numbers_are_read_in_digits_words_and_roman_numerals(word, number):
    assert read_number(word) == number


def test_words_weigh_by_their_rarity_in_both_columns():
    columns = prepare(*(fold_texts(pa.array(side)) for side in (["red fox", "red dog"], ["red cat 7", "red fox"])))
    lexicon = columns.lexicon
    points = np.unique([ord(c) for c in "red fox dog cat 7"])
    bounds = lexicon.spelling.offsets
    words = [
        "".join(chr(points[p]) for p in lexicon.spelling.points[a:b])
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    weights = dict(zip(words, lexicon.weights.tolist(), strict=True))
    assert weights["dog"] == weights["cat"] == pytest.approx(1.0)
    assert weights["red"] == pytest.approx(np.log1p(1) / np.log1p(4))
    assert weights["red"] < weights["fox"] < weights["dog"]
    assert dict(zip(words, lexicon.numbers.tolist(), strict=True))["7"] == 7
    assert lexicon.has_digit.tolist() == [word == "7" for word in words]
