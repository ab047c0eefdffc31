"""A thread that can be ended, as an interrupt ends a cell of a notebook."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

__all__ = ["StoppableThread", "Stopped"]

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
