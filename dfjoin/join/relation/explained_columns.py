"""Keys of several columns against a text of all of them.

Of every key column one word must stand in the other text: equal, shortened or mistyped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.fuzzy.result import FuzzyJoin

__all__ = ["keep_explained"]

_WORD = re.compile(r"\w+")
_ALIKE = 0.7
"""Least share of the letters that two spellings of a word have in common."""


def keep_explained(found: FuzzyJoin, columns: Mapping[str, pa.Array], texts: pa.Array, is_left: bool) -> FuzzyJoin:
    """Leave out the pairs whose text explains nothing of one of the columns that the key is made of.

    ``Fay`` and ``Black`` are alike ``Zoe Black``, by one of two columns: it is another person.

    Parameters
    ----------
    found : FuzzyJoin
    columns : mapping of str to pyarrow.Array
        The columns of the composite key, each with one value a key.
    texts : pyarrow.Array
        The keys of the other side.
    is_left : bool
        Whether the composite key is that of the left rows.

    Returns
    -------
    FuzzyJoin
        A null, and a value without a letter or digit, is explained by any text. A word is explained by an equal one, by
        its initial or an abbreviation of three letters or more, and by a spelling with 70 % of its letters.

    Notes
    -----
    O(pairs × words of the key × words of the text).
    """
    own, others = (found.left_rows, found.right_rows) if is_left else (found.right_rows, found.left_rows)
    is_explained = np.ones(len(found), bool)
    other_words = [_words(text) for text in texts.cast(pa.large_string()).take(pa.array(others)).to_pylist()]
    for column in columns.values():
        values = column.cast(pa.large_string()).take(pa.array(own)).to_pylist()
        is_explained &= _tell(values, other_words)
    if is_explained.all():
        return found
    kept = found.take(np.flatnonzero(is_explained))
    if not is_explained.any():
        nothing = "what is alike tells nothing of one of the columns of the key"
        return replace(kept, estimated_precision=None, estimated_recall=None, reason=nothing, curve=())
    return kept


def _tell(values: list[str | None], others: list[list[str]]) -> NDArray[np.bool_]:
    """Tell for each value whether one of its words is explained by some other words."""
    words = [_words(value) for value in values]
    pairs = zip(words, others, strict=True)
    return np.array([not own or any(_is_same_word(a, b) for a in own for b in other) for own, other in pairs], bool)


def _words(text: str | None) -> list[str]:
    return _WORD.findall((text or "").casefold())


@lru_cache(1 << 16)
def _is_same_word(a: str, b: str) -> bool:
    """Tell whether two words may be one, written in full, by its initial, shortened or mistyped."""
    if a == b:
        return True
    if any(character.isdigit() for character in a + b):
        return False
    short, long = sorted((a, b), key=len)
    if len(short) != 2 and long.startswith(short):
        return True
    return len(short) > 2 and SequenceMatcher(None, a, b, autojunk=False).ratio() >= _ALIKE
