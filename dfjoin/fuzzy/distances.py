"""The configurations that are searched: a tokenisation with a distance (thesis, section 4.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.tokenized import WORDS, Columns, Side
from dfjoin.kernels.edit_distance import edit_distances, soft_misses
from dfjoin.kernels.token_rows import pair_overlaps

__all__ = ["CONFIGURATIONS", "Configuration", "base_distance", "measure"]

_SIMILAR = 0.6
"""Likeness from which two words count as spellings of one: a 5-letter word may differ in 2 letters."""


_MOST_CHARACTERS = 256
_MOST_WORDS = 32
"""Characters from the start and rarest words that edit distances look at: bounds the cost of long texts."""


class Configuration(NamedTuple):
    """A tokenisation and a distance over it; tokens weigh by their rarity in the reference column.

    Distances lie between 0 and 1. "query containment" is the share of the query text's weight that the
    reference text lacks, "reference containment" the other way round, "containment" the mean of both.
    """

    tokens: str
    distance: str

    def __str__(self) -> str:
        return f"{self.tokens}, {self.distance}"


_GRAMS = {"words": WORDS, "2-grams": 2, "3-grams": 3}

CONFIGURATIONS = (
    Configuration("3-grams", "cosine"),
    Configuration("3-grams", "jaccard"),
    Configuration("3-grams", "query containment"),
    Configuration("3-grams", "reference containment"),
    Configuration("2-grams", "cosine"),
    Configuration("words", "cosine"),
    Configuration("words", "jaccard"),
    Configuration("words", "query containment"),
    Configuration("similar words", "containment"),
    Configuration("similar words", "query containment"),
    Configuration("similar words", "reference containment"),
    Configuration("characters", "edit"),
)
"""All configurations, in the order of the columns of `measure`."""

_BASE = (CONFIGURATIONS.index(("3-grams", "cosine")), CONFIGURATIONS.index(("similar words", "containment")))


def base_distance(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance that picks the nearest reference text: the mean of a q-gram and a word distance.

    Parameters
    ----------
    distances : ndarray of float64, shape (n_pairs, n_configurations)
        From `measure`.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
    """
    return np.asarray(distances[:, _BASE].mean(axis=1))


def measure(columns: Columns, side: Side, rows: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.float64]:
    """Measure pairs of texts under every configuration.

    Parameters
    ----------
    columns : Columns
    side : Side
        Where `rows` are from.
    rows, others : ndarray of int32, shape (n_pairs,)
        A text of the side and a reference text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, n_configurations)
        0 for equal texts, 1 for texts with nothing in common.

    Notes
    -----
    O(length) a pair and tokenisation, and a bounded number of edit distances between words.
    """
    out = np.empty((rows.size, len(CONFIGURATIONS)), np.float64)
    for i, (tokens, distance) in enumerate(CONFIGURATIONS):
        if tokens in _GRAMS:
            out[:, i] = _set_distance(columns, side, _GRAMS[tokens], distance, rows, others)
    reference = columns.reference
    misses = [_soft(columns, side, rows, reference, others), _soft(columns, reference, others, side, rows)]
    out[:, CONFIGURATIONS.index(("similar words", "query containment"))] = misses[0]
    out[:, CONFIGURATIONS.index(("similar words", "reference containment"))] = misses[1]
    out[:, CONFIGURATIONS.index(("similar words", "containment"))] = (misses[0] + misses[1]) / 2
    edits = edit_distances(
        side.letters, side.offsets, reference.letters, reference.offsets, columns.n_letters, _MOST_CHARACTERS,
        rows, others,
    )  # fmt: skip
    longer = np.maximum(np.diff(side.offsets)[rows], np.diff(reference.offsets)[others]).clip(max=_MOST_CHARACTERS)
    out[:, CONFIGURATIONS.index(("characters", "edit"))] = edits / np.maximum(longer, 1)
    return np.clip(out, 0.0, 1.0)


def _set_distance(columns: Columns, side: Side, gram: int, distance: str, rows, others) -> NDArray[np.float64]:
    """Measure a distance between weighted token sets."""
    reference, idf = columns.reference, columns.spaces[gram].idf
    a, b = side.rows[gram], reference.rows[gram]
    power = 2 if distance == "cosine" else 1
    shared = pair_overlaps(a.indptr, a.tokens, b.indptr, b.tokens, idf**power, rows, others)
    if distance == "cosine":
        whole = side.norms[gram][rows] * reference.norms[gram][others]
    elif distance == "jaccard":
        whole = side.weights[gram][rows] + reference.weights[gram][others] - shared
    elif distance == "query containment":
        whole = side.weights[gram][rows]
    else:
        whole = reference.weights[gram][others]
    return 1.0 - shared / np.maximum(whole, 1e-12)


def _soft(columns: Columns, side_a: Side, rows_a, side_b: Side, rows_b) -> NDArray[np.float64]:
    a, b = side_a.rows[WORDS], side_b.rows[WORDS]
    return soft_misses(
        a.indptr, a.tokens, b.indptr, b.tokens, columns.spaces[WORDS].idf, columns.word_letters,
        columns.word_offsets, columns.n_letters, _SIMILAR, _MOST_WORDS, rows_a, rows_b,
    )  # fmt: skip
