"""Examples for the report of a join: keys without a partner, and a few joined rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.join.execute import StepResult
from dfjoin.join.plan import JoinStep
from dfjoin.values.key_index import KeyIndex

__all__ = ["step_examples"]

_VALUES, _ROWS, _COLUMNS, _CHARACTERS = 5, 3, 6, 60


def step_examples(
    left: pd.DataFrame, step: JoinStep, codes: tuple[KeyIndex, NDArray[np.int64]], result: StepResult
) -> dict[str, Any]:
    """Choose what the report of one step shows.

    Parameters
    ----------
    left : DataFrame
        The frame before the step.
    step : JoinStep
    codes : KeyIndex, ndarray of int64
        The key of each row of the frame, and of each row of the table.
    result : StepResult

    Returns
    -------
    dict
        ``without_partner``, the first keys of the frame that no row has; ``rows``, the key and the first new columns of
        the first rows that found a partner: texts of at most 60 characters, None for null.

    Notes
    -----
    O(rows).
    """
    index, theirs = codes
    has_partner = np.zeros(index.n_keys + 1, bool)  # the last one serves code -1, the null
    has_partner[theirs[(theirs >= 0) & (theirs < index.n_keys)]] = True
    alone = np.flatnonzero((index.codes >= 0) & ~has_partner[index.codes])
    first = alone[np.sort(np.unique(index.codes[alone], return_index=True)[1])[:_VALUES]]
    keys = [left.columns.get_loc(label) for label in step.on]
    of_row = result.left_rows
    is_joined = (of_row >= 0) & np.append(has_partner[index.codes], False)[of_row]
    rows = np.flatnonzero(is_joined)[:_ROWS].tolist()
    first_new = left.shape[1]
    brought = range(first_new, min(first_new + len(result.names), first_new + max(0, _COLUMNS - len(keys))))
    return {
        "without_partner": [" + ".join(_text(left, row, key) or "" for key in keys) for row in first.tolist()],
        "rows": [
            {str(result.frame.columns[column]): _text(result.frame, row, column) for column in [*keys, *brought]}
            for row in rows
        ],
    }


def _text(df: pd.DataFrame, row: int, column: int) -> str | None:
    """Write a cell as a short text, None for a null and for what has no text.

    A cell may be any object, whose own code raises anything; an example is not worth the join.
    """
    try:
        cell = df.iat[row, column]
        if cell is None or (np.isscalar(cell) and pd.isna(cell)) or cell is pd.NA or cell is pd.NaT:
            return None
        text = str(cell)
    except Exception:
        return None
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"
