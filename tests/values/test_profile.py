import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.values.profile import Profile, kind_of, merge_profiles, profile_values

SETTINGS = IndexSettings()


def profile(cells, type_=None):
    array = pa.array(cells, type_)
    return profile_values(normalize_column(array, SETTINGS), array.type)


@pytest.mark.parametrize(
    ("cells", "type_", "kind"),
    [
        (["a", "1", "2020-05-01"], pa.string(), "text"),
        (["1", "2.0", "-3"], pa.string(), "integer"),
        (["1", "2.5"], pa.string(), "float"),
        (["1.5e3", ".5"], pa.string(), "float"),
        (["1", "007"], pa.string(), "text"),
        (["1", "2020-05-01"], pa.string(), "text"),
        (["2020-05-01", "5 May 2021"], pa.string(), "date"),
        (["2020-05-01", "2020-05-01T10:00"], pa.string(), "date"),
        (["25/12/2020", "1/2/2020"], pa.string(), "date"),
        (["1/2/2020", "3/4/2020"], pa.string(), "text"),
        (["True", "FALSE"], pa.string(), "boolean"),
        (["true", "1"], pa.string(), "text"),
        (["", None], pa.string(), "empty"),
        ([], pa.int64(), "empty"),
        ([1, 2], pa.int64(), "integer"),
        ([1.0, 2.0, None], pa.float64(), "integer"),
        ([1.0, 2.5], pa.float64(), "float"),
        ([1.0, float("inf")], pa.float64(), "float"),
        ([Decimal("1.00"), Decimal("2.00")], None, "integer"),
        ([Decimal("1.00"), Decimal("2.50")], None, "decimal"),
        ([datetime.date(2020, 1, 1)], None, "date"),
        ([datetime.datetime(2020, 1, 1, 3)], None, "date"),
        ([datetime.time(3)], None, "text"),
    ],
)
def test_the_kind_follows_from_the_type_and_the_values(cells, type_, kind):
    assert profile(cells, type_).kind == kind


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pa.bool_(), "boolean"),
        (pa.list_(pa.string()), "nested"),
        (pa.struct([("a", pa.int8())]), "nested"),
        (pa.binary(), "binary"),
        (pa.large_binary(), "binary"),
        (pa.binary(4), "binary"),
        (pa.null(), "empty"),
    ],
    ids=str,
)
def test_the_kind_of_columns_without_values_follows_from_the_type(type_, kind):
    nothing = normalize_column(pa.nulls(2), SETTINGS)
    assert kind_of(nothing, type_) == kind
    assert profile_values(nothing, type_) == Profile(kind, 0, False, 0, 0, "", "")


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=20))
def test_integers_have_the_range_from_the_smallest_to_the_largest(numbers):
    expected = Profile(
        "integer", len(set(numbers)), True, min(numbers), max(numbers), str(min(numbers)), str(max(numbers))
    )
    assert profile(numbers, pa.int64()) == expected
    assert profile([str(n) for n in numbers], pa.string()) == expected


def test_integers_of_more_than_18_digits_have_no_range_in_numbers():
    assert profile([str(10**18), "5"]) == Profile("integer", 2, False, 0, 0, str(10**18), "5")


@given(st.lists(st.text("abÄé\U0001f600xyz", min_size=1, max_size=5), min_size=1, max_size=15))
def test_text_has_the_first_and_the_last_value_by_code_point(texts):
    texts = ["x" + text for text in texts]
    values = {text.casefold() for text in texts}
    assert profile(texts) == Profile("text", len(values), False, 0, 0, min(values), max(values))


def test_long_texts_are_cut_in_the_profile():
    found = profile(["a" * 300, "é" * 300])
    assert (found.min, found.max) == ("a" * 100, "é" * 100)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1).map(lambda n: [*n, 0.5]))
def test_floats_have_their_smallest_and_largest_finite_number(numbers):
    found = profile(numbers)
    finite = [number for number in numbers if math.isfinite(number)]
    assert (found.kind, found.has_range) == ("float", False)
    assert (float(found.min), float(found.max)) == (min(finite), max(finite))
    assert max(len(found.min), len(found.max)) <= 100
    assert profile_values(normalize_column(pa.array(numbers), SETTINGS), pa.float64(), has_texts=False).min == ""


