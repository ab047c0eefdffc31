"""The pair of columns that a fuzzy join is most likely to relate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

__all__ = ["closest_columns"]

_MAX_VALUES = 2000
_LEAST_DISTINCT = 10
_LEAST_SHARE = 0.2
_WORD = re.compile(r"[^\W\d_]{3,}|\d{3,}")


def closest_columns(
    left: dict[str, pa.Array],
    right: dict[str, pa.Array],
    on: Sequence[str] | None = None,
    right_on: Sequence[str] | None = None,
) -> tuple[str, str] | None:
    """Choose the pair of columns whose values share the most rare words.

    Parameters
    ----------
    left, right : dict of str to pyarrow Array of string
    on, right_on : sequence of str, optional
        Restrict the choice.

    Returns
    -------
    tuple of str or None
        None if no pair has a fifth of its weight in common. Columns with fewer than ten distinct values do
        not take part. Of equal pairs the first in the order of columns.

    Notes
    -----
    A word weighs log(n / number of values that hold it), n the values of its column; a pair of columns
    scores the shared weight over the smaller of both. Of a large column 2,000 values, spread over it, are
    looked at. O(characters looked at + pairs of columns × words).
    """
    sides = [
        {name: weights for name in (names or table) if (weights := _weights(table[name]))}
        for table, names in ((left, on), (right, right_on))
    ]
    best, chosen = _LEAST_SHARE, None
    for own, mine in sides[0].items():
        for other, theirs in sides[1].items():
            shared = sum(min(weight, theirs[word]) for word, weight in mine.items() if word in theirs)
            share = shared / min(sum(mine.values()), sum(theirs.values()))
            if share > best:
                best, chosen = share, (own, other)
    return chosen


def _weights(array: pa.Array) -> dict[str, float]:
    """Return the words of a column's distinct values with their weights; nothing for one of few values."""
    distinct = array.unique().drop_null()
    if len(distinct) < _LEAST_DISTINCT:
        return {}
    step = max(1, len(distinct) // _MAX_VALUES)
    texts = distinct.take(pa.array(np.arange(0, len(distinct), step))).to_pylist()
    counts = Counter(word for text in texts for word in set(_WORD.findall(text.casefold())))
    weights = {word: float(np.log(len(texts) / count)) for word, count in counts.items()}
    return {word: weight for word, weight in weights.items() if weight > 0}
