"""Where the tasks of a build run: in this process, in several of this machine, or on Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from dfjoin.errors import InvalidParameterError, InvalidTypeError, TableReadError
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.ingest.process_engine import ProcessEngine
from dfjoin.ingest.progress import Progress, Shown
from dfjoin.ingest.requests import execute
from dfjoin.ingest.source import Input, SparkReader
from dfjoin.types import IndexSettings, Root, TableSource

INLINE_BYTES = 256 << 20
"""Input above which Spark is worth its start, as estimated bytes of plain text."""


class Engine(Protocol):
    """What runs tasks."""

    n_slots: int
    """Tasks that run at the same time."""

    is_here: bool
    """Tasks run in this process, and can tell their progress by a call."""

    is_repeated: bool
    """A request whose worker is lost is carried out again by another one."""

    def run(self, requests: Iterable[str], work: Path, on_table: Callable[[int, int], None]) -> Iterable[str]:
        """Carry out requests, read once, and return their results in any order; `work` is a scratch directory."""
        ...  # pragma: no cover

    def spark_reader(self, settings: IndexSettings) -> SparkReader | None:
        """Return what reads Spark tables, None where there is no Spark."""
        ...  # pragma: no cover


class LateEngine:
    """The engine that arguments ask for, started when there is work for it: a wrong argument is found before.

    Parameters
    ----------
    name : {"spark", "inline", None}
        None: see `engine_for`.
    spark : SparkSession, optional
        The session to use; it asks for Spark where `name` is None.
    is_shown : bool
        Whether the start of Spark is shown, as it takes some seconds.
    inline_below : int
        Estimated bytes of input below which an active session is not used, if it is not asked for.
    workers : int
        Processes of this machine that read tables.

    Raises
    ------
    InvalidParameterError
        If a session is given to the inline engine.
    InvalidTypeError
        If `spark` is no session.
    """

    def __init__(
        self, name: str | None, spark: Any, is_shown: Shown = False, inline_below: int = 0, workers: int = 1
    ) -> None:
        _check_session(name, spark)
        self._name, self._spark = name, spark
        self._is_shown, self._inline_below, self._workers = is_shown, inline_below, workers
        self._engine: Engine | None = None

    def spark_reader(self, settings: IndexSettings) -> SparkReader | None:
        """Return what reads Spark tables, None where Spark is not to be used."""
        if self._name == "inline":
            return None

        def read(tables: dict[str, Any], root: Root) -> Input:
            names = [table for table in tables.values() if isinstance(table, str)]
            if self._spark is None:  # that of the first frame knows the others
                frames = (table for table in tables.values() if not isinstance(table, str))
                self._spark = next((frame.sparkSession for frame in frames), None)
            if names and self._spark is None and not is_session_there():
                raise InvalidParameterError(
                    f"`source` {names[0]!r} is no path that exists here, and there is no Spark session that could "
                    "know a table of that name; check the spelling. A table of Spark is built in Python, by "
                    "spark_ext.build_index(spark, tables=[...], index=...)"
                )
            reader = self._start_spark().spark_reader(settings)
            assert reader is not None  # only the inline engine has none
            return reader(tables, root)

        return read

    def start(self, tables: Iterable[TableSource]) -> Engine:
        """Return the engine that suits some tables, the same one every time."""
        if self._engine is None:
            with Progress(self._is_shown, 0, 0, stage="starting Spark"):
                self._engine = choose_engine(self._name, self._spark) or engine_for(tables, self._inline_below)
        return self._engine

    def start_readers(self, tables: Iterable[TableSource]) -> Engine:
        """Return the engine that reads tables: that of `start`, or processes of this machine if they are asked for."""
        return ProcessEngine(self._workers) if self._workers > 1 else self.start(tables)

    def _start_spark(self) -> Engine:
        """Return the engine of Spark, which the tables ask for."""
        self._name = "spark"
        return self.start([])


def _check_session(name: str | None, spark: Any) -> None:
    """Check that the arguments `engine` and `spark` go together."""
    if spark is None:
        return
    if name == "inline":
        raise InvalidParameterError('`spark` belongs to engine="spark", but the engine is "inline"')
    if not (callable(getattr(spark, "range", None)) and hasattr(spark, "catalog")):
        raise InvalidTypeError(
            f"`spark` must be a SparkSession, got {type(spark).__name__}; leave it out for a local session"
        )


def is_session_there() -> bool:
    """Tell whether a Spark session is active or a server is named: a new local session has no tables."""
    sql = sys.modules.get("pyspark.sql")
    return "SPARK_REMOTE" in os.environ or (sql is not None and sql.SparkSession.getActiveSession() is not None)


class InlineEngine:
    """Runs tasks one after the other in this process."""

    n_slots = 1
    is_here = True
    is_repeated = False

    def run(self, requests: Iterable[str], work: Path, on_table: Callable[[int, int], None]) -> Iterator[str]:
        """Carry out requests in order, each when its result is asked for."""
        return (execute(request, on_table) for request in requests)

    def spark_reader(self, settings: IndexSettings) -> None:
        """Return None: there is no Spark here."""
        return


def choose_engine(name: str | None, spark: Any) -> Engine | None:
    """Return the engine that the arguments `engine` and `spark` ask for.

    Parameters
    ----------
    name : {"spark", "inline", None}
    spark : SparkSession, optional
        The session to use; it asks for Spark where `name` is None.

    Returns
    -------
    Engine or None
        None when neither says anything, see `engine_for`.

    Raises
    ------
    InvalidParameterError
        If a session is given to the inline engine.
    InvalidTypeError
        If `spark` is no session.
    """
    _check_session(name, spark)
    if name == "inline":
        return InlineEngine()
    return None if name is None and spark is None else _spark_engine(spark)


def engine_for(tables: Iterable[TableSource], inline_below: int = 0) -> Engine:
    """Return the engine that suits some tables, where the arguments name none.

    Parameters
    ----------
    tables : iterable of TableSource
    inline_below : int
        Estimated bytes of input below which it is this process in any case.

    Returns
    -------
    Engine
        Spark if a session is active, or if the tables are above `INLINE_BYTES` and pyspark and Java are there; else
        this process.
    """
    n_bytes = sum(estimated_bytes(table) for table in tables)
    if n_bytes < inline_below:
        return InlineEngine()
    if is_session_there() or (n_bytes > INLINE_BYTES and _can_start_spark()):
        return _spark_engine(None)
    return InlineEngine()


def _can_start_spark() -> bool:
    """Tell whether a session can be started here: pyspark is installed, and there is a Java."""
    from spark_ext.session import is_startable

    return is_startable()


class SparkTable(Protocol):
    """A table that a session knows by name."""

    column_names: list[str]

    def version(self) -> str:
        """Return what tells this content of the table from another one."""
        ...  # pragma: no cover

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, partition by partition; raises `TableReadError` if that fails."""
        ...  # pragma: no cover


def session_table(name: str, path: str) -> SparkTable:
    """Return a table of the active Spark session.

    Parameters
    ----------
    name : str
        Name in the lake.
    path : str
        Full name that the session knows it by; empty for a DataFrame, which is looked for by its name in the lake.

    Raises
    ------
    TableReadError
        If there is no active session, or none that has the table.
    """
    known = path or name
    if not is_session_there():
        raise TableReadError(
            f"it is a Spark table, `{known}`, and no Spark session is active; start one that knows it, "
            "SparkSession.builder.getOrCreate()"
        )
    from spark_ext.session import start_session
    from spark_ext.tables import SessionTable

    try:
        return SessionTable(start_session(), name, known)
    except InvalidParameterError as error:
        remedy = "" if path else f"; it was given as a DataFrame: df.createOrReplaceTempView({name!r}) makes it known"
        raise TableReadError(f"the Spark session has no table `{known}`{remedy}") from error


def pickled(value: Any) -> bytes:
    """Pickle a value for tasks of Spark; functions that were written at a prompt, too."""
    from spark_ext.transfer import pickled_for_tasks

    return pickled_for_tasks(value)


def _spark_engine(spark: Any) -> Engine:
    from spark_ext.build import SparkEngine

    return SparkEngine(spark)
