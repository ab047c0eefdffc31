"""Which columns of a frame are keys when the user names none, and which candidates they need more evidence for."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, is_naming
from dfjoin.values.headers import CALENDAR_HEADERS, MEASURES

__all__ = ["has_dates_alone", "reason_against_key"]

_FEWEST_VALUES = 3


@cache
def _measures() -> frozenset[int]:
    return frozenset(headers_of(MEASURES).words.tolist())


@cache
def _calendar() -> NDArray[np.uint64]:
    return headers_of(CALENDAR_HEADERS).joined


def reason_against_key(query: QueryColumn) -> str:
    """Return why a column is no key unless the user names it; nothing for one that may be.

    Columns of two values, serial numbers (integers from 0 or 1 on with few gaps, none of which occurs twice), numbers
    under the header of a measure, and numbers that are no years under a header that names no identifier (``waiting``,
    ``mail``) are none. Columns of fractions are not searched at all.

    Parameters
    ----------
    query : QueryColumn
    """
    facts = query_facts(query)
    if facts.n_values < _FEWEST_VALUES:
        return "it has fewer than three values"
    if facts.is_serial and facts.is_unique:
        return "it is a serial number"
    if facts.is_number and not facts.is_years and _measures() & set(facts.header.words.tolist()):
        return "it is a measure"
    if facts.is_number and not facts.is_years and not is_naming(facts.header):
        return "its header does not say that its numbers name anything"
    return ""


def has_dates_alone(snapshot: Snapshot, query: QueryColumn, table: str) -> bool:
    """Tell whether a query holds days or years, and its frame shares no other header with a table.

    Days and years stand in tables of any subject, so that they alone do not say that two tables belong together, nor do
    headers of the calendar (``month``, ``day of week``) beside them.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    table : str
        Name of a table of the lake.
    """
    facts = query_facts(query)
    if query.profile.kind != "date" and not facts.is_years:
        return False
    segment, number = snapshot.find_table(table)
    known = facts_of(segment)
    headers = known.names.joined[known.first[number] : known.first[number] + known.width[number]]
    shared = headers[np.isin(headers, facts.companions)]
    return bool(np.isin(shared, _calendar()).all())
