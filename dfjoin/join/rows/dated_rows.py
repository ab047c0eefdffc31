"""Joins that look at dates: what was known before a moment, or the latest that was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, JoinExpansionError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.plan import JoinStep, json_label
from dfjoin.join.relation.period_keys import dates_of
from dfjoin.join.rows.right_side import RightSide, TableFacts
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.values.key_index import KeyIndex, expand_pairs
from dfjoin.values.normalize import ValueSet
from dfjoin.values.periods import PeriodColumn

_MOST_PAIRS = 20_000_000
"""Pairs of a row of the frame and a row of the table with the same key, at most."""

NEVER = np.iinfo(np.int64).min
"""Beginning and end of the period of a row that has none."""


class KeyLink(Protocol):
    """How the key of a frame belongs to the key of a table of the lake."""

    @property
    def step(self) -> JoinStep:
        """The join, with the columns that are read."""

    @property
    def index(self) -> KeyIndex:
        """The keys of the frame."""

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a batch, by the canonical values of its key, whether it may join."""

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide:
        """Return the rows that join, and with `keeps_all` the others."""


_DAY = 86_400_000_000
"""Microseconds."""


def is_of_dates_alone(step: JoinStep) -> bool:
    """Tell whether a step has no key beside its dates, so that any row may be the latest one."""
    dated = step.dated
    return dated is not None and [json_label(label) for label in step.on] == [dated["on"]]


def every_row(n_rows: int) -> KeyIndex:
    """Return one key for all rows."""
    return KeyIndex(np.zeros(n_rows, np.int64), 1)


