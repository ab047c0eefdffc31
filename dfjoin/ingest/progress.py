"""Showing how far a build is: tables, rows, bytes, time left; on standard error, never in a log."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """A line that follows the work of tasks, wherever they run.

    Parameters
    ----------
    is_shown : bool
        False: count, but write nothing.
    n_tables, n_bytes : int
        All the work there is.
    directory : Path, optional
        Where tasks leave their counts as small files; looked at twice a second.
    stream : text stream, optional
        Standard error by default; a terminal gets one line that changes, anything else a line every
        ten seconds.
    """

    def __init__(
        self,
        is_shown: bool,
        n_tables: int,
        n_bytes: int,
        directory: Path | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = is_shown
        self._totals = (n_tables, max(1, n_bytes))
        self._directory = directory
        self._counts = [0, 0, 0]
        self._start = self._last = time.monotonic()
        self._stage = "reading"
        self._is_final = False
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if self._is_shown and self._directory is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        if self._is_shown and self._stream.isatty():
            self._stream.write("\r\033[K")
            self._stream.flush()

    def add(self, n_rows: int, n_bytes: int) -> None:
        """Count one more table."""
        self._counts[0] += 1
        self._counts[1] += n_rows
        self._counts[2] += n_bytes
        self._write()

    def stage(self, name: str, n_tables: int, n_rows: int, n_bytes: int) -> None:
        """Name what is being done now, and what has been read when it begins."""
        self._is_final = True
        self._stage, self._counts = name, [n_tables, n_rows, n_bytes]
        self._write(force=True)

    def _watch(self) -> None:
        while not self._stopped.wait(0.5):
            totals = [0, 0, 0]
            for path in self._directory.glob("progress-*.json"):  # type: ignore[union-attr]
                try:
                    for i, count in enumerate(json.loads(path.read_text())):
                        totals[i] += count
                except (OSError, ValueError):
                    continue
            if not self._is_final:
                self._counts = totals
            self._write()

    def _write(self, force: bool = False) -> None:
        now = time.monotonic()
        is_terminal = self._is_shown and self._stream.isatty()
        if not self._is_shown or (not force and now - self._last < (0.2 if is_terminal else 10)):
            return
        self._last = now
        self._stream.write(f"\r{self.line()}\033[K" if is_terminal else self.line() + "\n")
        self._stream.flush()

    def line(self) -> str:
        """Return the line as it stands."""
        tables, rows, n_bytes = self._counts
        share = min(1.0, n_bytes / self._totals[1])
        elapsed = time.monotonic() - self._start
        left = f", {elapsed / share - elapsed:.0f} s left" if 0.02 < share < 1 else ""
        return (
            f"dfjoin: {self._stage} {tables:,}/{self._totals[0]:,} tables, {rows:,} rows, "
            f"{n_bytes / 1e6:,.0f}/{self._totals[1] / 1e6:,.0f} MB, {elapsed:.0f} s{left}"
        )
