"""Composing a program from examples: the logical operator with most progress first, then the remainders."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.transform.compose.atoms import Atom, Outputs, find_atoms, weigh_by_inputs

MAX_OPERATORS = 16
"""Most logical operators of a program: τ of the paper."""
_MAX_BRANCHES = 8
"""Operators tried for each remainder, those with most progress first."""
_MAX_NODES = 1500
"""Remainders that are solved by more than one operator."""
PIECE_WEIGHT = 1.5
"""Weight of a further operator, where the least weight is looked for."""
_FINAL_WEIGHT = 4.0
"""Weight from which operators are tried in place of a constant."""
_CONSTANT_WEIGHT = 3
"""Weight of a constant beside its length."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A program that makes all targets of its examples, with alternatives to each piece.

    Parameters
    ----------
    pieces : tuple of Piece
    alternatives : tuple of tuple of (float, Extract)
        For each piece, other extracts that give the same results on the examples, the lightest first, each with what
        its weight is above that of the piece.
    weight : float
        Sum of the weights of the pieces.
    """

    pieces: tuple[Piece, ...]
    alternatives: tuple[tuple[tuple[float, Extract], ...], ...]
    weight: float

    @property
    def complexity(self) -> tuple[int, float, str]:
        """Number of logical operators, then weight, then text: a total order."""
        return len(self.pieces), self.weight, repr(self.pieces)

    def program(self, names: Sequence[str], pieces: tuple[Piece, ...] | None = None) -> Program:
        """Make a program of the pieces over the columns that they use."""
        chosen = pieces or self.pieces
        used = sorted({column for piece in chosen for column in piece.columns})
        position = {column: i for i, column in enumerate(used)}
        return Program(tuple(names[column] for column in used), tuple(piece.moved(position) for piece in chosen))


def _constant_weight(text: str) -> float:
    """Return the weight of a constant beside programs of as many operators: letters and digits count twice."""
    return _CONSTANT_WEIGHT + len(text) + sum(c.isalnum() for c in text)


def constant_weight(text: str) -> float:
    """Return the weight of a constant beside programs of any number of operators: much for digits, little for marks.

    Examples
    --------
    >>> constant_weight(", "), constant_weight("19")
    (1.6, 9.0)
    """
    return 1.0 + sum(4.0 if c.isdigit() else 1.5 if c.isalpha() else 0.3 for c in text)


_Solution = tuple[tuple[Atom | Constant, ...], float]


class _Composer:
    """The recursion of one set of examples; remembers what it has solved.

    Parameters
    ----------
    atoms : list of Atom
    by_weight : bool
        Whether the least weight is looked for, a further operator included, and not the fewest operators.
    """

    def __init__(self, atoms: list[Atom], by_weight: bool) -> None:
        self.by_weight = by_weight
        self.exact = {atom.outputs: atom for atom in atoms}
        self.solved: dict[Outputs, _Solution | None] = {}
        self.n_nodes = 0

    def finish(self, rest: Outputs) -> _Solution | None:
        """Solve by one operator, or return None."""
        atom = self.exact.get(rest)
        weigh = constant_weight if self.by_weight else _constant_weight
        constant = weigh(rest[0]) if all(text == rest[0] for text in rest) else None
        if atom is not None and (constant is None or atom.weight < constant):
            return (atom,), atom.weight
        return None if constant is None else ((Constant(rest[0]),), constant)

    def solve(self, rest: Outputs, budget: int, atoms: list[Atom]) -> _Solution | None:
        """Return the program of fewest operators found for the remainders, at most `budget` of them.

        `atoms` are those that are part of what the remainders were cut out of, in their order: no other can fit.
        """
        if not any(rest):
            return (), 0
        if not all(rest) or budget < 1:
            return None
        if rest in self.solved:
            known = self.solved[rest]
            return known if known is None or len(known[0]) <= budget else None
        best = self.finish(rest)
        self.n_nodes += 1
        is_open = best is None or (self.by_weight and best[1] > _FINAL_WEIGHT and isinstance(best[0][0], Constant))
        if is_open and budget > 1 and self.n_nodes < _MAX_NODES:
            for solution in self.branches(rest, budget, atoms):
                if best is None or self.order(solution) < self.order(best):
                    best = solution
        self.solved[rest] = best
        return best

    def order(self, solution: _Solution) -> tuple[float, float]:
        """Sort key of solutions, the best first."""
        parts, weight = solution
        return (weight + PIECE_WEIGHT * len(parts), len(parts)) if self.by_weight else (len(parts), weight)

    def branches(self, rest: Outputs, budget: int, atoms: list[Atom]) -> list[_Solution]:
        """Solve with each of the operators of most progress in turn."""
        solutions: list[_Solution] = []
        fewest = budget
        best, fitting = _most_progress(rest, atoms)
        for atom in best:
            starts = {tuple(text.find(out) for text, out in zip(rest, atom.outputs, strict=True))}
            starts.add(tuple(text.rfind(out) for text, out in zip(rest, atom.outputs, strict=True)))
            for at in sorted(starts):
                left = tuple(text[:i] for text, i in zip(rest, at, strict=True))
                right = tuple(text[i + len(out) :] for text, i, out in zip(rest, at, atom.outputs, strict=True))
                if any(left) != all(left) or any(right) != all(right):
                    continue
                before = self.solve(left, fewest - 1, fitting)
                if before is None:
                    continue
                after = self.solve(right, fewest - 1 - len(before[0]), fitting)
                if after is None:
                    continue
                pieces = (*before[0], atom, *after[0])
                solutions.append((pieces, before[1] + atom.weight + after[1]))
                fewest = fewest if self.by_weight else min(fewest, len(pieces))
        return solutions


def _most_progress(rest: Outputs, atoms: list[Atom]) -> tuple[list[Atom], list[Atom]]:
    """Return the operators whose output takes most of the remainders, by mean share, then weight; and all that fit."""
    fitting: list[tuple[float, float, int, Atom]] = []
    for atom in atoms:
        share = 0.0
        for text, out in zip(rest, atom.outputs, strict=True):
            if out not in text:
                break
            share += len(out) / len(text)
        else:
            fitting.append((-share, atom.weight, len(fitting), atom))
    best = heapq.nsmallest(_MAX_BRANCHES, fitting)
    return [entry[3] for entry in best], [entry[3] for entry in fitting]


def learn_programs(
    rows: Sequence[tuple[str, ...]],
    targets: Sequence[str],
    *,
    is_exact: bool = True,
    computes: bool = True,
    inputs: Sequence[tuple[str, ...]] | None = None,
    n_best: int = 6,
) -> list[Learned]:
    """Learn programs that make every target from its row, the simplest first.

    Parameters
    ----------
    rows : sequence of tuple of str
        Input columns of each example, empty where there is none; at least one example.
    targets : sequence of str
        The wanted results; with ``is_exact=False`` in small letters.
    is_exact : bool, default True
        Whether casing matters.
    computes : bool, default True
        Whether numbers may be computed of numbers, as for units of measure.
    inputs : sequence of tuple of str, optional
        Other rows: alternatives that give no result there, or one unlike those of the examples, weigh more, and the
        programs of the least weight are returned. None: those of the fewest operators are.
    n_best : int, default 6
        The most programs to return.

    Returns
    -------
    list of Learned
        By fewest logical operators; ties by weight (fixed steps before positions far from the end they
        are counted from, extraction before constants of letters and digits), then by their text. Empty if
        there is none.

    Notes
    -----
    Source: Auto-Join, Algorithm 4 (thesis, section 4.4.2): the operator with most progress, recursion on
    what it leaves on the left and on the right, backtracking to the next best, at most 16 operators.
    Deviations: equal remainders are solved once; instead of the first success the simplest of up to 8
    branches at each position is kept, which brings the result nearer to minimum complexity; at most 1500
    positions are looked at.
    """
    wanted = tuple(targets)
    if not wanted or not all(wanted):
        return []
    atoms = find_atoms(rows, wanted, is_exact=is_exact, computes=computes, is_deep=inputs is not None)
    if inputs:
        weigh_by_inputs(atoms, rows, inputs, is_exact=is_exact)
    composer = _Composer(atoms, inputs is not None)
    whole = composer.finish(wanted)
    solutions = [whole] if whole is not None and isinstance(whole[0][0], Atom) else []
    solutions += composer.branches(wanted, MAX_OPERATORS, atoms)
    learned: dict[tuple[Piece, ...], Learned] = {}
    for parts, weight in solutions:
        pieces: tuple[Piece, ...] = tuple(part if isinstance(part, Constant) else part.piece for part in parts)
        others = tuple(
            () if isinstance(p, Constant) else tuple((w - p.weight, e) for w, e in p.alternatives[1:]) for p in parts
        )
        pieces, others = _merge_constants(pieces, others)
        columns = {column for piece in pieces for column in piece.columns}
        if columns and len(columns) <= MAX_COLUMNS:
            learned.setdefault(pieces, Learned(pieces, others, weight))
    listed = sorted(learned.values(), key=lambda one: one.complexity)
    if inputs is not None:
        listed.sort(key=lambda one: one.weight + PIECE_WEIGHT * len(one.pieces))
    return listed[:n_best]


def _merge_constants(pieces: tuple[Piece, ...], others: tuple) -> tuple[tuple[Piece, ...], tuple]:
    """Join constants that stand side by side."""
    merged: list[Piece] = []
    kept: list = []
    for piece, other in zip(pieces, others, strict=True):
        if merged and isinstance(piece, Constant) and isinstance(merged[-1], Constant):
            merged[-1] = Constant(merged[-1].text + piece.text)
        else:
            merged.append(piece)
            kept.append(other)
    return tuple(merged), tuple(kept)
