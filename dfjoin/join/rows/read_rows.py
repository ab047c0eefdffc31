"""Reading the rows of a table of the lake that join, each table once, whatever the number of keys it joins on.

Keys of dates are read as the periods in which they lie, where the other side has periods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError
from dfjoin.join.aggregate import nullable_column
from dfjoin.join.keys import KeyColumns, take_values
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep, SavedRelation, distance_relation
from dfjoin.join.relation.frame_relation import text_columns
from dfjoin.join.relation.key_relation import KINDS, distinct_keys
from dfjoin.join.relation.pair_keys import marked_pairs
from dfjoin.join.relation.period_keys import check_periods, dates_of, number_periods
from dfjoin.join.relation.relate import relate_again
from dfjoin.join.rows.dated_rows import DatedLink, KeyLink, every_row, is_of_dates_alone
from dfjoin.join.rows.execute import match_marks
from dfjoin.join.rows.right_side import RightSide, TableFacts, left_out_columns
from dfjoin.search.distance.distance_join import DistanceRelation, PairedKeys
from dfjoin.search.transform.candidate_programs import spell_values
from dfjoin.store.table import LakeTable
from dfjoin.transform.evidence.prepared_columns import SETTINGS
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from dfjoin.values.frames import frame_of_columns
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.key_index import KeyIndex, Vocabulary, concat_values, expand_pairs
from dfjoin.values.normalize import ValueSet, normalize_column, unite_value_sets
from dfjoin.values.periods import read_periods


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
        Columns that are not added → why.

    Raises
    ------
    InvalidParameterError
        If one of the columns holds no periods, or coarser ones than `period`, or if the table has several rows within
        the period of a row of the frame that is finer: some of them may be later than the row.
    """

    def __init__(self, left: KeyColumns, step: JoinStep, columns: Sequence[str], left_out: Mapping[str, str]) -> None:
        assert step.period is not None
        self.step = step
        self._period = step.period
        self._columns = list(columns)
        self._left_out = dict(left_out)
        *others, label = step.on
        periods = check_periods(dates_of(left, label, is_known=True), step.period, label)
        self._is_finer = periods.granularity != step.period
        parts = [left.values(left.position(other), step.pad, step.dayfirst) for other in others]
        self.index = KeyIndex.of([*parts, number_periods(periods, step.period)])

    def _codes(self, parts: Sequence[ValueSet]) -> NDArray[np.int64]:
        """Return the number of the frame's key of each row of the table, -1 where the frame has none."""
        *others, values = parts
        texts = pd.Series(np.array([*values.values(), None], object)[values.codes])
        if texts.isna().all():
            return np.full(len(texts), -1, np.int64)
        name = self.step.right_on[-1]
        periods = read_periods(texts, is_year=self._period == "year" or is_year_name(name), share=0.0)
        periods = check_periods(periods, self._period, name)
        if self._is_finer and periods.granularity != self._period and not periods.are_bounds_of(self._period):
            raise InvalidParameterError(
                f"`on` must not be finer on both sides than the {self._period} at which they are joined, got days of "
                f"{show(name)}: rows would meet later ones"
            )
        return self.index.match([*others, number_periods(periods, self._period)])

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a batch, by the canonical values of its key, whether it may join."""
        return self._codes(parts) >= 0

    def right_side(self, rows: Any, keeps_all: bool) -> RightSide:
        """Return the rows that join."""
        if keeps_all:
            raise InvalidParameterError('`how` must be "left" or "inner" for a join by periods')
        codes = self._codes([rows.keys[name] for name in self.step.right_on])
        chosen = np.flatnonzero(codes >= 0)
        frame = rows.to_frame(self._columns, chosen)
        relation = {"period": self._period}
        stem = stem_of(rows.table.name)
        keys = frame.iloc[:, :0]
        n_keys, facts = self.index.n_keys, TableFacts(rows.table)
        return RightSide(frame, keys, codes[chosen], n_keys, stem, relation, self._left_out, rows.kinds, facts=facts)


def columns_to_add(table: LakeTable, step: JoinStep) -> list[str]:
    """Return the columns of a table that a step brings; a key that programs relate is among them, it says more."""
    names = step.columns
    if names is None:
        left_out = left_out_columns(table, step)
        names = [name for name in table.column_names if name not in left_out]
    return list(names) if step.relation is not None else [name for name in names if name not in step.right_on]


def link_keys(left: KeyColumns, table: LakeTable, step: JoinStep) -> KeyLink:
    """Relate the key of a frame to that of a table as a step says: they are equal, near, or programs relate them."""
    table.check_columns(step.right_on)
    table.check_columns(step.columns or [])
    if step.dated is not None:
        return _link_dated(left, table, step)
    if step.period is not None:
        return PeriodLink(left, step, columns_to_add(table, step), left_out_columns(table, step))
    if step.relation is None:
        return _EqualLink(step, left.index(step.on, step.pad, step.dayfirst))
    near = distance_relation(step.relation)
    if near is not None:
        return _DistanceLink(left, table, step, near)
    return _RelatedLink(left, step) if "likeness" in step.relation else _ProgramLink(left, step)


def _link_dated(left: KeyColumns, table: LakeTable, step: JoinStep) -> KeyLink:
    """Relate the key of a frame to that of a table, and their dates."""
    dated = step.dated or {}
    table.check_columns(dated["right_on"])
    columns = columns_to_add(table, step)
    if is_of_dates_alone(step) and step.columns is None:
        columns = [*step.right_on, *columns]  # which date it is says how old the row is
    read = list(dict.fromkeys([*columns, *dated["right_on"]]))
    inner = replace(step, dated=None, columns=read)
    link = _EveryLink(left, inner) if is_of_dates_alone(step) else link_keys(left, table, inner)
    return DatedLink(left, link, dated, columns)


class _EveryLink:
    """All rows of the frame belong to all rows of the table."""

    def __init__(self, left: KeyColumns, step: JoinStep) -> None:
        self.step = step
        self.index = every_row(len(left.frame))

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        return np.ones(parts[0].codes.size, bool)

    def right_side(self, rows: TableRows, keeps_all: bool) -> RightSide:
        n_rows = sum(batch.num_rows for batch in rows.batches)
        frame = rows.to_frame(list(self.step.columns or ()), np.arange(n_rows))
        codes = np.zeros(n_rows, np.int64)
        left_out = left_out_columns(rows.table, replace(self.step, columns=None))
        stem, none = stem_of(rows.table.name), frame.iloc[:, :0]
        return RightSide(frame, none, codes, 1, stem, {}, left_out, rows.kinds, facts=TableFacts(rows.table))


class _EqualLink:
    """The keys are equal in canonical form."""

    def __init__(self, step: JoinStep, index: KeyIndex) -> None:
        self.step = step
        self.index = index

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        return self.index.match(parts) >= 0

    def right_side(self, rows: TableRows, keeps_all: bool) -> RightSide:
        right_on = self.step.right_on
        parts = [rows.keys[name] for name in right_on]
        codes, n_keys = self.index.match_all(parts) if keeps_all else (self.index.match(parts), self.index.n_keys)
        chosen = np.arange(codes.size) if keeps_all else np.flatnonzero(codes >= 0)
        new_columns = columns_to_add(rows.table, self.step)
        frame = rows.to_frame([*right_on, *new_columns] if keeps_all else new_columns, chosen)
        keys = frame[right_on] if keeps_all else frame.iloc[:, :0]
        left_out = left_out_columns(rows.table, self.step)
        facts = TableFacts(rows.table, right_on)
        stem, codes = stem_of(rows.table.name), codes[chosen]
        return RightSide(frame[new_columns], keys, codes, n_keys, stem, {}, left_out, rows.kinds, facts=facts)


class _ProgramLink:
    """Learned programs relate one column of the frame to one of the table."""

    def __init__(self, left: KeyColumns, step: JoinStep) -> None:
        ((label,), (self.name,)) = step.on, step.right_on
        position = left.position(label)
        values = left.values(position, step.pad, step.dayfirst)
        self.step = step
        self.index = left.index([label], step.pad, step.dayfirst)
        self._join = TransformJoin.from_dict(step.relation)
        self._values = values
        self._texts = {str(label): spell_values(left.array(position), values, step.pad)}
        source = [ranked.program for ranked in self._join.programs]
        target = [] if self._join.target is None else [self._join.target]
        self._own_programs, self._programs = self._join.ordered(source, target)

    @cached_property
    def _results(self) -> Vocabulary:
        """What the programs of the frame's side make of its key."""
        results = [
            normalize_column(program.apply([self._texts[name] for name in program.columns]), SETTINGS)
            for program in self._own_programs
        ]
        return Vocabulary(unite_value_sets(results or [_values_of([])], SETTINGS))

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        (values,) = parts
        texts = _texts_of(values)
        is_joined = np.zeros(len(values) + 1, bool)  # the last one serves code -1, the null
        for program in self._programs:
            results = normalize_column(program.apply([texts for _ in program.columns]), SETTINGS)
            is_known = np.append(self._results.codes_of(results) >= 0, False)
            is_joined[:-1] |= is_known[results.codes]
        return is_joined[values.codes]

    def right_side(self, rows: TableRows, keeps_all: bool) -> RightSide:
        values = rows.keys[self.name]
        pairs = marked_pairs(self._join, join_rows(self._join, self._texts, {self.name: _texts_of(values)}))
        own, theirs = (np.array(side.values(), object) for side in (self._values, values))
        is_equal = own[pairs.left] == theirs[pairs.right]
        kinds = np.array(KINDS, object)[np.where(is_equal, KINDS.index("equal"), pairs.kinds)]
        chances = np.where(is_equal, 1.0, pairs.chances)
        codes = values.codes.astype(np.int64)
        found = PairedKeys(pairs.left, pairs.right, codes, len(values), pairs.distances, chances)
        return _side_of_pairs(self, rows, found, keeps_all, {"transform": self.step.relation}, kinds)


