"""Programs that compute one result of two columns: ages, durations between two dates or times, sums, differences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from dfjoin.programs.combinations import MOMENT_KINDS, NUMBER_KINDS
from dfjoin.programs.number_operators import Linear
from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant, Extract, Piece
from dfjoin.programs.quantities import Quantity
from dfjoin.programs.time_operators import ReadTime
from dfjoin.transform.compose.compose import constant_weight
from dfjoin.transform.compose.computations import steps_of_numbers
from dfjoin.transform.compose.moments import reading_orders

_WEIGHT = 6.0
"""Weight of what is computed from two columns,"""
_STEP_WEIGHT = 2.0
"""and of each step after it."""
_MAX_READINGS = 2
"""Orders of day and month that are tried."""
_MAX_COLUMNS = 5
_MAX_TEXT = 40
"""Characters of a date or a number."""
_PLAIN = re.compile("-?[0-9]{1,12}(?:[.][0-9]{1,6})?")


class CombinedColumns(NamedTuple):
    """A program of two columns, and its weight: less for a likelier one."""

    program: Program
    weight: float


def learn_combined(
    names: Sequence[str], rows: Sequence[Sequence[str]], targets: Sequence[str], inputs: Sequence[Sequence[str]]
) -> list[CombinedColumns]:
    """Learn programs that make every target of two columns of its row.

    Parameters
    ----------
    names : sequence of str
        Names of the columns; the first five are looked at.
    rows : sequence of sequence of str
        Input of each example.
    targets : sequence of str
        The result of each.
    inputs : sequence of sequence of str
        Other rows, which tell the order of day and month.

    Returns
    -------
    list of CombinedColumns
        Empty below two examples with different targets, which anything may explain.

    Notes
    -----
    Both columns are read as dates or times, or as numbers; each kind of `combinations.COMBINATIONS` is computed, and
    its results are looked for in the targets, as they are, rounded or written as durations, with the same text before
    and behind in all. O(columns² × examples).
    """
    if len(set(targets)) < 2 or not all(targets):
        return []
    columns = range(min(len(names), _MAX_COLUMNS))
    read = {column: list(_readings(column, rows, inputs)) for column in columns}
    found: list[CombinedColumns] = []
    for one, other in permutations(columns, 2):
        for kinds, first in read[one]:
            for second in [second for others, second in read[other] if others is kinds]:
                for kind in kinds if kinds is MOMENT_KINDS or one < other else kinds[1:]:
                    found += _programs(names, Combined(kind, first, second), rows, targets)
    return sorted(found, key=lambda one: (one.weight, str(one.program)))


def _readings(
    column: int, rows: Sequence[Sequence[str]], inputs: Sequence[Sequence[str]]
) -> Iterator[tuple[tuple[str, ...], Extract]]:
    """Yield the readings of a column, each with the kinds of what may be computed of it."""
    texts = [row[column] for row in rows]
    if not all(0 < len(text) <= _MAX_TEXT and any(map(str.isdigit, text)) for text in texts):
        return
    number = number_reading(texts)
    if number is not None:
        yield NUMBER_KINDS, Extract(column, number)
    others = [row[column] for row in inputs if row[column]]
    for reading in reading_orders([*texts, *others])[:_MAX_READINGS]:
        step = ReadTime(reading)
        if all(map(step, texts)):
            yield MOMENT_KINDS, Extract(column, (step,))


def number_reading(texts: Sequence[str]) -> tuple[Step, ...] | None:
    """Return the steps that read some texts as plain decimals; None if they are no numbers."""
    if all(map(_PLAIN.fullmatch, texts)):
        return ()
    step = Quantity("number")
    return (step,) if all(_PLAIN.fullmatch(step(text) or "") for text in texts) else None


def _programs(
    names: Sequence[str], piece: Combined, rows: Sequence[Sequence[str]], targets: Sequence[str]
) -> Iterator[CombinedColumns]:
    """Yield programs that write what a piece computes, or numbers made of it, between constants."""
    numbers = [piece(row) or "" for row in rows]
    if not all(numbers):
        return
    for steps in [(), *(steps for steps in steps_of_numbers(numbers, targets) if all(map(_keeps_size, steps)))]:
        made = [Combined(piece.kind, piece.first, piece.second, steps)(row) or "" for row in rows]
        ends = _ends(made, targets)
        if ends is None:
            continue
        columns = sorted(piece.columns)
        positions = {column: position for position, column in enumerate(columns)}
        moved = Combined(piece.kind, piece.first, piece.second, steps).moved(positions)
        pieces: list[Piece] = [Constant(text) if isinstance(text, str) else text for text in (ends[0], moved, ends[1])]
        program = Program(tuple(names[i] for i in columns), tuple(p for p in pieces if p != Constant("")))
        weight = _WEIGHT + _STEP_WEIGHT * len(steps) + sum(constant_weight(text) for text in ends if text)
        yield CombinedColumns(program, weight)


def _keeps_size(step: Step) -> bool:
    """Tell whether a step only writes a number otherwise: a line can be laid through any two numbers."""
    return step.operator is not Linear or (step.scale, step.offset) == ("1", "0")


def _ends(made: Sequence[str], targets: Sequence[str]) -> tuple[str, str] | None:
    """Return what all targets have before and behind the result, None if it is not the same."""
    if not all(made):
        return None
    found = set()
    for text, target in zip(made, targets, strict=True):
        match = re.fullmatch(rf"(.*?(?<![0-9.-])){re.escape(text)}((?![0-9]|[.][0-9]).*)", target, re.DOTALL)
        if match is None:
            return None
        found.add((match[1], match[2]))
    return found.pop() if len(found) == 1 else None
