"""The type of a key column that rows of both sides of a join fill."""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as T

__all__ = ["key_type"]

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""Type of integers → digits of a decimal that holds them."""

_EXACT_IN_DOUBLE = 15
"""Digits of an integer that a double always holds."""

_MOST_DIGITS = 38


def key_type(left: Any, right: Any) -> Any:
    """Return the type in which keys of two types stand in one column, each as it is.

    Parameters
    ----------
    left, right : pyspark DataType

    Returns
    -------
    pyspark DataType
        The type of both; of two types of numbers, or of dates and times, the one that holds all values of both; else
        STRING, where each value stands as Spark writes it.

    Examples
    --------
    >>> from pyspark.sql import types as T
    >>> key_type(T.IntegerType(), T.LongType()), key_type(T.LongType(), T.StringType())
    (LongType(), StringType())
    >>> key_type(T.LongType(), T.DoubleType()), key_type(T.DateType(), T.TimestampType())
    (StringType(), TimestampNTZType())
    """
    if left == right:
        return left
    names = [type_.simpleString() for type_ in (left, right)]
    if "void" in names:
        return right if names[0] == "void" else left
    if set(names) <= {"date", "timestamp", "timestamp_ntz"}:
        return T.TimestampNTZType()
    if all(name in _DIGITS for name in names):
        return max((left, right), key=lambda type_: _DIGITS[type_.simpleString()])
    own, theirs = _digits(left), _digits(right)
    if set(names) & {"float", "double"}:
        is_exact = all(held is None or (held[0] <= _EXACT_IN_DOUBLE and not held[1]) for held in (own, theirs))
        return T.DoubleType() if is_exact and all(map(_is_number, (left, right))) else T.StringType()
    if own is None or theirs is None:
        return T.StringType()
    scale = max(own[1], theirs[1])
    precision = max(own[0], theirs[0]) + scale
    return T.DecimalType(precision, scale) if precision <= _MOST_DIGITS else T.StringType()


def _is_number(type_: Any) -> bool:
    return isinstance(type_, T.NumericType)


def _digits(type_: Any) -> tuple[int, int] | None:
    """Return how many digits values of a type have before and behind the point; None for any number of them."""
    if isinstance(type_, T.DecimalType):
        return type_.precision - type_.scale, type_.scale
    whole = _DIGITS.get(type_.simpleString())
    return None if whole is None else (whole, 0)
