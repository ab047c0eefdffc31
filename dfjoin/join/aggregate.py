"""One row per key: how the cells of several rows of a right table become one.

Rules that choose a value take the cell of a row as it is, so that they keep value and type whatever it is. Means,
medians, sums and standard deviations are computed, of decimals as decimals.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.join.rules import CHOOSING, check_rule
from dfjoin.values.cells import CONVERSION_ERRORS
from dfjoin.values.frames import nan_as_null

_TOLERANCE = 1e-9
"""Of its size, within which a number agrees with a mean."""

_MORE_DIGITS = 4
"""Digits that a mean of decimals has behind the point, beyond those of its column."""

_SUM_DIGITS = 10
"""Digits that a sum of decimals has in front of the point, beyond those of its column."""


def cell_kind(column: pd.Series, held: str = "") -> str:
    """Return what rules apply to a column.

    Parameters
    ----------
    column : Series
    held : str
        What the column that it is a part of holds as objects, as `object_kind` tells; by default what these rows hold.

    Returns
    -------
    {"bool", "integer", "float", "decimal", "complex", "other"}
    """
    dtype = column.dtype.subtype if isinstance(column.dtype, pd.SparseDtype) else column.dtype
    is_arrow = isinstance(dtype, pd.ArrowDtype)
    if isinstance(dtype, pd.CategoricalDtype) or (is_arrow and pa.types.is_run_end_encoded(dtype.pyarrow_dtype)):
        return "other"
    if dtype == "object":
        return {"boolean": "bool", "decimal": "decimal"}.get(held or object_kind(column), "other")
    if is_arrow and pa.types.is_decimal(dtype.pyarrow_dtype):
        return "decimal"
    tests = {
        "bool": pd.api.types.is_bool_dtype,
        "integer": pd.api.types.is_integer_dtype,
        "float": pd.api.types.is_float_dtype,
        "complex": pd.api.types.is_complex_dtype,
    }
    return next((kind for kind, is_kind in tests.items() if is_kind(dtype)), "other")


def aggregate_column(column: pd.Series, codes: NDArray[np.int64], n_keys: int, rule: str, held: str = "") -> pd.Series:
    """Compute one value per key.

    Parameters
    ----------
    column : Series, shape (n_rows,)
    codes : ndarray of int64, shape (n_rows,)
        Key of each row, none negative.
    n_keys : int
        Keys are 0 to n_keys - 1; one without rows gets a null.
    rule : str
        One of `RULES` or `SERIES_RULES`. Nulls are left out, except by ``first`` and ``last``, which take the value of
        one row, so that several columns come from one row. Ties of ``most_frequent`` go to the smallest value;
        ``majority`` is null unless more than half of the key's values are equal. Texts are ordered by code point,
        ordered categories by their order, objects that do not compare by how they print.
    held : str
        See `cell_kind`.

    Returns
    -------
    Series, shape (n_keys,)
        ``min``, ``max``, ``latest``, ``first``, ``last``, ``most_frequent``, ``majority``: values as they are, of the
        column's dtype, integers and booleans nullable. ``count``, ``nunique``: int64. ``mean``, ``median``, ``std``,
        ``share``, ``trend``, ``top_share``: float64 (of Arrow's types double); ``trend`` is null of one row. ``sum``:
        Int64, UInt64 or the float's. Of decimals: mean and median have four digits more behind the point, rounded half
        up, sums ten more in front of it.

    Raises
    ------
    InvalidParameterError
        If the rule needs numbers or booleans and the column has none; if a sum is beyond its type.
    """
    kind = cell_kind(column, held)
    check_rule(column.name, column.dtype, kind, rule)
    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if rule in ("first", "last"):
        return take_rows(column, _row_of_key(codes, n_keys, is_last=rule == "last"), may_lack=True)
    if isinstance(column.dtype, pd.ArrowDtype):
        column = pd.Series(pd.arrays.ArrowExtensionArray(nan_as_null(column.array.__arrow_array__())), name=column.name)
    if rule in CHOOSING:
        return take_rows(column, _chosen_rows(column, codes, n_keys, rule), may_lack=True)
    if rule in ("count", "nunique"):
        return _counted(column, codes, n_keys, is_distinct=rule == "nunique")
    if rule == "trend":
        return _trend(as_floats(column), codes, n_keys)
    if rule == "top_share":
        ranks = _ranks(column)
        n_most = np.bincount(codes[_is_most_frequent(ranks, codes, n_keys)], minlength=n_keys)
        with np.errstate(invalid="ignore"):
            return pd.Series(n_most / np.bincount(codes[ranks >= 0], minlength=n_keys))
    if kind == "decimal" and rule != "std":
        return _of_decimals(column, codes, n_keys, rule)
    if kind == "integer" and rule == "sum":
        return _sum_of_integers(column, codes, n_keys)
    return _statistic(column, kind, codes, n_keys, "mean" if rule == "share" else rule)


def _statistic(column: pd.Series, kind: str, codes: NDArray[np.int64], n_keys: int, function: str) -> pd.Series:
    """Compute a statistic in floats."""
    if kind == "bool":
        column = column.astype("boolean").astype("float64")
    elif kind == "decimal":
        column = column.astype("float64")
    elif isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_float16(column.dtype.pyarrow_dtype):
        column = column.astype(pd.ArrowDtype(pa.float32()))  # pandas groups no half floats
    else:
        column = nullable_column(column)
    groups = column.groupby(codes, sort=True)
    result = groups.sum(min_count=1) if function == "sum" else getattr(groups, function)()
    result = result.reindex(np.arange(n_keys))
    is_wide = str(result.dtype) == "Float64" or (function == "mean" and isinstance(result.dtype, np.dtype))
    return result.astype("float64") if is_wide and kind != "complex" else result


def _trend(values: NDArray[np.float64], codes: NDArray[np.int64], n_keys: int) -> pd.Series:
    """Return the slope of a key's values along its rows, which count from 0 on."""
    rows = np.flatnonzero(~np.isnan(values))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    own, held = codes[rows], values[rows]
    counts = np.bincount(own, minlength=n_keys)
    position = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    centred = position - ((counts - 1) / 2)[own]
    with np.errstate(invalid="ignore", divide="ignore"):
        return pd.Series(np.bincount(own, centred * held, n_keys) / np.bincount(own, centred**2, n_keys))


def _is_most_frequent(ranks: NDArray[np.int64], codes: NDArray[np.int64], n_keys: int) -> NDArray[np.bool_]:
    """Tell of each row whether it has the most frequent value of its key."""
    chosen = _most_frequent(ranks, codes, n_keys, needs_majority=False)
    return (ranks >= 0) & (ranks == np.where(chosen >= 0, ranks[chosen], -1)[codes])


def _counted(column: pd.Series, codes: NDArray[np.int64], n_keys: int, *, is_distinct: bool) -> pd.Series:
    """Count the values of each key, or those that differ."""
    if not is_distinct:
        return pd.Series(np.bincount(codes[column.notna().to_numpy()], minlength=n_keys), name=column.name)
    ranks = _ranks(column)
    present = ranks >= 0
    pairs = np.unique(np.stack([codes[present], ranks[present]]), axis=1)
    return pd.Series(np.bincount(pairs[0], minlength=n_keys), name=column.name)


def _sum_of_integers(column: pd.Series, codes: NDArray[np.int64], n_keys: int) -> pd.Series:
    """Add integers up, exactly; raises where a sum is beyond 64 bits."""
    present = column.notna().to_numpy()
    is_unsigned = pd.api.types.is_unsigned_integer_dtype(column.dtype)
    type_: Any = np.uint64 if is_unsigned else np.int64
    values, own = column[present].to_numpy(type_), codes[present]
    counts = np.bincount(own, minlength=n_keys)
    limits = np.iinfo(type_)
    most = max(int(values.max(initial=0)), -int(values.min(initial=0))) * int(counts.max(initial=0))
    if most > limits.max:
        exact = pd.Series(values.astype(object)).groupby(own).sum()
        if not all(limits.min <= value <= limits.max for value in exact):
            raise InvalidParameterError(
                f"`aggregate` rule 'sum' makes numbers of column {column.name!r} that are beyond 64 bits; turn it into "
                "floats or decimals first"
            )
    sums = np.zeros(n_keys, type_)
    np.add.at(sums, own, values)
    if isinstance(column.dtype, pd.ArrowDtype):
        array = pa.array(sums, mask=counts == 0)
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])), name=column.name)
    return pd.Series(pd.arrays.IntegerArray(sums, counts == 0), name=column.name)


