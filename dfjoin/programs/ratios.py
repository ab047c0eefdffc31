"""Steps of a program that read and write fractions, and numbers with an exponent of ten.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_numbers
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote

__all__ = ["AsRatio", "Exponent", "Ratio"]

_RATIO = "(?:([0-9]{1,6})[ -])?([0-9]{1,6}) ?/ ?([0-9]{1,6})"
_DECIMAL = "([0-9]{1,9})(?:[.]([0-9]{1,9}))?"
_EXPONENT = "(-?)([0-9]{1,12})(?:[.]([0-9]{1,12}))?(?:[eE]([+-]?(?:0?[0-9]|1[0-2])))?"
_MOST_STEPS = 100
"""Divisions that bring any fraction of 64 bits to lowest terms."""
_ZEROS = "0" * 12


@dataclass(frozen=True, slots=True)
class Ratio(Step):
    """The value of a fraction such as ``3/4`` or ``1 1/2`` as a plain decimal, rounded half up.

    Parameters
    ----------
    digits : int
        Most digits behind the point, 0 to 6.
    """

    digits: int
    name: ClassVar[str] = "ratio"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.read_ratio(text, self.digits)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "read_ratio", (self.digits,)

    def sql(self, operand: str) -> str:
        """Use integers of 64 bits."""
        pattern = quote(f"^{_RATIO}{END}")
        whole, above, below = (f"CAST(regexp_extract(x, {pattern}, {i}) AS BIGINT)" for i in (1, 2, 3))
        whole = f"CASE WHEN regexp_extract(x, {pattern}, 1) = '' THEN 0 ELSE {whole} END"
        scaled = f"(2 * ({whole} * {below} + {above}) * {10**self.digits}L + {below}) div (2 * {below})"
        value = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN CASE WHEN {below} > 0 THEN {scaled} END END")
        if not self.digits:
            return f"CAST({value} AS STRING)"
        rest = f"lpad(CAST(x % {10**self.digits} AS STRING), {self.digits}, '0')"
        written = f"concat(CAST(x div {10**self.digits} AS STRING), '.', {rest})"
        return bind(value, f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {written}))")

    def describe(self) -> str:
        return f"ratio({self.digits})"


@dataclass(frozen=True, slots=True)
class AsRatio(Step):
    """A plain decimal, at most 9 digits on either side of its point, as a fraction in lowest terms."""

    name: ClassVar[str] = "as_ratio"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.as_ratio(text)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "as_ratio", ()

    def sql(self, operand: str) -> str:
        """Use Euclid's algorithm on integers of 64 bits, in a bounded number of steps."""
        pattern = quote(f"^{_DECIMAL}{END}")
        rest = f"regexp_extract(x, {pattern}, 2)"
        above = f"CAST(concat(regexp_extract(x, {pattern}, 1), {rest}) AS BIGINT)"
        below = f"CAST(concat('1', repeat('0', char_length({rest}))) AS BIGINT)"
        parts = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN array({above}, {below}) END")
        step = "(s, i) -> CASE WHEN s[1] = 0 THEN s ELSE array(s[1], s[0] % s[1]) END"
        divisor = f"aggregate(sequence(1, {_MOST_STEPS}), x, {step})[0]"
        shares = bind(parts, f"array(x[0] div {divisor}, x[1] div {divisor})")
        whole = "CAST(x[0] AS STRING)"
        return bind(shares, f"CASE WHEN x[1] = 1 THEN {whole} ELSE concat({whole}, '/', CAST(x[1] AS STRING)) END")

    def describe(self) -> str:
        return "as_ratio()"


@dataclass(frozen=True, slots=True)
class Exponent(Step):
    """A number such as ``1.5e-3`` as a plain decimal; its exponent is -12 to 12, and may be missing."""

    name: ClassVar[str] = "exponent"
    weight: ClassVar[int] = 1

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.read_exponent(text)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "read_exponent", ()

    def sql(self, operand: str) -> str:
        """Move the point within the digits."""
        pattern = quote(f"^{_EXPONENT}{END}")
        sign, whole, rest, power = (f"regexp_extract(x, {pattern}, {i})" for i in (1, 2, 3, 4))
        power = f"CASE WHEN {power} = '' THEN 0 ELSE CAST({power} AS INT) END"
        point = f"(12 + char_length({whole}) + {power})"
        digits = f"concat('{_ZEROS}', {whole}, {rest}, '{_ZEROS}')"
        before = f"trim(LEADING '0' FROM substring({digits}, 1, {point}))"
        behind = f"trim(TRAILING '0' FROM substring({digits}, {point} + 1))"
        parts = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN array({sign}, {before}, {behind}) END")
        shown = "CASE WHEN x[1] = '' THEN '0' ELSE x[1] END"
        signed = "CASE WHEN x[1] = '' AND x[2] = '' THEN '' ELSE x[0] END"
        point = "CASE WHEN x[2] = '' THEN '' ELSE concat('.', x[2]) END"
        return bind(parts, f"concat({signed}, {shown}, {point})")

    def describe(self) -> str:
        return "exponent()"
