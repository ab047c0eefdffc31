"""Opening Avro: records as rows, logical types as those of Arrow."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any

import pyarrow as pa

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.table_reader import TableFile, TableReader, open_stream, open_typed, reject_pointer, with_reasons

_ROWS_PER_BATCH = 1 << 14
_PLAIN = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "timestamp-nanos": pa.timestamp("ns", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
    "uuid": pa.string(),
}
_DEEPEST = 20


def open_avro(file: TableFile) -> TableReader:
    """Open a file of Avro, see `dfjoin.sources.readers.open_table`; each block is read and decoded in order."""
    fastavro = import_optional("fastavro", extra="avro", purpose="reading .avro")
    reject_pointer(file.filesystem, file.path)
    with with_reasons(), open_stream(file.filesystem, file.path) as stream:
        found = fastavro.reader(stream)
        if found.codec == "snappy" and find_spec("cramjam") is None:
            raise TableReadError('it is compressed by Snappy; reading it needs: pip install "dfjoin[avro]"')
        written = found.writer_schema
        if not isinstance(written, dict) or written.get("type") != "record":
            raise TableReadError("its values are no records with named fields")
        named: dict[str, Any] = {}
        _collect_names(written, named)
        schema = pa.schema([(field["name"], _type_of(field["type"], named)) for field in written["fields"]])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([schema.field(name) for name in columns])
        with open_stream(file.filesystem, file.path) as stream:
            records = fastavro.reader(stream)
            while rows := list(islice(records, _ROWS_PER_BATCH)):
                arrays = [_array([row.get(field.name) for row in rows], field.type) for field in wanted]
                yield pa.record_batch(arrays, schema=wanted)

    return open_typed(file, schema, batches)


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_string(type_):
        values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
    return pa.array(values, type_)


def _text(value: Any) -> str:
    """Write a value of a union of several types as a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


def _collect_names(schema: Any, named: dict[str, Any]) -> None:
    """Find the named types of a schema, by which other fields may refer to them."""
    if isinstance(schema, list):
        for branch in schema:
            _collect_names(branch, named)
    elif isinstance(schema, dict):
        if schema.get("type") in ("record", "enum", "fixed"):
            named[schema["name"]] = schema
        for field in schema.get("fields", ()):
            _collect_names(field["type"], named)
        for inner in ("items", "values"):
            _collect_names(schema.get(inner), named)
        if isinstance(schema.get("type"), (dict, list)):
            _collect_names(schema["type"], named)


def _type_of(schema: Any, named: dict[str, Any], depth: int = 0) -> pa.DataType:
    """Return the type of Arrow that holds values of a schema; a union of several types is a text."""
    if depth > _DEEPEST:
        raise TableReadError("its records lie within each other more than 20 deep")
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null"]
        if len(branches) == 1:
            return _type_of(branches[0], named, depth + 1)
        return pa.string() if branches else pa.null()
    if isinstance(schema, str):
        known = _PLAIN.get(schema)
        return _type_of(named[schema], named, depth + 1) if known is None else known
    kind, logical = schema["type"], schema.get("logicalType", "")
    if isinstance(kind, (dict, list)):
        return _type_of(kind, named, depth + 1)
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision = int(schema["precision"])
        wide = pa.decimal128 if precision <= 38 else pa.decimal256
        return wide(precision, int(schema.get("scale", 0)))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "array":
        return pa.list_(_type_of(schema["items"], named, depth + 1))
    if kind == "map":
        return pa.map_(pa.string(), _type_of(schema["values"], named, depth + 1))
    if kind == "record":
        return pa.struct([(field["name"], _type_of(field["type"], named, depth + 1)) for field in schema["fields"]])
    return _type_of(kind, named, depth + 1)
