"""Relating columns of numbers: equal quantities, bases, roundings, and lines y = a x + b, with no pairs known."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.programs.number_operators import Round
from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.compose.linear import fit_linear
from dfjoin.transform.evidence.chance import MIN_BITS, MIN_PRECISION, evidence_bits, matching_bits
from dfjoin.transform.evidence.line_chance import Line, tolerance
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.sorted_numbers import SortedNumbers
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import MIN_COVERAGE, MIN_SCORE, AcceptedPrograms, shares_of
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.sides import DIRECTIONS, Direction, SampledTable
from dfjoin.transform.relations.linear_search import search_lines
from dfjoin.transform.relations.number_columns import NumberReading, read_numbers
from dfjoin.values.shares import KEY_UNIQUENESS

_MAX_COLUMN_PAIRS = 60
_LARGE = 100_000
"""Rows from which columns that are not named are related by known units alone, if samples of them show it."""
_FITTED = 40
"""Pairs of numbers that constants are fitted to."""
_FEW = 1000
"""Results up to which round ones are left out; among more they do not count."""
_NUMBER = re.compile("-?[0-9]+([.][0-9]+)?")
_MIN_BITS_GIVEN = 6.0
"""Least evidence where both columns are given, so that few others were looked at: chance below 1 in 64."""
_MAX_CHANCE = (0.75, 0.75, 0.5)
"""Chance of a hit from which a grid is too dense for evidence, by the numbers that a line is laid through."""
_FALLING_SCORE = 1.4
"""Sum of the shares of both columns that a falling line must join: complements, as chances of winning and losing, are
found within one column. Nor may most of the other numbers have their complements in their own column."""


@dataclass(frozen=True)
class NumericOutcome(Outcome):
    """The join by a numeric program, with the chance of numbers in place of that of texts.

    Parameters
    ----------
    line_chance : float
        Probability that a result is a number of the target by chance, see `linear_search.chance_of_line`.
    line_bits : float
        Evidence against chance, minus the bits of the choice among all lines, readings and columns.
    """

    line_chance: float = 1.0
    line_bits: float = 0.0

    @cached_property
    def chance(self) -> float:
        """Probability that a result is a target value by chance."""
        return self.line_chance

    @cached_property
    def bits(self) -> float:
        """Evidence against chance in bits, minus those of the choice."""
        return self.line_bits


class _NumberPair(NamedTuple):
    """One column of numbers of either table, and what the search among columns costs in bits."""

    direction: Direction
    table: list[Column]
    source: NumberReading
    target: NumberReading
    is_fixed: bool
    position: int
    cost: float


def relate_numbers(
    sides: tuple[SampledTable, SampledTable], rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Find programs that make the numbers of one column of those of another, with no pairs known.

    Parameters
    ----------
    sides : tuple of SampledTable
    rng : numpy Generator
    tried : list of str
        A line is added for the best program of each pair of columns that is not accepted.

    Returns
    -------
    list of AcceptedPrograms
        At most one for each pair of columns and direction.

    Notes
    -----
    Of each pair of columns, both read as numbers (`number_columns`), the lines that carry most numbers to numbers
    are looked for (`linear_search`), their constants are fitted to the last digit (`linear.fit_linear`), and the
    program is evaluated on all rows. It is accepted by the evidence against chance: results and numbers of the target
    agree to the last digit more often than the density of the target and other lines through the same numbers let
    expect, by 10 bits more than it takes to single out the line, the readings and the columns. Grids that
    are nearly full, as row numbers or years, give no evidence. Numbers of another base are related as they are,
    not shifted.
    """
    found: list[AcceptedPrograms] = []
    is_large = max((len(column) for side in sides for column in side.columns), default=0) > _LARGE
    if is_large and not all(side.given for side in sides):
        sides = _keep_promising(sides, rng)
    for pair in _pairs(sides):
        accepted = _relate_pair(pair, rng, tried)
        if accepted is not None:
            found.append(accepted)
            if accepted.quality > 2 * FULL_COVERAGE:
                break
    return found


def _pairs(sides: tuple[SampledTable, SampledTable]) -> Iterator[_NumberPair]:
    """Yield the pairs of columns of numbers; the target is given, the only column, or nearly a key."""
    readings = [_readings(side) for side in sides]
    if not all(readings):
        return
    pairs = []
    for direction, (own, other) in zip(DIRECTIONS, ((0, 1), (1, 0)), strict=True):
        source, target = sides[own], sides[other]
        is_fixed = source.is_key_fixed and target.is_key_fixed
        positions = [source.position(mine.column.name) for mine in readings[own]]
        for theirs in readings[other]:
            if not target.is_key_fixed and theirs.column.uniqueness < KEY_UNIQUENESS:
                continue
            position = target.position(theirs.column.name)
            for mine, own_position in zip(readings[own], positions, strict=True):
                pairs.append((own_position + position, direction, source.columns, mine, theirs, is_fixed))
    pairs.sort(key=lambda entry: (entry[3].cost + entry[4].cost, entry[0], entry[1]))
    cost = math.log2(len(pairs)) if pairs else 0.0
    for position, direction, table, mine, theirs, is_fixed in pairs[:_MAX_COLUMN_PAIRS]:
        yield _NumberPair(direction, table, mine, theirs, is_fixed, position, cost)


