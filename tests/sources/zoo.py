"""One table of 40 columns of all types, written by the reference tool of each format."""

import datetime as dt
import decimal
import itertools
import json
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
from pyarrow import feather, orc, parquet

N_ROWS = 50
UTC = dt.UTC


_column = itertools.count()


def _values(make):
    """Values of a column: every seventh is null, from another row on in each column."""
    first = next(_column)
    return [None if (n + first) % 7 == 3 else make(n) for n in range(N_ROWS)]


def _moment(n, step=1):
    return dt.datetime(2020, 2, 28, 23, 59, 58) + dt.timedelta(
        days=n, seconds=7 * n, microseconds=1000 * step * (n % 9)
    )


def zoo():
    """Make the table."""
    number = decimal.Decimal
    columns = {
        **{
            f"int{w}": pa.array(_values(lambda n, w=w: (-1) ** n * n * (2 ** (w - 8))), f"int{w}")
            for w in (8, 16, 32, 64)
        },
        **{f"uint{w}": pa.array(_values(lambda n, w=w: n * (2 ** (w - 8))), f"uint{w}") for w in (8, 16, 32, 64)},
        "float16": pa.array(_values(lambda n: n / 4), pa.float16()),
        "float32": pa.array(_values(lambda n: n / 8 - 2), pa.float32()),
        "float64": pa.array(_values(lambda n: n / 10 - 2.5), pa.float64()),
        "whole_float": pa.array(_values(float), pa.float64()),
        "decimal128": pa.array(_values(lambda n: number(n * 101) / 100), pa.decimal128(12, 2)),
        "decimal_wide": pa.array(_values(lambda n: number(10) ** 20 + n), pa.decimal128(30, 4)),
        "decimal256": pa.array(_values(lambda n: number(10) ** 40 + n), pa.decimal256(50, 3)),
        "bool": pa.array(_values(lambda n: n % 2 == 0)),
        "string": pa.array(_values(lambda n: f'wörd {n}, "quoted" 名')),
        "large_string": pa.array(_values(lambda n: f"text {n}"), pa.large_string()),
        "string_view": pa.array(_values(lambda n: f"a longer text of a view {n}"), pa.string_view()),
        "code": pa.array(_values(lambda n: f"{n:05d}")),
        "empty": pa.array(_values(lambda n: "" if n % 2 else "x")),
        "binary": pa.array(_values(lambda n: bytes([n, 0, 255])), pa.binary()),
        "large_binary": pa.array(_values(lambda n: bytes([n] * 3)), pa.large_binary()),
        "fixed_binary": pa.array(_values(lambda n: bytes([n, n])), pa.binary(2)),
        "date32": pa.array(_values(lambda n: _moment(n).date()), pa.date32()),
        "date64": pa.array(_values(lambda n: _moment(n).date()), pa.date64()),
        "time32": pa.array(_values(lambda n: dt.time(n % 24, n % 60, 5)), pa.time32("s")),
        "time64": pa.array(_values(lambda n: dt.time(n % 24, n % 60, 5, 1000 * n)), pa.time64("us")),
        "second": pa.array(_values(lambda n: _moment(n, 0)), pa.timestamp("s")),
        "milli": pa.array(_values(_moment), pa.timestamp("ms")),
        "micro": pa.array(_values(_moment), pa.timestamp("us")),
        "nano": pa.array(_values(_moment), pa.timestamp("ns")),
        "zoned": pa.array(_values(lambda n: _moment(n).replace(tzinfo=UTC)), pa.timestamp("us", "UTC")),
        "duration": pa.array(_values(lambda n: dt.timedelta(seconds=n)), pa.duration("us")),
        "category": pa.array(_values(lambda n: f"kind {n % 3}")).dictionary_encode(),
        "list": pa.array(_values(lambda n: list(range(n % 4)))),
        "texts": pa.array(_values(lambda n: [f"t{n}", None])),
        "struct": pa.array(_values(lambda n: {"x": n, "y": f"s{n}"})),
        "map": pa.array(_values(lambda n: [(f"k{n}", n)]), pa.map_(pa.string(), pa.int64())),
        "null": pa.nulls(N_ROWS),
    }
    assert len(columns) == 40
    return pa.table(columns)


def without(table, *names):
    """Leave out the columns that a format cannot hold."""
    return table.drop_columns(list(names))


