"""Opening Iceberg tables, by their directory or by the name of a catalogue: the rows of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from dfjoin._optional import import_optional
from dfjoin.errors import DfjoinError, InvalidParameterError, TableReadError
from dfjoin.sources.database_server import path_of_table, schema_and_table, uri_of
from dfjoin.sources.roots import (
    fingerprint_text,
    is_below,
    local_path,
    number_or_time,
    open_root,
    resolve,
    split_version,
)
from dfjoin.sources.table_reader import NotAppended, TableFile, TableReader, open_typed
from dfjoin.types import Root, TableSource

_METADATA = re.compile(r"v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json")
_BEFORE_AT = re.compile(r"\S*@")


def location_of_iceberg(given: str | Callable[[], str]) -> str:
    """Return the URI of a catalogue, ``iceberg://name``, and of a namespace in it: ``iceberg://name/namespace``."""
    parts = urlsplit(uri_of(given))
    if not parts.netloc or "@" in parts.netloc or parts.query:
        raise InvalidParameterError(
            "`source` must name a catalogue of pyiceberg alone: iceberg://name or iceberg://name/namespace; its "
            "address and credentials stand in ~/.pyiceberg.yaml or in PYICEBERG_CATALOG__<NAME>__URI and the like"
        )
    version = split_version(parts.path)[1]
    if version:
        raise InvalidParameterError(
            f"`source` names version {version!r} of what a catalogue holds, which is read as it is now; give the "
            f"directory or URI of the table for its older version: path/of/table@{version}"
        )
    return f"iceberg://{parts.netloc}/{parts.path.strip('/')}".rstrip("/")


@contextmanager
def _safe_reasons() -> Iterator[None]:
    """Turn every failure into a `TableReadError`, without the credentials of a URI, which stand before ``@``."""
    try:
        yield
    except (DfjoinError, NotAppended):
        raise
    except Exception as error:
        text = _BEFORE_AT.sub("…@", str(error)).strip()
        raise TableReadError(f"{type(error).__name__}: {text[:300]}") from None


@contextmanager
def _catalogue_of(root: Root) -> Iterator[Any]:
    """Load a catalogue."""
    catalogues = import_optional("pyiceberg.catalog", extra="iceberg", purpose="reading Iceberg tables")
    with _safe_reasons():
        yield catalogues.load_catalog(urlsplit(root.uri).netloc)


def tables_of_iceberg(root: Root) -> Iterator[TableSource]:
    """List the tables of a catalogue, or of a namespace in it, as ``namespace.table``."""
    with _catalogue_of(root) as catalogue:
        top = urlsplit(root.uri).path.strip("/")
        waiting = [tuple(top.split("."))] if top else list(catalogue.list_namespaces())
        found = []
        while waiting:
            namespace = waiting.pop()
            found += catalogue.list_tables(namespace)
            waiting += [below for below in catalogue.list_namespaces(namespace) if len(below) > len(namespace)]
    for *namespace, table in sorted(set(found)):
        path = path_of_table(".".join(namespace), table)
        yield TableSource(".".join([*namespace, table]), root, path, "iceberg", 0, 0, (path,))


def _table_of(source: TableSource) -> Any:
    """Open a table by its catalogue, or by the latest of its metadata files: the one of the highest number."""
    if source.root.kind == "database":
        namespace, name = schema_and_table(source.path)
        with _catalogue_of(source.root) as catalogue:
            return catalogue.load_table((*namespace.split("."), name))
    pyiceberg = import_optional("pyiceberg.table", extra="iceberg", purpose="reading Iceberg tables")
    filesystem, _ = open_root(source.root.uri)
    location = resolve(source.root, source.path)
    found = []
    for info in filesystem.get_file_info(fs.FileSelector(f"{location}/metadata")):
        number = _METADATA.fullmatch(info.base_name)
        if number is not None:
            found.append((int(number[1]), info.mtime_ns or 0, info.base_name))
    if not found:
        raise TableReadError("the table has no metadata file")
    base = location if local_path(source.root.uri) is not None else f"{source.root.uri.rstrip('/')}/{source.path}"
    return pyiceberg.StaticTable.from_metadata(f"{base}/metadata/{max(found)[2]}")


