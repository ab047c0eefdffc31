"""Relating two columns of one table with one of the other, with no examples: sums, differences, days between dates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from dfjoin.programs.combinations import NUMBER_KINDS
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Extract
from dfjoin.programs.quantities import Quantity
from dfjoin.programs.time_operators import ReadTime
from dfjoin.transform.compose.moments import reading_orders
from dfjoin.transform.compose.two_columns import number_reading
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import AcceptedPrograms, accept_programs
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.full_columns import FullColumns
from dfjoin.transform.pairs.sides import DIRECTIONS, SampledTable
from dfjoin.values.shares import KEY_UNIQUENESS

_MAX_LOOKED_AT = 50
"""Values of a column whose texts tell how it is read."""
_MAX_NUMBERS = 4
_MAX_DATES = 3
_MAX_TARGETS = 3
_NUMBER = Quantity("number")
_MIN_JOINED = 5
"""Values of the sample that a program joins at least, to be tried on all rows."""


def relate_combined(
    sides: tuple[SampledTable, SampledTable], rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Find sums or differences of two columns, or days between them, that are the key of the other table.

    Parameters
    ----------
    sides : tuple of SampledTable
    rng : numpy Generator
    tried : list of str
        A line is added for each program that joins some values and is not accepted.

    Returns
    -------
    list of AcceptedPrograms
        Empty, or the first one that is accepted.

    Notes
    -----
    Up to four columns of numbers and three of dates, each read in the one order that it allows, are combined by twos,
    those named, or the first ones. Evidence and precision are those of every program: small numbers, and days of a
    short time, are no evidence (`grids.grid_density`). At most 100 programs are evaluated on the samples.
    """
    for direction, (source, target) in zip(DIRECTIONS, (sides, sides[::-1]), strict=True):
        wanted = list(_targets(target))[:_MAX_TARGETS]
        programs = list(_programs(source)) if wanted and len(target.given) < 2 else []
        for (made_by, made), program in product(wanted, programs):
            main = max((source.sampled(name) for name in program.columns), key=lambda one: len(one.values))
            pair = ColumnPair(source.sample, main, made, no_pairs())
            outcome = evaluate(program, pair.table, main, made.values)
            if outcome.n_joined >= _MIN_JOINED:
                columns = FullColumns(source, target, pair, made_by)
                accepted = accept_programs(columns, [outcome], direction, rng, tried)
                if accepted is not None:
                    return [accepted]
    return []


def _usable(side: SampledTable) -> list[Column]:
    """Return the columns that the caller named, else all that hold two values."""
    return [
        column for column in side.sample if len(column.values) >= 2 and column.name in (side.given or [column.name])
    ]


def _targets(side: SampledTable) -> Iterator[tuple[Program, Column]]:
    """Yield the columns of numbers that are nearly keys, each with the program that reads it, if one has to."""
    for column in _usable(side):
        steps = number_reading(_texts(column))
        if steps is None or not (side.is_key_fixed or column.uniqueness >= KEY_UNIQUENESS):
            continue
        is_plain = all(text == _NUMBER(text) for text in _texts(column))
        program = Program((column.name,), (Extract(0, () if is_plain else (_NUMBER,)),))
        yield program, column if is_plain else Column(str(program), program.apply([column.array]))


def _texts(column: Column) -> list[str]:
    """Return some values as the table spells them."""
    rows = column.first_rows[:: max(1, len(column.values) // _MAX_LOOKED_AT)][:_MAX_LOOKED_AT]
    return [str(column.array[int(row)].as_py() or "") for row in rows.tolist()]


def _programs(side: SampledTable) -> Iterator[Program]:
    """Yield what may be computed of two columns of a table."""
    numbers: list[tuple[str, Extract]] = []
    dates: list[tuple[str, Extract]] = []
    for column in _usable(side):
        texts = _texts(column)
        steps = number_reading(texts)
        orders = reading_orders(texts) if all(any(map(str.isdigit, text)) for text in texts) else []
        if len(orders) == 1 and all(map(ReadTime(orders[0]), texts)) and steps is None:
            dates.append((column.name, Extract(0, (ReadTime(orders[0]),))))
        elif steps is not None:
            numbers.append((column.name, Extract(0, steps)))
    for one, other in permutations(numbers[:_MAX_NUMBERS], 2):
        for kind in NUMBER_KINDS if one < other else NUMBER_KINDS[1:]:
            yield _combined(kind, one, other)
    for one, other in permutations(dates[:_MAX_DATES], 2):
        yield _combined("days", one, other)


def _combined(kind: str, one: tuple[str, Extract], other: tuple[str, Extract]) -> Program:
    return Program((one[0], other[0]), (Combined(kind, one[1], other[1].moved({0: 1})),))
