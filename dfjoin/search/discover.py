"""The door of join discovery: columns of a frame → queries → what each finds → the result frame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_float_dtype

from dfjoin import _validation as check
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError
from dfjoin.frames.given_frame import series_of
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import (
    make_result,
    search_column,
    search_columns,
    search_queries,
    search_respelled,
    warn_of_missing,
)
from dfjoin.search.found import Found
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import KeyQuery, QueryColumn, make_key_query, make_query
from dfjoin.search.spellings import may_hold_periods
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import column_to_arrow, is_pandas, is_spark, select_column
from dfjoin.values.profile import has_fractions

_MOST_PARTS = 8
"""Columns of a key at most."""


def discover(df: pd.DataFrame, on: Any, snapshot: Snapshot, params: SearchParams, *, has_periods: bool = True) -> Any:
    """Search a lake for what joins with one column of a frame, or with each; see `dfjoin.discover_joinable`.

    Parameters
    ----------
    df : DataFrame
    on : column label, list of labels, "*" or None
    snapshot : Snapshot
    params : SearchParams
    has_periods : bool
        Whether dates are also searched for by the periods in which they lie, see `period_search.add_periods`.

    Returns
    -------
    JoinCandidates, or an iterator of them when `params.progressive`
    """
    check_frame(df)
    mode = mode_of(params.mode)
    made: KeyQuery | list[QueryColumn]
    if has_composite_key(on, params):
        made = make_key(df, on, snapshot, params)
        found = warn_of_missing(search_columns(snapshot, made, params))
    else:
        made = query_columns(df, on, snapshot, params)
        mode.check(snapshot)
        if params.progressive:
            return (search_queries(snapshot, made, stage) for stage in mode.stages(snapshot, params))
        found = search_queries(snapshot, made, params)
        if params.aliases:
            found = with_aliases(found, made, params)
    if not (has_periods and mode.is_by_equality and params.verify and params.is_by_usefulness):
        return found
    columns = made if isinstance(made, list) else made.columns
    dates = [number for number, one in enumerate(columns) if may_hold_periods(one)]
    if not dates:
        return found
    from dfjoin.search.period_search import add_periods

    return add_periods(found, made, dates)


def with_aliases(found: JoinCandidates, queries: list[QueryColumn], params: SearchParams) -> JoinCandidates:
    """Put columns that name the same things otherwise into a result."""
    from dfjoin.search.entity_search import add_aliases

    return add_aliases(found, queries, params.aliases if isinstance(params.aliases, dict) else None)


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
        series = _to_series(series_of(column), name)
        query = make_query(series, snapshot.settings, argument="columns", name=str(name))
        return search_column(snapshot, query, params)

    with ThreadPoolExecutor(min(threads, max(1, len(columns)))) as pool:
        found = list(pool.map(run, columns.items()))
    return make_result(snapshot, found, params, search_respelled(snapshot, [one.query for one in found], params))


def _to_series(column: Any, name: Any) -> pd.Series:
    """Make a Series of the values of a query column."""
    try:
        return column if isinstance(column, pd.Series) else pd.Series(column)
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
        f"`df` must be a DataFrame of pandas or polars, a table of Arrow or a relation of DuckDB, got "
        f'{type(df).__name__}; for a list of values use pd.DataFrame({{"value": values}})'
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

    if on is not None and not (isinstance(on, str) and on == "*" and "*" not in df.columns):
        labels = on if isinstance(on, list) else [on]
        if not labels:
            raise InvalidParameterError("`on` must name at least one column, got an empty list; leave it out for all")
        mode = mode_of(params.mode)
        made = mode.make_query(df, labels, snapshot, params)
        if made is not None:
            return [made]
        if len(labels) > 1 and not mode.has_composite_keys:
            raise InvalidParameterError(
                f"`mode` must be {SearchParams.mode!r} for a key of several columns, got {params.mode!r}; leave it out"
            )
        return [normalized(select_column(df, label, "on")) for label in labels]
    if df.shape[1] == 0:
        raise ColumnNotFoundError("`df` must have at least one column, got a frame without columns")
    found = []
    for position in range(df.shape[1]):
        column = df.iloc[:, position]
        try:
            if _holds_floats(column) and has_fractions(column_to_arrow(column)):
                continue  # seen before a single value is normalised
            query = normalized(column)
        except InvalidTypeError:
            continue
        if query.profile.is_indexable:
            found.append(query)
    return found


def _holds_floats(column: pd.Series) -> bool:
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):  # pandas has no kind for some types of Arrow, and raises
        return pa.types.is_floating(dtype.pyarrow_dtype)
    return is_float_dtype(dtype)


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
    if len(on) > _MOST_PARTS or any(label in on[:position] for position, label in enumerate(on)):
        raise InvalidParameterError(
            f"`on` must be at most {_MOST_PARTS} different columns, got {check.show(on)}; name each column of the key "
            "once"
        )
    one_column = {"weighted": params.is_weighted, "plan": params.plan is not None, "aliases": params.aliases}
    for name, is_given in one_column.items():
        if is_given:
            raise InvalidParameterError(f"`{name}` goes with a key of one column, got {len(on)} columns; leave it out")
    mode_of(params.mode).check(snapshot)
    return make_key_query(query_columns(df, on, snapshot, params))
