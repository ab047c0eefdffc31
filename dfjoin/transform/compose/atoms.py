"""Logical operators: all pieces that make a part of the target out of the input, by enumeration.

A *view* is a part of an input column that is cut out by at most two splits or runs (SplitSplitSubstr of the
paper without its Substring); an *atom* is a view, a slice of one, or a rewritten one, whose result
occurs in the target of every example. Ways that give the same results on all examples are one
atom with alternatives: the learner takes the lightest one, and evaluation on whole columns may exchange it.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter

from dfjoin.programs.characters import CLASSES, pattern_of
from dfjoin.programs.number_operators import NthNumber
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import After, AllRuns, Before, CharacterRun, FromRun, Parts, Slice, Split, UptoRun
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.text_operators import CASES, Case
from dfjoin.transform.compose.likeness import OutputLikeness, marks_beside
from dfjoin.transform.compose.rewritings import GAPS, rewritings
from dfjoin.transform.compose.roundings import number_steps

_MAX_PARTS = 12
"""Parts and runs are counted up to here from either end."""
_MAX_VIEWS = 1500
"""Views of one input column."""
_MAX_SEPARATORS = 12
_RANGES = ((0, 1), (1, 2), (-2, -1), (0, -2), (1, -2), (0, 2), (-3, -1), (-3, -2), (2, -1), (0, -3))
"""First and last parts of stretches."""
_NEAR_RUNS = (0, 1, 2, -1, -2, -3)
"""Runs that stretches begin or end with."""
_MAX_SLICE = 12
"""Characters of a slice whose length is fixed."""
_MAX_ALTERNATIVES = 6
"""Ways that are kept for the same results."""
_MAX_DEEP_ALTERNATIVES = 48
"""Ways that are kept where other rows choose between them,"""
_MAX_EQUAL = 8
"""and how many of them may have one weight."""
_CUT_WORD = 8
"""Weight of a slice that ends inside of a word or a number in every other row, and in no example."""
_MAX_LIKE = 30
"""Other rows on which pieces are compared."""
_WORD = re.compile(r"[A-Za-z0-9\u00c0-\U0010ffff]{2,}")

_NUMBERS = (NthNumber(0), NthNumber(1), NthNumber(-1), NthNumber(0, ","))

Outputs = tuple[str, ...]
_Alternatives = list[tuple[float, Extract]]


@dataclass(slots=True)
class Atom:
    """Text that is part of each target, with the pieces that make it.

    Parameters
    ----------
    outputs : tuple of str
        Its result on each example.
    alternatives : list of (float, Extract)
        The lightest first: weight and piece.
    """

    outputs: Outputs
    alternatives: _Alternatives = field(default_factory=list)

    @property
    def weight(self) -> float:
        """Weight of the lightest piece."""
        return self.alternatives[0][0]

    @property
    def piece(self) -> Extract:
        """The lightest piece."""
        return self.alternatives[0][1]


_weight = itemgetter(0)

# Each step is made once: thousands of them are looked at.
_slice, _split, _character_run = (lru_cache(4096)(operator) for operator in (Slice, Split, CharacterRun))


class _AtomTable:
    """Outputs → atom, each with its lightest pieces; deep: with some pieces of each weight."""

    def __init__(self, is_deep: bool) -> None:
        self.atoms: dict[Outputs, Atom] = {}
        self.is_deep = is_deep

    def add(self, outputs: Outputs, alternatives: _Alternatives, more: float, steps: tuple[Step, ...] = ()) -> bool:
        """Add pieces, the lightest first, with a further weight and further steps; tell whether the outputs are new."""
        atom = self.atoms.get(outputs)
        if atom is None and len(alternatives) == 1:
            ((first, piece),) = alternatives
            self.atoms[outputs] = Atom(outputs, [(first + more, Extract(piece.column, piece.steps + steps))])
            return True
        is_new = atom is None
        if atom is None:
            atom = self.atoms[outputs] = Atom(outputs)
        known = atom.alternatives
        for first, piece in alternatives:
            weight = first + more
            if self.is_deep:
                if (
                    len(known) >= _MAX_DEEP_ALTERNATIVES
                    or sum(alternative[0] == weight for alternative in known) >= _MAX_EQUAL
                ):
                    continue
            elif len(known) >= _MAX_ALTERNATIVES and weight >= known[-1][0]:
                break
            # of equal ones the one found first stays first
            insort(known, (weight, Extract(piece.column, piece.steps + steps)), key=_weight)
            if not self.is_deep:
                del known[_MAX_ALTERNATIVES:]
        return is_new


def _separators(texts: Outputs, is_deep: bool) -> list[str]:
    """List separators of the texts: characters and runs between words, words that all texts share."""
    counts: dict[str, int] = {}
    for text in texts:
        seen: dict[str, None] = {}
        for run in GAPS.findall(text):
            for character in run:
                seen[character] = None
            if 2 <= len(run) <= 6:
                seen[run] = None
                if len(run) > 2:
                    seen[run[:2]] = seen[run[-2:]] = None
        for separator in seen:
            counts[separator] = counts.get(separator, 0) + 1
    common = [s for s, count in counts.items() if 2 * count > len(texts)]
    common.sort(key=lambda s: -len(s))  # of equal pieces the first is kept: the one by the longest separator
    words = []
    for word in dict.fromkeys(_WORD.findall(texts[0])):
        if not all(word in text for text in texts[1:]) or (len(texts) == 1 and len(word) < 4):
            continue
        words.append(_with_neighbours(word, texts))
    return common[: _MAX_SEPARATORS * (1 + is_deep)] + words[: _MAX_SEPARATORS // 2]


def _with_neighbours(word: str, texts: Outputs) -> str:
    """Extend a word that all texts share by the punctuation around it that they share as well."""
    for pattern in (r"(\W{0,4})$", r"^(\W{0,4})"):
        is_left = pattern.endswith("$")
        around = {
            found[0] if (found := re.findall(pattern, text.partition(word)[0 if is_left else 2])) else ""
            for text in texts
        }
        if len(around) == 1:
            piece = around.pop()
            word = piece + word if is_left else word + piece
    return word


def _cuts(texts: Outputs, is_first: bool, is_deep: bool) -> Iterator[tuple[int, Step, Outputs]]:
    """Yield weight, step and results of each split and run that works on all texts."""
    for separator in _separators(texts, is_deep):
        parts = [text.split(separator) for text in texts]
        n = min(len(p) for p in parts)
        extra = 0 if not any(c.isalnum() for c in separator) else 2
        for index in _indices(n, max(len(p) for p in parts)):
            outputs = tuple(p[index] for p in parts)
            if all(outputs):
                yield 2 + extra + abs(index if index >= 0 else index + 1) // 2, _split(separator, index), outputs
        if n > 1 and max(len(p) for p in parts) > 2:
            steps: list[Step] = [After(separator), Before(separator)]
            if is_first and is_deep:
                steps += [Parts(separator, *ends) for ends in _RANGES if n > 2]
            for step in steps:
                outputs = tuple(step(text) or "" for text in texts)
                if all(outputs):
                    yield 3 + extra + (step.operator is Parts), step, outputs
    for kind in ("words", "digits", "letters", "decimals", "capitals") if is_first else ("words", "digits"):
        patterns = _PATTERNS[kind]
        runs = [patterns(text) for text in texts]
        n = min(len(r) for r in runs)
        for index in _indices(n, max(len(r) for r in runs)):
            yield (
                3 + abs(index if index >= 0 else index + 1) // 2,
                _character_run(kind, index),
                tuple(r[index] for r in runs),
            )
        if is_first and is_deep and kind in ("digits", "letters"):
            for index in _NEAR_RUNS:
                if -n <= index < n:
                    for step in (FromRun(kind, index), UptoRun(kind, index)):
                        yield (
                            4 + abs(index if index >= 0 else index + 1) // 2,
                            step,
                            tuple(step(t) or "" for t in texts),
                        )


def _ends(texts: Outputs) -> Iterator[tuple[int, Step, Outputs]]:
    """Yield the texts up to a run of digits or letters."""
    for kind in ("digits", "letters"):
        for index in _NEAR_RUNS:
            outputs = tuple(UptoRun(kind, index)(text) or "" for text in texts)
            if all(outputs):
                yield 4 + abs(index if index >= 0 else index + 1) // 2, UptoRun(kind, index), outputs


def _fields(texts: Outputs) -> Iterator[tuple[int, Step, Outputs]]:
    """Yield the pairs and fours of digits of numbers of one even length: years, months, days, hours."""
    n = len(texts[0])
    if n > 14 or n < 4 or n % 2 or not all(len(text) == n and text.isascii() and text.isdigit() for text in texts):
        return
    for width in (2, 4):
        for start in range(0, n - width + 1, 2):
            yield 4, Slice(start, start + width), tuple(text[start : start + width] for text in texts)


def _indices(n: int, longest: int) -> Iterable[int]:
    """Indices that exist in all examples, from the start and from the end."""
    if n == longest == 1:
        return (0,) if n else ()
    near = range(min(n, _MAX_PARTS))
    return (*near, *(-1 - i for i in near))


def _pattern(kind: str) -> Callable[[str], list[str]]:
    return re.compile(pattern_of(kind) + "+").findall


_PATTERNS = {kind: _pattern(kind) for kind in CLASSES}


def _views(rows: Sequence[tuple[str, ...]], is_deep: bool, contains: Callable[[Outputs], bool]) -> _AtomTable:
    """Find the parts of the input columns that one or two cuts make; deep: those in the targets by three cuts, too."""
    found = _AtomTable(is_deep)
    n_columns = len(rows[0])
    frontier: list[tuple[int, Extract, Outputs]] = []
    for column in range(n_columns):
        texts = tuple(row[column] for row in rows)
        if all(texts) and found.add(texts, [(1, Extract(column))], 0):
            frontier.append((1, Extract(column), texts))
    for depth in range(3 if is_deep else 2):
        ahead: list[tuple[int, Extract, Outputs]] = []
        for weight, piece, texts in frontier:
            if len(found.atoms) > _MAX_VIEWS * n_columns * (1 + (depth > 1)):
                break
            ends = _ends(texts) if is_deep and depth == 1 and piece.steps[-1].operator is FromRun else ()
            for more, step, outputs in (*_cuts(texts, depth == 0, is_deep), *_fields(texts), *ends):
                if (outputs == texts and not is_deep) or (depth > 1 and not contains(outputs)):
                    continue
                if found.add(outputs, [(weight, piece)], more, (step,)):
                    ahead.append((weight + more, found.atoms[outputs].piece, outputs))
        frontier = ahead
    return found


def _slices(texts: Outputs, targets: Outputs, is_deep: bool) -> Iterator[tuple[int, Step, Outputs]]:
    """Yield weight, slice and results of the slices of a view that occur in all targets, which are in small letters."""
    shortest = min(len(text) for text in texts)
    longest = max(len(text) for text in texts)

    def cut(start: int, stop: int | None) -> Outputs | None:
        outputs = []
        for text, target in zip(texts, targets, strict=True):
            out = text[start:stop]
            if out.lower() not in target:
                return None
            outputs.append(out)
        return tuple(outputs)

    for stop in range(1, min(longest, _MAX_SLICE)):
        if (outputs := cut(0, stop)) is None:
            break
        yield 2 + (stop > 1), _slice(0, stop), outputs
    for start in range(1, min(longest, _MAX_SLICE)):
        if (outputs := cut(-start, None)) is None:
            break
        yield 3 + (start > 1), _slice(-start, None), outputs
    for start in range(0, 1 if is_deep else 5):
        for end in range(0, 5):
            if 0 < start + end < shortest and (outputs := cut(start, -end or None)) is not None:
                yield 4 + (start > 1) + (end > 1), _slice(start, -end or None), outputs
    if is_deep:
        return
    for start in range(1, min(shortest, 24)):
        for stop in range(start + 1, min(shortest, start + _MAX_SLICE) + 1):
            if (outputs := cut(start, stop)) is None:
                break
            yield 5, _slice(start, stop), outputs


def _run_steps(steps: tuple[Step, ...], text: str) -> str | None:
    """Return what steps, one after the other, make of a text."""
    result: str | None = text
    for step in steps:
        result = step(result) if result else None
    return result


class _Collector:
    """The atoms found so far, and what they have to be part of."""

    def __init__(self, targets: Outputs, is_exact: bool, is_deep: bool) -> None:
        self.targets = targets
        self.lowered = tuple(target.lower() for target in targets)
        self.is_exact = is_exact
        self.found = _AtomTable(is_deep)

    def contains(self, outputs: Outputs) -> bool:
        """Tell whether the outputs occur in the targets, casing left aside."""
        for out, target in zip(outputs, self.lowered, strict=True):  # noqa: SIM110 - half the time of `all`
            if out.lower() not in target:
                return False
        return True

    def offer(self, outputs: Outputs, alternatives: _Alternatives, weight: float, steps: tuple[Step, ...]) -> None:
        """Add the outputs of some pieces and further steps, in every casing that occurs in the targets."""
        if not any(map(str.isalnum, outputs[0])) and not (steps and steps[-1].operator is AllRuns):
            return
        if not self.is_exact:
            self.found.add(tuple(out.lower() for out in outputs), alternatives, weight, steps)
            return
        for style in (None, *CASES):
            made = outputs if style is None else tuple(Case(style)(out) or "" for out in outputs)
            is_new = style is None or made != outputs
            if is_new and all(out in target for out, target in zip(made, self.targets, strict=True)):
                more = steps if style is None else (*steps, Case(style))
                self.found.add(made, alternatives, weight + (style is not None), more)


def find_atoms(
    rows: Sequence[tuple[str, ...]], targets: Outputs, *, is_exact: bool, computes: bool = True, is_deep: bool = False
) -> list[Atom]:
    """Find every atom: outputs that occur in all targets, with the pieces that make them.

    Parameters
    ----------
    rows : sequence of tuple of str
        The input columns of each example; an empty text where a value is missing.
    targets : tuple of str
        The wanted result of each.
    is_exact : bool
        False: casing does not matter, and `targets` are in small letters.
    computes : bool, default True
        Whether numbers may be computed of numbers.
    is_deep : bool, default False
        Whether more pieces are looked for and kept: stretches of parts, from a run on and up to a run, three cuts.
        Other rows show which piece is right.

    Returns
    -------
    list of Atom
        In the order of their discovery, which depends on the examples alone.

    Notes
    -----
    Source: Auto-Join (thesis, section 4.4.2), FindNextBestLogicalOp over Substr, SplitSubstr and
    SplitSplitSubstr. Additions: separators of any length and shared words, what stands before or after one,
    runs of a class, and the steps of `dfjoin.programs.text_operators`, `numeric` and `lookup`. Parts are
    counted up to 12 from either end.
    """
    collector = _Collector(targets, is_exact, is_deep)
    for atom in _views(rows, is_deep, collector.contains).atoms.values():
        is_contained = collector.contains(atom.outputs)
        if is_contained:
            collector.offer(atom.outputs, atom.alternatives, 0, ())
        depth = len(atom.piece.steps)
        for more, step, outputs in _slices(atom.outputs, collector.lowered, depth > 1):
            collector.offer(outputs, atom.alternatives[: 8 if is_deep else 3], more, (step,))
        if computes and depth < 2 and any(map(str.isdigit, atom.outputs[0])):
            for more, steps, made in number_steps(atom.outputs, targets, _NUMBERS[: 1 if depth else None]):
                collector.offer(made, atom.alternatives[:2], more, steps)
        if depth > 1 or (is_contained and not is_deep and not any(map(str.isdigit, atom.outputs[0]))):
            continue
        for steps in rewritings(atom.outputs, targets, computes=computes, is_deep=is_deep and depth < 2):
            first = _run_steps(steps, atom.outputs[0])
            if not first or first.lower() not in collector.lowered[0]:
                continue
            made = tuple(_run_steps(steps, text) or "" for text in atom.outputs)
            if (made != atom.outputs or is_deep) and all(made) and collector.contains(made):
                collector.offer(made, atom.alternatives[:2], 1 + sum(step.weight for step in steps), steps)
    return list(collector.found.atoms.values())


def weigh_by_inputs(
    atoms: list[Atom], rows: Sequence[tuple[str, ...]], inputs: Sequence[tuple[str, ...]], *, is_exact: bool
) -> None:
    """Add to the weight of each piece what its results on other rows show, and put the lightest first.

    Parameters
    ----------
    atoms : list of Atom
        Changed in place.
    rows : sequence of tuple of str
        Those of the examples.
    inputs : sequence of tuple of str
        Rows without an example; at most 30 are looked at, spread over all.
    is_exact : bool
        Whether casing matters.
    """
    others = inputs[:: max(1, len(inputs) // _MAX_LIKE)][:_MAX_LIKE]
    n = len(rows)
    known = [*rows, *others]
    done: dict[tuple[int, tuple[Step, ...]], list[str | None]] = {}

    def results(column: int, steps: tuple[Step, ...]) -> list[str | None]:
        key = (column, steps)
        if key not in done:
            if steps:
                before = results(column, steps[:-1])
                done[key] = [(steps[-1](text) or None) if text else None for text in before]
            else:
                done[key] = [row[column] for row in known]
        return done[key]

    new = marks_beside(rows, others)
    for atom in atoms:
        likeness = OutputLikeness(atom.outputs)
        weighed = []
        for weight, piece in atom.alternatives:
            made = results(piece.column, piece.steps)[n:]
            penalty = likeness.penalty(made if is_exact else [text and text.lower() for text in made], new)
            for position, step in enumerate(piece.steps):
                if step.operator is Slice:
                    cut = [_cuts_word(text, step) for text in results(piece.column, piece.steps[:position])]
                    penalty += 0 if any(cut[:n]) else _CUT_WORD * sum(cut[n:]) / (len(others) + 1)
            weighed.append((weight + round(penalty, 2), piece))
        atom.alternatives = sorted(weighed, key=lambda alternative: alternative[0])


def _cuts_word(text: str | None, step: Step) -> bool:
    """Tell whether a slice ends between two digits or two letters."""
    if not text:
        return False
    start, stop, _ = slice(step.start, step.stop).indices(len(text))
    ends = [text[i - 1 : i + 1] for i in (start, stop) if 0 < i < len(text)]
    return any(two.isdigit() or two.isalpha() for two in ends)
