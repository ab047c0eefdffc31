"""Ranking candidates by usefulness: scores, families of tables that count as one hit, and what is shown."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import Families, FoldedHits, fold_families
from dfjoin.kernels.lists.usefulness import NOTHING_NEW, SCORE, USEFULNESS, QueryFacts
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Found, Pool
from dfjoin.search.hits import Hits, RankedHits, best_places, rank_hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import (
    SharedEvidence,
    evidence_of,
    families_of,
    query_facts,
    scores_of,
)
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.useful_hits import Usefulness
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import table_size

MOST_RANKED = 50_000
"""Columns that are ranked by usefulness, at most; of more only the best `_RANKED_OF_MORE` by shared values are."""

_RANKED_OF_MORE = 2000

VERDICTS = (("strong", 0.85), ("plausible", 0.5), ("weak", 0.1), ("chance", 0.0))
"""Verdicts, and the smallest score of each."""

_FIRST_LOOK = 500
"""Candidates that are ordered at first: the rest is ordered only if too few families are among them."""


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
    n_all = len(hits)
    if n_all > MOST_RANKED:
        best = best_places(hits, _RANKED_OF_MORE)
        hits = hits.take(best)
        evidence = None if evidence is None else evidence.take(best)
    if evidence is None:
        evidence = evidence_of(snapshot, pool.matched, hits, pool.is_by_equality)
    facts = query_facts(query)
    smallest = params.smallest_score
    scores = scores_of(snapshot, facts, evidence, model().numbers, smallest)
    is_copy = _are_copies(snapshot, facts, hits, scores[NOTHING_NEW] > 0)
    score, useful = scores[SCORE], np.where(is_copy, 0.0, scores[USEFULNESS])
    shown = np.arange(len(hits)) if smallest <= 0 else np.flatnonzero(score >= smallest)
    ranking = _Ranking(snapshot, hits if shown.size == len(hits) else hits.take(shown), useful[shown])
    members = [shown[one] for one in ranking.families(params)]
    heads = np.array([one[0] for one in members], np.int64)
    ranked = rank_hits(snapshot.segments, _as_ranked(hits.take(heads)), None, query.profile.has_range)
    notes = {
        "ranked_by": "useful",
        "n_ranked": len(hits),
        "n_candidates": n_all,
        "n_below": int(len(hits) - shown.size),
        "n_more": max(0, int(shown.size) - sum(one.size for one in members)),
    }
    return ranked, Usefulness(
        score[heads],
        useful[heads],
        is_copy[heads],
        np.array([one.size - 1 for one in members], np.int64),
        evidence,
        members,
        score,
        useful,
        facts,
        notes,
    )


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
    snapshot: Snapshot, facts: QueryFacts, hits: Hits, brings_nothing: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which candidates are in a copy of the frame."""
    is_equal = (hits.matched == facts.n_values) & (hits.cardinality == facts.n_values) & brings_nothing
    if facts.companions.size == 0 or not is_equal.any():
        return np.zeros(len(hits), bool)
    is_copy = is_equal.copy()  # and every column beside it, also one that another column is shared with
    for segment in np.unique(hits.segments[is_equal]).tolist():
        is_here = hits.segments == segment
        tables = facts_of(snapshot.segments[segment]).table_of[hits.columns[is_here]]
        is_copy[is_here] = np.isin(tables, tables[is_equal[is_here]])
    return is_copy


def _as_ranked(hits: Hits) -> Hits:
    """Return hits that are in their order already."""
    parts = hits.segments, hits.columns, hits.matched, hits.matched_rows, hits.cardinality, hits.errors
    return Hits(*parts, is_ranked=True)


