"""Learning by how much dates are moved: starts and ends of weeks, months, quarters and years, days and months added."""

from __future__ import annotations

from collections.abc import Sequence

from dfjoin.programs.calendar_operators import CALENDAR_UNITS, SERIALS, MoveDate, ReadSerial, WriteSerial
from dfjoin.programs.operator import Step
from dfjoin.programs.time_operators import ReadTime

__all__ = ["date_moves", "serial_readers", "serial_writers"]

_WIDTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}
_MONTHS = (0, 1, -1, 3, 6, 12, -12, 24, 36, 60, 120)
"""Months that are added before days are counted."""
_FISCAL_MONTHS = (3, 6, -3, 9, -6, -9, 1, 2, 4, 5, 7, 8, 10, 11, -1, -2, -4, -5, -7, -8, -10, -11)
"""Months by which fiscal years are moved: most of them begin with a quarter."""
_LIKELY_DAYS = (0, 1, -1, 6, 7, -7, 14, 28, 30, 60, 90, 4, 5)
_MOST_DAYS = 36_500
_MAX_FOUND = 6
_PLAUSIBLE = {"days": ("1900", "2100"), "seconds": ("1971", "2100"), "milliseconds": ("1971", "2100")}
"""Years of what counts of days and seconds are read as; few seconds are a duration."""


def date_moves(moments: Sequence[str], orders: Sequence[str], targets: Sequence[str]) -> list[tuple[float, Step]]:
    """Find the moves that bring each date to that of its target.

    Parameters
    ----------
    moments : sequence of str
        One for each example, as `ReadTime` gives them.
    orders : sequence of str
        Readings of the targets, the likelier first; none where they are no dates.
    targets : sequence of str

    Returns
    -------
    list of (float, MoveDate)
        Weights and moves, the likelier first. Where the targets are no dates, moves by months that bring some of the
        dates to another year, as fiscal years do.

    Notes
    -----
    For each unit and number of months, the days left have to be the same for all examples; one example alone is moved
    by likely numbers of days only. O(units × months × examples).
    """
    if any("?" in moment[:10] for moment in moments):
        return []
    found: list[tuple[float, Step]] = []
    n_different = len({moment[:10] for moment in moments})
    for reading in orders:
        wanted = [ReadTime(reading)(target) or "?" for target in targets]
        if any("?" in date[:10] for date in wanted):
            continue
        ends = [_number(date) for date in wanted]
        for unit in CALENDAR_UNITS:
            for months in _MONTHS if unit != "week" else (0,):
                moved = [MoveDate(unit, months, 0)(moment) or "" for moment in moments]
                days = {end - _number(date) for end, date in zip(ends, moved, strict=True)} if all(moved) else set()
                if len(days) != 1:
                    continue
                (left,) = days
                if n_different < 2 and left not in _LIKELY_DAYS:
                    continue
                if abs(left) <= _MOST_DAYS and (unit, months, left) != ("day", 0, 0):
                    found.append((_weight(unit, months, left), MoveDate(unit, months, left)))
    if not orders:
        for months in _FISCAL_MONTHS:
            move = MoveDate("month", months, 0)
            years = {(move(moment) or moment)[:4] == moment[:4] for moment in moments}
            if years == {False, True}:
                found.append((2.0 if months % 3 == 0 else 3.0, move))
    found.sort(key=lambda entry: entry[0])
    return found[:_MAX_FOUND] if orders else found


def _weight(unit: str, months: int, days: int) -> float:
    """Weigh a move: little for the first and the last day of a unit, and for round numbers of months or days."""
    is_end = days == -1 and months == _WIDTHS.get(unit)
    week_end = unit == "week" and days in (4, 5, 6, -1)
    weight = 1.0 * (unit != "day") + (0 if is_end or months == 0 else 1.0 if unit == "day" else 2.0)
    return weight + (0 if days == 0 or is_end or week_end else 1.0 if days in _LIKELY_DAYS else 3.0)


def _number(moment: str) -> int:
    """Return the days since 1970."""
    return int(WriteSerial("unix days")(moment[:10] + "T??:??:??") or 0)


def serial_readers(texts: Sequence[str], inputs: Sequence[str]) -> list[Step]:
    """Return the steps that read all texts, whole numbers, as dates of a plausible year.

    Parameters
    ----------
    texts, inputs : sequence of str
        The examples, and other values of the column.
    """
    if not all(text.isascii() and text.isdigit() and len(text) >= 4 for text in texts):
        return []
    known = [*texts, *(text for text in inputs if text)]
    steps: list[Step] = []
    for origin in SERIALS:
        low, high = _PLAUSIBLE[origin.split(" ")[1]]
        step = ReadSerial(origin)
        if all(low <= (step(text) or "")[:4] <= high for text in known):
            steps.append(step)
    return steps


def serial_writers(moments: Sequence[str], targets: Sequence[str]) -> list[Step]:
    """Return the steps that write each moment as its target, a whole number of days or seconds."""
    steps: list[Step] = [WriteSerial(origin) for origin in SERIALS]
    return [step for step in steps if all(step(m) == target for m, target in zip(moments, targets, strict=True))]
