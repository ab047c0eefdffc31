"""All operators of programs by their stored names: steps as JSON values, read with every part checked."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Mapping
from typing import Any

from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs import (
    calendar_operators,
    code_operators,
    entity_operators,
    lookup,
    name_operators,
    number_operators,
    part_operators,
    quantities,
    scalar,
    scalar_dates,
    scalar_names,
    scalar_numbers,
    scalar_texts,
    scalar_times,
    text_operators,
    time_operators,
)
from dfjoin.programs.conditions import Condition, check_condition
from dfjoin.programs.operator import Operator, Step

OPERATORS: dict[str, Operator] = {
    value.name: value
    for subject in (
        *(part_operators, text_operators, lookup, number_operators, quantities),
        *(code_operators, time_operators, calendar_operators, name_operators, entity_operators),
    )
    for value in vars(subject).values()
    if isinstance(value, Operator)
}
"""Stored name of each operator → the operator."""
FUNCTIONS: dict[str, Any] = {
    name: getattr(module, name)
    for module in (scalar, scalar_dates, scalar_names, scalar_numbers, scalar_texts, scalar_times)
    for name in module.__all__
}
"""Name of each function that `Program.to_python` may paste → the function."""
_MAX_GROWTH = 100
"""How many times as long as its text the steps of a piece may make it."""


def operator_named(name: str) -> Operator:
    """Return an operator by its stored name."""
    return OPERATORS[name]


copyreg.pickle(Operator, lambda operator: (operator_named, (operator.name,)))  # type: ignore[arg-type, return-value]


def step_values(step: Step) -> dict[str, Any]:
    """Return a step as plain JSON values."""
    values: dict[str, Any] = {"step": step.name}
    for name, value in zip(step.operator.parameters, step.settings, strict=True):
        values[name] = [step_values(inner) for inner in value] if isinstance(value, tuple) else value
    return values


def functions_of(step: Step) -> list[str]:
    """Name the functions that the Python form of a step needs: its own, those of inner steps, those that they call."""
    inner = step.steps if "steps" in step.operator.parameters else ()
    names = [one.python()[0].__name__ for one in (step, *inner)]
    for name in names:  # grows while it is read
        names += [called for called in FUNCTIONS[name].__code__.co_names if called in FUNCTIONS and called not in names]
    return names


def read_steps(values: list[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Read the steps of one piece.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
    """
    read = tuple(_read_step(step) for step in values)
    growth = math.prod(max(1.0, step.operator.growth(step)) for step in read if step.operator.growth)
    if growth > _MAX_GROWTH:  # each character by a thousand, four times over, makes 10^12 of one
        raise InvalidParameterError(
            f"the replacements of a piece must make a text at most {_MAX_GROWTH} times as long, and these "
            f"make it {growth:.3g} times as long"
        )
    return read


def read_condition(values: Mapping[str, Any], n_columns: int) -> Condition:
    """Read one condition of a stored program."""
    wanted = {"column", "condition", "text", "negated"}
    if set(values) != wanted:
        raise InvalidParameterError(
            f"a condition of a program must have {shortlist(sorted(wanted))}, got {shortlist(sorted(map(str, values)))}"
        )
    column = values["column"]
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < n_columns:
        raise InvalidParameterError(f"`column` of a condition must be 0 to {n_columns - 1}, got {column!r:.80}")
    check_condition(values["condition"], values["text"], values["negated"])
    return Condition(column, values["condition"], values["text"], values["negated"])


def _read_step(values: Mapping[str, Any]) -> Step:
    """Read one step of a stored program."""
    name = values.get("step")
    if not isinstance(name, str) or name not in OPERATORS:
        raise InvalidParameterError(f"`step` must be one of {shortlist(sorted(OPERATORS), 20)}, got {name!r:.80}")
    given = {key: value for key, value in values.items() if key != "step"}
    if name == "each_part" and "steps" in given:
        given["steps"] = _read_inner(given["steps"])
    return OPERATORS[name].checked(given)


def _read_inner(values: Any) -> tuple[Step, ...]:
    """Read the steps of each part of a text."""
    is_list = isinstance(values, list) and len(values) <= text_operators.MAX_ELEMENT_STEPS
    if not is_list or not all(isinstance(one, Mapping) and one.get("step") != "each_part" for one in values):
        raise InvalidTypeError(
            f"`steps` of step 'each_part' must be at most {text_operators.MAX_ELEMENT_STEPS} objects, none of them "
            f"'each_part', got {values!r:.80}"
        )
    return tuple(_read_step(one) for one in values)
