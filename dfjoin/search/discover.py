"""Join discovery: parameters and columns of a frame → queries → what each finds → the result frame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dfjoin import _validation as check
from dfjoin.errors import (
    ApproximateResultWarning,
    ColumnNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
    warn,
)
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.composite_result import key_columns
from dfjoin.search.composite_search import search_key
from dfjoin.search.found import Found, SearchContext
from dfjoin.search.key_query import KeyQuery, make_key_query
from dfjoin.search.lost_zeros import merge_respelled, respell_query, tell_lost_zeros, warn_of_lost_zeros
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn, make_query
from dfjoin.search.result_frame import frame_of, listed, make_frame
from dfjoin.search.usefulness.ranking import rank_useful
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import is_pandas, is_spark, select_column

__all__ = [
    "check_frame",
    "discover",
    "discover_batch",
    "finish_search",
    "has_composite_key",
    "make_key",
    "make_queries",
    "query_columns",
    "search_columns",
    "search_made",
    "search_queries",
    "warn_of_missing",
]

_MOST_PARTS = 8
"""Columns of a key at most."""

_MAX_TOLD = 20
"""Query columns whose search ``attrs["dfjoin"]`` tells of."""


def discover(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams) -> Any:
    """Search a lake for what joins with one column of a frame, or with each; see `dfjoin.discover_joinable`.

    Parameters
    ----------
    df : DataFrame
    on : column label, list of labels, "*" or None
    snapshot : Snapshot
    params : SearchParams

    Returns
    -------
    JoinCandidates, or an iterator of them when `params.progressive`
    """
    return search_made(make_queries(df, on, snapshot, params), snapshot, params)


def make_queries(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams) -> KeyQuery | list[QueryColumn]:
    """Normalise the columns of a frame that `on` names: as one key, or each as a query of its own."""
    check_frame(df)
    if has_composite_key(on, params):
        return make_key(df, on, snapshot, params)
    return query_columns(df, on, snapshot, params)


def search_made(made: KeyQuery | list[QueryColumn], snapshot: Snapshot, params: SearchParams) -> Any:
    """Search a lake with what `make_queries` made; see `discover`."""
    if isinstance(made, KeyQuery):
        return warn_of_missing(search_columns(snapshot, made, params))
    mode = mode_of(params.mode)
    mode.check(snapshot)
    if params.progressive:
        return (search_queries(snapshot, made, stage) for stage in mode.stages(snapshot, params))
    return search_queries(snapshot, made, params)


def discover_batch(columns: Any, snapshot: Snapshot, params: SearchParams, n_threads: int | None) -> JoinCandidates:
    """Search a lake for what joins with each of many columns; see `dfjoin.discover_joinable_batch`."""
    if not isinstance(columns, Mapping):
        raise InvalidTypeError(
            f'`columns` must map names to columns, got {type(columns).__name__}; give {{"name": df["name"]}}'
        )
    mode = mode_of(params.mode)
    mode.check(snapshot)
    threads = check.check_positive_int(n_threads, "n_threads") if n_threads is not None else os.cpu_count() or 1

    def run(item: tuple[str, Any]) -> Found:
        name, column = item
        series = column if isinstance(column, pd.Series) else _to_series(column, name)
        query = make_query(series, snapshot.settings, argument="columns", name=str(name))
        return _search(snapshot, query, params)

    with ThreadPoolExecutor(min(threads, max(1, len(columns)))) as pool:
        found = list(pool.map(run, columns.items()))
    return _make_result(snapshot, found, params, _search_respelled(snapshot, [one.query for one in found], params))


def _to_series(column: Any, name: Any) -> pd.Series:
    """Make a Series of the values of a query column."""
    try:
        return pd.Series(column)
    except (ValueError, TypeError) as error:
        raise InvalidTypeError(
            f"`columns` must map names to Series or lists of values, got {type(column).__name__} for {check.show(name)}"
        ) from error


def check_frame(df: Any) -> None:
    """Raise unless `df` is a pandas DataFrame."""
    if is_pandas(df):
        return
    if is_spark(df):
        raise InvalidTypeError(
            "`df` must be a pandas DataFrame, got a Spark DataFrame; call spark_ext.enable(spark), which gives Spark "
            "DataFrames the methods discover_joinable and auto_join, and then df.discover_joinable(...)"
        )
    raise InvalidTypeError(
        f"`df` must be a pandas DataFrame, got {type(df).__name__}; for a list of values use "
        'pd.DataFrame({"value": values})'
    )


def query_columns(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams) -> list[QueryColumn]:
    """Normalise the columns of a frame that `on` names, each once.

    Parameters
    ----------
    df : DataFrame
    on : column label, list of labels, "*" or None
        A list of several labels, where the mode makes one query of them, or the columns of a composite key. "*" or
        None: every column of text, integers or dates with two values or more.
    snapshot : Snapshot
    params : SearchParams

    Returns
    -------
    list of QueryColumn
    """

    names = tuple(str(label) for label in df.columns)

    def normalized(column: pd.Series) -> QueryColumn:
        query = make_query(column, snapshot.settings, pad=params.pad, dayfirst=params.dayfirst)
        return replace(query, companions=names)

    if isinstance(on, list):
        if not on:
            raise InvalidParameterError("`on` must name at least one column, got an empty list; leave it out for all")
        mode = mode_of(params.mode)
        made = mode.make_query(df, on, snapshot, params)
        if made is not None:
            return [made]
        if len(on) > 1 and not mode.has_composite_keys:
            raise InvalidParameterError(
                f"`mode` must be {SearchParams.mode!r} for a key of several columns, got {params.mode!r}; leave it out"
            )
        return [normalized(select_column(df, label, "on")) for label in on]
    if on is not None and not (isinstance(on, str) and on == "*" and "*" not in df.columns):
        made = mode_of(params.mode).make_query(df, [on], snapshot, params)  # as a list of one column
        if made is not None:
            return [made]
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


def has_composite_key(on: Any, params: SearchParams) -> bool:
    """Tell whether `on` names several columns that are a key together."""
    return isinstance(on, list) and len(on) > 1 and mode_of(params.mode).has_composite_keys


def make_key(df: pd.DataFrame, on: list[Any], snapshot: Snapshot, params: SearchParams) -> KeyQuery:
    """Normalise the columns of a key of a frame, each once.

    Raises
    ------
    InvalidParameterError
        If a column is named twice, there are more than 8, or an argument goes with keys of one column alone.
    """
    if len(on) > _MOST_PARTS or any(label in on[:place] for place, label in enumerate(on)):
        raise InvalidParameterError(
            f"`on` must be at most {_MOST_PARTS} different columns, got {check.show(on)}; name each column of the key "
            "once"
        )
    for name, is_given in (("weighted", params.is_weighted), ("plan", params.plan is not None)):
        if is_given:
            raise InvalidParameterError(f"`{name}` goes with a key of one column, got {len(on)} columns; leave it out")
    mode_of(params.mode).check(snapshot)
    return make_key_query(query_columns(df, on, snapshot, params))


def warn_of_missing(hits: JoinCandidates) -> JoinCandidates:
    """Warn where a search with a key of several columns, which the user named, had no time for all tables."""
    if not hits.attrs["dfjoin"]["complete"]:
        warn(
            "the search with a key of several columns ended before all tables were compared, so that some may be "
            "missing; try again when the machine is less busy, restrict it with `tables=`, or call "
            "lake.add_row_signatures() once, so that no table has to be read",
            ApproximateResultWarning,
        )
    return hits


def search_columns(snapshot: Snapshot, key: KeyQuery, params: SearchParams) -> JoinCandidates:
    """Search a lake with a key of several columns, and make the result frame."""
    search = search_key(snapshot, key, params)
    frame = frame_of(key_columns(search, params, listed))
    frame._context = SearchContext(snapshot, params, {}, key=search)
    frame.attrs["dfjoin"] = {
        "mode": params.mode,
        "complete": search.stats.is_complete,
        "index": str(snapshot.path),
        "version": snapshot.version,
        "searches": [{"query_column": key.name, **search.stats.to_dict(), **search.notes}],
    }
    return frame


def search_queries(
    snapshot: Snapshot, queries: list[QueryColumn], params: SearchParams, *, is_first: bool = True
) -> JoinCandidates:
    """Search a lake for each query column, warn of lost zeros, and make the result frame.

    Parameters
    ----------
    snapshot : Snapshot
    queries : list of QueryColumn
        Normalised by the settings of the snapshot.
    params : SearchParams
    is_first : bool
        Whether to warn of lost zeros; a search that only goes further down the ranking has warned already.

    Returns
    -------
    JoinCandidates
    """
    return finish_search(snapshot, [_search(snapshot, query, params) for query in queries], params, is_first=is_first)


def finish_search(
    snapshot: Snapshot, found: list[Found], params: SearchParams, *, is_first: bool = True
) -> JoinCandidates:
    """Search for what was found in another spelling of its zeros, too, and make the result frame.

    Parameters
    ----------
    snapshot : Snapshot
    found : list of Found
        Of each query column.
    params : SearchParams
    is_first : bool
        As in `search_queries`.

    Returns
    -------
    JoinCandidates
    """
    respelled = _search_respelled(snapshot, [one.query for one in found], params)
    result = _make_result(snapshot, found, params, respelled)
    if is_first and respelled:
        has_rows = set(result["query_column"])
        for one in found:  # by usefulness, a spelling of which no row is worth showing is not worth a warning
            if one.query.name in respelled and (one.useful is None or one.query.name in has_rows):
                warn_of_lost_zeros(one, respelled[one.query.name])
    return result


def _search(snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
    """Search a lake for one query column, and rank what is found."""
    mode = mode_of(params.mode)
    if not params.is_by_usefulness:
        return mode.search(snapshot, query, params)
    pool = mode.pool(snapshot, query, params)
    ranked, useful = rank_useful(snapshot, query, pool, params)
    if pool.found is not None:
        return pool.found.ranked(ranked, useful)
    return Found(query, ranked, pool.stats, pool.matched, useful=useful)


def _search_respelled(snapshot: Snapshot, queries: list[QueryColumn], params: SearchParams) -> dict[str, Found]:
    """Search for query columns whose codes or integers may have lost zeros, in their other spelling."""
    if not (mode_of(params.mode).is_by_equality and params.verify):  # estimates are made without the dictionary
        return {}
    other = {query.name: respell_query(snapshot, query, params) for query in queries}
    return {name: _search(snapshot, query, params) for name, query in other.items() if query is not None}


def _make_result(
    snapshot: Snapshot, found: list[Found], params: SearchParams, respelled: dict[str, Found] | None = None
) -> JoinCandidates:
    """Make the result frame of one or more query columns."""
    may_be_estimated = params.verify and not snapshot.settings.keep_sets
    if may_be_estimated and any(not np.isnan(one.hits.hits.errors).all() for one in found):
        warn(
            "the index keeps no token sets of its large columns (keep_sets=False): `matched` and `containment` are "
            "estimates where `exact` is False, with the standard error `containment_error`",
            ApproximateResultWarning,
        )
    frame = make_frame(found or [_search_nothing(snapshot, params)], params)
    respelled = respelled or {}
    merged = respelled if params.is_by_usefulness else {}  # the order by matched values has values as they are alone
    context = frame._context = SearchContext(snapshot, params, {one.query.name: one for one in found}, merged)
    if merged:
        both = {name: (context.found[name], other) for name, other in merged.items()}
        frame = merge_respelled(frame, both, partial(make_frame, params=params))
        frame._context = context
    frame.attrs["dfjoin"] = {
        "mode": params.mode,
        "complete": all(one.stats.is_complete for one in found),
        "index": str(snapshot.path),
        "version": snapshot.version,
        "searches": [_told(one, respelled.get(one.query.name)) for one in found[:_MAX_TOLD]],
    }
    return frame


def _told(found: Found, respelled: Found | None) -> dict[str, Any]:
    """Return what ``attrs["dfjoin"]`` says of the search of one query column."""
    told = {"query_column": found.query.name, **found.stats.to_dict()}
    if found.useful is not None:
        return told | found.useful.notes
    return told if respelled is None else told | tell_lost_zeros(found, respelled)


def _search_nothing(snapshot: Snapshot, params: SearchParams) -> Found:
    """Search for a column without values: the result has the mode's columns and no rows."""
    empty = make_query(pd.Series([], dtype=object), snapshot.settings, name="")
    return _search(snapshot, empty, params)