class _RelatedLink:
    """The keys are related as those of two frames may be: by equality, programs, and likeness with its threshold.

    Which keys are alike, all keys of the table tell: every row is read.
    """

    def __init__(self, left: KeyColumns, step: JoinStep) -> None:
        self.step = step
        self._saved = SavedRelation.from_dict(step.relation)
        own, _ = self._saved.columns
        self._texts = text_columns(
            KeyColumns(left.frame[list(step.on)], left.settings), dict(zip(step.on, own, strict=True)), own
        )
        self.index = distinct_keys({name: column.array for name, column in self._texts.items()}).index

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        return np.ones(parts[0].codes.size, bool)

    def right_side(self, rows: TableRows, keeps_all: bool) -> RightSide:
        right_on = self.step.right_on
        keys = rows.to_frame(right_on, np.arange(sum(batch.num_rows for batch in rows.batches)))
        texts = text_columns(
            KeyColumns(keys, rows.table.settings), dict(zip(right_on, right_on, strict=True)), right_on
        )
        relation, _ = relate_again(self._saved, self._texts, texts)
        theirs, found = relation.right.index, relation.pairs
        pairs = PairedKeys(found.left, found.right, theirs.codes, theirs.n_keys, found.distances, found.chances)
        kinds = np.array(KINDS, object)[found.kinds]
        return _side_of_pairs(self, rows, pairs, keeps_all, relation.describe(), kinds)


