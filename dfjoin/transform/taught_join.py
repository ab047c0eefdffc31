"""The join that examples of the user teach: which rows they speak of, the programs, and what contradicts them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist, warn
from dfjoin.programs.confidence import Confidence
from dfjoin.programs.lookup import GivenPairs
from dfjoin.programs.program import Program
from dfjoin.transform.compose.by_example import MAX_INPUTS, learn_from_examples
from dfjoin.transform.compose.linear import number_styles
from dfjoin.transform.evidence.outcome import Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import SETTINGS, Column
from dfjoin.transform.evidence.transform_join import TransformJoin
from dfjoin.transform.evidence.value_pairs import no_pairs
from dfjoin.transform.pairs.accept import AcceptedPrograms, as_result, shares_of
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.composite import join_columns
from dfjoin.transform.pairs.sides import DIRECTIONS, SampledTable
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import normalize_column
from dfjoin.values.unicode import normalize_text

Example = tuple[str | tuple[str, ...], str | tuple[str, ...]]
_MAX_OTHER_COLUMNS = 4
"""Columns of the rows of examples that programs may read beside those named."""
_MAX_ROWS = 50
"""Rows of one value that an example may speak of."""
_MAX_CHECKED = 12
"""Examples that are left out one by one to see whether one of them contradicts the others."""


def check_examples(examples: Sequence[Example]) -> list[Example]:
    """Check the examples of a caller: pairs of a text, or a tuple of texts for several columns, for either side."""
    pairs = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in examples]
    if not pairs or not all(len(pair) == 2 and all(map(is_taught, pair)) for pair in pairs):
        raise InvalidTypeError(f"`examples` must be pairs of texts (left value, right value), got {examples!r:.200}")
    return [(as_taught(a), as_taught(b)) for a, b in pairs]


def is_unicode(text: str) -> bool:
    """Tell whether a text has no lone surrogates, which no table can hold."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def is_taught(value: object) -> bool:
    """Tell whether a value is a text, or texts for several columns, that an example may have."""
    texts = value if isinstance(value, (tuple, list)) else [value]
    return all(isinstance(text, str) and is_unicode(text) for text in texts) and any(texts)


def as_taught(value: str | Sequence[str]) -> str | tuple[str, ...]:
    """Return a value of an example: a text, or a tuple of texts for several columns."""
    return value if isinstance(value, str) else tuple(value)


@dataclass
class _TaughtSide:
    """The columns of one table that the examples speak of.

    Parameters
    ----------
    table : SampledTable
    columns : list of Column
        Columns that hold the values, one for each part of a value.
    values : list of tuple of str
        Value of each example, a text for each column.
    rows : list of ndarray of int64
        Rows that each example may speak of.
    """

    table: SampledTable
    columns: list[Column]
    values: list[tuple[str, ...]]
    rows: list[np.ndarray]

    @property
    def main(self) -> Column:
        """The first of the columns."""
        return self.columns[0]

    def others(self) -> list[Column]:
        """Return columns that programs may read beside those named."""
        names = [column.name for column in self.columns]
        return [c for c in self.table.columns if c.name not in names and len(c.values) >= 2][:_MAX_OTHER_COLUMNS]

    def target(self) -> tuple[Program, Column]:
        """Return the program that makes what results are compared with, and the column of it."""
        if len(self.columns) == 1:
            return Program.identity(self.main.name), self.main
        return join_columns(self.columns)

    def target_text(self, example: int) -> str:
        """Return what a program has to make for an example, in the spelling of the table."""
        rows = self.rows[example]
        if len(self.columns) > 1:
            return " ".join(self.values[example])
        return str(self.main.array[int(rows[0])].as_py()) if rows.size else self.values[example][0]

    def row(self, example: int, columns: list[Column], target: str) -> tuple[str, ...]:
        """Return the texts of columns in the row of an example; of several rows that which is most like the target."""
        rows = self.rows[example]
        if not rows.size:
            given = dict(zip((column.name for column in self.columns), self.values[example], strict=True))
            return tuple(given.get(column.name, "") for column in columns)
        words = set(re.findall(r"\w+", target.lower()))
        texts = [tuple(str(c.array[int(row)].as_py() or "") for c in columns) for row in rows.tolist()]
        return max(texts, key=lambda row: len(words & set(re.findall(r"\w+", " ".join(row).lower()))))


