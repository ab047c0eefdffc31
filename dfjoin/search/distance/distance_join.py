"""Keys that are joined by distance: the base of such relations, as a plan keeps them, and which keys are partners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import ValueSet

PARTNERS = ("nearest", "all")
"""The nearest one of each key, or all within the radius."""


class PairedKeys(NamedTuple):
    """Pairs of a key of the frame and one of the table, and the keys of the table.

    `codes` is the key of each row of the table, `n_keys` how many keys it has, `distances` how far the keys of each
    pair are apart as a user is told it (empty where nobody asks), `chances` how likely each is right (empty where that
    is not estimated), and `likeness` what is expected of those that are not equal.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    codes: NDArray[np.int64]
    n_keys: int
    distances: NDArray[np.float64] = np.empty(0)
    chances: NDArray[np.float64] = np.empty(0)
    likeness: FuzzyJoin | None = None


class NearPairs(NamedTuple):
    """Numbers of the two sides of pairs, and their distances."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    distances: NDArray[np.float64]


NO_PAIRS = NearPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def with_equal(near: NearPairs, equal: NDArray[np.int64], distance: float) -> NearPairs:
    """Put pairs of equal values before those within a radius, and each pair once.

    Parameters
    ----------
    near : NearPairs
    equal : ndarray of int64, shape (n_left,)
        The right value that is equal to each left one, -1 for none.
    distance : float
        Of equal values.
    """
    is_new = equal[near.left] != near.right
    left = np.flatnonzero(equal >= 0)
    return NearPairs(
        np.append(left, near.left[is_new]),
        np.append(equal[left], near.right[is_new]),
        np.append(np.full(left.size, distance), near.distances[is_new]),
    )


class DistanceKeys(ABC):
    """The keys of a frame, to be joined with the keys of a table that are near them.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of the key of each row of the frame; -1 for none.
    n_keys : int
        Distinct keys.
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    codes: NDArray[np.int64]
    n_keys: int
    partners: str

    @abstractmethod
    def read(self, parts: Sequence[ValueSet]) -> tuple[Any, NDArray[np.int64], int]:
        """Return the distinct keys of a table, the number of the key of each row, -1 for none, and how many there are.

        Parameters
        ----------
        parts : sequence of ValueSet
            The canonical values of its key columns.
        """

    @abstractmethod
    def near(self, keys: Any) -> NearPairs:
        """Pair the frame's keys with keys of a table that lie within the radius."""

    def shown(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances in the unit of the user; those of equal keys are zero."""
        return np.maximum(distances, 0.0)

    def closest(self, keys: Any) -> NearPairs:
        """Pair the frame's keys with keys within the radius, at least with all that are nearest to each."""
        return self.near(keys)

    def nearest(self, keys: Any) -> NearPairs:
        """Pair each key of the frame with the nearest key of a table within the radius, of several the smallest."""
        return nearest_pairs(*self.closest(keys))

    def ordered(self, keys: Any) -> NDArray[np.int64] | None:
        """Return in which order keys of a table are taken that are equally near; None: in that of their numbers."""
        return None

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a table, by the canonical values of its key columns, whether its key may be a partner."""
        keys, codes, n = self.read(parts)
        found = np.zeros(n + 1, bool)  # the last one serves code -1, the null
        near = self.closest(keys) if self.partners == PARTNERS[0] else self.near(keys)
        found[near.right] = True
        return found[codes]

    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the keys with those of a table: the nearest one of each, by the frame's keys, or all that are near."""
        keys, codes, n = self.read(parts)
        order = self.ordered(keys)
        if self.partners != PARTNERS[0]:
            left, right, distances = self.near(keys)
        elif order is None:
            left, right, distances = self.nearest(keys)
        else:
            left, right, distances = self.closest(keys)
            rank = np.empty(n, np.int64)
            rank[order] = np.arange(n)
            left, ranked, distances = nearest_pairs(left, rank[right], distances)
            right = order[ranked]
        return PairedKeys(left, right, codes, n, self.shown(distances))


@dataclass(frozen=True)
class DistanceRelation(ABC):
    """How near the keys of two tables have to be; a kind of relation is one class.

    Parameters
    ----------
    radius : float
    radius_unit : str
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    min_margin : float or None
        The nearest one is only if the next one is farther by so much, in the unit of the radius.
    precision : float or None
        Those are that are likely right, so that this share of them is, by estimate; None: `partners` says which.
    likeness : dict or None
        The threshold of an earlier join at that precision, see `dfjoin.fuzzy.result.FuzzySettings`.
    """

    KIND: ClassVar[str]
    """Under which name a plan and a report have it."""
    TITLE: ClassVar[str]
    """What messages call it."""
    MEASURE: ClassVar[str] = "distance"
    """What is small between partners."""

    radius: float
    radius_unit: str
    partners: str = field(default=PARTNERS[0], kw_only=True)
    min_margin: float | None = field(default=None, kw_only=True)
    precision: float | None = field(default=None, kw_only=True)
    likeness: dict[str, Any] | None = field(default=None, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain JSON values."""
        return {self.KIND: {name: value for name, value in asdict(self).items() if value is not None}}

    def learned(self, pairs: PairedKeys) -> dict[str, Any]:
        """Return the relation for a plan, as plain JSON values, with the threshold that a join has chosen."""
        found = pairs.likeness
        if found is None or found.settings is None:
            return self.to_dict()
        return replace(self, likeness=found.settings.to_dict()).to_dict()

    def described(self, pairs: PairedKeys) -> dict[str, Any]:
        """Return the relation for a report, as plain JSON values, with what is expected of a join."""
        return self.to_dict() if pairs.likeness is None else self.to_dict() | {"fuzzy": pairs.likeness.to_dict()}

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
        if own.get("min_margin") is not None:
            check.check_distance(own["min_margin"], "min_margin")
        if own.get("precision") is not None:
            check.check_fraction(own["precision"], "precision")
        if own.get("min_margin") is not None and (own.get("precision") is not None or own.get("partners") == "all"):
            raise InvalidParameterError(
                f'{cls.TITLE} must have `min_margin` with partners="nearest" and without `precision`, '
                f"got {check.show(own)}"
            )
        if own.get("likeness") is not None:
            FuzzySettings.from_dict(own["likeness"])
        relation = cls(**own)
        relation.check()
        return relation

    def wider(self) -> Self:
        """Return the relation of all keys within the radius and the margin together."""
        radius = self.radius + (self.min_margin or 0.0)
        unit = self.radius_unit
        if unit in ("fraction", "by_length"):  # the margin is not smaller for a long text
            radius, unit = min(1.0, radius), "fraction"
        return replace(self, radius=radius, radius_unit=unit, partners="all", min_margin=None)

    @property
    def n_columns(self) -> int:
        """The number of columns that make a key."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """Raise `InvalidTypeError` or `InvalidParameterError` for values that no search has."""

    @abstractmethod
    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot | None) -> DistanceKeys:
        """Make the keys of a frame ready to be paired.

        Parameters
        ----------
        parts : sequence of ValueSet
            Canonical values of the key columns of the frame.
        snapshot : Snapshot or None
            Of the lake that has the table; None: it is a frame.
        """

    @abstractmethod
    def radius_text(self) -> str:
        """Return how far partners may be, for a report, as in ``0.2 (fraction), edit``."""

    def describe(self) -> str:
        """Return how keys were joined as a line of a report."""
        whom = "all keys" if self.partners == "all" else "the nearest key"
        whom = whom if self.precision is None else f"at precision {self.precision:g}, keys"
        margin = "" if self.min_margin is None else f", if the next one is farther by {self.min_margin:g} or more"
        return f"by {self.MEASURE}: {whom} up to {self.radius_text()}{margin}"


def nearest_pairs(left: NDArray[np.int64], right: NDArray[np.int64], distances: NDArray[np.float64]) -> NearPairs:
    """Keep the nearest pair of each left key, of several the smallest right one; by left key."""
    order = np.lexsort((right, distances, left))
    own = left[order]
    order = order[np.append(True, own[1:] != own[:-1])[: own.size]]
    return NearPairs(left[order], right[order], distances[order])


class TextKeys(DistanceKeys):
    """The texts of a column of a frame, to be joined with the texts of a table; the equal one is the nearest.

    Parameters
    ----------
    values : ValueSet
        The column of the frame.
    partners : {"nearest", "all"}
        Which keys within the radius are partners. Of several nearest ones the first by code point is.
    """

    def __init__(self, values: ValueSet, partners: str) -> None:
        self.codes, self.n_keys = values.codes.astype(np.int64), len(values)
        self.partners = partners
        self._vocabulary = Vocabulary(values)

    @abstractmethod
    def within(self, values: ValueSet) -> NearPairs:
        """List the pairs of a text of a table and one of the frame within the radius."""

    @abstractmethod
    def measured(self, values: ValueSet, left: NDArray[np.int64], right: NDArray[np.int64]) -> NearPairs:
        """Measure pairs of texts of the frame and of a table, by number; infinity where texts have no distance."""

    @abstractmethod
    def is_within(self, pairs: NearPairs) -> NDArray[np.bool_]:
        """Tell which pairs of a text of the frame and one of a table are within the radius."""

    def equal(self, values: ValueSet) -> NDArray[np.int64]:
        """Return the text of the frame that is equal to each text of a table, -1 for none."""
        return self._vocabulary.codes_of(values)

    def read(self, parts: Sequence[ValueSet]) -> tuple[ValueSet, NDArray[np.int64], int]:
        """See `DistanceKeys`."""
        (values,) = parts
        return values, values.codes.astype(np.int64), len(values)

    def near(self, keys: ValueSet) -> NearPairs:
        """See `DistanceKeys`."""
        if not (len(keys) and self.n_keys):
            return NO_PAIRS
        theirs, left, distances = with_equal(self.within(keys), self.equal(keys), -1.0)  # equal values come first
        return NearPairs(left, theirs, distances)

    def closest_within(self, values: ValueSet, wanted: NDArray[np.int64]) -> NearPairs:
        """List pairs as `within` does of some texts of the frame, at least the nearest ones of each."""
        return self.within(values)

    def closest(self, keys: ValueSet) -> NearPairs:
        """See `DistanceKeys`."""
        if not (len(keys) and self.n_keys):
            return NO_PAIRS
        equal = self.equal(keys)  # nothing is nearer than an equal text
        wanted = np.setdiff1d(np.arange(self.n_keys), equal)
        theirs, left, distances = with_equal(self.closest_within(keys, wanted), equal, -1.0)
        return NearPairs(left, theirs, distances)

    def ordered(self, keys: ValueSet) -> NDArray[np.int64]:
        """See `DistanceKeys`."""
        return np.argsort(np.array(keys.values(), dtype=object)) if len(keys) else np.empty(0, np.int64)


def with_partners(
    relation: dict[str, Any] | None, partners: str | None, min_margin: float | None = None
) -> dict[str, Any] | None:
    """Return the relation of a step with other partners than the nearest ones.

    Parameters
    ----------
    relation : dict or None
        As plain JSON values.
    partners : {"nearest", "all", None}
        None: as the relation says.
    min_margin : float or None
        By how much the next key has to be farther than the nearest one; None: as the relation says.

    Raises
    ------
    InvalidParameterError
        If keys are not related by distance.
    """
    for name, value in (("partners", partners), ("min_margin", min_margin)):
        if value is not None:
            kind, held = _held(relation, name, value)
            relation = {kind: {**held, name: value}}
    return relation


def with_precision(
    relation: dict[str, Any] | None, precision: float | None, *, is_bounded: bool
) -> dict[str, Any] | None:
    """Return the relation of a step whose keys are joined at a precision.

    Parameters
    ----------
    relation : dict or None
        As plain JSON values.
    precision : float or None
        None: as the relation says.
    is_bounded : bool
        The radius was asked for. Else the precision decides in place of the default radius.

    Raises
    ------
    InvalidParameterError
        If keys are not related by distance.
    """
    if precision is None:
        return relation
    kind, held = _held(relation, "precision", precision)
    bound = {} if is_bounded else {"radius": 1.0, "radius_unit": "fraction"}
    return {kind: {**held, **bound, "precision": precision}}


def _held(relation: dict[str, Any] | None, name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind of a relation by distance and what it holds."""
    kind, held = next(iter((relation or {"": None}).items()))
    if not isinstance(held, dict) or "partners" not in held:
        raise InvalidParameterError(
            f"`{name}` belongs to candidates that were found by distance, got {value!r} for keys that are equal "
            "or related by a program; leave it out"
        )
    return kind, held
