"""What tasks do of embedding: a stretch of a segment's values each, then the cells of a segment."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.index.components import create_file, make_directory, segment_directory
from dfjoin.index.manifest import EmbedderMeta, SegmentMeta
from dfjoin.index.mirror import fetch_below
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import open_model
from dfjoin.index.vector_group import VectorPart, VectorWriter, embed_values, text_tokens
from dfjoin.vectors.abbreviations import expanding
from dfjoin.vectors.embedders import Embedder

FUNCTION_FILE = "function.pickle"
"""Holds an embedder that is a function, in the directory that `send_embedder` names."""

_STEP_VECTORS = 1 << 16
_ROWS_FILE, _TOKENS_FILE = "rows", "tokens"


@dataclass(frozen=True)
class EmbedJob:
    """What all tasks that embed the values of an index share.

    Parameters
    ----------
    index, work : str
        Directory of the index, and the one that stretches are written into.
    embedder : dict
        As `send_embedder` returns it.
    dimension : int
    """

    index: str
    work: str
    embedder: dict[str, Any]
    dimension: int


@dataclass(frozen=True)
class Stretch:
    """A part of a segment's values that a task embeds.

    The driver does not read the values. It says how many parts there are, and the task cuts them.

    Parameters
    ----------
    segment : dict
        Manifest entry.
    part, n_parts : int
        Number of this part, from 0, and how many there are.
    weight : int
        How many values the part counts for in the progress.
    """

    segment: dict[str, Any]
    part: int
    n_parts: int
    weight: int


@dataclass(frozen=True)
class EmbeddedStretch:
    """The vectors of a stretch: a directory of two files below the work directory, and the number of vectors."""

    segment: str
    part: int
    directory: str
    n: int


def open_sent_embedder(sent: dict[str, Any]) -> Embedder:
    """Open what `send_embedder` has written, once in this process; copy it here first if it lies elsewhere.

    Parameters
    ----------
    sent : dict
        What it returned.

    Raises
    ------
    InvalidParameterError
        If a function cannot be unpickled here.
    """
    return _open_once(json.dumps(sent))


@lru_cache(maxsize=1)
def _open_once(sent: str) -> Embedder:
    values: dict[str, Any] = json.loads(sent)
    directory = Path(values["directory"])
    fetch_below(directory)
    if values["model"] is not None:
        return open_model(directory.parent.parent, EmbedderMeta.from_dict(values["model"]))
    try:
        with (directory / FUNCTION_FILE).open("rb") as stream:
            embedder: Embedder = pickle.load(stream)
    except Exception as error:  # of foreign code, which unpickling runs
        raise InvalidParameterError(
            f"`embedder` cannot be opened by the tasks of Spark ({type(error).__name__}: {error}); give a function of "
            'a module that the workers have, or pass engine="inline"'
        ) from error
    return expanding(embedder, values["abbreviations"])


def embed_stretch(
    job: EmbedJob, stretch: Stretch, on_chunk: Callable[[int, int], None] | None = None
) -> EmbeddedStretch:
    """Embed a stretch of values; vectors and tokens wait in a directory, named anew by each attempt.

    Parameters
    ----------
    job : EmbedJob
    stretch : Stretch
    on_chunk : callable, optional
        Called with the number of values, of the weight of the stretch, twice after each chunk.
    """
    segment = Segment(Path(job.index), SegmentMeta.from_dict(stretch.segment), is_compared=True)
    chosen = text_tokens(segment)
    first, last = (chosen.size * part // stretch.n_parts for part in (stretch.part, stretch.part + 1))
    chosen = chosen[first:last]
    embedder = open_sent_embedder(job.embedder)
    report = _in_steps(stretch.weight, on_chunk)
    name, n, done = f"stretch-{uuid.uuid4().hex}", 0, 0

    def tell(n_values: int) -> None:
        nonlocal done
        done += n_values
        report(done / chosen.size)

    directory = Path(job.work) / name
    make_directory(directory)
    with create_file(directory / _ROWS_FILE) as rows_file, create_file(directory / _TOKENS_FILE) as tokens_file:
        for rows, tokens in embed_values(segment, chosen, embedder, job.dimension, tell):
            rows_file.write(np.ascontiguousarray(rows).data)
            tokens_file.write(np.ascontiguousarray(tokens).data)
            n += tokens.size
    report(1.0)
    return EmbeddedStretch(segment.meta.id, stretch.part, name, n)


def write_cells(
    job: EmbedJob,
    segment: SegmentMeta,
    stretches: list[EmbeddedStretch],
    into: Path,
    on_step: Callable[[int, int], None] | None = None,
) -> SegmentMeta:
    """Put the vectors of a segment into cells; return its manifest entry with the group ``vectors``.

    Parameters
    ----------
    job : EmbedJob
    segment : SegmentMeta
    stretches : list of EmbeddedStretch
        Of all its values, in order.
    into : Path
        Directory to write the group below, as if it were the index.
    on_step : callable, optional
        Called with (vectors, vectors) after each part.
    """
    total = sum(stretch.n for stretch in stretches)
    directory = segment_directory(into, segment.id)
    make_directory(directory)
    group = VectorWriter(directory, job.dimension, _in_steps(total, on_step)).write(_parts(job, stretches), total)
    return segment.with_group(group)


def _in_steps(total: int, on_step: Callable[[int, int], None] | None) -> Callable[[float], None]:
    """Return what takes the share of the work that is done, and tells what was added to it, in units of `total`."""
    reported = 0

    def tell(share: float) -> None:
        nonlocal reported
        done = round(share * total)
        if on_step is not None and done > reported:
            on_step(done - reported, done - reported)
            reported = done

    return tell


def _parts(job: EmbedJob, stretches: list[EmbeddedStretch]) -> Iterator[VectorPart]:
    """Read the vectors of stretches, part by part."""
    for stretch in stretches:
        if stretch.n:
            directory, shape = Path(job.work) / stretch.directory, (stretch.n, job.dimension)
            rows: NDArray[Any] = np.memmap(directory / _ROWS_FILE, np.float32, "r", shape=shape)
            tokens = np.fromfile(directory / _TOKENS_FILE, np.int64)
            for start in range(0, stretch.n, _STEP_VECTORS):
                yield rows[start : start + _STEP_VECTORS], tokens[start : start + _STEP_VECTORS]
