"""Cells of any Arrow type as text that the kernels know: which types have such text, and what it is.

A type that pandas, a database or a later version of Arrow brings must not stop anything: it is text here, a
plainer type, or known to have no text.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.errors import InvalidTypeError

CONVERSION_ERRORS = (ValueError, TypeError, NotImplementedError, LookupError, ArithmeticError, AttributeError)
"""What Arrow and pandas raise for values that they cannot convert; no lack of memory, no interruption."""

_MAX_INT64 = np.iinfo(np.int64).max
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 to 9999
_PRINTED = ("arrow.uuid", "pandas.period", "pandas.interval")
"""Extension types whose text is not that of their storage."""


@cache
def register_pandas_types() -> None:
    """Let Arrow know the types of periods and intervals, so that it reads them in files as what they are."""
    pa.array(pd.Series(pd.PeriodIndex([], freq="D")))


def cell_type(type_: pa.DataType) -> pa.DataType:
    """Return the plain type that `plain_array` gives cells of a type: what they are, however they are stored."""
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return cell_type(type_.value_type)
    if isinstance(type_, pa.BaseExtensionType):
        if type_.extension_name == "arrow.bool8":
            return pa.bool_()
        return pa.string() if type_.extension_name in _PRINTED else cell_type(type_.storage_type)
    if pa.types.is_string_view(type_):
        return pa.large_string()
    is_printed = pa.types.is_duration(type_) or pa.types.is_interval(type_) or pa.types.is_time(type_)
    return pa.string() if is_printed else type_


def is_searchable_type(type_: pa.DataType) -> bool:
    """Tell whether columns of an Arrow type have canonical values (not binary, nested or boolean)."""
    if pa.types.is_string(type_):
        return True
    type_ = cell_type(type_)
    return not (_has_no_text(type_) or pa.types.is_boolean(type_))


def is_list_type(type_: pa.DataType) -> bool:
    """Tell whether a column of an Arrow type holds lists of numbers."""
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
    return is_list and (pa.types.is_floating(type_.value_type) or pa.types.is_integer(type_.value_type))


def _has_no_text(type_: pa.DataType) -> bool:
    is_binary = pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_)
    return is_binary or pa.types.is_fixed_size_binary(type_) or pa.types.is_nested(type_)


def cell_texts(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Write a column of any type as one Arrow string array in a spelling that the kernel knows.

    Raises
    ------
    InvalidTypeError
        If its cells have no text.
    """
    array = plain_array(array)
    type_ = array.type
    if pa.types.is_large_string(type_) or pa.types.is_string(type_):
        return array
    if pa.types.is_dictionary(type_):
        return cell_texts(array.cast(type_.value_type))
    if pa.types.is_floating(type_):
        return _float_text(array)
    if pa.types.is_decimal(type_):
        return _decimal_text(array)
    if pa.types.is_timestamp(type_):
        numbers, is_null = moments(array)  # casting alone would round times before 1970 up
        rounded = pa.array(numbers, mask=is_null if is_null.size else None).view(pa.timestamp("us"))
        return pc.cast(rounded, pa.string())
    if pa.types.is_null(type_):
        return pa.nulls(len(array), pa.string())
    if _has_no_text(type_):
        raise InvalidTypeError(f"cells of type {type_} have no text: turn them into text first")
    return pc.cast(array, pa.string())


