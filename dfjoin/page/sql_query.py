"""A query of a person over the current table, in a DuckDB that can reach nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pandas as pd
import pyarrow as pa

from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError

__all__ = ["TABLE", "SqlLimits", "run_query"]

TABLE = "t"
"""Name of the current table in a query."""

_BATCH = 100_000


class SqlLimits:
    """Limits of a query.

    Parameters
    ----------
    seconds : float
        After that it is interrupted.
    memory : int
        Bytes that DuckDB may use, and that the result may have.
    is_left : callable
        Tells whether the person has left; asked ten times a second.
    """

    def __init__(self, seconds: float = 30.0, memory: int = 1 << 30, is_left: Callable[[], bool] | None = None) -> None:
        self.seconds = seconds
        self.memory = memory
        self.is_left = is_left or (lambda: False)

    def config(self) -> dict[str, str]:
        """Return the settings of a connection: no files, no network, no extensions, none of Python's variables."""
        return {
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "temp_directory": "",
            "memory_limit": f"{self.memory >> 20}MB",
            "threads": "2",
            "lock_configuration": "true",
        }


def run_query(df: pd.DataFrame, query: str, limits: SqlLimits | None = None) -> pd.DataFrame:
    """Run one SELECT over a frame, which the query calls ``t``.

    Parameters
    ----------
    df : DataFrame
    query : str
        One statement of DuckDB's SQL that returns rows.
    limits : SqlLimits, optional

    Returns
    -------
    DataFrame

    Raises
    ------
    InvalidParameterError
        If the query is not one SELECT, DuckDB refuses it, or it exceeds a limit; with the words of DuckDB.
    """
    limits = limits or SqlLimits()
    duckdb = import_optional("duckdb", extra="page", purpose="a step of SQL")
    connection = duckdb.connect(config=limits.config())
    ended, reason = threading.Event(), []

    def watch() -> None:
        for _ in range(max(1, int(limits.seconds * 10))):
            if ended.wait(0.1):
                return
            if limits.is_left():
                reason.append("it was cancelled")
                break
        else:
            reason.append(f"it took more than {limits.seconds:g} seconds")
        while not ended.wait(0.05):  # once more, where nothing ran in that moment
            connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InvalidParameterError("`query` must be one SELECT over the table t; write a single statement")
        connection.register(TABLE, pa.Table.from_pandas(df, preserve_index=False))
        watcher.start()
        return _collect(connection, query, limits.memory)
    except duckdb.Error as error:
        text = f"the query was stopped: {reason[0]}" if reason else str(error)
        raise InvalidParameterError(text) from error
    finally:
        ended.set()
        if watcher.ident is not None:
            watcher.join()
        connection.close()


def _collect(connection: object, query: str, most_bytes: int) -> pd.DataFrame:
    """Fetch the result in batches, as long as it is below the limit."""
    result = connection.sql(query)  # type: ignore[attr-defined]
    open_reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
    batches, n_bytes = [], 0
    reader = open_reader(_BATCH)
    for batch in reader:
        n_bytes += batch.nbytes
        if n_bytes > most_bytes:
            raise InvalidParameterError(
                f"the query was stopped: its result has more than {most_bytes >> 20:,} MB; add a LIMIT or a condition"
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema).to_pandas()
