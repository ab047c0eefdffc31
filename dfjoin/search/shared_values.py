"""The evidence behind a candidate: which values are shared, and which stand on one side only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.segment import Segment

__all__ = ["shared_mask", "tokens_of_column", "value_of_token"]


def shared_mask(segment: Segment, column: int, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which query values a column holds.

    Parameters
    ----------
    segment : Segment
    column : int
        Column id.
    groups : ndarray of int64, shape (n_values,)
        Posting group of each query value, -1 for none.

    Returns
    -------
    ndarray of bool, shape (n_values,)
    """
    tokens = segment.tokens
    start, end = tokens.set_indptr[column : column + 2].tolist()
    lists = tokens.set_lists[start:end].astype(np.int64) + segment.n_columns
    places = np.searchsorted(lists, groups)
    is_listed = np.zeros(groups.size, bool)
    inside = places < lists.size
    is_listed[inside] = lists[places[inside]] == groups[inside]
    return is_listed | (groups == column)


def tokens_of_column(segment: Segment, column: int) -> NDArray[np.int64]:
    """List the tokens of a column's set; its private ones first, then list by list."""
    tokens = segment.tokens
    start, end = tokens.set_indptr[column : column + 2].tolist()
    _check(segment, "set_lists", tokens.set_lists[start:end], tokens.list_indptr.size - 1)
    groups = np.concatenate([[column], tokens.set_lists[start:end].astype(np.int64) + segment.n_columns])
    bounds = [(int(tokens.group_indptr[g]), int(tokens.group_indptr[g + 1])) for g in groups]
    found = np.concatenate([tokens.group_tokens[low:high].astype(np.int64) for low, high in bounds])
    _check(segment, "group_tokens", found, tokens.hash.size)
    return found


def _check(segment: Segment, component: str, numbers: NDArray, limit: int) -> None:
    """Raise when numbers of a damaged component point outside the segment."""
    if numbers.size and int(numbers.max()) >= limit:
        raise IndexCorruptedError(
            f"component `{component}` of segment {segment.meta.id} names entries that the segment does not have; "
            "run `verify()` on the lake, then build the index again"
        )


def value_of_token(segment: Segment, token: int) -> str:
    """Return the canonical value of a token."""
    tokens = segment.tokens
    start, end = tokens.value_offsets[token : token + 2].tolist()
    return tokens.value_bytes[start:end].tobytes().decode("utf-8", "replace")
