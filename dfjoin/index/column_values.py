"""The values of a column of a segment: its tokens, and the text of a token."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.index.soundness import entries_of

__all__ = ["tokens_of_column", "value_of_token"]


def tokens_of_column(segment: Segment, column: int) -> NDArray[np.int64]:
    """List the tokens of a column's set; its private ones first, then list by list."""
    tokens, what = segment.tokens, "names entries that the segment does not have"
    with reading("set_indptr` or `set_lists", what, segment.meta.id):
        lists = entries_of(tokens.set_indptr, tokens.set_lists, np.array([column]), tokens.list_indptr.size - 1)
    groups = np.append(column, lists + segment.n_columns)
    with reading("group_indptr` or `group_tokens", what, segment.meta.id):
        return entries_of(tokens.group_indptr, tokens.group_tokens, groups, tokens.hash.size)


def value_of_token(segment: Segment, token: int) -> str:
    """Return the canonical value of a token."""
    tokens = segment.tokens
    start, end = tokens.value_offsets[token : token + 2].tolist()
    if not 0 <= start <= end <= tokens.value_bytes.size:
        raise segment.damaged("value_offsets", "it points outside `value_bytes`")
    return tokens.value_bytes[start:end].tobytes().decode("utf-8", "replace")
