"""Random searches and joins of frames, the same in pandas, polars, Arrow and DuckDB.

A case is made once, as a polars frame. pandas has it by dfjoin's own dtypes for columns of a lake, and the others by
their own conversions, so that what is compared are the joins and searches.
"""

import datetime as dt
import decimal
import math
import re
import warnings
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pandas as pd
import polars as pl

import dfjoin
from dfjoin.frames.given_frame import GivenFrame, given_frame

WORDS = ["Peru", "Chad", "Fiji", "Laos", "Mali", "Cuba", "Iran", "Togo", "Oman", "Niue", "Guam", "Bali"]
HOWS = ("left", "inner", "right", "outer")
RULES = (*["auto"] * 4, None, None, "first", "last", "count", "nunique", "most_frequent", "majority", "min", "max")


@dataclass
class Case:
    """Two frames, and how they are joined."""

    left: pl.DataFrame
    right: pl.DataFrame
    options: dict = field(default_factory=dict)


def _texts(rng, n):
    spelled = [str.upper, str.lower, str.strip, lambda word: f" {word} "]
    return [None if rng.random() < 0.1 else spelled[rng.integers(4)](WORDS[i]) for i in rng.integers(0, len(WORDS), n)]


def _keys(rng, n, kind):
    """A key column: both sides of a case have one of the same values, of the same type or of another one."""
    numbers = rng.integers(0, 12, n)
    is_null = rng.random(n) < 0.1
    values = [None if null else int(number) for number, null in zip(numbers, is_null, strict=True)]
    day = dt.date(2024, 1, 30)
    match kind:
        case "text":
            return pl.Series(_texts(rng, n), dtype=pl.String)
        case "category":
            return pl.Series(_texts(rng, n), dtype=pl.String).cast(pl.Categorical)
        case "enum":
            return pl.Series([None if v is None else WORDS[v] for v in values], dtype=pl.Enum(WORDS))
        case "date":
            return pl.Series([None if v is None else day + dt.timedelta(v) for v in values], dtype=pl.Date)
        case "moment":
            days = pl.Series([None if v is None else day + dt.timedelta(v) for v in values], dtype=pl.Date)
            return days.cast(pl.Datetime("us"))
        case "digits":
            return pl.Series([None if v is None else f"{v:03d}" for v in values], dtype=pl.String)
        case "float":
            return pl.Series(
                [None if v is None else math.nan if v == 0 else float(v) for v in values], dtype=pl.Float64
            )
        case "decimal":
            return pl.Series([None if v is None else decimal.Decimal(v) for v in values], dtype=pl.Decimal(9, 2))
        case "boolean":
            return pl.Series([None if v is None else v % 2 == 0 for v in values], dtype=pl.Boolean)
        case _:
            return pl.Series(values, dtype=getattr(pl, kind))


KINDS = {
    "text": ("text", "category", "enum"),
    "date": ("date", "moment"),
    "number": ("Int64", "Int8", "UInt32", "float", "decimal", "digits"),
    "boolean": ("boolean",),
}


def _values(rng, n, kind):
    """A column that is no key."""
    is_null = rng.random(n) < 0.2
    numbers = rng.integers(-50, 50, n)

    def of(make, dtype):
        return pl.Series([None if z else make(int(v)) for v, z in zip(numbers, is_null, strict=True)], dtype=dtype)

    match kind:
        case "decimal":
            return of(lambda v: decimal.Decimal(v) / 4, pl.Decimal(12, 2))
        case "list":
            return of(lambda v: [v, v + 1], pl.List(pl.Int16))
        case "struct":
            return of(lambda v: {"a": v, "b": str(v)}, pl.Struct({"a": pl.Int32, "b": pl.String}))
        case "zone":
            return of(lambda v: v * 3_600_000_000, pl.Int64).cast(pl.Datetime("us", "Europe/Berlin"))
        case "binary":
            return of(lambda v: str(v).encode(), pl.Binary)
        case "enum":
            return of(lambda v: WORDS[v % 12], pl.Enum(WORDS))
        case "boolean":
            return of(lambda v: v > 0, pl.Boolean)
        case "float":
            return of(lambda v: math.nan if v % 7 == 0 else v / 3, pl.Float64)
        case "text":
            return of(lambda v: WORDS[v % 12] + str(v % 3), pl.String)
        case "date":
            return of(lambda v: dt.date(2020, 1, 1) + dt.timedelta(v), pl.Date)
        case _:
            return of(lambda v: abs(v), pl.UInt8)


