"""Search with a key of several columns: tables that hold a candidate for each, verified row by row, best first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from dfjoin.errors import InvalidParameterError, TableChangedError, TableReadError, warn
from dfjoin.kernels.numba._compile import watch
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.hits import KeyHit, KeyMatch, KeySearch
from dfjoin.search.key_rows import KeyRows
from dfjoin.search.key_tables import (
    SCORE_DECIMALS,
    CandidateTables,
    KeyChoice,
    KeyTables,
    TableChoices,
    find_candidates,
)
from dfjoin.search.params import SearchParams
from dfjoin.search.query import KeyQuery
from dfjoin.store.snapshot import Snapshot

_SECONDS = 2.0
"""How long tables are read, where nobody says how long."""

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

    Tables wait in a queue by the most that they can have: first by the counts of their columns and rows, then by the
    tuples whose parts the sets of their columns hold, and then by what their rows hold. Rows are compared only if the
    table comes first until then, for a few choices of columns at a time, the most promising first; rows that the index
    keeps (`Lake.add_row_signatures`) without reading the table. The result is that of comparing every table, unless the
    time (2 seconds) is over or a table has more than 4,096 choices of columns: `SearchStats.is_complete` says so.

    Source of the filter by single columns, of verifying rows, and of keeping something of each row: Esmailoghli,
    Quiané-Ruiz, Abedjan: "MATE: Multi-Attribute Table Extraction", PVLDB 2022, sections 3 to 5. Deviation: bounds come
    from the sets of the index, and what is kept of a row are the numbers of its values, which need no verification.
    """
    tables = find_tables(snapshot, query, params)
    return merge_tables(tables, [search_tables(tables, query, params)], query, params)


