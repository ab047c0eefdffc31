"""Candidates of a lake join: which are acceptable, first from catalogue and index, then from their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, InvalidTypeError, TableChangedError, TableReadError, shortlist
from dfjoin.index.segment import Segment
from dfjoin.join.frame_join import NEAR_MODES
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.second_column import find_key_of_two, find_second_column
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinStep, distance_relation, json_label
from dfjoin.join.rows.dated_rows import KeyLink
from dfjoin.join.rows.execute import relationship_of
from dfjoin.join.rows.read_rows import TableRows, columns_to_add, link_keys, read_rows
from dfjoin.join.rows.report import JoinAccount
from dfjoin.join.rows.right_side import RightSide
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.distance.distance_join import with_partners, with_precision
from dfjoin.search.exact.posting_lists import shared_mask
from dfjoin.search.exact.searcher import searcher_of
from dfjoin.search.found import RowName, SearchContext, name_of_row, rows_of
from dfjoin.search.period_search import PeriodCandidate
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.key_columns import has_dates_alone, has_serials_alone
from dfjoin.store.overview import describe_table
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable, content_of
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.header_meaning import is_part_of_name, is_year_name
from dfjoin.values.key_index import Vocabulary, pair_codes
from dfjoin.values.normalize import ValueSet, normalize_column
from dfjoin.values.periods import read_periods
from dfjoin.values.shares import FEW


def date_columns(snapshot: Snapshot, table: str) -> list[str]:
    """Return the columns of a table that hold dates or periods, by its catalogue.

    Parameters
    ----------
    snapshot : Snapshot
    table : str

    Returns
    -------
    list of str
        Columns of dates; whole numbers under the name of a year; texts whose samples are periods of one granularity.
    """
    columns = describe_table(snapshot, table)["columns"]
    found = []
    for row in columns.itertuples(index=False):
        is_year = is_year_name(row.column)
        if row.kind == "date" or (row.kind in ("text", "integer") and _are_periods(list(row.samples), is_year)):
            found.append(row.column)
    return found


def _are_periods(samples: list[Any], is_year: bool) -> bool:
    return bool(samples) and read_periods(pd.Series([str(text) for text in samples]), is_year=is_year) is not None


def asof_dates(snapshot: Snapshot, table: str, label: Any, keys: list[str]) -> list[str]:
    """Return the columns by which rows of a table are dated: that of the frame's name, else all but the keys."""
    found = [name for name in date_columns(snapshot, table) if name not in keys]
    same = [name for name in found if name.strip().casefold() == str(label).strip().casefold()]
    return same or found


_MOST_EXTENDED = 5
"""Candidates of one column that a second column is looked for."""

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
    "pass aggregate=None for every pair of rows, name the table and a rule that makes one row of several, or pick it "
    "from the result of discover_joinable"
)


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

    names: set[RowName]
    rows: TableRows | TableReadError


