"""Plain reads of lists and sets, for fitting what they cost."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit

__all__ = ["read_lists", "read_sets"]


@njit
def read_lists(lists, list_indptr, list_columns, counts):
    """Count the columns of some posting lists, as MergeList does.

    Parameters
    ----------
    lists : ndarray of int64
        List numbers.
    list_indptr : ndarray of int64
    list_columns : ndarray of int32
    counts : ndarray of int32, shape (n_columns,)
        Increased per posting.

    Returns
    -------
    int
        Postings read.
    """
    total = 0
    for number in lists:
        for p in range(list_indptr[number], list_indptr[number + 1]):
            counts[np.int64(list_columns[p])] += 1
            total += 1
    return total


@njit
def read_sets(columns, set_indptr, set_lists, hits):
    """Add up the weights of some sets' lists, as verifying a candidate does.

    Parameters
    ----------
    columns : ndarray of int64
        Column ids.
    set_indptr : ndarray of int64
    set_lists : ndarray of uint32
    hits : ndarray of int32, shape (n_lists,)

    Returns
    -------
    int
        Sum of the weights.
    """
    total = 0
    for column in columns:
        for p in range(set_indptr[column], set_indptr[column + 1]):
            total += hits[np.int64(set_lists[p])]
    return total
