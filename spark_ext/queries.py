"""Query columns of Spark DataFrames: distinct values with their counts, and query columns of the search made of these.

In Spark a query column is rows ``(q, v0, v1, …, n, first)``: the name of the column, its value in the field of its
type (the others are null), how many rows hold the value, and where the first of them stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, did_you_mean, shortlist
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn, make_query
from dfjoin.types import IndexSettings
from dfjoin.values.frames import arrow_to_series
from spark_ext.column_names import find_name, folded
from spark_ext.transfer import quoted

__all__ = [
    "MOST_ROWS",
    "QueryRows",
    "check_column",
    "check_named",
    "is_searchable",
    "long_queries",
    "queries_of",
    "query_column",
    "query_rows",
    "wall_time",
    "wall_type",
]

_TEXTS = ("string", "char", "varchar", "void")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_SEARCHABLE = (*_TEXTS, *_NUMBERS, "date", "timestamp", "timestamp_ntz", "boolean")

MOST_ROWS = 100_000_000
"""Rows of a query column up to which each is counted in a search that does not rank by rows."""


@dataclass(frozen=True)
class QueryRows:
    """Query columns as rows of Spark.

    Parameters
    ----------
    rows : pyspark DataFrame
        ``q, v0, …, n, first``, see the module.
    names : tuple of str
        The query columns in their order; empty where the frame names them itself.
    fields : dict of str
        Query column → its field; empty where all have the first one.
    companions : tuple of str
        Names of the columns of the frame; empty where it is not known.
    """

    rows: Any
    names: tuple[str, ...]
    fields: dict[str, str]
    companions: tuple[str, ...]


def query_rows(frame: Any, on: Any) -> QueryRows:
    """Make rows of the columns of a frame that `on` names, each value once.

    Parameters
    ----------
    frame : pyspark DataFrame
    on : str, list of one str, "*" or None
        "*" or None: every column whose values have a text.

    Raises
    ------
    ColumnNotFoundError, InvalidParameterError, InvalidTypeError
        If there is no such column, several have its name, or its values have no text.
    """
    names = _named(frame, on)
    types = {name: frame.schema[name].dataType.simpleString() for name in names}
    walls = {name: wall_type(type_) for name, type_ in types.items()}
    kinds = list(dict.fromkeys(walls.values()))
    fields = {name: f"v{kinds.index(walls[name])}" for name in names}
    first = F.monotonically_increasing_id().alias("first")
    if len(names) == 1:
        (name,) = names
        rows = frame.select(F.lit(name).alias("q"), wall_time(frame, name).alias("v0"), first)
    else:
        taken = frame.select(*(wall_time(frame, name).alias(f"c{i}") for i, name in enumerate(names)), first)
        entries = [
            F.struct(
                F.lit(name).alias("q"),
                *(
                    (F.col(f"c{i}") if walls[name] == kind else F.lit(None).cast(kind)).alias(f"v{number}")
                    for number, kind in enumerate(kinds)
                ),
            )
            for i, name in enumerate(names)
        ]
        rows = taken.select(F.explode(F.array(*entries)).alias("one"), "first")
        rows = rows.select("one.q", *(f"one.v{number}" for number in range(len(kinds))), "first")
    return QueryRows(_counted(rows, len(kinds)), tuple(names), fields, tuple(frame.columns))


def long_queries(frame: Any, name: str, value: str) -> QueryRows:
    """Make rows of a frame of queries: a column with names of query columns, and one with their values."""
    name, value = check_named(frame, name, "name"), check_named(frame, value, "value")
    first = F.monotonically_increasing_id().alias("first")
    rows = frame.select(F.col(quoted(name)).cast("string").alias("q"), wall_time(frame, value).alias("v0"), first)
    return QueryRows(_counted(rows.where("q IS NOT NULL"), 1), (), {}, ())


def _counted(rows: Any, n_fields: int) -> Any:
    """Keep each value of each query column once."""
    fields = [f"v{number}" for number in range(n_fields)]
    held = rows.where(F.coalesce(*(F.col(field).cast("string") for field in fields)).isNotNull())
    return held.groupBy("q", *fields).agg(F.count(F.lit(1)).alias("n"), F.min("first").alias("first"))


def _named(frame: Any, on: Any) -> list[str]:
    """Return the names of the query columns, checked."""
    if isinstance(on, list):
        (on,) = on
    if on is not None and not (on == "*" and "*" not in frame.columns):
        return [check_column(frame, on, "on")]
    found = [field.name for field in frame.schema.fields if is_searchable(field.dataType.simpleString())]
    counts = Counter(folded(frame.sparkSession, frame.columns))
    twice = {name for name, key in zip(found, folded(frame.sparkSession, found), strict=True) if counts[key] > 1}
    if twice:
        raise InvalidParameterError(f"`df` has columns of the same name ({shortlist(sorted(twice))}); rename them")
    if not found:
        raise ColumnNotFoundError("`df` must have at least one column whose values have a text")
    return found


def check_named(frame: Any, name: Any, argument: str) -> str:
    """Return how a frame writes the name of one of its columns; raise unless exactly one has it in this session."""
    name = find_name(frame, name)
    if name not in frame.columns:
        raise ColumnNotFoundError(
            f"`{argument}` must name a column of the frame ({shortlist(frame.columns)}), got {name!r:.80}"
            + (did_you_mean(name, frame.columns) if isinstance(name, str) else "")
        )
    own, *names = folded(frame.sparkSession, [name, *frame.columns])
    if names.count(own) > 1:
        raise InvalidParameterError(
            f"`{argument}` must name one column, but {names.count(own)} columns of the frame are called {name!r} in "
            "this session; rename them"
        )
    return name


def check_column(frame: Any, name: Any, argument: str) -> str:
    """Return the name of a column that is searched or a key, or raise."""
    name = check_named(frame, name, argument)
    type_ = frame.schema[name].dataType.simpleString()
    if not is_searchable(type_):
        raise InvalidTypeError(
            f"`{argument}` must name a column whose values have a text, got {name!r} of type {type_}; turn its values "
            "into text first"
        )
    return name


def is_searchable(type_: str) -> bool:
    """Tell whether values of a type of Spark, as its simple string names it, have a text."""
    return type_.partition("(")[0].partition(" ")[0] in _SEARCHABLE


def wall_type(type_: str) -> str:
    """Return the type that values of a type of Spark have in a search and a join."""
    kind = type_.partition("(")[0].partition(" ")[0]
    if kind in _TEXTS:
        return "string"
    return "timestamp_ntz" if kind == "timestamp" else type_


def wall_time(frame: Any, name: str) -> Any:
    """Return a column as a search and a join read it: times as the session's clock shows them."""
    column = F.col(quoted(name))
    type_ = frame.schema[name].dataType.simpleString()
    wall = wall_type(type_)
    return column if wall == type_ else column.cast(wall)


