"""The score of two columns of frames, as if the right frame were a lake of one table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import N_SUMS, SCALE, WEIGHT, weigh_values
from dfjoin.kernels.lists.usefulness import (
    FEATURES,
    N_SCORES,
    SCORE,
    ColumnRecords,
    MetNames,
    TableNumbers,
    score_candidates,
)
from dfjoin.kernels.texts.header_relations import FrameHeaders, briefs_of
from dfjoin.kernels.texts.header_words import HeaderWords
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.lake_facts import record_of
from dfjoin.search.usefulness.model import model
from dfjoin.values.header_meaning import are_codes, headers_of


def score_pair(own: QueryColumn, theirs: QueryColumn, is_shared: NDArray[np.bool_], n_columns: int) -> float:
    """Return the score of a column of one frame for a column of another.

    Parameters
    ----------
    own, theirs : QueryColumn
    is_shared : ndarray of bool, shape (n_values,)
        Own values that the other column holds.
    n_columns : int
        Columns of the other frame.

    Notes
    -----
    The other frame has no name, and the other columns of either play no part. O(values).
    """
    values = own.values
    weights = np.empty((len(values), N_SUMS), np.int64)
    n_holding, n_rows = is_shared.astype(np.int64), np.ones(len(values), np.int64)
    weigh_values(values.data, values.offsets, n_holding, n_columns, n_rows, weights)
    none = np.zeros(1, np.int64)
    tables = TableNumbers(*_words_of(""), np.array([n_columns]), np.zeros(1), np.zeros(1), none)
    words, briefs = _words_of(theirs.name)
    record = record_of(theirs.profile, len(theirs.values), theirs.is_unique, bool(are_codes(words)[0]))
    known = ColumnRecords(record, words, briefs)
    lake = known, tables, FrameHeaders(none, none, np.zeros(1, np.uint8))
    met = MetNames(np.zeros(1, np.uint8), np.zeros(1, np.uint8))
    features, out = np.empty((1, len(FEATURES))), np.empty((N_SCORES, 1))
    evidence = weights[is_shared].sum(axis=0, keepdims=True), float(weights[:, WEIGHT].sum()) / SCALE
    score_candidates(none, evidence, lake, query_facts(own), model().numbers, 0.0, met, features, out)
    return float(out[SCORE, 0])


@lru_cache(maxsize=256)
def _words_of(name: str) -> tuple[HeaderWords, NDArray[np.uint64]]:
    """Return a name as words, and what is looked at first of it; two frames are compared column by column."""
    words = headers_of([name])
    return words, briefs_of(words)
