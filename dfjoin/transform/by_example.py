"""Learning programs from examples of the user: the fewest programs that make all of them."""

from __future__ import annotations

from collections.abc import Sequence

from dfjoin.programs.program import Extract, Piece, Program
from dfjoin.transform.compose import Learned, learn_programs

__all__ = ["MAX_INPUTS", "learn_from_examples"]

MAX_INPUTS = 200
"""Rows without an example that choose between programs."""


def learn_from_examples(
    names: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    targets: Sequence[str],
    *,
    inputs: Sequence[tuple[str, ...]] = (),
    is_exact: bool = True,
) -> tuple[Program, ...]:
    """Learn the fewest programs that make every target from its row.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    rows : sequence of tuple of str
        Input of each example; an empty text where a value is missing.
    targets : sequence of str
        The result of each.
    inputs : sequence of tuple of str, optional
        Other rows, whose results are not known: of programs that agree with the examples the one that
        applies to more of them is taken; at most 200 are looked at.
    is_exact : bool, default True
        False: casing does not matter.

    Returns
    -------
    tuple of Program
        One if one makes all targets; else one for each group of examples that a program can explain, by
        size of the group, to be tried in turn. Empty if some example cannot be explained.

    Notes
    -----
    Groups grow greedily, in the order of the examples: at most n² / 2 runs of the learner.
    """
    wanted = list(targets) if is_exact else [target.lower() for target in targets]
    known = [*rows, *inputs[:MAX_INPUTS]]
    programs: list[tuple[int, Program]] = []
    left = list(range(len(rows)))
    while left:
        group, learned = _grow(rows, wanted, left, is_exact)
        if not learned:
            return ()
        programs.append((len(group), _most_applicable(learned, names, known)))
        left = [number for number in left if number not in group]
    programs.sort(key=lambda entry: -entry[0])
    return tuple(program for _, program in programs)


def _grow(
    rows: Sequence[tuple[str, ...]], targets: Sequence[str], left: list[int], is_exact: bool
) -> tuple[list[int], list[Learned]]:
    """Learn from all examples that are left, or from a group of them around the first."""

    def learn(group: list[int]) -> list[Learned]:
        return learn_programs([rows[i] for i in group], [targets[i] for i in group], is_exact=is_exact)

    if learned := learn(left):
        return left, learned
    group, best = left[:1], learn(left[:1])
    for number in left[1:]:
        if learned := learn([*group, number]):
            group, best = [*group, number], learned
    return group, best


def _most_applicable(learned: list[Learned], names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Program:
    """Choose the program that applies to most rows, with pieces exchanged where that helps; ties: the simplest."""

    def count(program: Program) -> int:
        places = [names.index(name) for name in program.columns]
        return sum(program(*(row[place] for place in places)) is not None for row in rows)

    best: tuple[int, Program] | None = None
    for one in learned:
        pieces: tuple[Piece, ...] = one.pieces
        program = one.program(names)
        reached = count(program)
        for number, others in enumerate(one.alternatives):
            for other in others:
                if reached == len(rows):
                    break
                changed = (*pieces[:number], other, *pieces[number + 1 :])
                used = {piece.column for piece in changed if isinstance(piece, Extract)}
                trial = one.program(names, changed) if used else program
                if count(trial) > reached:
                    reached, program, pieces = count(trial), trial, changed
        if best is None or reached > best[0]:
            best = (reached, program)
    assert best is not None
    return best[1]
