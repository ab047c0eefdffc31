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
from dfjoin.index.layout import segment_directory
from dfjoin.index.manifest import EmbedderMeta, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import open_model
from dfjoin.index.vector_group import VectorPart, VectorWriter, embed_values, text_tokens
from dfjoin.vectors.abbreviations import expanding
from dfjoin.vectors.embedders import Embedder

__all__ = ["EmbedJob", "EmbeddedStretch", "Stretch", "embed_stretch", "open_sent_embedder", "write_cells"]

_STEP_VECTORS = 1 << 16


@dataclass(frozen=True)
class EmbedJob:
    """What all tasks that embed the values of an index share.

    Parameters
    ----------
    index, work : str
        Directory of the index, and the one that tasks write into.
    embedder : str
        As `send_embedder` returns it.
    dimension : int
    """

    index: str
    work: str
    embedder: str
    dimension: int


@dataclass(frozen=True)
class Stretch:
    """The values of a segment that a task embeds: from the first to the last one of those that are embedded."""

    segment: dict[str, Any]
    first: int
    last: int


@dataclass(frozen=True)
class EmbeddedStretch:
    """The vectors of a stretch: two files below the work directory, and the number of vectors."""

    segment: str
    first: int
    file: str
    n: int


@lru_cache(maxsize=1)
def open_sent_embedder(sent: str) -> Embedder:
    """Open what `send_embedder` has written, once in this process.

    Parameters
    ----------
    sent : str
        What it returned.

    Raises
    ------
    InvalidParameterError
        If a function cannot be unpickled here.
    """
    values: dict[str, Any] = json.loads(sent)
    if "model" in values:
        return open_model(Path(values["place"]), EmbedderMeta.from_dict(values["model"]))
    try:
        with Path(values["file"]).open("rb") as stream:
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
    """Embed a stretch of values; vectors and tokens wait in two files, named anew by each attempt.

    Parameters
    ----------
    job : EmbedJob
    stretch : Stretch
    on_chunk : callable, optional
        Called with (values, values) after each part.
    """
    segment = Segment(Path(job.index), SegmentMeta.from_dict(stretch.segment))
    chosen = text_tokens(segment)[stretch.first : stretch.last]
    name = f"stretch-{uuid.uuid4().hex}"
    embedder = open_sent_embedder(job.embedder)
    told = None if on_chunk is None else lambda n: on_chunk(n, n)
    n = 0
    with _rows_file(job, name).open("xb") as rows_file, _tokens_file(job, name).open("xb") as tokens_file:
        for rows, tokens in embed_values(segment, chosen, embedder, job.dimension, told):
            rows_file.write(np.ascontiguousarray(rows).data)
            tokens_file.write(np.ascontiguousarray(tokens).data)
            n += tokens.size
    return EmbeddedStretch(segment.meta.id, stretch.first, name, n)


def write_cells(
    job: EmbedJob,
    segment: SegmentMeta,
    stretches: list[EmbeddedStretch],
    on_step: Callable[[int, int], None] | None = None,
) -> SegmentMeta:
    """Put the vectors of a segment into cells; return its manifest entry with the group ``vectors``.

    The group is written below the work directory; the driver moves it when all tasks are done.

    Parameters
    ----------
    job : EmbedJob
    segment : SegmentMeta
    stretches : list of EmbeddedStretch
        Of all its values, in order.
    on_step : callable, optional
        Called with (vectors, vectors) after each part.
    """
    total, told = sum(stretch.n for stretch in stretches), 0

    def tell(share: float) -> None:
        nonlocal told
        done = round(share * total)
        if on_step is not None and done > told:
            on_step(done - told, done - told)
            told = done

    directory = segment_directory(Path(job.work), segment.id)
    directory.mkdir(parents=True, exist_ok=True)
    group = VectorWriter(directory, job.dimension, tell).write(_parts(job, stretches), total)
    return segment.with_group(group)


def _parts(job: EmbedJob, stretches: list[EmbeddedStretch]) -> Iterator[VectorPart]:
    """Read the vectors of stretches, part by part."""
    for stretch in stretches:
        if stretch.n:
            rows: NDArray[Any] = np.memmap(
                _rows_file(job, stretch.file), np.float32, "r", shape=(stretch.n, job.dimension)
            )
            tokens = np.fromfile(_tokens_file(job, stretch.file), np.int64)
            for start in range(0, stretch.n, _STEP_VECTORS):
                yield rows[start : start + _STEP_VECTORS], tokens[start : start + _STEP_VECTORS]


def _rows_file(job: EmbedJob, name: str) -> Path:
    return Path(job.work) / f"{name}.rows"


def _tokens_file(job: EmbedJob, name: str) -> Path:
    return Path(job.work) / f"{name}.tokens"
