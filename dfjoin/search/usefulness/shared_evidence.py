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
    clear_evidence,
    collect_evidence,
    weigh_values,
)
from dfjoin.kernels.records import as_read_only
from dfjoin.search.exact.costs import COUNTED_POSTING_BYTES
from dfjoin.search.exact.posting_lists import WorkArrays, allowed_columns, reading_postings
from dfjoin.search.exact.searcher import MatchedQuery, Searcher, searcher_of, smallest_count
from dfjoin.search.hits import Hits, join_hits
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
    is_weighted : bool
        Sum the rows of the values, too.
    looks_up : bool
        Look the values up; else they are taken to be as rare as those of their kind are in a usual lake.

    Notes
    -----
    How rare a value is depends on all segments, so that results do not depend on how an index is cut, and hardly on how
    many tables the lake has, see `weigh_values`. O(values) for each segment.
    """

    def __init__(self, snapshot: Snapshot, matched: MatchedQuery, is_weighted: bool, looks_up: bool = True) -> None:
        self.searcher = searcher_of(snapshot)
        self.matched = matched
        values = matched.values
        held = HeldValues(np.zeros(len(values), np.int64), 0)
        if looks_up:
            held = matched.held if matched.held is not None else _count_holding(self.searcher, matched)
        n_holding, self.n_columns = held
        self.weights = np.empty((len(values), N_SUMS), np.int64)
        rows = values.row_counts() if is_weighted else np.ones(len(values), np.int64)
        packed = as_read_only(values.data), as_read_only(values.offsets)
        weigh_values(*packed, n_holding, self.n_columns, rows, self.weights)
        self.n_holding = n_holding

    @property
    def total_weight(self) -> float:
        """The weight by rarity of all values."""
        return float(self.weights[:, WEIGHT].sum()) / SCALE

    def scratch(self, arrays: WorkArrays) -> Sums:
        """Return work arrays of a segment, to sum in."""
        n = len(self.matched.values)
        tally = arrays.tally
        list_sums = np.empty((n, N_SUMS), np.int64)
        return Sums(arrays.sums, tally.list_weights, tally.columns, np.empty(n, np.uint32), list_sums)


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
    n_values = len(matched.values)
    stats = SearchStats(plan="mergelist", n_values=n_values)
    if n_values == 0:
        return SharedEvidence(join_hits([]), np.empty((0, N_SUMS), np.int64), 0.0), stats
    known = ValueWeights(snapshot, matched, params.is_weighted)
    ranked_by = ROWS if params.is_weighted else COUNT
    total = int(known.weights[:, ROWS].sum()) if params.is_weighted else n_values
    minimum = smallest_count(params.threshold, total)
    parts: list[Hits] = []
    sums: list[NDArray[np.int64]] = [np.empty((0, N_SUMS), np.int64)]
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens == 0:
            continue
        tokens, groups = segment.tokens, matched.groups(number)
        with known.searcher.scratch_of(number).lend() as arrays:
            scratch = known.scratch(arrays)
            n_met, n_lists, n_postings = collect_evidence(groups, known.weights, tokens.list_indptr, scratch)
            with reading_postings(segment):
                n_met = add_lists(n_lists, n_met, tokens.list_indptr, tokens.list_columns, scratch)
            columns = np.sort(scratch.met[:n_met]).astype(np.int64)  # records are read from front to back
            own = scratch.sums[columns]
            clear_evidence(n_lists, scratch.met[:n_met], scratch)
        allowed = allowed_columns(segment, params)
        if minimum > 1 or allowed.size:
            is_wanted = own[:, ranked_by] >= minimum
            if allowed.size:
                is_wanted &= allowed[columns] > 0
            columns, own = columns[is_wanted], own[is_wanted]
        sums.append(own)
        parts.append(
            Hits(
                np.full(columns.size, number, np.int64),
                columns,
                own[:, COUNT].copy(),
                own[:, ranked_by].copy(),
                segment.catalog.numbers["cardinality"][columns],
                np.full(columns.size, np.nan),
            )
        )
        stats.n_found += int(np.count_nonzero(groups >= 0))
        stats.lists_read += n_lists
        stats.postings_read += n_postings
    stats.bytes_read = stats.postings_read * COUNTED_POSTING_BYTES
    return SharedEvidence(
        join_hits(parts), sums[-1] if len(parts) == 1 else np.concatenate(sums), known.total_weight
    ), stats


def evidence_of(snapshot: Snapshot, matched: MatchedQuery, hits: Hits, is_by_equality: bool) -> SharedEvidence:
    """Sum what the shared values tell over the sets of some candidates.

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
    O(values + entries of the sets).
    """
    is_summed = np.isnan(hits.errors) & is_by_equality
    known = ValueWeights(snapshot, matched, False, looks_up=bool(is_summed.any()) or not is_by_equality)
    means = known.weights.mean(axis=0) if len(matched.values) else np.zeros(N_SUMS)
    means[[COUNT, ROWS]] = 1
    sums = np.rint(hits.matched[:, None] * means).astype(np.int64)
    sums[:, ROWS] = hits.matched_rows
    for number in np.unique(hits.segments[is_summed]).tolist():
        segment = snapshot.segments[number]
        tokens = segment.tokens
        places = np.flatnonzero(is_summed & (hits.segments == number))
        columns = hits.columns[places]
        with known.searcher.scratch_of(number).lend() as arrays:
            scratch = known.scratch(arrays)
            groups = matched.groups(number)
            n_met, n_lists, _ = collect_evidence(groups, known.weights, tokens.list_indptr, scratch)
            with reading_postings(segment):
                add_sets(columns, tokens.set_indptr, tokens.set_lists, scratch)
            sums[places] = scratch.sums[columns]
            clear_evidence(n_lists, np.concatenate([scratch.met[:n_met], columns.astype(np.int32)]), scratch)
    return SharedEvidence(hits, sums, known.total_weight)
