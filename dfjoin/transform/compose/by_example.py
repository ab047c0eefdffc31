"""Learning programs from examples of the user: the likeliest program, or up to three with conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dfjoin.programs.conditions import Condition
from dfjoin.programs.lookup import SEPARATOR, GivenPairs
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.transform.compose.agreement import Taught, WeighedProgram, confidence_of
from dfjoin.transform.compose.compose import PIECE_WEIGHT, Learned, constant_weight, learn_programs
from dfjoin.transform.compose.likeness import OutputLikeness, marks_beside
from dfjoin.transform.compose.moments import learn_times
from dfjoin.transform.compose.predicates import text_features
from dfjoin.transform.compose.two_columns import learn_combined

MAX_INPUTS = 200
"""Rows without an example that choose between programs."""
_MAX_BRANCHES = 3
_N_BEST = 30
"""Programs of each group of examples that are compared on the other rows."""
_LISTED = 12.0
"""Weight of a list of the examples,"""
_PAIR = 3.0
"""of each pair of it,"""
_NOT_LISTED = 40.0
"""and of a list that has none of the other rows."""
_MAX_SPLITS = 24
"""Conditions that are tried at each position."""
_BRANCH = 8.0
"""Weight of a further branch."""
_MAX_EXCHANGED = 10
"""Alternatives to a piece that are asked whether they agree on a result."""

Row = tuple[str, ...]


def learn_from_examples(
    names: Sequence[str],
    rows: Sequence[Row],
    targets: Sequence[str],
    *,
    inputs: Sequence[Row] = (),
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
        Other rows, whose results are not known: of programs that agree with the examples the one is taken that
        gives results for them, and such as look like those of the examples; at most 200 are looked at.
    is_exact : bool, default True
        False: casing does not matter.

    Returns
    -------
    tuple of Program
        To be tried in turn on a row; the first result that is not null counts. One if one makes all targets; else up to
        three, each with conditions that tell its rows; else one for each group of examples that a program can explain.
        Empty if some example cannot be explained.

    Notes
    -----
    Programs of strings and numbers (`learn_programs`) and of dates and times (`learn_times`) are compared by the sum of
    the weights of their steps and constants, and by their results on the other rows (`OutputLikeness`). A branch more
    has to be worth its weight. Conditions are learned from the inputs alone, as in FlashFill (Gulwani, POPL 2011,
    section 5): characters that only one group of examples has, shapes, first and last characters, lengths; and of
    numbers what they are divisible by, years by 4 first, and the size from which they belong to a group.
    """
    if not rows or not all(targets):
        return ()
    teacher = _Teacher(names, rows, targets, list(inputs[:MAX_INPUTS]), is_exact)
    return teacher.programs()