def _keep_promising(
    sides: tuple[SampledTable, SampledTable], rng: np.random.Generator
) -> tuple[SampledTable, SampledTable]:
    """Keep the columns of large tables whose samples are related by known units."""
    own, theirs = ([reading for column in side.sample for reading in read_numbers(column)] for side in sides)
    kept: tuple[set[str], set[str]] = set(), set()
    for mine, other in itertools.islice(itertools.product(own, theirs), _MAX_COLUMN_PAIRS):
        for line in search_lines(mine.numbers, other.numbers, rng, is_known=True):
            if line.bits >= 2 * MIN_BITS:
                kept[0].add(mine.column.name)
                kept[1].add(other.column.name)
    return tuple(  # type: ignore[return-value]
        replace(side, columns=[column for column in side.columns if column.name in names])
        for side, names in zip(sides, kept, strict=True)
    )


def _readings(side: SampledTable) -> list[NumberReading]:
    """Read the columns that may take part as numbers."""
    if len(side.given) > 1:
        return []
    columns = [column for column in side.columns if not side.given or column.name in side.given]
    return [reading for column in columns for reading in read_numbers(column)]


def _relate_pair(pair: _NumberPair, rng: np.random.Generator, tried: list[str]) -> AcceptedPrograms | None:
    """Accept the program with most evidence of one pair of columns."""
    if len(pair.source.numbers) > _FEW and _is_full(pair.target.numbers):
        return None  # the density of the target alone explains whatever a line meets there
    best: NumericOutcome | None = None
    chosen: Line | None = None
    for line in search_lines(pair.source.numbers, pair.target.numbers, rng):
        if line.bits <= 0 and len(pair.source.numbers) > _FEW:
            continue  # the rows need not be read for what chance explains
        if not line.is_same and (pair.source.has_base or pair.target.has_base):
            continue  # codes in sequence, as A0001 and B0001, are shifted numbers of base 16
        for steps in _steps(line, pair.source, pair.target):
            outcome = _evaluate(pair, line, steps)
            if best is None or (outcome.bits, outcome.n_joined) > (best.bits, best.n_joined):
                best, chosen = outcome, line
            if outcome.bits > 4 * MIN_BITS and outcome.score >= 2 * FULL_COVERAGE:
                break  # other forms of the same numbers join no more
        if best is not None and best.bits > 4 * MIN_BITS:
            break
    if best is None or chosen is None:
        return None
    target = pair.target.program
    reason = _reason_against(best, pair, chosen)
    if reason:
        tried.append(f"{best.program} = {target}: {reason}")
        return None
    columns = ColumnPair(pair.table, pair.source.column, pair.target.column, no_pairs())
    uniqueness = pair.target.column.uniqueness
    return AcceptedPrograms(pair.direction, columns, target, [best], pair.position, uniqueness, shares_of([best]))


def _is_full(numbers: SortedNumbers) -> bool:
    """Tell whether whole numbers take up all of their grid, as row numbers do: their density is 1 around any result."""
    values, step = numbers.values, numbers.step
    return step.is_integer() and bool((np.rint(values) == values).all() and (np.diff(values) <= step).all())


def _reason_against(outcome: NumericOutcome, pair: _NumberPair, line: Line) -> str:
    """Return why a program is not accepted, an empty text if it is."""
    least_bits = _MIN_BITS_GIVEN if pair.is_fixed else MIN_BITS
    if outcome.bits < least_bits:
        return f"chance may explain it ({outcome.bits:.0f} bits of evidence, {least_bits:.0f} needed)"
    if outcome.chance > _MAX_CHANCE[line.n_free]:
        return f"chance may explain it (the numbers lie so close that {outcome.chance:.0%} of any would meet one)"
    is_free = pair.is_fixed and line.cost == 0
    least, both = (0.0, 0.0) if is_free else (MIN_COVERAGE, MIN_SCORE)
    if line.scale < 0:
        both = _FALLING_SCORE
    if max(outcome.source_coverage, outcome.target_coverage) < least or outcome.score < both:
        return f"joins {outcome.source_coverage:.0%} and {outcome.target_coverage:.0%} of the values"
    if outcome.precision < MIN_PRECISION:
        return f"estimated precision {outcome.precision:.2f}, {MIN_PRECISION} needed"
    if line.scale < 0 and _is_within_columns(line, pair):
        return "relates the numbers of one column to one another as well"
    return ""


