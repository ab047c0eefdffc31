"""How the tables and the files of an index change: the methods of `Lake` that commit a version, or look after files.

Two classes: tables, files and versions, and what is added to an index beside them, vectors and signatures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import pandas as pd

from dfjoin.lake.opened_lake import OpenedLake
from dfjoin.store import overview

__all__ = ["LakeChanges", "LakeGroups"]


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


class LakeGroups(OpenedLake):
    """What single modes of search need: signatures, pieces of values, rows, vectors, and axes."""

    def add_signatures(
        self,
        *,
        permutations: int = 256,
        signature_min: int | None = None,
        partitions: int = 32,
        partitioning: str = "optimal",
    ) -> Self:
        """Index the MinHash signatures that ``mode="lsh"`` needs, or replace those that the index has.

        Parameters
        ----------
        permutations : int, default 256
            Number of values in a signature.
        signature_min : int, optional
            Columns with fewer distinct values get no signature; the default is `permutations`.
        partitions : int, default 32
            The columns with a signature are divided by set size into this many partitions at most.
        partitioning : {"optimal", "equal_depth"}
            - ``"optimal"``: the partitions with the fewest expected false positives.
            - ``"equal_depth"``: partitions with equal numbers of columns.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if the index has these signatures already.

        Raises
        ------
        IncompatibleSettingsError
            If the index has other signatures, and keeps no token sets that new ones could be made from.
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Notes
        -----
        No table is read: the vocabulary and the sets hold what is needed. Takes 20 to 50 ns for each value of the
        large columns, and ``8 * permutations`` bytes for each of these columns.
        """
        from dfjoin.store import add_groups

        settings = add_groups.SignatureChoice(permutations, signature_min, partitions, partitioning)
        return self._move_to(add_groups.add_signatures(self.path, settings))

    def add_patterns(self) -> Self:
        """Index the pieces of values that ``mode="transform"`` needs.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if the index has them already.

        Raises
        ------
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Notes
        -----
        No table is read: pieces are made from the vocabulary and the sets, for columns of text and dates. Columns
        without sets (``keep_sets=False``) have none. Tables that are added later get them as well.
        """
        from dfjoin.store import add_groups

        return self._move_to(add_groups.add_patterns(self.path))

    def add_row_signatures(self, *, engine: str | None = None, spark: Any = None) -> Self:
        """Keep which value each row has in each column: keys of several columns are found without reading tables then.

        Parameters
        ----------
        engine : {None, "spark", "inline"}
            Where the tables are read; None: by Spark if `spark` is given or a session is active.
        spark : SparkSession, optional

        Returns
        -------
        Lake
            This object, at the new version; at the same one if the index has them already.

        Raises
        ------
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Warns
        -----
        DfjoinWarning
            If tables are read through Spark, cannot be read, or have changed: they have no row signatures.

        Notes
        -----
        Every table is read once more, as by a build; ``settings={"row_signatures": True}`` of `dfjoin.build_lake` makes
        them as it reads. They take log2(distinct values of the column) bits for each cell of a table with two
        indexed columns or more. Tables that are added later get them as well; those that Spark reads, as tables
        of its catalogue, have none, and are read when a search needs their rows.

        Source: Esmailoghli, Quiané-Ruiz, Abedjan: "MATE: Multi-Attribute Table Extraction", PVLDB 2022, which keeps a
        hash of 128 bits for each row (super key), filters rows by it, and reads what is left. Deviation: the cells
        themselves are kept, as numbers of the values of their column; nothing is left to be read.
        """
        from dfjoin.store import add_groups

        moved = self._snapshot.moved_roots()
        return self._move_to(add_groups.add_row_signatures(self.path, moved, engine=engine, spark=spark))

    def add_vectors(
        self,
        embedder: Any = None,
        *,
        abbreviations: dict[str, str] | None = None,
        engine: str | None = None,
        spark: Any = None,
        progress: bool = True,
    ) -> Self:
        """Index a vector for each text of the lake, which ``mode="embedding"`` needs.

        Parameters
        ----------
        embedder : str, path, callable or object, optional
            What makes vectors of texts: ``"ngrams"`` (no training), ``"fasttext"`` (trained here on the lake's texts),
            the file of a fastText model, the name of a model of sentence-transformers, an object with ``encode`` or
            ``transform``, or a function of a list of texts. None: the embedder that the index has, else ``"ngrams"``.
        abbreviations : dict, optional
            Words → what they stand for, as ``{"univ": "university"}``: they are written out before texts are embedded.
        engine, spark : {None, "spark", "inline"} and SparkSession, optional
            Where values are embedded: by default by Spark if `spark` is given, else in this process.
        progress : bool, default True
            Show on standard error how far it is, after two seconds.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to do.

        Raises
        ------
        InvalidParameterError, InvalidTypeError, IncompatibleSettingsError
            If `embedder` returns no finite vectors of one length; if the index keeps no values (``keep_sets=False``).
        EngineError, ConcurrentCommitError
            If a task of Spark fails; if another writer changed the index meanwhile: call it again.

        Warns
        -----
        DfjoinWarning
            If the embedder returns zeros for all texts.

        Notes
        -----
        No table is read: each distinct value of the columns of text is embedded once; tables that are added later get
        vectors as well. All embedders, how the usual radius is chosen, costs: :doc:`/reference/vectors_details`.
        """
        from dfjoin.store import add_groups

        given = add_groups.EmbedderChoice(embedder, abbreviations)
        return self._move_to(add_groups.add_vectors(self.path, given, engine, spark, progress))

    def add_axes(self, axes: list[Any] | None = None) -> Self:
        """Index places, and other vectors of numeric columns, for ``mode="embedding"`` with a list `on`.

        Pairs of latitude and longitude are recognised by their headers and ranges. A build and `add` read them already.

        Parameters
        ----------
        axes : list, optional
            Which columns make vectors together in every table that has them all; upper and lower case do not matter.
            None: as before.

            - A list of names: ``["x", "y"]``. Latitude and longitude, in either order, are places.
            - A dict of name → scale: ``{"x": 1.0, "t": 0.1}``; numbers are multiplied by it before distances are taken.
            - ``{"places": ["north", "east"]}``: latitude and longitude with other headers.
            - ``["embedding"]``: one column of numbers, or of lists of numbers of one length.
            - An empty list in the place of all: nothing is indexed, places neither.

        Returns
        -------
        Lake
            This object, at the new version.

        Raises
        ------
        InvalidParameterError, InvalidTypeError
            If `axes` is none of these.
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Warns
        -----
        DfjoinWarning
            If tables with such columns cannot be read: their file is gone, or they are Spark tables.

        Notes
        -----
        The columns are read from their tables in this process. A distinct point of d numbers takes ``8 d + 44`` bytes.
        """
        from dfjoin.store import add_groups

        return self._move_to(add_groups.add_axes(self.path, axes, self._snapshot.moved_roots()))
