"""Processes that share a cache compile one after the other, so that none compiles what another one just did."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["CompileTurn"]

_LONGEST_WAIT = 60.0  # seconds; a kernel takes at most some ten
_PAUSE = 0.02


class CompileTurn:
    """The right to compile for a cache, which one process has at a time.

    It costs nothing where everything is found in the cache. A process that died has lost it. After a minute of waiting
    a process compiles without it: what is compiled is the same, and only time is lost. Threads of a process come here
    one at a time, as numba's own lock says.

    Parameters
    ----------
    place : Path
        Directory of the cache.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._stream: BinaryIO | None = None
        self._depth = 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Give the turn back at the end of the outermost block, if it was taken inside."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._stream is not None:
                self._stream.close()
                self._stream = None

    def take(self) -> bool:
        """Take the turn; return whether another process had it, and may have compiled what is wanted."""
        if fcntl is None or self._stream is not None:
            return False
        try:
            stream = (self._place / ".dfjoin.turn").open("ab")
        except OSError:  # nothing is kept there: nobody to wait for
            return False
        until = time.monotonic() + _LONGEST_WAIT
        has_waited = False
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                has_waited = True
            except OSError:  # a file system without locks
                stream.close()
                return False
            else:
                self._stream = stream
                return has_waited
            if time.monotonic() > until:
                stream.close()
                return True
            time.sleep(_PAUSE)
