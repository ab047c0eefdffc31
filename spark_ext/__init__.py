"""dfjoin on Spark: sessions that start anywhere, and builds that run as Spark tasks.

``spark_ext.build_index`` is `dfjoin.build_lake` with a session as its first argument;
``spark_ext.start_session`` finds Java and starts a local session as dfjoin does by itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["build_index", "start_session"]


def build_index(spark: Any, source: Any = None, index: Any = None, *, tables: Any = None, **options: Any) -> Any:
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
    A table is known again by its history (Delta: ``DESCRIBE HISTORY``; Iceberg: its snapshots), else by the names,
    sizes and times of its files, else by a digest of its rows, which reads it. ``lake.table`` and ``auto_join`` read
    it through the active session, partition by partition, and check that it is the same.
    """
    from dfjoin._validation import check_patterns
    from dfjoin.api import build_lake
    from dfjoin.errors import InvalidParameterError
    from spark_ext.tables import match_tables

    if index is None or (source is None) == (tables is None):
        raise InvalidParameterError(
            '`source` or `tables` must be given, and `index`: build_index(spark, tables=["sales.*"], index="a.dfjoin")'
        )
    chosen = source if tables is None else match_tables(spark, check_patterns(tables, "tables"))
    return build_lake(chosen, index, engine="spark", spark=spark, **options)


def start_session(**config: str) -> Any:
    """Return the active Spark session, or start a local one; see `spark_ext.session`."""
    from spark_ext.session import start_session as start

    return start(**config)
