"""A search in parts: groups of segments are searched one by one, wherever that is, and merged to the same result.

A column lives in one segment, so that the best columns of each group, merged, are the best of the lake. What a mode has
to know of the whole lake, as the number of columns that hold a value, is counted over all groups first.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Found, Pool
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import join_hits, rank_hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues, QueryColumn, digit_range, integers_among
from dfjoin.search.usefulness.features import LOOKED_AT, SharedEvidence, ValueWeights, count_evidence
from dfjoin.search.usefulness.ranking import rank_pool
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import PackedTexts, ValueSet, pack_strings
from dfjoin.values.profile import Profile, kind_of_classes, present_classes, profile_values


def group_segments(snapshot: Snapshot, n_groups: int) -> list[tuple[int, ...]]:
    """Divide the segments of a lake into groups of about as many bytes.

    Parameters
    ----------
    snapshot : Snapshot
    n_groups : int
        The most groups.

    Returns
    -------
    list of tuple of int
        Numbers of segments, none of a group empty; the largest segments are dealt out first.
    """
    sizes = {number: segment.meta.size for number, segment in enumerate(snapshot.segments)}
    groups: list[list[int]] = [[] for _ in range(min(n_groups, len(sizes)))]
    filled = [0] * len(groups)
    for number in sorted(sizes, key=lambda one: -sizes[one]):
        least = filled.index(min(filled))
        groups[least].append(number)
        filled[least] += sizes[number]
    return [tuple(sorted(group)) for group in groups]


def search_group(
    group: Snapshot, numbers: Sequence[int], query: QueryColumn, counts: HeldCounts, params: SearchParams
) -> GroupHits:
    """Search a group of segments for one query column.

    Parameters
    ----------
    group : Snapshot
        Of these segments alone.
    numbers : sequence of int
        Their numbers in the whole lake.
    query : QueryColumn
    counts : HeldCounts
        Of the whole lake, where the mode asks for them.
    params : SearchParams

    Returns
    -------
    GroupHits
        All that the ranking of the whole lake needs; of more columns than it ranks by usefulness the best by matched
        values.
    """
    found = mode_of(params.mode).search_group(group, query, counts, params)
    hits = found.hits
    segments = np.array(numbers, np.int64)[hits.segments] if len(hits) else hits.segments
    return replace(found, hits=replace(hits, segments=segments, is_ranked=False))


def merge_groups(
    snapshot: Snapshot, query: QueryColumn, parts: Sequence[GroupHits], counts: HeldCounts, params: SearchParams
) -> Found:
    """Merge what the searches of all groups found.

    Parameters
    ----------
    snapshot : Snapshot
        The whole lake.
    query : QueryColumn
    parts : sequence of GroupHits
        Of each group.
    counts : HeldCounts
        As the groups were searched with.
    params : SearchParams

    Returns
    -------
    Found
        As a search of the whole lake has it, but for the statistics of what was read.
    """
    hits = join_hits([part.hits for part in parts])
    order = np.lexsort((hits.columns, hits.segments))
    kept = [part.kept for part in parts if len(part.hits)]
    merged = GroupHits(
        hits.take(order),
        np.concatenate(kept)[order] if kept else np.empty((0, 0), np.int64),
        max((part.total_weight for part in parts), default=0.0),
    )
    found = mode_of(params.mode).merge_groups(snapshot, query, merged, counts, params)
    return found if isinstance(found, Found) else rank_pool(snapshot, query, found, params)


_MOST_LENGTH, _TOO_LONG = 19, 10**18
"""Characters of an integer of 18 digits with its sign, and the first integer of 19 digits, which has as many."""

_SHORT = -(10**17)
"""Negative integers above this one have at most 18 characters."""


@dataclass(frozen=True)
class ValueSummary:
    """What the ranking asks of the values of a query column, in parts that can be added.

    Parameters
    ----------
    n_values, n_rows : int
    present : int
        Classes of the values, see `present_classes`.
    has_range : bool
        All values are integers of at most 18 digits.
    digits : tuple of int or None
        The smallest and the largest value, where all are digits.
    integers : ndarray of int64, sorted
        The values that are integers of at most 18 digits.
    first : list of (int, str)
        The first values, each with the place of its first row.
    """

    n_values: int
    n_rows: int
    present: int
    has_range: bool
    digits: tuple[int, int] | None
    integers: NDArray[np.int64]
    first: list[tuple[int, str]]

    @classmethod
    def of(cls, values: ValueSet, n_rows: int, positions: NDArray[np.int64]) -> ValueSummary:
        """Summarise values; `positions` tell where the first row of each stands."""
        order = np.argsort(positions)[:LOOKED_AT]
        integers = np.sort(integers_among(values, _MOST_LENGTH))
        return cls(
            len(values),
            n_rows,
            present_classes(values),
            profile_values(values, pa.string(), has_texts=False).has_range,
            digit_range(values),
            integers[(integers > -_TOO_LONG) & (integers < _TOO_LONG)],
            [(int(positions[code]), values.value(code)) for code in order.tolist()],
        )

    @classmethod
    def sum(cls, parts: Sequence[ValueSummary]) -> ValueSummary:
        """Add the summaries of ranges of values; of ranges without values nothing is said."""
        parts = [part for part in parts if part.n_values]
        digits = [part.digits for part in parts if part.digits is not None]
        is_digits = 0 < len(digits) == len(parts)
        return cls(
            sum(part.n_values for part in parts),
            sum(part.n_rows for part in parts),
            functools.reduce(operator.or_, (part.present for part in parts), 0),
            bool(parts) and all(part.has_range for part in parts),
            (min(low for low, _ in digits), max(high for _, high in digits)) if is_digits else None,
            np.sort(np.concatenate([np.empty(0, np.int64), *(part.integers for part in parts)])),
            sorted(one for part in parts for one in part.first)[:LOOKED_AT],
        )


@dataclass(frozen=True)
class LongQuery(QueryColumn):
    """A query column of which a summary is here alone; `values` are the first ones.

    Parameters
    ----------
    summary : ValueSummary
        Of all values.
    """

    summary: ValueSummary | None = None

    @classmethod
    def make(
        cls, name: str, type_: pa.DataType, summary: ValueSummary, params: SearchParams, companions: tuple[str, ...]
    ) -> LongQuery:
        """Make the query column of a name and a type that a summary is of."""
        data, offsets = pack_strings([text for _, text in summary.first])
        n = len(summary.first)
        values = ValueSet(PackedTexts(np.zeros(n, np.uint64), data, offsets), np.zeros(n, np.int8))
        kind = kind_of_classes(summary.present, type_)
        has_range = summary.has_range and kind == "integer"
        low, high = (int(summary.integers[0]), int(summary.integers[-1])) if has_range else (0, 0)
        ends = (str(low), str(high)) if has_range else ("", "")
        profile = Profile(kind, summary.n_values, has_range, low, high, *ends)
        column = pd.Series([], dtype=object, name=name)
        return cls(name, name, column, values, profile, params.pad, params.dayfirst, companions, summary=summary)

    @property
    def _summary(self) -> ValueSummary:
        assert self.summary is not None
        return self.summary

    @property
    def n_values(self) -> int:
        """As in `QueryColumn`."""
        return self._summary.n_values

    @property
    def n_non_null(self) -> int:
        """As in `QueryColumn`."""
        return self._summary.n_rows

    @property
    def integers(self) -> NDArray[np.int64]:  # type: ignore[override]
        """As in `QueryColumn`."""
        return self._summary.integers

    @property
    def held_integers(self) -> NDArray[np.int64]:  # type: ignore[override]
        """As in `QueryColumn`."""
        integers = self._summary.integers
        return integers if self.profile.has_range else integers[np.searchsorted(integers, _SHORT, "right") :]

    @property
    def digit_range(self) -> tuple[int, int] | None:  # type: ignore[override]
        """As in `QueryColumn`."""
        return self._summary.digits


def count_values(
    groups: Iterable[tuple[Sequence[int], Snapshot]], values: ValueSet, params: SearchParams
) -> SharedEvidence:
    """Search all segments for a part of the values of a query.

    Parameters
    ----------
    groups : iterable of (sequence of int, Snapshot)
        The segments of the lake in groups, with their numbers, one after the other; they are gone through twice.
    values : ValueSet
        Its `codes` have the rows of each, where the search is by rows.
    params : SearchParams

    Returns
    -------
    SharedEvidence
        Of all columns that share one of the values, whatever the threshold.
    """
    groups = list(groups)
    n_holding, n_columns = np.zeros(len(values), np.int64), 0
    for _, group in groups:
        weights = ValueWeights(group, MatchedQuery(group, values))
        n_holding, n_columns = n_holding + weights.n_holding, n_columns + weights.n_columns
    held, every, parts = HeldValues(n_holding, n_columns), replace(params, threshold=None), []
    for numbers, group in groups:
        evidence, _ = count_evidence(group, MatchedQuery(group, values, held), every)
        segments = np.asarray(numbers, np.int64)[evidence.hits.segments]
        parts.append(replace(evidence, hits=replace(evidence.hits, segments=segments)))
    hits, sums = join_hits([part.hits for part in parts]), np.concatenate([part.sums for part in parts])
    return SharedEvidence(hits, sums, parts[0].total_weight)


def rank_ranges(snapshot: Snapshot, query: LongQuery, evidence: SharedEvidence, params: SearchParams) -> Found:
    """Rank the columns that were found for all parts of a query.

    Parameters
    ----------
    snapshot : Snapshot
    query : LongQuery
    evidence : SharedEvidence
        Sums over the parts, of the columns that reach the threshold; by usefulness the best `MOST_RANKED` + 1 of them
        by matched values are enough.
    params : SearchParams

    Returns
    -------
    Found
        As a search for the whole query has it, but for the statistics of what was read.
    """
    hits = evidence.hits
    evidence = evidence.take(np.lexsort((hits.columns, hits.segments)))
    matched, stats = MatchedQuery(snapshot, query.values), SearchStats(plan="ranges", n_values=query.n_values)
    if params.is_by_usefulness:
        return rank_pool(snapshot, query, Pool(evidence.hits, matched, stats, evidence), params)
    ranked = rank_hits(snapshot.segments, evidence.hits, params.k, query.profile.has_range)
    return Found(query, ranked, stats, matched, evidence=evidence.take(ranked.order))
