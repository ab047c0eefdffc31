"""The equality matcher: query values → tokens of a vocabulary view."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.reading import reading
from dfjoin.index.segment import Tokens
from dfjoin.kernels.postings import build_directory, copy_values, directory_bits
from dfjoin.kernels.records import Dictionary
from dfjoin.kernels.sorting import argsort_u64
from dfjoin.kernels.vocabulary import find_tokens
from dfjoin.values.value_set import ValueSet

__all__ = ["Vocabulary", "match_tokens", "vocabulary_of"]


class Vocabulary:
    """A vocabulary held in memory, for pairing the rows of two frames.

    Parameters
    ----------
    values : ValueSet
        Distinct values of the one side.
    """

    def __init__(self, values: ValueSet) -> None:
        self.order = argsort_u64(values.hashes)
        self.hash = values.hashes[self.order]
        self.value_offsets = np.zeros(len(values) + 1, np.int64)
        self.value_bytes = np.zeros(int(values.offsets[-1]) + 8, np.uint8)
        lengths = np.diff(values.offsets).astype(np.int32)
        copy_values(self.order, values.offsets[:-1], lengths, values.data, self.value_bytes, self.value_offsets)
        self.directory = build_directory(self.hash, directory_bits(len(values)))
        for array in (self.hash, self.value_offsets, self.value_bytes, self.directory):
            array.flags.writeable = False


def vocabulary_of(values: ValueSet) -> Vocabulary:
    """Make a searchable vocabulary of a value set. O(n log n)."""
    return Vocabulary(values)


def match_tokens(values: ValueSet, vocabulary: Tokens | Vocabulary) -> NDArray[np.int64]:
    """Find the token of each query value.

    Parameters
    ----------
    values : ValueSet
        The query's distinct values.
    vocabulary : Tokens or Vocabulary
        Arrays ``directory``, ``hash``, ``value_offsets`` and ``value_bytes``.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        Token of each value, -1 if the vocabulary does not hold it.

    Raises
    ------
    IndexCorruptedError
        If the vocabulary's arrays contradict each other.
    """
    dictionary = Dictionary(vocabulary.directory, vocabulary.hash, vocabulary.value_offsets, vocabulary.value_bytes)
    tokens = np.empty(len(values), np.int64)
    with reading("value_offsets", "points outside `value_bytes`"):
        find_tokens(values.hashes, values.offsets, values.data, dictionary, tokens)
    return tokens
