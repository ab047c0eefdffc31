"""Types come back as they went in: of the caller's columns, of those that are brought, with nulls, in another order."""

import datetime as dt
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.frames.frame_kinds import DuckdbFrames

D = decimal.Decimal
KEYS = ["a", "b", "c"]
INDIRECT = {"on": "k", "transform": False, "fuzzy": False, "on_no_match": "ignore"}


def _polars_columns():
    numbers = {name: pl.Series([1, None, 2], dtype=getattr(pl, name)) for name in _NUMBERS}
    times = {
        f"{unit}{zone}": pl.Series([1, None, 2**40]).cast(pl.Datetime(unit, zone))
        for unit in ("ms", "us", "ns")
        for zone in (None, "Europe/Berlin")
    }
    spans = {f"span_{unit}": pl.Series([1, None, -2]).cast(pl.Duration(unit)) for unit in ("ms", "us", "ns")}
    return (
        numbers
        | times
        | spans
        | {
            "huge": pl.Series([2**100, None, -(2**126)], dtype=pl.Int128),
            "not_a_number": pl.Series([float("nan"), None, float("inf")]),
            "decimal": pl.Series([D("1.20"), None, D("-3")], dtype=pl.Decimal(38, 10)),
            "null": pl.Series([None, None, None]),
            "text": pl.Series(["x", None, ""]),
            "bytes": pl.Series([b"x", None, b""]),
            "boolean": pl.Series([True, None, False]),
            "date": pl.Series([dt.date(2020, 1, 1), None, dt.date(1, 1, 1)]),
            "time": pl.Series([dt.time(1), None, dt.time(2, 3, 4, 5)]),
            "category": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "enum": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"])),
            "list": pl.Series([[1, None], None, []], dtype=pl.List(pl.Int8)),
            "list_of_enum": pl.Series([["x"], None, [None]], dtype=pl.List(pl.Enum(["x", "y"]))),
            "list_of_huge": pl.Series([[2**100], None, []], dtype=pl.List(pl.Int128)),
            "array": pl.Series([[1, 2], None, [3, None]], dtype=pl.Array(pl.UInt16, 2)),
            "struct": pl.Series([{"a": "x", "b": [1]}, None, {"a": None, "b": []}]),
            "object": pl.Series([{1}, None, object()], dtype=pl.Object),
        }
    )


_NUMBERS = ("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
POLARS = _polars_columns()


def _same(made, wanted):
    return made.dtype == wanted.dtype and (
        made.to_list() == wanted.to_list() if wanted.dtype == pl.Object else made.equals(wanted, null_equal=True)
    )


@pytest.mark.parametrize("name", POLARS)
def test_every_type_of_polars_comes_back(name):
    values = POLARS[name]
    frame = pl.DataFrame({"k": KEYS, "v": values})
    other = pl.DataFrame({"k": ["c", "a", "a", "q"], "w": [1, 2, 3, 4]})
    kept = dfjoin.auto_join(frame, other, **INDIRECT)
    assert _same(kept["v"], values)
    order = [0, 0, 2]
    taken = dfjoin.auto_join(frame, other, how="inner", aggregate=None, **INDIRECT)
    assert _same(taken["v"], values.gather(order))
    outer = dfjoin.auto_join(frame, other.unique("k", maintain_order=True), how="outer", **INDIRECT)
    assert _same(outer["v"], values.gather([0, 1, 2, None]))
    brought = dfjoin.auto_join(other.drop("w"), frame, **INDIRECT)
    assert _same(brought["v"], values.gather([2, 0, 0, None]))
    lazy = dfjoin.auto_join(other.drop("w").lazy(), frame.lazy(), **INDIRECT)
    assert isinstance(lazy, pl.LazyFrame)
    assert _same(lazy.collect()["v"], brought["v"])


def _arrow_columns():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["x", "y"]))
    codes = pa.array([0, None, 1], pa.uint8())
    plain = {
        str(type_): pa.array([1, None, 2]).cast(type_)
        for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
                      pa.float32(), pa.float64(), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"),
                      pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "+02:00"),
                      pa.timestamp("ns", "Asia/Tokyo"), pa.duration("s"), pa.duration("ns"))
        if type_ not in (pa.date32(), pa.time32("s"), pa.time32("ms"))
    }  # fmt: skip
    return plain | {
        "time32": pa.array([dt.time(1), None, dt.time(2)], pa.time32("s")),
        "date32": pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)]),
        "date64": pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)], pa.date64()),
        "half": pa.array(np.array([1.5, 0, 2], np.float16), mask=np.array([False, True, False])),
        "decimal128": pa.array([D("1.5"), None, D(2)], pa.decimal128(20, 5)),
        "decimal256": pa.array([D("1.5"), None, D(2)], pa.decimal256(60, 5)),
        "null": pa.nulls(3),
        "boolean": pa.array([True, None, False]),
        "string": pa.array(["x", None, ""]),
        "large_string": pa.array(["x", None, ""], pa.large_string()),
        "string_view": pa.array(["x", None, ""], pa.string_view()),
        "binary": pa.array([b"x", None, b""]),
        "large_binary": pa.array([b"x", None, b""], pa.large_binary()),
        "binary_view": pa.array([b"x", None, b""], pa.binary_view()),
        "fixed_binary": pa.array([b"xy", None, b"ab"], pa.binary(2)),
        "dictionary": pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"])),
        "ordered": pa.DictionaryArray.from_arrays(codes, pa.array(["y", "x"]), ordered=True),
        "dictionary_of_views": pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"], pa.string_view())),
        "dictionary_of_numbers": pa.DictionaryArray.from_arrays(codes, pa.array([7, 8], pa.int16())),
        "runs": runs,
        "list": pa.array([[1], None, []], pa.list_(pa.int8())),
        "large_list": pa.array([[1], None, []], pa.large_list(pa.int8())),
        "list_of_views": pa.array([["x"], None, []], pa.list_(pa.string_view())),
        "list_view": pa.array([[1], None, []], pa.list_view(pa.int8())),
        "fixed_list": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)),
        "map": pa.array([[("x", 1)], None, []], pa.map_(pa.string(), pa.int8())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
        "months": pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
        "uuid": pa.array([b"a" * 16, None, b"b" * 16], pa.uuid()),
    }