def decimal_type(precision: int, scale: int, rule: str, most: int = 38) -> tuple[int, int]:
    """Return precision and scale of a sum, mean or median of decimals.

    Parameters
    ----------
    precision, scale : int
        Of the column.
    rule : {"sum", "mean", "median"}
    most : int
        Digits that the type can have.

    Examples
    --------
    >>> decimal_type(9, 2, "mean"), decimal_type(37, 2, "mean"), decimal_type(9, 2, "sum")
    ((13, 6), (38, 4), (19, 2))

    A whole number of 38 digits is what databases make of any integer, and its mean is none:

    >>> decimal_type(38, 0, "mean")
    (38, 4)
    """
    if rule == "sum":
        return min(precision + _SUM_DIGITS, most), scale
    return min(precision + _MORE_DIGITS, most), min(scale + _MORE_DIGITS, max(most - precision + scale, _MORE_DIGITS))


def _of_decimals(column: pd.Series, codes: NDArray[np.int64], n_keys: int, rule: str) -> pd.Series:
    """Compute the sum, mean or median of decimals, as decimals."""
    groups: list[list[decimal.Decimal]] = [[] for _ in range(n_keys)]
    is_there = column.notna().to_numpy()
    for code, value, is_value in zip(codes.tolist(), column.astype(object), is_there, strict=True):
        if is_value:
            groups[code].append(decimal.Decimal(value))
    if not isinstance(column.dtype, pd.ArrowDtype):
        made = [_decimal(group, rule, None) if group else None for group in groups]
        return pd.Series(made, name=column.name, dtype=object)
    type_ = column.dtype.pyarrow_dtype
    make, most = (pa.decimal128, 38) if type_.byte_width <= 16 else (pa.decimal256, 76)
    precision, scale = decimal_type(type_.precision, type_.scale, rule, most)
    made = [_decimal(group, rule, scale) if group else None for group in groups]
    try:
        array = pa.chunked_array([pa.array(made, make(precision, scale))])
    except pa.ArrowInvalid as error:
        raise InvalidParameterError(
            f"`aggregate` rule {rule!r} makes numbers of column {column.name!r} that have more than {most} digits; "
            "turn it into floats first"
        ) from error
    return pd.Series(pd.arrays.ArrowExtensionArray(array), name=column.name)


