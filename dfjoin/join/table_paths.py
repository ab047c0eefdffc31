"""Which tables of a lake a frame reaches, by one join or by several: through a table that brings the next key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from dfjoin.errors import (
    ColumnNotFoundError,
    InvalidParameterError,
    JoinExpansionError,
    TableChangedError,
    TableReadError,
)
from dfjoin.join.date_columns import date_columns
from dfjoin.join.lake_join import join_candidates, join_plan
from dfjoin.join.options import JoinOptions
from dfjoin.join.output_names import is_generic, stem_of
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.report import JoinAccount
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import check_frame, query_columns, search_queries
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, search_params
from dfjoin.search.query import QueryColumn, make_query
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.periods import GRANULARITIES, PeriodColumn, is_year_name, read_periods, spell_periods

__all__ = [
    "PathOptions",
    "ReachedTable",
    "TableHop",
    "UnreachedTable",
    "path_stem",
    "path_text",
    "paths_to_table",
    "reach_tables",
]

_OBSTACLES = (TableChangedError, TableReadError, InvalidParameterError, ColumnNotFoundError, JoinExpansionError)
"""Errors for which a table is passed over."""

_NEARLY_KEY = 0.9
"""Distinct values per row of a column that is nearly a key: behind the first join only such columns are joined to."""

_MOST_GAPS = 3
"""Integers number rows if their range is at most so many times their number."""

_TABLES_A_HOP = 60
"""Tables that are joined at each distance from the frame, at most: the best of those that were found."""

_NOT_AS_IT_IS = ("mean", "sum", "median", "std", "count", "nunique", "share")
"""Rules whose result is no value of the table, so that nothing can be looked up by it."""


@dataclass(frozen=True)
class PathOptions:
    """How far and by what a frame may reach tables.

    Parameters
    ----------
    on : tuple of labels or None
        Columns of the frame that may be keys; None: those that `reason_against_key` does not speak against.
    never : tuple of labels
        Columns of the frame that are no keys in any case, as the target of a model.
    max_hops : int
        Most joins on the way to a table.
    min_score, threshold : float
        Smallest score and smallest containment; along a path they are multiplied.
    a_column : int
        Candidates of each key column, at most.
    tables, exclude : sequence of str or None
        Patterns of the tables that may be joined, and of those that may not.
    join : JoinOptions
        `mode`, `aggregate` and `on_stale` of each join.
    as_of : label or None
        Column of the frame that holds a date: only rows of the lake that are dated before are joined, and only tables
        that have a column of dates.
    undated : sequence of str
        Patterns of tables that are joined without dates all the same.
    """

    on: tuple[Any, ...] | None = None
    never: tuple[Any, ...] = ()
    max_hops: int = 2
    min_score: float = 0.5
    threshold: float = 0.5
    a_column: int = 20
    tables: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    join: JoinOptions = field(default_factory=JoinOptions)
    as_of: Any = None
    undated: Sequence[str] = ()


@dataclass(frozen=True)
class TableHop:
    """One join on the way to a table.

    Parameters
    ----------
    on : label
        Key column: of the frame, or of the table before.
    table, column : str
        The table that is joined, and its key column.
    score, containment : float
        Of this join alone.
    relationship : str
        1:1, 1:m, m:1 or m:m, as measured on the rows of the frame; as the catalogue tells where nothing was joined.
    period : str or None
        Granularity at which dates and periods are joined; None: the keys are equal.
    """

    on: Any
    table: str
    column: str
    score: float
    containment: float
    relationship: str
    period: str | None = None


@dataclass(frozen=True)
class ReachedTable:
    """A table that was joined to a frame, with all its columns.

    Parameters
    ----------
    hops : tuple of TableHop
        The way to it.
    steps : tuple of JoinStep
        What was joined on the way, this table last.
    account : JoinAccount
        The frame with the columns of all tables of the way.
    usefulness : float
        Of the last join times the score of those before.
    parent : ReachedTable or None
        The table before it.
    """

    hops: tuple[TableHop, ...]
    steps: tuple[JoinStep, ...]
    account: JoinAccount
    usefulness: float
    parent: ReachedTable | None = None

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.hops[-1].table

    @property
    def step(self) -> JoinStep:
        """The join of the table itself."""
        return self.steps[-1]

    @property
    def frame(self) -> pd.DataFrame:
        """The frame with the columns of all tables of the way."""
        return self.account.left.frame

    @property
    def score(self) -> float:
        """Product of the scores along the way."""
        return _product(hop.score for hop in self.hops)

    @property
    def containment(self) -> float:
        """Product of the containments along the way."""
        return _product(hop.containment for hop in self.hops)

    @property
    def brought(self) -> dict[str, str]:
        """Column of the table → its name in `frame`."""
        return self.step.names

    @property
    def counted(self) -> str:
        """Name in `frame` of the column that counts the table's rows; empty where there is none."""
        own = set(self.frame.columns[-1:]) - set(self.brought.values())
        return str(next(iter(own))) if self.step.counted and own else ""

    @property
    def text(self) -> str:
        """The way in one line.

        ``country → geo/countries.csv.iso2 → codes/dialling.csv`` reads: the frame's column ``country`` is the key of
        the first table, and the column ``iso2`` of that one the key of the second.
        """
        return path_text(self.hops)


