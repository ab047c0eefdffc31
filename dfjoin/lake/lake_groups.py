"""What an index may hold beside its posting lists: the methods of `Lake` that add a component group to it."""

from __future__ import annotations

from typing import Any, Self

from dfjoin.lake.opened_lake import OpenedLake

__all__ = ["LakeGroups"]


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
