"""The columns of a segment that a search may return: alive, of the wanted tables and kinds."""

from __future__ import annotations

import fnmatch

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.segment import Segment
from dfjoin.search.params import SearchParams

__all__ = ["allowed_columns", "matches_pattern"]

_ALL = np.empty(0, np.uint8)
_ALL.flags.writeable = False


def allowed_columns(segment: Segment, params: SearchParams) -> NDArray[np.uint8]:
    """Return 1 for each column that may be returned, shape (n_columns,); empty when all may.

    Patterns are matched against whole table names, case-sensitively; ``geo/*`` takes every table
    below ``geo``. A name that looks like a pattern names its table, too. O(n_columns) when there is anything to filter.
    """
    alive = segment.alive
    if alive is None and not (params.tables or params.exclude or params.kinds):
        return _ALL
    allowed = np.ones(segment.n_columns, np.uint8) if alive is None else alive.copy()
    numbers = segment.catalog.numbers
    if params.kinds:
        allowed &= np.isin(numbers["kind"], [KINDS.index(kind) for kind in params.kinds]).astype(np.uint8)
    if params.tables or params.exclude:
        names = segment.catalog.table_names()
        is_wanted = np.array([_is_wanted(name, params) for name in names], np.uint8)
        allowed &= is_wanted[numbers["table"]]
    allowed.flags.writeable = False
    return allowed


def _is_wanted(name: str, params: SearchParams) -> bool:
    if params.tables and not matches_pattern(name, params.tables):
        return False
    return not matches_pattern(name, params.exclude)


def matches_pattern(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a table is named, or matches a pattern."""
    return name in patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
