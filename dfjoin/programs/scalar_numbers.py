"""The steps that read and write numbers, quantities, durations, lists of numbers and check digits, on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, which uses
built-ins and `re` alone.
"""

from __future__ import annotations

import re

__all__ = [
    "all_runs",
    "as_ratio",
    "band_of",
    "change_base",
    "combine_numbers",
    "expand_year",
    "group_digits",
    "nth_number",
    "read_duration",
    "read_exponent",
    "read_isbn",
    "read_quantity",
    "read_ratio",
    "round_number",
    "round_to",
    "scale_number",
    "strip_zeros",
    "total_of",
    "with_check_digit",
    "with_mod_97",
    "write_duration",
    "write_number",
]


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
    # from the end: a look at all digits behind each one takes the square of their number
    return re.sub("[0-9]{3}(?=[0-9])", lambda group: group[0] + separator, whole[::-1])[::-1] + point + rest


def expand_year(text: str, pivot: int) -> str | None:
    """Write a year of two digits with four: those from `pivot` on belong to 19.., the others to 20.."""
    if not re.fullmatch("[0-9]{2}", text):
        return None
    return ("19" if int(text) >= pivot else "20") + text


def scale_number(text: str, scale: str, offset: str, digits: int, style: str) -> str | None:
    """Multiply a plain decimal number, add to it, and write the result rounded half away from zero."""
    if not re.fullmatch("-?[0-9]{1,9}([.][0-9]{1,6})?", text):
        return None
    parts = []
    for number, n_decimals in ((text, 6), (scale, 15), (offset, 21)):
        whole, _, rest = number.lstrip("-").partition(".")
        parts.append(int(whole + rest.ljust(n_decimals, "0")) * (-1 if number[0] == "-" else 1))
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


def nth_number(text: str, index: int, mark: str) -> str | None:
    """Return one of the numbers of a text as a plain decimal; `mark` is its point, the other of ``,.`` groups."""
    if mark == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    start = r"(?:(?<![0-9A-Za-z.,)])-)?(?<![0-9])(?<![^A-Za-z][.])(?<!\A[.])"
    numbers = re.findall(start + "(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:[.][0-9]+)?", text)
    return numbers[index].replace(",", "") if -len(numbers) <= index < len(numbers) else None


def round_to(text: str, before: str, step: str, mode: str, after: str) -> str | None:
    """Add to a plain decimal number, take it to a multiple of a step, and add again."""
    if not re.fullmatch("-?[0-9]{1,15}([.][0-9]{1,9})?", text):
        return None
    numbers = []
    for number in (text, before, step, after):
        whole, _, rest = number.lstrip("-").partition(".")
        numbers.append(int(whole + rest.ljust(9, "0")) * (-1 if number[0] == "-" else 1))
    value = numbers[0] + numbers[1]
    size = value if mode in ("floor", "ceiling") else abs(value)
    if mode == "nearest":
        size += numbers[2] // 2
    size += -size % numbers[2] if mode in ("ceiling", "up") else -(size % numbers[2])
    result = (-size if value < 0 and mode not in ("floor", "ceiling") else size) + numbers[3]
    digits = max(len(number.partition(".")[2]) for number in (step, after))
    written = str(abs(result)).rjust(10, "0")
    written = f"{written[:-9]}.{written[-9:]}"[: len(written) - 9 + digits + 1].rstrip("." if not digits else "")
    return f"-{written}" if result < 0 else written


def band_of(text: str, bounds: tuple[int | None, ...], names: tuple[str, ...]) -> str | None:
    """Name the band that a plain decimal number lies in: from a bound, with it, to the next one; None is no bound."""
    if not re.fullmatch("-?[0-9]{1,15}([.][0-9]{1,9})?", text):
        return None
    whole, _, rest = text.partition(".")
    number = int(whole) - (text[0] == "-" and bool(rest.strip("0")))
    first, *ends = bounds
    inside = (name for name, end in zip(names, ends, strict=True) if end is None or number < end)
    return next(inside, None) if first is None or number >= first else None


