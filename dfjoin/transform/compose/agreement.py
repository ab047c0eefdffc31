"""How sure a taught program is: what the other programs that explain its examples make of other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dfjoin.programs.conditions import Condition, is_shape, shape_of
from dfjoin.programs.confidence import MAX_ALTERNATIVES, MAX_FORMS, Alternative, Confidence
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import make_text

_LEVEL = 0.7
"""Confidence below which a result is null."""
_BASE = -1.82
_MARGIN = 0.28
"""Log-odds of each unit of weight by which the likeliest program with another result is less likely,"""
_MOST_MARGIN = 8.0
"""up to so many units,"""
_KNOWN_FORM = 1.2
"""of a row that has the form of an example,"""
_WEIGHT = -0.1
"""of each unit of the weight of the program,"""
_BRANCH = -2.6
"""of each condition by which the examples are distinguished,"""
_RESULTS = 1.07
"""of each doubling of the number of different results that were taught,"""
_CHARACTERS = 0.64
"""and of the logarithm of their characters."""
_MAX_PROGRAMS = 60
"""Ways that are compared,"""
_MAX_ROWS = 60
"""and rows on which they are."""
_DIGITS = 4
_MAX_LOG_ODDS = 20.0

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WeighedProgram:
    """A program that makes the results of some examples.

    Parameters
    ----------
    weight : float
        Less for a likelier one.
    program : Program
    """

    weight: float
    program: Program


@dataclass(frozen=True, slots=True)
class Taught:
    """What was taught, over the columns of a program.

    Parameters
    ----------
    examples : sequence of tuple of str
        Inputs of the examples, a text for each column of the program.
    targets : sequence of str
        The result of each.
    explained : sequence of tuple of str
        The examples that the program explains: their results are certain.
    inputs : sequence of tuple of str
        Other rows; programs that make the same of all of them are one.
    """

    examples: Sequence[Row]
    targets: Sequence[str]
    explained: Sequence[Row]
    inputs: Sequence[Row]


def confidence_of(
    program: Program, candidates: Sequence[WeighedProgram], n_branches: int, taught: Taught
) -> Confidence:
    """Return how sure a program is of its results.

    Parameters
    ----------
    program : Program
    candidates : sequence of WeighedProgram
        Ways to make the results of the examples that the program explains; the program itself is one, as likely as the
        likeliest of them if it is not among them. Those over further columns than the program's disagree on every row.
    n_branches : int
        Programs beside this one that were needed to explain all examples.
    taught : Taught

    Returns
    -------
    Confidence

    Notes
    -----
    The log-odds of a result are a sum: 0.28 for each unit of weight by which the likeliest program with another result
    weighs more than the likeliest program, up to 8 units; 1.2 if its row has the form (`shape_of`) of an example; -0.1
    times the weight of the likeliest program; -2.6 for each further branch; 1.07 times the binary logarithm of the
    number of different results that were taught, and 0.64 times the natural one of their characters; and -1.82.
    Coefficients and level are those of a logistic regression over the results of 343 tasks with two and three
    examples, each task with one weight, validated in five folds by task and by set, and rounded
    (docs/measurements/joins.md, "Teaching by examples").
    """
    candidates = sorted(candidates, key=lambda weighed: weighed.weight)[:_MAX_PROGRAMS]
    least = candidates[0].weight if candidates else 0.0
    rows = taught.inputs[:: max(1, -(-len(taught.inputs) // _MAX_ROWS))]
    own = _results(program, rows)
    most = _MOST_MARGIN
    others: dict[tuple[str | None, ...] | int, WeighedProgram] = {}
    for number, weighed in enumerate(candidates):
        if not set(weighed.program.columns) <= set(program.columns):
            most = min(most, weighed.weight - least)
        elif weighed.program.pieces != program.pieces or weighed.program.columns != program.columns:
            moved = _over_columns(weighed.program, program.columns)
            made = _results(moved, rows)
            if not rows or made != own:
                others.setdefault(made if rows else number, WeighedProgram(weighed.weight - least, moved))
    base = _BASE + _MARGIN * most + _WEIGHT * least + _BRANCH * n_branches
    results = set(taught.targets)
    base += _RESULTS * math.log2(len(results)) + _CHARACTERS * math.log1p(sum(map(len, results)))
    kept = [one for one in others.values() if one.weight < most][:MAX_ALTERNATIVES]
    confidence = Confidence(
        round(max(base, -_MAX_LOG_ODDS), _DIGITS),
        tuple(Alternative(one.program.pieces, round(_MARGIN * (one.weight - most), _DIGITS)) for one in kept),
        _forms_of(taught.examples),
        _KNOWN_FORM,
        _LEVEL,
    )
    explained = list(dict.fromkeys(taught.explained))
    pairs = zip(_results(program, explained), explained, strict=True)
    unsure = tuple(row for text, row in pairs if text is not None and not confidence.keeps(text, row))
    return replace(confidence, known=unsure)


def _results(program: Program, rows: Sequence[Row]) -> tuple[str | None, ...]:
    """Return what the pieces of a program make of rows over its columns, its conditions left aside."""
    return tuple(make_text(program.pieces, row) for row in rows)


def _over_columns(program: Program, columns: tuple[str, ...]) -> Program:
    """Write a program over more columns, in another order."""
    positions = {number: columns.index(name) for number, name in enumerate(program.columns)}
    return Program(columns, tuple(piece.moved(positions) for piece in program.pieces))


def _forms_of(examples: Sequence[Row]) -> tuple[tuple[Condition, ...], ...]:
    """Return the forms of some rows, those of long texts left out."""
    forms = dict.fromkeys(tuple(map(shape_of, row)) for row in examples)
    return tuple(
        tuple(Condition(column, "shape", shape) for column, shape in enumerate(form))
        for form in forms
        if all(map(is_shape, form))
    )[:MAX_FORMS]
