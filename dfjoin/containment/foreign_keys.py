"""The likely foreign keys of a lake: those that databases declare, those that are found, and the choice of edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.containment.composite_references import (
    CompositeReference,
    choose_references,
    find_composite_references,
    reference_features,
)
from dfjoin.containment.join_graph import JoinGraph
from dfjoin.containment.key_features import FoundPairs, KeyCandidates, find_key_pairs, key_features, own_roles
from dfjoin.containment.key_model import key_model
from dfjoin.containment.lake_columns import LakeColumns
from dfjoin.errors import InvalidParameterError, TableNotFoundError
from dfjoin.search.candidates import unknown_tables
from dfjoin.search.query import joined_names
from dfjoin.store.snapshot import Snapshot

_AT_ONCE = 1 << 18
_SMALLEST_KEPT = 0.02
_DECLARED = "the database declares it as a foreign key"


class _Scored(NamedTuple):
    """Candidates that are worth to be kept, with their scores and features."""

    pairs: KeyCandidates
    score: NDArray[np.float64]
    features: NDArray[np.float64]


def build_graph(snapshot: Snapshot, threshold: float, min_score: float, tables: Any = None) -> JoinGraph:
    """Find the likely foreign keys of a lake, see `dfjoin.Lake.join_graph`."""
    share = check.check_fraction(threshold, "threshold")
    if share == 0:
        raise InvalidParameterError("`threshold` must be above 0, got 0: a key holds values of its column")
    smallest = check.check_fraction(min_score, "min_score")
    patterns = check.check_patterns(tables, "tables")
    names = sorted(name for segment in snapshot.segments for name in segment.alive_table_names(patterns))
    columns = LakeColumns(snapshot)
    found = find_key_pairs(columns, share)
    is_wanted = np.ones(columns.cardinality.size, bool)
    if patterns:
        if unknown := unknown_tables(snapshot, patterns):
            raise TableNotFoundError(unknown)
        is_wanted = columns.in_tables(patterns)
        found = FoundPairs(*(pairs.take(is_wanted[pairs.left] & is_wanted[pairs.right]) for pairs in found))
    singles = _single_keys(columns, found.keys, smallest, is_wanted)
    several = _several_keys(columns, found.parts, (share, smallest), singles.refers, is_wanted)
    candidates = _joined([singles.candidates, several.candidates])
    edges = _joined([singles.candidates.iloc[singles.chosen], several.candidates.iloc[several.chosen]])
    edges = edges.sort_values(["declared", "score"], ascending=False, kind="stable", ignore_index=True)
    families = _families(columns, set(names))
    return JoinGraph(edges, candidates, names, singles.evidence + several.evidence, families)


def _families(columns: LakeColumns, wanted: set[str]) -> dict[str, str]:
    """Return the first table of the family of each table that has a family."""
    found: dict[int, list[str]] = {}
    for name, family in columns.families:
        if name in wanted:
            found.setdefault(family, []).append(name)
    return {name: min(names) for names in found.values() if len(names) > 1 for name in names}


class _Found(NamedTuple):
    """Candidates, the positions of the edges among them, the evidence of each, and what refers to one column."""

    candidates: pd.DataFrame
    chosen: NDArray[np.int64]
    evidence: list[tuple[list[str], list[str]]]
    refers: dict[int, int]


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of frames one after the other; one without rows has no types to give."""
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _single_keys(columns: LakeColumns, found: KeyCandidates, smallest: float, is_wanted: NDArray[np.bool_]) -> _Found:
    """Score what a key of one column holds, and choose the edges."""
    scored = _score(columns, found)
    pairs, is_declared = with_declared(columns, found, scored.pairs, is_wanted)
    score = np.append(scored.score, np.ones(pairs.left.size - scored.score.size))
    score[is_declared] = 1.0
    order = np.lexsort((columns.cardinality[pairs.right], -score, ~is_declared, pairs.left))
    pairs, score, is_declared = pairs.take(order), score[order], is_declared[order]
    model, roles = key_model(), own_roles(columns, pairs).tolist()
    evidence = [
        model.evidence(scored.features[position], roles[i]) if position < len(scored.features) else ([], [])
        for i, position in enumerate(order.tolist())
    ]
    chosen = choose_edges(columns, pairs, score, smallest, is_declared)
    refers = dict(zip(pairs.left[chosen].tolist(), pairs.right[chosen].tolist(), strict=True))
    frame = _frame(columns, pairs, score, is_declared)
    return _Found(frame, chosen, _with_declared(evidence, is_declared), refers)


def _several_keys(
    columns: LakeColumns,
    parts: KeyCandidates,
    limits: tuple[float, float],
    refers: dict[int, int],
    is_wanted: NDArray[np.bool_],
) -> _Found:
    """Score what a key of several columns holds, and choose the edges; `limits` are of containment and of the score."""
    declared = [pair for pair in declared_tuples(columns) if is_wanted[pair[0][0]] and is_wanted[pair[1][0]]]
    found = find_composite_references(columns, parts, limits[0], refers, declared)
    features, is_declared = reference_features(columns, found), np.array([one.is_declared for one in found], bool)
    score = np.where(is_declared, 1.0, key_model().probabilities(features))
    evidence = [key_model().evidence(features[i]) for i in range(len(found))]
    chosen = choose_references(found, score, limits[1])
    frame = _frame_of_tuples(columns, found, score)
    return _Found(frame, chosen, _with_declared(evidence, is_declared), {})


