"""The entry point: two tables in, programs that join them out, or the reasons why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.transform.columns import Column, as_columns
from dfjoin.transform.composite import split_column
from dfjoin.transform.evidence import MIN_BITS
from dfjoin.transform.outcome import Outcome, evaluate
from dfjoin.transform.pairs import SuffixArray, find_pairs
from dfjoin.transform.program import Program
from dfjoin.transform.result import RankedProgram, Table, TransformJoin
from dfjoin.transform.sampling import sample_rows, sample_sizes
from dfjoin.transform.search import Group, learn_group

__all__ = ["MIN_COVERAGE", "MIN_PRECISION", "find_programs"]

MIN_PRECISION = 0.9
"""A program whose estimated precision is below is not taken."""
MIN_COVERAGE = 0.3
"""Programs that join a smaller share of both sides are not taken: the relation is not that of the columns."""
_KEY = 0.8
"""Distinct values ÷ rows from which a column may be a key."""
_MAX_GROUPS = 10
"""Pairs of columns that are learned from, the most promising first."""
_MAX_PROGRAMS = 5
_SMALL = 5_000
"""Tables up to this size are not sampled."""
_ENOUGH = 0.97

Direction = Literal["left_to_right", "right_to_left"]


@dataclass
class _Side:
    """One table, whole and sampled."""

    columns: list[Column]
    sample: list[Column]
    given: tuple[str, ...]
    arrays: dict[str, SuffixArray] = field(default_factory=dict)

    def candidates(self) -> list[Column]:
        """Return the columns that may take part: those given, else all that hold two values."""
        if self.given:
            return [column for column in self.sample if column.name in self.given]
        return [column for column in self.sample if len(column.values) >= 2]

    def keys(self) -> list[Column]:
        """Return the columns that may be joined: those given, else those that are nearly keys."""
        return [column for column in self.candidates() if self.given or column.uniqueness >= _KEY]

    def whole(self, name: str) -> Column:
        """Return the column of a name with all its rows."""
        return next(column for column in self.columns if column.name == name)

    def suffixes(self, column: Column) -> SuffixArray:
        """Return the suffix array of a sampled column, made once."""
        if column.name not in self.arrays:
            self.arrays[column.name] = SuffixArray(column.values)
        return self.arrays[column.name]


@dataclass
class _Candidate:
    """Programs for one pair of columns, judged on the whole tables."""

    direction: Direction
    group: Group
    target: Program
    outcomes: list[Outcome]
    score: float
    shares: tuple[float, float]


def find_programs(
    left: Table,
    right: Table,
    *,
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    examples: Sequence[tuple[str, str]] | None = None,
    seed: int = 0,
) -> TransformJoin:
    """Find programs over the columns of one table whose results equal the key of the other.

    Both directions are tried. Values are compared in canonical form, as everywhere in dfjoin. Where no
    program covers all rows, up to five are returned, to be tried in turn.

    Parameters
    ----------
    left, right : mapping or sequence of (name, pyarrow Array of strings)
        The tables; columns of other types are read as text.
    on, right_on : str or sequence of str, optional
        Columns that take part; None: all, and the target must be nearly a key (distinct values ÷ rows ≥ 0.8).
    examples : sequence of (left value, right value), optional
        Values of `on` and `right_on` that belong together. Programs are learned from these alone, and are
        taken whatever the evidence.
    seed : int, default 0
        Seed of row samples and example sets.

    Returns
    -------
    TransformJoin
        Without programs if none is honest; `tried` says what was looked at.

    Raises
    ------
    ColumnNotFoundError, InvalidTypeError, InvalidParameterError
        For wrong arguments.

    Notes
    -----
    A program is accepted if all of this holds:

    1. *Evidence.* Of its n distinct results k are values of the target. If they were no more related than
       texts of the same characters, each would be one with probability p (`evidence.chance_of_match`), and
       P(X ≥ k) ≤ 2^(-n KL(k/n ‖ p)). These bits must exceed those that name the program among its
       alternatives (`evidence.description_bits`) by 10: by the union bound, the chance that *any* program
       that the learner could have come up with passes is below 1 in 1,000.
    2. *Precision.* Where the relation looks 1:1, two source values that join one target value are an error,
       and so are results that chance would have put among the target's values; the estimated share of
       right ones must be at least 0.9. Later programs must also agree with the earlier ones.
    3. *Coverage.* At least 0.3 of the distinct values of one of the columns are joined.

    Each source row joins at most one target value, since a program is a function and the first that hits
    is taken. Tables above 5,000 rows are sampled for learning by equations 4.7 and 4.8.
    Source: Auto-Join, PVLDB 10(10), 2017 (thesis, chapter 4). If neither direction gives a program, key
    columns are split into parts (section 4.4.3) and both are tried again.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald"]
    >>> people = ["Gerald Ford", "Jimmy Carter", "Bill Clinton", "George Bush", "Barack Obama"]
    >>> found = find_programs({"name": pa.array(names)}, {"president": pa.array(people)})
    >>> print(found.programs[0].program)
    name.split(', ')[1] + ' ' + name.split(', ')[0]
    """
    rng = np.random.default_rng(seed)
    wholes = (as_columns(left), as_columns(right))
    given = (_given(on, wholes[0], "on"), _given(right_on, wholes[1], "right_on"))
    sides = _sample(wholes, given, rng)
    tried: list[str] = []
    if examples is not None:
        return _from_examples(sides, _check_examples(examples), tried)
    candidates = _search(sides, rng, tried, splits=False)
    best = max((candidate.score for candidate in candidates), default=0.0)
    if best < 1.0:
        candidates += _search(sides, rng, tried, splits=True)
    if not candidates:
        return TransformJoin(tried=tuple(tried))
    chosen = min(candidates, key=lambda c: (-round(c.score, 6), sum(o.program.n_operators for o in c.outcomes)))
    return _result(chosen, tried)


def _given(names: str | Sequence[str] | None, columns: list[Column], argument: str) -> tuple[str, ...]:
    """Check the columns that a caller named."""
    if names is None:
        return ()
    wanted = (names,) if isinstance(names, str) else tuple(names)
    known = [column.name for column in columns]
    for name in wanted:
        if name not in known:
            raise ColumnNotFoundError(f"`{argument}` must name columns of the table, {shortlist(known)}; got {name!r}")
    return wanted


def _check_examples(examples: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Check the examples of a caller."""
    pairs = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in examples]
    if not pairs or not all(len(pair) == 2 and all(isinstance(v, str) and v for v in pair) for pair in pairs):
        raise InvalidTypeError(f"`examples` must be pairs of texts (left value, right value), got {examples!r:.200}")
    return pairs  # type: ignore[return-value]


