"""Columns of a lake that hold the periods in which the dates of a frame lie, however they are spelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import search_queries
from dfjoin.search.params import SearchParams
from dfjoin.search.query import make_query
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.periods import GRANULARITIES, PeriodColumn, is_year_name, read_periods, spell_periods

__all__ = ["PeriodCandidate", "find_period_candidates"]


@dataclass(frozen=True)
class PeriodCandidate:
    """A column of the lake that shares periods with a column of a frame.

    Parameters
    ----------
    label : column label
        Of the frame.
    granularity : str
        Of the periods that both have.
    hits : JoinCandidates
    place : int
        Its row in `hits`.
    row : tuple
        That row.
    """

    label: Any
    granularity: str
    hits: JoinCandidates
    place: int
    row: Any


def find_period_candidates(
    columns: Iterable[tuple[Any, pd.Series]], snapshot: Snapshot, params: SearchParams
) -> list[PeriodCandidate]:
    """Search for the periods in which the dates of some columns lie, and for other spellings of their periods.

    Parameters
    ----------
    columns : iterable of (label, Series)
        Those that hold no dates or periods are passed over.
    snapshot : Snapshot
    params : SearchParams

    Returns
    -------
    list of PeriodCandidate
        For each column the finest granularity first; a table and column may stand there several times.

    Notes
    -----
    The index has texts and days; so periods are spelled in all the ways that tables spell them, at most 5 for a
    granularity, and each spelling is searched.
    """
    found = []
    for label, column in columns:
        periods = read_periods(column, is_year=is_year_name(label))
        for granularity in _coarser(periods):
            assert periods is not None
            for way in spell_periods(periods.numbers(granularity), granularity):
                query = make_query(way.rename(label), snapshot.settings, name=str(label))
                if not query.profile.is_indexable:
                    continue
                hits = search_queries(snapshot, [query], params, is_first=False)
                found += [
                    PeriodCandidate(label, granularity, hits, place, row)
                    for place, row in enumerate(hits.itertuples(index=False))
                ]
    return found


def _coarser(periods: PeriodColumn | None) -> list[str]:
    """Return the granularities at which a column may be joined, the finest first."""
    if periods is None:
        return []
    if periods.granularity == "week":
        return ["week"]
    order = ["week", "month", "quarter", "year"] if periods.granularity in ("day", "second") else []
    return order or list(GRANULARITIES[GRANULARITIES.index(periods.granularity) :: -1])