class _Teacher:
    """The examples, the other rows, and what has been learned of each group of examples."""

    def __init__(
        self, names: Sequence[str], rows: Sequence[Row], targets: Sequence[str], inputs: list[Row], is_exact: bool
    ) -> None:
        self.names = names
        self.rows = rows
        self.targets = list(targets) if is_exact else [target.lower() for target in targets]
        self.inputs = [row for row in dict.fromkeys(inputs) if any(row)]
        self.is_exact = is_exact
        self.learned: dict[frozenset[int], list[WeighedProgram]] = {}
        self.exchanged: dict[tuple[frozenset[int], Program], list[WeighedProgram]] = {}

    def programs(self) -> tuple[Program, ...]:
        """Return the programs to be tried in turn."""
        everything = frozenset(range(len(self.rows)))
        solved = [self.solve(everything, self.inputs, _MAX_BRANCHES), self.listed(everything)]
        best = min((one for one in solved if one is not None), key=lambda one: one[0], default=None)
        programs = self.grown() if best is None else tuple(best[1])
        return tuple(self.with_confidence(program, len(programs) - 1) for program in programs)

    def with_confidence(self, program: Program, n_branches: int) -> Program:
        """Add what is known of the results of one of the programs."""
        if any(step.operator is GivenPairs for piece in program.pieces for step in piece.all_steps):
            return program
        positions = [self.names.index(name) for name in program.columns]
        examples = [tuple(row[position] for position in positions) for row in self.rows]
        bare = replace(program, conditions=())
        group = frozenset(
            i
            for i, row in enumerate(examples)
            if (program(*row) == self.targets[i] if self.is_exact else (program(*row) or "").lower() == self.targets[i])
        )
        mine = [row for row in self.inputs if program(*(row[position] for position in positions)) is not None]
        candidates = []
        for weighed in self.learn(group) if group else []:
            penalty = self.penalty(weighed.program, group, mine)
            candidates.append(WeighedProgram(weighed.weight + penalty, weighed.program))
            candidates += [
                WeighedProgram(one.weight + penalty, one.program)
                for one in self.exchanged.get((group, weighed.program), [])
            ]
        rows = [tuple(row[position] for position in positions) for row in mine]
        taught = Taught(examples, self.targets, [examples[i] for i in sorted(group)], rows)
        return replace(program, confidence=confidence_of(bare, candidates, n_branches, taught))

    def listed(self, group: frozenset[int]) -> tuple[float, list[Program]] | None:
        """Return the program that looks the examples up, where one column tells them apart."""
        best: tuple[float, list[Program]] | None = None
        for column, name in enumerate(self.names):
            pairs = {self.rows[i][column]: self.targets[i] for i in sorted(group)}
            is_function = all(pairs[self.rows[i][column]] == self.targets[i] for i in group)
            if not is_function or len(pairs) < 2 or "" in pairs or SEPARATOR in "".join([*pairs, *pairs.values()]):
                continue
            step = GivenPairs(SEPARATOR.join(pairs), SEPARATOR.join(pairs.values()))
            program = Program((name,), (Extract(0, (step,)),))
            covered = sum(row[column] in pairs for row in self.inputs) / max(1, len(self.inputs))
            weight = _LISTED + _PAIR * len(pairs) + _NOT_LISTED * (1 - covered)
            if best is None or weight < best[0]:
                best = (weight, [program])
        return best

    def solve(self, group: frozenset[int], inputs: list[Row], n_branches: int) -> tuple[float, list[Program]] | None:
        """Solve a group of examples by one program, or by a condition and two groups."""
        best: tuple[float, list[Program]] | None = None
        taught = self.learn(group)
        if taught:
            one = min(taught, key=lambda t: t.weight + self.penalty(t.program, group, inputs))
            best = (one.weight + self.penalty(one.program, group, inputs), [one.program])
        if n_branches < 2 or len(group) < 2:
            return best
        if best is not None and best[0] < 2 * _BRANCH:
            return best
        for cost, condition, held in self.splits(group):
            if best is not None and best[0] <= cost + _BRANCH:
                continue
            others = replace(condition, is_negated=not condition.is_negated)
            first = self.branch(held, condition, inputs, 1)
            if first is None:
                continue
            rest = self.branch(group - held, others, inputs, n_branches - 1)
            if rest is None:
                continue
            total = first[0] + rest[0] + cost + _BRANCH
            if best is None or total < best[0]:
                best = (total, [*first[1], *rest[1]])
        return best

    def branch(
        self, group: frozenset[int], condition: Condition, inputs: list[Row], n_branches: int
    ) -> tuple[float, list[Program]] | None:
        """Solve the examples of one side of a condition, on the rows of that side."""
        mine = [row for row in inputs if condition(row[condition.column])]
        solved = self.solve(group, mine, n_branches)
        if solved is None:
            constant = self.constant(group)
            if constant is None:
                return None
            solved = constant
        weight, programs = solved
        constant = self.constant(group)
        if constant is not None and constant[0] < weight:
            weight, programs = constant
        return weight, [self.with_condition(program, condition) for program in programs]

    def constant(self, group: frozenset[int]) -> tuple[float, list[Program]] | None:
        """Return the program that gives one text, if all targets of the group are the same."""
        texts = {self.targets[i] for i in group}
        if len(texts) != 1:
            return None
        (text,) = texts
        is_repeated = len({self.rows[i] for i in group}) > 1
        weight = 2.0 + 0.4 * len(text) if is_repeated else 2.0 + constant_weight(text)
        return weight, [Program((self.names[0],), (Constant(text),))]

    def with_condition(self, program: Program, condition: Condition) -> Program:
        """Add a condition over the columns of the table to a program over its own."""
        name = self.names[condition.column]
        columns = program.columns if name in program.columns else (*program.columns, name)
        if all(isinstance(piece, Constant) for piece in program.pieces) and not program.conditions:
            columns = (name,)
        moved = replace(condition, column=columns.index(name))
        return Program(columns, program.pieces, (moved, *program.conditions))

    def penalty(self, program: Program, group: frozenset[int], inputs: list[Row]) -> float:
        """Return what the results on other rows add to the weight of a program."""
        positions = [self.names.index(name) for name in program.columns]
        results = [program(*(row[position] for position in positions)) for row in inputs]
        likeness = OutputLikeness([self.targets[i] for i in group])
        new = marks_beside([self.rows[i] for i in group], inputs)
        return likeness.penalty(results if self.is_exact else [text and text.lower() for text in results], new)

    def learn(self, group: frozenset[int]) -> list[WeighedProgram]:
        """Learn programs of all kinds that make the targets of a group."""
        if group not in self.learned:
            rows = [self.rows[i] for i in sorted(group)]
            targets = [self.targets[i] for i in sorted(group)]
            best = learn_programs(rows, targets, is_exact=self.is_exact, inputs=self.inputs, n_best=_N_BEST)
            found = [self.of_strings(learned, group) for learned in best]
            self.learned[group] = [*self.of_times(rows, targets), *self.of_two_columns(rows, targets), *found]
        return self.learned[group]

    def of_strings(self, learned: Learned, group: frozenset[int]) -> WeighedProgram:
        """Weigh a program of strings by its steps and constants, and by the number of its pieces."""
        program, weight = learned.program(self.names), learned.weight + PIECE_WEIGHT * (len(learned.pieces) - 1)
        self.exchanged[group, program] = [
            WeighedProgram(
                weight + more, learned.program(self.names, (*learned.pieces[:at], other, *learned.pieces[at + 1 :]))
            )
            for at, others in enumerate(learned.alternatives)
            for more, other in others[:_MAX_EXCHANGED]
        ]
        return WeighedProgram(weight, program)

    def of_times(self, rows: list[Row], targets: list[str]) -> list[WeighedProgram]:
        """Learn programs of dates and times of each column."""
        found = []
        for column, name in enumerate(self.names):
            texts = [row[column] for row in rows]
            others = [row[column] for row in self.inputs]
            if not all(texts):
                continue
            for learned in learn_times(texts, targets, others, is_exact=self.is_exact):
                pieces: list[Piece] = [
                    Constant(part) if isinstance(part, str) else Extract(0, part) for part in learned.parts
                ]
                found.append(WeighedProgram(learned.weight, Program((name,), tuple(pieces))))
        return found

    def of_two_columns(self, rows: list[Row], targets: list[str]) -> list[WeighedProgram]:
        """Learn what is computed of two columns, as ages and sums."""
        found = learn_combined(self.names, rows, targets, self.inputs)
        return [WeighedProgram(weight, program) for program, weight in found]

    def splits(self, group: frozenset[int]) -> list[tuple[float, Condition, frozenset[int]]]:
        """List conditions that hold for some examples of a group, with their costs, the simplest first."""
        found: dict[frozenset[int], list[tuple[float, Condition]]] = {}
        for column in range(len(self.names)):
            texts = {i: self.rows[i][column] for i in group}
            for cost, kind, value in text_features(list(texts.values())):
                condition = Condition(column, kind, value)
                held = frozenset(i for i in group if condition(texts[i]))
                others = replace(condition, is_negated=True)
                if 0 < len(held) < len(group) and all(others(texts[i]) for i in group - held):
                    found.setdefault(held, []).append((cost, condition))
        listed = [(*min(candidates, key=lambda one: one[0]), held) for held, candidates in found.items()]
        listed.sort(key=lambda entry: (entry[0], repr(entry[1])))
        return listed[:_MAX_SPLITS]

    def grown(self) -> tuple[Program, ...]:
        """Group examples greedily around the first one that is left, where no condition tells them apart."""
        programs: list[tuple[int, Program]] = []
        left = list(range(len(self.rows)))
        while left:
            group = [left[0]]
            for number in left[1:]:
                if self.learn(frozenset([*group, number])):
                    group.append(number)
            taught = self.learn(frozenset(group))
            if not taught:
                return ()
            key = frozenset(group)
            best = min(taught, key=lambda one: one.weight + self.penalty(one.program, key, self.inputs))
            programs.append((len(group), best.program))
            left = [number for number in left if number not in key]
        programs.sort(key=lambda entry: -entry[0])
        return tuple(program for _, program in programs)
