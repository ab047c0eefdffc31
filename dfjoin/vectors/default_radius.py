"""The radius of searches that give none, chosen for an index and its embedder.

A lake's own values are changed as people write a text differently: with a typo, in another format, abbreviated, or
their words in another order. They show how far the embedder moves a text that means the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.vectors.embedders import Embedder, to_texts, unit_rows
from dfjoin.vectors.fasttext_model import Texts
from dfjoin.vectors.metrics import BY_LENGTH, length_shares

COLUMNS, VALUES = 256, 256
"""Columns whose values are changed, and values of each that are compared. Fewer columns choose by chance."""

_STEPS = np.arange(1, 71) / 100
_PRECISION = 0.9
"""Of the pairs of a changed value and a value of its column within the radius, those with the one it was made of, on
average of the columns. A few columns whose values differ in digits or in a word have most of the others; with this
average more than four of five pairs of all names together are right, see docs/measurements/distance.md."""

_PAIRS, _USUAL = 10.0, 0.75
"""Values of a lake that lie within the radius of a changed value, on average, and of which share of the changed values:
those that have most are codes and addresses that differ in a digit, and would choose the radius for all others."""

_LEAST_TRIALS = 100
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_A_TYPO = 8
"""A text has a typo for so many characters, one at least and three at most."""
_BLOCK = 512


class ChosenRadius(NamedTuple):
    """A radius, a fraction of the largest distance, and what speaks for it; 0 where there are too few values to say.

    `evidence` holds ``changed`` (values that were tried), ``found`` (share that lies within the radius of the value
    that it was made of, which is the nearest), ``wrong`` (share that has another one nearest), ``strangers`` (share of
    values that have one within the radius when the value that they were made of is left out), ``strange_pairs`` (of
    the pairs of a changed value and one of its column, the share of others than it was made of; mean of the columns),
    and ``pairs`` (values of the lake that lie within the radius of a changed value, on average of all; what chooses the
    radius is the average of the three quarters that have fewest, which is far less where codes and addresses lie side
    by side). `unit` is "fraction", or "by_length" where a radius that is smaller for long texts finds more.
    """

    radius: float
    evidence: dict[str, float]
    unit: str = "fraction"


class _Trials(NamedTuple):
    """Changed values: their vectors and lengths, and distances within the column of each.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
    shares : ndarray of float64, shape (n,)
        As of `length_shares`.
    own : ndarray of float64, shape (n,)
        To the value that each was made of.
    others : ndarray of float64, shape (n,)
        To the nearest other value.
    columns : ndarray of int64, shape (n,)
    gaps, owners : ndarray, shape (n_pairs,)
        To each other value that is not farther than any radius, and the trial.
    """

    rows: NDArray[np.float32]
    shares: NDArray[np.float64]
    own: NDArray[np.float64]
    others: NDArray[np.float64]
    columns: NDArray[np.int64]
    gaps: NDArray[np.float64]
    owners: NDArray[np.int64]


def choose_radius(embedder: Embedder, columns: Sequence[list[str]], sample: Texts, n_texts: int) -> ChosenRadius:
    """Choose the largest radius that is precise and whose searches cost little.

    Parameters
    ----------
    embedder : Embedder
    columns : sequence of list of str
        Values of columns of the lake.
    sample : tuple of ndarray
        Texts of the lake that were drawn at random: offsets and UTF-8.
    n_texts : int
        Texts of the lake.

    Returns
    -------
    ChosenRadius

    Notes
    -----
    Every other value of a column is changed: by a typo, in its format, by an abbreviation, in the order of its words.
    Within the radius may lie so many values of its column that it was not made of that few pairs are wrong, and ten
    values of the lake, on average. Of a radius of all texts and one by length that is taken which finds more.
    Embeds at most 65,536 values, half as many changed ones and the sample; each changed value is compared with its
    column and the sample.
    """
    trials = _trials(embedder, columns)
    if trials.own.size < _LEAST_TRIALS:
        return ChosenRadius(0.0, {})
    rows = unit_rows(embedder.embed(sample))
    rows = rows[rows.any(axis=1)]
    whole = _largest(trials._replace(shares=np.ones(trials.own.size)), rows, n_texts)
    by_length = _largest(trials, rows, n_texts)._replace(unit=BY_LENGTH)
    return by_length if by_length.evidence["found"] > whole.evidence["found"] else whole


def _largest(trials: _Trials, rows: NDArray[np.float32], n_texts: int) -> ChosenRadius:
    """Return the largest radius that lets in few strangers, by vectors of texts of the lake, and what it finds."""
    own, others = trials.own / trials.shares, trials.others / trials.shares
    right, wrong, strange = (
        np.searchsorted(np.sort(gaps), _STEPS, "right") for gaps in (own[own <= others], others[others < own], others)
    )
    strange_pairs = _strange_pairs(own, trials)
    is_good = strange_pairs <= 1 - _PRECISION
    steps = _STEPS[: 1 + int(np.flatnonzero(is_good)[-1]) if is_good.any() else 1]
    usual, every = (n_texts * shares for shares in _shares_within(trials, rows, steps))
    is_good = is_good[: steps.size] & (usual <= _PAIRS)
    best = int(np.flatnonzero(is_good)[-1]) if is_good.any() else 0
    evidence = {
        "changed": own.size,
        **{name: counts[best] / own.size for name, counts in (("found", right), ("wrong", wrong))},
        "strangers": strange[best] / own.size,
        "strange_pairs": strange_pairs[best],
        "pairs": every[best],
    }
    return ChosenRadius(float(_STEPS[best]), {name: round(float(value), 4) for name, value in evidence.items()})


def _strange_pairs(own: NDArray[np.float64], trials: _Trials) -> NDArray[np.float64]:
    """Return the share of the pairs within each radius that are of strangers, the mean of the columns that have any."""
    counts = np.zeros((2, int(trials.columns.max()) + 1, _STEPS.size + 1), np.int64)
    gaps, owners = trials.gaps / trials.shares[trials.owners], trials.columns[trials.owners]
    np.add.at(counts[0], (trials.columns, np.searchsorted(_STEPS, own)), 1)
    np.add.at(counts[1], (owners, np.searchsorted(_STEPS, gaps)), 1)
    right, wrong = np.cumsum(counts, axis=2)[:, :, :-1]
    every = right + wrong
    return (wrong / np.maximum(1, every)).sum(axis=0) / np.maximum(1, (every > 0).sum(axis=0))


def _trials(embedder: Embedder, columns: Sequence[list[str]]) -> _Trials:
    """Change values of columns, and measure how far each lies from the values of its column."""
    rng = random.Random(0)
    sources: list[tuple[int, int, int, int]] = []
    texts: list[str] = []
    first = n_tried = 0
    for column, values in enumerate(columns):
        for i in range(0, len(values), 2):
            changed = change_text(values[i], n_tried, rng)
            n_tried += 1
            if changed != values[i]:
                sources.append((first, first + len(values), first + i, column))
                texts.append(changed)
        first += len(values)
    none = np.empty(0, np.int64)
    if not texts:
        return _Trials(np.empty((0, 1), np.float32), np.empty(0), np.empty(0), np.empty(0), none, np.empty(0), none)
    rows = unit_rows(embedder.embed(to_texts([value for values in columns for value in values])))
    made = to_texts(texts)
    changed_rows, shares = unit_rows(embedder.embed(made)), length_shares(*made)
    known = np.flatnonzero(changed_rows.any(axis=1) & rows[[source for _, _, source, _ in sources]].any(axis=1))
    own, others = np.ones(known.size), np.ones(known.size)
    kept = []
    for trial, number in enumerate(known.tolist()):
        start, end, source, _ = sources[number]
        gaps = _fractions(rows[start:end] @ changed_rows[number])
        gaps[~rows[start:end].any(axis=1)] = 1.0
        own[trial] = gaps[source - start]
        gaps[source - start] = 1.0
        others[trial] = gaps.min(initial=1.0)
        kept.append(gaps[gaps <= _STEPS[-1]])
    owners = np.repeat(np.arange(known.size), [gaps.size for gaps in kept])
    found = np.concatenate([*kept, np.empty(0)])
    return _Trials(changed_rows[known], shares[known], own, others, np.array(sources)[known, 3], found, owners)


def _shares_within(
    trials: _Trials, rows: NDArray[np.float32], steps: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which share of some texts lies within each radius of changed values: means of the usual, and of all."""
    n = trials.own.size
    counts = np.zeros((n, steps.size + 1), np.int32)
    least = 1 - 2 * ((steps[-1] + _STEPS[0]) * trials.shares[:, None]) ** 2  # the cosine of a larger radius
    for start in range(0, n, _BLOCK):
        products = trials.rows[start : start + _BLOCK] @ rows.T
        owners, texts = np.nonzero(products >= least[start : start + _BLOCK])
        gaps = _fractions(products[owners, texts]) / trials.shares[start + owners]
        np.add.at(counts, (owners + start, np.searchsorted(steps, gaps)), 1)
    within = np.sort(np.cumsum(counts[:, :-1], axis=1), axis=0)
    usual = within[: math.ceil(_USUAL * n)]
    return usual.mean(axis=0) / max(1, rows.shape[0]), within.mean(axis=0) / max(1, rows.shape[0])


