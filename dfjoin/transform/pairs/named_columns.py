"""Key columns that a caller named together: programs read each of them, or it is said which they do not compare."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Slice, Split
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.transform.evidence.outcome import Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.pairs.full_columns import FullColumns, count_letters
from dfjoin.values.shares import NEARLY_ALL
from dfjoin.values.unicode import normalize_text

_MAX_VALUES = 50
"""Values of a column that is not read, the most frequent in the joined rows, that are looked for in constants."""
_MAX_SEPARATORS = 8
_MIN_JOINED = 2
_GAP = re.compile(r"[\W_]+")
_MAX_ROWS = 1_000

_Reading = tuple[str, str, tuple[Step, ...]]
"""A text that constants may hold, and what to read in its place: a column, and the steps that cut it."""


def read_named_columns(columns: FullColumns, outcomes: list[Outcome]) -> list[Outcome]:
    """Make programs read all columns that the caller named, where constants stand for one of them.

    Parameters
    ----------
    columns : FullColumns
    outcomes : list of Outcome
        Learned programs on the samples.

    Returns
    -------
    list of Outcome
        In the same order. ``'Zoe ' + last`` becomes ``first + ' ' + last`` if ``first`` was named, too, has the value
        ``Zoe`` (or for a lone letter begins with it), and enough rows are joined still: a constant that all
        rows of one table share says nothing of the rows of the other. A named column of the target that is written as a
        constant is cut out of the source, if that has it. Programs are left out that write one so and do not read
        the whole source, and those that read some of the columns and make a part of the target.

    Notes
    -----
    The paper does not know columns that are named. O(rows) for each constant that is exchanged.
    """
    given = columns.source_table.given
    if len(given) > 1:
        outcomes = [_reading_more(columns, outcome, given) for outcome in outcomes]
        if len(columns.program.columns) == 1 and not columns.program.is_identity:
            outcomes = [one for one in outcomes if _read_columns(one.program) == set(given)]
    if len(columns.program.columns) > 1 and len(columns.target_table.given) > 1:
        outcomes = [_cutting_more(columns, outcome) for outcome in outcomes]
        outcomes = [one for one in outcomes if _is_source_read(columns, one) or not _written_in_sample(columns, one)]
    return outcomes


def confused_columns(columns: FullColumns, outcome: Outcome) -> list[str]:
    """Name the columns that the caller named, that a program does not read, and in which rows of one result differ.

    Parameters
    ----------
    columns : FullColumns
    outcome : Outcome
        Of the program on the full columns.

    Returns
    -------
    list of str
        Rows that the caller tells apart by these columns would join the same value.
    """
    source = columns.source_table
    unread = [name for name in source.given if name not in _read_columns(outcome.program)]
    return [name for name in unread if not _is_determined(outcome, source.full_column(name))]


def reads_as_much(columns: FullColumns, outcome: Outcome, first: Outcome) -> bool:
    """Tell whether a further program reads those of the named columns that the first one reads, and confuses no rows.

    Parameters
    ----------
    columns : FullColumns
    outcome, first : Outcome
        Of the programs on the full columns.

    Returns
    -------
    bool
    """
    named = set(columns.source_table.given)
    is_less = named & _read_columns(first.program) > named & _read_columns(outcome.program)
    return not is_less and not confused_columns(columns, outcome)


def unread_columns(columns: FullColumns, outcomes: list[Outcome]) -> list[str]:
    """Name the columns that the caller named, and that constants may stand for: no program compares them.

    Parameters
    ----------
    columns : FullColumns
    outcomes : list of Outcome
        Accepted programs on the full columns.

    Returns
    -------
    list of str
        Columns of several values: those of the source, if the constants of programs that do not read them hold letters
        or digits; and those of the target that constants write.
    """
    source, target = columns.source_table, columns.target_table
    fixed = [outcome.program for outcome in outcomes if _has_letters(outcome.program)]
    unread = [name for name in source.given if any(name not in _read_columns(program) for program in fixed)]
    written = []
    if len(target.given) > 1:
        written = _written_columns(columns.program, outcomes[0], columns.target, target.columns)
        written += [name for name in target.given if name not in columns.program.columns]
    return [
        name
        for table, names in ((source, unread), (target, written))
        for name in names
        if len(table.full_column(name).values) > 1
    ]


def _read_columns(program: Program) -> set[str]:
    numbers = [column for piece in program.pieces for column in piece.columns]
    return {program.columns[i] for i in [*numbers, *(one.column for one in program.conditions)]}


def _has_letters(program: Program) -> bool:
    """Tell whether constants hold letters or digits."""
    return any(isinstance(piece, Constant) and any(map(str.isalnum, piece.text)) for piece in program.pieces)


def _is_determined(outcome: Outcome, column: Column) -> bool:
    """Tell whether joined rows of one result have one value in a column."""
    codes = column.values.codes
    is_joined = outcome.row_targets >= 0
    made = outcome.outputs.codes[is_joined].astype(np.int64)
    pairs = made * (len(column.values) + 1) + codes[is_joined] + 1
    return distinct_numbers(pairs).size == distinct_numbers(made).size


def _reading_more(columns: FullColumns, outcome: Outcome, given: tuple[str, ...]) -> Outcome:
    """Exchange constants for the columns that are not read, one after the other."""
    for name in given:
        if name in _read_columns(outcome.program) or not _has_letters(outcome.program):
            continue
        column = next(one for one in columns.pair.table if one.name == name)
        values = _frequent(column.array.filter(pa.array(outcome.row_targets >= 0)))
        readings: list[_Reading] = [(value, name, ()) for value in sorted(values, key=len, reverse=True)]
        readings += [(initial, name, (Slice(0, 1),)) for initial in sorted({value[0] for value in values})]
        outcome = _best_exchange(columns, outcome, readings)
    return outcome


def _cutting_more(columns: FullColumns, outcome: Outcome) -> Outcome:
    """Exchange constants that write a column of the target for the part of the source that equals them."""
    for name in _written_in_sample(columns, outcome):
        hits = outcome.hits[outcome.hits >= 0]
        made = columns.target_table.sampled(name).array.take(pa.array(columns.pair.target.first_rows[hits]))
        source = columns.pair.main.array.filter(pa.array(outcome.row_targets >= 0))
        texts = [normalize_text(text) for text in source.slice(0, _MAX_VALUES).to_pylist() if text]
        separators = sorted({gap for text in texts for gap in _GAP.findall(text)}, key=lambda gap: (-len(gap), gap))
        steps = [Split(gap, part) for gap in separators[:_MAX_SEPARATORS] for part in (0, 1, 2, -1)]
        readings: list[_Reading] = []
        for value in _frequent(made):
            found = [(sum(step(text) == value for text in texts), step) for step in steps]
            readings += [(value, columns.pair.main.name, (step,)) for n, step in found if 2 * n >= len(texts)]
        outcome = _best_exchange(columns, outcome, readings)
    return outcome


def _frequent(array: pa.Array) -> list[str]:
    """Return the most frequent texts of a column, normalised, those with letters or digits."""
    texts = Counter(map(normalize_text, filter(None, array.to_pylist())))
    return [text for text, _ in texts.most_common(_MAX_VALUES) if any(map(str.isalnum, text))]


def _best_exchange(columns: FullColumns, outcome: Outcome, readings: list[_Reading]) -> Outcome:
    """Return the first program with a part of a column in the place of a constant that joins enough."""
    for program in _exchanged(outcome.program, readings):
        other = evaluate(program, columns.pair.table, columns.pair.main, columns.pair.target.values)
        if other.n_joined >= _MIN_JOINED:
            return other
    return outcome


def _exchanged(program: Program, readings: list[_Reading]) -> Iterator[Program]:
    """List programs with a part of a column in the place of words of a constant."""
    for at, piece in enumerate(program.pieces):
        if not isinstance(piece, Constant):
            continue
        for text, name, steps in readings:
            found = re.search(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])", piece.text, re.IGNORECASE)
            names = tuple(dict.fromkeys([*program.columns, name]))
            if found is None or len(names) > MAX_COLUMNS:
                continue
            before, after = piece.text[: found.start()], piece.text[found.end() :]
            exchanged: list[Piece] = [Extract(names.index(name), steps)]
            exchanged = [Constant(before)] * bool(before) + exchanged + [Constant(after)] * bool(after)
            made = (*program.pieces[:at], *exchanged, *program.pieces[at + 1 :])
            yield Program(names, made, program.conditions)


def _written_in_sample(columns: FullColumns, outcome: Outcome) -> list[str]:
    """Name the columns of the target that constants write, by the samples."""
    return _written_columns(columns.program, outcome, columns.pair.target, columns.target_table.sample)


def _written_columns(target: Program, outcome: Outcome, made: Column, table: list[Column]) -> list[str]:
    """Name the columns that a target is made of whose texts constants write, in nearly all joined values."""
    fixed = " ".join(normalize_text(p.text) for p in outcome.program.pieces if isinstance(p, Constant))
    hits = outcome.hits[outcome.hits >= 0][:_MAX_ROWS]
    if not fixed or not hits.size:
        return []
    rows = pa.array(made.first_rows[hits])
    by_name = {column.name: column for column in table}
    found = []
    for name in target.columns:
        texts = by_name[name].array.take(rows).to_pylist()
        if sum(normalize_text(text or "") in fixed for text in texts) >= NEARLY_ALL * len(texts):
            found.append(name)
    return found


def _is_source_read(columns: FullColumns, outcome: Outcome) -> bool:
    """Tell whether nearly all results have all letters and digits of the source."""
    fixed = sum(count_letters(p.text) for p in outcome.program.pieces if isinstance(p, Constant))
    samples = columns.samples(outcome)
    n_read = sum(count_letters(source) <= count_letters(made) - fixed for source, _, made in samples)
    return n_read >= NEARLY_ALL * len(samples)
