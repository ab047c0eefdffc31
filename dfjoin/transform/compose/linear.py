"""Fitting a linear function to examples: the simplest constants that give every number to its last digit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.programs.number_operators import Linear
from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Piece

_NUMBER = re.compile(r"-?[0-9]{1,9}(?:[.][0-9]{1,6})?")
_MADE = re.compile(r"-?[0-9]+(?:[.]([0-9]+))?")
_MAX_DECIMALS = 10
_MAX_EXPONENT = 5
"""Powers of ten that the digits of a constant stand for: 10^5 to 10^-10."""
_MAX_DIGITS = 12
_MAX_CONSTANT = 10**5
"""Constants are below it."""
_EXACT = 2**52
"""Whole numbers below it, and their differences, are exact as floats."""
_ERROR = 1e-15
"""Relative error of a quotient of such floats."""
_UNITS = [
    Fraction(text)
    for text in (
        *("1", "2.54", "3.048", "9.144", "1.609344", "1.852"),  # inch, foot, yard, miles
        *("6.4516", "9.290304", "4.0468564224", "2.589988110336"),  # square inch, square foot, acre, square mile
        *("3.785411784", "4.54609", "2.95735295625", "1.6387064"),  # gallons, fluid ounce, cubic inch
        *("4.5359237", "2.8349523125", "6.35029318"),  # pound, ounce, stone
        *("1.8", "3.6", "6", "2.4", "1.024", "4.184", "6.894757293168"),  # degree, km/h, time, KiB, calorie, psi
    )
]
"""One unit in another, up to a power of ten: these are tried before the simplest constant."""

_DEGREES = [("1.8", "32"), ("1.8", "-459.67"), ("1", "273.15"), ("1", "459.67")]
"""Scale and offset of Celsius and kelvin in Fahrenheit, Celsius in kelvin, Fahrenheit in Rankine."""


def _degrees() -> list[tuple[Fraction, Fraction]]:
    """Return the scales and offsets of degrees, in both directions."""
    pairs = [(Fraction(a), Fraction(b)) for a, b in _DEGREES]
    return pairs + [(1 / a, -b / a) for a, b in pairs]


@cache
def known_lines() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lines of units of measure.

    Returns
    -------
    scales, offsets : ndarray of float64, shape (n,)
        Units in one another with powers of ten, whole numbers up to 12 and their inverses, and degrees; each once,
        the identity first.
    """
    lines: dict[tuple[Fraction, Fraction], None] = {(Fraction(1), Fraction(0)): None}
    for power in range(-6, 7):
        for unit in _UNITS:
            for factor in (unit, 1 / unit):
                lines[factor * Fraction(10) ** power, Fraction(0)] = None
    for whole in range(2, 13):
        lines[Fraction(whole), Fraction(0)] = lines[Fraction(1, whole), Fraction(0)] = None
    for degrees in _degrees():
        lines[degrees] = None
    pairs = np.array([(float(a), float(b)) for a, b in lines])
    pairs.flags.writeable = False
    return pairs[:, 0], pairs[:, 1]


