"""Which programs are honest on the whole tables, and what others may stand beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfjoin.programs.program import Program
from dfjoin.transform.chance import MIN_BITS
from dfjoin.transform.column_pair import Group, learn_group
from dfjoin.transform.outcome import Outcome, evaluate
from dfjoin.transform.prepared_columns import Column, count_distinct
from dfjoin.transform.sides import KEY, Direction, Side
from dfjoin.transform.transform_join import RankedProgram, TransformJoin

__all__ = [
    "ENOUGH",
    "MIN_COVERAGE",
    "MIN_PRECISION",
    "MIN_SCORE",
    "Candidate",
    "Whole",
    "as_result",
    "judge",
    "shares_of",
]

MIN_PRECISION = 0.9
"""A program whose estimated precision is below is not taken."""
MIN_COVERAGE = 0.3
"""Programs that join a smaller share of both sides are not taken: the relation is not that of the columns."""
MIN_SCORE = 0.5
"""The shares of both sides that a program joins must be so much together."""
ENOUGH = 0.97
"""Coverage from which nothing better is looked for."""
_MAX_PROGRAMS = 5
_MAX_PLACE = 10


@dataclass
class Candidate:
    """Programs for one pair of columns, judged on the whole tables."""

    direction: Direction
    group: Group
    target: Program
    outcomes: list[Outcome]
    place: int
    uniqueness: float
    score: float
    shares: tuple[float, float]

    @property
    def merit(self) -> float:
        """What candidates are ranked by: coverage, less what is wrong, and the more, the more both sides are keys."""
        keys = self.uniqueness * (1 + self.group.main.uniqueness) / 2
        return self.score * min(outcome.precision for outcome in self.outcomes) * keys

    @property
    def rank(self) -> tuple[float, int]:
        """Order candidates, the best first: merit, a little less for columns that stand further right; simplicity.

        What a table is about mostly stands in its first columns.
        """
        merit = self.merit * (1 - 0.01 * min(self.place, _MAX_PLACE))
        return -round(merit, 6), sum(outcome.program.n_operators for outcome in self.outcomes)


class Whole:
    """The whole columns behind a group of samples."""

    def __init__(self, source: Side, target: Side, group: Group, program: Program) -> None:
        self.columns = source.columns
        self.rows = source.rows
        self.is_settled = target.is_settled
        self.place = source.place(group.main.name) + target.place(program.columns[0])
        self.main = source.whole(group.main.name)
        self.group = group
        self.program = program
        if program.is_identity:
            self.target = target.whole(program.columns[0])
        else:
            arrays = [target.whole(name).array for name in program.columns]
            self.target = Column(str(program), program.apply(arrays))

    def judge(self, program: Program) -> Outcome:
        """Evaluate a program on the whole tables."""
        return evaluate(program, self.columns, self.main, self.target.values)


def _why_not(outcome: Outcome, target: Program) -> str:
    """Return why an outcome is not taken, empty if it is."""
    if max(outcome.source_coverage, outcome.target_coverage) < MIN_COVERAGE or outcome.score < MIN_SCORE:
        reason = f"joins {outcome.source_coverage:.0%} and {outcome.target_coverage:.0%} of the values"
    elif outcome.bits < MIN_BITS:
        reason = f"chance may explain it ({outcome.bits:.0f} bits of evidence, {MIN_BITS:.0f} needed)"
    elif outcome.precision < MIN_PRECISION:
        reason = f"estimated precision {outcome.precision:.2f}, {MIN_PRECISION} needed"
    else:
        return ""
    return f"{outcome.program} = {target}: {reason}"


def judge(
    whole: Whole, outcomes: list[Outcome], direction: Direction, rng: np.random.Generator, tried: list[str]
) -> Candidate | None:
    """Take the first honest program on the whole tables, and add others for the rows that it leaves."""
    if not outcomes or outcomes[0].n_joined == 0:
        tried.append(f"{whole.main.name} = {whole.program}: no program was learned")
        return None
    if not whole.is_settled and whole.target.uniqueness < KEY:
        tried.append(
            f"{whole.main.name} = {whole.program}: the target is no key ({whole.target.uniqueness:.2f} distinct)"
        )
        return None
    first = None
    for outcome in outcomes[:4]:
        judged = whole.judge(outcome.program)
        reason = _why_not(judged, whole.program)
        if not reason:
            first = judged
            break
        tried.append(reason)
    if first is None:
        return None
    kept = [first]
    covered = first.row_targets >= 0
    if max(first.source_coverage, first.target_coverage) < ENOUGH:
        kept += _more(whole, first, rng)
    for outcome in kept[1:]:
        covered |= outcome.row_targets >= 0
    shares = shares_of(kept)
    return Candidate(
        direction, whole.group, whole.program, kept, whole.place, whole.target.uniqueness, sum(shares), shares
    )


def shares_of(outcomes: list[Outcome]) -> tuple[float, float]:
    """Return the shares of source and target values that a list of programs joins, each row by the first."""
    rows = outcomes[0].row_targets.copy()
    for outcome in outcomes[1:]:
        rows = np.where(rows >= 0, rows, outcome.row_targets)
    n_source, n_target = outcomes[0].n_source, outcomes[0].n_target
    n_joined = count_distinct(outcomes[0].source_codes[rows >= 0], n_source)
    return n_joined / max(1, n_source), count_distinct(rows, n_target) / max(1, n_target)


def _more(whole: Whole, first: Outcome, rng: np.random.Generator) -> list[Outcome]:
    """Learn programs for the rows that are left, as long as they agree with those before."""
    kept: list[Outcome] = []
    rows = first.row_targets.copy()
    for _ in range(_MAX_PROGRAMS - 1):
        for outcome in learn_group(whole.group, rng, covered=rows[whole.rows] >= 0)[:6]:
            judged = whole.judge(outcome.program)
            if _is_honest_beside(judged, rows):
                kept.append(judged)
                rows = np.where(rows >= 0, rows, judged.row_targets)
                break
        else:
            break
    return kept


def _is_honest_beside(outcome: Outcome, rows: np.ndarray) -> bool:
    """Tell whether a further program brings rows, agrees with the earlier ones and takes no joined value."""
    fresh = (rows < 0) & (outcome.row_targets >= 0)
    both = (rows >= 0) & (outcome.row_targets >= 0)
    n_fresh = count_distinct(outcome.source_codes[fresh], outcome.n_source)
    if n_fresh < 2 or outcome.bits < MIN_BITS:
        return False
    n_wrong = int((both & (rows != outcome.row_targets)).sum())
    taken = np.isin(outcome.row_targets[fresh], rows[rows >= 0])
    n_right = int((both & (rows == outcome.row_targets)).sum())
    return n_wrong <= 0.05 * (n_wrong + n_right) and taken.mean() <= 0.1 and outcome.precision >= MIN_PRECISION


def as_result(candidate: Candidate, tried: list[str]) -> TransformJoin:
    """Write a candidate as a result."""
    outcomes = candidate.outcomes
    n_rows = max(1, int((outcomes[0].source_codes >= 0).sum()))
    rows = np.full(outcomes[0].row_targets.shape, -1, np.int64)
    ranked = []
    for outcome in outcomes:
        support = int(((rows < 0) & (outcome.row_targets >= 0)).sum())
        rows = np.where(rows >= 0, rows, outcome.row_targets)
        ranked.append(
            RankedProgram(
                outcome.program, support, support / n_rows, round(outcome.precision, 4), round(outcome.bits, 1)
            )
        )
    names = dict.fromkeys([candidate.group.main.name, *(n for o in outcomes for n in o.program.columns)])
    return TransformJoin(
        candidate.direction,
        tuple(names),
        candidate.target.columns,
        candidate.target,
        tuple(ranked),
        *candidate.shares,
        tuple(tried),
    )
