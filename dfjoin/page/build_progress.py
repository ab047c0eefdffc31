"""An index that is built while the page waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["BuildProgress"]


class BuildProgress:
    """A build in a thread of its own.

    Parameters
    ----------
    source : str
        What is indexed, for people.
    build : callable
        Returns what the page works with.
    done : callable
        Is given it.
    """

    def __init__(self, source: str, build: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.source = source
        self.problem = ""
        self._begun = time.monotonic()
        self._build, self._done = build, done
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def seconds(self) -> int:
        """How long it has taken."""
        return int(time.monotonic() - self._begun)

    def _run(self) -> None:
        try:
            self._done(self._build())
        except Exception as error:  # whatever it is, the page must not wait for ever
            self.problem = str(error) or type(error).__name__
