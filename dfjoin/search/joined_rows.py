"""A few rows of a candidate's table that the query finds, as an example of the join."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin._visible import visible
from dfjoin.errors import DfjoinError, InvalidTypeError
from dfjoin.search.found import Candidate
from dfjoin.store.table import LakeTable
from dfjoin.values.cells import CONVERSION_ERRORS, cell_texts

__all__ = ["N_ROWS", "cell_text", "joined_rows", "rows_as_text"]

N_ROWS = 3
"""Rows that an explanation shows."""

_N_COLUMNS = 6
_SECONDS = 2.0


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
        Name of a column → its value as text, the key first; no row where the table cannot be read.

    Notes
    -----
    The table is read in batches until three rows are found, and for two seconds at most.
    """
    table_name, column = str(candidate.row["table"]), str(candidate.row["column"])
    found: list[dict[str, Any]] = []
    wanted = dict.fromkeys(shared)
    end = monotonic() + _SECONDS
    try:
        table = LakeTable(candidate.snapshot, table_name)
        if column not in table.column_names:
            return found
        names = [column, *[name for name in table.column_names if name != column][: _N_COLUMNS - 1]]
        for batch in table.batches(names):
            values = table.normalize(column, batch.column(0))
            is_wanted = np.array([value in wanted for value in values.values()] + [False])
            for row in np.flatnonzero(is_wanted[values.codes]).tolist():
                value = values.value(int(values.codes[row]))
                if value not in wanted:
                    continue
                del wanted[value]
                found.append({name: cell_text(batch.column(i).slice(row, 1)) for i, name in enumerate(names)})
                if len(found) == N_ROWS or not wanted:
                    return found
            if monotonic() > end:
                break
    except DfjoinError:  # the file has changed or moved: the explanation does without
        return []
    return found


def cell_text(cell: pa.Array) -> str | None:
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
