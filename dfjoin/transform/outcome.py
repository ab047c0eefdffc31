"""The join that a program makes of two columns: which row joins which value, and how good the join is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.programs.program import Program
from dfjoin.transform.chance import SAMPLE_VALUES, chance_of_match, description_bits, evidence_bits, without_constants
from dfjoin.transform.prepared_columns import SETTINGS, Column, count_distinct, match_rows
from dfjoin.values.normalize import ValueSet, normalize_column

__all__ = ["FULL_COVERAGE", "Outcome", "evaluate"]

FULL_COVERAGE = 0.97
"""Coverage from which nothing better is looked for."""


@dataclass(frozen=True)
class Outcome:
    """The equi-join of a program's results with a target column, both in canonical form.

    Parameters
    ----------
    program : Program
    outputs : ValueSet
        Its distinct results, and the row of each.
    hits : ndarray of int64, shape (n_outputs,)
        Number of the target value that equals each result, -1 for none.
    source_codes : ndarray of int32, shape (n_rows,)
        Number of the distinct source value of each row, -1 for null.
    n_source, n_target : int
        Distinct values of the source and of the target.
    target : ValueSet
    """

    program: Program
    outputs: ValueSet
    hits: NDArray[np.int64]
    source_codes: NDArray[np.int32]
    n_source: int
    n_target: int
    target: ValueSet

    @cached_property
    def row_targets(self) -> NDArray[np.int64]:
        """Target value of each source row, -1 for none; int64, shape (n_rows,)."""
        if len(self.outputs) == 0:
            return np.full(self.outputs.n_rows, -1, np.int64)
        return np.where(self.outputs.codes >= 0, self.hits[self.outputs.codes], -1)

    @cached_property
    def n_joined(self) -> int:
        """Distinct source values that join."""
        return count_distinct(self.source_codes[self.row_targets >= 0], self.n_source)

    @cached_property
    def n_reached(self) -> int:
        """Distinct target values that are joined."""
        return count_distinct(self.hits, self.n_target)

    @property
    def source_coverage(self) -> float:
        """Share of the source's distinct values that join."""
        return self.n_joined / self.n_source if self.n_source else 0.0

    @property
    def target_coverage(self) -> float:
        """Share of the target's distinct values that are joined."""
        return self.n_reached / self.n_target if self.n_target else 0.0

    @property
    def score(self) -> float:
        """Sum of both shares, by which programs are ranked."""
        return self.source_coverage + self.target_coverage

    @cached_property
    def chance(self) -> float:
        """Probability that a result is a target value by chance."""
        if len(self.outputs) == 0 or len(self.target) == 0:
            return 1.0
        outputs = without_constants(self.program, _sample(self.outputs))
        targets = without_constants(self.program, _sample(self.target))
        if not outputs or not targets:
            return 1.0
        chance = chance_of_match(outputs, targets)
        return min(1.0, chance * max(1.0, len(self.target) / SAMPLE_VALUES))

    @cached_property
    def bits(self) -> float:
        """Evidence against chance in bits, minus the description length of the program."""
        found = evidence_bits(int((self.hits >= 0).sum()), len(self.outputs), self.chance)
        return found - description_bits(self.program)

    @cached_property
    def precision(self) -> float:
        """Estimated share of joined source values that join the right target value.

        Two kinds of joined values count as wrong. Source values that join a target value which another one joins
        already, at most ten times as many as chance would make; they do not count if nearly all source values join, as
        in an n:1 relation. And as many hits as chance would have made of the results that hit nothing.
        """
        if self.n_joined == 0:
            return 0.0
        n_outputs = len(self.outputs)
        n_wrong = 0.0
        if self.source_coverage < 0.9 or self.n_reached > 0.5 * self.n_joined:
            n_wrong = min(self.n_joined - self.n_reached, 10 * n_outputs * self.chance)
        n_missed = n_outputs - int((self.hits >= 0).sum())
        n_wrong += n_missed * self.chance / max(1e-12, 1 - self.chance)
        return min(1.0, max(0.0, 1 - n_wrong / self.n_joined))


def _sample(values: ValueSet) -> list[str]:
    """Return at most `SAMPLE_VALUES` values, spread over all."""
    step = max(1, len(values) // SAMPLE_VALUES)
    return [values.value(code) for code in range(0, len(values), step)][:SAMPLE_VALUES]


def evaluate(program: Program, source: Sequence[Column], main: Column, target: ValueSet) -> Outcome:
    """Apply a program to its columns and join the results with the target's values.

    Parameters
    ----------
    program : Program
    source : sequence of Column
        Columns of its table, among them those that the program names.
    main : Column
        The source column whose distinct values are counted.
    target : ValueSet

    Returns
    -------
    Outcome
    """
    by_name = {column.name: column for column in source}
    arrays = [by_name[name].array for name in program.columns]
    outputs = normalize_column(program.apply(arrays), SETTINGS)
    hits = match_rows(outputs, target)
    codes = main.values.codes
    return Outcome(program, outputs, hits, codes, len(main.values), len(target), target)
