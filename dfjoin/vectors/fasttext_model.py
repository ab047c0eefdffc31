"""fastText models as plain arrays: trained on texts, and applied without the library."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.skipgram import Corpus, Training, fill_uniform, train_texts
from dfjoin.kernels.vectors.subwords import (
    WordTable,
    count_words,
    embed_texts,
    enter_words,
    has_letters,
    index_words,
    list_ngrams,
)

_LINE_END = b"</s>"
_MAX_NGRAMS = 1 << 14
"""N-grams of a word that count; a word of more is a data stream."""

_STEP_TEXTS = 1 << 14
"""Texts between two chances to interrupt."""

Texts = tuple[NDArray[np.int64], NDArray[np.uint8]]
"""Texts in Arrow's layout: offsets, and UTF-8."""


@dataclass(frozen=True)
class FastTextModel:
    """Words, and a matrix with a row for each word and then for each bucket of n-grams.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_words + n_labels + 1,)
    data : ndarray of uint8
        The words in UTF-8, one after the other; then labels.
    matrix : ndarray of float32, shape (n_words + n_buckets, d)
    shortest, longest : int
        Characters of an n-gram.
    word_ngrams : int
        Words of the longest n-gram of words of a supervised model; 0: the model is not supervised.
    n_labels : int
        Labels behind the words.
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    matrix: NDArray[np.float32]
    shortest: int
    longest: int
    word_ngrams: int = 0
    n_labels: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """What is to be kept beside the arrays: the fields behind them, zeros at the end left out."""
        ngrams = self.shortest, self.longest
        return (*ngrams, self.word_ngrams, self.n_labels) if self.word_ngrams or self.n_labels else ngrams

    @property
    def n_words(self) -> int:
        """Words with a row of their own."""
        return int(self.offsets.size) - 1 - self.n_labels

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def table(self) -> WordTable:
        """The words, ready to be looked up."""
        n_entries = self.offsets.size - 1
        slots = np.full(1 << max(4, (2 * n_entries).bit_length()), -1, np.int32)
        offsets, data = as_read_only(self.offsets), as_read_only(self.data)
        index_words(offsets, data, slots)
        n_words, longest = self.n_words, self.longest
        n_buckets = self.matrix.shape[0] - n_words
        line_ends = np.flatnonzero((np.diff(offsets) == len(_LINE_END)) & (data[offsets[:-1]] == _LINE_END[0]))
        found = [i for i in line_ends.tolist() if data[offsets[i] : offsets[i + 1]].tobytes() == _LINE_END]
        line_end = found[0] if found and found[0] < n_words else -1
        slots = as_read_only(slots)
        return WordTable(offsets, data, slots, self.shortest, longest, n_buckets, n_words, self.word_ngrams, line_end)

    def embed(self, texts: Texts) -> NDArray[np.float32]:
        """Compute a vector of each text as fastText does: the mean of the unit vectors of its words.

        Of a supervised model it is the mean of all rows of the line, that of its end among them.

        Parameters
        ----------
        texts : tuple of ndarray
            Offsets and UTF-8.

        Returns
        -------
        ndarray of float32, shape (n_texts, d)
            Zeros for a text without a word that the model knows.
        """
        offsets, data = texts
        out = np.empty((offsets.size - 1, self.dimension), np.float32)
        scratch = np.empty((2, _MAX_NGRAMS), np.int64), np.empty(self.dimension, np.float32)
        table, matrix, data = self.table, as_read_only(self.matrix), as_read_only(data)
        for start in range(0, out.shape[0], _STEP_TEXTS):
            end = min(out.shape[0], start + _STEP_TEXTS)
            embed_texts(table, matrix, as_read_only(offsets[start : end + 1]), data, *scratch, out[start:end])
        return out


def texts_with_letters(texts: Texts) -> NDArray[np.bool_]:
    """Tell which texts hold a letter; the others are numbers and codes, whose n-grams mean nothing.

    Parameters
    ----------
    texts : tuple of ndarray
        Offsets and UTF-8.
    """
    out = np.empty(texts[0].size - 1, np.bool_)
    has_letters(as_read_only(texts[0]), as_read_only(texts[1]), out)
    return out


# Training --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained.

    Parameters
    ----------
    dimension : int
    max_words : int
        Words with a row of their own, the most frequent ones.
    n_buckets : int
        Rows of n-grams.
    shortest, longest : int
        Characters of an n-gram.
    epochs : int
    max_trained : int
        Words to train on in each epoch, at most; bounds the time.
    seed : int
    """

    dimension: int = 64
    max_words: int = 50_000
    n_buckets: int = 100_000
    shortest: int = 2
    longest: int = 4
    epochs: int = 1
    max_trained: int = 4_000_000
    seed: int = 1


_WINDOW, _NEGATIVES, _RATE, _FREQUENT, _MIN_COUNT = 5, 5, 0.05, 1e-4, 2
_MIN_TRAINED = 1000
_MAX_DISTINCT = 1 << 22
_MAX_ABS = 100.0
_FLOOR = 1e-9


