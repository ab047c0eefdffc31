"""The join by partial containment: right sets that hold at least a share of each left set, exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection, inverted_lists
from dfjoin.containment.subset_pairs import ROOM, STEPS, SetPairs
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.overlap_join import OverlapPairs, OverlapSides, OverlapWork, join_overlaps, sort_by_length


def needed_counts(sizes: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    """Return the smallest count with ``count / size >= threshold`` in float64, at least 1, for each size.

    Examples
    --------
    >>> needed_counts(np.array([10, 3, 7]), 0.7).tolist()
    [7, 3, 5]
    """
    sizes = np.maximum(sizes, 1)
    counts = np.maximum(1, np.ceil(threshold * sizes).astype(np.int64) - 1)
    while True:
        is_below = counts / sizes < threshold
        if not is_below.any():
            return counts
        counts += is_below


def overlap_pairs(
    left: SetCollection,
    right: SetCollection,
    needed: NDArray[np.int64],
    weights: NDArray[np.int64] | None = None,
) -> Iterator[SetPairs]:
    """Find the right sets that hold at least a given weight of each left set.

    Parameters
    ----------
    left, right : SetCollection
        Over the same elements.
    needed : ndarray of int64, shape (len(left),)
        The weight, at least 1.
    weights : ndarray of int64, shape (n_elements,), optional
        Of the elements; one each by default.

    Yields
    ------
    SetPairs
        Batches, in the order of the left sets; `matched` is the weight of what both hold.

    Notes
    -----
    See `join_overlaps`.
    """
    counts = right.count_elements()
    lists = inverted_lists(right.lists, counts)
    by_length = np.array(left.elements)
    sort_by_length(left.lists.indptr, by_length, as_read_only(counts), np.empty_like(by_length))
    weights = np.ones(left.n_elements, np.int64) if weights is None else weights
    numbers = [as_read_only(array) for array in (by_length, weights, needed)]
    sides = OverlapSides(left.lists, right.lists, *numbers)
    work = OverlapWork(np.zeros(len(right), np.int64), np.empty(len(right), np.int32))
    room = max(ROOM, len(right))
    pairs = OverlapPairs(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64))
    state = np.zeros(1, np.int64)
    while state[0] < len(left):
        n = join_overlaps(sides, lists, work, state, pairs, STEPS)
        if n:
            found = (array[:n].astype(np.int64) for array in pairs)
            yield SetPairs(*found)
