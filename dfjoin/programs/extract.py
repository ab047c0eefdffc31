"""Steps of a program that take a part of a string: Split with SelectK, runs of a class, Substring.

A step is a frozen record with one meaning in four forms: `__call__` for one string, `apply` for a column
of strings, `python` and `sql` for source text. The strings that steps take are never empty: an empty result counts as
no result, and a null stays null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels import spans as kernels
from dfjoin.programs import scalar
from dfjoin.programs.characters import CLASSES, class_table, pattern_of
from dfjoin.programs.spark_sql import bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn

__all__ = [
    "After",
    "Before",
    "CharacterRun",
    "RunStep",
    "Slice",
    "Split",
    "Step",
    "as_bytes",
    "overlaps_itself",
    "position",
]


class Step(Protocol):
    """One operator of a program: it turns a string into another one, or into nothing."""

    name: ClassVar[str]
    weight: ClassVar[int]
    """Smaller for a more likely step: the learner adds up weights, and prefers the least sum."""
    computes: ClassVar[bool] = False
    """Whether numbers or times are computed, so that results may agree by accident."""

    def __call__(self, text: str) -> str | None:
        """Return what the step makes of one string; None or empty if it does not apply."""

    def apply(self, strings: StringColumn) -> StringColumn:
        """Return what the step makes of each string of a column: of each distinct one, unless a step knows better."""
        return strings.mapped(self)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """Name the function in `step_table.FUNCTIONS` and its arguments behind the text."""

    def sql(self, operand: str) -> str:
        """Write the step as Spark SQL."""

    def describe(self) -> str:
        """Write the step for people, as what follows ``column.``."""


def as_bytes(text: str) -> np.ndarray:
    """Return the UTF-8 bytes of a text as a read-only array."""
    return np.frombuffer(text.encode(), np.uint8)


def position(index: int) -> str:
    """Write an index for people.

    Examples
    --------
    >>> position(0), position(-1), position(3)
    ('1', 'last', '4')
    """
    if index >= 0:
        return str(index + 1)
    return "last" if index == -1 else f"{-index} from the end"


_SHORT = 200
"""Characters of an operand up to which an expression of Spark names it several times."""


def overlaps_itself(separator: str) -> bool:
    """Tell whether two occurrences of a separator may share characters, as ``--`` in ``---``."""
    return any(separator.startswith(separator[size:]) for size in range(1, len(separator)))


@dataclass(frozen=True, slots=True)
class Split(Step):
    """One of the parts between occurrences of a separator of any length: Split, then SelectK.

    Parameters
    ----------
    separator : str
        At least one character; occurrences are taken from the left.
    index : int
        From 0, or from the last part, -1.
    """

    separator: str
    index: int
    name: ClassVar[str] = "split"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.split_part(text, self.separator, self.index)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        separator = as_bytes(self.separator)
        return strings.narrowed(kernels.split_part(strings.spans, separator, self.index))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "split_part", (self.separator, self.index)

    def sql(self, operand: str) -> str:
        """Use ``split_part``, which counts from 1 and gives an empty text where there is no such part.

        The first part and the last are found by ``substring_index``, and so is the second of a short operand, in a
        third of the time. It counts occurrences that overlap, so that the separator has to be one that cannot.
        """
        separator = quote(self.separator)
        if not overlaps_itself(self.separator):
            if self.index in (0, -1):
                return when_empty(f"substring_index({operand}, {separator}, {1 if self.index == 0 else -1})")
            if self.index == 1 and len(operand) <= _SHORT:
                second = f"substring_index(substring_index({operand}, {separator}, 2), {separator}, -1)"
                return when_empty(f"nullif({second}, {operand})")  # without a separator, it is the whole text
        number = self.index + 1 if self.index >= 0 else self.index
        return when_empty(f"split_part({operand}, {separator}, {number})")

    def describe(self) -> str:
        return f"split({self.separator!r})[{self.index}]"


@dataclass(frozen=True, slots=True)
class After(Step):
    """The text behind the first occurrence of a separator, further occurrences included.

    Parameters
    ----------
    separator : str
        At least one character.
    """

    separator: str
    name: ClassVar[str] = "after"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.text_after(text, self.separator)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        return strings.narrowed(kernels.text_after(strings.spans, as_bytes(self.separator)))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "text_after", (self.separator,)

    def sql(self, operand: str) -> str:
        """Use ``instr``, which is 0 where the separator does not occur."""
        found = f"instr(x, {quote(self.separator)})"
        rest = f"substring(x, {found} + {len(self.separator)})"
        return when_empty(bind(operand, f"CASE WHEN {found} > 0 THEN {rest} END"))

    def describe(self) -> str:
        return f"after({self.separator!r})"


@dataclass(frozen=True, slots=True)
class Before(Step):
    """The text before the last occurrence of a separator, earlier occurrences included.

    Parameters
    ----------
    separator : str
        At least one character.
    """

    separator: str
    name: ClassVar[str] = "before"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.text_before(text, self.separator)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        return strings.narrowed(kernels.text_before(strings.spans, as_bytes(self.separator)))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "text_before", (self.separator,)

    def sql(self, operand: str) -> str:
        """Use ``substring_index``, counted from the end, to find the last occurrence."""
        tail = f"char_length(substring_index(x, {quote(self.separator)}, -1))"
        return when_empty(
            bind(operand, f"substring(x, 1, greatest(char_length(x) - {tail} - {len(self.separator)}, 0))")
        )

    def describe(self) -> str:
        return f"before({self.separator!r})"


@dataclass(frozen=True, slots=True)
class RunStep(Step):
    """A step that looks for one of the maximal runs of characters of a class.

    Parameters
    ----------
    kind : str
        A name of `dfjoin.programs.characters.CLASSES`.
    index : int
        From 0, or from the last run, -1.
    """

    kind: str
    index: int
    function: ClassVar[str]
    """Name of its function of `dfjoin.programs.scalar`."""

    def __call__(self, text: str) -> str | None:
        name, arguments = self.python()
        found: str | None = getattr(scalar, name)(text, *arguments)
        return found

    def runs(self, strings: StringColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts and ends of the runs, -1 where there is none."""
        return kernels.nth_run(strings.spans, class_table(), CLASSES[self.kind], self.index)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return self.function, (pattern_of(self.kind), self.index)