def _decimal(values: list[decimal.Decimal], rule: str, scale: int | None) -> decimal.Decimal:
    """Compute the sum, mean or median of some decimals; rounded to a scale, by default four digits beyond theirs."""
    if not all(value.is_finite() for value in values):
        return sum(values, decimal.Decimal(0))
    positions = max(0, *(-int(value.as_tuple().exponent) for value in values))
    digits = max(value.adjusted() for value in values) + positions + len(str(len(values))) + 2 * _MORE_DIGITS
    with decimal.localcontext(decimal.Context(prec=max(digits, 28), rounding=decimal.ROUND_HALF_UP)):
        if rule == "median":
            middle, is_odd = divmod(len(values), 2)
            values = sorted(values)[middle - 1 + is_odd : middle + 1]
        total = sum(values, decimal.Decimal(0))
        if rule == "sum":
            return total
        step = decimal.Decimal(1).scaleb(-(positions + _MORE_DIGITS if scale is None else scale))
        return (total / len(values)).quantize(step)


def as_kept(result: pd.Series, column: pd.Series, rule: str) -> pd.Series:
    """Give what a rule computed the dtype of its column, as a plan says that was made where keys had one row each.

    Raises
    ------
    InvalidParameterError
        If that would change a value.
    """
    dtype = nullable_column(column.iloc[:0]).dtype
    if result.dtype == dtype or pd.api.types.is_object_dtype(dtype):
        return result
    try:
        kept = result.astype(dtype)
        if bool((kept.isna() == result.isna()).all()) and bool((kept.dropna() == result.dropna()).all()):
            return kept
    except CONVERSION_ERRORS:
        pass
    raise InvalidParameterError(
        f"`aggregate` rule {rule!r} makes values of column {column.name!r} that are no {dtype}: when the plan was "
        'made, each key had one row; join anew without the plan, or with a rule that chooses a value, as "majority"'
    )


