"""Ranking candidates by usefulness: scores, families of tables that count as one hit, and what is shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import Families, FoldedHits, fold_families
from dfjoin.kernels.lists.usefulness import NOTHING_NEW, SCORE, USEFULNESS, QueryFacts
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Found, Pool, Usefulness
from dfjoin.search.hits import Hits, RankedHits, best_positions, rank_hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import (
    SharedEvidence,
    evidence_of,
    folded_of,
    query_facts,
    scores_of,
)
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import table_size

MOST_RANKED = 50_000
"""Columns that are ranked by usefulness, at most; of more only the best `_RANKED_OF_MORE` by shared values are."""

_RANKED_OF_MORE = 2000

VERDICTS = (("strong", 0.85), ("plausible", 0.5), ("weak", 0.1), ("chance", 0.0))
"""Verdicts, and the smallest score of each."""


def verdict_of(score: float) -> str:
    """Return the verdict of a score: strong, plausible, weak or chance."""
    for name, smallest in VERDICTS:
        if score >= smallest:
            return name
    return VERDICTS[-1][0]


def rank_useful(
    snapshot: Snapshot, query: QueryColumn, pool: Pool, params: SearchParams
) -> tuple[RankedHits, Usefulness]:
    """Rank candidates by usefulness.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    pool : Pool
    params : SearchParams

    Returns
    -------
    ranked : RankedHits
        One hit for each family, unless `params.families` is False. Order: usefulness, matched values (or rows)
        descending, cardinality ascending, table and column by code point. Without families the hit that would stand
        for its family takes the place of the best of it, so that the first hits of all families come in one order.
    usefulness : Usefulness
        Of these hits.

    Notes
    -----
    Columns of one name in tables of one family (see `LakeFacts.family`) or of the same content count as one hit: the
    one that shares the most values, has the most rows and the last name among those that are nearly as useful as the
    best of them. A hit whose table brings no other header comes after all that bring one and have a score of 0.5 or
    more. The columns of a copy of the frame have no usefulness, so that they come last. O(candidates).
    """
    hits, evidence = pool.hits, pool.evidence
    if len(hits) > MOST_RANKED:
        best = best_positions(hits, _RANKED_OF_MORE)
        hits = hits.take(best)
        evidence = None if evidence is None else evidence.take(best)
    if evidence is None:
        evidence = evidence_of(snapshot, pool.matched, hits, pool.is_by_equality)
    n, facts, smallest = len(hits), query_facts(query), params.smallest_score
    scores = scores_of(snapshot, facts, evidence, model().numbers, smallest)
    is_copy = _are_copies(snapshot, facts, hits, scores[NOTHING_NEW])
    score, useful = scores[SCORE], np.where(is_copy, 0.0, scores[USEFULNESS])
    shown = np.arange(n) if smallest <= 0 else np.flatnonzero(score >= smallest)
    indptr, members = _fold(snapshot, hits, useful, shown, params)
    heads = members[indptr[:-1]]
    ranked = rank_hits(snapshot.segments, hits.take(heads, is_ranked=True), None, query.profile.has_range)
    notes = {
        "ranked_by": "useful",
        "n_ranked": n,
        "n_candidates": len(pool.hits),
        "n_below": n - shown.size,
        "n_more": max(0, shown.size - members.size),
    }
    given = (score[heads], useful[heads], is_copy[heads], indptr, members)
    return ranked, Usefulness(*given, evidence, score, useful, facts, notes)


def rank_pool(snapshot: Snapshot, query: QueryColumn, pool: Pool, params: SearchParams) -> Found:
    """Return what was found for a query column, its candidates ranked by usefulness."""
    ranked, useful = rank_useful(snapshot, query, pool, params)
    if pool.found is not None:
        return pool.found.ranked(ranked, useful)
    return Found(query, ranked, pool.stats, pool.matched, useful=useful)


def score_hits(
    query: QueryColumn, matched: MatchedQuery, hits: Hits, evidence: SharedEvidence | None = None
) -> NDArray[np.float64]:
    """Return the score of some candidates that share values as they are, however they are ranked, shape (n,).

    Parameters
    ----------
    query : QueryColumn
    matched : MatchedQuery
    hits : Hits
    evidence : SharedEvidence, optional
        What their shared values tell, where it was summed already.

    Notes
    -----
    Where all counts are estimates, no value is looked up: their rarity is that of a usual lake. O(values + sets).
    """
    snapshot = matched.snapshot
    if evidence is None:
        evidence = evidence_of(snapshot, matched, hits, is_by_equality=True)
    return scores_of(snapshot, query_facts(query), evidence, model().numbers)[SCORE]


def _are_copies(
    snapshot: Snapshot, facts: QueryFacts, hits: Hits, brings_nothing: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell which candidates are in a copy of the frame: all columns of its tables."""
    is_copy = np.zeros(len(hits), bool)
    equal = np.flatnonzero(hits.matched == facts.n_values) if facts.companions.size else np.empty(0, np.int64)
    equal = equal[(hits.cardinality[equal] == facts.n_values) & (brings_nothing[equal] > 0)]
    for number in set(hits.segments[equal].tolist()):
        table_of = facts_of(snapshot.segments[number]).table_of
        is_of_copy = np.zeros(int(table_of[-1]) + 1, bool)
        is_of_copy[table_of[hits.columns[equal[hits.segments[equal] == number]]]] = True
        is_here = hits.segments == number
        is_copy[is_here] = is_of_copy[table_of[hits.columns[is_here]]]
    return is_copy


def _fold(
    snapshot: Snapshot, hits: Hits, useful: NDArray[np.float64], shown: NDArray[np.int64], params: SearchParams
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fold the candidates that may be shown into families, the most useful first.

    Returned are the bounds of each family, and the places of its members among all candidates, the one first that
    stands for it. Without families each candidate is alone; who stands for its family takes the place of its best one.
    """
    n = shown.size
    limit = n if params.k is None else min(params.k, n)
    folded = FoldedHits(
        useful[shown], hits.matched_rows[shown], hits.cardinality[shown], folded_of(snapshot, hits, shown)
    )
    indptr, members, heap = np.zeros(limit + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    size = table_size(2 * n)
    families = Families(
        indptr, members, heap, np.zeros(n, np.int32), np.empty(size, np.int64), np.zeros(size, np.int32)
    )
    n_families, n_read = fold_families(folded, limit, families)
    indptr = indptr[: n_families + 1]
    members = members[: indptr[-1]]
    if not params.families:
        heads, sizes = members[indptr[:-1]], np.diff(indptr)
        head_of = dict(zip(members.tolist(), np.repeat(heads, sizes).tolist(), strict=True))
        positions = dict.fromkeys(
            one for position in heap[::-1][:n_read].tolist() for one in (head_of[position], position)
        )
        members = np.array(list(positions)[:limit], np.int64)
        indptr = np.arange(members.size + 1)
    return indptr, shown[members]
