"""Unit vectors in cells around centers: the layout in which texts are searched by distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.kernels.vectors.vector_cells import Cap, Caps, CellBlocks
from dfjoin.vectors.rounded_features import blocks_of_floats, blocks_of_words, word_count, words_of
from dfjoin.vectors.trees import Projection, feature_width, features_of, fit_projection

_OF_CELL = 384
"""Vectors of a cell, on the average."""

_OF_SAMPLE = 64
"""Vectors that each center is fitted to."""

_ROUNDS = 8
_CHUNK = 1 << 16


@dataclass(frozen=True)
class VectorCells:
    """Cells, their centers, and the projection that made the features.

    Parameters
    ----------
    projection : Projection
    centers : ndarray of float32, shape (n_cells, d)
        Of length 1.
    blocks : CellBlocks
    """

    projection: Projection
    centers: NDArray[np.float32]
    blocks: CellBlocks


def build_cells(
    rows: NDArray[np.float32], on_step: Callable[[float], None] | None = None
) -> tuple[VectorCells, NDArray[np.int64]]:
    """Put unit vectors into cells.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
        Of length 1.
    on_step : callable, optional
        Called with the share that is done.

    Returns
    -------
    cells : VectorCells
    order : ndarray of int64, shape (n,)
        Vector at each position.

    Notes
    -----
    Two rounds of k-means by the cosine (Dhillon, Modha, "Concept decompositions for large sparse text data using
    clustering", Machine Learning 2001): √n_cells parents, then each parent's cells, fitted to samples that depend on
    the vectors alone. Any centers give a correct search. O(n d √n_cells).
    """
    tell = on_step or (lambda _: None)
    n, d = rows.shape
    n_cells = max(1, n // _OF_CELL)
    n_parents = max(1, round(np.sqrt(n_cells)))
    parents = _fit_centers(_sample_of(rows, n_parents), n_parents)
    of_parent = _nearest(rows, parents)[0] if n else np.empty(0, np.int64)
    by_parent = np.argsort(of_parent, kind="stable")
    ends = np.searchsorted(of_parent[by_parent], np.arange(parents.shape[0] + 1))
    centers, orders, counts, cosines = [np.empty((0, d), np.float32)], [], [], []
    for first, last in zip(ends.tolist(), ends[1:].tolist(), strict=False):
        chosen = by_parent[first:last]
        own = np.ascontiguousarray(rows[chosen])
        k = max(1, round(chosen.size / _OF_CELL))
        fitted = _fit_centers(_sample_of(own, k), k)
        cell, cosine = _nearest(own, fitted)
        order = np.lexsort((-cosine, cell))
        centers.append(fitted)
        orders.append(chosen[order])
        cosines.append(cosine[order])
        counts.append(np.bincount(cell, minlength=fitted.shape[0]))
        tell(last / max(1, n))
    order = np.concatenate([*orders, np.empty(0, np.int64)])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([*counts, np.empty(0, np.int64)]))]).astype(np.int64)
    projection = fit_projection(rows)
    words = np.empty((n, word_count(feature_width(projection))), np.int32)
    for start in range(0, n, _CHUNK):
        words[start : start + _CHUNK] = words_of(features_of(rows[start : start + _CHUNK], projection))
    arrays = (
        np.concatenate(centers),
        blocks_of_words(words, order),
        indptr,
        np.concatenate([*cosines, np.empty(0, np.float32)]),
    )
    return make_cells(projection, *arrays), order


def make_cells(
    projection: Projection,
    centers: NDArray[np.float32],
    blocks: NDArray[np.int32] | NDArray[np.float32],
    indptr: NDArray[np.int64],
    cosines: NDArray[np.float32],
) -> VectorCells:
    """Return cells of their stored arrays.

    Parameters
    ----------
    projection : Projection
    centers : ndarray of float32, shape (n_cells, d)
    blocks : ndarray of int32, shape (n_blocks, n_words, 64)
        Rounded features; or the features in float32, shape (n_blocks, width, 64), as earlier versions stored them.
    indptr : ndarray of int64, shape (n_cells + 1,)
    cosines : ndarray of float32, shape (n,)

    Raises
    ------
    ValueError
        If the arrays do not fit together.
    """
    n, width, is_earlier = cosines.size, feature_width(projection), blocks.dtype == np.float32
    if blocks.shape != (max(1, -(-n // BLOCK)), width if is_earlier else word_count(width), BLOCK):
        raise ValueError(f"blocks of shape {blocks.shape} do not hold {n} vectors")
    is_whole = indptr.size == centers.shape[0] + 1 and indptr[0] == 0 and indptr[-1] == n
    if not is_whole or bool((np.diff(indptr) < 0).any()) or centers.shape[1:] != projection.center.shape:
        raise ValueError(f"{centers.shape[0]} centers and {indptr.size} ends of cells do not divide {n} vectors")
    words = blocks_of_floats(np.asarray(blocks, np.float32), n) if is_earlier else blocks
    parts = CellBlocks(as_read_only(words.reshape(-1)), as_read_only(indptr), as_read_only(cosines))
    return VectorCells(projection, centers, parts)


def caps_of(radii: NDArray[np.float64], d: int) -> Caps:
    """Return what a search of cells needs of the radii of query vectors.

    Parameters
    ----------
    radii : ndarray of float64, shape (n,)
        Euclidean.
    d : int
        Numbers of a vector.

    Notes
    -----
    A scalar product of d numbers in float32 errs by d 2⁻²⁴ at most, and lengths are 1 within 2⁻²³; twice both is taken.
    """
    error = (d + 16) * 2.0**-23
    cosines = np.clip(1 - radii**2 / 2 - error, -1.0, 1.0)
    arrays = cosines, np.sqrt(1 - cosines**2) + error, 1 - radii**2 / 2 + error
    cosine, sine, sure = (as_read_only(array.astype(np.float32)) for array in arrays)
    widest = int(radii.argmax()) if radii.size else 0
    most = Cap(cosine[widest], sine[widest], sure[widest], np.float32(error), float(radii[widest]))
    return Caps(cosine, sine, sure, as_read_only(radii), np.float32(error), most)


def _sample_of(rows: NDArray[np.float32], n_centers: int) -> NDArray[np.float32]:
    step = max(1, rows.shape[0] // (_OF_SAMPLE * n_centers))
    return np.ascontiguousarray(rows[::step])


def _fit_centers(sample: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Fit at most k centers to a sample, k-means by the cosine."""
    k = min(k, max(1, sample.shape[0]))
    centers = np.zeros((k, sample.shape[1]), np.float32)
    if sample.shape[0] == 0:
        return centers
    centers[:] = sample[np.linspace(0, sample.shape[0] - 1, k).astype(np.int64)]
    for _ in range(_ROUNDS if k > 1 else 1):
        label, _ = _nearest(sample, centers)
        order = np.argsort(label, kind="stable")
        met, starts = np.unique(label[order], return_index=True)
        sums = np.add.reduceat(sample[order].astype(np.float64), starts, axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        is_long = lengths[:, 0] > 0
        centers[met[is_long]] = sums[is_long] / lengths[is_long]
    return centers


def _nearest(rows: NDArray[np.float32], centers: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the center with the largest cosine to each vector, and that cosine."""
    label, cosine = np.empty(rows.shape[0], np.int64), np.empty(rows.shape[0], np.float32)
    transposed = np.ascontiguousarray(centers.T)
    for start in range(0, rows.shape[0], _CHUNK):
        products = rows[start : start + _CHUNK] @ transposed
        own = products.argmax(axis=1)
        label[start : start + _CHUNK] = own
        cosine[start : start + _CHUNK] = products[np.arange(own.size), own]
    return label, cosine
