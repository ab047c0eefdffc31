"""Steps without SQL: each says what it does, does it, and writes the line of pandas that does the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, did_you_mean, shortlist
from dfjoin.page.page_texts import TEXTS, refusal

_TITLES = TEXTS["titles"]

TYPES = ("text", "number", "whole number", "date")
"""Types that a column may be given."""

MEASURES = ("sum", "mean", "median", "min", "max", "nunique", "first")
"""What a group of rows may be measured by; it is always counted, too."""

OPERATORS = ("=", "≠", "<", "≤", ">", "≥", "contains", "is missing", "is there")
"""Conditions of a filter."""

_SYMBOLS = {"=": "==", "≠": "!=", "<": "<", "≤": "<=", ">": ">", "≥": ">="}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda cells, value: cells == value,
    "≠": lambda cells, value: cells != value,
    "<": lambda cells, value: cells < value,
    "≤": lambda cells, value: cells <= value,
    ">": lambda cells, value: cells > value,
    "≥": lambda cells, value: cells >= value,
}


def _require(df: pd.DataFrame, *names: str) -> None:
    missing = [name for name in names if name not in df.columns]
    if missing:
        name, known = missing[0], df.columns
        raise ColumnNotFoundError(refusal("step_column", name, shortlist(known), did_you_mean(name, known)))


@dataclass(frozen=True)
class Rename:
    """Give a column another name."""

    kind: ClassVar[str] = "rename"
    column: str
    name: str

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Rename the column."""
        _require(df, self.column)
        if not self.name.strip() or (self.name != self.column and self.name in df.columns):
            raise InvalidParameterError(refusal("step_name", self.name))
        return df.rename(columns={self.column: self.name})

    def title(self) -> str:
        """Say what the step does."""
        return _TITLES["rename"].format(self.column, self.name)

    def code(self) -> str:
        """Write the step in pandas."""
        return f"df = df.rename(columns={{{self.column!r}: {self.name!r}}})"

    def spark_code(self) -> str | None:
        """Write the step for Spark; None where it has no such form."""
        return f"df = df.withColumnRenamed({self.column!r}, {self.name!r})"


@dataclass(frozen=True)
class Drop:
    """Leave columns out."""

    kind: ClassVar[str] = "drop"
    columns: list[str]

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Drop the columns."""
        _require(df, *self.columns)
        if not self.columns or len(set(self.columns)) >= df.shape[1]:
            raise InvalidParameterError(refusal("step_drop"))
        return df.drop(columns=self.columns)

    def title(self) -> str:
        """Say what the step does."""
        return _TITLES["drop"].format(", ".join(self.columns))

    def code(self) -> str:
        """Write the step in pandas."""
        return f"df = df.drop(columns={self.columns!r})"

    def spark_code(self) -> str | None:
        """Write the step for Spark."""
        return f"df = df.drop({', '.join(map(repr, self.columns))})"


@dataclass(frozen=True)
class Filter:
    """Keep the rows whose cell fulfils a condition; a missing cell fulfils only that it is missing.

    `value` is a text, a number or a boolean, as the column has; an ISO text where `is_date`. See `typed_value`.
    """

    kind: ClassVar[str] = "filter"
    column: str
    operator: str
    value: Any = ""
    is_date: bool = False

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Filter the rows."""
        _require(df, self.column)
        cells = df[self.column]
        if self.operator == "is missing":
            return df[cells.isna()]
        if self.operator == "is there":
            return df[cells.notna()]
        if self.operator == "contains":
            return df[cells.astype("string").str.contains(str(self.value), case=False, regex=False, na=False)]
        if self.operator not in _COMPARE:
            raise InvalidParameterError(refusal("one_of", "operator", shortlist(OPERATORS, 9), self.operator))
        value = pd.Timestamp(self.value) if self.is_date else self.value
        try:
            return df[cells.notna() & _COMPARE[self.operator](cells, value)]
        except TypeError as error:
            raise InvalidParameterError(refusal("step_value", self.column, cells.dtype, self.value)) from error

    def title(self) -> str:
        """Say what the step does."""
        shown = "" if self.operator in ("is missing", "is there") else self.value
        operator = TEXTS["operators"].get(self.operator, self.operator)
        return _TITLES["filter"].format(self.column, operator, shown).rstrip()

    def code(self) -> str:
        """Write the step in pandas."""
        cells = f"df[{self.column!r}]"
        if self.operator in ("is missing", "is there"):
            return f"df = df[{cells}.{'isna' if self.operator == 'is missing' else 'notna'}()]"
        if self.operator == "contains":
            call = f"str.contains({str(self.value)!r}, case=False, regex=False, na=False)"
            return f"df = df[{cells}.astype('string').{call}]"
        value = f"pd.Timestamp({self.value!r})" if self.is_date else repr(self.value)
        return f"df = df[{cells}.notna() & ({cells} {_SYMBOLS[self.operator]} {value})]"

    def spark_code(self) -> str | None:
        """Write the step for Spark; None but for missing cells, since values compare by other rules there."""
        if self.operator not in ("is missing", "is there"):
            return None
        column = "`" + self.column.replace("`", "``") + "`"
        return f"df = df[df[{column!r}].{'isNull' if self.operator == 'is missing' else 'isNotNull'}()]"


