"""What the shared values tell of each candidate: sums over the posting lists, or over the sets of a few columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import (
    COUNT,
    N_SUMS,
    ROWS,
    SCALE,
    WEIGHT,
    Sums,
    add_columns,
    add_lists,
    add_sets,
    collect_evidence,
    weigh_values,
)
from dfjoin.kernels.records import as_read_only
from dfjoin.search.exact.posting_lists import lists_of, reading_postings
from dfjoin.search.exact.searcher import MatchedQuery, Searcher, searcher_of
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues
from dfjoin.store.snapshot import Snapshot

__all__ = ["SharedEvidence", "ValueWeights", "count_evidence", "evidence_of"]


@dataclass(frozen=True)
class SharedEvidence:
    """Candidates of a query, and what the values that each of them shares with it tell.

    Parameters
    ----------
    hits : Hits
        In any order.
    sums : ndarray of int64, shape (n, N_SUMS)
        Of each: shared values, their rows, bits of information, weights by rarity, logarithms of the number of columns
        that hold them; see `weigh_values`.
    total_weight : float
        The weight by rarity of all values of the query.
    sizes : ndarray of int64, shape (n,), optional
        Distinct points of each candidate, where it is several columns of numbers that make points.
    """

    hits: Hits
    sums: NDArray[np.int64]
    total_weight: float
    sizes: NDArray[np.int64] | None = None

    def take(self, places: NDArray[np.int64]) -> SharedEvidence:
        """Return some of the candidates, in the order of `places`."""
        sizes = None if self.sizes is None else self.sizes[places]
        return SharedEvidence(self.hits.take(places), self.sums[places], self.total_weight, sizes)


class ValueWeights:
    """The values of a query in every segment of a lake, and what each tells when a column holds it.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    looks_up : bool
        Look the values up; else they are taken to be as rare as those of their kind are in a usual lake.

    Notes
    -----
    How rare a value is depends on all segments, so that results do not depend on how an index is cut, and hardly on how
    many tables the lake has, see `weigh_values`. O(values) for each segment.
    """

    def __init__(self, snapshot: Snapshot, matched: MatchedQuery, looks_up: bool = True) -> None:
        self.searcher = searcher_of(snapshot)
        self.matched = matched
        values = matched.values
        held = HeldValues(np.zeros(len(values), np.int64), 0)
        if looks_up:
            held = matched.held if matched.held is not None else _count_holding(self.searcher, matched)
        n_holding, self.n_columns = held
        self.weights = np.empty((len(values), N_SUMS), np.int64)
        packed = as_read_only(values.data), as_read_only(values.offsets)
        rows = np.ones(len(values), np.int64)  # those of a candidate are counted when it is found
        weigh_values(*packed, n_holding, self.n_columns, rows, self.weights)
        self.n_holding = n_holding

    @property
    def total_weight(self) -> float:
        """The weight by rarity of all values."""
        return float(self.weights[:, WEIGHT].sum()) / SCALE


def _count_holding(searcher: Searcher, matched: MatchedQuery) -> HeldValues:
    """Count the columns of all segments that hold each value, and all that hold any."""
    n_holding = np.zeros(len(matched.values), np.int64)
    n_columns = 0
    for number, segment in enumerate(searcher.segments):
        if segment.n_tokens:
            scratch = searcher.scratch_of(number)
            add_columns(matched.groups(number), scratch.list_lengths, scratch.alive, n_holding)
            n_columns += scratch.n_alive
    return HeldValues(n_holding, n_columns)


def count_evidence(
    snapshot: Snapshot, matched: MatchedQuery, params: SearchParams
) -> tuple[SharedEvidence, SearchStats]:
    """Find every column that shares a value with a query, with what the shared values tell.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    params : SearchParams

    Returns
    -------
    evidence : SharedEvidence
        Of the columns that the search may return and that reach its threshold.
    stats : SearchStats

    Notes
    -----
    O(values + postings of the distinct posting lists).
    """
    hits, stats = searcher_of(snapshot).find_all(matched, params)
    return evidence_of(snapshot, matched, hits, is_by_equality=True), stats


def evidence_of(snapshot: Snapshot, matched: MatchedQuery, hits: Hits, is_by_equality: bool) -> SharedEvidence:
    """Sum what the shared values tell of some candidates.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    hits : Hits
    is_by_equality : bool
        The candidates share values as they are; else, and where the counts are estimates, each candidate is taken to
        share values that are like the query's on the average.

    Returns
    -------
    SharedEvidence

    Notes
    -----
    Either the sets of the candidates are read or the posting lists of the query, whichever are shorter. O(values +
    the shorter of both).
    """
    summed = np.flatnonzero(np.isnan(hits.errors)) if is_by_equality else np.empty(0, np.int64)
    is_whole = summed.size == len(hits)
    known = ValueWeights(snapshot, matched, looks_up=is_whole or summed.size > 0 or not is_by_equality)
    sums, rows = np.zeros((len(hits) + 1, N_SUMS), np.int64), np.arange(1, len(hits) + 1)
    if not is_whole:
        means = known.weights.mean(axis=0) if len(matched.values) else np.zeros(N_SUMS)
        means[[COUNT, ROWS]] = 1
        sums[1:] = np.rint(hits.matched[:, None] * means)
        sums[1 + summed] = 0
    for number, own in (hits if is_whole else hits.take(summed)).by_segment():
        places = own if is_whole else summed[own]
        _add_shared(known, number, hits.columns[places], rows[places], sums)
    sums[1:, ROWS] = hits.matched_rows
    return SharedEvidence(hits, sums[1:], known.total_weight)


def _add_shared(
    known: ValueWeights, number: int, columns: NDArray[np.int64], rows: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    """Sum the weights of the values that some distinct columns of a segment share, in a row for each."""
    segment, groups = known.searcher.segments[number], known.matched.groups(number)
    tokens, lists, list_sums = (
        segment.tokens,
        np.empty(groups.size, np.uint32),
        np.empty((groups.size, N_SUMS), np.int64),
    )
    with known.searcher.scratch_of(number).lend() as arrays:
        row_of, places = arrays.tally.counts, arrays.tally.list_weights
        row_of[columns] = rows
        scratch = Sums(sums, row_of, places, lists, list_sums)
        n_lists, n_postings = collect_evidence(groups, known.weights, tokens.list_indptr, scratch)
        with reading_postings(segment):
            if n_postings < int((tokens.set_indptr[columns + 1] - tokens.set_indptr[columns]).sum()):
                add_lists(n_lists, lists_of(segment), scratch)
            else:
                add_sets(columns, tokens.set_indptr, tokens.set_lists, scratch)
        row_of[columns] = 0
        places[lists[:n_lists]] = 0
