"""The public handle of a lake: one call down for each method."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfjoin.errors import InvalidTypeError
from dfjoin.index.manifest import Manifest, read_manifest
from dfjoin.index.segment import Segment
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.types import IndexSettings

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


class Lake:
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
        self._lock = threading.Lock()
        self._snapshot = open_snapshot(index, version, roots)

    def __getstate__(self) -> dict[str, Any]:
        return {"snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._snapshot = state["snapshot"]

    def __repr__(self) -> str:
        counts = self.manifest.counts
        tables, columns = counts.get("tables", 0), counts.get("columns", 0)
        return f"<Lake {str(self.path)!r} version {self.version}: {tables} tables, {columns} columns>"

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
        snapshot = self._snapshot
        return {old.name or old.uri: new.uri for old, new in zip(snapshot.manifest.roots, snapshot.roots, strict=True)}

    def has_table(self, name: str) -> bool:
        """Tell whether an alive table has that name."""
        return self._snapshot.has_table(name)

    @property
    def tables(self):
        """The tables of the lake, one row each, in order of name.

        Returns
        -------
        DataFrame
            ``table, n_rows, n_columns, size, format, root``.
        """
        from dfjoin.store import listing

        return listing.catalog_tables(self._snapshot)

    @property
    def columns(self):
        """The columns of the lake, one row each, in order of (table, column).

        Returns
        -------
        DataFrame
            ``table, column, kind, is_indexed, n_rows, n_null, cardinality, key_likeness, min, max,
            samples``; `key_likeness` is cardinality per non-null row, 1 for a key.
        """
        from dfjoin.store import listing

        return listing.catalog_columns(self._snapshot)

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
        from dfjoin.store import table

        return table.read_frame(self._snapshot, name, columns, on_stale=on_stale)

    def _move_to(self, manifest: Manifest) -> Lake:
        """Move this object to a version that it has just committed."""
        with self._lock:
            if manifest.version != self.version:
                self._snapshot = self._snapshot.at(manifest)
        return self

    def refresh(self) -> Lake:
        """Move this object to the latest version and return it."""
        with self._lock:
            latest = read_manifest(self.path)
            if latest.version != self.version:
                self._snapshot = self._snapshot.at(latest)
        return self

    def info(self) -> dict[str, Any]:
        """Summarise the index: counts, bytes, settings, roots, segments and what was skipped.

        Returns
        -------
        dict
            Plain values; ``skipped`` lists the files that could not be read, with reasons, and
            ``skipped_reasons`` counts them by reason.
        """
        from dfjoin.store import listing

        return listing.summarize(self._snapshot)

    def verify(self) -> list[str]:
        """Read the whole index and compare every file with its recorded size and CRC-32.

        Returns
        -------
        list of str
            What is damaged, one line each, naming the component; empty when all is well.
        """
        return [problem for segment in self.segments for problem in segment.verify()]

    def add(
        self,
        source: Any,
        *,
        engine: str | None = None,
        spark: Any = None,
        full: bool = False,
        on_error: str = "skip",
        keep_data: bool = True,
        progress: bool = True,
    ) -> Lake:
        """Add tables; of a place that the index knows, only what is new or changed is read.

        Parameters
        ----------
        source : as in `dfjoin.build_lake`
            Files below a root of the index belong to it; a table of theirs that has changed takes the place
            of the one that was indexed. Any other name that is taken is an error.
        engine : {None, "spark", "inline"}
            None: inline below 64 MiB of input, else Spark.
        spark : SparkSession, optional
            The session to use.
        full : bool, default False
            Read everything, whatever size, modification time and fingerprint say.
        on_error, keep_data, progress
            As in `dfjoin.build_lake`.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to read.

        Raises
        ------
        InvalidParameterError
            If a name is taken.
        ConcurrentCommitError
            If another writer did something that does not go together with this.

        Notes
        -----
        Writes one segment or more; `compact` merges them when there are many.
        """
        from dfjoin.ingest.build_options import BuildOptions
        from dfjoin.store import change

        options = BuildOptions(source, engine, spark, on_error, keep_data, progress)
        snapshot = self._snapshot
        return self._move_to(change.add(snapshot.pool(), options, snapshot.moved_roots(), reads_all=full))

    def replace(
        self,
        source: Any,
        *,
        engine: str | None = None,
        spark: Any = None,
        on_error: str = "skip",
        keep_data: bool = True,
        progress: bool = True,
    ) -> Lake:
        """Put tables in the place of those of the same names, in one commit; others are added.

        Parameters
        ----------
        source, engine, spark, on_error, keep_data, progress
            As in `add`.

        Returns
        -------
        Lake
            This object, at the new version.
        """
        from dfjoin.ingest.build_options import BuildOptions
        from dfjoin.store import change

        options = BuildOptions(source, engine, spark, on_error, keep_data, progress)
        snapshot = self._snapshot
        return self._move_to(change.add(snapshot.pool(), options, snapshot.moved_roots(), replaces=True))

    def remove(self, tables: str | list[str]) -> Lake:
        """Remove tables from the index; their files stay where they are.

        Parameters
        ----------
        tables : str or list of str
            Names, or patterns (``fnmatch``); each has to match a table.

        Returns
        -------
        Lake
            This object, at the new version.

        Raises
        ------
        TableNotFoundError
            If a name or pattern matches nothing.
        """
        from dfjoin.store import change

        return self._move_to(change.remove(self._snapshot.pool(), tables))

    def add_signatures(
        self,
        *,
        permutations: int = 256,
        signature_min: int | None = None,
        partitions: int = 32,
        partitioning: str = "optimal",
    ) -> Lake:
        """Give the index the MinHash signatures that ``mode="lsh"`` needs, or others than it has.

        Parameters
        ----------
        permutations : int, default 256
            Values of a signature.
        signature_min : int, optional
            Distinct values from which on a column gets a signature; as many as permutations by default.
        partitions : int, default 32
            Partitions of the signed columns by set size, at most.
        partitioning : {"optimal", "equal_depth"}
            How they are cut: with the fewest expected false positives, or into equal numbers of columns.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if it has these signatures already.

        Raises
        ------
        IncompatibleSettingsError
            If the index has other signatures and no token sets to make new ones from.
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Notes
        -----
        No table is read: dictionary and sets hold what is needed. 20 to 50 ns per value of the large columns,
        and ``8 permutations`` bytes for each of them.
        """
        from dfjoin.store import add_groups

        return self._move_to(
            add_groups.add_signatures(
                self.path,
                permutations=permutations,
                signature_min=signature_min,
                partitions=partitions,
                partitioning=partitioning,
            )
        )

    def add_patterns(self) -> Lake:
        """Give the index the pattern tokens that ``mode="transform"`` needs.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if it has them already.

        Raises
        ------
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Notes
        -----
        No table is read: they are made of the vocabulary and the sets, for columns of text and dates. Columns whose
        sets are not kept (``keep_sets=False``) have none. What is added later to the index gets them as well.
        """
        from dfjoin.store import add_groups

        return self._move_to(add_groups.add_patterns(self.path))

    def compact(self, *, full: bool = False, engine: str | None = "inline", spark: Any = None) -> Lake:
        """Merge small segments, and write those anew of which much is deleted.

        Parameters
        ----------
        full : bool, default False
            Merge as far as the size of a segment allows, and drop everything that is deleted.
        engine : {"inline", "spark", None}
            Where it is done; each merge is a task.
        spark : SparkSession, optional
            The session to use.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to do.

        Raises
        ------
        ConcurrentCommitError
            If another writer changed a segment that was merged; nothing is lost, call it again.

        Notes
        -----
        Vocabularies, lists and profiles are merged, no table is read. Memory: about three times the
        segment that is written (``segment_bytes``).
        """
        from dfjoin.store.compact import compact

        return self._move_to(compact(self.path, full=full, engine=engine, spark=spark))

    def vacuum(self, retain: Any = None, *, dry_run: bool = False) -> dict[str, Any]:
        """Remove versions older than the retention, and the files that no version left needs.

        Parameters
        ----------
        retain : timedelta or number of days, optional
            How long to keep versions other than the latest, and files that no version names; 7 days by
            default. With 0 nobody else may be reading an older version, or writing.
        dry_run : bool, default False
            Only tell what would be removed.

        Returns
        -------
        dict
            ``versions`` removed, ``files`` and ``bytes``, ``dry_run``.
        """
        from dfjoin.store.vacuum import vacuum

        return vacuum(self.path, retain, dry_run=dry_run)

    def versions(self) -> Any:
        """List the versions that still exist.

        Returns
        -------
        DataFrame
            ``version, created_at, operation, tables, columns, segments, created_by``.
        """
        from dfjoin.store import listing

        return listing.list_history(self.path)

    def restore(self, version: int) -> Lake:
        """Commit the content of an older version as the next one.

        Parameters
        ----------
        version : int
            A version that still exists.

        Returns
        -------
        Lake
            This object, at the new version.
        """
        from dfjoin.store import change

        return self._move_to(change.restore(self.path, version))

    def check(self) -> Any:
        """Compare every table with its file: which changed, moved or vanished since they were indexed.

        Returns
        -------
        DataFrame
            ``table, state`` (changed, moved, missing) and ``detail``; no rows when all is as it was. Spark
            tables are not looked at.

        Notes
        -----
        Reads the files once, up to 64 MiB of each.
        """
        from dfjoin.store.check import check_tables

        return check_tables(self._snapshot)

    def repair(self) -> dict[str, Any]:
        """Drop the segments that are damaged, and say what is lost; see `dfjoin.repair`."""
        from dfjoin.store.repair import repair

        report = repair(self.path)
        self.refresh()
        return report
