"""Making an index: arguments are checked, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfjoin.lake import Lake
    from dfjoin.types import IndexSettings

__all__ = ["build_lake", "register_embedder"]


def build_lake(
    source: Any,
    index: str | os.PathLike[str],
    *,
    if_exists: str = "error",
    engine: str | None = None,
    spark: Any = None,
    workers: int = 1,
    tables: str | list[str] | None = None,
    columns: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    delimiter: str | dict[str, str] | None = None,
    decimal: str | dict[str, str] | None = None,
    header: int | dict[str, int] | None = None,
    encoding: str | dict[str, str] | None = None,
    embedder: Any = None,
    axes: list[Any] | None = None,
    settings: dict[str, Any] | IndexSettings | None = None,
    keep_data: bool = True,
    on_error: str = "skip",
    progress: bool | Callable[[dict[str, Any]], object] = True,
) -> Lake:
    """Build the index of a lake and open it.

    Reads every table once, normalises every value, and commits the index in one step: after a build that failed or
    was interrupted or killed, the index is what it was before.

    Parameters
    ----------
    source : path, glob, list of paths, URI, Spark table name or list of them, dict of name → DataFrame
        A directory is searched for CSV and TSV (any delimiter), workbooks (a table for each sheet), Parquet (files and
        directories of part files), ORC, Arrow, Avro, JSON and JSON lines, texts also as .gz, .zst, .bz2 and .xz, and
        zip archives of these, Delta and Iceberg tables, and files of SQLite and DuckDB; hidden files and dfjoin indexes
        are passed over. A database is ``postgresql://host/database``, ``mysql://host/database`` (without one: all
        databases), ``sqlite:///file`` or ``duckdb:///file``; it is only read, all of its tables as one moment shows
        them; in tasks of Spark each table of a server as a moment of its own shows it. User and password stand in the
        URI, which is kept without them, in the environment (``PGUSER``, ``PGPASSWORD``, ``MYSQL_PWD``) or in the file
        of the database's own client (``~/.pgpass``, ``~/.my.cnf``); or the source is a function that returns the URI,
        and is called whenever the database is opened.
        ``iceberg://catalogue`` reads the tables of a catalogue that pyiceberg knows by its configuration, and
        ``table@v3`` or ``table@2026-11-01T12:00`` (UTC) a Delta or Iceberg table as it was (``v`` and the version of
        Delta, or the id of a snapshot of Iceberg). Frames are of
        pandas, polars, Arrow, DuckDB or Spark.
    index : path or URI
        Directory of the index; made, for its owner only, when it does not exist. A URI that pyarrow.fs opens
        (``s3://…``, ``gs://…``, ``hdfs://…``): the index is made in a local cache (``DFJOIN_CACHE_DIR``) and copied;
        workers of Spark on other machines write to the URI, if they open it with the credentials of their machine.
        Mirrors of indexes that were not opened for a day go where the cache is above ``DFJOIN_CACHE_BYTES`` (64 GiB).
    if_exists : {"error", "replace", "add"}
        What to do when there is an index already.

        - ``"error"``: raise an error.
        - ``"replace"``: commit the new content as the next version of the index.
        - ``"add"``: add the tables to those that are there.
    engine : {None, "spark", "inline"}
        Where the work is done.

        - None (default): by Spark if `spark` is given or a session is active, or if the input is above 256 MiB and
          pyspark and Java are installed; else in this process.
        - ``"spark"``: in Spark tasks.
        - ``"inline"``: in this process, which needs no Java and suits small lakes.
    spark : SparkSession, optional
        The session to use; by default the active one, else a local one that is started here
        (`spark_ext.start_session`). It starts after the arguments and paths are checked.
    workers : int, default 1
        Processes that read tables at the same time, this one and others; more than one mean ``engine="inline"``. The
        index is the same, whatever their number. Each needs the memory of a task. A task reads 64 MiB of input, so
        that a source below that is read by this process alone. Databases, and places whose URI has credentials, are
        read by this process.
    tables : str or list of str, optional
        Patterns (``fnmatch``) of the tables to read, as ``"sales.*"``; default all. `Lake.add` follows them.
    columns, exclude : str or list of str, optional
        Patterns (``fnmatch``) of ``table/column`` to index, and to leave out. No value of a column that is left out
        is written into the index: frames given in memory are kept without it. Files are joined whole.
    delimiter, decimal, header, encoding : value, or dict of pattern → value, optional
        How CSV files are written, for all of them or for tables that match a pattern (``fnmatch``; of several the first
        counts). None (default): as each file shows. They are kept with the index: `Lake.add` reads further files so.

        - ``delimiter``: one character.
        - ``decimal``: ``"."`` or ``","``.
        - ``header``: lines that name the columns: 0, 1 or 2, below titles and comments. Two lines are joined.
        - ``encoding``: a name that Python knows, as ``"cp1250"``.
    embedder : str, path, callable or object, optional
        What makes the vectors that ``mode="embedding"`` needs; None: no vectors. ``"ngrams"`` needs no training,
        ``"fasttext"`` trains on the lake's own texts; `Lake.add_vectors` lists the others, and adds vectors later.
        Values are embedded where `engine` says, training is done in this process. Not with ``if_exists="add"`` or
        ``keep_sets=False``.
    axes : list, optional
        Columns of numbers that make vectors together, as ``[["x", "y"]]``, for ``mode="embedding"`` with a list `on`;
        `Lake.add_axes` lists what an entry may be. Pairs of latitude and longitude are recognised by their headers and
        ranges in any case, unless the list is empty. Not with ``if_exists="add"``.
    settings : dict or IndexSettings, optional
        How values are normalised and what is kept. A dict may hold:

        - ``null_spellings``: texts that are nulls in every column. By default the empty text; and each column decides
          by its other values whether texts as ``NA``, ``null``, ``-`` and ``*`` are nulls: they are among numbers,
          dates and words, and not in a column of codes of as many letters, or of signs. ``lake.columns`` shows them.
        - ``dayfirst``: how all-digit dates are read; None (default): as the column itself shows.
        - ``samples``: sample values kept for each column, default 5, 0 for none.
        - ``segment_bytes``, ``task_bytes``: target size of a segment, memory of a task.
        - ``max_columns``: a table with more columns is skipped with the reason; default 100,000.
        - ``hash_seed``: seed of the value hash.
        - ``permutations``: values of a MinHash signature, which ``mode="lsh"`` needs; default 256, 0 for none.
        - ``signature_min``: columns with fewer distinct values get no signature; default `permutations`.
        - ``partitions``, ``partitioning``: see `Lake.add_signatures`.
        - ``keep_sets``: False drops the token sets of columns that have a signature.
        - ``patterns``: True indexes the pieces of values that ``mode="transform"`` needs; default False.
          `Lake.add_patterns` adds them later.
        - ``row_signatures``: True keeps which value each row has in each column, so that keys of several columns are
          found without reading tables; default False. `Lake.add_row_signatures` adds them later.
    keep_data : bool, default True
        Keep frames given in memory as Parquet inside the index, so that they can be joined.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read; skipped ones are listed in ``lake.info()["skipped"]``.
    progress : bool or callable, default True
        Show tables, rows, bytes and time left on standard error. A function is given them: a dict of ``stage, tables,
        n_tables, rows, done, n, seconds, seconds_left``, where `done` of `n` are bytes, values to embed, or a share of
        1, and what is not known is 0 or None. It is called twice a second by another thread, and by this one where the
        tables are begun and done, as where an embedder is trained and values are embedded. What it raises ends the
        build: at the next count, as after a table, this function raises it.

    Returns
    -------
    Lake
        Opened at the new version.

    Raises
    ------
    InvalidParameterError
        If there is an index already and `if_exists` is ``"error"``, or an argument is illegal.
    MissingDependencyError
        If Spark is asked for and pyspark or Java cannot be found.
    EngineError
        If Spark does not start, its workers lack what dfjoin needs, or a task fails; the last line is the cause. Or if
        one of `workers` cannot be started, or ends before its work.
    TableReadError
        If nothing of the source can be read, or with ``on_error="raise"`` for the first table that cannot.
    ConcurrentCommitError
        If another writer committed to the same index in the meantime; nothing of this build is visible.

    See Also
    --------
    open_lake, spark_ext.build_index

    Notes
    -----
    One pass over the files. Memory of a task: about three times ``task_bytes``; of a merging task also the
    segment that is written (``segment_bytes``). Columns of text, dates and integers (floats and decimals with
    integral values included) are indexed if they have two distinct values or more; the index is a copy of all
    their distinct values.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> frames = {"cities": pd.DataFrame({"city": ["Rome", "Oslo"], "people": [2.75, 0.7]})}
    >>> lake = dfjoin.build_lake(frames, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> lake.tables[["table", "n_rows", "n_columns"]]
        table  n_rows  n_columns
    0  cities       2          2
    """
    from dfjoin.errors import InvalidParameterError
    from dfjoin.ingest.build import build, find_base
    from dfjoin.ingest.build_options import BuildOptions, check_same_settings, given_dialects, index_settings
    from dfjoin.lake import Lake
    from dfjoin.vectors.axis_specs import check_axes

    options = BuildOptions(source, engine, spark, on_error, keep_data, progress, embedder, check_axes(axes), workers)
    path, base = find_base(index, if_exists)
    dialects = given_dialects(delimiter=delimiter, decimal=decimal, header=header, encoding=encoding)
    chosen = index_settings(settings, columns, exclude, dialects, tables)
    if if_exists == "add" and base is not None:
        check_same_settings(base, chosen, settings, tables=tables, columns=columns, exclude=exclude)
        if axes is not None:
            raise InvalidParameterError(
                '`axes` belongs to a new index, and if_exists="add" keeps the one that is there; leave it out, or call '
                "`Lake.add_axes(axes)` afterwards"
            )
        if embedder is not None:
            raise InvalidParameterError(
                '`embedder` belongs to a new index, and if_exists="add" keeps the one that is there; leave it out, or '
                "call `Lake.add_vectors(embedder)` afterwards"
            )
        return Lake(path).add(
            source,
            engine=engine,
            spark=spark,
            workers=workers,
            on_error=on_error,
            keep_data=keep_data,
            progress=progress,
        )
    build(path, base, chosen, options)
    return Lake(path)


def register_embedder(embedder: Any, *, identity: str | None = None) -> str:
    """Make an embedder known to this process, for indexes whose vectors it made.

    An index keeps a trained model, and finds fastText files and models of sentence-transformers by their names. It does
    not keep functions and objects: a process that opens an index made with one calls this before it searches.

    Parameters
    ----------
    embedder : path, str, callable or object
        As in `Lake.add_vectors`.
    identity : str, optional
        A name for a function or an object, which an index keeps of it; ``embedder=identity`` stands for it then. None
        (default): its attribute ``identity``, if that is a text, else the name of the function or class.

    Returns
    -------
    str
        Its identity, which the index has to name.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is none of these, or `identity` is no name or the one of a built-in embedder.

    Notes
    -----
    When an index is opened, the vectors of a few texts are compared with those that were noted when it was made; of
    several embedders with one identity, as two lambdas have, the one that makes these vectors is taken.

    Examples
    --------
    >>> import dfjoin
    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> dfjoin.register_embedder(lengths, identity="lengths-1")
    'lengths-1'
    """
    from dfjoin._validation import show
    from dfjoin.errors import InvalidParameterError
    from dfjoin.vectors.embedders import BUILT_IN, choose_embedder, remember_embedder
    from dfjoin.vectors.ngrams import NGRAMS_IDENTITY

    if identity is not None and (
        not isinstance(identity, str) or not identity.strip() or identity in (*BUILT_IN, NGRAMS_IDENTITY)
    ):
        raise InvalidParameterError(
            f"`identity` must be a name that no built-in embedder has ({', '.join(BUILT_IN)}), got {show(identity)}"
        )
    chosen = choose_embedder(embedder, identity)
    if chosen is None:
        raise InvalidParameterError(
            '`embedder` "fasttext" is trained by an index and kept in it; it need not be made known'
        )
    if identity not in (None, chosen.identity):
        raise InvalidParameterError(
            f"`identity` belongs to functions and objects, and {show(embedder)} is named {chosen.identity!r} by what "
            "it is; leave it out"
        )
    remember_embedder(chosen)
    return chosen.identity
