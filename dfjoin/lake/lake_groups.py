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
            What makes vectors of texts, in canonical form.

            - None: the embedder that the index has; only segments without vectors are embedded. An index that has
              none is given ``"ngrams"``.
            - ``"ngrams"``: vectors of the n-grams of words (1 to 3 characters, 96 numbers). They need no training, are
              the same in every lake, and find more changed names than trained ones.
            - ``"fasttext"``: word and n-gram vectors (64 numbers) that are trained here on the texts of the lake: words
              that stand beside the same words come near each other.
            - A path: the file of a fastText model (``.bin``), supervised or not.
            - A model of the package fasttext, loaded or trained; its words and its matrix are read once.
            - The name of a model of sentence-transformers, as ``"sentence-transformers/all-MiniLM-L6-v2"``, or the
              directory of one; the extra ``sentence`` installs the library.
            - An object with ``encode`` (a loaded SentenceTransformer, model2vec), or with ``transform`` (a fitted
              vectoriser or pipeline of scikit-learn; sparse results of at most 4,096 numbers).
            - A function of a list of n texts that returns an array of shape (n, d).

            The index keeps the name of a function or object alone: another process makes it known with
            `dfjoin.register_embedder`, which also gives it a name of your choice.
        abbreviations : dict, optional
            Words → what they stand for, as ``{"univ": "university"}``: they are written out in the texts of the lake
            and of queries before these are embedded. For n-grams and fastText they come beside those of dates
            and addresses (``jan``, ``blvd``); an empty dict: none are written out. Without `embedder` it is
            ``"ngrams"`` then.
        engine : {None, "spark", "inline"}
            Where values are embedded: None (default): by Spark if `spark` is given, else in this process. Training is
            done in this process in any case.
        spark : SparkSession, optional
            The session to use; with ``engine="spark"`` the active one by default, else a local one.
        progress : bool, default True
            Show on standard error how far it is, after two seconds.

        Returns
        -------
        Lake
            This object, at the new version; at the same one if there was nothing to do.

        Raises
        ------
        IncompatibleSettingsError
            If the index keeps no values of its large columns (``keep_sets=False``).
        InvalidParameterError, InvalidTypeError
            If `embedder` is none of these, or returns something else than n finite vectors of one length, or others
            the second time; if a weight of a fastText model is NaN, infinite or above 1e15; if `abbreviations` does not
            map single words to texts.
        EngineError
            If Spark does not start or a task fails; the last line is the cause.
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Warns
        -----
        DfjoinWarning
            If the embedder returns zeros for all texts.

        Notes
        -----
        No table is read: each distinct value of the columns of text is embedded once. The radius of searches that
        give none is chosen here for the index and its embedder: values of 32 columns are changed (a typo, another
        format, an abbreviation, another order of words), and the largest radius is taken at which at most a fifth of
        what is nearest is a stranger, where half of the values have no partner, and at most 10 values of the lake
        lie within the radius of a changed value on average. ``attrs["dfjoin"]["searches"]`` of a result shows it
        and what was found (``expected``). Lakes with fewer than 100 such changed values take 0.3 for
        n-grams, 0.2 for what is trained here, and 0.06 for other embedders.

        Training takes less than a
        minute, whatever the size of the lake; embedding 2 to 4 µs a value. A vector takes ``4 d`` bytes, and 70 more
        for the cells. Tables that are added later get vectors as well.

        fastText models of any origin are applied by kernels of dfjoin, and the package fasttext (extra ``fasttext``)
        need not be installed: of 100,000 texts in twelve scripts and eight models, supervised or not, the vectors are
        those of its ``get_sentence_vector`` to the last bit, in an eighth of the time. Training is dfjoin's own as
        well, since the package's releases 0.9.3 and 0.10.4 start from memory that was never set: in a process that
        has freed memory, each of 20 trainings met NaN or left weights without sense
        (``python -m tests.benchmarks.fasttext_library``). `Lake.save_embedder` writes for the package what the lake
        has trained.

        Tasks of Spark embed stretches of values, then make the cells of a segment each; a task that is lost is
        repeated, and the index has the files of both engines alike. They map the arrays of a fastText model from a
        file; a function is pickled once, and each worker process opens it once, so that it may load its model when it
        is first called. Fewer than 8,192 values are embedded by this process, and so are all where workers do not share
        files with it.
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