class LakeCandidates:
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
        self.is_unnamed = False
        self._is_picked = is_picked
        self._limit = limit
        self._end = monotonic() + _SECONDS
        self._looked_at: set[str] = set()
        self._joined: set[str] = set()
        self._apart: dict[str, str] = {}
        self._names: list[str] = []
        self._useless: dict[Any, KeyColumns] = {}
        self._extended: dict[RowName, Any] = {}
        self._contexts: dict[RowName, SearchContext] = {}
        self._n_extended = 0
        self._opened: dict[str, LakeTable | str] = {}
        self._read: dict[str, _Read] = {}
        self._reasons: dict[RowName, tuple[KeyColumns, str]] = {}
        self._links: dict[RowName, tuple[KeyColumns, KeyLink]] = {}
        self._prepared: tuple[RowName, _Prepared] | None = None
        self.look_at(hits, rows)

    def look_at(self, hits: JoinCandidates, rows: list[Any]) -> None:
        """Take the candidates of another search with the same query columns; what was read is known still."""
        self._context = hits.context
        self._rows_of: dict[str, list[Any]] = {}
        for row in rows:
            self._rows_of.setdefault(row.table, []).append(row)

    def look_at_periods(self, found: Sequence[PeriodCandidate]) -> list[Any]:
        """Take candidates that share periods with dates of the frame; return those of the best column, best first.

        Where none is acceptable, all are returned, so that the report says why.

        Raises
        ------
        InvalidParameterError
            If the best candidates of two columns of the frame are equally good.
        """
        best: dict[RowName, PeriodCandidate] = {}
        for one in found:  # the finest first: coarser periods of the same column match as much by themselves
            if name_of_row(one.row) not in best and not self.rank_reason(one.row):
                best[name_of_row(one.row)] = one
        if not best:
            ranked = sorted(found, key=_order_of)
            return list({name_of_row(one.row): one.row for one in reversed(ranked)}.values())[::-1]
        rows = [one.row for one in sorted(best.values(), key=_order_of)]
        first = [row for row in rows if (row.usefulness, row.matched) == (rows[0].usefulness, rows[0].matched)]
        names = list(dict.fromkeys(row.query_column for row in first))
        if len(names) > 1:
            raise InvalidParameterError(
                f"`on` must be given: the dates {shortlist(names)} lie in the periods of tables equally well; pass "
                f"on={names[0]!r}, for example"
            )
        self._contexts |= {position: one.hits.context for position, one in best.items()}
        rows = [row for row in rows if row.query_column == names[0]]
        self._rows_of = {row.table: [row] for row in reversed(rows)}
        return rows

    def look_at_pairs(self, left: KeyColumns, rows: list[Any]) -> list[Any]:
        """Look for a key of two columns of a frame that stand together in tables; return their rows.

        Tables that hold both columns, and not in the same rows, are not joined by one of them.
        """
        key = find_key_of_two(left, rows, self._context, self.options)
        self._apart, self._names = key.is_apart, list(map(str, left.frame.columns))
        rows = [(row, found.context) for found in key.found for row in rows_of(found)]
        self._contexts |= {name_of_row(row): context for row, context in rows}
        return [row for row, _ in rows]

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

    @property
    def time_over_reason(self) -> str:
        """What is said of the first table that is not looked at since the time is over."""
        return _TIME_OVER.format(_SECONDS)

    def rank_reason(self, row: Any) -> str:
        """Return why the numbers of a hit speak against it, if they do."""
        if row.containment < self.options.threshold:
            return (
                f"containment {row.containment:.3f} is below the threshold {self.options.threshold:g}; pass a lower "
                "`threshold` if it is meant"
            )
        least = self.options.least_score(_is_unique(row))
        if row.score < least:
            why = "accidental, chance explains the shared values" if row.accidental else f"a {row.verdict} candidate"
            return f"score {row.score:.2f} is below min_score {least:g}: {why}; pass min_score=0 if it is meant"
        if row.table in self._apart and not (_is_unique(row) and not is_part_of_name(row.query_column, self._names)):
            return f"{self._apart[row.table]}: name the key with `on` if it is meant"
        if row.usefulness < self.least_useful:
            return (
                f"usefulness {row.usefulness:.2f} is below {self.least_useful:g}: name the key with `on` if it is meant"
            )
        query = self._context.queries.get(row.query_column)
        if not self.is_unnamed or query is None:
            return ""
        if has_dates_alone(self._context.snapshot, query, row.table):
            return "tables of any subject share days, months and years: name the key with `on` if it is meant"
        if has_serials_alone(self._context.snapshot, query, row.table):
            return "tables of any subject have numbers from 1 on, or letters: name the key with `on` if it is meant"
        return ""

    def reason_against(self, left: KeyColumns, row: Any) -> str:
        """Return why a candidate is not to be joined with a frame, if there is a reason.

        The table is read only when its file, the catalogue and the index do not speak against it.
        """
        known = self._reasons.get(name_of_row(row))
        if known is not None and known[0] is left:
            return known[1]
        reason = self.known_reason(left, row)
        if not reason:
            reason = self._reason_of_rows(left, row, is_new=reason is not None)
            if reason == _NOTHING_NEW:
                self._useless[self._content(row)] = left
            self._extended.pop(name_of_row(row), None)
            if reason == _MANY_TO_MANY and (self._extend(left, row) or self._is_table_with_rules(row)):
                reason = ""
        self._reasons[name_of_row(row)] = left, reason
        return reason

    def _is_table_with_rules(self, row: Any) -> bool:
        """Tell whether the user names the table and says how several rows of it become one: m:m is meant."""
        aggregate, table = self.options.aggregate, self._table(row.table)
        if self.options.tables is None or isinstance(table, str):
            return False
        if isinstance(aggregate, dict):
            return not aggregate.keys().isdisjoint(table.column_names)
        return bool(aggregate != "auto")

    def _extend(self, left: KeyColumns, row: Any) -> bool:
        """Look for a second column that makes a candidate m:1, to be joined in its place."""
        if self._n_extended >= _MOST_EXTENDED or self._has_period(row):
            return False
        self._n_extended += 1
        found = find_second_column(left, row, self._context, self.options)
        if found is None:
            return False
        (better,) = rows_of(found)
        self._contexts[name_of_row(better)] = found.context
        if self._reason_of_rows(left, better, is_new=True):
            return False
        self._extended[name_of_row(row)] = better
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
        new_columns = columns_to_add(table, step)
        if not new_columns:
            return "it has no other columns"
        if any((step.relation, step.dated, step.period, table.is_changed)) or len(step.on) > 1:
            return None
        values = left.values(left.position(step.on[0]), step.pad, step.dayfirst)
        key = IndexedKey(self._context.snapshot, row.table, row.column, values)
        is_new = adds_columns_by_index(left, key, new_columns, self.options.keeps_right_rows)
        return None if is_new is None else "" if is_new else _NOTHING_NEW

    def _content(self, row: Any) -> Any:
        """Return what tells two candidates apart whose tables are not known to hold the same rows."""
        return row.query_column, row.column, content_of(self._context.snapshot, row.table)

    def join(self, account: JoinAccount, row: Any) -> JoinAccount:
        """Join a candidate, on a second column, too, if one was found."""
        row = self._extended.get(name_of_row(row), row)
        try:
            prepared = self._prepare(account.left, row, is_new=True)
        except TableReadError as error:
            raise TableReadError(f"the table `{row.table}` cannot be read: {error}") from error
        account = account.join(prepared.step, prepared.link.index, prepared.right, self.options)
        if self._is_picked or row.score >= self.options.min_score:
            return account
        return account.name_against(
            f"score {row.score:.2f} is below {self.options.min_score:g}, a {row.verdict} candidate, joined since the "
            "key or the table was named; explain() of discover_joinable says what counts against it"
        )

    def _reason_of_rows(self, left: KeyColumns, row: Any, is_new: bool) -> str:
        """Return why a candidate is not to be joined, now that its rows are read."""
        try:
            prepared = self._prepare(left, row, is_new)
        except TableReadError as error:
            return f"it cannot be read: {error}"
        except InvalidParameterError as error:
            if not self._has_period(row):
                raise
            return str(error)  # its rows are finer than the period, or hold others
        codes, right = prepared.link.index.codes, prepared.right
        if not adds_columns(left, codes, right.frame, right.codes):
            return _NOTHING_NEW
        is_many = self.options.aggregate is not None and relationship_of(codes, right.codes, right.n_keys) == "m:m"
        return _MANY_TO_MANY if is_many else ""

    def _prepare(self, left: KeyColumns, row: Any, is_new: bool) -> _Prepared:
        """Read what joins of a candidate, unless it was read before."""
        if self._prepared is not None:
            position, prepared = self._prepared
            if position == name_of_row(row) and prepared.left is left:
                return prepared
        table = self._table(row.table)
        if isinstance(table, str):
            raise TableReadError(table)
        link = self._link(left, row, table)
        rows = self._table_rows(left, row, table, is_new)
        right = link.right_side(rows, self.options.keeps_right_rows)
        prepared = _Prepared(left, self._step(table, row), link, right)
        self._prepared = name_of_row(row), prepared
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
        if read is None or name_of_row(row) not in read.names:
            rows_of_table = [row] if is_new and not self._is_picked else self._good_rows(row.table)
            if name_of_row(row) not in map(name_of_row, rows_of_table):  # a key of two columns
                rows_of_table = [*rows_of_table, row]
            links = [self._link(left, other, table) for other in rows_of_table]
            rows: TableRows | TableReadError
            try:
                rows = read_rows(table, links, self.options.keeps_right_rows, self.options.holds_arrow)
            except TableReadError as error:
                rows = error
            read = self._read[row.table] = _Read({name_of_row(other) for other in rows_of_table}, rows)
            if len(self._read) > _KEPT_READS and not self._is_picked:
                del self._read[next(iter(self._read))]
        if isinstance(read.rows, TableReadError):
            raise read.rows
        return read.rows

    def _link(self, left: KeyColumns, row: Any, table: LakeTable) -> KeyLink:
        """Relate the key of a frame to that of a candidate, once."""
        known = self._links.get(name_of_row(row))
        if known is None or known[0] is not left:
            known = self._links[name_of_row(row)] = left, link_keys(left, table, self._step(table, row))
        return known[1]

    def _good_rows(self, table: str) -> list[Any]:
        """Return the candidates of a table that may be joined: all picked, else the first good one of a column."""
        found = [row for row in self._rows_of.get(table, []) if self._is_picked or not self.rank_reason(row)]
        return found if self._is_picked else list({row.query_column: row for row in reversed(found)}.values())

    def _context_of(self, row: Any) -> SearchContext:
        """Return the search that found a candidate."""
        return self._contexts.get(name_of_row(row), self._context)

    def _has_period(self, row: Any) -> bool:
        return self._context_of(row).period_of(row) is not None

    def _step(self, table: LakeTable, row: Any) -> JoinStep:
        """Write a candidate as the step of a plan."""
        context = self._context_of(row)
        on, right_on, query = context.key_of(row)
        columns = None if self.options.columns is None else list(self.options.columns)
        if columns is not None and not self._is_picked:
            columns = [name for name in columns if name in table.column_names and name not in right_on]
        aggregate = self.options.aggregate
        if isinstance(aggregate, dict):  # a rule may be meant for another of the tables
            aggregate = {name: rule for name, rule in aggregate.items() if name in table.column_names}
        relation = context.relation_of(row)
        is_near = distance_relation(relation) is not None  # else keys are equal, or name the same things
        has_partners = self.options.partners is not None or self.options.min_margin is not None
        if has_partners and (is_near or self._context.params.mode not in NEAR_MODES):
            relation = with_partners(relation, self.options.partners, self.options.min_margin)
        if is_near:
            is_bounded = context.params.radius is not None
            relation = with_precision(relation, self.options.precision, is_bounded=is_bounded)
        step = JoinStep(on, row.table, right_on, columns, {}, aggregate, query.pad, query.dayfirst, relation)
        period = context.period_of(row)
        if period is not None:
            position, granularity = period
            on, right_on = ([*key[:position], *key[position + 1 :], key[position]] for key in (on, right_on))
            return replace(step, on=on, right_on=right_on, period=granularity)
        return step if self.options.as_of is None else self._dated(step)

    def _dated(self, step: JoinStep) -> JoinStep:
        """Let a step join the latest rows alone; dates that nothing stands beside are their own key."""
        label = self.options.as_of
        dates = step.right_on
        if list(step.on) != [label]:
            dates = asof_dates(self._context.snapshot, step.table, label, step.right_on)
        return replace(step, dated={"on": json_label(label), "right_on": dates, "rule": "latest"})