@dataclass(frozen=True, slots=True)
class CharacterRun(RunStep):
    """One of the maximal runs of characters of a class."""

    name: ClassVar[str] = "run"
    weight: ClassVar[int] = 2
    function: ClassVar[str] = "nth_run"

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        return strings.narrowed(self.runs(strings))

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract_all`` and ``try_element_at``, which gives null where there is none."""
        number = self.index + 1 if self.index >= 0 else self.index
        return f"try_element_at(regexp_extract_all({operand}, {quote(pattern_of(self.kind) + '+')}, 0), {number})"

    def describe(self) -> str:
        return f"{self.kind}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Slice(Step):
    """The characters from one position to before another: Substring, from either end.

    Parameters
    ----------
    start : int
        From 0, or from the end, as in Python.
    stop : int or None
        None: to the end.
    """

    start: int
    stop: int | None
    name: ClassVar[str] = "slice"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar.slice_text(text, self.start, self.stop)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans."""
        stop = kernels.TO_THE_END if self.stop is None else self.stop
        return strings.narrowed(kernels.slice_characters(strings.spans, self.start, stop))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "slice_text", (self.start, self.stop)

    def sql(self, operand: str) -> str:
        """Use ``substring``, with positions from the end worked out from the length."""
        if self.start >= 0 and (self.stop is None or self.stop >= 0):
            length = "" if self.stop is None else f", {max(0, self.stop - self.start)}"
            return when_empty(f"substring({operand}, {self.start + 1}{length})")
        first = str(self.start) if self.start >= 0 else f"greatest(char_length(x) - {-self.start}, 0)"
        if self.stop is None:
            return when_empty(bind(operand, f"substring(x, {first} + 1)"))
        last = str(self.stop) if self.stop >= 0 else f"char_length(x) - {-self.stop}"
        return when_empty(bind(operand, f"substring(x, {first} + 1, greatest({last} - {first}, 0))"))

    def describe(self) -> str:
        return f"[{self.start or ''}:{'' if self.stop is None else self.stop}]"
