"""Which pages of a mapped array a search is about to read, as ranges that are worth prefetching together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfjoin.kernels.numba._compile import njit_lean


class Pages(NamedTuple):
    """Where an array lies: bytes of an entry, where it starts in its first page, bytes of a page."""

    item_bytes: int
    base: int
    page_bytes: int


@njit_lean
def cold_ranges(lists, indptr, pages, gap, seen, ranges):
    """Collect the pages of some lists that were not prefetched before, merged into ranges.

    Parameters
    ----------
    lists : ndarray of uint32, shape (n_lists,)
        List numbers, ascending.
    indptr : ndarray of int64
        Entries of list l: ``indptr[l]`` to ``indptr[l + 1]``.
    pages : Pages
    gap : int
        Pages between two ranges that are read along to join them.
    seen : ndarray of uint8, shape (n_pages,)
        1 for pages that were prefetched; updated.
    ranges : ndarray of int64, shape (n, 2)
        Receives first page and number of pages of each range.

    Returns
    -------
    int
        Number of ranges; it stops when `ranges` is full.

    Notes
    -----
    O(n_lists + pages of the lists).
    """
    item_bytes, base, page_bytes = pages
    n_ranges = np.int64(0)
    for i in range(lists.shape[0]):
        number = np.int64(lists[i])
        begin = (base + indptr[number] * item_bytes) // page_bytes
        end = (base + indptr[number + 1] * item_bytes + page_bytes - 1) // page_bytes
        for page in range(max(0, begin), min(end, seen.shape[0])):
            if seen[page] != 0:
                continue
            seen[page] = 1
            last = n_ranges - 1
            if n_ranges > 0 and 0 <= page - (ranges[last, 0] + ranges[last, 1]) <= gap:
                ranges[last, 1] = page - ranges[last, 0] + 1
            elif n_ranges < ranges.shape[0]:
                ranges[n_ranges, 0] = page
                ranges[n_ranges, 1] = 1
                n_ranges += 1
            else:
                return n_ranges
    return n_ranges


@njit_lean
def has_cold_pages(lists, indptr, pages, seen):
    """Tell whether the first page of any list was not prefetched before.

    Parameters
    ----------
    lists, indptr, pages, seen
        As in `cold_ranges`; the lists in any order.

    Returns
    -------
    bool

    Notes
    -----
    O(n_lists), and one look in most of a cold search.
    """
    item_bytes, base, page_bytes = pages
    for i in range(lists.shape[0]):
        page = (base + indptr[np.int64(lists[i])] * item_bytes) // page_bytes
        if 0 <= page < seen.shape[0] and seen[page] == 0:
            return True
    return False


@njit_lean
def cold_blocks(hashes, directory, block_tokens, seen, blocks):
    """Collect the blocks of a vocabulary where some hashes are looked up and that were not prefetched before.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,)
    directory : ndarray of uint32, shape (2**bits + 1,)
        Where each prefix of the hash starts.
    block_tokens : int
        Tokens to a block.
    seen : ndarray of uint8, shape (n_blocks,)
        1 for blocks that were prefetched; updated.
    blocks : ndarray of int64, shape (n,)
        Receives the blocks, in the order they were met.

    Returns
    -------
    int
        Number of blocks.

    Notes
    -----
    A prefix that reaches into the next block is counted to its first. O(n).
    """
    bits = 0
    while (1 << bits) + 1 < directory.shape[0]:
        bits += 1
    shift = np.uint64(64 - bits)
    n = np.int64(0)
    for i in range(hashes.shape[0]):
        block = np.int64(directory[np.int64(hashes[i] >> shift)]) // block_tokens
        if block < seen.shape[0] and seen[block] == 0:
            seen[block] = 1
            blocks[n] = block
            n += 1
    return n
