"""Where the tasks of a build run: in this process, or on Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.ingest.requests import execute
from dfjoin.ingest.source import Input, SparkReader
from dfjoin.types import IndexSettings, Root, TableSource

__all__ = ["Engine", "InlineEngine", "LateEngine", "choose_engine", "engine_for"]

_INLINE_BYTES = 64 << 20


class Engine(Protocol):
    """What runs tasks."""

    n_slots: int
    """Tasks that run at the same time."""

    is_here: bool
    """Tasks run in this process, and can tell their progress by a call."""

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests, return their results in any order; `work` is a scratch directory."""
        ...  # pragma: no cover

    def spark_reader(self, index: Path, settings: IndexSettings) -> SparkReader | None:
        """Return what reads Spark tables, None where there is no Spark."""
        ...  # pragma: no cover


class LateEngine:
    """The engine that arguments ask for, started when there is work for it: a wrong argument is found before.

    Parameters
    ----------
    name : {"spark", "inline", None}
        None: by the size of the input.
    spark : SparkSession, optional
        The session to use; it asks for Spark where `name` is None.

    Raises
    ------
    InvalidParameterError
        If a session is given to the inline engine.
    InvalidTypeError
        If `spark` is no session.
    """

    def __init__(self, name: str | None, spark: Any) -> None:
        _check_session(name, spark)
        self._name, self._spark = name, spark
        self._engine: Engine | None = None

    def spark_reader(self, index: Path, settings: IndexSettings) -> SparkReader | None:
        """Return what reads Spark tables, None where Spark was not asked for."""
        if self._name == "inline" or (self._name is None and self._spark is None):
            return None

        def read(tables: dict[str, Any], root: Root) -> Input:
            names = [table for table in tables.values() if isinstance(table, str)]
            if names and self._spark is None and not _is_session_there():
                raise InvalidParameterError(
                    f"`source` {names[0]!r} is no path that exists here, and there is no Spark session that could "
                    "know a table of that name; check the spelling, or pass the session as `spark=`"
                )
            reader = self.start([]).spark_reader(index, settings)
            assert reader is not None  # only the inline engine has none
            return reader(tables, root)

        return read

    def start(self, tables: Iterable[TableSource]) -> Engine:
        """Return the engine that suits some tables, the same one every time."""
        if self._engine is None:
            self._engine = choose_engine(self._name, self._spark) or engine_for(tables)
        return self._engine


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


def _is_session_there() -> bool:
    """Tell whether a Spark session is active or a server is named: a new local session has no tables."""
    sql = sys.modules.get("pyspark.sql")
    return "SPARK_REMOTE" in os.environ or (sql is not None and sql.SparkSession.getActiveSession() is not None)


class InlineEngine:
    """Runs tasks one after the other in this process."""

    n_slots = 1
    is_here = True

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests in order."""
        return [execute(request, on_table) for request in requests]

    def spark_reader(self, index: Path, settings: IndexSettings) -> None:
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


def engine_for(tables: Iterable[TableSource]) -> Engine:
    """Return the engine that suits some tables: this process below 64 MiB, Spark above."""
    small = sum(estimated_bytes(table) for table in tables) < _INLINE_BYTES
    return InlineEngine() if small else _spark_engine(None)


def _spark_engine(spark: Any) -> Engine:
    from spark_ext.build import SparkEngine

    return SparkEngine(spark)
