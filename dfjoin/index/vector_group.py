"""The ``vectors`` group of a segment: a vector for each value of its text columns, in cells."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.index.catalog import KINDS
from dfjoin.index.component_files import removed_on_error, write_component, write_rows
from dfjoin.index.components import VECTORS
from dfjoin.index.manifest import GroupMeta
from dfjoin.index.segment import Segment, Tokens, reading
from dfjoin.index.soundness import stretches_of
from dfjoin.kernels.lists.postings import copy_values
from dfjoin.kernels.lists.vocabulary import find_tokens
from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.vectors.embedders import Embedder, unit_rows
from dfjoin.vectors.fasttext_model import Texts
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.rounded_features import word_count
from dfjoin.vectors.trees import feature_width

_EMBEDDED = 0.7
"""Share of the work that is done when all values are embedded."""

_EMBEDDED_AT_ONCE = 1 << 13
"""Values; between two such chunks the progress is reported."""

_CHUNK = 1 << 16
"""Vectors that are written at once, and tokens that are listed at once."""

VectorPart: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Some unit vectors, and the token of each."""


def text_columns(segment: Segment) -> NDArray[np.uint8]:
    """Return 1 for each indexed column of text, shape (n_columns,): the columns that are matched by distance."""
    numbers = segment.catalog.numbers
    return ((numbers["kind"] == KINDS.index("text")) & (numbers["is_indexed"] > 0)).astype(np.uint8)


def text_tokens(segment: Segment) -> NDArray[np.uint32]:
    """List the tokens that a column of text holds, ascending."""
    tokens = segment.sound_tokens("group", "list_indptr", "list_columns")
    is_text = text_columns(segment).astype(bool)
    before = np.zeros(tokens.list_columns.size + 1, np.uint32)  # may wrap: a list is shorter
    np.cumsum(is_text[tokens.list_columns], out=before[1:])
    of_lists = before[tokens.list_indptr[1:]] != before[tokens.list_indptr[:-1]]
    is_text_group, found = np.concatenate([is_text, of_lists]), [np.empty(0, np.uint32)]
    for first in range(0, tokens.group.size, _CHUNK):  # in parts, since numpy takes the indices as eight bytes each
        part = np.flatnonzero(is_text_group[tokens.group[first : first + _CHUNK]])
        found.append((part + first).astype(np.uint32))
    return np.concatenate(found)


