"""The whole columns behind a pair of sampled ones, and how much of their keys a program relates."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant
from dfjoin.transform.evidence.outcome import Multiplicity, Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.pairs.column_pair import ColumnPair
from dfjoin.transform.pairs.sides import SampledTable

_MAX_SAMPLES = 100


class FullColumns:
    """The full columns behind a pair of sampled ones.

    Parameters
    ----------
    source, target : SampledTable
    pair : ColumnPair
        Columns of the samples.
    program : Program
        Makes the target of columns of its table.
    """

    def __init__(self, source: SampledTable, target: SampledTable, pair: ColumnPair, program: Program) -> None:
        self.source_table = source
        self.columns = source.columns
        self.rows = source.rows
        self.is_key_fixed = target.is_key_fixed
        self.is_named = bool(source.given) and bool(target.given)
        self.target_table = target
        self.needs = source.needs
        self.position = source.position(pair.main.name) + target.position(program.columns[0])
        self.main = source.full_column(pair.main.name)
        self.pair = pair
        self.program = program
        if program.is_identity:
            self.target = target.full_column(program.columns[0])
        else:
            arrays = [target.full_column(name).array for name in program.columns]
            self.target = Column(str(program), program.apply(arrays))

    @property
    def bits_of_choice(self) -> float:
        """The bits that single this pair of columns out among all that could have been related; 0 for named ones."""
        sides = (self.source_table, self.target_table)
        n_pairs = math.prod(1 if side.given else max(1, len(side.candidates())) for side in sides)
        return math.log2(n_pairs)

    @cached_property
    def multiplicity(self) -> Multiplicity:
        """What the target table holds for each target value."""
        values = self.target.values
        is_made = values.codes >= 0
        if not self.is_key_fixed:
            return Multiplicity(np.bincount(values.codes[is_made], minlength=len(values)).astype(np.int64), True)
        if self.program.is_identity or len(self.program.columns) > 1:
            return Multiplicity(np.ones(len(values), np.int64), False)
        whole = self.target_table.full_column(self.program.columns[0]).values
        is_made &= whole.codes >= 0
        pairs = values.codes[is_made].astype(np.int64) * max(1, len(whole)) + whole.codes[is_made]
        parts = distinct_numbers(pairs) // max(1, len(whole))
        return Multiplicity(np.bincount(parts, minlength=len(values)).astype(np.int64), False)

    def evaluate(self, program: Program) -> Outcome:
        """Evaluate a program on all rows."""
        return evaluate(program, self.columns, self.main, self.target.values, self.multiplicity)

    def samples(self, outcome: Outcome) -> list[tuple[str, str, str]]:
        """Return some joined rows of the sample: texts of the source, of the whole target, and the result."""
        pair = self.pair
        codes = np.flatnonzero(outcome.hits >= 0)[:_MAX_SAMPLES]
        firsts = outcome.outputs.first_rows()
        names = dict.fromkeys([pair.main.name, *outcome.program.columns])
        columns = [column for column in pair.table if column.name in names]
        wanted = [self.target_table.sampled(name) for name in self.program.columns]
        found = []
        for code in codes.tolist():
            texts = (column.array[int(firsts[code])].as_py() or "" for column in columns)
            row = int(pair.target.first_rows[outcome.hits[code]])
            targets = (column.array[row].as_py() or "" for column in wanted)
            found.append((" ".join(texts), " ".join(targets), outcome.outputs.value(code)))
        return found


def wholeness_of(columns: FullColumns, outcome: Outcome) -> float:
    """Measure how much of both keys a program relates.

    Parameters
    ----------
    columns : FullColumns
    outcome : Outcome
        Of the samples.

    Returns
    -------
    float
        Letters and digits that results have from the source, over those of the source's columns or of the
        target's whole key, whichever are more; mean of up to 100 joined values, 0 without any.
    """
    fixed = sum(count_letters(piece.text) for piece in outcome.program.pieces if isinstance(piece, Constant))
    shares = [
        min(1.0, max(0, count_letters(made) - fixed) / max(1, count_letters(source), count_letters(target)))
        for source, target, made in columns.samples(outcome)
    ]
    return sum(shares) / len(shares) if shares else 0.0


def count_letters(text: str) -> int:
    """Count the letters and digits of a text."""
    return sum(map(str.isalnum, text))