def queries_of(
    table: pa.Table, fields: dict[str, str], settings: IndexSettings, params: SearchParams, companions: tuple[str, ...]
) -> Iterator[QueryColumn]:
    """Make the query columns that rows of Spark hold.

    Parameters
    ----------
    table : pyarrow.Table
        Rows ``q, v0, …, n, first`` in any order.
    fields : dict of str
        Query column → field of its values; the first field for one that is not named.
    settings : IndexSettings
        Of the index.
    params : SearchParams
    companions : tuple of str

    Yields
    ------
    QueryColumn
        With its values in the order of the rows of the frame.
    """
    if not table.num_rows:
        return
    table = table.combine_chunks()
    order = pc.sort_indices(table, sort_keys=[("q", "ascending"), ("first", "ascending")])
    names = table.column("q").take(order).combine_chunks()
    encoded = pc.run_end_encode(names)
    ends = encoded.run_ends.to_numpy().tolist()
    begin = 0
    for name, end in zip(encoded.values.to_pylist(), ends, strict=True):
        rows = order.slice(begin, end - begin)
        values = table.column(fields.get(name, "v0")).take(rows)
        counts = table.column("n").take(rows).to_numpy()
        yield query_column(name, values, counts, settings, params, companions)
        begin = end


def query_column(
    name: str,
    values: pa.ChunkedArray,
    counts: NDArray[np.int64],
    settings: IndexSettings,
    params: SearchParams,
    companions: Sequence[str],
) -> QueryColumn:
    """Make a query column of distinct values and the rows of each.

    Raises
    ------
    InvalidParameterError
        If rows are to be ranked by, and are too many to be counted here.
    """
    query = make_query(
        arrow_to_series(values).rename(name), settings, pad=params.pad, dayfirst=params.dayfirst, name=name
    )
    if counts.sum() > MOST_ROWS:
        if params.is_weighted:
            raise InvalidParameterError(
                f"`weighted` counts rows up to {MOST_ROWS:,} of a Spark DataFrame, and {name!r} has {counts.sum():,}; "
                "leave it out, or search a sample of the rows"
            )
        counts = np.minimum(counts, 2)
    codes = query.values.codes
    codes = np.concatenate([codes, np.repeat(codes, counts - 1)])  # a value's first row is that of its spelling
    return replace(query, values=replace(query.values, codes=codes), companions=tuple(companions))
