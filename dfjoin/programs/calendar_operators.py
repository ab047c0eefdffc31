"""Operators that move dates by units of the calendar, and read and write counts of days and seconds, and durations.

A moment is the text of `dfjoin.programs.time_operators`.
"""

from __future__ import annotations

from dfjoin.programs import scalar_dates, scalar_numbers
from dfjoin.programs.operator import (
    Operator,
    Step,
    integer,
    one_of,
)
from dfjoin.programs.spark_sql import END, bind, quote

CALENDAR_UNITS = ("day", "week", "month", "quarter", "half", "year")
SERIALS = ("excel days", "unix days", "unix seconds", "unix milliseconds")
_EXCEL_EPOCH = 25_569
"""Days from 30 December 1899 to 1 January 1970."""
_DATE = "(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-[0-3][0-9]"
_CLOCK = "([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])"
_NO_CLOCK = "[?]{2}:[?]{2}:[?]{2}"
_WHOLE = quote(f"^{_DATE}T(?:{_CLOCK}|{_NO_CLOCK}){END}")


def _legal(date: str) -> str:
    """Write SQL that gives a date as a text, and null for years other than 1 to 9999."""
    return f"transform(array({date}), d -> CASE WHEN year(d) BETWEEN 1 AND 9999 THEN CAST(d AS STRING) END)[0]"


def _move_date_sql(step: Step, operand: str) -> str:
    """Use ``trunc``, ``add_months``, which ends with the month, and ``date_add``."""
    date = f"CASE WHEN x RLIKE {_WHOLE} THEN try_cast(substring(x, 1, 10) AS DATE) END"
    if step.unit == "half":
        start = "CASE WHEN month(v) > 6 THEN add_months(trunc(v, 'YEAR'), 6) ELSE trunc(v, 'YEAR') END"
    else:
        start = "v" if step.unit == "day" else f"trunc(v, '{step.unit.upper()}')"
    if step.unit == "week":
        start = f"CASE WHEN {step.months} = 0 THEN {start} END"
    moved = f"add_months({start}, {step.months})" if step.months else start
    kept = f"transform(array({moved}), w -> CASE WHEN year(w) BETWEEN 1 AND 9999 THEN w END)[0]"
    if step.unit == "week":  # the days are one sum, which may come back from before the first year
        kept = start
    later = _legal(f"date_add({kept}, {step.days})")
    return bind(operand, f"transform(array({date}), v -> concat({later}, substring(x, 11)))[0]")


def _move_date_words(step: Step) -> str:
    shown = [] if step.unit == "day" else [f"start_of({step.unit})"]
    shown += [f"plus('{step.months} months')"] if step.months else []
    shown += [f"plus('{step.days} d')"] if step.days else []
    return ".".join(shown) or "plus('0 d')"


MoveDate = Operator(
    "move_date",
    {"unit": one_of(CALENDAR_UNITS), "months": integer(-1200, 1200), "days": integer(-36_500, 36_500)},
    scalar_dates.move_date,
    words=_move_date_words,
    sql=_move_date_sql,
)
"""A date taken back to the start of a unit of the calendar, and moved by months and then by days.

The last day of a month is ``MoveDate("month", 1, -1)``. A day that the new month does not have is its last one.

Parameters
----------
unit : str
    One of `CALENDAR_UNITS`: a day stays where it is, weeks begin on Monday, halves in January and July.
months : int
    -1200 to 1200; 0 for weeks.
days : int
    -36,500 to 36,500.
"""


def _read_serial_sql(step: Step, operand: str) -> str:
    """Use whole numbers and ``date_add``, which knows no time zones."""
    number = f"CASE WHEN x RLIKE {quote(f'^(?:0|-?[1-9][0-9]{{0,14}}){END}')} THEN CAST(x AS BIGINT) END"
    size = {"unix seconds": 1, "unix milliseconds": 1000}.get(step.origin, 0)
    if not size:
        epoch = _EXCEL_EPOCH if step.origin == "excel days" else 0
        days, clock = f"v - {epoch}", "'??:??:??'"
    else:
        seconds = f"((v - pmod(v, {size})) div {size})"
        rest = f"pmod({seconds}, 86400)"
        days = f"({seconds} - {rest}) div 86400"
        parts = (f"{rest} div 3600", f"({rest} div 60) % 60", f"{rest} % 60")
        clock = "concat(" + ", ':', ".join(f"lpad(CAST({part} AS STRING), 2, '0')" for part in parts) + ")"
    known = f"CASE WHEN {days} BETWEEN -719162 AND 2932896 THEN CAST({days} AS INT) END"
    date = f"CAST(date_add(DATE'1970-01-01', {known}) AS STRING)"
    return bind(operand, f"transform(array({number}), v -> concat({date}, 'T', {clock}))[0]")


