"""Features of unit vectors as whole numbers of 16 bits: what a search of cells compares first."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.vectors.trees import bound_of

_SCALE = 2.0**13
"""Steps of a unit. No feature of a unit vector is longer than 2, so that 2¹⁴ is the largest number."""

_LONGEST = 2.0
_CHUNK = 1 << 16


def word_count(width: int) -> int:
    """Return how many words hold so many features: two in each, and one for the length."""
    return (width + 1) // 2 + 1


def words_of(features: NDArray[np.float32]) -> NDArray[np.int32]:
    """Round features to whole numbers, two in a word.

    Parameters
    ----------
    features : ndarray of float32, shape (n, width)
        Of unit vectors: a row is no longer than 2.

    Returns
    -------
    ndarray of int32, shape (n, word_count(width))
        First minus half of the squared length of the rounded features, the half rounded down; then these, each times
        2¹³, two in a word, the earlier one in the lower half.
    """
    rounded = _rounded(features)
    words = np.empty((features.shape[0], word_count(features.shape[1])), np.int32)
    words[:, 0] = -(_squares(rounded) >> 1)
    words[:, 1:] = rounded.view(np.int32)
    return words


def query_pairs(
    features: NDArray[np.float32], radii: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Round features of query vectors, and bound the products with what lies within their radii.

    Parameters
    ----------
    features : ndarray of float32, shape (n, width)
    radii : ndarray of float64, shape (n,)
        Euclidean.

    Returns
    -------
    pairs : ndarray of int32, shape (n, word_count(width) - 1)
    least : ndarray of int32, shape (n,)
        The product with the rounded features of a vector, plus the first of its words, is no less where the vector lies
        within the radius.

    Notes
    -----
    Rounding moves each of w features by half a step at most, and so the features of either side by √w / 2 steps: with
    B = (2¹³ r + √w)², the squared distance of rounded features is B at most where that of the features is r² at most.
    |q|² + |x|² - 2 q x ≤ B is compared as q x - |x|² / 2 ≥ (|q|² - B) / 2; halves are rounded to the safe side, and
    whole numbers below 2³¹ have no error.
    """
    rounded = _rounded(features)
    known, of_query = np.unique(radii, return_inverse=True)
    limits = np.array([math.sqrt(bound_of(radius, _LONGEST)) for radius in known.tolist()])
    limits = limits * _SCALE + math.sqrt(features.shape[1])
    bounds = np.minimum(limits**2 * (1 + 1e-9) + 1, 2**31 - 1).astype(np.int64)
    return rounded.view(np.int32), ((_squares(rounded) - bounds[of_query]) >> 1).astype(np.int32)


def blocks_of_words(words: NDArray[np.int32], order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Write words block by block, word by word.

    Parameters
    ----------
    words : ndarray of int32, shape (n, n_words)
    order : ndarray of int64, shape (n,)
        The vector of each position.

    Returns
    -------
    ndarray of int32, shape (n_blocks, n_words, 64)
        Zeros where the last block has no vector.
    """
    n, n_words = words.shape
    blocks = np.zeros((max(1, -(-n // BLOCK)), n_words, BLOCK), np.int32)
    for start in range(0, n, _CHUNK):
        chosen = order[start : start + _CHUNK]
        part = np.zeros((-(-chosen.size // BLOCK) * BLOCK, n_words), np.int32)
        part[: chosen.size] = words[chosen]
        first = start // BLOCK
        blocks[first : first + part.shape[0] // BLOCK] = part.reshape(-1, BLOCK, n_words).transpose(0, 2, 1)
    return blocks


def blocks_of_floats(blocks: NDArray[np.float32], n: int) -> NDArray[np.int32]:
    """Round features that lie in blocks, as earlier versions stored them.

    Parameters
    ----------
    blocks : ndarray of float32, shape (n_blocks, width, 64)
    n : int
        Vectors.
    """
    step, words = _CHUNK // BLOCK, np.empty((n, word_count(blocks.shape[1])), np.int32)
    for first in range(0, blocks.shape[0], step):
        part = blocks[first : first + step].transpose(0, 2, 1).reshape(-1, blocks.shape[1])
        own = words[first * BLOCK : first * BLOCK + part.shape[0]]
        own[:] = words_of(part[: own.shape[0]])
    return blocks_of_words(words, np.arange(n))


def _rounded(features: NDArray[np.float32]) -> NDArray[np.int16]:
    n, width = features.shape
    rounded = np.zeros((n, width + width % 2), np.int16)
    rounded[:, :width] = np.rint(features * np.float32(_SCALE))
    return rounded


def _squares(rounded: NDArray[np.int16]) -> NDArray[np.int64]:
    return np.einsum("ij,ij->i", rounded, rounded, dtype=np.int64)
