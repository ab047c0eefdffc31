"""How two frames were related, as data: programs, likeness and its threshold, to be applied to other frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dfjoin.errors import InvalidTypeError
from dfjoin.fuzzy.result import FuzzySettings
from dfjoin.transform.transform_join import TransformJoin

__all__ = ["SavedRelation"]


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
    """

    programs: TransformJoin
    likeness: FuzzySettings | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain JSON values."""
        programs = {key: value for key, value in self.programs.to_dict().items() if key != "tried"}
        if not self.programs.found:  # a stored join has a direction only with programs
            programs["direction"] = ""
        return {**programs, "likeness": None if self.likeness is None else self.likeness.to_dict()}

    @classmethod
    def from_dict(cls, values: Any) -> SavedRelation:
        """Read what `to_dict` wrote, and check every part of it; `likeness` may be left out.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        programs = TransformJoin.from_dict(values)
        likeness = values.get("likeness")
        if not programs.found and likeness is None:
            raise InvalidTypeError("a relation of two frames must have programs or `likeness`, got neither")
        return cls(programs, None if likeness is None else FuzzySettings.from_dict(likeness))

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key columns of the left and of the right frame."""
        found = self.programs.source_columns, self.programs.target_columns
        return found[::-1] if self.programs.direction == "right_to_left" else found
