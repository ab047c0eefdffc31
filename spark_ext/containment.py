"""The set containment join on Spark: partitions as tasks, over columns of arrays and over the columns of an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dfjoin._validation import check_positive_int
from dfjoin.errors import InvalidTypeError
from dfjoin.lake import resolve_lake
from spark_ext.jobs import in_tasks, n_cores, this_python
from spark_ext.probe import require_index
from spark_ext.queries import check_named
from spark_ext.transfer import quoted

__all__ = ["join_arrays", "join_index"]

_TASKS_FOR_CORES = 3


def join_arrays(left: Any, right: Any, on: str, key: str, tasks: int | None) -> Any:
    """Join two Spark columns of arrays, see `spark_ext.containment_join`.

    Parameters
    ----------
    left, right : pyspark DataFrame
    on : str
        The column of arrays, of both.
    key : str
        The column that names a row, of both.
    tasks : int, optional

    Returns
    -------
    pyspark DataFrame

    Notes
    -----
    A left set goes to the task of its rarest element, a right one to the tasks of those of its elements that are the
    rarest of a left set; each task joins its sets as `dfjoin.containment_join` does. So each pair is found once.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    n = _n_tasks(left.sparkSession, tasks)
    mine, theirs = (_sets(side, on, key, name) for side, name in ((left, "l"), (right, "r")))
    counts = theirs.select(F.explode("e").alias("x")).groupBy("x").count()
    elements = mine.select("l", F.explode("e").alias("x")).join(counts, "x", "left").fillna(0, ["count"])
    rarest = elements.groupBy("l").agg(F.min(F.struct("count", "x")).alias("m")).where("m.count > 0")
    rarest = rarest.select("l", F.col("m.x").alias("x"))
    bucket = F.pmod(F.hash("x"), F.lit(n)).alias("task")
    lefts = mine.join(rarest, "l").select("l", "e", bucket)
    needed = rarest.select("x").distinct()
    rights = theirs.select("r", "e", F.explode("e").alias("x")).join(needed, "x").select("r", "e", bucket)
    rights = rights.dropDuplicates(["r", "task"])
    schema = T.StructType(
        [
            T.StructField("left", mine.schema["l"].dataType),
            T.StructField("right", theirs.schema["r"].dataType),
            T.StructField("matched", T.LongType()),
        ]
    )
    with this_python(left.sparkSession):
        pairs = lefts.groupBy("task").cogroup(rights.groupBy("task")).applyInArrow(_join_task, schema)
    empty = mine.where(F.size("e") == 0).select(F.col("l").alias("left"))
    everything = empty.crossJoin(theirs.select(F.col("r").alias("right"))).withColumn("matched", F.lit(0).cast("long"))
    return pairs.unionByName(everything)


def _n_tasks(spark: Any, tasks: int | None) -> int:
    return _TASKS_FOR_CORES * n_cores(spark) if tasks is None else check_positive_int(tasks, "tasks")


def _sets(frame: Any, on: str, key: str, name: str) -> Any:
    """Select what names a row, as `name`, and its distinct elements."""
    from pyspark.sql import functions as F

    on, key = check_named(frame, on, "on"), check_named(frame, key, "key")
    type_ = frame.schema[on].dataType.simpleString()
    if not type_.startswith("array"):
        raise InvalidTypeError(f"`on` must name a column of arrays, got {on!r} of type {type_}")
    elements = F.array_distinct(F.array_compact(F.col(quoted(on))))
    return frame.select(F.col(quoted(key)).alias(name), elements.alias("e")).where(F.col("e").isNotNull())


def _join_task(left: pa.Table, right: pa.Table) -> pa.Table:
    """Join the sets of one task."""
    from dfjoin.api import containment_join

    schema = pa.schema([("left", left.schema.field("l").type), ("right", right.schema.field("r").type)])
    schema = schema.append(pa.field("matched", pa.int64()))
    if not left.num_rows or not right.num_rows:
        return schema.empty_table()
    found = []
    for batch in containment_join(left.column("e"), right.column("e")).batches():
        columns = [left.column("l").take(batch.column("left")), right.column("r").take(batch.column("right"))]
        found.append(pa.table([*columns, batch.column("matched")], schema=schema))
    return pa.concat_tables([schema.empty_table(), *found])


def join_index(spark: Any, index: Any, threshold: float, min_cardinality: int, tasks: int | None) -> Any:
    """Join the columns of an index, see `spark_ext.lake_containment_join`.

    Parameters
    ----------
    spark : SparkSession
    index : Lake or path
        At a place that every task can read.
    threshold : float
    min_cardinality : int
    tasks : int, optional
        Each takes so many parts of the left columns.

    Returns
    -------
    pyspark DataFrame
    """
    from dfjoin.containment.column_pairs import join_columns
    from dfjoin.containment.subset_join import containment_options
    from dfjoin.store.snapshot import open_snapshot

    options = containment_options(threshold, None)
    least = check_positive_int(min_cardinality, "min_cardinality")
    snapshot = resolve_lake(index, "index").snapshot
    require_index(spark, snapshot, "join here, as dfjoin.open_lake(index).containment_join() does")
    location, version = snapshot.location, snapshot.version
    n = _n_tasks(spark, tasks)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                snapshot = open_snapshot(location, version)
                yield from join_columns(snapshot, least, options, (part, n)).batches()

    schema = (
        "left_table string, left_column string, right_table string, right_column string, left_cardinality long, "
        "right_cardinality long, matched long, containment double"
    )
    return in_tasks(spark.range(0, n, 1, n), run, schema)
