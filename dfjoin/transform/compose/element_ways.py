"""Ways to rewrite each part of a list, each group of digits, or each word, and to put parts in another order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfjoin.programs.number_operators import Base, StripZeros
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.text_operators import PART_ORDERS, Case, EachPart, Pad

__all__ = ["element_ways"]

_MARKS = re.compile(r"[^A-Za-z0-9\u00c0-\U0010ffff]+")
_MAX_SEPARATORS = 4
_MAX_JOINERS = 5
_LONGEST = 400
"""Characters of a text that is taken apart."""
_CHANGES: tuple[tuple[Step, ...], ...] = (
    *((), (Case("lower"),), (Case("upper"),), (Case("title"),), (Case("sentence"),)),
    *((Slice(0, 1),), (Slice(0, 1), Case("upper"))),
)
_DIGIT_CHANGES: tuple[tuple[Step, ...], ...] = (
    *((Pad(2),), (Pad(3),), (Pad(4),), (StripZeros(),)),
    *((Base(10, 16),), (Base(10, 16), Pad(2)), (Base(10, 16), Pad(2), Case("lower")), (Base(10, 2), Pad(8))),
    *((Base(16, 10),), (Base(16, 2), Pad(4)), (Base(16, 2), Pad(8)), (Base(2, 10),), (Base(2, 16),)),
)
_WIDTHS = (4, 2, 3, 1)
_HEXADECIMAL = re.compile("[0-9A-Fa-f]+")


def element_ways(texts: tuple[str, ...], targets: tuple[str, ...]) -> Iterator[tuple[Step]]:
    """Yield steps that may make a part of each target of the parts of each text.

    Parameters
    ----------
    texts : tuple of str
        A part of the input of each example.
    targets : tuple of str
        The wanted results.

    Notes
    -----
    Separators are the marks of the first text, joiners those of the first target; without a separator, runs of
    1 to 4 characters of codes. Steps that make no part of the first target are left out.
    O(separators × joiners × orders × changes), each on one text first.
    """
    if max(map(len, texts)) > _LONGEST:
        return
    lowered = tuple(target.lower() for target in targets)
    runs = dict.fromkeys(run for text in texts[:2] for run in _MARKS.findall(text))
    separators = list(dict.fromkeys([*runs, *(run.strip() for run in runs if run.strip())]))[:_MAX_SEPARATORS]
    joiners = list(dict.fromkeys(["", *(run for target in targets[:2] for run in _MARKS.findall(target))]))[
        : _MAX_JOINERS + 1
    ]
    has_digits = any(map(str.isdigit, targets[0]))
    changes = (*_CHANGES, *_DIGIT_CHANGES) if has_digits else _CHANGES
    splits = [(separator, 0) for separator in separators if any(separator in text for text in texts)]
    if all(_HEXADECIMAL.fullmatch(text) for text in texts) and max(map(len, texts)) > 2:
        splits += [("", width) for width in _WIDTHS]
    for separator, width in splits:
        longest = max(text.count(separator) if separator else len(text) // width for text in texts)
        for joiner in joiners:
            if len(joiner) > 9:
                continue
            for order in PART_ORDERS if separator and longest else PART_ORDERS[:1]:
                for steps in changes:
                    if not steps and order == "kept" and separator:
                        continue  # a replacement
                    way = EachPart(separator, width, order, joiner, steps)
                    if all(
                        (made := way(text)) and made.lower() in low for text, low in zip(texts, lowered, strict=True)
                    ):
                        yield (way,)
