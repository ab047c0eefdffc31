"""How several rows of a key become one, as aggregates of Spark; the rules of `dfjoin.join.rules`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BooleanType, DecimalType
from pyspark.sql.window import Window

from dfjoin.join.aggregate import cell_kind, decimal_type
from dfjoin.join.rules import CellRules, check_rule
from dfjoin.programs.spark_sql import quote
from dfjoin.values.frames import arrow_to_series
from dfjoin.values.header_meaning import number_meaning
from spark_ext.transfer import quoted

__all__ = ["aggregate_rows", "rules_of"]

_SQL = {
    "mean": "avg(cast({0} AS double))",
    "sum": "try_sum({0})",
    "min": "min({0})",
    "max": "max({0})",
    "latest": "max({0})",
    "median": "percentile(cast({0} AS double), 0.5)",
    "std": "stddev_samp(cast({0} AS double))",
    "count": "count({0})",
    "nunique": "count(distinct {0})",
    "most_frequent": "mode({0}, true)",
    "share": "avg(cast({0} AS double))",
    "first": "min_by({0}, {1})",
    "last": "max_by({0}, {1})",
}
"""Rule → aggregate of a column, ``{0}``; ``{1}`` is the place of a row."""

_BY_OF = {"min": "min_by", "max": "max_by", "latest": "max_by"}
"""Rule that takes a value by its order → the same of values that have an order only as they are written."""

_MEDIAN_OF_DECIMALS = (
    "aggregate(slice(array_sort(collect_list({0})), cast(greatest((count({0}) + 1) DIV 2, 1) AS int), "
    "cast(2 - count({0}) % 2 AS int)), cast(0 AS {1}), (a, b) -> cast(a + b AS {1})) "
    "/ CASE WHEN count({0}) > 0 THEN 2 - count({0}) % 2 END"
)
"""The mean of the one or two middle values, null where there is none; ``{1}`` is the type of their sum."""


def rules_of(aggregate: Any, is_unique: bool, measures: list[str] | None, right: Any) -> dict[str, str]:
    """Return the rule for each value of a right side, checked against its type.

    Parameters
    ----------
    aggregate : str or dict
        Checked.
    is_unique : bool
        Each key has one row, or had when a plan was made.
    measures : list of str or None
        Columns of numbers that measure something, as a plan says. None: whole numbers do where the header says so,
        others unless it says that they name something.
    right : RightTable

    Returns
    -------
    dict of str
        Column of its frame → rule.
    """
    found = {}
    for name, column in right.values.items():
        try:
            type_ = to_arrow_type(right.frame.schema[column].dataType)
        except Exception:  # a type that Arrow does not know: pyspark raises what it likes
            type_ = pa.string()
        empty = arrow_to_series(pa.chunked_array([], type_))
        kind = "decimal" if pa.types.is_decimal(type_) else cell_kind(empty)
        meanings = ("measure",) if kind == "integer" else ("measure", "class", "")
        is_measure = number_meaning(name) in meanings if measures is None else name in measures
        found[column] = CellRules(aggregate, is_unique, {name: is_measure}.__getitem__).rule_of(name, kind)
        check_rule(name, empty.dtype, kind, found[column])
    return found


def _computed(frame: Any, name: str, own: str, rule: str) -> str:
    """Return the aggregate of a column, of decimals as decimals."""
    type_ = frame.schema[name].dataType
    if rule == "sum" and isinstance(type_, BooleanType):
        return f"sum(cast({own} AS double))"  # Spark adds no booleans up
    if rule not in ("mean", "median", "sum") or not isinstance(type_, DecimalType):
        made = _SQL.get(rule, "").format(own, "{1}")
        return _refused_if_null(made, own, rule) if rule == "sum" else made
    precision, scale = decimal_type(type_.precision, type_.scale, rule)
    total = f"decimal({decimal_type(type_.precision, type_.scale, 'sum')[0]},{type_.scale})"
    made = {"mean": "try_avg({0})", "sum": "try_sum({0})", "median": _MEDIAN_OF_DECIMALS}[rule].format(own, total)
    return _refused_if_null(f"try_cast({made} AS decimal({precision},{scale}))", own, rule)


def _refused_if_null(made: str, own: str, rule: str) -> str:
    """Return what a rule computes, which is an error where the type does not hold it, whatever the session's ANSI mode.

    Without that mode Spark lets sums of integers wrap around, and makes nulls of decimals.
    """
    text = f"`aggregate` rule '{rule}' makes numbers beyond the type of their column; turn it into floats first"
    return f"coalesce({made}, CASE WHEN count({own}) > 0 THEN raise_error({quote(text)}) END)"


def _has_equality(type_: Any) -> bool:
    """Tell whether Spark compares values of a type; others, as maps, are compared by how they are written in JSON."""
    parts = (getattr(type_, "elementType", None), *(field.dataType for field in getattr(type_, "fields", ())))
    return type_.typeName() not in ("map", "variant") and all(_has_equality(part) for part in parts if part is not None)


def aggregate_rows(frame: Any, keys: list[str], rules: dict[str, str], order: str, count: str) -> Any:
    """Make one row of the rows of each key; rows without a key are left out.

    Parameters
    ----------
    frame : pyspark DataFrame
        With columns for the keys, the values, and the place of each row.
    keys : list of str
    rules : dict of str
        Column → its rule.
    order : str
        Column that tells the order of rows, for ``first`` and ``last``.
    count : str
        Name of a column to be added: the rows of each key.

    Returns
    -------
    pyspark DataFrame
        Keys, values, and the count.

    Notes
    -----
    One shuffle. The value on which most rows of a key agree is found over a window of its rows, which is sorted out
    on disk where it is large.
    """
    for key in keys:
        frame = frame.where(F.col(quoted(key)).isNotNull())
    for name in rules:
        if frame.schema[name].dataType.simpleString() in ("float", "double"):
            frame = frame.withColumn(name, F.expr(f"CASE WHEN isnan({quoted(name)}) THEN NULL ELSE {quoted(name)} END"))
    compared = {name: name if _has_equality(frame.schema[name].dataType) else f"{name}_text" for name in rules}
    for name, text in compared.items():
        if text != name:
            json = f"CASE WHEN {quoted(name)} IS NOT NULL THEN to_json(struct({quoted(name)})) END"
            frame = frame.withColumn(text, F.expr(json))
    is_voted = {
        name: rule in ("majority", "top_share") or (rule == "most_frequent" and compared[name] != name)
        for name, rule in rules.items()
    }
    window = Window.partitionBy(*(F.col(quoted(key)) for key in keys))
    for name in (name for name, voted in is_voted.items() if voted):
        frame = frame.withColumn(f"{name}_mode", F.expr(f"mode({quoted(compared[name])}, true)").over(window))
    made = []
    for name, rule in rules.items():
        own = quoted(name if rule in ("first", "last") else compared[name])
        sql = _computed(frame, name, own, rule).replace("{1}", quoted(order))
        if compared[name] != name and rule in _BY_OF:
            sql = f"{_BY_OF[rule]}({quoted(name)}, {own})"  # the value itself, and not how it is written
        mode = quoted(f"{name}_mode")
        if is_voted[name]:
            chosen = f"min_by({quoted(name)}, {quoted(order)}) FILTER (WHERE {own} = {mode})"
            is_enough = f"2 * count_if({own} = {mode}) > count({own})" if rule == "majority" else "true"
            sql = f"CASE WHEN {is_enough} THEN {chosen} END"
        if rule == "top_share":
            sql = f"count_if({own} = {mode}) / nullif(count({own}), 0)"
        made.append(F.expr(sql).alias(name))
    return frame.groupBy(*(F.col(quoted(key)) for key in keys)).agg(*made, F.count(F.lit(1)).alias(count))
