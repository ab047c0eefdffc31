"""Cells keep value and type through Spark: types and rules of a join, and files whose dialect is given."""

import datetime
from collections import Counter
from decimal import Decimal

import pandas as pd
import pytest

import dfjoin
import spark_ext
from spark_ext import join as spark_join

pytestmark = pytest.mark.spark

BIG = 2**60
DAYS = [datetime.date(2024, 1, day) for day in (5, 5, 9, 7, 8)]
COLUMNS = {
    "tiny": ("tinyint", [2, 2, 5, -3, 4]),
    "big": ("bigint", [BIG + 7, BIG + 7, BIG + 1, BIG + 3, BIG + 4]),
    "share": ("double", [0.5, 0.5, 2.0, -0.25, 0.75]),
    "price": ("decimal(22,2)", [Decimal(p) for p in ("12345678901234567.89", "12345678901234567.89", "0.01", "-7.20", "3.40")]),
    "label": ("string", ["b", "b", "a", "é", "Z"]),
    "flag": ("boolean", [True, True, False, False, True]),
    "day": ("date", DAYS),
    "at": ("timestamp_ntz", [datetime.datetime(d.year, d.month, d.day, 23, 30) for d in DAYS]),
}  # fmt: skip
ROWS = {"p": [0, 1, 2], "q": [3, 4], "s": [4]}
NUMBERS = ["tiny", "share", "price"]


def median(cells):
    ordered = sorted(cells)
    return (ordered[(len(cells) - 1) // 2] + ordered[len(cells) // 2]) / 2


def majority(cells):
    cell, n = Counter(cells).most_common(1)[0]
    return cell if 2 * n > len(cells) else None


KEEPING = {"first": lambda c: c[0], "last": lambda c: c[-1], "min": min, "max": max, "majority": majority}
COUNTING = {"sum": sum, "mean": lambda c: sum(c) / len(c), "median": median}


def table_of(spark, keys):
    """The rows of some keys, each column of its type."""
    schema = ", ".join(["k string", *(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())])
    cells = [(key, *(cells[row] for _, cells in COLUMNS.values())) for key in keys for row in ROWS[key]]
    return spark.createDataFrame([*cells, ("n", *[None] * len(COLUMNS))], schema)


@pytest.mark.slow
def test_every_type_by_every_rule(spark, monkeypatch):
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)
    spark_ext.enable(spark)
    left = spark.createDataFrame([("p",), ("q",), ("s",), ("n",), ("none",)], "k string")
    rules = {(name, rule): f"{name} by {rule}" for rule in KEEPING for name in COLUMNS}
    for name in ("tiny", "share", "flag", "day"):  # a vote is a window of its own in Spark
        del rules[name, "majority"]
    rules |= {(name, rule): f"{name} by {rule}" for rule in COUNTING for name in NUMBERS}
    given = {column: rule for (_, rule), column in rules.items()}
    for keys, oracles in (
        ("pqs", {**KEEPING, **COUNTING}),
        ("s", dict.fromkeys({**KEEPING, **COUNTING}, lambda c: c[0])),
    ):
        right = table_of(spark, keys).selectExpr("k", *(f"{name} AS `{column}`" for (name, _), column in rules.items()))
        joined = left.auto_join(right, on="k", aggregate=given)
        found = {row.k: row.asDict() for row in joined.select("k", *(f"`{column}`" for column in given)).collect()}
        for (name, rule), column in rules.items():
            for key in keys:
                want = oracles[rule]([COLUMNS[name][1][row] for row in ROWS[key]])
                cell = found[key][column]
                assert cell == want or abs(cell - want) < Decimal("0.01"), (column, key)
            assert found["n"][column] is None and found["none"][column] is None, column
            if rule in KEEPING or keys == "s":
                assert joined.schema[column].dataType == right.schema[column].dataType, column
            elif name == "price":
                assert isinstance(found["p"][column], Decimal), column


def test_given_dialects_hold_on_spark(spark, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "euro.csv").write_text("name;betrag\n" + "".join(f"n{i};{i},5\n" for i in range(30)))
    (lake / "codes.txt.csv").write_text("".join(f"n{i}|1.{i:03d}\n" for i in range(30)))
    (lake / "west.csv").write_bytes(b"ort,zahl\n" + "".join(f"Köln {i},{i}\n" for i in range(30)).encode("cp1250"))
    given = {
        "delimiter": {"codes*": "|"},
        "decimal": {"euro*": ",", "codes*": ","},
        "header": {"codes*": 0},
        "encoding": {"west*": "cp1250"},
    }
    made = {}
    for engine in ("spark", "inline"):
        made[engine] = dfjoin.build_lake(
            lake, tmp_path / engine, engine=engine, spark=spark if engine == "spark" else None, progress=False, **given
        )
    pd.testing.assert_frame_equal(made["spark"].columns, made["inline"].columns)
    pd.testing.assert_frame_equal(made["spark"].tables, made["inline"].tables)
    assert made["spark"].info()["doubtful"] == made["inline"].info()["doubtful"]
    for name in made["inline"].tables["table"]:
        pd.testing.assert_frame_equal(made["spark"].table(name), made["inline"].table(name))
    assert made["spark"].table("euro.csv")["betrag"].tolist() == [i + 0.5 for i in range(30)]
    assert made["spark"].table("codes.txt.csv").shape == (30, 2)
    assert made["spark"].table("west.csv")["ort"][0] == "Köln 0"
