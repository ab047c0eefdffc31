"""The key of two frames when none is named."""

import pandas as pd
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.join.choose_key import choose_equal_keys
from dfjoin.join.keys import KeyColumns
from dfjoin.types import IndexSettings


def _choose(left, right, threshold=0.5):
    sides = [KeyColumns(pd.DataFrame(side), IndexSettings()) for side in (left, right)]
    return choose_equal_keys(*sides, threshold)


def test_containment_decides_before_the_number_of_values():
    left = {"few": ["a", "b", "b", "b", "b"], "many": ["p", "q", "r", "s", "t"]}
    right = {"x": ["a", "b", "c", "d", "e"], "y": ["p", "q", "r", "s", "u"]}
    assert _choose(left, right)[0] == ("few", "x")


def test_of_equal_containment_the_larger_overlap_is_taken():
    left = {"few": ["a", "b", "b"], "many": ["p", "q", "r"]}
    assert _choose(left, {"x": ["a", "b", "c"], "y": ["p", "q", "r"]})[0] == ("many", "y")


def test_then_names_that_agree_and_then_a_right_key():
    left = {"one": ["a", "b", "c", "c"]}
    right = {"x": ["a", "b", "c", "d"], "ONE": ["a", "b", "c", "c"]}
    assert _choose(left, right)[0] == ("one", "ONE")
    right = {"x": ["a", "b", "c", "c"], "y": ["a", "b", "c", "d"]}
    assert _choose(left, right)[0] == ("one", "y")


def test_two_pairs_that_are_equally_good_are_an_error():
    left, right = {"one": ["a", "b"], "two": ["b", "a"]}, {"x": ["a", "b"]}
    with pytest.raises(InvalidParameterError, match=r"'one' = 'x' and 'two' = 'x' join equally well .*1\.000"):
        _choose(left, right)


def test_what_did_not_pass_is_told_best_first():
    left = {"a": ["p", "q", "r", "s"], "n": [3, 4, 5, 60]}
    right = {"b": [*"pqxy"] * 15, "c": [*"pxyz"] * 15, "rank": [3, 4, 5, *range(10, 67)]}
    pair, passed = _choose(left, right, threshold=0.6)
    assert pair is None
    assert [columns for columns, _ in passed] == ["n = rank", "a = b", "a = c"]
    assert passed[0][1].startswith("accidental") and "0.500 is below the threshold 0.6" in passed[1][1]
    assert _choose(left, right, threshold=0.5)[0] == ("a", "b"), "at the threshold is enough"


def test_columns_without_keys_take_no_part():
    constant, flags, lists = ["a", "a"], [True, False], [[1], [2]]
    assert _choose({"c": constant, "f": flags, "l": lists}, {"c": constant, "f": flags, "l": lists}) == (None, [])
