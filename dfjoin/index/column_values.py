"""The values of a column of a segment: its tokens, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment, reading
from dfjoin.index.soundness import entries_of, stretches_of
from dfjoin.kernels.lists.postings import copy_values


@dataclass(frozen=True)
class PackedValues:
    """Canonical values one after the other: `data` of uint8, 8 more than used, and `offsets` of int64."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1


def pack_values(data: NDArray[np.uint8], offsets: NDArray[np.int64], chosen: NDArray[np.integer]) -> PackedValues:
    """Copy some of a list of values.

    Raises
    ------
    IndexCorruptedError
        If one of them lies outside of `data`.
    """
    with reading("value_offsets", "points outside `value_bytes`"):
        starts, lengths = stretches_of(offsets, chosen, data.size - 8)
    packed = np.zeros(chosen.size + 1, np.int64)
    np.cumsum(lengths, out=packed[1:])
    out = np.zeros(int(packed[-1]) + 8, np.uint8)
    sizes = lengths.astype(np.int32)
    copy_values(np.arange(chosen.size, dtype=np.uint32), starts, sizes, data, out, packed)
    return PackedValues(out, packed)


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
