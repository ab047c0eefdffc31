"""Showing how far a build is: tables, rows, bytes, time left; on standard error, never in a log, or to a function."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, TypeAlias

Shown: TypeAlias = bool | Callable[[dict[str, Any]], object]
"""Whether progress is shown, or what is given it."""

_SECONDS = 0.5
"""Between two looks at how far the work is."""

_SILENT_SECONDS = 2.0  # work that takes no longer is not worth a line
_KNOWN_SHARE = 0.05  # of the bytes, read at a known rate: before that, the time left is a guess
_COUNTED = {"reading": "progress", "merging": "merging", "embedding": "embedding", "gathering": "gathering"}
"""Stage → what the files of its tasks are called by."""

_THINGS = {"embedding": "values", "gathering": "vectors"}
"""Stage → what is counted in the place of bytes."""
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))


class Progress:
    """A line that follows the work of tasks, wherever they run.

    Parameters
    ----------
    is_shown : bool or callable
        False: count, but write nothing. A function is given `counts` in the place of a line: at the beginning and at
        the end by the thread that works, and twice a second between by another one. What it raises, the thread that
        works raises, at its next count at the latest.
    n_tables, n_bytes : int
        All there is to read; 0 where it is not known. Values to embed are counted in the place of bytes.
    directory : Path, optional
        Where tasks leave their counts as small files, ``progress-*.json`` while they read, ``merging-*.json``
        while they merge, and so on; looked at twice a second. Workers are said to start until the first file is there.
    stream : text stream, optional
        Standard error by default; a terminal gets one line that changes, anything else a line every
        ten seconds.
    stage : str
        What is done: "reading", or work of which only the time is reported, such as "starting Spark".

    Notes
    -----
    Nothing is written in the first two seconds. The time left is that of the stage at hand. It is written when at least
    a twentieth of the bytes was read since the first count came: what happened before that (a session that started,
    kernels that were compiled) says nothing of what follows.
    """

    def __init__(
        self,
        is_shown: Shown,
        n_tables: int,
        n_bytes: int,
        directory: Path | None = None,
        stream: TextIO | None = None,
        stage: str = "reading",
    ) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = bool(is_shown)
        self._report = is_shown if callable(is_shown) else None
        self._n_tables = n_tables
        self._total = n_bytes
        self._directory = directory
        self._counts = [0, 0, 0]
        self._start = self._last = time.monotonic()
        self._first: tuple[float, int] | None = None  # when the first count of the stage came, and its bytes
        self._stage, self._pattern = stage, f"{_COUNTED.get(stage, stage)}-*.json"
        self._has_begun = directory is None
        self._share: float | None = None
        self._since = self._start
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: BaseException | None = None  # what the function raised in the other thread
        self._is_written = False

    def __enter__(self) -> Progress:
        self._report_end()
        if self._is_shown:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        if self._is_written and self._stream.isatty():
            self._stream.write("\r\033[K")
            self._stream.flush()
        if kind is None:
            self._raise_problem()
            self._report_end()

    def add(self, n_rows: int, n_bytes: int) -> None:
        """Count one more table, or one more part of what is merged."""
        self._raise_problem()
        with self._lock:
            self._set([self._counts[0] + 1, self._counts[1] + n_rows, self._counts[2] + n_bytes])
            self._write()

    def begin(self, stage: str, n_bytes: int) -> None:
        """Begin another stage that is counted: `n_bytes` in all."""
        self._raise_problem()
        with self._lock:
            self._stage, self._pattern = stage, f"{_COUNTED[stage]}-*.json"
            self._total, self._counts, self._first = n_bytes, [0, 0, 0], None
            self._write(force=True)

    def tell(self, stage: str, share: float) -> None:
        """Say how much of another stage is done, from 0 to 1."""
        self._raise_problem()
        with self._lock:
            if stage != self._stage or self._share is None:
                self._since = time.monotonic()
            self._stage, self._share = stage, share
            self._write()

    def _set(self, counts: list[int]) -> None:
        """Take new counts; note the first ones of a stage."""
        self._counts = counts
        if self._first is None and counts[2]:
            self._first = (time.monotonic(), counts[2])

    def _report_end(self) -> None:
        """Tell a function where work begins or ends, unless only its time is known: it may be over at once."""
        if self._report is not None and (self._stage in _COUNTED or self._share is not None):
            self._report(self.counts())

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _watch(self) -> None:
        while not self._stopped.wait(_SECONDS):
            with self._lock:
                if self._directory is not None:
                    self._set(self._counts_of_tasks(self._directory))
                self._write()
                counted = self.counts()
            if self._report is not None:  # not while the lock is held: the work would wait for the function
                try:
                    self._report(counted)
                except BaseException as error:  # whatever it is, the thread that works raises it
                    self._problem = error
                    return

    def _counts_of_tasks(self, directory: Path) -> list[int]:
        """Add up what tasks elsewhere have counted."""
        totals = [0, 0, 0]
        for path in directory.glob(self._pattern):
            self._has_begun = True
            try:
                for i, count in enumerate(json.loads(path.read_text())):
                    totals[i] += count
            except (OSError, ValueError):
                continue
        return totals

    def _write(self, force: bool = False) -> None:
        now = time.monotonic()
        if not self._is_shown or self._report is not None or now - self._start < _SILENT_SECONDS:
            return
        is_terminal = self._stream.isatty()
        if not force and now - self._last < (0.2 if is_terminal else 10):
            return
        self._last, self._is_written = now, True
        self._stream.write(f"\r{self.line()}\033[K" if is_terminal else self.line() + "\n")
        self._stream.flush()

    def counts(self) -> dict[str, Any]:
        """Return what a function is given: the stage, what is done of what, and seconds; None where it is not known."""
        tables, rows, n_bytes = self._counts
        now = time.monotonic()
        counted = {"stage": self._stage, "tables": tables, "n_tables": self._n_tables, "rows": rows}
        done = {"done": n_bytes, "n": self._total} if self._stage in _COUNTED else {"done": self._share or 0.0, "n": 1}
        return counted | done | {"seconds": now - self._start, "seconds_left": self._seconds_left(now)}

    def line(self) -> str:
        """Return the line as it stands."""
        tables, rows, n_bytes = self._counts
        now = time.monotonic()
        seconds = f"{now - self._start:.0f} s"
        if self._stage not in _COUNTED:
            if self._share is None:
                return f"dfjoin: {self._stage}, {seconds}"
            seconds_left = (1 - self._share) * (now - self._since) / max(self._share, 1e-9)
            rest = f", about {seconds_left:.0f} s left" if self._share >= _KNOWN_SHARE else ""
            return f"dfjoin: {self._stage} {self._share:.0%}, {seconds}{rest}"
        if self._stage == "reading" and not self._has_begun:
            return f"dfjoin: starting workers, {_of(tables, self._n_tables)} tables, {seconds}"
        parts = []
        if self._stage == "reading":
            parts += [f"{_of(tables, self._n_tables)} tables", f"{rows:,} rows"]
        if self._stage in _THINGS:
            parts.append(f"{_of(n_bytes, self._total)} {_THINGS[self._stage]}")
        elif self._total or n_bytes:
            parts.append(_bytes(n_bytes, self._total))
        parts.append(seconds)
        left = self._seconds_left(now)
        if left is not None:
            parts.append(f"about {left:.0f} s left")
        return f"dfjoin: {self._stage} {', '.join(parts)}"

    def _seconds_left(self, now: float) -> float | None:
        """Return the time that the rest of the stage takes at the rate so far; None where that is not known."""
        if self._first is None or not self._total:
            return None
        since, before = self._first
        n_read = self._counts[2] - before
        if now <= since or n_read < _KNOWN_SHARE * self._total or self._counts[2] >= self._total:
            return None
        return (self._total - self._counts[2]) * (now - since) / n_read


def _of(count: int, total: int) -> str:
    return f"{count:,}/{total:,}" if total else f"{count:,}"


def _bytes(count: int, total: int) -> str:
    """Write bytes in the largest unit of which there is one, both in the same."""
    name, unit = next(((name, unit) for name, unit in _UNITS if max(count, total) >= unit), _UNITS[-1])
    numbers = [f"{n / unit:,.1f}".removesuffix(".0") for n in ((count, total) if total else (count,))]
    return f"{'/'.join(numbers)} {name}"
