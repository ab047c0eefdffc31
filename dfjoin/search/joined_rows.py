"""A few rows of a candidate's table that the query finds, as an example of the join."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin._visible import visible
from dfjoin.errors import DfjoinError, InvalidTypeError
from dfjoin.search.found import Candidate
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable
from dfjoin.values.cells import CONVERSION_ERRORS, cell_texts

N_ROWS = 3
"""Rows that an explanation shows."""

_N_COLUMNS = 6
_N_READ = 100
"""Columns that are read of a wide table, to show those that have values."""
_SECONDS = 2.0
"""How long rows are looked for that an explanation shows."""


def joined_rows(candidate: Candidate, shared: list[str]) -> list[dict[str, Any]]:
    """Read a few rows of a candidate's table whose key the query has.

    Parameters
    ----------
    candidate : Candidate
    shared : list of str
        Values in canonical form that both columns hold.

    Returns
    -------
    list of dict
        Name of a column → its value as text, the key first, then columns that have a value in one of these rows; no
        row where the table cannot be read.

    Notes
    -----
    The table is read in batches until three rows are found, and for two seconds at most.
    """
    wanted, column = dict.fromkeys(shared), str(candidate.row["column"])

    def new_rows(table: LakeTable, batch: pa.RecordBatch) -> Iterator[int]:
        values = table.normalize(column, batch.column(0))
        is_wanted = np.array([value in wanted for value in values.values()] + [False])
        for row in np.flatnonzero(is_wanted[values.codes]).tolist():
            value = values.value(int(values.codes[row]))
            if value in wanted:
                del wanted[value]
                yield row

    most = min(N_ROWS, len(wanted))
    return example_rows(candidate.snapshot, str(candidate.row["table"]), [column], new_rows, most)


def example_rows(
    snapshot: Snapshot,
    name: str,
    keys: Sequence[str],
    new_rows: Callable[[LakeTable, pa.RecordBatch], Iterator[int]],
    most: int = N_ROWS,
) -> list[dict[str, Any]]:
    """Read rows of a table, for two seconds at most; none where it cannot be read.

    Parameters
    ----------
    snapshot : Snapshot
    name : str
        The table.
    keys : sequence of str
        Its key columns: the first ones of each batch.
    new_rows : callable
        Yields the rows of a batch that are wanted.
    most : int
        How many are wanted.
    """
    found: list[dict[str, Any]] = []
    end = monotonic() + _SECONDS
    try:
        table = LakeTable(snapshot, name)
        if not most or not set(keys) <= set(table.column_names):
            return []
        names = _read_columns(table, keys)
        for batch in table.batches(names):
            for row in new_rows(table, batch):
                found.append({name: _cell_text(batch.column(i).slice(row, 1)) for i, name in enumerate(names)})
                if len(found) == most:
                    return with_values(found, len(keys))
            if monotonic() > end:
                break
    except DfjoinError:  # the file has changed or moved: the explanation does without
        return []
    return with_values(found, len(keys))


def _read_columns(table: LakeTable, keys: Sequence[str]) -> list[str]:
    """Choose the columns that are read for an example: the keys, and those that may have values."""
    others = [name for name in table.filled_first() if name not in keys]
    return [*keys, *others[: _N_READ - len(keys)]]


def with_values(rows: list[dict[str, Any]], n_keys: int) -> list[dict[str, Any]]:
    """Keep six columns of some rows at most: the keys, and others that have a value in one of the rows first.

    Examples
    --------
    >>> with_values([{"key": "a", "1800": None, "2000": "5"}, {"key": "b", "1800": None, "2000": None}], 1)
    [{'key': 'a', '2000': '5', '1800': None}, {'key': 'b', '2000': None, '1800': None}]
    """
    names = list(rows[0]) if rows else []
    others = sorted(names[n_keys:], key=lambda name: not any(row[name] for row in rows))
    kept = [*names[:n_keys], *others[: max(0, _N_COLUMNS - n_keys)]]
    return [{name: row[name] for name in kept} for row in rows]


def _cell_text(cell: pa.Array) -> str | None:
    """Return a cell of any type as text, None for one that is null or has no text."""
    try:
        text: str | None = cell_texts(cell)[0].as_py()
    except (*CONVERSION_ERRORS, InvalidTypeError):
        return None
    return text


def rows_as_text(rows: list[dict[str, Any]]) -> list[str]:
    """Write rows as the lines of a small table."""
    texts = [{visible(name): "" if cell is None else visible(cell) for name, cell in row.items()} for row in rows]
    return pd.DataFrame(texts).to_string(index=False, max_colwidth=24).splitlines() if rows else []
