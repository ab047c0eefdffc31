"""Token sets of two columns under one numbering, with the weights that their reference column gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import Texts
from dfjoin.kernels.sorting import argsort_u64
from dfjoin.kernels.tokenising import distinct_in_rows, gram_tokens, transpose_rows, word_tokens

__all__ = ["SparseRows", "TokenSpace", "tokenise"]


@dataclass(frozen=True)
class SparseRows:
    """Rows of token numbers, strictly ascending: `indptr` int64, shape (n + 1,), and `tokens` int32."""

    indptr: NDArray[np.int64]
    tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.indptr.shape[0] - 1)


@dataclass(frozen=True)
class TokenSpace:
    """Token sets of a reference column and a query column.

    Parameters
    ----------
    reference, query : SparseRows
    list_indptr, list_rows : ndarray
        Inverted index of the reference.
    idf : ndarray of float64, shape (n_tokens,)
        Weight of each token, from the reference alone.
    occurrences : ndarray of int64, shape (n_tokens,)
        Where each token occurs among the tokens of all texts, those of the reference first.
    """

    reference: SparseRows
    query: SparseRows
    list_indptr: NDArray[np.int64]
    list_rows: NDArray[np.int32]
    idf: NDArray[np.float64]
    occurrences: NDArray[np.int64]


def _hashes(texts: Texts, gram: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    if gram == 0:
        return word_tokens(texts.points, texts.offsets)
    return gram_tokens(texts.points, texts.offsets, gram)


def tokenise(reference: Texts, query: Texts, gram: int) -> TokenSpace:
    """Split the texts of two columns into words or q-grams.

    Parameters
    ----------
    reference, query : Texts
    gram : int
        Length of the q-grams; 0 for words.

    Returns
    -------
    TokenSpace
        Tokens are numbered by ascending frequency in the reference, then by their hash. The weight of a
        token that f of n reference texts hold is log(1 + n / max(f, 1)).

    Notes
    -----
    Tokens are told apart by a 64-bit hash. O(characters + tokens log tokens).
    """
    r_indptr, r_hashes = _hashes(reference, gram)
    q_indptr, q_hashes = _hashes(query, gram)
    hashes = np.concatenate([r_hashes, q_hashes])
    order = argsort_u64(hashes)
    ranked = hashes[order]
    is_new = np.ones(ranked.size, bool)
    is_new[1:] = ranked[1:] != ranked[:-1]
    ids = np.empty(ranked.size, np.int32)
    ids[order] = np.cumsum(is_new) - 1
    n_tokens = int(is_new.sum())
    first_indptr, first = distinct_in_rows(r_indptr, ids[: r_hashes.size])
    frequency = np.bincount(first, minlength=n_tokens)
    by_frequency = np.argsort(frequency, kind="stable")
    rank = np.empty(n_tokens, np.int32)
    rank[by_frequency] = np.arange(n_tokens, dtype=np.int32)
    reference_rows = SparseRows(*distinct_in_rows(first_indptr, rank[first]))
    query_rows = SparseRows(*distinct_in_rows(q_indptr, rank[ids[r_hashes.size :]]))
    list_indptr, list_rows = transpose_rows(reference_rows.indptr, reference_rows.tokens, n_tokens)
    idf = np.log1p(len(reference) / np.maximum(frequency[by_frequency], 1))
    occurrences = order[is_new][by_frequency].astype(np.int64)
    return TokenSpace(reference_rows, query_rows, list_indptr, list_rows, idf, occurrences)
