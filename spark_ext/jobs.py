"""Jobs of Spark: each has a description, a group and a tag, and leaves a line in the log; its tasks run this Python."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from dfjoin.errors import DfjoinError
from spark_ext.session import without_pandas_warning
from spark_ext.transfer import collect, context_of, to_spark

__all__ = [
    "TAG",
    "arrow_function",
    "described",
    "in_one_sentence",
    "in_tasks",
    "is_local",
    "kept",
    "n_cores",
    "task_keys",
    "this_python",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

TAG = "dfjoin"
"""Tag of every job, by which they are cancelled; also their group where the caller has set none."""

_LOG = logging.getLogger("dfjoin.spark")

_DESCRIPTION = "spark.job.description"
_GROUP = "spark.jobGroup.id"


@contextlib.contextmanager
def described(spark: Any, what: str) -> Iterator[None]:
    """Describe the jobs that run meanwhile, and note in the log how long they took.

    Parameters
    ----------
    spark : SparkSession
    what : str
        What is done, without values, names of columns or paths.

    Notes
    -----
    A classic session shows ``dfjoin: what`` as the description of its jobs. They belong to the group of the caller, or
    where there is none to the group `TAG`, and have the tag `TAG` as well: ``sparkContext.cancelJobsWithTag("dfjoin")``
    cancels them from any thread. Connect has tags alone, and ``spark.interruptTag("dfjoin")``. What is described
    inside of another description takes its place; both are in the log, ``logging.getLogger("dfjoin.spark")``.
    """
    begin = time.perf_counter()
    with _labelled(spark, what):
        try:
            yield
        except BaseException as error:
            _LOG.info("%s: %s after %.2f s", what, type(error).__name__, time.perf_counter() - begin)
            raise
    _LOG.info("%s: %.2f s", what, time.perf_counter() - begin)


@contextlib.contextmanager
def _labelled(spark: Any, what: str) -> Iterator[None]:
    """Set the labels of jobs, and put those of the caller back."""
    context = context_of(spark)
    labels: Any = spark if context is None else context
    prefix = "" if context is None else "Job"  # the methods of a context are named so
    is_new = TAG not in getattr(labels, f"get{prefix}Tags")()
    before = {} if context is None else {name: context.getLocalProperty(name) for name in (_DESCRIPTION, _GROUP)}
    try:
        if is_new:
            getattr(labels, f"add{prefix}Tag")(TAG)
        if context is not None:
            context.setLocalProperty(_DESCRIPTION, f"dfjoin: {what}")
            context.setLocalProperty(_GROUP, before[_GROUP] or TAG)
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)
        if is_new:
            getattr(labels, f"remove{prefix}Tag")(TAG)


def is_local(spark: Any) -> bool:
    """Tell whether the workers are processes of this machine."""
    context = context_of(spark)
    return context is not None and re.match(r"local(\[|$)", context.master) is not None


_cores: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def n_cores(spark: Any) -> int:
    """Return how many tasks of a session run at once, at least 1; on Connect a job counts them, once in a session."""
    context = context_of(spark)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    if spark not in _cores:  # a range without a number of parts has one for each core
        with described(spark, "count the cores"):
            parts = spark.range(0, 1 << 16).select(F.spark_partition_id().alias("part")).distinct()
            _cores[spark] = max(1, collect(parts).num_rows)
    return _cores[spark]


_making = threading.RLock()
"""Held while a function is made: its Python is read from the context, which all threads share."""


@contextlib.contextmanager
def this_python(spark: Any) -> Iterator[None]:
    """Let functions that are made meanwhile run in this Python, where the workers are processes of this machine.

    A session that was started without ``PYSPARK_PYTHON`` runs ``python3`` of the path, which may lack dfjoin. Other
    functions of the session keep the Python that it was started with.
    """
    context = context_of(spark) if is_local(spark) else None
    if context is None:
        with without_pandas_warning():
            yield
        return
    with _making:
        before = context.pythonExec
        context.pythonExec = sys.executable
        try:
            with without_pandas_warning():
                yield
        finally:
            context.pythonExec = before


def in_tasks(frame: Any, run: Callable[..., Any], schema: Any) -> Any:
    """Return what a function of Arrow batches makes of each partition of a frame, in tasks that run this Python."""
    with this_python(frame.sparkSession):
        return frame.mapInArrow(run, schema)


@contextlib.contextmanager
def kept(frame: Any) -> Iterator[Any]:
    """Keep the rows of a frame for several jobs, where the session allows it: serverless ones do not."""
    try:
        frame.persist()
        is_kept = True
    except Exception:  # what Connect raises for that differs between versions
        is_kept = False
    try:
        yield frame
    finally:
        if is_kept:
            frame.unpersist()


def in_one_sentence(run: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a function raise errors of dfjoin without the lines of code that they come from.

    Spark shows whoever wrote the SQL all of these, and the sentence that tells what is wrong behind them.
    """

    @functools.wraps(run)
    def call(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return run(*arguments, **named)
        except DfjoinError as error:
            raised = error
        raised.__context__ = None
        raise raised.with_traceback(None)

    return call


def arrow_function(run: Callable[..., pa.Array], type_: str) -> Any:
    """Make a function of Spark of one of Arrow arrays, where `this_python` says which Python it runs in.

    Times come as the session's clock shows them.
    """

    @in_one_sentence
    def call(*columns):  # type: ignore[no-untyped-def]
        return run(*(_plain(column) for column in columns))

    make: Any = getattr(F, "arrow_udf", None)
    if make is not None:
        return make(call, type_)

    def call_of_pandas(*columns):  # type: ignore[no-untyped-def]
        return call(*columns).to_pandas()

    make = F.pandas_udf
    return make(call_of_pandas, type_)


def _plain(column: Any) -> pa.Array:
    array = column if isinstance(column, pa.Array) else pa.Array.from_pandas(column)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return pc.local_timestamp(array) if pa.types.is_timestamp(array.type) and array.type.tz else array


_keys: dict[int, list[int]] = {}


def task_keys(spark: Any, n: int) -> list[int]:
    """Return a number for each of `n` tasks: ``frame.repartition(n, column)`` sends rows that hold it to that task.

    Parameters
    ----------
    spark : SparkSession
    n : int

    Returns
    -------
    list of int
        The smallest ones, as long integers.

    Notes
    -----
    Spark deals rows out by the hash of a column, modulo the number of tasks. Numbers are hashed by Spark itself, until
    each task has one. A number of tasks that is given so is what adaptive execution leaves alone.
    """
    found: dict[int, int] = {}
    n_tried = 20 * n
    while n not in _keys:
        tried = to_spark(spark, pa.table({"key": pa.array(range(n_tried), pa.int64())}))
        buckets = collect(tried.selectExpr("key", f"pmod(hash(key), {n}) AS place")).to_pydict()
        for key, bucket in zip(buckets["key"], buckets["place"], strict=True):
            found.setdefault(bucket, key)
        if len(found) == n:
            _keys[n] = [found[bucket] for bucket in range(n)]
        n_tried *= 2
    return _keys[n]
