"""Ways to compute part of the targets: readers of numbers, durations and lists, what is done to them, and codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dfjoin.programs.calendar_operators import DURATION_LAYOUTS, FIRST_UNITS, ReadDuration, WriteDuration
from dfjoin.programs.code_operators import (
    CHECK_DIGITS,
    EXPONENT_MARKS,
    ISBN_LENGTHS,
    CheckDigit,
    Isbn,
    Mod97,
    Scientific,
    UnitPart,
    WeightedSum,
)
from dfjoin.programs.number_operators import BASES, TOTALS, AsRatio, Base, Exponent, Linear, Ratio, Round, Total
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import AllRuns
from dfjoin.programs.quantities import Quantity, quantity_tables
from dfjoin.programs.text_operators import Pad
from dfjoin.transform.compose.linear import fit_linear

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
            for scaled in _scaled_to(numbers, totals):
                for position, unit in enumerate(units):
                    step = UnitPart(unit, radices[position - 1] if position else 0)
                    yield (*scaled, step)
                    yield (*scaled, step, Pad(2))
    shown = [_SCIENTIFIC.search(target) for target in targets]
    if all(shown):
        digits = {len(match[1] or "") for match in shown if match}
        if len(digits) == 1 and max(digits) <= _MOST_DIGITS:
            yield from ((Scientific(max(digits), mark),) for mark in EXPONENT_MARKS)


def _scaled_to(numbers: Sequence[str], totals: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield what brings plain numbers to totals of the smallest unit: nothing, or one factor."""
    if all(number.partition(".")[0] == total for number, total in zip(numbers, totals, strict=True)):
        yield ()
        return
    for factor in _FACTORS:
        step = Linear(factor, "0", 6, "plain")
        if all((step(number) or "").partition(".")[0] == total for number, total in zip(numbers, totals, strict=True)):
            yield (step,)
    yield from ((step,) for step in fit_linear(list(numbers), list(totals))[:2])


_PLAIN_NUMBER = re.compile("(?<![0-9A-Za-z)])-?[0-9]+(?:[.][0-9]+)?|[0-9]+(?:[.][0-9]+)?")
_DURATION = re.compile("[0-9]+:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?")
_RATIO = re.compile("(?:[0-9]+[ -])?[0-9]+ ?/ ?[0-9]+")
_LIST = re.compile("-?[0-9]+(?:[.][0-9]+)?(?:[ ,;|+]+-?[0-9]+(?:[.][0-9]+)?)+")
_EXPONENT = re.compile("-?[0-9]+(?:[.][0-9]+)?[eE][+-]?[0-9]+")
_ISBN = re.compile("(?:97[89][- ]?)?[0-9](?:[- ]?[0-9]){8}[- ]?[0-9Xx]")
_IBAN_HEAD = re.compile("[A-Z]{2}[0-9]{2}$")
_DIGITS = re.compile("[0-9A-Fa-f]+")
_MAX_NUMBER = 16
"""Characters of a text that is read as one number."""
_MAX_LIST = 200
"""Characters of a list of numbers."""
_UNITS_OF_TIME = ("60", "3600", "86400")
_FEWEST_DIGITS = 6
"""Digits of a code that has a check digit."""
_MAX_RUN = 2
"""Fewest characters that the runs of a list may be asked to have."""


def computed_steps(
    texts: Sequence[str], targets: Sequence[str], *, is_deep: bool = False
) -> Iterator[tuple[Step, ...]]:
    """Yield steps that may compute a part of each target from a text.

    Parameters
    ----------
    texts : sequence of str
        A part of the input of each example, none of them empty.
    targets : sequence of str
        The wanted results.
    is_deep : bool, default False
        Whether numbers with two or more units, and powers of ten, are tried too.

    Notes
    -----
    Texts are read as plain numbers, numbers with units, durations, fractions, numbers with an exponent, or lists of
    numbers; what is read is taken as it is, turned into the numbers of the targets by a factor and an offset, rounded,
    or written as a duration or a fraction. Then runs of characters that are listed, and other bases. That the results
    are parts of the targets is for the caller to see.
    """
    is_short = all(len(text) <= _MAX_NUMBER for text in texts)
    has_digits = all(any(map(str.isdigit, text)) for text in texts)
    if has_digits and all(len(text) <= _MAX_LIST for text in texts):
        readers = [*_readers(texts, is_short), *(sums_of_units(texts) if is_deep else ())]
        for reader in readers:
            made = [_first(reader, text) for text in texts]
            if all(made):
                if reader:
                    yield reader
                yield from ((*reader, *steps) for steps in steps_of_numbers(made, targets))
                if is_deep:
                    yield from ((*reader, *steps) for steps in parts_of_units(made, targets))
    if is_short and len(texts) > 1 and list(texts) != list(targets) and all(len(text) <= 12 for text in texts):
        for old in BASES:
            if Base(old, 10)(texts[0]):
                yield from ((Base(old, new),) for new in BASES if new != old)
                widths = {len(run) for run in _DIGITS.findall(targets[0])} - {1} if is_deep else set()
                yield from ((Base(old, 2), Pad(width)) for width in sorted(widths) if width <= 32)
                yield from ((Base(old, 16), Pad(width)) for width in sorted(widths) if width <= 8)
    yield from ((step,) for step in _listed_runs(targets))


