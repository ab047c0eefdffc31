"""Ranking candidates by usefulness: scores, families of tables that count as one hit, and what is shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Found, Pool
from dfjoin.search.hits import Hits, RankedHits, rank_hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import CandidateFeatures, QueryFacts, features_of, query_facts
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.shared_evidence import evidence_of
from dfjoin.search.usefulness.useful_hits import Usefulness
from dfjoin.store.snapshot import Snapshot

__all__ = ["MOST_RANKED", "VERDICTS", "rank_pool", "rank_useful", "score_hits", "verdict_of"]

MOST_RANKED = 50_000
"""Columns that are ranked by usefulness, at most; of more only the best `_RANKED_OF_MORE` by shared values are."""

_RANKED_OF_MORE = 2000

VERDICTS = (("strong", 0.85), ("plausible", 0.5), ("weak", 0.1), ("chance", 0.0))
"""Verdicts, and the smallest score of each."""

_NEARLY_BEST = 0.95
"""Of a family that member stands first that is the most complete of those whose usefulness is at least this share."""

_FIRST_LOOK = 500
"""Candidates that are ordered at first: the rest is ordered only if too few families are among them."""

_MOST_COMPARED = 200
"""Members of a family whose rows and names are read to choose the first of them."""


def verdict_of(score: float) -> str:
    """Return the verdict of a score: strong, plausible, weak or chance."""
    return next(name for name, smallest in VERDICTS if score >= smallest)


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
        best = np.sort(
            np.lexsort((hits.columns, hits.segments, hits.cardinality, -hits.matched_rows))[:_RANKED_OF_MORE]
        )
        hits = hits.take(best)
        evidence = None if evidence is None else evidence.take(best)
    if evidence is None:
        evidence = evidence_of(snapshot, pool.matched, hits, pool.is_by_equality)
    facts = query_facts(query)
    features = features_of(snapshot, facts, evidence)
    score, useful, is_copy = _score(snapshot, facts, hits, features)
    smallest, limit = params.smallest_score, params.k
    shown = np.arange(len(hits)) if smallest <= 0 else np.flatnonzero(score >= smallest)
    ranking = _Ranking(snapshot, hits, useful)
    order = ranking.order(shown, limit)
    members = _families(features, order, shown, limit)
    if params.families and limit is not None and len(members) < limit and order.size < shown.size:
        order = ranking.order(shown, None)  # the first were of few families
        members = _families(features, order, shown, limit)
    members = [ranking.head_first(one) for one in members]
    if not params.families:
        members = _each_alone(order, members, limit)
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


def score_hits(query: QueryColumn, matched: MatchedQuery, hits: Hits) -> NDArray[np.float64]:
    """Return the score of some candidates that share values as they are, however they are ranked, shape (n,).

    Parameters
    ----------
    query : QueryColumn
    matched : MatchedQuery
    hits : Hits

    Notes
    -----
    Where all counts are estimates, no value is looked up: their rarity is that of a usual lake. O(values + sets).
    """
    snapshot = matched.snapshot
    evidence = evidence_of(snapshot, matched, hits, is_by_equality=True)
    return model().score.probabilities(features_of(snapshot, query_facts(query), evidence))


def _score(
    snapshot: Snapshot, facts: QueryFacts, hits: Hits, features: CandidateFeatures
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Compute score and usefulness of candidates, and which are in a copy of the frame."""
    if len(hits) == 0:
        return np.empty(0), np.empty(0), np.empty(0, bool)
    weights = model()
    score = weights.score.probabilities(features)
    useful = weights.usefulness(features, score)
    is_equal = (hits.matched == facts.n_values) & (hits.cardinality == facts.n_values)
    is_equal &= (features.column("nothing_new") > 0) & (facts.companions.size > 0)
    is_copy = is_equal.copy()  # and every column beside it, also one that another column is shared with
    for segment in np.unique(hits.segments[is_equal]).tolist():
        is_here = hits.segments == segment
        tables = facts_of(snapshot.segments[segment]).table_of[hits.columns[is_here]]
        is_copy[is_here] = np.isin(tables, tables[is_equal[is_here]])
    return score, np.where(is_copy, 0.0, useful), is_copy


