"""Steps of a program that keep a stretch of a text: several parts, or all from or up to a run of characters.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dfjoin.kernels import spans as kernels
from dfjoin.programs import scalar
from dfjoin.programs.characters import pattern_of
from dfjoin.programs.extract import RunStep, Step, as_bytes
from dfjoin.programs.spark_sql import END, quote, when_empty
from dfjoin.programs.string_column import StringColumn

__all__ = ["FromRun", "Parts", "UptoRun"]


@dataclass(frozen=True, slots=True)
class Parts(Step):
    """Neighbouring parts between occurrences of a separator, with the separators between them.

    All but the last part is ``Parts(separator, 0, -2)``.

    Parameters
    ----------
    separator : str
        At least one character; occurrences are taken from the left.
    first, last : int
        Numbers of the first and the last part that are kept, from 0, or from the last part, -1. Neither may be empty.
    """

    separator: str
    first: int
    last: int
    name: ClassVar[str] = "parts"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar.part_range(text, self.separator, self.first, self.last)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Narrow the spans to what lies between the ends of two parts."""
        separator = as_bytes(self.separator)
        starts, low_ends = kernels.split_part(strings.spans, separator, self.first)
        high_starts, ends = kernels.split_part(strings.spans, separator, self.last)
        is_range = (starts >= 0) & (high_starts >= starts) & (ends >= low_ends)
        return strings.narrowed((np.where(is_range, starts, -1), ends))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "part_range", (self.separator, self.first, self.last)

    def sql(self, operand: str) -> str:
        """Use ``split`` with the separator as a pattern, and ``slice``."""
        pattern = "".join(c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02X}" for c in self.separator)
        low, high = (str(i) if i >= 0 else f"(size(p) - {-i})" for i in (self.first, self.last))
        ends = " AND ".join(f"try_element_at(p, {i} + 1) != ''" for i in (low, high))
        kept = f"array_join(slice(p, {low} + 1, {high} - {low} + 1), {quote(self.separator)})"
        case = (
            f"CASE WHEN {low} >= 0 AND {low} <= {high} AND {high} < size(p) THEN CASE WHEN {ends} THEN {kept} END END"
        )
        return f"transform(array(split({operand}, {quote(pattern)}, -1)), p -> {case})[0]"

    def describe(self) -> str:
        stop = "" if self.last == -1 else self.last + 1
        return f"split({self.separator!r})[{self.first or ''}:{stop}]"


@dataclass(frozen=True, slots=True)
class FromRun(RunStep):
    """The text from the beginning of one of the maximal runs of characters of a class."""

    name: ClassVar[str] = "from_run"
    weight: ClassVar[int] = 3
    function: ClassVar[str] = "text_from_run"

    def apply(self, strings: StringColumn) -> StringColumn:
        """Keep the ends of the spans."""
        starts, _ = self.runs(strings)
        return strings.narrowed((starts, strings.spans.ends.copy()))

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract`` with the runs before, or behind, counted in the pattern."""
        inside, outside = pattern_of(self.kind), pattern_of(self.kind, negated=True)
        if self.index >= 0:
            pattern = f"^(?:{outside}*+{inside}++){{{self.index}}}{outside}*+({inside}(?s:.)*)"
        else:
            pattern = f"(?<!{inside})({inside}++(?:{outside}++{inside}++){{{-self.index - 1}}}{outside}*+){END}"
        return when_empty(f"regexp_extract({operand}, {quote(pattern)}, 1)")

    def describe(self) -> str:
        return f"from({self.kind}[{self.index}])"


@dataclass(frozen=True, slots=True)
class UptoRun(RunStep):
    """The text up to the end of one of the maximal runs of characters of a class."""

    name: ClassVar[str] = "upto_run"
    weight: ClassVar[int] = 3
    function: ClassVar[str] = "text_upto_run"

    def apply(self, strings: StringColumn) -> StringColumn:
        """Keep the starts of the spans."""
        starts, ends = self.runs(strings)
        return strings.narrowed((np.where(starts >= 0, strings.spans.starts, -1), ends))

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract`` with the runs before, or behind, counted in the pattern."""
        inside, outside = pattern_of(self.kind), pattern_of(self.kind, negated=True)
        if self.index >= 0:
            pattern = f"^((?:{outside}*+{inside}++){{{self.index + 1}}})"
        else:
            behind = f"(?:{outside}++{inside}++){{{-self.index - 1}}}{outside}*+"
            pattern = f"^((?s:.)*{inside})(?!{inside}){behind}{END}"
        return when_empty(f"regexp_extract({operand}, {quote(pattern)}, 1)")

    def describe(self) -> str:
        return f"upto({self.kind}[{self.index}])"
