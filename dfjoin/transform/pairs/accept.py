"""Accepting programs on the full tables, and further programs for the rows that the first one does not join."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dfjoin.errors import shortlist
from dfjoin.programs.lookup import Lookup
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.chance import MIN_BITS, MIN_PRECISION
from dfjoin.transform.evidence.grids import same_tokens
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, Outcome
from dfjoin.transform.evidence.prepared_columns import count_distinct
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.transform.pairs.column_pair import ColumnPair, learn_pair
from dfjoin.transform.pairs.full_columns import FullColumns, count_letters, wholeness_of
from dfjoin.transform.pairs.named_columns import confused_columns, read_named_columns, reads_as_much
from dfjoin.transform.pairs.sides import ACCEPT, Direction
from dfjoin.values.shares import FEW, HALF, HARDLY_ANY, KEY_UNIQUENESS, MANY, NEARLY_ALL
from dfjoin.values.unicode import normalize_text

MIN_COVERAGE = 0.3
"""Share of the values of one column that a program must join: below it, the columns are not related as wholes."""
MIN_SCORE = 0.5
"""Sum of the shares of both columns that a program must join."""
_MIN_PART_SCORE = 1.2
"""The same for a part of a key that is a part of the other: what several words share here and there is no relation."""
_FEWEST_EXAMPLES = 2
"""Pairs of values that a program is learned from, at least: that it joins these is no evidence."""
_MAX_PROGRAMS = 5
_MAX_FIRST = 6
"""Learned programs that are tried as the first one."""
_MAX_FURTHER = 6
"""Learned programs that are tried as a further one."""
_MAX_POSITION = 10
_SPLIT = 3
"""Places further right that another column of a target counts as."""
_MORE_WHOLE = 0.15
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_MIN_REWRITTEN_SCORE = 1.0
"""Sum of the shares of both columns that it must join for that to be its evidence."""
_MIN_REWRITTEN_LETTERS = 5
"""Letters and digits of a value that a program may write anew."""


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
    wholeness : float
        Share of the letters and digits of both keys that the first program relates, see `wholeness_of`.
    """

    direction: Direction
    pair: ColumnPair
    target: Program
    outcomes: list[Outcome]
    position: int
    uniqueness: float
    shares: tuple[float, float]
    wholeness: float = 1.0

    @property
    def columns(self) -> tuple[set[str], set[str]]:
        """Names of the columns of the left table, and of the right one, that are related."""
        source = {self.pair.main.name, *(name for outcome in self.outcomes for name in outcome.program.columns)}
        target = set(self.target.columns)
        return (source, target) if self.direction == "left_to_right" else (target, source)

    @property
    def quality(self) -> float:
        """Coverage of both sides times precision, and the higher, the more both columns are keys."""
        keys = self.uniqueness * (1 + self.pair.main.uniqueness) / 2
        return sum(self.shares) * min(outcome.precision for outcome in self.outcomes) * keys

    @property
    def rank(self) -> tuple[float, int]:
        """Sort key, the best first: quality, a little less for columns further right and side by side; then simplicity.

        The first columns of a table mostly name its subject, and what is made of columns is easier read than split.
        """
        further = min(self.position, _MAX_POSITION) + _SPLIT * (len(self.target.columns) - 1)
        quality = self.quality * (1 - 0.01 * further)
        return -round(quality, 6), sum(outcome.program.n_operators for outcome in self.outcomes)


def _is_rewritten(columns: FullColumns, learned: Outcome, score: float) -> bool:
    """Tell whether a program writes the same words and numbers anew, as another spelling of a date or a code.

    Where nearly all values of both columns are joined, words that all values of one of them hold do not count: ``week``
    of ``Week 5, 2023``.
    """
    found = [tuple(map(normalize_text, sample[:2])) for sample in columns.samples(learned)]
    if len(found) < FEW or score < _MIN_REWRITTEN_SCORE:
        return False
    if score >= 2 * FULL_COVERAGE:
        sides = [[*texts] for texts in zip(*found, strict=True)]
        found = list(zip(*map(_without_shared_words, sides), strict=True))
    n_same = sum(
        count_letters(target) >= _MIN_REWRITTEN_LETTERS and same_tokens(source, target) for source, target in found
    )
    return n_same >= FULL_COVERAGE * len(found)


def _looks_up(program: Program) -> bool:
    """Tell whether a program reads its column by a table."""
    return any(step.operator is Lookup for piece in program.pieces for step in piece.all_steps)


def _exchanged_word(learned: Outcome) -> str:
    """Return a word of a constant that alone decides between several target values; empty if there is none.

    ``Hamburg harbour works`` reads as ``'airport ' + 'hamburg'`` where the target has an airport and a harbour of each
    city: that all results occur in the target is then no evidence for the word.
    """
    texts = [piece.text for piece in learned.program.pieces if isinstance(piece, Constant)]
    words = _WORD.findall(normalize_text(" ".join(texts)))
    if not words:
        return ""
    held = [frozenset(_TOKEN.findall(learned.target.value(code))) for code in range(len(learned.target))]
    holders: dict[str, set[int]] = {}
    for code, tokens in enumerate(held):
        for token in tokens:
            holders.setdefault(token, set()).add(code)
    rests = [
        rest for code in np.unique(learned.hits[learned.hits >= 0]).tolist() if (rest := held[code].difference(words))
    ]
    n_several = sum(len(set.intersection(*(holders[token] for token in rest))) > 1 for rest in rests)
    return words[0] if rests and n_several >= HALF * len(rests) else ""


