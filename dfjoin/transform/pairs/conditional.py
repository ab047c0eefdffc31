"""Two programs with a condition, with no examples: one joins the rows that it holds for, the other one the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.programs.conditions import Condition
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.transform.compose.predicates import text_features
from dfjoin.transform.evidence.chance import MIN_BITS, MIN_PRECISION
from dfjoin.transform.evidence.outcome import Outcome, evaluate
from dfjoin.transform.pairs.accept import AcceptedPrograms, shares_of
from dfjoin.transform.pairs.column_pair import ColumnPair, learn_pair
from dfjoin.transform.pairs.full_columns import FullColumns, wholeness_of
from dfjoin.transform.pairs.named_columns import confused_columns
from dfjoin.transform.pairs.sides import Direction
from dfjoin.values.shares import HARDLY_ANY, KEY_UNIQUENESS

_MAX_VALUES = 500
"""Distinct source values whose texts are looked at."""
_MAX_FEATURE_TEXTS = 40
"""Joined ones, and others, whose texts give predicates."""
_MAX_PROGRAMS = 8
"""Programs that conditions are looked for, those that join most."""
_MAX_TRIED = 4
"""Predicates that programs are learned for."""
_MAX_OTHERS = 6
"""Programs that are tried for the rows that the first one does not serve."""
_MIN_VALUES = 8
"""Source values on either side of a predicate."""
_MIN_INFORMATION = 10.0
"""Bits that a predicate must tell of what is joined, those of its own text subtracted."""
_MIN_UNION = 0.8
"""Share of the values of one column that both programs together must join,"""
_MIN_SUM = 1.0
"""and sum of the shares of both columns."""
_MAX_TAKEN = 0.1
"""Share of the values that the second program joins which the first one joins too."""


class _Guess(NamedTuple):
    """A program, and a predicate of the rows that it may serve, with what this tells of the rows that it joins."""

    information: float
    program: Program
    condition: Condition


def accept_conditionally(
    columns: FullColumns, direction: Direction, rng: np.random.Generator, tried: list[str]
) -> AcceptedPrograms | None:
    """Accept two programs that together explain the target, each for the rows that a predicate leaves it.

    Parameters
    ----------
    columns : FullColumns
        Of a pair that `learn_pair` has learned programs for.
    direction : {"left_to_right", "right_to_left"}
    rng : numpy Generator
    tried : list of str
        A line is added if predicates were found, but no two programs.

    Returns
    -------
    AcceptedPrograms or None

    Notes
    -----
    A program without a condition meets values by accident in the rows that it is not meant for, and misses count
    against it. For the programs that join most, predicates of the source's text are ranked by what they tell about
    which values are joined (mutual information). For the best ones a second program is learned from the other rows, and
    bears the negated predicate. Both must be evident by themselves, the predicate counted as part of either
    (`chance.description_bits`), and precise; together they join four fifths of one column, and hardly a value twice. At
    most four predicates are tried, so that the time is that of learning four times more.
    Source: conditions over inputs as in FlashFill (Gulwani, POPL 2011, section 5), which needs examples; the evidence
    is that of `find_programs`.
    """
    if not columns.is_key_fixed and columns.target.uniqueness < KEY_UNIQUENESS:
        return None
    pair = columns.pair
    guesses = _guesses(pair)
    for guess in guesses[:_MAX_TRIED]:
        first = columns.evaluate(_guarded(guess.program, pair.main.name, guess.condition))
        if not _is_evident(columns, first):
            continue
        others = replace(guess.condition, is_negated=not guess.condition.is_negated)
        covered = guess.condition.mask(pair.main.array)
        for learned in learn_pair(pair, rng, covered=covered)[:_MAX_OTHERS]:
            if len({*learned.program.columns, pair.main.name}) > MAX_COLUMNS or learned.program.conditions:
                continue
            second = columns.evaluate(_guarded(learned.program, pair.main.name, others))
            if _is_evident(columns, second) and _explain(first, second):
                found = sorted((first, second), key=lambda outcome: -outcome.n_joined)
                wholeness = sum(wholeness_of(columns, _on_sample(pair, one)) for one in found) / len(found)
                uniqueness, shares = columns.target.uniqueness, shares_of(found)
                return AcceptedPrograms(
                    direction, pair, columns.program, found, columns.position, uniqueness, shares, wholeness
                )
    if guesses:
        tried.append(f"{columns.main.name} = {columns.program}: no two programs with a condition")
    return None


def _on_sample(pair: ColumnPair, outcome: Outcome) -> Outcome:
    return evaluate(outcome.program, pair.table, pair.main, pair.target.values)


def _guarded(program: Program, name: str, condition: Condition) -> Program:
    """Add a condition on a column of the table to a program over its own columns."""
    names = program.columns if name in program.columns else (*program.columns, name)
    return Program(names, program.pieces, (replace(condition, column=names.index(name)),))


def _is_evident(columns: FullColumns, outcome: Outcome) -> bool:
    """Tell whether a program is accepted by itself, whatever it covers."""
    if outcome.n_joined < _MIN_VALUES or outcome.bits < MIN_BITS or outcome.precision < MIN_PRECISION:
        return False
    return not confused_columns(columns, outcome)


def _explain(first: Outcome, second: Outcome) -> bool:
    """Tell whether two programs join most values of one column, and hardly one twice."""
    shares = shares_of([first, second])
    if max(shares) < _MIN_UNION or sum(shares) < _MIN_SUM:
        return False
    some, others = (np.unique(one.hits[one.hits >= 0]) for one in (first, second))
    return bool(np.isin(some, others).sum() <= _MAX_TAKEN * min(some.size, others.size))


def _guesses(pair: ColumnPair) -> list[_Guess]:
    """Rank predicates by what they tell about which values the programs join, one for each set of rows."""
    texts = pair.main.array.take(pa.array(pair.main.first_rows[:_MAX_VALUES]))
    rows = pair.main.first_rows[:_MAX_VALUES]
    outcomes = sorted(pair.seen.values(), key=lambda one: (-one.score, one.program.n_operators, str(one.program)))
    found: dict[bytes, _Guess] = {}
    for outcome in [one for one in outcomes if one.n_joined >= _MIN_VALUES][:_MAX_PROGRAMS]:
        is_hit = outcome.row_targets[rows] >= 0
        for kind, text in _predicates(texts, is_hit):
            condition = Condition(0, kind, text)
            held = condition.mask(texts)
            if min(held.sum(), (~held).sum()) < max(_MIN_VALUES, HARDLY_ANY * held.size):
                continue
            is_negated = bool(is_hit[held].mean() < is_hit[~held].mean())
            information = _information(held, is_hit) - condition.description_bits
            best = found.get(held.tobytes())
            if information >= _MIN_INFORMATION and (best is None or information > best.information):
                condition = replace(condition, is_negated=is_negated)
                found[held.tobytes()] = _Guess(information, outcome.program, condition)
    return sorted(found.values(), key=lambda guess: (-guess.information, str(guess.condition)))


def _predicates(texts: pa.Array, is_hit: NDArray[np.bool_]) -> list[tuple[str, str]]:
    """List predicates that some texts show, those of joined values and of the others."""
    some = [text for chosen in (is_hit, ~is_hit) for text in texts.filter(pa.array(chosen)).to_pylist() if text]
    n_hits = int(is_hit.sum())
    some = some[: min(n_hits, _MAX_FEATURE_TEXTS)] + some[n_hits : n_hits + _MAX_FEATURE_TEXTS]
    return list(dict.fromkeys((kind, text) for _, kind, text in text_features(some)))


def _information(held: NDArray[np.bool_], is_hit: NDArray[np.bool_]) -> float:
    """Return what a predicate tells about hits: their mutual information times the number of values, in bits."""
    bits = 0.0
    for chosen in (held, ~held):
        for wanted in (is_hit, ~is_hit):
            both = float((chosen & wanted).mean())
            if both:
                bits += both * np.log2(both / (float(chosen.mean()) * float(wanted.mean())))
    return float(bits) * held.size
