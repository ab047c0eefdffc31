"""The public handle of a lake, and how arguments of public functions become one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from dfjoin import _plots
from dfjoin import _validation as check
from dfjoin.errors import DfjoinError, InvalidTypeError
from dfjoin.index.commit import list_versions, read_manifest
from dfjoin.index.manifest import Manifest
from dfjoin.index.mirror import index_path
from dfjoin.index.segment import Segment
from dfjoin.store import overview
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.types import IndexSettings

if TYPE_CHECKING:
    from dfjoin.containment.join_graph import JoinGraph
    from dfjoin.containment.result_stream import ContainedPairs
    from dfjoin.page.serve import PageServer


_opened: dict[str, dict[str, str]] = {}
"""Location of each index that this process opened → the new locations of its roots, as they were last given."""
_PARTS = {
    "tokens": "values, posting lists: equal values",
    "catalog": "catalogue: names, kinds, samples",
    "signatures": 'MinHash signatures: mode="lsh"',
    "patterns": 'n-grams: mode="transform"',
    "vectors": 'vectors of texts: mode="embedding"',
    "axes": "numbers, points: places, numbers nearby",
    "rows": "row signatures: keys of several columns",
}
"""What the groups of components are read for."""


def moved_roots_of(location: str) -> dict[str, str] | None:
    """Return the new locations of the roots of an index that this process opened; None for another index."""
    return _opened.get(location)


class Lake:
    """An index opened at one version. Made by `open_lake` and `build_lake`.

    Parameters
    ----------
    index : str or path
        Directory of the index.
    version : int, optional
        The version to open.
    roots : mapping of str, optional
        New locations of roots, by name.

    Notes
    -----
    The methods by task:

    - See what it holds: `tables`, `columns`, `describe`, `has_table`, `search` (by words), `info`, `plot_contents`,
      `settings`, `roots`, `path`; `table` reads a table.
    - Search and join with a frame: `dfjoin.discover_joinable`, `dfjoin.auto_join`, `paths`; `explore` opens a page.
    - Relate its tables: `join_graph` (likely foreign keys), `containment_join`.
    - Follow its files: `check`, `add`, `replace`, `remove`. Each change is a new version, and this object moves to it.
    - Keep versions: `version`, `versions`, `restore`, `refresh`, `compact`, `vacuum`.
    - Prepare a mode of search: `add_vectors` and `add_axes` (``mode="embedding"``), `add_patterns`
      (``mode="transform"``), `add_signatures` (``mode="lsh"``, built by default), `add_row_signatures` (keys of several
      columns), `save_embedder`.
    - Prove it sound: `verify`, `repair`.
    - Read its parts: `manifest`, `segments`, `snapshot`; their files are specified in ``FORMAT.md``.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> lands = pd.DataFrame({"land": ["Peru", "Chad"], "area": [1285216, 1284000]})
    >>> lake = dfjoin.build_lake({"lands": lands}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> lake.add({"cities": pd.DataFrame({"city": ["Lima", "Sarh"]})}, progress=False).tables["table"].tolist()
    ['cities', 'lands']
    >>> lake.restore(1).version, lake.tables["table"].tolist()
    (3, ['lands'])
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
        _opened[self._snapshot.location] = self._snapshot.moved

    def __getstate__(self) -> dict[str, Any]:
        return {"snapshot": self._snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock = threading.Lock()
        self._snapshot = state["snapshot"]
        _opened[self._snapshot.location] = self._snapshot.moved

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
        """Name (or location, for the first root) of each root → where its tables are read from."""
        return self._snapshot.locations()

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

    # What it holds, and how its tables join

    def has_table(self, name: str) -> bool:
        """Return whether the lake has a table of that name.

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
            ``table, n_rows, n_columns, size, format, dialect, root``; `dialect` says how a CSV file is written.
        """
        return overview.catalog_tables(self._snapshot)

    @property
    def columns(self) -> pd.DataFrame:
        """The columns of the lake, one row each, in order of (table, column).

        Returns
        -------
        DataFrame
            ``table, column, kind, is_indexed, reason, n_rows, n_null, cardinality, key_likeness, min, max,
            samples, null_spellings, dialect``; `reason` says why a column is not indexed; `key_likeness` is
            cardinality per non-null row, 1 for a key; `null_spellings` are texts that the other values make nulls;
            `dialect` says how the CSV file of the table is written: delimiter, encoding, marks of numbers.
        """
        return overview.catalog_columns(self._snapshot)

    def describe(self, name: str) -> dict[str, Any]:
        """Return what the catalogue says of one table.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        dict
            ``table, n_rows, n_columns, size, format, dialect, root``, and ``columns``: a frame as `Lake.columns`,
            without the name of the table, in the order of the file.

        Raises
        ------
        TableNotFoundError
            If there is no such table, with the nearest names.
        """
        return overview.describe_table(self._snapshot, name)

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

    def info(self) -> dict[str, Any]:
        """Summarise the index: counts, bytes, settings, roots, segments and what was skipped.

        Returns
        -------
        dict
            Plain values; ``skipped`` lists the files that could not be read, with reasons, and
            ``skipped_reasons`` counts them by reason. A table whose file could not be read again is listed, too:
            the index has it as it was before. ``doubtful`` lists up to 1,000 of the ``n_doubtful`` files that may
            have to be read in another way, and why: another delimiter is nearly as good, the header or the encoding
            is guessed; `delimiter`, `decimal`, `header` and `encoding` of `dfjoin.build_lake` settle it. ``parts`` has
            the bytes of what the index consists of, see `plot_contents`.
        """
        return overview.summarize(self._snapshot)

    def plot_contents(self, *, ax: Any = None) -> Any:
        """Draw what the index consists of: the bytes of each part, and the mode that reads it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            A bar for each part, the largest first; the title counts tables, columns and values.

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        """
        info = self.info()
        parts = sorted(info["parts"].items(), key=lambda part: (-part[1], part[0]))
        names = [_PARTS.get(name, name) for name, _ in parts]
        counts = info["counts"]
        title = f"{counts['tables']:,} tables, {counts['columns']:,} columns, {counts['tokens']:,} distinct values"
        return _plots.draw_sizes(names, [size for _, size in parts], title, ax)

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
        """List the paths by which a frame joins with a table, directly or through other tables.

        Parameters
        ----------
        df : DataFrame
            Of pandas, polars, Arrow or DuckDB.
        table : str
            Name of the table.
        on : column label, list of labels, or list of lists, optional
            Key of `df`, of one column or several, or several keys; by default each column but measures and columns of
            two values.
        max_hops : int, default 2
            Joins on a path, at most.
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
        Tables on a path are read, at most 60 for each distance from the frame; the last table is not.

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
        from dfjoin.join.lakes.path_search import path_options
        from dfjoin.join.lakes.table_paths import paths_to_table

        return paths_to_table(df, self._snapshot, table, path_options(on, max_hops, min_score, threshold))

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

    def join_graph(
        self, threshold: float = 0.9, *, min_score: float = 0.5, tables: str | Sequence[str] | None = None
    ) -> JoinGraph:
        """Find the likely foreign keys of the lake: which column refers to which key of which table.

        Parameters
        ----------
        threshold : float, default 0.9
            Share of the distinct values of a column that the key holds, at least; real keys miss some.
        min_score : float, default 0.5
            The smallest probability of an edge.
        tables : str or list of str, optional
            Patterns (``fnmatch``, case-sensitive) of the tables that count, as if they were the whole lake.

        Returns
        -------
        JoinGraph
            ``edges`` and ``candidates`` are frames, ``explain(table, column)`` says what speaks for and against each
            key, ``around(table)`` is the part near a table, ``shortest_paths(table, table)`` finds the shortest ways
            to join two tables, ``to_graphml(path)`` and ``plot()`` export.

        Raises
        ------
        TableNotFoundError
            If a pattern matches no table.
        InvalidTypeError, InvalidParameterError
            If an argument is out of its range.

        Notes
        -----
        A candidate is a column whose values a key holds: a column that is unique and has no nulls, of the same kind, of
        another table or the same one. No candidates are dates, counts and measures by their headers, columns that a
        program named, tables of one schema in one folder (years, snapshots), and two keys of nearly the same values,
        unless the header of one names the other's table, or a role such as parent in its own. Small numbers are in many
        keys by chance, so that a small logistic regression weighs names of columns and tables, folders, uniqueness, the
        number of keys that hold the column, and which of them is the smallest (weights and figures in
        ``dfjoin/containment/key_model.json``). A column refers to one key at most, and no edges form a circle of
        columns. A column of a single value refers to a key of its folder whose table its header names, or to none.

        Two or three columns may refer together to a key of as many columns in the same folder, none of which is a key
        alone: ``column`` and ``key_column`` are then ``team_id + year``. Their headers are the same, or that of the
        column has all words of the key's (``home_team_id``), and one is an identifier. Tables whose names and sets of
        values leave such a key possible are read; others are not. Until the graph is made memory holds, of all tables
        that were read, the columns that may be parts of such a key: their distinct values, 4 bytes per row and column,
        and 8 more for each key of several columns that was found. Foreign keys that a database declares are edges in
        any case, and come first.

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
        from dfjoin.containment.foreign_keys import build_graph

        return build_graph(self._snapshot, threshold, min_score, tables)

    def explore(
        self,
        df: pd.DataFrame | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        open_browser: bool = True,
    ) -> PageServer:
        """Search, join, transform and search again on a page in the browser.

        Parameters
        ----------
        df : DataFrame, optional
            The table to begin with; else one is uploaded on the page.
        host : str, default "127.0.0.1"
            Address to listen on: this machine alone by default. With another one, who has the address with its token
            sees the lake and every table that was uploaded.
        port : int, default 0
            Port to listen on; 0: any free one.
        open_browser : bool, default True
            Open the page; else only its address is returned.

        Returns
        -------
        PageServer
            ``url``, the address with its token; ``stop()`` ends the page, as the end of the process does.

        Raises
        ------
        MissingDependencyError
            If a library of the extra ``page`` is not installed.
        InvalidParameterError, InvalidTypeError
            If an argument is illegal, or the address cannot be listened on.

        Notes
        -----
        The page calls public functions alone, and writes the script that makes the same table. Uploaded tables,
        steps and up to 2 GiB of results are kept in the user's cache (``DFJOIN_CACHE_DIR``).

        Source: Zhu, Pu, Nargesian, Miller: "Interactive navigation of open data linkages", PVLDB 10(12), 2017, and
        section 5.1.1 of the thesis: search, join, transform by SQL and search again; each state has a URL.

        Examples
        --------
        >>> import dfjoin, pandas as pd, tempfile
        >>> frames = {"lands": pd.DataFrame({"land": ["Peru", "Chad"], "code": ["PER", "TCD"]})}
        >>> lake = dfjoin.build_lake(frames, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
        >>> page = lake.explore(pd.DataFrame({"country": ["Peru"]}), open_browser=False)
        >>> page.url.startswith("http://127.0.0.1:")
        True
        >>> page.stop()
        """
        from dfjoin.page.serve import explore

        return explore(self, df, host=host, port=port, open_browser=open_browser)  # type: ignore[arg-type]

    def save_embedder(self, path: str | os.PathLike[str]) -> None:
        """Write the n-grams, or the model of words that this lake has trained, as a file of fastText (``.bin``).

        The package fasttext opens it (``fasttext.load_model``; it is of its format 12), and so does ``embedder=`` of
        `dfjoin.build_lake`, so that other lakes have vectors of the same model.

        Parameters
        ----------
        path : str or path
            A file that is there is replaced.

        Raises
        ------
        IncompatibleSettingsError
            If the lake has no vectors, or they were made by a model that lies outside of it.
        InvalidParameterError
            If the file cannot be written.

        Notes
        -----
        ``get_sentence_vector`` of the library and dfjoin compute equal vectors of a text, the mean of the unit vectors
        of its words. dfjoin writes abbreviations out first (``lake.add_vectors(abbreviations={})``: it does not),
        embeds values in canonical form, gives texts without a letter no vector, and scales vectors to length 1.
        Frequencies of words are not kept: each word has frequency 1 in the file. The file takes ``4 d`` bytes for
        each bucket of n-grams and twice as many for each word: at most 51 MB.
        """
        from dfjoin.index.stored_model import save_model

        file = Path(check.check_path(path, "path"))
        save_model(self.path, self.manifest, file)

    # Tables, files and versions

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
        """Add tables; of a location that is indexed already, only new and changed files are read.

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

    # What an index holds beside its tables

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
            If tables with such columns cannot be read: their file is gone, or no session knows the Spark table.

        Notes
        -----
        The columns are read from their tables in this process, of Spark tables through the active session. A build in
        tasks reads those of Spark tables where all that it has to read is small. A distinct point of d numbers takes
        ``8 d + 44`` bytes.
        """
        from dfjoin.store import add_groups

        return self._move_to(add_groups.add_axes(self.path, axes, self._snapshot.moved_roots()))


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
        Name of a root → the location of its tables now, for a lake that was moved; for a database its URI with user
        and password, or a function that returns it, if the environment does not have these.
    verify : {None, "sample"}
        With ``"sample"`` component files are compared with their CRC-32 for 80 ms, in an order that changes with
        the version and with the day. `Lake.verify` compares all files.

    Returns
    -------
    Lake

    Raises
    ------
    IndexNotFoundError
        If there is no index at that location.
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
    """Raise when the column and the lake of a search are exchanged.

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
    """Return whether a value is a lake or the path of one, and not the name of a column."""
    if isinstance(value, (str, os.PathLike)):
        try:
            return bool(list_versions(index_path(value)))
        except DfjoinError:
            return False
    return isinstance(value, Lake)
