"""Steps of a program that write a string anew: casing, classes, numbers, dates, abbreviations.

The same contract as `dfjoin.transform.units`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels import rewriting
from dfjoin.transform import scalar
from dfjoin.transform.characters import CLASSES, LOWER, PLAIN, UPPER, character_table, class_table, pattern_of
from dfjoin.transform.spans import Spans
from dfjoin.transform.sql import bind, quote, when_empty
from dfjoin.transform.tables import look_up_pairs
from dfjoin.transform.units import as_bytes

__all__ = [
    "CASES",
    "GROUP_SEPARATORS",
    "Case",
    "Group",
    "Keep",
    "Lookup",
    "Pad",
    "Plain",
    "Replace",
    "Round",
    "Squeeze",
    "StripZeros",
    "Year",
]

CASES = ("lower", "upper", "title", "sentence")
GROUP_SEPARATORS = (",", ".", " ", "'", "_")
_TO = {"lower": LOWER, "upper": UPPER}
_FIRST = {"lower": LOWER, "upper": UPPER, "sentence": UPPER, "title": UPPER}
_REST = {"lower": LOWER, "upper": UPPER, "sentence": LOWER, "title": LOWER}
_END = "(?!(?s:.))"
_NUMBER = "-?[0-9]+([.][0-9]+)?"
_SHORT_NUMBER = "-?[0-9]{1,18}([.][0-9]{1,18})?"


def _rewritten(spans: Spans, n_bytes: int, kernel: Callable[..., Any], *arguments: Any) -> Spans:
    """Run a kernel that writes into a new buffer of so many bytes."""
    out = np.empty(n_bytes + 8, np.uint8)
    starts, ends = kernel(spans.data, spans.starts, spans.ends, *arguments, out)
    out.flags.writeable = False
    return Spans(out, starts, ends).narrowed((starts, ends))


def _translate(operand: str, tables: tuple[str, str]) -> str:
    return f"translate({operand}, {quote(tables[0])}, {quote(tables[1])})"


@dataclass(frozen=True, slots=True)
class Case:
    """Casing by the fixed tables of `dfjoin.transform.characters`.

    Parameters
    ----------
    style : {"lower", "upper", "title", "sentence"}
        Title: the first letter of each run of letters is large; sentence: the first character.
    """

    style: str
    name: ClassVar[str] = "case"
    weight: ClassVar[int] = 1

    def __call__(self, text: str) -> str | None:
        name, arguments = self.python()
        return getattr(scalar, name)(text, *arguments)

    def apply(self, spans: Spans) -> Spans:
        """Write the letters anew."""
        first, rest = character_table(_FIRST[self.style]), character_table(_REST[self.style])
        if self.style == "title":
            classes = (class_table(), CLASSES["letters"])
            return _rewritten(spans, spans.n_bytes, rewriting.map_runs, *classes, first, rest)
        return _rewritten(spans, spans.n_bytes, rewriting.map_characters, first, rest)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        if self.style == "title":
            return "title_case", (*UPPER, pattern_of("letters"))
        return ("sentence_case", UPPER) if self.style == "sentence" else ("map_characters", _TO[self.style])

    def sql(self, operand: str) -> str:
        """Use ``translate``: Spark's own casing follows the tables of its Java."""
        if self.style in _TO:
            return _translate(operand, _TO[self.style])
        name = "w" if self.style == "title" else "x"
        head, tail = _translate(f"substring({name}, 1, 1)", UPPER), _translate(f"substring({name}, 2)", LOWER)
        if self.style == "sentence":
            return bind(operand, f"concat({head}, {tail})")
        words = quote(f"{pattern_of('letters')}+|{pattern_of('letters', negated=True)}+")
        return f"array_join(transform(regexp_extract_all({operand}, {words}, 0), w -> concat({head}, {tail})), '')"

    def describe(self) -> str:
        """See `Step`."""
        return f"{self.style}()"


@dataclass(frozen=True, slots=True)
class Plain:
    """Accented Latin letters up to U+017F as the plain letters under their accents."""

    name: ClassVar[str] = "plain"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.map_characters(text, *PLAIN)

    def apply(self, spans: Spans) -> Spans:
        """Write the letters anew."""
        table = character_table(PLAIN)
        return _rewritten(spans, spans.n_bytes, rewriting.map_characters, table, table)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "map_characters", PLAIN

    def sql(self, operand: str) -> str:
        """Use ``translate``."""
        return _translate(operand, PLAIN)

    def describe(self) -> str:
        """See `Step`."""
        return "without_accents()"


