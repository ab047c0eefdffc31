"""The embedder of an index: chosen by an argument, or trained on the texts of its segments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.commit import Uncommitted
from dfjoin.index.components import model_directory
from dfjoin.index.manifest import EmbedderMeta, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import describe_embedder, write_model
from dfjoin.index.vector_group import text_columns, text_tokens, texts_of
from dfjoin.ingest.progress import Progress, Shown
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.vectors.abbreviations import abbreviations_for, expand_texts, expanding
from dfjoin.vectors.default_radius import COLUMNS, VALUES, ChosenRadius, choose_radius
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder, choose_embedder, remember_embedder
from dfjoin.vectors.fasttext_files import check_weights
from dfjoin.vectors.fasttext_model import Texts, TrainingOptions, texts_with_letters, train_fasttext

_MAX_TRAINING_TEXTS = 4_000_000
_MIN_BUCKETS = 4096
_OF_RADIUS = 1 << 14
"""Texts that tell how many values of the lake lie within a radius."""

_LEAST_VALUES = 8
"""Columns of fewer values hold too few strangers to tell."""

_TRAINING = "training vectors"


class IndexEmbedder(NamedTuple):
    """What makes the vectors of an index, what its manifest says of that, and whether it has made none of them yet."""

    embedder: Embedder
    meta: EmbedderMeta
    is_new: bool = False

    def with_radius(self, chosen: ChosenRadius) -> IndexEmbedder:
        """Return it with the radius of searches that give none."""
        known = replace(self.meta, radius=chosen.radius, radius_unit=chosen.unit, evidence=chosen.evidence)
        return self._replace(meta=known)


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
    return IndexEmbedder(expanding(chosen, table), meta, is_new=True)


def train_embedder(
    table: dict[str, str], segments: Sequence[SegmentMeta], written: Uncommitted, is_shown: Shown
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
        return IndexEmbedder(embedder, replace(meta, abbreviations=table), is_new=True)


def default_radius(embedder: Embedder, segments: Sequence[Segment]) -> ChosenRadius:
    """Choose the radius of searches that give none, by values of segments; see `choose_radius`.

    Parameters
    ----------
    embedder : Embedder
    segments : sequence of Segment
        Opened for a change.
    """
    columns = list(_sampled_columns(segments))
    texts = [text_tokens(segment) for segment in segments]
    total = sum(own.size for own in texts)
    step = max(1, total // _OF_RADIUS)
    sample = _joined([texts_of(segment.tokens, own[::step]) for segment, own in zip(segments, texts, strict=True)])
    return choose_radius(embedder, columns, sample, total)


def _sampled_columns(segments: Sequence[Segment]) -> Iterator[list[str]]:
    """Draw some values of some columns of text; which ones depends on the names and the values."""
    found = []
    for segment in segments:
        sizes = segment.catalog.numbers["cardinality"]
        for column in np.flatnonzero((text_columns(segment) > 0) & (sizes >= _LEAST_VALUES)).tolist():
            found.append((segment.catalog.table_name(column), segment.catalog.column_name(column), segment, column))
    order = sorted(found, key=lambda one: hashlib.blake2b(repr(one[:2]).encode(), digest_size=8).digest())
    for *_, segment, column in order[:COLUMNS]:
        tokens = tokens_of_column(segment, column)
        tokens = tokens[np.argsort(segment.tokens.hash[tokens], kind="stable")][:VALUES]
        yield [value_of_token(segment, token) for token in tokens.tolist()]


def _joined(parts: Sequence[Texts]) -> Texts:
    """Put texts of several parts one behind the other."""
    lengths = np.concatenate([np.diff(offsets) for offsets, _ in parts] or [np.empty(0, np.int64)])
    data = [data[: offsets[-1]] for offsets, data in parts]
    return np.append(0, np.cumsum(lengths)).astype(np.int64), np.concatenate([*data, np.zeros(8, np.uint8)])


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