def _side_of_pairs(
    link: KeyLink,
    rows: TableRows,
    pairs: PairedKeys,
    keeps_all: bool,
    relation: dict[str, Any],
    kinds: str | NDArray[np.object_],
) -> RightSide:
    """Return the rows of a table whose key is paired with keys of the frame, and with `keeps_all` the others.

    A row stands there once for each of its pairs; `kinds` says how each of them, or all, were matched.
    """
    of_pair, chosen = expand_pairs(pairs.right, pairs.codes, pairs.n_keys)
    codes, n_keys = pairs.left[of_pair], link.index.n_keys
    if keeps_all:
        alone = np.setdiff1d(np.arange(pairs.codes.size), chosen)
        chosen, codes = np.append(chosen, alone), np.append(codes, n_keys + np.arange(alone.size))
        n_keys += alone.size
        of_pair = np.append(of_pair, np.full(alone.size, -1))
    order = np.argsort(chosen, kind="stable")
    chosen, codes = chosen[order], codes[order]
    marks = match_marks(np.full(pairs.left.size, kinds, object), pairs, of_pair[order])
    frame = rows.to_frame(columns_to_add(rows.table, link.step), chosen)
    left_out = left_out_columns(rows.table, link.step)
    stem = stem_of(rows.table.name)
    none, facts = frame.iloc[:, :0], TableFacts(rows.table)
    return RightSide(frame, none, codes, n_keys, stem, relation, left_out, rows.kinds, chosen, facts, marks)


class _DistanceLink:
    """Each key of the frame belongs to the nearest key of the table within a radius, or to all."""

    def __init__(self, left: KeyColumns, table: LakeTable, step: JoinStep, relation: DistanceRelation) -> None:
        parts = [left.point_values(left.position(label), step.pad, step.dayfirst) for label in step.on]
        self.step = step
        self._relation = relation
        self._keys = relation.keys(parts, table.snapshot)
        self.index = KeyIndex(self._keys.codes, self._keys.n_keys)

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        return self._keys.may_join(parts)

    def right_side(self, rows: TableRows, keeps_all: bool) -> RightSide:
        pairs = self._keys.pairs([rows.keys[name] for name in self.step.right_on])
        described, learned = self._relation.described(pairs), {"relation": self._relation.learned(pairs)}
        return replace(_side_of_pairs(self, rows, pairs, keeps_all, described, self._relation.MEASURE), decided=learned)


