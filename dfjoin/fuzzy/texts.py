"""Columns of strings as distinct folded texts, and the token sets of two columns under one numbering."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sorting import argsort_u64
from dfjoin.kernels.texts.tokenising import (
    CodePoints,
    SparseRows,
    distinct_in_rows,
    gram_tokens,
    transpose_rows,
    word_tokens,
)
from dfjoin.values.unicode import normalize_text

WORDS = 0
"""Words, in place of the length of q-grams."""
_MAX_CHARACTERS = 2000
"""Characters from the start of a text by which it is compared, at most."""
_MIN_CHARACTERS = 100
_CHARACTERS_IN_ALL = 15_000_000
"""Characters of a column that are compared: many long texts are cut to fewer each."""
_VOWEL_SIGNS = "".join(chr(c) for c in range(0x900, 0x1A00) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
"""Marks of the scripts of India and of South East Asia: vowels and tones, which no accents are."""
_NO_WORD = re.compile(rf"(?:[^\w{_VOWEL_SIGNS}]|_)+")
_UNSPACED = re.compile("[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+")
"""A stretch of Chinese or Japanese, which write no spaces between words."""
_KEPT_MARKS = frozenset(_VOWEL_SIGNS) | {"\u3099", "\u309a"}
"""Marks that make another letter, as those of voice do in Japanese, Bali of Paris."""
_MARKS = re.compile(r"[()\[\]{},;]")
_OPEN, _CLOSE = "([{", ")]}"
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "ŋ": "n", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters with a stroke and the like, which Unicode does not take apart."""


