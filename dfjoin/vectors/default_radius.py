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

__all__ = ["CHANGES", "COLUMNS", "VALUES", "ChosenRadius", "change_text", "choose_radius"]

COLUMNS, VALUES = 256, 256
"""Columns whose values are changed, and values of each that are compared. Fewer columns choose by chance."""

_STEPS = np.arange(1, 71) / 100
_PRECISION = 0.8
"""Of the values that find something within the radius, the share whose nearest is the value that they were made of."""

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
    values that have one within the radius when the value that they were made of is left out), and ``pairs`` (values
    of the lake that lie within the radius of a changed value, on average of all; what chooses the radius is the average
    of the three quarters that have fewest, which is far less where codes and addresses lie side by side).
    """

    radius: float
    evidence: dict[str, float]


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
    Two questions are asked of each: is the nearest value of its column the one that it was made of? And if that one
    is left out, as a value that has no partner: does another one lie within the radius? Both have the same weight, so
    that half of the values that are asked for have no partner. Embeds at most 65,536 values,
    half as many changed ones and the sample; each changed value is compared with its column and the sample.
    """
    changed, nearest, others, is_right = _trials(embedder, columns)
    if nearest.size < _LEAST_TRIALS:
        return ChosenRadius(0.0, {})
    right, wrong, strange = (
        np.searchsorted(np.sort(gaps), _STEPS, "right") for gaps in (nearest[is_right], nearest[~is_right], others)
    )
    is_good = right >= _PRECISION * (right + wrong + strange)
    steps = _STEPS[: 1 + int(np.flatnonzero(is_good)[-1]) if is_good.any() else 1]
    rows = unit_rows(embedder.embed(sample))
    usual, every = (n_texts * shares for shares in _shares_within(changed, rows[rows.any(axis=1)], steps))
    is_good = is_good[: steps.size] & (usual <= _PAIRS)
    best = int(np.flatnonzero(is_good)[-1]) if is_good.any() else 0
    shares = {name: counts[best] / nearest.size for name, counts in (("found", right), ("wrong", wrong))}
    evidence = {"changed": nearest.size, **shares, "strangers": strange[best] / nearest.size, "pairs": every[best]}
    return ChosenRadius(float(_STEPS[best]), {name: round(float(value), 4) for name, value in evidence.items()})


def _trials(
    embedder: Embedder, columns: Sequence[list[str]]
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the vector of each changed value, the distance of the nearest value and of the nearest other one.

    Last comes whether the nearest one is that which it was made of.
    """
    rng = random.Random(0)
    sources: list[tuple[int, int, int]] = []
    texts: list[str] = []
    first = n_tried = 0
    for values in columns:
        for i in range(0, len(values), 2):
            changed = change_text(values[i], n_tried, rng)
            n_tried += 1
            if changed != values[i]:
                sources.append((first, first + len(values), first + i))
                texts.append(changed)
        first += len(values)
    nearest, others = np.ones(len(texts)), np.ones(len(texts))
    is_right = np.zeros(len(texts), bool)
    if not texts:
        return np.empty((0, 1), np.float32), nearest, others, is_right
    rows = unit_rows(embedder.embed(to_texts([value for values in columns for value in values])))
    changed_rows = unit_rows(embedder.embed(to_texts(texts)))
    known = changed_rows.any(axis=1) & rows[[source for _, _, source in sources]].any(axis=1)
    for trial in np.flatnonzero(known).tolist():
        start, end, source = sources[trial]
        gaps = _fractions(rows[start:end] @ changed_rows[trial])
        gaps[~rows[start:end].any(axis=1)] = 1.0
        own = gaps[source - start]
        gaps[source - start] = 1.0
        others[trial] = gaps.min()
        nearest[trial], is_right[trial] = min(own, others[trial]), own <= others[trial]
    return changed_rows[known], nearest[known], others[known], is_right[known]


def _shares_within(
    changed: NDArray[np.float32], rows: NDArray[np.float32], steps: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which share of some texts lies within each radius of changed values: means of the usual, and of all."""
    counts = np.zeros((changed.shape[0], steps.size + 1), np.int32)
    least = 1 - 2 * (steps[-1] + _STEPS[0]) ** 2  # the cosine of a larger radius
    for start in range(0, changed.shape[0], _BLOCK):
        products = changed[start : start + _BLOCK] @ rows.T
        owners, texts = np.nonzero(products >= least)
        np.add.at(counts, (owners + start, np.searchsorted(steps, _fractions(products[owners, texts]))), 1)
    within = np.sort(np.cumsum(counts[:, :-1], axis=1), axis=0)
    usual = within[: math.ceil(_USUAL * changed.shape[0])]
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