def train_fasttext(texts: Texts, options: TrainingOptions, on_step: Any = None) -> FastTextModel:
    """Train word and n-gram vectors on texts (skip-gram), in one thread: the same texts give the same model.

    Parameters
    ----------
    texts : tuple of ndarray
        Offsets and UTF-8. Where they are too many, the first ones are used: they should come in random order.
    options : TrainingOptions
    on_step : callable, optional
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    FastTextModel

    Notes
    -----
    Source: Bojanowski et al., "Enriching word vectors with subword information", TACL 2017, with fastText's defaults
    (window 5, 5 negatives, rate 0.05, frequent words subsampled at 1e-4). Own code: releases of the library may train
    on memory that was never set. Where fewer than 1,000 words occur twice, nothing is trained: n-grams keep their
    random vectors, and the similarity of two words is that of their sets of n-grams. Time is bounded by `max_trained`.
    """
    offsets, data = as_read_only(texts[0]), as_read_only(texts[1])
    words, counts = _frequent_words(offsets, data, options.max_words)
    matrix = np.empty((words[0].size - 1 + options.n_buckets, options.dimension), np.float32)
    fill_uniform(matrix, 1.0 / options.dimension, options.seed)
    model = FastTextModel(*words, matrix, options.shortest, options.longest)
    if counts.size < _MIN_TRAINED:
        return model
    corpus = _corpus(model, offsets, data, counts, options)
    output = np.zeros((counts.size, options.dimension), np.float32)
    n_texts = corpus.indptr.size - 1
    training = Training(_WINDOW, _NEGATIVES, _RATE, max(1, corpus.words.size * options.epochs))
    scratch = (
        np.empty(options.dimension, np.float32),
        np.empty(options.dimension, np.float32),
        np.empty(1 << 12, np.int32),
        np.array([options.seed, 0], np.uint64),
    )
    for epoch in range(options.epochs):
        for first in range(0, n_texts, _STEP_TEXTS):
            last = min(n_texts, first + _STEP_TEXTS)
            train_texts(corpus, first, last, matrix, output, training, *scratch)
            if on_step is not None:
                on_step((epoch + last / n_texts) / options.epochs)
    if not bool(np.isfinite(matrix).all()) or float(np.abs(matrix).max()) > _MAX_ABS:
        raise FloatingPointError("the training of the word vectors diverged")
    return _whitened(model, corpus)


def _whitened(model: FastTextModel, corpus: Corpus) -> FastTextModel:
    """Move and turn the matrix so that the vectors of words have mean zero and no direction that stands out.

    Trained on short texts, all vectors lie near a few directions, and nearly everything is similar to everything. The
    vector of a word is the mean of rows, so that what is done to each row is done to it. Source: Mu, Viswanath,
    "All-but-the-top: simple and effective postprocessing for word representations", ICLR 2018; here all directions
    are scaled to the same variance, which found more misspelled values among the same number of others.
    """
    starts = corpus.row_indptr[:-1]
    sums = np.add.reduceat(model.matrix[corpus.rows].astype(np.float64), starts, axis=0)
    words = sums / np.diff(corpus.row_indptr)[:, None]
    mean = words.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(words.T) + _FLOOR * np.eye(words.shape[1]))
    turn = axes / np.sqrt(variances)
    matrix = ((model.matrix - mean.astype(np.float32)) @ turn.astype(np.float32)).astype(np.float32)
    return replace(model, matrix=matrix)


def _frequent_words(offsets: NDArray[np.int64], data: NDArray[np.uint8], most: int) -> tuple[Texts, NDArray[np.int64]]:
    """Return the words that occur twice or more, the most frequent first, and how often they do."""
    size = min(_MAX_DISTINCT, 1 << max(10, (int(data.size) // 3).bit_length()))
    firsts, lasts, counts = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    n, _ = count_words(offsets, data, np.full(2 * size, -1, np.int32), firsts, lasts, counts)
    order = np.argsort(-counts[:n], kind="stable")[:most]
    order = order[counts[order] >= _MIN_COUNT]
    words = [data[firsts[i] : lasts[i]] for i in order.tolist()]
    lengths = lasts[order] - firsts[order]
    packed = np.concatenate([*words, np.zeros(1, np.uint8)])
    return (np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), packed), counts[order]


def _corpus(
    model: FastTextModel,
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    counts: NDArray[np.int64],
    options: TrainingOptions,
) -> Corpus:
    """Write the texts as words, and the words as rows."""
    table = model.table
    numbers = np.empty(min(options.max_trained, int(data.size) + 1), np.int32)
    indptr = np.empty(offsets.size, np.int64)
    n_texts = enter_words(table, offsets, data, numbers, indptr)
    scratch = np.empty(_MAX_NGRAMS, np.int64)
    rows, row_indptr = [], np.zeros(counts.size + 1, np.int64)
    for word in range(counts.size):
        n = list_ngrams(table, table.data, table.offsets[word], table.offsets[word + 1], scratch)
        rows.append(np.append(word, scratch[:n]))
        row_indptr[word + 1] = row_indptr[word] + n + 1
    share = counts / counts.sum()
    keep = np.minimum(1.0, np.sqrt(_FREQUENT / share) + _FREQUENT / share)
    roots = np.sqrt(counts.astype(np.float64))
    ends = np.cumsum(roots) / roots.sum()
    negatives = np.searchsorted(ends, (np.arange(1 << 20) + 0.5) / (1 << 20)).astype(np.int32)
    return Corpus(
        as_read_only(numbers[: indptr[n_texts]]),
        as_read_only(indptr[: n_texts + 1]),
        as_read_only(np.concatenate(rows)),
        as_read_only(row_indptr),
        as_read_only(keep),
        as_read_only(np.minimum(negatives, counts.size - 1)),
    )