def write_parquet(table, path):
    parquet.write_table(table, path)


def write_orc(table, path):
    orc.write_table(table, str(path))


def write_feather(table, path):
    feather.write_feather(table, str(path), compression="zstd")


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


AVRO_TYPES = {
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int"),
    **dict.fromkeys(("int64", "uint32"), "long"),
    "float16": "float",
    "float32": "float",
    "float64": "double",
    "whole_float": "double",
    "decimal128": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
    "decimal_wide": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4},
    "decimal256": {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 3},
    "bool": "boolean",
    **dict.fromkeys(("string", "large_string", "string_view", "code", "empty"), "string"),
    "category": {"type": "enum", "name": "kind", "symbols": ["kind_0", "kind_1", "kind_2"]},
    **dict.fromkeys(("binary", "large_binary"), "bytes"),
    "fixed_binary": {"type": "fixed", "name": "two", "size": 2},
    **{key: {"type": "int", "logicalType": "date"} for key in ("date32", "date64")},
    "time32": {"type": "int", "logicalType": "time-millis"},
    "time64": {"type": "long", "logicalType": "time-micros"},
    **{key: {"type": "long", "logicalType": "local-timestamp-millis"} for key in ("second", "milli")},
    **{key: {"type": "long", "logicalType": "local-timestamp-micros"} for key in ("micro", "nano")},
    "zoned": {"type": "long", "logicalType": "timestamp-micros"},
    "list": {"type": "array", "items": "long"},
    "texts": {"type": "array", "items": ["null", "string"]},
    "struct": {"type": "record", "name": "pair", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "string"}]},
    "map": {"type": "map", "values": "long"},
    "null": "null",
}  # fmt: skip