def find_taught(sides: tuple[SampledTable, SampledTable], examples: list[Example], tried: list[str]) -> TransformJoin:
    """Learn from examples in both directions; return the fewest programs, of equally many the best.

    Parameters
    ----------
    sides : tuple of SampledTable
    examples : list of (left value, right value)
        A value is a text, or a text for each of the columns that the caller named.
    tried : list of str
        A line is added for each direction without a program, and for each example that contradicts the others.

    Returns
    -------
    TransformJoin

    Notes
    -----
    An example speaks of the row that holds its value, so that programs may read other columns of this row. Programs
    are learned with the casing of the tables where that is possible, else without. Of other rows 200 are looked at,
    drawn by what they hold.
    """
    taught = (
        _taught_side(sides[0], [example[0] for example in examples], "on"),
        _taught_side(sides[1], [example[1] for example in examples], "right_on"),
    )
    found = []
    known: dict[Program, Confidence | None] = {}
    for direction in DIRECTIONS:
        source, target = taught if direction == "left_to_right" else taught[::-1]
        program, wanted = target.target()
        outcomes = _best_outcomes(source, target, wanted, known)
        if not outcomes:
            tried.append(f"{source.main.name} = {program}: no program makes the examples")
            continue
        pair = ColumnPair(source.table.columns, source.main, wanted, no_pairs())
        found.append(AcceptedPrograms(direction, pair, program, outcomes, 0, wanted.uniqueness, shares_of(outcomes)))
    best = min(found, key=lambda one: (*_order(one.outcomes)[:2], one.rank), default=None)
    if best is None or len(best.outcomes) > 1 or not _is_general(best.outcomes[0].program):
        text = _wrong_example(*taught) or _wrong_example(*taught[::-1]) or _two_results(*taught)
        if text:
            warn(f"{text}; correct the example, or leave it out")
            tried.append(text)
    return TransformJoin(tried=tuple(tried)) if best is None else _with_confidence(as_result(best, tried), known)


def _with_confidence(found: TransformJoin, known: dict[Program, Confidence | None]) -> TransformJoin:
    """Give the programs of a join the confidence with which they were learned; respelled ones have none."""
    programs = (replace(ranked, confidence=known.get(ranked.program)) for ranked in found.programs)
    return replace(found, programs=tuple(programs))


def _taught_side(table: SampledTable, values: list[str | tuple[str, ...]], argument: str) -> _TaughtSide:
    """Find the columns and the rows that the values of one side stand in."""
    if any(isinstance(value, tuple) for value in values):
        for value in values:
            if not isinstance(value, tuple) or len(value) != len(table.given):
                raise InvalidParameterError(
                    f"`examples` must give a text for each column of `{argument}`, or one text; "
                    f"`{argument}` names {len(table.given)} columns, got {value!r:.200}"
                )
        columns = [table.full_column(name) for name in table.given]
        texts = [value for value in values if isinstance(value, tuple)]
        return _TaughtSide(table, columns, texts, [_rows_of(columns, value) for value in texts])
    plain = [value for value in values if isinstance(value, str)]
    column = _column_with(table, plain, argument)
    return _TaughtSide(table, [column], [(text,) for text in plain], [_rows_of([column], (text,)) for text in plain])


def _rows_of(columns: list[Column], value: tuple[str, ...]) -> np.ndarray:
    """Return the first rows that hold a value, in canonical form."""
    held = np.ones(len(columns[0]), bool)
    for column, text in zip(columns, value, strict=True):
        if not text:
            continue
        codes = Vocabulary(column.values).codes_of(normalize_column(pa.array([text]), SETTINGS))
        held &= (column.values.codes == codes[0]) if codes.size and codes[0] >= 0 else False
    return np.flatnonzero(held)[:_MAX_ROWS]


def _best_outcomes(
    source: _TaughtSide, target: _TaughtSide, wanted: Column, known: dict[Program, Confidence | None]
) -> list[Outcome]:
    """Learn from the columns named alone, then from the whole rows; with casing, then without.

    The confidence of each program is added to `known`.
    """
    found: list[list[Outcome]] = []
    others = source.others()
    for columns in (source.columns, [*source.columns, *others]) if others else (source.columns,):
        for is_exact in (True, False):
            learned = _learn(source, target, columns, is_exact=is_exact)
            programs = tuple(program.certain for program in learned)
            for program in learned:  # the first search that learned it compared fewer columns
                known.setdefault(program.certain, program.confidence)
            if programs:
                found.append([_best_style(program, source, wanted) for program in programs])
            if len(programs) == 1 and found[-1][0].n_joined and _is_general(programs[0]):
                return found[-1]
    return min(found, key=_order, default=[])


