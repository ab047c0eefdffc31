"""Which columns of a frame are keys when the user names none, and which candidates they need more evidence for."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts.header_words import GENERIC, NAMING, UNSPECIFIC
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, is_naming
from dfjoin.values.headers import CALENDAR_HEADERS, MEASURES

_FEWEST_VALUES = 3

_HEADERS_ALIKE = 2
"""Headers beside a day or a serial number that say that two tables are about the same: one may be ``price``."""


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
    """Tell whether a query holds days, years or seasons, and its frame shares hardly another header with a table.

    Days (``2024-03-11``, ``March 11``, ``Monday``), months, years and seasons (``2023-24``) stand in tables of any
    subject, so that they alone do not say that two tables belong together, nor do headers of the calendar (``month``,
    ``day of week``) beside them, such as ``rownames`` and ``type``, or a single other one (``price``).

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    table : str
        Name of a table of the lake.
    """
    return query.holds_dates and _shared_headers(snapshot, query, table).size < _HEADERS_ALIKE


def has_serials_alone(snapshot: Snapshot, query: QueryColumn, table: str) -> bool:
    """Tell whether a query numbers things from 0 or 1 on, or by letters, and a header alone relates it to a table.

    Tables of any subject number districts, teams and samples. A header with a word for identifiers (``team_id``) or one
    that names the table, and two other headers that both sides have, but for the calendar's, say that the numbers mean
    the same.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    table : str
        Name of a table of the lake.
    """
    facts = query_facts(query)
    if not (facts.is_serial or _are_letters(query)) or np.any(facts.header.marks & NAMING):
        return False
    segment, number = snapshot.find_table(table)
    tables = facts_of(segment).tables
    says_something = facts.header.marks & (GENERIC | UNSPECIFIC) == 0
    first, last = tables.indptr[number], tables.indptr[number + 1]
    if np.isin(facts.header.words[says_something], tables.words[first:last]).any():
        return False
    return _shared_headers(snapshot, query, table).size < _HEADERS_ALIKE


def _shared_headers(snapshot: Snapshot, query: QueryColumn, table: str) -> NDArray[np.uint64]:
    """Return the headers of a table that say something, but for the calendar's, which columns of the frame have."""
    facts = query_facts(query)
    segment, number = snapshot.find_table(table)
    known = facts_of(segment)
    own = known.names.indptr[known.first[number] : known.first[number] + known.width[number] + 1]
    headers = known.names.joined[known.first[number] : known.first[number] + known.width[number]]
    says_something = known.names.marks[own[0] : own[-1]] & (GENERIC | UNSPECIFIC) == 0
    n_words = np.diff(np.append(0, np.cumsum(says_something))[own - own[0]])
    return headers[np.isin(headers, facts.companions) & (n_words > 0) & ~np.isin(headers, _calendar())]


def _are_letters(query: QueryColumn) -> bool:
    """Tell whether each value is one letter."""
    if query.kind == "integer":  # whose digits need not be written
        return False
    letters = query.values.data[: query.values.offsets[-1]]
    return letters.size == len(query.values) and bool((letters >= ord("a")).all())
