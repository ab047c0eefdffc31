"""Candidates for a join by a program: the columns that hold rare pieces of the query's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.column_values import PackedValues
from dfjoin.index.segment import Segment, reading
from dfjoin.index.soundness import entries_of
from dfjoin.kernels.texts.value_pieces import PieceLists, QueryValues, score_columns, value_pieces
from dfjoin.search.exact.posting_lists import allowed_columns
from dfjoin.search.hits import rank_columns
from dfjoin.search.params import SearchParams, SearchStats

_BOUND = 10.0
"""Bits that one piece, and so one value of the query, adds to a column's score at most: no single value decides."""
_MIN_SCORE = 10.0
_SCORE_UNITS = 1e6
_LEAST_POSTINGS = 1 << 20
"""A smaller lake is taken to be a part of one with so many postings: too few do not show what is rare."""
_MIN_SHARE = 0.2
"""Share of the smaller column's values that must be touched: programs must join 0.3 of one of them."""


class ScoredColumns(NamedTuple):
    """Columns that share pieces with a query.

    Parameters
    ----------
    segments, columns, cardinality : ndarray of int64, shape (n,)
        Number of the segment, id of the column there, its distinct values.
    scores : ndarray of int64, shape (n,)
        In millionths: sums of floats differ beyond, by the order of segments.
    """

    segments: NDArray[np.int64]
    columns: NDArray[np.int64]
    cardinality: NDArray[np.int64]
    scores: NDArray[np.int64]


class HeldPieces:
    """The columns of some segments that hold the pieces of a query.

    Parameters
    ----------
    segments : sequence of Segment
    pieces : QueryPieces

    Attributes
    ----------
    lists : list of (ndarray of int64, ndarray of int32)
        For each segment the columns of each piece: where they begin, and their ids.
    counts : ndarray of int64, shape (n_pieces,)
        Columns that hold each piece.

    Notes
    -----
    Deleted columns count nowhere, so neither scores nor order depend on segments and tombstones.
    """

    def __init__(self, segments: Sequence[Segment], pieces: QueryPieces) -> None:
        self.segments = segments
        self.lists = [_postings(segment, pieces.hashes) for segment in segments]
        self.counts = np.zeros(pieces.hashes.size, np.int64)
        for indptr, _ in self.lists:
            self.counts += np.diff(indptr)

    @property
    def total(self) -> int:
        """The pieces of all columns."""
        return sum(int(s.patterns.sizes[_alive(s)].sum(dtype=np.int64)) for s in self.segments)


def piece_bits(counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return the evidence of pieces, of which so many columns of a lake of so many postings hold each."""
    return np.log2(max(_LEAST_POSTINGS, total) / np.maximum(1, counts))


class QueryPieces:
    """The pieces of a query's values.

    Parameters
    ----------
    values : PackedValues
    seed : int
        The index's hash seed.

    Attributes
    ----------
    indptr, numbers : ndarray of int64 and int32
        Pieces of each value, as numbers in `hashes`.
    hashes : ndarray of uint64
        The distinct pieces, ascending.
    n_holders : ndarray of int64
        Values that have each of them.
    """

    def __init__(self, values: PackedValues, seed: int) -> None:
        self.n_values = len(values)
        self.indptr, every = value_pieces(values.data, values.offsets, np.uint64(seed))
        self.hashes, numbers = np.unique(every, return_inverse=True)
        self.numbers = numbers.astype(np.int32)
        self.n_holders = np.bincount(self.numbers, minlength=self.hashes.size)


def score_segments(
    held: HeldPieces,
    pieces: QueryPieces,
    bits: NDArray[np.float64],
    n_query: int,
    params: SearchParams,
    stats: SearchStats,
) -> ScoredColumns:
    """Score the columns of some segments by the pieces that they share with a query.

    Parameters
    ----------
    held : HeldPieces
        Of the segments.
    pieces : QueryPieces
    bits : ndarray of float64, shape (n_pieces,)
        Evidence of each piece, see `piece_bits`.
    n_query : int
        Distinct values of the query, of which `pieces` may be a sample.
    params : SearchParams
        Filters.
    stats : SearchStats
        What was read is added here.

    Returns
    -------
    ScoredColumns
        In no order; those with too little in common are left out.

    Notes
    -----
    Were the postings of a piece dealt out at random, a column would get one with a probability of about
    (columns that hold the piece) × (pieces of the column) ÷ (postings of the lake); minus the binary logarithm of
    that is the evidence, in bits, of finding it there: rare pieces weigh more, and pieces in large columns less. The
    evidence of a piece is divided among the query's values that have it, as in section 4.4.1 (score 1/nm).
    O(postings of the pieces, as often as a value has them).
    Source: Zhu, thesis, section 5.3.1 (higher weights for infrequent tokens).
    """
    stats.lists_read += int(np.count_nonzero(held.counts))
    stats.postings_read += int(held.counts.sum())
    stats.bytes_read += 4 * int(held.counts.sum())
    found: list[tuple[NDArray[Any], ...]] = [(np.empty(0, np.int64),) * 4]
    for number, (segment, (indptr, columns)) in enumerate(zip(held.segments, held.lists, strict=True)):
        scores, touched = np.zeros(segment.n_columns), np.zeros(segment.n_columns, np.int32)
        size_bits = np.log2(np.maximum(1, segment.patterns.sizes))
        query = QueryValues(pieces.indptr, pieces.numbers, pieces.n_holders, bits)
        score_columns(query, PieceLists(indptr, columns), size_bits, _BOUND, scores, touched)
        cardinality = segment.catalog.numbers["cardinality"]
        least = np.minimum(n_query, cardinality) * (_MIN_SHARE * pieces.n_values / max(1, n_query))
        is_good = (scores >= _MIN_SCORE) & (touched >= np.maximum(2, least))
        allowed = allowed_columns(segment, params)
        good = np.flatnonzero(is_good & (allowed > 0) if allowed.size else is_good)
        rounded = np.rint(scores[good] * _SCORE_UNITS).astype(np.int64)
        found.append((np.full(good.size, number), good, cardinality[good].astype(np.int64), rounded))
    return ScoredColumns(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def order_columns(segments: Sequence[Segment], found: ScoredColumns) -> NDArray[np.int64]:
    """Return the positions of scored columns, best first: by score descending, cardinality, table, column."""
    return rank_columns(segments, (found.segments, found.columns), (-found.scores, found.cardinality))


def _alive(segment: Segment) -> slice | NDArray[np.bool_]:
    return slice(None) if segment.alive is None else segment.alive > 0


def _postings(segment: Segment, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Read the columns that hold each piece, without deleted ones."""
    stored = segment.patterns
    at = np.searchsorted(stored.hash, hashes)
    held = np.flatnonzero(at < stored.hash.size)
    held = held[stored.hash[at[held]] == hashes[held]]
    what = "names entries that the segment does not have"
    with reading("pattern_indptr` or `pattern_columns", what, segment.meta.id):
        columns = entries_of(stored.indptr, stored.columns, at[held], segment.n_columns).astype(np.int32)
    lengths = np.zeros(hashes.size, np.int64)
    lengths[held] = stored.indptr[at[held] + 1] - stored.indptr[at[held]]
    owners = np.repeat(np.arange(hashes.size), lengths)
    if segment.alive is not None:
        is_alive = segment.alive[columns] > 0
        owners, columns = owners[is_alive], columns[is_alive]
    indptr = np.zeros(hashes.size + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=hashes.size), out=indptr[1:])
    return indptr, columns
