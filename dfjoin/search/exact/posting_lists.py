"""A query against one segment: its tokens, the columns that are allowed or hold them, and MergeList, which counts them.

MergeList reads all distinct posting lists. A page of a mapped file that is not in memory costs a wait of its own when
it is touched: the pages of a query are prefetched together.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.component_files import advise_willneed, is_mapped
from dfjoin.index.segment import Segment, Tokens, reading
from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.kernels.lists.mergelist import (
    collect_lists,
    count_lists,
    count_lists_met,
    select_top,
    select_top_of_all,
)
from dfjoin.kernels.lists.paging import Pages, cold_blocks, cold_ranges, has_cold_pages
from dfjoin.kernels.lists.vocabulary import find_tokens
from dfjoin.kernels.records import Candidates, Lists, Tally, Wanted
from dfjoin.search.exact.costs import COUNTED_POSTING_BYTES
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.values.normalize import ValueSet

_GAP_PAGES = 8  # pages between two ranges that are cheaper to read than to leave out
_MAX_RANGES = 4096
_BLOCK_TOKENS = 512  # a page of hashes
_GAP_BLOCKS = 4  # a block of all arrays is some seven pages
_COLD_POSTINGS = 8192  # with fewer, the pages are as soon read as prefetched


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
    are prefetched together: the directory whole, the others by blocks of tokens; a vocabulary of few blocks is left to
    the system, which reads ahead by more than that.

    Parameters
    ----------
    tokens : Tokens
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        n_blocks = -(-tokens.hash.size // _BLOCK_TOKENS) if is_mapped(tokens.hash) else 0
        if n_blocks <= _GAP_BLOCKS:
            n_blocks = 0
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


_ALL = np.empty(0, np.uint8)
_ALL.flags.writeable = False


def allowed_columns(segment: Segment, params: SearchParams) -> NDArray[np.uint8]:
    """Return 1 for each column that may be returned, shape (n_columns,); empty when all may.

    Patterns are matched against whole table names, case-sensitively; ``geo/*`` takes every table
    below ``geo``. A name that looks like a pattern names its table, too. O(n_columns) when there is anything to filter.
    """
    alive = segment.alive
    if alive is None and not (params.tables or params.exclude or params.kinds):
        return _ALL
    allowed = np.ones(segment.n_columns, np.uint8) if alive is None else alive.copy()
    numbers = segment.catalog.numbers
    if params.kinds:
        allowed &= np.isin(numbers["kind"], [KINDS.index(kind) for kind in params.kinds]).astype(np.uint8)
    for patterns, is_allowed in ((params.tables, True), (params.exclude, False)):
        if patterns:
            allowed &= (segment.catalog.tables_named(patterns) == is_allowed)[numbers["table"]]
    allowed.flags.writeable = False
    return allowed


def match_tokens(values: ValueSet, tokens: Tokens) -> NDArray[np.int64]:
    """Find the token of each query value.

    Parameters
    ----------
    values : ValueSet
        The query's distinct values.
    tokens : Tokens
        Of the segment.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        Token of each value, -1 if the vocabulary does not hold it.

    Raises
    ------
    IndexCorruptedError
        If the vocabulary's arrays contradict each other.
    """
    dictionary = tokens.dictionary
    found = np.empty(len(values), np.int64)
    with reading("value_offsets", "points outside `value_bytes`"):
        find_tokens(values.hashes, values.offsets, values.data, dictionary, found)
    return found


_SCAN_SHARE = 4  # more postings than a quarter of the columns: all columns are scanned


@dataclass(frozen=True)
class Query:
    """A query against one segment, ready to be counted.

    Parameters
    ----------
    groups : ndarray of int64, shape (n_values,)
        Posting group of each query value, -1 for a value that the segment does not hold.
    weights : ndarray of int32, shape (n_values,) or (0,)
        Rows of each value, when ranked by rows.
    is_allowed : ndarray of uint8, shape (n_columns,) or (0,)
        Columns that may be returned.
    minimum : int
        Smallest count to return: from the threshold, or the k-th count of segments searched before.
    k : int
        Columns to return at most.
    """

    groups: NDArray[np.int64]
    weights: NDArray[np.int32]
    is_allowed: NDArray[np.uint8]
    minimum: int
    k: int


@dataclass(frozen=True)
class TopColumns:
    """The best columns of a segment, best first, with their counts and what was read."""

    columns: NDArray[np.int32]
    counts: NDArray[np.int32]
    stats: SearchStats


class Scratch:
    """Zeroed work arrays of a segment, lent to one search at a time.

    A search that is interrupted does not give its arrays back, so lent arrays are always clean.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._n_columns = segment.n_columns
        self._n_lists = segment.tokens.list_indptr.size - 1
        self._free: list[WorkArrays] = []
        self.postings = ReadAhead(segment.tokens.list_columns)
        self.vocabulary = VocabularyReadAhead(segment.tokens)

    @cached_property
    def alive(self) -> NDArray[np.uint8]:
        """1 for each column that is not deleted."""
        alive = self._segment.alive
        return np.ones(self._n_columns, np.uint8) if alive is None else alive.copy()

    @cached_property
    def n_alive(self) -> int:
        """Columns that are not deleted and hold a value."""
        return int(np.count_nonzero(self.alive & (self._segment.catalog.numbers["cardinality"] > 0)))

    @cached_property
    def list_lengths(self) -> NDArray[np.int64]:
        """Columns of each posting list that are not deleted."""
        indptr = self._segment.sound_tokens("list_indptr").list_indptr
        if self._segment.alive is None:
            return np.diff(indptr)
        before = np.zeros(int(indptr[-1]) + 1, np.int64)
        np.cumsum(self.alive[self._segment.sound_tokens("list_columns").list_columns], out=before[1:])
        return np.diff(before[indptr])

    def read_ahead(self, lists: NDArray[np.uint32], n_postings: int) -> None:
        """Prefetch the posting lists of a query, where it pays."""
        if n_postings > _COLD_POSTINGS:
            self.postings.prefetch(lists, self._segment.tokens.list_indptr)

    @contextmanager
    def lend(self) -> Iterator[WorkArrays]:
        """Lend a set of arrays."""
        try:
            arrays = self._free.pop()
        except IndexError:
            arrays = WorkArrays(self._n_columns, self._n_lists)
        yield arrays
        self._free.append(arrays)


class WorkArrays:
    """The arrays that one search works in.

    Parameters
    ----------
    n_columns, n_lists : int
        Of the segment.

    Attributes
    ----------
    tally : Tally
        Its counts and weights are zeros between searches.
    """

    def __init__(self, n_columns: int, n_lists: int) -> None:
        counts, list_weights = np.zeros(n_columns, np.int32), np.zeros(n_lists, np.int32)
        self.tally = Tally(counts, list_weights, np.empty(n_columns + 1, np.int32))

    @cached_property
    def sums(self) -> NDArray[np.int64]:
        """Scratch of what shared values tell, a row for each column and one more; may hold anything."""
        return np.empty((self.tally.counts.size + 1, N_SUMS), np.int64)

    @cached_property
    def marks(self) -> NDArray[np.uint8]:
        """What became of each candidate; zeros between searches."""
        return np.zeros(self.tally.counts.size, np.uint8)

    @cached_property
    def _integers(self) -> NDArray[np.int32]:
        """Scratch of ProbeSet and JOSIE; may hold anything."""
        return np.empty((5, self.tally.counts.size), np.int32)

    @cached_property
    def _estimates(self) -> NDArray[np.float64]:
        return np.empty(self.tally.counts.size, np.float64)

    def candidates(self, k: int) -> Candidates:
        """Return what ProbeSet and JOSIE note; the counts are those of the tally."""
        first, read_until, unread, scratch, best = self._integers
        return Candidates(
            self.tally.counts,
            self.tally.columns,
            self.marks,
            first,
            read_until,
            unread,
            self._estimates,
            scratch,
            best[:k],
        )

    def clear(self, lists: NDArray[np.uint32], n_met: int) -> None:
        """Set back to zero what a search has written: the weights of its lists, the counts of the columns it met."""
        self.tally.list_weights[lists] = 0
        self.tally.counts[self.tally.columns[:n_met]] = 0


@dataclass(frozen=True)
class Gathered:
    """The distinct posting lists of a query, the columns with private values, and how much the lists hold."""

    lists: NDArray[np.uint32]
    n_private: int
    n_postings: int


def gather(segment: Segment, arrays: WorkArrays, query: Query) -> Gathered:
    """Count private values and collect the distinct posting lists of a query. O(n_values)."""
    lists = np.empty(query.groups.size, np.uint32)
    indptr = segment.tokens.list_indptr
    n_lists, n_private, n_postings = collect_lists(query.groups, query.weights, indptr, arrays.tally, lists)
    return Gathered(lists[:n_lists], n_private, n_postings)


def lists_of(segment: Segment) -> Lists:
    """Return the posting lists of a segment."""
    return Lists(segment.tokens.list_indptr, segment.tokens.list_columns)


def wanted_of(segment: Segment, query: Query) -> Wanted:
    """Return which columns of a segment are an answer."""
    return Wanted(query.is_allowed, segment.catalog.numbers["cardinality"], query.minimum, query.k)


def merge_list(segment: Segment, arrays: WorkArrays, query: Query, found: Gathered) -> TopColumns:
    """Return the best columns by reading every posting list that the query holds.

    Parameters
    ----------
    segment : Segment
    arrays : WorkArrays
        As `gather` left them; clean again afterwards.
    query : Query
    found : Gathered

    Returns
    -------
    TopColumns
        Order: count descending, cardinality ascending, column id ascending.

    Notes
    -----
    Source: Zhu et al., "JOSIE", SIGMOD 2019, sections 2.2 (MergeList) and 3.5 (distinct lists).
    O(values + postings of the distinct lists). When these are more than a quarter of the columns, counts
    are kept for all columns and scanned; else the columns met are recorded.
    """
    tally, wanted = arrays.tally, wanted_of(segment, query)
    counts = tally.counts
    if found.n_postings > segment.n_columns // _SCAN_SHARE:
        with reading_postings(segment):
            count_lists(found.lists, lists_of(segment), tally)
        best = np.empty(min(query.k, segment.n_columns), np.int32)
        best = best[: select_top_of_all(counts, wanted, best)]
        result = counts[best]
        counts[:] = 0
    else:
        with reading_postings(segment):
            n_met = count_lists_met(found.lists, lists_of(segment), tally, found.n_private)
        met = tally.columns[:n_met]
        best = np.empty(min(query.k, n_met), np.int32)
        best = best[: select_top(counts, met, wanted, best)]
        result = counts[best]
        counts[met] = 0
    return TopColumns(best, result, _stats_of(found))


def _stats_of(found: Gathered) -> SearchStats:
    """Return what it takes to read all posting lists of a query."""
    n_bytes = found.n_postings * COUNTED_POSTING_BYTES
    return SearchStats("mergelist", lists_read=found.lists.size, postings_read=found.n_postings, bytes_read=n_bytes)


def reading_postings(segment: Segment) -> reading:
    """Return the context in which postings or sets that lie outside their segment become an error."""
    what = "names columns or lists that the segment does not have"
    return reading("list_columns` or `set_lists", what, segment.meta.id)


def shared_mask(segment: Segment, column: int, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which query values a column holds.

    Parameters
    ----------
    segment : Segment
    column : int
        Column id.
    groups : ndarray of int64, shape (n_values,)
        Posting group of each query value, -1 for none.

    Returns
    -------
    ndarray of bool, shape (n_values,)
    """
    tokens = segment.tokens
    start, end = tokens.set_indptr[column : column + 2].tolist()
    lists = tokens.set_lists[start:end].astype(np.int64) + segment.n_columns
    positions = np.searchsorted(lists, groups)
    is_listed = np.zeros(groups.size, bool)
    inside = positions < lists.size
    is_listed[inside] = lists[positions[inside]] == groups[inside]
    return is_listed | (groups == column)
