"""Arrow tables between this process and Spark: never through rows of pandas, which change values."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dfjoin.errors import EngineError, InvalidParameterError
from dfjoin.values.frames import arrow_to_series
from spark_ext.session import without_pandas_warning

__all__ = [
    "JobCounts",
    "collect",
    "context_of",
    "count_rows",
    "counting",
    "estimated_bytes",
    "has_more_rows",
    "known_to_spark",
    "most_rows",
    "pickled_for_tasks",
    "quoted",
    "to_pandas",
    "to_spark",
]


@dataclass
class JobCounts:
    """What was collected meanwhile.

    Parameters
    ----------
    jobs : int
        Times that rows were collected; Spark may make several jobs of one.
    bytes_here : int
        Of the rows, as Arrow.
    job_seconds : float
        Wall time.
    """

    jobs: int = 0
    bytes_here: int = 0
    job_seconds: float = 0.0


_CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED")
"""What a cancelled job raises: of a classic session, and of Connect."""

_counted: ContextVar[JobCounts | None] = ContextVar("counted", default=None)


@contextlib.contextmanager
def counting() -> Iterator[JobCounts]:
    """Count what this thread collects meanwhile."""
    mark = _counted.set(JobCounts())
    try:
        found = _counted.get()
        assert found is not None
        yield found
    finally:
        _counted.reset(mark)


def pickled_for_tasks(value: Any) -> bytes:
    """Pickle a value as Spark does for its tasks: a function that no module has is pickled with its code."""
    from pyspark.cloudpickle import dumps

    return dumps(value)


def quoted(name: str) -> str:
    """Write the name of a column so that Spark takes it as it is.

    Examples
    --------
    >>> print(quoted("a.b"), quoted("a`b"))
    `a.b` `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def collect(frame: Any) -> pa.Table:
    """Collect a small Spark DataFrame as Arrow; an interrupted driver stops its tasks.

    Parameters
    ----------
    frame : pyspark DataFrame

    Returns
    -------
    pyarrow.Table
    """
    if frame.isStreaming:
        raise InvalidParameterError(
            "a stream has no rows that can be read at once; pass a frame of some of its rows, as of a table that it "
            "was written to"
        )
    table = _fetched(frame.sparkSession, frame.toArrow)
    counted = _counted.get()
    if counted is not None:
        counted.bytes_here += table.nbytes
    return table


def _fetched(spark: Any, fetch: Callable[[], Any]) -> Any:
    """Call what runs jobs and waits for their rows."""
    begin = time.perf_counter()
    try:
        with without_pandas_warning(), _stopped_by_interrupts(spark, f"dfjoin-{uuid.uuid4().hex}"):
            found = fetch()
        counted = _counted.get()
        if counted is not None:
            counted.jobs += 1
            counted.job_seconds = round(counted.job_seconds + time.perf_counter() - begin, 3)
        return found
    except Exception as error:
        if not any(condition in str(error) for condition in _CANCELLED):
            raise
        if "cancellation of all jobs" in str(error):  # pyspark's own handler of Ctrl-C came first
            raise KeyboardInterrupt from error
        raise EngineError("the jobs were cancelled, by their tag or group; call again") from error


def context_of(spark: Any) -> Any:
    """Return the context of a classic session, None on Connect."""
    try:
        context = spark.sparkContext
    except Exception:  # what Connect raises for that differs between versions
        return None
    if context._jsc is None:
        raise EngineError(
            "the session has ended that the frame or the call is of; start one, as spark_ext.start_session() does, and "
            "make the frame again"
        )
    return context


@contextlib.contextmanager
def _stopped_by_interrupts(spark: Any, tag: str) -> Iterator[None]:
    """Give the jobs of this thread a tag; Ctrl-C cancels those that run, and those that begin later."""
    context = context_of(spark)
    if context is None:
        add, remove, cancel = spark.addTag, spark.removeTag, spark.interruptTag
    else:  # a tag of a session is known to the thread alone that gave it
        add, remove, cancel = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag
    add(tag)
    try:
        with _repeated_at_interrupts(lambda: cancel(tag)):
            yield
    except KeyboardInterrupt:
        cancel(tag)
        raise
    finally:
        remove(tag)


_PAUSE = 0.2
"""Seconds between two cancellations."""


@contextlib.contextmanager
def _repeated_at_interrupts(cancel: Callable[[], Any]) -> Iterator[None]:
    """Cancel jobs again and again from Ctrl-C to the end of what waits for them; the handler of Ctrl-C is called then.

    Called at once, pyspark's handler cancels the jobs that run and raises; pyspark's code waits for the end of the one
    that it collects all the same, for ever if that begins a moment later, or if nobody has come for its rows yet. A
    second Ctrl-C calls it at once.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    noted: list[tuple[int, Any]] = []
    is_over = threading.Event()

    def repeat() -> None:
        with contextlib.suppress(Exception):  # the session has ended, and its jobs with it
            cancel()
            while not is_over.wait(_PAUSE):
                cancel()

    def handle(number: int, frame: Any) -> None:
        noted.append((number, frame))
        if len(noted) > 1:
            before(number, frame)
        threading.Thread(target=repeat, daemon=True).start()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        is_over.set()
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, before)
        if noted:
            before(*noted[0])


def count_rows(frame: Any) -> int:
    """Count the rows of a Spark DataFrame, as `collect` collects them."""
    return int(collect(frame.select(F.count(F.lit(1)).alias("n"))).column("n")[0].as_py())


def has_more_rows(frame: Any, n: int) -> bool:
    """Tell whether a Spark DataFrame has more than n rows.

    Notes
    -----
    Spark may know that it has not, see `most_rows`. Else one job asks for the row after the first n: collected as rows,
    and not as Arrow, it reads further partitions only where the first ones are too short.
    """
    most = most_rows(frame)
    if most is not None and most <= n:
        return False
    after = frame.select(F.lit(1)).offset(n).limit(1)
    return bool(_fetched(frame.sparkSession, after.collect))


_NO_MORE_ROWS = {"Project", "Filter", "Aggregate", "Sort", "Repartition", "RepartitionByExpression"}
"""Steps of a plan that make no more rows than they get."""


def most_rows(frame: Any) -> int | None:
    """Return how many rows a Spark DataFrame has at most, without a job; None where Spark does not know.

    It knows the rows of this process, limits, and what was persisted and read once.
    """
    try:
        plan = frame._jdf.queryExecution().optimizedPlan()
        while not plan.maxRows().isDefined() and plan.nodeName() in _NO_MORE_ROWS:
            plan = plan.children().head()
        is_read = plan.nodeName() == "InMemoryRelation"  # other counts may be old, or estimates
        most = plan.stats().rowCount() if is_read else plan.maxRows()
        return int(str(most.get())) if most.isDefined() else None
    except Exception:  # as in `estimated_bytes`
        return None


def estimated_bytes(frame: Any) -> int | None:
    """Return how many bytes Spark expects the rows of a frame to have, without a job; None where it does not tell.

    It knows the bytes of files and of rows of this process, and takes what it does not know for very many.
    """
    try:
        return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    except Exception:  # Connect has no plan here, and what it raises for that differs between versions
        return None


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Make a pandas frame of collected rows; integers with nulls are nullable.

    Parameters
    ----------
    table : pyarrow.Table
        Arrow has the type TIMESTAMP of Spark in UTC: to have it as the session's clock shows it, collect it by
        `spark_ext.queries.wall_time`.

    Returns
    -------
    DataFrame
    """
    data = {name: arrow_to_series(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    return pd.DataFrame(data, columns=table.column_names)


def to_spark(spark: Any, table: pa.Table) -> Any:
    """Make a Spark DataFrame of an Arrow table; types that Spark does not have become the nearest that it has.

    Parameters
    ----------
    spark : SparkSession
    table : pyarrow.Table

    Returns
    -------
    pyspark DataFrame
        With the rows in their order.
    """
    arrays = [known_to_spark(column) for column in table.columns]
    plain = pa.table(arrays, names=table.column_names)
    # Times without a zone stay so: those of an hour that a change of clocks repeats or leaves out are no instants.
    schema = from_arrow_schema(plain.schema, prefer_timestamp_ntz=True)
    with without_pandas_warning():
        return spark.createDataFrame(plain, schema)


def known_to_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column a type that Spark has: its own, or the nearest one."""
    type_ = _type_in_spark(column.type)
    return column if type_ == column.type else column.cast(type_, safe=False)


def _type_in_spark(type_: pa.DataType) -> pa.DataType:
    """Return the type of Spark, as Arrow has it, that is nearest to a type of Arrow."""
    if pa.types.is_dictionary(type_):
        return _type_in_spark(type_.value_type)
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    if pa.types.is_duration(type_):
        return pa.duration("us")
    if pa.types.is_date64(type_):
        return pa.date32()
    if pa.types.is_unsigned_integer(type_):
        return pa.int64() if type_.bit_width < 64 else pa.decimal128(20, 0)
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_type_in_spark(field.type)) for field in type_])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(type_.value_field.with_type(_type_in_spark(type_.value_type)))
    is_printed = pa.types.is_null(type_) or pa.types.is_time(type_) or pa.types.is_decimal256(type_)
    return pa.string() if is_printed or str(type_) in ("large_string", "string_view") else type_
