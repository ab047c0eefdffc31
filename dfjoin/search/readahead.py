"""Asking the operating system for cold pages before they are needed, many at once.

A page of a mapped file that is not in memory costs a wait of its own when it is touched. Asked for
beforehand, in ranges, the pages of a query arrive together.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Tokens
from dfjoin.kernels.paging import has_unseen, unseen_blocks, unseen_ranges

__all__ = ["ReadAhead", "VocabularyReadAhead"]

_GAP_PAGES = 8  # pages between two ranges that are cheaper to read than to leave out
_MAX_RANGES = 4096
_BLOCK_TOKENS = 512  # a page of hashes
_GAP_BLOCKS = 4  # a block of all arrays is some seven pages


class _Pages:
    """The pages of one mapped array; of an array that is not mapped, none.

    Parameters
    ----------
    array : ndarray
        A component of a segment.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.item_bytes = array.itemsize
        self.base = 0
        self._map: mmap.mmap | None = None
        base: Any = array
        while base is not None and not isinstance(base, mmap.mmap):
            if isinstance(base, np.memmap):
                self.base = base.offset % mmap.ALLOCATIONGRANULARITY
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_WILLNEED"):
            self._map = base

    def __len__(self) -> int:
        return 0 if self._map is None else -(-len(self._map) // mmap.PAGESIZE)

    def ask(self, first: int, count: int) -> None:
        """Ask for `count` pages from `first` on, as far as there are."""
        count = min(count, len(self) - first)
        if self._map is not None and count > 0:
            length = min(count * mmap.PAGESIZE, len(self._map) - first * mmap.PAGESIZE)
            self._map.madvise(mmap.MADV_WILLNEED, first * mmap.PAGESIZE, length)

    def ask_items(self, start: int, end: int) -> None:
        """Ask for the pages of the entries `start` to `end`."""
        first = (self.base + start * self.item_bytes) // mmap.PAGESIZE
        self.ask(first, -(-(self.base + end * self.item_bytes) // mmap.PAGESIZE) - first)


class ReadAhead:
    """What was asked for of the posting lists of a segment, in this process.

    Parameters
    ----------
    array : ndarray
        Component ``list_columns``; one that is not mapped is never asked for.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._pages = _Pages(array)
        self._seen = np.zeros(len(self._pages), np.uint8)

    def ask(self, lists: NDArray[np.uint32], n_lists: int, indptr: NDArray[np.int64]) -> int:
        """Ask for the pages of some lists that were not asked for before; return the number of ranges."""
        if self._seen.size == 0:
            return 0
        place = (indptr, self._pages.item_bytes, self._pages.base, mmap.PAGESIZE)
        if not has_unseen(lists, n_lists, *place, self._seen):
            return 0
        ranges = np.empty((_MAX_RANGES, 2), np.int64)
        n = unseen_ranges(np.sort(lists[:n_lists]), n_lists, *place, _GAP_PAGES, self._seen, ranges)
        for first, count in ranges[:n].tolist():
            self._pages.ask(first, count)
        return n


class VocabularyReadAhead:
    """What was asked for of the vocabulary of a segment, in this process.

    A look-up touches five arrays at random, one after the other. Here the pages of all look-ups of a query
    are asked for together: the directory whole, the others by blocks of tokens.

    Parameters
    ----------
    tokens : Tokens
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._by_token = [_Pages(array) for array in (tokens.hash, tokens.value_offsets, tokens.group)]
        self._values = _Pages(tokens.value_bytes)
        n_blocks = -(-tokens.hash.size // _BLOCK_TOKENS) if len(self._by_token[0]) else 0
        self._seen = np.zeros(n_blocks, np.uint8)
        self._n_unseen = n_blocks
        if n_blocks:
            directory = _Pages(tokens.directory)
            directory.ask(0, len(directory))

    def ask(self, hashes: NDArray[np.uint64]) -> int:
        """Ask for the blocks where values are looked up, once each; return the number of ranges."""
        if self._n_unseen == 0:
            return 0
        blocks = np.empty(hashes.size, np.int64)
        n = unseen_blocks(hashes, self._tokens.directory, _BLOCK_TOKENS, self._seen, blocks)
        if n == 0:
            return 0
        self._n_unseen -= n
        blocks = np.sort(blocks[:n])
        cuts = np.flatnonzero(np.diff(blocks) > _GAP_BLOCKS) + 1
        starts = blocks[np.append(0, cuts)] * _BLOCK_TOKENS
        ends = np.minimum((blocks[np.append(cuts, n) - 1] + 1) * _BLOCK_TOKENS, self._tokens.hash.size)
        for pages in self._by_token:
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                pages.ask_items(start, end)
        offsets = self._tokens.value_offsets
        for start, end in zip(offsets[starts].tolist(), offsets[ends].tolist(), strict=True):
            if 0 <= start <= end:  # nothing is read here: damage shows in the look-up
                self._values.ask_items(start, end)
        return int(starts.size)
