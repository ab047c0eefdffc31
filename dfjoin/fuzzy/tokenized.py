"""A reference column and a query column as token sets, prepared for every distance, and their common dictionary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import WORDS, Texts, TokenSpace, cut_texts, tokenise
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts.edit_distance import letter_sets
from dfjoin.kernels.texts.token_rows import TextPairs, TokenIndex, WantedRows, most_similar, row_weights
from dfjoin.kernels.texts.tokenising import CodePoints, SparseRows, word_slices
from dfjoin.kernels.texts.word_alignment import Lexicon, WordRows

_SPELLINGS = (
    "zero",
    "one i first 1st",
    "two ii second 2nd",
    "three iii third 3rd",
    "four iv fourth 4th",
    "five v fifth 5th",
    "six vi sixth 6th",
    "seven vii seventh 7th",
    "eight viii eighth 8th",
    "nine ix ninth 9th",
    "ten x tenth 10th",
    "eleven xi eleventh 11th",
    "twelve xii twelfth 12th",
    "thirteen xiii thirteenth 13th",
    "fourteen xiv fourteenth 14th",
    "fifteen xv fifteenth 15th",
    "sixteen xvi sixteenth 16th",
    "seventeen xvii seventeenth 17th",
    "eighteen xviii eighteenth 18th",
    "nineteen xix nineteenth 19th",
    "twenty xx twentieth 20th",
)
_NUMBERS = {word: number for number, words in enumerate(_SPELLINGS) for word in words.split()}
_MAX_DIGITS = 18


def read_number(word: str) -> int:
    """Return the number that a folded word spells, in digits, in English or in Roman numerals up to 20.

    Parameters
    ----------
    word : str

    Returns
    -------
    int
        -1 for a word that is no number, and for one of more than 18 digits.

    Examples
    --------
    >>> read_number("007"), read_number("vii"), read_number("seventh"), read_number("seven7")
    (7, 7, 7, -1)
    """
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= _MAX_DIGITS else -1
    return _NUMBERS.get(word, -1)


def make_lexicon(space: TokenSpace, alphabet: NDArray[np.uint32], words: CodePoints) -> Lexicon:
    """Weigh the words of two columns by their rarity in both, and read those that are numbers.

    Parameters
    ----------
    space : TokenSpace
        Of words.
    alphabet : ndarray of uint32
        Code point of each character number.
    words : CodePoints
        Characters of each word, numbered.

    Returns
    -------
    Lexicon
        A word that f of all n texts hold weighs log(1 + n / f) / log(1 + n).

    Notes
    -----
    O(characters) in Python, about 0.3 µs a distinct word.
    """
    letters, offsets = words
    text = alphabet[letters].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass") if letters.size else ""
    bounds = offsets.tolist()
    spelled = [text[start:end] for start, end in zip(bounds[:-1], bounds[1:], strict=True)]
    numbers = np.array([read_number(word) for word in spelled], np.int64)
    has_digit = np.array([any(map(str.isdigit, word)) for word in spelled], bool)
    n = len(space.reference.indptr) + len(space.query.indptr) - 2
    held = np.bincount(space.reference.tokens, minlength=numbers.size)
    held += np.bincount(space.query.tokens, minlength=numbers.size)
    weights = np.log1p(n / np.maximum(held, 1)) / np.log1p(max(n, 1))
    return Lexicon(weights, numbers, has_digit, words, letter_sets(words), max(1, alphabet.size))


GRAM_LENGTHS = (WORDS, 3)
"""Tokenisations: words, and the lengths of q-grams."""

_MAX_CANDIDATES = 10
"""Reference texts per query text and tokenisation."""

_MAX_POSTINGS = 1 << 12
"""Postings read per query text and tokenisation, before the best are compared by all tokens."""


@dataclass(frozen=True)
class TokenizedColumn:
    """A column under the numbering of tokens that both columns share.

    Parameters
    ----------
    rows : dict of int to SparseRows
        Token sets by tokenisation.
    norms : dict of int to ndarray of float64
        Root of the sum of the squared weights of each row.
    letters : CodePoints
        The texts, their characters numbered.
    words : WordRows
        The words in their order.
    """

    rows: dict[int, SparseRows]
    norms: dict[int, NDArray[np.float64]]
    letters: CodePoints
    words: WordRows

    def __len__(self) -> int:
        return int(self.letters.offsets.shape[0] - 1)


@dataclass(frozen=True)
class TokenizedColumns:
    """Both columns with what they share.

    Parameters
    ----------
    reference, query : TokenizedColumn
    spaces : dict of int to TokenSpace
        Weights and inverted index by tokenisation.
    n_letters : int
        Size of the alphabet.
    words : CodePoints
        The distinct words, their characters numbered.
    word_kinds : ndarray of int64, shape (n_words,)
        1 for a number, else a kind of its own from 2.
    lexicon : Lexicon
        The same words as alignments look at them.
    """

    reference: TokenizedColumn
    query: TokenizedColumn
    spaces: dict[int, TokenSpace]
    n_letters: int
    words: CodePoints
    word_kinds: NDArray[np.int64]
    lexicon: Lexicon


def prepare(reference: Texts, query: Texts) -> TokenizedColumns:
    """Tokenise two columns in all ways.

    Parameters
    ----------
    reference, query : Texts

    Returns
    -------
    TokenizedColumns

    Notes
    -----
    O(characters + tokens log tokens) time and memory, of the characters that `dfjoin.fuzzy.texts.cut_texts` leaves.
    """
    reference, query = cut_texts(reference, query)
    spaces = {gram: tokenise(reference, query, gram) for gram in GRAM_LENGTHS}
    points = np.concatenate([reference.code_points.points, query.code_points.points])
    alphabet, numbers = np.unique(points, return_inverse=True)
    letters = numbers.astype(np.int32)
    n = reference.code_points.points.size
    texts = CodePoints(letters[:n], reference.code_points.offsets), CodePoints(letters[n:], query.code_points.offsets)
    rows = {gram: space.reference for gram, space in spaces.items()}, {gram: s.query for gram, s in spaces.items()}
    words = _spell_words(spaces[WORDS], reference, query, letters)
    orders = (
        WordRows(spaces[WORDS].reference_order, reference.asides),
        WordRows(spaces[WORDS].query_order, query.asides),
    )
    return TokenizedColumns(
        reference=_weigh(rows[0], spaces, texts[0], orders[0]),
        query=_weigh(rows[1], spaces, texts[1], orders[1]),
        spaces=spaces,
        n_letters=max(1, alphabet.size),
        words=words,
        word_kinds=_number_kinds(alphabet, words),
        lexicon=make_lexicon(spaces[WORDS], alphabet, words),
    )


def _weigh(
    rows: dict[int, SparseRows], spaces: dict[int, TokenSpace], letters: CodePoints, words: WordRows
) -> TokenizedColumn:
    """Add up the squared weights of the tokens of each text."""
    norms = {gram: np.sqrt(row_weights(r, spaces[gram].idf ** 2)) for gram, r in rows.items()}
    return TokenizedColumn(rows, norms, letters, words)


def _spell_words(space: TokenSpace, reference: Texts, query: Texts, letters: NDArray[np.int32]) -> CodePoints:
    """Write out the characters of each distinct word."""
    n = reference.code_points.points.size
    slices = zip(word_slices(reference.code_points), word_slices(query.code_points), strict=True)
    starts, ends = (np.concatenate([own, other + n])[space.occurrences] for own, other in slices)
    offsets = np.zeros(starts.size + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    return CodePoints(letters[expand_stretches(starts, ends - starts)], offsets)


def _number_kinds(alphabet: NDArray[np.uint32], words: CodePoints) -> NDArray[np.int64]:
    """Give numbers the kind 1 and every other word one of its own."""
    letters, offsets = words
    is_digit = np.array([chr(point).isdigit() for point in alphabet.tolist()] + [False], bool)
    n_digits = np.zeros(letters.size + 1, np.int64)
    np.cumsum(is_digit[letters], out=n_digits[1:])
    is_number = n_digits[offsets[1:]] - n_digits[offsets[:-1]] == np.diff(offsets)
    return np.where(is_number, 1, np.arange(offsets.size - 1) + 2)


def find_candidates(columns: TokenizedColumns, side: TokenizedColumn, texts: NDArray[np.int64]) -> TextPairs:
    """Find the reference texts that may be the nearest ones to some texts.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        ``columns.query``, or ``columns.reference`` to look for the neighbours of reference texts, of
        which none is its own.
    texts : ndarray of int64
        Texts of the side.

    Returns
    -------
    TextPairs
        Pairs of a text of the side and a reference text, ascending, each once.

    Notes
    -----
    The most similar texts by words and by 3-grams, at most 10 each; see
    `dfjoin.kernels.texts.token_rows.most_similar` for the cost, which does not grow with the product of the
    two columns.
    """
    pairs = []
    is_self = side is columns.reference
    for gram in GRAM_LENGTHS:
        space, rows = columns.spaces[gram], side.rows[gram]
        norms, forward = columns.reference.norms[gram], columns.reference.rows[gram]
        index = TokenIndex(space.list_indptr, space.list_rows, space.idf**2, norms, forward)
        wanted = WantedRows(rows, side.norms[gram], texts)
        found, _ = most_similar(wanted, index, _MAX_CANDIDATES, _MAX_POSTINGS, is_self)
        numbers = np.repeat(texts, _MAX_CANDIDATES)
        is_found = found.ravel() >= 0
        pairs.append((numbers[is_found] << 32) + found.ravel()[is_found])
    packed = np.unique(np.concatenate(pairs))
    return TextPairs((packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32))
