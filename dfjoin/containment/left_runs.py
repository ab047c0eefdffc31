"""The left sets of a join, grouped by an element that each right set that holds them must have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import hash_sets, order_rows, sign_sets, sort_runs
from dfjoin.kernels.sets.subset_runs import LeftRuns, find_runs

__all__ = ["group_sets", "sign"]


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
