"""A join from examples that a user gave."""

from __future__ import annotations

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.programs.program import Program
from dfjoin.transform.accept import Candidate, as_result, shares_of
from dfjoin.transform.by_example import learn_from_examples
from dfjoin.transform.column_pair import Group
from dfjoin.transform.outcome import Outcome, evaluate
from dfjoin.transform.prepared_columns import Column
from dfjoin.transform.sides import DIRECTIONS, Side
from dfjoin.transform.transform_join import TransformJoin
from dfjoin.transform.value_pairs import no_pairs
from dfjoin.values.unicode import normalize_text

__all__ = ["from_examples"]


def from_examples(sides: tuple[Side, Side], examples: list[tuple[str, str]], tried: list[str]) -> TransformJoin:
    """Learn from examples, in the direction that they allow, and take what joins most."""
    columns = (
        _holding(sides[0], [e[0] for e in examples], "on"),
        _holding(sides[1], [e[1] for e in examples], "right_on"),
    )
    candidates = []
    for direction in DIRECTIONS:
        is_forward = direction == "left_to_right"
        source = sides[0] if is_forward else sides[1]
        (main, wanted) = columns if is_forward else columns[::-1]
        pairs = examples if is_forward else [(b, a) for a, b in examples]
        outcomes = _example_outcomes(source.columns, main, wanted, pairs)
        if not outcomes:
            tried.append(f"{main.name} = {wanted.name}: no program makes the examples")
            continue
        shares = shares_of(outcomes)
        group = Group(source.columns, main, wanted, no_pairs())
        candidates.append(
            Candidate(direction, group, Program.identity(wanted.name), outcomes, 0, 1.0, sum(shares), shares)
        )
    if not candidates:
        return TransformJoin(tried=tuple(tried))
    return as_result(min(candidates, key=lambda c: (len(c.outcomes), c.rank)), tried)


def _example_outcomes(table: list[Column], main: Column, wanted: Column, pairs: list[tuple[str, str]]) -> list[Outcome]:
    """Learn from the main column alone, then from the rows of the examples."""
    found: list[list[Outcome]] = []
    texts = main.array.to_pylist()
    others = [column for column in table if column is not main and len(column.values) >= 2][:4]
    for columns in ([main], [main, *others]):
        rows = []
        for value, _ in pairs:
            row = texts.index(value) if value in texts else -1
            rest = [column.array[row].as_py() or "" if row >= 0 else "" for column in columns[1:]]
            rows.append((value, *rest))
        step = max(1, len(main) // 200)
        inputs = [tuple(c.array[i].as_py() or "" for c in columns) for i in range(0, len(main), step)]
        targets = [normalize_text(target) for _, target in pairs]
        names = [column.name for column in columns]
        programs = learn_from_examples(names, rows, targets, inputs=inputs, is_exact=False)
        if programs:
            found.append([evaluate(program, columns, main, wanted.values) for program in programs])
        if len(programs) == 1 or not others:
            break
    return min(found, key=len, default=[])


def _holding(side: Side, values: list[str], argument: str) -> Column:
    """Return the column that holds the values of the examples: the one given, else the one with most of them."""
    columns = [side.whole(name) for name in side.given] or side.columns
    wanted = set(map(normalize_text, values))

    def count(column: Column) -> int:
        return len(wanted & {normalize_text(text) for text in column.array.to_pylist() if text})

    best = max(columns, key=count) if len(columns) > 1 else columns[0]
    if len(columns) > 1 and count(best) == 0:
        raise InvalidParameterError(
            f"`examples` must hold values of the tables, but no column has {shortlist(values)}; "
            f"name the column by `{argument}=`"
        )
    return best
