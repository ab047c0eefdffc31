"""Pairing the rows of two sides by equal keys, through the matcher of the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.search.exact.matcher import match_tokens, vocabulary_of
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_column

__all__ = ["LeftKey", "RowKeys", "expand_pairs"]


@dataclass(frozen=True)
class RowKeys:
    """Keys of the left side that were numbered elsewhere.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's key; -1 for none.
    n_keys : int
        Distinct keys.
    """

    codes: NDArray[np.int64]
    n_keys: int


class LeftKey:
    """The key of the left side: each row's code, and the code of any row of a right side.

    Parameters
    ----------
    parts : sequence of ValueSet
        The normalised key columns, all of the same number of rows.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's key; -1 when any part is null.
    n_keys : int
        Distinct keys.
    """

    def __init__(self, parts: Sequence[ValueSet]) -> None:
        self._parts = list(parts)
        self._vocabularies = [vocabulary_of(part) for part in parts]
        self._combinations: list[NDArray[np.int64]] = []
        codes = parts[0].codes.astype(np.int64)
        for part in parts[1:]:
            pairs = _pair(codes, part.codes, len(part))
            known = np.unique(pairs[pairs >= 0])
            self._combinations.append(known)
            codes = _number(pairs, known)
        self.codes = codes
        self.n_keys = len(parts[0]) if len(parts) == 1 else int(self._combinations[-1].size)

    def match(self, columns: Sequence[pa.Array], settings: Sequence[IndexSettings]) -> NDArray[np.int64]:
        """Return the code of each row of a right side, -1 for a key that the left side lacks.

        Parameters
        ----------
        columns : sequence of pyarrow Array
            The right side's key columns.
        settings : sequence of IndexSettings
            How each is normalised.

        Returns
        -------
        ndarray of int64, shape (n_rows,)

        Notes
        -----
        O(bytes of the columns): each distinct value is looked up once.
        """
        found = []
        for column, setting, vocabulary in zip(columns, settings, self._vocabularies, strict=True):
            values = normalize_column(column, setting)
            tokens = match_tokens(values, vocabulary)
            codes = np.full(len(values) + 1, -1, np.int64)  # the last one serves code -1, the null
            is_found = tokens >= 0
            codes[:-1][is_found] = vocabulary.order[tokens[is_found]]
            found.append(codes[values.codes])
        combined = found[0]
        for more, part, known in zip(found[1:], self._parts[1:], self._combinations, strict=True):
            combined = _number(_pair(combined, more, len(part)), known)
        return combined

    def match_all(
        self, columns: Sequence[pa.Array], settings: Sequence[IndexSettings]
    ) -> tuple[NDArray[np.int64], int]:
        """Return a code for every row of a right side, new ones for keys that the left side lacks.

        Returns
        -------
        codes : ndarray of int64, shape (n_rows,)
            -1 where a part of the key is null.
        n_keys : int
            Codes are below it.
        """
        codes = self.match(columns, settings)
        own = LeftKey([normalize_column(c, s) for c, s in zip(columns, settings, strict=True)]).codes
        is_new = (codes < 0) & (own >= 0)
        known = np.unique(own[is_new])
        codes = np.where(is_new, self.n_keys + np.searchsorted(known, own), codes)
        return codes, self.n_keys + int(known.size)


def _pair(codes: NDArray[np.int64], more: NDArray[Any], n_more: int) -> NDArray[np.int64]:
    """Make one number of two codes per row, -1 where either is missing; both are below the number of rows."""
    pairs = codes * max(1, n_more) + more
    pairs[(codes < 0) | (more < 0)] = -1
    return pairs


def _number(pairs: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each pair among the known ones, -1 for others."""
    if known.size == 0:
        return np.full(pairs.size, -1, np.int64)
    places = np.minimum(np.searchsorted(known, pairs), known.size - 1)
    return np.where((pairs >= 0) & (known[places] == pairs), places, -1)


def expand_pairs(
    left: NDArray[np.int64], right: NDArray[np.int64], n_keys: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows of equal code, in order of the left row, then of the right one.

    Parameters
    ----------
    left, right : ndarray of int64
        Code of each row, -1 for none.
    n_keys : int
        Codes are below it.

    Returns
    -------
    left_rows, right_rows : ndarray of int64, shape (n_pairs,)

    Notes
    -----
    O(rows + pairs).
    """
    rows = np.flatnonzero(right >= 0)
    order = rows[np.argsort(right[rows], kind="stable")]
    counts = np.bincount(right[rows], minlength=n_keys)
    starts = np.cumsum(counts) - counts
    matched = np.flatnonzero(left >= 0)
    repeats = counts[left[matched]]
    left_rows = np.repeat(matched, repeats)
    ends = np.cumsum(repeats)
    within = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - repeats, repeats)
    return left_rows, order[np.repeat(starts[left[matched]], repeats) + within]
