"""The steps that move dates by the calendar, and read and write counts of days and seconds, on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, and of those that
it calls; all use built-ins and `re` alone.
"""

from __future__ import annotations

import re

__all__ = ["combine_moments", "date_of_days", "days_of_date", "move_date", "read_serial", "write_serial"]


def days_of_date(date: str) -> int | None:
    """Return the days from 1 January 1970 to a date ``YYYY-MM-DD``; None if there is no such day."""
    match = re.fullmatch("((?!0000)[0-9]{4})-(0[1-9]|1[0-2])-([0-3][0-9])", date)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    if not 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        return None
    number = year - (month < 3)
    number = 365 * number + number // 4 - number // 100 + number // 400 + (153 * ((month + 9) % 12) + 2) // 5
    return number + day - 1 - 719468  # days from 1 March of the year 0


def date_of_days(days: int) -> str | None:
    """Return the date ``YYYY-MM-DD`` so many days after 1 January 1970; None outside of the years 1 to 9999."""
    cycle, number = divmod(days + 719468, 146097)
    year = (number - number // 1460 + number // 36524 - number // 146096) // 365
    number -= 365 * year + year // 4 - year // 100
    month = (5 * number + 2) // 153
    day = number - (153 * month + 2) // 5 + 1
    month = (month + 2) % 12 + 1
    year += 400 * cycle + (month < 3)
    return f"{year:04d}-{month:02d}-{day:02d}" if 1 <= year <= 9999 else None


def move_date(text: str, unit: str, months: int, days: int) -> str | None:
    """Take a date back to the start of a unit of the calendar, add months (to the last day if need be), and days."""
    if not re.fullmatch(".{10}T(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|[?]{2}:[?]{2}:[?]{2})", text):
        return None
    number = days_of_date(text[:10])
    if number is None:
        return None
    if unit == "week":
        moved = date_of_days(number - (number + 3) % 7 + days)  # 1 January 1970 was a Thursday
        return moved + text[10:] if moved and not months else None
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    width = {"month": 1, "quarter": 3, "half": 6, "year": 12}.get(unit, 0)
    if width:
        month, day = month - (month - 1) % width, 1
    year, month = (12 * year + month - 1 + months) // 12, (month - 1 + months) % 12 + 1
    start = None
    while start is None and 1 <= year <= 9999:  # the month may have fewer days
        start = days_of_date(f"{year:04d}-{month:02d}-{day:02d}")
        day -= 1
    moved = None if start is None else date_of_days(start + days)
    return moved and moved + text[10:]


def combine_moments(first: str, second: str, kind: str) -> str | None:
    """Return what has passed from the second moment to the first one; days alone may be negative."""
    clock = "([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])"
    number, other = days_of_date(first[:10]), days_of_date(second[:10])
    if kind in ("hours", "minutes", "seconds"):
        if first[:10] == second[:10] == "????-??-??":
            number = other = 0
        known = re.fullmatch(f".{{10}}T{clock}", first), re.fullmatch(f".{{10}}T{clock}", second)
        if number is None or other is None or not known[0] or not known[1]:
            return None
        passed = 86400 * (number - other)
        for match, sign in ((known[0], 1), (known[1], -1)):
            passed += sign * (3600 * int(match[1]) + 60 * int(match[2]) + int(match[3]))
        unit = {"hours": 36, "minutes": 60, "seconds": 1}[kind]
        if passed < 0 or passed % unit:
            return None
        if kind == "hours":
            return f"{passed // 3600}.{passed // 36 % 100:02d}".rstrip("0").rstrip(".")
        return str(passed // unit)
    whole = f".{{10}}T(?:{clock}|[?]{{2}}:[?]{{2}}:[?]{{2}})"
    if number is None or other is None or not re.fullmatch(whole, first) or not re.fullmatch(whole, second):
        return None
    if kind == "days":
        return str(number - other)
    if number < other:
        return None
    if kind == "weeks":
        return str((number - other) // 7)
    months = 12 * (int(first[:4]) - int(second[:4])) + int(first[5:7]) - int(second[5:7]) - (first[8:10] < second[8:10])
    return str(months if kind == "months" else months // 12)


def read_serial(text: str, origin: str) -> str | None:
    """Read a count of days, seconds or milliseconds since a day as ``YYYY-MM-DDTHH:MM:SS``; ``?`` is unknown."""
    if not re.fullmatch("0|-?[1-9][0-9]{0,14}", text):
        return None
    days, clock = int(text), "??:??:??"
    if origin == "excel days":
        days -= 25569
    elif origin != "unix days":
        days, moment = divmod(days // (1000 if origin == "unix milliseconds" else 1), 86400)
        clock = f"{moment // 3600:02d}:{moment // 60 % 60:02d}:{moment % 60:02d}"
    date = date_of_days(days)
    return date and f"{date}T{clock}"


def write_serial(text: str, origin: str) -> str | None:
    """Write a date as a count of days, seconds or milliseconds since a day; a clock that is not known is midnight."""
    match = re.fullmatch(
        "(.{10})T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])|[?]{2}:[?]{2}:[?]{2})",
        text,
    )
    days = days_of_date(match[1]) if match else None
    if match is None or days is None:
        return None
    if origin == "excel days":
        return str(days + 25569)
    if origin == "unix days":
        return str(days)
    seconds = 86400 * days
    if match[2]:
        seconds += 3600 * int(match[2]) + 60 * int(match[3]) + int(match[4])
    return str(1000 * seconds if origin == "unix milliseconds" else seconds)
