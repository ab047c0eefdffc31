"""Training of word vectors with character n-grams: skip-gram with negative sampling, one thread, reproducible."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean

_SHARE = np.float64(2.0**-53)


class Corpus(NamedTuple):
    """Texts as numbers of words, and the rows of the matrix that make up each word.

    Parameters
    ----------
    words : ndarray of int32
    indptr : ndarray of int64, shape (n_texts + 1,)
    rows, row_indptr : ndarray of int64
        Rows of word w: ``rows[row_indptr[w] : row_indptr[w + 1]]``.
    keep : ndarray of float64, shape (n_words,)
        Probability with which an occurrence of each word is used.
    negatives : ndarray of int32
        Words to draw as false neighbours from.
    """

    words: NDArray[np.int32]
    indptr: NDArray[np.int64]
    rows: NDArray[np.int64]
    row_indptr: NDArray[np.int64]
    keep: NDArray[np.float64]
    negatives: NDArray[np.int32]


class Training(NamedTuple):
    """How to train: words to either side, false neighbours, first learning rate, and all words there will be."""

    window: int
    n_negatives: int
    rate: float
    n_total: int


@njit_inner
def _next(state):
    """Advance a generator (SplitMix64); return its state and a number."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit_lean
def fill_uniform(matrix, bound, seed):
    """Fill a matrix with numbers from -bound to bound that depend on the seed and the place alone.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n, d)
        Output.
    bound : float
    seed : int
    """
    state = np.uint64(seed)
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            state, draw = _next(state)
            matrix[i, k] = np.float32((np.float64(draw >> np.uint64(11)) * _SHARE * 2 - 1) * bound)


@njit_inner
def _learn(hidden, gradient, target, output, label, rate):
    """Move the output row of a word, and note the gradient for the input side."""
    row = output[target]
    score = np.float32(0)
    for k in range(hidden.size):
        score += hidden[k] * row[k]
    score = min(max(score, np.float32(-8)), np.float32(8))
    step = np.float32(rate * (label - 1.0 / (1.0 + math.exp(-score))))
    for k in range(hidden.size):
        gradient[k] += step * row[k]
        row[k] += step * hidden[k]


@njit_lean
def train_texts(corpus, first, last, matrix, output, training, hidden, gradient, kept, state):
    """Train on some texts.

    Parameters
    ----------
    corpus : Corpus
    first, last : int
        Texts to train on.
    matrix, output : ndarray of float32, shapes (n_rows, d), (n_words, d)
        Changed.
    training : Training
    hidden, gradient : ndarray of float32, shape (d,)
        Scratch.
    kept : ndarray of int32
        Scratch, as long as the longest text; words of a text above its size are passed over.
    state : ndarray of uint64, shape (2,)
        State of the random numbers, and words seen; changed.

    Notes
    -----
    Source: Mikolov et al., "Distributed representations of words and phrases", NIPS 2013; Bojanowski et al., TACL
    2017, section 3. Deviation: one thread and one generator, so that the same texts give the same vectors.
    """
    random, seen = state[0], state[1]
    for text in range(first, last):
        n_kept = 0
        for i in range(corpus.indptr[text], corpus.indptr[text + 1]):
            word = corpus.words[i]
            random, draw = _next(random)
            if n_kept < kept.size and np.float64(draw >> np.uint64(11)) * _SHARE < corpus.keep[word]:
                kept[n_kept] = word
                n_kept += 1
        seen += np.uint64(corpus.indptr[text + 1] - corpus.indptr[text])
        done = np.float64(seen) / training.n_total
        rate = training.rate * max(1e-4, 1 - done)
        for i in range(n_kept):
            begin, end = corpus.row_indptr[kept[i]], corpus.row_indptr[kept[i] + 1]
            random, draw = _next(random)
            # As in word2vec the window is drawn for each word: near words are trained with more often.
            width = 1 + np.int64(draw % np.uint64(training.window))
            for j in range(max(0, i - width), min(n_kept, i + width + 1)):
                if j == i:
                    continue
                share = np.float32(1.0 / (end - begin))
                for k in range(hidden.size):
                    hidden[k] = 0
                    gradient[k] = 0
                for r in range(begin, end):
                    row = matrix[corpus.rows[r]]
                    for k in range(hidden.size):
                        hidden[k] += row[k]
                for k in range(hidden.size):
                    hidden[k] *= share
                _learn(hidden, gradient, kept[j], output, 1.0, rate)
                for _ in range(training.n_negatives):
                    random, draw = _next(random)
                    other = corpus.negatives[draw % np.uint64(corpus.negatives.size)]
                    if other != kept[j]:
                        _learn(hidden, gradient, other, output, 0.0, rate)
                for k in range(hidden.size):
                    gradient[k] *= share
                for r in range(begin, end):
                    row = matrix[corpus.rows[r]]
                    for k in range(hidden.size):
                        row[k] += gradient[k]
    state[0], state[1] = random, seen
