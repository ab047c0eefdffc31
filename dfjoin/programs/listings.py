"""Steps of a program that look at all parts of a text: its runs of characters, and the numbers that it lists.

The same contract as `dfjoin.programs.extract`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dfjoin.programs import scalar_numbers
from dfjoin.programs.characters import CLASSES, pattern_of
from dfjoin.programs.extract import Step
from dfjoin.programs.spark_sql import END, bind, quote, when_empty

__all__ = ["TOTALS", "AllRuns", "Total", "run_pattern"]

TOTALS = ("count", "sum", "mean", "median", "least", "most", "range")
_NUMBER = "-?[0-9]{1,9}(?:[.][0-9]{1,6})?"
_LIST = f"{_NUMBER}(?:[ ,;|+]+{_NUMBER}){{0,99}}"


def run_pattern(kind: str) -> str:
    """Return a class of characters, or one printable character of ASCII, as a regular expression.

    Examples
    --------
    >>> run_pattern("digits"), run_pattern("!"), run_pattern("^")
    ('[0-9]', '[!]', '[\\\\^]')
    """
    if kind in CLASSES:
        return pattern_of(kind)
    return f"[\\{kind}]" if kind in "^[]\\&-" else f"[{kind}]"


@dataclass(frozen=True, slots=True)
class AllRuns(Step):
    """All maximal runs of characters of a class that are long enough, joined by a mark.

    Parameters
    ----------
    kind : str
        A name of `dfjoin.programs.characters.CLASSES`, or one printable ASCII character that is no letter and no digit.
    least : int
        Fewest characters of a run, 1 to 9.
    mark : str
        Stands between the runs; may be empty.
    """

    kind: str
    least: int
    mark: str
    name: ClassVar[str] = "all_runs"
    weight: ClassVar[int] = 4

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.all_runs(text, run_pattern(self.kind), self.least, self.mark)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "all_runs", (run_pattern(self.kind), self.least, self.mark)

    def sql(self, operand: str) -> str:
        """Use ``regexp_extract_all``."""
        pattern = quote(f"({run_pattern(self.kind)}{{{self.least},}})")
        return when_empty(f"array_join(regexp_extract_all({operand}, {pattern}, 1), {quote(self.mark)})")

    def describe(self) -> str:
        return f"all_runs({self.kind!r}, {self.least}, {self.mark!r})"


@dataclass(frozen=True, slots=True)
class Total(Step):
    """A statistic of a list of 1 to 100 numbers with blanks, commas, semicolons, bars or plus signs between them.

    Numbers have at most 9 digits before the point and 6 behind it. A mean, or a median, is rounded half away from zero
    to six digits behind the point; results have no zeros at the end.

    Parameters
    ----------
    kind : str
        One of `TOTALS`; the range is the largest number minus the smallest.
    """

    kind: str
    name: ClassVar[str] = "total"
    weight: ClassVar[int] = 4
    computes: ClassVar[bool] = True

    def __call__(self, text: str) -> str | None:
        return scalar_numbers.total_of(text, self.kind)

    def python(self) -> tuple[str, tuple[Any, ...]]:
        return "total_of", (self.kind,)

    def sql(self, operand: str) -> str:
        """Count in millionths, integers of 64 bits."""
        millionths = "v -> CAST(CAST(v AS DECIMAL(15, 6)) * 1000000 AS BIGINT)"
        numbers = f"array_sort(transform(regexp_extract_all(x, {quote(f'({_NUMBER})')}, 1), {millionths}))"
        values = bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_LIST}{END}')} THEN {numbers} END")
        if self.kind == "count":
            return bind(values, "CASE WHEN x IS NOT NULL THEN CAST(size(x) AS STRING) END")
        if self.kind == "median":
            low, high = "(size(x) - 1) div 2", "size(x) div 2"
            values = bind(values, f"slice(x, CAST({low} + 1 AS INT), CAST({high} - {low} + 1 AS INT))")
        total = "aggregate(x, 0L, (a, b) -> a + b)"
        made = {"least": "x[0]", "most": "element_at(x, -1)", "range": "element_at(x, -1) - x[0]"}.get(self.kind, total)
        if self.kind in ("mean", "median"):
            made = f"CAST(sign({total}) AS BIGINT) * ((2 * abs({total}) + size(x)) div (2 * size(x)))"
        value = bind(values, f"CASE WHEN x IS NOT NULL THEN {made} END")
        rest = "lpad(CAST(abs(x) % 1000000 AS STRING), 6, '0')"
        sign = "CASE WHEN x < 0 THEN '-' ELSE '' END"
        written = f"concat({sign}, CAST(abs(x) div 1000000 AS STRING), '.', {rest})"
        return bind(value, f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {written}))")

    def describe(self) -> str:
        return f"{self.kind}()"
