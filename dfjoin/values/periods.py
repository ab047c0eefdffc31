"""Columns of dates and of periods: years, quarters, months, weeks, days, however they are spelled."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.values.cells import CONVERSION_ERRORS
from dfjoin.values.frames import arrow_to_series

GRANULARITIES = ("year", "quarter", "month", "week", "day", "second")
"""From the coarsest to the finest; weeks (ISO 8601) lie in no month, quarter or year."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "(?P<name>" + "|".join(sorted({*_MONTHS, *_LONG_MONTHS, "sept"}, key=len, reverse=True)) + r")\.?"
_YEAR = r"(?P<year>1[0-9]{3}|2[0-9]{3})"
_GRANULARITY_OF = {
    re.compile(pattern): granularity
    for granularity, pattern in (
        ("day", rf"{_YEAR}-(?P<part>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"),
        ("year", rf"{_YEAR}(?:\.0)?"),
        ("quarter", rf"{_YEAR}[ -]?q(?P<part>[1-4])"),
        ("quarter", rf"q(?P<part>[1-4])[ -/]?{_YEAR}"),
        ("month", rf"{_YEAR}[-/.](?P<part>0[1-9]|1[0-2])"),
        ("month", rf"{_YEAR}[ -]?m(?P<part>0[1-9]|1[0-2])"),
        ("month", rf"{_MONTH}[ ,-]{{0,2}}{_YEAR}"),
        ("month", rf"{_YEAR}[ -]{_MONTH}"),
        ("week", rf"{_YEAR}-?w(?P<part>0[1-9]|[1-4][0-9]|5[0-3])"),
    )
}
_PATTERNS = tuple(_GRANULARITY_OF)
_Pattern: TypeAlias = re.Pattern[str]

_OF_ANY_YEAR = re.compile(
    rf"{_MONTH}(?:[ ,-]{{0,2}}\d\d?(?:st|nd|rd|th)?)?"
    rf"|\d\d?\.?[ -]{_MONTH.replace('?P<name>', '?:')}"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
)
"""``march 11``, ``11-mar``, ``march``, ``mon``."""

_SEASON = re.compile(r"(?:[A-Za-z]+ )?([0-9]{4}) ?[-/\u2013] ?([0-9]{4}|[0-9]{2})")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ t]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?")
"""A day, or a moment of it, as ISO 8601 writes it, in small letters."""

SHARE = 0.95
"""Share of the distinct values that a column of periods of one granularity has."""

_LOOKED_AT, _LIKELY = 200, 0.8
"""Distinct values, spread over a column, that are read first, and the share of them that has to be dates or periods."""

_ROWS, _TELLING = 40, 20
"""Rows that are looked at before that; where they have so many values, and none is read, the column holds no dates."""

_MONTHS_OF = {"year": 12, "quarter": 3, "month": 1}

_DAY = np.int64(86_400_000_000)
"""Microseconds of a day."""


