"""Predicates that may tell some texts from others: marks, words, shapes, first and last characters, lengths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from dfjoin.programs.conditions import is_shape, shape_of

_WHOLE = re.compile("[0-9]{1,15}")
_DECIMAL = re.compile("-?[0-9]{1,12}(?:[.][0-9]{1,6})?")
_DIVISORS = ("2", "3", "4", "5", "10", "100")
"""Numbers that whole ones may be multiples of."""


def text_features(texts: Sequence[str]) -> list[tuple[float, str, str]]:
    """List kinds and texts of conditions that may tell some texts from others, with costs.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    list of (float, str, str)
        Cost, kind and text of conditions (`dfjoin.programs.conditions.Condition`), some of them several times.
    """
    found: list[tuple[float, str, str]] = []
    marks = dict.fromkeys(c for text in texts for c in text if not c.isalnum())
    found += [(1.0, "contains", mark) for mark in marks]
    words = dict.fromkeys(word for text in texts for word in text.split())
    found += [(2.0 if word.isalpha() else 3.0, "contains", word) for word in list(words)[:20] if len(word) > 1]
    found += [
        (1.5 + 0.05 * len(shape), "shape", shape) for shape in dict.fromkeys(map(shape_of, texts)) if is_shape(shape)
    ]
    found += [(2.0, "starts", text[0]) for text in texts if text]
    found += [(1.6, "starts", first) for text in texts if (first := text.partition(" ")[0] + " ")[1:2].isalpha()]
    found += [(2.0, "ends", text[-1]) for text in texts if text]
    found += [(1.5, "has", kind) for kind in ("digits", "letters", "capitals")]
    lengths = sorted({len(text) for text in texts})
    found += [(3.0, "longer", str(low)) for low, _ in zip(lengths, lengths[1:], strict=False)]
    if all(_WHOLE.fullmatch(text) for text in texts):
        are_years = all(1500 <= int(text) <= 2200 for text in texts)
        likely = "4" if are_years else "2"
        found += [(1.2 if divisor == likely else 3.0, "divisible", divisor) for divisor in _DIVISORS]
    if all(_DECIMAL.fullmatch(text) for text in texts):
        numbers = sorted(set(map(Decimal, texts)))
        found += [(1.5, "at least", _roundest(low, high)) for low, high in zip(numbers, numbers[1:], strict=False)]
    return found


def _roundest(low: Decimal, high: Decimal) -> str:
    """Return the roundest number above `low` and not above `high`: that of fewest digits, the largest of them.

    Examples
    --------
    >>> _roundest(Decimal("650"), Decimal("720")), _roundest(Decimal("-3"), Decimal("2"))
    ('700', '0')
    """
    if low < 0 <= high:
        return "0"
    for power in range(11, -7, -1):
        unit = Decimal(1).scaleb(power)
        found = high // unit * unit - (unit if high < 0 and high % unit else 0)
        if low < found:
            return format(found.normalize() + 0, "f")
    return format(high, "f")
