"""Join discovery: checked arguments → queries → hits → the result frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dfjoin import _validation as check
from dfjoin.errors import (
    ApproximateResultWarning,
    ColumnNotFoundError,
    IncompatibleSettingsError,
    InvalidParameterError,
    InvalidTypeError,
    warn,
)
from dfjoin.search.candidates import JoinCandidates, SearchContext
from dfjoin.search.exact.searcher import Hit, searcher_of
from dfjoin.search.lsh.ensemble import search_signatures
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn, better_width, make_query
from dfjoin.search.result_frame import make_frame, rank_hits
from dfjoin.search.transform.candidate_programs import ProgramHit, search_programs
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import is_pandas, is_spark, select_column

__all__ = ["check_frame", "discover", "discover_batch", "query_columns", "search_queries"]


def discover(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams) -> Any:
    """Search a lake for what joins with one column of a frame, or with each; see `dfjoin.discover_joinable`.

    Parameters
    ----------
    df : DataFrame
    on : column label, "*" or None
    snapshot : Snapshot
    params : SearchParams

    Returns
    -------
    JoinCandidates, or an iterator of them when `params.progressive`
    """
    check_frame(df)
    queries = query_columns(df, on, snapshot, params)
    check_mode(snapshot, params)
    return refine(snapshot, queries, params) if params.progressive else search_queries(snapshot, queries, params)


def refine(snapshot: Snapshot, queries: list[QueryColumn], params: SearchParams) -> Iterator[JoinCandidates]:
    """Yield what signatures tell at once, then the exact answer, or the best that an index without sets can give.

    Source: Zhu, thesis, section 5.3.1.
    """
    yield search_queries(snapshot, queries, replace(params, verify=False))
    yield search_queries(snapshot, queries, replace(params, mode="exact") if snapshot.settings.keep_sets else params)


def discover_batch(columns: Any, snapshot: Snapshot, params: SearchParams, n_threads: int | None) -> JoinCandidates:
    """Search a lake for what joins with each of many columns; see `dfjoin.discover_joinable_batch`."""
    if not isinstance(columns, Mapping):
        raise InvalidTypeError(
            f'`columns` must map names to columns, got {type(columns).__name__}; give {{"name": df["name"]}}'
        )
    check_mode(snapshot, params)
    threads = check.check_positive_int(n_threads, "n_threads") if n_threads is not None else os.cpu_count() or 1

    def run(item: tuple[str, Any]) -> tuple[QueryColumn, Sequence[Hit], SearchStats]:
        name, column = item
        series = column if isinstance(column, pd.Series) else pd.Series(column)
        query = make_query(series, snapshot.settings, argument="columns", name=str(name))
        return query, *run_search(snapshot, query, params)

    with ThreadPoolExecutor(min(threads, max(1, len(columns)))) as pool:
        results = list(pool.map(run, columns.items()))
    return _result(snapshot, results, params)


def check_frame(df: Any) -> None:
    """Raise unless `df` is a pandas DataFrame."""
    if is_spark(df):
        raise InvalidTypeError(
            "`df` must be a pandas DataFrame in this version, got a Spark DataFrame; give df.select(columns).toPandas()"
        )
    if not is_pandas(df):
        raise InvalidTypeError(
            f"`df` must be a pandas DataFrame, got {type(df).__name__}; for a list of values use "
            'pd.DataFrame({"value": values})'
        )


def query_columns(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams) -> list[QueryColumn]:
    """Normalise the columns of a frame that `on` names, each once.

    Parameters
    ----------
    df : DataFrame
    on : column label, list of one label, "*" or None
        "*" or None: every column of text, integers or dates with two values or more.
    snapshot : Snapshot
    params : SearchParams

    Returns
    -------
    list of QueryColumn
    """

    def normalized(column: pd.Series) -> QueryColumn:
        return make_query(column, snapshot.settings, pad=params.pad, dayfirst=params.dayfirst)

    if isinstance(on, list):
        if len(on) != 1:
            raise InvalidParameterError(
                f"`on` must be one column for a search in a lake, got {len(on)} columns; composite keys work "
                "between two frames, with df.auto_join(other_df, on=[...]). Search with the most telling column"
            )
        return [normalized(select_column(df, on[0], "on"))]
    if on is not None and not (isinstance(on, str) and on == "*" and "*" not in df.columns):
        return [normalized(select_column(df, on, "on"))]
    if df.shape[1] == 0:
        raise ColumnNotFoundError("`df` must have at least one column, got a frame without columns")
    found = []
    for position in range(df.shape[1]):
        try:
            query = normalized(df.iloc[:, position])
        except InvalidTypeError:
            continue
        if query.profile.is_indexable:
            found.append(query)
    return found


def check_mode(snapshot: Snapshot, params: SearchParams) -> None:
    """Raise when the index was built without what the mode needs."""
    if params.mode == "exact" and not snapshot.settings.keep_sets:
        raise IncompatibleSettingsError(
            'the index keeps no token sets of its large columns (keep_sets=False), which mode="exact" needs; use '
            'mode="lsh", or build it anew with keep_sets=True'
        )
    if params.mode == "lsh" and not snapshot.settings.permutations:
        raise IncompatibleSettingsError(
            'the index has no signatures, which mode="lsh" needs; add them with `lake.add_signatures()`, or use '
            'mode="exact"'
        )
    if params.mode == "transform" and not snapshot.settings.patterns:
        raise IncompatibleSettingsError(
            'the index has no pattern tokens, which mode="transform" needs; add them with `lake.add_patterns()`, or '
            'use mode="exact"'
        )


def run_search(snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> tuple[Sequence[Hit], SearchStats]:
    """Search for one query column in the mode that was asked for."""
    if params.mode == "transform":
        return search_programs(searcher_of(snapshot), snapshot.settings, query, params)
    if params.mode == "lsh":
        return search_signatures(searcher_of(snapshot), snapshot.settings, query.values, params)
    return searcher_of(snapshot).search(query.values, params)


def search_queries(snapshot: Snapshot, queries: list[QueryColumn], params: SearchParams) -> JoinCandidates:
    """Search every query column, warn of lost zeros, and make the result frame."""
    results = []
    for query in queries:
        hits, stats = run_search(snapshot, query, params)
        best = hits[0].matched if hits else 0
        width, padded = 0, 0
        if params.verify:  # estimates are made without a look into the dictionary
            width, padded = better_width(query, searcher_of(snapshot), snapshot.settings, params, best)
        if width:
            warn(
                f"the integers of column {query.name!r} match {padded:,} values when written with zeros up "
                f"to {width} digits, and {best:,} as they are; read the column with dtype=str, or pass "
                f"`pad={width}`"
            )
        results.append((query, hits, stats))
    return _result(snapshot, results, params)


def _result(
    snapshot: Snapshot, results: list[tuple[QueryColumn, Sequence[Hit], SearchStats]], params: SearchParams
) -> JoinCandidates:
    """Make the result frame of one or more query columns."""
    if (
        params.verify
        and not snapshot.settings.keep_sets
        and any(h.error is not None for _, hits, _ in results for h in hits)
    ):
        warn(
            "the index keeps no token sets of its large columns (keep_sets=False): `matched` and `containment` are "
            "estimates where `exact` is False, with the standard error `containment_error`",
            ApproximateResultWarning,
        )
    parts = [rank_hits(snapshot, query, hits, params.mode, params.is_weighted) for query, hits, _ in results]
    if not parts:
        empty = make_query(pd.Series([], dtype=object), snapshot.settings, name="")
        parts = [rank_hits(snapshot, empty, [], params.mode, params.is_weighted)]
    merged = parts[0] if len(parts) == 1 else {name: _join([p[name] for p in parts]) for name in parts[0]}
    frame = make_frame(merged)
    queries = {query.name: query for query, _, _ in results}
    joins = {
        (query.name, hit.table, hit.name): hit.join
        for query, hits, _ in results
        for hit in hits
        if isinstance(hit, ProgramHit)
    }
    frame._context = SearchContext(snapshot, queries, {query.name: stats for query, _, stats in results}, params, joins)
    frame.attrs["dfjoin"] = {
        "mode": params.mode,
        "complete": all(stats.is_complete for _, _, stats in results),
        "index": str(snapshot.path),
        "version": snapshot.version,
        "searches": [{"query_column": query.name, **stats.to_dict()} for query, _, stats in results[:20]],
    }
    return frame


def _join(parts: list[Any]) -> Any:
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    return np.concatenate(parts)