def _is_unique(row: Any) -> bool:
    """Tell whether a key occurs once in the table of a candidate; of one by distance nothing is known."""
    return isinstance(row.relationship, str) and row.relationship.endswith(":1")


def _order_of(one: PeriodCandidate) -> tuple[float, float]:
    return -one.row.usefulness, -one.row.matched


# Whether a table brings anything that the frame does not have: its own copies must not be joined to it ------


@dataclass(frozen=True)
class _Part:
    """A column of the frame over the rows that find a partner: the codes of these rows, and which values occur."""

    name: str
    values: ValueSet
    codes: NDArray[np.int32]
    held: NDArray[np.int64]


def _parts(left: KeyColumns, rows: NDArray[np.int64]) -> list[_Part]:
    """Return the columns of a frame that have a value in some of the rows."""
    found = []
    for name, values in left.all_values():
        codes = values.codes[rows]
        held = np.flatnonzero(np.bincount(codes[codes >= 0]))  # numpy.unique hashes each row: 20 times as slow
        if held.size:
            found.append(_Part(name.casefold(), values, codes, held))
    return found


def adds_columns(
    left: KeyColumns, left_codes: NDArray[np.int64], right: pd.DataFrame, right_codes: NDArray[np.int64]
) -> bool:
    """Tell whether some column of the right side is not in the frame already.

    A right column is there already when a column of the frame has, in every row that finds a partner, a
    value that the right column has for that key. The same values on other rows are something new. Under another name
    those of one or two keys may be equal by accident, as in a frame of one row.

    Parameters
    ----------
    left : KeyColumns
        The frame so far.
    left_codes, right_codes : ndarray of int64
        Key of each row of either side.
    right : DataFrame
        The columns that would be added.
    """
    present = np.zeros(1 + int(max(left_codes.max(initial=0), right_codes.max(initial=0))), bool)
    present[right_codes[right_codes >= 0]] = True
    rows = np.flatnonzero((left_codes >= 0) & present[np.maximum(left_codes, 0)])
    keys = left_codes[rows]
    parts: list[_Part] | None = None
    for position in range(right.shape[1]):
        try:
            values = normalize_column(column_to_arrow(right.iloc[:, position]), left.settings)
        except InvalidTypeError:  # lists and the like are no values that could be distinguished
            continue
        if len(values) == 0:
            continue
        parts = _parts(left, rows) if parts is None else parts
        if not _is_held(parts, keys, (str(right.columns[position]), values), right_codes):
            return True
    return False


