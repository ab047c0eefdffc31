"""A second key column, where rows of one key column meet that have nothing to do with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_columns
from dfjoin.search.found import SearchContext
from dfjoin.search.key_query import make_key_query
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from dfjoin.search.period_search import find_period_keys
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.key_columns import reason_against_key

__all__ = ["find_second_column"]

_MOST_TRIED = 8
"""Columns of the frame that are tried."""

_SAME_DOMAIN = 0.5
"""Share of the values of the smaller of two columns from which on they hold the same things, as home and away teams."""


def find_second_column(
    left: KeyColumns, row: Any, context: SearchContext, options: JoinOptions
) -> JoinCandidates | None:
    """Find the column of a frame that makes each key of a table stand in one row of it, together with the first one.

    Parameters
    ----------
    left : KeyColumns
        The frame.
    row : tuple
        A candidate of one column, m:m.
    context : SearchContext
        Of its search.
    options : JoinOptions
        Its `threshold` and `min_score` hold for the key of two columns.

    Returns
    -------
    JoinCandidates or None
        One row: the most useful of the keys that are m:1 or 1:1.

    Notes
    -----
    The first 8 columns of the frame that may be keys are tried. A column that holds the same things as the first one is
    none: a pair of teams is not a team and something of it. Dates are tried as they are; where no column makes a key,
    the periods in which they lie. O(columns × (values + postings + rows of the table)).
    """
    on, _, first = context.key_of(row)
    if len(on) > 1 or first.pad is not None or not mode_of(context.params.mode).has_composite_keys:
        return None
    names = tuple(map(str, left.frame.columns))
    others = [query for query in left.candidates() if query.label != first.label and not reason_against_key(query)]
    others = [query for query in others if not _is_same_domain(first, query)]
    params = search_params(
        k=1, threshold=options.threshold, min_score=options.min_score, tables=[row.table], families=False
    )
    keys = [make_key_query([first, replace(other, companions=names)]) for other in others[:_MOST_TRIED]]
    best = _best_of([search_columns(context.snapshot, key, params) for key in keys])
    if best is not None:
        return best
    return _best_of([one.hits for key in keys for one in find_period_keys(key, context.snapshot, params, parts=(1,))])


def _best_of(results: list[JoinCandidates]) -> JoinCandidates | None:
    """Return the most useful key of some results by which each row finds one row of the table at most."""
    keys = [found[found["relationship"].str.endswith(":1")] for found in results]
    return max((found for found in keys if len(found)), key=lambda found: found["usefulness"].iloc[0], default=None)


def _is_same_domain(own: QueryColumn, other: QueryColumn) -> bool:
    """Tell whether two columns of a frame share half of the values of the smaller one."""
    n_shared = np.intersect1d(own.values.hashes, other.values.hashes).size
    return n_shared >= _SAME_DOMAIN * max(1, min(len(own.values), len(other.values)))
