"""How the tables and the files of an index change: the methods of `Lake` that commit a version, or look after files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import pandas as pd

from dfjoin.lake.opened_lake import OpenedLake
from dfjoin.store import overview

__all__ = ["LakeChanges"]


class LakeChanges(OpenedLake):
    """Tables added, replaced and removed; versions listed and restored; files merged, removed, checked and repaired."""

    def add(
        self,
        source: Any,
        *,
        engine: str | None = None,
        spark: Any = None,
        workers: int = 1,
        full: bool = False,
        on_error: str = "skip",
        keep_data: bool = True,
        progress: bool | Callable[[dict[str, Any]], object] = True,
    ) -> Self:
        """Add tables; of a place that is indexed already, only new and changed files are read.

        Parameters
        ----------
        source : as in `dfjoin.build_lake`
            Files below a root of the index belong to that root; a changed file replaces the table that was
            indexed. Any other use of a name that the index has already is an error.
        engine : {None, "spark", "inline"}
            Where the work is done; None: in this process below 64 MiB of input, above that as in `dfjoin.build_lake`.
        spark : SparkSession, optional
            The session to use.
        full : bool, default False
            Read every file, even if its size, modification time or fingerprint say that it did not change.
        workers, on_error, keep_data, progress
            As in `dfjoin.build_lake`.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to read.

        Raises
        ------
        InvalidParameterError
            If the index has a table of that name already.
        ConcurrentCommitError
            If another writer made a change that conflicts with this one.

        Notes
        -----
        Each call writes at least one segment; `compact` merges them when there are many.

        Of a table that is a directory of Parquet files, and of a Delta or Iceberg table that was appended to, the new
        files are read alone, by this process, whatever the engine; what the index knows of the others is carried over,
        and the result is that of a build, but for two figures: `samples` are in the order in which files came, and the
        number of distinct values of a column of floats, where these take more than 16 KiB, becomes an upper bound. All
        files are read:

        - if a file that the index has is changed or gone, since its values cannot be taken out of the others: as after
          rows were deleted or updated, and files made one;
        - if a Delta table has deletion vectors or mapped columns, or the log of its earlier version was cleaned up;
        - if the new files change what the old ones mean: other columns or types, a text that becomes a null or is none
          any more, days and months that become distinguishable;
        - if the index was built by an earlier dfjoin, has row signatures, or keeps no sets (``keep_sets=False``);
        - with patterns that leave out a column of texts. Points of `axes` are always read from all files.
        """
        from dfjoin.ingest.build_options import BuildOptions
        from dfjoin.store import change

        options = BuildOptions(source, engine, spark, on_error, keep_data, progress, workers=workers)
        return self._move_to(change.add(self._snapshot.pool(), options, self._snapshot.moved_roots(), reads_all=full))

    def replace(
        self,
        source: Any,
        *,
        engine: str | None = None,
        spark: Any = None,
        workers: int = 1,
        on_error: str = "skip",
        keep_data: bool = True,
        progress: bool | Callable[[dict[str, Any]], object] = True,
    ) -> Self:
        """Replace the tables of the same names in one commit, and add the others.

        Parameters
        ----------
        source, engine, spark, workers, on_error, keep_data, progress
            As in `add`.

        Returns
        -------
        Lake
            This object, at the new version.
        """
        from dfjoin.ingest.build_options import BuildOptions
        from dfjoin.store import change

        options = BuildOptions(source, engine, spark, on_error, keep_data, progress, workers=workers)
        return self._move_to(change.add(self._snapshot.pool(), options, self._snapshot.moved_roots(), replaces=True))

    def remove(self, tables: str | list[str]) -> Self:
        """Remove tables from the index; their files stay where they are.

        Parameters
        ----------
        tables : str or list of str
            Names, or patterns (``fnmatch``); each must match a table.

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

    def versions(self) -> pd.DataFrame:
        """List the versions that still exist.

        Returns
        -------
        DataFrame
            ``version, created_at, operation, tables, columns, segments, created_by``.
        """
        return overview.list_history(self.path)

    def restore(self, version: int) -> Self:
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

    def compact(self, *, full: bool = False, engine: str | None = "inline", spark: Any = None) -> Self:
        """Merge small segments, and rewrite segments of which much is deleted.

        Parameters
        ----------
        full : bool, default False
            Merge as far as the size of a segment allows, and drop everything that is deleted.
        engine : {"inline", "spark", None}
            Where the work is done; each merge is a task.
        spark : SparkSession, optional
            The session to use.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to do.

        Raises
        ------
        ConcurrentCommitError
            If another writer changed a segment that was merged; nothing is lost, call `compact` again.

        Notes
        -----
        No table is read: vocabularies, lists and profiles are merged. Memory: about three times the
        segment that is written (``segment_bytes``).
        """
        from dfjoin.store.compact import compact

        return self._move_to(compact(self.path, full=full, engine=engine, spark=spark))

    def vacuum(self, retain: Any = None, *, dry_run: bool = False) -> dict[str, Any]:
        """Remove old versions, and the files that no remaining version needs.

        Parameters
        ----------
        retain : timedelta or number of days, optional
            How long versions are kept after a newer one, and files that no version names; 7 days by default.
            Pass 0 only while nobody else reads an older version or writes.
        dry_run : bool, default False
            Only report what would be removed.

        Returns
        -------
        dict
            ``versions`` removed, ``files`` and ``bytes``, ``dry_run``.

        Raises
        ------
        InvalidParameterError
            If `retain` is none of these, or the index lies on a file system that cannot list or remove files.
        """
        from dfjoin.store.vacuum import vacuum

        return vacuum(self.path, retain, dry_run=dry_run)

    def check(self) -> pd.DataFrame:
        """Compare every table with its file, to find tables that changed, moved or vanished since they were indexed.

        Returns
        -------
        DataFrame
            ``table, state`` (changed, moved, missing) and ``detail``; no rows when nothing changed. Spark
            tables are not checked.

        Notes
        -----
        Reads the files once, up to 64 MiB of each.
        """
        from dfjoin.store.check import check_tables

        return check_tables(self._snapshot)

    def verify(self) -> list[str]:
        """Read the whole index and compare every file with its recorded size and CRC-32.

        Of an index at a URI the files there are read, whatever this machine has copies of; damaged copies are removed.

        Returns
        -------
        list of str
            One line for each damaged component, and for each kept frame that is missing or whose content is another;
            empty when the index is sound.
        """
        from dfjoin.store.verify import verify_all

        return verify_all(self._snapshot)

    def repair(self) -> dict[str, Any]:
        """Drop damaged segments and report what is lost; see `dfjoin.repair`.

        Returns
        -------
        dict
            As from `dfjoin.repair`.
        """
        from dfjoin.store.repair import repair

        report = repair(self.path)
        self.refresh()
        return report
