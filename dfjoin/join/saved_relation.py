"""How two frames were related, as data: programs, likeness and its threshold, to be applied to other frames.

A further kind of relation by distance is a class and a line of `_KINDS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dfjoin.errors import InvalidTypeError
from dfjoin.fuzzy.result import FuzzySettings
from dfjoin.join.element_keys import ElementKeys
from dfjoin.search.distance.distance_join import DistanceRelation
from dfjoin.search.embedding.axes_join import AxesRelation
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.transform.evidence.transform_join import TransformJoin

__all__ = ["SavedRelation", "distance_relation"]


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
        programs = {key: value for key, value in self.programs.to_dict().items() if key != "tried"}
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
        names = programs.source_columns, programs.target_columns
        if elements is not None and (programs.found or any(len(side) != 1 for side in names)):
            raise InvalidTypeError("a relation by `elements` must be of one column on each side, and without programs")
        if not programs.found and likeness is None and elements is None:
            raise InvalidTypeError("a relation of two frames must have programs or `likeness`, got neither")
        return cls(programs, None if likeness is None else FuzzySettings.from_dict(likeness), elements)

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key columns of the left and of the right frame."""
        found = self.programs.source_columns, self.programs.target_columns
        return found[::-1] if self.programs.direction == "right_to_left" else found


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
