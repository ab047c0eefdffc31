"""What the tables of a lake have of the headers of a frame, and which tables lie beside those that are most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.usefulness.lake_facts import LakeFacts, alive_tables, facts_of
from dfjoin.store.snapshot import Snapshot

__all__ = ["FrameHeaders", "frame_headers"]

_HALF = 0.5
"""Share of the headers of a frame and a table together that both have, at least, for them to be alike."""


@dataclass(frozen=True)
class FrameHeaders:
    """What each table of a segment has of the headers of a frame.

    Parameters
    ----------
    n_held : ndarray of int64, shape (n_tables,)
        Columns that have the header of a column of the frame other than the query.
    n_named : ndarray of int64, shape (n_tables,)
        Columns that have the header of the query.
    is_near : ndarray of uint8, shape (n_tables,)
        The table lies in one folder with a table that is most like the frame by its headers, and not all tables of the
        lake lie there.
    """

    n_held: NDArray[np.int64]
    n_named: NDArray[np.int64]
    is_near: NDArray[np.uint8]


def frame_headers(snapshot: Snapshot, own: NDArray[np.uint64], companions: NDArray[np.uint64]) -> list[FrameHeaders]:
    """Compare the headers of a frame with those of each table of each segment.

    Parameters
    ----------
    snapshot : Snapshot
    own : ndarray of uint64, shape (1,) or (0,)
        Hash of the header of the query column.
    companions : ndarray of uint64
        Distinct hashes of the headers of the other columns.

    Notes
    -----
    Two sets of headers are alike as far as their Jaccard similarity is large; a frame of one header is like none.
    O(tables + columns that have one of the headers).
    """
    every = [facts_of(segment) for segment in snapshot.segments]
    held = [known.n_columns_named(companions) for known in every]
    named = [known.n_columns_named(own) for known in every]
    near = [np.zeros(known.n_tables, np.uint8) for known in every]
    if companions.size:
        shared = [a + b for a, b in zip(held, named, strict=True)]
        near = _near_tables(snapshot, every, shared, own.size + companions.size) or near
    return [FrameHeaders(*parts) for parts in zip(held, named, near, strict=True)]


def _near_tables(
    snapshot: Snapshot, every: list[LakeFacts], shared: list[NDArray[np.int64]], n_own: int
) -> list[NDArray[np.uint8]]:
    """Mark the tables that lie in the folders of the tables that are most alike; an empty list where none is alike."""
    tables = [np.flatnonzero(one) for one in shared]
    likeness = [
        one[at] / np.maximum(1, known.n_named[at] + n_own - one[at])
        for known, at, one in zip(every, tables, shared, strict=True)
    ]
    if _largest(likeness) < _HALF:
        return []
    alive = [alive_tables(segment, known) > 0 for segment, known in zip(snapshot.segments, every, strict=True)]
    likeness = [np.where(own[at], one, 0.0) for own, at, one in zip(alive, tables, likeness, strict=True)]
    best = _largest(likeness)
    if best < _HALF:
        return []
    most_alike = [known.folder[at[one >= best]] for known, at, one in zip(every, tables, likeness, strict=True)]
    folders = np.unique(np.concatenate(most_alike))
    near = [np.isin(known.folder, folders) for known in every]
    has_others = any(bool((own & ~one).any()) for own, one in zip(alive, near, strict=True))
    return [(one & has_others).astype(np.uint8) for one in near]


def _largest(likeness: list[NDArray[np.float64]]) -> float:
    """Return the largest of some numbers that are not negative, 0 where there are none."""
    return max((float(one.max(initial=0.0)) for one in likeness), default=0.0)
