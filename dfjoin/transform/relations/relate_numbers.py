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

from dfjoin.programs.number_operators import Base, Round
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.quantities import Quantity, quantity_tables
from dfjoin.transform.compose.linear import fit_linear
from dfjoin.transform.evidence.chance import (
    MIN_BITS,
    MIN_PRECISION,
    Chance,
    Line,
    chance_of_line,
    evidence_bits,
    matching_bits,
    tolerance,
)
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.sorted_numbers import SortedNumbers, last_units
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import MIN_COVERAGE, MIN_SCORE, AcceptedPrograms, shares_of
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.sides import DIRECTIONS, Direction, SampledTable
from dfjoin.transform.relations.linear_search import search_lines
from dfjoin.values.shares import KEY_UNIQUENESS, NEARLY_ALL

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
        for theirs in readings[other]:
            if not target.is_key_fixed and theirs.column.uniqueness < KEY_UNIQUENESS:
                continue
            for mine in readings[own]:
                position = source.position(mine.column.name) + target.position(theirs.column.name)
                is_fixed = source.is_key_fixed and target.is_key_fixed
                pairs.append((position, direction, source.columns, mine, theirs, is_fixed))
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
    best: NumericOutcome | None = None
    chosen: Line | None = None
    for line in search_lines(pair.source.numbers, pair.target.numbers, rng):
        if line.bits <= 0 and len(pair.source.numbers) > _FEW:
            continue  # the rows need not be read for what chance explains
        if not line.is_same and (pair.source.has_base or pair.target.has_base):
            continue  # codes in sequence, as A0001 and B0001, are shifted numbers of base 16
        chance = chance_of_line(line, pair.source.numbers, pair.target.numbers, rng)
        for steps in _steps(line, pair.source, pair.target):
            outcome = _evaluate(pair, line, chance, steps)
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


def _evaluate(pair: _NumberPair, line: Line, chance: Chance, steps: tuple[Step, ...]) -> NumericOutcome:
    """Evaluate the steps of a line on all rows."""
    source, target = pair.source, pair.target
    program = Program((source.column.name,), (Extract(0, (*source.steps, *steps)),))
    values = target.column.values
    if target.steps:
        values = Column(str(target.program), target.program.apply([target.column.array])).values
    plain = evaluate(program, [source.column], source.column, values)
    known = {field.name: getattr(plain, field.name) for field in fields(plain)}
    bits = _evidence(plain, line, chance) - pair.cost - line.cost - source.cost - target.cost
    return NumericOutcome(**known, line_chance=chance.either, line_bits=bits)