def typed_value(cells: pd.Series, text: str) -> tuple[Any, bool]:
    """Read what a person typed as a value of a column; return it as plain JSON, and whether it is a date.

    Examples
    --------
    >>> typed_value(pd.Series([1.5, 2.5]), "2"), typed_value(pd.Series(["a"]), "2")
    ((2, False), ('2', False))
    """
    try:
        if pd.api.types.is_bool_dtype(cells.dtype):
            return text.strip().casefold() in ("true", "yes", "1"), False
        if pd.api.types.is_numeric_dtype(cells.dtype):
            return _number(text), False
        if pd.api.types.is_datetime64_any_dtype(cells.dtype):
            return pd.Timestamp(text, tz=getattr(cells.dtype, "tz", None)).isoformat(), True
    except (ValueError, OverflowError) as error:
        raise InvalidParameterError(refusal("step_value", cells.name, cells.dtype, text)) from error
    return text, False


def _number(text: str) -> int | float:
    """Read a number, a whole one exactly; neither infinite nor none."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number.is_integer() else number


@dataclass(frozen=True)
class Sort:
    """Order the rows by columns; equal ones keep their order, missing cells come last."""

    kind: ClassVar[str] = "sort"
    columns: list[str]
    descending: bool = False

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Sort the rows."""
        _require(df, *self.columns)
        if not self.columns:
            raise InvalidParameterError(refusal("step_sort"))
        return df.sort_values(self.columns, ascending=not self.descending, kind="stable", ignore_index=True)

    def title(self) -> str:
        """Say what the step does."""
        return _TITLES["sort_down" if self.descending else "sort"].format(", ".join(self.columns))

    def code(self) -> str:
        """Write the step in pandas."""
        return (
            f"df = df.sort_values({self.columns!r}, ascending={not self.descending}, kind='stable', ignore_index=True)"
        )

    def spark_code(self) -> str | None:
        """Spark keeps no order of equal rows."""
        return None


@dataclass(frozen=True)
class Retype:
    """Give a column another type; cells that have none become missing."""

    kind: ClassVar[str] = "retype"
    column: str
    type: str

    _EXPRESSIONS: ClassVar[dict[str, str]] = {
        "text": "{}.astype('string')",
        "number": "pd.to_numeric({}, errors='coerce').astype('Float64')",
        "whole number": "pd.to_numeric({}, errors='coerce').round().astype('Int64')",
        "date": "pd.to_datetime({}.astype('string'), errors='coerce', format='mixed')",
    }

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Change the type of the column."""
        _require(df, self.column)
        cells = df[self.column]
        if self.type == "text":
            changed = cells.astype("string")
        elif self.type == "date":
            changed = pd.to_datetime(cells.astype("string"), errors="coerce", format="mixed")
        elif self.type in TYPES:
            numbers = pd.to_numeric(cells, errors="coerce")
            changed = numbers.astype("Float64") if self.type == "number" else numbers.round().astype("Int64")
        else:
            raise InvalidParameterError(refusal("one_of", "type", shortlist(TYPES), self.type))
        is_there = cells.notna()
        if is_there.any() and not changed[is_there].notna().any():
            raise InvalidParameterError(
                refusal("step_type", self.column, TEXTS["kinds"][self.type], str(cells[is_there].iloc[0]))
            )
        df = df.copy(deep=False)
        df[self.column] = changed
        return df

    def title(self) -> str:
        """Say what the step does."""
        return _TITLES["retype"].format(self.column, TEXTS["kinds"].get(self.type, self.type))

    def code(self) -> str:
        """Write the step in pandas."""
        changed = self._EXPRESSIONS[self.type].format(f"df[{self.column!r}]")
        return f"df = df.copy(deep=False)\ndf[{self.column!r}] = {changed}"

    def spark_code(self) -> str | None:
        """Spark reads texts of numbers and dates by other rules."""
        return None


@dataclass(frozen=True)
class Group:
    """Make one row of all rows with equal cells in some columns: their number, and a measure of each other column."""

    kind: ClassVar[str] = "group"
    columns: list[str]
    measures: dict[str, str]

    def run(self, df: pd.DataFrame, lake: Any) -> pd.DataFrame:
        """Group the rows."""
        _require(df, *self.columns, *self.measures)
        bad = [rule for rule in self.measures.values() if rule not in MEASURES]
        if bad or not self.columns:
            got = bad[0] if bad else refusal("no_column")
            raise InvalidParameterError(refusal("step_group", shortlist(MEASURES, 9), got))
        try:
            return df.groupby(self.columns, dropna=False, sort=True).agg(**self._named()).reset_index()
        except (TypeError, ValueError, NotImplementedError) as error:
            raise InvalidParameterError(refusal("step_measure", error)) from error

    def _named(self) -> dict[str, tuple[str, str]]:
        named = {"rows" if "rows" not in self.columns else "n_rows": (self.columns[0], "size")}
        return named | {f"{column}_{rule}": (column, rule) for column, rule in self.measures.items()}

    def title(self) -> str:
        """Say what the step does."""
        measures = ((TEXTS["rules"].get(rule, rule), column) for column, rule in self.measures.items())
        measured = "".join(_TITLES["measure"].format(*one) for one in measures)
        return _TITLES["group"].format(", ".join(self.columns), measured)

    def code(self) -> str:
        """Write the step in pandas."""
        return f"df = df.groupby({self.columns!r}, dropna=False, sort=True).agg(**{self._named()!r}).reset_index()"

    def spark_code(self) -> str | None:
        """Spark gives groups no order."""
        return None
