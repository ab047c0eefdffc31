"""Steps of a program that compute: a change of unit, a change of base; exact decimals in every engine.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs import scalar
from dfjoin.programs.numeric import by_distinct
from dfjoin.programs.spark_sql import END, bind, quote
from dfjoin.programs.string_column import Spans

__all__ = ["BASES", "STYLES", "Base", "Linear"]

STYLES = ("fixed", "plain", "significant")
BASES = (2, 8, 10, 16)
_SMALL_NUMBER = "-?[0-9]{1,9}([.][0-9]{1,6})?"
_LARGEST, _SMALLEST = 14, -6
_DIGITS = "0123456789ABCDEF"
_MAX_PLACES = 12


@dataclass(frozen=True, slots=True)
class Linear:
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

    def __call__(self, text: str) -> str | None:
        """See `Step`."""
        return scalar.scale_number(text, self.scale, self.offset, self.digits, self.style)

    def apply(self, spans: Spans) -> Spans:
        """Compute with decimals of 38 digits."""
        text = spans.to_arrow()
        is_number = pc.match_substring_regex(text, rf"^{_SMALL_NUMBER}\z")
        exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(15, 6))
        scale = pa.scalar(self.scale).cast(pa.decimal128(20, 15))
        offset = pa.scalar(self.offset).cast(pa.decimal128(20, 10))
        value = pc.add(pc.multiply(exact, scale), offset)
        if self.style != "significant":
            text = _written(value, self.digits, self.style == "plain")
            if self.digits > -_SMALLEST:
                size = pc.abs(pc.round(value, ndigits=self.digits, round_mode="half_towards_infinity"))
                text = pc.if_else(pc.greater_equal(size, _power(_SMALLEST)), text, pa.scalar(None, text.type))
            return Spans.of(text)
        size = pc.abs(value)
        found = pc.if_else(pc.equal(size, _power(None)), pa.scalar("0"), pa.scalar(None, pa.string()))
        for level in range(_SMALLEST, _LARGEST + 1):
            is_larger = pc.greater_equal(size, _power(level))
            found = pc.if_else(is_larger, _written(value, self.places(level), True), found)
        return Spans.of(found)

    def places(self, level: int) -> int:
        """Return the digits after the point of numbers from ``10 ** level`` on."""
        return min(max(self.digits - 1 - level, 0), _MAX_PLACES)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "scale_number", (self.scale, self.offset, self.digits, self.style)

    def sql(self, operand: str) -> str:
        """Use decimals; ``round`` wants a constant number of digits, hence one case for each size."""
        exact = f"CAST(x AS DECIMAL(15, 6)) * CAST('{self.scale}' AS DECIMAL(20, 15))"
        value = f"CASE WHEN x RLIKE {quote(f'^{_SMALL_NUMBER}{END}')} THEN {exact}"
        value = bind(operand, f"{value} + CAST('{self.offset}' AS DECIMAL(20, 10)) END")
        if self.style != "significant":
            rounded = f"CAST(round(x, {self.digits}) AS STRING)"
            rounded = _without_zeros(rounded) if self.style == "plain" else rounded
            if self.digits > -_SMALLEST:  # Java would write these with an exponent
                rounded = f"CASE WHEN abs(round(x, {self.digits})) >= {_literal(_SMALLEST)} THEN {rounded} END"
            return bind(value, rounded)
        cases = " ".join(
            f"WHEN abs(x) >= {_literal(level)} THEN {_without_zeros(f'CAST(round(x, {self.places(level)}) AS STRING)')}"
            for level in range(_LARGEST, _SMALLEST - 1, -1)
        )
        return bind(value, f"CASE WHEN x = 0 THEN '0' {cases} END")

    def describe(self) -> str:
        """See `Step`."""
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
class Base:
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

    def __call__(self, text: str) -> str | None:
        """See `Step`."""
        return scalar.change_base(text, self.old, self.new)

    def apply(self, spans: Spans) -> Spans:
        """Apply to each distinct string."""
        return by_distinct(spans, self)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "change_base", (self.old, self.new)

    def sql(self, operand: str) -> str:
        """Use ``conv``."""
        digits = _DIGITS[: self.old] + ("abcdef" if self.old == 16 else "")
        pattern = quote(f"^[{digits}]{{1,12}}{END}")
        return bind(operand, f"CASE WHEN x RLIKE {pattern} THEN conv(x, {self.old}, {self.new}) END")

    def describe(self) -> str:
        """See `Step`."""
        return f"base({self.old} to {self.new})"
