"""Whether a table brings anything that the frame does not have: its own copies must not be joined to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidTypeError
from dfjoin.search.exact.matcher import Vocabulary, match_tokens, vocabulary_of
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.normalize import ValueSet, normalize_column

__all__ = ["brings_new"]

_SMALL_DOMAIN = 2  # flags share their values with every other flag


def brings_new(
    df: pd.DataFrame,
    left_codes: NDArray[np.int64],
    right: pd.DataFrame,
    right_codes: NDArray[np.int64],
    settings: IndexSettings,
) -> bool:
    """Tell whether some column of the right side is not in the frame already.

    A right column is there already when a column of the frame has, in every row that finds a partner, a
    value that the right column has for that key, or when the two have the same set of values (of more
    than two) over these rows.

    Parameters
    ----------
    df : DataFrame
        The frame so far.
    left_codes, right_codes : ndarray of int64
        Key of each row; right rows have keys of the frame only.
    right : DataFrame
        The columns that would be brought.
    settings : IndexSettings
        Normalisation.
    """
    present = np.zeros(int(max(left_codes.max(initial=-1), right_codes.max(initial=-1))) + 1, bool)
    present[right_codes[right_codes >= 0]] = True
    rows = np.flatnonzero((left_codes >= 0) & present[np.maximum(left_codes, 0)])
    keys = left_codes[rows]
    own: list[ValueSet] | None = None
    for position in range(right.shape[1]):
        values = _values(right.iloc[:, position], settings)
        if values is None or len(values) == 0:
            continue
        if own is None:
            taken = (_values(df.iloc[:, i].take(rows), settings) for i in range(df.shape[1]))
            own = [v for v in taken if v is not None and len(v) > 0]
        vocabulary = vocabulary_of(values)
        pairs = np.unique(right_codes * (len(values) + 1) + values.codes)
        if not any(_is_same(theirs, keys, values, vocabulary, pairs) for theirs in own):
            return True
    return False


def _is_same(
    own: ValueSet, keys: NDArray[np.int64], values: ValueSet, vocabulary: Vocabulary, pairs: NDArray[np.int64]
) -> bool:
    """Compare one column of the frame with one of the right side."""
    tokens = match_tokens(own, vocabulary)
    if (tokens < 0).any():
        return False  # it holds a value that the right column lacks
    if len(own) == len(values) > _SMALL_DOMAIN:
        return True
    codes = np.append(vocabulary.order[tokens].astype(np.int64), -1)[own.codes]
    filled = own.codes >= 0
    wanted = keys[filled] * (len(values) + 1) + codes[filled]
    places = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
    return bool((pairs[places] == wanted).all())


def _values(column: pd.Series, settings: IndexSettings) -> ValueSet | None:
    """Normalise a column of any dtype, None for one that has no text."""
    try:
        return normalize_column(column_to_arrow(column), settings)
    except InvalidTypeError:
        return None
