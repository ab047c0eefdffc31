"""Accepting programs on the full tables, and further programs for the rows that the first one does not join."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfjoin.programs.program import Program
from dfjoin.transform.chance import MIN_BITS
from dfjoin.transform.column_pair import ColumnPair, learn_pair
from dfjoin.transform.outcome import FULL_COVERAGE, Outcome, evaluate
from dfjoin.transform.prepared_columns import Column, count_distinct
from dfjoin.transform.sides import KEY_UNIQUENESS, Direction, SampledTable
from dfjoin.transform.transform_join import RankedProgram, TransformJoin

__all__ = [
    "MIN_COVERAGE",
    "MIN_PRECISION",
    "MIN_SCORE",
    "AcceptedPrograms",
    "FullColumns",
    "accept_programs",
    "as_result",
    "is_consistent",
    "shares_of",
]

MIN_PRECISION = 0.9
"""Estimated precision below which a program is not accepted."""
MIN_COVERAGE = 0.3
"""Share of the values of one column that a program must join: below it, the columns are not related as wholes."""
MIN_SCORE = 0.5
"""Sum of the shares of both columns that a program must join."""
_MAX_PROGRAMS = 5
_MAX_FIRST = 4
"""Learned programs that are tried as the first one."""
_MAX_FURTHER = 6
"""Learned programs that are tried as a further one."""
_MAX_CONTRADICTIONS = 0.05
"""Share of the rows that a further program and the earlier ones join, where they may disagree."""
_MAX_TAKEN = 0.1
"""Share of the rows that a further program adds, which may join a target value that is joined already."""
_MAX_POSITION = 10


@dataclass
class AcceptedPrograms:
    """Programs that are accepted for one pair of columns, evaluated on the full tables.

    Parameters
    ----------
    direction : {"left_to_right", "right_to_left"}
    pair : ColumnPair
    target : Program
        Makes the values that results are compared with.
    outcomes : list of Outcome
        One a program, in the order in which they are tried on a row.
    position : int
        Numbers of the source column and of the target's first column in their tables, added up.
    uniqueness : float
        Distinct values ÷ rows of the target.
    shares : tuple of float
        Shares of the values of source and target that are joined.
    """

    direction: Direction
    pair: ColumnPair
    target: Program
    outcomes: list[Outcome]
    position: int
    uniqueness: float
    shares: tuple[float, float]

    @property
    def quality(self) -> float:
        """Coverage of both sides times precision, and the higher, the more both columns are keys."""
        keys = self.uniqueness * (1 + self.pair.main.uniqueness) / 2
        return sum(self.shares) * min(outcome.precision for outcome in self.outcomes) * keys

    @property
    def rank(self) -> tuple[float, int]:
        """Sort key, the best first: quality, a little less for columns further right; then simplicity.

        The first columns of a table mostly name its subject.
        """
        quality = self.quality * (1 - 0.01 * min(self.position, _MAX_POSITION))
        return -round(quality, 6), sum(outcome.program.n_operators for outcome in self.outcomes)


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
        self.columns = source.columns
        self.rows = source.rows
        self.is_key_fixed = target.is_key_fixed
        self.position = source.position(pair.main.name) + target.position(program.columns[0])
        self.main = source.full_column(pair.main.name)
        self.pair = pair
        self.program = program
        if program.is_identity:
            self.target = target.full_column(program.columns[0])
        else:
            arrays = [target.full_column(name).array for name in program.columns]
            self.target = Column(str(program), program.apply(arrays))

    def evaluate(self, program: Program) -> Outcome:
        """Evaluate a program on all rows."""
        return evaluate(program, self.columns, self.main, self.target.values)


def _reason_against(outcome: Outcome, target: Program) -> str:
    """Return why a program is not accepted, an empty text if it is."""
    if max(outcome.source_coverage, outcome.target_coverage) < MIN_COVERAGE or outcome.score < MIN_SCORE:
        reason = f"joins {outcome.source_coverage:.0%} and {outcome.target_coverage:.0%} of the values"
    elif outcome.bits < MIN_BITS:
        reason = f"chance may explain it ({outcome.bits:.0f} bits of evidence, {MIN_BITS:.0f} needed)"
    elif outcome.precision < MIN_PRECISION:
        reason = f"estimated precision {outcome.precision:.2f}, {MIN_PRECISION} needed"
    else:
        return ""
    return f"{outcome.program} = {target}: {reason}"


def accept_programs(
    columns: FullColumns, outcomes: list[Outcome], direction: Direction, rng: np.random.Generator, tried: list[str]
) -> AcceptedPrograms | None:
    """Accept the first program that passes on the full columns, and further ones for the rows that it leaves.

    Parameters
    ----------
    columns : FullColumns
    outcomes : list of Outcome
        Learned programs on the samples, the best first.
    direction : {"left_to_right", "right_to_left"}
    rng : numpy Generator
    tried : list of str
        A line is added for each program that is not accepted.

    Returns
    -------
    AcceptedPrograms or None
    """
    if not outcomes or outcomes[0].n_joined == 0:
        tried.append(f"{columns.main.name} = {columns.program}: no program was learned")
        return None
    if not columns.is_key_fixed and columns.target.uniqueness < KEY_UNIQUENESS:
        tried.append(
            f"{columns.main.name} = {columns.program}: the target is no key ({columns.target.uniqueness:.2f} distinct)"
        )
        return None
    for learned in outcomes[:_MAX_FIRST]:
        first = columns.evaluate(learned.program)
        reason = _reason_against(first, columns.program)
        if not reason:
            break
        tried.append(reason)
    else:
        return None
    accepted = [first]
    if max(first.source_coverage, first.target_coverage) < FULL_COVERAGE:
        accepted += _further_programs(columns, first, rng)
    shares = shares_of(accepted)
    uniqueness = columns.target.uniqueness
    return AcceptedPrograms(direction, columns.pair, columns.program, accepted, columns.position, uniqueness, shares)


def shares_of(outcomes: list[Outcome]) -> tuple[float, float]:
    """Return the shares of source and target values that a list of programs joins, each row by the first.

    Parameters
    ----------
    outcomes : list of Outcome

    Returns
    -------
    tuple of float
    """
    rows = outcomes[0].row_targets.copy()
    for outcome in outcomes[1:]:
        rows = np.where(rows >= 0, rows, outcome.row_targets)
    n_source, n_target = outcomes[0].n_source, outcomes[0].n_target
    n_joined = count_distinct(outcomes[0].source_codes[rows >= 0], n_source)
    return n_joined / max(1, n_source), count_distinct(rows, n_target) / max(1, n_target)


def _further_programs(columns: FullColumns, first: Outcome, rng: np.random.Generator) -> list[Outcome]:
    """Learn programs for the rows that are left, as long as they are consistent with those before."""
    accepted: list[Outcome] = []
    rows = first.row_targets.copy()
    for _ in range(_MAX_PROGRAMS - 1):
        for learned in learn_pair(columns.pair, rng, covered=rows[columns.rows] >= 0)[:_MAX_FURTHER]:
            outcome = columns.evaluate(learned.program)
            if is_consistent(outcome, rows):
                accepted.append(outcome)
                rows = np.where(rows >= 0, rows, outcome.row_targets)
                break
        else:
            break
    return accepted


def is_consistent(outcome: Outcome, rows: np.ndarray) -> bool:
    """Tell whether a further program may stand beside those that are accepted.

    Parameters
    ----------
    outcome : Outcome
        Of the further program.
    rows : ndarray of int64, shape (n_rows,)
        Target value that the accepted programs join with each source row, -1 for none.

    Returns
    -------
    bool
        True if it adds at least two source values, passes on evidence and precision, hardly contradicts the accepted
        programs, and hardly joins target values that are joined already.
    """
    is_new = (rows < 0) & (outcome.row_targets >= 0)
    is_shared = (rows >= 0) & (outcome.row_targets >= 0)
    if count_distinct(outcome.source_codes[is_new], outcome.n_source) < 2 or outcome.bits < MIN_BITS:
        return False
    if (rows != outcome.row_targets)[is_shared].sum() > _MAX_CONTRADICTIONS * is_shared.sum():
        return False
    is_taken = np.isin(outcome.row_targets[is_new], rows[rows >= 0])
    return bool(is_taken.mean() <= _MAX_TAKEN) and outcome.precision >= MIN_PRECISION


def as_result(accepted: AcceptedPrograms, tried: list[str]) -> TransformJoin:
    """Write accepted programs as a result.

    Parameters
    ----------
    accepted : AcceptedPrograms
    tried : list of str

    Returns
    -------
    TransformJoin
    """
    outcomes = accepted.outcomes
    n_rows = max(1, int((outcomes[0].source_codes >= 0).sum()))
    rows = np.full(outcomes[0].row_targets.shape, -1, np.int64)
    ranked = []
    for outcome in outcomes:
        support = int(((rows < 0) & (outcome.row_targets >= 0)).sum())
        rows = np.where(rows >= 0, rows, outcome.row_targets)
        precision, evidence = round(outcome.precision, 4), round(outcome.bits, 1)
        ranked.append(RankedProgram(outcome.program, support, support / n_rows, precision, evidence))
    names = dict.fromkeys([accepted.pair.main.name, *(n for o in outcomes for n in o.program.columns)])
    return TransformJoin(
        direction=accepted.direction,
        source_columns=tuple(names),
        target_columns=accepted.target.columns,
        target=accepted.target,
        programs=tuple(ranked),
        source_coverage=accepted.shares[0],
        target_coverage=accepted.shares[1],
        tried=tuple(tried),
    )
