"""The probability that a line carries a number of one column to a number of another by chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.transform.evidence.sorted_numbers import Floats, SortedNumbers, count_distinct, count_met, last_units

RELATIVE = 1e-13
"""Relative error of the arithmetic."""
_DECOYS = 200
_NEAR = 6
"""Ranks between the numbers by which decoys are moved."""
_MAX_RESULTS = 4000
"""Results of a line by which its chance is estimated."""
_PROBES = 192
"""Numbers of the source on which decoys are tried."""


class Chance(NamedTuple):
    """The probability that a result is a number of the target by chance, estimated by two methods.

    Parameters
    ----------
    dense : float
        From the density of the target.
    like : float
        From what other lines meet: these hits depend on one another.
    """

    dense: float
    like: float

    @property
    def either(self) -> float:
        """The larger estimate."""
        return max(self)


class Line(NamedTuple):
    """A line that carries numbers of the source to numbers of the target.

    Parameters
    ----------
    scale, offset : float
        Of the line, up to the digits of the numbers.
    cost : float
        Bits that single it out among all lines that were tried.
    n_free : int
        Numbers that it meets because it was laid through them: 0 to 2.
    left, right : ndarray of int64
        Places of the numbers that it carries to one another.
    chance : Chance
        See `chance_of_line`; 1 until it is estimated.
    bits : float
        Evidence against chance that these are more than chance lets expect, minus the cost.
    """

    scale: float
    offset: float
    cost: float
    n_free: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    chance: Chance = Chance(1.0, 1.0)
    bits: float = 0.0

    @property
    def is_same(self) -> bool:
        """Whether the line carries each number to itself."""
        return self.scale == 1 and self.offset == 0


def tolerance(target: SortedNumbers, at: NDArray[np.int64], results: Floats, n_free: int) -> Floats:
    """Return how far a result may be from the number next to it.

    Parameters
    ----------
    target : SortedNumbers
    at : ndarray of int64
        Place of the number next to each result.
    results : ndarray of float64
    n_free : int
        Numbers that the line was laid through: it is as uncertain as they are.

    Returns
    -------
    ndarray of float64
    """
    return (1.0 if n_free == 0 else 2.0) * target.slack[at] * (1 + 1e-9) + RELATIVE * np.abs(results)


def chance_of_line(
    line: Line, source: SortedNumbers, target: SortedNumbers, rng: np.random.Generator, dense: float | None = None
) -> Chance:
    """Estimate the probability that a line like this one carries a number of the source to one of the target.

    Parameters
    ----------
    line : Line
    source, target : SortedNumbers
    rng : numpy Generator
    dense : float, optional
        What `dense_chance` returned.

    Returns
    -------
    Chance
        Between 1e-9 and 1.

    Notes
    -----
    Two estimates, doubled where the scale was laid through numbers, since it is fitted within their
    rounding.
    The first is the density of the target around the results: the share of the grid that its numbers take up, the grid
    being that of the last digit of the result, so that 120 is compared with multiples of ten alone, or that on which
    nearly all numbers of the target lie: quarters, multiples of 12, halves with one residue. The second is
    the mean share of results that are numbers of the target by other lines, through numbers of both columns and
    near this one, which sees any other regularity, as of powers of two or of a grid that rounding hides.
    """
    dense = dense_chance(line, source, target) if dense is None else dense
    return Chance(dense, _chance(line, _rate_of_decoys(line, source, target, rng)))


def dense_chance(line: Line, source: SortedNumbers, target: SortedNumbers) -> float:
    """Return the first estimate of `chance_of_line`, from the density of the target: it takes a tenth of the time."""
    results = line.scale * source.values + line.offset
    if results.size > _MAX_RESULTS:
        results = results[:: results.size // _MAX_RESULTS]
    units = last_units(results, target.slack[target.nearest(results)])
    return _chance(line, float(target.density(results, units).mean()))


def _chance(line: Line, rate: float) -> float:
    """Return the chance of a rate of hits, doubled where the scale was laid through numbers."""
    factor = 1 if line.n_free == 0 or (line.n_free == 1 and line.offset != 0) else 2
    return min(1.0, max(1e-9, factor * rate))


def _rate_of_decoys(line: Line, source: SortedNumbers, target: SortedNumbers, rng: np.random.Generator) -> float:
    """Return the share of results that are numbers of the target by other lines, the largest mean of a kind.

    The lines are laid through numbers of both columns, of which one or two are free; or they have the same scale,
    or fall as the line rises, and are moved by what lies between near numbers of the target.
    """
    i, j = rng.integers(0, len(source), (2, _DECOYS))
    k, m = rng.integers(0, len(target), (2, _DECOYS))
    x, y = source.values, target.values
    one = np.ones(_DECOYS, np.int64)
    kinds: list[tuple[Floats, Floats, NDArray[np.int64]]] = []
    with np.errstate(all="ignore"):
        if line.n_free == 2:
            scales = (y[m] - y[k]) / (x[j] - x[i])
            kinds.append((scales, y[k] - scales * x[i], 2 * one))
        if line.n_free == 2 or line.scale != 1:
            kinds.append(((y[k] - line.offset) / x[i], np.full(_DECOYS, line.offset), one))
        else:
            kinds.append((np.ones(_DECOYS), y[k] - x[i], one))
    near = np.clip(k + rng.integers(1, _NEAR + 1, _DECOYS), 0, len(target) - 1)
    shift = np.where(rng.random(_DECOYS) < 0.5, 1, -1) * (y[near] - y[k])
    turned = np.where(np.arange(_DECOYS) % 4 == 3, -1.0, 1.0)
    offsets = np.where(turned < 0, line.offset + line.scale * (x[i] + x[j]), line.offset + shift)
    kinds.append((line.scale * turned, offsets, np.where((turned < 0) & (i != j), 2, 1)))
    return max(_rate_of_lines(line, *kind, source, target) for kind in kinds)


def _rate_of_lines(
    line: Line, scales: Floats, offsets: Floats, n_free: NDArray, source: SortedNumbers, target: SortedNumbers
) -> float:
    """Return the mean share of results, those given left out, that are numbers of the target, of lines not the same."""
    x, y = source.values, target.values
    change = np.abs(scales - line.scale) * max(float(np.abs(x).max()), 1e-300) + np.abs(offsets - line.offset)
    is_other = np.isfinite(scales) & (scales != 0) & (change > 8 * float(target.slack.max()))
    scales, offsets, n_free = scales[is_other], offsets[is_other], n_free[is_other]
    if scales.size == 0 or len(source) <= n_free.max():
        return 0.0
    some = x if x.size <= _PROBES else x[np.unique(np.linspace(0, x.size - 1, _PROBES).astype(np.int64))]
    results = scales[:, None] * some + offsets[:, None]
    at = target.nearest(results)
    is_met = np.abs(results - y[at]) <= tolerance(target, at, results, line.n_free)
    n_hits = count_met(at, is_met)
    n_results = count_distinct(np.rint(np.abs(results) / (2 * target.slack[at])))
    return float((np.maximum(0, n_hits - n_free) / np.maximum(1, n_results - n_free)).mean())