@dataclass(frozen=True, slots=True)
class Keep:
    """Only the characters of a class.

    Parameters
    ----------
    kind : str
        A name of `dfjoin.transform.characters.CLASSES`.
    """

    kind: str
    name: ClassVar[str] = "keep"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.keep_characters(text, pattern_of(self.kind))

    def apply(self, spans: Spans) -> Spans:
        """Copy what is kept."""
        return _rewritten(spans, spans.n_bytes, rewriting.keep_class, class_table(), CLASSES[self.kind])

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "keep_characters", (pattern_of(self.kind),)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` on all others."""
        return when_empty(f"regexp_replace({operand}, {quote(pattern_of(self.kind, negated=True))}, '')")

    def describe(self) -> str:
        """See `Step`."""
        return f"keep({self.kind})"


@dataclass(frozen=True, slots=True)
class Replace:
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

    def apply(self, spans: Spans) -> Spans:
        """Copy with replacement."""
        old, new = as_bytes(self.old), as_bytes(self.new)
        n_bytes = spans.n_bytes * max(1, -(-len(new) // len(old)))
        return _rewritten(spans, n_bytes, rewriting.replace_all, old, new)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "replace_all", (self.old, self.new)

    def sql(self, operand: str) -> str:
        """Use ``replace``."""
        return when_empty(f"replace({operand}, {quote(self.old)}, {quote(self.new)})")

    def describe(self) -> str:
        """See `Step`."""
        return f"replace({self.old!r}, {self.new!r})"


@dataclass(frozen=True, slots=True)
class Squeeze:
    """Runs of spaces (U+0020) as one, none at the ends."""

    name: ClassVar[str] = "squeeze"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.squeeze_spaces(text)

    def apply(self, spans: Spans) -> Spans:
        """Copy without the superfluous spaces."""
        return _rewritten(spans, spans.n_bytes, rewriting.squeeze_spaces)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "squeeze_spaces", ()

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` and ``trim``."""
        return when_empty(f"trim(regexp_replace({operand}, ' +', ' '))")

    def describe(self) -> str:
        """See `Step`."""
        return "squeeze_spaces()"


@dataclass(frozen=True, slots=True)
class Pad:
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

    def apply(self, spans: Spans) -> Spans:
        """Copy behind the fill."""
        n_bytes = spans.n_bytes + self.width * spans.starts.shape[0]
        return _rewritten(spans, n_bytes, rewriting.pad_left, self.width, ord(self.fill))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "pad_left", (self.width, self.fill)

    def sql(self, operand: str) -> str:
        """Use ``lpad``, which alone would cut longer texts."""
        padded = f"lpad(x, {self.width}, {quote(self.fill)})"
        return bind(operand, f"CASE WHEN char_length(x) < {self.width} THEN {padded} ELSE x END")

    def describe(self) -> str:
        """See `Step`."""
        return f"pad({self.width}, {self.fill!r})"


@dataclass(frozen=True, slots=True)
class StripZeros:
    """Zeros at the front dropped, but never the last character."""

    name: ClassVar[str] = "strip_zeros"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.strip_zeros(text)

    def apply(self, spans: Spans) -> Spans:
        """Narrow the spans."""
        return spans.narrowed(_without_zeros(spans))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "strip_zeros", ()

    def sql(self, operand: str) -> str:
        """Use ``trim(LEADING ...)`` on all but the last character."""
        head = "trim(LEADING '0' FROM substring(x, 1, char_length(x) - 1))"
        return bind(operand, f"concat({head}, right(x, 1))")

    def describe(self) -> str:
        """See `Step`."""
        return "strip_zeros()"


def _without_zeros(spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move each start behind its zeros, as long as some string still has one."""
    starts = spans.starts.copy()
    last = max(spans.data.shape[0] - 1, 0)
    while True:
        inside = (starts >= 0) & (starts < spans.ends - 1)
        moving = inside & (spans.data[np.clip(starts, 0, last)] == ord("0"))
        if not moving.any():
            return starts, spans.ends.copy()
        starts[moving] += 1


