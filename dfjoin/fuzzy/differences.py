"""How usual a difference is: words that many pairs of two columns leave over, or exchange, alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import WORDS
from dfjoin.fuzzy.tokenized import TokenizedColumns
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts.token_rows import TextPairs, list_differences
from dfjoin.kernels.texts.tokenising import SparseRows

DIFFERENCE_NAMES = ("same difference elsewhere", "usual left over of the first", "usual left over of the second")
"""Names of the columns of `weigh_differences`."""

_DROPPED, _SEEN = 0.3, 1.0
"""Added to counts of words, so that rare ones say little."""


def weigh_differences(
    columns: TokenizedColumns, pairs: TextPairs, likeness: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Tell how usual the difference of each candidate pair is among all candidates, by their chances.

    Parameters
    ----------
    columns : TokenizedColumns
    pairs : TextPairs
        Candidates: a text of the query and a reference text, those of a text in a row.
    likeness : ndarray of float64, shape (n_pairs,)
        Log odds between the candidates of a text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 3)
        See `DIFFERENCE_NAMES`: log(1 + expected right pairs of other texts with just this difference); and for either
        side the sum over its left-over words of log(share of right pairs that leave the word over / the same of wrong
        pairs). 0 where no word is left over. Words are compared whole.

    Notes
    -----
    One step of expectation maximisation over the differences, as IBM model 1 learns the words that translate each other
    (Brown et al., Computational Linguistics 1993): which candidate of a text is right is open, so that each counts by
    its softmax. A pair does not count for itself. O(words of the pairs) and two sorts of the pairs.
    """
    space = columns.spaces[WORDS]
    n_pairs, n_words = pairs.rows.size, space.idf.size
    if n_pairs == 0:
        return np.empty((0, len(DIFFERENCE_NAMES)))
    chance = _softmax_in_rows(pairs.rows, likeness)
    indptr, tokens, sides = list_differences(space.query, space.reference, pairs)
    pair_of = np.repeat(np.arange(n_pairs), np.diff(indptr))
    found = [_count_same_elsewhere(pairs.rows, _key_differences(pair_of, tokens, sides, n_pairs), chance)]
    found[0][np.diff(indptr) == 0] = 0.0
    for side, (rows, texts) in enumerate(((space.query, pairs.rows), (space.reference, pairs.others))):
        is_own = sides == side
        words, owner = tokens[is_own], pair_of[is_own]
        usual = np.zeros(words.size)
        for sign, weight in ((1.0, chance), (-1.0, 1.0 - chance)):
            own = weight[owner]
            dropped = np.bincount(words, own, n_words)[words] - own
            seen = _count_words(rows, texts, n_words, weight)[words] - own
            usual += sign * np.log((np.maximum(dropped, 0.0) + _DROPPED) / (np.maximum(seen, 0.0) + _SEEN))
        found.append(np.bincount(owner, usual, n_pairs).astype(np.float64, copy=False))
    return np.column_stack(found)


def measure_habits(columns: TokenizedColumns, decoys: TextPairs, best: TextPairs) -> tuple[NDArray[np.float64], ...]:
    """Tell how usual it is among the nearest pairs that the words of a difference are left over.

    Parameters
    ----------
    columns : TokenizedColumns
    decoys : TextPairs
        Reference texts and their nearest other ones: pairs that are wrong.
    best : TextPairs
        The nearest pair of each text.

    Returns
    -------
    tuple of four ndarray of float64, shape (n_pairs,)
        For each nearest pair least, mean and sum over its left-over words of log(share of pairs that leave the word
        over / the same among decoys), and log(1 + other pairs with just this difference).

    Notes
    -----
    O(words of the pairs) and one sort of the pairs.
    """
    space = columns.spaces[WORDS]
    n_words = space.idf.size
    indptr, tokens, sides = list_differences(space.query, space.reference, best)
    dropped = np.bincount(tokens, minlength=n_words)
    seen = (
        _count_words(space.query, best.rows, n_words) + _count_words(space.reference, best.others, n_words) + dropped
    ) / 2
    _, wrong_tokens, _ = list_differences(space.reference, space.reference, decoys)
    wrong = np.bincount(wrong_tokens, minlength=n_words)
    wrong_sides = [_count_words(space.reference, texts, n_words) for texts in decoys]
    wrong_seen = (wrong_sides[0] + wrong_sides[1] + wrong) / 2
    usual = np.log((np.maximum(dropped - 1, 0) + _DROPPED) / (np.maximum(seen - 1, 0) + _SEEN))
    usual -= np.log((wrong + _DROPPED) / (wrong_seen + _SEEN))
    sizes = np.diff(indptr)
    pair_of = np.repeat(np.arange(sizes.size), sizes)
    total = np.bincount(pair_of, usual[tokens], sizes.size)
    least = np.where(sizes > 0, np.inf, 0.0)
    np.minimum.at(least, pair_of, usual[tokens])
    keys = _key_differences(pair_of, tokens, sides, sizes.size)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    elsewhere = np.where(sizes > 0, np.log(counts[inverse.ravel()]), 0.0)
    return tuple(np.asarray(one, np.float64) for one in (least, total / np.maximum(sizes, 1), total, elsewhere))


def _softmax_in_rows(rows: NDArray[np.int32], odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn log odds into shares that add up to 1 in each stretch of equal rows."""
    is_first = np.append(True, rows[1:] != rows[:-1])
    starts, group = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    power = np.exp(odds - np.maximum.reduceat(odds, starts)[group])
    return np.asarray(power / np.add.reduceat(power, starts)[group])


def _count_same_elsewhere(
    rows: NDArray[np.int32], keys: NDArray[np.uint64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log(1 + chances of the pairs of other rows with the same key)."""
    order = np.lexsort((rows, keys))
    is_key = np.append(True, keys[order][1:] != keys[order][:-1])
    is_row = is_key | np.append(True, rows[order][1:] != rows[order][:-1])
    same, own = np.empty((2, keys.size))
    for counted, is_new in ((same, is_key), (own, is_row)):
        group = np.cumsum(is_new) - 1
        counted[order] = np.bincount(group, chance[order])[group]
    return np.log1p(np.maximum(same - own, 0.0))


def _key_differences(
    pair_of: NDArray[np.int64], tokens: NDArray[np.int32], sides: NDArray[np.int8], n_pairs: int
) -> NDArray[np.uint64]:
    """Hash the words that each pair leaves over, with their sides."""
    keys = np.zeros(n_pairs, np.uint64)
    np.add.at(keys, pair_of, scatter(2 * tokens.astype(np.uint64) + sides.astype(np.uint64)))
    return keys


def scatter(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers (the finaliser of SplitMix64, Steele et al., OOPSLA 2014), so that sums of them differ."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _count_words(
    rows: SparseRows, texts: NDArray[np.int32], n_words: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Count the texts that hold each word, among some texts; or add up their weights."""
    starts, sizes = rows.indptr[texts], rows.indptr[texts + 1] - rows.indptr[texts]
    words = rows.tokens[expand_stretches(starts, sizes)]
    counts = np.bincount(words, None if weights is None else np.repeat(weights, sizes), n_words)
    return counts.astype(np.float64, copy=False)
