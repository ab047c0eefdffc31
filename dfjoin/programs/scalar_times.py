"""The steps that read, move and write times of the day and dates with them, on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, and of those that
it calls; all use built-ins and `re` alone.
"""

from __future__ import annotations

import re

from dfjoin.programs.scalar_dates import date_of_days, days_of_date

__all__ = [
    "move_time",
    "read_time",
    "write_time",
]


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
