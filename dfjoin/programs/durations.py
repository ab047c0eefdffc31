"""Steps of a program that read and write durations: hours, minutes and seconds with colons between.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_numbers
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote

__all__ = ["DURATION_LAYOUTS", "FIRST_UNITS", "ReadDuration", "WriteDuration"]

FIRST_UNITS = ("hours", "minutes")
DURATION_LAYOUTS = ("H:MM:SS", "HH:MM:SS", "H:MM", "HH:MM", "M:SS", "MM:SS")
"""What a duration may be written as; the first unit is as large as it has to be."""
_DURATION = "([0-9]{1,6}):([0-5]?[0-9])(?::([0-5]?[0-9])([.][0-9]{1,6})?)?"


@dataclass(frozen=True, slots=True)
class ReadDuration(Step):
    """The seconds of a duration such as ``1:30:25`` or ``12:05``, as a plain decimal.

    Minutes and seconds are below 60; seconds may have six digits behind the point.

    Parameters
    ----------
    first : {"hours", "minutes"}
        What the first of two parts is; of three parts it is hours.
    """

    first: str
    name: ClassVar[str] = "read_duration"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.read_duration(text, self.first)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "read_duration", (self.first,)

    def sql(self, operand: str) -> str:
        """Use integers of 64 bits."""
        pattern = quote(f"^{_DURATION}{END}")
        a, b, c = (f"CAST(regexp_extract(x, {pattern}, {i}) AS BIGINT)" for i in (1, 2, 3))
        rest = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM regexp_extract(x, {pattern}, 4)))"
        minutes = f"(60 * {a} + {b})"
        two = f"{minutes} * 60" if self.first == "hours" else minutes
        three = f"concat(CAST({minutes} * 60 + {c} AS STRING), {rest})"
        found = f"CASE WHEN regexp_extract(x, {pattern}, 3) = '' THEN CAST({two} AS STRING) ELSE {three} END"
        return bind(operand, f"CASE WHEN x RLIKE {pattern} THEN {found} END")

    def describe(self) -> str:
        return f"seconds({self.first!r})"


@dataclass(frozen=True, slots=True)
class WriteDuration(Step):
    """Whole seconds, at most 9 digits, as a duration; a layout without seconds is for whole minutes.

    Parameters
    ----------
    layout : str
        One of `DURATION_LAYOUTS`.
    """

    layout: str
    name: ClassVar[str] = "write_duration"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.write_duration(text, self.layout)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "write_duration", (self.layout,)

    def sql(self, operand: str) -> str:
        """Use integers of 64 bits."""
        units = self.layout.split(":")
        is_minutes = units[-1] == "MM"
        whole = "CAST(x AS BIGINT)" + (" div 60" if is_minutes else "")
        written = [_two_digits(f"({whole} div {60**i}) % 60") for i in range(len(units) - 1)]
        first = f"({whole} div {60 ** (len(units) - 1)})"
        head = _two_digits(first) if len(units[0]) == 2 else f"CAST({first} AS STRING)"
        is_whole = " AND CAST(x AS BIGINT) % 60 = 0" if is_minutes else ""
        made = "concat(" + ", ':', ".join([head, *written[::-1]]) + ")"
        checked = f"CASE WHEN true{is_whole} THEN {made} END"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{1,9}}{END}')} THEN {checked} END")

    def describe(self) -> str:
        return f"duration({self.layout!r})"


def _two_digits(number: str) -> str:
    """Write a number of SQL with two digits at least."""
    return f"CASE WHEN {number} < 10 THEN concat('0', CAST({number} AS STRING)) ELSE CAST({number} AS STRING) END"
