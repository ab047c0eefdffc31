"""Numbered names: series as ``Salem IV`` or ``Ward 7, Salem``, whose values meet those of another column by accident.

Over plain strings: nothing here knows columns or joins.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

__all__ = ["series_chance"]

_NUMBER = re.compile(r"\d+|(?<![^\W\d_])(?:[ivx]{1,5}|[^\W\d_])(?![^\W\d_])")
"""Digits, small Roman numerals and lone letters."""
_MIN_SERIES = 3
"""Values that have all but their numbers in common, from which they are a series."""


def series_chance(outputs: Sequence[str], targets: Sequence[str]) -> float:
    """Estimate the probability that an output is a target by chance if both have numbers in one list of names.

    Parameters
    ----------
    outputs, targets : sequence of str
        Distinct canonical values, in small letters.

    Returns
    -------
    float
        From 0 to 1; 0 where names do not come in series.

    Notes
    -----
    The name of an output, that is, the text without its numbers, is taken as given, if three different values of
    outputs and targets have it. Its number is drawn from those that the other such names have: small ones are more
    frequent. The result is the mean over the outputs of twice the probability that this is a number that the name has
    among the targets; twice, since numbers come in stretches. O(characters).

    Examples
    --------
    >>> towns = ["salem", "dover", "milton", "aurora"]
    >>> wards = [[f"{town} ward {i}" for town in towns for i in numbers] for numbers in ((1, 2), (2, 3))]
    >>> series_chance(*wards)
    1.0
    >>> series_chance(["salem", "dover"], ["dover", "milton"])
    0.0
    """
    made, known = [_cut(value) for value in outputs], [_cut(value) for value in targets]
    every: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    held: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for name, numbers in [*made, *known]:
        every[name].add(numbers)
    for name, numbers in known:
        held[name].add(numbers)
    series = {name: found for name, found in every.items() if len(found) >= _MIN_SERIES}
    counts = Counter(numbers for found in series.values() for numbers in found)
    total = counts.total()
    chances = {
        name: min(1.0, 2 * sum(counts[numbers] - 1 for numbers in held[name]) / max(1, total - len(found)))
        for name, found in series.items()
    }
    return sum(chances.get(name, 0.0) for name, _ in made) / len(made)


def _cut(value: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a value, its numbers exchanged for one mark, and the numbers."""
    return _NUMBER.sub("#", value), tuple(_NUMBER.findall(value))
