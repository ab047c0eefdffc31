"""The only list of component files: names, dtypes, groups, and what the manifest says of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "AXES",
    "DTYPES",
    "GROUPS",
    "PATTERNS",
    "ROWS",
    "SIGNATURES",
    "TOKENS",
    "VECTORS",
    "WORD_MODEL",
    "ComponentMeta",
]

TOKENS: dict[str, np.dtype] = {
    # Hash of each token's value, ascending; a token is a distinct value of the segment.
    "hash": np.dtype("<u8"),
    # Where the tokens begin whose hash starts with each prefix; the look-up starts here.
    "directory": np.dtype("<u4"),
    # Group of each token: the tokens that exactly the same columns hold.
    "group": np.dtype("<u4"),
    # Where each token's value lies in `value_bytes`.
    "value_offsets": np.dtype("<i8"),
    # The canonical values in UTF-8, one after the other, and eight bytes that kernels may load.
    "value_bytes": np.dtype("u1"),
    # Where the tokens of each group lie in `group_tokens`; first one group per column, then the lists.
    "group_indptr": np.dtype("<i8"),
    # Tokens by group: from a set back to its values.
    "group_tokens": np.dtype("<u4"),
    # Where each posting list lies in `list_columns`.
    "list_indptr": np.dtype("<i8"),
    # Columns of each posting list, ascending; each distinct list is stored once.
    "list_columns": np.dtype("<i4"),
    # Tokens of that column before this list, in the order of its set: bounds what is left to read.
    "list_positions": np.dtype("<i4"),
    # Where the lists of each column lie in `set_lists`.
    "set_indptr": np.dtype("<i8"),
    # Posting lists that each column is in, ascending: with its private group, the column's set.
    "set_lists": np.dtype("<u4"),
}
"""Components of the ``tokens`` group and their dtypes, all one-dimensional."""

SIGNATURES: dict[str, np.dtype] = {
    # Column of each slot; slots number the signed columns by set size.
    "signature_columns": np.dtype("<i4"),
    # Each row of the signature matrix, ascending, so that a value is found by bisection.
    "signature_values": np.dtype("<u4"),
    # Slot that each of these values belongs to.
    "signature_slots": np.dtype("<i4"),
}
"""Components of the ``signatures`` group and their dtypes; the last two are of shape (n_rows, n_signed)."""

PATTERNS: dict[str, np.dtype] = {
    # Hash of each piece, strictly ascending.
    "pattern_hash": np.dtype("<u8"),
    # Where the columns of each piece lie in `pattern_columns`.
    "pattern_indptr": np.dtype("<i8"),
    # Columns with a value that holds the piece, ascending.
    "pattern_columns": np.dtype("<i4"),
    # Distinct pieces of each column, by which scores are normed.
    "pattern_sizes": np.dtype("<i4"),
}
"""Components of the ``patterns`` group and their dtypes, all one-dimensional."""

VECTORS: dict[str, np.dtype] = {
    # The unit vectors, in the order of the cells.
    "vector_rows": np.dtype("<f4"),
    # Token of each vector.
    "vector_tokens": np.dtype("<u4"),
    # Centers of the cells.
    "vector_centers": np.dtype("<f4"),
    # Rounded features of 64 neighbours, two in a word: what a search reads first.
    "vector_words": np.dtype("<i4"),
    # Where each cell begins.
    "vector_cells": np.dtype("<i8"),
    # Cosine of each vector to the center of its cell.
    "vector_cosines": np.dtype("<f4"),
    # Orthonormal axes that features are coordinates along.
    "vector_axes": np.dtype("<f8"),
    # The point from which they are measured.
    "vector_center": np.dtype("<f8"),
}
"""Components of the ``vectors`` group and their dtypes; their shapes are in FORMAT.md."""

EARLIER_VECTORS = {name.replace("_words", "_blocks"): dtype for name, dtype in VECTORS.items()}
EARLIER_VECTORS["vector_blocks"] = np.dtype("<f4")
"""Components as earlier versions wrote them: features are not rounded."""

AXES: dict[str, np.dtype] = {
    # The distinct points, in the order of the blocks.
    "axis_rows": np.dtype("<f8"),
    # Set of each point, or, from the number of sets on, its list of sets.
    "axis_group": np.dtype("<u4"),
    # Where each list lies in `axis_lists`.
    "axis_indptr": np.dtype("<i8"),
    # Sets of each list, ascending.
    "axis_lists": np.dtype("<i4"),
    # Columns of each set, in the order of the axes.
    "axis_columns": np.dtype("<i4"),
    # Distinct points of each set.
    "axis_sizes": np.dtype("<i8"),
    # What each column is multiplied by.
    "axis_scales": np.dtype("<f8"),
    # Features of 64 neighbours, their boxes, and the projection that makes features, as of vectors.
    "axis_blocks": np.dtype("<f4"),
    "axis_boxes": np.dtype("<f4"),
    "axis_projection": np.dtype("<f8"),
    "axis_center": np.dtype("<f8"),
    # Points are divided by this power of two before their features are computed.
    "axis_unit": np.dtype("<f8"),
}
"""Components of an ``axes`` group and their dtypes; their shapes are in FORMAT.md."""

ROWS: dict[str, np.dtype] = {
    # Codes of the rows of each column, as many bits each.
    "row_words": np.dtype("<u8"),
    # Where the words of each column lie in `row_words`.
    "row_starts": np.dtype("<i8"),
    # Bits of a code of each column; 0 where its rows are not kept.
    "row_bits": np.dtype("u1"),
}
"""Components of the ``rows`` group and their dtypes, all one-dimensional."""

WORD_MODEL: dict[str, np.dtype] = {
    # Where the words lie in `word_bytes`.
    "word_offsets": np.dtype("<i8"),
    # The words in UTF-8, one after the other.
    "word_bytes": np.dtype("u1"),
    # A row for each word, then one for each bucket of n-grams.
    "word_matrix": np.dtype("<f4"),
}
"""Components of a trained model of words, which lies beside the segments."""

DTYPES = {**TOKENS, **SIGNATURES, **PATTERNS, **EARLIER_VECTORS, **VECTORS, **AXES, **ROWS, **WORD_MODEL}
"""Every component and its dtype."""

GROUPS = ("tokens", "catalog", "signatures", "patterns", "vectors", "axes", "rows")
"""Component groups that this version reads and writes; each is a feature of the manifest."""


@dataclass(frozen=True)
class ComponentMeta:
    """What the manifest says of one component file.

    Parameters
    ----------
    name : str
        Component, see `TOKENS`, `SIGNATURES` and `PATTERNS`.
    file : str
        POSIX path below the segment's directory.
    dtype : str
        numpy dtype string, or ``arrow-ipc``.
    shape : tuple of int
        Shape of the array; the number of bytes for an Arrow file.
    size : int
        Bytes of the file.
    crc32 : int
        CRC-32 of the whole file.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    crc32: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {**self.__dict__, "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ComponentMeta:
        """Make a record from JSON values; unknown fields are ignored."""
        shape = tuple(int(n) for n in values["shape"])
        return cls(values["name"], values["file"], values["dtype"], shape, values["size"], values["crc32"])
