"""Joins that look at dates: what was known before a moment, or the latest that was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, JoinExpansionError
from dfjoin.join.execute import RightSide
from dfjoin.join.keys import KeyColumns, KeyIndex, expand_pairs
from dfjoin.join.plan import JoinStep, json_label
from dfjoin.values.normalize import ValueSet
from dfjoin.values.periods import PeriodColumn, is_year_name, read_periods

__all__ = ["DatedLink"]

_MOST_PAIRS = 20_000_000
"""Pairs of a row of the frame and a row of the table with the same key, at most."""


class _Link(Protocol):
    """The relation of the keys without dates, see `dfjoin.join.read_rows.KeyLink`."""

    @property
    def step(self) -> JoinStep: ...

    @property
    def index(self) -> KeyIndex: ...

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]: ...

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide: ...


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
        dated by the latest of them. `rule`: ``"before"`` for all rows whose period has ended when that of the frame's
        row begins; ``"latest"`` for those with the latest beginning that is not after the frame's row.
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
    join. A row without a date joins nothing. O(pairs of rows with the same key).
    """

    def __init__(self, left: KeyColumns, inner: _Link, dated: dict[str, Any], columns: list[str]) -> None:
        label = next((own for own in left.frame.columns if json_label(own) == dated["on"]), dated["on"])
        periods = _read(left.frame.iloc[:, left.position(label)], label)
        if periods is None:
            raise InvalidParameterError(f"`as_of` must name a column of dates, got {show(label)}")
        self._inner = inner
        self._dated = dated
        self._columns = columns
        codes = inner.index.codes
        is_dated = (codes >= 0) & ~periods.is_null
        pairs = np.stack([codes[is_dated], periods.starts[is_dated]], axis=1)
        keys, numbers = np.unique(pairs, axis=0, return_inverse=True)
        self._keys, self._dates = keys[:, 0], keys[:, 1]
        own = np.full(codes.size, -1, np.int64)
        own[is_dated] = numbers.ravel()
        self._index = KeyIndex(own, len(keys))

    @property
    def step(self) -> JoinStep:
        """The join, with the columns that are read."""
        return self._inner.step

    @property
    def index(self) -> KeyIndex:
        """The keys of the frame, each with its date."""
        return self._index

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a batch, by the canonical values of its key, whether it may join."""
        return self._inner.may_join(parts)

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide:
        """Return the rows that join; a row stands there once for each date that it belongs to."""
        if keeps_all:
            raise InvalidParameterError('`how` must be "left" or "inner" for a join by dates')
        side = self._inner.right_side(rows, False)
        found = [_read(side.frame[name], name) for name in self._dated["right_on"] if name in side.frame]
        starts, ends = _latest([one for one in found if one is not None], len(side.frame))
        codes = np.where(ends > np.iinfo(np.int64).min, side.codes, -1)
        own, theirs = self._pairs(codes, side.n_keys)
        if self._dated["rule"] == "before":
            is_joined = ends[theirs] <= self._dates[own]
            own, theirs = own[is_joined], theirs[is_joined]
        else:
            is_joined = starts[theirs] <= self._dates[own]
            own, theirs = own[is_joined], theirs[is_joined]
            latest = np.full(self._dates.size, np.iinfo(np.int64).min)
            np.maximum.at(latest, own, starts[theirs])
            is_latest = starts[theirs] == latest[own]
            own, theirs = own[is_latest], theirs[is_latest]
        order = np.argsort(theirs, kind="stable")
        own, theirs = own[order], theirs[order]
        frame = side.frame[self._columns].iloc[theirs].reset_index(drop=True)
        relation = side.relation | {"dated": self._dated}
        kinds = side.object_kinds
        return RightSide(frame, frame.iloc[:, :0], own, self._dates.size, side.stem, relation, side.left_out, kinds)

    def _pairs(self, codes: NDArray[np.int64], n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pair each key and date of the frame with each row of the table that has the key."""
        counts = [np.bincount(side[side >= 0], minlength=n_keys) for side in (self._keys, codes)]
        n_pairs = int((counts[0] * counts[1]).sum())
        if n_pairs > _MOST_PAIRS:
            raise JoinExpansionError(
                f"the join by dates has to compare {n_pairs:,} pairs of rows with the same key, above {_MOST_PAIRS:,}; "
                "join fewer rows at a time"
            )
        own, theirs = expand_pairs(self._keys, codes, n_keys)
        return own.astype(np.int64), theirs.astype(np.int64)


def _read(column: pd.Series, name: Any) -> PeriodColumn | None:
    """Read a column of dates; whole numbers are years where the name says so, or where nothing else is known."""
    return read_periods(column, is_year=is_year_name(name))


def _latest(columns: Sequence[PeriodColumn], n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end of the latest period of each row; the smallest number where it has none."""
    starts = np.full(n_rows, np.iinfo(np.int64).min)
    ends = starts.copy()
    for column in columns:
        starts = np.where(column.is_null, starts, np.maximum(starts, column.starts))
        ends = np.where(column.is_null, ends, np.maximum(ends, column.ends))
    return starts, ends