def _evidence(outcome: Outcome, line: Line, chance: Chance) -> float:
    """Return the evidence of the results that are numbers of the target, but for round ones and those given."""
    is_hit = outcome.hits >= 0
    counts = len(outcome.outputs)
    if counts <= _FEW:
        is_trivial = _is_round([outcome.outputs.value(code) for code in range(counts)], line)
        is_hit, counts = is_hit[~is_trivial], counts - int(is_trivial.sum())
        n_targets = outcome.n_target - int(is_trivial[: outcome.hits.size][outcome.hits >= 0].sum())
    else:
        n_targets = outcome.n_target
    # a program that rounds meets more numbers than its line does
    dense = min(1.0, max(chance.dense, outcome.density))
    n_hits = int(is_hit.sum()) - line.n_free
    n_outputs = counts - line.n_free
    return min(
        matching_bits(n_hits, n_outputs, max(1, n_targets - line.n_free), dense),
        evidence_bits(max(0, n_hits), max(0, n_outputs), chance.like),
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


# Reading the texts of a column as numbers: plain decimals, quantities with units, other bases ---------------


_PLAIN = "^-?[0-9]{1,15}([.][0-9]{1,17})?$"
_LONG = "[.][0-9]{7}"
_HEAD = 200
"""Values by which a reading is chosen."""
_MAX_READINGS = 3
_NOISE_FROM = 10
"""Decimals from which the last ones may be those of binary arithmetic."""
_NOISE = 1e-12
_MAX_ROUNDED = 6
_STEP_BITS = 3.0
"""Description length of a step that reads numbers in another base or unit."""
_BASES: tuple[tuple[str, str, tuple[Step, ...]], ...] = (
    ("^[01]{1,12}$", "", (Base(2, 10),)),
    ("^[0-9a-fA-F]{1,12}$", "[a-fA-F]", (Base(16, 10),)),
    ("^[0-7]{1,12}$", "", (Base(8, 10),)),
    ("^#[0-9a-fA-F]{1,12}$", "", (Slice(1, None), Base(16, 10))),
    ("^0[xX][0-9a-fA-F]{1,12}$", "", (Slice(2, None), Base(16, 10))),
    ("^0[bB][01]{1,12}$", "", (Slice(2, None), Base(2, 10))),
)
"""The values that numbers of another base may be, what some of them must hold, and the steps that read them."""


@dataclass(frozen=True)
class NumberReading:
    """The numbers of a column under one reading of its texts.

    Parameters
    ----------
    column : Column
    steps : tuple of Step
        What makes a plain number of a text; empty if the texts are plain numbers.
    numbers : SortedNumbers
    rows : ndarray of int64
        A row of each number.
    texts : pyarrow.Array of string
        Each number as the steps write it.
    """

    column: Column
    steps: tuple[Step, ...]
    numbers: SortedNumbers
    rows: NDArray[np.int64]
    texts: pa.Array

    @property
    def cost(self) -> float:
        """Bits that single the reading out."""
        if self.steps == (Quantity("number"),):
            return 0.0
        return _STEP_BITS * sum(step.operator is not Slice for step in self.steps)

    @property
    def has_base(self) -> bool:
        """Whether the texts are read as numbers of another base than ten."""
        return any(step.operator is Base for step in self.steps)

    @property
    def program(self) -> Program:
        """The program that reads the column."""
        return Program((self.column.name,), (Extract(0, self.steps),))


def read_numbers(column: Column) -> list[NumberReading]:
    """Read a column as numbers by every reading that fits nearly all its values.

    Parameters
    ----------
    column : Column

    Returns
    -------
    list of NumberReading
        The plain reading first; at most 3, none for a column of texts or of fewer than two numbers.

    Notes
    -----
    The distinct values are read, the first 200 of them to choose the readings. O(values).
    """
    rows = column.first_rows
    head = column.array.take(pa.array(rows[:_HEAD])) if rows.size else pa.array([], pa.string())
    found: list[NumberReading] = []
    for steps in _fitting_steps(head):
        texts = column.array.take(pa.array(rows))
        if steps:
            texts = Program((column.name,), (Extract(0, steps),)).apply([texts])
        reading = _read(column, steps, rows, texts)
        if reading is not None:
            found.append(reading)
        if len(found) == _MAX_READINGS:
            break
    return found


def _share(head: pa.Array, pattern: str) -> float:
    """Return the share of the texts that a pattern matches."""
    return float(pc.sum(pc.match_substring_regex(head, pattern)).as_py() or 0) / max(1, len(head))


def _fitting_steps(head: pa.Array) -> Iterator[tuple[Step, ...]]:
    """Yield the steps that read nearly all values, the likeliest first."""
    if _share(head, "[0-9]") < NEARLY_ALL and _share(head, "^#?[0-9a-fA-F]{2,12}$") < NEARLY_ALL:
        return
    is_plain = _share(head, _PLAIN) >= NEARLY_ALL
    if is_plain:
        noise = _rounding(head)
        yield noise
        if not noise and _share(head, _LONG) > 0:  # more digits than arithmetic takes
            yield (Round(_MAX_ROUNDED),)
    else:
        for table in quantity_tables(head.to_pylist()):
            yield (Quantity(table),)
    for pattern, needed, steps in _BASES:
        if _share(head, pattern) >= NEARLY_ALL and (not needed or _share(head, needed) > 0):
            yield steps


def _rounding(head: pa.Array) -> tuple[Step, ...]:
    """Return the step that takes the noise of binary arithmetic off, nothing where there is none."""
    texts = [text for text in head.to_pylist() if text and "." in text]
    if max((len(text.partition(".")[2]) for text in texts), default=0) < _NOISE_FROM:
        return ()
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return ()
    for digits in range(_MAX_ROUNDED + 1):
        if np.mean(np.abs(np.round(numbers, digits) - numbers) <= _NOISE * np.abs(numbers)) >= NEARLY_ALL:
            return (Round(digits),)
    return ()


def _read(column: Column, steps: tuple[Step, ...], rows: NDArray[np.int64], texts: pa.Array) -> NumberReading | None:
    """Sort the numbers that are written plainly; None if they are too few."""
    is_number = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), False)
    if pc.sum(is_number).as_py() is None or pc.sum(is_number).as_py() < max(2, NEARLY_ALL * len(texts)):
        return None
    texts, rows = texts.filter(is_number), rows[is_number.to_numpy(zero_copy_only=False)]
    values = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    values, first = np.unique(values, return_index=True)
    if values.size < 2:
        return None
    texts = texts.take(pa.array(first))
    slack, own_unit = _last_digits(values, texts)
    return NumberReading(column, steps, SortedNumbers(values, slack, own_unit), rows[first], texts)


def _last_digits(values: NDArray[np.float64], texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return half a unit of the last digit of each number, zeros that its spelling may lack put back, and its own."""
    point = pc.find_substring(texts, ".").to_numpy(zero_copy_only=False)
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False)
    decimals = np.where(point >= 0, lengths - point - 1, 0)
    with np.errstate(divide="ignore"):
        size = np.where(values == 0, 0, np.floor(np.log10(np.abs(values)) + 1e-12)) + 1
    significant = np.where(values == 0, 0, size + decimals)
    slack = 0.5 * 10.0 ** np.maximum(-float(decimals.max()), size - significant.max())
    return slack, last_units(values, 0.5 * 10.0**-decimals)
