"""Checks of arguments: what is legal comes back as one type, everything else is named in the error."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin._validation import (
    check_choice,
    check_flag,
    check_fraction,
    check_local_path,
    check_names,
    check_path,
    check_patterns,
    check_positive_int,
    is_valid_text,
    show,
)
from dfjoin.errors import InvalidParameterError, InvalidTypeError


@given(st.one_of(st.integers(-5, 5), st.integers(2**63 - 3, 2**63 + 3), st.integers()))
def test_an_integer_is_accepted_from_one_to_the_largest_of_64_bits(value):
    if 1 <= value < 2**63:
        assert check_positive_int(value, "k") == value
    else:
        limit = r"least 1" if value < 1 else r"most 2\*\*63 - 1"
        with pytest.raises(InvalidParameterError, match=rf"^`k` must be at {limit}, got {value}$"):
            check_positive_int(value, "k")


@pytest.mark.parametrize("value", [np.int8(7), np.uint64(7)], ids=repr)
def test_an_integer_of_numpy_becomes_one_of_python(value):
    assert type(check_positive_int(value, "k")) is int and check_positive_int(value, "k") == 7


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "3", None, [1], Fraction(2, 1)], ids=repr)
def test_what_is_no_integer_is_shown_in_the_error(value):
    text = f"`pad` must be an integer of at least 1, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_positive_int(value, "pad")


@given(st.one_of(st.floats(), st.integers(-3, 3), st.fractions(-2, 2, max_denominator=99)))
def test_a_number_is_accepted_from_zero_to_one(value):
    if value >= 0 and value <= 1:
        found = check_fraction(value, "threshold")
        assert type(found) is float and found == pytest.approx(float(value), abs=0)
    else:
        with pytest.raises(InvalidParameterError) as caught:
            check_fraction(value, "threshold")
        assert str(caught.value) == f"`threshold` must be between 0 and 1, got {value!r}"


@pytest.mark.parametrize("value", [True, False, np.False_, "0.5", None, 1j, Decimal("0.5")], ids=repr)
def test_what_is_no_number_is_shown_in_the_error(value):
    text = f"`recall` must be a number between 0 and 1, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_fraction(value, "recall")


def test_a_number_that_no_float_holds_is_out_of_range():
    with pytest.raises(InvalidParameterError, match=r"^`recall` must be between 0 and 1, got 10{99}…$"):
        check_fraction(10**400, "recall")


@pytest.mark.parametrize("value", [True, None, "left"], ids=repr)
def test_a_choice_comes_back(value):
    assert check_choice(value, "how", (None, True, "left")) is value


@pytest.mark.parametrize(
    ("value", "choices"),
    [(1, (True, False)), (0, (True, False)), (True, (0, 1)), ("Left", ("left",)), (np.array([1, 2]), (1, None))],
)
def test_a_value_that_only_equals_a_choice_is_refused(value, choices):
    """`1 == True`, and a comparison of arrays has no truth."""
    with pytest.raises(InvalidParameterError, match=r"^`how` must be one of "):
        check_choice(value, "how", choices)


def test_the_error_lists_ten_choices():
    with pytest.raises(InvalidParameterError, match=r"^`n` must be one of 0, 1, .*, 9, … \(12 in all\), got 'x'$"):
        check_choice("x", "n", range(12))
    with pytest.raises(InvalidParameterError, match=r"got 'fuzy'; did you mean 'fuzzy'\?$"):
        check_choice("fuzy", "mode", (None, "exact", "fuzzy"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ()), ("a/*", ("a/*",)), (["a", "b"], ("a", "b")), (("a",), ("a",)), ([], ()), ({"a"}, ("a",))],
)
def test_patterns_become_a_tuple(value, expected):
    assert check_patterns(value, "tables") == expected
    if value is not None and not isinstance(value, str):
        assert check_patterns(iter(value), "tables") == expected


@pytest.mark.parametrize("value", [3, b"ab", ["a", None], ["a", 1], {"a": "b"}, {}, 0.5], ids=repr)
def test_what_holds_no_patterns_is_shown_in_the_error(value):
    text = f"`exclude` must be a pattern or a list of patterns, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_patterns(value, "exclude")


def test_a_flag_is_true_or_false_and_nothing_like_it():
    assert check_flag(True, "full") is True and check_flag(False, "full") is False
    for value in (1, 0, None, "yes", np.True_):
        with pytest.raises(InvalidParameterError, match=rf"^`full` must be one of True, False, got {value!r}$"):
            check_flag(value, "full")


def test_names_are_one_text_or_several():
    assert check_names("a", "columns") == ("a",) and check_names(iter(["a", "b"]), "columns") == ("a", "b")
    for value in (None, 3, b"a", bytearray(b"a"), {"a": 1}, ["a", 1]):
        with pytest.raises(InvalidTypeError) as caught:
            check_names(value, "columns")
        assert str(caught.value) == f"`columns` must be a name or a list of names, got {value!r}"
    with pytest.raises(InvalidTypeError, match=r"^`name` must be a table, got 3$"):
        check_names(3, "name", "a table")


class TestPath:
    @pytest.mark.parametrize("value", ["a b", "s3://x/y", Path("a"), PurePosixPath("/é"), " a"], ids=repr)
    def test_text_and_paths_are_text(self, value):
        assert check_path(value, "source") == str(value)

    @pytest.mark.parametrize("value", [None, 3, b"a", ["a"]], ids=repr)
    def test_another_type_is_named(self, value):
        with pytest.raises(InvalidTypeError, match=rf"^`source` must be a path, got {type(value).__name__}$"):
            check_path(value, "source")

    @pytest.mark.parametrize("value", ["", " ", "a\0b", "a\ud800"])
    def test_what_no_file_can_be_called_is_refused(self, value):
        with pytest.raises(InvalidParameterError) as caught:
            check_path(value, "source")
        assert str(caught.value) == f"`source` must be a path that a file can have, got {value!r}"

    def test_a_local_path_becomes_absolute(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "there").touch()
        for value in ("there", Path("there"), "~/there", f"file://{tmp_path}/there", tmp_path / "there"):
            assert check_local_path(value, "index") == tmp_path / "there"
        assert check_local_path("not/yet", "index") == tmp_path / "not" / "yet"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("s3://x/y", "`index` must be a local path, got 's3://x/y'; write it to a local disk and copy it"),
            ("/x\udcff", r"`index` must be a path in UTF-8, which pyarrow can open, got '/x\udcff'"),
            ("file/below", "`index` 'file/below' lies below a file, not below a directory"),
            ("x" * 300, f"`index` '{'x' * 99}… cannot be reached: File name too long"),
        ],
        ids=["another file system", "not UTF-8", "below a file", "too long"],
    )
    def test_a_place_that_cannot_be_reached_is_refused(self, tmp_path, monkeypatch, value, text):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "file").touch()
        with pytest.raises(InvalidParameterError) as caught:
            check_local_path(value, "index")
        assert str(caught.value) == text


class Silent:
    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a  b", "'a  b'"), (pd.Series([1, 2]), "0 1 1 2 dtype: int64"), (Silent(), "an object of type Silent")],
    ids=["text", "several lines", "no repr"],
)
def test_what_came_is_shown_on_one_line(value, expected):
    assert show(value) == expected


WORDS = st.text(st.characters(exclude_characters=" "), max_size=150)


@given(st.one_of(WORDS, st.integers(), st.lists(WORDS, max_size=9)))
def test_what_came_is_shown_in_a_hundred_characters(value):
    text, whole = show(value), repr(value)
    assert text == (whole if len(whole) <= 100 else whole[:100] + "…")
    assert is_valid_text(text)


@given(st.text(st.characters(max_codepoint=0xFFFF), max_size=5))
def test_a_text_is_valid_unless_it_holds_a_surrogate(text):
    assert is_valid_text(text) == (not any("\ud800" <= character <= "\udfff" for character in text))
    assert not is_valid_text(text + "\udc80")
