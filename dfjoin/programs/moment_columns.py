"""Whole columns of moments as arrays of numbers: read from texts, moved, written, all at once.

A number is -1 where that part of a moment is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_WIDTH = 19
"""Bytes of a moment as text."""
_PARTS = ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))
"""Where year, month, day, hour, minute and second begin in it, and their digits."""
_MARKS = ((4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"))
_LENGTHS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAY = 86_400
"""Seconds of a day."""
_LAST_YEAR = 9999

Numbers = NDArray[np.int64]


def _is_leap(year: Numbers) -> NDArray[np.bool_]:
    return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))


def _number(texts: pa.Array) -> Numbers:
    """Return texts of digits as numbers, -1 for empty ones."""
    known = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    return pc.fill_null(known.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)


@dataclass(frozen=True, slots=True)
class Moments:
    """The parts of moments, one array each, -1 for unknown ones.

    Parameters
    ----------
    parts : tuple of ndarray of int64, shape (n,)
        Year, month, day, hour, minute, second.
    is_valid : ndarray of bool, shape (n,)
        Rows that hold a moment.
    """

    parts: tuple[Numbers, ...]
    is_valid: NDArray[np.bool_]

    @classmethod
    def read(cls, texts: pa.Array, pattern: str, fields: str, pivot: int) -> Moments:
        """Read texts of ASCII by the pattern of an order, as `scalar_times.read_time` does.

        Parameters
        ----------
        texts : pyarrow.Array of string
            Without nulls.
        pattern, fields : str
            As `times.patterns_of` gives them.
        pivot : int
            Years of two digits from this one on belong to 19.., the others to 20..

        Notes
        -----
        RE2 takes the same groups as Python for these patterns, but has no assertions: a year 0000 is refused behind.
        """
        names = iter(f"g{i}" for i in range(len(fields)))
        named = re.sub(r"\((?!\?)", lambda _: f"(?P<{next(names)}>", pattern.replace("(?!0000)", ""))
        groups = pc.extract_regex(texts, rf"(?i)^(?:{named})\z")
        is_valid = groups.is_valid().to_numpy(zero_copy_only=False)
        found: dict[str, Numbers] = {}
        for i, field in enumerate(fields):
            group = pc.fill_null(pc.struct_field(groups, f"g{i}"), "")
            if field == "b":
                first = pc.utf8_slice_codeunits(pc.ascii_lower(group), 0, 3)
                short = pa.array([month[:3].lower() for month in _MONTHS]).cast(first.type)
                made = pc.fill_null(pc.index_in(first, short), -2).to_numpy(zero_copy_only=False).astype(np.int64) + 1
            elif field == "p":
                half = pc.ascii_lower(group)
                is_late = pc.equal(half, "p").to_numpy(zero_copy_only=False)
                made = np.where(pc.equal(half, "").to_numpy(zero_copy_only=False), -1, is_late.astype(np.int64))
            else:
                made = _number(group)
            if field == "y":
                is_short = (pc.binary_length(group).to_numpy(zero_copy_only=False) == 2) & (made >= 0)
                made = np.where(is_short, made + np.where(made >= pivot, 1900, 2000), made)
            found[field] = np.where(made >= 0, made, found[field]) if field in found else made
        nothing = np.full(len(texts), -1, np.int64)
        year, day = found.get("y", nothing), found.get("d", nothing)
        month = found.get("m", found.get("b", nothing))
        is_valid = is_valid & (year != 0)
        is_leap = (year < 0) | _is_leap(year)
        if "j" in found:
            number = found["j"]
            is_valid &= number <= 365 + is_leap
            starts = np.cumsum(_LENGTHS)[None, :-1] - np.where(is_leap, 0, 1)[:, None] * (np.arange(12) >= 2)
            month = (number[:, None] > starts).sum(axis=1)
            day = number - np.take_along_axis(starts, np.maximum(month - 1, 0)[:, None], axis=1)[:, 0]
        longest = _LENGTHS[np.maximum(month, 0)] - ((month == 2) & ~is_leap)
        is_valid &= (month < 0) | (day <= longest)
        hour = found.get("h", nothing)
        if "p" in found:
            hour = np.where((hour >= 0) & (found["p"] >= 0), hour % 12 + 12 * found["p"], hour)
        clock = [np.where(hour >= 0, np.maximum(found.get(field, nothing), 0), -1) for field in "ns"]
        return cls((year, month, day, hour, *clock), is_valid)

    @classmethod
    def parse(cls, texts: pa.Array) -> Moments:
        """Read moments as they stand between steps; others are not valid."""
        is_wide = pc.equal(pc.binary_length(texts), _WIDTH)
        kept = pc.if_else(is_wide, texts, "0" * _WIDTH).cast(pa.string())
        offsets = np.frombuffer(kept.buffers()[1], np.int32, len(kept) + 1, 4 * kept.offset)
        data = np.frombuffer(kept.buffers()[2], np.uint8) if len(kept) else np.zeros(0, np.uint8)
        cells = data[offsets[0] if len(kept) else 0 :][: _WIDTH * len(kept)].reshape(-1, _WIDTH)
        is_valid = is_wide.to_numpy(zero_copy_only=False).copy()
        for position, mark in _MARKS:
            is_valid &= cells[:, position] == ord(mark)
        parts = []
        for start, width in _PARTS:
            some = cells[:, start : start + width]
            digits = some.astype(np.int64) - ord("0")
            is_number = ((digits >= 0) & (digits <= 9)).all(axis=1)
            is_unknown = (some == ord("?")).all(axis=1)
            is_valid &= is_number | is_unknown
            parts.append(np.where(is_number, digits @ 10 ** np.arange(width - 1, -1, -1), -1))
        year, month, day, hour, minute, second = parts
        is_valid &= (year != 0) & (month != 0) & (month <= 12) & (day != 0) & (day <= 31)
        is_valid &= (hour <= 23) & (minute <= 59) & (second <= 59)
        is_valid &= ((hour < 0) == (minute < 0)) & ((hour < 0) == (second < 0))
        is_whole = (year >= 0) & (month >= 0) & (day >= 0)
        longest = _LENGTHS[np.clip(month, 0, 12)] - ((month == 2) & ~_is_leap(year))
        is_valid &= ~is_whole | (day <= longest)
        return cls(tuple(np.where(is_valid, part, -1) for part in parts), is_valid)

    @property
    def is_dated(self) -> NDArray[np.bool_]:
        """Rows whose year, month and day are all known."""
        year, month, day, *_ = self.parts
        return self.is_valid & (year >= 0) & (month >= 0) & (day >= 0)

    def days(self) -> Numbers:
        """Return the days since 1970; of other rows than dated ones any number."""
        year, month, day, *_ = self.parts
        months = (np.maximum(year, 1) - 1970) * 12 + np.maximum(month, 1) - 1
        return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + np.maximum(day, 1) - 1

    @property
    def is_dateless(self) -> NDArray[np.bool_]:
        """Rows of which no part of the date is known."""
        year, month, day, *_ = self.parts
        return (year < 0) & (month < 0) & (day < 0)

    @property
    def is_timed(self) -> NDArray[np.bool_]:
        """Rows whose hour is known."""
        return self.is_valid & (self.parts[3] >= 0)

    def seconds(self) -> Numbers:
        """Return the seconds since midnight; of other rows than timed ones any number."""
        hour, minute, second = self.parts[3:]
        return hour * 3600 + minute * 60 + second

    def moved(self, before: int, interval: int, after: int) -> Moments:
        """Move moments as `scalar_times.move_time` does."""
        is_dateless = self.is_dateless
        is_valid = self.is_timed & (self.is_dated | is_dateless)
        seconds = self.seconds() + before
        seconds = seconds - seconds % interval + after
        stamps = (self.days() + seconds // DAY).astype("datetime64[D]")
        months = stamps.astype("datetime64[M]")
        years = months.astype("datetime64[Y]").astype(np.int64) + 1970
        is_valid &= is_dateless | ((years >= 1) & (years <= _LAST_YEAR))
        seconds %= DAY
        date = (years, months.astype(np.int64) % 12 + 1, (stamps - months).astype(np.int64) + 1)
        shown = [np.where(is_dateless, -1, part) for part in date]
        return Moments((*shown, seconds // 3600, seconds // 60 % 60, seconds % 60), is_valid)

    def texts(self) -> pa.Array:
        """Write moments as they stand between steps."""
        n = self.is_valid.size
        cells = np.empty((n, _WIDTH), np.uint8)
        for position, mark in _MARKS:
            cells[:, position] = ord(mark)
        for (start, width), part in zip(_PARTS, self.parts, strict=True):
            rest = np.where(self.is_valid, part, 0)
            for position in range(start + width - 1, start - 1, -1):
                cells[:, position] = np.where(rest < 0, ord("?"), ord("0") + rest % 10)
                rest = np.where(rest < 0, rest, rest // 10)
        offsets = pa.py_buffer(np.arange(n + 1, dtype=np.int64) * _WIDTH)
        written = pa.Array.from_buffers(pa.large_string(), n, [None, offsets, pa.py_buffer(cells)])
        return pc.if_else(pa.array(self.is_valid), written, pa.scalar(None, pa.large_string()))

    def written(self, layout: str) -> pa.Array:
        """Write moments in a layout as `scalar_times.write_time` does."""
        pieces: list[pa.Array | pa.Scalar] = []
        for style, token, literal in re.findall("%([-^~]?)([A-Za-z%])|([^%]+)", layout):
            text = literal or ("%" if token == "%" else "")
            pieces.append(pa.scalar(text, pa.string()) if text else self._token(style, token))
        whole = [piece for piece in pieces if isinstance(piece, pa.Array)]
        made = pc.binary_join_element_wise(*pieces, pa.scalar("", pa.string()), null_handling="emit_null")
        return pc.if_else(pa.array(self.is_valid), made, pa.scalar(None, pa.string())) if whole else made

    def _token(self, style: str, token: str) -> pa.Array:
        """Write one part of a layout; null where it is not known."""
        _, month, day, hour, *_ = self.parts
        if token in "BbAa":
            names: tuple[str, ...] = _MONTHS if token in "Bb" else _DAYS
            names = tuple(name if token in "BA" else name[:3] for name in names)
            change = {"^": str.upper, "~": str.lower}.get(style, str)
            codes = month - 1 if token in "Bb" else np.where(self.is_dated, (self.days() + 3) % 7, -1)
            return _named([change(name) for name in names], np.where(codes < 0, -1, codes))
        if token == "p":
            halves = ["am", "pm"] if style == "~" else ["AM", "PM"]
            return _named(halves, np.where(hour < 0, -1, hour // 12))
        if token == "o":
            last = np.where((day > 10) & (day < 20), 0, day % 10)
            return _named(["th", "st", "nd", "rd"], np.where(day < 0, -1, np.where(last < 4, last, 0)))
        values, width = self._value(token)
        texts = pc.cast(pa.array(values), pa.string())
        if style != "-" and width > 1:
            texts = pc.utf8_lpad(texts, width, "0")
        return pc.if_else(pa.array(values >= 0), texts, pa.scalar(None, pa.string()))

    def _value(self, token: str) -> tuple[Numbers, int]:
        """Return the numbers of a part of a layout, -1 where it is not known, and their digits."""
        year, month, day, hour, minute, second = self.parts
        plain = {"Y": (year, 4), "m": (month, 2), "d": (day, 2), "H": (hour, 2), "M": (minute, 2), "S": (second, 2)}
        if token in plain:
            return plain[token]
        if token == "I":
            return np.where(hour < 0, -1, (hour + 11) % 12 + 1), 2
        if token == "y":
            return np.where(year < 0, -1, year % 100), 2
        if token == "q":
            return np.where(month < 0, -1, (month + 2) // 3), 1
        days = self.days()
        weekday = (days + 3) % 7
        thursday = (days - weekday + 3).astype("datetime64[D]")
        years = thursday.astype("datetime64[Y]")
        values, width = {
            "u": (weekday + 1, 1),
            "j": (
                days - days.astype("datetime64[D]").astype("datetime64[Y]").astype("datetime64[D]").astype(int) + 1,
                3,
            ),
            "V": ((thursday - years).astype(np.int64) // 7 + 1, 2),
            "G": (years.astype(np.int64) + 1970, 4),
        }[token]
        is_known = self.is_dated & ((token != "G") | ((values >= 1) & (values <= _LAST_YEAR)))
        return np.where(is_known, values, -1), width


def _named(names: list[str], codes: Numbers) -> pa.Array:
    """Return the names at some positions, null at -1."""
    return pa.array(names).take(pa.array(codes, mask=codes < 0))
