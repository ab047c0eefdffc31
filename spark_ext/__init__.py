"""dfjoin on Spark: sessions that start anywhere, and builds that run as Spark tasks.

``spark_ext.build_index`` is `dfjoin.build_lake` with a session as its first argument;
``spark_ext.start_session`` finds Java and starts a local session as dfjoin does by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfjoin._optional import import_optional
from dfjoin._validation import check_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dfjoin.join.rows.report import JoinReport
    from dfjoin.lake import Lake
    from dfjoin.search.explanation import Explanation

__all__ = [
    "build_index",
    "containment_join",
    "discover_joinable_batch",
    "enable",
    "explain",
    "lake_containment_join",
    "pairs",
    "register_functions",
    "report",
    "start_session",
]


def build_index(
    spark: SparkSession, source: Any = None, index: Any = None, *, tables: str | list[str] | None = None, **options: Any
) -> Lake:
    """Build a lake index with a given Spark session, from its catalog or from any other source.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect; its configuration is not changed.
    source, index
        As in `dfjoin.build_lake`.
    tables : str or list of str, in the place of `source`
        Tables of the session's catalog: names, or patterns such as ``sales.*``, ``*.orders_*`` and
        ``main.sales.*`` (``fnmatch`` in each part; table, schema.table or catalog.schema.table). Partitioned tables
        are one table each; nested columns are listed and not indexed.
    **options
        As in `dfjoin.build_lake`, but for `engine` and `spark`. With ``if_exists="add"`` only tables that are new, or
        whose version or files changed, are read; ``columns=["*/customer_id", "main.sales.*/code"]`` selects columns.

    Returns
    -------
    Lake

    Raises
    ------
    InvalidParameterError
        If a pattern matches no table, or if `tables` and `source` are given both, or neither.

    See Also
    --------
    dfjoin.build_lake

    Notes
    -----
    A table is known again by its history (Delta: ``DESCRIBE HISTORY``; Iceberg: its metadata table ``history``), else
    by the names, sizes and times of its files, else by a digest of its rows, which reads it. ``lake.table`` and
    ``auto_join`` read it through the active session, partition by partition, and check that it is the same.
    """
    from dfjoin._validation import check_patterns
    from dfjoin.api import build_lake
    from dfjoin.errors import InvalidParameterError
    from spark_ext.tables import match_tables

    if index is None or (source is None) == (not tables):
        raise InvalidParameterError(
            '`source` or `tables` must be given, and `index`: build_index(spark, tables=["sales.*"], index="a.dfjoin")'
        )
    chosen = match_tables(spark, check_patterns(tables, "tables")) if tables else source
    return build_lake(chosen, index, engine="spark", spark=spark, **options)


def containment_join(
    left: DataFrame, right: DataFrame | None = None, *, on: str, key: str, tasks: int | None = None
) -> DataFrame:
    """Find all pairs of rows of which the right one's array holds all elements of the left one's, as Spark tasks.

    Parameters
    ----------
    left, right : pyspark DataFrame
        None for `right`: the left one.
    on : str
        The column of arrays, of both frames. Nulls among the elements are none; a null instead of an array is in no
        pair.
    key : str
        The column that names a row, of both frames; no value occurs twice.
    tasks : int, optional
        Into how many tasks the join is cut; by default three for each core.

    Returns
    -------
    pyspark DataFrame
        ``left, right`` (values of `key`) and ``matched``.

    Notes
    -----
    A left set goes to the task of its rarest element, and is joined there as by `dfjoin.containment_join`. A task holds
    its sets in memory.
    """
    from spark_ext.containment import join_arrays

    return join_arrays(left, left if right is None else right, on, key, tasks)


def lake_containment_join(
    spark: SparkSession, index: Any, *, threshold: float = 1.0, min_cardinality: int = 2, tasks: int | None = None
) -> DataFrame:
    """Find all pairs of columns of an index of which one holds the other, or a share of it, as Spark tasks.

    Parameters
    ----------
    spark : SparkSession
    index : Lake or path
        An index that every task can read.
    threshold, min_cardinality
        As in `dfjoin.Lake.containment_join`.
    tasks : int, optional
        Into how many tasks the left columns are cut; by default three for each core.

    Returns
    -------
    pyspark DataFrame
        The columns of `dfjoin.Lake.containment_join`.
    """
    from spark_ext.containment import join_index

    return join_index(spark, index, threshold, min_cardinality, tasks)


def start_session(**config: str) -> SparkSession:
    """Return the active Spark session, or start a local one; see `spark_ext.session`."""
    from spark_ext.session import start_session as start

    return start(**config)


def enable(spark: SparkSession | None = None) -> None:
    """Give Spark DataFrames the methods ``discover_joinable`` and ``auto_join``; a second call changes nothing.

    The namespace ``sdf.dfjoin`` has both, and the functions of this module as methods:
    ``queries.dfjoin.discover_joinable_batch(lake)``, ``hits.dfjoin.explain(sdf)``, ``hits.dfjoin.pairs(sdf)`` and
    ``wide.dfjoin.report()``. Classic and Connect DataFrames get them, of every session, and those of pandas-on-Spark
    the two methods where ``pyspark.pandas`` is imported. Nothing else of Spark is changed.

    Parameters
    ----------
    spark : SparkSession, optional
        The session that gets the SQL functions, too, see `register_functions`. The methods do not need it: they use
        the session of their frame.

    Warns
    -----
    DfjoinWarning
        If workers on other machines lack what dfjoin needs, or have another Python; a job looks, once in a session.
        Workers of a local session run the Python of this process, whatever the session was started with.

    Notes
    -----
    Each job of dfjoin has a description (``dfjoin: search: in tasks``), the tag ``dfjoin``, and the job group
    ``dfjoin`` unless the caller has set one. From another thread ``sparkContext.cancelJobsWithTag("dfjoin")`` cancels
    them, on Connect ``spark.interruptTag("dfjoin")``; the call that waits for them raises `EngineError`. The logger
    ``dfjoin.spark`` notes each step and its seconds at level INFO, and no values, names or paths.
    """
    import_optional("pyspark", extra="spark", purpose="spark_ext.enable()")
    from spark_ext.frames import register
    from spark_ext.probe import warn_of_workers

    register()
    if spark is not None:
        warn_of_workers(spark)
        register_functions(spark)


def register_functions(spark: SparkSession, *, indexes: str | list[str] | None = None) -> None:
    """Register the SQL functions of dfjoin in a session, and the catalogue of a lake as a data source.

    Functions of columns, vectorised over Arrow. `index` is the path of an index, whose
    settings then count; by default those of the package do. A null gives null.

    - ``dfjoin_normalize(value [, index])`` → string: the canonical form of a value of any type, by itself.
    - ``dfjoin_containment(a, b)`` → double: the share of the distinct elements of an array of canonical texts that
      another one holds; ``dfjoin_jaccard(a, b)`` → double: shared elements over all.
    - ``dfjoin_minhash(array [, index])`` → array<bigint>: the MinHash signature of an array of canonical texts;
      ``dfjoin_minhash_containment(a, a_n, b, b_n)`` → double: the containment of the first set in the second that two
      signatures and the numbers of distinct elements let expect.
    - ``dfjoin_embed(value, index)`` → array<float>: the unit vector of a text by the embedder of an index; null for a
      text without one. ``dfjoin_distance(v, w [, metric])`` → double: between two vectors, "euclidean" or "angular".
    - ``dfjoin_transform(program_json, value)`` → string: what a learned program (its JSON, as in reports and plans)
      makes of a text.

    A table function, also named ``discover_joinable``:

    - ``dfjoin_discover(TABLE(SELECT c FROM t), column => 'c', lake => 'index', k => 10)``: the rows of
      `dfjoin.discover_joinable` with ``rank="useful"``, but for those with ``period``. One task collects the distinct
      values, up to a million; the index has to lie where executors read it. For more values use
      ``sdf.discover_joinable``.

    A data source: ``spark.read.format("dfjoin").load(index)`` has a row for each column of the lake, as `Lake.columns`;
    with ``option("content", "tables")`` a row for each table, with ``option("version", "3")`` those of a version. Each
    segment is read by a task of its own.

    Each batch of rows sees the latest version of an index. Wrong arguments of ``dfjoin_discover`` and wrong options are
    found when a query is analysed. Those of the functions of columns are found by the first task that runs: Spark asks
    nothing of them before. The last line of the error is one sentence that says what is wrong.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect. Functions belong to a session; registering them twice is harmless.
    indexes : str or list of str, optional
        The indexes that SQL may open, as they are named there; another one is an `InvalidParameterError`. By default
        any path and URI that the account of the workers can read: their values, minima, maxima and samples are shown
        to whoever may write SQL, whatever the rights on the tables. It is no bound for those who run Python.
    """
    from spark_ext.functions import register_functions as register

    paths = "a path of an index or a list of them"
    register(spark, None if indexes is None else frozenset(check_names(indexes, "indexes", paths)))


def discover_joinable_batch(
    queries: DataFrame,
    lake: Any,
    *,
    name: str = "query_column",
    value: str = "value",
    where: str = "auto",
    **options: Any,
) -> DataFrame:
    """Find joinable columns for many query columns, given as rows of a Spark DataFrame, in one job.

    Parameters
    ----------
    queries : pyspark DataFrame
        A row for each value of each query column; rows of one column need not stand together.
    lake : Lake or path
        The index to search.
    name, value : str
        Columns of `queries`: the name of a query column, and one of its values.
    where : {"auto", "driver", "cluster"}
        As in ``sdf.discover_joinable``.
    **options
        As in `dfjoin.discover_joinable`.

    Returns
    -------
    pyspark DataFrame
        As from ``sdf.discover_joinable``, in the order of the names.

    Notes
    -----
    Query columns are dealt out to three tasks for each core; where the lake has several segments, groups of these are
    searched in tasks of their own. The jobs are those of ``sdf.discover_joinable``.
    """
    from spark_ext.search import discover_batch

    return discover_batch(queries, lake, name, value, where, options)


def explain(hits: DataFrame, frame: DataFrame, i: int = 0) -> Explanation:
    """Explain a row of what ``frame.discover_joinable`` returned, also after filters.

    Parameters
    ----------
    hits : pyspark DataFrame
        A result of ``discover_joinable``, or some of its rows; of an index that this process opened.
    frame : pyspark DataFrame
        The frame that was searched for.
    i : int
        Position in `hits`.

    Returns
    -------
    Explanation
        As from `JoinCandidates.explain`.
    """
    from spark_ext.picked_hits import candidate_of

    return candidate_of(hits, frame, i).explain(0)


def pairs(hits: DataFrame, frame: DataFrame, i: int = 0) -> DataFrame:
    """List the matched pairs of values of a row of what ``frame.discover_joinable`` returned.

    Parameters
    ----------
    hits, frame, i
        As in `explain`.

    Returns
    -------
    pyspark DataFrame
        With the columns of `JoinCandidates.pairs`.
    """
    from spark_ext.picked_hits import pairs_of

    return pairs_of(hits, frame, i)


def report(frame: DataFrame) -> JoinReport | dict[str, Any]:
    """Return the report of a join of a Spark DataFrame, or of a search.

    Parameters
    ----------
    frame : pyspark DataFrame
        What ``auto_join`` returned in this process, also after further steps: of the last join, and of the left one of
        two frames. Or what ``discover_joinable`` returned, also after further steps that keep its column `table`.

    Returns
    -------
    JoinReport or dict
        Of a join: as from `dfjoin.report`; ``to_dict()["plan"]`` is the plan. Where the join was decided on a sample of
        the rows, the numbers are the sample's, and ``sampled_rows`` is their number. A given plan (``plan=``,
        or a plan as `other`) is carried out without a sample where it is of a lake, or the frame has more than 100,000
        rows: the report then holds the plan alone. Of columns of another frame whose values are more than 64 MiB, it
        shows none. Spark plans the frame for that and runs no job. A checkpoint and what is read from a table carry no
        report; the latest 256 are kept. ``to_dict()["work"]`` counts the ``jobs`` that ran before the join returned,
        their ``job_seconds`` and the ``bytes_here`` that they collected; and of the tasks that have read tables of a
        lake since, each time that the result was read, what is counted of a search (not on Connect).

        Of a search: ``where`` it ran; where in tasks, how many of these there were for each stage (``tasks``), the
        ``processes`` and ``hosts`` that they ran in, the bytes of the index that they copied from another file system
        (``bytes_fetched``), how many found all on their machine (``cache_hits``), and their ``task_seconds``.
    """
    from spark_ext.join import report_of

    return report_of(frame)
