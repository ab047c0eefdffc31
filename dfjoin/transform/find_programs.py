"""The entry point: two tables in, programs that join them out, or the reasons why there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.transform.accept import ENOUGH, Candidate, Whole, as_result, judge
from dfjoin.transform.column_pair import Group, learn_group
from dfjoin.transform.composite import split_column
from dfjoin.transform.given import from_examples
from dfjoin.transform.outcome import evaluate
from dfjoin.transform.prepared_columns import Column, as_columns
from dfjoin.transform.sides import DIRECTIONS, Direction, Side, sample_sides
from dfjoin.transform.transform_join import Table, TransformJoin
from dfjoin.transform.value_pairs import find_pairs

__all__ = ["find_programs"]

_LEAST_PROMISE = 0.1
"""Pairs of columns with a smaller part of the best promise are passed over."""
_MAX_GROUPS = 10
"""Pairs of columns that are learned from, the most promising first."""


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
        Columns that take part, at most three; None: all, and the target must be nearly a key (distinct values ÷
        rows ≥ 0.8) or the only column, or up to three columns that are a key together and are compared side by
        side. Several columns given for the target are compared so, too.
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
       alternatives (`evidence.description_bits`) by 10. Were that count exact and the results independent, the
       union bound would put the chance that *any* program passes below 1 in 1,000; the count is rough (2 bits
       for a piece, 3 for a step, 1 for a character of a constant), and real columns share words, so that
       the rule is a strong test against unrelated columns, not a proof of meaning.
    2. *Precision.* Where chance may make a result a target value, two source values that join the same one are
       an error, and so are the hits that chance would have made of the results that missed
       (`Outcome.precision`); the estimated share of right ones must be at least 0.9. Later programs must
       also agree with the earlier ones.
    3. *Coverage.* At least 0.3 of the distinct values of one of the columns are joined, and the shares of both
       columns add up to 0.5.

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
    sides = sample_sides(wholes, given, rng)
    tried: list[str] = []
    if examples is not None:
        return from_examples(sides, _check_examples(examples), tried)
    candidates = _search(sides, rng, tried, splits=False)
    best = max((candidate.merit for candidate in candidates), default=0.0)
    if best < 1.0:
        candidates += _search(sides, rng, tried, splits=True)
    if not candidates:
        return TransformJoin(tried=tuple(tried))
    chosen = min(candidates, key=lambda candidate: candidate.rank)
    return as_result(chosen, tried)


def _given(names: str | Sequence[str] | None, columns: list[Column], argument: str) -> tuple[str, ...]:
    """Check the columns that a caller named."""
    if names is None:
        return ()
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not 1 <= len(wanted) <= MAX_COLUMNS:
        raise InvalidParameterError(f"`{argument}` must name 1 to {MAX_COLUMNS} columns, got {len(wanted)}")
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


def _groups(sides: tuple[Side, Side], splits: bool) -> list[tuple[Direction, Group, Program]]:
    """List the pairs of columns with candidate pairs, the most promising first."""
    groups: list[tuple[Direction, Group, Program]] = []
    for direction, (source, target) in zip(DIRECTIONS, (sides, sides[::-1]), strict=True):
        targets = target.keys()
        if splits:
            targets = [part for program, column in targets if program.is_identity for part in split_column(column)]
        for program, wanted in targets:
            for column in source.candidates():
                pairs = find_pairs(source.suffixes(column), target.suffixes(wanted))
                group = Group(source.candidates(), column, wanted, pairs)
                if len(pairs) >= 2:
                    groups.append((direction, group, program))
    groups.sort(key=lambda entry: (-entry[1].promise, entry[0], entry[1].main.name, entry[1].target.name))
    least = _LEAST_PROMISE * groups[0][1].promise if groups else 0.0
    return [entry for entry in groups[:_MAX_GROUPS] if entry[1].promise >= least]


def _search(sides: tuple[Side, Side], rng: np.random.Generator, tried: list[str], splits: bool) -> list[Candidate]:
    """Learn from the most promising pairs of columns; keep what is honest."""
    candidates: list[Candidate] = []
    for direction, group, target in _groups(sides, splits):
        source_side, target_side = sides if direction == "left_to_right" else sides[::-1]
        outcomes = [evaluate(Program.identity(group.main.name), group.table, group.main, group.target.values)]
        if outcomes[0].score < 2 * ENOUGH:
            outcomes += learn_group(group, rng)
        outcomes = sorted(outcomes, key=lambda o: (-o.score, o.program.n_operators))
        wholes = Whole(source_side, target_side, group, target)
        candidate = judge(wholes, outcomes, direction, rng, tried)
        if candidate is not None:
            candidates.append(candidate)
            if candidate.merit > 2 * ENOUGH:
                break
    return candidates
