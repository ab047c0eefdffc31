"""Search by columns of numbers: what `EmbeddingMode` does for a list of axes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.index.axis_group import AxisSpace
from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.embedding.axes_join import AxesRelation
from dfjoin.search.embedding.axes_query import PointQuery, point_text
from dfjoin.search.embedding.axes_search import (
    AxesReach,
    PlacedSet,
    axes_reach,
    scaled_points,
    search_axes,
    spaces_of,
)
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import N_EXAMPLES, Explanation
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.hits import Hits, RankedHits, rank_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.shared_values import list_pairs
from dfjoin.search.usefulness.evidence_words import weigh_candidate
from dfjoin.search.usefulness.ranking import MOST_RANKED, verdict_of
from dfjoin.search.usefulness.useful_hits import Usefulness
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of
from dfjoin.vectors.axis_points import near_points, place_degrees

__all__ = ["AxesFound", "axes_columns", "axes_explanation", "axes_pairs", "find_axes", "pool_axes"]

_PLANS = (None, "tree", "pexeso")


@dataclass(frozen=True)
class AxesFound(Found):
    """What a search among points found.

    Parameters
    ----------
    sets : tuple of PlacedSet
        Of each hit.
    keys : tuple of list of str
        Columns of each hit, in the order of the axes.
    reach : AxesReach, optional
    is_all : bool
        Pairs were counted.
    """

    sets: tuple[PlacedSet, ...] = ()
    keys: tuple[list[str], ...] = ()
    reach: AxesReach | None = None
    is_all: bool = False

    def ranked(self, hits: RankedHits, useful: Usefulness) -> AxesFound:
        """See `Found`."""
        places = useful.places
        found = _named(replace(self, hits=hits, sets=tuple(self.sets[place] for place in places)))
        keys = headers_of([name for names in found.keys for name in names]).joined  # no key is something new
        facts = replace(useful.facts, companions=np.union1d(useful.facts.companions, keys[keys != 0]))
        return replace(found, useful=replace(useful, facts=facts))

    def keys_of(self, place: int) -> list[str]:
        """See `Found`."""
        return self.keys[place]

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`."""
        query, reach = self.query, self.reach
        assert isinstance(query, PointQuery) and reach is not None
        scales = _space_of(self, place).shape.scales
        return AxesRelation(reach.radius, reach.unit, list(scales)).to_dict()


def _space_of(found: Found, place: int) -> AxisSpace:
    """Return the space of the set of a hit."""
    assert isinstance(found, AxesFound)
    segment = found.matched.segments[int(found.hits.hits.segments[place])]
    return spaces_of(segment)[found.sets[place].space]


def find_axes(snapshot: Snapshot, query: PointQuery, params: SearchParams) -> AxesFound:
    """Search for a query of points, see `Mode.search`.

    Raises
    ------
    InvalidParameterError
        If an argument belongs to texts.
    """
    reach, hits, sets, stats = _search(snapshot, query, params, None)
    ranked = rank_hits(snapshot.segments, hits, params.k, has_range=False)
    chosen = tuple(sets[i] for i in ranked.order.tolist())
    matched = MatchedQuery(snapshot, query.values)
    found = AxesFound(query, ranked, stats, matched, sets=chosen, reach=reach, is_all=params.count == "all")
    return _named(found)


def pool_axes(snapshot: Snapshot, query: PointQuery, params: SearchParams) -> Pool:
    """Search for the candidates of a query of points that are ranked by usefulness, see `Mode.pool`."""
    record = MatchRecord(query, is_of_points=True)
    reach, hits, sets, stats = _search(snapshot, query, params, record)
    evidence = record.evidence(hits)
    if len(hits) > MOST_RANKED:
        best = np.sort(np.argsort(-hits.matched_rows, kind="stable")[:MOST_RANKED])
        hits, sets = hits.take(best), [sets[place] for place in best.tolist()]
        evidence = None if evidence is None else evidence.take(best)
    none = rank_hits(snapshot.segments, hits.take(np.empty(0, np.int64)), None, has_range=False)
    matched = MatchedQuery(snapshot, query.values)
    found = AxesFound(query, none, stats, matched, sets=tuple(sets), reach=reach, is_all=params.count == "all")
    return Pool(hits, matched, stats, evidence, found, is_by_equality=False)


def _named(found: AxesFound) -> AxesFound:
    """Return a search whose hits are named by all their columns."""
    keys = []
    for number, one in zip(found.hits.hits.segments.tolist(), found.sets, strict=True):
        segment = found.matched.segments[number]
        columns = spaces_of(segment)[one.space].columns[one.number]
        keys.append(segment.catalog.column_names(columns))
    named = replace(found.hits, names=[", ".join(names) for names in keys])
    return replace(found, hits=named, keys=tuple(keys))


