"""How long the search for features may take, and how far it is."""

from __future__ import annotations

import numbers
import sys
import time
from typing import Any

from dfjoin._validation import show
from dfjoin._visible import visible
from dfjoin.errors import InvalidParameterError

INTERRUPTED = "it was interrupted"

_SECONDS = 600.0
_TABLES = 100

_MOST_WAITING = 10
"""Seconds by the clock that count as one of CPU time: files of a slow store are not waited for endlessly."""

_SHARES = {"read": 0.5, "choose": 0.85, "check": 0.98}
"""Share of the seconds after which each stage ends: what it has found until then goes on to the next one."""


class OutOfTimeError(Exception):
    """The time of a stage is over; within the search for features alone."""


class AugmentBudget:
    """The time and the tables that a search for features may take.

    Parameters
    ----------
    seconds : float
        Of CPU time of this process, so that a busy machine finds as much; by the clock it may take ten times as long.
    tables : int
        Tables that are read at most.
    is_reported : bool
        Write a line to standard error for each table.
    """

    def __init__(self, seconds: float, tables: int, is_reported: bool) -> None:
        self.seconds = seconds
        self.tables = tables
        self.n_tables = 0
        self._is_reported = is_reported
        self._start, self._cpu_start = time.monotonic(), time.process_time()
        self._limit = seconds

    @classmethod
    def of(cls, budget: Any, is_reported: bool) -> AugmentBudget:
        """Make a budget of the argument of `LakeAugmenter`.

        Raises
        ------
        InvalidParameterError
            If it is no positive number, and no dict of "seconds" and "tables".
        """
        given = budget if isinstance(budget, dict) else {} if budget is None else {"seconds": budget}
        seconds, tables = given.get("seconds", _SECONDS), given.get("tables", _TABLES)
        is_legal = set(given) <= {"seconds", "tables"} and all(map(_is_positive, (seconds, tables)))
        if not is_legal:
            raise InvalidParameterError(
                '`budget` must be a number of seconds, or a dict of "seconds" and "tables", each above 0, got '
                + show(budget)
            )
        return cls(float(seconds), int(tables), is_reported)

    @property
    def elapsed(self) -> float:
        """Seconds since the start, by the clock."""
        return time.monotonic() - self._start

    @property
    def used(self) -> float:
        """Seconds of the budget that are used."""
        return max(time.process_time() - self._cpu_start, self.elapsed / _MOST_WAITING)

    def begin(self, stage: str) -> None:
        """Begin a stage: ``"read"``, ``"choose"`` or ``"check"``."""
        self._limit = _SHARES[stage] * self.seconds

    def check(self) -> None:
        """Raise `OutOfTimeError` if the time of the stage is over; long computations ask often."""
        if reason := self.over_time():
            raise OutOfTimeError(reason)

    def over(self) -> str:
        """Return why no further table is to be looked at; empty while there is time."""
        if self.n_tables >= self.tables:
            return f"the budget of {self.tables:,} tables is used"
        return self.over_time()

    def over_time(self) -> str:
        """Return why nothing further is to be tried; empty while there is time."""
        return f"the budget of {self.seconds:g} seconds is used" if self.used > self._limit else ""

    def report(self, text: str) -> None:
        """Write a line of progress."""
        if self._is_reported:
            print(visible(f"LakeAugmenter {self.elapsed:6.1f} s: {text}"), file=sys.stderr, flush=True)


def _is_positive(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value) > 0