def _with_declared(
    evidence: list[tuple[list[str], list[str]]], is_declared: NDArray[np.bool_]
) -> list[tuple[list[str], list[str]]]:
    """Put first that a database declares a key."""
    return [
        ([_DECLARED, *speaks_for], against) if declared else (speaks_for, against)
        for (speaks_for, against), declared in zip(evidence, is_declared.tolist(), strict=True)
    ]


def _score(columns: LakeColumns, pairs: KeyCandidates) -> _Scored:
    """Score all candidates, some hundred thousand at a time, and keep those that are worth it."""
    kept = [
        _Scored(KeyCandidates(*(array[:0] for array in pairs)), np.empty(0), key_features(columns, _cut(pairs, 0, 0)))
    ]
    start = 0
    while start < pairs.left.size:
        stop = min(start + _AT_ONCE, pairs.left.size)
        while stop < pairs.left.size and pairs.left[stop] == pairs.left[stop - 1]:
            stop = int(np.searchsorted(pairs.left, pairs.left[stop], "right"))
        part = _cut(pairs, start, stop)
        features = key_features(columns, part)
        score = key_model().probabilities(features)
        positions = np.flatnonzero(score >= _SMALLEST_KEPT)
        kept.append(
            _Scored(KeyCandidates(*(array[positions] for array in part)), score[positions], features[positions])
        )
        start = stop
    joined = KeyCandidates(*(np.concatenate(arrays) for arrays in zip(*(one.pairs for one in kept), strict=True)))
    return _Scored(joined, np.concatenate([one.score for one in kept]), np.concatenate([one.features for one in kept]))


def _cut(pairs: KeyCandidates, start: int, stop: int) -> KeyCandidates:
    return KeyCandidates(*(array[start:stop] for array in pairs))


def _frame(
    columns: LakeColumns, pairs: KeyCandidates, score: NDArray[np.float64], is_declared: NDArray[np.bool_]
) -> pd.DataFrame:
    """Name candidates, and tell what is known of them."""
    lefts, rights = ([columns.name(c) for c in side.tolist()] for side in (pairs.left, pairs.right))
    sizes, keys = columns.cardinality[pairs.left], columns.cardinality[pairs.right]
    is_unique = sizes == columns.n_rows[pairs.left] - columns.n_null[pairs.left]
    matched = np.where(pairs.matched < 0, np.nan, pairs.matched)
    return pd.DataFrame(
        {
            "table": [table for table, _ in lefts],
            "column": [column for _, column in lefts],
            "key_table": [table for table, _ in rights],
            "key_column": [column for _, column in rights],
            "score": score,
            "relationship": np.where(is_unique, "1:1", "n:1").astype(object),
            "containment": matched / np.maximum(1, sizes),
            "coverage": matched / np.maximum(1, keys),
            "cardinality": sizes,
            "key_cardinality": keys,
            "declared": is_declared,
        }
    )


def _frame_of_tuples(columns: LakeColumns, found: list[CompositeReference], score: NDArray[np.float64]) -> pd.DataFrame:
    """Name candidates of several columns, and tell what is known of them."""
    rows = []
    for one, own_score in zip(found, score.tolist(), strict=True):
        (table, key_table), (own, key) = zip(
            *((columns.name(side[0])[0], joined_names([columns.name(c)[1] for c in side])) for side in one[:2]),
            strict=True,
        )
        rows.append(
            {
                "table": table,
                "column": own,
                "key_table": key_table,
                "key_column": key,
                "score": own_score,
                "relationship": "1:1" if one.is_unique else "n:1",
                "containment": one.matched / max(1, one.n_left),
                "coverage": one.matched / max(1, one.n_right),
                "cardinality": one.n_left,
                "key_cardinality": one.n_right,
                "declared": one.is_declared,
            }
        )
    return pd.DataFrame(rows)