def count_disagreeing(
    column: pd.Series, codes: NDArray[np.int64], chosen: pd.Series, rule: str, held: str = ""
) -> int | None:
    """Count the rows that have a value, and another one than their key was given.

    Parameters
    ----------
    column : Series, shape (n_rows,)
    codes : ndarray of int64, shape (n_rows,)
        Key of each row.
    chosen : Series, shape (n_keys,)
        What `aggregate_column` made of the column; rows of a key without a value disagree, too.
    rule : str
    held : str
        See `cell_kind`.

    Returns
    -------
    int or None
        None for a rule whose result is no value of the column, as a sum or a count. Numbers agree with a mean or median
        within 1e-9 of their size, floats always.
    """
    if rule not in (*CHOOSING, "mean", "median"):
        return None
    kind = cell_kind(column, held)
    given = take_rows(chosen.reset_index(drop=True), codes)
    if kind == "float" or (rule not in CHOOSING and kind != "complex"):
        ours, theirs = (as_floats(side) for side in (column, given))
        return int(np.count_nonzero(~np.isnan(ours) & ~np.isclose(ours, theirs, rtol=_TOLERANCE, atol=0)))
    has_value, is_given = column.notna().to_numpy(), given.notna().to_numpy()
    both = has_value & is_given
    if kind == "integer":
        ours, theirs = (
            side[both].to_numpy(np.uint64 if _is_unsigned(column) else np.int64) for side in (column, given)
        )
    elif isinstance(column.dtype, pd.StringDtype):
        ours, theirs = (side[both].array for side in (column, given))
    elif _is_hashable(column):
        ours, theirs = (side[both].astype(object).to_numpy() for side in (column, given))
    else:
        ours, theirs = (side[both].map(repr).astype(object).to_numpy() for side in (column, given))
    return int(np.count_nonzero(has_value & ~is_given)) + int(np.count_nonzero(np.asarray(ours != theirs, bool)))


def _is_unsigned(column: pd.Series) -> bool:
    dtype = column.dtype.subtype if isinstance(column.dtype, pd.SparseDtype) else column.dtype
    return pd.api.types.is_unsigned_integer_dtype(dtype)


def as_floats(column: pd.Series) -> NDArray[np.float64]:
    """Return numbers, decimals and booleans among them, as floats; NaN for null."""
    if column.dtype == object:
        column = column.where(column.notna(), np.nan).astype("float64")
    return column.to_numpy(np.float64, na_value=np.nan)


def _row_of_key(codes: NDArray[np.int64], n_keys: int, *, is_last: bool) -> NDArray[np.int64]:
    """Return the first row of each key, or the last; -1 for a key without rows."""
    rows = np.full(n_keys, -1, np.int64)
    order = np.arange(codes.size) if is_last else np.arange(codes.size)[::-1]
    rows[codes[order]] = order  # the last assignment stays
    return rows


def _chosen_rows(column: pd.Series, codes: NDArray[np.int64], n_keys: int, rule: str) -> NDArray[np.int64]:
    """Return the row whose value a rule chooses for each key, -1 for none; values of one key alone are compared."""
    rows = np.full(n_keys, -1, np.int64)
    is_alone = np.bincount(codes, minlength=n_keys)[codes] == 1
    alone, several = np.flatnonzero(is_alone & column.notna().to_numpy()), np.flatnonzero(~is_alone)
    rows[codes[alone]] = alone
    if several.size:
        ranks, own = _ranks(column, several, is_sorted=rule != "majority"), codes[several]
        chosen = (
            _most_frequent(ranks, own, n_keys, needs_majority=rule == "majority")
            if rule in ("most_frequent", "majority")
            else _extreme(ranks, own, n_keys, is_smallest=rule == "min")
        )
        found = chosen >= 0
        rows[found] = several[chosen[found]]
    return rows


def _extreme(
    ranks: NDArray[np.int64], codes: NDArray[np.int64], n_keys: int, *, is_smallest: bool
) -> NDArray[np.int64]:
    """Return a row of each key that has its smallest or largest value; -1 for none."""
    present = np.flatnonzero(ranks >= 0)
    own, held = codes[present], ranks[present]
    best = np.full(n_keys, np.iinfo(np.int64).max if is_smallest else -1, np.int64)
    (np.minimum if is_smallest else np.maximum).at(best, own, held)
    rows = np.full(n_keys, -1, np.int64)
    is_best = held == best[own]
    rows[own[is_best][::-1]] = present[is_best][::-1]
    return rows


