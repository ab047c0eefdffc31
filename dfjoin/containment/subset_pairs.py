"""What the methods of a set containment join give, and the scratch that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.sets.subset_runs import Pairs

__all__ = ["ROOM", "SetPairs", "new_buffer", "run_kernel"]

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


def run_kernel(
    kernel: Callable[..., int],
    arguments: tuple[Any, ...],
    state: NDArray[np.int64],
    end: int,
    buffer: Pairs,
    sizes: NDArray[np.int64],
) -> Iterator[SetPairs]:
    """Call a kernel again and again until the first number of its state has come to an end.

    Parameters
    ----------
    kernel : callable
        Takes the arguments, its state, arrays for pairs and a number of steps; returns how many pairs it has found.
    arguments : tuple
    state : ndarray of int64
    end : int
    buffer : Pairs
    sizes : ndarray of int64, shape (n_left,)
        Elements of the left sets, of which all are matched.

    Yields
    ------
    SetPairs
        A batch for each call that finds pairs.
    """
    while state[0] < end:
        n = kernel(*arguments, state, buffer, STEPS)
        if n:
            left = buffer.left[:n].astype(np.int64)
            yield SetPairs(left, buffer.right[:n].astype(np.int64), sizes[left])