def choose_edges(
    columns: LakeColumns,
    pairs: KeyCandidates,
    score: NDArray[np.float64],
    threshold: float,
    is_declared: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Choose the foreign keys among their candidates.

    Parameters
    ----------
    columns : LakeColumns
    pairs : KeyCandidates
    score : ndarray of float64, shape (n,)
        Probability of each candidate.
    threshold : float
        The smallest score of an edge.
    is_declared : ndarray of bool, shape (n,), optional
        Foreign keys that databases declare: all of them are edges, before the others.

    Returns
    -------
    ndarray of int64
        Places of the edges in `pairs`, the best first.

    Notes
    -----
    In the order of the scores; of equal scores the smaller key first. A column refers to one key at most, and no edge
    is taken that closes a circle of columns, each of which refers to the next. O(n log n + n × longest chain).
    """
    is_sure = np.zeros(score.size, bool) if is_declared is None else is_declared
    positions = np.flatnonzero((score >= threshold) | is_sure)
    keys = pairs.right[positions]
    order = positions[np.lexsort((keys, columns.cardinality[keys], -score[positions], ~is_sure[positions]))]
    refers: dict[int, int] = {}
    chosen = []
    for position in order.tolist():
        left, right = int(pairs.left[position]), int(pairs.right[position])
        end = right
        while end in refers and end != left:
            end = refers[end]
        is_free = left not in refers and end != left
        if is_free:
            refers[left] = right
        if is_free or is_sure[position]:
            chosen.append(position)
    return np.array(chosen, np.int64)


# Foreign keys that databases declare: they are edges of a join graph, whatever their values tell ------------


UNCOUNTED = -1
"""`matched` of a declared pair whose values were not counted."""


def with_declared(
    columns: LakeColumns, found: KeyCandidates, scored: KeyCandidates, is_wanted: NDArray[np.bool_]
) -> tuple[KeyCandidates, NDArray[np.bool_]]:
    """Put declared foreign keys behind the candidates that have a score.

    Parameters
    ----------
    columns : LakeColumns
    found : KeyCandidates
        All candidates; what their columns share is known.
    scored : KeyCandidates
        Those that are kept for their score.
    is_wanted : ndarray of bool, shape (n_columns,)
        Columns of tables that count.

    Returns
    -------
    pairs : KeyCandidates
        `scored`, and the declared ones that are not among them; `UNCOUNTED` where they are not in `found` either.
    is_declared : ndarray of bool
        Of each of these.

    Notes
    -----
    Keys of one column, see `declared_tuples` for the others. O(n log n).
    """
    left, right = _declared_pairs(columns)
    if not left.size:
        return scored, np.zeros(scored.left.size, bool)
    counts = is_wanted[left] & is_wanted[right]
    left, right = left[counts], right[counts]
    is_new = ~_is_among(left, right, scored)
    known = {(a, b): n for a, b, n in zip(*(array.tolist() for array in found), strict=True)} if is_new.any() else {}
    new = list(zip(left[is_new].tolist(), right[is_new].tolist(), strict=True))
    matched = np.array([known.get(pair, UNCOUNTED) for pair in new], np.int64)
    further = left[is_new], right[is_new], matched
    pairs = KeyCandidates(*(np.append(a, b) for a, b in zip(scored, further, strict=True)))
    return pairs, _is_among(pairs.left, pairs.right, KeyCandidates(left, right, left))


def _is_among(left: NDArray[np.int64], right: NDArray[np.int64], pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell which pairs of columns are among some pairs."""
    known = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    return np.array([pair in known for pair in zip(left.tolist(), right.tolist(), strict=True)], bool)


def _declared_pairs(columns: LakeColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns that refer to one column by a declaration, and these; in order."""
    pairs = [(own[0], key[0]) for own, key in _declared(columns) if len(own) == 1]
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return left, right


def declared_tuples(columns: LakeColumns) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the columns of each declared foreign key of several columns, and those that they refer to; in order."""
    return [(own, key) for own, key in _declared(columns) if len(own) > 1]


def _declared(columns: LakeColumns) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the columns of each declared foreign key, and those that they refer to, as far as the lake has them."""
    referring: list[dict[str, Any]] = []
    numbers_of: dict[tuple[int, str], tuple[int, int]] = {}
    segments = columns.snapshot.segments
    tables = [segment.catalog.tables() for segment in segments]
    if not any(len(own.field("foreign_keys").flatten()) for own in tables):
        return []
    for number, (segment, own) in enumerate(zip(segments, tables, strict=True)):
        alive = np.flatnonzero(segment.alive_tables()).tolist()
        roots, paths = own.field("root").to_pylist(), own.field("path").to_pylist()
        numbers_of |= {(roots[table], paths[table]): (number, table) for table in alive}
        counts = pc.list_value_length(own.field("foreign_keys")).to_pylist()
        referring += [segment.catalog.table_record(table) for table in alive if counts[table]]
    found = set()
    for record in referring:
        for key in record["foreign_keys"]:
            ends = numbers_of.get((record["root"], record["path"])), numbers_of.get((record["root"], key["path"]))
            if None not in ends and len(key["columns"]) == len(key["key_columns"]):
                names = key["columns"], key["key_columns"]
                left, right = (
                    tuple(_column(columns, table, name) for name in own) for table, own in zip(ends, names, strict=True)
                )
                if min(*left, *right) >= 0 and left != right:
                    found.add((left, right))
    return sorted(found)


def _column(columns: LakeColumns, owner: Any, name: str) -> int:
    """Return the number of a column over all segments, -1 if its table has none of that name."""
    segment, table = owner
    column = columns.snapshot.segments[segment].catalog.find_column(table, name)
    return -1 if column < 0 else column + int(columns.offsets[segment])
