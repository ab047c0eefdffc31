"""Steps of a program that read numbers: zeros, rounding, thousands, years, units of measure, bases.

The same contract as `dfjoin.programs.extract`; decimals are exact in every engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels import rewriting
from dfjoin.kernels.spans import Spans
from dfjoin.programs import scalar_numbers
from dfjoin.programs.extract import Step
from dfjoin.programs.rewrite import rewritten
from dfjoin.programs.spark_sql import END, bind, quote
from dfjoin.programs.string_column import StringColumn

__all__ = [
    "BASES",
    "GROUP_SEPARATORS",
    "STYLES",
    "Base",
    "Linear",
    "Round",
    "StripZeros",
    "Thousands",
    "Year",
]

GROUP_SEPARATORS = (",", ".", " ", "'", "_")
STYLES = ("fixed", "plain", "significant")
BASES = (2, 8, 10, 16)
_NUMBER = "-?[0-9]+([.][0-9]+)?"
_LONG_NUMBER = "-?[0-9]{1,18}([.][0-9]{1,18})?"
"""Numbers that `Round` takes: decimals of 38 digits hold them."""
_SHORT_NUMBER = "-?[0-9]{1,9}([.][0-9]{1,6})?"
"""Numbers that `Linear` takes: their products are exact in decimals of 38 digits."""
_LARGEST_POWER, _SMALLEST_POWER = 14, -6
"""Powers of ten between which `Linear` counts significant digits."""
_MAX_PLACES = 12
_DIGITS = "0123456789ABCDEF"


@dataclass(frozen=True, slots=True)
class StripZeros(Step):
    """Zeros at the front dropped, but never the last character."""

    name: ClassVar[str] = "strip_zeros"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.strip_zeros(text)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        return strings.narrowed(_skip_zeros(strings.spans))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "strip_zeros", ()

    def sql(self, operand: str) -> str:
        """Use ``trim(LEADING ...)`` on all but the last character."""
        head = "trim(LEADING '0' FROM substring(x, 1, char_length(x) - 1))"
        return bind(operand, f"concat({head}, right(x, 1))")

    def describe(self) -> str:
        return "strip_zeros()"


def _skip_zeros(spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move each start behind its zeros, as long as some string still has one."""
    starts = spans.starts.copy()
    last = spans.data.shape[0] - 1
    while last >= 0:
        inside = (starts >= 0) & (starts < spans.ends - 1)
        moving = inside & (spans.data[np.clip(starts, 0, last)] == ord("0"))
        if not moving.any():
            break
        starts[moving] += 1
    return starts, spans.ends.copy()