@dataclass(frozen=True)
class UnreachedTable:
    """A candidate that was not joined.

    Parameters
    ----------
    hops : tuple of TableHop
    reason : str
    """

    hops: tuple[TableHop, ...]
    reason: str


@dataclass(frozen=True)
class _Lead:
    """A candidate of a search, and the table from whose columns the search was made."""

    parent: ReachedTable | None
    hits: JoinCandidates
    place: int
    hop: TableHop
    usefulness: float

    @property
    def hops(self) -> tuple[TableHop, ...]:
        return (*(() if self.parent is None else self.parent.hops), self.hop)


def path_text(hops: Sequence[TableHop]) -> str:
    """Write a way to a table in one line, see `ReachedTable.text`."""
    parts = [str(hops[0].on)]
    for hop, after in zip(hops, [*hops[1:], None], strict=True):
        parts.append(hop.table if after is None else f"{hop.table}.{after.on}")
    return " → ".join(parts)


def path_stem(hops: Sequence[TableHop]) -> str:
    """Return the short names of the tables of a way, joined by two underscores."""
    return "__".join(stem_of(hop.table) for hop in hops)


def _product(values: Any) -> float:
    result = 1.0
    for value in values:
        result *= float(value)
    return result


def reach_tables(
    df: pd.DataFrame,
    snapshot: Snapshot,
    options: PathOptions,
    is_key: Callable[[ReachedTable, str], bool] | None = None,
) -> Iterator[ReachedTable | UnreachedTable]:
    """Join a frame with each table that it reaches, and yield the tables, the nearest first.

    Parameters
    ----------
    df : DataFrame
    snapshot : Snapshot
    options : PathOptions
    is_key : callable, optional
        Told a table that was reached and one of its columns: whether the column may be the key of a further join.

    Yields
    ------
    ReachedTable or UnreachedTable
        Each table once, by its shortest path; of equally short ones by the most useful. Of one distance the most
        useful first.

    Notes
    -----
    Breadth first (AutoFeat, Ionescu et al., ICDE 2024, section IV, walks the graph of joinable tables in the same
    order). Every table that was joined is a start for the next hop, by its columns of text, dates and integers. They
    are looked up in the index with the values that the rows of the frame got. The caller may stop at any time: a table
    is read when the one before it was taken. A table is passed over where rows meet m:m. At most 60 tables are joined
    at each distance.
    """
    search = _PathSearch(df, snapshot, options, is_key)
    seen: set[str] = set()
    starts: list[ReachedTable | None] = [None]
    for number in range(options.max_hops):
        leads = [lead for start in starts for lead in search.leads(start, seen)]
        leads.sort(key=lambda lead: (-lead.usefulness, lead.hop.table, lead.hop.column))
        starts = []
        n_joined = 0
        for lead in leads:
            if lead.hop.table in seen:
                continue
            if n_joined >= _TABLES_A_HOP:
                yield UnreachedTable(lead.hops, f"{_TABLES_A_HOP} more useful tables were joined at this distance")
                continue
            reached = search.join(lead)
            n_joined += 1
            if isinstance(reached, ReachedTable):
                seen.add(lead.hop.table)
                if number + 1 < options.max_hops:
                    starts.append(reached)
            yield reached
        if not starts:
            return


