"""Learning how one number becomes another by rounding and by how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from dfjoin.programs.number_operators import ROUNDINGS, RoundTo, WriteNumber
from dfjoin.programs.operator import Step

_WRITTEN = re.compile(
    r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:[.][0-9]+)?|[0-9]{1,3}(?:[.][0-9]{3})+,[0-9]+"
    r"|[0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?)"
)
_BASES = ("1", "5", "2.5", "2", "2.4", "6", "3", "1.5", "7", "1.2", "4")
"""Digits of the intervals that are tried, beside powers of ten."""
_MAX_FITS = 4
_MODES = {"nearest": 0, "up": 1, "down": 1, "floor": 2, "ceiling": 2}
"""What each kind of rounding costs."""
_PLAIN = re.compile("-?[0-9]{1,12}(?:[.][0-9]{1,9})?")


def find_numbers(text: str) -> list[str]:
    """Return the numbers that a target holds, as written there; a minus counts only where no digit precedes it.

    Examples
    --------
    >>> find_numbers("160-169"), find_numbers("-1,234.50 x")
    (['160', '169'], ['-1,234.50'])
    """
    found = []
    for match in _WRITTEN.finditer(text):
        written = match[0]
        before = text[: match.start()]
        if written[0] == "-" and before and (before[-1].isalnum() or before[-1] == ")"):
            written = written[1:]
        found.append(written)
    return found


def _notation(written: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the decimal marks and separators of thousands that all numbers may be written with."""
    for mark, group in ((".", ""), (".", ","), (",", "."), (",", ""), (".", " "), (",", " ")):
        digits = f"[0-9]{{1,3}}(?:{re.escape(group)}[0-9]{{3}})*" if group else "[0-9]+"
        pattern = re.compile(f"-?{digits}(?:{re.escape(mark)}[0-9]+)?")
        is_shown = not group or any(group in text for text in written)
        is_mark = mark == "." or group or any(mark in text for text in written)
        if is_shown and is_mark and all(pattern.fullmatch(text) for text in written):
            yield mark, group


def fit_roundings(numbers: Sequence[str], written: Sequence[str]) -> list[tuple[int, tuple[Step, ...]]]:
    """Find the steps that turn each plain decimal number into what is written for it.

    Parameters
    ----------
    numbers : sequence of str
        Plain decimals, as `NthNumber` gives them.
    written : sequence of str
        The result of each.

    Returns
    -------
    list of (int, tuple of Step)
        Weight and steps, the likelier first: other digits alone, then rounding to an interval.

    Notes
    -----
    An interval is possible if all results leave the same rest, and one constant makes them of the rounded numbers.
    Of intervals that start at zero the largest one is taken. O(intervals × modes × examples).
    """
    if not all(_PLAIN.fullmatch(number) for number in numbers):
        return []
    found: list[tuple[int, tuple[Step, ...]]] = []
    for mark, group in _notation(written):
        plain = [text.replace(group, "").replace(mark, ".") if group else text.replace(mark, ".") for text in written]
        digits = [len(text.partition(".")[2]) for text in plain]
        least, most = min(digits), max(digits)
        writers: list[Step] = []
        had = [len(number.partition(".")[2]) for number in numbers]
        if digits == had:
            writers.append(WriteNumber(0, None, mark, group))
        if least < most and not any(text.endswith("0") and n for text, n in zip(plain, digits, strict=True)):
            least = 0  # no zero was added to any of them
        writers.append(WriteNumber(least, most, mark, group))
        extra = (mark != ".") + bool(group)
        for writer in writers:
            if all(writer(number) == text for number, text in zip(numbers, written, strict=True)):
                found.append((3 + extra, (writer,)))
        if any(all(made(n) == t for n, t in zip(numbers, written, strict=True)) for made in writers[:1]):
            continue
        for weight, step in _fit_intervals([Decimal(n) for n in numbers], [Decimal(text) for text in plain]):
            rounded = [step(number) or "" for number in numbers]
            is_number = step.mode != "nearest" and not any("." in t and t.endswith("0") for t in plain)
            writers = [WriteNumber(0, None, mark, group), WriteNumber(least, most, mark, group)]
            for writer in [WriteNumber(0, most, mark, group), *writers] if is_number else writers:
                if all(text and writer(text) == wanted for text, wanted in zip(rounded, written, strict=True)):
                    steps = (step,) if writer == WriteNumber(0, None) else (step, writer)
                    found.append((weight + extra + len(steps), steps))
                    break
    found.sort(key=lambda entry: entry[0])
    return found[:_MAX_FITS]


