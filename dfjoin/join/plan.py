"""A join as data: what to join, on what, how; serialisable, and repeatable on another frame."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.transform.transform_join import TransformJoin

__all__ = ["HOWS", "JoinPlan", "JoinStep", "json_label"]

HOWS = ("left", "inner", "right", "outer")
_PLAN_VERSION = 1


@dataclass(frozen=True)
class JoinStep:
    """One table to join.

    Parameters
    ----------
    on : list
        Key columns of the user's frame.
    table : str
        Table of the lake, empty for a frame in memory.
    right_on : list of str
        Its key columns.
    columns : list of str or None
        Its columns to bring; None: all but the key.
    names : dict of str
        Column → name in the result, as given when the join was first made.
    aggregate : str, dict or None
        Rule or rules; None keeps the rows.
    pad, dayfirst : optional
        How the key of the user's frame is read.
    relation : dict, optional
        Programs that relate the keys, as `dfjoin.transform.transform_join.TransformJoin.to_dict` writes them; None:
        the keys are equal.
    counted : bool or None
        Whether a column counts the table's rows, as it was when the join was first made; None: where it is 1:m.
    """

    on: list[Any]
    table: str
    right_on: list[str]
    columns: list[str] | None = None
    names: dict[str, str] = field(default_factory=dict)
    aggregate: Any = "auto"
    pad: int | None = None
    dayfirst: bool | None = None
    relation: dict[str, Any] | None = None
    counted: bool | None = None


@dataclass(frozen=True)
class JoinPlan:
    """A plan that `auto_join` carries out on any frame that has the key columns.

    Parameters
    ----------
    steps : tuple of JoinStep
        One per table, in order.
    how : {"left", "inner", "right", "outer"}
        Which rows stay.
    index : str
        Path of the lake index; empty when the right side was a frame.
    max_expansion : float
        Most rows out per row in.
    indicator : bool
        Add a column that says which rows found a partner.

    Examples
    --------
    >>> plan = JoinPlan((JoinStep(["country"], "capitals.csv", ["name"]),), index="lake.dfjoin")
    >>> JoinPlan.from_dict(plan.to_dict()) == plan
    True
    """

    steps: tuple[JoinStep, ...]
    how: str = "left"
    index: str = ""
    max_expansion: float = 10.0
    indicator: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return {
            "plan_version": _PLAN_VERSION,
            "how": self.how,
            "index": self.index,
            "max_expansion": self.max_expansion,
            "indicator": self.indicator,
            "steps": [{**asdict(step), "on": [json_label(label) for label in step.on]} for step in self.steps],
        }

    @classmethod
    def from_dict(cls, values: Any) -> JoinPlan:
        """Make a plan from the values that `to_dict` returns.

        Parameters
        ----------
        values : dict

        Returns
        -------
        JoinPlan

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            If they are no plan.
        """
        if not isinstance(values, dict):
            raise InvalidTypeError(f"`plan` must be a JoinPlan or its dict, got {type(values).__name__}")
        if values.get("plan_version") != _PLAN_VERSION or not isinstance(values.get("steps"), list):
            raise InvalidParameterError(
                f"`plan` must be what auto_join wrote into attrs['dfjoin']['plan'] (plan_version "
                f"{_PLAN_VERSION}), got keys {sorted(map(str, values))[:6]}"
            )
        if values.get("is_cut"):
            raise InvalidParameterError(
                "`plan` was cut, as it names too many columns for a report; join again with the same arguments"
            )
        try:
            steps = tuple(_step(step) for step in values["steps"])
            plan = cls(steps, values["how"], values["index"], float(values["max_expansion"]), bool(values["indicator"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidParameterError(
                f"`plan` must be what auto_join wrote into attrs['dfjoin']['plan'], but a field is missing or of "
                f"another kind ({type(error).__name__}: {error})"
            ) from error
        if plan.how not in HOWS or not isinstance(plan.index, str):
            raise InvalidParameterError(
                f"`plan` must have a `how` of {shortlist(HOWS)} and the path of an index, got {plan.how!r} and "
                f"{plan.index!r}"
            )
        return plan


def json_label(label: Any) -> Any:
    """Return a column label as JSON can hold it: tuples as lists, numpy's numbers as Python's, else text."""
    if isinstance(label, tuple):
        return [json_label(part) for part in label]
    if isinstance(label, np.generic):
        label = label.item()
    return label if label is None or isinstance(label, (str, int, float, bool)) else str(label)


def _step(values: dict[str, Any]) -> JoinStep:
    """Make a step of its JSON values; unknown fields are ignored."""
    known = {k: v for k, v in values.items() if k in JoinStep.__dataclass_fields__}
    step = JoinStep(**known)
    if not (isinstance(step.on, list) and isinstance(step.right_on, list) and isinstance(step.names, dict)):
        raise TypeError("a step needs lists of columns and a mapping of names")
    if step.counted not in (None, True, False):
        raise TypeError("`counted` of a step is true, false or null")
    if not (step.pad is None or type(step.pad) is int) or step.dayfirst not in (None, True, False):
        raise TypeError("the pad of a step is a number of digits, its dayfirst true or false")
    if step.relation is not None:
        TransformJoin.from_dict(step.relation)
        if len(step.on) != 1 or len(step.right_on) != 1:
            raise TypeError("programs of a plan relate one column with one")
    return step
