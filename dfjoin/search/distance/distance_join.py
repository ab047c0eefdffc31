"""Keys that are joined by distance: the base of such relations, as a plan keeps them, and which keys are partners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.value_set import ValueSet

__all__ = ["PARTNERS", "DistanceKeys", "DistanceRelation", "PairedKeys", "TextKeys", "nearest_pairs", "with_partners"]

PARTNERS = ("nearest", "all")
"""The nearest one of each key, or all within the radius."""


class PairedKeys(NamedTuple):
    """Pairs of a key of the frame and one of the table, the key of each row of the table, and how many keys it has."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    codes: NDArray[np.int64]
    n_keys: int


class DistanceKeys(ABC):
    """The keys of a frame, to be joined with the keys of a table that are near them.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of the key of each row of the frame; -1 for none.
    n_keys : int
        Distinct keys.
    """

    codes: NDArray[np.int64]
    n_keys: int

    @abstractmethod
    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a table, by the canonical values of its key columns, whether a key is near."""

    @abstractmethod
    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the keys with those of a table: the nearest one of each, or all within the radius."""


@dataclass(frozen=True)
class DistanceRelation(ABC):
    """How near the keys of two tables have to be; a kind of relation is one class.

    Parameters
    ----------
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    KIND: ClassVar[str]
    """Under which name a plan and a report have it."""
    TITLE: ClassVar[str]
    """What messages call it."""
    MEASURE: ClassVar[str] = "distance"
    """What is small between partners."""

    partners: str = field(default=PARTNERS[0], kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain JSON values."""
        return {self.KIND: asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            If it is no such relation.
        """
        own, known = values[cls.KIND], fields(cls)
        needed = {one.name for one in known if one.default is MISSING}
        if not isinstance(own, dict) or not needed <= set(own) <= {one.name for one in known}:
            raise InvalidTypeError(f"{cls.TITLE} must have {sorted(one.name for one in known)}")
        check.check_choice(own.get("partners", PARTNERS[0]), "partners", PARTNERS)
        relation = cls(**own)
        relation.check()
        return relation

    @property
    def n_columns(self) -> int:
        """The number of columns that make a key."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """Raise `InvalidTypeError` or `InvalidParameterError` for values that no search has."""

    @abstractmethod
    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot) -> DistanceKeys:
        """Make the keys of a frame ready to be paired.

        Parameters
        ----------
        parts : sequence of ValueSet
            Canonical values of the key columns of the frame.
        snapshot : Snapshot
            Of the lake that has the table.
        """

    @abstractmethod
    def reach_text(self) -> str:
        """Return how far partners may be, for a report, as in ``0.2 (fraction), edit``."""

    def describe(self) -> str:
        """Return how keys were joined as a line of a report."""
        whom = "all keys" if self.partners == "all" else "the nearest key"
        return f"by {self.MEASURE}: {whom} up to {self.reach_text()}"


def nearest_pairs(
    left: NDArray[np.int64], right: NDArray[np.int64], distances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keep the nearest pair of each left key, of several the smallest right one; by left key."""
    order = np.lexsort((right, distances, left))
    left, right = left[order], right[order]
    first = np.append(True, left[1:] != left[:-1])[: left.size]
    return left[first], right[first]


class TextKeys(DistanceKeys):
    """The texts of a column of a frame, to be joined with the texts of a table that are near them.

    Parameters
    ----------
    values : ValueSet
        The column of the frame.
    rule : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    def __init__(self, values: ValueSet, rule: str) -> None:
        self.codes, self.n_keys = values.codes.astype(np.int64), len(values)
        self._values = values
        self._rule = rule

    @abstractmethod
    def _pairs(self, values: ValueSet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Pair the frame's keys with others: numbers of both, and distances; those of equal keys are below 0."""

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """See `DistanceKeys`."""
        (values,) = parts
        found = np.zeros(len(values) + 1, bool)  # the last one serves code -1, the null
        found[self._pairs(values)[1]] = True
        return found[values.codes]

    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the keys with those of a table; the nearest is the equal one, else the first by code point.

        See `DistanceKeys`; pairs of the nearest keys are in order of the frame's keys.
        """
        (values,) = parts
        left, right, distances = self._pairs(values)
        if self._rule == PARTNERS[0]:
            names = np.argsort(np.array(values.values(), dtype=object)) if len(values) else np.empty(0, np.int64)
            rank = np.empty(len(values), np.int64)
            rank[names] = np.arange(len(values))
            left, own = nearest_pairs(left, rank[right], distances)
            right = names[own]
        return PairedKeys(left, right, values.codes.astype(np.int64), len(values))


def with_partners(relation: dict[str, Any] | None, partners: str | None) -> dict[str, Any] | None:
    """Return the relation of a step with other partners than the nearest ones.

    Parameters
    ----------
    relation : dict or None
        As plain JSON values.
    partners : {"nearest", "all", None}
        None: as the relation says.

    Raises
    ------
    InvalidParameterError
        If keys are not related by distance.
    """
    if partners is None:
        return relation
    kind, held = next(iter((relation or {"": None}).items()))
    if not isinstance(held, dict) or "partners" not in held:
        raise InvalidParameterError(
            f"`partners` belongs to candidates that were found by distance, got {partners!r} for keys that are equal "
            "or related by a program; leave it out"
        )
    return {kind: {**held, "partners": partners}}