def test_ranges_of_floats_are_compared_by_number():
    assert profile([9.5, 10.25, -3.0]) == Profile("float", 3, False, 0, 0, "-3", "10.25")
    assert (profile(["1.5e3", ".5"]).min, profile(["1.5e3", ".5"]).max) == (".5", "1.5e3")
    merged = merge_profiles([profile([9.5, 0.25]), profile([10.5, 100.0]), profile([3.0])])
    assert (merged.kind, merged.min, merged.max) == ("float", "0.25", "100")
    assert profile([math.inf, -math.inf]).min == ""


def test_booleans_have_no_range():
    assert profile([True, False]) == Profile("boolean", 2, False, 0, 0, "", "")


def test_dates_have_a_range_in_iso_form():
    found = profile(["5 May 2020", "2019-01-01", "2020-05-05"])
    assert (found.cardinality, found.min, found.max) == (2, "2019-01-01", "2020-05-05")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a", "b"], True),
        ([1, 2], True),
        (["2020-01-01", "2020-01-02"], True),
        (["a", "A ", None], False),
        ([1.5, 2.5], False),
        ([True, False], False),
        ([None], False),
        ([Decimal("1.5"), Decimal("2.5")], True),
    ],
)
def test_columns_of_two_values_are_indexable_unless_they_are_floats_or_booleans(cells, expected):
    assert profile(cells).is_indexable is expected


def test_merged_integer_profiles_span_both_ranges():
    merged = merge_profiles([profile([3, 9]), profile([-2, 5, 5]), profile([], pa.int64())])
    assert merged == Profile("integer", 4, True, -2, 9, "-2", "9")


def test_merging_loses_the_range_when_a_part_has_none():
    merged = merge_profiles([profile(["5", "7"]), profile([str(10**19)])])
    assert (merged.kind, merged.has_range, merged.min_integer, merged.max_integer) == ("integer", False, 0, 0)


def test_merging_one_profile_leaves_it():
    one = profile(["b", "a"])
    assert merge_profiles([one]) is one
    assert merge_profiles([profile([None]), one, profile([""])]) == one


def test_merging_empty_profiles_is_empty():
    assert merge_profiles([profile([None]), profile([""])]).kind == "empty"


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (["1"], ["a"], "text"),
        (["1"], ["2.5"], "float"),
        (["2.5"], ["1"], "float"),
        (["2020-01-01"], ["1"], "text"),
        (["2020-01-01"], ["2021-01-01T10:00"], "date"),
        (["true"], ["false"], "boolean"),
        (["a"], ["b"], "text"),
        ([Decimal("1.00")], [Decimal("2.50")], "decimal"),
    ],
)
def test_merged_kinds_are_those_of_the_whole_column(left, right, kind):
    assert merge_profiles([profile(left), profile(right)]).kind == kind
    assert profile(left + right).kind == kind


def test_merged_texts_span_both():
    merged = merge_profiles([profile(["m", "c"]), profile(["x", "d"])])
    assert merged == Profile("text", 4, False, 0, 0, "c", "x")


@pytest.mark.parametrize("type_", [pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())], ids=str)
def test_every_binary_type_is_of_kind_binary(type_):
    assert kind_of(normalize_column(pa.nulls(1), SETTINGS), type_) == "binary"


@pytest.mark.parametrize(
    ("parts", "cardinality"),
    [
        ([["a"], ["a"], ["a"]], 1),
        ([["7"], ["7.0"]], 1),
        ([["2024-01-05"], ["5 May 2024"]], 2),
        ([["2024-05-05"], ["5 May 2024"], [None]], 1),
        ([["a"], ["b"]], 2),
        ([["a", "b"], ["a", "b"]], 4),
        ([["x" * 100 + "1"], ["x" * 100 + "2"]], 2),
        ([["1.5"], ["2.5"]], 2),
    ],
)
def test_one_value_in_every_part_is_one_value(parts, cardinality):
    """A column of one value is not indexed, however often it is handed over in between."""
    merged = merge_profiles([profile(part, pa.string()) for part in parts])
    assert merged.cardinality == cardinality