def write_avro(table, path):
    import fastavro

    fields = [
        {"name": name, "type": "null" if name == "null" else ["null", AVRO_TYPES[name]]} for name in table.column_names
    ]
    rows = table.to_pylist()
    for row in rows:
        for name, value in row.items():
            if name == "map" and value is not None:
                row[name] = dict(value)
            if name == "category" and value is not None:
                row[name] = value.replace(" ", "_")
            if name == "nano" and value is not None:
                row[name] = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    with open(path, "wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "zoo", "fields": fields}, rows, codec="deflate")


def write_workbook(table, path):
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("zoo")
    sheet.append(table.column_names)
    for row in table.to_pylist():
        sheet.append([value.to_pydatetime() if hasattr(value, "to_pydatetime") else value for value in row.values()])
    book.save(path)


def write_sqlite(table, path):
    types = {
        **dict.fromkeys(("float16", "float32", "float64", "whole_float"), "REAL"),
        **dict.fromkeys(("binary", "large_binary", "fixed_binary"), "BLOB"),
        "bool": "BOOLEAN",
        "date32": "DATE",
    }
    with sqlite3.connect(path) as base:
        columns = ", ".join(
            f'"{field.name}" {"INTEGER" if pa.types.is_integer(field.type) else types.get(field.name, "TEXT")}'
            for field in table.schema
        )
        base.execute(f"CREATE TABLE zoo ({columns})")
        marks = ", ".join("?" * table.num_columns)
        plain = (int, float, str, bytes, type(None))
        rows = [[v if isinstance(v, plain) else str(v) for v in row.values()] for row in table.to_pylist()]
        base.executemany(f"INSERT INTO zoo VALUES ({marks})", rows)
    base.close()


def write_duckdb(table, path):
    import duckdb

    with duckdb.connect(str(path)) as base:
        base.register("given", table)
        base.execute("CREATE TABLE zoo AS SELECT * FROM given")


NESTED = {"list", "texts", "struct", "map"}
BINARY = {"binary", "large_binary", "fixed_binary"}
UNSIGNED = {"uint8", "uint16", "uint32", "uint64"}
ROUNDED = {"int64", "uint64", "decimal128", "decimal_wide", "decimal256"}


class Format(NamedTuple):
    """A kind of file: its writer, columns for which it or the writer has no type, columns that come back otherwise."""

    write: Callable
    cannot_hold: set[str] = frozenset()
    differ: set[str] = frozenset()
    libraries: tuple[str, ...] = ()


FORMATS = {
    "zoo.parquet": Format(write_parquet),
    "zoo.feather": Format(write_feather),
    "zoo.arrows": Format(write_stream),
    "zoo.orc": Format(
        write_orc,
        {*UNSIGNED, "float16", "decimal256", "string_view", "time32", "time64", "duration", "category", "null"},
        {"date64"},  # a moment
    ),
    "zoo.avro": Format(write_avro, {"uint64", "duration"}, {"category"}, ("fastavro",)),  # symbols have no blanks
    "zoo.xlsx": Format(
        write_workbook,
        {*NESTED, *BINARY, "zoned"},
        {*ROUNDED, "float64", "empty"},  # numbers are floats, of which openpyxl writes 16 digits; no empty texts
        ("openpyxl", "python_calamine"),
    ),
}
"""Files that hold the table, which are compared with it, and damaged by `tests.benchmarks.mutate_sources`."""


TEXTS = ("string", "large_string", "string_view", "empty", "null")
POSTGRESQL_TYPES = {
    **dict.fromkeys(("int8", "int16", "uint8"), "smallint"),
    **dict.fromkeys(("int32", "uint16"), "integer"),
    **dict.fromkeys(("int64", "uint32"), "bigint"),
    "uint64": "numeric(20)",
    **dict.fromkeys(("float16", "float32"), "real"),
    **dict.fromkeys(("float64", "whole_float"), "double precision"),
    "decimal128": "numeric(12, 2)",
    "decimal_wide": "numeric(30, 4)",
    "decimal256": "numeric(50, 3)",
    "bool": "boolean",
    **dict.fromkeys(TEXTS, "text"),
    "code": "char(5)",
    **dict.fromkeys(("binary", "large_binary", "fixed_binary"), "bytea"),
    **dict.fromkeys(("date32", "date64"), "date"),
    **dict.fromkeys(("time32", "time64"), "time"),
    **dict.fromkeys(("second", "milli", "micro", "nano"), "timestamp"),
    "zoned": "timestamptz",
    "duration": "interval",
    "category": "kind",
    "list": "bigint[]",
    "texts": "text[]",
    **dict.fromkeys(("struct", "map"), "jsonb"),
}
MYSQL_TYPES = {
    **{f"int{w}": name for w, name in ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))},
    **{f"uint{w}": f"{name} unsigned" for w, name in ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))},
    **dict.fromkeys(("float16", "float32"), "float"),
    **dict.fromkeys(("float64", "whole_float"), "double"),
    "decimal128": "decimal(12, 2)",
    "decimal_wide": "decimal(30, 4)",
    "decimal256": "decimal(50, 3)",
    "bool": "boolean",
    **dict.fromkeys(TEXTS, "text"),
    "code": "char(5)",
    "binary": "blob",
    "large_binary": "longblob",
    "fixed_binary": "binary(2)",
    **dict.fromkeys(("date32", "date64"), "date"),
    **dict.fromkeys(("time32", "time64", "duration"), "time(6)"),
    **dict.fromkeys(("second", "milli", "micro", "nano"), "datetime(6)"),
    "zoned": "timestamp(6) NULL",
    "category": "enum('kind 0', 'kind 1', 'kind 2')",
    **dict.fromkeys(("list", "texts", "struct", "map"), "json"),
}


def sql_statements(table, types, mark, bytes_literal):
    """Return the statements that make the table `zoo` in a database which puts identifiers between such marks."""
    columns = ", ".join(f"{mark}{name}{mark} {types[name]}" for name in table.column_names)
    rows = [", ".join(_literal(row[name], types[name], bytes_literal) for name in row) for row in table.to_pylist()]
    return [f"CREATE TABLE zoo ({columns})", "INSERT INTO zoo VALUES " + ", ".join(f"({row})" for row in rows)]


def _literal(value, type_, bytes_literal):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, bytes):
        return bytes_literal.format(value.hex())
    if type_.endswith("[]"):
        value = "{" + ", ".join("NULL" if one is None else f'"{one}"' for one in value) + "}"
    elif isinstance(value, (list, dict)):
        value = json.dumps(value)
    elif isinstance(value, dt.datetime):
        value = value.replace(tzinfo=None)
    return "'" + str(value).replace("'", "''") + "'"


def parsed(column):
    """Parse the texts of JSON that a database makes of what is nested."""
    return [None if text is None else json.loads(text) for text in column.to_pylist()]


def as_json(column):
    """Return the same values as JSON has them: pairs are lists."""
    return json.loads(json.dumps(column.to_pylist()))
