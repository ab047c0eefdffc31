"""The public handle of a lake: one call down for each method."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfjoin import _html
from dfjoin import _validation as check
from dfjoin.errors import DfjoinError, InvalidTypeError
from dfjoin.index.manifest import Manifest
from dfjoin.index.segment import Segment
from dfjoin.index.versions import list_versions, read_manifest
from dfjoin.store.snapshot import Snapshot, index_directory, open_snapshot
from dfjoin.types import IndexSettings

if TYPE_CHECKING:
    from dfjoin.containment.join_graph import JoinGraph
    from dfjoin.containment.result_stream import ContainedPairs

__all__ = ["Lake", "open_lake", "refuse_swapped", "resolve_lake"]


def open_lake(
    index: str | os.PathLike[str],
    *,
    version: int | None = None,
    roots: Mapping[str, str] | None = None,
    verify: str | None = None,
) -> Lake:
    """Open a lake index; reads its manifest, and nothing else unless `verify` says so.

    Parameters
    ----------
    index : str or path
        Directory of the index, or its URI on another file system. Of the latter each file is copied to a cache of the
        user (``DFJOIN_CACHE_DIR``) when it is first asked for.
    version : int, optional
        A version that still exists; the latest by default.
    roots : mapping of str, optional
        Name of a root → the place where its tables are now, for a lake that was moved.
    verify : {None, "sample"}
        With ``"sample"`` component files are compared with their CRC-32 for 80 ms, in an order that changes with
        the version and with the day. `Lake.verify` compares all files.

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
        If its manifest cannot be read, or the sample is damaged.

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
    check.check_choice(verify, "verify", (None, "sample"))
    lake = Lake(index, version=version, roots=roots)
    if verify is not None:
        from dfjoin.store.verify import require_sound_sample

        require_sound_sample(lake.snapshot, lake.version + date.today().toordinal())
    return lake


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


def refuse_swapped(on: object, lake: object, columns: object) -> None:
    """Raise when the column and the lake of a search have changed places.

    Parameters
    ----------
    on, lake : object
        The arguments as they came.
    columns : object
        Labels of the frame, for the example in the message.
    """
    if isinstance(lake, Lake) or not _is_lake(on):
        return
    label = lake if isinstance(lake, str) else next(iter(columns), "column")  # type: ignore[call-overload]
    raise InvalidTypeError(
        "`on` must be a column, and it is a lake: the column comes first, "
        f"df.discover_joinable({check.show(label)}, lake)"
    )


