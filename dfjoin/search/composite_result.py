"""The result of a search with a key of several columns: its frame, explanations and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.search.explanation import N_EXAMPLES, N_NAMED, Explanation, join_code
from dfjoin.search.hits import KeyHit, KeySearch
from dfjoin.search.joined_rows import example_rows
from dfjoin.search.params import SearchParams
from dfjoin.search.query import joined_names
from dfjoin.search.usefulness.ranking import verdict_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable

_CHANCE = 0.1
"""A table with a lower score is accidental."""


def key_columns(search: KeySearch, params: SearchParams, listed: Callable[[list[str], int], str]) -> dict[str, Any]:
    """Compute the result columns: name → list of texts or array.

    Parameters
    ----------
    search : KeySearch
    params : SearchParams
    listed : callable
        Writes some names, and how many there are, in one line.
    """
    query, hits = search.query, search.hits
    matches = [hit.match for hit in hits]
    n, n_keys = len(hits), query.n_keys

    def numbers(values: list[int]) -> NDArray[np.int64]:
        return np.array(values, np.int64)

    matched, cardinality = numbers([m.matched for m in matches]), numbers([m.cardinality for m in matches])
    score = np.array([hit.score for hit in hits], np.float64)
    left = "1" if query.is_unique else "m"
    columns: dict[str, Any] = {
        "query_column": [query.name] * n,
        "table": [m.table for m in matches],
        "column": [joined_names(m.columns) for m in matches],
        "matched": matched,
        "containment": matched / max(1, n_keys),
        "jaccard": matched / np.maximum(1, n_keys + cardinality - matched),
        "query_cardinality": np.full(n, n_keys, np.int64),
        "cardinality": cardinality,
        "n_rows": numbers([m.n_rows for m in matches]),
        "kind": [m.kind for m in matches],
        "relationship": [f"{left}:{'1' if m.is_unique else 'm'}" for m in matches],
        "accidental": score < _CHANCE,
        "method": [params.mode] * n,
        "exact": np.ones(n, bool),
    }
    if not params.is_by_usefulness:
        return columns
    return columns | {
        "score": score,
        "usefulness": np.array([hit.usefulness for hit in hits], np.float64),
        "verdict": [verdict_of(value) for value in score.tolist()],
        "brings": [listed(m.brings[:N_NAMED], len(m.brings)) for m in matches],
        "n_similar": numbers([hit.n_similar for hit in hits]),
        "copy": np.array([hit.is_copy for hit in hits], bool),
    }


def key_pairs(search: KeySearch, hit: KeyHit) -> pd.DataFrame:
    """List the tuples that a table shares with the key, see `JoinCandidates.pairs`."""
    query, keys = search.query, hit.match.keys
    keys = keys[np.argsort(query.first_rows[keys], kind="stable")]
    rows = np.bincount(query.index.codes[query.index.codes >= 0], minlength=query.n_keys)
    parts = [column.spellings(query.parts[keys, i]) for i, column in enumerate(query.columns)]
    return pd.DataFrame(
        {
            "query_value": [joined_names(one) for one in zip(*parts, strict=True)],
            "candidate_value": [query.canonical(key) for key in keys.tolist()],
            "query_rows": rows[keys],
        }
    )


def explain_key(snapshot: Snapshot, search: KeySearch, hit: KeyHit) -> Explanation:
    """Explain a table that shares tuples with a key."""
    query, match = search.query, hit.match
    is_shared = np.zeros(query.n_keys, bool)
    is_shared[match.keys] = True
    by_row = np.argsort(query.first_rows, kind="stable")
    shared = by_row[is_shared[by_row]][:N_EXAMPLES].tolist()
    alone = by_row[~is_shared[by_row]][:N_EXAMPLES].tolist()
    evidence: dict[bool, list[str]] = {True: [], False: []}
    for column, name, part in zip(query.columns, match.columns, match.parts, strict=True):
        evidence[part.score >= 0.5].append(f"{column.name!r} and {name!r} alone have a score of {part.score:.2f}")
    share = match.matched / max(1, match.possible)
    text = f"of {match.possible:,} keys whose parts the columns hold, {match.matched:,} stand in one row of the table"
    evidence[share >= 0.5].append(text)
    return Explanation(
        query_column=query.name,
        table=match.table,
        column=joined_names(match.columns),
        matched=match.matched,
        query_cardinality=query.n_keys,
        cardinality=match.cardinality,
        relationship=f"{'1' if query.is_unique else 'm'}:{'1' if match.is_unique else 'm'}",
        accidental=hit.score < _CHANCE,
        shared=[query.spelling(key) for key in shared],
        only_query=[query.spelling(key) for key in alone],
        only_candidate=match.alone,
        found_by=search.stats.to_dict(),
        score=hit.score,
        usefulness=hit.usefulness,
        verdict=verdict_of(hit.score),
        evidence_for=evidence[True],
        evidence_against=evidence[False],
        rows=_joined_rows(snapshot, search, hit),
        code=join_code(match.table, joined_names(match.columns)),
        period=query.period,
    )


def _joined_rows(snapshot: Snapshot, search: KeySearch, hit: KeyHit) -> list[dict[str, Any]]:
    """Read a few rows of a table whose key the query has, see `example_rows`."""
    columns = hit.match.columns
    seen: set[int] = set()

    def new_rows(table: LakeTable, batch: pa.RecordBatch) -> Iterator[int]:
        codes = search.query.index.match([table.normalize(name, batch.column(i)) for i, name in enumerate(columns)])
        for row in np.flatnonzero(codes >= 0).tolist():
            if int(codes[row]) not in seen:
                seen.add(int(codes[row]))
                yield row

    return example_rows(snapshot, hit.match.table, columns, new_rows)
