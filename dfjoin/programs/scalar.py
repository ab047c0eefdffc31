"""The steps of a program on one string: the definitions that the other forms follow.

Each function uses nothing but built-ins, `re` and functions of these modules, because `Program.to_python` pastes
its source, and those of the functions that it calls. The text is never empty; an empty result or None means that the
step does not apply.
"""

from __future__ import annotations

import re

from dfjoin.programs.scalar_dates import date_of_days, days_of_date

__all__ = [
    "change_base",
    "condition_holds",
    "expand_year",
    "group_digits",
    "keep_characters",
    "look_up",
    "look_up_pairs",
    "map_characters",
    "move_time",
    "nth_number",
    "nth_run",
    "pad_left",
    "part_range",
    "read_quantity",
    "read_time",
    "replace_all",
    "round_number",
    "round_to",
    "scale_number",
    "sentence_case",
    "slice_text",
    "split_part",
    "squeeze_spaces",
    "strip_zeros",
    "text_after",
    "text_before",
    "text_from_run",
    "text_upto_run",
    "title_case",
    "write_number",
    "write_time",
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


def part_range(text: str, separator: str, first: int, last: int) -> str | None:
    """Return the parts from one to another, with the separators between them; neither of both may be empty."""
    parts = text.split(separator)
    low, high = (index if index >= 0 else index + len(parts) for index in (first, last))
    if not 0 <= low <= high < len(parts) or not parts[low] or not parts[high]:
        return None
    return separator.join(parts[low : high + 1])


def text_from_run(text: str, pattern: str, index: int) -> str | None:
    """Return the text from the beginning of one of the runs of characters that match a pattern."""
    starts = [run.start() for run in re.finditer(pattern + "+", text)]
    return text[starts[index] :] if -len(starts) <= index < len(starts) else None


def text_upto_run(text: str, pattern: str, index: int) -> str | None:
    """Return the text up to the end of one of the runs of characters that match a pattern."""
    ends = [run.end() for run in re.finditer(pattern + "+", text)]
    return text[: ends[index]] if -len(ends) <= index < len(ends) else None


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


def look_up_pairs(text: str, keys: str, values: str) -> str | None:
    """Return what given pairs have for a text; keys and values are separated by U+001F."""
    return dict(zip(keys.split("\x1f"), values.split("\x1f"), strict=True)).get(text)


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


def read_time(text: str, patterns: tuple[tuple[str, str], ...], pivot: int) -> str | None:
    """Read a date, a time or both by the first pattern that matches, as ``YYYY-MM-DDTHH:MM:SS``; ``?`` is unknown.

    Each pattern comes with the fields of its groups: y year, m month, b name of a month, d day, j day of the year,
    h hour, n minute, s second, p half of the day.
    """
    months = "janfebmaraprmayjunjulaugsepoctnovdec"
    lengths = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    for pattern, fields in patterns:
        match = re.fullmatch(pattern, text, re.A | re.I)
        if match is None:
            continue
        found = {field: group.lower() for field, group in zip(fields, match.groups(), strict=True) if group}
        year, month, day = found.get("y", ""), found.get("m", ""), found.get("d", "")
        if len(year) == 2:
            year = ("19" if int(year) >= pivot else "20") + year
        is_leap = not year or (int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0))
        if "b" in found:
            month = str(months.find(found["b"][:3]) // 3 + 1)
        if "j" in found:
            rest, number = int(found["j"]), 0
            while number < 12 and rest > lengths[number] - (number == 1 and not is_leap):
                rest -= lengths[number] - (number == 1 and not is_leap)
                number += 1
            if number == 12:
                continue
            month, day = str(number + 1), str(rest)
        if month and day and int(day) > lengths[int(month) - 1] - (int(month) == 2 and not is_leap):
            continue
        clock = "??:??:??"
        if "h" in found:
            hour = int(found["h"])
            if "p" in found:
                hour = hour % 12 + 12 * (found["p"] == "p")
            clock = f"{hour:02d}:{found.get('n', '00')}:{found.get('s', '00')}"
        return f"{year or '????'}-{month.rjust(2, '0') if month else '??'}-{day.rjust(2, '0') if day else '??'}T{clock}"
    return None


def move_time(text: str, before: int, step: int, after: int) -> str | None:
    """Add seconds to a time, go back to a multiple of a step from midnight on, and add seconds; the date follows."""
    match = re.fullmatch(
        "([0-9]{4}-[0-9]{2}-[0-9]{2}|[?]{4}-[?]{2}-[?]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", text
    )
    if match is None:
        return None
    date = match[1]
    moment = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4]) + before
    moment = moment - moment % step + after
    days, moment = moment // 86400, moment % 86400
    if "?" not in date:
        number = days_of_date(date)
        moved = None if number is None else date_of_days(number + days)
        if moved is None:
            return None
        date = moved
    return f"{date}T{moment // 3600:02d}:{moment // 60 % 60:02d}:{moment % 60:02d}"