def stretches_of_texts(tokens: Tokens, chosen: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the values of some tokens, each once, begin in `value_bytes`, and how many bytes they have.

    Raises
    ------
    IndexCorruptedError
        If one of them lies outside of the values.
    """
    with reading("value_offsets", "points outside `value_bytes`"):
        return stretches_of(tokens.value_offsets, chosen, tokens.value_bytes.size - 8)


def texts_of(tokens: Tokens, chosen: NDArray[np.integer]) -> Texts:
    """Copy the values of some tokens, each once, as offsets and UTF-8 with eight bytes behind it.

    Raises
    ------
    IndexCorruptedError
        If one of them lies outside of the values.
    """
    starts, lengths = stretches_of_texts(tokens, chosen)
    offsets = np.zeros(chosen.size + 1, np.int64)
    data = np.zeros(int(lengths.sum()) + 8, np.uint8)
    sizes = lengths.astype(np.int32)
    copy_values(np.arange(chosen.size, dtype=np.uint32), starts, sizes, tokens.value_bytes, data, offsets)
    return offsets, data


def embed_values(
    segment: Segment,
    chosen: NDArray[np.integer],
    embedder: Embedder,
    dimension: int,
    on_chunk: Callable[[int], None] | None = None,
) -> Iterator[VectorPart]:
    """Embed the values of some tokens, part by part.

    Parameters
    ----------
    segment : Segment
    chosen : ndarray of integers
        The tokens, ascending.
    embedder : Embedder
    dimension : int
        Length of its vectors.
    on_chunk : callable, optional
        Called with the number of values after each part.

    Yields
    ------
    rows : ndarray of float32, shape (n, dimension)
        Unit vectors; values whose vector is zero are left out.
    tokens : ndarray of int64, shape (n,)

    Raises
    ------
    InvalidParameterError
        If its vectors have another length.
    """
    for start in range(0, chosen.size, _EMBEDDED_AT_ONCE):
        own = chosen[start : start + _EMBEDDED_AT_ONCE].astype(np.int64)
        rows = unit_rows(embedder.embed(texts_of(segment.tokens, own)))
        if rows.shape[1] != dimension:
            raise InvalidParameterError(
                f"`embedder` must return vectors of one length, but {embedder.identity} returned some of {dimension} "
                f"numbers and some of {rows.shape[1]}; give one whose vectors do not depend on what else is embedded"
            )
        has_vector = rows.any(axis=1)
        yield rows[has_vector], own[has_vector]
        if on_chunk is not None:
            on_chunk(own.size)


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
    embedder needs for 8,192 values; the vectors wait in a file beside the segment until their order is known.
    """
    chosen, done = text_tokens(segment), 0
    tell = on_step or (lambda _: None)

    def on_chunk(n: int) -> None:
        nonlocal done
        done += n
        tell(_EMBEDDED * done / chosen.size)

    parts = embed_values(segment, chosen, embedder, dimension, on_chunk)
    writer = VectorWriter(segment.directory, dimension, lambda share: tell(_EMBEDDED + (1 - _EMBEDDED) * share))
    return writer.write(parts, chosen.size)


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
    dictionary = tokens.dictionary

    def parts() -> Iterator[VectorPart]:
        for source in sources:
            old, stored = source.tokens, source.vectors
            found = np.empty(old.hash.size, np.int64)
            find_tokens(old.hash, old.value_offsets, old.value_bytes, dictionary, found)
            for start in range(0, stored.tokens.size, _CHUNK):
                own = found[stored.tokens[start : start + _CHUNK]]
                is_wanted = (own >= 0) & is_missing[own]
                is_missing[own[is_wanted]] = False
                yield stored.rows[start : start + _CHUNK][is_wanted], own[is_wanted]

    return VectorWriter(segment.directory, dimensions.pop()).write(parts(), chosen.size)


class VectorWriter:
    """Writes the ``vectors`` group of a segment.

    Parameters
    ----------
    directory : Path
        The segment's, or one from which the group is moved there.
    dimension : int
        Length of the vectors.
    on_step : callable, optional
        Called with the share of the cells that are made.
    """

    def __init__(self, directory: Path, dimension: int, on_step: Callable[[float], None] | None = None) -> None:
        self._directory, self._dimension, self._on_step = directory, dimension, on_step

    def write(self, parts: Iterable[VectorPart], most: int) -> GroupMeta:
        """Write vectors that come in parts, at most so many; their order is that of the cells."""
        tokens = np.empty(most, np.int64)
        n = 0
        with tempfile.TemporaryFile(dir=self._directory) as scratch:
            for part, own in parts:
                scratch.write(np.ascontiguousarray(part, np.float32).data)
                tokens[n : n + own.size] = own
                n += own.size
            scratch.flush()
            shape = n, self._dimension
            rows = np.memmap(scratch, np.float32, "r", shape=shape) if n else np.empty(shape, np.float32)
            return self._write_group(rows, tokens[:n])

    def _write_group(self, rows: NDArray[np.float32], tokens: NDArray[np.int64]) -> GroupMeta:
        directory, group = self._directory, f"vectors-{uuid.uuid4().hex[:8]}"
        cells, order = build_cells(rows, self._on_step)
        arrays: dict[str, Any] = {
            "vector_tokens": tokens[order],
            "vector_centers": cells.centers,
            "vector_words": cells.blocks.words.reshape(-1, word_count(feature_width(cells.projection)), BLOCK),
            "vector_cells": cells.blocks.indptr,
            "vector_cosines": cells.blocks.cosines,
            "vector_axes": cells.projection.axes,
            "vector_center": cells.projection.center,
        }
        with removed_on_error(directory / group):
            stretches = (rows[order[start : start + _CHUNK]] for start in range(0, order.size, _CHUNK))
            written = [write_rows(directory, group, "vector_rows", rows.shape, stretches)]
            written += [write_component(directory, group, name, arrays[name]) for name in VECTORS if name in arrays]
        return GroupMeta("vectors", group, tuple(written))
