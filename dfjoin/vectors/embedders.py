"""Embedders: what makes vectors of texts, and how an index knows again the one that it was made with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin._validation import check_path, show
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, InvalidTypeError
from dfjoin.vectors.fasttext_model import FastTextModel, Texts, read_fasttext, texts_with_letters

__all__ = [
    "TRAINED",
    "Embedder",
    "FastTextEmbedder",
    "FunctionEmbedder",
    "check_probe",
    "choose_embedder",
    "known_embedder",
    "probe_of",
    "remember_embedder",
    "to_texts",
    "unit_rows",
]

TRAINED = "fasttext"
"""The name that asks for a model trained on the lake's own values."""

_SENTENCE = "sentence-transformers/"
_BATCH = 4096
_PROBES = ("paris", "new york city", "north street 12", "university of oxford")
_PROBE_NUMBERS = 8
_TOLERANCE = 1e-3


class Embedder(Protocol):
    """What makes vectors of texts.

    Its `identity` says which one it is and is kept in the manifest; `place` is the file that it is read from, empty
    for none.
    """

    @property
    def identity(self) -> str:
        """Name that is kept in the manifest."""
        ...

    @property
    def place(self) -> str:
        """File that it is read from; empty for none."""
        ...

    def embed(self, texts: Texts) -> NDArray[np.float32]:
        """Return a vector for each text, of any length; zeros for a text that has none.

        Parameters
        ----------
        texts : tuple of ndarray
            Offsets and UTF-8, as in Arrow.
        """
        ...


@dataclass(frozen=True)
class FastTextEmbedder:
    """A fastText model; texts without a letter have no vector.

    Parameters
    ----------
    model : FastTextModel
    identity, place : str
    """

    model: FastTextModel
    identity: str
    place: str = ""

    def embed(self, texts: Texts) -> NDArray[np.float32]:
        """See `Embedder`."""
        vectors = self.model.embed(texts)
        vectors[~texts_with_letters(texts)] = 0
        return vectors


class FunctionEmbedder:
    """A function of a list of texts.

    Parameters
    ----------
    function : callable
        A list of str → array of shape (n, d).
    identity : str
    """

    place = ""

    def __init__(self, function: Callable[[list[str]], Any], identity: str) -> None:
        self.identity = identity
        self._function = function

    def embed(self, texts: Texts) -> NDArray[np.float32]:
        """See `Embedder`."""
        offsets, data = texts
        parts = []
        for start in range(0, max(1, offsets.size - 1), _BATCH):
            ends = offsets[start : start + _BATCH + 1].tolist()
            values = [
                data[low:high].tobytes().decode("utf-8", "replace") for low, high in zip(ends, ends[1:], strict=False)
            ]
            parts.append(self._call(values))
        if len({part.shape[1] for part in parts}) > 1:
            raise InvalidParameterError(
                f"`embedder` must return vectors of one length, but {self.identity} returned several; give a function "
                "that maps a list of n texts to an array of shape (n, d)"
            )
        return np.concatenate(parts)

    def _call(self, values: list[str]) -> NDArray[np.float32]:
        try:
            vectors = np.asarray(self._function(values), np.float32)
        except Exception as error:  # of a foreign function
            raise InvalidParameterError(
                f"`embedder` must map a list of n texts to numbers of shape (n, d), but {self.identity} failed: {error}"
            ) from error
        if vectors.ndim != 2 or vectors.shape[0] != len(values) or (values and vectors.shape[1] == 0):
            raise InvalidParameterError(
                f"`embedder` must map a list of n texts to an array of shape (n, d), but {self.identity} returned "
                f"shape {vectors.shape} for {len(values)} texts"
            )
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise InvalidParameterError(
                f"`embedder` must return finite numbers, but {self.identity} returned NaN or infinity for "
                f"{show(values[row])}; return zeros for a text that has no vector"
            )
        return vectors


