"""The process that reads the files of people, one after the other: its memory is limited by the system.

Run as ``python -P read_process.py`` by `dfjoin.page.given_table`.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfjoin.errors import DfjoinError, collected_warnings
from dfjoin.page.given_table import read_here
from dfjoin.page.sql_process import limit_memory
from dfjoin.page.state_files import stored_table


def _main() -> None:
    """Answer the requests in the directories that the lines of the standard input name."""
    for line in sys.stdin:
        directory = Path(line.rstrip("\n"))
        tempfile.tempdir = str(directory)  # what a reading leaves that is ended is removed with its request
        request = json.loads((directory / "request.json").read_text("ascii"))
        if hasattr(signal, "alarm"):  # it ends by itself, too, where what has started it is gone
            signal.alarm(int(request["seconds"]) + 5)
        limit_memory(request["memory"])
        (directory / "answer.json").write_text(json.dumps(_answer(directory, request)), "ascii")
        (directory / "done").touch()
        if hasattr(signal, "alarm"):
            signal.alarm(0)


def _answer(directory: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Read a table into ``frame.arrow``; return what else is known of it, or why it cannot be read."""
    try:
        with collected_warnings() as messages:
            given = read_here(Path(request["path"]), request["options"], request["table"], request["unpacked"])
            table = stored_table(given.pop("frame"))
    except DfjoinError as error:
        return {"problem": str(error)}
    with pa.ipc.new_file(str(directory / "frame.arrow"), table.schema) as writer:
        writer.write_table(table)
    return {"warnings": messages, "given": given}


if __name__ == "__main__":
    _main()
