"""What the methods of a set containment join give, and the scratch that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.subset_scan import Pairs

__all__ = ["ROOM", "STEPS", "SetPairs", "new_buffer", "taken"]

ROOM = 1 << 18
"""Pairs of a batch, at most."""

STEPS = 1 << 28
"""Steps of a kernel before it returns, so that a join can be interrupted: about a second."""


class SetPairs(NamedTuple):
    """Pairs of a left set and a right one, and how many (or how heavy) elements of the left one the right one holds."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    matched: NDArray[np.int64]


def new_buffer(room: int = ROOM) -> Pairs:
    """Return arrays for pairs."""
    return Pairs(np.empty(room, np.int32), np.empty(room, np.int32))


def taken(buffer: Pairs, n: int, sizes: NDArray[np.int64]) -> SetPairs:
    """Copy the first pairs of a buffer; all elements of the left sets are matched."""
    left = buffer.left[:n].astype(np.int64)
    return SetPairs(left, buffer.right[:n].astype(np.int64), sizes[left])
