"""What the methods of a set containment join give, and the scratch that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import hash_sets, order_rows, sign_sets, sort_runs
from dfjoin.kernels.sets.subset_runs import LeftRuns, Pairs, find_runs

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


def group_sets(left: SetCollection, keys: NDArray[np.int64], n_keys: int) -> LeftRuns:
    """Group sets by a key, and of these those that are equal.

    Parameters
    ----------
    left : SetCollection
    keys : ndarray of int64, shape (len(left),)
        Number of a key for each set; negative for those that are left out.
    n_keys : int

    Returns
    -------
    LeftRuns

    Notes
    -----
    O(elements + n log n).
    """
    first = np.zeros(n_keys + 1, np.int64)
    np.cumsum(np.bincount(keys[keys >= 0], minlength=n_keys), out=first[1:])
    order = np.empty(int(first[-1]), np.int32)
    order_rows(as_read_only(keys), first[:-1].copy(), order)
    hashes = np.empty(len(left), np.uint64)
    hash_sets(left.lists, hashes)
    sort_runs(order, first[:-1], first[1:], hashes, np.empty_like(order))
    starts = np.empty(order.size + 1, np.int32)
    n_runs = find_runs(left.lists, as_read_only(order), as_read_only(keys), as_read_only(hashes), starts)
    del hashes
    starts = starts[: n_runs + 1].copy()
    leaders = order[starts[:-1]]
    np.cumsum(np.bincount(keys[leaders], minlength=n_keys), out=first[1:])
    signatures = sign(left)[leaders]
    return LeftRuns(left.lists, *(as_read_only(part) for part in (order, starts, first.astype(np.int32), signatures)))


def sign(sets: SetCollection) -> NDArray[np.uint64]:
    """Return the bitmap of each set, see `sign_sets`."""
    signatures = np.empty(len(sets), np.uint64)
    sign_sets(sets.lists, signatures)
    return as_read_only(signatures)
