"""Keys of two columns that nobody named: a second one where one makes rows meet that have nothing to do with each
other, and columns of a frame that stand together in a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_columns, search_queries
from dfjoin.search.found import SearchContext, rows_of
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from dfjoin.search.period_search import find_period_keys
from dfjoin.search.query import QueryColumn, make_key_query
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.search.usefulness.lake_facts import table_headers
from dfjoin.values.header_meaning import completes_name, headers_of, is_generic, is_part_of_name

_MOST_TRIED = 8
"""Columns of the frame that are tried."""

_MOST_PAIRS = 3
"""Pairs of columns that are searched."""

_MOST_TABLES = 20
"""Tables that are compared row by row for a pair."""

_SAME_DOMAIN = 0.5
"""Share of the values of the smaller of two columns from which on they hold the same things, as home and away teams."""


def find_second_column(
    left: KeyColumns, row: Any, context: SearchContext, options: JoinOptions, *, may_repeat: bool = False
) -> JoinCandidates | None:
    """Find the column of a frame that makes each key of a table stand in one row of it, together with the first one.

    Parameters
    ----------
    left : KeyColumns
        The frame.
    row : tuple
        A candidate of one column, m:m.
    context : SearchContext
        Of its search.
    options : JoinOptions
        Its `threshold` and `min_score` hold for the key of two columns.
    may_repeat : bool, default False
        Where no key stands in one row of the table, one that the frame has once and the table several times will do.

    Returns
    -------
    JoinCandidates or None
        One row: the most useful of the keys that are m:1 or 1:1.

    Notes
    -----
    The first 8 columns of the frame that may be keys are tried. A column that holds the same things as the first one is
    none: a pair of teams is not a team and something of it. Dates are tried as they are; where no column makes a key,
    the finest periods in which they lie. O(columns × (values + postings + rows of the table)).
    """
    on, _, first = context.key_of(row)
    if len(on) > 1 or first.pad is not None or not mode_of(context.params.mode).has_composite_keys:
        return None
    names = tuple(map(str, left.frame.columns))
    others = [query for query in left.candidates() if query.label != first.label and not reason_against_key(query)]
    others = [query for query in others if not _is_same_domain(first, query)]
    params = search_params(
        k=1, threshold=options.threshold, min_score=options.min_score, tables=[row.table], families=False
    )
    keys = [make_key_query([first, replace(other, companions=names)]) for other in others[:_MOST_TRIED]]
    results = [search_columns(context.snapshot, key, params) for key in keys]
    best = _best_of(results)
    if best is not None:
        return best
    by_period = ([one.hits for one in find_period_keys(key, context.snapshot, params, parts=(1,))] for key in keys)
    finest = [next((hits for hits in own if _best_of([hits]) is not None), None) for own in by_period]
    best = _best_of([hits for hits in finest if hits is not None])
    return best if best is not None or not may_repeat else _best_of(results, "1:m")


@dataclass(frozen=True)
class KeyOfTwo:
    """Tables that are joined by two columns, if there are any.

    Parameters
    ----------
    found : list of JoinCandidates
        One row each, in the order in which they are to be tried: a table may bring nothing.
    is_apart : dict of str
        Tables that hold both columns of a pair, and not in the same rows; why they are not to be joined by one of them.
    """

    found: list[JoinCandidates] = field(default_factory=list)
    is_apart: dict[str, str] = field(default_factory=dict)


def find_key_of_two(left: KeyColumns, rows: list[Any], context: SearchContext, options: JoinOptions) -> KeyOfTwo:
    """Find two columns of a frame that stand together in tables of a lake, none of which is a key there alone.

    Parameters
    ----------
    left : KeyColumns
        The frame.
    rows : list of tuple
        Candidates of single columns.
    context : SearchContext
        Of their search.
    options : JoinOptions
        Its `threshold` and `min_score` hold for either column and for the key of both.

    Returns
    -------
    KeyOfTwo

    Notes
    -----
    Entity and year, first and last name, city and state. Of the pairs of columns that tables hold, those 3 are
    searched whose tables are the most useful. A pair by which each row finds one row of the table goes before one
    that the frame has once and the table several times. A table of which one of the columns is a key alone is left
    out, unless its values are parts of names of which the other column has the rest. Where the frame has a column
    once, the other one has the same name in the table or holds texts: the year in which an award was introduced is not
    that of its winners. A column of one value, as when the rows of one country were chosen, or of the few states of
    cities, which no table is searched by, is held by the tables that have enough of its values under its header.
    O(pairs × (values + postings + rows of the tables)).
    """
    if not mode_of(context.params.mode).has_composite_keys:
        return KeyOfTwo()
    rows = [row for row in rows if row.score >= options.min_score and row.containment >= options.threshold]
    keyed: dict[str, set[str]] = {}
    for row in rows:
        if isinstance(row.relationship, str) and row.relationship.endswith(":1"):
            keyed.setdefault(row.table, set()).add(row.query_column)
    constants = _tables_of_constants(left, rows, context, options.threshold)
    queries = context.queries | {name: query for name, (query, _) in constants.items()}
    order = [name for name in dict.fromkeys(map(str, left.frame.columns)) if name in queries]
    tables = _tables_of_pairs(rows, context, keyed, {name: held for name, (_, held) in constants.items()}, order)
    pairs = sorted(tables, key=lambda pair: -max(tables[pair].values()))[:_MOST_PAIRS]
    names = tuple(map(str, left.frame.columns))
    params = search_params(
        k=_MOST_TABLES,
        threshold=options.threshold,
        min_score=options.min_score,
        tables=None if options.tables is None else list(options.tables),
        exclude=None if options.exclude is None else list(options.exclude),
        families=False,
    )
    results = []
    is_apart: dict[str, str] = {}
    for pair in pairs:
        key = make_key_query([replace(queries[name], companions=names) for name in pair])
        found = search_columns(context.snapshot, key, params)
        is_other = np.array(
            [
                not _is_whole(pair, keyed.get(row.table, ())) or _has_other_key(found.context, row)
                for row in rows_of(found)
            ],
            bool,
        )
        results.append(found[~found["copy"] & ~is_other & (found["usefulness"] >= options.min_score)])
        if found.attrs["dfjoin"]["complete"]:
            missing = set(tables[pair]) - set(found["table"])
            is_apart |= dict.fromkeys(missing, f"too few pairs of {' and '.join(pair)} stand in one row of it")
    return KeyOfTwo([*_in_order(results, ":1"), *_in_order(results, "1:m")], is_apart)


def _tables_of_constants(
    left: KeyColumns, rows: list[Any], context: SearchContext, threshold: float
) -> dict[str, tuple[QueryColumn, set[str]]]:
    """Return for each column of one value the tables of some candidates that have this value under its header.

    So for a column of few values that is not searched, if it completes the names in one that is.
    """
    named = {row.query_column for row in rows}
    few = [query for query in left.candidates() if query.name not in context.queries]
    few = [query for query in few if any(completes_name(name, query.name) for name in named)]
    queries = {query.name: query for query in (*left.constants(), *few)}
    headers = dict(zip(queries, headers_of(list(queries)).joined.tolist(), strict=True))
    known = {row.table: table_headers(context.snapshot, row.table) for row in rows} if queries else {}
    tables = [table for table, own in known.items() if not own.isdisjoint(headers.values())]
    if not tables:
        return {}
    params = search_params(threshold=threshold, rank="matched", tables=tables)
    found: dict[str, tuple[QueryColumn, set[str]]] = {}
    for row in rows_of(search_queries(context.snapshot, list(queries.values()), params, is_first=False)):
        if row.column.casefold() == row.query_column.casefold():
            found.setdefault(row.query_column, (queries[row.query_column], set()))[1].add(row.table)
    return found


def _tables_of_pairs(
    rows: list[Any],
    context: SearchContext,
    keyed: dict[str, set[str]],
    constants: dict[str, set[str]],
    order: list[str],
) -> dict[tuple[str, str], dict[str, float]]:
    """Return for each two columns of a frame, in this order, the tables that hold both, with their usefulness.

    Neither is a key of the table, unless the other one completes its names; one at most has one value.

    A table holds a column whose values it has, or whose header, if that does not stand in tables of any subject.
    """
    rows_of: dict[str, dict[str, Any]] = {}
    for row in rows:
        rows_of.setdefault(row.table, {}).setdefault(row.query_column, row)
    headers = {name: headers_of([name]) for name in context.queries}
    specific = {name: int(header.joined[0]) for name, header in headers.items() if not is_generic(header)}
    found: dict[tuple[str, str], dict[str, float]] = {}
    for table, own in rows_of.items():
        known = table_headers(context.snapshot, table)
        useful = max(row.usefulness for row in own.values())
        held = [
            name for name in order if name in own or specific.get(name) in known or table in constants.get(name, ())
        ]
        for one, other in combinations(held, 2):
            columns = [own[name].column if name in own else None for name in (one, other)]
            # of two constants, or two that headers alone tell, neither has a column here
            if columns[0] != columns[1] and _is_whole((one, other), keyed.get(table, ())):
                found.setdefault((one, other), {})[table] = useful
    return found


def _is_whole(pair: tuple[str, str], keys: Iterable[str]) -> bool:
    """Tell whether each of some columns that are keys of a table is one of a pair, and the other one completes it."""
    return all(key in pair and completes_name(key, pair[key == pair[0]]) for key in keys)


def _has_other_key(context: SearchContext, row: Any) -> bool:
    """Tell whether a table is rather joined by one of two columns: it names the rows of either side by whole names."""
    key = context.of(row).key
    assert key is not None  # the rows are those of a search by two columns
    _, names, _ = context.key_of(row)
    both = list(zip(key.query.columns, names, strict=True))
    tells_alone = [own.kind == "text" or own.name.casefold() == name.casefold() for own, name in both]
    if any(own.is_unique and not tells for (own, _), tells in zip(both, reversed(tells_alone), strict=True)):
        return True
    segment, number = context.snapshot.find_table(row.table)
    columns = segment.catalog.column_records(segment.catalog.columns_of(number))
    alone = [c["name"] for c in columns if c["name"] in names and c["cardinality"] == c["n_rows"] - c["n_null"]]
    return not all(is_part_of_name(name, names) for name in alone)


def _best_of(results: list[JoinCandidates], relationship: str = ":1") -> JoinCandidates | None:
    """Return the most useful key of some results of a relationship, by default one row of the table for each row."""
    rows = _in_order(results, relationship)
    return rows[0] if rows else None


def _in_order(results: list[JoinCandidates], relationship: str) -> list[JoinCandidates]:
    """Return each row of some results of a relationship, the most useful first."""
    keys = [found[found["relationship"].str.endswith(relationship)] for found in results]
    rows = [found.iloc[i : i + 1] for found in keys for i in range(len(found))]
    return sorted(rows, key=lambda row: -row["usefulness"].iloc[0])


def _is_same_domain(own: QueryColumn, other: QueryColumn) -> bool:
    """Tell whether two columns of a frame share half of the values of the smaller one."""
    n_shared = np.intersect1d(own.values.hashes, other.values.hashes).size
    return n_shared >= _SAME_DOMAIN * max(1, min(len(own.values), len(other.values)))