class _PathSearch:
    """Searches for the keys of a frame, and for those of the tables that were joined to it."""

    def __init__(
        self,
        df: pd.DataFrame,
        snapshot: Snapshot,
        options: PathOptions,
        is_key: Callable[[ReachedTable, str], bool] | None = None,
    ) -> None:
        self._is_key = is_key or (lambda reached, column: True)
        self._df = df
        self._snapshot = snapshot
        self._options = options
        self._params: SearchParams = search_params(
            mode=options.join.mode,
            k=options.a_column,
            rank="useful",
            tables=None if options.tables is None else list(options.tables),
            exclude=None if options.exclude is None else list(options.exclude),
            pad=options.join.pad,
            dayfirst=options.join.dayfirst,
        )
        mode_of(options.join.mode).check(snapshot)

    def leads(self, start: ReachedTable | None, seen: set[str]) -> list[_Lead]:
        """Find the candidates of the key columns of a table that was joined, or of the frame."""
        queries = self._queries_of_frame() if start is None else self._queries_of_table(start)
        if not queries:
            return []
        params = self._params if start is None or self._params.pad is None else replace(self._params, pad=None)
        hits = search_queries(self._snapshot, queries, params, is_first=False)
        rows = list(hits.itertuples(index=False))
        numbered = {query.name for query in queries if _is_numbering(query)}
        labels = {query.name: query.label for query in queries}
        names: dict[Any, str] = {} if start is None else {name: column for column, name in start.brought.items()}
        found = []
        if start is None and self._options.on is not None:  # the user says that it is a key
            same = {row.query_column for row in rows if _have_one_name(row.query_column, row.column)}
            numbered &= same
        for place, row in enumerate(rows):
            label = labels[row.query_column]
            hop = TableHop(names.get(label, label), row.table, row.column, row.score, row.containment, row.relationship)
            before = 1.0 if start is None else start.score
            reached = 1.0 if start is None else start.containment
            if row.table in seen or before * row.score < self._options.min_score:
                continue
            if reached * row.containment < self._options.threshold:
                continue
            if row.query_column in numbered and not _have_one_name(hop.on, row.column):
                continue
            if start is not None and row.relationship == "m:m" and row.cardinality < _NEARLY_KEY * row.n_rows:
                continue
            keyness = row.cardinality / max(1, row.n_rows)  # of two keys, the one that tells rows apart
            found.append(_Lead(start, hits, place, hop, before * row.usefulness * (1 + keyness) / 2))
        return found if start is not None else [*found, *self._period_leads({lead.hop.table for lead in found} | seen)]

    def _period_leads(self, known: set[str]) -> list[_Lead]:
        """Find columns of periods that dates of the frame lie in, and other spellings of its periods.

        The index has texts and days; so the periods of the frame are spelled in all the ways that tables spell them,
        the finer ones first, and each spelling is searched.
        """
        options = self._options
        found: dict[str, _Lead] = {}
        for position, label in enumerate(self._df.columns):
            if label in options.never or not (options.on is None or label in options.on):
                continue
            periods = read_periods(self._df.iloc[:, position], is_year=is_year_name(label))
            for granularity in _coarser(periods):
                assert periods is not None
                for way in spell_periods(periods.numbers(granularity), granularity):
                    query = make_query(way.rename(label), self._snapshot.settings, name=str(label))
                    if not query.profile.is_indexable:
                        continue
                    hits = search_queries(self._snapshot, [query], self._params, is_first=False)
                    for place, row in enumerate(hits.itertuples(index=False)):
                        is_good = row.score >= options.min_score and row.containment >= options.threshold
                        if not is_good or row.table in known or row.table in found:
                            continue
                        told = row.score, row.containment, row.relationship, granularity
                        hop = TableHop(label, row.table, row.column, *told)
                        found[row.table] = _Lead(None, hits, place, hop, row.usefulness)
        return list(found.values())

    def _queries_of_frame(self) -> list[QueryColumn]:
        on, never = self._options.on, self._options.never
        if on is not None:
            return [q for label in on for q in query_columns(self._df, label, self._snapshot, self._params)]
        queries = query_columns(self._df, None, self._snapshot, self._params) if self._df.shape[1] else []
        return [query for query in queries if query.label not in never and _may_be_key(query)]

    def _queries_of_table(self, start: ReachedTable) -> list[QueryColumn]:
        """Return the columns of a table that may be keys: their values are values of the table."""
        made = {column["name"] for column in start.account.joined[-1]["columns"] if column["rule"] in _NOT_AS_IT_IS}
        names = [name for column, name in start.brought.items() if name not in made and self._is_key(start, column)]
        if not names:
            return []
        queries = query_columns(start.frame[names], None, self._snapshot, self._params)
        return [query for query in queries if _may_be_key(query)]

    def _is_dated(self, table: str) -> bool:
        options = self._options
        return options.as_of is not None and not any(fnmatchcase(table, pattern) for pattern in options.undated)

    def join(self, lead: _Lead) -> ReachedTable | UnreachedTable:
        """Join the table of a candidate with all its columns."""
        parent = lead.parent
        frame = self._df if parent is None else parent.frame
        options = replace(self._options.join, how="left", columns=None, k=1)
        try:
            if lead.hop.period is None:
                account = join_candidates(frame, lead.hits.iloc[[lead.place]], options)
            else:
                hop = lead.hop
                step = JoinStep([hop.on], hop.table, [hop.column], None, {}, options.aggregate, period=hop.period)
                account = join_plan(frame, JoinPlan((step,), "left", str(self._snapshot.path)), options)
            if self._is_dated(lead.hop.table):
                dates = [name for name in date_columns(self._snapshot, lead.hop.table) if name != lead.hop.column]
                if not dates:
                    return UnreachedTable(lead.hops, "it has no column of dates, so that nothing tells what was known")
                dated = {"on": json_label(self._options.as_of), "right_on": dates, "rule": "before"}
                step = replace(account.steps[-1], names={}, counted=None, dated=dated)
                account = join_plan(frame, JoinPlan((step,), "left", str(self._snapshot.path)), options)
        except _OBSTACLES as error:
            return UnreachedTable(lead.hops, str(error))
        report = account.joined[-1]
        hop = replace(lead.hop, relationship=report["relationship"])
        if hop.relationship == "m:m":
            return UnreachedTable(lead.hops, "m:m: keys stand in several rows on both sides")
        if not account.steps[-1].names:
            return UnreachedTable(lead.hops, "it brings no column")
        hops = (*lead.hops[:-1], hop)
        steps = (*(() if parent is None else parent.steps), account.steps[-1])
        return ReachedTable(hops, steps, account, lead.usefulness, parent)


