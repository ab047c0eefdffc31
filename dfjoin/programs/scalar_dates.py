"""The steps that move dates by the calendar, and read and write counts of days and seconds, on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, which uses
built-ins and `re` alone.
"""

from __future__ import annotations

import re

__all__ = ["move_date", "read_serial", "write_serial"]


def move_date(text: str, unit: str, months: int, days: int) -> str | None:
    """Take a date back to the start of a unit of the calendar, add months (to the last day if need be), and days."""
    match = re.fullmatch(
        "((?!0000)[0-9]{4})-(0[1-9]|1[0-2])-([0-3][0-9])"
        "(T(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|[?]{2}:[?]{2}:[?]{2}))",
        text,
    )
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    lengths = (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= day <= lengths[month - 1]:
        return None
    width = {"month": 1, "quarter": 3, "half": 6, "year": 12}.get(unit, 0)
    if width:
        month, day = month - (month - 1) % width, 1
    months += 12 * year + month - 1
    if unit == "week":
        before = year - 1
        weekday = (365 * before + before // 4 - before // 100 + before // 400 + sum(lengths[: month - 1]) + day - 1) % 7
        days -= weekday
        if months != 12 * year + month - 1:
            return None
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        return None
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    lengths = (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    number = year - (month < 3)
    number = 365 * number + number // 4 - number // 100 + number // 400 + (153 * ((month + 9) % 12) + 2) // 5
    number += min(day, lengths[month - 1]) - 1 + days + 146097  # days since 1 March of the year -400
    cycle, number = divmod(number, 146097)
    year = (number - number // 1460 + number // 36524 - number // 146096) // 365
    number -= 365 * year + year // 4 - year // 100
    month = (5 * number + 2) // 153
    day = number - (153 * month + 2) // 5 + 1
    month = (month + 2) % 12 + 1
    year += 400 * (cycle - 1) + (month < 3)
    return f"{year:04d}-{month:02d}-{day:02d}{match[4]}" if 1 <= year <= 9999 else None


def read_serial(text: str, origin: str) -> str | None:
    """Read a count of days, seconds or milliseconds since a day as ``YYYY-MM-DDTHH:MM:SS``; ``?`` is unknown."""
    if not re.fullmatch("0|-?[1-9][0-9]{0,14}", text):
        return None
    size = {"unix seconds": 1, "unix milliseconds": 1000}.get(origin, 0)
    clock = "??:??:??"
    days = int(text) + (719468 - 25569 if origin == "excel days" else 719468)
    if size:
        days, moment = divmod(int(text) // size, 86400)
        days += 719468
        clock = f"{moment // 3600:02d}:{moment // 60 % 60:02d}:{moment % 60:02d}"
    if not 306 <= days < 306 + 3652059:  # days since 1 March of the year 0
        return None
    cycle, number = divmod(days, 146097)
    year = (number - number // 1460 + number // 36524 - number // 146096) // 365
    number -= 365 * year + year // 4 - year // 100
    month = (5 * number + 2) // 153
    day = number - (153 * month + 2) // 5 + 1
    month = (month + 2) % 12 + 1
    return f"{year + 400 * cycle + (month < 3):04d}-{month:02d}-{day:02d}T{clock}"


def write_serial(text: str, origin: str) -> str | None:
    """Write a date as a count of days, seconds or milliseconds since a day; a clock that is not known is midnight."""
    match = re.fullmatch(
        "((?!0000)[0-9]{4})-(0[1-9]|1[0-2])-([0-3][0-9])"
        "T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])|[?]{2}:[?]{2}:[?]{2})",
        text,
    )
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    if not 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        return None
    number = year - (month < 3)
    number = 365 * number + number // 4 - number // 100 + number // 400 + (153 * ((month + 9) % 12) + 2) // 5
    number += day - 1 - 719468  # days since 1 January 1970
    if origin == "excel days":
        return str(number + 25569)
    if origin == "unix days":
        return str(number)
    seconds = 86400 * number
    if match[4]:
        seconds += 3600 * int(match[4]) + 60 * int(match[5]) + int(match[6])
    return str(1000 * seconds if origin == "unix milliseconds" else seconds)
