"""Integers of a query that have lost the zeros in front of them, as ZIP codes that were read as numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfjoin.errors import warn
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.found import Found
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import pad_integers

__all__ = ["find_lost_zero_width", "warn_of_lost_zeros"]

_EXTRA_DIGITS = 2
_MAX_DIGITS = 18


def warn_of_lost_zeros(snapshot: Snapshot, found: Found, params: SearchParams) -> None:
    """Warn when a query's integers match more with zeros in front than as they are."""
    query, hits = found.query, found.hits.hits
    best = int(hits.matched[0]) if len(hits) else 0
    width, padded = find_lost_zero_width(snapshot, query, params, best)
    if width:
        warn(
            f"the integers of column {query.name!r} match {padded:,} values when written with zeros up "
            f"to {width} digits, and {best:,} as they are; read the column with dtype=str, or pass "
            f"`pad={width}`"
        )


def find_lost_zero_width(snapshot: Snapshot, query: QueryColumn, params: SearchParams, best: int) -> tuple[int, int]:
    """Find a width to which zero-padding the query's integers matches more than their own digits.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    params : SearchParams
        Filters of the search that was made.
    best : int
        Most values that a column shares with the query as it is.

    Returns
    -------
    width, matched : int
        The best width and what it matches; (0, best) when no width is better.

    Notes
    -----
    Widths from the longest number to two digits more. A width is searched only when the vocabulary
    holds more of its spellings than `best`, and none when some column holds all values as they are.
    """
    profile = query.profile
    if query.pad is not None or not profile.has_range or profile.min_integer < 0 or best >= len(query.values):
        return 0, best
    longest, shortest = len(str(profile.max_integer)), len(str(profile.min_integer))
    found = 0
    single = replace(params, k=1, threshold=None, is_weighted=False)
    for width in range(longest, min(longest + _EXTRA_DIGITS, _MAX_DIGITS) + 1):
        if width == shortest:
            continue
        matched = MatchedQuery(snapshot, pad_integers(query.values, width, snapshot.settings))
        n_found = sum(
            int(np.count_nonzero(matched.groups(number) >= 0))
            for number, segment in enumerate(snapshot.segments)
            if segment.n_tokens
        )
        if n_found <= best:
            continue
        hits, _ = searcher_of(snapshot).search(matched, single)
        if len(hits) and int(hits.matched.max()) > best:
            best, found = int(hits.matched.max()), width
    return found, best
