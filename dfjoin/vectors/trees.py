"""Vectors under a block tree: features by principal axes, and the search for what lies within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_blocks import BLOCK, box_levels, fill_blocks, fill_boxes, order_blocks
from dfjoin.kernels.vectors.vector_search import BlockTree

MAX_AXES = 24
"""Principal axes whose coordinates are kept as features."""

_STEP = 8
"""Features are scanned eight at a time."""

_SAMPLE = 50_000
_CHUNK = 1 << 16
_ROUNDING = 2.0**-22
"""Error of the difference of two features in float32, as a share of the largest feature; twice what is proven."""


class Projection(NamedTuple):
    """Orthogonal axes, and the point from which vectors are seen.

    Parameters
    ----------
    axes : ndarray of float64, shape (d, n_axes)
        Orthonormal columns, the axis of the largest variance first.
    center : ndarray of float64, shape (d,)
    """

    axes: NDArray[np.float64]
    center: NDArray[np.float64]


@dataclass(frozen=True)
class VectorTree:
    """A block tree and the projection that made its features.

    Parameters
    ----------
    projection : Projection
    tree : BlockTree
    scale : float
        Largest length of a feature; the error of a bound in float32 follows from it.
    """

    projection: Projection
    tree: BlockTree
    scale: float


def fit_projection(rows: NDArray[np.floating]) -> Projection:
    """Fit principal axes to a sample of vectors.

    Parameters
    ----------
    rows : ndarray, shape (n, d)

    Returns
    -------
    Projection
        At most 24 axes, by falling variance. Each axis points to where its largest component is positive.

    Notes
    -----
    The sample is every n-th vector, so that the same vectors give the same axes. Any orthonormal axes give a correct
    search; these give a fast one. O(s d min(s, d)) of a sample of s vectors.
    """
    d = rows.shape[1]
    step = max(1, rows.shape[0] // _SAMPLE)
    sample = rows[::step].astype(np.float64)
    center = sample.mean(axis=0) if sample.size else np.zeros(d)
    sample = sample - center
    axes = _principal_axes(sample, min(d, MAX_AXES))
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return Projection(np.ascontiguousarray(axes * np.where(signs == 0, 1, signs)), center)


def _principal_axes(sample: NDArray[np.float64], n_axes: int) -> NDArray[np.float64]:
    """Return orthonormal axes by falling variance, as columns; of few vectors any others behind their own."""
    n, d = sample.shape
    if n >= d:
        return np.asarray(np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :n_axes])
    _, vectors = np.linalg.eigh(sample @ sample.T)  # the products of few vectors have the same eigenvalues
    own = sample.T @ vectors[:, ::-1][:, :n_axes]
    return np.asarray(np.linalg.qr(np.hstack([own, np.eye(d, n_axes)]))[0][:, :n_axes])


def feature_width(projection: Projection) -> int:
    """Return how many features a vector has: the axes, filled up to a multiple of eight, and the length of the rest."""
    return -(-projection.axes.shape[1] // _STEP) * _STEP + 1


def features_of(rows: NDArray[np.floating], projection: Projection) -> NDArray[np.float32]:
    """Compute the features of vectors: coordinates along the axes, and the length of what these leave out.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
    projection : Projection

    Returns
    -------
    ndarray of float32, shape (n, 8 i + 1)
        Axes are filled up with zeros to a multiple of eight; the length stands last.
    """
    axes, center = projection
    n_axes, width = axes.shape[1], feature_width(projection) - 1
    features = np.zeros((rows.shape[0], width + 1), np.float32)
    for start in range(0, rows.shape[0], _CHUNK):
        part = rows[start : start + _CHUNK].astype(np.float64) - center
        coordinates = part @ axes
        rest = np.einsum("ij,ij->i", part, part) - np.einsum("ij,ij->i", coordinates, coordinates)
        features[start : start + _CHUNK, :n_axes] = coordinates
        features[start : start + _CHUNK, width] = np.sqrt(np.maximum(rest, 0))
    return features


def build_tree(rows: NDArray[np.floating]) -> tuple[VectorTree, NDArray[np.int64]]:
    """Build the block tree of vectors.

    Parameters
    ----------
    rows : ndarray, shape (n, d)

    Returns
    -------
    tree : VectorTree
    order : ndarray of int64, shape (n,)
        Vector at each position of the tree.

    Notes
    -----
    Memory: 2 (n_axes + 1) float32 a vector, and 16 bytes. O(n log n + n d).
    """
    projection = fit_projection(rows)
    features = features_of(rows, projection)
    n = rows.shape[0]
    order = np.arange(n)
    order_blocks(features, order, np.empty(n, np.float32), np.empty((128, 2), np.int64))
    levels = np.array(box_levels(n), np.int64)
    blocks = np.empty((max(1, -(-n // BLOCK)), features.shape[1], BLOCK), np.float32)
    fill_blocks(features, order, blocks)
    boxes = np.empty((int(levels[-1]), 2 * features.shape[1], BLOCK), np.float32)
    fill_boxes(blocks, n, levels, boxes)
    return make_tree(projection, blocks, boxes, n), order


def make_tree(
    projection: Projection, blocks: NDArray[np.float32], boxes: NDArray[np.float32], n_vectors: int
) -> VectorTree:
    """Return a tree of its stored arrays.

    Raises
    ------
    ValueError
        If the arrays do not fit together.
    """
    levels = np.array(box_levels(n_vectors), np.int64)
    width = feature_width(projection)
    shapes = (max(1, -(-n_vectors // BLOCK)), width, BLOCK), (int(levels[-1]), 2 * width, BLOCK)
    if (blocks.shape, boxes.shape) != shapes:
        raise ValueError(f"blocks and boxes of shapes {blocks.shape} and {boxes.shape} do not hold {n_vectors} vectors")
    tree = BlockTree(as_read_only(blocks), as_read_only(boxes), as_read_only(levels))
    top = boxes[-1]
    is_used = top[0] < 1e17
    scale = float(np.abs(top[:, is_used]).max()) if n_vectors else 0.0
    return VectorTree(projection, tree, scale)


def bound_of(radius: float, scale: float) -> np.float32:
    """Return the squared distance of features up to which two vectors may lie within a radius.

    Parameters
    ----------
    radius : float
    scale : float
        Largest feature of either side.

    Notes
    -----
    A feature is rounded once on either side, by at most 2⁻²⁴ of itself; 25 differences of features err by √25 2⁻²³
    of the largest together, and the float32 sum of their squares by 28 · 2⁻²⁴ of itself. Twice both is taken.
    """
    error = np.sqrt(MAX_AXES + 1) * _ROUNDING * max(scale, 1e-30)
    return np.float32(np.nextafter(np.float32((radius + error) ** 2 * (1 + 1e-5)), np.float32(np.inf)))
