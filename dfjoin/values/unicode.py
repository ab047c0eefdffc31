"""The code-point table behind text normalisation: what one character becomes, whatever its neighbours."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.texts.strings import SLOW

UNICODE_VERSION = unicodedata.unidata_version
"""Version of the Unicode tables in this Python."""

_PLAIN = r"^[!-~]+( [!-~]+)*$"
"""Printable ASCII with single spaces inside: text of which lower case is the canonical form."""

_TABLE_SIZE = 0x30000  # planes 0 to 2; what lies above is rare enough for Python
_BLOCK = 256  # divides the range of surrogates, which are no characters


def normalize_text(value: str) -> str:
    """Return the canonical text of a value: NFKC, white space collapsed, trimmed, casefolded.

    The definition that the kernels follow; used directly for the values that they leave alone.

    Parameters
    ----------
    value : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> normalize_text("  Straße  N\\u00ba 5 ")
    'strasse no 5'
    """
    return " ".join(unicodedata.normalize("NFKC", value).split()).casefold()


def normalize_texts(texts: pa.Array) -> pa.Array:
    """Return the canonical text of each value, see `normalize_text`.

    Parameters
    ----------
    texts : pyarrow Array of strings
        Without nulls.

    Returns
    -------
    pyarrow Array of strings

    Examples
    --------
    >>> normalize_texts(pa.array(["St. Gallen", " STRASSE", "Straße"])).to_pylist()
    ['st. gallen', 'strasse', 'strasse']
    """
    lowered, is_plain = pc.ascii_lower(texts), pc.match_substring_regex(texts, _PLAIN)
    others = texts.filter(pc.invert(is_plain)).to_pylist()
    if not others:
        return lowered
    made = pa.array([normalize_text(text) for text in others], lowered.type)
    return pc.replace_with_mask(lowered, pc.invert(is_plain), made)


@cache
def ascii_table() -> NDArray[np.uint32]:
    """Return the empty table, under which every non-ASCII value is left to Python."""
    return _read_only(np.empty(0, np.uint32))


@cache
def identity_table() -> NDArray[np.uint32]:
    """Map each code point to itself, for text that is normalised already.

    Returns
    -------
    ndarray of uint32, shape (0x110000,)
        Read-only.
    """
    return _read_only(np.arange(sys.maxunicode + 1, dtype=np.uint32))


@cache
def fold_table() -> NDArray[np.uint32]:
    """Map each code point below 0x30000 to its canonical one, 32 for white space, or `SLOW`.

    A character is mapped when it becomes exactly one character and can neither combine with a
    neighbour under NFKC nor be reordered; everything else is `SLOW`.

    Returns
    -------
    ndarray of uint32, shape (0x30000,)
        Read-only.

    Notes
    -----
    Made once per process, and only when a value is not ASCII: the characters are normalised block by block, separated
    by a character that combines with nothing. Most blocks have only characters that stay as they are.
    """
    table = np.full(_TABLE_SIZE, SLOW, np.uint32)
    combining = _second_characters()
    for start in range(0, _TABLE_SIZE, _BLOCK):
        if 0xD800 <= start < 0xE000:
            continue
        block = list(map(chr, range(start, start + _BLOCK)))
        if _stay(block, combining):
            table[start : start + _BLOCK] = np.arange(start, start + _BLOCK)
            continue
        folded = unicodedata.normalize("NFKC", "\x00".join(block)).split("\x00")
        if len(folded) != len(block):  # the block with the separator itself
            folded = [unicodedata.normalize("NFKC", character) for character in block]
        for raw, compatible in zip(block, folded, strict=True):
            if len(compatible) != 1 or unicodedata.combining(raw) or raw in combining:
                continue
            if unicodedata.combining(compatible) or compatible in combining:
                continue
            if compatible.isspace():
                table[ord(raw)] = 32
            else:
                result = compatible.casefold()
                if len(result) == 1:
                    table[ord(raw)] = ord(result)
    return _read_only(table)


def _stay(block: list[str], combining: set[str]) -> bool:
    """Tell whether each of some characters is its own canonical one."""
    text = "\x00".join(block)
    if unicodedata.normalize("NFKC", text).casefold() != text or not combining.isdisjoint(block):
        return False
    return len(text.split()) == 1 and not any(map(unicodedata.combining, block))


def _second_characters() -> set[str]:
    """Return the characters that may merge with the one before them under canonical composition."""
    seconds = {chr(c) for c in range(0x1161, 0x1176)} | {chr(c) for c in range(0x11A8, 0x11C3)}
    for start in range(0, _TABLE_SIZE, _BLOCK):
        block = "".join(map(chr, range(start, start + _BLOCK)))
        if unicodedata.normalize("NFD", block) == block:
            continue
        for parts in map(unicodedata.decomposition, block):
            if parts and not parts.startswith("<") and " " in parts:
                seconds.add(chr(int(parts.split()[1], 16)))
    return seconds


def _read_only(array: NDArray[np.uint32]) -> NDArray[np.uint32]:
    array.flags.writeable = False
    return array
