"""Steps of a program that write codes with check digits: ISBN, EAN, Luhn, IBAN.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_numbers
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote

__all__ = ["CHECK_DIGITS", "ISBN_LENGTHS", "CheckDigit", "Isbn", "Mod97"]

CHECK_DIGITS = ("ean", "luhn", "mod 11")
"""EAN, UPC and ISBN-13 weigh digits by 3 and 1; Luhn (cards, IMEI) doubles every other one; ISBN-10 is mod 11."""
ISBN_LENGTHS = (10, 13)


@dataclass(frozen=True, slots=True)
class CheckDigit(Step):
    """A text of 1 to 30 digits with its check digit behind it.

    Parameters
    ----------
    kind : str
        One of `CHECK_DIGITS`; with ``mod 11`` the digit may be ``X``.
    """

    kind: str
    name: ClassVar[str] = "check_digit"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.with_check_digit(text, self.kind)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "with_check_digit", (self.kind,)

    def sql(self, operand: str) -> str:
        """Add up the digits from the end."""
        made = f"concat(x, {_digit_sql('x', self.kind)})"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{1,30}}{END}')} THEN {made} END")

    def describe(self) -> str:
        return f"check_digit({self.kind!r})"


@dataclass(frozen=True, slots=True)
class Mod97(Step):
    """A text of 1 to 30 letters and digits with the two check digits of ISO 7064: an account as an IBAN, or a LEI.

    Parameters
    ----------
    country : str
        Two capital letters: they and the check digits are written in front of the text, as in an IBAN. Empty: the
        check digits are written behind the text, as in a LEI.
    """

    country: str
    name: ClassVar[str] = "mod_97"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.with_mod_97(text, self.country)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "with_mod_97", (self.country,)

    def sql(self, operand: str) -> str:
        """Take the remainder character by character; a letter stands for a number of two digits."""
        value = "(instr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', upper(c)) - 1)"
        added = f"(s * CASE WHEN {value} > 9 THEN 100 ELSE 10 END + {value}) % 97"
        rest = f"aggregate(split(concat(x, '{self.country}00'), ''), 0, (s, c) -> CAST({added} AS INT))"
        check = f"lpad(CAST(98 - {rest} AS STRING), 2, '0')"
        made = f"concat('{self.country}', {check}, x)" if self.country else f"concat(x, {check})"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9A-Za-z]{{1,30}}{END}')} THEN {made} END")

    def describe(self) -> str:
        return f"mod_97({self.country!r})"


@dataclass(frozen=True, slots=True)
class Isbn(Step):
    """An ISBN of 10 or 13 digits, written with 10 or 13 digits and nothing between them.

    Hyphens and spaces do not matter. One whose check digit is wrong gives nothing, nor can one that begins with 979 be
    written with ten digits.

    Parameters
    ----------
    length : {10, 13}
    """

    length: int
    name: ClassVar[str] = "isbn"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.read_isbn(text, self.length)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "read_isbn", (self.length,)

    def sql(self, operand: str) -> str:
        """Find the digits before the check digit, then the other check digit."""
        code = f"replace(replace(replace({operand}, '-', ''), ' ', ''), 'x', 'X')"
        ten, thirteen = (quote(f"^{pattern}{END}") for pattern in ("[0-9]{9}[0-9X]", "97[89][0-9]{10}"))
        short, long = "substring(x, 1, 9)", "substring(x, 1, 12)"
        is_ten = f"substring(x, 10, 1) = {_digit_sql(short, 'mod 11')}"
        is_thirteen = f"substring(x, 13, 1) = {_digit_sql(long, 'ean')}"
        stem = (
            f"CASE WHEN x RLIKE {ten} THEN CASE WHEN {is_ten} THEN concat('978', {short}) END "
            f"WHEN x RLIKE {thirteen} THEN CASE WHEN {is_thirteen} THEN {long} END END"
        )
        if self.length == 13:
            return bind(bind(code, stem), f"concat(x, {_digit_sql('x', 'ean')})")
        last = "substring(x, 4)"
        made = f"concat({last}, {_digit_sql(last, 'mod 11')})"
        return bind(bind(code, stem), f"CASE WHEN startswith(x, '978') THEN {made} END")

    def describe(self) -> str:
        return f"isbn({self.length})"


def _digit_sql(text: str, kind: str) -> str:
    """Write the check digit of a text of digits as SQL."""
    digit = f"CAST(substring({text}, -i, 1) AS INT)"
    doubled = f"CASE WHEN {digit} > 4 THEN 2 * {digit} - 9 ELSE 2 * {digit} END"
    weighed = {
        "ean": f"{digit} * CASE WHEN i % 2 = 1 THEN 3 ELSE 1 END",
        "luhn": f"CASE WHEN i % 2 = 1 THEN {doubled} ELSE {digit} END",
        "mod 11": f"{digit} * (i + 1)",
    }[kind]
    total = f"aggregate(sequence(1, char_length({text})), 0, (s, i) -> s + {weighed})"
    base = 11 if kind == "mod 11" else 10
    return f"substring('0123456789X', 1 + ({base} - {total} % {base}) % {base}, 1)"
