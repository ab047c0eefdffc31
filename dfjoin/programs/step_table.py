"""All steps of programs by their stored names: written as JSON values, and read with every part checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs import (
    calendars,
    check_digits,
    codes,
    durations,
    element_wise,
    extract,
    intervals,
    listings,
    lookup,
    numeric,
    quantities,
    ranges,
    ratios,
    rewrite,
    scalar,
    scalar_dates,
    scalar_numbers,
    scalar_texts,
    scalar_times,
    times,
)
from dfjoin.programs.conditions import Condition
from dfjoin.programs.extract import Step
from dfjoin.programs.stored import check_condition, check_growth, check_pairs, check_parts, check_step

__all__ = ["FUNCTIONS", "functions_of", "read_condition", "read_steps", "step_values"]

_STEPS: dict[str, Any] = {
    step.name: step
    for step in (
        *(extract.After, extract.Before, extract.CharacterRun, extract.Slice, extract.Split),
        *(rewrite.Case, rewrite.Keep, rewrite.Pad, rewrite.Plain, rewrite.Replace, rewrite.Squeeze),
        *(numeric.Base, numeric.Linear, numeric.Thousands, numeric.Round, numeric.StripZeros, numeric.Year),
        *(intervals.NthNumber, intervals.RoundTo, intervals.WriteNumber),
        *(times.MoveTime, times.ReadTime, times.WriteTime),
        *(ranges.FromRun, ranges.Parts, ranges.UptoRun),
        *(lookup.GivenPairs, lookup.Lookup),
        quantities.Quantity,
        *(check_digits.CheckDigit, check_digits.Isbn, check_digits.Mod97),
        *(durations.ReadDuration, durations.WriteDuration),
        *(listings.AllRuns, listings.Total),
        *(ratios.AsRatio, ratios.Exponent, ratios.Ratio),
        *(calendars.MoveDate, calendars.ReadSerial, calendars.WriteSerial),
        *(codes.Coded, codes.Scientific, codes.UnitPart, codes.WeightedSum),
        *(element_wise.Count, element_wise.EachPart, element_wise.Gaps, element_wise.Headline),
        *(element_wise.Reverse, element_wise.Translate),
    )
}
"""Stored name of each step → its class."""
FUNCTIONS: dict[str, Any] = {
    name: getattr(module, name)
    for module in (scalar, scalar_dates, scalar_numbers, scalar_texts, scalar_times)
    for name in module.__all__
}
"""Name of each function that `Program.to_python` may paste → the function."""


def step_values(step: Step) -> dict[str, Any]:
    """Return a step as plain JSON values."""
    values: dict[str, Any] = {"step": step.name}
    for field in fields(step):  # type: ignore[arg-type]
        value = getattr(step, field.name)
        values[field.name] = [step_values(inner) for inner in value] if isinstance(value, tuple) else value
    return values


def functions_of(step: Step) -> list[str]:
    """Name the functions that the Python form of a step needs: its own, those of inner steps, those that they call."""
    names = [step.python()[0], *(one.python()[0] for one in getattr(step, "steps", ()))]
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
    check_growth(read)
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
    if not isinstance(name, str) or name not in _STEPS:
        raise InvalidParameterError(f"`step` must be one of {shortlist(sorted(_STEPS), 20)}, got {name!r:.80}")
    class_ = _STEPS[name]
    wanted = {field.name for field in fields(class_)}
    given = {key: value for key, value in values.items() if key != "step"}
    if set(given) != wanted:
        raise InvalidParameterError(
            f"step {name!r} must have the parameters {shortlist(sorted(wanted))}, "
            f"got {shortlist(sorted(map(str, given)))}"
        )
    if name == "each_part":
        given["steps"] = _read_inner(given["steps"])
    for key, value in given.items():
        check_step(name, key, value)
    if name == "pairs":
        check_pairs(given["keys"], given["values"])
    elif name == "each_part":
        check_parts(given["separator"], given["width"])
    return class_(**given)


def _read_inner(values: Any) -> tuple[Step, ...]:
    """Read the steps of each part of a text."""
    is_list = isinstance(values, list) and len(values) <= element_wise.MAX_ELEMENT_STEPS
    if not is_list or not all(isinstance(one, Mapping) and one.get("step") != "each_part" for one in values):
        raise InvalidTypeError(
            f"`steps` of step 'each_part' must be at most {element_wise.MAX_ELEMENT_STEPS} objects, none of them "
            f"'each_part', got {values!r:.80}"
        )
    return tuple(_read_step(one) for one in values)
