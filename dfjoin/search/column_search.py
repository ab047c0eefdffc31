"""The search for query columns: what is found for each, in other spellings of its zeros too, and the result frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dfjoin.errors import ApproximateResultWarning, warn
from dfjoin.search.candidates import JoinCandidates, frame_of, listed, make_frame
from dfjoin.search.composite_result import key_columns
from dfjoin.search.composite_search import search_key
from dfjoin.search.found import Found, SearchContext
from dfjoin.search.hits import KeySearch
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import KeyQuery, QueryColumn, make_query
from dfjoin.search.spellings import (
    SpelledRows,
    better_with_zeros,
    merge_spelled,
    respell_query,
    tell_lost_zeros,
    warn_of_lost_zeros,
)
from dfjoin.search.usefulness.ranking import rank_pool
from dfjoin.store.snapshot import Snapshot

_MOST_DESCRIBED = 20
"""Query columns whose search ``attrs["dfjoin"]`` describes."""


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
    return key_result(snapshot, search_key(snapshot, key, params), params)


def key_result(snapshot: Snapshot, search: KeySearch, params: SearchParams) -> JoinCandidates:
    """Make the result frame of a search with a key of several columns."""
    frame = frame_of(key_columns(search, params, listed))
    frame._context = SearchContext(snapshot, params, {}, key=search)
    frame.attrs["dfjoin"] = {
        "mode": params.mode,
        "complete": search.stats.is_complete,
        "index": str(snapshot.path),
        "version": snapshot.version,
        "searches": [{"query_column": search.query.name, **search.stats.to_dict(), **search.notes}],
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
    return finish_search(
        snapshot, [search_column(snapshot, query, params) for query in queries], params, is_first=is_first
    )


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
    respelled = search_respelled(snapshot, [one.query for one in found], params)
    result = make_result(snapshot, found, params, respelled)
    if is_first and respelled:
        has_rows = set(result["query_column"])
        for one in found:  # by usefulness, a spelling of which no row is worth showing is not worth a warning
            if one.query.name in respelled and (one.useful is None or one.query.name in has_rows):
                warn_of_lost_zeros(one, respelled[one.query.name])
    return result


def search_column(snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
    """Search a lake for one query column, and rank what is found."""
    mode = mode_of(params.mode)
    if not params.is_by_usefulness:
        return mode.search(snapshot, query, params)
    return rank_pool(snapshot, query, mode.pool(snapshot, query, params), params)


def search_respelled(snapshot: Snapshot, queries: list[QueryColumn], params: SearchParams) -> dict[str, Found]:
    """Search for query columns whose codes or integers may have lost zeros, in their other spelling."""
    if not (mode_of(params.mode).is_by_equality and params.verify):  # estimates are made without the dictionary
        return {}
    other = {query.name: respell_query(snapshot, query, params) for query in queries}
    return {name: search_column(snapshot, query, params) for name, query in other.items() if query is not None}


def make_result(
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
    frame._context = SearchContext(snapshot, params, {one.query.name: one for one in found})
    respelled = respelled or {}
    if respelled and params.is_by_usefulness:  # the order by matched values has values as they are alone
        frame = _with_zeros(frame, respelled)
    frame.attrs["dfjoin"] = {
        "mode": params.mode,
        "complete": all(one.stats.is_complete for one in found),
        "index": str(snapshot.path),
        "version": snapshot.version,
        "searches": [_described(snapshot, one, respelled.get(one.query.name)) for one in found[:_MOST_DESCRIBED]],
    }
    return frame


def _with_zeros(frame: JoinCandidates, respelled: dict[str, Found]) -> JoinCandidates:
    """Put the rows of columns that match clearly more with other zeros into a result; `pad` has their digits."""
    context = frame.context
    parts = [better_with_zeros(context.snapshot, context.found[name], other) for name, other in respelled.items()]
    is_better = np.concatenate(parts)
    if not is_better.any():
        return frame
    widths = [abs(other.query.pad or 0) for other in respelled.values()]
    pads = pd.array(np.repeat(widths, [part.size for part in parts]), "Int64")
    other = make_frame(list(respelled.values()), context.params)
    better = other[is_better & ~other["accidental"].to_numpy(bool)]
    spelled = SpelledRows(
        pd.DataFrame(better), pads[better.index], SearchContext(context.snapshot, context.params, respelled)
    )
    return merge_spelled(frame, "pad", [spelled])


def _described(snapshot: Snapshot, found: Found, respelled: Found | None) -> dict[str, Any]:
    """Return what ``attrs["dfjoin"]`` says of the search of one query column."""
    described = {"query_column": found.query.name, **found.stats.to_dict(), **found.notes()}
    if found.useful is not None:
        return described | found.useful.notes
    return described if respelled is None else described | tell_lost_zeros(snapshot, found, respelled)


def _search_nothing(snapshot: Snapshot, params: SearchParams) -> Found:
    """Search for a column without values: the result has the mode's columns and no rows."""
    empty = make_query(pd.Series([], dtype=object), snapshot.settings, name="")
    return search_column(snapshot, empty, params)
