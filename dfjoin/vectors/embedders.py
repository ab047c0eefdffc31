"""Embedders: what makes vectors of texts, and how an index knows again the one that it was made with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin._validation import check_path, show
from dfjoin.errors import DfjoinError, IncompatibleSettingsError, InvalidParameterError, InvalidTypeError
from dfjoin.vectors.fasttext_files import is_library_model, model_of_library, read_fasttext
from dfjoin.vectors.fasttext_model import FastTextModel, Texts, texts_with_letters
from dfjoin.vectors.ngrams import NGRAMS_IDENTITY, ngram_model

TRAINED = "fasttext"
"""The name that asks for a model trained on the lake's own values."""

NGRAMS = "ngrams"
"""The name that asks for vectors of character n-grams, which need no training."""

BUILT_IN = (NGRAMS, TRAINED)
"""Names of embedders that need nothing else."""

_SENTENCE = "sentence-transformers/"
_SENTENCE_NAME, _SENTENCE_FILES = "sentence-transformers:", "sentence-transformers-files:"
_MODEL_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_BATCH = 4096
_MOST_OF_SPARSE = 4096
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
        A list of str → array of shape (n, d), or a sparse matrix of scipy.
    identity : str
    place : str
        File or directory that it was read from; empty for none.
    """

    def __init__(self, function: Callable[[list[str]], Any], identity: str, place: str = "") -> None:
        self.identity, self.place = identity, place
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
            vectors = np.asarray(_dense(self._function(values)), np.float32)
        except DfjoinError:
            raise
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


def _dense(vectors: Any) -> Any:
    """Return vectors as an array, also of a sparse matrix."""
    if not hasattr(vectors, "toarray"):
        return vectors
    if vectors.shape[1] > _MOST_OF_SPARSE:
        raise InvalidParameterError(
            f"`embedder` must return sparse vectors of at most {_MOST_OF_SPARSE:,} numbers, since they are kept dense, "
            f"got {vectors.shape[1]:,}; limit the vectoriser (`max_features`, `n_features`), or add a TruncatedSVD"
        )
    return vectors.toarray()


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
    rows = np.empty(vectors.shape, np.float32)
    for start in range(0, len(rows), _BATCH):
        exact = vectors[start : start + _BATCH].astype(np.float64)
        largest = np.abs(exact).max(axis=1, keepdims=True, initial=0)
        exact /= np.where(largest > 0, largest, 1)  # no square overflows or vanishes
        norms = np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, None]
        rows[start : start + _BATCH] = exact / np.where(norms > 0, norms, 1)
    return rows


# Choosing --------------------------------------------------------------------------------------------------


_LEGAL = (
    f"{NGRAMS!r}, {TRAINED!r}, the file of a fastText model or a loaded one, the directory or name of a model of "
    "sentence-transformers, an object with `encode` or `transform`, or a function of a list of texts"
)


def choose_embedder(embedder: Any, identity: str | None = None) -> Embedder | None:
    """Return the embedder that an argument names; None for one that is yet to be trained.

    Parameters
    ----------
    embedder : str, path, callable or object
        See `Lake.add_vectors`.
    identity : str, optional
        Name of a function or object, in the place of the name of the function or class.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is none of these.
    MissingDependencyError
        If its library is not installed.
    """
    if isinstance(embedder, str) and embedder == TRAINED:
        return None
    if isinstance(embedder, str) and embedder in (NGRAMS, NGRAMS_IDENTITY):
        return FastTextEmbedder(ngram_model(), NGRAMS_IDENTITY)
    if isinstance(embedder, str) and embedder in _KNOWN:
        return _KNOWN[embedder][-1]
    if isinstance(embedder, (str, Path)):
        return _named_embedder(embedder)
    for model in (embedder, getattr(embedder, "__self__", None)):  # also of its method `get_sentence_vector`
        if is_library_model(model):
            own = model_of_library(model)
            return FastTextEmbedder(own, identity or f"fasttext-model:{_mark_of_model(own)}")
    given = identity or getattr(embedder, "identity", None)
    if hasattr(embedder, "embed") and isinstance(getattr(embedder, "identity", None), str):
        return embedder
    apply = None if isinstance(embedder, type) else _function_of(embedder)
    if apply is None:
        came = f"the class {embedder.__name__}; make an object of it" if isinstance(embedder, type) else type(embedder)
        raise InvalidTypeError(f"`embedder` must be {_LEGAL}, got {getattr(came, '__name__', came)}")
    if not isinstance(given, str):
        name = getattr(embedder, "__qualname__", type(embedder).__qualname__)
        module = getattr(embedder, "__module__", type(embedder).__module__)
        given = f"function:{module}.{name}"
    return FunctionEmbedder(apply, given)


def _named_embedder(embedder: str | Path) -> Embedder:
    """Return the embedder that a path or the name of a model stands for."""
    path = Path(check_path(embedder, "embedder"))
    if _is_there(path, Path.is_file):
        path = path.resolve()
        return FastTextEmbedder(read_fasttext(path), f"fasttext-file:{path.name}:{_mark([path])}", str(path))
    if _is_there(path, Path.is_dir):
        path = path.resolve()
        model = _sentence_transformer(str(path), "", str(path))
        mark = _mark(sorted(file for file in path.rglob("*") if file.is_file()))  # after it is known to be a model
        model.identity = f"{_SENTENCE_FILES}{path.name}:{mark}"
        return model
    name = str(embedder).removeprefix(_SENTENCE_NAME)
    if _MODEL_NAME.fullmatch(name) and not name.endswith((".bin", ".ftz", ".vec", ".gz")):
        return _sentence_transformer(name, name if name.startswith(_SENTENCE) else f"{_SENTENCE_NAME}{name}", "")
    raise InvalidParameterError(f"`embedder` must be {_LEGAL}, got {show(str(embedder))}, which is no file")


def _function_of(embedder: Any) -> Callable[[list[str]], Any] | None:
    """Return the function of a list of texts that an object applies; None if it has none."""
    for name in ("encode", "transform"):
        if callable(getattr(embedder, name, None)):
            return getattr(embedder, name)
    return embedder if callable(embedder) else None


def _is_there(path: Path, is_kind: Callable[[Path], bool]) -> bool:
    try:
        return is_kind(path)
    except OSError:  # a text that is too long for a path, for example
        return False


def _mark(paths: list[Path]) -> str:
    """Return a mark of large files: of their sizes, heads and tails."""
    digest = hashlib.blake2b(digest_size=8)
    for path in paths:
        size = path.stat().st_size
        digest.update(size.to_bytes(8, "little"))
        with path.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            stream.seek(max(0, size - (1 << 20)))
            digest.update(stream.read(1 << 20))
    return digest.hexdigest()


def _mark_of_model(model: FastTextModel) -> str:
    """Return a mark of a model that lies in memory: of all its words and numbers."""
    digest = hashlib.blake2b(repr(model.shape).encode(), digest_size=8)
    for array in (model.offsets, model.data, model.matrix):
        digest.update(array.data)
    return digest.hexdigest()


def _sentence_transformer(name: str, identity: str, place: str) -> FunctionEmbedder:
    library = import_optional("sentence_transformers", extra="sentence", purpose=f"the embedder {name!r}")
    try:
        model = library.SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"`embedder` must be {_LEGAL}, and sentence-transformers cannot open {show(name)}: {error}"
        ) from error
    return FunctionEmbedder(
        lambda values: model.encode(values, convert_to_numpy=True, show_progress_bar=False), identity, place
    )


# Knowing again ---------------------------------------------------------------------------------------------

_KNOWN: dict[str, list[Embedder]] = {}
"""Identity → embedders of this process that have it, the latest last: two functions may have one name."""


def remember_embedder(embedder: Embedder) -> None:
    """Keep an embedder for the indexes of this process that name it; one of a file or of a model replaces another."""
    known = _KNOWN.setdefault(embedder.identity, [])
    is_named = not embedder.identity.startswith("function:")
    known[:] = [one for one in known if one is not embedder and not is_named] + [embedder]


def known_embedder(identity: str, place: str, dimension: int, probe: list[list[float]]) -> Embedder:
    """Return the embedder of an identity that an index names.

    Parameters
    ----------
    identity : str
    place : str
        File or directory that it was read from; empty for none.
    dimension : int
    probe : list of list of float
        What was noted when the index was made: of several embedders with the identity, the one that makes these vectors
        is returned.

    Raises
    ------
    IncompatibleSettingsError
        If this process does not know it and cannot find it, or it makes other vectors.
    """
    if identity not in _KNOWN:
        found = None
        if identity == NGRAMS_IDENTITY or identity.startswith((_SENTENCE, _SENTENCE_NAME)):
            found = choose_embedder(identity)
        elif place and Path(place).exists():
            found = choose_embedder(place)
        if found is None or found.identity != identity:
            where = f"its file {place!r} is gone or another one" if place else "it is an object of another process"
            raise IncompatibleSettingsError(
                f"the vectors of the index were made by {identity!r}, and {where}; make it known with "
                "dfjoin.register_embedder(embedder), or make the vectors anew with `lake.add_vectors(embedder)`"
            )
        remember_embedder(found)
    *earlier, latest = _KNOWN[identity]
    for known in (latest, *earlier[::-1]):
        own_dimension, own = probe_of(known)
        if own_dimension == dimension and _are_alike(own, probe):
            return known
    check_probe(latest, dimension, probe)
    return latest


def probe_of(embedder: Embedder) -> tuple[int, list[list[float]]]:
    """Return the length of an embedder's vectors, and the first numbers of those of a few texts.

    Parameters
    ----------
    embedder : Embedder

    Raises
    ------
    InvalidParameterError
        If it returns no array with a row for each text.
    """
    vectors = embedder.embed(to_texts(list(_PROBES)))
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.shape[0] != len(_PROBES):
        came = f"shape {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        raise InvalidParameterError(
            f"`embedder` must have a method `embed` that returns an array of shape (n, d) for n texts, but that of "
            f"{embedder.identity} returned {came} for {len(_PROBES)} texts; give a function of a list of texts"
        )
    rows = unit_rows(vectors)
    return int(rows.shape[1]), np.round(rows[:, :_PROBE_NUMBERS].astype(float), 4).tolist()


def stable_probe_of(embedder: Embedder) -> tuple[int, list[list[float]]]:
    """Return the probe of an embedder, tried twice.

    Raises
    ------
    InvalidParameterError
        If it returns other vectors the second time, or none.
    """
    probe, again = probe_of(embedder), probe_of(embedder)
    if not _are_alike(probe[1], again[1]):
        raise InvalidParameterError(
            f"`embedder` must return the same vector of a text each time, but {embedder.identity} returned other ones "
            "the second time; fix its seed, or switch its dropout off"
        )
    return probe


def _are_alike(one: list[list[float]], other: list[list[float]]) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=0, atol=_TOLERANCE)


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
    if not _are_alike(own, probe):
        raise IncompatibleSettingsError(
            f"the embedder {embedder.identity!r} makes other vectors than when the index was made; give the embedder "
            "that the index was made with, or call `lake.add_vectors(embedder)`"
        )