def _is_lake(value: object) -> bool:
    """Tell whether a value is a lake or the path of one, and not the name of a column."""
    if isinstance(value, (str, os.PathLike)):
        try:
            return bool(list_versions(index_directory(value)))
        except DfjoinError:
            return False
    return isinstance(value, Lake)


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

    Notes
    -----
    `tables`, `columns`, `search` and `describe` show what the lake has. `add`, `replace`, `remove`, `compact` and
    `restore` commit a new version each, and move this object to it. What a mode of search needs beside the posting
    lists is added by `add_signatures` (``mode="lsh"``, built by default), `add_patterns` (``mode="transform"``) and
    `add_vectors` (``mode="embedding"``, with an embedder of choice).
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

    def _repr_html_(self) -> str:
        """Write what the index holds as a card, for notebooks."""
        counts = self.manifest.counts
        items = [(name.replace("_", " "), f"{number:,}") for name, number in counts.items()]
        items.append(("roots", ", ".join(_html.escape(place) for place in self.roots.values())))
        lines = ['df.discover_joinable("column", lake)', 'lake.search("words")']
        head = f'{_html.escape(self.path)} <span class="soft">version {self.version}</span>'
        return _html.page([_html.card(head, [_html.pairs(items), *map(_html.code, lines)])])

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

    def has_table(self, name: str) -> bool:
        """Tell whether the lake has a table of that name.

        Parameters
        ----------
        name : str

        Returns
        -------
        bool
        """
        return self._snapshot.has_table(name)

    @property
    def tables(self) -> pd.DataFrame:
        """The tables of the lake, one row each, in order of name.

        Returns
        -------
        DataFrame
            ``table, n_rows, n_columns, size, format, root``.
        """
        from dfjoin.store import overview

        return overview.catalog_tables(self._snapshot)

    @property
    def columns(self) -> pd.DataFrame:
        """The columns of the lake, one row each, in order of (table, column).

        Returns
        -------
        DataFrame
            ``table, column, kind, is_indexed, reason, n_rows, n_null, cardinality, key_likeness, min, max,
            samples, null_spellings``; `reason` tells why a column is not indexed; `key_likeness` is cardinality per
            non-null row, 1 for a key; `null_spellings` are texts that the other values make nulls.
        """
        from dfjoin.store import overview

        return overview.catalog_columns(self._snapshot)

    def search(self, words: str, *, k: int | None = 10) -> pd.DataFrame:
        """Find tables by words in their names, in the names of their columns, and in the samples of their values.

        Parameters
        ----------
        words : str
            Words; order and case do not matter, nor whether a word is plural. ``by`` and the like do not count.
        k : int, optional
            Most tables, default 10; None: all that hold one of the words.

        Returns
        -------
        DataFrame
            ``table``; ``score`` (BM25, without a unit); ``words`` that the table holds; ``columns``, a list of those
            that hold one, best first; ``n_rows, n_columns``. Best first; ties by name.

        Raises
        ------
        InvalidParameterError
            If there is no word in `words`.

        Notes
        -----
        The names and samples of the catalogue are read once for each version, and then scanned for each word:
        O(bytes of the names and samples). See `dfjoin.store.word_search`.

        Examples
        --------
        >>> import dfjoin, pandas as pd, tempfile, pathlib
        >>> index = pathlib.Path(tempfile.mkdtemp()) / "lake.dfjoin"
        >>> frames = {"geo/counties": pd.DataFrame({"county": ["Ada", "Bay"], "population": [5, 7]})}
        >>> lake = dfjoin.build_lake(frames, index, engine="inline", progress=False)
        >>> lake.search("population by county")[["table", "words", "columns"]]
                  table              words               columns
        0  geo/counties  population county  [county, population]
        """
        from dfjoin.store import word_search

        return word_search.search_words(self._snapshot, words, k)

    def containment_join(
        self,
        threshold: float = 1.0,
        min_cardinality: int = 2,
        *,
        method: str | None = None,
        memory_budget: int | None = None,
    ) -> ContainedPairs:
        """Find all pairs of columns of different tables of which one holds all values of the other, or a share of them.

        Parameters
        ----------
        threshold : float, default 1.0
            Share of the distinct values of the left column that the right one holds, above 0.
        min_cardinality : int, default 2
            Distinct values that either column has at least.
        method : {None, "scan", "cross", "tree", "partitions"}
            As in `dfjoin.containment_join`.
        memory_budget : int, optional
            Bytes of memory, as in `dfjoin.containment_join`, for the columns of one segment over its mapped sets; what
            two segments share is in memory beside it.

        Returns
        -------
        ContainedPairs
            ``left_table, left_column, right_table, right_column, left_cardinality, right_cardinality, matched,
            containment``, the left column contained in the right one. Iterate over frames, write them with
            ``to_parquet(path)``, or collect them with ``to_frame()``: a lake of small numbers and codes has millions of
            pairs.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            If an argument is out of its range, or a method or a budget is given for a threshold below 1.

        Warns
        -----
        DfjoinWarning
            If the index keeps no sets of large columns (``keep_sets=False``): these are in no pair.

        Notes
        -----
        Exact, over the posting lists of the index; values that the same columns hold are one element. Deleted tables
        and columns that are not indexed are in no pair. See `dfjoin.containment_join`; `join_graph` finds the pairs
        that are likely foreign keys.

        Examples
        --------
        >>> import dfjoin, pandas as pd, tempfile, pathlib
        >>> index = pathlib.Path(tempfile.mkdtemp()) / "lake.dfjoin"
        >>> cities, countries = pd.DataFrame({"in": ["fr", "de", "fr"]}), pd.DataFrame({"id": ["de", "fr", "it"]})
        >>> frames = {"city": cities, "country": countries}
        >>> lake = dfjoin.build_lake(frames, index, engine="inline", progress=False)
        >>> lake.containment_join().to_frame()[["left_table", "left_column", "right_table", "right_column"]]
          left_table left_column right_table right_column
        0       city          in     country           id
        """
        from dfjoin.containment.column_pairs import join_columns
        from dfjoin.containment.subset_join import containment_options

        least = check.check_positive_int(min_cardinality, "min_cardinality")
        return join_columns(self._snapshot, least, containment_options(threshold, method, memory_budget))

    def join_graph(self, threshold: float = 0.9, *, min_score: float = 0.5) -> JoinGraph:
        """Find the likely foreign keys of the lake: which column refers to which key of which table.

        Parameters
        ----------
        threshold : float, default 0.9
            Share of the distinct values of a column that the key holds, at least; real keys miss some.
        min_score : float, default 0.5
            The smallest probability of an edge.

        Returns
        -------
        JoinGraph
            ``edges`` and ``candidates`` are frames, ``explain(table, column)`` says what speaks for and against each
            key, ``paths(table, table)`` finds the shortest ways to join two tables, ``to_graphml(path)`` and ``plot()``
            export.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            If an argument is out of its range.

        Notes
        -----
        A candidate is a column whose values a key holds: a column that is unique and has no nulls, of the same kind, of
        another table or the same one. Small numbers are in many keys by chance, so that a small logistic regression
        weighs names of columns and tables, uniqueness, serial numbers, the number of keys that hold the column, and
        which of them is the smallest (weights and figures in ``dfjoin/containment/key_model.json``). A column refers to
        one key at most, and no edges form a circle of columns. A column of a single value is looked up by the sample
        that the catalogue keeps of it. Composite keys are not found.

        Examples
        --------
        >>> import dfjoin, pandas as pd, tempfile, pathlib
        >>> index = pathlib.Path(tempfile.mkdtemp()) / "lake.dfjoin"
        >>> species = pd.DataFrame({"id": [1, 2, 3], "name": ["oak", "elm", "fir"]})
        >>> trees = pd.DataFrame({"tree": ["a", "b", "c", "d"], "species_id": [1, 1, 2, 3]})
        >>> frames = {"species": species, "trees": trees}
        >>> graph = dfjoin.build_lake(frames, index, engine="inline", progress=False).join_graph()
        >>> graph.edges[["table", "column", "key_table", "key_column"]]
           table      column key_table key_column
        0  trees  species_id   species         id
        """
        from dfjoin.containment.join_graph import build_graph

        return build_graph(self._snapshot, threshold, min_score)

    def describe(self, name: str) -> dict[str, Any]:
        """Return what the catalogue says of one table.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        dict
            ``table, n_rows, n_columns, size, format, root``, and ``columns``: a frame as `Lake.columns`, without the
            name of the table, in the order of the file.

        Raises
        ------
        TableNotFoundError
            If there is no such table; the nearest names are told.
        """
        from dfjoin.store import overview

        return overview.describe_table(self._snapshot, name)

    def paths(
        self,
        df: pd.DataFrame,
        table: str,
        *,
        on: Any = None,
        max_hops: int = 2,
        min_score: float = 0.5,
        threshold: float = 0.5,
    ) -> pd.DataFrame:
        """List the ways in which a frame joins with a table, directly or through other tables.

        Parameters
        ----------
        df : DataFrame
        table : str
            Name of the table.
        on : column label, list of labels, or list of lists, optional
            Key of `df`, of one column or several, or several keys; by default each column but measures and columns of
            two values.
        max_hops : int, default 2
            Joins on the way, at most.
        min_score, threshold : float, default 0.5
            Smallest product of the scores along a path, and of the containments.

        Returns
        -------
        DataFrame
            ``path``, as in ``country → geo/countries.csv.iso2 → codes/dialling.csv``: the column ``country`` of `df` is
            the key of the first table, and its column ``iso2`` the key of the next. ``n_hops`` (int64); ``score`` and
            ``containment`` (float64): products along the path; ``on`` and ``column``: the first and the last key;
            ``relationship`` of each join. The shortest paths first, of equally long ones the highest score.

        Raises
        ------
        TableNotFoundError
            If there is no such table.
        ColumnNotFoundError, InvalidParameterError
            If an argument is illegal.

        See Also
        --------
        dfjoin.LakeAugmenter : joins along such paths what helps to predict a target.
        Lake.join_graph : foreign keys between the tables of the lake; its `shortest_paths` leads from table to table.

        Notes
        -----
        Tables on the way are read, at most 60 for each distance from the frame; the last table is not.

        Examples
        --------
        >>> import dfjoin, pandas as pd, tempfile
        >>> lands, codes = ["Peru", "Chad", "Oman", "Togo"], ["PER", "TCD", "OMN", "TGO"]
        >>> frames = {
        ...     "lands": pd.DataFrame({"land": lands, "code": codes}),
        ...     "areas": pd.DataFrame({"code": codes, "area": [1285, 1284, 309, 56]}),
        ... }
        >>> lake = dfjoin.build_lake(frames, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
        >>> lake.paths(pd.DataFrame({"land": ["peru", "togo", "oman"]}), "areas")["path"].tolist()
        ['land → lands.code → areas']
        """
        from dfjoin.join.options import join_options
        from dfjoin.join.path_search import PathOptions
        from dfjoin.join.table_hops import path_keys
        from dfjoin.join.table_paths import paths_to_table

        join = join_options(min_score=min_score, threshold=threshold)
        options = PathOptions(
            on=path_keys(on),
            max_hops=check.check_positive_int(max_hops, "max_hops"),
            min_score=join.min_score,
            threshold=join.threshold,
            join=join,
        )
        return paths_to_table(df, self._snapshot, table, options)

    def table(self, name: str, columns: str | list[str] | None = None, *, on_stale: str = "error") -> pd.DataFrame:
        """Read a table of the lake.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : str or list of str, optional
            The columns wanted; all by default. One name gives a frame of one column.
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
            ``skipped_reasons`` counts them by reason. A table whose file could not be read again is listed, too:
            the index has it as it was before.
        """
        from dfjoin.store import overview

        return overview.summarize(self._snapshot)

    def verify(self) -> list[str]:
        """Read the whole index and compare every file with its recorded size and CRC-32.

        Returns
        -------
        list of str
            One line for each damaged component, and for each kept frame that is missing or whose content is another;
            empty when the index is sound.
        """
        from dfjoin.store.verify import verify_all

        return verify_all(self._snapshot)

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
        on_error, keep_data, progress
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
        """Replace the tables of the same names in one commit, and add the others.

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

    def add_signatures(
        self,
        *,
        permutations: int = 256,
        signature_min: int | None = None,
        partitions: int = 32,
        partitioning: str = "optimal",
    ) -> Lake:
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

    def add_row_signatures(self, *, engine: str | None = None, spark: Any = None) -> Lake:
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

        moved = self.snapshot.moved_roots()
        return self._move_to(add_groups.add_row_signatures(self.path, moved, engine=engine, spark=spark))

    def add_vectors(
        self,
        embedder: Any = None,
        *,
        abbreviations: dict[str, str] | None = None,
        engine: str | None = None,
        spark: Any = None,
        progress: bool = True,
    ) -> Lake:
        """Index a vector for each text of the lake, which ``mode="embedding"`` needs.

        Parameters
        ----------
        embedder : str, path or callable, optional
            What makes vectors of texts, in canonical form.

            - None: the embedder that the index has; only segments without vectors are embedded. An index that has
              none is given ``"fasttext"``.
            - ``"fasttext"``: word and n-gram vectors (64 numbers) that are trained here on the texts of the lake.
            - A path: the file of a fastText model (``.bin``).
            - ``"sentence-transformers/…"``: a model of that library, which the extra ``sentence`` installs.
            - A function of a list of n texts that returns an array of shape (n, d). The index does not keep the
              function: another process makes it known with `dfjoin.register_embedder`.
        abbreviations : dict, optional
            Words → what they stand for, as ``{"univ": "university"}``: they are written out in the texts of the lake
            and of queries before these are embedded. For fastText they come beside those of dates and addresses
            (``jan``, ``blvd``); an empty dict: none are written out. Without `embedder` it is ``"fasttext"`` then.
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
            If `embedder` is none of these, or returns something else than n finite vectors of one length; if
            `abbreviations` does not map single words to texts.
        EngineError
            If Spark does not start or a task fails; the last line is the cause.
        ConcurrentCommitError
            If another writer changed the index meanwhile; nothing is lost, call it again.

        Notes
        -----
        No table is read: each distinct value of the columns of text is embedded once. Training takes less than a
        minute, whatever the size of the lake; embedding 2 to 4 µs a value. A vector takes ``4 d`` bytes, and 80 more
        for the cells. Tables that are added later get vectors as well.

        Tasks of Spark embed stretches of values, then make the cells of a segment each; a task that is lost is
        repeated, and the index has the files of both engines alike. They map the arrays of a fastText model from a
        file; a function is pickled once, and each worker process opens it once, so that it may load its model when it
        is first called. Fewer than 8,192 values are embedded by this process, and so are all where workers do not share
        files with it.
        """
        from dfjoin.store import add_groups

        given = add_groups.EmbedderChoice(embedder, abbreviations)
        return self._move_to(add_groups.add_vectors(self.path, given, engine, spark, progress))

    def add_axes(self, axes: list[Any] | None = None) -> Lake:
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

        return self._move_to(add_groups.add_axes(self.path, axes, self.snapshot.moved_roots()))

    def compact(self, *, full: bool = False, engine: str | None = "inline", spark: Any = None) -> Lake:
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

    def versions(self) -> pd.DataFrame:
        """List the versions that still exist.

        Returns
        -------
        DataFrame
            ``version, created_at, operation, tables, columns, segments, created_by``.
        """
        from dfjoin.store import overview

        return overview.list_history(self.path)

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