def write_number(text: str, least: int, most: int | None, mark: str, group: str) -> str | None:
    """Write a plain decimal number with so many digits after the point, rounded half away from zero."""
    if not re.fullmatch("-?[0-9]{1,18}([.][0-9]{1,18})?", text):
        return None
    whole, _, rest = text.lstrip("-").partition(".")
    sign = "-" if text[0] == "-" else ""
    if most is not None:
        scaled = (int(whole + rest.ljust(18, "0")) * 2 + 10 ** (18 - most)) // (2 * 10 ** (18 - most))
        written = str(scaled).rjust(most + 1, "0")
        whole, rest = written[: len(written) - most], written[len(written) - most :].rstrip("0")
        sign = sign if scaled else ""
    rest = rest.ljust(least, "0")
    whole = re.sub("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))", group, whole) if group else whole
    return sign + whole + (mark + rest if rest else "")


def read_duration(text: str, first: str) -> str | None:
    """Return the seconds of hours, minutes and seconds with colons between; `first` names the first of two parts."""
    parts = re.fullmatch("([0-9]{1,6}):([0-5]?[0-9])(?::([0-5]?[0-9])([.][0-9]{1,6})?)?", text)
    if not parts:
        return None
    seconds = 60 * int(parts[1]) + int(parts[2])
    if parts[3] is not None:
        seconds = 60 * seconds + int(parts[3])
    elif first == "hours":
        seconds *= 60
    return str(seconds) + (parts[4] or "").rstrip("0").rstrip(".")


def write_duration(text: str, layout: str) -> str | None:
    """Write whole seconds as hours, minutes and seconds, or as two of them, with colons between."""
    if not re.fullmatch("[0-9]{1,9}", text):
        return None
    units = layout.split(":")
    rest = int(text)
    if units[-1] == "MM":
        if rest % 60:
            return None
        rest //= 60
    written = []
    for _ in units[1:]:
        written.append(str(rest % 60).rjust(2, "0"))
        rest //= 60
    return ":".join([str(rest).rjust(len(units[0]), "0"), *written[::-1]])