class DatedKeys:
    """The keys of a frame, each with each of its dates: what a row of a table is joined with if dates count.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Key of each row, -1 for none.
    periods : PeriodColumn
        Date of each row; a row without one has no key.
    """

    def __init__(self, codes: NDArray[np.int64], periods: PeriodColumn) -> None:
        is_dated = (codes >= 0) & ~periods.is_null
        pairs = np.stack([codes[is_dated], periods.starts[is_dated]], axis=1)
        keys, numbers = np.unique(pairs, axis=0, return_inverse=True)
        self._keys, self._dates = keys[:, 0], keys[:, 1]
        own = np.full(codes.size, -1, np.int64)
        own[is_dated] = numbers.ravel()
        self.index = KeyIndex(own, len(keys))

    def pairs(
        self, rule: str, codes: NDArray[np.int64], dates: Sequence[PeriodColumn]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pair keys with the rows of a table.

        Parameters
        ----------
        rule : {"before", "latest"}
            All rows whose period has ended when that of the frame's row begins, or those with the latest beginning that
            is not after it.
        codes : ndarray of int64, shape (n_rows,)
            Key of each row of the table without its date, -1 for one that the frame lacks.
        dates : sequence of PeriodColumn
            A row is dated by the latest of them.

        Returns
        -------
        keys, rows : ndarray of int64, shape (n_pairs,)
            In the order of the rows. Rows of one key and beginning are all there.

        Raises
        ------
        JoinExpansionError
            If more than 20 million pairs are to be made; for ``"before"``, to be compared.

        Notes
        -----
        ``"before"``: O(pairs of rows with the same key). ``"latest"``: O((keys + rows) log (keys + rows) + pairs), by
        one sort of both, as sort-merge joins of bands do.
        """
        starts, ends = latest_periods(dates, codes.size)
        codes = np.where(ends > NEVER, codes, -1)
        if rule == "latest":
            keys, rows = self._latest_pairs(codes, starts)
        else:
            n_keys = 1 + int(max(codes.max(initial=-1), self._keys.max(initial=-1)))
            counts = [np.bincount(side[side >= 0], minlength=n_keys) for side in (self._keys, codes)]
            _check_pairs(int((counts[0] * counts[1]).sum()))
            keys, rows = (side.astype(np.int64) for side in expand_pairs(self._keys, codes, n_keys))
            is_joined = ends[rows] <= self._dates[keys]
            keys, rows = keys[is_joined], rows[is_joined]
        order = np.argsort(rows, kind="stable")
        return keys[order], rows[order]

    def days_after(self, keys: NDArray[np.int64], moments: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the days from some moments, in microseconds, to the dates of keys."""
        return (self._dates[keys] - moments) / _DAY

    def _latest_pairs(
        self, codes: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = np.flatnonzero(codes >= 0)
        rows = rows[np.lexsort((starts[rows], codes[rows]))]
        own_codes, own_starts = codes[rows], starts[rows]
        is_first = np.ones(rows.size, bool)
        is_first[1:] = (own_codes[1:] != own_codes[:-1]) | (own_starts[1:] != own_starts[:-1])
        begins = np.flatnonzero(is_first)  # of the rows of one key and beginning
        counts = np.diff(np.append(begins, rows.size))
        is_key = np.arange(begins.size + self._keys.size) >= begins.size
        moments = np.concatenate([own_starts[begins], self._dates])
        groups = np.concatenate([own_codes[begins], self._keys])
        order = np.lexsort((is_key, moments, groups))
        last = np.empty(order.size, np.int64)
        last[order] = np.cumsum(~is_key[order]) - 1
        found = last[begins.size :]
        has_partner = found >= 0
        has_partner[has_partner] = own_codes[begins[found[has_partner]]] == self._keys[has_partner]
        keys, found = np.flatnonzero(has_partner), found[has_partner]
        _check_pairs(int(counts[found].sum()))
        return np.repeat(keys, counts[found]), rows[expand_stretches(begins[found], counts[found])]


def _check_pairs(n_pairs: int) -> None:
    if n_pairs > _MOST_PAIRS:
        raise JoinExpansionError(
            f"the join by dates has to compare {n_pairs:,} pairs of rows with the same key, above {_MOST_PAIRS:,}; "
            "join fewer rows at a time"
        )


class DatedLink:
    """Rows of a table belong to a row of the frame by their key, and by their dates.

    Parameters
    ----------
    left : KeyColumns
        The frame.
    inner : KeyLink
        How the keys belong together; it reads the columns of dates as well.
    dated : dict
        `on`: the column of the frame that has the dates. `right_on`: columns of dates or periods of the table; a row is
        dated by the latest of them. `rule`: ``"before"`` or ``"latest"``, see `DatedKeys.pairs`.
    columns : list of str
        Columns to bring.

    Raises
    ------
    InvalidParameterError
        If the frame's column holds no dates, or rows are to be kept that only the table has.
    JoinExpansionError
        If more than 20 million pairs of rows have the same key.

    Notes
    -----
    A key of the join is a key with a date, so that each date has rows of its own, which are made one row as in every
    join. A row without a date joins nothing.
    """

    def __init__(self, left: KeyColumns, inner: KeyLink, dated: dict[str, Any], columns: list[str]) -> None:
        label = next((own for own in left.frame.columns if json_label(own) == dated["on"]), dated["on"])
        periods = dates_of(left, label, is_known=True)
        if periods is None:
            raise InvalidParameterError(f"`as_of` must name a column of dates, got {show(label)}")
        self._inner = inner
        self._dated = dated
        self._columns = columns
        self._keys = DatedKeys(inner.index.codes, periods)

    @property
    def step(self) -> JoinStep:
        """The join, with the columns that are read."""
        return self._inner.step

    @property
    def index(self) -> KeyIndex:
        """The keys of the frame, each with its date."""
        return self._keys.index

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a batch, by the canonical values of its key, whether it may join."""
        return self._inner.may_join(parts)

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide:
        """Return the rows that join; a row stands there once for each date that it belongs to."""
        if keeps_all:
            raise InvalidParameterError('`how` must be "left", "inner" or "asof" for a join by dates')
        side = self._inner.right_side(rows, False)
        right = KeyColumns(side.frame, rows.table.settings)
        found = [dates_of(right, name, is_known=True) for name in self._dated["right_on"] if name in side.frame]
        dates = [one for one in found if one is not None]
        own, theirs = self._keys.pairs(self._dated["rule"], side.codes, dates)
        frame = side.frame[self._columns].iloc[theirs].reset_index(drop=True)
        _, ends = latest_periods(dates, side.codes.size)
        relation = side.relation | {"dated": self._dated}
        facts = TableFacts(rows.table)
        return replace(
            side,
            frame=frame,
            keys=frame.iloc[:, :0],
            codes=own,
            n_keys=self.index.n_keys,
            relation=relation,
            rows=None if side.rows is None else side.rows[theirs],
            facts=facts,
            marks=None if side.marks is None else side.marks.iloc[theirs].reset_index(drop=True),
            ages=self._keys.days_after(own, ends[theirs]),
        )


def latest_periods(columns: Sequence[PeriodColumn], n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end of the latest period of each row; `NEVER` where it has none."""
    starts = np.full(n_rows, NEVER)
    ends = starts.copy()
    for column in columns:
        starts = np.where(column.is_null, starts, np.maximum(starts, column.starts))
        ends = np.where(column.is_null, ends, np.maximum(ends, column.ends))
    return starts, ends
