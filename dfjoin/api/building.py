"""Making an index: arguments are checked, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfjoin.lake import Lake
    from dfjoin.types import IndexSettings


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
        A directory is searched for tables of every kind, also in archives; ``postgresql://``, ``mysql://``,
        ``sqlite://``, ``duckdb://`` and ``iceberg://`` are databases and catalogues; frames are given by name.
    index : path or URI
        Directory of the index; made, for its owner only, when it does not exist.
    if_exists : {"error", "replace", "add"}
        What to do when there is an index already: raise an error, commit the new content as its next version, or add
        the tables to those that are there.
    engine, spark, workers : {None, "spark", "inline"}, SparkSession and int, optional
        Where the work is done: in Spark tasks, or in this process, of which `workers` read tables at the same time. By
        default Spark works if a session is active, or if the input is large and pyspark is installed.
    tables, columns, exclude : str or list of str, optional
        Patterns (``fnmatch``) of the tables to read; of ``table/column`` to index, and to leave out: of these no value
        is written.
    delimiter, decimal, header, encoding : value, or dict of pattern → value, optional
        How CSV files are written, for all of them or for tables that match a pattern; by default as each file shows.
    embedder, axes : str, path, callable or object; list, optional
        What makes the vectors, and columns of numbers that are points, for ``mode="embedding"``; see
        `Lake.add_vectors` and `Lake.add_axes`.
    settings : dict or IndexSettings, optional
        How values are normalised and what is kept: ``null_spellings``, ``dayfirst``, ``samples``, ``permutations``,
        ``patterns``, ``row_signatures`` and others.
    keep_data : bool, default True
        Keep frames given in memory as Parquet inside the index, so that they can be joined.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read; skipped ones are listed in ``lake.info()["skipped"]``.
    progress : bool or callable, default True
        Show tables, rows, bytes and time left on standard error; a function is given them as a dict.

    Returns
    -------
    Lake
        Opened at the new version.

    Raises
    ------
    InvalidParameterError, MissingDependencyError, EngineError
        If there is an index already, or an argument is illegal; if Spark is not there, or fails.
    TableReadError, ConcurrentCommitError
        If nothing can be read; if another writer committed in the meantime: nothing of this build is visible.

    See Also
    --------
    open_lake, spark_ext.build_index

    Notes
    -----
    Columns of text, dates and integers are indexed if they have two distinct values or more; the index is a copy of all
    their distinct values. All values of the arguments, memory and costs: :doc:`/reference/build_details`.

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
