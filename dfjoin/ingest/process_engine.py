"""The engine that runs the tasks of a build in several processes of this machine."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any

from dfjoin.errors import EngineError
from dfjoin.ingest.requests import execute, head_of

__all__ = ["ProcessEngine", "serve"]

_GRACE = 5.0
"""Seconds in which a worker that is stopped may remove what it was writing."""


class ProcessEngine:
    """Runs tasks in this process and in others that are started for them; databases are read by this one.

    A worker is an interpreter of its own that reads requests from a pipe. It imports nothing of the caller's script,
    so that a script needs no guard, and ends with the pipe when this process is killed.

    Parameters
    ----------
    n_workers : int
        Most processes at the same time, this one included.
    """

    is_here = False
    n_slots = 1
    """Tables are cut into the tasks of one process, so that the same index comes of any number of them."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    def spark_reader(self, settings: Any) -> None:
        """Return None: there is no Spark here."""
        return

    def run(self, requests: Iterable[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests; return their results in order. After one that failed none is begun.

        Raises
        ------
        EngineError
            If a worker was killed.
        """
        waiting = iter(requests)
        first = list(islice(waiting, 2))
        if len(first) < 2:  # a worker would need longer to start than this process to go on
            return [execute(request) for request in first]
        shared = _Requests(chain(first, waiting))
        with _Workers(self._n_workers - 1) as workers:
            workers.carry_out(shared)
            while (taken := shared.take(is_here=True)) is not None:
                shared.add(taken[0], execute(taken[1]))
            workers.wait()
        return [shared.results[number] for number in sorted(shared.results)]


class _Requests:
    """Requests that threads take from one list, read once, and their results by number."""

    def __init__(self, requests: Iterable[str]) -> None:
        self._numbered: Iterator[tuple[int, str]] = enumerate(requests)
        self._of_databases: list[tuple[int, str]] = []
        self._lock = threading.Lock()
        self._is_stopped = False
        self.results: dict[int, str] = {}

    def take(self, is_here: bool = False) -> tuple[int, str] | None:
        """Return the next request, for this process or for a worker; None after the last one."""
        with self._lock:
            if self._is_stopped:
                return None
            if is_here and self._of_databases:
                return self._of_databases.pop()
            for number, request in self._numbered:
                if is_here or not _is_of_database(request):
                    return number, request
                self._of_databases.append((number, request))
            return None

    def stop(self) -> None:
        """Let nobody take another request."""
        self._is_stopped = True

    def add(self, number: int, result: str) -> None:
        """Take a result; a failed one stops the others."""
        self.results[number] = result
        if {"error", "no_room", "invalid"} & json.loads(result).keys():
            self.stop()


def _is_of_database(request: str) -> bool:
    """Tell whether a request reads a database: this process has its credentials, and one moment of it."""
    return any(root["kind"] == "database" for root in head_of(request).get("roots", []))


class _Workers:
    """Processes that carry out requests, and a thread for each that hands them over.

    Parameters
    ----------
    n : int
        How many.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []
        self._failures: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def __enter__(self) -> _Workers:
        start = f"import sys; sys.path[:] = {sys.path!r}; from dfjoin.ingest.process_engine import serve; serve()"
        try:
            for _ in range(self._n):
                pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
                self._processes.append(subprocess.Popen([sys.executable, "-c", start], encoding="utf-8", **pipes))
        except OSError:
            self._end(is_stopped=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(is_stopped=kind is not None)

    def carry_out(self, requests: _Requests) -> None:
        """Begin to hand over requests."""
        for process in self._processes:
            thread = threading.Thread(target=self._serve, args=(process, requests), daemon=True)
            self._threads.append(thread)
            thread.start()

    def wait(self) -> None:
        """Wait for all results; raises the first failure."""
        for _ in self._threads:
            failure = self._failures.get()
            if failure is not None:
                raise failure

    def _serve(self, process: subprocess.Popen[str], requests: _Requests) -> None:
        failure: BaseException | None = None
        try:
            for number, request in iter(requests.take, None):
                requests.add(number, _answer(process, request))
        except BaseException as error:  # whatever it is, the thread that waits raises it
            requests.stop()
            failure = error
        self._failures.put(failure)

    def _end(self, is_stopped: bool) -> None:
        for process in self._processes:
            if is_stopped:
                process.terminate()
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process in self._processes:
            try:
                process.wait(_GRACE if is_stopped else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            process.stdout.close()  # type: ignore[union-attr]


def _answer(process: subprocess.Popen[str], request: str) -> str:
    """Let a worker carry out a request; return its result, or raise what it raised."""
    line = ""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        line = process.stdout.readline()  # type: ignore[union-attr]
    if not line.endswith("\n"):
        status = process.wait()
        end = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        raise EngineError(
            f"a worker process of the build {end}; if memory was short, pass fewer `workers` or a smaller "
            "settings['task_bytes']"
        )
    answer = json.loads(line)
    if "raised" in answer:
        raise pickle.loads(base64.b64decode(answer["raised"]))
    result: str = answer["result"]
    return result


def serve() -> None:
    """Carry out requests that come as lines, until there are no more; what `_Workers` starts.

    Ctrl-C in a terminal reaches all processes: the one that started this one decides. A termination lets what was
    being written be removed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        for line in sys.stdin.buffer:
            answers.write(json.dumps(_carried_out(line.decode())) + "\n")
            answers.flush()


def _carried_out(request: str) -> dict[str, str]:
    try:
        return {"result": execute(request)}
    except Exception as error:
        try:
            raised = pickle.dumps(error)
            pickle.loads(raised)
        except Exception:  # an error of a library that cannot be sent
            raised = pickle.dumps(EngineError(f"a worker process of the build failed: {type(error).__name__}: {error}"))
        return {"raised": base64.b64encode(raised).decode()}
