"""Pairs of values that share no rare q-gram: initials, short codes, the same words or numbers in another order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dfjoin.programs.lookup import Lookup, tables_with
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.value_pairs import ValuePairs
from dfjoin.values.shares import FEW, MOST
from dfjoin.values.unicode import normalize_text

_MAX_VALUES = 1_000
"""Values of a column whose signatures are compared."""
_MAX_TEXT = 200
"""Characters; longer values have no signature."""
_MAX_ALIKE = 8
"""Values of one signature above which it says nothing."""
_MAX_CODE = 10
"""Characters of a code that is made of initials."""
_MAX_SHORT = 2
"""Characters of a part that no q-gram finds."""
_MIN_DIGITS = 4
"""Digits of a text that are compared without what stands between them."""
_MIN_SHARE = 0.05
"""Share of the values of the smaller column that must have a partner of the same signature."""
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_CAPITALS = re.compile(r"[A-Z\u00c0-\u00de]")

Holders = dict[str, list[int]]
"""Numbers of the values that have each signature."""
_Signer = Callable[[list[str]], list[set[str]]]
"""Gives each text its signatures."""


@dataclass(frozen=True)
class SignedValues:
    """The values of a column by their signatures, of each kind.

    Parameters
    ----------
    column : Column
        Its distinct values; the first 1,000 in their order are signed.
    """

    column: Column

    @cached_property
    def texts(self) -> list[str]:
        """The first distinct values as they are written; long ones are empty."""
        rows = self.column.first_rows[:_MAX_VALUES]
        return [text if text and len(text) <= _MAX_TEXT else "" for text in self.column.array.take(rows).to_pylist()]

    @cached_property
    def as_source(self) -> list[Holders]:
        """Values by signature, one entry a kind, of what programs read."""
        return [_holders(signs(self.texts)) for signs, _ in _KINDS]

    @cached_property
    def as_target(self) -> list[Holders]:
        """Values by signature, one entry a kind, of what programs make."""
        return [
            own if signs is same else _holders(signs(self.texts))
            for own, (same, signs) in zip(self.as_source, _KINDS, strict=True)
        ]


def signature_pairs(source: SignedValues, target: SignedValues) -> list[ValuePairs]:
    """Pair values of two columns by signatures, one list of pairs for each kind of signature.

    Parameters
    ----------
    source, target : SignedValues

    Returns
    -------
    list of ValuePairs
        Kinds that pair at least 3 values and a twentieth of the smaller column, those that pair most first. The score
        of a pair is 1 / (n m) for n and m values of its signature, as for q-grams; signatures of more than 8
        values pair none.

    Notes
    -----
    Signatures of the source and of the target: initials of all words, of capitalised words, or the first letters, and
    the letters of a short code; short words, and short values; words and numbers in any order, those left out that
    four fifths of the values hold; stretches of digits in any order; all digits in their order; letters and digits
    without what stands between them; entries of lookup tables, and values. What the pairs have in common is for the
    learner to find, and for the evidence against chance to judge. O(characters).
    """
    n_least = max(FEW, _MIN_SHARE * min(len(source.texts), len(target.texts)))
    found = [_pair(own, theirs, target) for own, theirs in zip(source.as_source, target.as_target, strict=True)]
    return sorted((pairs for pairs in found if len(pairs) >= n_least), key=lambda pairs: -len(pairs))


def _pair(mine: Holders, others: Holders, target: SignedValues) -> ValuePairs:
    """Pair each value with those of its rarest signature."""
    best: dict[int, tuple[float, str]] = {}
    for sign in mine.keys() & others.keys():
        values, n, m = mine[sign], len(mine[sign]), len(others[sign])
        if n > _MAX_ALIKE or m > _MAX_ALIKE:
            continue
        for value in values:
            best[value] = max(best.get(value, (0.0, "")), (1 / (n * m), sign))
    rows = [(-score, left, right) for left, (score, sign) in best.items() for right in others[sign]]
    rows.sort()
    left = np.array([row[1] for row in rows], np.int64)
    right = np.array([row[2] for row in rows], np.int64)
    lengths = np.diff(target.column.values.offsets)[right].astype(np.int64)
    return ValuePairs(left, right, np.array([-row[0] for row in rows], np.float64), lengths)


def _holders(signs: list[set[str]]) -> Holders:
    """Return the values that have each signature."""
    holders: dict[str, list[int]] = defaultdict(list)
    for value, some in enumerate(signs):
        for sign in some:
            holders[sign].append(value)
    return holders


def _each(sign: Callable[[str], Iterable[str]]) -> _Signer:
    """Sign each text by itself; empty signatures are none."""
    return lambda texts: [{one for one in sign(text) if one} for text in texts]


def _initials(text: str) -> tuple[str, ...]:
    """Return the first letters of words, of large words, and the first letters of the text."""
    words = _LETTERS.findall(text)
    if not words:
        return ()
    first = "".join(word[0] for word in words)
    large = "".join(_CAPITALS.findall(text))
    starts = ("".join(words)[:2], "".join(words)[:3]) if len(words) == 1 else ()
    return tuple(code.lower() for code in (first, large, first[::-1], *starts) if 2 <= len(code) <= _MAX_CODE)


def _code(text: str) -> tuple[str, ...]:
    """Return the letters of a short code."""
    letters = "".join(_LETTERS.findall(text)).lower()
    return (letters,) if 2 <= len(letters) <= _MAX_CODE else ()


def _short_words(text: str) -> tuple[str, ...]:
    """Return the words of one or two characters."""
    return tuple(word for word in _WORD.findall(normalize_text(text)) if len(word) <= _MAX_SHORT)


def _short_value(text: str) -> tuple[str, ...]:
    """Return a value of one or two letters and digits."""
    return (made,) if len(made := _squeezed(text)) <= _MAX_SHORT else ()


def _squeezed(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(c for c in normalize_text(text) if c.isalnum())


def _numbers(text: str) -> tuple[str, ...]:
    """Return the stretches of digits in ascending order, without zeros in front."""
    runs = sorted(run.lstrip("0") or "0" for run in re.findall("[0-9]+", text))
    return (" ".join(runs),) if len(runs) >= 2 else ()


def _digits(text: str) -> tuple[str, ...]:
    """Return all digits of a text that has at least four, in their order: ``2019-01-07`` and ``20190107x``."""
    digits = "".join(re.findall("[0-9]", text))
    return (digits,) if len(digits) >= _MIN_DIGITS else ()


def _entries(text: str) -> tuple[str, ...]:
    """Return what lookup tables have for a text."""
    key = normalize_text(text)
    return tuple((Lookup(table)(key) or "").lower() for table in tables_with(key))


def _words(texts: list[str]) -> list[set[str]]:
    """Sign texts by their words and numbers in ascending order, those left out that most texts hold."""
    parts = [[word.lstrip("0") or "0" for word in _WORD.findall(normalize_text(text))] for text in texts]
    counts = Counter(word for words in parts for word in set(words))
    most = max(2.0, MOST * len(texts))
    kept = [sorted(word for word in words if counts[word] < most) for words in parts]
    return [{" ".join(words)} if len(words) >= 2 else set() for words in kept]


_BY_NUMBERS, _BY_DIGITS = _each(_numbers), _each(_digits)
_SQUEEZED = _each(lambda text: (_squeezed(text),))
_KINDS: tuple[tuple[_Signer, _Signer], ...] = (
    (_words, _words),
    (_BY_NUMBERS, _BY_NUMBERS),
    (_BY_DIGITS, _BY_DIGITS),
    (_SQUEEZED, _SQUEEZED),
    (_each(_initials), _each(_code)),
    (_each(_entries), _each(lambda text: (normalize_text(text),))),
    (_each(_short_words), _each(_short_value)),
)
"""Signatures of the source and those of the target that they are compared with."""