def _as_ranked(hits: Hits) -> Hits:
    """Return hits that are in their order already."""
    parts = hits.segments, hits.columns, hits.matched, hits.matched_rows, hits.cardinality, hits.errors
    return Hits(*parts, is_ranked=True)


class _Ranking:
    """The order of candidates by usefulness.

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

    def order(self, places: NDArray[np.int64], limit: int | None) -> NDArray[np.int64]:
        """Order some candidates; with a limit only so many as its families are likely to be found among."""
        wanted = places.size if limit is None else max(_FIRST_LOOK, 20 * limit)
        if wanted < places.size:
            useful = self._useful[places]
            places = places[useful >= np.partition(useful, useful.size - wanted)[useful.size - wanted]]
        hits = self._hits
        keys = (hits.cardinality[places], -hits.matched_rows[places], -self._useful[places])
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
        catalog, column = self._segments[int(self._hits.segments[place])].catalog, int(self._hits.columns[place])
        return catalog.table_name(column), catalog.column_name(column)

    def _n_rows(self, place: int) -> int:
        catalog = self._segments[int(self._hits.segments[place])].catalog
        return int(catalog.numbers["n_rows"][self._hits.columns[place]])

    def head_first(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put the member first that stands for its family."""
        if members.size == 1:
            return members
        useful, matched = self._useful[members], self._hits.matched_rows[members]
        near = np.flatnonzero(useful >= _NEARLY_BEST * useful.max())
        near = near[matched[near] == matched[near].max()]
        if near.size > _MOST_COMPARED:
            near = near[:_MOST_COMPARED]
        head = max(near.tolist(), key=lambda i: (self._n_rows(int(members[i])), *self._name(int(members[i]))))
        return np.concatenate([members[head : head + 1], np.delete(members, head)])


def _each_alone(
    order: NDArray[np.int64], members: list[NDArray[np.int64]], limit: int | None
) -> list[NDArray[np.int64]]:
    """Return each candidate as a family of its own; who stands for a family takes the place of its best member."""
    head_of = {place: int(one[0]) for one in members for place in one.tolist()}
    places = dict.fromkeys(one for place in order.tolist() for one in (head_of.get(place, place), place))
    return [np.array([place]) for place in list(places)[:limit]]


def _families(
    features: CandidateFeatures, order: NDArray[np.int64], shown: NDArray[np.int64], limit: int | None
) -> list[NDArray[np.int64]]:
    """Fold candidates into families, in the order of their most useful members; return the members of each."""
    number: dict[int, int] = {}
    found: list[list[int]] = []
    places, families, contents = order.tolist(), features.family[order].tolist(), features.content[order].tolist()
    n_read = 0
    for place, family, content in zip(places, families, contents, strict=True):
        known = number.get(family, number.get(content))
        if known is None:
            if len(found) == limit:
                break
            known = len(found)
            found.append([])
        number[family] = number[content] = known
        found[known].append(place)
        n_read += 1
    if n_read < shown.size and found:  # further members, below the last family that is returned
        is_read = np.zeros(features.family.size, bool)
        is_read[order[:n_read]] = True
        rest = shown[~is_read[shown]]
        keys = np.array(list(number), np.uint64)
        owner = np.array(list(number.values()), np.int64)
        by_key = np.argsort(keys)
        keys, owner = keys[by_key], owner[by_key]
        for hashes in (features.family, features.content):
            at = np.minimum(np.searchsorted(keys, hashes[rest]), keys.size - 1)
            is_member = keys[at] == hashes[rest]
            for place, known in zip(rest[is_member].tolist(), owner[at[is_member]].tolist(), strict=True):
                found[known].append(place)
            rest = rest[~is_member]
    return [np.array(one, np.int64) for one in found]