def _fractions(cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return distances of unit vectors as fractions of the largest one."""
    return np.sqrt(np.maximum(0.0, 2 - 2 * cosines.astype(np.float64))) / 2


def change_text(text: str, kind: int, rng: random.Random) -> str:
    """Change a text in one of the kinds of `CHANGES`, by its number; it may stay as it is, and does if empty."""
    if not text.strip():
        return text
    return CHANGES[kind % len(CHANGES)](text, rng)


def _mistype(text: str, rng: random.Random) -> str:
    for _ in range(min(3, max(1, len(text) // _LETTERS_A_TYPO))):
        i, letter = rng.randrange(len(text)), rng.choice(_LETTERS)
        text = rng.choice(
            [
                text[:i] + letter + text[i:],
                text[:i] + text[i + 1 :] or text,
                text[:i] + letter + text[i + 1 :],
                text[:i] + text[i : i + 2][::-1] + text[i + 2 :],
            ]
        )
    return text


def _reformat(text: str, rng: random.Random) -> str:
    words = text.split()
    return rng.choice(["-".join(words), "".join(words), f"{text}.", text.replace(" ", ". ")])


def _abbreviate(text: str, rng: random.Random) -> str:
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) > 3]
    if long:
        i = rng.choice(long)
        words[i] = words[i][: rng.randrange(1, 4)] + "."
    return " ".join(words)


def _reorder(text: str, rng: random.Random) -> str:
    words = text.split()
    if len(words) > 1 and rng.random() < 0.5:
        return f"{words[-1]}, {' '.join(words[:-1])}"
    return " ".join(rng.sample(words, len(words)))


CHANGES = (_mistype, _reformat, _abbreviate, _reorder)
"""The kinds of change: functions of a text and a generator."""
