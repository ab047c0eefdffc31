"""Named tuples of arrays that kernels take: what belongs together is passed together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Dictionary(NamedTuple):
    """The values of a vocabulary in order of hash, and where each prefix of a hash starts; see FORMAT.md."""

    directory: NDArray[np.uint32]
    hash: NDArray[np.uint64]
    value_offsets: NDArray[np.int64]
    value_bytes: NDArray[np.uint8]


class Groups(NamedTuple):
    """The tokens of each group: of each column's private values, then of each posting list."""

    indptr: NDArray[np.int64]
    tokens: NDArray[np.uint32]


class Lists(NamedTuple):
    """The distinct posting lists: list l names ``columns[indptr[l] : indptr[l + 1]]``."""

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]


class Sets(NamedTuple):
    """The forward index: column c is in the posting lists ``lists[indptr[c] : indptr[c + 1]]``, ascending."""

    indptr: NDArray[np.int64]
    lists: NDArray[np.uint32]


class SegmentIndex(NamedTuple):
    """What a search that reads both lists and sets needs of a segment; see FORMAT.md for each array."""

    list_indptr: NDArray[np.int64]
    list_columns: NDArray[np.int32]
    list_positions: NDArray[np.int32]
    set_indptr: NDArray[np.int64]
    set_lists: NDArray[np.uint32]
    group_indptr: NDArray[np.int64]
    cardinality: NDArray[np.int64]


class Tally(NamedTuple):
    """The scratch of counting; `counts` and `list_weights` are zeros between searches.

    `counts` has a position for each column, `list_weights` one for each posting list: the weight of the query values
    that are in it. `columns` receives the columns met; it has one place more than there are columns.
    """

    counts: NDArray[np.int32]
    list_weights: NDArray[np.int32]
    columns: NDArray[np.int32]


class Wanted(NamedTuple):
    """Which columns are an answer: the best `k` of those allowed whose count reaches the minimum.

    `is_allowed` is 1 for columns that may be returned, or empty when all may. Of equal counts the smaller
    cardinality ranks first, then the smaller column.
    """

    is_allowed: NDArray[np.uint8]
    cardinality: NDArray[np.int64]
    minimum: int
    k: int


class QueryLists(NamedTuple):
    """The distinct posting lists of a query in the global order, which is ascending.

    `rest` is the weight of the lists from each position on, `costs` the time in nanoseconds to read the lists
    before it; both have one entry more than there are lists. `costs` is empty where nothing is chosen by cost.
    """

    numbers: NDArray[np.uint32]
    weights: NDArray[np.int32]
    rest: NDArray[np.int64]
    costs: NDArray[np.float64]


class Candidates(NamedTuple):
    """What JOSIE knows of the columns met so far.

    Attributes
    ----------
    counts : ndarray of int32, shape (n_columns,)
        Weight counted so far; the whole count where the mark says so.
    met : ndarray of int32, shape (n_columns + 1,)
        The columns met.
    marks : ndarray of uint8, shape (n_columns,)
        0 not met, else `UNREAD`, `WHOLE` or `PRUNED` of `dfjoin.kernels.lists.josie_costs`.
    first : ndarray of int32, shape (n_columns,)
        Position in the query of the first list met.
    read_until : ndarray of int32, shape (n_columns,)
        Values of the set up to the latest match.
    unread : ndarray of int32, shape (n_columns,)
        The candidates whose count is not whole.
    estimates : ndarray of float64, shape (n_columns,)
        Estimated overlap of each column that is unread.
    scratch : ndarray of int32, shape (n_columns,)
        For sorting.
    best : ndarray of int32, shape (min(k, n_columns),)
        Heap of the best columns whose count is whole.
    """

    counts: NDArray[np.int32]
    met: NDArray[np.int32]
    marks: NDArray[np.uint8]
    first: NDArray[np.int32]
    read_until: NDArray[np.int32]
    unread: NDArray[np.int32]
    estimates: NDArray[np.float64]
    scratch: NDArray[np.int32]
    best: NDArray[np.int32]


def as_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array: a kernel is compiled apart for arrays that may be written.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    ndarray
    """
    view = array.view()
    view.flags.writeable = False
    return view
