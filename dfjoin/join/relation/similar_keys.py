"""The choice of key columns for a join by similarity, where the caller names none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.tokenising import CodePoints, word_slices, word_tokens
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.values.shares import ENOUGH, SOME

__all__ = ["choose_similar_keys", "is_named_by_words"]

_MAX_WORDS = 1 << 16
"""Distinct words of a column that are compared."""
_MANY_SHAPES = 100
"""Distinct values without their digits that are enough, whatever their share: weekdays and months together make 84."""
_MAX_CHARACTERS = 200
"""Characters from the start of a value that are looked at."""
_MIN_LENGTH = 3
"""Bytes of the shortest word that counts."""
_BETWEEN_WORDS = r"[^\pL\pN]+"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
"""Letters of Chinese and Japanese, which write no spaces: each two of them that stand side by side count as a word."""

TextColumns = Mapping[str, Column]
"""The columns of a table that can be keys, as strings, by name."""


def choose_similar_keys(left: TextColumns, right: TextColumns) -> tuple[str, str] | None:
    """Choose the pair of columns whose values share the most rare words.

    Parameters
    ----------
    left, right : mapping of str to Column

    Returns
    -------
    tuple of str or None
        None if no pair has a fifth of its weight in common. Columns with fewer than ten distinct values do
        not take part, nor do those that `is_named_by_words` refuses. Of equal pairs the first in the
        order of columns.

    Notes
    -----
    A word weighs log(n / number of values that hold it), n the values of its column; a pair of columns
    scores the shared weight over the smaller of both. Of columns of many words those are compared whose
    hash is smallest, up to one bound for all columns (bottom-k sampling, Cohen and Kaplan, PODC 2007): one
    side then holds in its sample what the other side has in its own, whatever the number of rows. The
    order of rows does not matter. O(characters + pairs of columns × 65,536).
    """
    sides = [
        {name: words for name, column in table.items() if (words := _words_of(column.array)) is not None}
        for table in (left, right)
    ]
    bound = min((_bound(hashes) for side in sides for hashes, _ in side.values()), default=np.uint64(0))
    kept = [{name: _below(words, bound) for name, words in side.items()} for side in sides]
    best, chosen = SOME, None
    for own, mine in kept[0].items():
        for other, theirs in kept[1].items():
            share = _shared_weight(mine, theirs)
            if share > best:
                best, chosen = share, (own, other)
    return chosen


def is_named_by_words(keys: pa.Array, is_chosen_by_caller: bool = False) -> bool:
    """Tell whether the values of a column are told apart by more than their digits.

    Parameters
    ----------
    keys : pyarrow Array of strings, or of structs of strings
        Of a key of several columns one column must tell its values apart by more than digits.
    is_chosen_by_caller : bool, default False
        The caller names the columns, which may have fewer than ten values then.

    Returns
    -------
    bool
        False for dates, years, counts, sequential codes and the like: fewer than a fifth of the distinct values,
        or fewer than ten, stay distinct if each stretch of digits is taken for the same. Values
        that are alike are not the same thing there, but neighbours. A hundred that stay distinct are names, however
        many years or numbers each of them has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_named_by_words(pa.array([f"INV-{i}" for i in range(100)]))
    False
    """
    columns = keys.flatten() if pa.types.is_struct(keys.type) else [keys]
    return any(_tells_apart(_folded(column), 1 if is_chosen_by_caller else ENOUGH) for column in columns)


Words = tuple[NDArray[np.uint64], NDArray[np.float64]]
"""Distinct hashes of words, ascending, and the weight of each."""


def _folded(array: pa.Array) -> pa.Array:
    """Return the distinct values, in lower case and cut to their first characters."""
    distinct = array.unique().drop_null().cast(pa.large_string())
    return pc.utf8_lower(pc.utf8_slice_codeunits(distinct, 0, _MAX_CHARACTERS))


def _tells_apart(folded: pa.Array, least: int = ENOUGH) -> bool:
    """Tell whether enough values stay distinct without their digits."""
    shapes = pc.count_distinct(pc.replace_substring_regex(folded, r"[0-9]+", "0")).as_py()
    return bool(shapes >= max(least, min(_MANY_SHAPES, SOME * len(folded))))


def _words_of(array: pa.Array) -> Words | None:
    """Return the words of a column's distinct values with their weights; None for a column that is no key."""
    folded = _folded(array)
    if len(folded) < ENOUGH or not _tells_apart(folded):
        return None
    texts = pc.replace_substring_regex(_pair_unspaced(folded), _BETWEEN_WORDS, " ")
    _, offsets, data = texts.buffers()
    bytes_ = CodePoints(
        as_read_only(np.frombuffer(data or b"", np.uint8).astype(np.uint32)),
        as_read_only(np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]),
    )
    indptr, hashes = word_tokens(bytes_)
    starts, ends = word_slices(bytes_)
    is_long = ends - starts >= _MIN_LENGTH
    rows = np.repeat(np.arange(len(folded)), np.diff(indptr))[is_long]
    hashes = hashes[is_long]
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    is_first = np.ones(hashes.size, bool)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
    found, counts = np.unique(hashes[is_first], return_counts=True)
    weights = np.log(len(folded) / counts)
    is_rare = weights > 0
    return (found[is_rare], weights[is_rare]) if is_rare.any() else None


def _pair_unspaced(texts: pa.Array) -> pa.Array:
    """Write Chinese and Japanese as pairs of letters, from the first of a stretch on, then from the second."""
    if not pc.any(pc.match_substring_regex(texts, _UNSPACED)).as_py():
        return texts
    shifted = pc.replace_substring_regex(texts, f"{_UNSPACED}({_UNSPACED}+)", r"\1")
    pairs = [pc.replace_substring_regex(one, f"({_UNSPACED}{{2}})", r" \1 ") for one in (texts, shifted)]
    return pc.binary_join_element_wise(*pairs, pa.scalar(" ", pa.large_string()))


def _bound(hashes: NDArray[np.uint64]) -> np.uint64:
    """Return the largest hash that a sample of a column's words would hold."""
    return np.uint64(hashes[min(_MAX_WORDS, hashes.size) - 1] if hashes.size > _MAX_WORDS else np.iinfo(np.uint64).max)


def _below(words: Words, bound: np.uint64) -> Words:
    """Return the words up to a hash."""
    n = int(np.searchsorted(words[0], bound, side="right"))
    return words[0][:n], words[1][:n]


def _shared_weight(mine: Words, theirs: Words) -> float:
    """Return the weight of common words over the smaller weight of the two columns."""
    _, own, other = np.intersect1d(mine[0], theirs[0], assume_unique=True, return_indices=True)
    whole = min(mine[1].sum(), theirs[1].sum())
    return float(np.minimum(mine[1][own], theirs[1][other]).sum() / whole) if whole > 0 else 0.0
