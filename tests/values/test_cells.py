import datetime as dt
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidTypeError
from dfjoin.types import IndexSettings
from dfjoin.values.cells import (
    cell_texts,
    plain_array,
    register_pandas_types,
    whole_text,
    workable_array,
    workable_type,
)
from dfjoin.values.normalize import normalize_column

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def rows_of(array):
    found = normalize_column(array, IndexSettings())
    return [None if code < 0 else found.value(code) for code in found.codes]


@given(st.lists(st.one_of(st.none(), st.integers(-(10**9), 10**9)), max_size=8))
def test_a_duration_is_one_value_in_every_unit(seconds):
    found = {
        unit: rows_of(pa.array([None if s is None else s * factor for s in seconds], pa.duration(unit)))
        for unit, factor in UNITS.items()
    }
    assert found["s"] == found["ms"] == found["us"] == found["ns"]
    assert len({row for row in found["s"] if row}) == len({s for s in seconds if s is not None})


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.000000001S"),
        (10**9, "PT1S"),
        (1_500_000_000, "PT1.5S"),
        (60 * 10**9, "PT1M"),
        (3600 * 10**9, "PT1H"),
        (86_400 * 10**9, "P1D"),
        (90_061 * 10**9, "P1DT1H1M1S"),
        (-86_401 * 10**9, "-P1DT1S"),
    ],
)
def test_a_duration_is_written_as_iso_8601_does(nanoseconds, text):
    assert cell_texts(pa.array([nanoseconds, None], pa.duration("ns"))).to_pylist() == [text, None]


def test_a_duration_is_no_number():
    assert not set(rows_of(pa.array([1, 2], pa.duration("us")))) & {"1", "2", "1000000"}


def test_an_interval_keeps_its_months_and_days_apart():
    cells = [(0, 0, 0), (14, 0, 0), (1, -2, 3_000_000_000), (0, 1, -500_000_000), (0, 0, 86_400 * 10**9), None]
    texts = ["PT0S", "P14M", "P1M-2DT3S", "P1DT-0.5S", "P1D", None]
    assert cell_texts(pa.array(cells, pa.month_day_nano_interval())).to_pylist() == texts


@given(st.lists(st.one_of(st.none(), st.integers(0, 86_399)), max_size=8))
def test_a_time_of_the_day_is_one_value_in_every_unit_and_as_text(seconds):
    def as_times(unit, factor):
        type_ = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        return pa.array([None if s is None else s * factor for s in seconds], type_)

    texts = pa.array([None if s is None else str(dt.timedelta(seconds=s)).rjust(8, "0") for s in seconds], pa.string())
    for unit, factor in UNITS.items():
        assert rows_of(as_times(unit, factor)) == rows_of(texts)


def test_a_time_of_the_day_keeps_its_microseconds():
    assert cell_texts(pa.array([1_500_000, 1], pa.time64("us"))).to_pylist() == ["00:00:01.500000", "00:00:00.000001"]
    assert cell_texts(pa.array([1_001], pa.time64("ns"))).to_pylist() == ["00:00:00.000001"]


