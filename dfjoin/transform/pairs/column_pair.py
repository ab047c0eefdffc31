"""Learning programs for one pair of columns: example sets of value pairs, programs, their ranking by coverage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dfjoin.programs.program import Program
from dfjoin.transform.compose.compose import Learned, learn_programs
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, Outcome, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.value_pairs import LONGEST_EXAMPLE, ValuePairs
from dfjoin.values.unicode import normalize_text

_TOP_PAIRS = 40
"""Value pairs that examples are drawn from: k of the paper."""
_EXAMPLE_SETS = ((3, 10), (2, 5))
"""Size and number of the example sets: b and r of the paper."""
_MAX_REFINED = 3
"""Programs whose pieces are exchanged for others, the best ones."""
_GIVE_UP_AFTER = 8
"""Example sets that bring no better program, after which no others are tried;
fewer, where texts are long: the time of a set grows with the square of their length."""
_LONG_EXAMPLE = 60
_MAX_RANKED = 1_000
"""Value pairs that are compared word by word."""
_MAX_MISSED = 50
"""Results that join nothing whose words are looked at."""
_WORD = re.compile(r"\d+|[^\W\d_]+")


@dataclass
class ColumnPair:
    """One source and one target column, with the pairs of their values that examples are drawn from.

    Parameters
    ----------
    table : list of Column
        All columns of the source table, sampled.
    main : Column
        The source column of the pairs.
    target : Column
    pairs : ValuePairs
    searched : list of frozenset of str
        Source columns of which programs for this target were looked for together; pairs of one target may share it.
    """

    table: list[Column]
    main: Column
    target: Column
    pairs: ValuePairs
    searched: list[frozenset[str]] = field(default_factory=list)
    seen: dict[str, Outcome] = field(default_factory=dict)

    @property
    def similarity(self) -> float:
        """Mean score of the best value pairs, each weighted by the share of the target value in common."""
        best = slice(0, _TOP_PAIRS)
        lengths = np.diff(self.target.values.offsets)[self.pairs.right[best]]
        shares = np.minimum(1.0, self.pairs.length[best] / np.maximum(lengths, 1))
        n = max(1, min(_TOP_PAIRS, len(self.main.values), len(self.target.values)))
        return float((self.pairs.score[best] * shares).sum()) / n

    @cached_property
    def ranked(self) -> ValuePairs:
        """The pairs, those of one score by how much of both values is the same words, then as they were.

        Where few values have a partner, most q-grams that are rare in both columns are those of strangers: two persons
        share a rare last name. Pairs that share more words are more often right. The first 1,000 pairs are looked at.
        """
        pairs = self.pairs
        n = min(len(pairs), _MAX_RANKED)
        shares = np.array(
            [
                _common_share(self.main.values.value(left), self.target.values.value(right))
                for left, right in zip(pairs.left[:n].tolist(), pairs.right[:n].tolist(), strict=True)
            ]
        )
        order = np.concatenate([np.lexsort((-np.round(shares, 1), -pairs.score[:n])), np.arange(n, len(pairs))])
        order = order.astype(np.int64)
        return ValuePairs(pairs.left[order], pairs.right[order], pairs.score[order], pairs.length[order])

    def row_of(self, value: int) -> int:
        """Return the first row of a source value."""
        return int(self.main.first_rows[value])

    def texts(self, value: int, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the source row of a value, as texts of some columns: of each the first 400 characters."""
        row = self.row_of(value)
        return tuple((column.array[row].as_py() or "")[:LONGEST_EXAMPLE] for column in columns)

    def wanted(self, value: int) -> str:
        """Return a target value as programs are to make it: NFKC, small letters, white space collapsed."""
        return normalize_text(self.target.array[int(self.target.first_rows[value])].as_py() or "")


def _common_share(some: str, other: str) -> float:
    """Return the letters and digits of the words that two texts share, over those of the longer text."""
    words = [set(_WORD.findall(text[:LONGEST_EXAMPLE])) for text in (some, other)]
    total = max(sum(map(len, found)) for found in words)
    return sum(map(len, words[0] & words[1])) / total if total else 0.0


