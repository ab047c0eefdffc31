"""Opening JSON lines: objects as rows, their names as columns of text."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import Utf8Stream, max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES
from dfjoin.sources.fingerprint import WHOLE_FILE_LIMIT
from dfjoin.sources.table_reader import (
    TableFile,
    TableReader,
    encoding_of,
    open_stream,
    read_head,
    reject_pointer,
)
from dfjoin.values.names import clean_names

__all__ = ["json_column", "open_jsonl", "parse_json", "without_collections"]

_MOST_DIGITS = 640
"""Digits that Python converts to an integer, whatever limit a process has."""
_ROWS_PER_BATCH = 1 << 16
_CELLS_PER_BATCH = 1 << 22


def open_jsonl(file: TableFile) -> TableReader:
    """Open JSON lines; they are read twice, first for the names of the columns, unless one chunk holds all."""
    filesystem, path, wanted = file.filesystem, file.path, file.wanted
    reject_pointer(filesystem, path)
    with open_stream(filesystem, path) as stream:
        head = read_head(stream, SAMPLE_BYTES + 1)
    if not head.strip():
        raise TableReadError("the file is empty")
    encoding = encoding_of(head)

    def chunks() -> Iterator[list[dict[str, Any]]]:
        with open_stream(filesystem, path) as stream:
            yield from _json_chunks(Utf8Stream(stream, encoding))

    names_seen: dict[str, None] = {}
    only: list[list[dict[str, Any]]] | None = None  # a file of one chunk is parsed once
    for number, chunk in enumerate(chunks()):
        only = [chunk] if number == 0 else None
        for row in chunk:
            names_seen.update(dict.fromkeys(row))
            if len(names_seen) > wanted.limit:
                raise max_columns_error(wanted.limit)
    raw = list(names_seen)
    names = clean_names(raw)
    wanted.check(names)
    chosen = wanted.raw(raw, names)
    schema = pa.schema([(c, pa.string()) for c in wanted.names(names)])

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in only or chunks():
            present = set().union(*chunk)
            nothing = pa.nulls(len(chunk), pa.string())
            arrays = [json_column([row.get(c) for row in chunk]) if c in present else nothing for c in chosen]
            yield pa.record_batch(arrays, schema=schema)

    return TableReader(names, None, batches, file.fingerprint)


def json_column(values: Sequence[Any]) -> pa.Array:
    """Return JSON values as texts."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {bool}:
        return pa.array(values, pa.bool_()).cast(pa.string())
    if kinds == {int}:
        with suppress(OverflowError):
            return pa.array(values, pa.int64()).cast(pa.string())
    if kinds == {float} and None not in values and math.isfinite(sum(values)):
        return pa.array(list(map(repr, values)), pa.string())
    if kinds - {str}:
        values = list(map(_json_text, values))
    return pa.array(values, pa.string())


def _json_text(value: Any) -> str | None:
    """Write a JSON value as the text that a table of text columns would hold."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _json_chunks(stream: Any) -> Iterator[list[dict[str, Any]]]:
    """Parse JSON lines in UTF-8 into lists of objects; a list whose objects differ in their names is the shorter."""
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    rest = b""
    number = 0
    while True:
        block = stream.read(4 << 20)
        *lines, rest = (rest + block).split(b"\n")
        if not block and rest:
            lines.append(rest)
        for line in lines:
            number += 1
            _check_length(line, number)
            if line.strip():
                rows.append(_json_object(line, number))
                names.update(rows[-1])
            if len(rows) >= _ROWS_PER_BATCH or len(rows) * len(names) > _CELLS_PER_BATCH:
                yield rows
                rows, names = [], set()
        if not block:
            break
        _check_length(rest, number + 1)
    if rows:
        yield rows


def _check_length(line: bytes, number: int) -> None:
    if len(line) > WHOLE_FILE_LIMIT:
        raise TableReadError(f"line {number} is longer than {WHOLE_FILE_LIMIT >> 20} MiB")


@contextmanager
def without_collections() -> Iterator[None]:
    """Leave out the looks for cycles of objects, which take half of the time: what JSON makes has none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_json(text: str) -> Any:
    """Parse a JSON text; integers of more digits than Python converts are texts."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= _MOST_DIGITS else digits)


def _json_object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = parse_json(line.decode())
    except RecursionError as error:
        raise TableReadError(
            f"line {number} has lists or objects within each other that are too many to be read; write such a field as "
            "a text"
        ) from error
    except ValueError as error:
        raise TableReadError(f"line {number} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise TableReadError(f"line {number} holds {type(value).__name__}, not an object with named fields")
    return value
