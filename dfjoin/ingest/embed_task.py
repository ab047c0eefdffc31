"""The second job of a build: vectors for the values of segments that are written already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.commit import Uncommitted
from dfjoin.index.layout import group_directory, model_directory
from dfjoin.index.manifest import EmbedderMeta, Manifest, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import describe_embedder, open_embedder, write_model
from dfjoin.index.vector_group import embed_segment, text_tokens, texts_of
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.vectors.embedders import Embedder, choose_embedder, remember_embedder
from dfjoin.vectors.fasttext_model import TrainingOptions, texts_with_letters, train_fasttext

__all__ = ["add_vectors_of", "embed_new", "prepare_embedder", "training_texts"]

_MAX_TRAINING_TEXTS = 4_000_000
_MIN_BUCKETS = 4096


def prepare_embedder(
    given: Any, settings: IndexSettings, segments: Sequence[SegmentMeta], written: Uncommitted
) -> tuple[Embedder, EmbedderMeta]:
    """Return the embedder that an argument names, trained on the values of segments where it has to be.

    Parameters
    ----------
    given : str, path, callable or Embedder
    settings : IndexSettings
    segments : sequence of SegmentMeta
        What a model is trained on.
    written : Uncommitted
        Of the index; takes note of what is written.

    Raises
    ------
    IncompatibleSettingsError
        If the index keeps no values of its large columns.
    """
    if not settings.keep_sets:
        raise IncompatibleSettingsError(
            "the index keeps no values of its large columns (keep_sets=False), so that they have no vectors; build it "
            "anew with keep_sets=True, or without `embedder`"
        )
    embedder = choose_embedder(given)
    if embedder is not None:
        remember_embedder(embedder)
        return embedder, describe_embedder(embedder)
    offsets, data = training_texts([Segment(written.index, meta) for meta in segments])
    n_buckets = min(TrainingOptions.n_buckets, max(_MIN_BUCKETS, 2 * data.size))  # a small lake has few n-grams
    model = train_fasttext((offsets, data), TrainingOptions(n_buckets=n_buckets))
    trained, meta = write_model(written.index, model)
    written.add(model_directory(written.index, meta.model))
    return trained, meta


def training_texts(segments: Sequence[Segment]) -> tuple[np.ndarray, np.ndarray]:
    """Collect values with a letter, in the order of their hashes: a random sample that depends on the values alone."""
    chosen = [text_tokens(segment) for segment in segments]
    total = sum(own.size for own in chosen)
    limit = np.uint64((1 << 64) - 1)
    if total > _MAX_TRAINING_TEXTS:
        limit = np.uint64(int(2**64 * (_MAX_TRAINING_TEXTS / total)))
    parts = []
    for segment, own in zip(segments, chosen, strict=True):
        hashes = segment.tokens.hash[own]
        own, hashes = own[hashes <= limit], hashes[hashes <= limit]
        texts = texts_of(segment.tokens, own)
        keep = texts_with_letters(texts)
        parts.append((hashes[keep], *texts_of(segment.tokens, own[keep])))
    if len(parts) == 1:
        return parts[0][1], parts[0][2]
    return _merged(parts)


def _merged(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Unite texts of several segments in the order of their hashes, each once."""
    if not parts:
        return np.zeros(1, np.int64), np.zeros(8, np.uint8)
    hashes = np.concatenate([part[0] for part in parts])
    lengths = np.concatenate([np.diff(part[1]) for part in parts])
    data = np.concatenate([part[2][: part[1][-1]] for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64) if lengths.size else lengths
    order = np.argsort(hashes, kind="stable")
    is_first = np.append(True, hashes[order][1:] != hashes[order][:-1])[: order.size]
    order = order[is_first]
    return _taken(data, starts[order], lengths[order])


def _taken(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return offsets, np.append(data[expand_stretches(starts, lengths)], np.zeros(8, np.uint8))


def add_vectors_of(
    segments: Sequence[SegmentMeta], embedder: Embedder, meta: EmbedderMeta, written: Uncommitted
) -> list[SegmentMeta]:
    """Embed the values of segments; return their manifest entries with vectors.

    Parameters
    ----------
    segments : sequence of SegmentMeta
    embedder : Embedder
    meta : EmbedderMeta
    written : Uncommitted
        Of the index; takes note of what is written.
    """
    done = []
    for one in segments:
        group = embed_segment(Segment(written.index, one), embedder, meta.dimension)
        written.add(group_directory(written.index, one.id, group.id))
        done.append(one.with_group(group))
    return done


def embed_new(base: Manifest, segments: Sequence[SegmentMeta], written: Uncommitted) -> list[SegmentMeta]:
    """Embed the values of new segments of an index that has vectors; others are returned as they are."""
    if base.embedder is None:
        return list(segments)
    return add_vectors_of(segments, open_embedder(written.index, base), base.embedder, written)
