"""Counting what lies within the radius of query values: the hits of a search by distance, and what its matches say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.index.vector_group import text_columns
from dfjoin.kernels.lists.evidence import BITS, N_SUMS, SCALE, WEIGHT, add_matches, weigh_values
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import NO_LOG, MatchLog, MatchTally, QueryVectors, TokenColumns, count_equal
from dfjoin.search.exact.posting_lists import allowed_columns, match_tokens
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.group_hits import HeldCounts
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.store.snapshot import Snapshot

QUERIES_AT_ONCE = 1024
"""Query values that are compared at once, at most."""

MOST_PAIRS = 1 << 24
"""Pairs that are held at once; fewer query values are compared together where they have more."""

_ROOM = 1 << 23
"""Pairs of a value and a column that are noted in a segment at most; 64 MB."""


class CountedSets(NamedTuple):
    """What is counted in a segment: its columns, or sets of its columns whose rows are points.

    Parameters
    ----------
    segment : Segment
    number : int
        Of the segment.
    columns : ndarray of int, shape (n_sets, n_columns)
        The columns of each set; a hit names the first one.
    sizes : ndarray of int, shape (n_sets,)
        Distinct values or points of each.
    """

    segment: Segment
    number: int
    columns: NDArray[np.integer]
    sizes: NDArray[np.integer]


class TextSegment(NamedTuple):
    """A segment whose texts are compared with those of a query.

    Parameters
    ----------
    segment : Segment
    own : ndarray of int64, shape (n_values,)
        The token of each query value, -1 for none.
    postings : TokenColumns
        Compared whole; columns of text may be matched by distance.
    tally : MatchTally
    """

    segment: Segment
    own: NDArray[np.int64]
    postings: TokenColumns
    tally: MatchTally


class DistanceSearch:
    """One query on its way through the segments of an index.

    Parameters
    ----------
    query : QueryColumn
    params : SearchParams
    record : MatchRecord, optional
        Takes note of the matches.

    Attributes
    ----------
    weights : ndarray of int64, shape (n_values,)
        What a match of each value counts.
    minimum : int
        Smallest score of a hit.
    """

    def __init__(self, query: QueryColumn, params: SearchParams, record: MatchRecord | None = None) -> None:
        counts = query.values.row_counts().astype(np.int64)
        self.query, self.params, self.record = query, params, record
        self.weights = counts if params.is_weighted else np.ones(len(query.values), np.int64)
        self.minimum = smallest_count(params.threshold, int(self.weights.sum()))

    @property
    def needed(self) -> int:
        """Score that columns have to be able to reach while they are counted; 0 where every match is wanted."""
        return 0 if self.params.count == "all" or self.record is not None else self.minimum

    def tally(self, n_sets: int, n_lists: int) -> MatchTally:
        """Return the counts of sets, all zero."""
        stamps = np.full(n_sets, -1, np.int64), np.full(n_lists, -1, np.int64)
        log = NO_LOG if self.record is None else self.record.log()
        return MatchTally(
            np.zeros(n_sets, np.int64), np.zeros(n_sets, np.int64), *stamps, self.params.count == "all", log
        )

    def queries(
        self,
        chosen: NDArray[np.int64],
        own: NDArray[np.int64] | None = None,
        rows: NDArray[np.floating] | None = None,
        features: NDArray[np.float32] | None = None,
        radii: NDArray[np.float64] | float = 0.0,
    ) -> QueryVectors:
        """Return some values of the query as kernels take them.

        Parameters
        ----------
        chosen : ndarray of int64
        own : ndarray of int64, shape (n_values,), optional
            The token of each value of the query.
        rows, features, radii : ndarray, optional
            Of the chosen ones; a radius may be that of all.
        """
        none = np.empty((chosen.size, 0), np.float32)
        tokens = np.full(chosen.size, -1, np.int64) if own is None else own[chosen]
        return QueryVectors(
            none if features is None else features,
            none if rows is None else rows,
            chosen,
            tokens,
            self.weights[chosen],
            np.full(chosen.size, radii) if isinstance(radii, float) else radii,
        )

    def count_equal(self, part: TextSegment, chosen: NDArray[np.int64]) -> None:
        """Count the columns that hold values equal to some of the query."""
        if chosen.size:
            count_equal(part.own[chosen], chosen, self.weights[chosen], part.postings, part.tally)

    def hits(self, tally: MatchTally, counted: CountedSets) -> tuple[Hits, NDArray[np.int64]]:
        """Return the sets that reach the threshold, as hits and as numbers; of many those that may be the best."""
        scores, columns, k = tally.scores, counted.columns, self.params.k
        allowed = allowed_columns(counted.segment, self.params)
        if allowed.size:
            scores = np.where((allowed[columns] > 0).all(axis=1), scores, 0)
        sets = np.flatnonzero(scores >= self.minimum)
        if k is not None and sets.size > k:
            sets = sets[scores[sets] >= np.partition(scores[sets], sets.size - k)[sets.size - k]]
        if self.record is not None:
            alive = counted.segment.alive
            self.record.add(tally, None if alive is None else alive[columns].min(axis=1), sets)
        of_sets = columns[sets, 0].astype(np.int64), tally.hits[sets], scores[sets], np.asarray(counted.sizes)[sets]
        return Hits(np.full(sets.size, counted.number, np.int64), *of_sets, np.full(sets.size, np.nan)), sets

    def through_texts(
        self, snapshot: Snapshot, equal: NDArray[np.int64], count: Callable[[TextSegment], SearchStats]
    ) -> tuple[Hits, SearchStats]:
        """Count the columns of all segments.

        Parameters
        ----------
        snapshot : Snapshot
        equal : ndarray of int64
            Query values that match equal ones alone.
        count : callable
            Counts what matches the others, in a segment; returns what it read.

        Returns
        -------
        hits : Hits
            Not ranked; all columns that reach the threshold.
        stats : SearchStats
        """
        parts, stats = [], SearchStats()
        for number, segment in enumerate(snapshot.segments):
            if not segment.n_tokens:
                continue
            tokens = segment.sound_tokens("group", "list_indptr", "list_columns")
            postings = TokenColumns(
                tokens.group, tokens.list_indptr, tokens.list_columns, as_read_only(text_columns(segment))
            )
            own = match_tokens(self.query.values, segment.tokens)
            tally = self.tally(segment.n_columns, tokens.list_indptr.size - 1)
            part = TextSegment(segment, own, postings, tally)
            self.count_equal(part, equal)
            read = count(part)
            read.n_found = int(np.count_nonzero(own >= 0))
            stats.add(read)
            every = np.arange(segment.n_columns)[:, None]
            counted = CountedSets(segment, number, every, segment.catalog.numbers["cardinality"])
            parts.append(self.hits(tally, counted)[0])
        stats.n_values = len(self.query.values)
        return join_hits(parts), stats


def has_room(n_noted: NDArray[np.int64]) -> bool:
    """Tell whether so many matches of each part can be noted by one search."""
    return bool(np.all(n_noted <= _ROOM))


@dataclass
class MatchRecord:
    """The matches of a search by distance, part by part: a segment, or a space of points of one.

    Parameters
    ----------
    query : QueryColumn
    most_near : int
        Values near a query value that are counted; of those that have more so many count.
    """

    query: QueryColumn
    most_near: int = np.iinfo(np.int64).max
    _parts: list[tuple[MatchLog, int, NDArray[np.int64]]] = field(default_factory=list)
    _n_columns: int = 0

    def log(self) -> MatchLog:
        """Return an empty log for the next part; memory is taken as it fills."""
        queries, columns = np.empty((2, _ROOM), np.int32)
        return MatchLog(queries, columns, np.zeros(len(self.query.values), np.int64), np.zeros(1, np.int64))

    def add(self, tally: MatchTally, alive: NDArray[np.uint8] | None, chosen: NDArray[np.int64]) -> None:
        """Keep what was noted in a part.

        Parameters
        ----------
        tally : MatchTally
            With a log.
        alive : ndarray of uint8 or None
            1 for each column that counts; None: all.
        chosen : ndarray of int64
            The columns that are hits, in the order of the hits.
        """
        log, n = tally.log, min(int(tally.log.size[0]), tally.log.columns.size)
        queries, columns = log.queries[:n], log.columns[:n]
        if alive is not None:
            is_alive = alive[columns] > 0
            queries, columns = queries[is_alive], columns[is_alive]
        self._parts.append((log._replace(queries=queries, columns=columns), tally.hits.size, chosen))
        self._n_columns += tally.hits.size if alive is None else int(np.count_nonzero(alive))

    @property
    def n_noted(self) -> NDArray[np.int64]:
        """The matches of each part, those that had no room too."""
        return np.array([int(log.size[0]) for log, _, _ in self._parts], np.int64)

    def held(self) -> HeldCounts:
        """Count the columns that match each value, and the values that lie near it."""
        values = self.query.values
        n_holding, n_near = np.zeros((2, len(values)), np.int64)
        for log, _, _ in self._parts:
            n_holding += np.bincount(log.queries, minlength=len(values))
            n_near += np.minimum(log.n_near, self.most_near)  # so many in each part, whatever was found first
        is_held = (n_holding > 0) | (n_near > 0)
        order = np.argsort(values.hashes)
        order = order[is_held[order]]
        n_full = int(np.count_nonzero(self.n_noted > _ROOM))
        return HeldCounts(values.hashes[order], n_holding[order], self._n_columns, n_near[order], n_full)

    def evidence(self, hits: Hits, held: HeldCounts | None = None) -> SharedEvidence | None:
        """Sum what the matches tell; None where a log had no room for all.

        Parameters
        ----------
        hits : Hits
            Of all parts, in their order.
        held : HeldCounts, optional
            Of the whole lake, where the parts are those of a group of its segments.

        Notes
        -----
        As `weigh_values`, with two differences: a value is as rare as the columns are that match it within the radius,
        and its information is less by the logarithm of the values that lie so near, since any of them would have
        matched. O(matches).
        """
        held = self.held() if held is None else held
        if held.n_full:
            return None
        values = self.query.values
        n_holding, n_near = held.of(values.hashes), np.minimum(held.near_of(values.hashes), self.most_near)
        weights = np.empty((len(values), N_SUMS), np.int64)
        n_rows = values.row_counts().astype(np.int64)
        weigh_values(values.data, values.offsets, n_holding, held.total, n_rows, weights)
        chance = np.log2(np.maximum(1, n_near)) * SCALE
        weights[:, BITS] = np.maximum(0, weights[:, BITS] - np.rint(chance).astype(np.int64))
        sums = [np.empty((0, N_SUMS), np.int64)]
        for log, n_columns, chosen in self._parts:
            own = np.zeros((n_columns, N_SUMS), np.int64)
            add_matches(log.queries, log.columns, weights, own)
            sums.append(own[chosen])
        sizes = hits.cardinality if self.query.kind == "point" else None
        return SharedEvidence(hits, np.concatenate(sums), float(weights[:, WEIGHT].sum()) / SCALE, sizes)
