"""Pairs of values of two columns that may belong together, because they share a rare q-gram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts import suffixes
from dfjoin.values.normalize import ValueSet

_MAX_OCCURRENCES = 64
"""Occurrences in a column above which a q-gram says nothing about a pair."""
_MAX_PARTNERS = 3
"""Partners taken for a value whose best q-gram occurs more than once in the other column."""


LONGEST_EXAMPLE = 400
"""Characters of a text that programs are learned from; of longer ones so many are looked at."""
_LONGEST = 4 * LONGEST_EXAMPLE
"""Bytes of a value whose suffixes are sorted."""


@dataclass(frozen=True)
class SuffixArray:
    """The sorted suffixes of the distinct canonical values of a column, of each its first 1,600 bytes.

    Memory is that of 44 bytes for each of these, whatever the length of the texts.

    Parameters
    ----------
    values : ValueSet
    """

    values: ValueSet

    @cached_property
    def texts(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Bytes and offsets of what is looked at."""
        data, offsets = self.values.data, self.values.offsets
        lengths = np.diff(offsets)
        if lengths.size == 0 or int(lengths.max()) <= _LONGEST:
            return data, offsets
        lengths = np.minimum(lengths, _LONGEST)
        stops = offsets[:-1] + lengths
        for _ in range(3):  # no character is cut
            is_inside = (lengths == _LONGEST) & (stops < offsets[1:])
            is_inside &= data[np.minimum(stops, data.size - 1)] & 0xC0 == 0x80
            stops = stops - is_inside
        lengths = stops - offsets[:-1]
        kept = data[expand_stretches(offsets[:-1], lengths)]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        for array in (kept, bounds):
            array.flags.writeable = False
        return kept, bounds

    @cached_property
    def parts(self) -> tuple[suffixes.Suffixes, NDArray[np.int32]]:
        """The suffixes in their order, and the value of each as it stands in the texts."""
        data, offsets = self.texts
        begins, ends, rows = suffixes.suffix_positions(data, offsets)
        keys = suffixes.suffix_keys(data, begins, ends)
        order = np.argsort(keys, kind="stable")
        suffixes.sort_ties(data, begins, ends, keys, order)
        found = suffixes.Suffixes(data, begins, ends, order, keys[order])
        for array in (rows, *found[1:]):
            array.flags.writeable = False
        return found, rows


@dataclass(frozen=True, slots=True)
class ValuePairs:
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


def no_pairs() -> ValuePairs:
    """Return no pairs at all."""
    nothing = np.empty(0, np.int64)
    return ValuePairs(nothing, nothing, nothing.astype(np.float64), nothing)


def find_pairs(source: SuffixArray, target: SuffixArray) -> ValuePairs:
    """Pair each value of a column with those of another that share its rarest q-gram.

    Parameters
    ----------
    source, target : SuffixArray

    Returns
    -------
    ValuePairs
        By higher score, longer q-gram, then position.

    See Also
    --------
    dfjoin.kernels.texts.suffixes.best_matches : the kernel.

    Notes
    -----
    Source: Auto-Join, Algorithm 3 (thesis, section 4.4.1). Deviations: among pairs of one score those with
    the longer q-gram come first, because in samples of large tables most values have no partner and
    their best q-gram is short; of a q-gram with m > 3 partners three are taken; of long values the first 1,600 bytes
    are looked at, so that memory is bounded by their number.
    """
    (own, _), (other, rows) = source.parts, target.parts
    scores, lengths, firsts, counts = suffixes.best_matches(source.texts[1], own, other, _MAX_OCCURRENCES)
    found = np.flatnonzero(scores > 0)
    taken = np.minimum(counts[found], _MAX_PARTNERS)
    left = np.repeat(found, taken)
    right = rows[other.order[expand_stretches(firsts[found], taken)]].astype(np.int64)
    best = np.lexsort((left, -lengths[left], -scores[left]))
    left, right = left[best], right[best]
    return ValuePairs(left, right, scores[left], lengths[left])
