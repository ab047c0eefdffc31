"""The embedder of an index: what the manifest keeps of it, and the model of words that lies below ``models``."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dfjoin.errors import IncompatibleSettingsError, IndexCorruptedError, InvalidParameterError
from dfjoin.index.component_files import damaged, find_damage, map_component, removed_on_error, write_component
from dfjoin.index.components import MODELS, WORD_MODEL, model_directory
from dfjoin.index.manifest import EmbedderMeta, Manifest
from dfjoin.index.segment import reading
from dfjoin.index.soundness import check_shapes, stretches_of
from dfjoin.vectors.abbreviations import expanding
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder, known_embedder, probe_of, stable_probe_of
from dfjoin.vectors.fasttext_files import write_fasttext
from dfjoin.vectors.fasttext_model import FastTextModel
from dfjoin.vectors.ngrams import NGRAMS_IDENTITY

_TRAINED = "fasttext-lake"


def write_model(index: Path, model: FastTextModel) -> tuple[FastTextEmbedder, EmbedderMeta]:
    """Write a trained model of words into an index.

    Parameters
    ----------
    index : Path
    model : FastTextModel

    Returns
    -------
    embedder : FastTextEmbedder
    meta : EmbedderMeta
        For the manifest that names it.
    """
    identity = f"{_TRAINED}:{hashlib.blake2b(model.matrix.data, digest_size=8).hexdigest()}"
    embedder = FastTextEmbedder(model, identity)
    arrays: dict[str, Any] = {"word_offsets": model.offsets, "word_bytes": model.data, "word_matrix": model.matrix}
    name = uuid.uuid4().hex
    with removed_on_error(model_directory(index, name)):
        components = tuple(write_component(index / MODELS, name, part, arrays[part]) for part in WORD_MODEL)
    dimension, probe = probe_of(embedder)
    return embedder, EmbedderMeta(identity, dimension, probe, "", name, model.shape, components)


def describe_embedder(embedder: Embedder) -> EmbedderMeta:
    """Return what the manifest keeps of an embedder that lies outside the index."""
    dimension, probe = stable_probe_of(embedder)
    return EmbedderMeta(embedder.identity, dimension, probe, embedder.place)


def open_embedder(index: Path, manifest: Manifest, *, is_compared: bool = False) -> Embedder:
    """Return the embedder that made the vectors of an index.

    Parameters
    ----------
    index : Path
    manifest : Manifest
        Of a version that has one.
    is_compared : bool
        Compare the CRC-32 of the model's files, as a change does that makes vectors.

    Returns
    -------
    Embedder

    Raises
    ------
    IndexCorruptedError
        If the model of words is damaged.
    IncompatibleSettingsError
        If the embedder lies outside the index and cannot be found, or is another one now.
    """
    meta = manifest.embedder
    assert meta is not None
    if not meta.model:
        embedder = known_embedder(meta.identity, meta.place, meta.dimension, meta.probe)
        return expanding(embedder, meta.abbreviations)
    return open_model(index, meta, is_compared=is_compared)


def open_model(index: Path, meta: EmbedderMeta, *, is_compared: bool = False) -> Embedder:
    """Map a model of words that `write_model` has written.

    Parameters
    ----------
    index : Path
        Directory that it was written into.
    meta : EmbedderMeta
        What `write_model` returned, with the abbreviations that are written out before.
    is_compared : bool
        Compare the CRC-32 of its files.

    Raises
    ------
    IndexCorruptedError
        If it is damaged.
    """
    by_name = {component.name: component for component in meta.components}
    try:
        arrays = {name: map_component(index / MODELS, by_name[name], is_compared=is_compared) for name in WORD_MODEL}
        check_shapes(arrays, {}, None)
        offsets, data, matrix = arrays.values()
        with reading("word_offsets", "points outside `word_bytes`"):
            stretches_of(offsets, np.arange(offsets.size - 1), data.size)
    except (IndexCorruptedError, KeyError) as error:
        raise IndexCorruptedError(
            f"the model of words of the index is damaged ({error}); make the vectors anew with "
            '`lake.add_vectors("fasttext")`'
        ) from error
    model = FastTextModel(np.asarray(offsets), np.asarray(data), np.asarray(matrix), *meta.ngrams)
    return expanding(FastTextEmbedder(model, meta.identity), meta.abbreviations)


def save_model(index: Path, manifest: Manifest, path: Path) -> None:
    """Write the n-grams or the trained model of an index as a file of fastText, see `Lake.save_embedder`."""
    meta = manifest.embedder
    if meta is None or not (meta.model or meta.identity == NGRAMS_IDENTITY):
        made = "has no vectors" if meta is None else f"has vectors of {meta.identity!r}, which lies outside of it"
        raise IncompatibleSettingsError(
            f"`save_embedder` writes the n-grams or the model of words of an index, and this one {made}; call "
            '`lake.add_vectors("fasttext")` first'
        )
    opened = open_embedder(index, replace(manifest, embedder=replace(meta, abbreviations={})), is_compared=True)
    assert isinstance(opened, FastTextEmbedder)
    try:
        write_fasttext(opened.model, path)
    except OSError as error:
        raise InvalidParameterError(
            f"`path` must be a file that can be written, and `{path}` cannot ({error.strerror}); give another path"
        ) from error


def verify_model(index: Path, manifest: Manifest) -> list[str]:
    """Compare the files of the model of words with what was recorded of them; return what is damaged."""
    components = () if manifest.embedder is None else manifest.embedder.components
    found = ((meta.name, find_damage(index / MODELS, meta)) for meta in components)
    return [str(damaged(None, name, what)) for name, what in found if what]