def find_tables(snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> KeyTables:
    """Find the tables that `search_tables` compares, all of them or parts one by one."""
    every = SearchParams(k=None, tables=params.tables, exclude=params.exclude, kinds=params.kinds, min_score=0.0)
    return find_candidates(snapshot, query, every)


_Rank = tuple[Any, ...]
"""Where a table stands in the queue; its number among the tables comes last."""


class LeftTable(NamedTuple):
    """A table that a queue gave up, where it stood then, and its name and the reason if it could not be read."""

    rank: _Rank
    family: int
    unread: tuple[str, str] | None = None


class TablesFound(NamedTuple):
    """What was found among some tables of a lake.

    Parameters
    ----------
    hits : list of (tuple, int, KeyHit)
        The best table of each family, in the order of the queue, with its place and its family.
    left : list of LeftTable
        Tables that were given up.
    late : list of tuple
        Places of tables of which not all was compared.
    n_waiting : Counter
        Family → its tables that were not given up, the best one too.
    n_compared, n_opened : int
        Tables whose rows were compared; those of them whose files were read.
    """

    hits: list[tuple[_Rank, int, KeyHit]]
    left: list[LeftTable]
    late: list[_Rank]
    n_waiting: Counter[int]
    n_compared: int
    n_opened: int


def deal_tables(tables: KeyTables, n: int, query: KeyQuery, params: SearchParams) -> list[CandidateTables]:
    """Deal tables out to `n` searches or fewer, in turn, those that may reach the most first."""
    found = tables.candidates
    most = found.score * found.gain * np.minimum(1.0, found.matched / max(1, query.n_keys))
    order = np.argsort(-most if params.is_by_usefulness else -found.matched, kind="stable")
    return [found.take(np.sort(order[part::n])) for part in range(max(1, min(n, order.size)))]


def search_tables(
    tables: KeyTables, query: KeyQuery, params: SearchParams, seconds: float | None = None
) -> TablesFound:
    """Compare some tables with a key, until the best families of them are known or the time is over."""
    return _Queue(tables, query, params, _SECONDS if seconds is None else seconds).run()


def merge_tables(tables: KeyTables, parts: Sequence[TablesFound], query: KeyQuery, params: SearchParams) -> KeySearch:
    """Merge what was found among parts of the tables of a lake.

    Parameters
    ----------
    tables : KeyTables
        All of them.
    parts : sequence of TablesFound
    query : KeyQuery
    params : SearchParams

    Returns
    -------
    KeySearch

    Notes
    -----
    One queue of all tables would have come to a table as long as that stood before the best of its family, and no
    further than the last hit. A part may have come further, since it does not know the tables of the others: what it
    gave up behind these places counts as if it had not been looked at.
    """
    shown: dict[int, tuple[_Rank, KeyHit]] = {}
    for rank, family, hit in heapq.merge(*(part.hits for part in parts), key=itemgetter(0)):
        if len(shown) == params.k:
            break
        shown.setdefault(family, (rank, hit))
    end = list(shown.values())[-1][0] if len(shown) == params.k else None
    n_similar = sum((part.n_waiting for part in parts), Counter[int]())
    unread: dict[str, str] = {}
    for one in sorted((one for part in parts for one in part.left), key=lambda one: one.rank):
        if one.family in shown and one.rank > shown[one.family][0]:
            n_similar[one.family] += 1
        elif one.unread is not None and (end is None or one.rank < end):
            unread.update([one.unread])
    hits = [replace(hit, n_similar=max(0, n_similar[family] - 1)) for family, (_, hit) in shown.items()]
    stats = replace(tables.stats, candidates=sum(part.n_compared for part in parts))
    stats.is_complete = not any(end is None or rank < end for part in parts for rank in part.late)
    notes: dict[str, Any] = {
        "ranked_by": params.rank,
        "n_candidates": int(tables.candidates.tables.size),
        "n_read": sum(part.n_opened for part in parts),
    }
    if unread:
        notes["unread"] = dict(list(unread.items())[:20])
        warn(f"{len(unread):,} tables that may share keys could not be read, the first: {next(iter(unread.values()))}")
    return KeySearch(query, hits, stats, notes)


class _FoundChoice(NamedTuple):
    """A choice that shares tuples: its rank (usefulness where it counts, tuples), and its usefulness."""

    rank: tuple[float, int]
    choice: KeyChoice
    useful: float


class _CountedChoices:
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
        """The usefulness and the tuples that the next choice can have at most, or another one has."""
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
            rank = (useful if self._is_by_usefulness else 0.0, matched)
            if rank >= self._first:
                self.found.append(_FoundChoice(rank, choice, useful))
                if not choice.may_be_copy:  # a copy falls behind
                    self._first = rank


class _Queue:
    """The queue of tables by the most that each can reach."""

    def __init__(self, tables: KeyTables, query: KeyQuery, params: SearchParams, seconds: float) -> None:
        self._tables = tables
        self._query = query
        self._params = params
        self._least = smallest_count(params.threshold, query.n_keys)
        self._least_score = params.smallest_score if params.is_by_usefulness else 0.0
        self._has_families = params.families and params.is_by_usefulness
        self._end = monotonic() - watch.seconds + seconds
        self._heap: list[tuple[_Rank, KeyHit | None]] = []
        self._counted: dict[int, _CountedChoices] = {}
        self._left: list[LeftTable] = []
        self._late: list[_Rank] = []
        self._n_compared = 0
        found = tables.candidates
        for position in np.flatnonzero((found.matched >= self._least) & (found.score >= self._least_score)).tolist():
            matched = int(found.matched[position])
            most = float(found.score[position] * found.gain[position]) * min(1.0, matched / max(1, query.n_keys))
            self._push(most, matched, position)

    def _is_over(self) -> bool:
        """Whether to give up, by the monotonic clock; compiling kernels takes nothing of the time."""
        return monotonic() > self._end + watch.seconds

    def _push(self, useful: float, matched: int, position: int, hit: KeyHit | None = None, before: _Rank = ()) -> None:
        """Put a table into the queue; one that may still reach as much as a hit comes before it.

        What a table can reach grows no more than it did when it stood at the place `before`.
        """
        key: _Rank = (-matched,)
        if self._params.is_by_usefulness:
            slack = 0.0 if hit is not None else 10.0**-SCORE_DECIMALS  # scores are rounded before they are multiplied
            key = (-round(useful + slack, SCORE_DECIMALS), -matched)
        if hit is not None:
            rank = (*key, 1, hit.match.cardinality, hit.match.table, hit.match.columns, position)
        else:  # of equal bounds the most useful is read first: the time may end
            rank = max(before, (*key, 0, -useful, "", (), position))
        heapq.heappush(self._heap, (rank, hit))

    def _family(self, rank: _Rank) -> int:
        """Return a number that tables of one family share; each has its own where families are not told apart."""
        position = rank[-1]
        return self._tables.family(position) if self._has_families else int(self._tables.candidates.tables[position])

    def _leave(self, rank: _Rank, unread: str | None = None) -> None:
        """Give up a table."""
        names = None if unread is None else (self._tables.name(rank[-1]), unread)
        self._left.append(LeftTable(rank, self._family(rank), names))

    def run(self) -> TablesFound:
        """Take tables out of the queue until enough are found."""
        hits: list[tuple[_Rank, int, KeyHit]] = []
        n_waiting: Counter[int] = Counter()
        while self._heap and len(hits) != self._params.k:
            rank, hit = heapq.heappop(self._heap)
            family = self._family(rank)
            if family in n_waiting or hit is not None:
                n_waiting[family] += 1
                if n_waiting[family] == 1 and hit is not None:
                    hits.append((rank, family, hit))
            elif self._is_over():
                self._late.append(rank)
                self._leave(rank)
            else:
                self._refine(rank)
        if self._has_families:
            n_waiting.update(self._family(rank) for rank, _ in self._heap)
        return TablesFound(hits, self._left, self._late, n_waiting, self._n_compared, self._tables.n_opened)

    def _refine(self, rank: _Rank) -> None:
        """Find out more of a table: what its columns hold, then what its rows hold, for some choices of columns."""
        tables, position = self._tables, rank[-1]
        counted = self._counted.pop(position, None)
        if counted is None:
            choices, is_complete = tables.choices(position)
            if not is_complete:
                self._late.append(rank)
            kept = choices.keep((choices.most >= self._least) & (choices.score >= self._least_score))
            if not len(kept):
                self._leave(rank)
                return
            self._counted[position] = _CountedChoices(kept, self._params.is_by_usefulness)
            self._push(float(kept.useful.max()), int(kept.most.max()), position, before=rank)
            return
        try:
            if counted.rows is None:
                self._n_compared += 1
                counted.rows = tables.rows(position, counted.choices, self._is_over)
            counted.count_more(self._least, self._least_score)
        except TimeoutError:
            self._late.append(rank)
            self._leave(rank)
            return
        except (TableChangedError, TableReadError, InvalidParameterError) as error:
            self._leave(rank, str(error))
            return
        if counted.may_improve:
            self._counted[position] = counted
            self._push(*counted.next_most, position, before=rank)
            return
        best = self._best_of(counted.rows, counted.found)
        if best is None:
            self._leave(rank)
        else:
            self._push(best.usefulness, best.match.matched, position, best)

    def _best_of(self, rows: KeyRows, found: list[_FoundChoice]) -> KeyHit | None:
        """Choose the columns of a table that rank first; what a result shows is computed for those that may."""
        best: KeyHit | None = None
        for rank, choice, useful in sorted(found, key=lambda one: one.rank, reverse=True):
            if best is not None and (-rank[0], -rank[1]) > self._order(best)[:2]:
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
