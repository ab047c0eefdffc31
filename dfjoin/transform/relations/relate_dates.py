"""Relating columns of dates that are spelled differently: both are read, and written in one form."""

from __future__ import annotations

from itertools import product

import numpy as np

from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.time_operators import ReadTime, WriteTime
from dfjoin.transform.compose.moments import orders_of, reading_orders
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import AcceptedPrograms, accept_programs
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.full_columns import FullColumns
from dfjoin.transform.pairs.sides import SampledTable
from dfjoin.values.shares import NEARLY_ALL

_MAX_LOOKED_AT = 200
"""Values of a column that tell how its dates are read."""
_MAX_DATES = 200_000
"""Distinct values above which a column is no calendar."""
_MAX_PAIRS = 6
"""Pairs of columns that are tried."""


def date_program(column: Column) -> Program | None:
    """Return the program that writes the dates of a column as ``YYYY-MM-DD``.

    Parameters
    ----------
    column : Column

    Returns
    -------
    Program or None
        None if less than nine tenths of up to 200 values are whole dates without a time of day, or where days and
        months may be exchanged: it does not guess.
    """
    n = len(column.values)
    if not 2 <= n <= _MAX_DATES:
        return None
    rows = column.first_rows[:: max(1, n // _MAX_LOOKED_AT)]
    texts = [str(column.array[int(row)].as_py() or "") for row in rows.tolist()]
    if not any(c.isdigit() for c in texts[0]):
        return None
    readings = reading_orders(texts)
    if len(readings) != 1:
        return None
    program = Program((column.name,), (Extract(0, (ReadTime(readings[0]), WriteTime("%Y-%m-%d"))),))
    is_time = sum(":" in text for text in texts)
    n_dates = sum(program(text) is not None for text in texts)
    return program if n_dates >= NEARLY_ALL * len(texts) and not is_time else None


def days_may_be_exchanged(source: Column, target: Column) -> bool:
    """Tell whether the dates of one column can be read day first and month first, and join as well either way.

    Parameters
    ----------
    source, target : Column

    Notes
    -----
    No value of the source has a day above 12 then, and the target, which is read by one rule, has as many of the dates
    of either reading, within a tenth. A program for either reading would be a guess.
    """
    rows = source.first_rows[:: max(1, len(source.values) // _MAX_LOOKED_AT)]
    texts = [str(source.array[int(row)].as_py() or "") for row in rows.tolist()]
    if not texts or len(orders_of(texts[0])) < 2:
        return False
    readings, wanted = reading_orders(texts), date_program(target)
    if len(readings) < 2 or wanted is None:
        return False
    dates = set(wanted.apply([target.array]).to_pylist()) - {None}
    written = WriteTime("%Y-%m-%d")
    made = [[written(ReadTime(reading)(text) or "") for text in texts] for reading in readings[:2]]
    fewer, more = sorted(sum(date in dates for date in one) for one in made)
    return made[0] != made[1] and fewer >= NEARLY_ALL * more > 0


def relate_dates(
    sides: tuple[SampledTable, SampledTable], rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Relate columns of dates, each read in the one order that it allows, where this is accepted.

    Parameters
    ----------
    sides : tuple of SampledTable
    rng : numpy Generator
    tried : list of str
        A line is added for each pair that is not accepted.

    Returns
    -------
    list of AcceptedPrograms

    Notes
    -----
    Evidence and precision are those of every program, so that dense calendars of columns that the caller does not name
    are no evidence (`grids.grid_density`). Auto-Join finds pairs of examples by shared substrings, which dates such as
    ``4/7/23`` and ``07.04.2023`` do not have.
    """
    programs = [
        {column.name: program for column in side.candidates() if (program := date_program(column)) is not None}
        for side in sides
    ]
    found: list[AcceptedPrograms] = []
    source, target = sides
    for own, theirs in list(product(*programs))[:_MAX_PAIRS]:
        program, wanted = programs[0][own], programs[1][theirs]
        main, other = source.sampled(own), target.sampled(theirs)
        made = Column(str(wanted), wanted.apply([other.array]))
        pair = ColumnPair(source.candidates(), main, made, no_pairs())
        columns = FullColumns(source, target, pair, wanted)
        outcome = evaluate(program, pair.table, main, made.values)
        accepted = accept_programs(columns, [outcome], "left_to_right", rng, tried)
        if accepted is not None:
            found.append(accepted)
    return found
