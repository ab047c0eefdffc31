"""Joining tables of a lake: the best acceptable candidates, those that the user picked, or those of a plan.

First the column of the frame is chosen where the user names none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.lake_candidates import LakeCandidates
from dfjoin.join.options import MANY_HOWS, JoinOptions
from dfjoin.join.plan import JoinPlan, json_label, require_lake
from dfjoin.join.rows.read_rows import link_keys, read_rows
from dfjoin.join.rows.report import JoinAccount, joined_before
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_columns, search_queries, warn_of_missing
from dfjoin.search.discover import has_composite_key, make_key, query_columns, with_aliases
from dfjoin.search.found import RowName, name_of_row, rows_of
from dfjoin.search.modes import mode_of
from dfjoin.search.period_search import PeriodCandidate, find_period_candidates, find_period_keys
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings


class ColumnChoice:
    """The choice of a query column: that whose best acceptable candidate is the best of all.

    Candidates are compared by usefulness, then by shared values. Columns whose best candidates are equally good are no
    conflict if they lead to the same rows: the first one is taken. Two columns of different roles (home, away) that
    lead to the same column are one, whichever is better. A table is read
    only where nothing but its rows tells whether it brings anything new, and only for a candidate that is the best
    unless its rows speak against it; the column that comes next takes its place then.

    Parameters
    ----------
    candidates : LakeCandidates
    left : KeyColumns
    """

    def __init__(self, candidates: LakeCandidates, left: KeyColumns) -> None:
        self._candidates = candidates
        self._left = left
        self._reasons: dict[RowName, str] = {}

    def of(self, rows: list[Any]) -> str | None:
        """Choose among the query columns of some candidates; None if none of these is acceptable in time."""
        by_column = self._by_column(rows)
        while best := self._best_rows(by_column):
            if self._candidates.is_time_over():
                return None
            reasons = [
                self._reasons.get(name_of_row(row), self._candidates.known_reason(self._left, row)) for row in best
            ]
            for i, row in enumerate(best):
                if reasons[i] is None and reasons.count("") < 2:
                    reasons[i] = self._candidates.reason_against(self._left, row)
            accepted = [row for row, reason in zip(best, reasons, strict=True) if reason == ""]
            if len(accepted) > 1 and not self._is_one_join(accepted):
                names = [row.query_column for row in accepted]
                raise InvalidParameterError(
                    f"`on` must be given: the columns {shortlist(names)} join equally well (usefulness "
                    f"{accepted[0].usefulness:.3f}, {accepted[0].matched:,} values); pass on={names[0]!r}, for example"
                )
            if len(accepted) > 1:
                return accepted[0].query_column
            if len(accepted) == len(best):  # the only one: read it now
                reasons = [self._candidates.reason_against(self._left, best[0])]
                if reasons == [""]:
                    self._check_roles(best[0], rows)
                    return best[0].query_column
            known = zip(best, reasons, strict=True)
            self._reasons |= {name_of_row(row): reason for row, reason in known if reason is not None}
        return None

    def _check_roles(self, best: Any, rows: list[Any]) -> None:
        """Raise an error if another column that plays another role in the rows leads to the same column of the table.

        Two columns play roles if they hold the same things and differ in most rows: home and away, origin and target.
        """
        for row in rows:
            is_rival = (row.table, row.column) == (best.table, best.column) and row.query_column != best.query_column
            if is_rival and not self._candidates.rank_reason(row) and self._are_roles(best, row):
                names = [best.query_column, row.query_column]
                raise InvalidParameterError(
                    f"`on` must be given: the columns {shortlist(names)} hold the same things in different rows, and "
                    f"both lead to column {best.column!r} of {best.table!r}; pass on={names[0]!r}, for example"
                )

    def _are_roles(self, one: Any, other: Any) -> bool:
        """Tell whether half of the values of a column are those of another one, and most rows hold different ones."""
        few, many = sorted((self._candidates.queries[row.query_column].values for row in (one, other)), key=len)
        is_shared = np.isin(few.hashes, many.hashes)
        few_keys, many_keys = (np.append(values.hashes, np.uint64(0))[values.codes] for values in (few, many))
        return 2 * int(is_shared.sum()) >= len(few) and 2 * int((few_keys == many_keys).sum()) < few_keys.size

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

    def _by_column(self, rows: list[Any]) -> list[list[Any]]:
        """Return the candidates of each query column, the last one first: each table once, on its best column."""
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            if not self._candidates.rank_reason(row):
                found.setdefault(row.query_column, {}).setdefault(row.table, row)
        return [list(tables.values())[::-1] for tables in found.values()]

    def _best_rows(self, by_column: list[list[Any]]) -> list[Any]:
        """Return the best candidates of those that are the first of their query column with nothing against them."""
        for rows_of_one in by_column:
            while rows_of_one and self._reasons.get(name_of_row(rows_of_one[-1])):
                rows_of_one.pop()
        first = [rows_of_one[-1] for rows_of_one in by_column if rows_of_one]
        best = max(((row.usefulness, row.matched) for row in first), default=None)
        return [row for row in first if (row.usefulness, row.matched) == best]


_FIRST_LOOK = 50
"""Candidates of each query column that a lake join always looks at."""

_LEAST_USEFUL = 0.5
"""Usefulness that a candidate of a key that nobody named has at least."""

_FIRST_KEYS = 4
"""Tables that a lake join on several columns looks at first: each is read to be ranked."""

_MORE_LOOK = 4
"""Each further look down the ranking goes this many times as far as the last one."""


def join_lake(df: pd.DataFrame, snapshot: Snapshot, options: JoinOptions) -> JoinAccount:
    """Join the best acceptable tables of a lake.

    Candidates are looked at in rank order: the first ones in any case, then more and more of them until enough
    tables are joined, the ranking falls below the threshold, or the time is over. Without `on`, columns of the frame
    that stand together in a table are a key before any of them alone. Where equal keys do not do, columns of periods
    are looked at in which dates of the frame lie.
    """
    ranking = _LakeRanking(df, snapshot, options)
    is_every_column = ranking.is_every_column
    left = KeyColumns(df, snapshot.settings)
    left.remember(ranking.queries)
    account = JoinAccount(left)
    reasons = ranking.leave_out_measures() if is_every_column else {}
    hits = ranking.search()
    candidates = LakeCandidates(hits, [], options, limit=ranking.depth)
    candidates.least_useful = _LEAST_USEFUL if is_every_column else 0.0
    candidates.is_unnamed = is_every_column
    if options.columns is None:  # else other columns of the same table may be wanted
        candidates.leave_out(table for index, table in joined_before(df) if index == str(snapshot.path))
    choice = ColumnChoice(candidates, left)
    chosen: str | None = None
    settled: set[str] = set()
    seen: set[RowName] = set()
    if is_every_column:
        rows = candidates.look_at_pairs(left, rows_of(hits))
        account, is_over = _join_some(account, candidates, rows, settled)
        if is_over:
            return account
    while True:
        rows = rows_of(hits)
        candidates.look_at(hits, rows)
        if is_every_column and chosen is None:
            chosen = choice.of(rows)
        if chosen is not None:  # further tables are joined on the same key
            candidates.least_useful = 0.0
            rows = [row for row in rows if row.query_column == chosen]
        has_more = ranking.has_more(rows)
        if chosen is not None or not is_every_column or not has_more or candidates.is_time_over():
            new = [row for row in rows if name_of_row(row) not in seen]
            seen.update(map(name_of_row, new))
            account, is_over = _join_some(account, candidates, new, settled)
            if is_over:
                return account
        if not has_more:
            if len(account.joined) < (1 if is_every_column else options.k):
                rows = candidates.look_at_periods(ranking.search_periods())
                account, _ = _join_some(account, candidates, rows, settled)
            if is_every_column and not account.joined:
                one = "it has one value; name it by `on` if that is meant"
                reasons |= {query.name: one for query in left.constants() if query.name not in reasons}
            for name, reason in reasons.items():
                account = account.pass_over("", "", f"column {name!r} as a key: {reason}")
            return account
        hits = ranking.search_further()


class _LakeRanking:
    """The candidates of a lake for the key columns of a frame, best first, to a depth that grows.

    Parameters
    ----------
    df : DataFrame
    snapshot : Snapshot
    options : JoinOptions

    Attributes
    ----------
    is_every_column : bool
        No column was named, so that each one is tried.
    queries : list of QueryColumn
        The columns that are searched with.
    """

    def __init__(self, df: pd.DataFrame, snapshot: Snapshot, options: JoinOptions) -> None:
        on = options.on
        self.is_every_column = on is None or (isinstance(on, str) and on == "*" and "*" not in df.columns)
        self._df, self._snapshot, self._options = df, snapshot, options
        params = options.lake_search(k=max(_FIRST_LOOK, 10 * options.k), families=False, aliases=options.aliases)
        mode_of(options.mode).check(snapshot)
        self._key = make_key(df, on, snapshot, params) if has_composite_key(on, params) else None
        if self._key is not None:
            params = replace(params, k=max(_FIRST_KEYS, 2 * options.k))
        self._params = params
        self.queries = query_columns(df, on, snapshot, params) if self._key is None else list(self._key.columns)
        if on is None and options.as_of is not None:
            self.queries = [query for query in self.queries if query.label != options.as_of]

    @property
    def depth(self) -> int:
        """Candidates of each key that are searched."""
        return self._params.k or 0

    def leave_out_measures(self) -> dict[str, str]:
        """Search no further with columns that are no keys; return why each of them is none."""
        reasons = {query.name: reason_against_key(query) for query in self.queries}
        self.queries = [query for query in self.queries if not reasons[query.name]]
        return {name: reason for name, reason in reasons.items() if reason}

    def search(self, *, is_first: bool = True) -> JoinCandidates:
        """Return the candidates; of a key of several columns those that may be joined, else those that come nearest."""
        if self._key is None:
            found = search_queries(self._snapshot, self.queries, self._params, is_first=is_first)
            return with_aliases(found, self.queries, self._params) if self._params.aliases else found
        limits = replace(self._params, threshold=self._options.threshold, min_score=self._options.least_score(True))
        hits = search_columns(self._snapshot, self._key, limits)
        return warn_of_missing(hits if len(hits) else search_columns(self._snapshot, self._key, self._params))

    def search_further(self) -> JoinCandidates:
        """Return more candidates, those that are known among them."""
        self._params = replace(self._params, k=self.depth * _MORE_LOOK)
        return self.search(is_first=False)

    def search_periods(self) -> list[PeriodCandidate]:
        """Return columns of periods in which dates of the frame lie; none where keys are not to be equal."""
        options = self._options
        is_plain = options.as_of is None and not options.keeps_right_rows and mode_of(options.mode).is_by_equality
        if not is_plain:
            return []
        if self._key is not None:
            limits = replace(self._params, threshold=options.threshold, min_score=options.least_score(True))
            found = find_period_keys(self._key, self._snapshot, limits)
            return found or find_period_keys(self._key, self._snapshot, self._params)  # the report says why none is
        labels = list(self._df.columns) if self.is_every_column else [query.label for query in self.queries]
        columns = [(label, self._df.iloc[:, i]) for i, label in enumerate(self._df.columns) if label in labels]
        return find_period_candidates(columns, self._snapshot, self._params)

    def has_more(self, rows: list[Any]) -> bool:
        """Tell whether candidates below some may reach the smallest score."""
        names = [query.name for query in self.queries] if self._key is None else [self._key.name]
        for name in names:
            own = [row for row in rows if row.query_column == name]
            if len(own) >= self.depth and own[-1].score >= self._options.least_score(True):
                return True
        return False


def _join_some(
    account: JoinAccount, candidates: LakeCandidates, rows: list[Any], settled: set[str]
) -> tuple[JoinAccount, bool]:
    """Join what is acceptable of some candidates; also return whether no further ones are to be looked at.

    Tables that are settled are neither joined nor reported again.
    """
    for row in rows:
        if len(account.joined) >= candidates.options.k:
            break
        if row.table in settled:
            continue
        reason = candidates.rank_reason(row)
        if not reason:
            if candidates.is_time_over(row.table):
                return account.pass_over(row.table, row.column, candidates.time_over_reason), True
            settled.add(row.table)
            reason = candidates.reason_against(account.left, row)
        if reason:
            account = account.pass_over(row.table, row.column, reason)
        else:
            account = candidates.join(account, row)
    return account, len(account.joined) >= candidates.options.k


def join_candidates(df: pd.DataFrame, hits: JoinCandidates, options: JoinOptions) -> JoinAccount:
    """Join the candidates that the user picked, as picked: their file must be readable and the indexed one."""
    if len(hits) > 1 and options.how not in MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left", "inner" or "asof" when several tables are joined, got {options.how!r} and '
            f"{len(hits)} candidates"
        )
    account = JoinAccount(KeyColumns(df, hits.context.snapshot.settings))
    rows = rows_of(hits)
    candidates = LakeCandidates(hits, rows, options, is_picked=True)
    for row in rows:
        account = candidates.join(account, row)
    return account


def join_plan(df: pd.DataFrame, plan: JoinPlan, options: JoinOptions, lake: Snapshot | None = None) -> JoinAccount:
    """Carry out a plan on a frame that has its key columns; with the tables of a lake, or of the one that it names."""
    require_lake(plan)
    if not plan.steps:
        return JoinAccount(KeyColumns(df, IndexSettings()))
    snapshot = open_snapshot(plan.index) if lake is None else lake
    account = JoinAccount(KeyColumns(df, snapshot.settings))
    for step in plan.steps:
        table = LakeTable(snapshot, step.table, options.on_stale)
        labels = account.left.frame.columns
        step = replace(step, on=[_known_label(labels, label) for label in step.on])
        link = link_keys(account.left, table, step)
        rows = read_rows(table, [link], options.keeps_right_rows, options.holds_arrow)
        right = link.right_side(rows, options.keeps_right_rows)
        account = account.join(step, link.index, right, options)
    return account


def _known_label(labels: Iterable[Any], label: Any) -> Any:
    """Return the column label that JSON has turned into `label`."""
    return next((own for own in labels if json_label(own) == label), label)
