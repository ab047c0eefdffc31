"""Joining tables of a lake: which candidates are acceptable, first from catalogue and index, then from their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dfjoin.errors import InvalidParameterError, TableChangedError, TableReadError, shortlist
from dfjoin.join.execute import RightSide
from dfjoin.join.keys import KeyColumns
from dfjoin.join.novelty import IndexedKey, adds_columns, adds_columns_by_index
from dfjoin.join.options import MANY_HOWS, JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.read_rows import KeyLink, TableRows, brought_columns, link_keys, read_rows
from dfjoin.join.relate import without_tried
from dfjoin.join.report import JoinAccount
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import discover
from dfjoin.search.params import search_params
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings

__all__ = ["join_candidates", "join_lake", "join_plan"]

_CANDIDATES_READ = 50  # how far down the ranking a lake join looks
_NOTHING_NEW = "it brings nothing new: every column of it is in the frame already"


def join_lake(df: pd.DataFrame, snapshot: Snapshot, options: JoinOptions) -> JoinAccount:
    """Join the best acceptable tables of a lake."""
    on = options.on
    limit = max(_CANDIDATES_READ, 10 * options.k)
    hits = discover(df, on, snapshot, search_params(mode=options.mode, k=limit))
    left = KeyColumns(df, snapshot.settings)
    left.remember(hits.context.queries.values())
    account = JoinAccount(left)
    rows = list(hits.itertuples(index=False))
    candidates = _Candidates(hits, rows, options)
    if on is None or (isinstance(on, str) and on == "*" and "*" not in df.columns):
        chosen = _choose_query_column(candidates, left, rows)
        rows = [row for row in rows if chosen is None or row.query_column == chosen]
    settled: set[str] = set()
    for row in rows:
        if len(account.joined) >= options.k:
            break
        if row.table in settled:
            continue
        reason = candidates.rank_reason(row)
        if not reason:
            settled.add(row.table)
            reason = candidates.reason_against(account.left, row)
        if reason:
            account = account.pass_over(row.table, row.column, reason)
        else:
            account = candidates.join(account, row)
    return account


def join_candidates(df: pd.DataFrame, hits: JoinCandidates, options: JoinOptions) -> JoinAccount:
    """Join the candidates that the user picked, as picked: their file must be readable and the indexed one."""
    if len(hits) > 1 and options.how not in MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left" or "inner" when several tables are joined, got {options.how!r} and '
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
            "`other` is a plan made with a frame, which does not hold that frame; pass the frame itself with "
            f"on={plan.steps[0].on!r}, right_on={plan.steps[0].right_on!r}"
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
    """

    def __init__(self, hits: JoinCandidates, rows: list[Any], options: JoinOptions, is_picked: bool = False) -> None:
        self._context = hits.context
        self._rows = rows
        self._options = options
        self._is_picked = is_picked
        self._opened: dict[str, LakeTable | str] = {}
        self._read: dict[str, _Read] = {}
        self._reasons: dict[_Place, tuple[KeyColumns, str]] = {}
        self._links: dict[_Place, tuple[KeyColumns, KeyLink]] = {}
        self._prepared: tuple[_Place, _Prepared] | None = None

    def rank_reason(self, row: Any) -> str:
        """Return why the numbers of a hit speak against it, if they do."""
        if row.containment < self._options.threshold:
            return f"containment {row.containment:.3f} is below the threshold {self._options.threshold:g}"
        return "accidental: integers whose ranges explain the overlap" if row.accidental else ""

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
        self._reasons[_place(row)] = left, reason
        return reason

    def known_reason(self, left: KeyColumns, row: Any) -> str | None:
        """Return what `reason_against` will, without reading the table; None where its rows have to be seen."""
        table = self._table(row.table)
        if isinstance(table, str):
            return table
        step = self._step(table, row)
        if self._options.columns is not None and not step.columns:
            excluded = table.note_excluded(self._options.columns)
            return f"it has none of the columns {shortlist(self._options.columns)}{excluded}"
        brought = brought_columns(table, step)
        if not brought:
            return "it has no other columns"
        if step.relation is not None or table.is_changed:
            return None
        key = IndexedKey(self._context.snapshot, row.table, row.column, left.parts(step.on)[0])
        is_new = adds_columns_by_index(left, key, brought, self._options.keeps_right_rows)
        return None if is_new is None else "" if is_new else _NOTHING_NEW

    def join(self, account: JoinAccount, row: Any) -> JoinAccount:
        """Join a candidate."""
        try:
            prepared = self._prepare(account.left, row, is_new=True)
        except TableReadError as error:
            raise TableReadError(f"the table `{row.table}` cannot be read: {error}") from error
        return account.join(prepared.link.step, prepared.link.index, prepared.right, self._options)

    def _reason_of_rows(self, left: KeyColumns, row: Any, is_new: bool) -> str:
        """Return why a candidate is not to be joined, now that its rows are read."""
        try:
            prepared = self._prepare(left, row, is_new)
        except TableReadError as error:
            return f"it cannot be read: {error}"
        codes, right = prepared.link.index.codes, prepared.right
        return "" if adds_columns(left, codes, right.frame, right.codes) else _NOTHING_NEW

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
        prepared = _Prepared(left, link, link.right_side(rows, self._options.keeps_right_rows))
        self._prepared = _place(row), prepared
        return prepared

    def _table(self, name: str) -> LakeTable | str:
        """Open a table and compare its file with the catalogue; return why not where it has changed."""
        if name not in self._opened:
            try:
                self._opened[name] = LakeTable(self._context.snapshot, name, self._options.on_stale)
            except (TableChangedError, InvalidParameterError) as error:  # changed, or a table of Spark's
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
            ways = [row] if is_new and not self._is_picked else self._ways(row.table)
            links = [self._link(left, way, table) for way in ways]
            rows: TableRows | TableReadError
            try:
                rows = read_rows(table, links, self._options.keeps_right_rows)
            except TableReadError as error:
                rows = error
            read = self._read[row.table] = _Read({_place(way) for way in ways}, rows)
        if isinstance(read.rows, TableReadError):
            raise read.rows
        return read.rows

    def _link(self, left: KeyColumns, row: Any, table: LakeTable) -> KeyLink:
        """Relate the key of a frame to that of a candidate, once."""
        known = self._links.get(_place(row))
        if known is None or known[0] is not left:
            known = self._links[_place(row)] = left, link_keys(left, table, self._step(table, row))
        return known[1]

    def _ways(self, table: str) -> list[Any]:
        """Return the hits of a table that may be joined: picked ones, else the first good one of a query column."""
        found = [row for row in self._rows if row.table == table and (self._is_picked or not self.rank_reason(row))]
        return found if self._is_picked else list({row.query_column: row for row in reversed(found)}.values())

    def _step(self, table: LakeTable, row: Any) -> JoinStep:
        """Write a candidate as the step of a plan."""
        query = self._context.queries[row.query_column]
        columns = None if self._options.columns is None else list(self._options.columns)
        if columns is not None and not self._is_picked:
            columns = [name for name in columns if name in table.column_names and name != row.column]
        aggregate = self._options.aggregate
        if isinstance(aggregate, dict):  # a rule may be meant for another of the tables
            aggregate = {name: rule for name, rule in aggregate.items() if name in table.column_names}
        programs = self._context.joins.get((row.query_column, row.table, row.column))
        relation = None if programs is None else without_tried(programs)
        return JoinStep(
            [query.label], row.table, [row.column], columns, {}, aggregate, query.pad, query.dayfirst, relation
        )


