"""The protocol of the modes of search. A further mode is a folder and its name in `params.MODES`.

What a mode needs is imported when it is first used: the command line lists the modes without compiling anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from dfjoin.search.explanation import Explanation
    from dfjoin.search.found import Candidate, Found, Pool
    from dfjoin.search.group_hits import GroupHits, HeldCounts
    from dfjoin.search.params import SearchParams
    from dfjoin.search.query import QueryColumn
    from dfjoin.store.snapshot import Snapshot


class Mode(Protocol):
    """A way to find candidate columns."""

    nothing_found: str = "no column of the lake shares a value"
    """What is said of a search without a result."""

    is_by_equality: bool = True
    """Whether candidates share values as they are, not after a program."""

    is_by_value: bool = False
    """Whether parts of the values of a query can be searched apart and added, see `dfjoin.search.segment_groups`."""

    has_composite_keys: bool = False
    """Whether several columns may be a key together, see `dfjoin.search.composite_search`."""

    def check(self, snapshot: Snapshot) -> None:
        """Raise IncompatibleSettingsError when the index was built without what the mode needs."""

    def make_query(
        self, df: pd.DataFrame, labels: Sequence[Any], snapshot: Snapshot, params: SearchParams
    ) -> QueryColumn | None:
        """Make one query of several columns; None where the mode has no such queries."""
        return None

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        """Search for one query column."""
        ...

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        """Search for the candidates that are ranked by usefulness."""
        return self.pool_of(self.search(snapshot, query, params))

    def pool_of(self, found: Found) -> Pool:
        """Return all that a search found as candidates that are ranked by usefulness."""
        from dfjoin.search.found import Pool

        return Pool(found.hits.hits, found.matched, found.stats, found=found, is_by_equality=self.is_by_equality)

    def is_by_segment(self, params: SearchParams) -> bool:
        """Tell whether groups of segments can be searched apart, see `dfjoin.search.segment_groups`."""
        return False

    def needs_counts(self, params: SearchParams) -> bool:
        """Tell whether a group of segments is searched with what was counted in all of them."""
        return params.is_by_usefulness

    def count_group(self, group: Snapshot, query: QueryColumn, params: SearchParams) -> HeldCounts:
        """Count in a group of segments what the search has to know of all."""
        from dfjoin.search.group_hits import count_holding

        return count_holding(group, query)

    def search_group(self, group: Snapshot, query: QueryColumn, counts: HeldCounts, params: SearchParams) -> GroupHits:
        """Search a group of segments; numbers of segments are those in the group."""
        from dfjoin.search.group_hits import GroupHits

        return GroupHits.of(self.search(group, query, params).hits.hits)

    def merge_groups(
        self, snapshot: Snapshot, query: QueryColumn, parts: GroupHits, counts: HeldCounts, params: SearchParams
    ) -> Found | Pool:
        """Make of the hits of all groups what the search of the lake finds, or the candidates that it ranks.

        Asked of a mode alone that can be searched by segment.
        """
        ...

    def stages(self, snapshot: Snapshot, params: SearchParams) -> Sequence[SearchParams]:
        """Return the searches that ``progressive=True`` makes, one after the other."""
        return (params,)

    def columns(self, found: Found) -> dict[str, Any]:
        """Return result columns that the mode adds or replaces: name → list of texts or array, one entry a hit."""
        return {}

    def explain(self, candidate: Candidate) -> Explanation:
        """Explain one row of a result from what the search knew."""
        ...

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        """List the matched pairs of values of one row of a result."""
        ...


@cache
def mode_of(name: str) -> Mode:
    """Return the mode of a name, one of `MODES`: the class ``ExactMode`` of ``search/exact/exact_mode.py``."""
    module = import_module(f"dfjoin.search.{name}.{name}_mode")
    return getattr(module, f"{name.capitalize()}Mode")()
