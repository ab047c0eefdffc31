"""What a JSON value may be, written as data: the type and range of each field, and one check that compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

LARGEST = 2**63 - 1
"""Counts and sizes are numbers of 64 bits."""


@dataclass(frozen=True)
class TextValue:
    """Text without a zero character.

    Parameters
    ----------
    is_name : bool
        It is part of the name of a file: without half a surrogate pair, and of 255 bytes at most between slashes.
    """

    is_name: bool = False

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if not isinstance(value, str) or "\0" in value:
            return _other(value, path, "a text without zero characters")
        if self.is_name and max(map(_size, value.split("/"))) > _LONGEST_NAME:
            return _other(value, path, f"a name of at most {_LONGEST_NAME} bytes")
        return ""


_LONGEST_NAME = 255
"""Bytes; what file systems take."""


def _size(name: str) -> int:
    try:
        return len(name.encode())
    except UnicodeEncodeError:
        return _LONGEST_NAME + 1


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int = 0
    high: int = LARGEST

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if type(value) is int and self.low <= value <= self.high:
            return ""
        return _other(value, path, f"a whole number from {self.low} to {self.high}")


@dataclass(frozen=True)
class Number:
    """A finite number."""

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        is_finite = type(value) in (int, float) and abs(value) < float("inf")
        return "" if is_finite else _other(value, path, "a finite number")


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        return "" if isinstance(value, bool) else _other(value, path, "true or false")


@dataclass(frozen=True)
class OneOf:
    """One of some texts."""

    texts: tuple[str, ...]

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        is_known = isinstance(value, str) and value in self.texts
        return "" if is_known else _other(value, path, f"one of {', '.join(self.texts)}")


@dataclass(frozen=True)
class OrNull:
    """null, or what another shape says."""

    item: Shape

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        return "" if value is None else self.item.problem(value, path)


@dataclass(frozen=True)
class ListOf:
    """A list of `low` entries or more, up to `high`."""

    item: Shape
    low: int = 0
    high: int = LARGEST

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if not isinstance(value, list) or not self.low <= len(value) <= self.high:
            return _other(value, path, "a list" if not self.low else f"a list of {self.low} entries or more")
        return next((said for i, one in enumerate(value) if (said := self.item.problem(one, f"{path}[{i}]"))), "")


@dataclass(frozen=True)
class Row:
    """A list of as many entries as there are shapes, each of its own."""

    items: tuple[Shape, ...]

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if not isinstance(value, list) or len(value) != len(self.items):
            return _other(value, path, f"a list of {len(self.items)} entries")
        given = enumerate(zip(self.items, value, strict=True))
        return next((said for i, (item, one) in given if (said := item.problem(one, f"{path}[{i}]"))), "")


@dataclass(frozen=True)
class AnyOf:
    """What one of some shapes says."""

    items: tuple[Shape, ...]

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        said = [item.problem(value, path) for item in self.items]
        return "" if "" in said else " or ".join(said)


@dataclass(frozen=True)
class MapOf:
    """An object whose keys are any texts."""

    item: Shape

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if not isinstance(value, dict):
            return _other(value, path, "an object")
        return next((said for key, one in value.items() if (said := self.item.problem(one, f"{path}.{key:.40}"))), "")


@dataclass(frozen=True)
class Record:
    """An object with the fields `due`, and maybe those of `optional`; others are passed over."""

    due: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def problem(self, value: Any, path: str) -> str:
        """Say what is wrong with a value; nothing if it is legal."""
        if not isinstance(value, dict):
            return _other(value, path, "an object")
        for name, shape in self.due.items():
            said = shape.problem(value[name], f"{path}.{name}") if name in value else f"{path} lacks `{name}`"
            if said:
                return said
        return next(
            (
                said
                for name, shape in self.optional.items()
                if name in value and (said := shape.problem(value[name], f"{path}.{name}"))
            ),
            "",
        )


Shape: TypeAlias = "TextValue | Whole | Number | Flag | OneOf | AnyOf | OrNull | ListOf | Row | MapOf | Record"


def _other(value: Any, path: str, legal: str) -> str:
    return f"{path} must be {legal}, got {value!a:.60}"


def check_shape(value: Any, shape: Shape, path: str) -> None:
    """Compare a JSON value with its shape.

    Parameters
    ----------
    value : object
        As `json.loads` returns it.
    shape : Shape
    path : str
        What the value is, for errors.

    Raises
    ------
    ValueError
        That names the first field that is not legal, what is legal, and what came.

    Examples
    --------
    >>> check_shape({"n": -1}, Record({"n": Whole()}), "counts")
    Traceback (most recent call last):
        ...
    ValueError: counts.n must be a whole number from 0 to 9223372036854775807, got -1
    """
    said = shape.problem(value, path)
    if said:
        raise ValueError(said)