ARROW = _arrow_columns()


@pytest.mark.parametrize("name", ARROW)
def test_every_type_of_arrow_comes_back(name):
    values = ARROW[name]
    field = pa.field("v", values.type, metadata={"unit": "m"})
    frame = pa.table([pa.array(KEYS), values], schema=pa.schema([pa.field("k", pa.string()), field], {"made": "here"}))
    other = pa.table({"k": ["c", "a", "a", "q"], "w": [1, 2, 3, 4]})
    kept = dfjoin.auto_join(frame, other, **INDIRECT)
    assert kept.schema.field("v").equals(field, check_metadata=True)
    assert kept.schema.metadata == {b"made": b"here"}
    assert kept["v"].to_pylist() == values.to_pylist()
    taken = dfjoin.auto_join(frame, other, how="inner", aggregate=None, **INDIRECT)
    assert taken.schema.field("v").type == values.type
    assert taken["v"].to_pylist() == [values.to_pylist()[row] for row in (0, 0, 2)]
    brought = dfjoin.auto_join(other.drop_columns("w"), frame, **INDIRECT)
    assert brought.schema.field("v").equals(field, check_metadata=True)
    assert brought["v"].to_pylist() == [*(values.to_pylist()[row] for row in (2, 0, 0)), None]


DUCKDB = {
    "hugeint": "1::HUGEINT", "uhugeint": "340282366920938463463374607431768211455::UHUGEINT", "enum": "'b'::ENUM('b', 'a')",
    "uuid": "'12345678-1234-1234-1234-123456789012'::UUID", "interval": "INTERVAL 40 DAY", "struct": "{'a': 1, 'b': 'x'}",
    "map": "MAP {'a': 1}", "array": "[1, 2]::INT[2]", "list": "[[1], NULL]", "bit": "'101'::BIT", "time": "TIME '01:02:03'",
    "timetz": "TIMETZ '01:00:00+02'", "timestamptz": "TIMESTAMPTZ '2024-01-01 12:00:00+00'", "decimal": "1.5::DECIMAL(30, 2)",
    "blob": "'x'::BLOB", "utinyint": "3::UTINYINT", "union": "union_value(k := 1)", "timestamp_ns": "TIMESTAMP_NS '2024-01-01'",
    "timestamp_s": "TIMESTAMP_S '2024-01-01'", "boolean": "true", "date": "DATE '0001-01-01'", "float": "1.5::FLOAT",
    "json": "'{\"a\": 1}'::JSON", "text": "'x'", "bigint": "9223372036854775807", "list_of_bits": "['101'::BIT]",
}  # fmt: skip


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


