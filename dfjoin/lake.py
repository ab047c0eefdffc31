"""The handle of a lake: an index opened at one version, its catalogue and its tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfjoin.errors import IndexNotFoundError, InvalidTypeError, TableNotFoundError, shortlist
from dfjoin.index.manifest import Manifest, read_manifest
from dfjoin.index.segment import Segment, SegmentPool
from dfjoin.lake_life import LakeLife
from dfjoin.types import IndexSettings, Root

if TYPE_CHECKING:
    from dfjoin.search.exact.searcher import Searcher

__all__ = ["Lake", "open_lake", "resolve_lake"]


def open_lake(
    index: str | os.PathLike[str], *, version: int | None = None, roots: Mapping[str, str] | None = None
) -> Lake:
    """Open a lake index; reads its manifest and nothing else.

    Parameters
    ----------
    index : str or path
        Directory of the index.
    version : int, optional
        A version that still exists; the latest by default.
    roots : mapping of str, optional
        Name of a root → the place where its tables are now, for a lake that was moved.

    Returns
    -------
    Lake

    Raises
    ------
    IndexNotFoundError
        If there is no index at that place.
    IndexVersionError
        If it needs a newer dfjoin.
    IndexCorruptedError
        If its manifest cannot be read.

    Notes
    -----
    Time does not depend on the size of the lake. Safe to share between threads; pickles as its path
    and version.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile, pathlib
    >>> index = pathlib.Path(tempfile.mkdtemp()) / "lake.dfjoin"
    >>> _ = dfjoin.build_lake({"t": pd.DataFrame({"a": ["x", "y"]})}, index, engine="inline", progress=False)
    >>> dfjoin.open_lake(index).columns[["table", "column", "cardinality"]]
      table column  cardinality
    0     t      a            2
    """
    return Lake(index, version=version, roots=roots)


def resolve_lake(lake: object, argument: str = "lake") -> Lake:
    """Return a Lake for a Lake or the path of one, or raise naming the argument."""
    if isinstance(lake, Lake):
        return lake
    if isinstance(lake, (str, os.PathLike)):
        return open_lake(lake)
    raise InvalidTypeError(
        f"`{argument}` must be a Lake or the path of an index, got {type(lake).__name__}; "
        "open one with dfjoin.open_lake(path)"
    )


class Lake(LakeLife):
    """An index opened at one version. Made by `open_lake` and `build_lake`.

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
        text = os.fspath(index)
        if "://" in text and not text.startswith("file://"):
            raise IndexNotFoundError(
                f"`index` must be a local path, got {text!r}; copy the index to a local disk and open it there"
            )
        self._path = Path(text.removeprefix("file://")).absolute()
        self._moved = dict(roots or {})
        self._lock = threading.Lock()
        self._segments: tuple[Segment, ...] = ()
        self._set(read_manifest(self._path, version))
        known = {root.name or root.uri for root in self._manifest.roots}
        unknown = [name for name in self._moved if name not in known]
        if unknown:
            raise InvalidTypeError(
                f"`roots` must name roots of the index ({shortlist(sorted(known))}), got {unknown[0]!r}"
            )

    def _set(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._segments = tuple(self._pool().of(manifest.segments))
        self._searcher: Searcher | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"index": str(self._path), "version": self.version, "roots": self._moved}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["index"], version=state["version"], roots=state["roots"])  # type: ignore[misc]

    def __repr__(self) -> str:
        counts = self._manifest.counts
        tables, columns = counts.get("tables", 0), counts.get("columns", 0)
        return f"<Lake {str(self._path)!r} version {self.version}: {tables} tables, {columns} columns>"

    @property
    def path(self) -> Path:
        """Directory of the index."""
        return self._path

    @property
    def version(self) -> int:
        """The version that this object reads."""
        return self._manifest.version

    @property
    def settings(self) -> IndexSettings:
        """What the index was built with."""
        return self._manifest.settings

    @property
    def manifest(self) -> Manifest:
        """The manifest of this version."""
        return self._manifest

    @property
    def searcher(self) -> Searcher:
        """Search over the segments of this version."""
        from dfjoin.search.exact.searcher import Searcher  # compiles kernels: not before the first search

        segments, searcher = self._segments, self._searcher
        if searcher is None or searcher.segments is not segments:
            searcher = self._searcher = Searcher(segments)
        return searcher

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of this version."""
        return self._segments

    @property
    def roots(self) -> dict[str, str]:
        """Name (or place, for the first root) of each root → where its tables are read from."""
        return {root.name or root.uri: self._root(root).uri for root in self._manifest.roots}

    def _root(self, root: Root) -> Root:
        moved = self._moved.get(root.name or root.uri)
        return root if moved is None else Root(root.id, root.name, os.fspath(moved), root.kind)

    def _moved_roots(self) -> dict[int, str]:
        roots = self._manifest.roots
        return {root.id: self._root(root).uri for root in roots if (root.name or root.uri) in self._moved}

    def root_of(self, root_id: int) -> Root:
        """Return a root of the index at its present place."""
        return self._root(next(root for root in self._manifest.roots if root.id == root_id))

    @property
    def tables(self):
        """The tables of the lake, one row each, in order of name.

        Returns
        -------
        DataFrame
            ``table, n_rows, n_columns, size, format, root``.
        """
        from dfjoin.store.listing import catalog_tables

        return catalog_tables(self)

    @property
    def columns(self):
        """The columns of the lake, one row each, in order of (table, column).

        Returns
        -------
        DataFrame
            ``table, column, kind, is_indexed, n_rows, n_null, cardinality, key_likeness, min, max,
            samples``; `key_likeness` is cardinality per non-null row, 1 for a key.
        """
        from dfjoin.store.listing import catalog_columns

        return catalog_columns(self)

    def has_table(self, name: str) -> bool:
        """Tell whether an alive table has that name."""
        try:
            self.find_table(name)
        except TableNotFoundError:
            return False
        return True

    def find_table(self, name: str) -> tuple[Segment, int]:
        """Return the segment that holds a table, and the table's number there.

        Raises
        ------
        TableNotFoundError
            If no alive table has that name.
        """
        for segment in self.segments:
            table = segment.catalog.find_table(name)
            if table >= 0 and segment.is_table_alive(table):
                return segment, table
        some = [t for segment in self.segments for t in segment.alive_table_names()[:6]]
        raise TableNotFoundError(f"`name` must be a table of the lake ({shortlist(some)}), got {name!r}")

    def table(self, name: str, columns: list[str] | None = None, *, on_stale: str = "error"):
        """Read a table of the lake.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : list of str, optional
            The columns wanted; all by default.
        on_stale : {"error", "warn", "ignore"}
            What to do when the table is no longer the one that was indexed.

        Returns
        -------
        DataFrame
            With the dtypes that the catalogue's kinds say.

        Raises
        ------
        TableNotFoundError
            If there is no such table.
        TableChangedError
            If its size or fingerprint differ from the indexed ones.
        """
        from dfjoin.store.table import read_frame

        return read_frame(self, name, columns, on_stale=on_stale)

    def _pool(self) -> SegmentPool:
        """Return what opens segments of any version: those of this one are open."""
        return SegmentPool(self._path, self._segments)

    def _move_to(self, manifest: Manifest) -> Lake:
        """Move this object to a version that it has just committed."""
        with self._lock:
            if manifest.version != self.version:
                self._set(manifest)
        return self

    def refresh(self) -> Lake:
        """Move this object to the latest version and return it."""
        with self._lock:
            latest = read_manifest(self._path)
            if latest.version != self.version:
                self._set(latest)
        return self

    def _skipped(self) -> list[dict[str, str]]:
        """List each file that could not be read once, by its latest state; not those that are tables now."""
        records = [r for segment in self.segments for r in segment.catalog.skipped().to_pylist()]
        records.sort(key=lambda r: r["mtime_ns"])
        latest = {r["name"]: r["reason"] for r in records}
        return [{"name": name, "reason": latest[name]} for name in sorted(latest) if not self.has_table(name)]

    def info(self) -> dict[str, Any]:
        """Summarise the index: counts, bytes, settings, roots, segments and what was skipped.

        Returns
        -------
        dict
            Plain values; ``skipped`` lists the files that could not be read, with reasons, and
            ``skipped_reasons`` counts them by reason.
        """
        manifest = self._manifest
        skipped = self._skipped()
        reasons: dict[str, int] = {}
        for record in skipped:
            reasons[record["reason"]] = reasons.get(record["reason"], 0) + 1
        return {
            "index": str(self._path),
            "index_uuid": manifest.index_uuid,
            "version": manifest.version,
            "created_by": manifest.created_by,
            "counts": manifest.counts,
            "bytes": sum(segment.meta.size for segment in self.segments),
            "segments": [{"id": s.meta.id, "bytes": s.meta.size, **s.meta.counts} for s in self.segments],
            "settings": manifest.settings.to_dict(),
            "roots": self.roots,
            "skipped": skipped,
            "skipped_reasons": reasons,
        }

    def verify(self) -> list[str]:
        """Read the whole index and compare every file with its recorded size and CRC-32.

        Returns
        -------
        list of str
            What is damaged, one line each, naming the component; empty when all is well.
        """
        return [problem for segment in self.segments for problem in segment.verify()]