def _without_shared_words(texts: list[str]) -> list[str]:
    """Take out of some texts the words that they all hold."""
    shared = set.intersection(*(set(_WORD.findall(text)) for text in texts))
    return [_WORD.sub(lambda word: "" if word[0] in shared else word[0], text) for text in texts]


def _reason_against(columns: FullColumns, outcome: Outcome, learned: Outcome, wholeness: float) -> str:
    """Return why a program is not accepted, an empty text if it is."""
    covered = max(outcome.source_coverage, outcome.target_coverage)
    is_part = columns.program.pieces != (Extract(0),) and len(columns.program.columns) == 1
    least = _MIN_PART_SCORE if is_part else MIN_SCORE
    is_strict = wholeness >= NEARLY_ALL and outcome.n_target_joined >= MANY
    is_learned = not outcome.program.is_identity
    is_strict &= is_learned
    if not columns.is_named and not is_strict and (covered < MIN_COVERAGE or outcome.score < least):
        reason = f"joins {outcome.source_coverage:.0%} and {outcome.target_coverage:.0%} of the values"
    elif (
        not columns.is_named and is_learned and outcome.n_target_joined <= _FEWEST_EXAMPLES and covered < FULL_COVERAGE
    ):
        reason = f"joins {outcome.n_target_joined} values, and is learned from as many"
    elif columns.needs.bits > 0 and _looks_up(outcome.program) and outcome.share_read < HALF:
        reason = f"the table has {outcome.share_read:.0%} of the values"
        reason += f"; {ACCEPT}" if columns.is_named else ""
    elif outcome.bits < columns.needs.bits + columns.bits_of_choice and not _is_rewritten(
        columns, learned, outcome.score
    ):
        needed = MIN_BITS + columns.bits_of_choice
        reason = f"chance may explain it ({outcome.bits:.0f} bits of evidence, {needed:.0f} needed)"
    elif outcome.bits >= MIN_BITS and outcome.precision < columns.needs.precision:
        reason = f"estimated precision {outcome.precision:.2f}, {columns.needs.precision} needed"
    elif word := _exchanged_word(learned):
        reason = f"values with the same other words have other texts in the place of {word!r}"
    elif confused := confused_columns(columns, outcome):
        reason = f"rows that differ in {shortlist(confused)}, which is named, would join the same value"
    else:
        return ""
    return f"{outcome.program} = {columns.program}: {reason}"


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
        A line is added for each program that is not accepted, if none is.

    Returns
    -------
    AcceptedPrograms or None
    """
    joining = [outcome for outcome in outcomes if outcome.n_joined]
    if not joining:
        tried.append(f"{columns.main.name} = {columns.program}: no program was learned")
        return None
    if not columns.is_key_fixed and columns.target.uniqueness < KEY_UNIQUENESS:
        tried.append(
            f"{columns.main.name} = {columns.program}: the target is no key ({columns.target.uniqueness:.2f} distinct)"
        )
        return None
    passed: list[tuple[Outcome, float]] = []
    reasons: list[str] = []
    for learned in joining[:_MAX_FIRST]:
        first, wholeness = columns.evaluate(learned.program), wholeness_of(columns, learned)
        reason = _reason_against(columns, first, learned, wholeness)
        if not reason:
            passed.append((first, wholeness))
            if wholeness >= NEARLY_ALL:
                break
        else:
            reasons.append(reason)
    if not passed:
        tried += reasons
        return None
    first, wholeness = passed[0]
    for other, share in passed[1:]:
        if is_more_whole(share, wholeness):
            first, wholeness = other, share
    accepted = [first]
    if max(first.source_coverage, first.target_coverage) < FULL_COVERAGE:
        accepted += _further_programs(columns, first, rng)
    shares = shares_of(accepted)
    uniqueness = columns.target.uniqueness
    return AcceptedPrograms(
        direction, columns.pair, columns.program, accepted, columns.position, uniqueness, shares, wholeness
    )


def is_more_whole(one: float, other: float) -> bool:
    """Tell whether a relation explains so much more of the keys that it is to be preferred.

    Parameters
    ----------
    one, other : float
        Wholeness.

    Notes
    -----
    What joins ``first + ' ' + last`` joins by ``last`` as well, and some strangers: the join by a part is wider, and no
    better.
    """
    return one >= other + _MORE_WHOLE


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
        further = learn_pair(columns.pair, rng, covered=rows[columns.rows] >= 0)[:_MAX_FURTHER]
        for learned in read_named_columns(columns, further):
            outcome = columns.evaluate(learned.program)
            if is_consistent(outcome, rows) and reads_as_much(columns, outcome, first):
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
        True if it adds at least two source values, passes on evidence and precision, does not contradict the accepted
        programs, and hardly joins target values that are joined already.
    """
    is_new = (rows < 0) & (outcome.row_targets >= 0)
    is_shared = (rows >= 0) & (outcome.row_targets >= 0)
    if count_distinct(outcome.source_codes[is_new], outcome.n_source) < 2 or outcome.bits < MIN_BITS:
        return False
    if (rows != outcome.row_targets)[is_shared].any():
        return False
    is_taken = np.isin(outcome.row_targets[is_new], rows[rows >= 0])
    return bool(is_taken.mean() <= HARDLY_ANY) and outcome.precision >= MIN_PRECISION


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
