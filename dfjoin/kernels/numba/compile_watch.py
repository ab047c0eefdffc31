"""What compiling costs in this process, and the line that says so where it takes a while."""

from __future__ import annotations

import sys
import time
from typing import Any

from numba.core import event

__all__ = ["CompileWatch"]

_TOLD_AFTER, _TOLD_EACH = 2.0, 10.0  # seconds


class CompileWatch(event.Listener):
    """Counts the kernels that are compiled, and says on standard error that this takes time, and how far it is.

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
    """

    def __init__(self, package: str, is_kept: bool) -> None:
        self.n_compiled = 0
        self.seconds = 0.0
        self._told_at = 0.0
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
        if spent <= (self._told_at + _TOLD_EACH if self._told_at else _TOLD_AFTER):
            return
        done = f"{self.n_compiled:,} compiled in {spent:.0f} s"
        if not self._told_at:
            kept = "kept for later runs" if self._is_kept else "not kept, for want of a writable NUMBA_CACHE_DIR"
            done += f", {kept}; `dfjoin warmup` compiles all of them at once"
        self._told_at = spent
        print(f"dfjoin compiles its kernels on first use: {done}", file=sys.stderr)

    def _is_watched(self, event: Any) -> bool:
        module = event.data["dispatcher"].py_func.__module__
        return module == self._package or module.startswith(self._package + ".")
