"""Steps of a program that write numbers in other ways: ordinals, Roman numerals, powers of ten, letters, mixed units.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_texts
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote

__all__ = [
    "CODES",
    "EXPONENT_MARKS",
    "Coded",
    "Scientific",
    "UnitPart",
    "WeightedSum",
    "is_weights",
]

CODES = {
    "ordinal": "as_ordinal",
    "to roman": "as_roman",
    "from roman": "roman_as_number",
    "to letters": "number_as_letters",
    "from letters": "letters_as_number",
    "to code point": "code_points_of",
    "from code point": "characters_of",
}
"""Name of each code → its function."""
EXPONENT_MARKS = ("e+00", "E+00", "e0", "E0", "e+0", "E+0", "e00", "E00")
"""How exponents are written: the letter, whether a plus is shown, the fewest digits."""
_NUMBER = "[0-9]{1,6}([.][0-9]{1,6})?"


def is_weights(text: str) -> bool:
    """Tell whether a text is a list of two to four weights, whole numbers of at most 8 digits with a space between."""
    parts = text.split(" ")
    return 2 <= len(parts) <= 4 and all(part.isascii() and part.isdigit() and len(part) <= 8 for part in parts)


@dataclass(frozen=True, slots=True)
class Coded(Step):
    """A whole number in another notation, or back: ordinals, Roman numerals, letters as columns of sheets, characters.

    Parameters
    ----------
    code : str
        One of `CODES`. Roman numerals are those of 1 to 3999, in letters of one case; characters those of ASCII from 33
        to 126 (any one character has a code point).
    """

    code: str
    name: ClassVar[str] = "coded"
    weight: ClassVar[int] = 2
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        made = getattr(scalar_texts, CODES[self.code])(text)
        return None if made is None else str(made)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return CODES[self.code], ()

    def sql(self, operand: str) -> str:
        """Use the digits, or letters, one by one."""
        return bind(operand, _CODES_SQL[self.code]())

    def describe(self) -> str:
        return self.code.replace(" ", "_") + "()"


def _when(pattern: str, made: str) -> str:
    return f"CASE WHEN x RLIKE {quote(f'^(?:{pattern}){END}')} THEN {made} END"


def _ordinal_sql() -> str:
    ends = "CASE right(x, 1) WHEN '1' THEN 'st' WHEN '2' THEN 'nd' WHEN '3' THEN 'rd' ELSE 'th' END"
    is_teen = "char_length(x) > 1 AND substring(x, -2, 1) = '1'"
    return _when("[0-9]{1,15}", f"concat(x, CASE WHEN {is_teen} THEN 'th' ELSE {ends} END)")


def _to_roman_sql() -> str:
    parts = ["repeat('M', CAST(x AS INT) div 1000)"]
    for unit, one, five, ten in ((100, "C", "D", "M"), (10, "X", "L", "C"), (1, "I", "V", "X")):
        listed = ("", one, one * 2, one * 3, one + five, five, five + one, five + one * 2, five + one * 3, one + ten)
        digit = f"CAST((CAST(x AS INT) div {unit}) % 10 + 1 AS INT)"
        parts.append(f"element_at(array({', '.join(map(quote, listed))}), {digit})")
    return _when("[1-3][0-9]{3}|[1-9][0-9]{0,2}", f"concat({', '.join(parts)})")


def _from_roman_sql() -> str:
    numerals = "M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
    value = "element_at(array(1, 5, 10, 50, 100, 500, 1000), instr('IVXLCDM', {}))"
    here, ahead = value.format("substring(upper(x), i, 1)"), value.format("substring(upper(x), i + 1, 1)")
    step = f"CASE WHEN i < char_length(x) AND {ahead} > {here} THEN -{here} ELSE {here} END"
    total = f"aggregate(sequence(1, char_length(x)), 0, (s, i) -> s + {step})"
    return _when(f"(?=.)(?:{numerals}|{numerals.lower()})", f"CAST({total} AS STRING)")


def _to_letters_sql() -> str:
    digit = "substring('ABCDEFGHIJKLMNOPQRSTUVWXYZ', CAST((s.n - 1) % 26 + 1 AS INT), 1)"
    step = f"CASE WHEN s.n = 0 THEN s ELSE named_struct('n', (s.n - 1) div 26, 't', concat({digit}, s.t)) END"
    start = "named_struct('n', CAST(x AS BIGINT), 't', '')"
    return _when("[1-9][0-9]{0,7}", f"aggregate(sequence(1, 7), {start}, (s, i) -> {step}).t")


def _from_letters_sql() -> str:
    step = "26 * s + ascii(substring(upper(x), i, 1)) - 64"
    total = f"aggregate(sequence(1, char_length(x)), 0L, (s, i) -> {step})"
    return _when("[A-Z]{1,6}|[a-z]{1,6}", f"CAST({total} AS STRING)")


def _to_code_point_sql() -> str:
    return "CASE WHEN char_length(x) = 1 THEN CAST(ascii(x) AS STRING) END"


def _from_code_point_sql() -> str:
    return _when("3[3-9]|[4-9][0-9]|1[01][0-9]|12[0-6]", "chr(CAST(x AS INT))")


_CODES_SQL = {
    "ordinal": _ordinal_sql,
    "to roman": _to_roman_sql,
    "from roman": _from_roman_sql,
    "to letters": _to_letters_sql,
    "from letters": _from_letters_sql,
    "to code point": _to_code_point_sql,
    "from code point": _from_code_point_sql,
}


@dataclass(frozen=True, slots=True)
class Scientific(Step):
    """A plain decimal (up to 15 digits before its point, 9 behind it) with an exponent of ten, as ``4.93e+04``.

    Parameters
    ----------
    digits : int
        After the point, 0 to 9; rounded half away from zero.
    mark : str
        One of `EXPONENT_MARKS`.
    """

    digits: int
    mark: str
    name: ClassVar[str] = "scientific"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_texts.as_scientific(text, self.digits, self.mark)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "as_scientific", (self.digits, self.mark)

    def sql(self, operand: str) -> str:
        """Move the point within the digits, and round them as a whole number."""
        whole, rest = "split_part(ltrim('-', x), '.', 1)", "split_part(x, '.', 2)"
        digits = f"trim(LEADING '0' FROM concat({whole}, {rest}))"
        power = f"char_length({digits}) - 1 - char_length({rest})"
        number = bind(
            operand,
            f"CASE WHEN x RLIKE {quote(f'^-?[0-9]{{1,15}}([.][0-9]{{1,9}})?{END}')} THEN named_struct("
            f"'d', rpad({digits}, greatest(char_length({digits}), {self.digits + 2}), '0'), "
            f"'p', CASE WHEN {digits} = '' THEN 0 ELSE {power} END, "
            f"'s', CASE WHEN {digits} = '' OR left(x, 1) != '-' THEN '' ELSE '-' END) END",
        )
        up = f"CASE WHEN substring(x.d, {self.digits + 2}, 1) >= '5' THEN 1 ELSE 0 END"
        kept = f"CAST(CAST(substring(x.d, 1, {self.digits + 1}) AS BIGINT) + {up} AS STRING)"
        kept = f"lpad({kept}, greatest(char_length({kept}), {self.digits + 1}), '0')"
        rounded = bind(
            number, f"named_struct('k', {kept}, 'p', x.p + char_length({kept}) - {self.digits + 1}, 's', x.s)"
        )
        behind = f", '.', substring(x.k, 2, {self.digits})" if self.digits else ""
        plus = "'+'" if "+" in self.mark else "''"
        width = self.mark.count("0")
        exponent = f"CAST(abs(x.p) AS STRING), greatest(char_length(CAST(abs(x.p) AS STRING)), {width}), '0'"
        sign = f"CASE WHEN x.p < 0 THEN '-' ELSE {plus} END"
        return bind(rounded, f"concat(x.s, substring(x.k, 1, 1){behind}, '{self.mark[0]}', {sign}, lpad({exponent}))")

    def describe(self) -> str:
        return f"scientific({self.digits}, {self.mark!r})"


@dataclass(frozen=True, slots=True)
class WeightedSum(Step):
    """The numbers of a text, each times its weight, added up over a divisor: feet and inches, degrees, addresses.

    Rounded half up to six digits. The text has exactly as many numbers as there are weights, each of at most six digits
    on either side of its point; four numbers are whole ones. A minus counts where the text begins with it.

    Parameters
    ----------
    weights : str
        Two to four whole numbers of at most 8 digits with a space between: ``"12 1"``.
    divisor : int
        1 to 1,000,000.
    """

    weights: str
    divisor: int
    name: ClassVar[str] = "weighted_sum"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_texts.weighted_sum(text, self.weights, self.divisor)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "weighted_sum", (self.weights, self.divisor)

    def sql(self, operand: str) -> str:
        """Use decimals of 38 digits for the sum in millionths."""
        factors = [int(weight) for weight in self.weights.split(" ")]
        number = "([0-9]+(?:[.][0-9]+)?)" if len(factors) < 4 else "([0-9]+)"
        parts = f"regexp_extract_all(x, {quote(number)}, 1)"
        is_legal = f"forall(p, e -> e RLIKE {quote(f'^{_NUMBER}{END}')})"
        millionths = (f"CAST(CAST(p[{i}] AS DECIMAL(12, 6)) * 1000000 AS DECIMAL(12, 0))" for i in range(len(factors)))
        total = " + ".join(
            f"CAST({one} * {factor} AS DECIMAL(30, 0))" for one, factor in zip(millionths, factors, strict=True)
        )
        total = f"CASE WHEN size(p) = {len(factors)} THEN CASE WHEN {is_legal} THEN {total} END END"
        value = (
            f"transform(transform(array({parts}), p -> {total}), t -> (2 * t + {self.divisor}) div {2 * self.divisor})"
        )
        rest = "lpad(CAST(v % 1000000 AS STRING), 6, '0')"
        written = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM concat(CAST(v div 1000000 AS STRING), '.', {rest})))"
        sign = f"CASE WHEN x RLIKE {quote('^-[0-9]')} AND v > 0 THEN '-' ELSE '' END"
        return bind(operand, f"transform({value}, v -> concat({sign}, {written}))[0]")

    def describe(self) -> str:
        over = "" if self.divisor == 1 else f" / {self.divisor}"
        return f"weighted_sum({self.weights!r}{over})"


@dataclass(frozen=True, slots=True)
class UnitPart(Step):
    """How many whole units a plain decimal that is not negative has, without whole multiples of so many units.

    The minutes that a number of seconds shows are ``UnitPart(60, 60)``.

    Parameters
    ----------
    unit : int
        1 to 10^9.
    modulus : int
        1 to 10^9, or 0 for all units.
    """

    unit: int
    modulus: int
    name: ClassVar[str] = "unit_part"
    weight: ClassVar[int] = 3
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_texts.unit_part(text, self.unit, self.modulus)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "unit_part", (self.unit, self.modulus)

    def sql(self, operand: str) -> str:
        """Use integers of 64 bits."""
        units = f"CAST(split_part(x, '.', 1) AS BIGINT) div {self.unit}"
        made = f"({units}) % {self.modulus}" if self.modulus else units
        return bind(operand, _when("[0-9]{1,15}(?:[.][0-9]{1,9})?", f"CAST({made} AS STRING)"))

    def describe(self) -> str:
        return f"units_of({self.unit})" + (f".modulo({self.modulus})" if self.modulus else "")