def _simplest(low: Fraction, high: Fraction) -> tuple[int, Fraction] | None:
    """Return the decimal of fewest digits in a range, and how many it has, zeros at its ends not counted."""
    for exponent in range(_MAX_EXPONENT, -_MAX_DECIMALS - 1, -1):
        unit = Fraction(10) ** exponent
        count = -(-low // unit)
        if count * unit <= high:
            return len(str(abs(count)).strip("0")), count * unit
    return None


def _factor(low: Fraction, high: Fraction) -> Fraction | None:
    """Return a factor in a range: a whole one of few digits, one of a known unit, the simplest decimal or inverse."""
    direct = _simplest(low, high)
    if direct and direct[1].denominator == 1 and high - low > Fraction(1, 100):
        return direct[1]  # whole numbers were multiplied by a whole number
    for power in range(-6, 7):
        for unit in _UNITS:
            for factor in (unit, 1 / unit):
                if low <= factor * Fraction(10) ** power <= high and (low != high or power == 0):
                    return factor * Fraction(10) ** power
    if low * high <= 0:
        return direct[1] if direct else None
    inverse = _simplest(1 / high, 1 / low)
    candidates = [(c[0] + 1, 1 / c[1]) for c in [inverse] if c and c[1]] + ([direct] if direct else [])
    return min(candidates, key=lambda c: (c[0], abs(c[1])))[1] if candidates else None


def _as_decimal(value: Fraction, digits: int) -> str:
    """Write a fraction with at most so many digits behind the point."""
    unit = round(abs(value) * 10**digits)
    text = str(unit).rjust(digits + 1, "0")
    text = f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 and unit else text


def _bounds(tops: NDArray[Any], ends: NDArray[Any], gaps: NDArray[Any]) -> tuple[Fraction, Fraction]:
    """Return the largest lower and the smallest upper bound of the quotients between tops and ends, over gaps.

    All are whole numbers. Their floats tell which quotients may be the bounds, and only these become fractions.
    """
    low, high = np.where(gaps > 0, tops, ends), np.where(gaps > 0, ends, tops)
    is_exact = max(int(np.abs(side).max()) for side in (low, high, gaps)) < _EXACT
    found = []
    for numbers, choose in ((low, max), (high, min)):
        quotients = (numbers / gaps).astype(np.float64)
        bound = float(choose(quotients))
        is_near = np.abs(quotients - bound) <= (_ERROR * abs(bound) if is_exact else np.inf)
        found.append(choose(Fraction(int(numbers[i]), int(gaps[i])) for i in np.flatnonzero(is_near).tolist()))
    return found[0], found[1]


def _whole(values: Sequence[Fraction], unit: int) -> NDArray[Any]:
    """Return fractions as whole numbers of parts of a unit."""
    numbers = [int(value * unit) for value in values]
    return np.array(numbers, np.int64 if max(map(abs, numbers)) < _EXACT else object)


def _constants(xs: Sequence[Fraction], ys: Sequence[Fraction], halves: Sequence[Fraction]) -> list[tuple]:
    """Return (scale, offset) pairs that agree with all examples up to rounding."""
    found = []
    x_unit = math.lcm(*(value.denominator for value in xs))
    y_unit = math.lcm(*(value.denominator for value in (*ys, *halves)))
    x, y, half = _whole(xs, x_unit), _whole(ys, y_unit), _whole(halves, y_unit)
    if len({x for x in xs if x}) >= 2:
        some = np.flatnonzero(x != 0)
        low, high = (b * x_unit / y_unit for b in _bounds((y - half)[some], (y + half)[some], x[some]))
        scale = _factor(low, high) if low <= high else None
        found += [(scale, Fraction(0))] if scale else []
    if len(set(xs)) >= 3:
        i, j = np.tril_indices(x.size, -1)
        i, j = i[x[i] != x[j]], j[x[i] != x[j]]
        rise, slack = y[i] - y[j], half[i] + half[j]
        low, high = (b * x_unit / y_unit for b in _bounds(rise - slack, rise + slack, x[i] - x[j]))
        scale = _factor(low, high) if low <= high else None
        if scale:
            low = max(y - h - scale * x for x, y, h in zip(xs, ys, halves, strict=True))
            high = min(y + h - scale * x for x, y, h in zip(xs, ys, halves, strict=True))
            known = [b for a, b in _degrees() if a == scale and low <= b <= high]
            offset = known[0] if known else (_simplest(low, high) or (0, None))[1] if low <= high else None
            found += [(scale, offset)] if offset is not None else []
    return found


def fit_linear(texts: Sequence[str], targets: Sequence[str]) -> list[Step]:
    """Find steps that make the number of each target of the number in each text.

    Parameters
    ----------
    texts : sequence of str
        Plain decimal numbers.
    targets : sequence of str
        Each a plain decimal number.

    Returns
    -------
    list of Linear
        Those that make all targets; at least two different numbers are needed for a factor, three for a
        factor and an offset. Empty for what a copy would do.

    Notes
    -----
    Each example bounds the constants by half a unit of its last digit; in the remaining range the decimal
    of fewest digits is taken, or its inverse. O(n²) for n examples.
    """
    made = [_MADE.fullmatch(target) for target in targets]
    if (
        len(texts) < 2
        or list(texts) == list(targets)
        or not all(made)
        or not all(_NUMBER.fullmatch(text) for text in texts)
    ):
        return []
    decimals = [len(match[1] or "") for match in made if match]
    halves = [Fraction(1, 2 * 10**d) for d in decimals]
    significant = max(len(re.sub("[^0-9]", "", t).lstrip("0")) for t in targets)
    styles = [("fixed", decimals[0])] if len(set(decimals)) == 1 else []
    styles += [("plain", max(decimals)), ("significant", significant)]
    steps = []
    for scale, offset in _constants([Fraction(t) for t in texts], [Fraction(t) for t in targets], halves):
        if abs(scale) >= _MAX_CONSTANT or abs(offset) >= _MAX_CONSTANT or (scale, offset) == (1, 0):
            continue
        for style, digits in styles:
            if digits > _MAX_DIGITS or (style == "significant" and digits < 1):
                continue
            step = Linear(_as_decimal(scale, 15), _as_decimal(offset, 10), digits, style)
            if step.scale != "0" and all(step(t) == y for t, y in zip(texts, targets, strict=True)):
                steps.append(step)
    return steps


def number_styles(program: Program) -> list[Program]:
    """Return a program, and the same with the numbers that it computes written without zeros at their ends.

    Parameters
    ----------
    program : Program
        As learned from examples, which may all have the same number of digits by chance.

    Returns
    -------
    list of Program
        The program first; it alone if it computes no number of a fixed number of digits.
    """

    def plainly(piece: Piece) -> Piece:
        if isinstance(piece, Constant):
            return piece
        steps = (s.changed(style="plain") if s.operator is Linear and s.style == "fixed" else s for s in piece.steps)
        return replace(piece, steps=tuple(steps))

    other = Program(program.columns, tuple(map(plainly, program.pieces)), program.conditions)
    return [program] if other == program else [program, other]