@pytest.mark.parametrize("name", DUCKDB)
def test_every_type_of_duckdb_comes_back(connection, name):
    frame = connection.sql(f"SELECT * FROM (VALUES ('a', {DUCKDB[name]}), ('b', NULL)) AS t(k, v)")
    kept = dfjoin.auto_join(frame, pl.DataFrame({"k": ["a"], "w": [1]}), **INDIRECT)
    assert kept.types[:2] == frame.types
    as_text = "k, v::VARCHAR"
    assert kept.project(as_text).fetchall() == frame.project(as_text).fetchall()
    brought = dfjoin.auto_join(connection.sql("SELECT 'b' AS k UNION ALL SELECT 'a'"), frame, **INDIRECT)
    assert brought.types == frame.types
    assert sorted(brought.project(as_text).fetchall()) == sorted(frame.project(as_text).fetchall())


def test_a_type_that_the_other_library_lacks_becomes_text(connection):
    other = connection.sql("SELECT 'a' AS k, INTERVAL 40 DAY AS v, union_value(n := 1) AS u, 7 AS w")
    made = dfjoin.auto_join(pl.DataFrame({"k": ["a"]}), other, **INDIRECT)
    assert made.schema == {"k": pl.String, "v": pl.String, "u": pl.String, "w": pl.Int32}
    assert made.row(0) == ("a", "P40D", "1", 7)


@pytest.mark.parametrize("left", ["polars", "pyarrow", "duckdb"])
@pytest.mark.parametrize("right", ["polars", "pyarrow", "duckdb"])
def test_what_is_brought_row_by_row_is_what_other_rows_bring(left, right, connection):
    make = {"polars": pl.from_arrow, "pyarrow": lambda table: table, "duckdb": connection.from_arrow}
    other = pa.table(
        {
            "k": KEYS,
            "v": [1, None, 3],
            "t": ["x", None, ""],
            "c": pa.array(["p", "q", "p"]).dictionary_encode(),
            "d": pa.array([1, None, 2], pa.decimal128(20, 2)),
            "m": pa.array([1, None, 2], pa.timestamp("ms", "UTC")),
        }
    )
    rows_of = {"polars": pl.DataFrame.rows, "pyarrow": lambda table: [tuple(row.values()) for row in table.to_pylist()]}
    types_of = {"polars": lambda frame: frame.dtypes, "pyarrow": lambda table: table.schema.types}
    made = []
    for rows in (other, other.take([2, 0, 1])):  # the first is taken whole
        joined = dfjoin.auto_join(make[left](pa.table({"k": KEYS})), make[right](rows), **INDIRECT)
        assert type(joined) is type(make[left](other))
        types = types_of.get(left, lambda relation: relation.types)(joined)
        made.append((types, rows_of.get(left, lambda relation: relation.fetchall())(joined)))
    assert made[0] == made[1] and [row[1] for row in made[0][1]] == [1, None, 3]


def test_what_arrow_lacks_becomes_text_too(connection):
    other = pl.DataFrame({"k": ["a", "b"], "v": pl.Series([{1}, None], dtype=pl.Object), "w": [1, 2]})
    frame = pa.table({"k": ["a", "b", "c"]})
    assert dfjoin.auto_join(frame, other, **INDIRECT)["v"].to_pylist() == ["{1}", None, None]
    made = dfjoin.auto_join(connection.from_arrow(frame), other, **INDIRECT)
    assert made.project("v").fetchall() == [("{1}",), (None,), (None,)]


def test_a_column_without_rows_has_the_type_of_its_rule():
    frame, other = pl.DataFrame({"k": ["a"]}), pl.DataFrame({"k": ["b", "b"], "v": [1, 2]})
    made = dfjoin.auto_join(frame, other, how="inner", aggregate="mean", **INDIRECT)
    assert made.schema["v"] == pl.Float64


def test_keys_of_the_other_frame_are_no_values_of_an_enum():
    frame = pl.DataFrame({"k": pl.Series(["x"], dtype=pl.Enum(["x", "y"]))})
    other = pl.DataFrame({"k": ["X", "y", "z"], "v": [1, 2, 3]})
    fits = dfjoin.auto_join(frame, other.head(2), how="right", **INDIRECT)
    assert fits["k"].dtype == pl.Enum(["x", "y"])
    assert fits["k"].to_list() == ["x", "y"]
    beyond = dfjoin.auto_join(frame, other, how="right", **INDIRECT)
    assert beyond["k"].dtype == pl.String
    assert beyond["k"].to_list() == ["x", "y", "z"]