def test_dates_beyond_the_years_of_python_are_one_value_in_every_type():
    day = (np.datetime64("20000-03-01") - np.datetime64("1970-01-01")).astype(int)
    arrays = [pa.array([int(day), None, 0], pa.int32()).view(pa.date32())]
    arrays += [pa.array([int(day) * 86_400_000, None, 0]).view(pa.date64())]
    arrays += [
        pa.array([int(day) * 86_400 * UNITS[unit], None, 0]).view(pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us")
        for zone in (None, "UTC", "Mars/Phobos")
    ]
    for array in arrays:
        assert rows_of(array) == ["20000-03-01", None, "1970-01-01"]
        assert rows_of(array.slice(1)) == [None, "1970-01-01"]


def test_times_beyond_the_years_of_python_keep_what_is_behind_the_second():
    second = int((np.datetime64("-0044-03-15T12:00:00") - np.datetime64("1970-01-01T00:00:00")).astype(int))
    assert rows_of(pa.array([second]).view(pa.timestamp("s"))) == ["-0044-03-15t12:00:00"]
    assert rows_of(pa.array([second * 1000 + 5]).view(pa.timestamp("ms"))) == ["-0044-03-15t12:00:00.005000"]
    assert rows_of(pa.array([second * 10**6 + 5]).view(pa.timestamp("us"))) == ["-0044-03-15t12:00:00.000005"]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_last_and_the_first_moment_of_a_type_are_values(unit):
    ends = rows_of(pa.array([2**63 - 1, -(2**63) + 1, -(2**63)]).view(pa.timestamp(unit)))
    assert len(set(ends)) == 3
    assert ends[2] is None, "pandas reads it as no time"


@given(st.lists(st.one_of(st.none(), st.datetimes()), min_size=1, max_size=6))
def test_an_unknown_zone_does_not_change_the_moment(moments):
    plain = pa.array(moments, pa.timestamp("us"))
    zoned = plain.view(pa.int64()).view(pa.timestamp("us", "Mars/Phobos"))
    assert rows_of(zoned) == rows_of(plain)


@given(st.lists(st.one_of(st.none(), st.uuids()), max_size=8), st.integers(0, 3))
def test_a_uuid_is_its_text(cells, skipped):
    storage = pa.array([None if c is None else c.bytes for c in cells], pa.binary(16))
    array = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    assert cell_texts(array.slice(skipped)).to_pylist() == [None if c is None else str(c) for c in cells[skipped:]]


def test_periods_and_intervals_of_a_file_are_what_pandas_prints():
    register_pandas_types()
    months = pa.array(pd.Series(pd.period_range("2024-01", periods=2, freq="M")))
    assert cell_texts(months).to_pylist() == ["2024-01", "2024-02"]
    bins = pa.array(pd.Series([pd.Interval(0, 5), None, pd.Interval(5, 10)], dtype="interval"))
    assert [text and text.replace(".0", "") for text in cell_texts(bins).to_pylist()] == ["(0, 5]", None, "(5, 10]"]


def test_of_other_extension_types_the_storage_counts():
    if hasattr(pa, "json_"):  # not in an older pyarrow
        json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[1]", None]))
        assert cell_texts(json).to_pylist() == ["[1]", None]
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    assert plain_array(flags).to_pylist() == [True, False, None]
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "geometry", "x"), pa.array([b"a"]))
    with pytest.raises(InvalidTypeError, match="cells of type binary have no text: turn them into text first"):
        cell_texts(opaque)


@pytest.mark.parametrize("values", [["a", "b", "c"], [1, 2, 3], [dt.timedelta(1), None, dt.timedelta(2)]], ids=str)
def test_runs_are_written_out_from_any_row_on(values):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 6], pa.int32()), pa.array(values))
    expected = [values[0]] * 2 + [values[1]] + [values[2]] * 3
    for start in range(6):
        assert rows_of(runs.slice(start)) == rows_of(pa.array(expected[start:], pa.array(values).type))
        assert workable_array(runs.slice(start)).to_pylist() == expected[start:]


def test_rows_can_be_taken_of_a_workable_array():
    arrays = [
        pa.array(["a", None], pa.string_view()),
        pa.array([b"a", None], pa.binary_view()),
        pa.array([["a"], None], pa.list_(pa.string_view())),
        pa.array([{"x": "a"}, None], pa.struct([("x", pa.string_view())])),
        pa.array([[1], None], pa.list_view(pa.int8())),
    ]
    for array in arrays:
        workable = workable_array(array)
        assert workable.type == workable_type(array.type)
        workable.validate(full=True)
        assert workable.take(pa.array([1, 0])).to_pylist() == array.to_pylist()[::-1]
    plain = pa.array(["a"])
    assert workable_array(plain) is plain


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    assert whole_text("a\ud800b") == "a\ufffdb"
    assert whole_text("\ud83d\ude00 é") == "\U0001f600 é"


def test_decimals_of_every_width_are_their_digits():
    cells = [Decimal("1.10"), Decimal("2.00"), None]
    types = [pa.decimal128(9, 2), pa.decimal256(50, 2)]
    if hasattr(pa, "decimal32"):  # not in an older pyarrow
        types += [pa.decimal32(5, 2), pa.decimal64(9, 2)]
    for type_ in types:
        assert rows_of(pa.array(cells, type_)) == ["1.1", "2", None]
        encoded = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(cells[:2], type_))
        assert rows_of(encoded) == ["2", "1.1", None]


def test_a_uuid_of_text_and_a_uuid_of_bytes_are_one_value():
    one = uuid.UUID(int=7)
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes], pa.binary(16)))
    assert rows_of(stored) == rows_of(pa.array([str(one).upper()]))
