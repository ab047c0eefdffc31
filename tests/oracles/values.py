"""Naive versions of what the kernels make of values: numbers, dates, hashes, signatures, pieces."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0+)?")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?")
_TEXT_CLASS, _INTEGER_CLASS, _NUMBER_CLASS = 0, 1, 2

MASK = (1 << 64) - 1
K0, K1, K2 = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB


def naive_number(text: str) -> tuple[str, int]:
    """The canonical text of a number, and its class: 1 integer, 2 other number, 0 neither."""
    if _INTEGER.fullmatch(text):
        digits = text.partition(".")[0]
        return ("0" if digits == "-0" else digits), _INTEGER_CLASS
    return text, _NUMBER_CLASS if _NUMBER.fullmatch(text) else _TEXT_CLASS


def as_date(day: int, month: int, year: int) -> datetime.date | None:
    """A day of the calendar, None if there is no such day."""
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def naive_day_month_year(text: str) -> tuple[int, int, int] | None:
    """The three numbers of an all-digit date, None for what is none under either reading."""
    match = re.fullmatch(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})", text)
    if match is None:
        return None
    first, _, second, year = match.groups()
    first, second, year = int(first), int(second), int(year)
    return (first, second, year) if as_date(first, second, year) or as_date(second, first, year) else None


def mum(a: int, b: int) -> int:
    """The high half xor the low half of the product of two 64-bit numbers."""
    product = a * b
    return (product >> 64) ^ (product & MASK)


def naive_hash(value: bytes, seed: int) -> int:
    """The definition in `hash_bytes`, in plain Python."""

    h = mum(seed ^ K0, len(value) ^ K1)
    for i in range(0, len(value), 8):
        h = mum(h ^ int.from_bytes(value[i : i + 8].ljust(8, b"\0"), "little"), K1)
    return mum(h ^ K2, K0)


def naive_signature(hashes: Iterable[int], n_rows: int, seed: int) -> list[int]:
    """Every value draws in every one of the 2 n rounds; each row keeps the smallest (round, number)."""
    best: list[tuple[int, int] | None] = [None] * n_rows
    for number in range(2 * n_rows):
        key = mum(int(seed) ^ K1, (number + 1) * K0 & MASK)
        for value in hashes:
            drawn = mum(value ^ key, K0)
            row = (drawn >> 32) * n_rows >> 32 if number < n_rows else number - n_rows
            best[row] = min(best[row] or (number, drawn & 0xFFFFFFFF), (number, drawn & 0xFFFFFFFF))
    return [0xFFFFFFFF if pair is None else pair[1] for pair in best]


def kind(character: str) -> int:
    """0 for a separator, 1 for a letter, 2 for a digit."""
    code = ord(character)
    if code < 0x80:
        return 2 if character.isdigit() else int(character.isalpha())
    return int(not (code <= 0xBF or 0x2000 <= code <= 0x207F or 0x3000 <= code <= 0x303F))


def runs_of(text: str) -> list[str]:
    """The runs of letters and the runs of digits."""
    runs: list[str] = []
    last = 0
    for character in text:
        now = kind(character)
        if now and now == last:
            runs[-1] += character
        elif now:
            runs.append(character)
        last = now
    return runs


def naive_pieces(text: str) -> set[str]:
    """The pieces of a value as texts."""
    if len(text.encode()) > 256:
        return set()
    runs = runs_of(text)
    pieces = {run for run in runs if len(run) >= 3}
    pieces |= {end for run in runs if len(run) > 4 for end in (run[:4], run[-4:])}
    joined = "".join(runs)
    if len(runs) > 1 and 5 <= len(joined.encode()) <= 32:
        pieces.add(joined)
    return pieces
