"""Opening JSON lines: objects as rows, their names as columns of text."""

from __future__ import annotations

import gc
import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import Utf8Stream, max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES
from dfjoin.sources.roots import WHOLE_FILE_LIMIT
from dfjoin.sources.table_reader import (
    TableFile,
    TableReader,
    encoding_of,
    open_stream,
    read_head,
    reject_pointer,
)
from dfjoin.values.header_meaning import clean_names

_MOST_DIGITS = 640
"""Digits that Python converts to an integer, whatever limit a process has."""
_HALVES = re.compile("[\ud800-\udfff]")
_ROWS_PER_BATCH = 1 << 16
_CELLS_PER_BATCH = 1 << 22


def open_jsonl(file: TableFile) -> TableReader:
    """Open JSON lines; above 64 MiB of cells they are read twice, first for the names of the columns."""
    filesystem, path, wanted = file.filesystem, file.path, file.wanted
    reject_pointer(filesystem, path)
    with open_stream(filesystem, path) as stream:
        head = read_head(stream, SAMPLE_BYTES + 1, SAMPLE_BYTES + 1)
    if not head.strip():
        raise TableReadError("the file is empty")
    encoding = encoding_of(head)

    def chunks() -> Iterator[list[dict[str, Any]]]:
        with open_stream(filesystem, path) as stream:
            yield from _json_chunks(Utf8Stream(stream, encoding))

    names_seen: dict[str, None] = {}
    kept: list[tuple[int, dict[str, pa.Array]]] | None = []
    n_bytes = 0
    for chunk in chunks():
        names_seen.update(dict.fromkeys(chain.from_iterable(chunk)))
        if len(names_seen) > wanted.limit:
            raise max_columns_error(wanted.limit)
        if kept is not None:
            kept.append(_text_columns(chunk))
            n_bytes += sum(column.nbytes for column in kept[-1][1].values())
            kept = kept if n_bytes <= WHOLE_FILE_LIMIT else None
    raw = list(names_seen)
    names = clean_names(list(map(valid_text, raw)))
    wanted.check(names)
    chosen = wanted.raw(raw, names)
    schema = pa.schema([(c, pa.string()) for c in wanted.names(names)])

    def batches() -> Iterator[pa.RecordBatch]:
        for n_rows, columns in map(_text_columns, chunks()) if kept is None else kept:
            nothing = pa.nulls(n_rows, pa.string())
            yield pa.record_batch([columns.get(c, nothing) for c in chosen], schema=schema)

    return TableReader(names, None, batches, file.fingerprint)


def _text_columns(chunk: list[dict[str, Any]]) -> tuple[int, dict[str, pa.Array]]:
    """Return the number of some objects, and their columns."""
    cells = cells_by_name(chunk)
    if cells is None:
        cells = {name: [row.get(name) for row in chunk] for name in dict.fromkeys(chain.from_iterable(chunk))}
    return len(chunk), {name: json_column(values) for name, values in cells.items()}


def cells_by_name(objects: Sequence[dict[str, Any]]) -> dict[str, list[Any]] | None:
    """Return the values of objects that all have the same names in the same order, by name; None for others."""
    names = tuple(objects[0])
    if not all(map(names.__eq__, map(tuple, objects))):
        return None
    cells = list(chain.from_iterable(map(dict.values, objects)))
    return {name: cells[number :: len(names)] for number, name in enumerate(names)}


def json_column(values: Sequence[Any]) -> pa.Array:
    """Return JSON values as texts."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {bool}:
        return pa.array(values, pa.bool_()).cast(pa.string())
    if kinds == {int}:
        with suppress(OverflowError):
            return pa.array(values, pa.int64()).cast(pa.string())
    if kinds == {float}:
        return _float_texts(values)
    if kinds - {str}:
        values = list(map(_json_text, values))
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([None if value is None else valid_text(value) for value in values], pa.string())


def _float_texts(values: Sequence[float | None]) -> pa.Array:
    """Write floats as Python does; Arrow writes those of a usual size with a fraction alike, in a tenth of the time."""
    floats = pa.array(values, pa.float64())
    texts, numbers = floats.cast(pa.string()), floats.to_numpy(zero_copy_only=False)
    is_usual = (np.abs(numbers) >= 1e-4) & (np.abs(numbers) < 1e10) & (np.floor(numbers) != numbers)
    others = [_json_text(values[row]) for row in np.flatnonzero(~is_usual).tolist()]
    return pc.replace_with_mask(texts, pa.array(~is_usual), pa.array(others, pa.string())) if others else texts


def valid_text(text: str) -> str:
    """Return a text that can be written: JSON may escape halves of a character that stands alone."""
    return _HALVES.sub("\ufffd", text)


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
    rest = b""
    number = 0
    while True:
        block = stream.read(4 << 20)
        *lines, rest = (rest + block).split(b"\n")
        if not block and rest:
            lines.append(rest)
        for line in lines[:1]:  # the others are parts of the block
            _check_length(line, number + 1)
        with without_collections():
            rows = _json_objects([line for line in lines if line and not line.isspace()])
            if rows is None:
                numbered = ((line, number + n) for n, line in enumerate(lines, 1) if line.strip())
                rows = [_json_object(line, n) for line, n in numbered]
        number += len(lines)
        n_names = len(set().union(*rows))
        step = max(1, min(_ROWS_PER_BATCH, _CELLS_PER_BATCH // max(1, n_names)))
        for first in range(0, len(rows), step):
            yield rows[first : first + step]
        if not block:
            break
        _check_length(rest, number + 1)


def _json_objects(lines: list[bytes]) -> list[dict[str, Any]] | None:
    """Parse lines at once, which takes half of the time; None if one of them is no object, or needs more care.

    A number between any two lines tells whether an object ends with its line: in an object nothing reads so, and in a
    list of an object it would not stand between two objects.
    """
    try:
        values = json.loads(f"[{b',0,'.join(lines).decode()}]")
    except (ValueError, RecursionError):
        return None
    rows, between = values[::2], values[1::2]
    is_each_one = len(rows) == len(lines) and set(map(type, between)) <= {int}
    return rows if is_each_one and set(map(type, rows)) <= {dict} else None


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
