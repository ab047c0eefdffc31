"""The distinct words of two columns: how rare each is, and which number it spells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.texts import TokenSpace
from dfjoin.kernels.texts.edit_distance import letter_sets
from dfjoin.kernels.texts.tokenising import CodePoints
from dfjoin.kernels.texts.word_alignment import Lexicon

__all__ = ["make_lexicon", "read_number"]

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
