"""Steps of a program for figures and names: numbers, years, months, abbreviations.

The same contract as `dfjoin.programs.extract`.
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
from dfjoin.programs import scalar
from dfjoin.programs.characters import LOWER, UPPER
from dfjoin.programs.lookup import look_up_pairs
from dfjoin.programs.rewrite import Case, rewritten, translate
from dfjoin.programs.spark_sql import END, bind, quote
from dfjoin.programs.string_column import Spans

__all__ = ["GROUP_SEPARATORS", "Group", "Lookup", "Round", "StripZeros", "Year", "by_distinct"]

GROUP_SEPARATORS = (",", ".", " ", "'", "_")
_NUMBER = "-?[0-9]+([.][0-9]+)?"
_SHORT_NUMBER = "-?[0-9]{1,18}([.][0-9]{1,18})?"


@dataclass(frozen=True, slots=True)
class StripZeros:
    """Zeros at the front dropped, but never the last character."""

    name: ClassVar[str] = "strip_zeros"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        """See `Step`."""
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
    last = spans.data.shape[0] - 1
    while last >= 0:
        inside = (starts >= 0) & (starts < spans.ends - 1)
        moving = inside & (spans.data[np.clip(starts, 0, last)] == ord("0"))
        if not moving.any():
            return starts, spans.ends.copy()
        starts[moving] += 1
    return starts, spans.ends.copy()


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
        """See `Step`."""
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
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_SHORT_NUMBER}{END}')} THEN {rounded} END")

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
        """See `Step`."""
        return scalar.group_digits(text, self.separator)

    def apply(self, spans: Spans) -> Spans:
        """Copy with separators."""
        return rewritten(spans, 2 * spans.n_bytes, rewriting.group_digits, ord(self.separator))

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "group_digits", (self.separator,)

    def sql(self, operand: str) -> str:
        """Use ``regexp_replace`` on what stands before the point."""
        gaps = quote("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")
        whole = "split_part(x, '.', 1)"
        grouped = f"regexp_replace({whole}, {gaps}, {quote(self.separator)})"
        written = f"concat({grouped}, substring(x, char_length({whole}) + 1))"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_NUMBER}{END}')} THEN {written} END")

    def describe(self) -> str:
        """See `Step`."""
        return f"thousands({self.separator!r})"


def by_distinct(spans: Spans, function: Callable[[str], str | None]) -> Spans:
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
        """See `Step`."""
        return scalar.expand_year(text, self.pivot)

    def apply(self, spans: Spans) -> Spans:
        """Apply to the distinct strings of two bytes, at most some thousands."""
        is_short = (spans.starts >= 0) & (spans.ends - spans.starts == 2)
        return by_distinct(spans.narrowed((np.where(is_short, spans.starts, -1), spans.ends.copy())), self)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        """See `Step`."""
        return "expand_year", (self.pivot,)

    def sql(self, operand: str) -> str:
        """Compare as numbers."""
        century = f"CASE WHEN CAST(x AS INT) >= {self.pivot} THEN '19' ELSE '20' END"
        return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{2}}{END}')} THEN concat({century}, x) END")

    def describe(self) -> str:
        """See `Step`."""
        return f"four_digit_year({self.pivot})"


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the abbreviation table has for a text; casing does not matter.

    Parameters
    ----------
    table : str
        One of `dfjoin.programs.lookup.TABLES`.
    """

    table: str
    name: ClassVar[str] = "lookup"
    weight: ClassVar[int] = 2

    def __call__(self, text: str) -> str | None:
        """See `Step`."""
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
        return f"try_element_at(map_from_arrays({keys}, {values}), {translate(operand, LOWER)})"

    def describe(self) -> str:
        """See `Step`."""
        return f"look_up({self.table!r})"
