"""Steps of a program that rewrite a string: casing, accents, classes, replacement, padding.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dfjoin.kernels import rewriting
from dfjoin.programs import scalar
from dfjoin.programs.characters import CLASSES, LOWER, PLAIN, UPPER, character_table, class_table, pattern_of
from dfjoin.programs.extract import Step, as_bytes
from dfjoin.programs.spark_sql import bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn

__all__ = ["CASES", "Case", "Keep", "Pad", "Plain", "Replace", "Squeeze", "rewritten", "translate"]

CASES = ("lower", "upper", "title", "sentence")
_BUILT_IN = {"lower": "lower", "upper": "upper", "title": "title", "sentence": "capitalize"}
_TO = {"lower": LOWER, "upper": UPPER}
_FIRST = {"lower": LOWER, "upper": UPPER, "sentence": UPPER, "title": UPPER}
_REST = {"lower": LOWER, "upper": UPPER, "sentence": LOWER, "title": LOWER}


def rewritten(strings: StringColumn, n_bytes: int, kernel: Callable[..., Any], *arguments: Any) -> StringColumn:
    """Run a kernel that writes into a new buffer of so many bytes."""
    out = np.empty(n_bytes + 8, np.uint8)
    starts, ends = kernel(strings.spans, *arguments, out)
    out.flags.writeable = False
    return StringColumn.view(out, starts, ends)


def translate(operand: str, tables: tuple[str, str]) -> str:
    """Write casing as SQL."""
    return f"translate({operand}, {quote(tables[0])}, {quote(tables[1])})"


@dataclass(frozen=True, slots=True)
class Case(Step):
    """Casing by the fixed tables of `dfjoin.programs.characters`.

    Parameters
    ----------
    style : {"lower", "upper", "title", "sentence"}
        Title: the first letter of each run of letters is large; sentence: the first character.
    """

    style: str
    name: ClassVar[str] = "case"
    weight: ClassVar[int] = 1

    def __call__(self, text: str) -> str | None:
        if text.isascii():  # the same, faster
            return str(getattr(text, _BUILT_IN[self.style])())
        name, arguments = self.python()
        return getattr(scalar, name)(text, *arguments)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Replace the letters."""
        first, rest = character_table(_FIRST[self.style]), character_table(_REST[self.style])
        if self.style == "title":
            classes = (class_table(), CLASSES["letters"])
            return rewritten(strings, strings.n_bytes, rewriting.map_runs, *classes, first, rest)
        return rewritten(strings, strings.n_bytes, rewriting.map_characters, first, rest)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        if self.style == "title":
            return "title_case", (*UPPER, pattern_of("letters"))
        return ("sentence_case", UPPER) if self.style == "sentence" else ("map_characters", _TO[self.style])

    def sql(self, operand: str) -> str:
        """Use ``translate``: Spark's own casing follows the tables of its Java."""
        if self.style in _TO:
            return translate(operand, _TO[self.style])
        name = "w" if self.style == "title" else "x"
        head, tail = translate(f"substring({name}, 1, 1)", UPPER), translate(f"substring({name}, 2)", LOWER)
        if self.style == "sentence":
            return bind(operand, f"concat({head}, {tail})")
        words = quote(f"{pattern_of('letters')}+|{pattern_of('letters', negated=True)}+")
        return f"array_join(transform(regexp_extract_all({operand}, {words}, 0), w -> concat({head}, {tail})), '')"

    def describe(self) -> str:
        return f"{self.style}()"


@dataclass(frozen=True, slots=True)
class Plain(Step):
    """Accented Latin letters up to U+017F as the plain letters under their accents."""

    name: ClassVar[str] = "plain"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.map_characters(text, *PLAIN)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Replace the letters."""
        table = character_table(PLAIN)
        return rewritten(strings, strings.n_bytes, rewriting.map_characters, table, table)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "map_characters", PLAIN

    def sql(self, operand: str) -> str:
        """Use ``translate``."""
        return translate(operand, PLAIN)

    def describe(self) -> str:
        return "without_accents()"


@dataclass(frozen=True, slots=True)
class Keep(Step):
    """Only the characters of a class.

    Parameters
    ----------
    kind : str
        A name of `dfjoin.programs.characters.CLASSES`.
    """

    kind: str
    name: ClassVar[str] = "keep"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.keep_characters(text, pattern_of(self.kind))

    def apply(self, strings: StringColumn) -> StringColumn:
        """Copy what is kept."""
        return rewritten(strings, strings.n_bytes, rewriting.keep_class, class_table(), CLASSES[self.kind])

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "keep_characters", (pattern_of(self.kind),)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` on all others."""
        return when_empty(f"regexp_replace({operand}, {quote(pattern_of(self.kind, negated=True))}, '')")

    def describe(self) -> str:
        return f"keep({self.kind})"


@dataclass(frozen=True, slots=True)
class Replace(Step):
    """Each occurrence of a text replaced by another.

    Parameters
    ----------
    old : str
        At least one character.
    new : str
        May be empty.
    """

    old: str
    new: str
    name: ClassVar[str] = "replace"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.replace_all(text, self.old, self.new)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Copy with replacement."""
        old, new = as_bytes(self.old), as_bytes(self.new)
        n_bytes = strings.n_bytes * max(1, -(-len(new) // len(old)))
        return rewritten(strings, n_bytes, rewriting.replace_all, old, new)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "replace_all", (self.old, self.new)

    def sql(self, operand: str) -> str:
        """Use ``replace``."""
        return when_empty(f"replace({operand}, {quote(self.old)}, {quote(self.new)})")

    def describe(self) -> str:
        return f"replace({self.old!r}, {self.new!r})"


@dataclass(frozen=True, slots=True)
class Squeeze(Step):
    """Runs of spaces (U+0020) as one, none at the ends."""

    name: ClassVar[str] = "squeeze"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.squeeze_spaces(text)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Copy without the superfluous spaces."""
        return rewritten(strings, strings.n_bytes, rewriting.squeeze_spaces)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "squeeze_spaces", ()

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` and ``trim``."""
        return when_empty(f"trim(regexp_replace({operand}, ' +', ' '))")

    def describe(self) -> str:
        return "squeeze_spaces()"


@dataclass(frozen=True, slots=True)
class Pad(Step):
    """A character put in front until there are so many.

    Parameters
    ----------
    width : int
        In characters, 1 to 64.
    fill : str
        One printable ASCII character.
    """

    width: int
    fill: str = "0"
    name: ClassVar[str] = "pad"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.pad_left(text, self.width, self.fill)

    def apply(self, strings: StringColumn) -> StringColumn:
        """Copy behind the fill."""
        n_bytes = strings.n_bytes + self.width * strings.spans.starts.shape[0]
        return rewritten(strings, n_bytes, rewriting.pad_left, self.width, ord(self.fill))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "pad_left", (self.width, self.fill)

    def sql(self, operand: str) -> str:
        """Use ``lpad``, which alone would cut longer texts."""
        padded = f"lpad(x, {self.width}, {quote(self.fill)})"
        return bind(operand, f"CASE WHEN char_length(x) < {self.width} THEN {padded} ELSE x END")

    def describe(self) -> str:
        return f"pad({self.width}, {self.fill!r})"