@dataclass(frozen=True)
class PeriodColumn:
    """A column of dates, or of periods of one granularity.

    Parameters
    ----------
    granularity : str
        One of `GRANULARITIES`.
    starts, ends : ndarray of int64, shape (n_rows,)
        Microseconds since 1970 of the first moment of the period, and of the first one after it. Of a time the next
        microsecond is the end.
    is_null : ndarray of bool, shape (n_rows,)
    """

    granularity: str
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_null: NDArray[np.bool_]

    def numbers(self, granularity: str) -> NDArray[np.int64]:
        """Return the number of the coarser period that each lies in, -1 for null: equal numbers are one period.

        Parameters
        ----------
        granularity : str
            Not finer than its own; from weeks only to weeks, since a week may lie in two months.
        """
        starts = self.starts.astype("datetime64[us]")
        months = starts.astype("datetime64[M]").astype(np.int64)
        found = {
            "year": lambda: months // 12,
            "quarter": lambda: months // 3,
            "month": lambda: months,
            "week": lambda: (self.starts // _DAY + 3) // 7,  # 1970-01-01 was a Thursday
            "day": lambda: self.starts // _DAY,
            "second": lambda: self.starts // 1_000_000,
        }[granularity]()
        return np.where(self.is_null, np.iinfo(np.int64).min, found)

    def are_bounds_of(self, granularity: str) -> bool:
        """Tell whether each begins, or each ends, a coarser period: days may stand for months so.

        Examples
        --------
        >>> read_periods(pd.Series(["2020-01-01", "2020-04-01"])).are_bounds_of("quarter")
        True
        >>> read_periods(pd.Series(["2020-02-29", "2020-03-31"])).are_bounds_of("month")
        True
        """
        here, *neighbours = (
            PeriodColumn(self.granularity, starts, self.ends, self.is_null).numbers(granularity)[~self.is_null]
            for starts in (self.starts, self.starts - 1, self.ends)
        )
        return any(bool((numbers != here).all()) for numbers in neighbours)


def read_periods(column: pd.Series, *, is_year: bool = False, share: float = SHARE) -> PeriodColumn | None:
    """Read a column as dates or periods.

    Parameters
    ----------
    column : Series
        Dates, texts (``APR 1948``, ``1833-01``, ``2020Q1``, ``2020-W05``, ``1960M02``, ``1998``, moments as ISO 8601
        writes them), or whole numbers.
    is_year : bool
        Whether whole numbers may be years; by themselves they are not.
    share : float
        Least share of the distinct values that are of one kind; 0 for a column that is known to hold periods.

    Returns
    -------
    PeriodColumn or None
        None unless such a share of the distinct values, and one at least, are of one kind; the others are null then.

    Notes
    -----
    ``201503`` and two-digit years are not read: they have several readings. O(rows + distinct values).
    """
    column = _without_arrow(column)
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _of_dates(column)
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        return None
    if pd.api.types.is_numeric_dtype(dtype) and not is_year:
        return None
    try:
        if share > 0 and not _may_be_periods(column):
            return None
        codes, values = pd.factorize(column)
    except CONVERSION_ERRORS:  # lists, and Arrow types that are compared nowhere
        return None
    texts = [str(value).strip().casefold() for value in values]
    if not texts:
        return None
    some = texts[:: max(1, len(texts) // _LOOKED_AT)]
    likely = [text for text in some if is_period(text)]
    if len(likely) < min(_LIKELY, share) * len(some):
        return None
    if any(":" in text for text in likely):
        return _of_moments(texts, codes, share)
    kinds, numbers = _read_all(texts)
    named = [kind for kind in kinds if kind]
    if not named:
        return None
    granularity = max(set(named), key=named.count)
    if named.count(granularity) < share * len(texts) or (granularity == "year" and not is_year):
        return None
    is_held = np.array([kind == granularity for kind in kinds])
    bounds = np.zeros((len(texts), 2), np.int64)
    bounds[is_held] = _bounds(granularity, numbers[is_held])
    is_null = ~np.append(is_held, False)[codes]
    starts, ends = (np.append(side, 0)[codes] for side in bounds.T)
    return PeriodColumn(granularity, np.where(is_null, 0, starts), np.where(is_null, 0, ends), is_null)


def _without_arrow(column: pd.Series) -> pd.Series:
    """Return dates and categories of Arrow as pandas has them; anything else as it is."""
    type_ = column.dtype.pyarrow_dtype if isinstance(column.dtype, pd.ArrowDtype) else pa.null()
    if not (pa.types.is_timestamp(type_) or pa.types.is_date(type_) or pa.types.is_dictionary(type_)):
        return column
    array = column.array.__arrow_array__()
    return arrow_to_series(array.cast(pa.timestamp("us")) if pa.types.is_date(type_) else array)


def is_period(text: str) -> bool:
    """Tell whether a text is a date, a period or a moment, in small letters."""
    return _read(text)[0] is not None or _MOMENT.fullmatch(text) is not None


def is_season(text: str) -> bool:
    """Tell whether a text is a year and the one after it.

    Examples
    --------
    >>> [is_season(text) for text in ("2012/13", "Season 1999-00", "2012-2013", "2012-12")]
    [True, True, True, False]
    """
    years = _SEASON.fullmatch(text)
    return years is not None and (int(years[1]) + 1) % 10 ** len(years[2]) == int(years[2])


def _may_be_periods(column: pd.Series) -> bool:
    """Tell whether one of some rows is a date or a period, or they have too few different values to tell."""
    some = column.iloc[:: max(1, len(column) // _ROWS)].dropna()
    texts = {str(value).strip().casefold() for value in some}
    return len(texts) < _TELLING or any(is_period(text) for text in texts)


def _of_moments(texts: list[str], codes: NDArray[np.int64], share: float) -> PeriodColumn | None:
    """Read texts of days with times; those of a zone in UTC."""
    is_held = np.array([_MOMENT.fullmatch(text) is not None for text in texts])
    if is_held.sum() < share * len(texts):
        return None
    spelled = pd.Series(
        [text.upper() if held else None for text, held in zip(texts, is_held, strict=True)], dtype=object
    )
    moments = pd.to_datetime(spelled, format="ISO8601", errors="coerce", utc=True)
    return _of_dates(pd.concat([moments, pd.Series([pd.NaT], dtype=moments.dtype)]).iloc[codes])


def _of_dates(column: pd.Series) -> PeriodColumn:
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    is_null = column.isna().to_numpy()
    starts = np.where(is_null, 0, column.to_numpy("datetime64[us]").astype(np.int64)).astype(np.int64)
    is_day = bool((starts % _DAY == 0).all())
    return PeriodColumn("day" if is_day else "second", starts, starts + (_DAY if is_day else 1), is_null)


def _read(text: str, pattern: _Pattern | None = None) -> tuple[_Pattern | None, int, int]:
    """Return the pattern of a period, its year and its part; None for what is none.

    A text has one pattern at most, so that one that others of its column have may be tried first.
    """
    for one in (pattern, *_PATTERNS) if pattern else _PATTERNS:
        match = one.fullmatch(text)
        if match:
            groups = match.groupdict()
            name = groups.get("name")
            part = _MONTHS.index(name[:3]) + 1 if name else int(groups.get("part") or 1)
            if "day" in groups:
                part = 100 * part + int(groups["day"])
            return one, int(groups["year"]), part
    return None, 0, 0


def _read_all(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the granularity of each text, empty for what is no period, and its year and part, shape (n, 2)."""
    pattern, kinds, numbers = None, [], []
    for text in texts:
        read, year, part = _read(text, pattern)
        pattern = read or pattern
        kinds.append(_GRANULARITY_OF[read] if read else "")
        numbers.append((year, part))
    return kinds, np.array(numbers, np.int64).reshape(-1, 2)


def _bounds(granularity: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the microseconds of the first moment of periods, and of the first one after each, shape (n, 2).

    `numbers` are years and parts, shape (n, 2).
    """
    years, parts = numbers.T
    if granularity in _MONTHS_OF:
        length = _MONTHS_OF[granularity]
        months = (years - 1970) * 12 + length * (parts - 1)
        first, end = _first_days(months), _first_days(months + length)
    elif granularity == "week":
        first = _first_days_of_weeks(years) + 7 * (parts - 1)
        end = first + 7
    else:
        first = _first_days((years - 1970) * 12 + parts // 100 - 1) + parts % 100 - 1
        end = first + 1
    return np.stack([first, end], axis=1) * _DAY


def _first_days(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first days of months since 1970, in days since 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _first_days_of_weeks(years: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Mondays with which the first ISO weeks of years begin, those of January 4, in days since 1970."""
    fourth = _first_days((years - 1970) * 12) + 3
    return fourth - (fourth + 3) % 7


def _spellings(granularity: str) -> Sequence[Callable[[int], str]]:
    """Return ways to spell the number of a year, quarter or month; by its first day and its last one, too."""
    length = _MONTHS_OF[granularity]
    days: tuple[Callable[[int], str], ...] = (
        lambda n: str(np.datetime64(length * n, "M").astype("datetime64[D]")),
        lambda n: str(np.datetime64(length * (n + 1), "M").astype("datetime64[D]") - np.timedelta64(1, "D")),
    )
    if granularity == "year":
        return (lambda n: f"{1970 + n}", *days)
    if granularity == "quarter":
        return (
            lambda n: f"{1970 + n // 4}Q{n % 4 + 1}",
            lambda n: f"{1970 + n // 4}-Q{n % 4 + 1}",
            lambda n: f"Q{n % 4 + 1} {1970 + n // 4}",
            *days,
        )
    return (
        lambda n: f"{1970 + n // 12}-{n % 12 + 1:02d}",
        lambda n: f"{_MONTHS[n % 12]} {1970 + n // 12}",
        lambda n: f"{_LONG_MONTHS[n % 12]} {1970 + n // 12}",
        lambda n: f"{1970 + n // 12}M{n % 12 + 1:02d}",
        *days,
    )


def _spell_all(numbers: NDArray[np.int64], granularity: str) -> list[list[str]]:
    """Spell the numbers of periods, in each way that tables do."""
    if granularity == "day":
        return [numbers.astype("datetime64[D]").astype(str).tolist()]
    if granularity == "week":
        monday = 7 * numbers - 3
        years = (monday + 3).astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970  # its Thursday's
        weeks = (monday - _first_days_of_weeks(years)) // 7 + 1
        return [[f"{year:04d}-W{week:02d}" for year, week in zip(years.tolist(), weeks.tolist(), strict=True)]]
    return [[spell(number) for number in numbers.tolist()] for spell in _spellings(granularity)]


def are_periods(texts: Sequence[str]) -> bool:
    """Tell whether most of some canonical texts are periods, seasons, or days, months or weekdays of any year.

    Examples
    --------
    >>> are_periods(["march 11", "3 apr", "tbd"]), are_periods(["may", "june"]), are_periods(["may flower", "june"])
    (True, True, False)
    """
    n_read = sum(is_period(text) or is_season(text) or _OF_ANY_YEAR.fullmatch(text) is not None for text in texts)
    return 2 * n_read > len(texts)


def spell_periods(numbers: NDArray[np.int64], granularity: str) -> list[pd.Series]:
    """Spell numbers of periods in the ways that tables do; null for the number of a null.

    Parameters
    ----------
    numbers : ndarray of int64
        As `PeriodColumn.numbers` gives them.
    granularity : {"year", "quarter", "month", "week", "day"}

    Returns
    -------
    list of Series
        One for each spelling.

    Examples
    --------
    >>> [list(spelled) for spelled in spell_periods(np.array([201]), "quarter")]
    [['2020Q2'], ['2020-Q2'], ['Q2 2020'], ['2020-04-01'], ['2020-06-30']]
    """
    codes, values = pd.factorize(numbers)
    is_null = values == np.iinfo(np.int64).min
    found = []
    for texts in _spell_all(values[~is_null], granularity):
        spelled = np.full(values.size, None, object)
        spelled[~is_null] = texts
        found.append(pd.Series(spelled[codes]))
    return found
