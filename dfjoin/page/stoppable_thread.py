"""A thread that can be ended, as an interrupt ends a cell of a notebook, and a build in one."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from dfjoin.page.page_texts import TEXTS

_GRACE = 1.0
"""Seconds in which work ends by itself, as a query and a download do."""

_AGAIN = 5.0
"""Seconds until work is stopped again: a destructor swallows what is raised in it."""


class Stopped(BaseException):
    """Raised where the thread is; no ``except Exception`` takes it for an error of the work."""


class StoppableThread:
    """A thread that does some work and can be ended. It does not outlive the process.

    Parameters
    ----------
    work : callable

    Notes
    -----
    `stop` raises `Stopped` between two instructions of Python. A call into a compiled library returns first; those of
    dfjoin work on blocks.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="dfjoin-page", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, at_once: bool = False) -> None:
        """End the work, if it has not ended by itself within a second, or at once; does not wait for that."""
        threading.Thread(target=self._end, args=(0.0 if at_once else _GRACE,), daemon=True).start()

    def _run(self) -> None:
        try:
            try:
                self._work()
            finally:
                with self._lock:  # nothing is raised in what follows
                    self._ended.set()
        except Stopped:
            pass

    def _end(self, wait: float) -> None:
        while not self._ended.wait(wait) and self._thread.is_alive():
            wait = _AGAIN
            with self._lock:
                if not self._ended.is_set() and self._thread.ident is not None:
                    number = ctypes.c_ulong(self._thread.ident)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(Stopped))


class BuildProgress:
    """A build in a thread of its own, which can be cancelled and begun again.

    Parameters
    ----------
    source : str
        What is indexed, for people.
    build : callable
        Is given what tells the progress, as `dfjoin.build_lake` takes it; returns what the page works with.
    done : callable
        Is given it.
    """

    def __init__(self, source: str, build: Callable[[Callable[[Any], None]], Any], done: Callable[[Any], None]) -> None:
        self.source = source
        self.problem = ""
        self.latest: dict[str, Any] = {}
        self._build, self._done = build, done
        self._thread: StoppableThread | None = None
        self._is_cancelled = False

    def start(self) -> None:
        """Begin, unless it is running."""
        if self._thread is None or self.problem:
            self.problem, self.latest, self._is_cancelled = "", {}, False
            self._thread = StoppableThread(self._run)
            self._thread.start()

    def cancel(self) -> None:
        """End the build soon; what was there before stays."""
        if self._thread is not None and not self._is_cancelled:
            self._is_cancelled = True
            self._thread.stop(at_once=True)

    @property
    def share(self) -> float | None:
        """How much of the stage is done, from 0 to 1; None where that is not known."""
        return self.latest["done"] / self.latest["n"] if self.latest.get("n") else None

    def _note(self, latest: dict[str, Any]) -> None:
        self.latest = latest

    def _run(self) -> None:
        try:
            self._done(self._build(self._note))
        except Stopped:
            self.problem = TEXTS["build_cancelled"]
        except Exception as error:  # whatever it is, the page must not wait for ever
            self.problem = str(error) or type(error).__name__