def _most_frequent(
    ranks: NDArray[np.int64], codes: NDArray[np.int64], n_keys: int, *, needs_majority: bool
) -> NDArray[np.int64]:
    """Return a row with the most frequent value of each key, the smallest of equally frequent ones.

    -1 for none, and where the value is needed to be that of more than half.
    """
    present = np.flatnonzero(ranks >= 0)
    own, held = codes[present], ranks[present]
    rows, best = np.full((2, n_keys), -1, np.int64)
    n_ranks = int(held.max(initial=0)) + 1
    pairs = np.sort(own * n_ranks + held)
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(starts, append=pairs.size)
    keys, values = np.divmod(pairs[starts], n_ranks)
    most = np.zeros(n_keys, np.int64)
    np.maximum.at(most, keys, counts)
    leads = np.flatnonzero(counts == most[keys])[::-1]
    best[keys[leads]] = values[leads]  # the last assignment stays: that of the smallest value
    if needs_majority:
        best[2 * most <= np.bincount(own, minlength=n_keys)] = -1
    is_best = np.flatnonzero(held == best[own])[::-1]
    rows[own[is_best]] = present[is_best]
    return rows


def _ranks(
    column: pd.Series, rows: NDArray[np.int64] | slice = slice(None), *, is_sorted: bool = True
) -> NDArray[np.int64]:
    """Number the values of some rows, equal ones alike, in ascending order unless told otherwise; -1 for a null."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        numbers = np.arange(len(column.cat.categories)) if column.cat.ordered else _ranks(_categories(column))
        return np.append(numbers, -1)[column.cat.codes.to_numpy()[rows]]
    if isinstance(column.dtype, pd.ArrowDtype) and getattr(column.dtype.pyarrow_dtype, "ordered", False):
        categories = column.array.__arrow_array__().combine_chunks()
        return categories.indices.cast(pa.int64()).fill_null(-1).to_numpy()[rows]
    own = column.iloc[rows]
    if not _is_hashable(column):  # lists and the like are distinguished by how they print
        return _ranks_of_texts(own, repr)
    for held in (lambda: own, lambda: own.astype(object)):  # pandas orders not all of Arrow's types
        try:
            can_sort = _can_sort(column)
            return pd.factorize(held(), sort=is_sorted)[0].astype(np.int64) if can_sort else _ranks_of_texts(own)
        except CONVERSION_ERRORS:
            continue
    return _ranks_of_texts(own)


def _categories(column: pd.Series) -> pd.Series:
    return pd.Series(column.cat.categories)


def _ranks_of_texts(column: pd.Series, spell: Callable[[Any], str] = str) -> NDArray[np.int64]:
    """Number values by how they print, and those that print alike by their types."""
    texts = [(spell(value), type(value).__name__) for value in column[column.notna()]]
    number_of = {text: number for number, text in enumerate(sorted(set(texts)))}
    ranks = np.full(len(column), -1, np.int64)
    ranks[column.notna().to_numpy()] = [number_of[text] for text in texts]
    return ranks


def nullable_column(column: pd.Series) -> pd.Series:
    """Give integers and booleans of numpy the dtype that can hold nulls."""
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return column
    name = "boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("u", "U")
    return column.astype(pd.api.types.pandas_dtype(name))


def take_rows(column: pd.Series, rows: NDArray[np.int64] | None, *, may_lack: bool = False) -> pd.Series:
    """Take rows by position, -1 for a null; where rows may lack, integers and booleans become nullable in any case.

    Without `rows` all are taken, each once and in order: the column itself, where its dtype stays.
    """
    gains_nulls = rows is not None and rows.size > 0 and bool(rows.min() < 0)
    if (gains_nulls or may_lack) and isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if gains_nulls or may_lack:
        column = nullable_column(column)
    if rows is None:
        return column
    taken = column.array.take(rows, allow_fill=gains_nulls)
    return pd.Series(taken, name=column.name, dtype=taken.dtype if column.dtype == "object" else None, copy=False)


def _is_hashable(column: pd.Series) -> bool:
    """Tell whether the values can be distinguished by their hashes."""
    if column.dtype != object:
        return not (isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_nested(column.dtype.pyarrow_dtype))
    return not any(isinstance(v, (list, dict, set, np.ndarray)) for v in column)


def object_kind(column: pd.Series) -> str:
    """Return what a column of objects holds, as pandas names it ("decimal", "date", "mixed", …); empty for others."""
    if column.dtype != object:
        return ""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return "" if kind == "empty" else kind


def _can_sort(column: pd.Series) -> bool:
    """Tell whether values of the column can be compared; mixed objects may not be."""
    if column.dtype != object:
        return True
    kinds = {type(value) for value in column if value is not None and value == value}
    return len(kinds) <= 1
