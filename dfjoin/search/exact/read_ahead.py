"""Prefetching cold pages before they are needed, many at once.

A page of a mapped file that is not in memory costs a wait of its own when it is touched. Prefetched in ranges,
the pages of a query arrive together.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.mapping import advise_willneed, is_mapped
from dfjoin.index.segment import Tokens
from dfjoin.kernels.lists.paging import Pages, cold_blocks, cold_ranges, has_cold_pages

__all__ = ["ReadAhead", "VocabularyReadAhead"]

_GAP_PAGES = 8  # pages between two ranges that are cheaper to read than to leave out
_MAX_RANGES = 4096
_BLOCK_TOKENS = 512  # a page of hashes
_GAP_BLOCKS = 4  # a block of all arrays is some seven pages


class ReadAhead:
    """What was prefetched of the posting lists of a segment, in this process.

    Parameters
    ----------
    array : ndarray
        Component ``list_columns``; one that is not mapped is never prefetched.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self._base = array.ctypes.data % mmap.PAGESIZE
        n_pages = -(-(self._base + array.nbytes) // mmap.PAGESIZE) if is_mapped(array) else 0
        self._seen = np.zeros(n_pages, np.uint8)

    def prefetch(self, lists: NDArray[np.uint32], indptr: NDArray[np.int64]) -> int:
        """Prefetch the pages of some lists that were not prefetched before; return the number of ranges."""
        if self._seen.size == 0:
            return 0
        item_bytes = self._array.itemsize
        pages = Pages(item_bytes, self._base, mmap.PAGESIZE)
        if not has_cold_pages(lists, indptr, pages, self._seen):
            return 0
        ranges = np.empty((_MAX_RANGES, 2), np.int64)
        n = cold_ranges(np.sort(lists), indptr, pages, _GAP_PAGES, self._seen, ranges)
        for first, count in ranges[:n].tolist():
            start = (first * mmap.PAGESIZE - self._base) // item_bytes
            advise_willneed(self._array, start, start + count * mmap.PAGESIZE // item_bytes)
        return n


class VocabularyReadAhead:
    """What was prefetched of the vocabulary of a segment, in this process.

    A look-up touches five arrays at random, one after the other. Here the pages of all look-ups of a query
    are prefetched together: the directory whole, the others by blocks of tokens.

    Parameters
    ----------
    tokens : Tokens
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        n_blocks = -(-tokens.hash.size // _BLOCK_TOKENS) if is_mapped(tokens.hash) else 0
        self._seen = np.zeros(n_blocks, np.uint8)
        self._n_cold = n_blocks
        if n_blocks:
            advise_willneed(tokens.directory, 0, tokens.directory.size)

    def prefetch(self, hashes: NDArray[np.uint64]) -> int:
        """Prefetch the blocks where values are looked up, once each; return the number of ranges."""
        if self._n_cold == 0:
            return 0
        blocks = np.empty(hashes.size, np.int64)
        n = cold_blocks(hashes, self._tokens.directory, _BLOCK_TOKENS, self._seen, blocks)
        if n == 0:
            return 0
        self._n_cold -= n
        blocks = np.sort(blocks[:n])
        cuts = np.flatnonzero(np.diff(blocks) > _GAP_BLOCKS) + 1
        starts = blocks[np.append(0, cuts)] * _BLOCK_TOKENS
        ends = np.minimum((blocks[np.append(cuts, n) - 1] + 1) * _BLOCK_TOKENS, self._tokens.hash.size)
        offsets = self._tokens.value_offsets
        for array in (self._tokens.hash, offsets, self._tokens.group):
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                advise_willneed(array, start, end)
        for start, end in zip(offsets[starts].tolist(), offsets[ends].tolist(), strict=True):
            if 0 <= start <= end:  # nothing is read here: damage shows in the look-up
                advise_willneed(self._tokens.value_bytes, start, end)
        return int(starts.size)
