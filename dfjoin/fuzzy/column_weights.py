"""Likeness by column: what agreement and difference of each column of a composite key say, learned without labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import WORDS, Texts, cut_texts, fold_texts, tokenise
from dfjoin.kernels.texts.token_rows import TextPairs, pair_overlaps, row_weights
from dfjoin.values.shares import HALF, NEARLY_ALL

_EDGES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.9999)
N_LEVELS = len(_EDGES) + 1
"""Levels of likeness, from different to equal."""

_GRAMS = (WORDS, 3)
_NUMBER = re.compile(r"\s*[€$£¥]?\s*([-+]?\d+(?:,\d{3})*(?:\.\d+)?|[-+]?\.\d+)\s*[%€$£¥]?\s*")
_SIGN = re.compile(r"[^\W_]")
"""What a value has: one of signs alone, such as "-", is a missing one."""
_LARGEST_NUMBER = 1e100
_NUMBER_SCALE = 2.0
"""Numbers that differ by half of the larger one are as different as can be."""

MAX_WEIGHT = 4.0
"""Largest log likelihood ratio of a column."""
_MAX_SUM = 6.0
"""Largest sum of them: columns are not independent."""
_PRIOR_COUNT = 2.0
"""Pairs that are added to what is counted, spread over the levels."""
_MIN_MATCHES = 5.0
"""Expected matches from which weights are learned."""
_RIVAL_LOG_ODDS = -4.0
"""Of a pair that is not the nearest."""
_MAX_ROUNDS = 30
_CONVERGED = 1e-4

ColumnWeights: TypeAlias = tuple[tuple[float, ...], ...]
"""Of each column the log likelihood ratio of each level."""


@dataclass(frozen=True)
class KeyParts:
    """The columns of composite keys, in the same order on both sides.

    Parameters
    ----------
    reference, query : sequence of pyarrow Array of strings
        An entry a row.
    weights : tuple of tuple of float, or None
        What their levels say, of an earlier join; None to learn it.
    """

    reference: Sequence[pa.Array]
    query: Sequence[pa.Array]
    weights: ColumnWeights | None = None


@dataclass(frozen=True)
class _Values:
    """A column of one side, by text: `codes` of its folded values, -1 for a missing one, and the numbers they spell."""

    texts: Texts
    codes: NDArray[np.int64]
    numbers: NDArray[np.float64]


def measure_levels(parts: KeyParts, sides: tuple[Texts, Texts], pairs: TextPairs) -> NDArray[np.int8]:
    """Measure how alike pairs of texts are in each column.

    Parameters
    ----------
    parts : KeyParts
    sides : tuple of Texts
        The reference and the query, whose texts are the columns put together.
    pairs : TextPairs
        A text of the query and a reference text.

    Returns
    -------
    ndarray of int8, shape (n_pairs, n_columns)
        A level from 0, nothing in common, to 8, equal; -1 where one of the values is missing, or of signs alone.

    Notes
    -----
    Texts are compared by the mean of the weighted cosines of their words and of their 3-grams, numbers by their
    relative difference. The first row of a text stands for it. O(characters + pairs × length) for each column.
    """
    first = [_first_rows(side) for side in sides]
    levels = np.empty((pairs.rows.size, len(parts.reference)), np.int8)
    for column, (theirs, own) in enumerate(zip(parts.reference, parts.query, strict=True)):
        likeness = _compare_values(_values_of(theirs, first[0]), _values_of(own, first[1]), pairs)
        level = np.searchsorted(_EDGES, np.nan_to_num(likeness), side="right")
        levels[:, column] = np.where(np.isnan(likeness), -1, level)
    return levels


def _first_rows(side: Texts) -> NDArray[np.int64]:
    """Return the first row of each text."""
    first = np.zeros(len(side), np.int64)
    rows = np.flatnonzero(side.codes >= 0)[::-1]
    first[side.codes[rows]] = rows
    return first


def _values_of(column: pa.Array, rows: NDArray[np.int64]) -> _Values:
    """Fold the values of some rows of a column, and read the numbers among them."""
    taken = column.take(pa.array(rows)).cast(pa.large_string())
    texts = fold_texts(taken)
    encoded = taken.dictionary_encode()
    read = [_read_number(value) for value in encoded.dictionary.to_pylist()]
    positions = encoded.indices.fill_null(len(read)).to_numpy(zero_copy_only=False)
    is_value = np.array([*map(_SIGN.search, texts.values), None], bool)  # the last: of a missing value
    return _Values(texts, np.where(is_value[texts.codes], texts.codes, -1), np.array([*read, np.nan])[positions])


def _read_number(value: str) -> float:
    """Read a number with a currency or a per cent sign; NaN for any other text."""
    found = _NUMBER.fullmatch(value)
    number = float(found[1].replace(",", "")) if found else np.nan
    return number if abs(number) < _LARGEST_NUMBER else np.nan


def _compare_values(reference: _Values, query: _Values, pairs: TextPairs) -> NDArray[np.float64]:
    """Return the likeness of the values of each pair, 0 to 1; NaN where one is missing."""
    own, theirs = query.codes[pairs.rows], reference.codes[pairs.others]
    is_present = (own >= 0) & (theirs >= 0)
    likeness = np.full(own.size, np.nan)
    if all(_is_numeric(side) for side in (reference, query)):
        a, b = query.numbers[pairs.rows], reference.numbers[pairs.others]
        difference = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
        return np.where(is_present, np.clip(1.0 - _NUMBER_SCALE * difference, 0.0, 1.0), np.nan)
    present = TextPairs(own[is_present].astype(np.int32), theirs[is_present].astype(np.int32))
    if not present.rows.size:
        return likeness
    found = np.zeros(present.rows.size)
    cut = cut_texts(reference.texts, query.texts)
    for gram in _GRAMS:
        space = tokenise(*cut, gram)
        weights = space.idf**2
        norms = [np.sqrt(row_weights(rows, weights)) for rows in (space.query, space.reference)]
        shared = pair_overlaps(space.query, space.reference, weights, present)
        found += shared / np.maximum(norms[0][present.rows] * norms[1][present.others], 1e-12) / len(_GRAMS)
    numbers = {value: i for i, value in enumerate(reference.texts.values)}
    same = np.array([numbers.get(value, -1) for value in query.texts.values], np.int64)
    likeness[is_present] = np.where(same[present.rows] == present.others, 1.0, np.minimum(found, 0.999))
    return likeness


def _is_numeric(side: _Values) -> bool:
    """Tell whether nearly all values of a column spell numbers."""
    n_present = np.count_nonzero(side.codes >= 0)
    return bool(n_present and np.count_nonzero(~np.isnan(side.numbers)) >= NEARLY_ALL * n_present)


def learn_weights(
    levels: NDArray[np.int8], is_nearest: NDArray[np.bool_], chances: NDArray[np.float64]
) -> ColumnWeights | None:
    """Learn what the levels of each column say, without labels.

    Parameters
    ----------
    levels : ndarray of int8, shape (n_pairs, n_columns)
        From `measure_levels`.
    is_nearest : ndarray of bool, shape (n_pairs,)
        Whether the pair is the nearest one of its query text; the others are its rivals.
    chances : ndarray of float64, shape (n_pairs,)
        Probability of the nearest pairs by the texts as wholes.

    Returns
    -------
    tuple of tuple of float, or None
        Of each column the log likelihood ratio of each level, ascending and between -4 and 4; a missing value
        counts 0. None where fewer than five matches are expected.

    Notes
    -----
    Source: Fellegi and Sunter, "A theory for record linkage", JASA 1969, the weights by expectation maximisation
    (Winkler, 1988). Deviations: it starts from the probabilities of a published model, and stays tied to them, so that
    it does not settle on another division of the pairs (the same city, for example); what is no match is seen in the
    rivals of the nearest pairs, too; ratios are made ascending by pooling adjacent levels, since a likeness that counts
    against a match is an accident. Weights count by half while they are learned. O(rounds × pairs × columns).
    """
    odds = np.where(is_nearest, _log_odds(chances), _RIVAL_LOG_ODDS)
    matched = np.where(is_nearest, chances, _sigmoid(odds))
    weights: list[NDArray[np.float64]] = []
    for _ in range(_MAX_ROUNDS):
        if matched.sum() < _MIN_MATCHES:
            return None
        weights = [_ratios(column, matched) for column in levels.T]
        # weights count by half, since they were learned of the same pairs
        before, matched = matched, _sigmoid(odds + HALF * sum_weights(levels, weights))
        if np.abs(matched - before).max() < _CONVERGED:
            break
    return tuple(tuple(column.tolist()) for column in weights)


def _ratios(column: NDArray[np.int8], matched: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log likelihood ratio of each level of a column, ascending."""
    is_present = column >= 0
    level, chance = column[is_present], matched[is_present]
    counts = [np.bincount(level, share, N_LEVELS) for share in (chance, 1.0 - chance)]
    right, wrong = ((count + _PRIOR_COUNT / N_LEVELS) / (count.sum() + _PRIOR_COUNT) for count in counts)
    return np.clip(_pool_adjacent(np.log(right / wrong), right + wrong), -MAX_WEIGHT, MAX_WEIGHT)


def _pool_adjacent(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ascending values of least weighted squared difference (pool adjacent violators, Ayer et al., 1955)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, mass, n = pools.pop()
            whole = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / whole, whole, n + pool[2])
        pools.append(pool)
    return np.concatenate([np.full(n, mean) for mean, _, n in pools])


def sum_weights(
    levels: NDArray[np.int8], weights: ColumnWeights | Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Add up the weights of the columns of each pair, at most 6 in all; missing values count 0."""
    total = np.zeros(levels.shape[0])
    for level, column in zip(levels.T, weights, strict=True):
        total += np.append(np.asarray(column), 0.0)[level]  # -1, a missing value, is the last
    return np.clip(total, -_MAX_SUM, _MAX_SUM)


def _log_odds(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    limited = np.clip(chances, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(limited / (1.0 - limited)))


def _sigmoid(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))
