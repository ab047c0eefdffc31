"""Operators that write numbers in other notations and units, and codes with check digits: Roman, ISBN, EAN, IBAN."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dfjoin.programs import scalar_numbers, scalar_texts
from dfjoin.programs.operator import (
    Legal,
    Operator,
    Step,
    integer,
    one_of,
)
from dfjoin.programs.spark_sql import END, bind, quote

CODES = {
    "ordinal": scalar_texts.as_ordinal,
    "to roman": scalar_texts.as_roman,
    "from roman": scalar_texts.roman_as_number,
    "to letters": scalar_texts.number_as_letters,
    "from letters": scalar_texts.letters_as_number,
    "to code point": scalar_texts.code_points_of,
    "from code point": scalar_texts.characters_of,
}
"""Name of each code → its function."""
_NUMBER = "[0-9]{1,6}([.][0-9]{1,6})?"


def _is_weights(text: Any) -> bool:
    """Tell whether a text is a list of two to four weights, whole numbers of at most 8 digits with a space between."""
    parts = text.split(" ") if isinstance(text, str) else []
    return 2 <= len(parts) <= 4 and all(part.isascii() and part.isdigit() and len(part) <= 8 for part in parts)


Coded = Operator(
    "coded",
    {"code": one_of(CODES)},
    CODES,
    words=lambda step: step.code.replace(" ", "_") + "()",
    arguments=lambda step: (),
    sql=lambda step, operand: bind(operand, _CODES_SQL[step.code]()),
    weight=2,
    computes=True,
)
"""A whole number in another notation, or back: ordinals, Roman numerals, letters as columns of sheets, characters.

Parameters
----------
code : str
    One of `CODES`. Roman numerals are those of 1 to 3999, in letters of one case; characters those of ASCII from 33
    to 126 (any one character has a code point).
"""


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


_CODES_SQL: dict[str, Callable[[], str]] = {
    "ordinal": _ordinal_sql,
    "to roman": _to_roman_sql,
    "from roman": _from_roman_sql,
    "to letters": _to_letters_sql,
    "from letters": _from_letters_sql,
    "to code point": _to_code_point_sql,
    "from code point": _from_code_point_sql,
}


EXPONENT_MARKS = ("e+00", "E+00", "e0", "E0", "e+0", "E+0", "e00", "E00")
"""How exponents are written: the letter, whether a plus is shown, the fewest digits."""


def _scientific_sql(step: Step, operand: str) -> str:
    """Move the point within the digits, and round them as a whole number."""
    whole, rest = "split_part(ltrim('-', x), '.', 1)", "split_part(x, '.', 2)"
    digits = f"trim(LEADING '0' FROM concat({whole}, {rest}))"
    power = f"char_length({digits}) - 1 - char_length({rest})"
    number = bind(
        operand,
        f"CASE WHEN x RLIKE {quote(f'^-?[0-9]{{1,15}}([.][0-9]{{1,9}})?{END}')} THEN named_struct("
        f"'d', rpad({digits}, greatest(char_length({digits}), {step.digits + 2}), '0'), "
        f"'p', CASE WHEN {digits} = '' THEN 0 ELSE {power} END, "
        f"'s', CASE WHEN {digits} = '' OR left(x, 1) != '-' THEN '' ELSE '-' END) END",
    )
    up = f"CASE WHEN substring(x.d, {step.digits + 2}, 1) >= '5' THEN 1 ELSE 0 END"
    kept = f"CAST(CAST(substring(x.d, 1, {step.digits + 1}) AS BIGINT) + {up} AS STRING)"
    kept = f"lpad({kept}, greatest(char_length({kept}), {step.digits + 1}), '0')"
    rounded = bind(number, f"named_struct('k', {kept}, 'p', x.p + char_length({kept}) - {step.digits + 1}, 's', x.s)")
    behind = f", '.', substring(x.k, 2, {step.digits})" if step.digits else ""
    plus = "'+'" if "+" in step.mark else "''"
    width = step.mark.count("0")
    exponent = f"CAST(abs(x.p) AS STRING), greatest(char_length(CAST(abs(x.p) AS STRING)), {width}), '0'"
    sign = f"CASE WHEN x.p < 0 THEN '-' ELSE {plus} END"
    return bind(rounded, f"concat(x.s, substring(x.k, 1, 1){behind}, '{step.mark[0]}', {sign}, lpad({exponent}))")


Scientific = Operator(
    "scientific",
    {"digits": integer(0, 9), "mark": one_of(EXPONENT_MARKS)},
    scalar_texts.as_scientific,
    words="scientific({digits}, {mark!r})",
    sql=_scientific_sql,
    computes=True,
)
"""A plain decimal (up to 15 digits before its point, 9 behind it) with an exponent of ten, as ``4.93e+04``.

Parameters
----------
digits : int
    After the point, 0 to 9; rounded half away from zero.
mark : str
    One of `EXPONENT_MARKS`.
