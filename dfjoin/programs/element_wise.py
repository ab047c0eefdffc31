"""Steps of a program that work on each part or character of a text: lists, groups of digits, words, letters.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_texts
from dfjoin.programs.characters import pattern_of
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import bind, quote, when_empty

__all__ = [
    "COUNTED",
    "ELEMENT_STEPS",
    "MAX_ELEMENT_STEPS",
    "PART_ORDERS",
    "Count",
    "EachPart",
    "Gaps",
    "Headline",
    "Reverse",
    "Translate",
]

PART_ORDERS = ("kept", "reversed", "sorted", "distinct")
MAX_ELEMENT_STEPS = 3
"""Most steps that each part is taken through."""
ELEMENT_STEPS = ("base", "case", "keep", "pad", "plain", "slice", "strip_zeros")
"""Names of the steps that parts may be taken through."""
COUNTED = ("characters", "words", "letters", "digits", "capitals")
_SMALL_WORDS = "a,an,and,as,at,but,by,de,for,from,in,la,nor,of,on,or,the,to,und,van,via,von,with"


@dataclass(frozen=True, slots=True)
class _Functions:
    """Steps that are written as a tuple of Python functions."""

    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        calls = []
        for step in self.steps:
            function, values = step.python()
            calls.append(f"lambda part: {function}({', '.join(['part', *map(ascii, values)])}), ")
        return f"({''.join(calls)})"


@dataclass(frozen=True, slots=True)
class EachPart(Step):
    """Each part of a text taken through steps, the parts put in an order and joined again.

    A part that is empty stays so; the result is null if a step does not apply to another one.

    Parameters
    ----------
    separator : str
        Stands between the parts; empty: they are runs of `width` characters from the left, the last one may be shorter.
    width : int
        1 to 64 without a separator, else 0.
    order : {"kept", "reversed", "sorted", "distinct"}
        Sorted by code points; distinct: each part once, where it came first.
    joiner : str
        At most 9 characters.
    steps : tuple of Step
        At most 3, of `ELEMENT_STEPS`.
    """

    separator: str
    width: int
    order: str
    joiner: str
    steps: tuple[Step, ...]
    name: ClassVar[str] = "each_part"
    weight: ClassVar[int] = 5

    def __call__(self, text: str) -> str | None:
        return scalar_texts.map_parts(text, self.separator, self.width, self.order, self.joiner, self.steps)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "map_parts", (self.separator, self.width, self.order, self.joiner, _Functions(self.steps))

    def sql(self, operand: str) -> str:
        """Use ``split`` or ``regexp_extract_all``, ``transform`` and ``array_join``."""
        pattern = "".join(c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02X}" for c in self.separator)
        parts = f"split({operand}, {quote(pattern)}, -1)"
        if not self.separator:
            parts = f"regexp_extract_all({operand}, {quote(f'((?s:.){{1,{self.width}}})')}, 1)"
        made = "part"
        for step in self.steps:
            made = when_empty(step.sql(made))
        each = f"transform({parts}, part -> CASE WHEN part = '' THEN '' ELSE {made} END)"
        ordered = {"kept": "x", "reversed": "reverse(x)", "sorted": "array_sort(x)", "distinct": "array_distinct(x)"}
        joined = f"array_join({ordered[self.order]}, {quote(self.joiner)})"
        return when_empty(bind(each, f"CASE WHEN NOT exists(x, part -> part IS NULL) THEN {joined} END"))

    def describe(self) -> str:
        shown = [f"split({self.separator!r})" if self.separator else f"groups_of({self.width})"]
        shown += [f"each({'.'.join(step.describe() for step in self.steps)})"] if self.steps else []
        shown += [] if self.order == "kept" else [f"{self.order}()"]
        return ".".join([*shown, f"join({self.joiner!r})"])


@dataclass(frozen=True, slots=True)
class Reverse(Step):
    """The characters in reverse order."""

    name: ClassVar[str] = "reverse"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_texts.reverse_text(text)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "reverse_text", ()

    def sql(self, operand: str) -> str:
        """Use ``reverse``."""
        return f"reverse({operand})"

    def describe(self) -> str:
        return "reverse()"


@dataclass(frozen=True, slots=True)
class Translate(Step):
    """Some characters replaced by others, or dropped.

    Parameters
    ----------
    old : str
        1 to 64 different characters.
    new : str
        The character for each of them; those of `old` behind its end are dropped.
    """

    old: str
    new: str
    name: ClassVar[str] = "translate"
    weight: ClassVar[int] = 8

    def __call__(self, text: str) -> str | None:
        return scalar_texts.translate_characters(text, self.old, self.new)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "translate_characters", (self.old, self.new)

    def sql(self, operand: str) -> str:
        """Use ``translate``."""
        return when_empty(f"translate({operand}, {quote(self.old)}, {quote(self.new)})")

    def describe(self) -> str:
        return f"translate({self.old!r}, {self.new!r})"


@dataclass(frozen=True, slots=True)
class Gaps(Step):
    """A mark before each capital letter of ASCII that begins a word: ``camelCase`` as ``camel Case``.

    Parameters
    ----------
    mark : str
        1 to 9 characters.
    """

    mark: str
    name: ClassVar[str] = "gaps"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_texts.insert_gaps(text, self.mark)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "insert_gaps", (self.mark,)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` at places between characters, with a mark that is no pattern."""
        places = quote("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
        mark = "".join(f"\\{c}" if c in "\\$" else c for c in self.mark)
        return f"regexp_replace({operand}, {places}, {quote(mark)})"

    def describe(self) -> str:
        return f"gaps({self.mark!r})"


@dataclass(frozen=True, slots=True)
class Headline(Step):
    """Words as in the title of a book: articles, conjunctions and prepositions are small, but for the first word.

    Words have spaces between; letters other than those of ASCII stay as they are.
    """

    name: ClassVar[str] = "headline"
    weight: ClassVar[int] = 3

    def __call__(self, text: str) -> str | None:
        return scalar_texts.headline_case(text, _SMALL_WORDS)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "headline_case", (_SMALL_WORDS,)

    def sql(self, operand: str) -> str:
        """Use ``translate`` on each word."""
        small, large = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        words = f"transform(split({operand}, ' ', -1), w -> translate(w, '{large}', '{small}'))"
        listed = ", ".join(f"'{word}'" for word in _SMALL_WORDS.split(","))
        first = f"concat(translate(substring(w, 1, 1), '{small}', '{large}'), substring(w, 2))"
        written = f"CASE WHEN i > 0 AND w IN ({listed}) THEN w ELSE {first} END"
        return f"array_join(transform({words}, (w, i) -> {written}), ' ')"

    def describe(self) -> str:
        return "headline()"


@dataclass(frozen=True, slots=True)
class Count(Step):
    """How many characters, words or runs of letters or digits a text has.

    Parameters
    ----------
    kind : str
        One of `COUNTED`: characters one by one, all others as runs (words between white space of ASCII), capitals
        one by one.
    """

    kind: str
    name: ClassVar[str] = "count"
    weight: ClassVar[int] = 4
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_texts.count_parts(text, _counted(self.kind))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "count_parts", (_counted(self.kind),)

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract_all``."""
        found = f"regexp_extract_all(x, {quote(f'((?s:{_counted(self.kind)}))')}, 1)"
        return bind(operand, f"CASE WHEN x IS NOT NULL THEN CAST(size({found}) AS STRING) END")

    def describe(self) -> str:
        return f"count({self.kind})"


def _counted(kind: str) -> str:
    """Return the pattern of one thing that is counted."""
    known = {"characters": ".", "words": "[^ \\t\\n\\r]+", "capitals": pattern_of("capitals")}
    return known.get(kind) or pattern_of(kind) + "+"
