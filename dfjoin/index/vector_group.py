"""The ``vectors`` group of a segment: a vector for each value of its text columns, in cells."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.components import VECTORS, removed_on_error, write_component, write_rows
from dfjoin.index.manifest import GroupMeta
from dfjoin.index.segment import Segment, Tokens
from dfjoin.kernels.postings import copy_values
from dfjoin.kernels.records import Dictionary
from dfjoin.kernels.vector_blocks import BLOCK
from dfjoin.kernels.vocabulary import find_tokens
from dfjoin.vectors.embedders import Embedder, unit_rows
from dfjoin.vectors.fasttext_model import Texts
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.trees import feature_width

__all__ = ["carry_vectors", "embed_segment", "text_columns", "text_tokens", "texts_of"]

_EMBEDDED = 0.7
"""Share of the work that is done when all values are embedded."""

_CHUNK = 1 << 16
"""Values that are embedded at once, and vectors that are written at once."""


def text_columns(segment: Segment) -> NDArray[np.uint8]:
    """Return 1 for each indexed column of text, shape (n_columns,): the columns that are matched by distance."""
    numbers = segment.catalog.numbers
    return ((numbers["kind"] == KINDS.index("text")) & (numbers["is_indexed"] > 0)).astype(np.uint8)


def text_tokens(segment: Segment) -> NDArray[np.int64]:
    """List the tokens that a column of text holds, ascending."""
    tokens, is_text = segment.tokens, text_columns(segment).astype(bool)
    of_lists = np.zeros(tokens.list_indptr.size - 1, bool)
    if of_lists.size:
        of_lists = np.logical_or.reduceat(is_text[tokens.list_columns], tokens.list_indptr[:-1])
    return np.flatnonzero(np.concatenate([is_text, of_lists])[tokens.group])


def texts_of(tokens: Tokens, chosen: NDArray[np.int64]) -> Texts:
    """Copy the values of some tokens as offsets and UTF-8."""
    starts = tokens.value_offsets[chosen]
    lengths = (tokens.value_offsets[chosen + 1] - starts).astype(np.int32)
    offsets = np.zeros(chosen.size + 1, np.int64)
    data = np.zeros(int(lengths.sum()) + 8, np.uint8)
    copy_values(np.arange(chosen.size, dtype=np.uint32), starts, lengths, tokens.value_bytes, data, offsets)
    return offsets, data


def embed_segment(
    segment: Segment, embedder: Embedder, dimension: int, on_step: Callable[[float], None] | None = None
) -> GroupMeta:
    """Embed each value of the text columns of a segment once, and write the ``vectors`` group.

    Parameters
    ----------
    segment : Segment
    embedder : Embedder
    dimension : int
        Length of its vectors.
    on_step : callable, optional
        Called with the share that is done.

    Returns
    -------
    GroupMeta

    Notes
    -----
    Values whose vector is zero have none; they match equal values alone. Memory: 150 bytes a vector, and what the
    embedder needs for 65,536 values; the vectors wait in a file beside the segment until their order is known.
    """
    tokens, chosen = segment.tokens, text_tokens(segment)
    tell = on_step or (lambda _: None)

    def parts() -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        for start in range(0, chosen.size, _CHUNK):
            own = chosen[start : start + _CHUNK]
            rows = unit_rows(embedder.embed(texts_of(tokens, own)))
            if rows.shape[1] != dimension:
                raise ValueError(f"the embedder {embedder.identity!r} returned vectors of {rows.shape[1]} numbers")
            has_vector = rows.any(axis=1)
            yield rows[has_vector], own[has_vector]
            tell(_EMBEDDED * min(1.0, (start + _CHUNK) / chosen.size))

    return _write(segment, parts(), chosen.size, dimension, lambda share: tell(_EMBEDDED + (1 - _EMBEDDED) * share))


def carry_vectors(sources: Sequence[Segment], segment: Segment) -> GroupMeta | None:
    """Write the ``vectors`` group of a segment that others were merged into; nothing is embedded again.

    Parameters
    ----------
    sources : sequence of Segment
    segment : Segment
        Holds a part of their values.

    Returns
    -------
    GroupMeta or None
        None when one of the sources has no vectors, or they differ in length.
    """
    if any(source.meta.group("vectors") is None for source in sources):
        return None
    dimensions = {source.vectors.rows.shape[1] for source in sources}
    if len(dimensions) != 1:
        return None
    chosen = text_tokens(segment)
    is_missing = np.zeros(segment.n_tokens, bool)
    is_missing[chosen] = True
    tokens = segment.tokens
    dictionary = Dictionary(tokens.directory, tokens.hash, tokens.value_offsets, tokens.value_bytes)

    def parts() -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        for source in sources:
            old, stored = source.tokens, source.vectors
            found = np.empty(old.hash.size, np.int64)
            find_tokens(old.hash, old.value_offsets, old.value_bytes, dictionary, found)
            for start in range(0, stored.tokens.size, _CHUNK):
                own = found[stored.tokens[start : start + _CHUNK]]
                is_wanted = (own >= 0) & is_missing[own]
                is_missing[own[is_wanted]] = False
                yield stored.rows[start : start + _CHUNK][is_wanted], own[is_wanted]

    return _write(segment, parts(), chosen.size, dimensions.pop())


def _write(
    segment: Segment,
    parts: Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]],
    most: int,
    dimension: int,
    on_step: Callable[[float], None] | None = None,
) -> GroupMeta:
    """Write vectors that come in parts, at most so many; their order is that of the tree."""
    tokens = np.empty(most, np.int64)
    n = 0
    with tempfile.TemporaryFile(dir=segment.directory) as scratch:
        for rows, own in parts:
            scratch.write(np.ascontiguousarray(rows, np.float32).data)
            tokens[n : n + own.size] = own
            n += own.size
        scratch.flush()
        rows = np.memmap(scratch, np.float32, "r", shape=(n, dimension)) if n else np.empty((0, dimension), np.float32)
        return _write_group(segment.directory, rows, tokens[:n], on_step)


def _write_group(
    directory: Path,
    rows: NDArray[np.float32],
    tokens: NDArray[np.int64],
    on_step: Callable[[float], None] | None = None,
) -> GroupMeta:
    cells, places = build_cells(rows, on_step)
    group = f"vectors-{uuid.uuid4().hex[:8]}"
    arrays: dict[str, Any] = {
        "vector_tokens": tokens[places],
        "vector_centers": cells.centers,
        "vector_blocks": cells.blocks.lanes.reshape(-1, feature_width(cells.projection), BLOCK),
        "vector_cells": cells.blocks.indptr,
        "vector_cosines": cells.blocks.cosines,
        "vector_axes": cells.projection.axes,
        "vector_center": cells.projection.center,
    }
    with removed_on_error(directory / group):
        stretches = (rows[places[start : start + _CHUNK]] for start in range(0, places.size, _CHUNK))
        written = [write_rows(directory, group, "vector_rows", rows.shape, stretches)]
        written += [write_component(directory, group, name, arrays[name]) for name in VECTORS if name in arrays]
    return GroupMeta("vectors", group, tuple(written))
