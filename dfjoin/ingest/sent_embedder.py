"""Embedders on their way to tasks: written once where all tasks see it; `open_sent_embedder` is the other end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfjoin.errors import InvalidParameterError
from dfjoin.index.components import create_file, make_directory, model_directory
from dfjoin.index.stored_model import write_model
from dfjoin.ingest.chosen_embedder import IndexEmbedder, ToTrain
from dfjoin.ingest.embed_task import FUNCTION_FILE
from dfjoin.ingest.engine import pickled
from dfjoin.vectors.abbreviations import ExpandingEmbedder
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder


def send_embedder(chosen: IndexEmbedder, index: Path, work: Path) -> dict[str, Any]:
    """Write what tasks need of an embedder.

    Parameters
    ----------
    chosen : IndexEmbedder
    index : Path
        Has the model, if it was trained there.
    work : Path
        Directory that tasks see; takes anything else: the arrays of a fastText model, which tasks map, or the pickled
        function.

    Returns
    -------
    dict
        For `open_sent_embedder`: the ``directory`` that holds it, the ``model`` (None for a function), and
        ``abbreviations``.

    Raises
    ------
    InvalidParameterError
        If a function cannot be pickled.
    """
    embedder, table = _parts(chosen.embedder)
    if not isinstance(embedder, FastTextEmbedder):
        directory = model_directory(work, "function")
        make_directory(directory)
        with create_file(directory / FUNCTION_FILE) as stream:
            stream.write(_pickled(embedder))
        return {"directory": str(directory), "model": None, "abbreviations": table}
    parent, meta = index, chosen.meta
    if not meta.model:
        parent, meta = work, write_model(work, embedder.model)[1]
    directory = model_directory(parent, meta.model)
    return {"directory": str(directory), "model": {**meta.to_dict(), "abbreviations": table}, "abbreviations": table}


def require_sendable(chosen: IndexEmbedder | ToTrain) -> None:
    """Raise `InvalidParameterError` if tasks cannot be sent an embedder: before there is any work done."""
    if isinstance(chosen, IndexEmbedder):
        embedder, _ = _parts(chosen.embedder)
        if not isinstance(embedder, FastTextEmbedder):
            _pickled(embedder)


def _parts(embedder: Embedder) -> tuple[Embedder, dict[str, str]]:
    """Return the embedder that makes the vectors, and the abbreviations that are written out before."""
    if isinstance(embedder, ExpandingEmbedder):
        return embedder.embedder, embedder.table
    return embedder, {}


def _pickled(embedder: Embedder) -> bytes:
    try:
        return pickled(embedder)
    except Exception as error:  # of foreign code, which pickling runs
        raise InvalidParameterError(
            f"`embedder` must be a function that can be pickled, as tasks of Spark apply it, but {embedder.identity} "
            f"cannot ({type(error).__name__}: {error}); let it load its model when it is first called, or pass "
            'engine="inline"'
        ) from error
