"""Joins of dates and periods: equal at the coarser granularity of both, however they are spelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns, KeyIndex
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.execute import RightSide
from dfjoin.join.rows.right_facts import TableFacts
from dfjoin.types import IndexSettings
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.normalize import normalize_column
from dfjoin.values.periods import GRANULARITIES, PeriodColumn, read_periods
from dfjoin.values.value_set import ValueSet

__all__ = ["PeriodLink"]

_SETTINGS = IndexSettings(null_evidence=False)
"""Of numbers of periods, all of which count, as -1 does."""


class PeriodLink:
    """A date of the frame belongs to the period of the table that it lies in, and further keys are equal.

    Parameters
    ----------
    left : KeyColumns
        The frame.
    step : JoinStep
        `period` is the granularity at which the last keys of both sides are equal.
    columns : list of str
        Columns to bring.
    left_out : mapping of str
        Columns that are not brought → why.

    Raises
    ------
    InvalidParameterError
        If one of the columns holds no periods, or coarser ones than `period`, or if the table has several rows within
        the period of a row of the frame that is finer: some of them may be later than the row.
    """

    def __init__(self, left: KeyColumns, step: JoinStep, columns: Sequence[str], left_out: Mapping[str, str]) -> None:
        assert step.period is not None
        self._step = step
        self._period = step.period
        self._columns = list(columns)
        self._left_out = dict(left_out)
        *others, label = step.on
        column = left.frame.iloc[:, left.position(label)]
        periods = self._checked(read_periods(column, is_year=is_year_name(column.name)), column.name)
        self._is_finer = periods.granularity != step.period
        parts = [left.values(left.position(other), step.pad, step.dayfirst) for other in others]
        self._index = KeyIndex.of([*parts, _numbered(periods, step.period)])

    @property
    def step(self) -> JoinStep:
        """The join."""
        return self._step

    @property
    def index(self) -> KeyIndex:
        """The periods of the frame."""
        return self._index

    def _checked(self, periods: PeriodColumn | None, name: Any) -> PeriodColumn:
        found = "none" if periods is None else periods.granularity
        weeks = (found == "week") != (self._period == "week") and found not in ("day", "second")
        if periods is None or weeks or GRANULARITIES.index(found) < GRANULARITIES.index(self._period):
            raise InvalidParameterError(
                f"`on` must be columns of dates or of periods that lie in a {self._period}, got {show(name)} with "
                f"periods of {found}"
            )
        return periods

    def _codes(self, parts: Sequence[ValueSet]) -> NDArray[np.int64]:
        """Return the number of the frame's key of each row of the table, -1 where the frame has none."""
        *others, values = parts
        texts = pd.Series(np.array([*values.values(), None], object)[values.codes])
        if texts.isna().all():
            return np.full(len(texts), -1, np.int64)
        name = self._step.right_on[-1]
        periods = self._checked(read_periods(texts, is_year=self._period == "year" or is_year_name(name)), name)
        if self._is_finer and periods.granularity != self._period and not periods.are_first_of(self._period):
            raise InvalidParameterError(
                f"`on` must not be finer on both sides than the {self._period} at which they are joined, got days of "
                f"{show(name)}: rows would meet later ones"
            )
        return self._index.match([*others, _numbered(periods, self._period)])

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a batch, by the canonical values of its key, whether it may join."""
        return self._codes(parts) >= 0

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide:
        """Return the rows that join."""
        if keeps_all:
            raise InvalidParameterError('`how` must be "left" or "inner" for a join by periods')
        codes = self._codes([rows.keys[name] for name in self._step.right_on])
        chosen = np.flatnonzero(codes >= 0)
        frame = rows.to_frame(self._columns, chosen)
        relation = {"period": self._period}
        stem = stem_of(rows.table.name)
        keys = frame.iloc[:, :0]
        n_keys, facts = self._index.n_keys, TableFacts(rows.table)
        return RightSide(frame, keys, codes[chosen], n_keys, stem, relation, self._left_out, rows.kinds, facts=facts)


def _numbered(periods: PeriodColumn, granularity: str) -> ValueSet:
    """Return the numbers of the periods in which others lie, as a part of a key."""
    return normalize_column(pa.array(periods.numbers(granularity), mask=periods.is_null), _SETTINGS)