def _is_held(
    parts: Sequence[_Part], keys: NDArray[np.int64], column: tuple[str, ValueSet], right_codes: NDArray[np.int64]
) -> bool:
    """Tell whether a column of the right side is one of the frame's; `keys` are those of the rows of the parts."""
    name, values = column
    vocabulary = Vocabulary(values)
    pairs = distinct_numbers(pair_codes(right_codes, values.codes, len(values)))
    for part in parts:
        numbers = vocabulary.codes_of(part.values)
        if (numbers[part.held] < 0).any():
            continue  # it holds a value that the right column lacks
        codes = np.append(numbers, -1)[part.codes]
        wanted = pair_codes(keys, codes, len(values))
        wanted = distinct_numbers(wanted[wanted >= 0])
        if wanted.size < FEW and part.name != name.casefold():
            continue
        positions = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
        if bool((pairs[positions] == wanted).all()):
            return True
    return False


@dataclass(frozen=True)
class IndexedKey:
    """A key column of the lake and the column of the frame that would be joined with it.

    Parameters
    ----------
    snapshot : Snapshot
    table, column : str
        Names of the key column.
    values : ValueSet
        The frame's key.
    """

    snapshot: Snapshot
    table: str
    column: str
    values: ValueSet


def adds_columns_by_index(
    left: KeyColumns, key: IndexedKey, new_columns: Sequence[str], keeps_right_rows: bool
) -> bool | None:
    """Tell from catalogue and index whether `adds_columns` will be true for a table, without reading the table.

    Parameters
    ----------
    left : KeyColumns
        The frame so far.
    key : IndexedKey
    new_columns : sequence of str
        Columns of the table that would be added.
    keeps_right_rows : bool
        Whether all rows of the table would take part, not only those that find a partner.

    Returns
    -------
    bool or None
        None where the rows have to be seen: for columns that are not indexed, and for those whose values include
        all of a column of the frame.

    Notes
    -----
    The index knows the set of values of a column, and not which rows hold them. A column is new when every column
    of the frame has a value, in a row that finds a partner, that it lacks; one without values is not. Nothing else is
    decided.
    """
    segment, table = key.snapshot.find_table(key.table)
    if not key.snapshot.settings.keep_sets:
        return None
    number = key.snapshot.segments.index(segment)
    searcher = searcher_of(key.snapshot)
    numbers = segment.catalog.numbers
    key_column = segment.catalog.find_column(table, key.column)
    is_shared = shared_mask(segment, key_column, searcher.groups_of(number, key.values))
    is_whole = keeps_right_rows or (
        int(is_shared.sum()) == int(numbers["cardinality"][key_column]) and int(numbers["n_null"][key_column]) == 0
    )
    rows = np.flatnonzero(np.append(is_shared, False)[key.values.codes])
    parts = _parts(left, rows)
    groups = [searcher.groups_of(number, part.values) for part in parts]
    is_known = True
    for name in new_columns:
        column = segment.catalog.find_column(table, name)
        verdict = _is_new_by_index(segment, column, parts, groups, is_whole)
        if verdict:
            return True
        is_known = is_known and verdict is not None
    return False if is_known else None


def _is_new_by_index(
    segment: Segment, column: int, parts: Sequence[_Part], groups: Sequence[NDArray[np.int64]], is_whole: bool
) -> bool | None:
    """Tell whether one column is new; `is_whole`: every one of its rows finds a partner."""
    numbers = segment.catalog.numbers
    if numbers["n_null"][column] == numbers["n_rows"][column]:
        return False
    if not numbers["is_indexed"][column]:
        return None
    is_included = [
        bool(shared_mask(segment, column, own)[part.held].all()) for part, own in zip(parts, groups, strict=True)
    ]
    return True if not any(is_included) and (is_whole or int(numbers["n_null"][column]) == 0) else None
