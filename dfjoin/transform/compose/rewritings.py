"""Ways to rewrite a part of the input: tables, digits, casing, accents, replacement, codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dfjoin.programs.code_operators import CODES, Coded
from dfjoin.programs.lookup import Lookup, tables_with
from dfjoin.programs.number_operators import Base, Round, StripZeros, Thousands, Year
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.text_operators import (
    COUNTED,
    PART_ORDERS,
    Case,
    Count,
    EachPart,
    Gaps,
    Headline,
    Keep,
    Pad,
    Plain,
    Replace,
    Reverse,
    Squeeze,
    Translate,
)
from dfjoin.transform.compose.computations import check_digit_steps, computed_steps

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


def element_steps(texts: tuple[str, ...], targets: tuple[str, ...]) -> Iterator[tuple[Step]]:
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
                    step = EachPart(separator, width, order, joiner, steps)
                    if all(
                        (made := step(text)) and made.lower() in low for text, low in zip(texts, lowered, strict=True)
                    ):
                        yield (step,)


GAPS = re.compile(r"[^A-Za-z0-9\u00c0-\U0010ffff]+")
"""Characters between words."""
_DIGITS = re.compile("[0-9]+")
_CODED = re.compile("[0-9]{1,15}|[A-Za-z]{1,15}|.", re.DOTALL)
_MAX_COUNTED = 300
_MAX_CHANGED = 30
"""Characters that one replacement may change."""
_FEWEST_TRANSLATED = 4
"""Characters of all examples of which the replaced ones are learned."""

_OF_LETTERS: tuple[tuple[Step, ...], ...] = ((Case("title"), Keep("capitals")), (Plain(),))
_OF_SIGNS: tuple[tuple[Step, ...], ...] = (
    *((Keep(kind),) for kind in ("digits", "words", "letters", "capitals")),
    (Case("title"), Keep("words")),
    (Case("title"), Keep("words"), Slice(1, None)),
)
_OF_DIGITS: tuple[tuple[Step, ...], ...] = (
    (StripZeros(),),
    (Thousands(","),),
    (Year(70),),
    *((Round(digits),) for digits in range(4)),
    *((Round(digits), Thousands(",")) for digits in (0, 2)),
)
"""Steps that are tried on texts with letters, with other characters, and with digits: made once."""


def rewritings(
    texts: tuple[str, ...], targets: tuple[str, ...], *, computes: bool, is_deep: bool
) -> Iterator[tuple[Step, ...]]:
    """Yield steps that may apply to a part of the input, by the kinds of its characters.

    Parameters
    ----------
    texts : tuple of str
        The part for each example, none of them empty.
    targets : tuple of str
        The wanted results.
    computes : bool
        Whether numbers may be computed of numbers.
    is_deep : bool
        Whether steps that work on each element or character, codes and counts are tried: they change texts so much
        that only examples of a user are evidence for them.
    """
    for table in tables_with(texts[0].lower()):
        yield (Lookup(table),)
        if table == "month to number":
            yield Lookup(table), Pad(2)
    if computes:
        yield from computed_steps(texts, targets, is_deep=is_deep)
    if any(c.isdigit() for c in texts[0]):
        yield from _digit_steps(texts, targets)
    if any(c.isalpha() for c in texts[0]):
        yield from _OF_LETTERS
    if any(not c.isalnum() for c in texts[0]) or len(texts[0]) < 64:
        yield from _OF_SIGNS
    old = dict.fromkeys(run for text in texts[:3] for run in GAPS.findall(text))
    old = dict.fromkeys([*old, *(c for run in old for c in run)])
    new = ["", *dict.fromkeys(c for target in targets[:2] for c in target if not c.isalnum())]
    for a in list(old)[:8]:
        yield from ((Replace(a, b),) for b in new[:6] if a != b)
    if "  " in "".join(texts):
        yield (Squeeze(),)
    if is_deep:
        yield from _deep_steps(texts, targets)
        yield from element_steps(texts, targets)


def _digit_steps(texts: tuple[str, ...], targets: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    """Yield what may be done to texts with digits."""
    yield from check_digit_steps(texts, targets)
    widths = {len(run) for run in _DIGITS.findall(targets[0])} - {1}
    yield from ((Pad(width),) for width in sorted(widths) if width <= 20)
    yield from _OF_DIGITS


def _deep_steps(texts: tuple[str, ...], targets: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    """Yield codes, counts, words of titles, and replaced characters."""
    if all(_CODED.fullmatch(text) for text in texts):
        yield from ((Coded(code),) for code in CODES if Coded(code)(texts[0]))
        if code_point := Coded("to code point")(texts[0]):
            width = max((len(run) for run in re.findall("[0-9A-Fa-f]+", targets[0])), default=0)
            if any(c.isalpha() for c in targets[0]) or len(code_point) != width:
                yield from _hexadecimal(width)
    has_letters = any(c.isalpha() for c in texts[0])
    if any(target.isascii() and any(map(str.isdigit, target)) for target in targets[:1]):
        shortened = max(map(len, texts)) <= _MAX_COUNTED and len(set(texts)) > 1
        yield from ((Count(kind),) for kind in COUNTED if shortened and (has_letters or kind == "characters"))
    if has_letters and any(" " in text for text in texts):
        yield (Headline(),)
    if any(re.search("[a-z][A-Z]", text) for text in texts):
        marks = dict.fromkeys(c for target in targets for c in target if not c.isalnum())
        for mark in list(marks)[:3]:
            yield (Gaps(mark),)
            yield from ((Gaps(mark), Case(style)) for style in ("lower", "sentence", "title", "upper"))
    if all(len(text) > 2 for text in texts):
        yield (Reverse(),)
        if step := _translation(texts, targets):
            yield (step,)
        if prefix_or_suffix := _shared_end(texts):
            yield (Replace(prefix_or_suffix, ""),)


def _hexadecimal(width: int) -> Iterator[tuple[Step, ...]]:
    """Yield the forms of a code point with hexadecimal digits."""
    yield Coded("to code point"), Base(10, 16)
    if width > 1:
        yield Coded("to code point"), Base(10, 16), Pad(width)


def _shared_end(texts: tuple[str, ...]) -> str:
    """Return letters that all texts begin with, if they are of one run of letters; empty below three."""
    first, last = min(texts), max(texts)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    shared = first[:n]
    return shared if len(texts) > 1 and n >= 3 and shared.isalpha() and n < min(map(len, texts)) else ""


def _translation(texts: tuple[str, ...], targets: tuple[str, ...]) -> Step | None:
    """Find the characters that are replaced or dropped, where nothing else happens to a text."""
    if sum(map(len, texts)) < _FEWEST_TRANSLATED or max(map(len, texts)) > _MAX_COUNTED:
        return None
    if all(len(text) == len(target) for text, target in zip(texts, targets, strict=True)):
        changed: dict[str, str] = {}
        for text, target in zip(texts, targets, strict=True):
            for a, b in zip(text, target, strict=True):
                if changed.setdefault(a, b) != b:
                    return None
        old = "".join(sorted(a for a, b in changed.items() if a != b))
        return Translate(old, "".join(changed[a] for a in old)) if 0 < len(old) <= _MAX_CHANGED else None
    kept = set("".join(targets))
    dropped = "".join(sorted({c for text in texts for c in text} - kept))
    if not 0 < len(dropped) <= _MAX_CHANGED or any(map(str.isdigit, dropped)):
        return None
    step = Translate(dropped, "")
    return step if all(step(text) == target for text, target in zip(texts, targets, strict=True)) else None
