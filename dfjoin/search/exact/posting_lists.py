"""MergeList: count the matched query values of every column by reading all distinct posting lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.segment import Segment
from dfjoin.kernels.mergelist import (
    clear_counts,
    collect_lists,
    count_few,
    count_lists,
    select_top,
    select_top_of_all,
)
from dfjoin.search.exact.read_ahead import ReadAhead, VocabularyReadAhead
from dfjoin.search.params import SearchStats

__all__ = ["Gathered", "Query", "Scratch", "TopColumns", "WorkArrays", "damaged_postings", "gather", "merge_list"]

_POSTING_BYTES = 4
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
        self._n_columns = segment.n_columns
        self._n_lists = segment.tokens.list_indptr.size - 1
        self._free: list[WorkArrays] = []
        self.postings = ReadAhead(segment.tokens.list_columns)
        self.vocabulary = VocabularyReadAhead(segment.tokens)

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
    counts : ndarray of int32, shape (n_columns,)
        Zeros between searches.
    hits : ndarray of int32, shape (n_lists,)
        Zeros between searches.
    columns : ndarray of int32, shape (n_columns + 1,)
    """

    def __init__(self, n_columns: int, n_lists: int) -> None:
        self.counts = np.zeros(n_columns, np.int32)
        self.hits = np.zeros(n_lists, np.int32)
        self.columns = np.empty(n_columns + 1, np.int32)

    @cached_property
    def marks(self) -> NDArray[np.uint8]:
        """What became of each candidate; zeros between searches."""
        return np.zeros(self.counts.size, np.uint8)

    @cached_property
    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """First list, last position, candidates and estimates of JOSIE; may hold anything."""
        n = self.counts.size
        return np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64)


@dataclass(frozen=True)
class Gathered:
    """The distinct posting lists of a query, and how much they hold."""

    lists: NDArray[np.uint32]
    n_lists: int
    n_private: int
    n_postings: int


def gather(segment: Segment, arrays: WorkArrays, query: Query) -> Gathered:
    """Count private values and collect the distinct posting lists of a query. O(n_values)."""
    lists = np.empty(query.groups.size, np.uint32)
    state = np.zeros(3, np.int64)
    collect_lists(
        query.groups, query.weights, segment.n_columns, segment.tokens.list_indptr, arrays.hits, arrays.counts,
        lists, arrays.columns, state,
    )  # fmt: skip
    return Gathered(lists, *state.tolist())


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
    tokens, counts = segment.tokens, arrays.counts
    lists = (found.lists, found.n_lists, arrays.hits, tokens.list_indptr, tokens.list_columns, counts)
    wanted = (query.is_allowed, segment.catalog.numbers["cardinality"], query.minimum, query.k)
    if found.n_postings > segment.n_columns // _SCAN_SHARE:
        if not count_lists(*lists):
            raise damaged_postings(segment)
        best = select_top_of_all(counts, *wanted)
        result = counts[best]
        counts[:] = 0
    else:
        n_met = count_few(*lists, arrays.columns, found.n_private)
        if n_met < 0:
            raise damaged_postings(segment)
        best = select_top(counts, arrays.columns, n_met, *wanted)
        result = counts[best]
        clear_counts(counts, arrays.columns, n_met)
    stats = SearchStats(
        plan="mergelist",
        lists_read=found.n_lists,
        postings_read=found.n_postings,
        bytes_read=found.n_postings * _POSTING_BYTES,
    )
    return TopColumns(best, result, stats)


def damaged_postings(segment: Segment) -> IndexCorruptedError:
    """Return the error for postings or sets that lie outside their segment."""
    return IndexCorruptedError(
        f"component `list_columns` or `set_lists` of segment {segment.meta.id} names columns or lists that the "
        "segment does not have; run `verify()` on the lake, then build the index again"
    )
