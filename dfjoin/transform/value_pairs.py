"""Joinable row pairs: which value of one column may belong to which of another, by rare q-grams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels import suffixes
from dfjoin.values.normalize import ValueSet

__all__ = ["RowPairs", "SuffixArray", "find_pairs", "no_pairs"]

_MOST = 64
"""A q-gram in more values than this tells nothing about a pair."""
_PARTNERS = 3
"""Partners taken of a value whose best q-gram occurs more than once in the other column."""


@dataclass(frozen=True)
class SuffixArray:
    """The sorted suffixes of the distinct canonical values of a column.

    Parameters
    ----------
    values : ValueSet
    """

    values: ValueSet

    @cached_property
    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Begins, ends and values of the suffixes, and their order."""
        data, offsets = self.values.data, self.values.offsets
        begins, ends, rows = suffixes.suffix_positions(data, offsets)
        keys = suffixes.suffix_keys(data, begins, ends)
        order = np.argsort(keys, kind="stable")
        suffixes.sort_ties(data, begins, ends, keys, order)
        for array in (begins, ends, rows, order):
            array.flags.writeable = False
        return begins, ends, rows, order


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Candidate pairs of values of two columns, the best first.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n,)
        Numbers of distinct values of the two columns.
    score : ndarray of float64, shape (n,)
        1 / (n m) of their best q-gram.
    length : ndarray of int64, shape (n,)
        Its length in bytes.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    score: NDArray[np.float64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.left.shape[0])


def no_pairs() -> RowPairs:
    """Return no pairs at all."""
    nothing = np.empty(0, np.int64)
    return RowPairs(nothing, nothing, nothing.astype(np.float64), nothing)


def find_pairs(source: SuffixArray, target: SuffixArray) -> RowPairs:
    """Pair each value of a column with those of another that share its rarest q-gram.

    Parameters
    ----------
    source, target : SuffixArray

    Returns
    -------
    RowPairs
        By higher score, longer q-gram, then position.

    See Also
    --------
    dfjoin.kernels.suffixes.best_matches : the kernel.

    Notes
    -----
    Source: Auto-Join, Algorithm 3 (thesis, section 4.4.1). Deviations: among pairs of one score those with
    the longer q-gram come first, because in samples of large tables most values have no partner and
    their best q-gram is short; of a q-gram with m > 3 partners three are taken.
    """
    begins, ends, _, order = source.parts
    other_begins, other_ends, other_rows, other_order = target.parts
    own = suffixes.Suffixes(source.values.data, begins, ends, order)
    other = suffixes.Suffixes(target.values.data, other_begins, other_ends, other_order)
    scores, lengths, firsts, counts = suffixes.best_matches(source.values.offsets, own, other, _MOST)
    found = np.flatnonzero(scores > 0)
    taken = np.minimum(counts[found], _PARTNERS)
    left = np.repeat(found, taken)
    step = np.arange(left.shape[0]) - np.repeat(np.cumsum(taken) - taken, taken)
    right = other_rows[other_order[firsts[left] + step]].astype(np.int64)
    best = np.lexsort((left, -lengths[left], -scores[left]))
    left, right = left[best], right[best]
    return RowPairs(left, right, scores[left], lengths[left])
