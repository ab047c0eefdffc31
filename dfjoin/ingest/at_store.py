"""Tasks of an index on another file system: they read and write it there, and the driver only names what they wrote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dfjoin.index.layout import RUNS
from dfjoin.index.mirror import Mirror, index_place, mirror_above, mirror_of
from dfjoin.ingest.requests import execute, written_by

__all__ = ["STORE_TASKS", "StorePlace", "store_place"]

STORE_TASKS = ("run", "merge", "compact")
"""Tasks whose files are read and written where the index lies."""


@dataclass(frozen=True)
class StorePlace:
    """An index on another file system, as tasks of any machine find it.

    Parameters
    ----------
    uri : str
        Of the index; a task opens it with the credentials of its own machine.
    base : str
        Directory that stands for it on the driver; paths of requests lie below it.

    Notes
    -----
    A task works in the mirror of its own machine. It leaves there what it read of segments, within the bounds of the
    cache, and nothing of what it wrote.
    """

    uri: str
    base: str

    def carry_out(self, request: str) -> str:
        """Carry out a request: fetch the runs that it names, copy what it writes to the index, return its result.

        It is one of `STORE_TASKS`: what another one reads and writes is not known here.
        """
        values = json.loads(request)
        mirror = self._mirror()
        below, runs = self.name(values["index"]), [self.name(run) for run in values.get("runs", [])]
        here: dict[str, Any] = {"index": str(mirror.directory / below), "progress": None}
        if runs:
            here["runs"] = [str(mirror.directory / run) for run in runs]
        try:
            for run in runs:
                mirror.fetch_all(run)
            (mirror.directory / below / RUNS).mkdir(parents=True, exist_ok=True)
            result = execute(json.dumps({**values, **here}))
        finally:
            for run in runs:
                shutil.rmtree(mirror.directory / run, ignore_errors=True)
        self._send_written(mirror, below, written_by(values["task"], result))
        return result

    def write_run(self, work: Path, write: Callable[[Path], str]) -> str:
        """Let a task write a run below the scratch directory of a build, and copy it to the index.

        Parameters
        ----------
        work : Path
            The directory, as the driver names it.
        write : callable
            Writes a run below the directory that it is given, and returns its result.
        """
        mirror, below = self._mirror(), self.name(str(work))
        (mirror.directory / below / RUNS).mkdir(parents=True, exist_ok=True)
        result = write(mirror.directory / below)
        self._send_written(mirror, below, written_by("run", result))
        return result

    def _send_written(self, mirror: Mirror, below: str, names: list[str]) -> None:
        """Copy directories that a task has written to the index, and remove them here."""
        for name in names:
            written = PurePosixPath(below) / name
            try:
                mirror.send_all(written.as_posix())
            finally:
                shutil.rmtree(mirror.directory / written, ignore_errors=True)

    def request(self, path: str) -> str:
        """Read a request that the driver has sent."""
        return b"".join(self._mirror().store.chunks(self.name(path))).decode()

    def send(self, path: Path) -> None:
        """Copy a file of the driver, or the files below a directory, to the index."""
        self._mirror().send_all(self.name(str(path)))

    def discard(self, path: Path) -> None:
        """Remove what was sent."""
        self._mirror().store.discard(self.name(str(path)))

    def name(self, path: str) -> str:
        """Return the name below the index of a path of the driver."""
        return Path(path).relative_to(self.base).as_posix()

    def _mirror(self) -> Mirror:
        """Open the mirror of this machine."""
        mirror = mirror_of(index_place(self.uri))
        assert mirror is not None  # only an index on another file system is a store
        return mirror


def store_place(work: Path) -> StorePlace | None:
    """Return the place of an index on another file system, by a directory below it; None for one on this machine."""
    found = mirror_above(work)
    return None if found is None else StorePlace(found[0].uri, str(work)[: -len(found[1]) - 1])