def _first(reader: tuple[Step, ...], text: str) -> str:
    """Return what one reader makes of a text, the text without one, or nothing."""
    return (reader[0](text) or "") if reader else text


def _readers(texts: Sequence[str], is_short: bool) -> Iterator[tuple[Step, ...]]:
    """Yield the steps that read all texts as numbers; none, where they are plain numbers."""
    if is_short and all(_PLAIN_NUMBER.fullmatch(text) for text in texts):
        yield ()
        return
    if all(_DURATION.fullmatch(text) for text in texts):
        yield from ((ReadDuration(first),) for first in FIRST_UNITS)
    elif any(_RATIO.fullmatch(text) for text in texts):
        yield (Ratio(6),)
    elif any(_EXPONENT.fullmatch(text) for text in texts):
        yield (Exponent(),)
    elif all(_LIST.fullmatch(text) for text in texts):
        yield from ((Total(kind),) for kind in TOTALS)
    elif any(map(str.isalpha, "".join(texts))) or not is_short:
        yield from ((Quantity(table),) for table in quantity_tables(texts) if is_short)


def steps_of_numbers(numbers: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield what may be done to plain numbers to bring them to those of the targets.

    Parameters
    ----------
    numbers, targets : sequence of str
        One of each for every example.
    """
    found = [_PLAIN_NUMBER.findall(target) for target in targets]
    for index in range(min(3, *(len(one) for one in found), 3)):
        wanted = [one[index] for one in found]
        yield from ((step,) for step in fit_linear(numbers, wanted))
        digits = {len(text.partition(".")[2]) for text in wanted}
        if len(digits) == 1 and max(digits) <= 6:
            step = Round(max(digits))
            if any(step(number) != number for number in numbers):
                yield (step,)
    if all(_DURATION.search(target) for target in targets):
        for layout in DURATION_LAYOUTS:
            yield (WriteDuration(layout),)
            yield from ((Linear(unit, "0", 0, "fixed"), WriteDuration(layout)) for unit in _UNITS_OF_TIME)
    if all("/" in target for target in targets):
        yield (AsRatio(),)


def _listed_runs(targets: Sequence[str]) -> Iterator[Step]:
    """Yield lists of all runs of a kind of characters; a target of several runs shows what stands between them."""
    longest = max(targets, key=len)
    for kind in ("digits", "capitals", "letters", *dict.fromkeys(c for c in targets[0][:1] if not c.isalnum())):
        if not kind.isalpha() and not " " < kind <= "~":
            continue
        inside = {"digits": "[0-9]", "capitals": "[A-Z]", "letters": "[A-Za-z]"}.get(kind, re.escape(kind))
        for mark in dict.fromkeys(re.findall(f"(?<={inside})(?!{inside}).{{1,3}}?(?={inside})", longest)[:1]):
            yield from (AllRuns(kind, least, mark) for least in range(1, _MAX_RUN + 1))


def check_digit_steps(texts: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield steps that write codes with their check digits, where texts and targets look like such codes.

    Parameters
    ----------
    texts : sequence of str
        A part of the input of each example.
    targets : sequence of str
        The wanted results.
    """
    if all(_ISBN.fullmatch(text) for text in texts):
        yield from ((Isbn(length),) for length in ISBN_LENGTHS)
    pairs = list(zip(texts, targets, strict=True))
    are_codes = all(len(text) >= _FEWEST_DIGITS and text.isascii() and text.isalnum() for text in texts)
    if not are_codes or not all(text.lower() in target.lower() and len(target) > len(text) for text, target in pairs):
        return
    if "".join(texts).isdigit():
        yield from ((CheckDigit(kind),) for kind in CHECK_DIGITS)
    for before in dict.fromkeys(target[: -len(text)].upper() for text, target in pairs):
        if _IBAN_HEAD.search(before):
            yield (Mod97(before[-4:-2]),)
    yield (Mod97(""),)