def _snapshot_of(table: Any, source: TableSource) -> Any:
    """Return the snapshot that is named, the current one by default; None of a table without rows."""
    if not source.version:
        return table.current_snapshot()
    wanted = number_or_time(source.version)
    if isinstance(wanted, int):
        found = table.snapshot_by_id(wanted)
    else:
        found = table.snapshot_as_of_timestamp(int(wanted.timestamp() * 1000))
    if found is None:
        raise TableReadError(f"the table has no snapshot {source.version}; `v` stands before the id of a snapshot")
    return found


def _mark(table: Any, source: TableSource) -> int:
    known, snapshot = table.metadata, _snapshot_of(table, source)
    schema = known.current_schema_id if not source.version else snapshot.schema_id
    return _mark_of(table, snapshot.snapshot_id if snapshot else None, schema)


def _mark_of(table: Any, snapshot: int | None, schema: int | None) -> int:
    return fingerprint_text(f"iceberg:{table.metadata.table_uuid}:{snapshot}:{schema}")


def fingerprint_of_iceberg(source: TableSource) -> int:
    """Tell the snapshot of a table, whose files are not read."""
    with _safe_reasons():
        return _mark(_table_of(source), source)


def open_iceberg(file: TableFile) -> TableReader:
    """Open a table, see `dfjoin.sources.readers.open_table`."""
    with _safe_reasons():
        table = _table_of(file.source)
        snapshot = _snapshot_of(table, file.source)
        number = snapshot.snapshot_id if file.source.version else None
        if file.source.root.kind != "database":
            _check_locations(table.scan(snapshot_id=number), file.source)
        schema = table.scan(snapshot_id=number).projection().as_arrow()
        mark = _mark(table, file.source)
    known = None if file.since is None else _known_files(table, file.since)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        scan = table.scan(snapshot_id=number, selected_fields=tuple(columns))
        if known is None:
            with _safe_reasons():
                for batch in scan.to_arrow_batch_reader():
                    yield batch.select(columns)
            return
        with _safe_reasons():
            new = [task for task in scan.plan_files() if _file_of(task) not in known]
            if any(task.delete_files for task in new):
                raise NotAppended
            n_rows = sum(task.file.record_count for task in new)
            scan.plan_files = lambda: new
            for batch in scan.to_arrow_batch_reader():
                n_rows -= batch.num_rows
                yield batch.select(columns)
            if n_rows:  # a version of pyiceberg that plans the files elsewhere reads others, too
                raise NotAppended

    return open_typed(file, schema, batches).within(lambda: mark, table)


def _file_of(task: Any) -> tuple[str, ...]:
    """Name a file of data, and those that delete rows of it; neither changes."""
    return task.file.file_path, *sorted(one.file_path for one in task.delete_files)


def _known_files(table: Any, since: int) -> set[tuple[str, ...]]:
    """Return the files of the snapshot that had a fingerprint, if all of them are live, with the columns of today."""
    schema = table.metadata.current_schema_id
    snapshots = (one for one in table.metadata.snapshots if _mark_of(table, one.snapshot_id, schema) == since)
    old = next(snapshots, None)
    if old is None:
        raise NotAppended
    try:
        with _safe_reasons():
            before = {_file_of(task) for task in table.scan(snapshot_id=old.snapshot_id).plan_files()}
            now = {_file_of(task) for task in table.scan().plan_files()}
    except TableReadError as error:  # the snapshot has expired
        raise NotAppended from error
    if not before <= now:
        raise NotAppended
    return before


def _check_locations(scan: Any, source: TableSource) -> None:
    """Refuse a table whose metadata names files elsewhere: it was moved, or is not to be trusted."""
    if local_path(source.root.uri) is None:
        location = f"{source.root.uri.rstrip('/')}/{source.path}/"
        is_inside = lambda uri: uri.startswith(location)  # noqa: E731
    else:
        here = resolve(source.root, source.path)
        is_inside = lambda uri: is_below(local_path(uri) or "/", here)  # noqa: E731
    for task in scan.plan_files():
        for named in (task.file, *task.delete_files):
            if not is_inside(named.file_path):
                raise TableReadError("a file of it lies outside of its directory: the table was moved; write it anew")
