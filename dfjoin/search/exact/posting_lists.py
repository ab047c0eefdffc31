"""MergeList: count the matched query values of every column by reading all distinct posting lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.kernels.lists.mergelist import (
    collect_lists,
    count_lists,
    count_lists_met,
    select_top,
    select_top_of_all,
)
from dfjoin.kernels.records import Candidates, Lists, Tally, Wanted
from dfjoin.search.exact.costs import COUNTED_POSTING_BYTES
from dfjoin.search.exact.read_ahead import ReadAhead, VocabularyReadAhead
from dfjoin.search.params import SearchStats

__all__ = [
    "Gathered",
    "Query",
    "Scratch",
    "TopColumns",
    "WorkArrays",
    "gather",
    "lists_of",
    "merge_list",
    "reading_postings",
    "wanted_of",
]

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
    def marks(self) -> NDArray[np.uint8]:
        """What became of each candidate; zeros between searches."""
        return np.zeros(self.tally.counts.size, np.uint8)

    @cached_property
    def sums(self) -> NDArray[np.int64]:
        """What the shared values tell of each column; zeros between searches."""
        return np.zeros((self.tally.counts.size, N_SUMS), np.int64)

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
    stats = SearchStats(
        plan="mergelist",
        lists_read=found.lists.size,
        postings_read=found.n_postings,
        bytes_read=found.n_postings * COUNTED_POSTING_BYTES,
    )
    return TopColumns(best, result, stats)


def reading_postings(segment: Segment) -> reading:
    """Return the context in which postings or sets that lie outside their segment become an error."""
    what = "names columns or lists that the segment does not have"
    return reading("list_columns` or `set_lists", what, segment.meta.id)
