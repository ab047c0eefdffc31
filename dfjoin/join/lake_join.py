"""Joining tables of a lake: which candidates are acceptable, first from catalogue and index, then from their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, TableChangedError, TableReadError, shortlist
from dfjoin.join.date_columns import asof_dates
from dfjoin.join.execute import RightSide, relationship_of
from dfjoin.join.keys import KeyColumns
from dfjoin.join.novelty import IndexedKey, adds_columns, adds_columns_by_index
from dfjoin.join.options import MANY_HOWS, JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.read_rows import KeyLink, TableRows, brought_columns, link_keys, read_rows
from dfjoin.join.report import JoinAccount, joined_before
from dfjoin.join.second_column import find_second_column
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import has_composite_key, make_key, query_columns, search_columns, search_queries
from dfjoin.search.distance_join import with_partners
from dfjoin.search.found import SearchContext
from dfjoin.search.key_query import KeyQuery
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, search_params
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable, content_of
from dfjoin.types import IndexSettings

__all__ = ["join_candidates", "join_lake", "join_plan"]

_FIRST_LOOK = 50
"""Candidates of each query column that a lake join always looks at."""

_LEAST_USEFUL = 0.5
"""Usefulness that a candidate of a key that nobody named has at least."""

_FIRST_KEYS = 4
"""Tables that a lake join on several columns looks at first: each is read to be ranked."""

_MOST_EXTENDED = 5
"""Candidates of one column that a second column is looked for."""

_MORE_LOOK = 4
"""Each further look down the ranking goes this many times as far as the last one."""

_SECONDS = 10.0
"""How long further candidates are looked at."""

_TIME_OVER = (
    "it and all below it were not looked at, since the join has looked for {:g} s; "
    "search with discover_joinable(..., exclude=...), which leaves tables out, and join its result"
)

_KEPT_READS = 16
"""Tables whose rows are kept, in case another query column asks for them."""

_JOINED_BEFORE = "it was joined to the frame before; name the columns that you want of it with `columns`"
_NOTHING_NEW = "it brings nothing new: every column of it is in the frame already"


_MANY_TO_MANY = (
    "m:m: keys stand in several rows on both sides, so that rows would meet which have nothing to do with each other; "
    "pass aggregate=None for every pair of rows, or pick it from the result of discover_joinable"
)


def join_lake(df: pd.DataFrame, snapshot: Snapshot, options: JoinOptions) -> JoinAccount:
    """Join the best acceptable tables of a lake.

    Candidates are looked at in rank order: the first ones in any case, then more and more of them until enough
    tables are joined, the ranking falls below the threshold, or the time is over.
    """
    on = options.on
    is_every_column = on is None or (isinstance(on, str) and on == "*" and "*" not in df.columns)
    limit = max(_FIRST_LOOK, 10 * options.k)
    params = search_params(
        mode=options.mode,
        k=limit,
        rank="useful",
        families=False,
        tables=None if options.tables is None else list(options.tables),
        exclude=None if options.exclude is None else list(options.exclude),
        pad=options.pad,
        dayfirst=options.dayfirst,
    )
    mode_of(options.mode).check(snapshot)
    key = make_key(df, on, snapshot, params) if has_composite_key(on, params) else None
    if key is not None:
        limit = max(_FIRST_KEYS, 2 * options.k)
        params = replace(params, k=limit)
    queries = query_columns(df, on, snapshot, params) if key is None else list(key.columns)
    if on is None and options.as_of is not None:
        queries = [query for query in queries if query.label != options.as_of]
    left = KeyColumns(df, snapshot.settings)
    left.remember(queries)
    account = JoinAccount(left)
    reasons = {query.name: reason_against_key(query) for query in queries} if is_every_column else {}
    queries = [query for query in queries if not reasons.get(query.name)]
    names = [query.name for query in queries] if key is None else [key.name]
    hits = search_queries(snapshot, queries, params) if key is None else _search_key(snapshot, key, params, options)
    candidates = _Candidates(hits, [], options, limit=limit)
    candidates.least_useful = _LEAST_USEFUL if is_every_column else 0.0
    if options.columns is None:  # else other columns of the same table may be wanted
        candidates.leave_out(table for index, table in joined_before(df) if index == str(snapshot.path))
    choice = _Choice(candidates, left)
    chosen: str | None = None
    settled: set[str] = set()
    seen: set[_Place] = set()
    while True:
        rows = list(hits.itertuples(index=False))
        candidates.look_at(hits, rows)
        if is_every_column and chosen is None:
            chosen = choice.of(rows)
        if chosen is not None:  # further tables are joined on the same key
            candidates.least_useful = 0.0
            rows = [row for row in rows if row.query_column == chosen]
        has_more = any(_has_more(rows, name, limit, options.min_score) for name in names)
        if chosen is not None or not is_every_column or not has_more or candidates.is_time_over():
            new = [row for row in rows if _place(row) not in seen]
            seen.update(map(_place, new))
            account, is_over = _join_some(account, candidates, new, settled)
            if is_over:
                return account
        if not has_more:
            for name, reason in reasons.items():
                account = account.pass_over("", "", f"column {name!r} as a key: {reason}") if reason else account
            return account
        limit *= _MORE_LOOK
        params = replace(params, k=limit)
        if key is None:
            hits = search_queries(snapshot, queries, params, is_first=False)
        else:
            hits = _search_key(snapshot, key, params, options)


def _search_key(snapshot: Snapshot, key: KeyQuery, params: SearchParams, options: JoinOptions) -> JoinCandidates:
    """Search with a key of several columns: what may be joined, or else what comes nearest, to say why not."""
    limits = replace(params, threshold=options.threshold, min_score=options.min_score)
    hits = search_columns(snapshot, key, limits)
    return hits if len(hits) else search_columns(snapshot, key, params)


def _join_some(
    account: JoinAccount, candidates: _Candidates, rows: list[Any], settled: set[str]
) -> tuple[JoinAccount, bool]:
    """Join what is acceptable of some candidates; also return whether no further ones are to be looked at.

    Tables that are settled are neither joined nor told of again.
    """
    for row in rows:
        if len(account.joined) >= candidates.options.k:
            break
        if row.table in settled:
            continue
        reason = candidates.rank_reason(row)
        if not reason:
            if candidates.is_time_over(row.table):
                return account.pass_over(row.table, row.column, _TIME_OVER.format(_SECONDS)), True
            settled.add(row.table)
            reason = candidates.reason_against(account.left, row)
        if reason:
            account = account.pass_over(row.table, row.column, reason)
        else:
            account = candidates.join(account, row)
    return account, len(account.joined) >= candidates.options.k


def _has_more(rows: list[Any], query_column: str, limit: int, min_score: float) -> bool:
    """Tell whether candidates of a query column may reach the smallest score below those that were found."""
    own = [row for row in rows if row.query_column == query_column]
    return len(own) >= limit and own[-1].score >= min_score


def join_candidates(df: pd.DataFrame, hits: JoinCandidates, options: JoinOptions) -> JoinAccount:
    """Join the candidates that the user picked, as picked: their file must be readable and the indexed one."""
    if len(hits) > 1 and options.how not in MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left", "inner" or "asof" when several tables are joined, got {options.how!r} and '
            f"{len(hits)} candidates"
        )
    account = JoinAccount(KeyColumns(df, hits.context.snapshot.settings))
    rows = list(hits.itertuples(index=False))
    candidates = _Candidates(hits, rows, options, is_picked=True)
    for row in rows:
        account = candidates.join(account, row)
    return account


def join_plan(df: pd.DataFrame, plan: JoinPlan, options: JoinOptions) -> JoinAccount:
    """Carry out a plan on a frame that has its key columns."""
    if not plan.index and plan.steps:
        raise InvalidParameterError(
            "`other` is a plan made with a frame, which does not hold that frame; pass the frame as `other`, and the "
            "plan as plan=, as in df.auto_join(frame, plan=plan)"
        )
    if not plan.steps:
        return JoinAccount(KeyColumns(df, IndexSettings()))
    snapshot = open_snapshot(plan.index)
    account = JoinAccount(KeyColumns(df, snapshot.settings))
    for step in plan.steps:
        table = LakeTable(snapshot, step.table, options.on_stale)
        labels = account.left.frame.columns
        step = replace(step, on=[_known_label(labels, label) for label in step.on])
        link = link_keys(account.left, table, step)
        rows = read_rows(table, [link], options.keeps_right_rows)
        right = link.right_side(rows, options.keeps_right_rows)
        account = account.join(step, link.index, right, options)
    return account


def _known_label(labels: Iterable[Any], label: Any) -> Any:
    """Return the column label that JSON has turned into `label`."""
    return next((own for own in labels if json_label(own) == label), label)


# Candidates -----------------------------------------------------------------------------------------------


_Place = tuple[str, str, str]
"""A candidate: query column, table and column."""


def _place(row: Any) -> _Place:
    return row.query_column, row.table, row.column


@dataclass(frozen=True)
class _Prepared:
    """A candidate that can be joined with the frame as it is."""

    left: KeyColumns
    step: JoinStep
    link: KeyLink
    right: RightSide


@dataclass(frozen=True)
class _Read:
    """What was read of a table for some candidates, or why it could not be read."""

    places: set[_Place]
    rows: TableRows | TableReadError


class _Candidates:
    """What is known of the candidates of a search; each table is compared with its file once, and read once.

    Parameters
    ----------
    hits : JoinCandidates
    rows : list of tuple
        The rows of `hits` that may be joined.
    options : JoinOptions
    is_picked : bool
        The user picked them: only what cannot be joined at all is an obstacle, and an error.
    limit : int
        Tables that are looked at however long it takes.
    """

    def __init__(
        self, hits: JoinCandidates, rows: list[Any], options: JoinOptions, is_picked: bool = False, limit: int = 0
    ) -> None:
        self.options = options
        self.least_useful = 0.0
        self._is_picked = is_picked
        self._limit = limit
        self._end = monotonic() + _SECONDS
        self._looked_at: set[str] = set()
        self._joined: set[str] = set()
        self._useless: dict[Any, KeyColumns] = {}
        self._extended: dict[_Place, Any] = {}
        self._contexts: dict[_Place, SearchContext] = {}
        self._n_extended = 0
        self._opened: dict[str, LakeTable | str] = {}
        self._read: dict[str, _Read] = {}
        self._reasons: dict[_Place, tuple[KeyColumns, str]] = {}
        self._links: dict[_Place, tuple[KeyColumns, KeyLink]] = {}
        self._prepared: tuple[_Place, _Prepared] | None = None
        self.look_at(hits, rows)

    def look_at(self, hits: JoinCandidates, rows: list[Any]) -> None:
        """Take the candidates of another search with the same query columns; what was read is known still."""
        self._context = hits.context
        self._ways: dict[str, list[Any]] = {}
        for row in rows:
            self._ways.setdefault(row.table, []).append(row)

    def leave_out(self, tables: Iterable[str]) -> None:
        """Take note of tables that were joined to the frame before, which are not joined again."""
        self._joined |= set(tables)

    @property
    def queries(self) -> dict[str, QueryColumn]:
        """Name in ``query_column`` → the query column."""
        return self._context.queries

    def is_time_over(self, table: str = "") -> bool:
        """Tell whether no further table is to be looked at, or this one."""
        return table not in self._looked_at and len(self._looked_at) >= self._limit and monotonic() > self._end

    def rank_reason(self, row: Any) -> str:
        """Return why the numbers of a hit speak against it, if they do."""
        if row.containment < self.options.threshold:
            return f"containment {row.containment:.3f} is below the threshold {self.options.threshold:g}"
        if row.score < self.options.min_score:
            why = "accidental, chance explains the shared values" if row.accidental else f"a {row.verdict} candidate"
            return f"score {row.score:.2f} is below min_score {self.options.min_score:g}: {why}"
        if row.usefulness < self.least_useful:
            return (
                f"usefulness {row.usefulness:.2f} is below {self.least_useful:g}: name the key with `on` if it is meant"
            )
        return ""

    def reason_against(self, left: KeyColumns, row: Any) -> str:
        """Return why a candidate is not to be joined with a frame, if there is a reason.

        The table is read only when its file, the catalogue and the index do not speak against it.
        """
        known = self._reasons.get(_place(row))
        if known is not None and known[0] is left:
            return known[1]
        reason = self.known_reason(left, row)
        if not reason:
            reason = self._reason_of_rows(left, row, is_new=reason is not None)
            if reason == _NOTHING_NEW:
                self._useless[self._content(row)] = left
            self._extended.pop(_place(row), None)
            if reason == _MANY_TO_MANY and self._extend(left, row):
                reason = ""
        self._reasons[_place(row)] = left, reason
        return reason

    def _extend(self, left: KeyColumns, row: Any) -> bool:
        """Look for a second column that makes a candidate m:1, to be joined in its place."""
        if self._n_extended >= _MOST_EXTENDED:
            return False
        self._n_extended += 1
        found = find_second_column(left, row, self._context, self.options)
        if found is None:
            return False
        (better,) = found.itertuples(index=False)
        self._contexts[_place(better)] = found.context
        if self._reason_of_rows(left, better, is_new=True):
            return False
        self._extended[_place(row)] = better
        return True

    def known_reason(self, left: KeyColumns, row: Any) -> str | None:
        """Return what `reason_against` will, without reading the table; None where its rows have to be seen."""
        self._looked_at.add(row.table)
        if row.table in self._joined:
            return _JOINED_BEFORE
        if self.options.on_stale == "error" and self._useless.get(self._content(row)) is left:
            return _NOTHING_NEW
        table = self._table(row.table)
        if isinstance(table, str):
            return table
        step = self._step(table, row)
        if step.dated is not None and not step.dated["right_on"]:
            return "it has no column of dates, so that nothing tells which row is the latest"
        if self.options.columns is not None and not step.columns:
            excluded = table.note_excluded(self.options.columns)
            return f"it has none of the columns {shortlist(self.options.columns)}{excluded}"
        brought = brought_columns(table, step)
        if not brought:
            return "it has no other columns"
        if step.relation is not None or step.dated is not None or table.is_changed or len(step.on) > 1:
            return None
        values = left.values(left.position(step.on[0]), step.pad, step.dayfirst)
        key = IndexedKey(self._context.snapshot, row.table, row.column, values)
        is_new = adds_columns_by_index(left, key, brought, self.options.keeps_right_rows)
        return None if is_new is None else "" if is_new else _NOTHING_NEW

    def _content(self, row: Any) -> Any:
        """Return what tells two candidates apart whose tables are not known to hold the same rows."""
        return row.query_column, row.column, content_of(self._context.snapshot, row.table)

    def join(self, account: JoinAccount, row: Any) -> JoinAccount:
        """Join a candidate, on a second column, too, if one was found."""
        row = self._extended.get(_place(row), row)
        try:
            prepared = self._prepare(account.left, row, is_new=True)
        except TableReadError as error:
            raise TableReadError(f"the table `{row.table}` cannot be read: {error}") from error
        return account.join(prepared.step, prepared.link.index, prepared.right, self.options)

    def _reason_of_rows(self, left: KeyColumns, row: Any, is_new: bool) -> str:
        """Return why a candidate is not to be joined, now that its rows are read."""
        try:
            prepared = self._prepare(left, row, is_new)
        except TableReadError as error:
            return f"it cannot be read: {error}"
        codes, right = prepared.link.index.codes, prepared.right
        if not adds_columns(left, codes, right.frame, right.codes):
            return _NOTHING_NEW
        is_many = self.options.aggregate is not None and relationship_of(codes, right.codes, right.n_keys) == "m:m"
        return _MANY_TO_MANY if is_many else ""

    def _prepare(self, left: KeyColumns, row: Any, is_new: bool) -> _Prepared:
        """Read what joins of a candidate, unless it was read before."""
        if self._prepared is not None:
            place, prepared = self._prepared
            if place == _place(row) and prepared.left is left:
                return prepared
        table = self._table(row.table)
        if isinstance(table, str):
            raise TableReadError(table)
        link = self._link(left, row, table)
        rows = self._table_rows(left, row, table, is_new)
        right = link.right_side(rows, self.options.keeps_right_rows)
        prepared = _Prepared(left, self._step(table, row), link, right)
        self._prepared = _place(row), prepared
        return prepared

    def _table(self, name: str) -> LakeTable | str:
        """Open a table and compare its file with the catalogue; return why not where it has changed."""
        if name not in self._opened:
            try:
                self._opened[name] = LakeTable(self._context.snapshot, name, self.options.on_stale)
            except (TableChangedError, TableReadError) as error:  # the latter for a table of Spark without a session
                if self._is_picked:
                    raise
                self._opened[name] = str(error)
        return self._opened[name]

    def _table_rows(self, left: KeyColumns, row: Any, table: LakeTable, is_new: bool) -> TableRows:
        """Read the rows of a table that join on the key of a candidate.

        Unless the table is known to be new to the frame, rows that join on the other keys on which the table may be
        tried are read at the same time: if it is a copy of the frame, all of them will be.
        """
        read = self._read.get(row.table)
        if read is None or _place(row) not in read.places:
            ways = [row] if is_new and not self._is_picked else self._good_ways(row.table)
            links = [self._link(left, way, table) for way in ways]
            rows: TableRows | TableReadError
            try:
                rows = read_rows(table, links, self.options.keeps_right_rows)
            except TableReadError as error:
                rows = error
            read = self._read[row.table] = _Read({_place(way) for way in ways}, rows)
            if len(self._read) > _KEPT_READS and not self._is_picked:
                del self._read[next(iter(self._read))]
        if isinstance(read.rows, TableReadError):
            raise read.rows
        return read.rows

    def _link(self, left: KeyColumns, row: Any, table: LakeTable) -> KeyLink:
        """Relate the key of a frame to that of a candidate, once."""
        known = self._links.get(_place(row))
        if known is None or known[0] is not left:
            known = self._links[_place(row)] = left, link_keys(left, table, self._step(table, row))
        return known[1]

    def _good_ways(self, table: str) -> list[Any]:
        """Return the candidates of a table that may be joined: all picked, else the first good one of a column."""
        found = [row for row in self._ways.get(table, []) if self._is_picked or not self.rank_reason(row)]
        return found if self._is_picked else list({row.query_column: row for row in reversed(found)}.values())

    def _step(self, table: LakeTable, row: Any) -> JoinStep:
        """Write a candidate as the step of a plan."""
        context = self._contexts.get(_place(row), self._context)
        on, right_on, query = context.key_of(row)
        columns = None if self.options.columns is None else list(self.options.columns)
        if columns is not None and not self._is_picked:
            columns = [name for name in columns if name in table.column_names and name not in right_on]
        aggregate = self.options.aggregate
        if isinstance(aggregate, dict):  # a rule may be meant for another of the tables
            aggregate = {name: rule for name, rule in aggregate.items() if name in table.column_names}
        relation = with_partners(context.relation_of(row), self.options.partners)
        step = JoinStep(on, row.table, right_on, columns, {}, aggregate, query.pad, query.dayfirst, relation)
        return step if self.options.as_of is None else self._dated(step)

    def _dated(self, step: JoinStep) -> JoinStep:
        """Let a step join the latest rows alone; dates that nothing stands beside are their own key."""
        label = self.options.as_of
        dates = step.right_on
        if list(step.on) != [label]:
            dates = asof_dates(self._context.snapshot, step.table, label, step.right_on)
        return replace(step, dated={"on": json_label(label), "right_on": dates, "rule": "latest"})


class _Choice:
    """The choice of a query column: that whose best acceptable candidate is the best of all.

    Candidates are compared by usefulness, then by shared values. Columns whose best candidates are equally good are no
    conflict if they lead to the same rows: the first one is taken. A table is read
    only where nothing but its rows tells whether it brings anything new, and only for a candidate that is the best
    unless its rows speak against it; the column that comes next takes its place then.

    Parameters
    ----------
    candidates : _Candidates
    left : KeyColumns
    """

    def __init__(self, candidates: _Candidates, left: KeyColumns) -> None:
        self._candidates = candidates
        self._left = left
        self._reasons: dict[_Place, str] = {}

    def of(self, rows: list[Any]) -> str | None:
        """Choose among the query columns of some candidates; None if none of these is acceptable in time."""
        ways = self._ways(rows)
        while best := self._best_rows(ways):
            if self._candidates.is_time_over():
                return None
            told = [self._reasons.get(_place(row), self._candidates.known_reason(self._left, row)) for row in best]
            for i, row in enumerate(best):
                if told[i] is None and told.count("") < 2:
                    told[i] = self._candidates.reason_against(self._left, row)
            accepted = [row for row, reason in zip(best, told, strict=True) if reason == ""]
            if len(accepted) > 1 and not self._is_one_join(accepted):
                names = [row.query_column for row in accepted]
                raise InvalidParameterError(
                    f"`on` must be given: the columns {shortlist(names)} join equally well (usefulness "
                    f"{accepted[0].usefulness:.3f}, {accepted[0].matched:,} values); pass on={names[0]!r}, for example"
                )
            if len(accepted) > 1:
                return accepted[0].query_column
            if len(accepted) == len(best):  # the only one: read it now
                told = [self._candidates.reason_against(self._left, best[0])]
                if told == [""]:
                    return best[0].query_column
            self._reasons |= {_place(row): reason for row, reason in zip(best, told, strict=True) if reason is not None}
        return None

    def _is_one_join(self, rows: list[Any]) -> bool:
        """Tell whether candidates of several query columns lead to the same rows of one table.

        Other columns of the table are taken to do so; the same one does if the values are equal row by row.
        """
        queries = self._candidates.queries
        known: dict[str, NDArray[np.uint64]] = {}
        for row in rows:
            values = queries[row.query_column].values
            keys = np.append(values.hashes, np.uint64(0))[values.codes]
            if row.table != rows[0].table or not np.array_equal(known.setdefault(row.column, keys), keys):
                return False
        return True

    def _ways(self, rows: list[Any]) -> list[list[Any]]:
        """Return the candidates of each query column, the last one first: each table once, on its best column."""
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            if not self._candidates.rank_reason(row):
                found.setdefault(row.query_column, {}).setdefault(row.table, row)
        return [list(tables.values())[::-1] for tables in found.values()]

    def _best_rows(self, ways: list[list[Any]]) -> list[Any]:
        """Return the best candidates of those that are the first of their query column with nothing against them."""
        for way in ways:
            while way and self._reasons.get(_place(way[-1])):
                way.pop()
        first = [way[-1] for way in ways if way]
        best = max(((row.usefulness, row.matched) for row in first), default=None)
        return [row for row in first if (row.usefulness, row.matched) == best]
