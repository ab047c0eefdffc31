"""Search for texts that are spelled like others: query values → texts within a radius → columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.index.vector_group import text_tokens, texts_of
from dfjoin.kernels.pivot_grids import count_found
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import QueryVectors, count_equal
from dfjoin.search.embedding.near_evidence import MatchRecord
from dfjoin.search.embedding.near_plans import sealed_queries
from dfjoin.search.embedding.near_search import hits_of, make_tally, postings_of
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, TextReach
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot

__all__ = ["query_texts", "search_similar"]


@dataclass(frozen=True, eq=False)
class _StoredTexts:
    """The texts of a segment's columns of text, prepared, and the token of each."""

    texts: SimilarTexts
    tokens: NDArray[np.uint32]


_PREPARED: WeakValueDictionary[tuple[Path, bool], _StoredTexts] = WeakValueDictionary()
"""Directory of a segment, and whether n-grams are compared → its texts, which all that have it open share."""

_HELD: WeakKeyDictionary[Segment, dict[bool, _StoredTexts]] = WeakKeyDictionary()


def _texts_of_segment(segment: Segment, is_grams: bool) -> _StoredTexts:
    """Return the texts of a segment, prepared when this process first asks for them.

    A segment never changes, so that lakes and versions of one index share them until the last of these is gone.
    """
    held = _HELD.setdefault(segment, {})
    if is_grams not in held:
        tokens = text_tokens(segment)  # compares the postings of each opened segment, which kernels rely on
        place = segment.directory.absolute(), is_grams
        known = _PREPARED.get(place)
        if known is None:
            texts = SimilarTexts(texts_of(segment.tokens, tokens), is_grams)
            known = _PREPARED[place] = _StoredTexts(texts, tokens.astype(np.uint32))
        held[is_grams] = known
    return held[is_grams]


def query_texts(query: QueryColumn, is_grams: bool) -> SimilarTexts:
    """Return the values of a query column as texts; none of a column that is not of text."""
    values = query.values
    if query.profile.kind != "text":
        return SimilarTexts((np.zeros(1, np.int64), np.zeros(8, np.uint8)), is_grams)
    return SimilarTexts((values.offsets, values.data), is_grams)


def search_similar(
    snapshot: Snapshot,
    query: QueryColumn,
    reach: TextReach,
    params: SearchParams,
    record: MatchRecord | None = None,
) -> tuple[Hits, SearchStats]:
    """Find the columns with values that are spelled like those of the query.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    reach : TextReach
    params : SearchParams
    record : MatchRecord, optional
        Takes note of the matches.

    Returns
    -------
    hits : Hits
        Not ranked; all columns that reach the threshold.
    stats : SearchStats

    Notes
    -----
    A query value matches a column if the column holds an equal value, or if the column is of text and holds a value
    within the radius. Each text of the lake is compared once, whatever the number of columns that hold it.
    """
    values = query.values
    counts = values.row_counts().astype(np.int64)
    weights = counts if params.is_weighted else np.ones(len(values), np.int64)
    minimum = smallest_count(params.threshold, int(weights.sum()))
    texts = query_texts(query, reach.is_grams)
    near = np.sort(texts.numbers)
    others = np.setdiff1d(np.arange(len(values)), near)
    stats, read, parts = SearchStats(plan="scan"), np.zeros(2, np.int64), []
    for number, segment in enumerate(snapshot.segments):
        if not segment.n_tokens:
            continue
        stored = _texts_of_segment(segment, reach.is_grams)
        own, postings = match_tokens(values, segment.tokens), postings_of(segment)
        tally = make_tally(segment, params.count == "all", record)
        stats.n_found += int(np.count_nonzero(own >= 0))
        count_equal(own[others], others, weights[others], postings, tally)
        is_met = np.zeros(len(values), bool)
        for found in stored.texts.near(texts, reach, read):
            order = np.argsort(found.queries, kind="stable")
            numbers, places = found.queries[order], stored.tokens[found.texts[order]]
            met, starts = np.unique(numbers, return_index=True)
            is_met[met] = True
            indptr = as_read_only(np.append(starts, numbers.size).astype(np.int64))
            steps = as_read_only(np.arange(places.size))
            count_found(indptr, steps, as_read_only(places), _queries(met, own, weights), postings, tally)
            stats.near_pairs += places.size
        rest = near[~is_met[near]]
        count_equal(own[rest], rest, weights[rest], postings, tally)
        parts.append(hits_of(tally, segment, number, minimum, params))
        if record is not None:
            record.add(tally, segment.alive, parts[-1].columns)
    stats.signatures_compared, stats.distances = int(read[0]), int(read[1])
    stats.n_values = len(values)
    return join_hits(parts), stats


def _queries(numbers: NDArray[np.int64], own: NDArray[np.int64], weights: NDArray[np.int64]) -> QueryVectors:
    """Return query values without vectors, as their matches are counted."""
    none = np.empty((numbers.size, 0), np.float32)
    return sealed_queries(QueryVectors(none, none, numbers, own[numbers], weights[numbers]))