def _is_within_columns(line: Line, pair: _NumberPair) -> bool:
    """Tell whether a line carries most numbers that it does not carry to the other column to numbers of their own."""
    n_left = n_met = 0
    for side, carried in ((pair.source.numbers, line.left), (pair.target.numbers, line.right)):
        is_left = np.ones(len(side), bool)
        is_left[carried] = False
        numbers = side.values[is_left]
        is_source = side is pair.source.numbers
        results = line.scale * numbers + line.offset if is_source else (numbers - line.offset) / line.scale
        at = side.nearest(results)
        n_met += int((np.abs(results - side.values[at]) <= tolerance(side, at, results, line.n_free)).sum())
        n_left += numbers.size
    return 2 * n_met > n_left


def _steps(line: Line, source: NumberReading, target: NumberReading) -> list[tuple[Step, ...]]:
    """List the steps that a line may be, fitted to the numbers that it carries to one another."""
    if line.left.size < 2:
        return []
    texts, targets = _examples(line, source, target)
    if line.is_same:
        if all(map(_is_same, texts, targets)):
            return [()] if source.steps or target.steps else []  # plain numbers are equal as texts
        return [(Round(digits),) for digits in range(7) if _rounds_to(texts, targets, Round(digits))]
    return [(step,) for step in fit_linear(texts, targets)]


def _is_same(one: str | None, other: str) -> bool:
    """Tell whether two texts are one number; zeros at the end do not matter."""
    return one is not None and Decimal(one) == Decimal(other)


def _rounds_to(texts: list[str], targets: list[str], step: Step) -> bool:
    """Tell whether numbers are others, rounded."""
    return all(map(_is_same, map(step, texts), targets))


def _examples(line: Line, source: NumberReading, target: NumberReading) -> tuple[list[str], list[str]]:
    """Choose pairs of numbers that a line carries to one another, the ends and others in between."""
    _, first = np.unique(line.right, return_index=True)
    chosen = first[np.unique(np.linspace(0, first.size - 1, min(_FITTED, first.size)).astype(np.int64))]
    texts = source.texts.take(line.left[chosen]).to_pylist()
    return texts, target.texts.take(line.right[chosen]).to_pylist()


def _evaluate(pair: _NumberPair, line: Line, steps: tuple[Step, ...]) -> NumericOutcome:
    """Evaluate the steps of a line on all rows."""
    source, target = pair.source, pair.target
    program = Program((source.column.name,), (Extract(0, (*source.steps, *steps)),))
    values = target.column.values
    if target.steps:
        values = Column(str(target.program), target.program.apply([target.column.array])).values
    plain = evaluate(program, [source.column], source.column, values)
    known = {field.name: getattr(plain, field.name) for field in fields(plain)}
    bits = _evidence(plain, line) - pair.cost - line.cost - source.cost - target.cost
    return NumericOutcome(**known, line_chance=line.chance.either, line_bits=bits)


def _evidence(outcome: Outcome, line: Line) -> float:
    """Return the evidence of the results that are numbers of the target, but for round ones and those given."""
    is_hit = outcome.hits >= 0
    counts = len(outcome.outputs)
    if counts <= _FEW:
        is_trivial = _is_round(outcome.outputs.values(), line)
        is_hit, counts = is_hit[~is_trivial], counts - int(is_trivial.sum())
        n_targets = outcome.n_target - int(is_trivial[: outcome.hits.size][outcome.hits >= 0].sum())
    else:
        n_targets = outcome.n_target
    # a program that rounds meets more numbers than its line does
    dense = min(1.0, max(line.chance.dense, outcome.density))
    n_hits = int(is_hit.sum()) - line.n_free
    n_outputs = counts - line.n_free
    return min(
        matching_bits(n_hits, n_outputs, max(1, n_targets - line.n_free), dense),
        evidence_bits(max(0, n_hits), max(0, n_outputs), line.chance.like),
    )


def _is_round(texts: list[str], line: Line) -> NDArray[np.bool_]:
    """Tell which results of one digit are made of numbers of one digit, zeros at the end aside."""
    results = pc.cast(pa.array([text if _NUMBER.fullmatch(text) else "0" for text in texts]), pa.float64())
    made = np.asarray(results)
    if line.is_same:
        return np.abs(made) < 10
    return _has_one_digit(made) & _has_one_digit((made - line.offset) / line.scale)


def _has_one_digit(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        leading = np.abs(numbers) / 10.0 ** np.floor(np.log10(np.abs(numbers)) + 1e-9)
    return (numbers == 0) | (np.abs(leading - np.rint(leading)) < 1e-4)
