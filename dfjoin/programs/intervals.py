"""Steps of a program that find a number in a text, take it to a step, and write it with so many digits.

The same contract as `dfjoin.programs.extract`; decimals are exact in every engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_numbers
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote, when_empty

__all__ = ["DECIMAL_MARKS", "GROUPS", "ROUNDINGS", "NthNumber", "RoundTo", "WriteNumber"]

ROUNDINGS = ("nearest", "floor", "ceiling", "down", "up")
DECIMAL_MARKS = (".", ",")
GROUPS = ("", ",", ".", " ", "'", "_")
_START = r"(?:(?<![0-9A-Za-z.,)])-)?(?<![0-9])(?<![^A-Za-z][.])(?<!\A[.])"
_NUMBER = _START + "(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:[.][0-9]+)?"


@dataclass(frozen=True, slots=True)
class NthNumber(Step):
    """One of the numbers of a text as a plain decimal: with its sign, without the separators of thousands.

    Parameters
    ----------
    index : int
        From 0, or from the last number, -1.
    mark : {".", ","}
        The decimal mark; the other one separates thousands.
    """

    index: int
    mark: str = "."
    name: ClassVar[str] = "nth_number"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.nth_number(text, self.index, self.mark)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "nth_number", (self.index, self.mark)

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract_all``."""
        number = self.index + 1 if self.index >= 0 else self.index
        plain = operand if self.mark == "." else f"translate({operand}, ',.', '.,')"
        found = f"try_element_at(regexp_extract_all({plain}, {quote(_NUMBER)}, 0), {number})"
        return f"replace({found}, ',', '')"

    def describe(self) -> str:
        return f"number({self.index}{'' if self.mark == '.' else ', ' + repr(self.mark)})"


@dataclass(frozen=True, slots=True)
class RoundTo(Step):
    """A plain decimal number moved, taken to a multiple of an interval, and moved again.

    Parameters
    ----------
    before, after : str
        Plain decimals that are added before and after.
    interval : str
        A plain decimal above 0.
    mode : {"nearest", "floor", "ceiling", "down", "up"}
        Nearest: halves away from zero. Down is towards zero, up away from it.

    Notes
    -----
    Numbers have up to 15 digits before their point and 9 behind it. The result has as many digits after its point as
    `interval` or `after`, whichever has more.
    """

    before: str
    interval: str
    mode: str
    after: str
    name: ClassVar[str] = "round_to"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.round_to(text, self.before, self.interval, self.mode, self.after)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "round_to", (self.before, self.interval, self.mode, self.after)

    def sql(self, operand: str) -> str:
        """Use ``pmod`` of decimals, which is exact."""
        before, step, after = (f"CAST('{text}' AS DECIMAL(16, 9))" for text in (self.before, self.interval, self.after))
        is_number = f"x RLIKE {quote(f'^-?[0-9]{{1,15}}([.][0-9]{{1,9}})?{END}')}"
        value = f"CAST(CASE WHEN {is_number} THEN CAST(x AS DECIMAL(24, 9)) + {before} END AS DECIMAL(25, 9))"
        has_sign = self.mode not in ("floor", "ceiling")
        size = "abs(v)" if has_sign else "v"
        if self.mode == "nearest":
            size = f"({size} + CAST({step} / 2 AS DECIMAL(16, 9)))"
        rest = f"+ pmod(-{size}, {step})" if self.mode in ("ceiling", "up") else f"- pmod({size}, {step})"
        moved = f"CAST({size} {rest} AS DECIMAL(26, 9))"
        signed = f"CASE WHEN v < 0 THEN -{moved} ELSE {moved} END" if has_sign else moved
        digits = max(len(text.partition(".")[2]) for text in (self.interval, self.after))
        written = f"CAST(CAST({signed} + {after} AS DECIMAL(38, {digits})) AS STRING)"
        return bind(operand, f"transform(array({value}), v -> {written})[0]")

    def describe(self) -> str:
        before = "" if self.before == "0" else f"plus({self.before})."
        after = "" if self.after == "0" else f".plus({self.after})"
        return f"{before}{self.mode}({self.interval}){after}"


@dataclass(frozen=True, slots=True)
class WriteNumber(Step):
    """A plain decimal number (up to 18 digits on either side of its point) with so many digits after its point.

    Parameters
    ----------
    least : int
        Zeros are added up to so many digits, 0 to 18.
    most : int or None
        Rounded half away from zero to so many digits, 0 to 18, and zeros at the end dropped down to `least`; None: the
        digits stay.
    mark : {".", ","}
        The decimal mark.
    group : str
        Stands between thousands, one of `GROUPS`; empty for none.
    """

    least: int
    most: int | None
    mark: str = "."
    group: str = ""
    name: ClassVar[str] = "write_number"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.write_number(text, self.least, self.most, self.mark, self.group)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "write_number", (self.least, self.most, self.mark, self.group)

    def sql(self, operand: str) -> str:
        """Use ``round`` on decimals of 38 digits, and put the parts of its text together."""
        is_number = f"x RLIKE {quote(f'^-?[0-9]{{1,18}}([.][0-9]{{1,18}})?{END}')}"
        rounded = "x" if self.most is None else f"CAST(round(CAST(x AS DECIMAL(38, 18)), {self.most}) AS STRING)"
        number = bind(operand, f"CASE WHEN {is_number} THEN {rounded} END")
        whole, rest = "split_part(n, '.', 1)", "split_part(n, '.', 2)"
        if self.group:
            gaps = quote("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")
            whole = f"regexp_replace({whole}, {gaps}, {quote(self.group)})"
        if self.most is not None:
            rest = f"trim(TRAILING '0' FROM {rest})"
        if self.least:
            rest = f"transform(array({rest}), r -> rpad(r, greatest(char_length(r), {self.least}), '0'))[0]"
        behind = f"transform(array({rest}), r -> CASE WHEN r = '' THEN '' ELSE concat('{self.mark}', r) END)[0]"
        return when_empty(f"transform(array({number}), n -> concat({whole}, {behind}))[0]")

    def describe(self) -> str:
        most = "" if self.most is None else f", {self.most}"
        mark = "" if self.mark == "." else f", mark={self.mark!r}"
        group = "" if not self.group else f", thousands={self.group!r}"
        return f"digits({self.least}{most}{mark}{group})"
