"""Null spellings by evidence: which texts of a column stand for a null is decided by its other values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts.strings import BUCKETS, N_SHAPES, SYMBOLS, note_shapes

NULL_TEXTS = (
    *("na", "n/a", "n.a.", "n.a", "nan", "-nan", "nat", "null", "none", "#n/a", "#na", "#n/a n/a", "n/a n/a"),
    *("<na>", "<null>", "<none>", "(na)", "(n/a)", "(null)", "(none)", "(blank)", "(empty)", "(missing)", "[null]"),
    *("\\n", "not available", "not applicable", "1.#qnan", "1.#ind", "-1.#ind", "-1.#qnan"),
    *("#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!"),
    *("-", "--", "---", "–", "—", "―", "−", ".", "..", "...", "*", "**", "***", "?", "??", "???", ":", "_", "/"),
)
"""Canonical texts that stand for a null in most columns."""

_FEWEST_CODES = {2: 2, 3: 20, 4: 20}
"""Letters of a text → how many other codes of as many letters make it a code."""

_MOST_SHARE = 0.9
"""Share of the other values that have to be codes of as many letters."""

_MIXED = 10, 0.5
"""Of so many codes of one to three letters, as the symbols of elements, this share has to have two letters."""

_MANY_SYMBOLS = 5
"""A column with so many other signs is one of signs, whatever else is there."""


class NullEvidence:
    """The shapes of the values of a column, collected in any number of parts and in any order.

    A text of `NULL_TEXTS` is a null unless the other values make it a value:

    - Letters (``na``, ``nan``, ``none``): a value in a column of codes, where at least 90 % of the other values are
      as many letters a to z: at least 2 other codes for two letters, 20 for three and four. ``na`` is one too among
      10 or more codes of one to three letters of which half have two, as the symbols of the elements.
    - Signs (``-``, ``.``, ``*``): a value in a column of signs, where the other values are up to three signs for a half
      at least, or 5 of them are.
    - In a column that has nothing else, one such text is a value, and several are nulls.

    In a column of numbers or dates each of them is a null, therefore.

    Notes
    -----
    Distinct values are counted by their hash modulo 1,024, so that the decision depends on the set of values alone,
    however it was read. O(1) memory, 6 KiB.
    """

    def __init__(self) -> None:
        self._is_noted = np.zeros((N_SHAPES, BUCKETS), np.bool_)

    def add(
        self, hashes: NDArray[np.uint64], data: NDArray[np.uint8], offsets: NDArray[np.int64], nulls: NDArray[np.int64]
    ) -> None:
        """Take distinct values; `nulls` are the numbers of those that stand in `NULL_TEXTS`."""
        note_shapes((hashes, data, offsets), nulls, self._is_noted)

    def merge(self, other: NullEvidence) -> None:
        """Take what was collected of other values of the column."""
        self._is_noted |= other._is_noted

    def to_bytes(self) -> bytes:
        """Return what was collected, 768 bytes."""
        return np.packbits(self._is_noted).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> NullEvidence:
        """Make the evidence that `to_bytes` returned."""
        evidence = cls()
        evidence._is_noted = np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.bool_).reshape(N_SHAPES, BUCKETS)
        return evidence

    def decide(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return those of the texts, all in `NULL_TEXTS`, that are nulls; sorted."""
        counts = np.count_nonzero(self._is_noted, axis=1).tolist()
        found = sorted(texts)
        if not any(counts):
            return tuple(found) if len(found) > 1 else ()
        return tuple(text for text in found if not _is_value(text, counts))


def _is_value(text: str, counts: list[int]) -> bool:
    """Tell whether a text is a value, by the number of other values of each shape."""
    n_others = sum(counts)
    if text.isascii() and text.isalpha():
        n_same = counts[len(text) - 1]
        if n_same >= _FEWEST_CODES[len(text)] and n_same >= _MOST_SHARE * n_others:
            return True
        fewest, share = _MIXED
        return len(text) == 2 and fewest <= n_others == sum(counts[:3]) and n_same >= share * n_others
    if any(character.isalnum() for character in text):
        return False
    return counts[SYMBOLS] >= _MANY_SYMBOLS or counts[SYMBOLS] * 2 >= n_others
