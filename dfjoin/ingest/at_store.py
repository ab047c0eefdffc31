"""Tasks of an index on another file system: they read and write it there, and the driver only names what they wrote."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfjoin.index.components import RUNS
from dfjoin.index.mirror import Mirror, index_path, mirror_above, mirror_of
from dfjoin.ingest.requests import execute, inputs_of, written_by

_LEFT_SECONDS = 86_400.0


@dataclass(frozen=True)
class StoreLocation:
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
    cache, an embedder for a day, and nothing of what it wrote.
    """

    uri: str
    base: str

    def carry_out(self, request: str) -> str:
        """Carry out a request: fetch its inputs, copy what it writes to the index, return its result."""
        mirror = self._mirror()
        values = {**_moved(json.loads(request), self.base, str(mirror.directory)), "progress": None}
        if "into" in values:  # a group of components is written where it belongs
            values["into"] = str(mirror.directory)
        directory = Path(values["job"]["work"] if "job" in values else values["index"])
        inputs = inputs_of(values)
        _remove_left(mirror.directory / RUNS)
        try:
            for path in inputs:
                mirror.fetch_all(path.relative_to(mirror.directory).as_posix())
            (directory / RUNS).mkdir(parents=True, exist_ok=True)
            result = execute(json.dumps(values))
        finally:
            for path in inputs:
                shutil.rmtree(path, ignore_errors=True)
        _send_written(mirror, written_by(values, result))
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
        mirror = self._mirror()
        directory = mirror.directory / self.name(str(work))
        (directory / RUNS).mkdir(parents=True, exist_ok=True)
        result = write(directory)
        _send_written(mirror, written_by({"task": "run", "index": str(directory)}, result))
        return result

    def request(self, path: str) -> str:
        """Read a request that the driver has sent."""
        return b"".join(self._mirror().store.chunks(self.name(path))).decode()

    def send(self, path: Path) -> None:
        """Copy a file of the driver, or the files below a directory, to the index."""
        self._mirror().send_all(self.name(str(path)))

    def send_new(self, path: Path) -> None:
        """Copy the files below a directory of the driver that the index does not have yet."""
        self._mirror().send_new(self.name(str(path)))

    def discard(self, path: Path) -> None:
        """Remove what was sent."""
        self._mirror().store.discard(self.name(str(path)))

    def name(self, path: str) -> str:
        """Return the name below the index of a path of the driver."""
        return Path(path).relative_to(self.base).as_posix()

    def _mirror(self) -> Mirror:
        """Open the mirror of this machine."""
        mirror = mirror_of(index_path(self.uri))
        assert mirror is not None  # only an index on another file system is a store
        return mirror


def _moved(value: Any, base: str, target: str) -> Any:
    """Return a request whose paths below one directory lie below another one."""
    if isinstance(value, str):
        return target + value[len(base) :] if value == base or value.startswith(f"{base}{os.sep}") else value
    if isinstance(value, list):
        return [_moved(one, base, target) for one in value]
    return {name: _moved(one, base, target) for name, one in value.items()} if isinstance(value, dict) else value


def _remove_left(runs: Path) -> None:
    """Remove what tasks have left of builds that nothing was written for since a day."""
    for directory in runs.iterdir() if runs.is_dir() else ():
        with suppress(OSError):  # another task removes it
            if time.time() - directory.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(directory, ignore_errors=True)


def _send_written(mirror: Mirror, written: list[Path]) -> None:
    """Copy directories that a task has written to the index, and remove them here."""
    for path in written:
        try:
            mirror.send_all(path.relative_to(mirror.directory).as_posix())
        finally:
            shutil.rmtree(path, ignore_errors=True)


def store_location(work: Path) -> StoreLocation | None:
    """Return the location of an index on another file system, by a directory below it; None for one on this machine."""
    found = mirror_above(work)
    return None if found is None else StoreLocation(found[0].uri, str(work)[: -len(found[1]) - 1])
