"""Whether the arrays of an index are what FORMAT.md says: their shapes, their order and their ranges.

An index may be damaged or made by somebody else, so that nothing relies on an array before this module has looked at
it: at its shape when it is mapped, at its entries when something first relies on all of them. What reads a few
entries of a large array compares those alone, by `stretches_of` or in its kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.component_files import damaged
from dfjoin.index.components import COMPONENTS
from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.ragged import expand_stretches

_STEP = 1 << 16
"""Offsets that are compared at once: they stay in the cache."""


class Lengths(dict[str, int]):
    """Named lengths of a group of components, see `dfjoin.index.components.Component`."""

    def of(self, text: str) -> int | None:
        """Return a sum of named lengths and numbers; None if one of them is not known, or there is none."""
        known = [self._of_term(term) for term in text.split(" + ")]
        return None if None in known else sum(length for length in known if length is not None)

    def _of_term(self, term: str) -> int | None:
        return int(term) if term.isdecimal() else self.get(term)

    def fits(self, text: str, length: int) -> bool:
        """Compare a length with a sum; the one of its terms that is not known is known then."""
        terms = text.split(" + ")
        unknown = [term for term in terms if self._of_term(term) is None]
        if unknown:
            self[unknown[0]] = length - sum(self._of_term(term) or 0 for term in terms if term != unknown[0])
            return self[unknown[0]] >= 0
        return self.of(text) == length


def check_shapes(arrays: Mapping[str, NDArray], known: Mapping[str, int], segment: str | None) -> Lengths:
    """Refuse arrays whose shapes, or first and last offsets, do not fit together. O(1) for each.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays of a group of components by name, of the dtypes that are due.
    known : mapping of str to int
        Lengths that are known: `columns`, `tokens`.
    segment : str or None
        Id of the segment.

    Returns
    -------
    Lengths
        Of the group.

    Raises
    ------
    IndexCorruptedError
    """
    lengths = Lengths(known)
    for name, array in arrays.items():
        due = COMPONENTS[name].shape
        if array.ndim != len(due):
            raise damaged(segment, name, f"it has {array.ndim} dimensions, not {len(due)}")
        for text, length in zip(due, array.shape, strict=True):
            if not lengths.fits(text, length):
                needed = lengths.of(text)
                raise damaged(
                    segment, name, f"it has {length} entries where the other components need {needed} ({text})"
                )
    for name, array in arrays.items():
        divided = COMPONENTS[name].divides
        limit = lengths.of(divided)
        if divided and (array[0] != 0 or array[-1] != limit):
            raise damaged(segment, name, f"it goes from {array[0]} to {array[-1]}, not from 0 to {limit}")
    return lengths


def check_entries(name: str, array: NDArray, lengths: Lengths, segment: str | None) -> None:
    """Refuse an array with an entry that is out of its range or order. O(entries).

    Parameters
    ----------
    name : str
        Component.
    array : ndarray
    lengths : Lengths
        As `check_shapes` returned them.
    segment : str or None

    Raises
    ------
    IndexCorruptedError
    """
    component = COMPONENTS[name]
    if component.divides and not _ascends(array):
        raise damaged(segment, name, "its offsets do not ascend")
    limit = lengths.of(component.below)
    if limit is not None and array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        found = f"its numbers go from {array.min()} to {array.max()}"
        raise damaged(segment, name, f"{found} where there are {limit} ({component.below})")


def _ascends(offsets: NDArray) -> bool:
    later, earlier = offsets[1:], offsets[:-1]
    steps = (slice(start, start + _STEP) for start in range(0, later.size, _STEP))
    return not any(bool((later[step] < earlier[step]).any()) for step in steps)


def stretches_of(
    offsets: NDArray[np.integer], chosen: NDArray[np.integer], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where some stretches of a flat array begin, and how long they are.

    Parameters
    ----------
    offsets : ndarray of integers, shape (n + 1,)
    chosen : ndarray of integers
        Numbers of stretches, each once, from 0 up to n - 1.
    limit : int
        Length of the flat array.

    Returns
    -------
    starts, lengths : ndarray of int64

    Raises
    ------
    DamagedArraysError
        If one of them lies outside of the array, or they overlap; see `dfjoin.index.segment.reading`.

    Notes
    -----
    O(chosen): the rest of a large array is not read.
    """
    starts = np.asarray(offsets[chosen], np.int64)
    ends = np.asarray(offsets[np.asarray(chosen, np.int64) + 1], np.int64)
    last = int(ends.max(initial=0))
    lengths = np.subtract(ends, starts, out=ends)  # in place: there may be millions
    if starts.size:
        is_inside = int(starts.min()) >= 0 and int(lengths.min()) >= 0 and last <= limit
        if not is_inside or int(lengths.sum()) > limit:
            raise DamagedArraysError("stretches lie outside of what they divide")
    return starts, lengths


def entries_of(
    offsets: NDArray[np.integer], entries: NDArray[np.integer], chosen: NDArray[np.integer], limit: int
) -> NDArray[np.int64]:
    """Return the entries of some stretches, one stretch after the other.

    Parameters
    ----------
    offsets, chosen
        As `stretches_of` takes them.
    entries : ndarray of integers
        The flat array, of numbers from 0 up to `limit` - 1.
    limit : int

    Raises
    ------
    DamagedArraysError
        If a stretch or an entry is out of its range.
    """
    starts, lengths = stretches_of(offsets, chosen, entries.size)
    found = entries[expand_stretches(starts, lengths)].astype(np.int64)
    if found.size and not (int(found.min()) >= 0 and int(found.max()) < limit):
        raise DamagedArraysError("entries are out of their range")
    return found
