"""Which ways of writing a part of the input anew are worth trying on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfjoin.programs.extract import Slice, Step
from dfjoin.programs.lookup import Lookup, tables_with
from dfjoin.programs.numeric import BASES, Base, Round, StripZeros, Thousands, Year
from dfjoin.programs.rewrite import Case, Keep, Pad, Plain, Replace, Squeeze
from dfjoin.transform.linear import fit_linear

__all__ = ["GAPS", "rewritings", "run_steps"]

_PLAIN_NUMBER = re.compile("(?<![0-9A-Za-z)])-?[0-9]+(?:[.][0-9]+)?|[0-9]+(?:[.][0-9]+)?")
GAPS = re.compile(r"[^A-Za-z0-9\u00c0-\U0010ffff]+")
"""What stands between words."""

Outputs = tuple[str, ...]


def rewritings(texts: Outputs, targets: Outputs, *, computes: bool) -> Iterator[tuple[Step, ...]]:
    """Yield steps worth trying on a view: those whose kind of character is there; arithmetic if it `computes`."""
    for table in tables_with(texts[0].lower()):
        yield (Lookup(table),)
        if table == "month to number":
            yield Lookup(table), Pad(2)
    has_digit = any(c.isdigit() for c in texts[0])
    if computes:
        yield from ((step,) for step in _computations(texts, targets))
    if has_digit:
        widths = {len(run) for run in re.findall("[0-9]+", targets[0])} - {1}
        yield from ((Pad(width),) for width in sorted(widths) if width <= 20)
        yield (StripZeros(),)
        yield (Thousands(","),)
        yield (Year(70),)
        yield from ((Round(digits),) for digits in range(4))
        yield from ((Round(digits), Thousands(",")) for digits in (0, 2))
    if any(c.isalpha() for c in texts[0]):
        yield Case("title"), Keep("capitals")
        yield (Plain(),)
    if any(not c.isalnum() for c in texts[0]) or len(texts[0]) < 64:
        yield from ((Keep(kind),) for kind in ("digits", "words", "letters", "capitals"))
        yield Case("title"), Keep("words")
        yield Case("title"), Keep("words"), Slice(1, None)
    old = dict.fromkeys(run for text in texts[:3] for run in GAPS.findall(text))
    old = dict.fromkeys([*old, *(c for run in old for c in run)])
    new = ["", *dict.fromkeys(c for target in targets[:2] for c in target if not c.isalnum())]
    for a in list(old)[:8]:
        yield from ((Replace(a, b),) for b in new[:6] if a != b)
    if "  " in "".join(texts):
        yield (Squeeze(),)


def _computations(texts: Outputs, targets: Outputs) -> Iterator[Step]:
    """Yield changes of unit and of base that make a number of the targets out of a number."""
    if not all(len(text) <= 16 for text in texts):
        return
    if all(_PLAIN_NUMBER.fullmatch(text) for text in texts):
        numbers = [_PLAIN_NUMBER.findall(target) for target in targets]
        for index in range(min(3, *(len(found) for found in numbers), 3)):
            yield from fit_linear(texts, [found[index] for found in numbers])
    if len(texts) > 1 and texts != targets and all(len(text) <= 12 for text in texts):
        for old in BASES:
            if (results := Base(old, 10)(texts[0])) is not None and results:
                yield from (Base(old, new) for new in BASES if new != old)


def run_steps(steps: tuple[Step, ...], text: str) -> str | None:
    """Return what steps, one after the other, make of a text."""
    result: str | None = text
    for step in steps:
        result = step(result) if result else None
    return result