def _sample(wholes: tuple[list[Column], list[Column]], given: tuple, rng: np.random.Generator) -> tuple[_Side, _Side]:
    """Sample the rows of both tables where they are large."""
    n_rows = [len(columns[0]) if columns else 0 for columns in wholes]
    sizes = n_rows if max(n_rows) <= _SMALL else [max(sample_sizes(*n_rows)), max(sample_sizes(*n_rows[::-1]))]
    sides = []
    for columns, n, size, names in zip(wholes, n_rows, sizes, given, strict=True):
        rows = sample_rows(n, size, rng)
        sample = columns if size >= n else [column.take(rows) for column in columns]
        sides.append(_Side(columns, sample, names))
    return sides[0], sides[1]


def _groups(sides: tuple[_Side, _Side], splits: bool) -> list[tuple[Direction, Group, Program]]:
    """List the pairs of columns with candidate pairs, the most promising first."""
    groups: list[tuple[Direction, Group, Program]] = []
    directions: tuple[Direction, Direction] = ("left_to_right", "right_to_left")
    for direction, (source, target) in zip(directions, (sides, sides[::-1]), strict=True):
        targets = [(Program.identity(column.name), column) for column in target.keys()]
        if splits:
            targets = [part for _, column in targets for part in split_column(column)]
        for program, wanted in targets:
            for column in source.candidates():
                pairs = find_pairs(source.suffixes(column), target.suffixes(wanted))
                group = Group(source.sample, column, wanted, pairs)
                if len(pairs) >= 2:
                    groups.append((direction, group, program))
    groups.sort(key=lambda entry: (-entry[1].promise, entry[0], entry[1].main.name, entry[1].target.name))
    return groups[:_MAX_GROUPS]


def _search(sides: tuple[_Side, _Side], rng: np.random.Generator, tried: list[str], splits: bool) -> list[_Candidate]:
    """Learn from the most promising pairs of columns; keep what is honest."""
    candidates: list[_Candidate] = []
    for direction, group, target in _groups(sides, splits):
        source_side, target_side = sides if direction == "left_to_right" else sides[::-1]
        outcomes = [evaluate(Program.identity(group.main.name), group.table, group.main, group.target.values)]
        if outcomes[0].score < 2 * _ENOUGH:
            outcomes += learn_group(group, rng)
        outcomes = sorted(outcomes, key=lambda o: (-o.score, o.program.n_operators))
        wholes = _Whole(source_side, target_side, group, target)
        candidate = _judge(wholes, outcomes, direction, rng, tried)
        if candidate is not None:
            candidates.append(candidate)
            if candidate.score > 2 * _ENOUGH:
                break
    return candidates