class _Ranking:
    """The order of the candidates that may be shown, by usefulness.

    Parameters
    ----------
    snapshot : Snapshot
    hits : Hits
    useful : ndarray of float64, shape (n,)
    """

    def __init__(self, snapshot: Snapshot, hits: Hits, useful: NDArray[np.float64]) -> None:
        self._segments = snapshot.segments
        self._hits = hits
        self._useful = useful
        self._keys = families_of(snapshot, hits)
        self._n_rows = np.empty(len(hits), np.int64)
        for number, own in hits.by_segment():
            self._n_rows[own] = snapshot.segments[number].catalog.numbers["n_rows"][hits.columns[own]]

    def families(self, params: SearchParams) -> list[NDArray[np.int64]]:
        """Fold candidates into families; return the members of each, the one first that stands for it."""
        limit = params.k
        order = self._order(limit)
        members = self._fold(order, limit)
        if params.families and limit is not None and len(members) < limit and order.size < len(self._hits):
            order = self._order(None)  # the first were of few families
            members = self._fold(order, limit)
        return members if params.families else _each_alone(order, members, limit)

    def _order(self, limit: int | None) -> NDArray[np.int64]:
        """Order the candidates; with a limit only so many as its families are likely to be found among."""
        hits, useful = self._hits, self._useful
        places = np.arange(useful.size)
        wanted = useful.size if limit is None else max(_FIRST_LOOK, 20 * limit)
        if wanted < useful.size:
            places = np.flatnonzero(useful >= np.partition(useful, useful.size - wanted)[useful.size - wanted])
        keys = (hits.cardinality[places], -hits.matched_rows[places], -useful[places])
        order = places[np.lexsort((hits.columns[places], hits.segments[places], *keys))]
        return self._by_name(order) if len(self._segments) > 1 else order

    def _by_name(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put candidates of several segments that are equal in all else in the order of their names."""
        hits = self._hits
        keys = np.column_stack([self._useful[order], hits.matched_rows[order], hits.cardinality[order]])
        is_new = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
        starts = np.append(np.flatnonzero(is_new), order.size).tolist()
        for start, end in zip(starts, starts[1:], strict=False):
            tied = order[start:end]
            if end - start > 1 and hits.segments[tied].min() != hits.segments[tied].max():
                order[start:end] = sorted(tied.tolist(), key=self._name)
        return order

    def _name(self, place: int) -> tuple[str, str]:
        """Return the names of the table and the column of a candidate, which Python compares by code point."""
        catalog, column = self._segments[int(self._hits.segments[place])].catalog, int(self._hits.columns[place])
        return catalog.table_name(column), catalog.column_name(column)

    def _fold(self, order: NDArray[np.int64], limit: int | None) -> list[NDArray[np.int64]]:
        """Fold candidates into families, in the order of their most useful members.

        Returned are the members of each family; first stands, of those that may, the one with the last name.
        """
        n, most = len(self._hits), order.size if limit is None else min(limit, order.size)
        indptr, members = np.zeros(most + 1, np.int64), np.empty(n, np.int64)
        first, n_first = np.empty(n, np.int64), np.empty(most, np.int64)
        size = table_size(2 * order.size)
        table = np.empty(size, np.uint64), np.zeros(size, np.int32)
        families = Families(indptr, members, first, n_first, np.zeros(n, np.int32), *table)
        hits = FoldedHits(self._useful, self._hits.matched_rows, self._n_rows, *self._keys)
        ends = indptr[: fold_families(order, hits, most, families) + 1].tolist()
        found = [members[start:end] for start, end in pairwise(ends)]
        if ends[-1] > len(found):
            for own, start, count in zip(found, ends, n_first.tolist(), strict=False):
                places = first[start : start + count].tolist()
                if len(places) > 1:
                    names = [self._name(place) for place in own[places].tolist()]
                    places = [places[names.index(max(names))]]
                head = places[0]
                own[: head + 1] = own[[head, *range(head)]]
        return found


def _each_alone(
    order: NDArray[np.int64], members: list[NDArray[np.int64]], limit: int | None
) -> list[NDArray[np.int64]]:
    """Return each candidate as a family of its own; who stands for a family takes the place of its best member."""
    head_of = {place: int(one[0]) for one in members for place in one.tolist()}
    places = dict.fromkeys(one for place in order.tolist() for one in (head_of.get(place, place), place))
    return [np.array([place]) for place in list(places)[:limit]]
