"""Boosted regression trees over columns of bins: growing one tree, and what trees say of rows.

Histograms of gradients, leaf by leaf, are LightGBM's (Ke et al., NeurIPS 2017); a node's null rows go to the side that
lowers the loss more (Chen and Guestrin, KDD 2016, algorithm 3). scikit-learn's histogram gradient boosting grows the
same trees, but sends nulls to the right where a node has none of a column that has some.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.records import as_read_only

N_BINS = 33
"""Bins of a column: 0 holds its nulls, 1 to 32 its values in their order."""

_BITS = 44
"""Of a sum of first derivatives, below their number: room for 65,536 rows."""

_LEAST_SECOND = 1e-3
"""Of the rows of a leaf: where less is left, their class is known already."""


class BinnedRows(NamedTuple):
    """Bins of each column, and the rows and columns that are looked at."""

    bins: NDArray[np.uint8]
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]


class Gradients(NamedTuple):
    """Derivatives of the loss of each row, whether it is looked at or not.

    `first`: as `pack_gradients` writes them; `second`: empty where all are 1; `scale`: of the first ones, one number.
    """

    first: NDArray[np.int64]
    second: NDArray[np.float64]
    scale: NDArray[np.float64]


class Trees(NamedTuple):
    """Trees of equally many nodes: of a node its column (-1: a leaf), the last bin that goes left, whether nulls do.

    The right child follows the left one. `values` are those of leaves.
    """

    columns: NDArray[np.int64]
    cuts: NDArray[np.int64]
    nulls_left: NDArray[np.int64]
    lefts: NDArray[np.int64]
    values: NDArray[np.float64]


class TreeScratch(NamedTuple):
    """Memory of `grow_tree`: rows by leaf, their gradients in this order, and of each leaf what it may become.

    `rows`, `moved`, `ordered`, `ordered_second`: (n_rows,); `firsts`, `seconds`: (n_leaves, n_columns, N_BINS), sums of
    derivatives by bin, the latter empty where all are 1; `leaves`: (n_leaves, 7), node, start, end, column, cut, nulls
    left, first derivatives; `sums`: (n_leaves, 2), second derivatives, and the gain of the cut.
    """

    rows: NDArray[np.int64]
    moved: NDArray[np.int64]
    ordered: NDArray[np.int64]
    ordered_second: NDArray[np.float64]
    firsts: NDArray[np.int64]
    seconds: NDArray[np.float64]
    leaves: NDArray[np.int64]
    sums: NDArray[np.float64]


def empty_trees(n_trees: int, n_leaves: int) -> Trees:
    """Return memory for trees of so many leaves at most."""
    shape = n_trees, 2 * n_leaves - 1
    columns, cuts, nulls_left, lefts = (np.zeros(shape, np.int64) for _ in range(4))
    return Trees(columns, cuts, nulls_left, lefts, np.zeros(shape))


def tree_scratch(n_rows: int, n_columns: int, n_leaves: int, has_second: bool) -> TreeScratch:
    """Return memory for growing trees by so many rows and columns."""
    rows, moved, ordered = np.empty((3, n_rows), np.int64)
    shape = n_leaves, n_columns, N_BINS
    seconds = np.empty(shape if has_second else (*shape[:2], 0))
    leaves, sums = np.empty((n_leaves, 7), np.int64), np.empty((n_leaves, 2))
    return TreeScratch(rows, moved, ordered, np.empty(n_rows), np.empty(shape, np.int64), seconds, leaves, sums)


def pack_gradients(first: NDArray[np.float64], second: NDArray[np.float64]) -> Gradients:
    """Write first derivatives so that a sum of integers has their sum, of 27 bits each, and above it their number.

    Adding two numbers to the bins of a histogram takes twice as long as adding one. Sums of integers are exact, so that
    those of a leaf less those of a half are those of the other half. Shi et al. (NeurIPS 2022) train with fewer bits.

    Examples
    --------
    >>> packed = pack_gradients(np.array([0.5, -1.0]), np.empty(0))
    >>> total = int(packed.first.sum()) - (2 << 44)
    >>> float(total / packed.scale[0])
    -0.5
    """
    scale = 2.0**27 / max(float(np.abs(first).max(initial=0.0)), 1e-300)
    packed = np.rint(first * scale).astype(np.int64) + (1 << _BITS)
    return Gradients(as_read_only(packed), as_read_only(second), as_read_only(np.array([scale])))


@njit_inner
def _fill_histograms(data, gradients, scratch, leaf):
    """Sum up the derivatives of the rows of a leaf by column and bin."""
    start, end, has_second = scratch.leaves[leaf, 1], scratch.leaves[leaf, 2], scratch.seconds.shape[2] > 0
    for i in range(start, end):
        scratch.ordered[i] = gradients.first[scratch.rows[i]]
        if has_second:
            scratch.ordered_second[i] = gradients.second[scratch.rows[i]]
    for j in range(data.columns.shape[0]):
        column = data.columns[j]
        for b in range(N_BINS):
            scratch.firsts[leaf, j, b] = 0
        for i in range(start, end):
            scratch.firsts[leaf, j, data.bins[column, scratch.rows[i]]] += scratch.ordered[i]
        if has_second:
            for b in range(N_BINS):
                scratch.seconds[leaf, j, b] = 0.0
            for i in range(start, end):
                scratch.seconds[leaf, j, data.bins[column, scratch.rows[i]]] += scratch.ordered_second[i]


@njit_inner
def _count(packed):
    """Return how many first derivatives a sum of them has."""
    return (packed + (1 << (_BITS - 1))) >> _BITS


@njit_inner
def _total(packed):
    """Return the sum of first derivatives, times their scale."""
    return float(packed - (_count(packed) << _BITS))


@njit_inner
def _gain_of(left, left_second, whole, second, leaf_rows):
    """Return what a cut takes off the loss, with that of the whole leaf; 0 if a side is too small."""
    n_left, right, right_second = _count(left), whole - left, second - left_second
    if n_left < leaf_rows or _count(right) < leaf_rows or left_second < _LEAST_SECOND or right_second < _LEAST_SECOND:
        return 0.0
    return _total(left) ** 2 / left_second + _total(right) ** 2 / right_second


@njit_inner
def _find_cut(data, scratch, leaf, leaf_rows):
    """Find the cut of a leaf that lowers the loss most, of equal ones the first; a gain of 0: there is none."""
    whole, second = scratch.leaves[leaf, 6], scratch.sums[leaf, 0]
    n, has_second = _count(whole), scratch.seconds.shape[2] > 0
    scratch.sums[leaf, 1] = 0.0
    if n < 2 * leaf_rows or second <= 0.0:
        return
    least = _total(whole) ** 2 / second
    best = least
    for j in range(data.columns.shape[0]):
        nulls = scratch.firsts[leaf, j, 0]
        n_null = _count(nulls)
        null_second = scratch.seconds[leaf, j, 0] if has_second else float(n_null)
        left, left_second = 0, 0.0
        for b in range(1, N_BINS):
            own = scratch.firsts[leaf, j, b]
            left += own
            left_second += scratch.seconds[leaf, j, b] if has_second else float(_count(own))
            if _count(own) == 0 or _count(left) + n_null < leaf_rows:
                continue
            if n - _count(left) < leaf_rows:
                break
            gain = _gain_of(left, left_second, whole, second, leaf_rows)
            if gain > best:  # where no row is null here, nulls follow the most rows
                best, nulls_left = gain, int(n_null == 0 and 2 * _count(left) > n)
                scratch.leaves[leaf, 3], scratch.leaves[leaf, 4], scratch.leaves[leaf, 5] = j, b, nulls_left
            if n_null > 0:
                gain = _gain_of(left + nulls, left_second + null_second, whole, second, leaf_rows)
                if gain > best:
                    best = gain
                    scratch.leaves[leaf, 3], scratch.leaves[leaf, 4], scratch.leaves[leaf, 5] = j, b, 1
    scratch.sums[leaf, 1] = best - least


@njit_inner
def _divide(data, gradients, scratch, leaf, right):
    """Divide the rows of a leaf by its cut, the right ones to the leaf `right`; sum up the derivatives of both."""
    start, end = scratch.leaves[leaf, 1], scratch.leaves[leaf, 2]
    column, cut, nulls_left = data.columns[scratch.leaves[leaf, 3]], scratch.leaves[leaf, 4], scratch.leaves[leaf, 5]
    middle, n_moved = start, 0
    scratch.leaves[right, 6], scratch.sums[right, 0] = 0, 0.0
    for i in range(start, end):
        row = scratch.rows[i]
        b = data.bins[column, row]
        if (b == 0 and nulls_left == 1) or (b > 0 and b <= cut):
            scratch.rows[middle] = row
            middle += 1
        else:
            scratch.moved[n_moved] = row
            n_moved += 1
            _add_row(gradients, scratch, right, row)
    for i in range(n_moved):
        scratch.rows[middle + i] = scratch.moved[i]
    scratch.leaves[leaf, 6] -= scratch.leaves[right, 6]
    scratch.sums[leaf, 0] -= scratch.sums[right, 0]
    scratch.leaves[leaf, 2] = middle
    scratch.leaves[right, 1] = middle
    scratch.leaves[right, 2] = end


@njit_inner
def _add_row(gradients, scratch, leaf, row):
    """Add the derivatives of a row to those of a leaf."""
    scratch.leaves[leaf, 6] += gradients.first[row]
    scratch.sums[leaf, 0] += gradients.second[row] if gradients.second.shape[0] > 0 else 1.0


@njit_inner
def _divide_histograms(data, gradients, scratch, leaf, right):
    """Make the histograms of two halves of a leaf: of the smaller one by its rows, of the other one by subtraction."""
    is_left_small = _count(scratch.leaves[leaf, 6]) < _count(scratch.leaves[right, 6])
    small, large = (leaf, right) if is_left_small else (right, leaf)
    if is_left_small:  # the memory of the leaf has the histograms of both
        for j in range(data.columns.shape[0]):
            for b in range(N_BINS):
                scratch.firsts[right, j, b] = scratch.firsts[leaf, j, b]
            for b in range(scratch.seconds.shape[2]):
                scratch.seconds[right, j, b] = scratch.seconds[leaf, j, b]
    _fill_histograms(data, gradients, scratch, small)
    for j in range(data.columns.shape[0]):
        for b in range(N_BINS):
            scratch.firsts[large, j, b] -= scratch.firsts[small, j, b]
        for b in range(scratch.seconds.shape[2]):
            scratch.seconds[large, j, b] -= scratch.seconds[small, j, b]


@njit_lean
def grow_tree(data, gradients, leaf_rows, rate, scratch, trees, number, predicted):
    """Grow a tree that lowers the loss, and add what it says to what was predicted.

    Parameters
    ----------
    data : BinnedRows
        `rows` are those that it is grown by.
    gradients : Gradients
    leaf_rows : int
        Rows of a leaf, at least.
    rate : float
        What the step to the least loss is multiplied by.
    scratch : TreeScratch
        Its leaves are as many as a tree has at most.
    trees : Trees
        Gets the tree.
    number : int
        Of the tree.
    predicted : ndarray of float64
        Of each row; those that the tree is grown by get its values added.

    Notes
    -----
    The leaf whose cut lowers the loss most is divided first. O(rows · columns) for each level of the tree.
    """
    n_rows, n_nodes, n_leaves = data.rows.shape[0], 1, 1
    for node in range(trees.columns.shape[1]):
        trees.columns[number, node] = -1
        trees.values[number, node] = 0.0
    scratch.leaves[0, 6], scratch.sums[0, 0] = 0, 0.0
    for i in range(n_rows):
        row = data.rows[i]
        scratch.rows[i] = row
        _add_row(gradients, scratch, 0, row)
    scratch.leaves[0, 0], scratch.leaves[0, 1], scratch.leaves[0, 2] = 0, 0, n_rows
    _fill_histograms(data, gradients, scratch, 0)
    _find_cut(data, scratch, 0, leaf_rows)
    while n_leaves < scratch.leaves.shape[0]:
        best = 0
        for leaf in range(1, n_leaves):
            if scratch.sums[leaf, 1] > scratch.sums[best, 1]:
                best = leaf
        if scratch.sums[best, 1] <= 0.0:
            break
        right, node = n_leaves, scratch.leaves[best, 0]
        _divide(data, gradients, scratch, best, right)
        trees.columns[number, node] = data.columns[scratch.leaves[best, 3]]
        trees.cuts[number, node] = scratch.leaves[best, 4]
        trees.nulls_left[number, node] = scratch.leaves[best, 5]
        trees.lefts[number, node] = n_nodes
        scratch.leaves[best, 0], scratch.leaves[right, 0] = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
        if n_leaves == scratch.leaves.shape[0]:
            break
        if max(_count(scratch.leaves[best, 6]), _count(scratch.leaves[right, 6])) >= 2 * leaf_rows:
            _divide_histograms(data, gradients, scratch, best, right)
        _find_cut(data, scratch, best, leaf_rows)
        _find_cut(data, scratch, right, leaf_rows)
    for leaf in range(n_leaves):
        second = scratch.sums[leaf, 0] * gradients.scale[0]
        value = -rate * _total(scratch.leaves[leaf, 6]) / second if second > 0.0 else 0.0
        trees.values[number, scratch.leaves[leaf, 0]] = value
        for i in range(scratch.leaves[leaf, 1], scratch.leaves[leaf, 2]):
            predicted[scratch.rows[i]] += value


@njit_inner
def _value_of(bins, trees, number, row, other, is_other):
    """Return what a tree says of a row that has some columns of another row."""
    node = 0
    while trees.columns[number, node] >= 0:
        column = trees.columns[number, node]
        b = bins[column, other if is_other[column] else row]
        is_left = trees.nulls_left[number, node] == 1 if b == 0 else b <= trees.cuts[number, node]
        node = trees.lefts[number, node] + (0 if is_left else 1)
    return trees.values[number, node]


@njit_lean
def add_trees(bins, trees, rows, others, sets, said, out):
    """Add what trees say of rows, once for each set of columns, which have the values of other rows.

    Parameters
    ----------
    bins : ndarray of uint8, shape (n_columns, n_all_rows)
    trees : Trees
    rows, others : ndarray of int64, shape (n_rows,)
    sets : ndarray of uint8, shape (n_sets, n_columns)
        1 for the columns of each set, which is looked at alone; the first set is empty.
    said : ndarray of float64, shape (n_rows,)
        Memory.
    out : ndarray of float64, shape (n_sets, n_rows)
        The first row gets what trees say of the rows as they are; the others what they say more.

    Notes
    -----
    Only trees that cut a column of a set are asked again. O(cuts · (sets + rows)).
    """
    for number in range(trees.columns.shape[0]):
        for i in range(rows.shape[0]):
            said[i] = _value_of(bins, trees, number, rows[i], rows[i], sets[0])
            out[0, i] += said[i]
        for one in range(1, sets.shape[0]):
            is_cut = False
            for node in range(trees.columns.shape[1]):
                column = trees.columns[number, node]
                is_cut = is_cut or (column >= 0 and sets[one, column] == 1)
            if is_cut:
                for i in range(rows.shape[0]):
                    out[one, i] += _value_of(bins, trees, number, rows[i], others[i], sets[one]) - said[i]
