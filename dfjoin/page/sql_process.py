"""The process that runs one query of a person: its memory is limited by the system, and it can be ended at any time.

Run as ``python -P sql_process.py`` by `dfjoin.page.sql_query`; it imports DuckDB and Arrow alone, so that it starts
quickly.
"""

from __future__ import annotations

import json
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

duckdb = import_module("duckdb")  # which is there: what starts this process has looked

_ROWS_AT_ONCE = 2048


def _main(directory: Path) -> None:
    """Run ``request.json`` over ``table.arrow``; write ``result.arrow``, or why there is none into ``problem``."""
    request = json.loads((directory / "request.json").read_text("ascii"))
    if hasattr(signal, "alarm"):  # it ends by itself, too, where what has started it is gone
        signal.alarm(int(request["seconds"]) + 5)
    try:
        with pa.memory_map(str(directory / "table.arrow")) as file:
            table = pa.ipc.open_file(file).read_all()
            with duckdb.connect(config=request["config"]) as connection:
                connection.register(request["name"], table)
                limit_memory(2 * request["memory"])  # DuckDB does not count the texts that it makes
                problem = _write_result(connection, request, directory / "result.arrow")
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        problem = str(error)
    (directory / "problem").write_text(problem, "utf-8", "backslashreplace")
    (directory / "done").touch()


def _write_result(connection: Any, request: dict[str, Any], path: Path) -> str:
    """Write the rows of the query; return why it was refused, an empty text if it was not."""
    statements = connection.extract_statements(request["query"])
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return str(request["refusals"]["sql_select"])
    result = connection.sql(request["query"])
    reader = (getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader)(_ROWS_AT_ONCE)
    n_bytes = 0
    with pa.ipc.new_file(str(path), reader.schema) as writer:
        for batch in reader:
            n_bytes += batch.nbytes
            if n_bytes > request["memory"]:
                return str(request["refusals"]["sql_large"])
            writer.write_batch(batch)
    return ""


def limit_memory(n_bytes: int) -> None:
    """Limit what this process may take beyond what it has, where the system has such limits (Linux)."""
    try:
        import resource

        n_pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (ImportError, OSError):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = n_pages * resource.getpagesize() + n_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    _main(Path(sys.stdin.readline().rstrip("\n")))
