"""The steps of a program on one string: the definitions that the other forms follow.

Each function stands by itself, with nothing but built-ins and `re`, because `Program.to_python` pastes
its source. The text is never empty; an empty result or None means that the step does not apply.
"""

from __future__ import annotations

import re

__all__ = [
    "change_base",
    "expand_year",
    "group_digits",
    "keep_characters",
    "look_up",
    "map_characters",
    "nth_run",
    "pad_left",
    "read_quantity",
    "replace_all",
    "round_number",
    "scale_number",
    "sentence_case",
    "slice_text",
    "split_part",
    "squeeze_spaces",
    "strip_zeros",
    "text_after",
    "text_before",
    "title_case",
]


def split_part(text: str, separator: str, index: int) -> str | None:
    """Return one of the parts between occurrences of a separator."""
    parts = text.split(separator)
    return parts[index] if -len(parts) <= index < len(parts) else None


def text_after(text: str, separator: str) -> str:
    """Return what follows the first occurrence of a separator."""
    return text.partition(separator)[2]


def text_before(text: str, separator: str) -> str:
    """Return what precedes the last occurrence of a separator."""
    return text.rpartition(separator)[0]


def nth_run(text: str, pattern: str, index: int) -> str | None:
    """Return one of the runs of characters that match a pattern."""
    runs = re.findall(pattern + "+", text)
    return runs[index] if -len(runs) <= index < len(runs) else None


def slice_text(text: str, start: int | None, stop: int | None) -> str:
    """Return the characters from `start` to before `stop`."""
    return text[start:stop]


def map_characters(text: str, old: str, new: str) -> str:
    """Replace each character of `old` by the one of `new` at its place."""
    return text.translate(str.maketrans(old, new))


def title_case(text: str, lower: str, upper: str, pattern: str) -> str:
    """Write the first letter of each run of letters large and the others small."""
    small, large = str.maketrans(upper, lower), str.maketrans(lower, upper)
    return re.sub(pattern + "+", lambda run: run[0][0].translate(large) + run[0][1:].translate(small), text)


def sentence_case(text: str, lower: str, upper: str) -> str:
    """Write the first character large and the others small."""
    return text[0].translate(str.maketrans(lower, upper)) + text[1:].translate(str.maketrans(upper, lower))


def keep_characters(text: str, pattern: str) -> str:
    """Keep the characters that match a pattern."""
    return "".join(re.findall(pattern, text))


def replace_all(text: str, old: str, new: str) -> str:
    """Replace each occurrence of a text by another."""
    return text.replace(old, new)


def squeeze_spaces(text: str) -> str:
    """Write runs of spaces as one, and none at the ends."""
    return re.sub(" +", " ", text).strip(" ")


def pad_left(text: str, width: int, fill: str) -> str:
    """Put a character before the text until it has `width` characters."""
    return text.rjust(width, fill)


def strip_zeros(text: str) -> str:
    """Drop the zeros at the front, but not the last character."""
    return text[:-1].lstrip("0") + text[-1]


def round_number(text: str, digits: int) -> str | None:
    """Round a plain decimal number half away from zero, to so many digits after the point."""
    if not re.fullmatch("-?[0-9]{1,18}([.][0-9]{1,18})?", text):
        return None
    whole, _, rest = text.lstrip("-").partition(".")
    scaled = (int(whole + rest.ljust(18, "0")) * 2 + 10 ** (18 - digits)) // (2 * 10 ** (18 - digits))
    written = str(scaled).rjust(digits + 1, "0")
    sign = "-" if text[0] == "-" and scaled else ""
    return sign + (f"{written[:-digits]}.{written[-digits:]}" if digits else written)


def group_digits(text: str, separator: str) -> str | None:
    """Put a separator between groups of three digits of a plain decimal number."""
    if not re.fullmatch("-?[0-9]+([.][0-9]+)?", text):
        return None
    whole, point, rest = text.partition(".")
    return re.sub("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))", separator, whole) + point + rest


def expand_year(text: str, pivot: int) -> str | None:
    """Write a year of two digits with four: those from `pivot` on belong to 19.., the others to 20.."""
    if not re.fullmatch("[0-9]{2}", text):
        return None
    return ("19" if int(text) >= pivot else "20") + text


def look_up(text: str, keys: str, values: str, lower: str, upper: str) -> str | None:
    """Return what a table has for a text, its letters taken as small; entries are separated by commas."""
    key = text.translate(str.maketrans(upper, lower))
    return dict(zip(keys.split(","), values.split(","), strict=True)).get(key)


def scale_number(text: str, scale: str, offset: str, digits: int, style: str) -> str | None:
    """Multiply a plain decimal number, add to it, and write the result rounded half away from zero."""
    if not re.fullmatch("-?[0-9]{1,9}([.][0-9]{1,6})?", text):
        return None
    parts = []
    for number, places in ((text, 6), (scale, 15), (offset, 21)):
        whole, _, rest = number.lstrip("-").partition(".")
        parts.append(int(whole + rest.ljust(places, "0")) * (-1 if number[0] == "-" else 1))
    exact = parts[0] * parts[1] + parts[2]  # with 21 digits after the point
    size = abs(exact)
    if style == "significant":
        if size == 0:
            return "0"
        level = len(str(size)) - 22
        if not level >= -6:
            return None
        digits = min(max(digits - 1 - min(level, 14), 0), 12)
    unit = 10 ** (21 - digits)
    rounded = (2 * size + unit) // (2 * unit)
    if style != "significant" and digits > 6 and rounded < 10 ** (digits - 6):
        return None
    written = str(rounded).rjust(digits + 1, "0")
    if digits:
        written = f"{written[:-digits]}.{written[-digits:]}"
        if style != "fixed":
            written = written.rstrip("0").rstrip(".")
    return f"-{written}" if exact < 0 and rounded else written


def change_base(text: str, old: int, new: int) -> str | None:
    """Write a whole number of at most 12 digits in another base."""
    digits = "0123456789ABCDEF"
    if len(text) > 12 or not all(c in digits[:old] for c in text.upper()) or not text.isascii():
        return None
    number, written = int(text, old), ""
    while number:
        number, digit = divmod(number, new)
        written = digits[digit] + written
    return written or "0"


def read_quantity(text: str, units: str, factors: str, lower: str, upper: str) -> str | None:
    """Read the only number of a text, times the factor of the unit behind it; without units whatever stands there."""
    parts = re.fullmatch("([^0-9]*)([0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})([.][0-9]{1,6})?([^0-9]*)", text)
    if not parts:
        return None
    factor = "1"
    if units:
        key = parts[4].lstrip(" ").rstrip(". ")
        table = dict(zip(units.split(","), factors.split(","), strict=True))
        factor = table.get(key) or table.get(key.translate(str.maketrans(upper, lower)), "")
        if not factor:
            return None
    number = int(parts[2].replace(",", "") + (parts[3] or ".")[1:].ljust(6, "0"))
    whole, _, rest = factor.partition(".")
    value = number * int(whole + rest.ljust(9, "0"))  # with 15 digits after the point
    if value < 10**9:
        return None if value else "0"
    sign = "-" if re.search("(?:^|[^0-9A-Za-z])[-\u2212][ $\u20ac\u00a3\u00a5]*\\Z", parts[1]) else ""
    return sign + f"{value // 10**15}.{value % 10**15:015}".rstrip("0").rstrip(".")
