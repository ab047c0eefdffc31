"""The engine that runs the tasks of a build in several processes of this machine."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from dfjoin.errors import EngineError
from dfjoin.ingest.requests import execute, head_of
from dfjoin.sources.roots import is_opened_with_credentials

_GRACE = 5.0
"""Seconds in which a worker that is stopped may remove what it was writing."""

_READY = "ready\n"
"""What a worker writes first. What comes before it was printed while Python started."""


class ProcessEngine:
    """Runs tasks in this process and in others; what is read by credentials that were given is read by this one.

    A worker is an interpreter of its own that reads requests from a pipe. It imports nothing of the caller's script,
    so that a script needs no guard, and ends with the pipe when this process is killed.

    Parameters
    ----------
    n_workers : int
        Most processes at the same time, this one included.

    Raises
    ------
    EngineError
        If it is not known which Python a worker is to be started by.
    """

    is_here = False
    is_repeated = False
    n_slots = 1
    """Tables are cut into the tasks of one process, so that the same index comes of any number of them."""

    def __init__(self, n_workers: int) -> None:
        if not sys.executable:
            raise EngineError(
                "`workers` are started by the Python at sys.executable, which is empty here; set it, or leave out "
                "`workers`"
            )
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
        shared = _Requests(requests)
        with _Workers(shared) as workers:
            own = shared.take(is_here=True)
            for _ in range(self._n_workers - 1):
                first = shared.take()
                if first is None:
                    break
                workers.start(*first)
            while own is not None:
                shared.add(own[0], execute(own[1]))
                own = shared.take(is_here=True)
            workers.wait()
        return [shared.results[number] for number in sorted(shared.results)]


class _Requests:
    """Requests that threads take from one list, read once, and their results by number."""

    def __init__(self, requests: Iterable[str]) -> None:
        self._numbered: Iterator[tuple[int, str]] = enumerate(requests)
        self._own: deque[tuple[int, str]] = deque()
        """Those that this process has to carry out, and that a worker came upon."""
        self._lock = threading.Lock()
        self._end = math.inf
        self.results: dict[int, str] = {}

    def take(self, is_here: bool = False) -> tuple[int, str] | None:
        """Return the next request, for this process or for a worker; None after the last one."""
        with self._lock:
            if is_here and self._own and self._own[0][0] < self._end:
                return self._own.popleft()
            if self._end < math.inf:
                return None
            for number, request in self._numbered:
                if is_here or not _is_own(request):
                    return number, request
                self._own.append((number, request))
            return None

    def stop(self, number: int = 0) -> None:
        """Let nobody take another request, but those before a number: the first error is the one that is raised."""
        with self._lock:
            self._end = min(self._end, number)

    def add(self, number: int, result: str) -> None:
        """Take a result; a failed one stops those that follow it."""
        self.results[number] = result
        if {"error", "no_room", "invalid"} & json.loads(result).keys():
            self.stop(number)


def _is_own(request: str) -> bool:
    """Tell whether this process alone can carry out a request.

    It has the credentials that were given, and one moment of a database.
    """
    roots = head_of(request).get("roots", [])
    return any(root["kind"] == "database" or is_opened_with_credentials(root["uri"]) for root in roots)


class _Workers:
    """Processes that carry out requests, and a thread for each that hands them over.

    Parameters
    ----------
    requests : _Requests
        What they take from.
    """

    def __init__(self, requests: _Requests) -> None:
        self._requests = requests
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []
        self._failures: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def __enter__(self) -> _Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(is_stopped=kind is not None)

    def start(self, number: int, request: str) -> None:
        """Start a process; it carries out a request, and then those that it takes."""
        path = [entry for entry in sys.path if isinstance(entry, str)]  # Python imports from no others
        start = (
            f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import sys; sys.path[:] = {path!r}; "
            "from dfjoin.ingest.process_engine import serve; serve()"
        )
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        try:
            with _interrupts_blocked():
                process = subprocess.Popen([sys.executable, "-c", start], encoding="utf-8", errors="replace", **pipes)
                self._processes.append(process)
                thread = threading.Thread(target=self._serve, args=(process, number, request), daemon=True)
                self._threads.append(thread)
                thread.start()  # it leaves Ctrl-C to the main thread
        except OSError as error:
            raise EngineError(
                f"a worker process of the build cannot be started by {sys.executable!r}: {error.strerror}; pass fewer "
                "`workers`, or leave them out"
            ) from error

    def wait(self) -> None:
        """Wait for all results; raises the first failure."""
        for _ in self._threads:
            failure = self._failures.get()
            if failure is not None:
                raise failure

    def _serve(self, process: subprocess.Popen[str], number: int, request: str) -> None:
        failure: BaseException | None = None
        try:
            while _line(process) != _READY:
                pass
            taken: tuple[int, str] | None = (number, request)
            while taken is not None:
                self._requests.add(taken[0], _answer(process, taken[1]))
                taken = self._requests.take()
        except BaseException as error:  # whatever it is, the thread that waits raises it
            self._requests.stop()
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


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let a process that is started here inherit that Ctrl-C waits: Python starts before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a worker writes; raises `EngineError` if it ended."""
    line: str = process.stdout.readline()  # type: ignore[union-attr]
    if line.endswith("\n"):
        return line
    status = process.wait()
    end = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    remedy = (
        "if memory was short, pass fewer `workers` or a smaller settings['task_bytes']"
        if status == -9
        else "standard error has what it wrote; without `workers` this process reads all tables"
    )
    raise EngineError(f"a worker process of the build {end}; {remedy}")


def _answer(process: subprocess.Popen[str], request: str) -> str:
    """Let a worker carry out a request; return its result, or raise what it raised."""
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(request + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    line = _line(process)
    answer = json.loads(line)
    if "raised" in answer:
        raise pickle.loads(base64.b64decode(answer["raised"]))
    result: str = answer["result"]
    return result


def serve() -> None:
    """Carry out requests that come as lines, until there are no more; what `_Workers` starts.

    Ctrl-C in a terminal reaches all processes, and is ignored here: the one that started this one decides. A
    termination lets what was being written be removed.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    lost = contextlib.suppress(BrokenPipeError)  # the one that started this one has ended
    with lost, os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        answers.write("\n" + _READY)  # a line of its own, whatever was printed before
        answers.flush()
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
