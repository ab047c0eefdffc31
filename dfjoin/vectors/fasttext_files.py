"""Models of the library fastText: read from its files or a loaded model, checked, and written as it writes them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.vectors.fasttext_model import FastTextModel, TrainingOptions

_MAGIC, _VERSION, _VERSIONS = 793712314, 12, (11, 12)
_SUPERVISED, _SKIPGRAM, _SOFTMAX = 3, 2, 3
_ROWS = 1 << 14
"""Rows of a matrix that are checked or written at once."""

_MOST = 1e15
"""Weights are no larger: the square of a sum of 16,384 of them is a number in float32."""


def read_fasttext(path: Path) -> FastTextModel:
    """Read a model that fastText saved (``.bin``, format 11 or 12, not quantised).

    Parameters
    ----------
    path : Path

    Returns
    -------
    FastTextModel
        The matrix is mapped, not read.

    Raises
    ------
    InvalidParameterError
        If the file is no such model.
    """
    try:
        with path.open("rb") as stream:
            return _read(stream, path)
    except (struct.error, ValueError, OSError, IndexError) as error:
        raise InvalidParameterError(
            f"`embedder` must be the file of a fastText model (.bin, not quantised), and `{path}` is not: {error}; "
            'give another file, or embedder="fasttext", which trains on the lake'
        ) from error


def _read(stream: BinaryIO, path: Path) -> FastTextModel:
    magic, version = struct.unpack("<ii", stream.read(8))
    if magic != _MAGIC or version not in _VERSIONS:
        raise ValueError("it does not begin as one")
    args = struct.unpack("<12id", stream.read(56))
    d, word_ngrams, kind, n_buckets, shortest, longest = args[0], *args[5:6], *args[7:11]
    n_entries, n_words, n_labels, _, n_pruned = struct.unpack("<iiiqq", stream.read(28))
    if kind == _SUPERVISED and version == 11:
        longest = 0  # supervised models of this version use no n-grams
    if d < 1 or n_words < 0 or n_labels < 0 or n_entries != n_words + n_labels or n_buckets < 0 or n_pruned > 0:
        raise ValueError("its sizes are impossible, or it is quantised")
    body = np.memmap(path, np.uint8, "r", offset=stream.tell())
    words, lengths, position = [], [], 0
    for _ in range(n_entries):
        end = position + int(np.argmax(body[position : position + 4096] == 0))
        words.append(body[position:end])
        lengths.append(end - position)
        position = end + 10
    if bool(body[position]):
        raise ValueError("it is quantised")
    n_rows, width = body[position + 1 : position + 17].view("<i8").tolist()
    if width != d or n_rows < n_words or n_rows - n_words not in (n_buckets, 0):
        raise ValueError("its matrix does not fit its dictionary")
    start = stream.tell() + position + 17
    matrix = np.memmap(path, "<f4", "r", offset=start, shape=(n_rows, width))
    return _model(
        words, n_labels, np.asarray(matrix), shortest, longest, max(1, word_ngrams) if kind == _SUPERVISED else 0
    )


def _model(
    words: Iterable[Any], n_labels: int, matrix: NDArray[np.float32], shortest: int, longest: int, word_ngrams: int
) -> FastTextModel:
    """Make a model of the entries of a dictionary, words and then labels, in UTF-8.

    A model that is not supervised has the rows of its n-grams for labels; without n-grams it has none for them.
    """
    packed = [np.frombuffer(word, np.uint8) for word in words]
    if not word_ngrams and len(packed) > matrix.shape[0]:
        packed, n_labels = packed[: len(packed) - n_labels], 0
    data = np.concatenate([*packed, np.zeros(1, np.uint8)])
    offsets = np.concatenate([[0], np.cumsum([word.size for word in packed], dtype=np.int64)]).astype(np.int64)
    longest = longest if matrix.shape[0] > len(packed) - n_labels else 0
    return FastTextModel(offsets, data, matrix, max(1, shortest), longest, word_ngrams, n_labels)


# The library -----------------------------------------------------------------------------------------------


def is_library_model(value: Any) -> bool:
    """Tell whether a value is a model that the package fasttext has loaded or trained; nothing is imported."""
    return type(value).__module__.partition(".")[0] == "fasttext" and hasattr(value, "get_input_matrix")


def model_of_library(model: Any) -> FastTextModel:
    """Read a model that the package fasttext has loaded or trained: its words and its matrix, once.

    Parameters
    ----------
    model : fasttext.FastText._FastText

    Returns
    -------
    FastTextModel
        It shares nothing with the library's.

    Raises
    ------
    InvalidParameterError
        If the model is quantised.
    """
    if model.is_quantized():
        raise InvalidParameterError(
            "`embedder` must be a fastText model that is not quantised, got a quantised one, whose vectors are not "
            "kept; give the model before `quantize()`"
        )
    args = model.f.getArgs()
    texts, labels = (read("surrogateescape")[0] for read in (model.f.getVocab, model.f.getLabels))
    entries = [text.encode("utf-8", "surrogateescape") for text in [*texts, *labels]]
    word_ngrams = max(1, args.wordNgrams) if args.model.name == "supervised" else 0
    matrix = np.ascontiguousarray(model.get_input_matrix(), np.float32)
    return _model(entries, len(labels), matrix, args.minn, args.maxn, word_ngrams)


def check_weights(model: FastTextModel) -> None:
    """Raise unless all numbers of a model can be computed with.

    Parameters
    ----------
    model : FastTextModel

    Raises
    ------
    InvalidParameterError
        If a weight is NaN, infinite or above 1e15.

    Notes
    -----
    The matrix is read once. Training by some releases of the library makes such weights, see `Lake.add_vectors`.
    """
    matrix = model.matrix
    for start in range(0, matrix.shape[0], _ROWS):
        part = matrix[start : start + _ROWS]
        is_good = (np.abs(part) <= _MOST).all(axis=1)  # NaN is not
        if not is_good.all():
            row = start + int(np.argmin(is_good))
            raise InvalidParameterError(
                f"`embedder` must be a fastText model whose weights are numbers up to {_MOST:g}, and row {row} of its "
                "matrix has NaN, infinity or a larger one, as training with memory that was not set leaves it; train "
                'it again, or give embedder="fasttext", which trains on the lake'
            )


# Writing ---------------------------------------------------------------------------------------------------


def write_fasttext(model: FastTextModel, path: Path) -> None:
    """Write a model as the library saves one (format 12): `fasttext.load_model` opens it, and vectors are equal.

    Parameters
    ----------
    model : FastTextModel
        Not supervised.
    path : Path
        A file that is there is replaced.

    Notes
    -----
    Frequencies of words and the matrix of contexts serve training alone and are not kept: each word has frequency 1,
    and that matrix is zero. The library cannot open a model without words: it gets ``</s>``, with a vector of zeros.
    """
    words = [model.data[a:b].tobytes() for a, b in zip(model.offsets, model.offsets[1:], strict=False)]
    n_buckets, d = model.matrix.shape[0] - len(words), model.dimension
    extra = np.zeros((0 if words else 1, d), np.float32)
    words, usual = words or [b"</s>"], TrainingOptions()
    n, longest = len(words), model.longest
    args = (d, 5, usual.epochs, 1, 5, 1, _SOFTMAX, _SKIPGRAM, n_buckets, model.shortest, longest, 100, 1e-4)
    part = path.with_name(f"{path.name}.part")  # a file that is there may be mapped by this process
    try:
        with part.open("wb") as stream:
            stream.write(struct.pack("<ii", _MAGIC, _VERSION) + struct.pack("<12id", *args))
            stream.write(struct.pack("<iiiqq", n, n, 0, n, -1))
            for word in words:
                stream.write(word + b"\0" + struct.pack("<qb", 1, 0))
            stream.write(struct.pack("<?qq", False, n + n_buckets, d))
            for rows in (extra, model.matrix):
                for start in range(0, rows.shape[0], _ROWS):
                    stream.write(np.ascontiguousarray(rows[start : start + _ROWS], "<f4").data)
            stream.write(struct.pack("<?qq", False, n, d))
            for _ in range(n):
                stream.write(bytes(4 * d))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