def test_decimals_fill_a_key_of_floats_where_they_are_exact():
    other = pl.DataFrame({"k": [D("2.00"), D("4.50")]}, schema={"k": pl.Decimal(9, 2)})
    made = dfjoin.auto_join(pl.DataFrame({"k": [1.0, 2.0]}), other, how="outer", **INDIRECT)
    assert (made["k"].dtype, made["k"].to_list()) == (pl.Float64, [1.0, 2.0, 4.5])
    other = pl.DataFrame({"k": [D("0.10")]}, schema={"k": pl.Decimal(9, 2)})
    made = dfjoin.auto_join(pl.DataFrame({"k": [1.0]}), other, how="right", **INDIRECT)
    assert (made["k"].dtype, made["k"].to_list()) == (pl.String, ["0.10"])


@pytest.mark.parametrize(
    ("value", "expected"), [(2.5, [D("1.00"), D("2.50")]), (2.125, ["1.00", "2.125"]), (float("inf"), ["1.00", "inf"])]
)
def test_floats_fill_a_key_of_decimals_where_these_can_hold_them(value, expected):
    own = pl.DataFrame({"k": [D("1.00")]}, schema={"k": pl.Decimal(9, 2)})
    made = dfjoin.auto_join(own, pl.DataFrame({"k": [1.0, value]}), how="outer", **INDIRECT)
    assert made["k"].to_list() == expected


def test_keys_of_two_types_become_text():
    made = dfjoin.auto_join(pl.DataFrame({"k": [1, 2]}), pl.DataFrame({"k": ["2", "007"]}), how="outer", **INDIRECT)
    assert made["k"].to_list() == ["1", "2", "007"]


FILLED = {
    "UUID": ("12345678-1234-1234-1234-123456789012", "22345678-1234-1234-1234-123456789012", "zz"),
    "JSON": ("1", "[2]", "zz"),
    "BIT": ("0101", "11", "zz"),
    "UHUGEINT": ("5", "6", "007"),
    "TIMETZ": ("01:00:00+02", "02:00:00+02", "zz"),
}


@pytest.mark.parametrize("how", ["right", "outer"])
@pytest.mark.parametrize("type_", FILLED)
def test_keys_that_a_type_of_duckdb_lacks_make_it_text(connection, type_, how):
    own, fits, foreign = FILLED[type_]
    frame = connection.sql(f"SELECT '{own}'::{type_} AS k")
    for key, is_kept in ((fits, True), (foreign, False)):
        other = pa.table({"k": [own, key], "w": [1, 2]})
        made = dfjoin.auto_join(frame, other, how=how, **INDIRECT)
        assert made.types[0] == (frame.types[0] if is_kept else "VARCHAR")
        assert made.project("k::VARCHAR, w").fetchall() == [(own, 1), (key, 2)]


def test_an_enum_may_have_the_name_of_a_type_in_a_value(connection):
    frame = connection.sql("SELECT 'a' AS k, 'ORBIT'::ENUM('abc', 'ORBIT') AS v, {'BIT': 1} AS s")
    assert pa.types.is_dictionary(DuckdbFrames().columns(frame, "df")[1].array.type)
    assert pa.types.is_struct(DuckdbFrames().columns(frame, "df")[2].array.type)


def test_decimals_beyond_what_polars_has_become_text():
    other = pa.table({"k": ["a"], "v": pa.array([D("1.50")], pa.decimal256(50, 2)), "w": [7]})
    made = dfjoin.auto_join(pl.DataFrame({"k": ["a"]}), other, **INDIRECT)
    assert made.rows() == [("a", "1.5", 7)]


def test_values_of_no_type_of_arrow_are_in_a_lake_as_those_of_pandas(tmp_path):
    values = [{1}, None, D("2.5")]
    columns = {"k": KEYS, "v": pl.Series(values, dtype=pl.Object), "w": [10, 20, 31]}
    frames = {"polars": pl.DataFrame(columns), "pandas": pd.DataFrame(columns | {"v": pd.Series(values, dtype=object)})}
    made = {}
    for name, frame in frames.items():
        lake = dfjoin.build_lake({"t": frame}, tmp_path / name, engine="inline", progress=False)
        made[name] = dfjoin.auto_join(pd.DataFrame({"k": KEYS}), lake, on="k")["v"].tolist()
    assert made["polars"] == made["pandas"]
    assert "row" not in str(made["polars"])
    assert "2.5" in str(made["polars"])


def test_texts_fill_a_key_of_floats_as_text():
    own, other = pl.DataFrame({"k": [1.5, 2.0]}), pl.DataFrame({"k": ["1.5", "x"]})
    made = dfjoin.auto_join(own, other, how="outer", **INDIRECT)
    assert made["k"].to_list() == ["1.5", "2.0", "x"]
