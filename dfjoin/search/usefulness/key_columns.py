"""Which columns of a frame are keys when the user names none, and which candidates they need more evidence for."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts.header_words import GENERIC, UNSPECIFIC
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.lake_facts import FIRST_YEAR, LAST_YEAR, facts_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, is_naming
from dfjoin.values.headers import CALENDAR_HEADERS, MEASURES

_FEWEST_VALUES = 3
_DIGITS_OF_YEAR = 4


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
    headers of the calendar (``month``, ``day of week``) beside them, or such as ``rownames`` and ``type``.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    table : str
        Name of a table of the lake.
    """
    facts = query_facts(query)
    if query.profile.kind != "date" and not _are_mostly_years(query):
        return False
    segment, number = snapshot.find_table(table)
    known = facts_of(segment)
    own = known.names.indptr[known.first[number] : known.first[number] + known.width[number] + 1]
    headers = known.names.joined[known.first[number] : known.first[number] + known.width[number]]
    says_something = known.names.marks[own[0] : own[-1]] & (GENERIC | UNSPECIFIC) == 0
    n_words = np.diff(np.append(0, np.cumsum(says_something))[own - own[0]])
    shared = headers[np.isin(headers, facts.companions) & (n_words > 0)]
    return bool(np.isin(shared, _calendar()).all())


def _are_mostly_years(query: QueryColumn) -> bool:
    """Tell whether most values of a column are years: a few may have footnotes, or lie in antiquity."""
    if query.n_values > 2 * (LAST_YEAR - FIRST_YEAR + 1):  # there are not so many years
        return False
    values = query.values.values()
    n_years = sum(len(v) == _DIGITS_OF_YEAR and v.isdecimal() and FIRST_YEAR <= int(v) <= LAST_YEAR for v in values)
    return 2 * n_years > len(values)