def _best_style(program: Program, source: _TaughtSide, wanted: Column) -> Outcome:
    """Evaluate a program with its numbers written in each style; return the outcome that joins most values."""
    styles = number_styles(program)
    outcomes = [evaluate(one, source.table.columns, source.main, wanted.values) for one in styles]
    return max(outcomes, key=lambda outcome: outcome.n_joined)


def _order(outcomes: list[Outcome]) -> tuple[bool, int, int]:
    """Sort key of learned programs: those that are more than a list of the examples, the fewest, the most joined."""
    is_list = len(outcomes) == 1 and not _is_general(outcomes[0].program)
    return is_list, len(outcomes), -sum(outcome.n_joined for outcome in outcomes)


def _learn(
    source: _TaughtSide, target: _TaughtSide, columns: list[Column], *, is_exact: bool, without: int = -1
) -> tuple[Program, ...]:
    """Learn from all examples, or from all but one."""
    kept = [i for i in range(len(source.values)) if i != without]
    targets = [target.target_text(i) for i in kept]
    rows = [source.row(i, columns, text) for i, text in zip(kept, targets, strict=True)]
    sample = [column.array.take(pa.array(source.table.rows[:MAX_INPUTS])).to_pylist() for column in columns]
    inputs = [tuple(str(text or "") for text in row) for row in zip(*sample, strict=True)]
    if not is_exact:
        targets = [normalize_text(text) for text in targets]
    return learn_from_examples([c.name for c in columns], rows, targets, inputs=inputs, is_exact=is_exact)


def _two_results(source: _TaughtSide, target: _TaughtSide) -> str:
    """Say which examples give two results to one value; an empty text if none do."""
    texts = [target.target_text(i) for i in range(len(source.values))]
    for i in range(len(texts)):
        for j in range(i):
            if source.values[i] == source.values[j] and normalize_text(texts[i]) != normalize_text(texts[j]):
                shown = " + ".join(source.values[i])
                text = f"examples {j + 1} and {i + 1} contradict each other: {shown!r} belongs to {texts[j]!r}"
                return f"{text} and to {texts[i]!r}"
    return ""


def _wrong_example(source: _TaughtSide, target: _TaughtSide) -> str:
    """Say which example contradicts the one program that makes all others; an empty text if not exactly one does."""
    n = len(source.values)
    if not 3 <= n <= _MAX_CHECKED:
        return ""
    contradicted: list[str] = []
    for i in range(n):
        programs = _learn(source, target, source.columns, is_exact=False, without=i)
        if len(programs) != 1 or not _is_general(programs[0]):
            continue
        columns = [next(c for c in source.columns if c.name == name) for name in programs[0].columns]
        text = target.target_text(i)
        result = programs[0].certain(*source.row(i, columns, text))
        contradicted.append(
            f"example {i + 1} contradicts the program that makes the others: {programs[0]} gives {result!r} for "
            f"{' + '.join(source.values[i])!r}, and not {text!r}"
        )
    return contradicted[0] if len(contradicted) == 1 else ""


def _is_general(program: Program) -> bool:
    """Tell whether a program is more than a list of the examples."""
    is_read = any(piece.columns for piece in program.pieces)
    return is_read and not any(step.operator is GivenPairs for piece in program.pieces for step in piece.all_steps)


def _column_with(table: SampledTable, values: list[str], argument: str) -> Column:
    """Return the column that holds the values of the examples: the one given, else the one with most of them."""
    columns = [table.full_column(name) for name in table.given] or table.columns
    if not columns:
        raise InvalidParameterError(
            f"`examples` must hold values of the tables, but the table of `{argument}` has no column of text, "
            "numbers or dates"
        )
    wanted = normalize_column(pa.array(values), SETTINGS)

    def count(column: Column) -> int:
        return int((Vocabulary(column.values).codes_of(wanted) >= 0).sum())

    best = max(columns, key=count) if len(columns) > 1 else columns[0]
    if len(columns) > 1 and count(best) == 0:
        raise InvalidParameterError(
            f"`examples` must hold values of the tables, but no column has {shortlist(values)}; "
            f"name the column by `{argument}=`"
        )
    return best
