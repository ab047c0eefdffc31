"""Opening Iceberg tables by their directory, without a catalogue: the rows of the current snapshot."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import fs

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.roots import is_below, local_path, open_root, resolve
from dfjoin.sources.table_reader import TableFile, TableReader, open_typed, with_reasons
from dfjoin.types import TableSource

__all__ = ["fingerprint_of_iceberg", "open_iceberg"]

_METADATA = re.compile(r"v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json")


def _table_of(source: TableSource) -> Any:
    """Open a table by the latest of its metadata files: the one of the highest number."""
    pyiceberg = import_optional("pyiceberg.table", extra="iceberg", purpose="reading Iceberg tables")
    filesystem, _ = open_root(source.root.uri)
    place = resolve(source.root, source.path)
    found = []
    for info in filesystem.get_file_info(fs.FileSelector(f"{place}/metadata")):
        name = _METADATA.fullmatch(info.base_name)
        if name is not None:
            found.append((int(name[1]), info.mtime_ns or 0, info.base_name))
    if not found:
        raise TableReadError("the table has no metadata file")
    base = place if local_path(source.root.uri) is not None else f"{source.root.uri.rstrip('/')}/{source.path}"
    return pyiceberg.StaticTable.from_metadata(f"{base}/metadata/{max(found)[2]}")


def _mark(table: Any) -> int:
    known = table.metadata
    text = f"iceberg:{known.table_uuid}:{known.current_snapshot_id}:{known.current_schema_id}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def fingerprint_of_iceberg(source: TableSource) -> int:
    """Tell the snapshot of a table, whose files are not read."""
    with with_reasons():
        return _mark(_table_of(source))


def open_iceberg(file: TableFile) -> TableReader:
    """Open a table, see `dfjoin.sources.readers.open_table`."""
    with with_reasons():
        table = _table_of(file.source)
        _check_places(table, file.source)
        schema = table.schema().as_arrow()
        mark = _mark(table)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in table.scan(selected_fields=tuple(columns)).to_arrow_batch_reader():
            yield batch.select(columns)

    return open_typed(file, schema, batches).within(lambda: mark, table)


def _check_places(table: Any, source: TableSource) -> None:
    """Refuse a table whose metadata names files elsewhere: it was moved, or is not to be trusted."""
    if local_path(source.root.uri) is None:
        place = f"{source.root.uri.rstrip('/')}/{source.path}/"
        is_inside = lambda uri: uri.startswith(place)  # noqa: E731
    else:
        here = resolve(source.root, source.path)
        is_inside = lambda uri: is_below(local_path(uri) or "/", here)  # noqa: E731
    for task in table.scan().plan_files():
        for named in (task.file, *task.delete_files):
            if not is_inside(named.file_path):
                raise TableReadError("a file of it lies outside of its directory: the table was moved; write it anew")
