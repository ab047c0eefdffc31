"""What a program computes from two texts: differences of dates and times, ages, sums and differences of numbers.

The same contract as `dfjoin.programs.operator`, for two texts: dates and times are moments as in
`dfjoin.programs.time_operators`, numbers plain decimals.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs import scalar_dates, scalar_numbers
from dfjoin.programs.moment_columns import DAY, Moments
from dfjoin.programs.spark_sql import END, quote

MOMENT_KINDS = ("days", "weeks", "months", "years", "hours", "minutes", "seconds")
"""What has passed from the second moment to the first one: days, which may be negative; whole weeks, months, or years
as of an age; hours with two digits, whole minutes or seconds, where both times are known."""
NUMBER_KINDS = ("sum", "difference")
"""The first number and the second one, or the first without the second."""
COMBINATIONS = (*MOMENT_KINDS, *NUMBER_KINDS)
_UNITS = {"hours": 36, "minutes": 60, "seconds": 1}
"""Seconds of the units that times are told in, of hours those of a hundredth."""
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NO_DATE = "????-??-??"
_NUMBER = "-?[0-9]{1,12}([.][0-9]{1,6})?"
_SCALE = 10**6
_DECIMAL = pa.decimal128(18, 6)
"""Holds what `_NUMBER` matches."""


def function_of(kind: str) -> str:
    """Name the function that computes a kind on two texts."""
    return "combine_moments" if kind in MOMENT_KINDS else "combine_numbers"


def combine(first: str, second: str, kind: str) -> str | None:
    """Compute one of `COMBINATIONS` from two texts; None where it does not apply."""
    if kind in MOMENT_KINDS:
        return scalar_dates.combine_moments(first, second, kind)
    return scalar_numbers.combine_numbers(first, second, kind)


def combine_columns(first: pa.Array, second: pa.Array, kind: str) -> pa.Array:
    """Compute from two columns of strings of one length, all rows at once; nulls give nulls."""
    if kind in NUMBER_KINDS:
        return _combine_number_columns(first, second, kind)
    one, other = (Moments.parse(pc.fill_null(array, "")) for array in (first, second))
    days = one.days() - other.days()
    is_made = one.is_dated & other.is_dated
    if kind in _UNITS:
        is_dateless = one.is_dateless & other.is_dateless
        seconds = np.where(is_dateless, 0, days) * DAY + one.seconds() - other.seconds()
        made, rest = np.divmod(seconds, _UNITS[kind])
        is_made = (is_made | is_dateless) & one.is_timed & other.is_timed & (seconds >= 0) & (rest == 0)
    elif kind == "days":
        made = days
    else:
        is_made &= days >= 0
        months = 12 * (one.parts[0] - other.parts[0]) + one.parts[1] - other.parts[1] - (one.parts[2] < other.parts[2])
        made = {"weeks": days // 7, "months": months, "years": months // 12}[kind]
    if kind != "hours":
        return pa.array(made, mask=~is_made).cast(pa.string())
    return _plain(pc.multiply(pa.array(made, mask=~is_made).cast(pa.decimal128(19)), Decimal("0.01")))


def _combine_number_columns(first: pa.Array, second: pa.Array, kind: str) -> pa.Array:
    """Compute sums or differences, as `scalar_numbers.combine_numbers` does, of whole columns at once."""
    numbers = []
    for array in (first, second):
        is_number = pc.match_substring_regex(array, rf"\A{_NUMBER}\z")
        numbers.append(pc.if_else(is_number, array, None).cast(_DECIMAL))
    return _plain(pc.add(*numbers) if kind == "sum" else pc.subtract(*numbers))


def _plain(decimals: pa.Array) -> pa.Array:
    """Write decimals without zeros at the end."""
    return pc.utf8_rtrim(pc.utf8_rtrim(decimals.cast(pa.string()), "0"), ".")


def combine_sql(first: str, second: str, kind: str) -> str:
    """Write a kind as Spark SQL over two expressions of type STRING."""
    body = _numbers_sql(kind) if kind in NUMBER_KINDS else _moments_sql(kind)
    return f"transform(array(named_struct('a', {first}, 'b', {second})), x -> {body})[0]"


def _moments_sql(kind: str) -> str:
    """Write what has passed between the moments ``x.a`` and ``x.b``."""
    clock = quote(f"^.{{10}}T{_CLOCK}{END}")
    if kind in _UNITS:
        is_known = f"x.a RLIKE {clock} AND x.b RLIKE {clock}"
        no_date = f"substring(x.a, 1, 10) = {quote(_NO_DATE)} AND substring(x.b, 1, 10) = {quote(_NO_DATE)}"
        days = f"CASE WHEN {no_date} THEN 0 ELSE datediff({_date_sql('x.a')}, {_date_sql('x.b')}) END"
        passed = f"CAST({days} AS BIGINT) * 86400 + {_clock_sql('x.a')} - {_clock_sql('x.b')}"
        unit = _UNITS[kind]
        shown = "CAST(n AS STRING)"
        if kind == "hours":
            rest = "trim(TRAILING '0' FROM lpad(CAST(n % 100 AS STRING), 2, '0'))"
            shown = f"concat(CAST(n div 100 AS STRING), CASE WHEN n % 100 = 0 THEN '' ELSE concat('.', {rest}) END)"
        whole = f"CASE WHEN s >= 0 AND s % {unit} = 0 THEN s div {unit} END"
        return f"CASE WHEN {is_known} THEN {_bound(passed, 's', _bound(whole, 'n', shown))} END"
    either = quote(f"^{_DATE}T({_CLOCK}|[?]{{2}}:[?]{{2}}:[?]{{2}}){END}")
    is_known = f"x.a RLIKE {either} AND x.b RLIKE {either}"
    if kind in ("days", "weeks"):
        days = f"datediff({_date_sql('x.a')}, {_date_sql('x.b')})"
        shown = "CAST(n AS STRING)" if kind == "days" else "CASE WHEN n >= 0 THEN CAST(n div 7 AS STRING) END"
        return f"CASE WHEN {is_known} THEN {_bound(days, 'n', shown)} END"
    months = "12 * (year(d.a) - year(d.b)) + month(d.a) - month(d.b) - CASE WHEN day(d.a) < day(d.b) THEN 1 ELSE 0 END"
    counted = months if kind == "months" else f"({months}) div 12"
    made = f"CASE WHEN d.a >= d.b THEN CAST({counted} AS STRING) END"
    dates = f"named_struct('a', {_date_sql('x.a')}, 'b', {_date_sql('x.b')})"
    return f"CASE WHEN {is_known} THEN {_bound(dates, 'd', made)} END"


def _bound(operand: str, name: str, body: str) -> str:
    """Name an operand that a body uses more than once."""
    return f"transform(array({operand}), {name} -> {body})[0]"


def _date_sql(moment: str) -> str:
    """Write the date of a moment; null where there is no such day, or before the year 1."""
    date = f"try_cast(substring({moment}, 1, 10) AS DATE)"
    return f"CASE WHEN {moment} RLIKE {quote(f'^(?!0000){_DATE}')} THEN {date} END"


def _clock_sql(moment: str) -> str:
    """Write the seconds of the day."""
    hour, minute, second = (f"CAST(substring({moment}, {start}, 2) AS INT)" for start in (12, 15, 18))
    return f"({hour} * 3600 + {minute} * 60 + {second})"


def _numbers_sql(kind: str) -> str:
    """Write a sum or difference of the decimals ``x.a`` and ``x.b``, in millionths."""
    pattern = quote(f"^{_NUMBER}{END}")
    first, second = (f"CAST(CAST({text} AS DECIMAL(18, 6)) * {_SCALE} AS BIGINT)" for text in ("x.a", "x.b"))
    total = f"{first} {'+' if kind == 'sum' else '-'} {second}"
    rest = f"trim(TRAILING '0' FROM lpad(CAST(abs(n) % {_SCALE} AS STRING), 6, '0'))"
    fraction = f"CASE WHEN n % {_SCALE} = 0 THEN '' ELSE concat('.', {rest}) END"
    shown = f"concat(CASE WHEN n < 0 THEN '-' ELSE '' END, CAST(abs(n) div {_SCALE} AS STRING), {fraction})"
    return f"CASE WHEN x.a RLIKE {pattern} AND x.b RLIKE {pattern} THEN {_bound(total, 'n', shown)} END"
