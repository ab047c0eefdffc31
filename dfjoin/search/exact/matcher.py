"""The equality matcher: query values → tokens of a segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.reading import reading
from dfjoin.index.segment import Tokens
from dfjoin.kernels.lists.vocabulary import find_tokens
from dfjoin.kernels.records import Dictionary
from dfjoin.values.value_set import ValueSet

__all__ = ["match_tokens"]


def match_tokens(values: ValueSet, tokens: Tokens) -> NDArray[np.int64]:
    """Find the token of each query value.

    Parameters
    ----------
    values : ValueSet
        The query's distinct values.
    tokens : Tokens
        Of the segment.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        Token of each value, -1 if the vocabulary does not hold it.

    Raises
    ------
    IndexCorruptedError
        If the vocabulary's arrays contradict each other.
    """
    dictionary = Dictionary(tokens.directory, tokens.hash, tokens.value_offsets, tokens.value_bytes)
    found = np.empty(len(values), np.int64)
    with reading("value_offsets", "points outside `value_bytes`"):
        find_tokens(values.hashes, values.offsets, values.data, dictionary, found)
    return found
