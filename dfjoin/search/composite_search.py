"""Search with a key of several columns: tables that hold a candidate for each, verified row by row, best first."""

from __future__ import annotations

import heapq
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from dfjoin.errors import InvalidParameterError, TableChangedError, TableReadError, warn
from dfjoin.kernels.numba._compile import watch
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.hits import KeyHit, KeyMatch, KeySearch
from dfjoin.search.key_rows import KeyRows
from dfjoin.search.key_tables import SCORE_DECIMALS, KeyChoice, KeyTables, TableChoices
from dfjoin.search.params import SearchParams
from dfjoin.search.query import KeyQuery
from dfjoin.store.snapshot import Snapshot

_SECONDS = 2.0
"""How long tables are read."""

_AT_ONCE = 1 << 17
"""Rows of all choices of a table that are counted before another table may be looked at."""


def search_key(snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> KeySearch:
    """Find the tables of a lake that share the most tuples with a key, or join with it most usefully.

    Parameters
    ----------
    snapshot : Snapshot
    query : KeyQuery
    params : SearchParams
        `k`, `threshold`, `rank`, `min_score`, `families`, and which tables and kinds may be returned.

    Returns
    -------
    KeySearch
        One hit for each table: the columns of it that rank first. By matched tuples: these descending, distinct tuples
        of the table ascending, table and columns by code point; by usefulness: that before them.

    Notes
    -----
    A tuple is shared if a row of the table holds it. The score is the geometric mean of the scores of the columns,
    times the share of the tuples with all parts in the table that also stand in one row of it. The usefulness is the
    score times the most that a column's join brings, times the share of all tuples that find a row, divided by
    1 + log10(rows of the table for each of these): 1 where the columns are a key of the table, 2 where ten rows must be
    aggregated to one. That share has no part in the score: columns may mean the same where few tuples are shared.

    Tables wait in a queue by the most that they can reach: first by the counts of their columns and rows, then by the
    tuples whose parts the sets of their columns hold, and then by what their rows hold. Rows are compared only if the
    table comes first until then, for a few choices of columns at a time, the most promising first; rows that the index
    keeps (`Lake.add_row_signatures`) without reading the table. The result is that of comparing every table, unless the
    time (2 seconds) is over or a table has more than 4,096 choices of columns: `SearchStats.is_complete` says so.

    Source of the filter by single columns, of verifying rows, and of keeping something of each row: Esmailoghli,
    Quiané-Ruiz, Abedjan: "MATE: Multi-Attribute Table Extraction", PVLDB 2022, sections 3 to 5. Deviation: bounds come
    from the sets of the index, and what is kept of a row are the numbers of its values, which need no verification.
    """
    inner = SearchParams(k=None, tables=params.tables, exclude=params.exclude, kinds=params.kinds, min_score=0.0)
    tables = KeyTables(snapshot, query, inner)
    return _Queue(tables, query, params).run()


class _FoundChoice(NamedTuple):
    """A choice that shares tuples: what it reached (usefulness where it counts, tuples), and its usefulness."""

    reached: tuple[float, int]
    choice: KeyChoice
    useful: float


class _CountedWays:
    """The choices of columns of a table, those that can reach the most counted first.

    Parameters
    ----------
    choices : TableChoices
    is_by_usefulness : bool
        Usefulness counts before tuples.
    """

    def __init__(self, choices: TableChoices, is_by_usefulness: bool) -> None:
        self.choices = choices
        self.rows: KeyRows | None = None
        self.found: list[_FoundChoice] = []
        self._is_by_usefulness = is_by_usefulness
        self._first = (0.0, 0)
        slack = 10.0**-SCORE_DECIMALS  # scores are rounded before they are multiplied
        self._most = choices.useful + slack if is_by_usefulness else np.zeros(len(choices))
        self._order = np.lexsort((choices.most, self._most))[::-1]

    @property
    def next_most(self) -> tuple[float, int]:
        """The usefulness and the tuples that the next choice can reach at most, or another one has reached."""
        choice = self._order[0]
        first = self._first[0] if self._is_by_usefulness else 0.0
        return max(float(self.choices.useful[choice]), first), max(int(self.choices.most[choice]), self._first[1])

    @property
    def may_improve(self) -> bool:
        """Whether a choice that was not counted may reach as much as the best one that was."""
        if not self._order.size:
            return False
        choice = self._order[0]
        return (float(self._most[choice]), int(self.choices.most[choice])) >= self._first

    def count_more(self, least: int, least_score: float) -> None:
        """Count some more choices."""
        assert self.rows is not None
        n = max(1, _AT_ONCE // max(1, self.rows.n_rows))
        block, self._order = [self.choices[i] for i in self._order[:n].tolist()], self._order[n:]
        counts = self.rows.count([choice.parts for choice in block])
        for choice, matched, n_rows in zip(block, *(count.tolist() for count in counts), strict=True):
            if matched < least or choice.score_of(matched) < least_score:
                continue
            useful = choice.usefulness_of(matched, n_rows)
            reached = (useful if self._is_by_usefulness else 0.0, matched)
            if reached >= self._first:
                self.found.append(_FoundChoice(reached, choice, useful))
                if not choice.may_be_copy:  # a copy falls behind
                    self._first = reached


class _Queue:
    """The queue of tables by the most that each can reach."""

    def __init__(self, tables: KeyTables, query: KeyQuery, params: SearchParams) -> None:
        self._tables = tables
        self._query = query
        self._params = params
        self._least = smallest_count(params.threshold, query.n_keys)
        self._least_score = params.smallest_score if params.is_by_usefulness else 0.0
        self._start = monotonic() - watch.seconds
        self._is_complete = True
        self._unread: dict[str, str] = {}
        self._n_read = 0
        self._heap: list[tuple[Any, ...]] = []
        self._counted: dict[int, _CountedWays] = {}
        for position in np.flatnonzero((tables.matched >= self._least) & (tables.score >= self._least_score)).tolist():
            matched = int(tables.matched[position])
            most = float(tables.score[position] * tables.gain[position]) * min(1.0, matched / max(1, query.n_keys))
            self._push(most, matched, position)

    def _is_over(self) -> bool:
        """Whether to give up, by the monotonic clock; compiling kernels takes nothing of the time."""
        return monotonic() > self._start + watch.seconds + _SECONDS

    def _push(self, useful: float, matched: int, position: int, hit: KeyHit | None = None) -> None:
        """Put a table into the queue; one that may still reach as much as a hit comes before it."""
        key: tuple[Any, ...] = (-matched,)
        if self._params.is_by_usefulness:
            slack = 0.0 if hit is not None else 10.0**-SCORE_DECIMALS  # scores are rounded before they are multiplied
            key = (-round(useful + slack, SCORE_DECIMALS), -matched)
        last: tuple[Any, ...] = (
            0,
            -useful,
            "",
            (),
            position,
        )  # of equal bounds the most useful is read first: the time may end
        if hit is not None:
            last = (1, hit.match.cardinality, hit.match.table, hit.match.columns, position)
        heapq.heappush(self._heap, (*key, *last, hit))

    def run(self) -> KeySearch:
        """Take tables out of the queue until enough are found."""
        tables, families = self._tables, self._params.families and self._params.is_by_usefulness
        hits: list[KeyHit] = []
        shown: dict[int, int] = {}
        similar: dict[int, int] = {}
        limit = self._params.k
        while self._heap and (limit is None or len(hits) < limit):
            *_, position, hit = heapq.heappop(self._heap)
            family = tables.family(position) if families else -1 - position
            if family in shown:
                similar[family] += 1
            elif hit is not None:
                shown[family], similar[family] = len(hits), 0
                hits.append(hit)
            elif self._is_over():
                self._is_complete = False
            else:
                self._refine(position)
        for *_, position, _hit in self._heap if families else ():
            family = tables.family(position)
            if family in similar:
                similar[family] += 1
        hits = [
            KeyHit(hit.match, hit.score, hit.usefulness, hit.is_copy, similar[family])
            for hit, family in zip(hits, shown, strict=True)
        ]
        stats = tables.stats
        stats.candidates, stats.is_complete = self._n_read, self._is_complete
        notes: dict[str, Any] = {
            "ranked_by": self._params.rank,
            "n_candidates": int(tables.tables.size),
            "n_read": tables.n_opened,
        }
        if self._unread:
            notes["unread"] = dict(list(self._unread.items())[:20])
            warn(
                f"{len(self._unread):,} tables that may share keys could not be read, the first: "
                f"{next(iter(self._unread.values()))}"
            )
        return KeySearch(self._query, hits, stats, notes)

    def _refine(self, position: int) -> None:
        """Find out more of a table: what its columns hold, then what its rows hold, for some choices of columns."""
        tables = self._tables
        counted = self._counted.pop(position, None)
        if counted is None:
            choices, is_complete = tables.choices(position)
            self._is_complete &= is_complete
            kept = choices.keep((choices.most >= self._least) & (choices.score >= self._least_score))
            if len(kept):
                self._counted[position] = _CountedWays(kept, self._params.is_by_usefulness)
                self._push(float(kept.useful.max()), int(kept.most.max()), position)
            return
        try:
            if counted.rows is None:
                self._n_read += 1
                counted.rows = tables.rows(position, counted.choices, self._is_over)
            counted.count_more(self._least, self._least_score)
        except TimeoutError:
            self._is_complete = False
            return
        except (TableChangedError, TableReadError, InvalidParameterError) as error:
            self._unread[tables.name(position)] = str(error)
            return
        if counted.may_improve:
            self._counted[position] = counted
            self._push(*counted.next_most, position)
            return
        best = self._best_of(counted.rows, counted.found)
        if best is not None:
            self._push(best.usefulness, best.match.matched, position, best)

    def _best_of(self, rows: KeyRows, found: list[_FoundChoice]) -> KeyHit | None:
        """Choose the columns of a table that rank first; what a result shows is computed for those that may."""
        best: KeyHit | None = None
        for reached, choice, useful in sorted(found, key=lambda one: one.reached, reverse=True):
            if best is not None and (-reached[0], -reached[1]) > self._order(best)[:2]:
                break
            hit = self._score(choice, useful, rows.describe(choice.parts, choice.possible))
            if best is None or self._order(hit) < self._order(best):
                best = hit
        return best

    def _order(self, hit: KeyHit) -> tuple[Any, ...]:
        match = hit.match
        useful = hit.usefulness if self._params.is_by_usefulness else 0.0
        return (-useful, -match.matched, match.cardinality, match.columns)

    def _score(self, choice: KeyChoice, useful: float, match: KeyMatch) -> KeyHit:
        """Make the hit of a table from its columns and rows; a copy of the frame is of no use."""
        is_copy = choice.may_be_copy and not match.brings
        is_copy &= match.matched == self._query.n_keys == match.cardinality
        return KeyHit(match, choice.score_of(match.matched), 0.0 if is_copy else useful, is_copy)