@dataclass(frozen=True, slots=True)
class Round:
    """A plain decimal number (up to 18 digits on either side of its point) rounded half away from zero.

    Parameters
    ----------
    digits : int
        After the point, 0 to 6.
    """

    digits: int
    name: ClassVar[str] = "round"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.round_number(text, self.digits)

    def apply(self, spans: Spans) -> Spans:
        """Round as decimals of 38 digits."""
        text = spans.to_arrow()
        is_number = pc.match_substring_regex(text, rf"^{_SHORT_NUMBER}\z")
        exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(38, 18))
        rounded = pc.round(exact, ndigits=self.digits, round_mode="half_towards_infinity")
        return Spans.of(rounded.cast(pa.decimal128(38, self.digits)).cast(pa.string()))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "round_number", (self.digits,)

    def sql(self, operand: str) -> str:
        """Use ``round`` on decimals of 38 digits."""
        rounded = f"CAST(round(CAST(x AS DECIMAL(38, 18)), {self.digits}) AS STRING)"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_SHORT_NUMBER}{_END}')} THEN {rounded} END")

    def describe(self) -> str:
        """See `Step`."""
        return f"round({self.digits})"


@dataclass(frozen=True, slots=True)
class Group:
    """A plain decimal number with a separator between its thousands.

    Parameters
    ----------
    separator : str
        One of `GROUP_SEPARATORS`.
    """

    separator: str = ","
    name: ClassVar[str] = "group"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.group_digits(text, self.separator)

    def apply(self, spans: Spans) -> Spans:
        """Copy with separators."""
        return _rewritten(spans, 2 * spans.n_bytes, rewriting.group_digits, ord(self.separator))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "group_digits", (self.separator,)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` on what stands before the point."""
        gaps = quote("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")
        whole = "split_part(x, '.', 1)"
        grouped = f"regexp_replace({whole}, {gaps}, {quote(self.separator)})"
        written = f"concat({grouped}, substring(x, char_length({whole}) + 1))"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_NUMBER}{_END}')} THEN {written} END")

    def describe(self) -> str:
        """See `Step`."""
        return f"thousands({self.separator!r})"


def _by_distinct(spans: Spans, function: Callable[[str], str | None]) -> Spans:
    """Apply a function to each distinct string: for steps whose results come from a short list."""
    encoded = spans.to_arrow().dictionary_encode()
    results = pa.array([function(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return Spans.of(results.take(encoded.indices))


@dataclass(frozen=True, slots=True)
class Year:
    """A year of two digits with four.

    Parameters
    ----------
    pivot : int
        Years from this one on belong to 19.., the others to 20..; 0 to 100.
    """

    pivot: int = 70
    name: ClassVar[str] = "year"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.expand_year(text, self.pivot)

    def apply(self, spans: Spans) -> Spans:
        """Apply to the distinct strings of two bytes, at most some thousands."""
        is_short = (spans.starts >= 0) & (spans.ends - spans.starts == 2)
        return _by_distinct(spans.narrowed((np.where(is_short, spans.starts, -1), spans.ends.copy())), self)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "expand_year", (self.pivot,)

    def sql(self, operand: str) -> str:
        """Compare as numbers."""
        century = f"CASE WHEN CAST(x AS INT) >= {self.pivot} THEN '19' ELSE '20' END"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{2}}{_END}')} THEN concat({century}, x) END")

    def describe(self) -> str:
        """See `Step`."""
        return f"four_digit_year({self.pivot})"


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the abbreviation table has for a text; casing does not matter.

    Parameters
    ----------
    table : str
        One of `dfjoin.transform.tables.TABLES`.
    """

    table: str
    name: ClassVar[str] = "lookup"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        return scalar.look_up(text, *look_up_pairs(self.table), *UPPER)

    def apply(self, spans: Spans) -> Spans:
        """Find the lower-cased strings among the keys."""
        keys, values = (pa.array(text.split(",")) for text in look_up_pairs(self.table))
        lowered = Case("lower").apply(spans).to_arrow()
        return Spans.of(values.take(pc.index_in(lowered, keys.cast(lowered.type), skip_nulls=True)))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "look_up", (*look_up_pairs(self.table), *UPPER)

    def sql(self, operand: str) -> str:
        """Use a map."""
        keys, values = (f"split({quote(text)}, ',')" for text in look_up_pairs(self.table))
        return f"try_element_at(map_from_arrays({keys}, {values}), {_translate(operand, LOWER)})"

    def describe(self) -> str:
        """See `Step`."""
        return f"look_up({self.table!r})"
