"""Ways to read and write numbers of several units: feet and inches, degrees, hours and minutes; and powers of ten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dfjoin.programs.code_operators import EXPONENT_MARKS, Scientific, UnitPart, WeightedSum
from dfjoin.programs.number_operators import Linear
from dfjoin.programs.operator import Step
from dfjoin.programs.text_operators import Pad
from dfjoin.transform.compose.linear import fit_linear

__all__ = ["parts_of_units", "sums_of_units"]

_SUMS = {
    2: (
        ("12 1", 1),
        ("60 1", 1),
        ("60 1", 60),
        ("16 1", 1),
        ("7 1", 1),
        ("24 1", 1),
        ("3 1", 1),
        ("14 1", 1),
        ("20 1", 1),
    ),
    3: (("3600 60 1", 1), ("3600 60 1", 3600), ("1440 60 1", 1), ("240 12 1", 1)),
    4: (("16777216 65536 256 1", 1), ("86400 3600 60 1", 1)),
}
"""Weights of numbers that a text lists, and divisors, by how many they are."""
_RADICES = (
    (60,),
    (60, 60),
    (12,),
    (16,),
    (24, 60),
    (24, 60, 60),
    (7,),
    (24,),
    (3,),
    (14,),
    (256, 256, 256),
    (20,),
    (100,),
)
"""How many of each smaller unit make one of the unit before."""
_FACTORS = ("0.393700787401575", "39.3700787401575", "2.20462262184878", "35.2739619495804", "0.035273961949580")
"""Inches in a centimetre and a metre, pounds and ounces in a kilogram, ounces in a gram: whole units are counted."""
_NUMBER = re.compile("[0-9]+(?:[.][0-9]+)?")
_WHOLE = re.compile("[0-9]+")
_SCIENTIFIC = re.compile("-?[0-9](?:[.]([0-9]+))?([eE])([+-]?)([0-9]{1,2})(?![0-9])")
_MOST_DIGITS = 9


def sums_of_units(texts: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield steps that read the numbers of each text as one number of several units."""
    counts = {len(_NUMBER.findall(text)) for text in texts}
    if all(len(_WHOLE.findall(text)) == 4 for text in texts):
        counts = {4}
    if len(counts) == 1:
        yield from ((WeightedSum(weights, divisor),) for weights, divisor in _SUMS.get(counts.pop(), ()))


def parts_of_units(numbers: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield steps that write one of the units, or a power of ten, of plain numbers.

    Parameters
    ----------
    numbers : sequence of str
        Plain decimals.
    targets : sequence of str
        The wanted results; the units are in their last numbers, the largest one first.
    """
    found = [_WHOLE.findall(target) for target in targets]
    if len(numbers) > 1:
        for radices in _RADICES:
            n = len(radices) + 1
            if any(len(one) != n or any(len(number) > 9 for number in one) for one in found):
                continue
            units = [1]
            for radix in reversed(radices):
                units.insert(0, units[0] * radix)
            if any(int(n) >= radix for one in found for n, radix in zip(one[1:], radices, strict=True)):
                continue
            totals = [str(sum(int(n) * unit for n, unit in zip(one, units, strict=True))) for one in found]
            for scaled in _brought_to(numbers, totals):
                for place, unit in enumerate(units):
                    step = UnitPart(unit, radices[place - 1] if place else 0)
                    yield (*scaled, step)
                    yield (*scaled, step, Pad(2))
    shown = [_SCIENTIFIC.search(target) for target in targets]
    if all(shown):
        digits = {len(match[1] or "") for match in shown if match}
        if len(digits) == 1 and max(digits) <= _MOST_DIGITS:
            yield from ((Scientific(max(digits), mark),) for mark in EXPONENT_MARKS)


def _brought_to(numbers: Sequence[str], totals: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield what brings plain numbers to totals of the smallest unit: nothing, or one factor."""
    if all(number.partition(".")[0] == total for number, total in zip(numbers, totals, strict=True)):
        yield ()
        return
    for factor in _FACTORS:
        step = Linear(factor, "0", 6, "plain")
        if all((step(number) or "").partition(".")[0] == total for number, total in zip(numbers, totals, strict=True)):
            yield (step,)
    yield from ((step,) for step in fit_linear(list(numbers), list(totals))[:2])