def _fit_intervals(numbers: list[Decimal], results: list[Decimal]) -> list[tuple[int, Step]]:
    """Find roundings, the likelier first."""
    largest = max(map(abs, results))
    if len(set(results)) < 2 <= len(set(numbers)):
        return []  # the same text each time tells nothing about an interval
    found: list[tuple[int, int, Decimal, Step]] = []
    for interval in _intervals(largest, results):
        rests = {result % interval for result in map(abs, results)}
        if len(rests) != 1 and len({result % interval for result in results}) != 1:
            continue
        rest = results[0] % interval
        for mode in ROUNDINGS:
            for before in (Decimal(0), -rest) if rest else (Decimal(0),):
                made = [_rounded(number + before, interval, mode) for number in numbers]
                afters = {result - one for result, one in zip(results, made, strict=True)}
                if len(afters) != 1:
                    continue
                after = afters.pop()
                step = RoundTo(_text(before), _text(interval), mode, _text(after))
                if not all(re.fullmatch("-?[0-9]{1,6}([.][0-9]{1,6})?", text) for text in (step.before, step.after)):
                    continue
                ends = (interval, interval - 1, interval - Decimal("0.01"), interval - Decimal("0.1"))
                is_range_end = mode in ("floor", "down") and after in ends  # the end of the band that the number is in
                is_tens = interval.normalize().as_tuple().digits in ((1,), (5,))
                shift = 0 if after in (0, -before) else 2 if is_range_end else 4
                weight = 3 + _MODES[mode] + 3 * (before != 0) + shift + (not is_tens)
                found.append((weight, 0, -interval, step))
    found.sort(key=lambda entry: entry[:3])
    return [(weight, step) for weight, _, _, step in found[:_MAX_FITS]]


def _rounded(number: Decimal, interval: Decimal, mode: str) -> Decimal:
    """Round as `RoundTo` does, exactly."""
    rounded = RoundTo("0", _text(interval), mode, "0")(_text(number))
    return Decimal(rounded or 0)


def _intervals(largest: Decimal, results: list[Decimal]) -> Iterator[Decimal]:
    """Yield the intervals that may have made the results, the largest first."""
    decimals = max(max(0, -int(result.as_tuple().exponent)) for result in results)
    top = max(1, largest.adjusted() + 2)
    tried = {
        Decimal(base).scaleb(power)
        for base in _BASES
        for power in range(-min(decimals, 6), min(top, 6))
        if Decimal(base).scaleb(power) <= max(10 * largest, Decimal(1))
    }
    for interval in sorted(tried, reverse=True):
        if -int(interval.normalize().as_tuple().exponent) <= min(decimals, 6):
            yield interval


def _text(number: Decimal) -> str:
    """Write a decimal without exponent and without zeros at its end."""
    written = format(number, "f")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written in ("-0", "") else written


def _fit_range(numbers: Sequence[str], written: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, Step]]:
    """Yield end, weight and step for both ends of ranges of one width that begin at multiples."""
    if not all(_PLAIN.fullmatch(number) for number in numbers):
        return
    if not all(len(ends) == 2 and all(_PLAIN.fullmatch(end) for end in ends) for ends in written):
        return
    lows, highs = ([Decimal(ends[end]) for ends in written] for end in (0, 1))
    widths = {high - low for low, high in zip(lows, highs, strict=True)}
    if len(widths) != 1 or (width := widths.pop()) <= 0:
        return
    decimals = max(max(0, -int(width.as_tuple().exponent)), max(len(ends[1].partition(".")[2]) for ends in written))
    for interval in (width, width + 1, width + Decimal(1).scaleb(-decimals)):
        rests = {low % interval for low in lows}
        if len(rests) != 1 or -int(interval.as_tuple().exponent) > 6 or interval >= 10**6:
            continue
        rest = rests.pop()
        for end, offset in ((0, Decimal(0)), (1, width)):
            yield end, 2 + bool(rest), RoundTo(_text(-rest), _text(interval), "floor", _text(rest + offset))


def number_steps(
    texts: Sequence[str], targets: Sequence[str], taken: Sequence[Step]
) -> Iterator[tuple[int, tuple[Step, ...], tuple[str, ...]]]:
    """Yield weight, steps and results of the numbers in the targets that are made of numbers in the texts."""
    wanted = [find_numbers(target) for target in targets]
    n = min(map(len, wanted))
    if not n or n != max(map(len, wanted)) or n > 3:
        return
    for nth in taken:
        numbers = [nth(text) or "" for text in texts]
        if not all(numbers):
            continue
        for end, weight, step in _fit_range(numbers, wanted):
            written = tuple(one[end] for one in wanted)
            if all(step(number) == text for number, text in zip(numbers, written, strict=True)):
                yield nth.weight + abs(nth.index) + weight, (nth, step), written
        for position in range(n):
            written = tuple(one[position] for one in wanted)
            for weight, steps in fit_roundings(numbers, written):
                yield nth.weight + abs(nth.index) + weight, (nth, *steps), written
