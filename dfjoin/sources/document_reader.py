"""Opening JSON documents: an array of objects is a table, and so is each list of objects within them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import Utf8Stream, max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES
from dfjoin.sources.json_reader import (
    cells_by_name,
    json_column,
    open_jsonl,
    parse_json,
    valid_text,
    without_collections,
)
from dfjoin.sources.table_reader import Member, TableFile, TableReader, encoding_of, open_stream, reject_pointer
from dfjoin.values.header_meaning import clean_names

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
    """Objects as rows whose fields are flat, and the lists of objects that they hold, by name.

    Where all objects have the same fields in the same order, the values are held by field, in `columns`.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    columns: dict[str, Sequence[Any]] | None = None
    children: dict[str, _Children] = field(default_factory=dict)

    def values(self, name: str, first: int = 0, end: int | None = None) -> Sequence[Any]:
        """Return a field of some rows; None where a row lacks it."""
        if self.columns is not None:
            return self.columns[name][first:end]
        return [row.get(name) for row in self.rows[first:end]]

    def number_rows(self, n_rows: int) -> tuple[str, list[Any]]:
        """Make the number of a row a field, and return it."""
        if self.columns is not None:
            self.columns["row"] = range(n_rows)
        for number, row in enumerate(self.rows):
            row["row"] = number
        return "row", list(range(n_rows))


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
        with without_collections():
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
        yield Member(valid_text(name), partial(_open_rows, file, table))


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
        with without_collections():
            table = _flattened(rows, keys)
            key = ""
            values: list[Any] = []
            if table.children:
                key, values = _key_of(table) or table.number_rows(len(rows.rows))
        yield name, table
        for child, objects in table.children.items():
            inner = f"{name}/{child}" if name else child
            pending.append((inner, objects, (f"parent.{key}", values)))  # type: ignore[arg-type]
        table.children.clear()


def _lists_of(document: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the lists of objects that a document is or names; else the only one that an object within it names."""
    level = {"": document}
    for depth in range(_DEEPEST):
        found = {name: value for name, value in level.items() if _is_list_of_objects(value)}
        if found:
            return found if depth < 2 or len(found) == 1 else {}
        inner = [(name, value) for name, value in level.items() if isinstance(value, dict)]
        level = {f"{name}.{own}" if name else own: value for name, values in inner for own, value in values.items()}
    return {}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and set(map(type, value)) == {dict}


def _flattened(given: _Children, keys: Any) -> _Table:
    """Make rows of objects: fields of objects within them are named ``a.b``, lists of objects are set apart."""
    children: dict[str, _Children] = {}
    columns = _columns(given.rows, "", children, 0) if given.rows[0] else None
    if columns is not None and (keys is None or keys[0] not in columns):
        children = dict(sorted(children.items(), key=lambda child: child[1].parents[0]))  # as the objects name them
        if keys is not None:
            columns = {keys[0]: [keys[1][parent] for parent in given.parents], **columns}
        return _Table([], columns, children)
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


def _columns(
    objects: Sequence[dict[str, Any]], start: str, children: dict[str, _Children], depth: int
) -> dict[str, Sequence[Any]] | None:
    """Return the values of each field of objects that all have the same ones in the same order; None for others.

    None, too, where two fields have one name when they are flat, as ``a.b`` and ``b`` of ``a``.
    """
    cells = cells_by_name(objects) if depth <= _DEEPEST else None
    if cells is None:
        return None
    found: dict[str, Sequence[Any]] = {}
    for name, values in cells.items():
        own, kinds = f"{start}{name}", set(map(type, values))
        if kinds == {dict}:
            inner = _columns(values, f"{own}.", children, depth + 1)
            if inner is None or inner.keys() & found.keys():
                return None
            found |= inner
        elif dict in kinds or own in found or own in children:
            return None
        elif list in kinds:
            kept = _without_objects(values, own, children)
            if kept is not None and kept[0] is None and values[0] is not None:
                return None  # the first object lacks it, so that it comes after others
            if kept is not None:
                found[own] = kept
        else:
            found[own] = values
    return found


def _without_objects(values: Sequence[Any], name: str, children: dict[str, _Children]) -> list[Any] | None:
    """Set lists of objects apart, and leave other values in their places; None if none is left."""
    kept: list[Any] = []
    is_left = False
    for number, value in enumerate(values):
        if type(value) is list and _is_list_of_objects(value):
            parents, rows = children.setdefault(name, _Children([], []))
            parents += [number] * len(value)
            rows += value
            kept.append(None)
        else:
            is_left = is_left or value != []
            kept.append(None if value == [] else value)
    return kept if is_left else None


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


def _key_of(table: _Table) -> tuple[str, list[Any]] | None:
    """Return the field that tells the rows from each other, and its values: one named ``id``, else the first."""
    known = table.rows[0] if table.columns is None else table.columns
    for name in sorted(known, key=lambda name: name.casefold() not in ("id", "_id", "key", "uuid")):
        values = list(table.values(name))
        if set(map(type, values)) <= {str, int} and len({*values}) == len(values):
            return name, values
    return None


def _open_rows(file: TableFile, table: _Table) -> TableReader:
    seen: dict[str, None] = dict.fromkeys(table.columns or ())
    n_rows = max(len(table.rows), *(len(values) for values in (table.columns or {"": ()}).values()))
    if len(seen) > file.wanted.limit:
        raise max_columns_error(file.wanted.limit)
    for row in table.rows:
        if not row.keys() <= seen.keys():
            seen.update(dict.fromkeys(row))
            if len(seen) > file.wanted.limit:
                raise max_columns_error(file.wanted.limit)
    raw = list(seen)
    names = clean_names(list(map(valid_text, raw)))
    file.wanted.check(names)
    chosen = file.wanted.raw(raw, names)
    schema = pa.schema([(name, pa.string()) for name in file.wanted.names(names)])

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, n_rows, _ROWS_PER_BATCH):
            arrays = [json_column(table.values(name, first, first + _ROWS_PER_BATCH)) for name in chosen]
            yield pa.record_batch(arrays, schema=schema)

    return TableReader(names, None, batches, file.fingerprint)
