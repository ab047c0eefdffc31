"""What compiling costs in this process, and the line that says so where it takes a while."""

from __future__ import annotations

import sys
import time
from typing import Any

from numba.core import event

__all__ = ["CompileWatch"]

_TOLD_AFTER = 2.0  # seconds


class CompileWatch(event.Listener):
    """Counts the kernels that are compiled, and says once on standard error that this takes time.

    Parameters
    ----------
    package : str
        Functions of its modules are watched, with all that is compiled for them.
    is_kept : bool
        Whether later processes find what is compiled.

    Attributes
    ----------
    n_compiled : int
        Functions of the package compiled so far.
    seconds : float
        How long this took.
    is_told : bool
        Whether the line was written, or is not wanted.
    """

    def __init__(self, package: str, is_kept: bool) -> None:
        self.n_compiled = 0
        self.seconds = 0.0
        self.is_told = False
        self._package = package
        self._is_kept = is_kept
        self._n_open = 0
        self._since = 0.0

    def on_start(self, event: Any) -> None:
        """Note that a function begins to be compiled."""
        if self._n_open == 0:
            if not self._is_watched(event):
                return
            self._since = time.perf_counter()
        self._n_open += 1

    def on_end(self, event: Any) -> None:
        """Note that a function is compiled; a function that is compiled for another ends before that one."""
        if self._n_open == 0:
            return
        self._n_open -= 1
        self.n_compiled += self._is_watched(event)
        spent = self.seconds + time.perf_counter() - self._since
        if self._n_open == 0:
            self.seconds = spent
        if spent > _TOLD_AFTER and not self.is_told:
            self.is_told = True
            kept = "kept for later runs" if self._is_kept else "not kept, for want of a writable NUMBA_CACHE_DIR"
            print(f"dfjoin compiles its kernels on first use: some 10 seconds in all, {kept}", file=sys.stderr)

    def _is_watched(self, event: Any) -> bool:
        module = event.data["dispatcher"].py_func.__module__
        return module == self._package or module.startswith(self._package + ".")