@dataclass(frozen=True, slots=True)
class Round(Step):
    """A plain decimal number (up to 18 digits on either side of its point) rounded half away from zero.

    Parameters
    ----------
    digits : int
        After the point, 0 to 6.
    """

    digits: int
    name: ClassVar[str] = "round"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.round_number(text, self.digits)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Round as decimals of 38 digits."""
        text = strings.to_arrow()
        is_number = pc.match_substring_regex(text, rf"^{_LONG_NUMBER}\z")
        exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(38, 18))
        rounded = pc.round(exact, ndigits=self.digits, round_mode="half_towards_infinity")
        return StringColumn.of(rounded.cast(pa.decimal128(38, self.digits)).cast(pa.string()))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "round_number", (self.digits,)

    def sql(self, operand: str) -> str:
        """Use ``round`` on decimals of 38 digits."""
        rounded = f"CAST(round(CAST(x AS DECIMAL(38, 18)), {self.digits}) AS STRING)"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_LONG_NUMBER}{END}')} THEN {rounded} END")

    def describe(self) -> str:
        return f"round({self.digits})"


@dataclass(frozen=True, slots=True)
class Thousands(Step):
    """A plain decimal number with a separator between its thousands.

    Parameters
    ----------
    separator : str
        One of `GROUP_SEPARATORS`.
    """

    separator: str = ","
    name: ClassVar[str] = "group"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.group_digits(text, self.separator)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Copy with separators."""
        return rewritten(strings, 2 * strings.n_bytes, rewriting.group_digits, ord(self.separator))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "group_digits", (self.separator,)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` on what stands before the point, from its end."""
        whole = "split_part(x, '.', 1)"
        group = f"{quote('([0-9]{3})(?=[0-9])')}, {quote(f'$1{self.separator}')}"
        grouped = f"reverse(regexp_replace(reverse({whole}), {group}))"
        written = f"concat({grouped}, substring(x, char_length({whole}) + 1))"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_NUMBER}{END}')} THEN {written} END")

    def describe(self) -> str:
        return f"thousands({self.separator!r})"


@dataclass(frozen=True, slots=True)
class Year(Step):
    """A year of two digits with four.

    Parameters
    ----------
    pivot : int
        Years from this one on belong to 19.., the others to 20..; 0 to 100.
    """

    pivot: int = 70
    name: ClassVar[str] = "year"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.expand_year(text, self.pivot)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Apply to the distinct strings of two bytes, at most some thousands."""
        _, starts, ends = strings.spans
        is_short = (starts >= 0) & (ends - starts == 2)
        return strings.narrowed((np.where(is_short, starts, -1), ends.copy())).mapped(self)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "expand_year", (self.pivot,)

    def sql(self, operand: str) -> str:
        """Compare as numbers."""
        century = f"CASE WHEN CAST(x AS INT) >= {self.pivot} THEN '19' ELSE '20' END"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{2}}{END}')} THEN concat({century}, x) END")

    def describe(self) -> str:
        return f"four_digit_year({self.pivot})"


@dataclass(frozen=True, slots=True)
class Linear(Step):
    """A number times one constant plus another, as for units of measure.

    Parameters
    ----------
    scale : str
        A plain decimal, at most 5 digits before and 15 behind the point.
    offset : str
        A plain decimal, at most 10 digits before and 10 behind the point.
    digits : int
        After the point, 0 to 12, or with ``style="significant"`` in all, 1 to 12. Above 6, results smaller than
        10^-6 are none.
    style : {"fixed", "plain", "significant"}
        Fixed: as many digits as that; plain and significant: without the zeros at the end.
    """

    scale: str
    offset: str
    digits: int
    style: str
    name: ClassVar[str] = "linear"
    weight: ClassVar[int] = 8
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.scale_number(text, self.scale, self.offset, self.digits, self.style)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Compute with decimals of 38 digits."""
        text = strings.to_arrow()
        is_number = pc.match_substring_regex(text, rf"^{_SHORT_NUMBER}\z")
        exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(15, 6))
        scale = pa.scalar(self.scale).cast(pa.decimal128(20, 15))
        offset = pa.scalar(self.offset).cast(pa.decimal128(20, 10))
        value = pc.add(pc.multiply(exact, scale), offset)
        if self.style != "significant":
            text = _written(value, self.digits, self.style == "plain")
            if self.digits > -_SMALLEST_POWER:
                size = pc.abs(pc.round(value, ndigits=self.digits, round_mode="half_towards_infinity"))
                text = pc.if_else(pc.greater_equal(size, _power(_SMALLEST_POWER)), text, pa.scalar(None, text.type))
            return StringColumn.of(text)
        size = pc.abs(value)
        found = pc.if_else(pc.equal(size, _power(None)), pa.scalar("0"), pa.scalar(None, pa.string()))
        for level in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
            is_larger = pc.greater_equal(size, _power(level))
            found = pc.if_else(is_larger, _written(value, self.places(level), True), found)
        return StringColumn.of(found)

    def places(self, level: int) -> int:
        """Return the digits after the point of numbers from ``10 ** level`` on."""
        return min(max(self.digits - 1 - level, 0), _MAX_PLACES)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "scale_number", (self.scale, self.offset, self.digits, self.style)

    def sql(self, operand: str) -> str:
        """Use decimals; ``round`` wants a constant number of digits, hence one case for each size."""
        exact = f"CAST(x AS DECIMAL(15, 6)) * CAST('{self.scale}' AS DECIMAL(20, 15))"
        value = f"CASE WHEN x RLIKE {quote(f'^{_SHORT_NUMBER}{END}')} THEN {exact}"
        value = bind(operand, f"{value} + CAST('{self.offset}' AS DECIMAL(20, 10)) END")
        if self.style != "significant":
            rounded = f"CAST(round(x, {self.digits}) AS STRING)"
            rounded = _without_zeros(rounded) if self.style == "plain" else rounded
            if self.digits > -_SMALLEST_POWER:  # Java would write these with an exponent
                rounded = f"CASE WHEN abs(round(x, {self.digits})) >= {_literal(_SMALLEST_POWER)} THEN {rounded} END"
            return bind(value, rounded)
        cases = " ".join(
            f"WHEN abs(x) >= {_literal(level)} THEN {_without_zeros(f'CAST(round(x, {self.places(level)}) AS STRING)')}"
            for level in range(_LARGEST_POWER, _SMALLEST_POWER - 1, -1)
        )
        return bind(value, f"CASE WHEN x = 0 THEN '0' {cases} END")

    def describe(self) -> str:
        plus = "" if self.offset == "0" else f" + {self.offset}"
        return f"number(* {self.scale}{plus}, {self.digits} {self.style})"


def _literal(level: int) -> str:
    """Write a power of ten as a plain decimal."""
    return "1" + "0" * level if level >= 0 else "0." + "0" * (-level - 1) + "1"


def _power(level: int | None) -> pa.Scalar:
    text = "0" if level is None else _literal(level)
    return pa.scalar(text).cast(pa.decimal128(38, 21))


def _written(value: pa.Array, digits: int, is_short: bool) -> pa.Array:
    """Round decimals and write them, if asked without the zeros at the end."""
    rounded = pc.round(value, ndigits=digits, round_mode="half_towards_infinity")
    text = rounded.cast(pa.decimal128(38, digits), safe=False).cast(pa.string())
    if not is_short or digits == 0:
        return text
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def _without_zeros(text: str) -> str:
    """Write SQL that drops the zeros behind the point of a number, and a point at its end."""
    trimmed = "trim(TRAILING '.' FROM trim(TRAILING '0' FROM s))"
    return f"transform(array({text}), s -> CASE WHEN contains(s, '.') THEN {trimmed} ELSE s END)[0]"


@dataclass(frozen=True, slots=True)
class Base(Step):
    """A whole number, at most 12 digits, written in another base; letters of base 16 may be small, results are large.

    Parameters
    ----------
    old, new : int
        2, 8, 10 or 16.
    """

    old: int
    new: int
    name: ClassVar[str] = "base"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.change_base(text, self.old, self.new)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "change_base", (self.old, self.new)

    def sql(self, operand: str) -> str:
        """Use ``conv``."""
        digits = _DIGITS[: self.old] + ("abcdef" if self.old == 16 else "")
        pattern = quote(f"^[{digits}]{{1,12}}{END}")
        return bind(operand, f"CASE WHEN x RLIKE {pattern} THEN conv(x, {self.old}, {self.new}) END")

    def describe(self) -> str:
        return f"base({self.old} to {self.new})"
