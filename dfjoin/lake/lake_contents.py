"""What a lake holds, and how its tables join: the methods of `Lake` that only read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfjoin import _plots
from dfjoin import _validation as check
from dfjoin.lake.opened_lake import OpenedLake
from dfjoin.store import overview

if TYPE_CHECKING:
    from dfjoin.containment.join_graph import JoinGraph
    from dfjoin.containment.result_stream import ContainedPairs
    from dfjoin.page.serve import PageServer

__all__ = ["LakeContents"]

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


class LakeContents(OpenedLake):
    """The tables and columns of a lake, its rows, and the joins between its tables. Nothing is changed."""

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
        """List the ways in which a frame joins with a table, directly or through other tables.

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
        from dfjoin.containment.join_graph import build_graph

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
            The table to begin with; else one is brought on the page.
        host : str, default "127.0.0.1"
            Address to listen on: this machine alone by default. With another one, who has the address with its token
            sees the lake and every table that was brought.
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
        The page calls public functions alone, and writes the script that makes the same table. Tables that are brought,
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

        place = Path(check.check_path(path, "path"))
        save_model(self.path, self.manifest, place)