def to_texts(values: list[str]) -> Texts:
    """Pack a list of texts as offsets and UTF-8."""
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in encoded], dtype=np.int64)]).astype(np.int64)
    return offsets, np.frombuffer(b"".join(encoded) + b"\0", np.uint8)


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale vectors to length 1, computed in float64; zeros stay.

    Parameters
    ----------
    vectors : ndarray, shape (n, d)

    Returns
    -------
    ndarray of float32, shape (n, d)
    """
    exact = vectors.astype(np.float64)
    largest = np.abs(exact).max(axis=1, keepdims=True, initial=0)
    exact /= np.where(largest > 0, largest, 1)  # no square overflows or vanishes
    norms = np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, None]
    return (exact / np.where(norms > 0, norms, 1)).astype(np.float32)


# Choosing --------------------------------------------------------------------------------------------------


def choose_embedder(embedder: Any) -> Embedder | None:
    """Return the embedder that an argument names; None for one that is yet to be trained.

    Parameters
    ----------
    embedder : str, path, callable or Embedder
        ``"fasttext"``; the file of a fastText model; ``"sentence-transformers/…"``; a function of a list of texts.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is none of these.
    MissingDependencyError
        If its library is not installed.
    """
    if isinstance(embedder, str) and embedder == TRAINED:
        return None
    if isinstance(embedder, str) and embedder.startswith(_SENTENCE):
        return _sentence_transformer(embedder)
    if isinstance(embedder, (str, Path)):
        path = Path(check_path(embedder, "embedder"))
        if not _is_file(path):
            raise InvalidParameterError(
                f"`embedder` must be {TRAINED!r}, the file of a fastText model, {_SENTENCE + '…'!r} or a function of a "
                f"list of texts, got {show(str(embedder))}, which is no file"
            )
        path = path.resolve()
        return FastTextEmbedder(read_fasttext(path), f"fasttext-file:{path.name}:{_mark(path)}", str(path))
    if hasattr(embedder, "embed") and isinstance(getattr(embedder, "identity", None), str):
        return embedder
    if callable(embedder):
        name = getattr(embedder, "__qualname__", type(embedder).__qualname__)
        return FunctionEmbedder(embedder, f"function:{getattr(embedder, '__module__', '')}.{name}")
    raise InvalidTypeError(
        f"`embedder` must be {TRAINED!r}, the file of a fastText model, {_SENTENCE + '…'!r} or a function of a list "
        f"of texts, got {type(embedder).__name__}"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text that is too long for a path, for example
        return False


def _mark(path: Path) -> str:
    """Return a mark of a large file: of its size, its head and its tail."""
    size = path.stat().st_size
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=8)
    with path.open("rb") as stream:
        digest.update(stream.read(1 << 20))
        stream.seek(max(0, size - (1 << 20)))
        digest.update(stream.read(1 << 20))
    return digest.hexdigest()


def _sentence_transformer(name: str) -> FunctionEmbedder:
    library = import_optional("sentence_transformers", extra="sentence", purpose=f"the embedder {name!r}")
    model = library.SentenceTransformer(name)
    return FunctionEmbedder(lambda values: model.encode(values, convert_to_numpy=True, show_progress_bar=False), name)


# Knowing again ---------------------------------------------------------------------------------------------

_KNOWN: dict[str, Embedder] = {}
"""Identity → embedder that this process has used."""


def remember_embedder(embedder: Embedder) -> None:
    """Keep an embedder for the indexes of this process that name it."""
    _KNOWN[embedder.identity] = embedder


def known_embedder(identity: str, place: str) -> Embedder:
    """Return the embedder of an identity that an index names.

    Parameters
    ----------
    identity : str
    place : str
        File that it was read from; empty for none.

    Raises
    ------
    IncompatibleSettingsError
        If this process does not know it and cannot find it.
    """
    known = _KNOWN.get(identity)
    if known is not None:
        return known
    if identity.startswith(_SENTENCE):
        known = choose_embedder(identity)
    elif place and Path(place).is_file():
        known = choose_embedder(place)
    if known is None or known.identity != identity:
        where = f"its file {place!r} is gone or another one" if place else "it is a function of another process"
        raise IncompatibleSettingsError(
            f"the vectors of the index were made by {identity!r}, and {where}; make it known with "
            "dfjoin.register_embedder(embedder), or make the vectors anew with `lake.add_vectors(embedder)`"
        )
    remember_embedder(known)
    return known


def probe_of(embedder: Embedder) -> tuple[int, list[list[float]]]:
    """Return the length of an embedder's vectors, and the first numbers of those of a few texts.

    Parameters
    ----------
    embedder : Embedder
    """
    vectors = unit_rows(embedder.embed(to_texts(list(_PROBES))))
    return int(vectors.shape[1]), np.round(vectors[:, :_PROBE_NUMBERS].astype(float), 4).tolist()


def check_probe(embedder: Embedder, dimension: int, probe: list[list[float]]) -> None:
    """Raise unless an embedder makes the vectors that were noted when the index was made.

    Raises
    ------
    IncompatibleSettingsError
        If its vectors have another length or are others.
    """
    own_dimension, own = probe_of(embedder)
    if own_dimension != dimension:
        raise IncompatibleSettingsError(
            f"the embedder {embedder.identity!r} makes vectors of {own_dimension} numbers, and the index has vectors "
            f"of {dimension}; give the embedder that the index was made with, or call `lake.add_vectors(embedder)`"
        )
    if np.shape(own) != np.shape(probe) or not np.allclose(own, probe, rtol=0, atol=_TOLERANCE):
        raise IncompatibleSettingsError(
            f"the embedder {embedder.identity!r} makes other vectors than when the index was made; give the embedder "
            "that the index was made with, or call `lake.add_vectors(embedder)`"
        )