ReadSerial = Operator(
    "read_serial",
    {"origin": one_of(SERIALS)},
    scalar_dates.read_serial,
    words="read_serial({origin!r})",
    sql=_read_serial_sql,
    computes=True,
)
"""A whole number of days, seconds or milliseconds since a day, as a moment.

Parameters
----------
origin : str
    One of `SERIALS`. Days of Excel count from 30 December 1899, as its own do from March 1900 on; all others from
    1 January 1970, without a time zone.
"""


def _write_serial_sql(step: Step, operand: str) -> str:
    """Use ``datediff`` and whole numbers."""
    date = f"CASE WHEN x RLIKE {_WHOLE} THEN try_cast(substring(x, 1, 10) AS DATE) END"
    number = f"CAST(datediff({date}, DATE'1970-01-01') AS BIGINT)"
    if step.origin == "excel days":
        number = f"{number} + {_EXCEL_EPOCH}"
    elif step.origin != "unix days":
        hour, minute, second = (f"coalesce(try_cast(substring(x, {i}, 2) AS INT), 0)" for i in (12, 15, 18))
        number = f"{number} * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
        number = f"({number}) * 1000" if step.origin == "unix milliseconds" else number
    return bind(operand, f"CAST({number} AS STRING)")


WriteSerial = Operator(
    "write_serial",
    {"origin": one_of(SERIALS)},
    scalar_dates.write_serial,
    words="write_serial({origin!r})",
    sql=_write_serial_sql,
)
"""A moment as a whole number of days, seconds or milliseconds since a day; midnight where no time is known.

Parameters
----------
origin : str
    One of `SERIALS`, as for `ReadSerial`.
"""
FIRST_UNITS = ("hours", "minutes")
DURATION_LAYOUTS = ("H:MM:SS", "HH:MM:SS", "H:MM", "HH:MM", "M:SS", "MM:SS")
"""What a duration may be written as; the first unit is as large as it has to be."""
_DURATION = "([0-9]{1,6}):([0-5]?[0-9])(?::([0-5]?[0-9])([.][0-9]{1,6})?)?"


def _read_duration_sql(step: Step, operand: str) -> str:
    """Use integers of 64 bits."""
    pattern = quote(f"^{_DURATION}{END}")
    a, b, c = (f"CAST(regexp_extract(x, {pattern}, {i}) AS BIGINT)" for i in (1, 2, 3))
    rest = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM regexp_extract(x, {pattern}, 4)))"
    minutes = f"(60 * {a} + {b})"
    two = f"{minutes} * 60" if step.first == "hours" else minutes
    three = f"concat(CAST({minutes} * 60 + {c} AS STRING), {rest})"
    found = f"CASE WHEN regexp_extract(x, {pattern}, 3) = '' THEN CAST({two} AS STRING) ELSE {three} END"
    return bind(operand, f"CASE WHEN x RLIKE {pattern} THEN {found} END")


ReadDuration = Operator(
    "read_duration",
    {"first": one_of(FIRST_UNITS)},
    scalar_numbers.read_duration,
    words="seconds({first!r})",
    sql=_read_duration_sql,
    computes=True,
)
"""The seconds of a duration such as ``1:30:25`` or ``12:05``, as a plain decimal.

Minutes and seconds are below 60; seconds may have six digits behind the point.

Parameters
----------
first : {"hours", "minutes"}
    What the first of two parts is; of three parts it is hours.
"""


def _write_duration_sql(step: Step, operand: str) -> str:
    """Use integers of 64 bits."""
    units = step.layout.split(":")
    is_minutes = units[-1] == "MM"
    whole = "CAST(x AS BIGINT)" + (" div 60" if is_minutes else "")
    written = [_two_digits(f"({whole} div {60**i}) % 60") for i in range(len(units) - 1)]
    first = f"({whole} div {60 ** (len(units) - 1)})"
    head = _two_digits(first) if len(units[0]) == 2 else f"CAST({first} AS STRING)"
    is_whole = " AND CAST(x AS BIGINT) % 60 = 0" if is_minutes else ""
    made = "concat(" + ", ':', ".join([head, *written[::-1]]) + ")"
    checked = f"CASE WHEN true{is_whole} THEN {made} END"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{1,9}}{END}')} THEN {checked} END")


WriteDuration = Operator(
    "write_duration",
    {"layout": one_of(DURATION_LAYOUTS)},
    scalar_numbers.write_duration,
    words="duration({layout!r})",
    sql=_write_duration_sql,
    computes=True,
)
"""Whole seconds, at most 9 digits, as a duration; a layout without seconds is for whole minutes.

Parameters
----------
layout : str
    One of `DURATION_LAYOUTS`.
"""


def _two_digits(number: str) -> str:
    """Write a number of SQL with two digits at least."""
    return f"CASE WHEN {number} < 10 THEN concat('0', CAST({number} AS STRING)) ELSE CAST({number} AS STRING) END"
