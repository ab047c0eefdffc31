"""Steps of a program that move dates by units of the calendar, and read and write counts of days and seconds.

A moment is the text of `dfjoin.programs.times`. The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_dates
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote

__all__ = ["CALENDAR_UNITS", "SERIALS", "MoveDate", "ReadSerial", "WriteSerial"]

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


@dataclass(frozen=True, slots=True)
class MoveDate(Step):
    """A date taken back to the start of a unit of the calendar, and moved by months and then by days.

    The last day of a month is ``MoveDate("month", 1, -1)``. A day that the month reached does not have is its last one.

    Parameters
    ----------
    unit : str
        One of `CALENDAR_UNITS`: a day stays where it is, weeks begin on Monday, halves in January and July.
    months : int
        -1200 to 1200; 0 for weeks.
    days : int
        -36,500 to 36,500.
    """

    unit: str
    months: int
    days: int
    name: ClassVar[str] = "move_date"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_dates.move_date(text, self.unit, self.months, self.days)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "move_date", (self.unit, self.months, self.days)

    def sql(self, operand: str) -> str:
        """Use ``trunc``, ``add_months``, which ends with the month, and ``date_add``."""
        date = f"CASE WHEN x RLIKE {_WHOLE} THEN try_cast(substring(x, 1, 10) AS DATE) END"
        if self.unit == "half":
            start = "CASE WHEN month(v) > 6 THEN add_months(trunc(v, 'YEAR'), 6) ELSE trunc(v, 'YEAR') END"
        else:
            start = "v" if self.unit == "day" else f"trunc(v, '{self.unit.upper()}')"
        if self.unit == "week":
            start = f"CASE WHEN {self.months} = 0 THEN {start} END"
        moved = f"add_months({start}, {self.months})" if self.months else start
        kept = f"transform(array({moved}), w -> CASE WHEN year(w) BETWEEN 1 AND 9999 THEN w END)[0]"
        if self.unit == "week":  # the days are one sum, which may come back from before the first year
            kept = start
        later = _legal(f"date_add({kept}, {self.days})")
        return bind(operand, f"transform(array({date}), v -> concat({later}, substring(x, 11)))[0]")

    def describe(self) -> str:
        shown = [] if self.unit == "day" else [f"start_of({self.unit})"]
        shown += [f"plus('{self.months} months')"] if self.months else []
        shown += [f"plus('{self.days} d')"] if self.days else []
        return ".".join(shown) or "plus('0 d')"


@dataclass(frozen=True, slots=True)
class ReadSerial(Step):
    """A whole number of days, seconds or milliseconds since a day, as a moment.

    Parameters
    ----------
    origin : str
        One of `SERIALS`. Days of Excel count from 30 December 1899, as its own do from March 1900 on; all others from
        1 January 1970, without a time zone.
    """

    origin: str
    name: ClassVar[str] = "read_serial"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_dates.read_serial(text, self.origin)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "read_serial", (self.origin,)

    def sql(self, operand: str) -> str:
        """Use whole numbers and ``date_add``, which knows no time zones."""
        number = f"CASE WHEN x RLIKE {quote(f'^(?:0|-?[1-9][0-9]{{0,14}}){END}')} THEN CAST(x AS BIGINT) END"
        size = {"unix seconds": 1, "unix milliseconds": 1000}.get(self.origin, 0)
        if not size:
            epoch = _EXCEL_EPOCH if self.origin == "excel days" else 0
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

    def describe(self) -> str:
        return f"read_serial({self.origin!r})"


@dataclass(frozen=True, slots=True)
class WriteSerial(Step):
    """A moment as a whole number of days, seconds or milliseconds since a day; midnight where no time is known.

    Parameters
    ----------
    origin : str
        One of `SERIALS`, as for `ReadSerial`.
    """

    origin: str
    name: ClassVar[str] = "write_serial"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_dates.write_serial(text, self.origin)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "write_serial", (self.origin,)

    def sql(self, operand: str) -> str:
        """Use ``datediff`` and whole numbers."""
        date = f"CASE WHEN x RLIKE {_WHOLE} THEN try_cast(substring(x, 1, 10) AS DATE) END"
        number = f"CAST(datediff({date}, DATE'1970-01-01') AS BIGINT)"
        if self.origin == "excel days":
            number = f"{number} + {_EXCEL_EPOCH}"
        elif self.origin != "unix days":
            hour, minute, second = (f"coalesce(try_cast(substring(x, {i}, 2) AS INT), 0)" for i in (12, 15, 18))
            number = f"{number} * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
            number = f"({number}) * 1000" if self.origin == "unix milliseconds" else number
        return bind(operand, f"CAST({number} AS STRING)")

    def describe(self) -> str:
        return f"write_serial({self.origin!r})"
