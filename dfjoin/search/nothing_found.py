"""Why a search has no row to show, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dfjoin._validation import show
from dfjoin.errors import did_you_mean
from dfjoin.search.exact.allowed import matches_pattern
from dfjoin.search.found import SearchContext
from dfjoin.search.modes import mode_of
from dfjoin.store.snapshot import Snapshot

__all__ = ["unknown_tables", "why_nothing"]

_LIMITS = ("threshold", "tables", "exclude", "kinds")
"""Arguments that leave candidates out."""


def why_nothing(context: SearchContext, searches: list[dict[str, Any]]) -> str:
    """Say why a search found nothing, and what would show more.

    Parameters
    ----------
    context : SearchContext
        Of the result.
    searches : list of dict
        What the result says of the search of each query column, in ``attrs["dfjoin"]["searches"]``.

    Returns
    -------
    str
        Empty if the search found something: the rows were taken away since.
    """
    params = context.params
    if any(found.hits.tables for found in context.found.values()) or (context.key is not None and context.key.hits):
        return ""
    unknown = unknown_tables(context.snapshot, params.tables)
    if unknown:
        return unknown
    if context.key is not None:
        return "no table has rows with these keys that are worth showing; pass min_score=0 for all"
    n_below = sum(one.get("n_below", 0) for one in searches)
    if n_below:
        columns = "1 column shares" if n_below == 1 else f"{n_below:,} columns share"
        return f"nothing useful: {columns} values by chance, it seems; pass min_score=0 to see them"
    if searches and not any(one.get("n_values", 1) for one in searches):
        return f"nothing to search with: no value in {', '.join(map(repr, context.found))}"
    limits = ", ".join(f"`{name}`" for name in _LIMITS if getattr(params, name))
    return mode_of(params.mode).nothing_found + (f", given {limits}" if limits else "")


def unknown_tables(snapshot: Snapshot, patterns: Sequence[str]) -> str:
    """Name the first of some patterns that matches no table of a lake, and the nearest tables; empty if all match."""
    names = [name for segment in snapshot.segments for name in segment.alive_table_names()] if patterns else []
    for pattern in patterns:
        if not any(matches_pattern(name, (pattern,)) for name in names):
            return f"`tables` {show(pattern)} matches no table of the lake{did_you_mean(pattern, names)}"
    return ""
