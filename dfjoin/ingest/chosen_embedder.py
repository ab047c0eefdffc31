"""The embedder of an index: chosen by an argument, or trained on the texts of its segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.commit import Uncommitted
from dfjoin.index.layout import model_directory
from dfjoin.index.manifest import EmbedderMeta, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import describe_embedder, write_model
from dfjoin.index.vector_group import text_tokens, texts_of
from dfjoin.ingest.progress import Progress
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.vectors.abbreviations import abbreviations_for, expand_texts, expanding
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder, choose_embedder, remember_embedder, unit_rows
from dfjoin.vectors.fasttext_files import check_weights
from dfjoin.vectors.fasttext_model import TrainingOptions, texts_with_letters, train_fasttext
from dfjoin.vectors.usual_radius import usual_radius

__all__ = ["IndexEmbedder", "ToTrain", "choose_for_index", "train_embedder", "training_texts"]

_MAX_TRAINING_TEXTS = 4_000_000
_MIN_BUCKETS = 4096
_OF_RADIUS = 4096
"""Texts that the radius of searches that give none is chosen by."""

_TRAINING = "training vectors"


class IndexEmbedder(NamedTuple):
    """What makes the vectors of an index, and what its manifest says of that."""

    embedder: Embedder
    meta: EmbedderMeta


class ToTrain(NamedTuple):
    """A model of words that is yet to be trained, and the abbreviations that are written out before."""

    abbreviations: dict[str, str]


def choose_for_index(embedder: Any, abbreviations: Any, settings: IndexSettings) -> IndexEmbedder | ToTrain:
    """Return the embedder that arguments name, tried on a few texts.

    Parameters
    ----------
    embedder : str, path, callable or Embedder
        See `choose_embedder`.
    abbreviations : dict, optional
        Words of a text → what they are written out as before it is embedded, see `abbreviations_for`.
    settings : IndexSettings

    Raises
    ------
    IncompatibleSettingsError
        If the index keeps no values of its large columns.
    InvalidParameterError, InvalidTypeError
        If the arguments name no embedder, it makes no vectors, or a weight of a fastText model is no number.
    """
    if not settings.keep_sets:
        raise IncompatibleSettingsError(
            "the index keeps no values of its large columns (keep_sets=False), so that they have no vectors; build it "
            "anew with keep_sets=True, or without `embedder`"
        )
    chosen = choose_embedder(embedder)
    table = abbreviations_for(chosen, abbreviations)
    if chosen is None:
        return ToTrain(table)
    if isinstance(chosen, FastTextEmbedder):
        check_weights(chosen.model)
    meta = replace(describe_embedder(chosen), abbreviations=table)
    remember_embedder(chosen)
    return IndexEmbedder(expanding(chosen, table), meta)


def train_embedder(
    table: dict[str, str], segments: Sequence[SegmentMeta], written: Uncommitted, is_shown: bool
) -> IndexEmbedder:
    """Train a model of words on the values of segments, in this process, and write it into the index.

    Parameters
    ----------
    table : dict
        Abbreviations.
    segments : sequence of SegmentMeta
    written : Uncommitted
        Of the index; takes note of what is written.
    is_shown : bool
        Whether progress is shown.

    Notes
    -----
    At most four million texts are read, whatever the size of the lake, and training stops after a fixed number of
    steps (`TrainingOptions`).
    """
    with Progress(is_shown, 0, 0, stage=_TRAINING) as progress:
        progress.tell(_TRAINING, 0.0)
        offsets, data = training_texts([Segment(written.index, meta, is_compared=True) for meta in segments])
        n_buckets = min(TrainingOptions.n_buckets, max(_MIN_BUCKETS, 2 * data.size))  # a small lake has few n-grams
        options = TrainingOptions(n_buckets=n_buckets)
        model = train_fasttext(expand_texts((offsets, data), table), options, partial(progress.tell, _TRAINING))
        trained, meta = write_model(written.index, model)
        written.add(model_directory(written.index, meta.model))
        embedder = expanding(trained, table)
        rows = unit_rows(embedder.embed((offsets[: _OF_RADIUS + 1], data)))
        radius = usual_radius(rows[rows.any(axis=1)])
        return IndexEmbedder(embedder, replace(meta, abbreviations=table, radius=radius))


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