def _search(
    snapshot: Snapshot, query: PointQuery, params: SearchParams, record: MatchRecord | None
) -> tuple[AxesReach, Hits, list[PlacedSet], SearchStats]:
    """Check the arguments, and find the sets of columns; raises for an argument that belongs to texts."""
    if params.plan not in _PLANS:
        raise InvalidParameterError(f'`plan` for columns of numbers must be "tree" or "pexeso", got {params.plan!r}')
    if params.metric != SearchParams.metric:
        raise InvalidParameterError(
            f"`metric` belongs to texts, got {params.metric!r}; places are compared along great circles, others by "
            "Euclidean distance: leave it out"
        )
    reach = axes_reach(params.radius, params.radius_unit)
    return reach, *search_axes(snapshot, query, reach, params, record)


def axes_columns(found: AxesFound) -> dict[str, Any]:
    """Return result columns, see `Mode.columns`."""
    n = len(found.hits)
    kind = "place" if isinstance(found.query, PointQuery) and found.query.is_place else "vector"
    columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n, "kind": [kind] * n}
    if found.is_all:
        columns["matched_pairs"] = found.hits.hits.matched_rows
    return columns


def _near(candidate: Candidate) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], AxisSpace]:
    """List the pairs of a candidate, by query point, then by distance: code, place of the point, distance, space."""
    found, query = candidate.found, candidate.found.query
    assert isinstance(found, AxesFound) and isinstance(query, PointQuery) and found.reach is not None
    space = _space_of(found, candidate.place)
    own = space.points_of(found.sets[candidate.place].number)
    points = scaled_points(query, space.shape)
    assert points is not None
    codes, others, distances = near_points(points, np.asarray(space.rows)[own], found.reach.distance)
    order = np.lexsort((others, distances, codes))
    return codes[order], own[others[order]], distances[order], space


def _texts(space: AxisSpace, places: NDArray[np.int64]) -> list[str]:
    rows = np.asarray(space.rows)[places]
    numbers = place_degrees(rows) if space.shape.is_place else rows / np.array(space.shape.scales)
    return [point_text(row, place) for row, place in zip(numbers, places.tolist(), strict=True)]


def axes_pairs(candidate: Candidate) -> pd.DataFrame:
    """List the pairs of a candidate with their distances in the unit of the radius, see `Mode.pairs`."""
    codes, places, distances, space = _near(candidate)
    frame = list_pairs(candidate.found.query, codes, _texts(space, places))
    assert isinstance(candidate.found, AxesFound) and candidate.found.reach is not None
    frame["distance"] = candidate.found.reach.shown(distances)
    return frame


def axes_explanation(candidate: Candidate) -> Explanation:
    """Explain a candidate, see `Mode.explain`."""
    found, query = candidate.found, candidate.found.query
    assert isinstance(found, AxesFound) and found.reach is not None
    codes, places, distances, space = _near(candidate)
    shown, first = found.reach.shown(distances), np.unique(codes, return_index=True)[1][:N_EXAMPLES]
    partners = _texts(space, places[first])
    unit = "" if found.reach.unit == "absolute" else f" {found.reach.unit}"
    row, hits = candidate.row, found.hits.hits
    alone = np.setdiff1d(np.arange(len(query.values)), codes)[:N_EXAMPLES]
    own = space.points_of(found.sets[candidate.place].number)
    theirs = np.setdiff1d(own, places)
    weighed: dict[str, Any] = {}
    if found.useful is not None:
        known = weigh_candidate(candidate, is_by_equality=False)
        weighed = {**asdict(known), "verdict": verdict_of(known.score)}
    return Explanation(
        query_column=row["query_column"],
        table=row["table"],
        column=row["column"],
        relationship="",
        matched=int(hits.matched[candidate.place]),
        query_cardinality=len(query.values),
        cardinality=int(hits.cardinality[candidate.place]),
        accidental=bool(row["accidental"]),
        found_by=found.stats.to_dict(),
        **weighed,
        shared=[
            f"{query.spelling(int(codes[i]))} ~ {partner} ({shown[i]:.3g}{unit})"
            for i, partner in zip(first.tolist(), partners, strict=True)
        ],
        only_query=[query.spelling(code) for code in alone.tolist()],
        only_candidate=_texts(space, theirs[:N_EXAMPLES]),
        radius=str(found.reach),
        n_alone=theirs.size,
    )
