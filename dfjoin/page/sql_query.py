"""A query of a person over the current table, in a process with a DuckDB that can reach nothing else."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError
from dfjoin.page.limited_process import LimitedProcess
from dfjoin.page.page_texts import refusal

TABLE = "t"
"""Name of the current table in a query."""

_MOST_CHARACTERS = 100_000
"""Of a query, which is kept with each state behind it."""

_AT_ONCE = threading.BoundedSemaphore(2)
"""Queries that run at once, each with the memory of its limits; others wait."""


class SqlLimits:
    """Limits of a query.

    Parameters
    ----------
    seconds : float
        After that its process is ended.
    memory : int
        Bytes that DuckDB may use, and that the result may have. Where the system limits memory (Linux), the process
        has no more than twice that.
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
        As `typed_frame` makes it.

    Raises
    ------
    InvalidParameterError
        If the query is not one SELECT, DuckDB refuses it, or it exceeds a limit; with the words of DuckDB.
    """
    limits = limits or SqlLimits()
    import_optional("duckdb", extra="page", purpose="a step of SQL")
    if len(query) > _MOST_CHARACTERS:
        raise InvalidParameterError(refusal("sql_long", _MOST_CHARACTERS, len(query)))
    while not _AT_ONCE.acquire(timeout=0.1):
        _refuse_left(limits)
    try:
        with tempfile.TemporaryDirectory(prefix="dfjoin-sql-") as name:
            directory = Path(name)
            _write_request(directory, df, query, limits)
            _run_process(directory, limits)
            problem = (directory / "problem").read_text("utf-8")
            if problem:
                raise InvalidParameterError(problem)
            with pa.OSFile(str(directory / "result.arrow")) as file:
                table = pa.ipc.open_file(file).read_all()
                pq.write_table(table.schema.empty_table(), pa.BufferOutputStream())  # as results are kept
                return typed_frame(table)
    except (OSError, pa.ArrowException) as error:
        raise InvalidParameterError(refusal("sql_result", error)) from error
    finally:
        _AT_ONCE.release()


def _write_request(directory: Path, df: pd.DataFrame, query: str, limits: SqlLimits) -> None:
    request = {
        "query": query,
        "name": TABLE,
        "config": limits.config(),
        "memory": limits.memory,
        "seconds": limits.seconds,
        "refusals": {
            "sql_select": refusal("sql_select", TABLE),
            "sql_large": refusal("sql_large", limits.memory >> 20),
        },
    }
    (directory / "request.json").write_text(json.dumps(request), "ascii")
    table = pa.Table.from_pandas(df, preserve_index=False)
    with pa.ipc.new_file(str(directory / "table.arrow"), table.schema) as writer:
        writer.write_table(table)


def _run_process(directory: Path, limits: SqlLimits) -> None:
    """Wait for the process of a query, which is ended when its time is over or the person has left."""
    process = LimitedProcess("sql_process.py")
    try:
        stopped = process.run(directory, limits.seconds, limits.is_left)
    finally:
        process.end()
    if stopped == "time":
        raise InvalidParameterError(refusal("sql_time", limits.seconds))
    if stopped == "ended":  # by the system, since it got no more memory
        raise InvalidParameterError(refusal("sql_memory", limits.memory >> 20))
    _refuse_left(limits)


def _refuse_left(limits: SqlLimits) -> None:
    if limits.is_left():
        raise InvalidParameterError(refusal("sql_cancelled"))


def typed_frame(table: pa.Table) -> pd.DataFrame:
    """Make a frame of a table of Arrow: whole numbers stay exact beside missing cells, decimals become numbers."""
    columns = []
    for column in table.columns:
        if pa.types.is_decimal(column.type):
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid:  # digits behind the point, or too many before it
                column = column.cast(pa.float64())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.timestamp("ms"))
        columns.append(column)
    whole = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    dtypes = {pa.type_for_alias(name.lower()): pd.array([], name).dtype for name in whole}
    dtypes[pa.bool_()] = pd.BooleanDtype()
    return pa.table(columns, table.column_names).to_pandas(types_mapper=dtypes.get)
