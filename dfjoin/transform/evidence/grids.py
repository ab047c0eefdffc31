"""Regular grids: numbers, days, times and codes of one build, whose values meet those of another column by accident.

Over plain strings: nothing here knows columns or joins.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.values.shares import FEW, MOST

_TOKEN = re.compile(
    r"(?P<day>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    r"|(?P<month>(?<!\d)\d{4}-\d\d(?![\d-]))"
    r"|(?P<time>(?<!\d)\d\d:\d\d(?::\d\d)?(?![\d:]))"
    r"|(?P<number>^-\d+|\d+)|(?P<word>[^\W\d_]+)|(?P<other>[\W_]+)"
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CALENDAR = {
    **{name: number + 1 for number, month in enumerate(_MONTHS) for name in (month, month[:3])},
    **{name: 101 + number for number, day in enumerate(_WEEKDAYS) for name in (day, day[:3])},
    "sept": 9,
}
"""Names of months and weekdays with their numbers; those of weekdays are above 100."""
_MAX_DIGITS = 18
_MAX_DAYS = 4
"""Days of a month, as the first and the fifteenth, that make a grid where all days are one of them."""
_MIN_DAYS = 10
"""Values for each of these days, if there are several."""
_FIELDS = ("day", "month", "time", "number", "word")

_Cells = Sequence[int | str]


@lru_cache(maxsize=1 << 12)
def _parse(value: str) -> tuple[tuple[str, ...], _Cells]:
    """Cut a value into its build (kinds of fields, and what stands between them) and the contents of its fields."""
    build: list[str] = []
    cells: list[int | str] = []
    for match in _TOKEN.finditer(value):
        kind, text = match.lastgroup or "other", match[0]
        if kind == "other":
            build.append(text)
            continue
        if kind == "day":
            try:
                cells.append(date(int(text[:4]), int(text[5:7]), int(text[8:])).toordinal())
            except ValueError:
                build += ["number", "-", "number", "-", "number"]
                cells += [int(text[:4]), int(text[5:7]), int(text[8:])]
                continue
        elif kind == "month":
            cells.append(12 * int(text[:4]) + int(text[5:]))
        elif kind == "time":
            parts = [int(part) for part in text.split(":")]
            cells.append(3600 * parts[0] + 60 * parts[1] + (parts[2] if len(parts) > 2 else 0))
        elif kind == "number":
            cells.append(int(text) if len(text) <= _MAX_DIGITS else text)
        else:
            cells.append(_CALENDAR.get(text, text))
            kind = "number" if text in _CALENDAR else kind
        build.append(kind)
    if build == ["day"]:  # midnight, as canonical time stamps have it
        return ("day", "word", "time"), (*cells, "t", 0)
    return tuple(build), tuple(cells)


def grid_density(outputs: Sequence[str], targets: Sequence[str]) -> float | None:
    """Estimate how densely targets fill the grid that outputs lie on.

    Parameters
    ----------
    outputs, targets : sequence of str
        Distinct canonical values; at least one of each.

    Returns
    -------
    float or None
        Share of the cells of the grid that hold a target, at least 0; it may exceed 1 by rounding. None where the
        outputs lie on no grid.

    Notes
    -----
    Values of one build (digit runs, days, months of a year, times of day and words between the same separators) are
    points of a grid with one axis for each field. An axis of numbers reaches from the smallest to the
    largest one, a twentieth at either end left out, in steps of their greatest common divisor. Days that are all one
    of few days of their month, or all its last one, are numbered by these. An axis of words has
    as many points as there are words, if each occurs three times on average; names of months and weekdays are
    numbers. A field that repeats another one is no axis. Other words, and digit runs above 18 digits, are on no
    axis, and the values on no grid. A fifth of the outputs may be of another build. The density is the larger of
    two: targets in the box of the outputs over its
    cells, and the share of the outputs in the box of the targets times the targets over the cells of that.
    O(characters).
    """
    made = [_parse(value) for value in outputs]
    build, count = Counter(entry[0] for entry in made).most_common(1)[0]
    own = [cells for kinds, cells in made if kinds == build]
    if count < MOST * len(made) or not own[0]:
        return None
    known = [cells for kinds, cells in map(_parse, targets) if kinds == build]
    if not known:
        return 0.0
    fields = [kind for kind in build if kind in _FIELDS]
    axes = [_axis([row[i] for row in own], [row[i] for row in known], kind) for i, kind in enumerate(fields)]
    if any(axis is None for axis in axes):
        return None
    numbers: list[tuple[NDArray[np.float64], NDArray[np.float64], float]] = []
    for axis in axes:
        if axis is not None and not any(_is_moved(axis, other) for other in numbers):
            numbers.append(axis)
    mine, theirs = (np.stack([axis[side] for axis in numbers], axis=1) for side in (0, 1))
    steps = np.array([axis[2] for axis in numbers])
    return max(_filled(theirs, mine, steps) * len(theirs), _filled(mine, theirs, steps) * len(theirs))


def _axis(own: _Cells, known: _Cells, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64], float] | None:
    """Return the points of both columns on one axis of the grid, and its step; None if the field is no axis."""
    words = {cell for cell in (*own, *known) if isinstance(cell, str)}
    if not words:
        points = np.array([*own, *known], np.int64)
        points = _in_months(points) if kind == "day" else points
        distinct = np.unique(points)
        step = int(np.gcd.reduce(np.diff(distinct))) if distinct.size > 1 else 1
        numbers = points.astype(np.float64)
        return numbers[: len(own)], numbers[len(own) :], float(max(1, step))
    if len(words) > 1 and len(own) + len(known) < FEW * len(words):
        return None  # words that occur less often are names, not codes
    rank_of = {word: number for number, word in enumerate(sorted(words))}
    numbers = np.array([rank_of.get(cell, -1) if isinstance(cell, str) else -1 for cell in (*own, *known)], np.float64)
    return numbers[: len(own)], numbers[len(own) :], 1.0


def _in_months(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number days by the few that their months can have: the first one, say, or the last one; others stay as they are.

    Months are of unequal length, so that such days have no common step.
    """
    dates = [date.fromordinal(day) for day in days.tolist()]
    months = np.array([12 * day.year + day.month for day in dates], np.int64)
    if all(day.day == monthrange(day.year, day.month)[1] for day in dates):
        return months
    held, points = np.unique([day.day for day in dates], return_inverse=True)
    if held.size == 1 or (held.size <= _MAX_DAYS and held.size * _MIN_DAYS <= days.size):
        return months * held.size + points
    return days


