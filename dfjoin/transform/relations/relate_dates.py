"""Relating columns of dates or moments that are spelled differently: both are read, and written in one form."""

from __future__ import annotations

import re
from itertools import product

import numpy as np

from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.time_operators import ReadTime, WriteTime
from dfjoin.transform.compose.moments import orders_of, reading_orders, serial_readers
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


_DATE, _MOMENT = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"
_FINER = re.compile(r":\d\d[.,]\d*[1-9]|^\d{8,10}(?!000$)\d{3}$")
"""Parts of a second, which are read over: times with a fraction, and milliseconds."""


def date_program(column: Column, layout: str = _DATE) -> Program | None:
    """Return the program that writes the dates of a column as ``YYYY-MM-DD``, or those with a time of the day.

    Parameters
    ----------
    column : Column
    layout : str
        Of whole dates, or of moments.

    Returns
    -------
    Program or None
        None if less than nine tenths of up to 200 values are whole dates without a time of day, or moments of whole
        seconds, also as seconds or milliseconds since 1970, or where days and months may be exchanged: it does not
        guess.
    """
    n = len(column.values)
    if not 2 <= n <= _MAX_DATES:
        return None
    rows = column.first_rows[:: max(1, n // _MAX_LOOKED_AT)]
    texts = [str(column.array[int(row)].as_py() or "") for row in rows.tolist()]
    if not any(c.isdigit() for c in texts[0]):
        return None
    steps: list[Step] = [ReadTime(reading) for reading in reading_orders(texts)]
    if layout == _MOMENT and not steps:
        steps = [step for step in serial_readers(texts, ()) if "seconds" in step.origin]
    if len(steps) != 1 or (layout == _MOMENT and any(map(_FINER.search, texts))):
        return None
    program = Program((column.name,), (Extract(0, (steps[0], WriteTime(layout))),))
    is_timed = layout == _DATE and any(":" in text for text in texts)
    n_dates = sum(program(text) is not None for text in texts)
    return program if n_dates >= NEARLY_ALL * len(texts) and not is_timed else None


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
    written = WriteTime(_DATE)
    made = [[written(ReadTime(reading)(text) or "") for text in texts] for reading in readings[:2]]
    fewer, more = sorted(sum(date in dates for date in one) for one in made)
    return made[0] != made[1] and fewer >= NEARLY_ALL * more > 0


def relate_dates(
    sides: tuple[SampledTable, SampledTable], rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Relate columns of dates, or of moments, each read in the one order that it allows, where this is accepted.

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
    pairs: list[tuple[str, Program, str, Program]] = []
    for layout in (_DATE, _MOMENT):
        programs = (
            [(one.name, program) for one in side.candidates() if (program := date_program(one, layout)) is not None]
            for side in sides
        )
        pairs += [(*one, *two) for one, two in product(*programs)]
    found: list[AcceptedPrograms] = []
    source, target = sides
    for own, program, theirs, wanted in pairs[:_MAX_PAIRS]:
        main, other = source.sampled(own), target.sampled(theirs)
        made = Column(str(wanted), wanted.apply([other.array]))
        pair = ColumnPair(source.candidates(), main, made, no_pairs())
        columns = FullColumns(source, target, pair, wanted)
        outcome = evaluate(program, pair.table, main, made.values)
        accepted = accept_programs(columns, [outcome], "left_to_right", rng, tried)
        if accepted is not None:
            found.append(accepted)
    return found