class _Whole:
    """The whole columns behind a group of samples."""

    def __init__(self, source: _Side, target: _Side, group: Group, program: Program) -> None:
        self.columns = source.columns
        self.main = source.whole(group.main.name)
        self.group = group
        self.program = program
        if program.is_identity:
            self.target = target.whole(program.columns[0]).values
        else:
            arrays = [target.whole(name).array for name in program.columns]
            self.target = Column(str(program), program.apply(arrays)).values

    def judge(self, program: Program) -> Outcome:
        """Evaluate a program on the whole tables."""
        return evaluate(program, self.columns, self.main, self.target)


def _why_not(outcome: Outcome, target: Program) -> str:
    """Return why an outcome is not taken, empty if it is."""
    if max(outcome.source_coverage, outcome.target_coverage) < MIN_COVERAGE:
        reason = f"joins {outcome.source_coverage:.0%} and {outcome.target_coverage:.0%} of the values"
    elif outcome.bits < MIN_BITS:
        reason = f"chance may explain it ({outcome.bits:.0f} bits of evidence, {MIN_BITS:.0f} needed)"
    elif outcome.precision < MIN_PRECISION:
        reason = f"estimated precision {outcome.precision:.2f}, {MIN_PRECISION} needed"
    else:
        return ""
    return f"{outcome.program} = {target}: {reason}"


def _judge(
    whole: _Whole, outcomes: list[Outcome], direction: Direction, rng: np.random.Generator, tried: list[str]
) -> _Candidate | None:
    """Take the first honest program on the whole tables, and add others for the rows that it leaves."""
    if not outcomes or outcomes[0].n_joined == 0:
        tried.append(f"{whole.main.name} = {whole.program}: no program was learned")
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
    if max(first.source_coverage, first.target_coverage) < _ENOUGH and whole.main.array is whole.group.main.array:
        kept += _more(whole, first, rng)
    for outcome in kept[1:]:
        covered |= outcome.row_targets >= 0
    shares = _shares(kept)
    return _Candidate(direction, whole.group, whole.program, kept, sum(shares), shares)


def _shares(outcomes: list[Outcome]) -> tuple[float, float]:
    """Return the shares of source and target values that a list of programs joins, each row by the first."""
    rows = outcomes[0].row_targets.copy()
    for outcome in outcomes[1:]:
        rows = np.where(rows >= 0, rows, outcome.row_targets)
    codes = outcomes[0].source_codes[(rows >= 0) & (outcomes[0].source_codes >= 0)]
    n_source, n_target = outcomes[0].n_source, outcomes[0].n_target
    return np.unique(codes).size / max(1, n_source), np.unique(rows[rows >= 0]).size / max(1, n_target)


def _more(whole: _Whole, first: Outcome, rng: np.random.Generator) -> list[Outcome]:
    """Learn programs for the rows that are left, as long as they agree with those before."""
    kept: list[Outcome] = []
    rows = first.row_targets.copy()
    for _ in range(_MAX_PROGRAMS - 1):
        for outcome in learn_group(whole.group, rng, covered=rows >= 0)[:6]:
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
    n_fresh = np.unique(outcome.source_codes[fresh]).size
    if n_fresh < 2 or outcome.bits < MIN_BITS:
        return False
    n_wrong = int((both & (rows != outcome.row_targets)).sum())
    taken = np.isin(outcome.row_targets[fresh], rows[rows >= 0])
    n_right = int((both & (rows == outcome.row_targets)).sum())
    return n_wrong <= 0.05 * (n_wrong + n_right) and taken.mean() <= 0.1 and outcome.precision >= MIN_PRECISION


def _result(candidate: _Candidate, tried: list[str]) -> TransformJoin:
    """Write a candidate as a result."""
    outcomes = candidate.outcomes
    n_rows = max(1, int((outcomes[0].source_codes >= 0).sum()))
    rows = np.full(outcomes[0].row_targets.shape, -1, np.int64)
    ranked = []
    for outcome in outcomes:
        support = int(((rows < 0) & (outcome.row_targets >= 0)).sum())
        rows = np.where(rows >= 0, rows, outcome.row_targets)
        ranked.append(
            RankedProgram(outcome.program, support, support / n_rows, round(outcome.precision, 4), round(outcome.bits, 1))
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


def _from_examples(sides: tuple[_Side, _Side], examples: list[tuple[str, str]], tried: list[str]) -> TransformJoin:
    raise InvalidParameterError("`examples` are to come")
