"""Distances between texts in every configuration: a tokenisation with a distance over it (thesis, section 4.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import WORDS
from dfjoin.fuzzy.tokenized import TokenizedColumn, TokenizedColumns
from dfjoin.kernels.texts.edit_distance import Words, edit_distances, soft_misses
from dfjoin.kernels.texts.token_rows import TextPairs, pair_overlaps

_MIN_WORD_SIMILARITY = 0.6
"""Similarity from which two words count as spellings of one: a 5-letter word may differ in 2 letters."""

_MAX_CHARACTERS = 256
_MAX_WORDS = 32
"""Characters from the start and rarest words that edit distances look at, which bounds the cost of long texts."""


class Configuration(NamedTuple):
    """A tokenisation and a distance over it; tokens weigh by their rarity in the reference column.

    Distances lie between 0 and 1. "containment" is the mean of the shares of weight that either text has and the other
    lacks.
    """

    tokens: str
    distance: str

    def __str__(self) -> str:
        return f"{self.tokens}, {self.distance}"


_GRAMS = {"words": WORDS, "3-grams": 3}

COSINES = (Configuration("3-grams", "cosine"), Configuration("words", "cosine"))
"""Configurations that cost little, by which candidates are told apart."""

CONFIGURATIONS = (*COSINES, Configuration("similar words", "containment"), Configuration("characters", "edit"))
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


def measure_cosines(columns: TokenizedColumns, side: TokenizedColumn, pairs: TextPairs) -> NDArray[np.float64]:
    """Measure pairs of texts under the configurations that cost little.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        Column of the first text of each pair.
    pairs : TextPairs
        A text of the side and a reference text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 2)
        See `COSINES`; as `measure` has them.

    Notes
    -----
    O(length) a pair.
    """
    found = [_cosine_distance(columns, side, _GRAMS[tokens], pairs) for tokens, _ in COSINES]
    return np.clip(np.column_stack(found), 0.0, 1.0)


def measure(columns: TokenizedColumns, side: TokenizedColumn, pairs: TextPairs) -> NDArray[np.float64]:
    """Measure pairs of texts under every configuration.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        Column of the first text of each pair.
    pairs : TextPairs
        A text of the side and a reference text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, n_configurations)
        0 for equal texts, 1 for texts with nothing in common.

    Notes
    -----
    O(length) a pair and tokenisation, and a bounded number of edit distances between words.
    """
    reference = columns.reference
    idf, letters = columns.spaces[WORDS].idf, columns.lexicon.letters
    words = Words(idf, columns.words, letters, columns.n_letters, _MIN_WORD_SIMILARITY, _MAX_WORDS)
    a, b = side.rows[WORDS], reference.rows[WORDS]
    misses = soft_misses(a, b, words, pairs) + soft_misses(b, a, words, TextPairs(pairs.others, pairs.rows))
    edits = edit_distances(side.letters, reference.letters, columns.n_letters, _MAX_CHARACTERS, pairs)
    lengths = np.diff(side.letters.offsets)[pairs.rows], np.diff(reference.letters.offsets)[pairs.others]
    longer = np.maximum(*lengths).clip(max=_MAX_CHARACTERS)
    found = [measure_cosines(columns, side, pairs), misses / 2, edits / np.maximum(longer, 1)]
    return np.clip(np.column_stack(found), 0.0, 1.0)


def _cosine_distance(
    columns: TokenizedColumns, side: TokenizedColumn, gram: int, pairs: TextPairs
) -> NDArray[np.float64]:
    """Measure the cosine distance between weighted token sets."""
    reference = columns.reference
    shared = pair_overlaps(side.rows[gram], reference.rows[gram], columns.spaces[gram].idf ** 2, pairs)
    whole = side.norms[gram][pairs.rows] * reference.norms[gram][pairs.others]
    return 1.0 - shared / np.maximum(whole, 1e-12)
