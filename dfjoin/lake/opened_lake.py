"""An index opened at one version: what it is, and how it moves to another version."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from dfjoin.index.manifest import Manifest
from dfjoin.index.segment import Segment
from dfjoin.index.versions import read_manifest
from dfjoin.store import overview
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.types import IndexSettings

__all__ = ["OpenedLake", "moved_roots_of"]

_opened: dict[str, dict[str, str]] = {}
"""Place of each index that this process opened → the new places of its roots, as they were last given."""


def moved_roots_of(place: str) -> dict[str, str] | None:
    """Return the new places of the roots of an index that this process opened; None for another index."""
    return _opened.get(place)


class OpenedLake:
    """An index opened at one version, which `refresh` and the methods that commit a version exchange for another.

    Parameters
    ----------
    index : str or path
        Directory of the index.
    version : int, optional
        The version to open.
    roots : mapping of str, optional
        New places of roots, by name.
    """

    def __init__(
        self,
        index: str | os.PathLike[str],
        *,
        version: int | None = None,
        roots: Mapping[str, str] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._snapshot = open_snapshot(index, version, roots)
        _opened[self._snapshot.place] = self._snapshot.moved

    def __getstate__(self) -> dict[str, Any]:
        return {"snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._snapshot = state["snapshot"]
        _opened[self._snapshot.place] = self._snapshot.moved

    def __repr__(self) -> str:
        counts = self.manifest.counts
        tables, columns = counts.get("tables", 0), counts.get("columns", 0)
        return f"<Lake {str(self.path)!r} version {self.version}: {tables} tables, {columns} columns>"

    def _repr_html_(self) -> str:
        """Write what the index holds as a card, for notebooks."""
        return overview.snapshot_html(self._snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """The version that this object reads, which never changes; `refresh` takes another one."""
        return self._snapshot

    @property
    def path(self) -> Path:
        """Directory of the index."""
        return self._snapshot.path

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._snapshot.version

    @property
    def settings(self) -> IndexSettings:
        """What the index was built with."""
        return self._snapshot.settings

    @property
    def manifest(self) -> Manifest:
        """The manifest of this version."""
        return self._snapshot.manifest

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of this version."""
        return self._snapshot.segments

    @property
    def roots(self) -> dict[str, str]:
        """Name (or place, for the first root) of each root → where its tables are read from."""
        return self._snapshot.places()

    def _move_to(self, manifest: Manifest) -> Self:
        """Move this object to a version that it has just committed."""
        with self._lock:
            if manifest.version != self.version:
                self._snapshot = self._snapshot.at(manifest)
        return self

    def refresh(self) -> Self:
        """Move this object to the latest version and return it."""
        with self._lock:
            latest = read_manifest(self.path)
            if latest.version != self.version:
                self._snapshot = self._snapshot.at(latest)
        return self