def _values_of(texts: list[str]) -> ValueSet:
    return normalize_column(pa.array(texts, pa.large_string()), SETTINGS)


def _texts_of(values: ValueSet) -> pa.Array:
    """Return the distinct values as Arrow strings: programs read the table in canonical form, as when learned."""
    return pa.array(values.values(), pa.large_string())


@dataclass(frozen=True)
class TableRows:
    """Rows that were read of a table.

    Parameters
    ----------
    table : LakeTable
    columns : list of str
        What was read of each row.
    batches : list of pyarrow RecordBatch
        The rows; the first may have none.
    keys : dict of str to ValueSet
        Canonical values of the key columns, with a code for every row.
    holds_arrow : bool
        Frames hold the columns as Arrow.
    """

    table: LakeTable
    columns: list[str]
    batches: list[pa.RecordBatch]
    keys: dict[str, ValueSet]
    holds_arrow: bool = False

    @property
    def kinds(self) -> dict[str, str]:
        """Columns whose values are objects in pandas → what they are, by the type that the table has."""
        types = {} if not self.batches else dict(zip(self.columns, self.batches[0].schema.types, strict=True))
        return {
            name: "decimal" if pa.types.is_decimal(type_) else "date"
            for name, type_ in types.items()
            if pa.types.is_decimal(type_) or pa.types.is_date(type_)
        }

    def to_frame(self, columns: Sequence[str], rows: NDArray[np.int64]) -> pd.DataFrame:
        """Make a frame of some columns and rows; row numbers ascend, one may stand there several times.

        Integers and booleans are nullable, whether or not one of these rows has a null.
        """
        if not columns:
            return pd.DataFrame(index=range(rows.size))
        positions = [self.columns.index(name) for name in columns]
        begin, n_rows = 0, sum(batch.num_rows for batch in self.batches)
        batches: list[pa.RecordBatch] = []
        for batch in self.batches:
            first, last = np.searchsorted(rows, (begin, begin + batch.num_rows))
            own = rows[first:last] - begin
            begin += batch.num_rows
            if own.size == 0 and (batches or begin < n_rows):
                continue  # the last one tells the types, even if none of its rows is taken
            is_whole = own.size == batch.num_rows and bool((np.diff(own) == 1).all())
            part = batch.select(positions)
            batches.append(part if is_whole else part.take(pa.array(own)))
        known = {name: take_values(self.keys[name], rows) for name in columns if name in self.keys}
        found = self.table.to_columns(batches, columns, known, self.holds_arrow)
        return frame_of_columns({name: nullable_column(column) for name, column in found.items()})


def read_rows(table: LakeTable, links: Sequence[KeyLink], keeps_all: bool, holds_arrow: bool = False) -> TableRows:
    """Read the rows of a table that may join on any of some keys, with the columns that are added for these.

    Parameters
    ----------
    table : LakeTable
    links : sequence of KeyLink
        The keys; each of their columns is normalised once.
    keeps_all : bool
        Keep the rows that do not join as well.
    holds_arrow : bool
        See `TableRows`.

    Returns
    -------
    TableRows

    Notes
    -----
    One pass over the file. Memory follows the rows that are kept.
    """
    key_columns = list(dict.fromkeys(name for link in links for name in link.step.right_on))
    new_columns = dict.fromkeys(name for link in links for name in columns_to_add(table, link.step))
    wanted = [*key_columns, *(name for name in new_columns if name not in key_columns)]
    batches: list[pa.RecordBatch] = []
    parts: dict[str, list[ValueSet]] = {name: [] for name in key_columns}
    may_join = None if keeps_all or len(links) > 1 else links[0].may_join
    for batch in table.batches(wanted, key_columns, may_join):
        values = {name: table.normalize(name, batch.column(i)) for i, name in enumerate(key_columns)}
        if not keeps_all:
            is_kept = np.zeros(batch.num_rows, bool)
            for link in links:
                is_kept |= link.may_join([values[name] for name in link.step.right_on])
            kept = np.flatnonzero(is_kept)
            if kept.size < batch.num_rows:
                batch = batch.take(pa.array(kept))
                values = {name: take_values(part, kept) for name, part in values.items()}
        if batch.num_rows or not batches:  # the first one tells the types, whatever its rows
            batches.append(batch)
        if batch.num_rows:
            for name, part in values.items():
                parts[name].append(part)
    keys = {name: concat_values(part or [_values_of([])], table.settings) for name, part in parts.items()}
    return TableRows(table, wanted, batches, keys, holds_arrow)