def _choose_query_column(candidates: _Candidates, left: KeyColumns, rows: list[Any]) -> str | None:
    """Choose the query column whose best acceptable candidate is the best of all; None if there is none.

    Candidates are compared by containment, then by shared values, as the search counted them. A table is read
    only where nothing but its rows tells whether it brings anything new, and only for a candidate that is the best
    unless its rows speak against it; the column that comes next takes its place then.
    """
    reasons: dict[_Place, str] = {}
    while best := _best_rows(candidates, rows, reasons):
        told = [reasons.get(_place(row), candidates.known_reason(left, row)) for row in best]
        for i, row in enumerate(best):
            if told[i] is None and told.count("") < 2:
                told[i] = candidates.reason_against(left, row)
        accepted = [row for row, reason in zip(best, told, strict=True) if reason == ""]
        if len(accepted) > 1:
            names = [row.query_column for row in accepted]
            raise InvalidParameterError(
                f"`on` must be given: the columns {shortlist(names)} join equally well (containment "
                f"{accepted[0].containment:.3f}, {accepted[0].matched:,} values); pass on={names[0]!r}, for example"
            )
        if len(accepted) == len(best):  # the only one: read it now
            told = [candidates.reason_against(left, best[0])]
            if told == [""]:
                return best[0].query_column
        reasons |= {_place(row): reason for row, reason in zip(best, told, strict=True) if reason is not None}
    return None


def _best_rows(candidates: _Candidates, rows: list[Any], reasons: dict[_Place, str]) -> list[Any]:
    """Return the best candidates, one for each query column whose first candidate nothing speaks against is best."""
    first: dict[str, Any] = {}
    settled: set[tuple[str, str]] = set()
    for row in rows:
        way = row.query_column, row.table
        if row.query_column in first or way in settled or candidates.rank_reason(row):
            continue
        settled.add(way)
        if not reasons.get(_place(row)):
            first[row.query_column] = row
    best = max(((row.containment, row.matched) for row in first.values()), default=None)
    return [row for row in first.values() if (row.containment, row.matched) == best]
