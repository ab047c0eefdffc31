"""What changes an index, as methods of a Lake; each commits, moves the object to the new version and returns it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from dfjoin.index.manifest import Manifest
    from dfjoin.index.segment import SegmentPool

__all__ = ["LakeLife"]


class LakeLife:
    """The life of an index: tables added, replaced, removed; segments merged; versions kept and cleaned up."""

    _path: Path

    def _move_to(self, manifest: Manifest) -> Self:
        """Move this object to a version that it has just committed."""
        raise AttributeError("a Lake knows how")  # pragma: no cover

    def _pool(self) -> SegmentPool:
        """Return what opens segments of any version."""
        raise AttributeError("a Lake knows how")  # pragma: no cover

    def _moved_roots(self) -> dict[int, str]:
        """Present places of the roots that were moved, by id."""
        raise AttributeError("a Lake knows how")  # pragma: no cover

    def refresh(self) -> Self:
        """Move this object to the latest version and return it."""
        raise AttributeError("a Lake knows how")  # pragma: no cover

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
    ) -> Self:
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
        from dfjoin.store import change as life

        return self._move_to(
            life.add(
                self._pool(), source, engine=engine, spark=spark, full=full, replaces=False, on_error=on_error,
                keep_data=keep_data, progress=progress, moved=self._moved_roots(),
            )
        )  # fmt: skip

    def replace(
        self,
        source: Any,
        *,
        engine: str | None = None,
        spark: Any = None,
        on_error: str = "skip",
        keep_data: bool = True,
        progress: bool = True,
    ) -> Self:
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
        from dfjoin.store import change as life

        return self._move_to(
            life.replace_tables(
                self._pool(), source, engine=engine, spark=spark, on_error=on_error, keep_data=keep_data,
                progress=progress, moved=self._moved_roots(),
            )
        )  # fmt: skip

    def remove(self, tables: str | list[str]) -> Self:
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
        from dfjoin.store import change as life

        return self._move_to(life.remove(self._pool(), tables))

    def add_signatures(
        self,
        *,
        permutations: int = 256,
        signature_min: int | None = None,
        partitions: int = 32,
        partitioning: str = "optimal",
    ) -> Self:
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
        from dfjoin.store import add_groups as more_groups

        return self._move_to(
            more_groups.add_signatures(
                self._path, permutations=permutations, signature_min=signature_min, partitions=partitions,
                partitioning=partitioning,
            )
        )  # fmt: skip

    def add_patterns(self) -> Self:
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
        from dfjoin.store import add_groups as more_groups

        return self._move_to(more_groups.add_patterns(self._path))

    def compact(
        self, *, full: bool = False, engine: str | None = "inline", spark: Any = None, progress: bool = True
    ) -> Self:
        """Merge small segments, and write those anew of which much is deleted.

        Parameters
        ----------
        full : bool, default False
            Merge as far as the size of a segment allows, and drop everything that is deleted.
        engine : {"inline", "spark", None}
            Where it is done; each merge is a task.
        spark : SparkSession, optional
            The session to use.
        progress : bool
            Kept for symmetry; merging reads no table.

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
        from dfjoin.store import change as life

        return self._move_to(life.compact(self._path, full=full, engine=engine, spark=spark, progress=progress))

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
        from dfjoin.store import upkeep

        return upkeep.vacuum(self._path, retain, dry_run=dry_run)

    def versions(self) -> Any:
        """List the versions that still exist.

        Returns
        -------
        DataFrame
            ``version, created_at, operation, tables, columns, segments, created_by``.
        """
        from dfjoin.store import change as life

        return life.versions(self._path)

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
        from dfjoin.store import change as life

        return self._move_to(life.restore(self._path, version))

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
        from dfjoin.store import upkeep

        return upkeep.check_tables(self)  # type: ignore[arg-type]

    def repair(self) -> dict[str, Any]:
        """Drop the segments that are damaged, and say what is lost; see `dfjoin.repair`."""
        from dfjoin.store import upkeep

        report = upkeep.repair(self._path)
        self.refresh()
        return report