def whole_numbers(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Return a column of whole numbers below 2**63, integers or floats, with the rows that have none.

    Parameters
    ----------
    array : pyarrow Array
        Of a plain type.

    Returns
    -------
    numbers : ndarray of int64, shape (n,)
    is_null : ndarray of bool, shape (n,) or (0,)
        Empty where every row has a number. NaN is none.
        None is returned for a column of other types, and one with other numbers.
    """
    if pa.types.is_dictionary(array.type) and pa.types.is_integer(array.type.value_type):
        array = array.dictionary.take(array.indices)
    if pa.types.is_integer(array.type):
        if pa.types.is_uint64(array.type) and (pc.max(array).as_py() or 0) > _MAX_INT64:
            return None
        return _numbers_and_nulls(array)
    if not pa.types.is_floating(array.type):
        return None
    values = array.to_numpy(zero_copy_only=False).astype(np.float64)
    is_null = np.isnan(values)
    if is_null.any():
        values[is_null] = 0
    else:
        is_null = np.empty(0, bool)
    is_whole = bool((np.abs(values) < 2.0**63).all()) and bool((np.floor(values) == values).all())
    return (values.astype(np.int64), is_null) if is_whole else None


def moments(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a column of dates or timestamps as microseconds from 1 January 1970 on, rounded down.

    Parameters
    ----------
    array : pyarrow Array
        Of a plain type.

    Returns
    -------
    numbers : ndarray of int64, shape (n,)
    is_null : ndarray of bool, shape (n,) or (0,)
        Rows without a moment; empty where every row has one.
    """
    is_days = pa.types.is_date32(array.type)
    numbers, is_null = _numbers_and_nulls(array.view(pa.int32() if is_days else pa.int64()))
    if is_days:
        return numbers * 86_400_000_000, is_null
    per_second = _PER_SECOND[array.type.unit if pa.types.is_timestamp(array.type) else "ms"]
    return numbers // 1000 if per_second > 10**6 else numbers * (10**6 // per_second), is_null


def _numbers_and_nulls(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return integers, 0 for a null, and which rows are null; of these none where no row is."""
    if not array.null_count:
        return array.to_numpy().astype(np.int64, copy=False), np.empty(0, bool)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    return array.fill_null(0).to_numpy().astype(np.int64, copy=False), is_null


def plain_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of a plain type: text, numbers, booleans, dates, or what has no text.

    Durations, times, UUIDs, periods, intervals, and dates beyond the years 1 to 9999 become text; an array
    that repeats values by runs is written out; of other extension types the storage counts, as if the type
    was not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_array(pa.array([90_000, 1], pa.duration("s"))).to_pylist()
    ['P1DT1H', 'PT1S']
    """
    if isinstance(array, pa.ChunkedArray):
        array = _one_chunk(array)
    type_ = array.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_integer(type_):
        return array
    if pa.types.is_timestamp(type_):
        return _plain_timestamps(array)
    if pa.types.is_date(type_):
        return _plain_dates(array)
    if pa.types.is_time(type_):
        return _time_text(array)
    if pa.types.is_duration(type_):
        return _duration_text(array)
    if pa.types.is_interval(type_):
        return pa.array([None if v is None else _interval_text(*v) for v in array.to_pylist()], pa.string())
    if pa.types.is_dictionary(type_):
        values = plain_array(array.dictionary)
        return array if values.type == type_.value_type else values.take(array.indices)
    if pa.types.is_run_end_encoded(type_):
        return plain_array(array.values).take(_run_of_rows(array))
    if isinstance(type_, pa.BaseExtensionType):
        if type_.extension_name == "arrow.uuid":
            return _uuid_text(array.storage)
        if type_.extension_name in _PRINTED:
            return _printed(array)
        storage = array.storage
        return storage.cast(pa.bool_()) if type_.extension_name == "arrow.bool8" else plain_array(storage)
    return array.cast(pa.large_string()) if pa.types.is_string_view(type_) else array


def whole_text(text: str) -> str:
    """Return a text that can be encoded: halves of a surrogate pair are joined, or else the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _one_chunk(array: pa.ChunkedArray) -> pa.Array:
    whole = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # more than 2 GiB of text
        whole = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in whole.chunks])
    return whole


def _run_of_rows(array: pa.Array) -> pa.Array:
    """Return the run that each row of an array lies in which repeats values by runs."""
    rows = np.arange(array.offset, array.offset + len(array))
    return pa.array(np.searchsorted(array.run_ends.to_numpy(), rows, side="right"))


def workable_type(type_: pa.DataType) -> pa.DataType:
    """Return the type nearest to one that Arrow can take rows of; views and runs are written out."""
    if pa.types.is_run_end_encoded(type_):
        return workable_type(type_.value_type)
    if pa.types.is_string_view(type_):
        return pa.large_string()
    if pa.types.is_binary_view(type_):
        return pa.large_binary()
    if pa.types.is_list(type_) or pa.types.is_list_view(type_):
        return pa.list_(workable_type(type_.value_type))
    if pa.types.is_large_list(type_) or pa.types.is_large_list_view(type_):
        return pa.large_list(workable_type(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(workable_type(field.type)) for field in type_])
    return type_


def workable_array(array: pa.Array) -> pa.Array:
    """Return an array of its `workable_type`; itself where that is its type, or Arrow knows no way."""
    type_ = array.type
    if pa.types.is_run_end_encoded(type_):
        return workable_array(array.values).take(_run_of_rows(array))
    wanted = workable_type(type_)
    if wanted == type_:
        return array
    is_view = pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_)
    try:  # Arrow 26 casts a view of lists to lists whose last offset is missing
        return pa.array(array.to_pylist(), wanted) if is_view else array.cast(wanted)
    except CONVERSION_ERRORS:
        return array


def workable_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose columns are workable, see `workable_type`."""
    if all(workable_type(field.type) == field.type for field in batch.schema):
        return batch
    arrays = [workable_array(array) for array in batch.columns]
    fields = [field.with_type(array.type) for field, array in zip(batch.schema, arrays, strict=True)]
    return pa.record_batch(arrays, schema=pa.schema(fields))


def _decimal_text(array: pa.Array) -> pa.Array:
    """Write decimals in plain digits, without the zeros that their scale puts at the end."""
    texts = pc.cast(array, pa.string())
    if pc.any(pc.match_substring(texts, "E")).as_py():
        texts = pa.array([None if v is None else format(v, "f") for v in array.to_pylist()], pa.string())
    if array.type.scale > 0:
        has_point = pc.match_substring(texts, ".")
        cut = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
        texts = pc.if_else(has_point, cut, texts)
    return texts


def _float_text(array: pa.Array) -> pa.Array:
    """Write floats: integral ones as digits, others in the shortest spelling, NaN as null."""
    whole = whole_numbers(array)
    if whole is not None:
        numbers, is_null = whole
        return pc.cast(pa.array(numbers, mask=is_null if is_null.size else None), pa.string())
    values = array.to_numpy(zero_copy_only=False).astype(np.float64)
    is_null = np.isnan(values)
    is_small = ~is_null & (np.abs(np.where(is_null, 0, values)) < 2.0**63)
    is_integral = is_small & (np.floor(np.where(is_small, values, 0.5)) == values)
    texts = pc.cast(array, pa.string())
    digits = pc.cast(pa.array(np.where(is_integral, values, 0).astype(np.int64)), pa.string())
    texts = pc.if_else(pa.array(is_integral), digits, texts)
    huge = np.flatnonzero(~is_small & ~is_null & np.isfinite(values))
    if huge.size:
        as_list = texts.to_pylist()
        for row in huge:
            as_list[row] = str(int(values[row]))
        texts = pa.array(as_list, pa.string())
    return pc.if_else(pa.array(is_null), pa.scalar(None, pa.string()), texts)


# Dates and times ------------------------------------------------------------------------------------------


def _plain_timestamps(array: pa.Array) -> pa.Array:
    """Return timestamps as they are; as text if some lie beyond the years 1 to 9999."""
    unit = array.type.unit
    if unit == "ns":
        return array
    numbers, factor = array.view(pa.int64()), _PER_SECOND[unit]
    first, last = _FIRST_SECOND * factor, (_LAST_SECOND + 1) * factor - 1
    return array if _is_within(numbers, first, last) else _far_text(numbers, unit, first, last)


def _plain_dates(array: pa.Array) -> pa.Array:
    """Return dates as they are; as text if some lie beyond the years 1 to 9999."""
    is_days = pa.types.is_date32(array.type)
    unit, width = ("D", 86_400) if is_days else ("ms", 1)
    numbers = array.view(pa.int32() if is_days else pa.int64())
    first = _FIRST_SECOND // width if is_days else _FIRST_SECOND * 1000
    last = _LAST_SECOND // width if is_days else _LAST_SECOND * 1000 + 999
    if _is_within(numbers, first, last):
        return array
    return _far_text(numbers.cast(pa.int64()), unit, first, last)


def _is_within(numbers: pa.Array, first: int, last: int) -> bool:
    """Tell whether all numbers lie in a range; there may be none."""
    ends = pc.min_max(numbers)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is None or (low >= first and high <= last)


def _far_text(numbers: pa.Array, unit: str, first: int, last: int) -> pa.Array:
    """Write times, some of years that Arrow does not print: the date, and behind a ``t`` the time if there is one."""
    values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    is_far = (values < first) | (values > last)
    near_type = pa.date32() if unit == "D" else pa.timestamp(unit)
    near = pa.array(np.where(is_far, 0, values)).cast(pa.int32() if unit == "D" else pa.int64()).view(near_type)
    texts = cell_texts(near).to_numpy(zero_copy_only=False).astype(object)
    far = values[is_far].view(f"datetime64[{unit}]")
    texts[is_far] = [_far_spelling(text) for text in np.datetime_as_string(far).tolist()]
    return pa.array(texts, pa.string(), mask=numbers.is_null().to_numpy(zero_copy_only=False))


def _far_spelling(text: str) -> str | None:
    """Shorten what numpy prints of a time as dates and timestamps are: no midnight, no fraction of zero."""
    if text == "NaT":
        return None
    date, _, time = text.partition("T")
    if date.startswith("-"):  # numpy writes the year -44 with three digits
        year, month_and_day = date[1:].split("-", 1)
        date = f"-{year.zfill(4)}-{month_and_day}"
    seconds, _, fraction = time.partition(".")
    fraction = fraction[:6].ljust(6, "0") if fraction.strip("0") else ""
    if not fraction and seconds in ("", "00:00:00"):
        return date
    return f"{date}t{seconds}.{fraction}" if fraction else f"{date}t{seconds}"


def _time_text(array: pa.Array) -> pa.Array:
    """Write times of the day as ``HH:MM:SS``, with the microseconds behind unless they are zero."""
    micro = pc.cast(array, pa.time64("us"), safe=False)
    return pc.replace_substring_regex(pc.cast(micro, pa.string()), r"\.0{6}$", "")


def _duration_text(array: pa.Array) -> pa.Array:
    """Write durations as ISO 8601 does, each distinct one once."""
    factor = 10**9 // _PER_SECOND[array.type.unit]
    numbers = array.view(pa.int64())
    distinct, codes = np.unique(numbers.fill_null(0).to_numpy(zero_copy_only=False), return_inverse=True)
    texts = pa.array([_interval_text(0, 0, value * factor) for value in distinct.tolist()], pa.string())
    return texts.take(pa.array(codes, mask=numbers.is_null().to_numpy(zero_copy_only=False)))


def _interval_text(months: int, days: int, nanoseconds: int) -> str:
    """Write an interval as ISO 8601 does: ``P1M2DT3H4M5.6S``; days of the nanoseconds count to the days if alone."""
    sign = "-" if nanoseconds < 0 else ""
    seconds, fraction = divmod(abs(nanoseconds), 10**9)
    if months == days == 0:
        whole_days, seconds = divmod(seconds, 86_400)
        lead, inner = sign + "P", ""
        days_text = f"{whole_days}D" if whole_days else ""
    else:
        lead, inner = "P", sign
        days_text = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    point = "." + f"{fraction:09d}".rstrip("0") if fraction else ""
    time = f"{inner}{hours}H" if hours else ""
    time += f"{inner}{minutes}M" if minutes else ""
    time += f"{inner}{rest}{point}S" if rest or point else ""
    if not days_text and not time:
        return "PT0S"
    return lead + days_text + (f"T{time}" if time else "")


# Extension types ------------------------------------------------------------------------------------------

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_PLACES = np.array([i for i in range(36) if i not in (8, 13, 18, 23)])


def _uuid_text(storage: pa.Array) -> pa.Array:
    """Write 16 bytes each as a UUID in small letters."""
    n = len(storage)
    if n == storage.null_count:
        return pa.nulls(n, pa.large_string())
    raw = np.frombuffer(storage.buffers()[1], np.uint8, 16 * n, 16 * storage.offset).reshape(n, 16)
    texts = np.full((n, 36), ord("-"), np.uint8)
    digits = np.empty((n, 32), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _HEX[raw >> 4], _HEX[raw & 15]
    texts[:, _UUID_PLACES] = digits
    buffers = [None, pa.py_buffer(np.arange(n + 1, dtype=np.int64) * 36), pa.py_buffer(texts)]
    whole = pa.Array.from_buffers(pa.large_string(), n, buffers)
    return pc.if_else(storage.is_valid(), whole, pa.scalar(None, pa.large_string())) if storage.null_count else whole


def _printed(array: pa.Array) -> pa.Array:
    """Write values as pandas prints them, each distinct one once."""
    rows = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    codes, distinct = pd.factorize(array.take(pa.array(rows)).to_pandas())  # pandas reads no null as an interval
    texts = pa.array([str(value) for value in distinct], pa.string())
    of_row = np.full(len(array), -1, np.int64)
    of_row[rows] = codes
    return texts.take(pa.array(of_row, mask=of_row < 0))
