"""Columns of a lake that hold the periods in which the dates of a frame lie, however they are spelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd

from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_columns, search_queries
from dfjoin.search.exact.searcher import MatchedQuery, smallest_count
from dfjoin.search.found import rows_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import KeyQuery, QueryColumn, make_key_query, make_query
from dfjoin.search.spellings import SpelledRows, merge_spelled
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.periods import GRANULARITIES, PeriodColumn, read_periods, spell_periods

_SECONDS = 4.0
"""How long keys of several columns are searched for by periods, beyond the first search."""

_MOST_PERIODS = 1 << 16
"""Distinct values of a column of periods; a column with more of them holds something else."""

_SAMPLES = 64
"""Values of a column that are looked at first, to tell whether they are periods."""


@dataclass(frozen=True)
class PeriodCandidate:
    """A column of the lake that shares periods with a column of a frame, or a key of which this is a part.

    Parameters
    ----------
    label : column label
        Of the frame, the column of dates.
    granularity : str
        Of the periods that both have.
    hits : JoinCandidates
    position : int
        Its row in `hits`.
    row : tuple
        That row.
    """

    label: Any
    granularity: str
    hits: JoinCandidates
    position: int
    row: Any


def find_period_candidates(
    columns: Iterable[tuple[Any, pd.Series]],
    snapshot: Snapshot,
    params: SearchParams,
    companions: tuple[str, ...] = (),
) -> list[PeriodCandidate]:
    """Search for the periods in which the dates of some columns lie, and for other spellings of their periods.

    Parameters
    ----------
    columns : iterable of (label, Series)
        Those that hold no dates or periods are passed over.
    snapshot : Snapshot
    params : SearchParams
    companions : tuple of str
        Names of the columns of their frame.

    Returns
    -------
    list of PeriodCandidate
        For each column the finest granularity first; a table and column may stand there several times.

    Notes
    -----
    The index has texts and days; so periods are spelled in all the ways that tables spell them, at most 6 for a
    granularity, and each spelling of which the lake holds enough is searched.
    """
    found = []
    for label, column in columns:
        for query in _spelled(label, column, snapshot, params):
            hits = search_queries(snapshot, [replace(query, companions=companions)], params, is_first=False)
            found += _candidates(query, hits)
    return found


def find_period_keys(
    key: KeyQuery, snapshot: Snapshot, params: SearchParams, parts: Sequence[int] | None = None
) -> list[PeriodCandidate]:
    """Search with a key of several columns, of which one holds dates, by the periods in which these lie.

    Parameters
    ----------
    key : KeyQuery
    snapshot : Snapshot
    params : SearchParams
    parts : sequence of int, optional
        The columns of the key that may be dates; by default each of them.

    Returns
    -------
    list of PeriodCandidate
        The finest granularity first; a table may stand there several times. `label` is that of the dates.

    Notes
    -----
    Each spelling of the periods is a search with a key, see `dfjoin.search.composite_search.search_key`. No further one
    begins after 4 seconds.
    """
    end = monotonic() + _SECONDS
    found: list[PeriodCandidate] = []
    for position in range(len(key.columns)) if parts is None else parts:
        part = key.columns[position]
        for query in _spelled(part.label, part.column, snapshot, params):
            if monotonic() > end:
                return found
            columns = list(key.columns)
            columns[position] = replace(query, companions=part.companions)
            found += _candidates(query, search_columns(snapshot, make_key_query(columns), params))
    return found


def _candidates(query: QueryColumn, hits: JoinCandidates) -> list[PeriodCandidate]:
    assert query.period is not None
    return [PeriodCandidate(query.label, query.period, hits, *at) for at in enumerate(rows_of(hits))]


def _spelled(label: Any, column: pd.Series, snapshot: Snapshot, params: SearchParams) -> Iterator[QueryColumn]:
    """Spell the periods in which dates lie, the finest first, in each way of which the lake holds enough values."""
    periods = read_periods(column, is_year=is_year_name(label))
    for granularity in _coarser(periods):
        assert periods is not None
        for spelled in spell_periods(periods.numbers(granularity), granularity):
            query = make_query(spelled.rename(label), snapshot.settings, name=str(label))
            if query.profile.is_indexable and _may_hold_enough(query, snapshot, params):
                yield replace(query, period=granularity)


def _may_hold_enough(query: QueryColumn, snapshot: Snapshot, params: SearchParams) -> bool:
    """Tell whether the lake holds so many values of a query that a column may reach the smallest containment."""
    matched = MatchedQuery(snapshot, query.values)
    is_held = np.zeros(len(query.values), bool)
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens:
            is_held |= matched.groups(number) >= 0
    return int(np.count_nonzero(is_held)) >= max(1, smallest_count(params.threshold, len(query.values)))


def _coarser(periods: PeriodColumn | None) -> list[str]:
    """Return the granularities at which a column may be joined, the finest first."""
    if periods is None:
        return []
    if periods.granularity == "week":
        return ["week"]
    if periods.granularity in ("day", "second"):
        return [*(("day",) if periods.granularity == "second" else ()), "week", "month", "quarter", "year"]
    return list(GRANULARITIES[GRANULARITIES.index(periods.granularity) :: -1])


# In the result of a search --------------------------------------------------------------------------------


def add_periods(hits: JoinCandidates, made: KeyQuery | list[QueryColumn], dates: Sequence[int]) -> JoinCandidates:
    """Search for the periods in which dates lie, and put the candidates into the result of the query as it is.

    Parameters
    ----------
    hits : JoinCandidates
    made : KeyQuery or list of QueryColumn
        What was searched for.
    dates : sequence of int
        Numbers of the columns that may be dates.

    Returns
    -------
    JoinCandidates
        Rows of periods have their granularity in the column `period`, which is missing where no row has one. They are
        there in the order by usefulness alone, and only if no equal key of their table is at least as useful.
    """
    snapshot, params = hits.context.snapshot, hits.context.params
    if isinstance(made, KeyQuery):
        periods = find_period_keys(made, snapshot, params, dates)
    else:
        queries = [made[number] for number in dates]
        columns = [(query.label, query.column) for query in queries]
        periods = find_period_candidates(columns, snapshot, params, made[0].companions)
    chosen = _more_useful(hits, periods, params.k) if periods else []
    text, found = hits["table"].dtype, []
    for searched in {id(one.hits): one.hits for one in chosen}.values():
        own = [one for one in chosen if one.hits is searched]
        rows = pd.DataFrame(searched.iloc[[one.position for one in own]])
        found.append(SpelledRows(rows, pd.array([own[0].granularity] * len(own), text), searched.context))
    return merge_spelled(hits, "period", found)


def _more_useful(hits: JoinCandidates, periods: Sequence[PeriodCandidate], k: int | None) -> list[PeriodCandidate]:
    """Choose the best candidate by periods of each table that an equal key does not reach, `k` of a query at most."""
    best: dict[tuple[str, str], float] = {}
    shown: dict[str, list[float]] = {}
    for name, table, useful in zip(hits["query_column"], hits["table"], hits["usefulness"], strict=True):
        best[name, table] = max(best.get((name, table), 0.0), useful)
        shown.setdefault(name, []).append(useful)
    chosen = []
    for one in sorted(periods, key=lambda one: (-one.row.usefulness, -one.row.matched)):
        row = one.row
        ahead = sum(useful >= row.usefulness for useful in shown.get(row.query_column, ()))
        is_better = row.usefulness > best.get((row.query_column, row.table), 0.0) and (k is None or ahead < k)
        if is_better and not row.accidental and _holds_periods(hits.context.snapshot, one):
            best[row.query_column, row.table] = row.usefulness
            shown.setdefault(row.query_column, []).append(row.usefulness)
            chosen.append(one)
    return chosen


def _holds_periods(snapshot: Snapshot, found: PeriodCandidate) -> bool:
    """Tell whether the column that shares spellings of periods holds periods, and none that are finer."""
    context = found.hits.context
    _, names, _ = context.key_of(found.row)
    period = context.period_of(found.row)
    assert period is not None
    name = names[period[0]]
    segment, table = snapshot.find_table(found.row.table)
    column = segment.catalog.find_column(table, name)
    tokens = tokens_of_column(segment, column)
    if not 0 < tokens.size <= _MOST_PERIODS:
        return False
    is_year = is_year_name(name)  # whole numbers are no years by themselves
    some = tokens[:: max(1, tokens.size // _SAMPLES)]
    return all(
        _are_periods([value_of_token(segment, token) for token in part.tolist()], found.granularity, is_year)
        for part in ((some, tokens) if some.size < tokens.size else (tokens,))
    )


def _are_periods(texts: list[str], granularity: str, is_year: bool) -> bool:
    """Tell whether texts are periods of a granularity, or all the first days of such, or all the last ones."""
    periods = read_periods(pd.Series(texts, dtype=object), is_year=is_year)
    return periods is not None and (periods.granularity == granularity or periods.are_bounds_of(granularity))
