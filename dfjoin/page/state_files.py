"""What the page keeps on disk: states, the sources that people uploaded, and a bounded cache of results."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dfjoin.errors import InvalidParameterError
from dfjoin.page.page_texts import refusal

_NAME = re.compile(r"[0-9a-f]{32}")
_UNSAFE = re.compile(r"[^\w.\- ]+")
_MOST_CHARACTERS = 80

RESULT_BYTES = 2 << 30
"""Bytes of results that are kept, and of sources; what was used the longest ago goes first. See `StateFiles`."""


@dataclass(frozen=True)
class Recipe:
    """How a table is made: its source, and the steps since. Plain JSON.

    Parameters
    ----------
    source : dict
        ``kind`` file, lake or frame, ``name``, ``sha256``, and what the kind needs.
    steps : tuple of dict
        As `dfjoin.page.steps` writes them.
    """

    source: dict[str, Any]
    steps: tuple[dict[str, Any], ...] = ()

    @cached_property
    def name(self) -> str:
        """Name of the state: a digest of all that makes its table."""
        return digest({"source": self.source, "steps": self.steps})

    def first(self, n_steps: int) -> Recipe:
        """Return the recipe without the steps after the first `n_steps`."""
        return Recipe(self.source, self.steps[:n_steps])

    def then(self, *steps: dict[str, Any]) -> Recipe:
        """Return the recipe with further steps."""
        return Recipe(self.source, (*self.steps, *steps))


def digest(value: Any) -> str:
    """Return 128 bits of the SHA-256 of plain JSON values, as hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def as_stored(df: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as it comes back from Parquet, see `stored_table`."""
    return stored_table(df).to_pandas()


def stored_table(df: pd.DataFrame) -> pa.Table:
    """Return a frame as Parquet stores it: without its index, columns of one type each.

    Raises
    ------
    InvalidParameterError
        If two columns have one name, or cells of a column have no common type.
    """
    df = df.rename(columns=str)
    df.attrs = {}  # reports of joins: pandas copies them with each part of a frame
    if not df.columns.is_unique:
        name = df.columns[df.columns.duplicated()][0]
        raise InvalidParameterError(refusal("same_names", name))
    try:
        return pa.Table.from_pandas(df, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidParameterError(refusal("mixed_cells", error)) from error


class StateFiles:
    """The files of the page in one directory: ``states``, ``sources`` and ``results``.

    Parameters
    ----------
    home : Path
        Made if it is not there; only its owner may read it.
    most_bytes : int
        Bytes of results, and of sources, that are kept at most; of states, which are small, a part of 32 of it.
    """

    def __init__(self, home: Path, most_bytes: int = RESULT_BYTES) -> None:
        self._home = home
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        for name in ("states", "sources", "results"):
            (home / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, recipe: Recipe) -> str:
        """Keep a state and those before it; return its name."""
        for n_steps in range(len(recipe.steps) + 1):
            part = recipe.first(n_steps)
            text = json.dumps({"source": part.source, "steps": part.steps}, ensure_ascii=True)
            with _written(self._home / "states" / f"{part.name}.json") as path:
                path.write_text(text, "ascii")
        self._trim("states")
        return recipe.name

    def recipe(self, name: str) -> Recipe | None:
        """Return the state of a name; None if there is none."""
        if _NAME.fullmatch(name) is None:
            return None
        path = self._home / "states" / f"{name}.json"
        try:
            values = json.loads(path.read_text("ascii"))
            os.utime(path)
        except (OSError, ValueError):
            return None
        return Recipe(values["source"], tuple(values["steps"]))

    def keep_source(self, name: str, content: Path) -> tuple[str, str]:
        """Keep a file that a person uploaded; return its SHA-256 and the name under which it lies here.

        Parameters
        ----------
        name : str
            Name of the file, as the browser says it; no part of it but letters, digits and dots is used in a path.
        content : Path
        """
        with content.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        safe = _safe_name(name)
        directory = self._home / "sources" / sha256
        directory.mkdir(mode=0o700, exist_ok=True)
        with _written(directory / safe) as path:
            shutil.copyfile(content, path)
        self._trim("sources")
        return sha256, safe

    def source(self, sha256: str, name: str) -> Path | None:
        """Return the path of a kept source; None if it was removed meanwhile."""
        path = self._home / "sources" / sha256 / name
        if re.fullmatch(r"[0-9a-f]{64}", sha256) is None or _safe_name(name) != name or not path.is_file():
            return None
        with suppress(OSError):
            os.utime(path)
        return path

    def keep_result(self, key: str, df: pd.DataFrame) -> None:
        """Keep the table of a state; nothing happens where the disk is full."""
        with suppress(OSError):
            with _written(self._home / "results" / f"{key}.parquet") as path:
                pq.write_table(pa.Table.from_pandas(df, preserve_index=False), path)
            self._trim("results")

    def result(self, key: str) -> pd.DataFrame | None:
        """Return a kept table; None if it is not here, or damaged."""
        path = self._home / "results" / f"{key}.parquet"
        try:
            df = pq.read_table(path).to_pandas()
            os.utime(path)
        except (OSError, pa.ArrowInvalid):
            return None
        return df

    def _trim(self, part: str) -> None:
        """Remove files until the rest fits, the one used the longest ago first, but never the last one."""
        most = self._most_bytes // 32 if part == "states" else self._most_bytes
        with self._lock:
            found = []
            for path in (self._home / part).rglob("*"):
                with suppress(OSError):
                    if path.is_file():
                        status = path.stat()
                        found.append((status.st_mtime_ns, status.st_size, path))
            excess = sum(size for _, size, _ in found) - most
            for _, size, path in sorted(found)[:-1]:
                if excess <= 0:
                    break
                path.unlink(missing_ok=True)
                excess -= size


def _safe_name(name: str) -> str:
    """Make a file name of what a browser says: the last part, its ending kept."""
    last = re.split(r"[/\\]", name)[-1]
    safe = _UNSAFE.sub("_", last).strip(" .")[-_MOST_CHARACTERS:].lstrip(" .")
    return safe or "table.csv"


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """Write a file that others see whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    os.close(descriptor)
    try:
        yield Path(name)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
