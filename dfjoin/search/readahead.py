"""Asking the operating system for cold pages before they are needed, many at once.

A page of a mapped file that is not in memory costs a wait of its own when it is touched. Asked for
beforehand, in ranges, the pages of a query arrive together.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.paging import has_unseen, unseen_ranges

__all__ = ["ReadAhead"]

_GAP_PAGES = 8  # pages between two ranges that are cheaper to read than to leave out
_MAX_RANGES = 4096


class ReadAhead:
    """What was asked for of one mapped array, in this process.

    Parameters
    ----------
    array : ndarray
        A component of a segment; one that is not mapped is never asked for.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._item_bytes = array.itemsize
        self._map: mmap.mmap | None = None
        self._base = 0
        base: Any = array
        while base is not None and not isinstance(base, mmap.mmap):
            if isinstance(base, np.memmap):
                self._base = base.offset % mmap.ALLOCATIONGRANULARITY
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_WILLNEED"):
            self._map = base
        self._seen = np.zeros(0 if self._map is None else -(-len(self._map) // mmap.PAGESIZE), np.uint8)

    def ask(self, lists: NDArray[np.uint32], n_lists: int, indptr: NDArray[np.int64]) -> int:
        """Ask for the pages of some lists that were not asked for before; return the number of ranges."""
        if self._map is None:
            return 0
        place = (indptr, self._item_bytes, self._base, mmap.PAGESIZE)
        if not has_unseen(lists, n_lists, *place, self._seen):
            return 0
        ranges = np.empty((_MAX_RANGES, 2), np.int64)
        n = unseen_ranges(np.sort(lists[:n_lists]), n_lists, *place, _GAP_PAGES, self._seen, ranges)
        for first, count in ranges[:n].tolist():
            self._map.madvise(mmap.MADV_WILLNEED, first * mmap.PAGESIZE, count * mmap.PAGESIZE)
        return n