def read_ratio(text: str, digits: int) -> str | None:
    """Return the value of a fraction, rounded half up to so many digits, without zeros at the end."""
    parts = re.fullmatch("(?:([0-9]{1,6})[ -])?([0-9]{1,6}) ?/ ?([0-9]{1,6})", text)
    if not parts or int(parts[3]) == 0:
        return None
    below = int(parts[3])
    above = int(parts[1] or 0) * below + int(parts[2])
    written = str((2 * above * 10**digits + below) // (2 * below)).rjust(digits + 1, "0")
    return f"{written[:-digits]}.{written[-digits:]}".rstrip("0").rstrip(".") if digits else written


def read_exponent(text: str) -> str | None:
    """Write a number with an exponent of ten, or without one, as a plain decimal without zeros at its ends."""
    parts = re.fullmatch("(-?)([0-9]{1,12})(?:[.]([0-9]{1,12}))?(?:[eE]([+-]?(?:0?[0-9]|1[0-2])))?", text)
    if not parts:
        return None
    digits = "0" * 12 + parts[2] + (parts[3] or "") + "0" * 12
    point = 12 + len(parts[2]) + int(parts[4] or 0)
    whole, rest = digits[:point].lstrip("0") or "0", digits[point:].rstrip("0")
    sign = parts[1] if whole != "0" or rest else ""
    return sign + whole + ("." + rest if rest else "")


def all_runs(text: str, pattern: str, least: int, mark: str) -> str:
    """Join all runs of characters that match a pattern and are long enough."""
    return mark.join(re.findall(f"{pattern}{{{least},}}", text))


def total_of(text: str, kind: str) -> str | None:
    """Return a statistic of a list of numbers, rounded half away from zero to six digits, without zeros at the end."""
    number = "-?[0-9]{1,9}(?:[.][0-9]{1,6})?"
    if not re.fullmatch(f"{number}(?:[ ,;|+]+{number}){{0,99}}", text):
        return None
    values = []
    for found in re.findall(number, text):
        whole, _, rest = found.lstrip("-").partition(".")
        values.append(int(whole + rest.ljust(6, "0")) * (-1 if found[0] == "-" else 1))
    values.sort()
    n = len(values)
    if kind == "count":
        return str(n)
    if kind == "median":
        values = values[(n - 1) // 2 : n // 2 + 1]
    if kind == "range":
        value = values[-1] - values[0]
    elif kind in ("least", "most"):
        value = values[0] if kind == "least" else values[-1]
    else:
        value = sum(values)
    size = abs(value)
    if kind in ("mean", "median"):
        size = (2 * size + len(values)) // (2 * len(values))
    written = str(size).rjust(7, "0")
    written = f"{written[:-6]}.{written[-6:]}".rstrip("0").rstrip(".")
    return f"-{written}" if value < 0 and size else written


def combine_numbers(first: str, second: str, kind: str) -> str | None:
    """Return the sum of two plain decimals, or the first without the second, without zeros at the end."""
    total = 0
    for text, sign in ((first, 1), (second, 1 if kind == "sum" else -1)):
        match = re.fullmatch("(-?)([0-9]{1,12})(?:[.]([0-9]{1,6}))?", text)
        if match is None:
            return None
        size = int(match[2] + (match[3] or "").ljust(6, "0"))
        total += sign * (-size if match[1] else size)
    written = str(abs(total)).rjust(7, "0")
    return ("-" if total < 0 else "") + f"{written[:-6]}.{written[-6:]}".rstrip("0").rstrip(".")


def with_check_digit(text: str, kind: str) -> str | None:
    """Add the check digit of a kind of codes to a text of digits."""
    if not re.fullmatch("[0-9]{1,30}", text):
        return None
    digits = [int(c) for c in text[::-1]]
    if kind == "ean":
        return text + str(-sum(digit * (1 if i % 2 else 3) for i, digit in enumerate(digits)) % 10)
    if kind == "luhn":
        return text + str(-sum(digit if i % 2 else digit * 2 - 9 * (digit > 4) for i, digit in enumerate(digits)) % 10)
    return text + "0123456789X"[-sum(digit * (i + 2) for i, digit in enumerate(digits)) % 11]


def with_mod_97(text: str, country: str) -> str | None:
    """Add the check digits of ISO 7064, mod 97: behind letters and digits, or between the country and these."""
    if not re.fullmatch("[0-9A-Za-z]{1,30}", text):
        return None
    digits = "".join(str(int(c, 36)) for c in f"{text}{country}00")
    check = str(98 - int(digits) % 97).rjust(2, "0")
    return f"{country}{check}{text}" if country else text + check


def read_isbn(text: str, length: int) -> str | None:
    """Write an ISBN of 10 or 13 digits, whose check digit is right, with the other number of digits, or the same."""
    code = re.sub("[- ]", "", text).replace("x", "X")
    stem = ""
    if re.fullmatch("[0-9]{9}[0-9X]", code):
        stem = "978" + code[:9]
        if "0123456789X"[-sum(int(c) * (i + 2) for i, c in enumerate(code[8::-1])) % 11] != code[9]:
            return None
    elif re.fullmatch("97[89][0-9]{10}", code):
        stem = code[:12]
    check = str(-sum(int(c) * (1 if i % 2 else 3) for i, c in enumerate(stem[::-1])) % 10)
    if not stem or (len(code) == 13 and code[12] != check) or (length == 10 and stem[:3] != "978"):
        return None
    if length == 13:
        return stem + check
    return stem[3:] + "0123456789X"[-sum(int(c) * (i + 2) for i, c in enumerate(stem[:2:-1])) % 11]


def as_ratio(text: str) -> str | None:
    """Write a plain decimal as a fraction in lowest terms; a whole number stays one."""
    parts = re.fullmatch("([0-9]{1,9})(?:[.]([0-9]{1,9}))?", text)
    if not parts:
        return None
    above, below = int(parts[1] + (parts[2] or "")), 10 ** len(parts[2] or "")
    some, other = above, below
    while other:
        some, other = other, some % other
    return str(above // some) if below == some else f"{above // some}/{below // some}"
