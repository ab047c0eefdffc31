"""How sure a taught program is: what the other ways to explain its examples make of other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dfjoin.programs.conditions import Condition, is_shape, shape_of
from dfjoin.programs.confidence import MAX_ALTERNATIVES, MAX_FORMS, Alternative, Confidence
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import make_text

__all__ = ["Way", "confidence_of"]

_LEVEL = 0.7
"""Confidence below which a result is null."""
_SHARPNESS = 0.6
"""How fast the share of a way falls with its weight."""
_AGREED = 2.5
"""Log-odds of a result that all ways agree on,"""
_KNOWN_FORM = 1.0
"""of a row that has the form of an example,"""
_WEIGHT = -0.08
"""of each unit of the weight of the program,"""
_BRANCH = -2.0
"""and of each condition by which the examples are told apart."""
_MAX_WAYS = 60
"""Ways that are compared,"""
_MAX_ROWS = 60
"""and rows on which they are."""
_MIN_SHARE = 0.01
"""Share from which an alternative is kept."""
_DIGITS = 4
_MAX_LOG_ODDS = 20.0

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A program that makes the results of some examples.

    Parameters
    ----------
    weight : float
        Less for a likelier one.
    program : Program
    """

    weight: float
    program: Program


def confidence_of(
    program: Program,
    ways: Sequence[Way],
    n_branches: int,
    examples: Sequence[Row],
    inputs: Sequence[Row],
    explained: Sequence[Row],
) -> Confidence:
    """Return how sure a program is of its results.

    Parameters
    ----------
    program : Program
    ways : sequence of Way
        Ways to make the results of the examples that the program explains; the program itself is one, as likely as the
        likeliest of them if it is not among them. Those over further columns than the program's only lower the share
        of the others.
    n_branches : int
        Programs beside this one that were needed to explain all examples.
    examples : sequence of tuple of str
        Inputs of the examples, a text for each column of the program.
    inputs : sequence of tuple of str
        Other rows; ways that make the same of all of them are one.
    explained : sequence of tuple of str
        The examples that the program explains: no result of theirs is below the level.

    Returns
    -------
    Confidence

    Notes
    -----
    A way of weight w has a share in proportion to ``exp(-0.6 w)``. The log-odds of a result are 2.5 times the share of
    the ways that agree on it, 1 if its row has the form (`shape_of`) of an example, -0.08 times the weight of the
    likeliest way, and -2 for each further branch. Coefficients and level are those of a logistic regression over the
    results of 343 tasks with two and three examples, each task with one weight, validated in five folds by task and
    rounded (docs/measurements/joins.md, "Teaching by examples").
    """
    ways = sorted(ways, key=lambda way: way.weight)[:_MAX_WAYS]
    if not any(way.program.pieces == program.pieces and way.program.columns == program.columns for way in ways):
        ways.insert(0, Way(ways[0].weight if ways else 0.0, program))
    least = ways[0].weight if ways else 0.0
    masses = [math.exp(-_SHARPNESS * (way.weight - least)) for way in ways]
    total = sum(masses)
    rows = inputs[:: max(1, -(-len(inputs) // _MAX_ROWS))]
    own = _results(program, rows)
    agreed = 0.0
    others: dict[tuple[str | None, ...] | int, tuple[float, Program]] = {}
    for number, (way, mass) in enumerate(zip(ways, masses, strict=True)):
        if way.program.pieces == program.pieces and way.program.columns == program.columns:
            agreed += mass / total
        elif set(way.program.columns) <= set(program.columns):
            moved = _over_columns(way.program, program.columns)
            made = _results(moved, rows)
            if rows and made == own:
                agreed += mass / total
            else:
                share, first = others.get(made if rows else number, (0.0, moved))
                others[made if rows else number] = (share + mass / total, first)
    likeliest = sorted(others.values(), key=lambda one: -one[0])[:MAX_ALTERNATIVES]
    kept = [(share, one) for share, one in likeliest if share >= _MIN_SHARE]
    base = _AGREED * agreed + _WEIGHT * least + _BRANCH * n_branches
    confidence = Confidence(
        round(max(base, -_MAX_LOG_ODDS), _DIGITS),
        tuple(Alternative(one.pieces, round(_AGREED * share, _DIGITS)) for share, one in kept),
        _forms_of(examples),
        _KNOWN_FORM,
        _LEVEL,
    )
    own_results = zip(_results(program, explained), explained, strict=True)
    least_sure = min((confidence.probability(text, row) for text, row in own_results if text is not None), default=1.0)
    return replace(confidence, level=min(_LEVEL, math.floor(least_sure * 10**_DIGITS) / 10**_DIGITS))


def _results(program: Program, rows: Sequence[Row]) -> tuple[str | None, ...]:
    """Return what the pieces of a program make of rows over its columns, its conditions left aside."""
    return tuple(make_text(program.pieces, row) for row in rows)


def _over_columns(program: Program, columns: tuple[str, ...]) -> Program:
    """Write a program over more columns, in another order."""
    places = {number: columns.index(name) for number, name in enumerate(program.columns)}
    return Program(columns, tuple(piece.moved(places) for piece in program.pieces))


def _forms_of(examples: Sequence[Row]) -> tuple[tuple[Condition, ...], ...]:
    """Return the forms of some rows, those of long texts left out."""
    forms = dict.fromkeys(tuple(map(shape_of, row)) for row in examples)
    return tuple(
        tuple(Condition(column, "shape", shape) for column, shape in enumerate(form))
        for form in forms
        if all(map(is_shape, form))
    )[:MAX_FORMS]
