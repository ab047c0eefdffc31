"""The distinct numbers of a column: the room that each takes up, and how densely they fill their range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LOCAL, _MIN_LOCAL = 8, 5
"""Most and fewest numbers of the target around a result from which its chance is counted."""
_NOISE = 1e-7
"""Relative noise of numbers of single precision."""
_MAX_ZEROS = 18
_STEPS = (*range(60, 1, -1), 10**2, 10**3, 10**4, 10**5, 10**6, 125, 250, 360, 500, 2500, 5000)
"""Steps of a grid, in units of the last digit, that are looked for."""
_MAX_MARKS = 2_000
"""Numbers by which a grid is recognised."""
_ON_GRID = 0.9
"""Share of the numbers that make a grid."""


@dataclass(frozen=True)
class SortedNumbers:
    """The distinct numbers of a column.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Ascending, all different.
    slack : ndarray of float64, shape (n,)
        Half a unit of the last digit of each, of those of the column.
    own_unit : ndarray of float64, shape (n,)
        The unit of the last digit that each has itself, zeros at its end aside: 0.1 for 2.50, 100 for 1200.
    """

    values: Floats
    slack: Floats
    own_unit: Floats

    def __len__(self) -> int:
        return int(self.values.size)

    @cached_property
    def step(self) -> float:
        """The step of the grid that nine tenths of the numbers lie on, at least a unit of their last digits."""
        unit = 2 * float(self.slack.min())
        noise = 1e-6 * float(np.abs(self.values).max())
        while (
            unit < noise
            and np.mean(_distance_to_grid(self.values, 10 * unit) <= _NOISE * self.values.max()) >= _ON_GRID
        ):
            unit *= 10
        some = self.values[:: max(1, len(self) // _MAX_MARKS)]
        marks = np.rint((some - some[0]) / unit)
        if not marks[-1] < 2.0**53:
            return unit
        whole = marks.astype(np.int64)
        best = max((step for step in _STEPS if _share_of_mode(whole % step) >= _ON_GRID), default=1)
        return unit * max(best, int(np.gcd.reduce(whole)))

    def density(self, results: Floats, units: Floats) -> Floats:
        """Return the share of the grid around each result that numbers take up.

        The grid of a result is that of its own last digit, and counts the numbers that lie on it, or that of the
        column, whichever is fuller.
        """
        n = len(self)
        size = min(n, max(_MIN_LOCAL, min(_LOCAL, int(2 * np.sqrt(n)))))
        first = np.clip(np.searchsorted(self.values, results) - size // 2, 0, n - size)
        room = self.values[first + size - 1] - self.values[first]
        around = self.own_unit[first[:, None] + np.arange(size)]
        on_grid = (around >= units[:, None] * (1 - 1e-9)).sum(axis=1)
        own = on_grid * units / (room + units)
        column = size * self.step / (room + self.step)
        printed = 2 * size * self.slack[first] / (room + 2 * self.slack[first])
        return np.minimum(1.0, np.maximum(np.maximum(own, column), printed))

    def nearest(self, results: Floats) -> NDArray[np.int64]:
        """Return the position of the number next to each result, of two as near the smaller one."""
        return np.searchsorted(self._middles, results)

    @cached_property
    def _middles(self) -> Floats:
        """What lies half way between two neighbours."""
        return self.values[:-1] + np.diff(self.values) / 2


def last_units(values: Floats, slack: Floats) -> Floats:
    """Return the unit of the last digit of numbers that are rounded to their slack, zeros at the end aside.

    Parameters
    ----------
    values, slack : ndarray of float64, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
        A power of ten for each.
    """
    units = 10.0 ** np.rint(np.log10(2 * slack))
    whole = np.rint(values / units)
    for _ in range(_MAX_ZEROS):
        is_round = (whole != 0) & (np.abs(whole) < 2.0**53) & (np.rint(whole / 10) * 10 == whole)
        if not is_round.any():
            break
        whole = np.where(is_round, np.rint(whole / 10), whole)
        units = np.where(is_round, 10 * units, units)
    return np.asarray(units)


def _distance_to_grid(values: Floats, step: float) -> Floats:
    return np.abs(values - np.rint(values / step) * step)


def count_met(at: NDArray[np.int64], is_met: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the different numbers that each row meets.

    Parameters
    ----------
    at : ndarray of int64, shape (n, k)
        Positions of numbers; those of a row ascend or descend.
    is_met : ndarray of bool, shape (n, k)
        Which of them are met.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    is_new = np.ones(at.shape, bool)
    np.not_equal(at[:, 1:], at[:, :-1], out=is_new[:, 1:])
    starts = np.flatnonzero(is_new)
    met = np.logical_or.reduceat(is_met.ravel(), starts) if starts.size else np.zeros(0, bool)
    return np.bincount(starts[met] // max(1, at.shape[1]), minlength=at.shape[0])


def count_distinct(rows: NDArray) -> NDArray[np.int64]:
    """Count the different numbers of each row; shape (n,)."""
    rows = np.sort(rows, axis=1)
    return 1 + np.count_nonzero(rows[:, 1:] != rows[:, :-1], axis=1)


def _share_of_mode(residues: NDArray[np.int64]) -> float:
    """Return the share of the most frequent residue."""
    return float(np.bincount(residues).max()) / residues.size
