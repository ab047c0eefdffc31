"""The rows that features are chosen by, whatever holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.augment.encoding import PredictionTarget
from dfjoin.values.frames import is_pandas

__all__ = ["as_pandas", "draw_rows"]

_MOST_ROWS = 20_000
"""Rows that features are chosen by, at most; of more, so many are drawn."""


def as_pandas(rows: Any) -> Any:
    """Return a frame of another library as one of pandas; anything else as it is."""
    return rows.to_pandas() if hasattr(rows, "to_pandas") and not is_pandas(rows) else rows


def draw_rows(
    frame: pd.DataFrame, target: PredictionTarget | None, groups: NDArray[np.int64] | None, seed: int
) -> tuple[pd.DataFrame, PredictionTarget | None, NDArray[np.int64] | None]:
    """Draw rows to choose features by, where there are more than 20,000; in their order."""
    if len(frame) <= _MOST_ROWS:
        return frame, target, groups
    rows = np.sort(np.random.default_rng(seed).choice(len(frame), _MOST_ROWS, replace=False))
    return (
        frame.iloc[rows].reset_index(drop=True),
        None if target is None else target.take(rows),
        None if groups is None else groups[rows],
    )