def write_time(text: str, layout: str) -> str | None:
    """Write a time of the form ``YYYY-MM-DDTHH:MM:SS``, ``?`` where unknown, as a layout like that of strftime says."""
    match = re.fullmatch(
        "((?!0000)[0-9]{4}|[?]{4})-(0[1-9]|1[0-2]|[?]{2})-(0[1-9]|[12][0-9]|3[01]|[?]{2})"
        "T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])|[?]{2}:[?]{2}:[?]{2})",
        text,
    )
    if match is None:
        return None
    year, month, day, hour, minute, second = (None if p is None or p[0] == "?" else int(p) for p in match.groups())
    weekday = day_of_year = week = week_year = None
    if year is not None and month is not None and day is not None:
        leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
        lengths = (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
        if day > lengths[month - 1]:
            return None
        day_of_year = sum(lengths[: month - 1]) + day
        before = year - 1
        weekday = (365 * before + before // 4 - before // 100 + before // 400 + day_of_year - 1) % 7
        week_year, thursday = year, day_of_year - weekday + 3
        if thursday < 1:
            week_year -= 1
            thursday += 365 + (before % 4 == 0 and (before % 100 != 0 or before % 400 == 0))
        elif thursday > 365 + leap:
            week_year += 1
            thursday -= 365 + leap
        week = (thursday - 1) // 7 + 1
        if not 1 <= week_year <= 9999:
            week_year = None
    months: tuple[str, ...] = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
    months += ("October", "November", "December")
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    written = []
    for style, token, literal in re.findall("%([-^~]?)([A-Za-z%])|([^%]+)", layout):
        if literal:
            written.append(literal)
            continue
        value = width = None
        part = ""
        if token == "%":
            part = "%"
        elif token in "BbAa":
            value, names = (month, months) if token in "Bb" else (weekday, days)
            part = "" if value is None else names[value - (token in "Bb")]
            part = part[:3] if token in "ba" else part
            part = part.upper() if style == "^" else part.lower() if style == "~" else part
        elif token == "p":
            part = "" if hour is None else "AM" if hour < 12 else "PM"
            part = part.lower() if style == "~" else part
        elif token == "o":
            if day is not None:
                part = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        elif token == "I":
            value, width = (None if hour is None else (hour + 11) % 12 + 1), 2
        elif token == "y":
            value, width = (None if year is None else year % 100), 2
        elif token == "q":
            value, width = (None if month is None else (month + 2) // 3), 1
        elif token == "u":
            value, width = (None if weekday is None else weekday + 1), 1
        else:
            known = {"Y": (year, 4), "m": (month, 2), "d": (day, 2), "H": (hour, 2), "M": (minute, 2), "S": (second, 2)}
            known |= {"j": (day_of_year, 3), "V": (week, 2), "G": (week_year, 4)}
            value, width = known[token]
        if width is not None and value is not None:
            part = str(value) if style == "-" else str(value).rjust(width, "0")
        if not part:
            return None
        written.append(part)
    return "".join(written)


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


def condition_holds(text: str | None, kind: str, value: str, is_negated: bool) -> bool:
    """Tell whether a text meets a condition; a missing one meets no other than that there is none."""
    if not text:
        return kind == "shape" and value == "" and not is_negated
    if kind == "contains":
        return (value in text) != is_negated
    if kind == "starts":
        return text.startswith(value) != is_negated
    if kind == "ends":
        return text.endswith(value) != is_negated
    if kind == "has":
        return (re.search(value, text) is not None) != is_negated
    if kind == "divisible":
        return (re.fullmatch("[0-9]{1,15}", text) is not None and int(text) % int(value) == 0) != is_negated
    if kind == "at least":
        numbers = []
        for number in (text, value):
            if re.fullmatch("-?[0-9]{1,12}([.][0-9]{1,6})?", number):
                whole, _, rest = number.lstrip("-").partition(".")
                numbers.append(int(whole + rest.ljust(6, "0")) * (-1 if number[0] == "-" else 1))
        return (len(numbers) == 2 and numbers[0] >= numbers[1]) != is_negated
    held = len(text) > int(value) if kind == "longer" else re.fullmatch(value, text) is not None
    return held != is_negated
