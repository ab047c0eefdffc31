"""The steps that work on all parts or characters of a text, and codes and counts of them, on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, which uses
built-ins and `re` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

__all__ = [
    "as_ordinal",
    "as_roman",
    "as_scientific",
    "characters_of",
    "code_points_of",
    "count_parts",
    "headline_case",
    "insert_gaps",
    "letters_as_number",
    "map_parts",
    "number_as_letters",
    "reverse_text",
    "roman_as_number",
    "translate_characters",
    "unit_part",
    "weighted_sum",
]


def map_parts(
    text: str, separator: str, width: int, order: str, joiner: str, functions: Sequence[Callable[[str], str | None]]
) -> str | None:
    """Apply functions to each part of a text that is not empty, put the parts in an order, and join them."""
    parts = text.split(separator) if separator else [text[i : i + width] for i in range(0, len(text), width)]
    made = []
    for part in parts:
        result: str | None = part
        for function in functions if part else ():
            result = function(result) if result else None
        if part and not result:
            return None
        made.append(result or "")
    if order == "reversed":
        made.reverse()
    elif order == "sorted":
        made.sort()
    elif order == "distinct":
        made = list(dict.fromkeys(made))
    return joiner.join(made)


def reverse_text(text: str) -> str:
    """Return the characters in reverse order."""
    return text[::-1]


def translate_characters(text: str, old: str, new: str) -> str:
    """Replace each character of `old` by that at its position in `new`, or drop it where `new` is shorter."""
    return text.translate({ord(c): new[i] if i < len(new) else None for i, c in enumerate(old)})


def insert_gaps(text: str, mark: str) -> str:
    """Put a mark before each capital that follows a small letter or a digit, or begins a word behind capitals."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", lambda _: mark, text)


def headline_case(text: str, small: str) -> str:
    """Make the first letter of each word large and the others small; listed words stay small, but for the first."""
    made = []
    for position, word in enumerate(text.split(" ")):
        low = word.translate({capital: capital + 32 for capital in range(65, 91)})
        first = low[:1].translate({letter: letter - 32 for letter in range(97, 123)})
        made.append(low if position and low in small.split(",") else first + low[1:])
    return " ".join(made)


def count_parts(text: str, pattern: str) -> str:
    """Count the matches of a pattern."""
    return str(len(re.findall(pattern, text, re.DOTALL)))


def as_ordinal(text: str) -> str | None:
    """Write a whole number with the ending of an ordinal."""
    if not re.fullmatch("[0-9]{1,15}", text):
        return None
    if text[-2:-1] == "1":
        return text + "th"
    return text + {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th")


def as_roman(text: str) -> str | None:
    """Write a whole number from 1 to 3999 with Roman numerals."""
    if not re.fullmatch("[1-9][0-9]{0,3}", text) or int(text) > 3999:
        return None
    written = "M" * (int(text) // 1000)
    for unit, one, five, ten in ((100, "C", "D", "M"), (10, "X", "L", "C"), (1, "I", "V", "X")):
        digit = int(text) // unit % 10
        listed = ("", one, one * 2, one * 3, one + five, five, five + one, five + one * 2, five + one * 3, one + ten)
        written += listed[digit]
    return written


def roman_as_number(text: str) -> str | None:
    """Read Roman numerals from 1 to 3999, in letters of either case, but of one."""
    numerals = "M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
    if not text or not re.fullmatch(f"{numerals}|{numerals.lower()}", text):
        return None
    values = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
    numbers = [values[c] for c in text.lower()]
    total = 0
    for position, number in enumerate(numbers):
        total += -number if position + 1 < len(numbers) and numbers[position + 1] > number else number
    return str(total)


def letters_as_number(text: str) -> str | None:
    """Read one to six letters as columns of a sheet are counted: A is 1, Z is 26, AA is 27."""
    if not re.fullmatch("[A-Z]{1,6}|[a-z]{1,6}", text):
        return None
    number = 0
    for c in text.upper():
        number = 26 * number + ord(c) - 64
    return str(number)


def number_as_letters(text: str) -> str | None:
    """Write a whole number as columns of a sheet are named."""
    if not re.fullmatch("[1-9][0-9]{0,7}", text):
        return None
    number, written = int(text), ""
    while number:
        number, letter = divmod(number - 1, 26)
        written = chr(65 + letter) + written
    return written


def code_points_of(text: str) -> str | None:
    """Return the code point of a text of one character."""
    return str(ord(text)) if len(text) == 1 else None


def characters_of(text: str) -> str | None:
    """Return the printable character of ASCII that has a code point."""
    return chr(int(text)) if re.fullmatch("[1-9][0-9]{1,2}", text) and 33 <= int(text) <= 126 else None


def weighted_sum(text: str, weights: str, divisor: int) -> str | None:
    """Add up the numbers of a text, each times its weight, over a divisor, rounded half up to six digits."""
    factors = [int(weight) for weight in weights.split(" ")]
    numbers = re.findall("[0-9]+(?:[.][0-9]+)?" if len(factors) < 4 else "[0-9]+", text)
    if len(numbers) != len(factors):
        return None
    total = 0
    for number, factor in zip(numbers, factors, strict=True):
        if not re.fullmatch("[0-9]{1,6}(?:[.][0-9]{1,6})?", number):
            return None
        whole, _, rest = number.partition(".")
        total += factor * int(whole + rest.ljust(6, "0"))
    value = (2 * total + divisor) // (2 * divisor)
    sign = "-" if re.match("-[0-9]", text) and value else ""
    return sign + f"{value // 10**6}.{value % 10**6:06d}".rstrip("0").rstrip(".")


def unit_part(text: str, unit: int, modulus: int) -> str | None:
    """Return how many whole units a plain decimal has, without whole multiples of so many units."""
    if not re.fullmatch("[0-9]{1,15}([.][0-9]{1,9})?", text):
        return None
    number = int(text.partition(".")[0]) // unit
    return str(number % modulus if modulus else number)


def as_scientific(text: str, digits: int, mark: str) -> str | None:
    """Write a plain decimal with one digit before the point, so many behind it, rounded half up, and an exponent."""
    match = re.fullmatch("(-?)([0-9]{1,15})(?:[.]([0-9]{1,9}))?", text)
    if not match:
        return None
    rest = match[3] or ""
    number = (match[2] + rest).lstrip("0")
    power = len(number) - 1 - len(rest)
    if not number:
        number, power = "0", 0
    number = number.ljust(digits + 2, "0")
    kept = str(int(number[: digits + 1]) + (number[digits + 1] >= "5")).rjust(digits + 1, "0")
    power += len(kept) - digits - 1
    shown = kept[0] + ("." + kept[1 : digits + 1] if digits else "")
    sign = match[1] if number.strip("0") else ""
    exponent = str(abs(power)).rjust(mark.count("0"), "0")
    return f"{sign}{shown}{mark[0]}{'-' if power < 0 else '+' if '+' in mark else ''}{exponent}"
