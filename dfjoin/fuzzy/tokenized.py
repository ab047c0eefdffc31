"""A reference column and a query column, prepared for every distance that is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import Texts
from dfjoin.fuzzy.tokens import SparseRows, TokenSpace, tokenise
from dfjoin.kernels.token_rows import most_similar, row_weights
from dfjoin.kernels.tokenising import word_slices

__all__ = ["GRAMS", "WORDS", "Candidates", "Columns", "Side", "find_candidates", "prepare"]

WORDS = 0
GRAMS = (WORDS, 2, 3)
"""Tokenisations: words, and the lengths of q-grams."""

_BY = (WORDS, 3)
"""Tokenisations under which candidates are sought."""

Candidates: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]

N_CANDIDATES = 10
"""Reference texts looked at per query text and tokenisation."""

_BUDGET = 1 << 15
"""Postings read per query text and tokenisation."""


@dataclass(frozen=True)
class Side:
    """One of the two columns under the shared numbering of tokens.

    Parameters
    ----------
    rows : dict of int to SparseRows
        Token sets by tokenisation.
    weights, norms : dict of int to ndarray of float64
        Sum of the weights of each row, and root of the sum of their squares.
    letters : ndarray of int32
        Characters of the texts, numbered.
    offsets : ndarray of int64, shape (n + 1,)
        Where each text starts and ends in `letters`.
    """

    rows: dict[int, SparseRows]
    weights: dict[int, NDArray[np.float64]]
    norms: dict[int, NDArray[np.float64]]
    letters: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.offsets.shape[0] - 1)


@dataclass(frozen=True)
class Columns:
    """Both columns with what they share.

    Parameters
    ----------
    reference, query : Side
    spaces : dict of int to TokenSpace
        Weights and inverted index by tokenisation.
    n_letters : int
        Size of the alphabet.
    word_letters : ndarray of int32
        Characters of the distinct words, one word after the other.
    word_offsets : ndarray of int64, shape (n_words + 1,)
    word_kinds : ndarray of int64, shape (n_words,)
        1 for a number, else a kind of its own from 2.
    """

    reference: Side
    query: Side
    spaces: dict[int, TokenSpace]
    n_letters: int
    word_letters: NDArray[np.int32]
    word_offsets: NDArray[np.int64]
    word_kinds: NDArray[np.int64]


def prepare(reference: Texts, query: Texts) -> Columns:
    """Tokenise two columns in every way that is tried.

    Parameters
    ----------
    reference, query : Texts

    Returns
    -------
    Columns

    Notes
    -----
    O(characters + tokens log tokens) time and memory.
    """
    spaces = {gram: tokenise(reference, query, gram) for gram in GRAMS}
    points = np.concatenate([reference.points, query.points])
    alphabet, letters = np.unique(points, return_inverse=True)
    letters = letters.astype(np.int32)
    n = reference.points.size
    first = _make_side({g: s.reference for g, s in spaces.items()}, spaces, letters[:n], reference.offsets)
    second = _make_side({g: s.query for g, s in spaces.items()}, spaces, letters[n:], query.offsets)
    words, offsets = _spell_words(spaces[WORDS], reference, query, letters)
    kinds = _number_kinds(alphabet, words, offsets)
    return Columns(first, second, spaces, max(1, alphabet.size), words, offsets, kinds)


def _make_side(rows, spaces, letters, offsets) -> Side:
    weights = {g: row_weights(r.indptr, r.tokens, spaces[g].idf) for g, r in rows.items()}
    norms = {g: np.sqrt(row_weights(r.indptr, r.tokens, spaces[g].idf ** 2)) for g, r in rows.items()}
    return Side(rows, weights, norms, letters, offsets)


def _spell_words(space: TokenSpace, reference: Texts, query: Texts, letters):
    """Write out the characters of each distinct word."""
    starts, ends = (
        np.concatenate([a, b + reference.points.size])
        for a, b in zip(
            word_slices(reference.points, reference.offsets), word_slices(query.points, query.offsets), strict=True
        )
    )
    starts, ends = starts[space.occurrences], ends[space.occurrences]
    lengths = ends - starts
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    shift = np.repeat(starts - offsets[:-1], lengths)
    return letters[shift + np.arange(offsets[-1])], offsets


def _number_kinds(alphabet, letters, offsets) -> NDArray[np.int64]:
    """Give numbers the kind 1 and every other word one of its own."""
    is_digit = np.array([chr(point).isdigit() for point in alphabet.tolist()] + [False], bool)
    n_digits = np.zeros(letters.size + 1, np.int64)
    np.cumsum(is_digit[letters], out=n_digits[1:])
    is_number = n_digits[offsets[1:]] - n_digits[offsets[:-1]] == np.diff(offsets)
    return np.where(is_number, 1, np.arange(offsets.size - 1) + 2)


def find_candidates(columns: Columns, side: Side, texts: NDArray[np.int64]) -> Candidates:
    """Find the reference texts that may be the nearest ones to some texts.

    Parameters
    ----------
    columns : Columns
    side : Side
        ``columns.query``, or ``columns.reference`` to look for the neighbours of reference texts, of
        which none is its own.
    texts : ndarray of int64
        Which texts of the side.

    Returns
    -------
    rows, candidates : ndarray of int32, shape (n_pairs,)
        Pairs of a text of the side and a reference text, ascending, each once.

    Notes
    -----
    The most similar texts by words and by 3-grams, at most 10 each; see
    `dfjoin.kernels.token_rows.most_similar` for the cost, which does not grow with the product of the
    two columns.
    """
    pairs = []
    is_self = side is columns.reference
    for gram in _BY:
        space, rows = columns.spaces[gram], side.rows[gram]
        found, _ = most_similar(
            rows.indptr, rows.tokens, space.idf**2, side.norms[gram], space.list_indptr, space.list_rows,
            columns.reference.norms[gram], N_CANDIDATES, _BUDGET, is_self, texts,
        )  # fmt: skip
        numbers = np.repeat(texts, N_CANDIDATES)
        is_found = found.ravel() >= 0
        pairs.append((numbers[is_found] << 32) + found.ravel()[is_found])
    packed = np.unique(np.concatenate(pairs))
    return (packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32)