def example_sets(n_pairs: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Draw unique random subsets of the best pairs, larger ones first.

    Parameters
    ----------
    n_pairs : int
        Pairs to draw from.
    rng : numpy Generator

    Returns
    -------
    list of tuple of int
        Numbers of pairs; the first set holds the best ones.

    Notes
    -----
    Source: Auto-Join, Algorithm 5, GenExampleSets (thesis, section 4.4.2), with k = 40, and b = 3 and
    r = 10, then b = 2 and r = 5.
    """
    sets: dict[tuple[int, ...], None] = {}
    for size, n_sets in _EXAMPLE_SETS:
        if n_pairs < size:
            continue
        sets[tuple(range(size))] = None
        for _ in range(n_sets - 1):
            sets[tuple(sorted(rng.choice(n_pairs, size, replace=False).tolist()))] = None
    return list(sets)


def distinct_pairs(pairs: ValuePairs, allowed: np.ndarray | None) -> list[tuple[int, int]]:
    """Take the best pairs, each source and each target value at most once.

    Parameters
    ----------
    pairs : ValuePairs
    allowed : ndarray of bool, shape (n_source_values,), or None
        Source values that may be taken; None: all.

    Returns
    -------
    list of (int, int)
        At most 40.
    """
    lefts: set[int] = set()
    rights: set[int] = set()
    chosen: list[tuple[int, int]] = []
    for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
        if left in lefts or right in rights or (allowed is not None and not allowed[left]):
            continue
        lefts.add(left)
        rights.add(right)
        chosen.append((left, right))
        if len(chosen) == _TOP_PAIRS:
            break
    return chosen


def _companions(pair: ColumnPair, chosen: list[tuple[int, int]]) -> list[Column]:
    """Return up to two other columns that the targets of most pairs have words of, or their first letters.

    First letters count where the words of the main column leave nothing else: ``J.`` of ``Smith, J.`` begins ``John``.
    """
    scored = []
    for number, column in enumerate(pair.table):
        if column is pair.main:
            continue
        gains = []
        for left, right in chosen[:20]:
            (text, main), target = pair.texts(left, [column, pair.main]), pair.wanted(right)
            words = normalize_text(text).replace("-", " ").split()
            n_held = sum(len(word) for word in words if word in target)
            if not n_held:
                for word in normalize_text(main).split():
                    target = target.replace(word, " ")
                rest = _WORD.findall(target)
                n_held = sum(map(len, rest)) if all(any(w.startswith(r) for w in words) for r in rest) else 0
            gains.append(min(1.0, n_held / max(1, len(pair.wanted(right)))))
        if gains and sum(gain > 0 for gain in gains) >= 0.6 * len(gains):
            scored.append((-sum(gains), number, column))
    return [column for _, _, column in sorted(scored)[:2]]


def _evaluate_once(pair: ColumnPair, program: Program) -> Outcome:
    """Evaluate a program once."""
    key = repr(program)
    if key not in pair.seen:
        pair.seen[key] = evaluate(program, pair.table, pair.main, pair.target.values)
    return pair.seen[key]


def _rank(outcome: Outcome, fresh: np.ndarray | None) -> tuple[float, int, int, str]:
    """Order outcomes: larger coverage, fewer operators, fewer steps, text; of fresh rows where given."""
    gain = outcome.score
    if fresh is not None:
        gain = float((outcome.row_targets[fresh] >= 0).sum()) / max(1, fresh.size)
    steps = sum(len(piece.all_steps) for piece in outcome.program.pieces)
    return -gain, outcome.program.n_operators, steps, str(outcome.program)


def _refine(pair: ColumnPair, learned: Learned, names: Sequence[str], fresh: np.ndarray | None) -> Outcome:
    """Exchange pieces for others that did the same on the examples, where that joins more rows.

    Of pieces that join as many rows that one is taken whose results on the other rows have more words of the target
    values without a partner: likeness compares them.
    """
    pieces = learned.pieces
    best = _evaluate_once(pair, learned.program(names))
    kept: int | None = None
    for number, others in enumerate(learned.alternatives):
        for _, other in others:
            changed = (*pieces[:number], other, *pieces[number + 1 :])
            outcome = _evaluate_once(pair, learned.program(names, changed))
            gains = _rank(outcome, fresh)[0], _rank(best, fresh)[0]
            if gains[0] < gains[1]:
                best, pieces, kept = outcome, changed, None
            elif gains[0] == gains[1] and 0 < outcome.n_joined < outcome.n_source:
                kept = _words_kept(best) if kept is None else kept
                more = _words_kept(outcome)
                if more > kept:
                    best, pieces, kept = outcome, changed, more
    return best


def _words_kept(outcome: Outcome) -> int:
    """Count the letters of words in results that join nothing, which are words of target values that nothing joins."""
    alone = np.ones(outcome.n_target, bool)
    alone[outcome.hits[outcome.hits >= 0]] = False
    missed = np.flatnonzero(outcome.hits < 0)[:_MAX_MISSED]
    if missed.size == 0 or not alone.any():
        return 0
    values = outcome.target
    known = {word for code in np.flatnonzero(alone)[:_MAX_RANKED] for word in _WORD.findall(values.value(int(code)))}
    return sum(
        len(word)
        for code in missed.tolist()
        for word in set(_WORD.findall(outcome.outputs.value(code)))
        if word in known
    )


def _learn_with(
    pair: ColumnPair,
    columns: list[Column],
    chosen: list[tuple[int, int]],
    rng: np.random.Generator,
    fresh: np.ndarray | None,
) -> list[Outcome]:
    """Learn from every example set over some columns; return the outcomes, the best first."""
    names = [column.name for column in columns]
    found: dict[str, tuple[Learned, Outcome]] = {}
    best, n_in_vain = 0.0, 0
    longest = max((len(pair.wanted(right)) for _, right in chosen), default=0)
    give_up_after = max(2, min(_GIVE_UP_AFTER, _GIVE_UP_AFTER * _LONG_EXAMPLE // max(1, longest)))
    for numbers in example_sets(len(chosen), rng):
        rows = [pair.texts(chosen[i][0], columns) for i in numbers]
        targets = [pair.wanted(chosen[i][1]) for i in numbers]
        if max(map(len, targets)) > LONGEST_EXAMPLE:
            continue
        for learned in learn_programs(rows, targets, is_exact=False, computes=False):
            key = repr(learned.pieces)
            if key not in found:
                found[key] = (learned, _evaluate_once(pair, learned.program(names)))
        score = max((outcome.score for _, outcome in found.values()), default=0.0)
        n_in_vain = 0 if score > best else n_in_vain + 1
        best = score
        if best > 2 * FULL_COVERAGE or n_in_vain == give_up_after:
            break
    ranked = sorted(found.values(), key=lambda entry: _rank(entry[1], fresh))
    refined = [_refine(pair, learned, names, fresh) for learned, _ in ranked[:_MAX_REFINED]]
    return sorted(refined, key=lambda outcome: _rank(outcome, fresh))


def learn_pair(pair: ColumnPair, rng: np.random.Generator, *, covered: np.ndarray | None = None) -> list[Outcome]:
    """Learn programs for one pair of columns, the best first.

    Parameters
    ----------
    pair : ColumnPair
    rng : numpy Generator
    covered : ndarray of bool, shape (n_rows,), optional
        Rows of the source that other programs join already: learn for the others.

    Returns
    -------
    list of Outcome
        By coverage; of the rows not covered, where `covered` is given.

    Notes
    -----
    Source: Auto-Join, Algorithm 5 (thesis, section 4.4.2). Deviations: the main column is tried alone before
    up to two others join it; the best programs are refined, each piece exchanged for others that give the
    same on the examples. Columns that were looked at together for another pair of this target are not again.
    """
    allowed = fresh = None
    if covered is not None:
        fresh = np.flatnonzero(~covered & (pair.main.values.codes >= 0))
        allowed = np.zeros(len(pair.main.values), bool)
        allowed[pair.main.values.codes[fresh]] = True
    chosen = distinct_pairs(pair.ranked, allowed)
    if len(chosen) < 2:
        return []
    outcomes = _learn_with(pair, [pair.main], chosen, rng, fresh)
    best = outcomes[0] if outcomes else None
    if best is None or max(best.source_coverage, best.target_coverage) < FULL_COVERAGE:
        companions = _companions(pair, chosen)
        together = frozenset(column.name for column in (pair.main, *companions))
        if companions and (covered is not None or not any(together <= known for known in pair.searched)):
            if covered is None:  # else some of the pairs were looked at
                pair.searched.append(together)
            outcomes += _learn_with(pair, [pair.main, *companions], chosen, rng, fresh)
    return sorted(outcomes, key=lambda outcome: _rank(outcome, fresh))
