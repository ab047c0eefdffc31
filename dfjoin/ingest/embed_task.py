"""The second job of a build: vectors for the values of segments that are written already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.commit import Uncommitted
from dfjoin.index.layout import group_directory, model_directory
from dfjoin.index.manifest import EmbedderMeta, Manifest, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import describe_embedder, open_embedder, write_model
from dfjoin.index.vector_group import embed_segment, text_tokens, texts_of
from dfjoin.ingest.progress import Progress
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.vectors.abbreviations import abbreviations_for, expand_texts, expanding
from dfjoin.vectors.embedders import TRAINED, Embedder, choose_embedder, remember_embedder
from dfjoin.vectors.fasttext_model import TrainingOptions, texts_with_letters, train_fasttext

__all__ = ["EmbedOptions", "add_vectors_of", "embed_new", "prepare_embedder", "training_texts"]

_MAX_TRAINING_TEXTS = 4_000_000
_MIN_BUCKETS = 4096
_TRAINING, _EMBEDDING = "training vectors", "embedding values"


@dataclass(frozen=True)
class EmbedOptions:
    """What vectors are made by.

    Parameters
    ----------
    embedder : str, path, callable or Embedder
    abbreviations : dict, optional
        Words of a text → what they are written out as before it is embedded, see `abbreviations_for`.
    """

    embedder: Any = TRAINED
    abbreviations: Any = None


def prepare_embedder(
    given: EmbedOptions,
    settings: IndexSettings,
    segments: Sequence[SegmentMeta],
    written: Uncommitted,
    progress: Progress,
) -> tuple[Embedder, EmbedderMeta]:
    """Return the embedder that an argument names, trained on the values of segments where it has to be.

    Parameters
    ----------
    given : EmbedOptions
    settings : IndexSettings
    segments : sequence of SegmentMeta
        What a model is trained on.
    written : Uncommitted
        Of the index; takes note of what is written.
    progress : Progress

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
    embedder = choose_embedder(given.embedder)
    table = abbreviations_for(embedder, given.abbreviations)
    if embedder is not None:
        remember_embedder(embedder)
        return expanding(embedder, table), replace(describe_embedder(embedder), abbreviations=table)
    progress.tell(_TRAINING, 0.0)
    offsets, data = training_texts([Segment(written.index, meta) for meta in segments])
    n_buckets = min(TrainingOptions.n_buckets, max(_MIN_BUCKETS, 2 * data.size))  # a small lake has few n-grams
    options = TrainingOptions(n_buckets=n_buckets)
    model = train_fasttext(expand_texts((offsets, data), table), options, partial(progress.tell, _TRAINING))
    trained, meta = write_model(written.index, model)
    written.add(model_directory(written.index, meta.model))
    return expanding(trained, table), replace(meta, abbreviations=table)


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
    segments: Sequence[SegmentMeta],
    embedder: Embedder,
    meta: EmbedderMeta,
    written: Uncommitted,
    progress: Progress,
) -> list[SegmentMeta]:
    """Embed the values of segments; return their manifest entries with vectors.

    Parameters
    ----------
    segments : sequence of SegmentMeta
    embedder : Embedder
    meta : EmbedderMeta
    written : Uncommitted
        Of the index; takes note of what is written.
    progress : Progress
    """
    done: list[SegmentMeta] = []
    total, before = max(1, sum(one.counts["tokens"] for one in segments)), 0

    def tell(share: float) -> None:
        progress.tell(_EMBEDDING, (before + share * one.counts["tokens"]) / total)

    for one in segments:
        tell(0.0)
        group = embed_segment(Segment(written.index, one), embedder, meta.dimension, tell)
        before += one.counts["tokens"]
        written.add(group_directory(written.index, one.id, group.id))
        done.append(one.with_group(group))
    return done


def embed_new(
    base: Manifest, segments: Sequence[SegmentMeta], written: Uncommitted, is_shown: bool
) -> list[SegmentMeta]:
    """Embed the values of new segments of an index that has vectors; others are returned as they are."""
    if base.embedder is None:
        return list(segments)
    embedder = open_embedder(written.index, base)
    with Progress(is_shown, 0, 0, stage=_EMBEDDING) as progress:
        return add_vectors_of(segments, embedder, base.embedder, written, progress)
