"""MergeList: count the matched query values of every column by reading all distinct posting lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.segment import Segment
from dfjoin.kernels.counting import clear_counts, collect_lists, count_lists, select_top
from dfjoin.types import SearchStats

__all__ = ["Query", "Scratch", "TopColumns", "damaged_postings", "merge_list"]

_POSTING_BYTES = 4
_NO_WEIGHTS = np.empty(0, np.int32)
_NO_MASK = np.empty(0, np.uint8)


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
    """Zeroed count arrays of a segment, lent to one search at a time.

    A search that is interrupted does not give its arrays back, so a lent array is always clean.
    """

    def __init__(self, segment: Segment) -> None:
        self._n_columns = segment.n_columns
        self._n_lists = segment.tokens.list_indptr.size - 1
        self._free: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []

    @contextmanager
    def lend(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]]:
        """Lend (counts, hits, columns): zeros per column, zeros per list, room for column ids."""
        try:
            arrays = self._free.pop()
        except IndexError:
            arrays = (
                np.zeros(self._n_columns, np.int32),
                np.zeros(self._n_lists, np.int32),
                np.empty(self._n_columns, np.int32),
            )
        yield arrays
        self._free.append(arrays)


def merge_list(segment: Segment, scratch: Scratch, query: Query) -> TopColumns:
    """Return the best columns by reading the posting list of every group that the query holds.

    Parameters
    ----------
    segment : Segment
    scratch : Scratch
        Of that segment.
    query : Query

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
    tokens = segment.tokens
    cardinality = segment.catalog.numbers["cardinality"]
    with scratch.lend() as (counts, hits, columns):
        lists = np.empty(query.groups.size, np.uint32)
        state = np.zeros(3, np.int64)
        collect_lists(
            query.groups, query.weights, segment.n_columns, tokens.list_indptr, hits, counts, lists,
            columns, state,
        )  # fmt: skip
        n_lists, n_touched, n_postings = state.tolist()
        is_dense = n_postings > segment.n_columns // 4
        n_touched = count_lists(
            lists, n_lists, hits, tokens.list_indptr, tokens.list_columns, counts, columns, n_touched,
            is_dense,
        )  # fmt: skip
        if n_touched < 0:
            raise damaged_postings(segment)
        best = select_top(
            counts, columns, n_touched, is_dense, query.is_allowed, cardinality, query.minimum, query.k
        )
        found = counts[best]
        clear_counts(counts, columns, n_touched, is_dense)
    stats = SearchStats(
        plan="mergelist",
        lists_read=n_lists,
        postings_read=n_postings,
        bytes_read=n_postings * _POSTING_BYTES,
    )
    return TopColumns(best, found, stats)


def damaged_postings(segment: Segment) -> IndexCorruptedError:
    """Return the error for postings that lie outside their segment."""
    return IndexCorruptedError(
        f"component `list_columns` of segment {segment.meta.id} names columns or lists that the segment "
        "does not have; run `verify()` on the lake, then build the index again"
    )