def _coarser(periods: PeriodColumn | None) -> list[str]:
    """Return the granularities at which a column may be joined, the finest first."""
    if periods is None:
        return []
    if periods.granularity == "week":
        return ["week"]
    order = ["week", "month", "quarter", "year"] if periods.granularity in ("day", "second") else []
    return order or list(GRANULARITIES[GRANULARITIES.index(periods.granularity) :: -1])


def _may_be_key(query: QueryColumn) -> bool:
    """Tell whether a column that nobody named may be a key; serial numbers may be, under one name."""
    reason = reason_against_key(query)
    return not reason or "serial" in reason


def _is_numbering(query: QueryColumn) -> bool:
    """Tell whether a column numbers rows: integers from near 0 on, none of them twice, and a third of them at least.

    Two of them share values whatever they number, so that only their names tell whether they number the same.
    """
    profile, n_values = query.profile, len(query.values)
    if not profile.has_range or query.values.row_counts().max(initial=0) > 1:
        return False
    low, high = profile.min_integer, profile.max_integer
    return 0 <= low <= n_values and high - low < _MOST_GAPS * n_values


def _have_one_name(own: Any, other: str) -> bool:
    """Tell whether two columns have the same name, and one that says something."""
    name = str(own).strip().casefold()
    return name == other.strip().casefold() and not is_generic(name)


def paths_to_table(df: pd.DataFrame, snapshot: Snapshot, table: str, options: PathOptions) -> pd.DataFrame:
    """Carry out `dfjoin.Lake.paths`."""
    check_frame(df)
    snapshot.find_table(table)
    rows = []
    inner = replace(options, max_hops=options.max_hops - 1)
    search = _PathSearch(df, snapshot, replace(options, tables=[_escaped(table)]))
    starts: list[ReachedTable | None] = [None]
    if inner.max_hops:
        starts += [reached for reached in reach_tables(df, snapshot, inner) if isinstance(reached, ReachedTable)]
    for start in starts:
        if start is not None and any(hop.table == table for hop in start.hops):
            continue
        for lead in search.leads(start, set()):
            hops = lead.hops
            rows.append(
                {
                    "path": path_text(hops),
                    "n_hops": len(hops),
                    "score": _product(hop.score for hop in hops),
                    "containment": _product(hop.containment for hop in hops),
                    "on": str(hops[0].on),
                    "column": hops[-1].column,
                    "relationship": " ".join(hop.relationship for hop in hops),
                }
            )
    columns = ["path", "n_hops", "score", "containment", "on", "column", "relationship"]
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values(["n_hops", "score", "path"], ascending=[True, False, True], ignore_index=True)


def _escaped(name: str) -> str:
    """Write a name as a pattern that no other table fits."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
