"""What is measured on a pair of a text and a reference text, whatever other pairs there are: distances, words, rules.

A distance is measured in several configurations, each a tokenisation with a distance over it (thesis, section 4.6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.differences import scatter
from dfjoin.fuzzy.texts import WORDS
from dfjoin.fuzzy.tokenized import TokenizedColumn, TokenizedColumns
from dfjoin.kernels.texts.edit_distance import Words, edit_distances, soft_misses
from dfjoin.kernels.texts.token_rows import (
    Rules,
    TextPairs,
    list_differences,
    pair_differences,
    pair_overlaps,
    rule_hits,
)
from dfjoin.kernels.texts.tokenising import SparseRows
from dfjoin.kernels.texts.word_alignment import ALIGNMENT, align_words

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

_OTHER_NAMES = (*ALIGNMENT, "words exchanged", "word more or less")
LIKENESS_NAMES = (*map(str, COSINES), *_OTHER_NAMES)
"""Names of the columns of `measure_pairs`: what is measured on every candidate."""
PAIR_NAMES = (*map(str, CONFIGURATIONS), *_OTHER_NAMES)
"""The same with all distances in place of the cosines: what is measured on nearest pairs."""

_MAX_HITS = 20
"""Pairs of reference texts for one rule beyond which more say nothing new."""


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


def learn_rules(columns: TokenizedColumns, pairs: TextPairs) -> Rules:
    """Learn the words by which neighbours within the reference differ.

    Parameters
    ----------
    columns : TokenizedColumns
    pairs : TextPairs
        Pairs of different reference texts.

    Returns
    -------
    Rules

    Notes
    -----
    Source: negative rules of Li, Cheng, Chu, He, Chaudhuri, "Auto-FuzzyJoin", SIGMOD 2021, section 3.3.
    Deviations: all numbers are one kind of word, so that the rule of "2008 cup" and "2009 cup"
    holds for 2017 as well; a word that only one text has makes a rule too; rules are evidence with a weight,
    not a veto. O(n_pairs log n_pairs).
    """
    low, high = np.minimum(*pairs).astype(np.int64), np.maximum(*pairs)
    packed = np.unique((low << 32) + high)
    distinct = TextPairs((packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32))
    words = columns.reference.rows[WORDS]
    keys = _own_keys(columns, *pair_differences(words, words, distinct))
    found, counts = np.unique(keys[keys >= 0], return_counts=True)
    return Rules(found, counts.astype(np.int64))


def _own_keys(columns: TokenizedColumns, counts: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rule that each difference is an instance of, -1 where more than a word differs."""
    kinds = np.append(columns.word_kinds, 0)[last]  # -1, no word, has kind 0
    keys = (kinds.max(axis=1) << 31) + kinds.min(axis=1)
    return np.where((counts <= 1).all(axis=1) & (counts.sum(axis=1) > 0), keys, -1)


def measure_pairs(
    columns: TokenizedColumns, side: TokenizedColumn, rules: Rules, pairs: TextPairs
) -> NDArray[np.float64]:
    """Measure pairs of texts: cosines, what an alignment of their words leaves over, and rules.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        Column of the first text of each pair.
    rules : Rules
    pairs : TextPairs
        A text of the side and a reference text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 22)
        See `LIKENESS_NAMES`. Of rules the root of the number of pairs of reference texts, at most 20, that
        differ likewise; a pair of reference texts does not count for itself.
    """
    a, b = side.rows[WORDS], columns.reference.rows[WORDS]
    hits = rule_hits(a, b, columns.word_kinds, rules, pairs)
    if side is columns.reference:
        counts, last = pair_differences(a, b, pairs)
        is_own = _own_keys(columns, counts, last) >= 0
        hits = hits - (is_own[:, None] & np.stack([counts.min(axis=1) > 0, counts.min(axis=1) == 0], axis=1))
    aligned = align_words(side.words, columns.reference.words, columns.lexicon, pairs)
    return np.hstack([measure_cosines(columns, side, pairs), aligned, np.sqrt(np.clip(hits, 0, _MAX_HITS))])


def differ_in_numbers(columns: TokenizedColumns, pairs: TextPairs, features: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which pairs of texts name different things, since they differ in numbers, or in codes, and in nothing else.

    Parameters
    ----------
    columns : TokenizedColumns
    pairs : TextPairs
        A text of the query and a reference text.
    features : ndarray of float64, shape (n_pairs, n_names)
        What was measured on the pairs, see `PAIR_NAMES`.

    Returns
    -------
    ndarray of bool, shape (n_pairs,)
        True where both texts have a word with a digit that the other lacks, and every word that only one of
        them has holds a digit; ``7`` and ``007`` are one number. But not where they share a number, too, and their
        other words are those of no other text of either column: ``Joseph Yates, 1823-1825`` and ``1823-1824``.

    Notes
    -----
    ``Invoice 17`` and ``Invoice 18`` are different things, however alike they are: a number that is mistyped cannot be
    told from another number. O(words of both columns).
    """
    codes = features[:, [PAIR_NAMES.index(name) for name in ("numbers differ", "codes differ")]]
    found = np.asarray(codes.any(axis=1))
    chosen = np.flatnonzero(found)
    if chosen.size == 0:
        return found
    some = TextPairs(pairs.rows[chosen], pairs.others[chosen])
    has_digit = columns.lexicon.has_digit
    indptr, words, sides = list_differences(columns.query.rows[WORDS], columns.reference.rows[WORDS], some)
    pair_of = np.repeat(np.arange(chosen.size), np.diff(indptr))
    differs = np.ones(chosen.size, bool)
    differs[pair_of[~has_digit[words]]] = False
    (own_alone, n_own), (other_alone, _) = (
        _name_alone(side.rows[WORDS], has_digit) for side in (columns.query, columns.reference)
    )
    n_lost = np.bincount(pair_of[(sides == 0) & has_digit[words]], minlength=chosen.size)
    shares_number = n_own[some.rows] > n_lost
    found[chosen] = differs & ~(shares_number & own_alone[some.rows] & other_alone[some.others])
    return found


def _name_alone(rows: SparseRows, has_digit: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Tell which texts have words without digits that no other text has alike; count their words with digits."""
    n = rows.indptr.size - 1
    text_of = np.repeat(np.arange(n), np.diff(rows.indptr))
    is_word = ~has_digit[rows.tokens]
    keys = np.zeros(n, np.uint64)
    np.add.at(keys, text_of[is_word], scatter(rows.tokens[is_word].astype(np.uint64)))
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    n_words = np.bincount(text_of[is_word], minlength=n)
    return (counts[inverse.ravel()] == 1) & (n_words > 0), np.bincount(text_of[~is_word], minlength=n)
