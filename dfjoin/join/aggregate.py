"""One row per key: how the values of several rows of a right table become one."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.values.frames import arrow_to_series

__all__ = [
    "KEEPING",
    "RULES",
    "aggregate_column",
    "check_aggregate",
    "check_rule",
    "choose_rule",
    "count_disagreeing",
    "keep_column",
    "nullable_column",
    "object_kind",
    "plain_column",
    "take_rows",
]

RULES = (
    "mean",
    "sum",
    "min",
    "max",
    "median",
    "std",
    "first",
    "last",
    "count",
    "nunique",
    "most_frequent",
    "majority",
    "latest",
    "share",
)
"""Aggregation rules: statistics of the non-null values of a key's rows; first and last take a row's value as it is."""

KEEPING = tuple(rule for rule in RULES if rule not in ("std", "count", "nunique", "share"))
"""Rules that give a value back as it is when a key has one row."""

_ONE_OF_THE_VALUES = ("mean", "median", *(rule for rule in KEEPING if rule not in ("mean", "sum", "median")))
"""Rules whose result says what the value of a key is, so that a row may agree with it or not."""

_DTYPE_OF_DATES = pd.to_datetime(pd.Series([datetime.date(2000, 1, 1)], dtype=object)).dtype
"""What pandas makes of dates held as objects."""

_NUMERIC = ("mean", "sum", "median", "std")
_IDENTIFIER = re.compile(
    r"(?:^|[^a-z])(?:id|ids|code|codes|key|zip|zipcode|postal|postcode|fips|geoid|iso|isbn|ean|phone|year)(?:$|[^a-z])"
)


def check_aggregate(value: Any, columns: list[str]) -> Any:
    """Check the `aggregate` argument: ``"auto"``, None, one rule, or a dict of column → rule."""
    if value is None:
        return value
    if isinstance(value, str):
        return value if value == "auto" else _rule(value)
    if not isinstance(value, dict):
        raise InvalidTypeError(
            f'`aggregate` must be "auto", None, a rule or a dict of column → rule, got {type(value).__name__}'
        )
    for name in value:
        if name not in columns:
            raise ColumnNotFoundError(
                f"`aggregate` must name columns of the joined table ({shortlist(columns)}), got {show(name)}"
            )
    return {name: _rule(rule) for name, rule in value.items()}


def _rule(rule: Any) -> str:
    """Check one rule."""
    if not isinstance(rule, str) or rule not in RULES:
        raise InvalidParameterError(f"`aggregate` must be one of {shortlist(RULES, 20)}, got {show(rule)}")
    return rule


def choose_rule(aggregate: Any, name: str, column: pd.Series) -> str:
    """Return the rule for a column.

    ``"auto"``: number → mean, bool → share, everything else → majority; so are numbers whose name says
    that they are codes or years (``id``, ``zip_code``, ``year`` …).

    Examples
    --------
    >>> choose_rule("auto", "area", pd.Series([1.5])), choose_rule("auto", "zip_code", pd.Series([1]))
    ('mean', 'majority')
    """
    if isinstance(aggregate, dict) and name in aggregate:
        return aggregate[name]
    if isinstance(aggregate, str) and aggregate != "auto":
        return aggregate
    if pd.api.types.is_bool_dtype(column.dtype):
        return "share"
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold()
        return "majority" if _IDENTIFIER.search(words) else "mean"
    return "majority"


def check_rule(column: pd.Series, rule: str) -> None:
    """Raise `InvalidParameterError` when a rule needs numbers or booleans and the column holds others."""
    is_flag = pd.api.types.is_bool_dtype(column.dtype)
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and not is_flag
    if (rule in _NUMERIC and not (is_number or is_flag)) or (rule == "share" and not is_flag):
        needed = "booleans" if rule == "share" else "numbers"
        raise InvalidParameterError(
            f"`aggregate` rule {rule!r} needs {needed}, but column {column.name!r} holds {column.dtype}; use "
            '"most_frequent", "first", "count" or "nunique"'
        )


def aggregate_column(column: pd.Series, codes: NDArray[np.int64], n_keys: int, rule: str) -> pd.Series:
    """Compute one value per key.

    Parameters
    ----------
    column : Series, shape (n_rows,)
    codes : ndarray of int64, shape (n_rows,)
        Key of each row, none negative.
    n_keys : int
        Keys are 0 to n_keys - 1; one without rows gets a null.
    rule : str
        One of `RULES`. Nulls are left out, except by ``first`` and ``last``, which take the value of one row, so that
        several columns come from one row. Ties of ``most_frequent`` go to the smallest value; ``majority`` is null
        unless more than half of the key's values are equal.

    Returns
    -------
    Series, shape (n_keys,)

    Raises
    ------
    InvalidParameterError
        If the rule needs numbers or booleans and the column has none.
    """
    check_rule(column, rule)
    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_float16(column.dtype.pyarrow_dtype):
        column = column.astype(pd.ArrowDtype(pa.float32()))  # pandas groups no half floats
    is_flag = pd.api.types.is_bool_dtype(column.dtype)
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and not is_flag
    if rule in ("most_frequent", "majority"):
        return _most_frequent(column, codes, n_keys, needs_majority=rule == "majority")
    if rule in ("first", "last"):
        return take_rows(column, _row_of_key(codes, n_keys, is_last=rule == "last"))
    if rule == "share" or (rule in _NUMERIC and not is_number):
        column = column.astype("boolean").astype("Float64")
    if rule == "sum" and not isinstance(column.dtype, pd.ArrowDtype) and pd.api.types.is_integer_dtype(column.dtype):
        # Pandas would give sums that fit the narrow type of the column.
        column = column.astype("UInt64" if pd.api.types.is_unsigned_integer_dtype(column.dtype) else "Int64")
    function = {"share": "mean", "latest": "max"}.get(rule, rule)
    is_time = pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype)
    if function in ("min", "max") and not (is_number or is_flag or is_time):
        return _extreme_text(column, codes, n_keys, function)
    if function == "nunique" and not _is_hashable(column):
        column = column.map(repr, na_action="ignore")
    groups = column.groupby(codes, sort=True)
    result = groups.sum(min_count=1) if function == "sum" else getattr(groups, function)()
    result = result.reindex(np.arange(n_keys))
    if function in ("count", "nunique"):
        return result.fillna(0).astype(np.int64)
    is_wide = str(result.dtype) == "Float64" or (function == "mean" and isinstance(result.dtype, np.dtype))
    return result.astype("float64") if is_wide else result


def keep_column(column: pd.Series, rule: str) -> pd.Series:
    """Return values of keys that have one row each, with the dtype that the rule has where keys have several.

    Parameters
    ----------
    column : Series
        One value a key.
    rule : str
        One of `KEEPING`.
    """
    check_rule(column, rule)
    if rule in _NUMERIC and column.dtype == np.float64:
        return column  # the dtype of each of these rules; to group nothing would take half a millisecond
    if rule in _NUMERIC:
        dtype = aggregate_column(column.iloc[:0], np.empty(0, np.int64), 0, rule).dtype
        return column if dtype == column.dtype else column.astype(dtype)
    is_ordered = (
        pd.api.types.is_numeric_dtype(column.dtype)
        or pd.api.types.is_datetime64_any_dtype(column.dtype)
        or pd.api.types.is_timedelta64_dtype(column.dtype)
    )
    if rule in ("min", "max", "latest") and not is_ordered:
        return aggregate_column(column, np.arange(len(column)), len(column), rule)  # texts
    return column  # the rule chooses one of the values


def count_disagreeing(column: pd.Series, codes: NDArray[np.int64], chosen: pd.Series, rule: str) -> int | None:
    """Count the rows that have a value, and another one than their key was given.

    Parameters
    ----------
    column : Series, shape (n_rows,)
    codes : ndarray of int64, shape (n_rows,)
        Key of each row.
    chosen : Series, shape (n_keys,)
        What `aggregate_column` made of the column; rows of a key without a value disagree, too.
    rule : str

    Returns
    -------
    int or None
        None for a rule whose result is no value of the column, as a sum or a count. Numbers agree within 1e-9 of
        their size.
    """
    if rule not in _ONE_OF_THE_VALUES:
        return None
    given = take_rows(chosen.reset_index(drop=True), codes)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        ours, theirs = (pd.Series(side).to_numpy(np.float64, na_value=np.nan) for side in (column, given))
        return int(np.count_nonzero(~np.isnan(ours) & ~np.isclose(ours, theirs, rtol=1e-9, atol=0)))
    has_value, is_given = column.notna().to_numpy(), given.notna().to_numpy()
    both = has_value & is_given
    if _is_hashable(column):
        ours, theirs = (side[both].astype(object).to_numpy() for side in (column, given))
    else:
        ours, theirs = (side[both].map(repr).astype(object).to_numpy() for side in (column, given))
    return int(np.count_nonzero(has_value & ~is_given)) + int(np.count_nonzero(ours != theirs))


def _row_of_key(codes: NDArray[np.int64], n_keys: int, *, is_last: bool) -> NDArray[np.int64]:
    """Return the first row of each key, or the last; -1 for a key without rows."""
    rows = np.full(n_keys, -1, np.int64)
    order = np.arange(codes.size) if is_last else np.arange(codes.size)[::-1]
    rows[codes[order]] = order  # the last assignment stays
    return rows


def _extreme_text(column: pd.Series, codes: NDArray[np.int64], n_keys: int, function: str) -> pd.Series:
    """Return the first or last text of each key, by code point; objects are compared by how they print."""
    text = column.astype(str).where(column.notna())
    numbers, uniques = pd.factorize(text, sort=True)
    present = numbers >= 0
    chosen = np.full(n_keys, len(uniques) if function == "min" else -1, np.int64)
    (np.minimum if function == "min" else np.maximum).at(chosen, codes[present], numbers[present])
    chosen[chosen == len(uniques)] = -1
    return take_rows(pd.Series(uniques, name=column.name), chosen)


def nullable_column(column: pd.Series) -> pd.Series:
    """Give integers and booleans of numpy the dtype that can hold nulls."""
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return column
    name = "boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("u", "U")
    return column.astype(pd.api.types.pandas_dtype(name))


def take_rows(column: pd.Series, rows: NDArray[np.int64], *, may_lack: bool = False) -> pd.Series:
    """Take rows by position, -1 for a null; where rows may lack, integers and booleans become nullable in any case."""
    gains_nulls = rows.size > 0 and bool(rows.min() < 0)
    if gains_nulls and isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if gains_nulls or may_lack:
        column = nullable_column(column)
    taken = column.array.take(rows, allow_fill=gains_nulls)
    return pd.Series(taken, name=column.name, dtype=taken.dtype if column.dtype == "object" else None)


def _most_frequent(
    column: pd.Series, codes: NDArray[np.int64], n_keys: int, *, needs_majority: bool = False
) -> pd.Series:
    """Return the most frequent value of each key, the smallest of equally frequent ones; null where it needs more."""
    if not _is_hashable(column):  # lists and the like are told apart by how they print
        numbers, _ = pd.factorize(column.map(repr, na_action="ignore"), sort=True)
        uniques = column.iloc[[int(np.argmax(numbers == n)) for n in range(int(numbers.max()) + 1)]]
    else:
        numbers, uniques = pd.factorize(column, sort=_can_sort(column))
    present = numbers >= 0
    if not present.any():
        return take_rows(column, np.full(n_keys, -1, np.int64))
    pair = codes[present] * len(uniques) + numbers[present]
    ordered = np.sort(pair)
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[first, ordered.size])
    pairs = ordered[first]
    keys = pairs // len(uniques)
    # Within a key, the highest count first; the sort is stable, so smaller values stay in front.
    best = np.lexsort((-counts, keys))
    leads = best[np.r_[True, keys[best][1:] != keys[best][:-1]]]
    if needs_majority:
        n_values = np.bincount(codes[present], minlength=n_keys)
        leads = leads[2 * counts[leads] > n_values[keys[leads]]]
    chosen = np.full(n_keys, -1, np.int64)
    chosen[keys[leads]] = pairs[leads] % len(uniques)
    values = pd.Series(uniques, name=column.name).reset_index(drop=True)
    if values.dtype != column.dtype:
        values = values.astype(column.dtype)
    return take_rows(values, chosen)


def _is_hashable(column: pd.Series) -> bool:
    """Tell whether the values can be told apart by their hashes."""
    if column.dtype != object:
        return not (isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_nested(column.dtype.pyarrow_dtype))
    return not any(isinstance(v, (list, dict, set, np.ndarray)) for v in column)


def object_kind(column: pd.Series) -> str:
    """Return what a column of objects holds, as pandas names it ("decimal", "date", "mixed", …); empty for others."""
    if not pd.api.types.is_object_dtype(column.dtype):
        return ""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return "" if kind == "empty" else kind


def plain_column(column: pd.Series, kind: str = "") -> pd.Series:
    """Give a column the dtype that statistics need: one that holds nulls, and is none of objects where values allow.

    Parameters
    ----------
    column : Series
    kind : str
        What the column that it is a part of holds, as `object_kind` tells; by default what these rows hold.
    """
    column = nullable_column(column)
    dtype = column.dtype
    if str(dtype) == "Float64":
        return column.astype("float64")
    if isinstance(dtype, pd.ArrowDtype):
        if pa.types.is_decimal(dtype.pyarrow_dtype):
            return column.astype("float64")
        if not pa.types.is_date(dtype.pyarrow_dtype):
            return column
        return arrow_to_series(column.array.__arrow_array__().cast(pa.timestamp("ms"))).set_axis(column.index)
    if isinstance(dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    if not pd.api.types.is_object_dtype(dtype):
        return column
    kind = kind or object_kind(column)
    if kind == "decimal":
        return column.astype("float64")
    if kind in ("date", "datetime"):
        try:
            if column.isna().all():
                return column.astype(_DTYPE_OF_DATES)
            return pd.to_datetime(column)
        except (ValueError, TypeError):  # beyond the range of timestamps, or of mixed zones
            return column
    return column.astype("boolean") if kind == "boolean" else column


def _can_sort(column: pd.Series) -> bool:
    """Tell whether values of the column can be compared; mixed objects may not be."""
    if column.dtype != object:
        return True
    kinds = {type(value) for value in column if value is not None and value == value}
    return len(kinds) <= 1
