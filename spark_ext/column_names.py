"""Names of columns as a session of Spark compares them: by its setting ``spark.sql.caseSensitive``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dfjoin.errors import InvalidParameterError
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep

__all__ = ["check_once", "find_name", "folded", "ignores_case", "respelled_options", "respelled_plan"]


def ignores_case(spark: Any) -> bool:
    """Tell whether names that differ by case alone are one name in a session."""
    return str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() != "true"


def folded(spark: Any, names: list[str]) -> list[str]:
    """Write names so that those are equal that are one name in a session."""
    return [name.lower() for name in names] if ignores_case(spark) else names


def check_once(frame: Any, argument: str) -> None:
    """Raise `InvalidParameterError` if the session cannot tell two columns of a frame apart by their names."""
    seen: dict[str, str] = {}
    for name, key in zip(frame.columns, folded(frame.sparkSession, frame.columns), strict=True):
        if key in seen:
            alike = "" if seen[key] == name else f" ({seen[key]!r} is the same name in this session)"
            raise InvalidParameterError(f"`{argument}` has several columns of the name {name!r}{alike}; rename them")
        seen[key] = name


def find_name(frame: Any, name: Any) -> Any:
    """Return the name of the column that a session means by `name`; `name` itself if there is none."""
    names = frame.columns
    if not isinstance(name, str) or name in names or not ignores_case(frame.sparkSession):
        return name
    return next((own for own in names if own.lower() == name.lower()), name)


def _each(frame: Any, names: Any) -> Any:
    if isinstance(names, (list, tuple)):
        return type(names)(find_name(frame, name) for name in names)
    return find_name(frame, names)


def respelled_options(options: JoinOptions, frame: Any, other: Any = None) -> JoinOptions:
    """Name the columns of two frames in what is asked for as the frames do.

    Parameters
    ----------
    options : JoinOptions
    frame : pyspark DataFrame
    other : pyspark DataFrame, optional
        The right side, where it is a frame.
    """
    caseless = replace(options, on=_each(frame, options.on), ignores_case=ignores_case(frame.sparkSession))
    if other is None:
        return caseless
    right_on = options.right_on
    if right_on is None and options.on is not None:
        theirs = _each(other, options.on)
        right_on = None if theirs == caseless.on else theirs
    aggregate = options.aggregate
    if isinstance(aggregate, dict):
        aggregate = {find_name(other, name): rule for name, rule in aggregate.items()}
    plan = options.plan
    if plan is not None:
        plan = respelled_plan(plan if isinstance(plan, JoinPlan) else JoinPlan.from_dict(plan), frame, other)
    columns = _each(other, options.columns)
    return replace(caseless, right_on=_each(other, right_on), aggregate=aggregate, columns=columns, plan=plan)


def respelled_plan(plan: JoinPlan, frame: Any, other: Any = None) -> JoinPlan:
    """Name the key columns of two frames in a plan as the frames do."""
    return replace(plan, steps=tuple(_respelled_step(step, frame, other) for step in plan.steps))


def _respelled_step(step: JoinStep, frame: Any, other: Any) -> JoinStep:
    dated = step.dated
    if dated is not None:
        theirs = dated["right_on"] if other is None else _each(other, dated["right_on"])
        dated = {**dated, "on": find_name(frame, dated["on"]), "right_on": theirs}
    right_on = step.right_on if other is None else _each(other, step.right_on)
    return replace(step, on=_each(frame, step.on), right_on=right_on, dated=dated)
