"""Where the tasks of a build run: in this process, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from dfjoin.errors import InvalidParameterError
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.ingest.requests import execute
from dfjoin.ingest.source import SparkReader
from dfjoin.types import IndexSettings, TableSource

__all__ = ["Engine", "InlineEngine", "choose_engine", "engine_for"]

_INLINE_BYTES = 64 << 20


class Engine(Protocol):
    """What runs tasks."""

    n_slots: int
    """Tasks that run at the same time."""

    is_here: bool
    """Tasks run in this process, and can tell their progress by a call."""

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> Iterable[str]:
        """Carry out requests, return their results in any order; `work` is a scratch directory."""
        ...  # pragma: no cover

    def spark_reader(self, index: Path, settings: IndexSettings) -> SparkReader | None:
        """Return what reads Spark tables, None where there is no Spark."""
        ...  # pragma: no cover


class InlineEngine:
    """Runs tasks one after the other in this process."""

    n_slots = 1
    is_here = True

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> Iterator[str]:
        """Carry out requests in order, each when its result is asked for."""
        return (execute(request, on_table) for request in requests)

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
    """
    if name == "inline" and spark is not None:
        raise InvalidParameterError('`spark` belongs to engine="spark", but the engine is "inline"')
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
