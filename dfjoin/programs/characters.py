"""Classes and casing of characters: fixed tables, the same for every engine.

Python, Arrow and Spark's Java each follow another version of Unicode. With tables of its own, ranges of code points
and pairs of characters, a program gives the same result in all of them, and keeps it.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

_LETTERS = (
    "41-5A 61-7A AA-AA B5-B5 BA-BA C0-D6 D8-F6 F8-2C1 300-373 376-377 37B-37D 37F-37F 386-386 388-3F5 "
    "3F7-481 483-487 48A-559 560-588 591-5BD 5D0-5F2 610-61A 620-65F 66E-6D3 710-1FFF 2C00-2DFF 3005-3007 "
    "3031-3035 3040-30FA 30FC-318F 31A0-31FF 3400-4DBF 4E00-ABFF AC00-D7FF F900-FDFF FE20-FE2F FE70-FEFC "
    "FF21-FF3A FF41-FF5A FF66-FFDC 10000-1EFFF 20000-3FFFF"
)
"""Ranges of code points, in hexadecimal."""


def _pairs() -> tuple[str, str]:
    """Return the letters that casing changes, lower and upper: ASCII, Latin, Greek, Cyrillic, one to one."""
    blocks = [range(0x61, 0x180), range(0x386, 0x3CF), range(0x400, 0x460)]
    lower = [chr(c) for block in blocks for c in block]
    kept = [c for c in lower if len(c.upper()) == 1 and c.upper() != c and c.upper().lower() == c]
    kept = [c for c in kept if ord(c.upper()) < 0x460]
    return "".join(kept), "".join(c.upper() for c in kept)


def _accents() -> tuple[str, str]:
    """Return the accented Latin letters up to U+017F and their plain ones."""
    accented = [chr(c) for c in range(0xC0, 0x180)]
    plain = [unicodedata.normalize("NFD", c)[0] for c in accented]
    kept = [(a, p) for a, p in zip(accented, plain, strict=True) if a != p and p.isascii()]
    return "".join(a for a, _ in kept), "".join(p for _, p in kept)


_LOWERS, _UPPERS = _pairs()
LOWER = (_UPPERS, _LOWERS)
"""Characters that lower-casing changes, and what they become."""
UPPER = (_LOWERS, _UPPERS)
"""Characters that upper-casing changes, and what they become."""
PLAIN = _accents()
"""Accented Latin letters, and their plain letters."""


def _letter_ranges() -> list[tuple[int, int]]:
    """Return the ranges of code points that are letters, both ends included."""
    ends = [part.split("-") for part in _LETTERS.split()]
    return [(int(low, 16), int(high, 16)) for low, high in ends]


def _capital_ranges() -> list[tuple[int, int]]:
    """Return the capital letters of the casing tables as ranges."""
    ranges: list[tuple[int, int]] = []
    for code_point in sorted(ord(c) for c in _UPPERS):
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1] = (ranges[-1][0], code_point)
        else:
            ranges.append((code_point, code_point))
    return ranges


_DIGITS = [(ord("0"), ord("9"))]
_RANGES = {
    "digits": _DIGITS,
    "letters": _letter_ranges(),
    "words": _DIGITS + _letter_ranges(),
    "capitals": _capital_ranges(),
    "decimals": [*_DIGITS, (ord("."), ord("."))],
}
CLASSES = {name: 1 << bit for bit, name in enumerate(_RANGES)}
"""Name of each class of characters, with its bit in `class_table`."""


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the bits of `CLASSES` of each code point; uint8, shape (0x40000,), read-only."""
    table = np.zeros(0x40000, np.uint8)
    for name, ranges in _RANGES.items():
        for low, high in ranges:
            table[low : high + 1] |= CLASSES[name]
    table.flags.writeable = False
    return table


@cache
def character_table(changed: tuple[str, str] = ("", "")) -> NDArray[np.uint32]:
    """Return code point → code point for a pair of texts, one of `LOWER`, `UPPER` and `PLAIN`; read-only."""
    table = np.arange(0x460, dtype=np.uint32)
    table[[ord(c) for c in changed[0]]] = [ord(c) for c in changed[1]]
    table.flags.writeable = False
    return table


@cache
def pattern_of(kind: str, negated: bool = False) -> str:
    """Return a class as a regular expression for one character, the same for Python, Java and RE2.

    Examples
    --------
    >>> pattern_of("decimals"), pattern_of("digits", negated=True)
    ('[0-9.]', '[^0-9]')
    """
    parts = [chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in _RANGES[kind]]
    return f"[{'^' if negated else ''}{''.join(parts)}]"
