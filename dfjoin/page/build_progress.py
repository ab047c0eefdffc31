"""An index that is built while the page waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dfjoin.page.page_texts import TEXTS
from dfjoin.page.stoppable_thread import StoppableThread, Stopped

__all__ = ["BuildProgress"]


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
        self.told: dict[str, Any] = {}
        self._build, self._done = build, done
        self._thread: StoppableThread | None = None
        self._is_cancelled = False

    def start(self) -> None:
        """Begin, unless it is running."""
        if self._thread is None or self.problem:
            self.problem, self.told, self._is_cancelled = "", {}, False
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
        return self.told["done"] / self.told["n"] if self.told.get("n") else None

    def _tell(self, told: dict[str, Any]) -> None:
        self.told = told

    def _run(self) -> None:
        try:
            self._done(self._build(self._tell))
        except Stopped:
            self.problem = TEXTS["build_cancelled"]
        except Exception as error:  # whatever it is, the page must not wait for ever
            self.problem = str(error) or type(error).__name__
