"""Opening JSON documents: an array of objects is a table, and so is each list of objects within them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import Utf8Stream, max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES
from dfjoin.sources.json_reader import json_column, open_jsonl, parse_json
from dfjoin.sources.table_reader import Member, TableFile, TableReader, encoding_of, open_stream, reject_pointer
from dfjoin.values.names import clean_names

__all__ = ["members_of_json"]

_MAX_BYTES = 256 << 20
_MAX_TABLES = 1000
_DEEPEST = 50
_ROWS_PER_BATCH = 1 << 14


class _Children(NamedTuple):
    """Objects of lists, and for each the number of the row that holds it."""

    parents: list[int]
    rows: list[dict[str, Any]]


@dataclass
class _Table:
    """Objects as rows whose fields are flat, and the lists of objects that they hold, by name."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    children: dict[str, _Children] = field(default_factory=dict)


def members_of_json(file: TableFile) -> Iterator[Member]:
    """Find the tables of a document, see `dfjoin.sources.readers.tables_of`.

    Notes
    -----
    The document is held in memory. One that has an object a line is read as JSON lines.
    """
    reject_pointer(file.filesystem, file.path)
    with open_stream(file.filesystem, file.path) as stream:
        head = stream.read(SAMPLE_BYTES)
    if not head.strip():
        raise TableReadError("the file is empty")
    with open_stream(file.filesystem, file.path) as stream:
        text = Utf8Stream(stream, encoding_of(head)).read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise TableReadError(f"the document is larger than {_MAX_BYTES >> 20} MiB; write a record a line, as .jsonl")
    try:
        document = parse_json(text.decode())
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip()[:1] == b"{":
            yield Member("", partial(open_jsonl, file), "jsonl")
            return
        raise TableReadError(f"it is not JSON ({error})") from error
    except RecursionError as error:
        raise TableReadError("its lists or objects lie within each other too deep to be read") from error
    del text
    for name, table in _tables_of(document):
        yield Member(name, partial(_open_rows, file, table.rows))


def _tables_of(document: Any) -> Iterator[tuple[str, _Table]]:
    """Find the lists of objects of a document: itself, or those that it names; and what lies in their objects."""
    found = _lists_of(document)
    if not found:
        raise TableReadError("it is neither an array of objects nor an object that has one")
    pending = [("" if len(found) == 1 else name, _Children([], rows), None) for name, rows in found.items()]
    n = 0
    while pending:
        name, rows, keys = pending.pop(0)
        n += 1
        if n > _MAX_TABLES:
            raise TableReadError(f"it holds more than {_MAX_TABLES:,} lists of objects")
        table = _flattened(rows, keys)
        key, values = _key_of(table.rows) if table.children else ("", [])
        if table.children and not key:
            key, values = "row", list(range(len(table.rows)))
            for number, row in enumerate(table.rows):
                row["row"] = number
        yield name, table
        for child, objects in table.children.items():
            inner = f"{name}/{child}" if name else child
            pending.append((inner, objects, (f"parent.{key}", values)))  # type: ignore[arg-type]
        table.children.clear()


def _lists_of(document: Any) -> dict[str, list[dict[str, Any]]]:
    if _is_list_of_objects(document):
        return {"": document}
    if not isinstance(document, dict):
        return {}
    return {name: value for name, value in document.items() if _is_list_of_objects(value)}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _flattened(given: _Children, keys: Any) -> _Table:
    """Make rows of objects: fields of objects within them are named ``a.b``, lists of objects are set apart."""
    table = _Table()
    kinds = set().union(*(map(type, row.values()) for row in given.rows))
    if keys is None and not kinds & {dict, list}:
        table.rows = given.rows
        return table
    for number, row in enumerate(given.rows):
        flat: dict[str, Any] = {}
        if keys is not None:
            flat[keys[0]] = keys[1][given.parents[number]]
        _flatten(row, "", flat, table, 0)
        table.rows.append(flat)
    return table


def _flatten(value: dict[str, Any], start: str, flat: dict[str, Any], table: _Table, depth: int) -> None:
    if depth > _DEEPEST:
        raise TableReadError(f"its objects lie within each other more than {_DEEPEST} deep")
    for name, inner in value.items():
        own = f"{start}{name}"
        if isinstance(inner, dict):
            _flatten(inner, f"{own}.", flat, table, depth + 1)
        elif type(inner) is list and _is_list_of_objects(inner):
            parents, rows = table.children.setdefault(own, _Children([], []))
            parents += [len(table.rows)] * len(inner)
            rows += inner
        elif inner != []:
            flat[own] = inner


def _key_of(rows: list[dict[str, Any]]) -> tuple[str, list[Any]]:
    """Return the field that tells the rows from each other, and its values: one named ``id``, else the first."""
    names = sorted(rows[0], key=lambda name: name.casefold() not in ("id", "_id", "key", "uuid"))
    for name in names:
        values = [row.get(name) for row in rows]
        if all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in values) and len({*values}) == len(rows):
            return name, values
    return "", []


def _open_rows(file: TableFile, rows: list[dict[str, Any]]) -> TableReader:
    seen: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= seen.keys():
            seen.update(dict.fromkeys(row))
            if len(seen) > file.wanted.limit:
                raise max_columns_error(file.wanted.limit)
    raw = list(seen)
    names = clean_names(raw)
    file.wanted.check(names)
    chosen = file.wanted.raw(raw, names)
    schema = pa.schema([(name, pa.string()) for name in file.wanted.names(names)])

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(rows), _ROWS_PER_BATCH):
            part = rows[first : first + _ROWS_PER_BATCH]
            yield pa.record_batch([json_column(part, name) for name in chosen], schema=schema)

    return TableReader(names, None, batches, file.fingerprint)
