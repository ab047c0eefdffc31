"""Searching the line y = a x + b that carries the numbers of one column to those of another, with no pairs known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.transform.compose.linear import known_lines
from dfjoin.transform.evidence.chance import evidence_bits
from dfjoin.transform.evidence.line_chance import RELATIVE, Line, chance_of_line, dense_chance, tolerance
from dfjoin.transform.evidence.sorted_numbers import Floats, SortedNumbers, count_met

_ALL_PAIRS = 30
"""Numbers of either column up to which every line through them is tried."""
_PROBES = 48
"""Numbers of the source on which a line is tried first."""
_STRETCHES = 400
"""Neighbouring numbers of the source whose gaps are looked for among those of the target."""
_MAX_ALIKE = 8
"""Stretches of the target taken for one of the source."""
_MAX_GROWN = 60
"""Lines that are followed from neighbours to the whole column."""
_MAX_MISSING = 3
"""Numbers that may be missing between two neighbours of a stretch."""
_MAX_LINES = 4
_CHOICE_BITS = 2.0
"""Bits of the choice of a line that carries the ends, or the grid, of the source to those of the target."""


class _Guesses(NamedTuple):
    """Lines of one kind: scales and offsets, the bits of the choice, and the numbers that each meets by itself."""

    scales: Floats
    offsets: Floats
    cost: float
    n_free: int


def search_lines(
    source: SortedNumbers, target: SortedNumbers, rng: np.random.Generator, *, is_known: bool = False
) -> list[Line]:
    """Find the lines that carry most numbers of the source to numbers of the target.

    Parameters
    ----------
    source, target : SortedNumbers
        At least two numbers each.
    rng : numpy Generator
    is_known : bool, default False
        Whether to try units of measure and equal numbers alone, which samples of large columns show as well.

    Returns
    -------
    list of Line
        At most 4, those with most evidence first; approximate, see `linear.fit_linear` for the constants.

    Notes
    -----
    Ranks of the two columns agree only if all rows have partners. What survives missing rows is the ratio of two
    neighbouring gaps, which no line changes, or for y = a x the ratio of two neighbours, and for y = x + b their
    difference: stretches that agree in it give a line, which is followed from there to the whole column,
    fitted anew after each doubling. Units of measure are tried first, and of few numbers all lines through them.
    Source: geometric hashing (Lamdan, Wolfson, ICCV 1988) on a line. O((n + m) log m).
    """
    tried = []
    for guesses in _known_guesses(source, target) if is_known else _guesses(source, target, rng):
        for line in _best_of(guesses, source, target):
            dense = dense_chance(line, source, target)
            tried.append((_bits(line, source, dense), dense, line))
    found: list[Line] = []
    for most, dense, line in sorted(tried, key=lambda one: -one[0]):
        if len(found) >= _MAX_LINES and most < found[_MAX_LINES - 1].bits:
            break  # the other estimate of the chance can only take evidence away
        chance = chance_of_line(line, source, target, rng, dense)
        found.append(line._replace(chance=chance, bits=_bits(line, source, chance.either)))
        found.sort(key=lambda line: -line.bits)
    return found[:_MAX_LINES]


def _bits(line: Line, source: SortedNumbers, chance: float) -> float:
    """Return the evidence against chance, minus the cost of the line."""
    n_met = 1 + int(np.count_nonzero(np.diff(line.right)))  # a line keeps or turns the order
    n_hits, n = max(0, n_met - line.n_free), max(1, len(source) - line.n_free)
    return evidence_bits(n_hits, n, chance) - line.cost


def _guesses(source: SortedNumbers, target: SortedNumbers, rng: np.random.Generator) -> Iterator[_Guesses]:
    """Yield the lines of each kind, the simplest kinds first."""
    yield from _known_guesses(source, target)
    yield from _aligned_lines(source.values, target.values)
    ratio = np.array([target.step / source.step])
    n, m = len(source), len(target)
    cost = math.log2(n) + math.log2(m)
    if max(n, m) <= _ALL_PAIRS:
        offsets = (target.values[None, :] - ratio * source.values[:, None]).ravel()
        yield _Guesses(np.repeat(ratio, offsets.size), offsets, cost + _CHOICE_BITS, 1)
        yield from _all_lines(source.values, target.values)
        return
    x, y = _stretches(source, 2, rng), _stretches(target, 2, None)
    with np.errstate(all="ignore"):
        own, theirs = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]
        pairs = _alike(own, theirs, 2 * float(target.slack.max()))
        base = y[pairs[1], 0] - x[pairs[0], 0]
        yield _Guesses(np.ones(base.size), base, cost, 1)
        own, theirs = x[:, 1] / x[:, 0], y[:, 1] / y[:, 0]
        error = 2 * float((target.slack / np.abs(np.where(target.values == 0, np.inf, target.values))).max())
        pairs = _alike(own, theirs, min(error, 0.01))
        scale = y[pairs[1], 1] / x[pairs[0], 1]
        yield _followed(source, target, x[pairs[0], 0], scale, np.zeros(scale.size), (cost, 1))
        if min(n, m) < 3:
            return
        x, y = _stretches(source, 3, rng), _stretches(target, 3, None)
        own = (x[:, 1] - x[:, 0]) / (x[:, 2] - x[:, 0])
        gaps = y[:, 2] - y[:, 0]
        theirs = (y[:, 1] - y[:, 0]) / gaps
        error = float(np.median(4 * target.slack.max() / gaps))
        pairs = _alike(own, theirs, min(error, 0.01))
        scale = gaps[pairs[1]] / (x[pairs[0], 2] - x[pairs[0], 0])
        offset = y[pairs[1], 0] - scale * x[pairs[0], 0]
        yield _followed(source, target, x[pairs[0], 1], scale, offset, (2 * cost, 2))
        theirs = 1 - theirs  # falling lines meet the target's numbers from the other end
        pairs = _alike(own, theirs, min(error, 0.01))
        scale = -gaps[pairs[1]] / (x[pairs[0], 2] - x[pairs[0], 0])
        offset = y[pairs[1], 2] - scale * x[pairs[0], 0]
        yield _followed(source, target, x[pairs[0], 1], scale, offset, (2 * cost, 2))


def _known_guesses(source: SortedNumbers, target: SortedNumbers) -> Iterator[_Guesses]:
    """Yield the identity, the line from grid to grid, and units of measure."""
    nothing = np.zeros(1)
    yield _Guesses(nothing + 1, nothing, 0.0, 0)
    yield _Guesses(nothing + target.step / source.step, nothing, _CHOICE_BITS, 0)
    scales, offsets = known_lines()
    yield _Guesses(scales, offsets, math.log2(scales.size), 0)


def _aligned_lines(x: Floats, y: Floats) -> Iterator[_Guesses]:
    """Lay lines through the ends of both columns, as if all rows had partners."""
    if x[-1] != 0:
        yield _Guesses(y[-1:] / x[-1], np.zeros(1), _CHOICE_BITS, 1)
    yield _Guesses(np.ones(1), y[:1] - x[0], _CHOICE_BITS, 1)
    rising = (y[-1] - y[0]) / (x[-1] - x[0])
    scales = np.array([rising, -rising])
    yield _Guesses(scales, np.array([y[0], y[-1]]) - scales * x[0], _CHOICE_BITS, 2)


def _all_lines(x: Floats, y: Floats) -> Iterator[_Guesses]:
    """Lay lines through every number, and through every two numbers, of short columns."""
    cost = math.log2(x.size * y.size)
    offsets = (y[None, :] - x[:, None]).ravel()
    yield _Guesses(np.ones(offsets.size), offsets, cost, 1)
    with np.errstate(all="ignore"):
        scales = (y[None, :] / x[:, None]).ravel()
    scales = scales[np.isfinite(scales) & (scales != 0)]
    yield _Guesses(scales, np.zeros(scales.size), cost, 1)
    i, j = np.triu_indices(x.size, 1)
    if i.size > 60:  # far numbers fix a line best
        far = np.argsort(-(j - i), kind="stable")[:60]
        i, j = i[far], j[far]
    k, m = np.nonzero(~np.eye(y.size, dtype=bool))
    scales = ((y[m] - y[k])[None, :] / (x[j] - x[i])[:, None]).ravel()
    offsets = np.tile(y[k], i.size) - scales * np.repeat(x[i], k.size)
    yield _Guesses(scales, offsets, 2 * cost, 2)


def _stretches(numbers: SortedNumbers, size: int, rng: np.random.Generator | None) -> Floats:
    """Return stretches of neighbouring numbers with up to two between them, some at random or all; shape (k, size)."""
    values = numbers.values
    n = values.size
    starts = np.arange(n) if rng is None or n <= _STRETCHES else np.sort(rng.choice(n, _STRETCHES, replace=False))
    shapes: list[tuple[int, ...]] = [(a,) for a in range(1, _MAX_MISSING + 1)]
    if size == 3:
        shapes = [(a, a + b) for a in range(1, _MAX_MISSING) for b in range(1, _MAX_MISSING)]
    parts = []
    for shape in shapes:
        some = starts[starts + shape[-1] < n]
        parts.append(np.stack([values[some], *(values[some + step] for step in shape)], axis=1))
    return np.concatenate(parts)


def _alike(own: Floats, theirs: Floats, error: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the numbers of two lists that differ by at most an error, of each at most 8 partners, the nearest."""
    order = np.argsort(theirs, kind="stable")
    sorted_theirs = theirs[order]
    tolerance = error + RELATIVE * np.abs(own)
    low = np.searchsorted(sorted_theirs, own - tolerance)
    high = np.searchsorted(sorted_theirs, own + tolerance, side="right")
    middle = np.searchsorted(sorted_theirs, own)
    low = np.maximum(low, np.minimum(middle - _MAX_ALIKE // 2, high - _MAX_ALIKE))
    counts = np.clip(np.minimum(high - low, _MAX_ALIKE), 0, None) * np.isfinite(own)
    left = np.repeat(np.arange(own.size), counts)
    position = np.arange(left.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return left, order[np.repeat(low, counts) + position]


def _followed(
    source: SortedNumbers, target: SortedNumbers, starts: Floats, scales: Floats, offsets: Floats, kind: tuple
) -> _Guesses:
    """Follow lines from where they start: those that meet most numbers nearby are fitted to ever more numbers."""
    cost, n_free = kind
    is_line = np.isfinite(scales) & np.isfinite(offsets) & (scales != 0)
    starts, scales, offsets = starts[is_line], scales[is_line], offsets[is_line]
    positions = np.searchsorted(source.values, starts)
    width = min(8, len(source))
    near = np.clip(positions - width // 2, 0, len(source) - width)[:, None] + np.arange(width)
    x = source.values[near]
    results = scales[:, None] * x + offsets[:, None]
    at = target.nearest(results)
    met = (np.abs(results - target.values[at]) <= 3 * target.slack[at]).sum(axis=1)
    best = np.argsort(-met, kind="stable")[:_MAX_GROWN]
    best = best[met[best] >= n_free + 2]
    grown = _grow(source, target, positions[best], scales[best], offsets[best], n_free)
    known: dict[tuple[str, str], tuple[float, float]] = {}
    for scale, offset in grown:
        known.setdefault((f"{scale:.6g}", f"{offset:.6g}"), (scale, offset))
    lines = np.array(list(known.values())).reshape(-1, 2)
    return _Guesses(lines[:, 0], lines[:, 1], cost, n_free)


def _grow(
    source: SortedNumbers,
    target: SortedNumbers,
    positions: NDArray[np.int64],
    scales: Floats,
    offsets: Floats,
    n_free: int,
) -> list[tuple[float, float]]:
    """Fit lines to the numbers that they meet around positions, in doubling stretches; leave out what meets no more."""
    n, width = len(source), 8
    numbers = np.arange(positions.size)
    grown: dict[int, tuple[float, float]] = {}
    while numbers.size:
        low, high = np.maximum(0, positions - width), np.minimum(n, positions + width)
        step = np.maximum(1, (high - low) // 2000)
        places = low[:, None] + step[:, None] * np.arange(int((-((low - high) // step)).max()))
        is_met = places < high[:, None]
        least = np.maximum(n_free + 2, 0.25 * is_met.sum(axis=1))
        x = source.values[np.minimum(places, n - 1)]
        results = scales[:, None] * x + offsets[:, None]
        at = target.nearest(results)
        is_met &= np.abs(results - target.values[at]) <= 3 * target.slack[at] + RELATIVE * np.abs(results)
        n_met = is_met.sum(axis=1)
        is_held = n_met >= least
        x, theirs, is_met, n_met = x[is_held], target.values[at[is_held]], is_met[is_held], n_met[is_held]
        numbers, positions, offsets = numbers[is_held], positions[is_held], offsets[is_held]
        is_whole = (low[is_held] == 0) & (high[is_held] == n)
        if n_free == 2:
            centre = np.where(is_met, x, 0).sum(axis=1) / n_met
            own = np.where(is_met, x - centre[:, None], 0)
            scales = (own * theirs).sum(axis=1) / (own * own).sum(axis=1)
            offsets = np.where(is_met, theirs, 0).sum(axis=1) / n_met - scales * centre
        else:
            own = np.where(is_met, x, 0)
            scales = (own * theirs).sum(axis=1) / (own * own).sum(axis=1)
        is_line = np.isfinite(scales) & (scales != 0)
        for i in np.flatnonzero(is_whole & is_line).tolist():
            grown[int(numbers[i])] = float(scales[i]), float(offsets[i])
        rest = np.flatnonzero(~is_whole & is_line)
        numbers, positions, scales, offsets = numbers[rest], positions[rest], scales[rest], offsets[rest]
        width *= 2
    return [grown[number] for number in sorted(grown)]


def _best_of(guesses: _Guesses, source: SortedNumbers, target: SortedNumbers) -> list[Line]:
    """Return the lines of one kind that meet most numbers, at most 3."""
    if guesses.scales.size == 0:
        return []
    n = len(source)
    probes = source.values[np.unique(np.linspace(0, n - 1, min(n, _PROBES)).astype(np.int64))]
    counts = np.zeros(guesses.scales.size, np.int64)
    for begin in range(0, counts.size, 1_000):  # so that the numbers of a part stay in the cache of a processor
        part = slice(begin, begin + 1_000)
        results = guesses.scales[part, None] * probes + guesses.offsets[part, None]
        at = target.nearest(results)
        is_met = np.abs(results - target.values[at]) <= tolerance(target, at, results, guesses.n_free)
        counts[part] = count_met(at, is_met)
    lines = []
    for number in np.argsort(-counts, kind="stable")[: _MAX_LINES - 1]:
        if counts[number] > guesses.n_free:
            scale, offset = float(guesses.scales[number]), float(guesses.offsets[number])
            lines.append(
                Line(scale, offset, guesses.cost, guesses.n_free, *_met(scale, offset, guesses.n_free, source, target))
            )
    return lines


def _met(
    scale: float, offset: float, n_free: int, source: SortedNumbers, target: SortedNumbers
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the numbers that a line carries to one another."""
    results = scale * source.values + offset
    at = target.nearest(results)
    is_met = np.abs(results - target.values[at]) <= tolerance(target, at, results, n_free)
    return np.flatnonzero(is_met), at[is_met]