_VALUES = ("decimal", "list", "struct", "zone", "binary", "enum", "boolean", "float", "text", "date", "small")

_WITHOUT_ORDER = ("auto", None, "first", "last", "count", "nunique", "majority")
"""Rules that do not order values: those of lists are ordered by how they print, in each library in another way."""


def make_case(seed: int) -> Case:
    """Make a case of a number; the same number makes the same case."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[rng.choice(4, p=[0.4, 0.2, 0.35, 0.05])]

    def frame(n, prefix):
        columns = {f"{prefix}key": _keys(rng, n, rng.choice(KINDS[kind]))}
        for i in range(rng.integers(0, 4)):
            columns[f"{prefix}{i}"] = _values(rng, n, rng.choice(kinds))
        return pl.DataFrame(columns)

    rule = RULES[rng.integers(len(RULES))]
    kinds = [kind for kind in _VALUES if rule in _WITHOUT_ORDER or kind not in ("list", "struct")]

    left, right = (frame(int(rng.choice([0, 1, 5, 40], p=[0.05, 0.1, 0.3, 0.55])), prefix) for prefix in "ab")
    if rng.random() < 0.3:
        right = right.unique("bkey", keep="first", maintain_order=True)
    options = {
        "how": HOWS[rng.choice(4, p=[0.55, 0.15, 0.15, 0.15])],
        "aggregate": rule,
        "indicator": bool(rng.random() < 0.2),
        "transform": False,
        "fuzzy": False,
        "max_expansion": 1e9,
    }
    if rng.random() < 0.8:
        options |= {"on": "akey", "right_on": "bkey"}
    return Case(left, right, options)


def in_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return the frame in the dtypes that dfjoin gives columns of a lake."""
    given = given_frame(frame)
    assert isinstance(given, GivenFrame)
    return given.to_pandas()


def _column_in_sql(name, dtype):
    """Arrow tells DuckDB of no enum."""
    if dtype != pl.Enum:
        return f'"{name}"'
    return f'CAST("{name}" AS ENUM({", ".join(map(repr, dtype.categories.to_list()))})) AS "{name}"'


def in_kind(frame: pl.DataFrame, kind: str, connection: duckdb.DuckDBPyConnection):
    """Return the frame in a library."""
    if kind == "pandas":
        return in_pandas(frame)
    if kind == "arrow":
        return frame.to_arrow()
    if kind == "duckdb":
        relation = connection.from_arrow(frame.to_arrow())
        return relation.project(", ".join(_column_in_sql(name, dtype) for name, dtype in frame.schema.items()))
    return frame.lazy() if kind == "lazy" else frame


_WHOLE = re.compile(r"^(-?\d+)\.0+$")
"""A whole number as it prints: keys of two types fill one column."""


def plain(value):
    """Write a cell as a value of Python that is equal in all libraries."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(f"{value:.12g}")
    if isinstance(value, decimal.Decimal):
        return float(f"{float(value):.12g}")
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)
    if isinstance(value, dt.datetime):
        value = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if not isinstance(value, (dt.date, str)):
        return value
    return _WHOLE.sub(r"\1", str(value).removesuffix(" 00:00:00"))


def cells(frame) -> dict[str, list]:
    """Return the columns of a frame of any library as plain values."""
    if not isinstance(frame, pd.DataFrame):
        table = given_frame(frame)
        columns = {one.field.name: one.array.to_pylist() for one in table.columns}
    else:
        columns = {name: list(frame[name].astype(object)) for name in frame.columns}
    return {name: _of_one_type([plain(value) for value in column]) for name, column in columns.items()}


def _of_one_type(values: list) -> list:
    """Write values as texts if some are: keys of two types fill one column, which Arrow holds as text."""
    if not any(isinstance(value, str) for value in values):
        return values
    return [value if value is None or isinstance(value, str) else plain(str(value)) for value in values]


def outcome(left, right, options) -> tuple:
    """Join; return the cells and what the report says, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = dfjoin.auto_join(left, right, **options)
        except dfjoin.errors.DfjoinError as error:
            return type(error), ()
    told = dfjoin.report(result).to_dict()
    steps = [{k: v for k, v in step.items() if k not in ("rows", "without_partner")} for step in told["joined"]]
    return cells(result), steps, told["rows_out"], told["plan"]["steps"]