"""


def _weighted_sum_sql(step: Step, operand: str) -> str:
    """Use decimals of 38 digits for the sum in millionths."""
    factors = [int(weight) for weight in step.weights.split(" ")]
    number = "([0-9]+(?:[.][0-9]+)?)" if len(factors) < 4 else "([0-9]+)"
    parts = f"regexp_extract_all(x, {quote(number)}, 1)"
    is_legal = f"forall(p, e -> e RLIKE {quote(f'^{_NUMBER}{END}')})"
    millionths = (f"CAST(CAST(p[{i}] AS DECIMAL(12, 6)) * 1000000 AS DECIMAL(12, 0))" for i in range(len(factors)))
    total = " + ".join(
        f"CAST({one} * {factor} AS DECIMAL(30, 0))" for one, factor in zip(millionths, factors, strict=True)
    )
    total = f"CASE WHEN size(p) = {len(factors)} THEN CASE WHEN {is_legal} THEN {total} END END"
    value = f"transform(transform(array({parts}), p -> {total}), t -> (2 * t + {step.divisor}) div {2 * step.divisor})"
    rest = "lpad(CAST(v % 1000000 AS STRING), 6, '0')"
    written = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM concat(CAST(v div 1000000 AS STRING), '.', {rest})))"
    sign = f"CASE WHEN x RLIKE {quote('^-[0-9]')} AND v > 0 THEN '-' ELSE '' END"
    return bind(operand, f"transform({value}, v -> concat({sign}, {written}))[0]")


def _weighted_sum_words(step: Step) -> str:
    over = "" if step.divisor == 1 else f" / {step.divisor}"
    return f"weighted_sum({step.weights!r}{over})"


_WEIGHTS = Legal(_is_weights, "two to four whole numbers of at most 8 digits with a space between")
WeightedSum = Operator(
    "weighted_sum",
    {"weights": _WEIGHTS, "divisor": integer(1, 10**6)},
    scalar_texts.weighted_sum,
    words=_weighted_sum_words,
    sql=_weighted_sum_sql,
    computes=True,
)
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


def _unit_part_sql(step: Step, operand: str) -> str:
    """Use integers of 64 bits."""
    units = f"CAST(split_part(x, '.', 1) AS BIGINT) div {step.unit}"
    made = f"({units}) % {step.modulus}" if step.modulus else units
    return bind(operand, _when("[0-9]{1,15}(?:[.][0-9]{1,9})?", f"CAST({made} AS STRING)"))


UnitPart = Operator(
    "unit_part",
    {"unit": integer(1, 10**9), "modulus": integer(0, 10**9)},
    scalar_texts.unit_part,
    words=lambda step: f"units_of({step.unit})" + (f".modulo({step.modulus})" if step.modulus else ""),
    sql=_unit_part_sql,
    computes=True,
)
"""How many whole units a plain decimal that is not negative has, without whole multiples of so many units.

The minutes that a number of seconds shows are ``UnitPart(60, 60)``.

Parameters
----------
unit : int
    1 to 10^9.
modulus : int
    1 to 10^9, or 0 for all units.
"""
CHECK_DIGITS = ("ean", "luhn", "mod 11")
"""EAN, UPC and ISBN-13 weigh digits by 3 and 1; Luhn (cards, IMEI) doubles every other one; ISBN-10 is mod 11."""
ISBN_LENGTHS = (10, 13)


def _check_digit_sql(step: Step, operand: str) -> str:
    """Add up the digits from the end."""
    made = f"concat(x, {_digit_sql('x', step.kind)})"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{1,30}}{END}')} THEN {made} END")


CheckDigit = Operator(
    "check_digit",
    {"kind": one_of(CHECK_DIGITS)},
    scalar_numbers.with_check_digit,
    words="check_digit({kind!r})",
    sql=_check_digit_sql,
)
"""A text of 1 to 30 digits with its check digit behind it.

Parameters
----------
kind : str
    One of `CHECK_DIGITS`; with ``mod 11`` the digit may be ``X``.
"""


def _mod_97_sql(step: Step, operand: str) -> str:
    """Take the remainder character by character; a letter stands for a number of two digits."""
    value = "(instr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', upper(c)) - 1)"
    added = f"(s * CASE WHEN {value} > 9 THEN 100 ELSE 10 END + {value}) % 97"
    rest = f"aggregate(split(concat(x, '{step.country}00'), ''), 0, (s, c) -> CAST({added} AS INT))"
    check = f"lpad(CAST(98 - {rest} AS STRING), 2, '0')"
    made = f"concat('{step.country}', {check}, x)" if step.country else f"concat(x, {check})"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9A-Za-z]{{1,30}}{END}')} THEN {made} END")


_COUNTRY = Legal(
    lambda value: isinstance(value, str) and re.fullmatch("([A-Z]{2})?", value) is not None,
    "two capital letters, or empty",
)
Mod97 = Operator(
    "mod_97", {"country": _COUNTRY}, scalar_numbers.with_mod_97, words="mod_97({country!r})", sql=_mod_97_sql
)
"""A text of 1 to 30 letters and digits with the two check digits of ISO 7064: an account as an IBAN, or a LEI.

Parameters
----------
country : str
    Two capital letters: they and the check digits are written in front of the text, as in an IBAN. Empty: the
    check digits are written behind the text, as in a LEI.
"""


def _isbn_sql(step: Step, operand: str) -> str:
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
    if step.length == 13:
        return bind(bind(code, stem), f"concat(x, {_digit_sql('x', 'ean')})")
    last = "substring(x, 4)"
    made = f"concat({last}, {_digit_sql(last, 'mod 11')})"
    return bind(bind(code, stem), f"CASE WHEN startswith(x, '978') THEN {made} END")


Isbn = Operator(
    "isbn", {"length": one_of(ISBN_LENGTHS)}, scalar_numbers.read_isbn, words="isbn({length})", sql=_isbn_sql
)
"""An ISBN of 10 or 13 digits, written with 10 or 13 digits and nothing between them.

Hyphens and spaces do not matter. One whose check digit is wrong gives nothing, nor can one that begins with 979 be
written with ten digits.

Parameters
----------
length : {10, 13}
"""


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