def _is_moved(
    axis: tuple[NDArray[np.float64], NDArray[np.float64], float],
    other: tuple[NDArray[np.float64], NDArray[np.float64], float],
) -> bool:
    """Tell whether an axis repeats another, as the number in ``'page 7, image 7'``."""
    differences = np.concatenate([axis[0] - other[0], axis[1] - other[1]])
    return bool((differences == differences[0]).all())


def _filled(some: NDArray[np.float64], others: NDArray[np.float64], steps: NDArray[np.float64]) -> float:
    """Return the share of points in the box of others, over the cells of the box."""
    ordered = np.sort(others, axis=0)
    cut = len(others) // 20
    low, high = ordered[cut], ordered[len(others) - 1 - cut]
    inside = ((some >= low) & (some <= high)).all(axis=1).mean()
    cells = math.prod(((high - low) / steps + 1).tolist())
    return float(inside) / cells


def same_tokens(some: str, other: str) -> bool:
    """Tell whether two texts hold the same words and numbers, in any order and build.

    Months and weekdays count by their numbers, and zeros in front do not count: ``'april 2023'`` is ``'2023-04'``.
    Two texts of one build are not compared: they are equal, or one of them is rearranged.
    """
    pieces = [re.findall(r"\d+|[^\W\d_]+", text) for text in (some, other)]
    contents = [
        sorted(str(_CALENDAR.get(piece, piece.lstrip("0") if piece.isdigit() else piece)) for piece in found)
        for found in pieces
    ]
    return contents[0] == contents[1] and _shape(some) != _shape(other)


def _shape(text: str) -> str:
    """Return a text with each run of digits and of letters as one character."""
    return re.sub(r"[^\W\d_]+", "w", re.sub(r"\d+", "0", text))