@dataclass(frozen=True)
class Texts:
    """The distinct texts of a column and which row holds which.

    Parameters
    ----------
    values : list of str
        Distinct folded texts, ascending, none of them empty.
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's text; -1 for a null and for an empty text.
    asides : ndarray of uint64, shape (n,)
        Bit i is set if word i of a text stands in brackets or behind a comma.
    """

    values: list[str]
    codes: NDArray[np.int64]
    asides: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def code_points(self) -> CodePoints:
        """The texts as arrays."""
        points = np.frombuffer("".join(self.values).encode("utf-32-le", "surrogatepass"), np.uint32)
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum([len(value) for value in self.values], out=offsets[1:])
        return CodePoints(as_read_only(points), as_read_only(offsets))

    @property
    def n_present(self) -> int:
        """Rows that hold a text."""
        return int(np.count_nonzero(self.codes >= 0))

    def rows_of(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of each text as sparse rows: indptr, shape (n + 1,), and row numbers."""
        order = np.argsort(self.codes, kind="stable")
        order = order[np.count_nonzero(self.codes < 0) :]
        indptr = np.zeros(len(self) + 1, np.int64)
        np.cumsum(np.bincount(self.codes[order], minlength=len(self)), out=indptr[1:])
        return indptr, order.astype(np.int64)


def cut_texts(reference: Texts, query: Texts) -> tuple[Texts, Texts]:
    """Cut the texts of two columns to the same length: longer ones that agree so far are alike.

    Parameters
    ----------
    reference, query : Texts

    Returns
    -------
    tuple of Texts
        With the first 2,000 characters of each text, or with fewer, at least 100, of columns that have more than 15
        million in all then. Some of them may be equal.

    Notes
    -----
    This bounds time and memory (about 100 bytes a character) by the number of texts.
    """
    most = max(len(reference), len(query), 1)
    limit = min(_MAX_CHARACTERS, max(_MIN_CHARACTERS, _CHARACTERS_IN_ALL // most))
    cut = [replace(side, values=[value[:limit] for value in side.values]) for side in (reference, query)]
    return cut[0], cut[1]


def fold_text(value: str) -> str:
    """Return a text without case, accents and punctuation: words of letters and digits, one space between.

    Chinese and Japanese write no spaces: each two of their characters that stand side by side are a word.

    Parameters
    ----------
    value : str

    Returns
    -------
    str
        A value without any letter or digit keeps its signs, so that "+" and "-" stay two values.

    Examples
    --------
    >>> fold_text("  Café-Müller, (Ltd.) ")
    'cafe muller ltd'
    >>> fold_text("++")
    '++'
    >>> fold_text("北京大学")
    '北京 京大 大学'
    """
    text = normalize_text(value)
    if not text.isascii():
        plain = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c) or c in _KEPT_MARKS
        )
        text = _UNSPACED.sub(_pair_characters, unicodedata.normalize("NFC", plain).casefold().translate(_LETTERS))
    return _NO_WORD.sub(" ", text).strip() or text


def _pair_characters(stretch: re.Match[str]) -> str:
    """Write each two characters that stand side by side as a word."""
    text = stretch[0]
    return f" {' '.join(map(''.join, zip(text, text[1:], strict=False))) or text} "


def mark_asides(value: str) -> int:
    """Tell which words of a text stand in brackets or behind a comma, as bits.

    Parameters
    ----------
    value : str
        Before it is folded.

    Returns
    -------
    int
        Bit i for word i of the folded text, of the first 64; 0 if no word would be left.

    Examples
    --------
    >>> bin(mark_asides("The Summit (Reno), Nevada"))
    '0b1100'
    """
    marks, n_words, depth, start, is_behind = 0, 0, 0, 0, False
    n_core = 0
    for at in [*(match.start() for match in _MARKS.finditer(value)), len(value)]:
        n = len(_NO_WORD.sub(" ", fold_text(value[start:at])).split())
        if depth > 0 or is_behind:
            marks |= ((1 << n) - 1) << n_words
        else:
            n_core += n
        n_words += n
        if at < len(value):
            sign = value[at]
            depth = depth + 1 if sign in _OPEN else max(0, depth - 1) if sign in _CLOSE else depth
            is_behind = is_behind or (sign in ",;" and n_core > 0)
        start = at + 1
    return marks & 0xFFFFFFFFFFFFFFFF if n_core else 0


def fold_texts(column: pa.Array | pa.ChunkedArray) -> Texts:
    """Fold a column of strings; equal texts become one.

    Parameters
    ----------
    column : pyarrow Array or ChunkedArray of strings

    Returns
    -------
    Texts
        Sorted, so that nothing depends on the order of the rows.

    Notes
    -----
    O(characters + n log n) in Python's string functions, about 2 µs a distinct value.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = pc.dictionary_encode(column.cast(pa.large_string()))
    raw_values = encoded.dictionary.to_pylist()
    folded = [fold_text(value) for value in raw_values]
    values = sorted(set(folded) - {""})
    number = {value: i for i, value in enumerate(values)}
    asides = np.zeros(len(values), np.uint64)
    for value, text in sorted(zip(raw_values, folded, strict=True)):
        if text and _MARKS.search(value):
            asides[number[text]] = mark_asides(value)
    of_raw = np.array([number.get(text, -1) for text in folded] + [-1], np.int64)
    raw = encoded.indices.fill_null(len(folded)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(values, of_raw[raw], asides)


@dataclass(frozen=True)
class TokenSpace:
    """Token sets of a reference column and a query column.

    Parameters
    ----------
    reference, query : SparseRows
    reference_order, query_order : SparseRows
        The tokens in the order of each text, repeated ones included.
    list_indptr, list_rows : ndarray
        Inverted index of the reference.
    idf : ndarray of float64, shape (n_tokens,)
        Weight of each token, from the reference alone.
    occurrences : ndarray of int64, shape (n_tokens,)
        Where each token occurs among the tokens of all texts, those of the reference first.
    """

    reference: SparseRows
    query: SparseRows
    reference_order: SparseRows
    query_order: SparseRows
    list_indptr: NDArray[np.int64]
    list_rows: NDArray[np.int32]
    idf: NDArray[np.float64]
    occurrences: NDArray[np.int64]


def _hashes(texts: Texts, gram: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the hashes of the tokens of each text: indptr, shape (n + 1,), and hashes."""
    if gram == WORDS:
        return word_tokens(texts.code_points)
    return gram_tokens(texts.code_points, gram)


def tokenise(reference: Texts, query: Texts, gram: int) -> TokenSpace:
    """Split the texts of two columns into words or q-grams.

    Parameters
    ----------
    reference, query : Texts
    gram : int
        Length of the q-grams, or `WORDS`.

    Returns
    -------
    TokenSpace
        Tokens are numbered by ascending frequency in the reference, then by their hash. The weight of a
        token that f of n reference texts hold is log(1 + n / max(f, 1)).

    Notes
    -----
    Tokens are identified by a 64-bit hash. O(characters + tokens log tokens).
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
    first = distinct_in_rows(SparseRows(r_indptr, ids[: r_hashes.size]))
    frequency = np.bincount(first.tokens, minlength=n_tokens)
    by_frequency = np.argsort(frequency, kind="stable")
    rank = np.empty(n_tokens, np.int32)
    rank[by_frequency] = np.arange(n_tokens, dtype=np.int32)
    reference_rows = distinct_in_rows(SparseRows(first.indptr, rank[first.tokens]))
    query_rows = distinct_in_rows(SparseRows(q_indptr, rank[ids[r_hashes.size :]]))
    list_indptr, list_rows = transpose_rows(reference_rows, n_tokens)
    idf = np.log1p(len(reference) / np.maximum(frequency[by_frequency], 1))
    occurrences = order[is_new][by_frequency].astype(np.int64)
    orders = SparseRows(r_indptr, rank[ids[: r_hashes.size]]), SparseRows(q_indptr, rank[ids[r_hashes.size :]])
    return TokenSpace(reference_rows, query_rows, *orders, list_indptr, list_rows, idf, occurrences)
