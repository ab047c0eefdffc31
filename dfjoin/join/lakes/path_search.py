"""Searches on the path from a frame to tables of the lake: candidates of its keys, and of those of joined tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin import _validation as check
from dfjoin.errors import (
    ColumnNotFoundError,
    IncompatibleSettingsError,
    InvalidParameterError,
    JoinExpansionError,
    TableChangedError,
    TableReadError,
)
from dfjoin.index.catalog import KINDS
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.lake_candidates import date_columns
from dfjoin.join.lakes.lake_join import join_candidates, join_plan
from dfjoin.join.lakes.second_column import find_second_column
from dfjoin.join.lakes.table_hops import (
    FrameKeys,
    PathTable,
    TableHop,
    UnjoinedTable,
    path_keys,
)
from dfjoin.join.options import JoinOptions, join_options
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.relation.frame_relation import choose_relation
from dfjoin.join.relation.pair_keys import is_named_by_words
from dfjoin.join.rows.report import JoinAccount
from dfjoin.join.rows.right_side import TableFacts
from dfjoin.join.rules import rules_by_kind
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_columns, search_queries
from dfjoin.search.discover import has_composite_key, make_key, query_columns
from dfjoin.search.found import rows_of
from dfjoin.search.modes import mode_of
from dfjoin.search.period_search import find_period_candidates
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable
from dfjoin.values.header_meaning import says_nothing_alone
from dfjoin.values.normalize import ValueSet

_A_COLUMN = 60
"""Candidates of each key column, at most."""

_MOST_LEFT = 5_000
"""Keys that equality may leave on either side: so many take about a second, and a search reads dozens of tables."""


class TableRelations:
    """The relations of keys of frames with keys of tables; tables with the same keys are related once.

    Parameters
    ----------
    options : JoinOptions
        `transform`, `fuzzy`, `precision` and `threshold`.
    """

    def __init__(self, options: JoinOptions) -> None:
        self._options = options
        self._known: dict[Any, dict[str, Any] | None] = {}

    def complete(self, left: KeyColumns, table: LakeTable, step: JoinStep) -> JoinStep:
        """Let a step relate keys that are not equal, where `dfjoin.auto_join` of two frames would.

        Parameters
        ----------
        left : KeyColumns
            The frame; its key columns alone are looked at.
        table : LakeTable
        step : JoinStep
            By equal keys.

        Returns
        -------
        JoinStep
            With a relation, if equality leaves texts of both sides alone and programs or likeness join more of them;
            else the step as it was given, as for keys of several columns and for periods.

        Notes
        -----
        The key column of the table is read whole. The decision is that of two frames whose keys are named, see
        `dfjoin.join.relation.frame_relation.choose_relation`. Codes whose letters tell nothing are not tried, nor more
        than 5,000 keys that equality leaves: of each table that would take seconds.
        """
        options = self._options
        if not options.is_relation_allowed or len(step.on) != 1 or step.relation is not None or step.period is not None:
            return step
        own = KeyColumns(left.frame[list(step.on)], left.settings)
        if own.query(0).profile.kind != "text":
            return step
        right = KeyColumns(table.to_frame(step.right_on), table.settings)
        if not _is_quick(own.values(0), right.values(0)):
            return step
        keys = list(step.on), list(step.right_on)
        contents = tuple(side.values(0).hashes.tobytes() for side in (own, right))
        key = (*step.on, *step.right_on, *map(hash, contents))
        if key not in self._known:
            relation, _ = choose_relation(own, right, keys, keys, options)
            self._known[key] = None if relation is None else relation.saved().to_dict()
        return step if self._known[key] is None else replace(step, relation=self._known[key])


def _is_quick(own: ValueSet, theirs: ValueSet) -> bool:
    """Tell whether few keys are left that are names, by which programs and likeness may relate them."""
    left = [np.flatnonzero(~np.isin(a.hashes, b.hashes)) for a, b in ((own, theirs), (theirs, own))]
    if max(map(np.size, left)) > _MOST_LEFT:
        return False
    texts = [pa.array(values.values(), pa.string()) for values in (own, theirs)]
    return all(is_named_by_words(side, False) for side in texts)


_OBSTACLES = (TableChangedError, TableReadError, InvalidParameterError, ColumnNotFoundError, JoinExpansionError)
"""Errors for which a table is passed over."""

_NEARLY_KEY = 0.9
"""Distinct values per row of a column that is nearly a key: behind the first join only such columns are joined to."""

_MOST_GAPS = 3
"""Integers number rows if their range is at most so many times their number."""

_MOST_EXTENDED = 10
"""Tables for which a second key column is looked for."""

_NOT_AS_IT_IS = ("mean", "sum", "median", "std", "count", "nunique", "share", "trend", "top_share")
"""Rules whose result is no value of the table, so that nothing can be looked up by it."""


_PROPOSING = {"transform": False, "fuzzy": True}
"""Modes that lead to tables whose keys are not equal, and whether what relates these is found anew, on all keys."""


@dataclass(frozen=True)
class PathOptions:
    """How far and by what a frame may reach tables.

    Parameters
    ----------
    on : tuple of tuples of labels or None
        Keys of the frame, see `dfjoin.join.lakes.table_hops.path_keys`; None: each column that `reason_against_key`
        does not speak against, and a second one beside it where it is m:m alone.
    never : tuple of labels
        Columns of the frame that are no keys in any case, as the target of a model.
    max_hops : int
        Most joins on the path to a table.
    join : JoinOptions
        Which tables may be joined, and of each join how. The smallest score and the smallest containment are those of a
        path, along which they are multiplied.
    as_of : label or None
        Column of the frame that holds a date: only rows of the lake that are dated before are joined, and only tables
        that have a column of dates.
    undated : sequence of str
        Patterns of tables that are joined without dates all the same.
    aggregates : "auto", tuple of str, dict or None
        Rules for each column of a table that has several rows for a key: those that suit its type, those that are named
        and suit it, or those of each column that is named. None: one rule, that of `join`.
    windows : tuple of int
        Days before `as_of`; rules of numbers are applied to the rows of each window, too.
    """

    on: FrameKeys | None = None
    never: tuple[Any, ...] = ()
    max_hops: int = 2
    join: JoinOptions = field(default_factory=JoinOptions)
    as_of: Any = None
    undated: Sequence[str] = ()
    aggregates: Any = None
    windows: tuple[int, ...] = ()


def path_options(on: Any, max_hops: Any, min_score: Any, threshold: Any) -> PathOptions:
    """Check the arguments of `dfjoin.Lake.paths` and make their record."""
    join = join_options(min_score=min_score, threshold=threshold, transform=False, fuzzy=False)
    keys, hops = path_keys(on), check.check_positive_int(max_hops, "max_hops")
    return PathOptions(keys, max_hops=hops, join=join)


@dataclass(frozen=True)
class PathLead:
    """A candidate of a search, the table from whose columns the search was made, and whether keys are alike alone."""

    parent: PathTable | None
    hits: JoinCandidates
    position: int
    hop: TableHop
    usefulness: float
    is_alike: bool = False

    @property
    def hops(self) -> tuple[TableHop, ...]:
        """The path to the table."""
        return (*(() if self.parent is None else self.parent.hops), self.hop)


class _Hit(NamedTuple):
    """A row of a search, and where it stands."""

    hits: JoinCandidates
    position: int
    row: Any


def _hits(hits: JoinCandidates) -> list[_Hit]:
    return [_Hit(hits, position, row) for position, row in enumerate(rows_of(hits))]


class PathSearch:
    """Searches for the keys of a frame, and for those of the tables that were joined to it."""

    def __init__(
        self,
        df: pd.DataFrame,
        snapshot: Snapshot,
        options: PathOptions,
        is_key: Callable[[PathTable, str], bool] | None = None,
    ) -> None:
        self._is_key = is_key or (lambda joined, column: True)
        self._df = df
        self._snapshot = snapshot
        self._options = options
        self._params = options.join.lake_search(k=_A_COLUMN)
        mode_of(options.join.mode).check(snapshot)
        self._n_extended = 0
        self._relations = TableRelations(options.join)

    @cached_property
    def _left(self) -> KeyColumns:
        """The columns of the frame that may be keys."""
        kept = [position for position, label in enumerate(self._df.columns) if label not in self._options.never]
        return KeyColumns(self._df.iloc[:, kept], self._snapshot.settings)

    def leads(self, start: PathTable | None, seen: set[str]) -> list[PathLead]:
        """Find the candidates of the key columns of a table that was joined, or of the frame."""
        queries = self._queries_of_frame() if start is None else self._queries_of_table(start)
        found = self._single_leads(start, queries, seen) if queries else []
        if start is not None:
            return found
        found += [lead for key in self._options.on or () if len(key) > 1 for lead in self._key_leads(key, seen)]
        found += self._related_leads(queries, {lead.hop.table for lead in found} | seen)
        return [*found, *self._period_leads({lead.hop.table for lead in found} | seen)]

    def _single_leads(self, start: PathTable | None, queries: list[QueryColumn], seen: set[str]) -> list[PathLead]:
        """Find the candidates of keys of one column."""
        params = self._params if start is None or self._params.pad is None else replace(self._params, pad=None)
        hits = search_queries(self._snapshot, queries, params, is_first=False)
        rows = [hit.row for hit in _hits(hits)]
        numbered = {query.name for query in queries if _is_numbering(query)}
        labels = {query.name: query.label for query in queries}
        names: dict[Any, str] = {} if start is None else {name: column for column, name in start.new_columns.items()}
        found = []
        if start is None and self._options.on is not None:  # the user says that it is a key
            same = {row.query_column for row in rows if _have_one_name(row.query_column, row.column)}
            numbered &= same
        for position, row in enumerate(rows):
            label = names.get(labels[row.query_column], labels[row.query_column])
            if row.query_column in numbered and not _have_one_name(label, row.column):
                continue
            is_far = start is not None and row.relationship == "m:m" and row.cardinality < _NEARLY_KEY * row.n_rows
            if is_far and not self._is_dated(row.table):
                continue
            keyness = row.cardinality / max(1, row.n_rows)  # of two keys, the one that tells rows apart
            found += [
                replace(lead, usefulness=lead.usefulness * (1 + keyness) / 2)
                for lead in self._lead(start, (label,), _Hit(hits, position, row))
                if row.table not in seen
            ]
        return found

    def _lead(self, start: PathTable | None, on: tuple[Any, ...], hit: _Hit) -> list[PathLead]:
        """Return a row of a search as a lead, if its score and containment do along the path."""
        row = hit.row
        hop = TableHop(on, row.table, row.column, row.score, row.containment, row.relationship)
        score, contained = (1.0, 1.0) if start is None else (start.score, start.containment)
        options = self._options.join
        if score * row.score < options.min_score or contained * row.containment < options.threshold:
            return []
        return [PathLead(start, hit.hits, hit.position, hop, score * row.usefulness)]

    def _related_leads(self, queries: list[QueryColumn], known: set[str]) -> list[PathLead]:
        """Find tables to which programs or a like spelling of keys lead, and equal keys do not."""
        options, found = self._options.join, []
        if not options.is_relation_allowed or not options.is_by_equality:
            return []
        texts = [query for query in queries if query.profile.kind == "text"]
        labels = {query.name: query.label for query in texts}
        for mode, is_alike in _PROPOSING.items() if texts else ():
            try:
                mode_of(mode).check(self._snapshot)
            except IncompatibleSettingsError:  # the index has not what the mode needs
                continue
            hits = search_queries(self._snapshot, texts, replace(self._params, mode=mode), is_first=False)
            rows = [hit for hit in _hits(hits) if hit.row.table not in known]
            leads = [lead for hit in rows for lead in self._lead(None, (labels[hit.row.query_column],), hit)]
            found += [replace(lead, is_alike=is_alike) for lead in leads]
            known = known | {lead.hop.table for lead in leads}
        return found

    def _key_leads(self, key: tuple[Any, ...], seen: set[str]) -> list[PathLead]:
        """Find the candidates of a key of several columns of the frame, or of a point of several coordinates."""
        options = self._options.join
        params = replace(self._params, threshold=options.threshold, min_score=options.min_score, families=False)
        if has_composite_key(list(key), params):
            hits = search_columns(self._snapshot, make_key(self._df, list(key), self._snapshot, params), params)
        else:
            queries = query_columns(self._df, list(key), self._snapshot, params)
            hits = search_queries(self._snapshot, queries, params, is_first=False)
        leads = [lead for hit in _hits(hits) for lead in self._lead(None, key, hit)]
        return [lead for lead in leads if lead.hop.table not in seen]

    def _period_leads(self, known: set[str]) -> list[PathLead]:
        """Find columns of periods in which dates of the frame lie."""
        options = self._options
        labels = None if options.on is None else {label for key in options.on for label in key if len(key) == 1}
        columns = [
            (label, self._df.iloc[:, position])
            for position, label in enumerate(self._df.columns)
            if label not in options.never and (labels is None or label in labels)
        ]
        found: dict[str, PathLead] = {}
        for one in find_period_candidates(columns, self._snapshot, self._params):
            if one.row.table in known or one.row.table in found:
                continue
            for lead in self._lead(None, (one.label,), _Hit(one.hits, one.position, one.row)):
                hop = replace(lead.hop, period=one.granularity)
                found[one.row.table] = replace(lead, hop=hop)
        return list(found.values())

    def _queries_of_frame(self) -> list[QueryColumn]:
        on, never = self._options.on, self._options.never
        if on is not None:
            single = [key[0] for key in on if len(key) == 1]
            return [q for label in single for q in query_columns(self._df, label, self._snapshot, self._params)]
        queries = query_columns(self._df, None, self._snapshot, self._params) if self._df.shape[1] else []
        return [query for query in queries if query.label not in never and _may_be_key(query)]

    def _queries_of_table(self, start: PathTable) -> list[QueryColumn]:
        """Return the columns of a table that may be keys: their values are values of the table."""
        made = {column["name"] for column in start.account.joined[-1]["columns"] if column["rule"] in _NOT_AS_IT_IS}
        names = [name for column, name in start.new_columns.items() if name not in made and self._is_key(start, column)]
        if not names:
            return []
        queries = query_columns(start.frame[names], None, self._snapshot, self._params)
        return [query for query in queries if _may_be_key(query)]

    def _is_dated(self, table: str) -> bool:
        options = self._options
        return options.as_of is not None and not any(fnmatchcase(table, pattern) for pattern in options.undated)

    def join(self, lead: PathLead) -> PathTable | UnjoinedTable:
        """Join the table of a candidate with all its columns.

        Where keys stand in several rows on both sides, a second column of the frame is looked for that, with the first
        one, stands in one row of the table, or in one row of the frame.
        """
        try:
            joined = self._joined(lead)
            if joined.hops[-1].relationship == "m:m":
                longer = self._with_second_column(lead)
                joined = joined if longer is None else self._joined(longer)
        except _OBSTACLES as error:
            return UnjoinedTable(lead.hops, str(error))
        if joined.hops[-1].relationship == "m:m" and not self._is_log(joined):
            return UnjoinedTable(joined.hops, "m:m: keys stand in several rows on both sides")
        if not joined.step.names:
            return UnjoinedTable(joined.hops, "it brings no column")
        return joined

    def _is_log(self, joined: PathTable) -> bool:
        """Tell whether several rows of a key are what is asked for on both sides: what happened before some dates.

        Each row of the frame gets one row, that of its own date; the keys of the frame are named, or looked up by date.
        """
        is_named = self._options.on is not None and joined.parent is None
        return is_named or joined.step.dated is not None

    def _joined(self, lead: PathLead) -> PathTable:
        parent, hop = lead.parent, lead.hop
        frame = self._df if parent is None else parent.frame
        options = replace(self._options.join, how="left", columns=None, k=1)
        step = JoinStep(list(hop.on), hop.table, [hop.column], None, {}, options.aggregate, period=hop.period)
        if hop.period is not None:
            account = self._join_step(frame, step, options)
        elif lead.is_alike:
            step = self._related(frame, step, options)
            account = self._join_step(frame, step, options)
            if step.relation is None or account.joined[-1]["containment"] < self._options.join.threshold:
                raise InvalidParameterError("its keys are spelled alike, but too few are equal, or related for sure")
        else:
            account = join_candidates(frame, lead.hits.iloc[[lead.position]], options)
            step = account.steps[-1]
            related = self._related(frame, step, options)
            if related is not step:
                account = self._join_step(frame, replace(related, names={}, counted=None), options)
        if self._is_dated(hop.table):
            step = account.steps[-1]
            dates = [name for name in date_columns(self._snapshot, hop.table) if name not in step.right_on]
            if not dates:
                raise InvalidParameterError("it has no column of dates, so that nothing tells what was known")
            dated = {"on": json_label(self._options.as_of), "right_on": dates, "rule": "before"}
            is_log = account.joined[-1]["relationship"].endswith("m")  # the report has the rows before
            account = self._join_step(frame, replace(step, names={}, counted=is_log or None, dated=dated), options)
        if (
            options.aggregate == "auto"
            and self._options.aggregates
            and account.joined[-1]["relationship"].endswith("m")
        ):
            several = self._with_rules(account.steps[-1], options)
            account = self._join_step(frame, several, options)
        hops = (*lead.hops[:-1], replace(hop, relationship=account.joined[-1]["relationship"]))
        steps = (*(() if parent is None else parent.steps), account.steps[-1])
        return PathTable(hops, steps, account, lead.usefulness, parent)

    def _with_rules(self, step: JoinStep, options: JoinOptions) -> JoinStep:
        """Give each column of a table the rules that suit it."""
        table = LakeTable(self._snapshot, step.table, options.on_stale)
        wanted, windows, is_dated = self._options.aggregates, self._options.windows, step.dated is not None
        facts, rules = TableFacts(table), {}
        for column in step.names:
            if column in step.right_on:  # the key in another spelling
                continue
            kind = KINDS[table.record(column)["kind"]]
            if isinstance(wanted, dict):
                own = list(wanted.get(column, ()))
            else:
                own = [*rules_by_kind(wanted, kind, is_measure=facts.is_measure(column), is_dated=is_dated)]
            numbers = [rule for rule in own if rule in ("mean", "std", "min", "max", "share")]
            own += [f"{rule}, {days} days" for days in windows for rule in numbers if is_dated]
            if own:
                rules[column] = own
        return replace(step, columns=list(step.names), aggregate=rules, names={}, counted=True)

    def _related(self, frame: pd.DataFrame, step: JoinStep, options: JoinOptions) -> JoinStep:
        """Relate keys by programs and likeness, too, where equality leaves texts of both sides alone."""
        if not options.is_by_equality:
            return step
        table = LakeTable(self._snapshot, step.table, options.on_stale)
        return self._relations.complete(KeyColumns(frame, self._snapshot.settings), table, step)

    def _join_step(self, frame: pd.DataFrame, step: JoinStep, options: JoinOptions) -> JoinAccount:
        return join_plan(frame, JoinPlan((step,), "left", str(self._snapshot.path)), options)

    def _with_second_column(self, lead: PathLead) -> PathLead | None:
        """Extend a key of the frame that nobody named by a second column, if one makes each key stand in one row."""
        options = self._options
        if lead.parent is not None or options.on is not None or lead.hop.period or self._n_extended >= _MOST_EXTENDED:
            return None
        self._n_extended += 1
        row = _hits(lead.hits)[lead.position].row
        found = find_second_column(self._left, row, lead.hits.context, options.join, may_repeat=True)
        if found is None:
            return None
        (hit,) = _hits(found)
        on, _, _ = found.context.key_of(hit.row)
        (longer,) = self._lead(None, tuple(on), hit) or (None,)
        return longer


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
    return name == other.strip().casefold() and not says_nothing_alone(name)
