"""A join as data: what to join, on what, how; serialisable, and repeatable on another frame."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dfjoin._validation import MOST_DIGITS, is_valid_text, show
from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.fuzzy.result import FuzzySettings
from dfjoin.join.keys import ElementKeys
from dfjoin.search.distance.distance_join import DistanceRelation
from dfjoin.search.embedding.axes_join import AxesRelation
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.transform.evidence.transform_join import TransformJoin

DATED_RULES = ("before", "latest")
"""Rows that are dated before a row of the frame, or the latest ones of those that are not dated after it."""

PERIODS = ("year", "quarter", "month", "week", "day")
"""Granularities at which keys may be equal."""

HOWS = ("left", "inner", "right", "outer")
_WHAT = "`plan` must be what the report of a join has as its plan"

_PLAN_VERSION = 1
_MAX_STEPS = 1000
_MAX_KEYS = 100
_MOST = 2.0**63
"""Limits of a plan that is read: what a join writes is far below."""


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
        Rule or rules; None keeps the rows. A column with a list of rules is added once for each of them, as
        `dfjoin.join.output_names` names it.
    pad, dayfirst : optional
        How the key of the user's frame is read: the digits to which integers are written with zeros in front (−5: texts
        of five digits are read without theirs), and the order of all-digit dates.
    relation : dict, optional
        Programs that relate the keys, as `to_dict` of `dfjoin.transform.evidence.transform_join.TransformJoin` writes
        them, or programs and likeness with its threshold, see `dfjoin.join.plan`. None: the keys are equal.
    dated : dict, optional
        Which rows of the table a row of the frame gets by their dates: ``{"on": label, "right_on": [columns], "rule":
        "before" or "latest"}``, see `dfjoin.join.rows.dated_rows.DatedLink`. None: all that have its key.
    period : {"year", "quarter", "month", "week", "day"}, optional
        The last keys are dates or periods, and equal if they lie in the same one, see
        `dfjoin.join.rows.read_rows.PeriodLink` of a lake and `dfjoin.join.relation.period_keys` of two frames.
    counted : bool or None
        Whether a column counts the table's rows, as it was when the join was first made; None: where keys are 1:m.
    is_unique : bool or None
        Whether each key of the table had one row when the join was first made, so that cells keep value and type; None:
        as it is.
    measures : list of str or None
        Columns of numbers whose mean ``aggregate="auto"`` took then; None: as `dfjoin.values.profile` decides.
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
    dated: dict[str, Any] | None = None
    period: str | None = None
    is_unique: bool | None = None
    measures: list[str] | None = None


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
            raise InvalidTypeError(f"{_WHAT}, got {type(values).__name__}")
        if values.get("plan_version") != _PLAN_VERSION or not isinstance(values.get("steps"), list):
            raise InvalidParameterError(
                f"{_WHAT} (plan_version {_PLAN_VERSION}), got keys {sorted(map(str, values))[:6]}"
            )
        if values.get("is_cut"):
            raise InvalidParameterError(
                "`plan` was cut, as it names too many columns for a report; join again with the same arguments"
            )
        if len(values["steps"]) > _MAX_STEPS:
            raise InvalidParameterError(f"`plan` must have at most {_MAX_STEPS:,} steps, got {len(values['steps']):,}")
        try:
            steps = tuple(_step(step) for step in values["steps"])
            plan = cls(steps, values["how"], values["index"], float(values["max_expansion"]), bool(values["indicator"]))
            if not 1 <= plan.max_expansion <= _MOST or type(values["indicator"]) is not bool:
                raise TypeError("`max_expansion` is a number of at least 1, `indicator` true or false")
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise InvalidParameterError(
                f"{_WHAT}, but a field is missing or of another kind ({type(error).__name__}: {error})"
            ) from error
        if plan.how not in HOWS or not isinstance(plan.index, str) or not is_valid_text(plan.index):
            raise InvalidParameterError(
                f"`plan` must have a `how` of {shortlist(HOWS)} and the path of an index, got {show(plan.how)} and "
                f"{show(plan.index)}"
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
    _check_fields(step)
    if step.counted not in (None, True, False) or step.is_unique not in (None, True, False):
        raise TypeError("`counted` and `is_unique` of a step are true, false or null")
    if step.measures is not None and not _is_texts(step.measures):
        raise TypeError("`measures` of a step is a list of texts, or null")
    if step.relation is not None:
        _check_relation(step)
    if step.dated is not None:
        _check_dated(step.dated, is_of_lake=bool(step.table))
    if step.period is not None and (step.period not in PERIODS or step.relation is not None):
        raise TypeError(f"`period` of a step without a relation is one of {', '.join(PERIODS)}, or null")
    return step


def _check_dated(dated: Any, *, is_of_lake: bool) -> None:
    """Raise TypeError unless the dates of a step are what a join writes."""
    if not isinstance(dated, dict) or set(dated) != {"on", "right_on", "rule"} or dated["rule"] not in DATED_RULES:
        raise TypeError("`dated` of a step has `on`, `right_on` and a `rule`, before or latest")
    columns = dated["right_on"]
    if not _is_label(dated["on"]) or not _is_texts(columns) or not 0 < len(columns) <= _MAX_KEYS:
        raise TypeError("`dated` of a step names a column `on` and a list of columns `right_on`")
    if not is_of_lake and (dated["rule"] != "latest" or len(columns) != 1):
        raise TypeError("`dated` of a step between two frames names one column in `right_on`, and the rule latest")


def _check_fields(step: JoinStep) -> None:
    """Raise TypeError unless the fields of a step are of the kinds that a join writes."""
    if not isinstance(step.table, str) or not _is_texts(step.right_on) or not isinstance(step.on, list):
        raise TypeError("a step has the name of a table, and lists of columns `on` and `right_on`")
    if not 0 < len(step.on) == len(step.right_on) <= _MAX_KEYS and step.relation is None:
        raise TypeError(f"`on` and `right_on` of a step name equally many columns, at most {_MAX_KEYS}")
    if not all(_is_label(label) for label in step.on):
        raise TypeError("`on` of a step names columns by texts, numbers, or lists of these")
    if step.columns is not None and not _is_texts(step.columns):
        raise TypeError("`columns` of a step is a list of texts, or null")
    if not isinstance(step.names, dict) or not _is_texts([*step.names, *step.names.values()]):
        raise TypeError("`names` of a step maps texts to texts")
    if not (step.aggregate is None or isinstance(step.aggregate, str)) and not (
        isinstance(step.aggregate, dict)
        and _is_texts([*step.aggregate])
        and all(_is_texts(own if isinstance(own, list) else [own]) for own in step.aggregate.values())
    ):
        raise TypeError("`aggregate` of a step is a rule, a mapping of columns to rules or lists of them, or null")
    if not (step.pad is None or (type(step.pad) is int and 1 <= abs(step.pad) <= MOST_DIGITS)):
        raise TypeError(f"`pad` of a step is a number of digits, 1 to {MOST_DIGITS} or negative, or null")
    if step.dayfirst not in (None, True, False):
        raise TypeError("`dayfirst` of a step is true, false or null")


def _check_relation(step: JoinStep) -> None:
    """Raise unless the relation of a step is a legal one, and one of the columns that the step names."""
    relation = distance_relation(step.relation)
    if relation is not None:
        if not len(step.on) == len(step.right_on) == relation.n_columns:
            raise TypeError(f"{relation.TITLE} relates as many columns of both sides: {relation.n_columns}")
        return
    if step.table and (len(step.on) != 1 or len(step.right_on) != 1):
        raise TypeError("programs of a plan relate one column with one of a table")
    if not step.table or "likeness" in (step.relation or {}):
        left, right = SavedRelation.from_dict(step.relation).columns
    else:
        left, right = TransformJoin.from_dict(step.relation).columns
    own = [" ".join(map(str, label)) if isinstance(label, list) else str(label) for label in step.on]
    if not step.table and (len(left) != len(own) or list(right) != step.right_on):
        raise TypeError("the relation of a step relates the columns that it names in `on` and `right_on`")
    if step.table and not (set(left) <= set(own) and set(right) <= set(step.right_on)):
        raise TypeError("the relation of a step relates the columns that it names in `on` and `right_on`")


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(v, str) and is_valid_text(v) for v in values)


def _is_label(label: Any, depth: int = 3) -> bool:
    """Tell whether a value is a label as `json_label` writes it."""
    if isinstance(label, list):
        return depth > 0 and all(_is_label(part, depth - 1) for part in label)
    return label is None or (isinstance(label, str) and is_valid_text(label)) or isinstance(label, (int, float))


# How two frames were related, as data: programs, likeness and its threshold, to be applied to other frames.
#
# A further kind of relation by distance is a class and a line of `_KINDS`.


@dataclass(frozen=True)
class SavedRelation:
    """A relation of the keys of two frames, without their rows.

    Parameters
    ----------
    programs : TransformJoin
        The programs that relate the keys, or that copy the key where equal keys were completed by likeness. Without
        programs it names the columns alone.
    likeness : FuzzySettings or None
        How the keys that programs leave are matched; None: not at all.
    elements : ElementKeys or None
        Which side lists several keys in a cell; None: neither.
    """

    programs: TransformJoin
    likeness: FuzzySettings | None = None
    elements: ElementKeys | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain JSON values."""
        programs = self.programs.to_saved()
        if not self.programs.found:  # a stored join has a direction only with programs
            programs["direction"] = ""
        held = {**programs, "likeness": None if self.likeness is None else self.likeness.to_dict()}
        return held if self.elements is None else held | {"elements": self.elements.to_dict()}

    @classmethod
    def from_dict(cls, values: Any) -> SavedRelation:
        """Read what `to_dict` wrote, and check every part of it; `likeness` and `elements` may be left out.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        programs = TransformJoin.from_dict(values)
        likeness = values.get("likeness")
        elements = None if values.get("elements") is None else ElementKeys.from_dict(values["elements"])
        if elements is not None and (programs.found or any(len(side) != 1 for side in programs.columns)):
            raise InvalidTypeError("a relation by `elements` must be of one column on each side, and without programs")
        if not programs.found and likeness is None and elements is None:
            raise InvalidTypeError("a relation of two frames must have programs or `likeness`, got neither")
        return cls(programs, None if likeness is None else FuzzySettings.from_dict(likeness), elements)

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key columns of the left and of the right frame."""
        return self.programs.columns


_KINDS: tuple[type[DistanceRelation], ...] = (NearRelation, SimilarRelation, AxesRelation)


def distance_relation(values: Any) -> DistanceRelation | None:
    """Read the relation of a step, or of a report, if it is one by distance.

    Parameters
    ----------
    values : dict or None
        As `JoinStep` has it.

    Returns
    -------
    DistanceRelation or None
        None if keys are equal, or related by programs.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If it is one by distance, with an illegal part.
    """
    for kind in _KINDS:
        if isinstance(values, dict) and kind.KIND in values:
            return kind.from_dict(values)
    return None


def require_lake(plan: JoinPlan) -> None:
    """Raise where a plan is of two frames, whose rows no plan holds."""
    if not plan.index and plan.steps:
        raise InvalidParameterError(
            "the plan is of two frames, and holds no rows: pass the other frame as `other`, and this as `plan`"
        )
