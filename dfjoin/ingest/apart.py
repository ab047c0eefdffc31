"""Tasks whose worker does not share the driver's files: what they write comes back piece by piece."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dfjoin.errors import EngineError
from dfjoin.index.components import RUNS, create_file, make_directories, make_directory
from dfjoin.ingest.requests import execute
from dfjoin.sources.roots import local_path

_PIECE = 512 << 10
"""Bytes of a file in a row: some hundred rows are in memory at a time on their way through Spark."""


@dataclass(frozen=True)
class FilePart:
    """The next piece of a file, named by its path below the directory of the runs."""

    name: str
    data: bytes


def request_paths(head: dict[str, Any]) -> frozenset[str]:
    """Return the local paths that a request reads tables from, by its head; none for a request that merges."""
    paths = {local_path(root["uri"]) for root in head.get("roots", [])}
    return frozenset(directory for directory in paths if directory is not None)


def carry_out_apart(request: str) -> Iterator[FilePart | str]:
    """Carry out a request to read tables in a scratch directory; return its files, and its result last."""
    values = json.loads(request)

    def execute_there(directory: Path) -> str:
        return execute(json.dumps({**values, "index": str(directory), "progress": None}))

    return run_apart(execute_there)


def run_apart(write: Callable[[Path], str]) -> Iterator[FilePart | str]:
    """Let a task write a run into a scratch directory; return its files in pieces, and its result last.

    Parameters
    ----------
    write : callable
        Writes a run below the directory that it is given, and returns a result.

    Yields
    ------
    FilePart or str
        Pieces of at most 512 KiB, those of a file one after the other; an empty file is one piece.
    """
    with tempfile.TemporaryDirectory(prefix="dfjoin-task-") as scratch:
        directory = Path(scratch)
        make_directories(directory)
        result = write(directory)
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                name = path.relative_to(directory).as_posix()
                with path.open("rb") as stream:
                    piece = stream.read(_PIECE)
                    yield FilePart(name, piece)
                    while piece := stream.read(_PIECE):
                        yield FilePart(name, piece)
        yield result


def keep_file(directory: Path, part: FilePart) -> None:
    """Append a piece to its file.

    Parameters
    ----------
    directory : Path
        Directory of the driver that stands for the task's scratch directory.
    part : FilePart

    Raises
    ------
    EngineError
        If its name leads out of the runs below `directory`.
    """
    name = PurePosixPath(part.name)
    if name.is_absolute() or ".." in name.parts or name.parts[:1] != (RUNS,):
        raise EngineError(f"a task of Spark handed back a file that belongs to no run: {part.name!r}")
    path = directory / name
    make_directory(path.parent)
    with path.open("ab") if path.exists() else create_file(path) as stream:
        stream.write(part.data)
