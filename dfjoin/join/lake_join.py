"""Reading a table of the lake whose key belongs to the frame's by learned programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.join.execute import RightSide
from dfjoin.join.keys import LeftKey, RowKeys, expand_pairs
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.search.query import make_query
from dfjoin.search.transform.candidate_programs import query_texts
from dfjoin.store.table import LakeTable
from dfjoin.transform.transform_join import TransformJoin, join_rows
from dfjoin.values.frames import select_column
from dfjoin.values.normalize import ValueSet, normalize_column, unite_value_sets

__all__ = ["read_related"]


def read_related(df: pd.DataFrame, table: LakeTable, step: JoinStep, how: str) -> tuple[RowKeys, RightSide]:
    """Read the rows of a table whose key the programs of a step relate to a key of the frame.

    Parameters
    ----------
    df : DataFrame
        The left frame.
    table : LakeTable
    step : JoinStep
        With one key column on either side, and `relation`.
    how : {"left", "inner", "right", "outer"}
        For the last two rows without a partner are kept as well.

    Returns
    -------
    left : RowKeys
        Distinct values of the frame's key.
    right : RightSide
        A row that several keys belong to stands in it for each; its own key is among the columns.

    Notes
    -----
    The table is read twice: for the distinct values of its key, which the programs are applied to in canonical
    form as when they were learned, and for its rows. Memory: the distinct values and the rows that match.
    """
    (label,), (name,) = step.on, step.right_on
    table.check_columns([name])
    query = make_query(select_column(df, label, "on"), table.settings, pad=step.pad, dayfirst=step.dayfirst)
    brought = table.column_names if step.columns is None else list(step.columns)
    table.check_columns(brought)
    settings = table.key_settings(name)
    values = _distinct(table, name)
    join = TransformJoin.from_dict(step.relation)
    texts = pa.array(values.values(), pa.large_string())
    pairs = join_rows(join, {query.name: query_texts(query)}, {name: texts})
    known = LeftKey([values])
    wanted = [name, *(column for column in brought if column != name)]
    kept: list[pa.RecordBatch] = []
    codes: list[Any] = [np.empty(0, np.int64)]
    n_keys = len(query.values)
    for batch in table.batches(wanted):
        found = known.match(batch.columns[:1], [settings])
        of_pair, rows = expand_pairs(pairs.right_rows, found, known.n_keys)
        order = np.argsort(rows, kind="stable")
        of_pair, rows = of_pair[order], rows[order]
        keys = pairs.left_rows[of_pair]
        if how in ("right", "outer"):
            alone = np.setdiff1d(np.arange(batch.num_rows), rows)
            rows, keys = np.append(rows, alone), np.append(keys, n_keys + np.arange(alone.size))
            n_keys += alone.size
        kept.append(batch.take(pa.array(rows)))
        codes.append(keys)
    frame = table.to_frame(kept, wanted)
    side = RightSide(frame[brought], frame.iloc[:, :0], np.concatenate(codes), n_keys, stem_of(table.name))
    return RowKeys(query.values.codes.astype(np.int64), len(query.values)), side


def _distinct(table: LakeTable, name: str) -> ValueSet:
    """Collect the distinct canonical values of a column."""
    settings = table.key_settings(name)
    parts: Sequence[ValueSet] = [normalize_column(batch.column(0), settings) for batch in table.batches([name])]
    if not parts:
        return normalize_column(pa.array([], pa.string()), settings)
    united = unite_value_sets(list(parts), settings)
    return ValueSet(united.hashes, united.data, united.offsets, united.classes, np.arange(len(united), dtype=np.int32))
