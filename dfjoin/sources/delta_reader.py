"""Opening Delta tables without Spark: the live rows of the latest version, or of an older one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import dataset

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.roots import fingerprint_text, is_below, local_path, number_or_time, resolve
from dfjoin.sources.table_reader import NotAppended, TableFile, TableReader, open_typed, with_reasons
from dfjoin.types import TableSource

_ROWS_PER_BATCH = 1 << 15


def _table_of(source: TableSource) -> Any:
    """Open the version of a table that is named, the latest by default."""
    deltalake = import_optional("deltalake", extra="delta", purpose="reading Delta tables")
    base = local_path(source.root.uri)
    location = resolve(source.root, source.path) if base is not None else f"{source.root.uri.rstrip('/')}/{source.path}"
    table = deltalake.DeltaTable(location)
    if source.version:
        table.load_as_version(number_or_time(source.version))
    return table


def _check_locations(table: Any, source: TableSource, is_by_engine: bool) -> None:
    """Refuse files elsewhere: the log may name any path, and the library's own engine would read it."""
    if local_path(source.root.uri) is None:
        if is_by_engine:
            raise TableReadError(
                "it has deletion vectors or mapped columns, which are read of local tables only; give it as a Spark "
                "table"
            )
        return
    location = resolve(source.root, source.path)
    for uri in table.file_uris():
        if not any(os.path.isfile(path) and is_below(path, os.path.realpath(location)) for path in (uri, unquote(uri))):  # noqa: PTH113
            raise TableReadError("a file of it is missing, or lies outside of its directory, as in a shallow clone")


def _mark(table: Any) -> int:
    return _mark_of(table, table.version())


def _mark_of(table: Any, version: int) -> int:
    return fingerprint_text(f"delta:{table.metadata().id}:{version}")


def fingerprint_of_delta(source: TableSource) -> int:
    """Tell the version of a table, whose files are not read."""
    with with_reasons():
        return _mark(_table_of(source))


def open_delta(file: TableFile) -> TableReader:
    """Open a table, see `dfjoin.sources.readers.open_table`.

    Notes
    -----
    Tables with deletion vectors or mapped columns are read by the library's own engine: it leaves marked rows out, and
    knows that a column has another name in the files than in the table, once it was renamed.
    """
    with with_reasons():
        table = _table_of(file.source)
        schema = pa.schema(table.schema().to_arrow())
        is_by_engine = _needs_engine(table)
        _check_locations(table, file.source, is_by_engine)
        mark = _mark(table)
    known = None if file.since is None else _known_files(table, file)

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        if is_by_engine:
            yield from _queried(table, columns)
        else:
            found = table.to_pyarrow_dataset()
            if known is not None:
                new = [one for one in found.get_fragments() if one.path not in known]
                found = dataset.FileSystemDataset(new, found.schema, found.format, found.filesystem)
            yield from found.to_batches(columns=columns, batch_size=_ROWS_PER_BATCH, use_threads=False)

    return open_typed(file, schema, batches).within(lambda: mark, table)


def live_files(source: TableSource) -> tuple[list[str], pa.Schema] | None:
    """Return the files of a local table whose rows are all live, in the order in which they are read, and its schema.

    Parameters
    ----------
    source : TableSource

    Returns
    -------
    tuple of list of str and pyarrow.Schema, or None
        POSIX paths below the root; None for a table elsewhere, and where the library's own engine has to read it.
    """
    if local_path(source.root.uri) is None:
        return None
    with with_reasons():
        table = _table_of(source)
        if _needs_engine(table):
            return None
        names = [one.path for one in table.to_pyarrow_dataset().get_fragments()]
        return [f"{source.path}/{name}".removeprefix("./") for name in names], pa.schema(table.schema().to_arrow())


def _needs_engine(table: Any) -> bool:
    """Tell whether files of data have other rows or names of columns than the table; none of them fails otherwise."""
    is_mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    return is_mapped or "deletionVectors" in (table.protocol().reader_features or ())


def _known_files(table: Any, file: TableFile) -> set[str]:
    """Return the files of the version that had a fingerprint, if all of them are live and columns are what they were.

    Files of data do not change; what deletion vectors leave out of them does, and the engine reads all files.
    """
    earlier = range(table.version() - 1, -1, -1)
    number = next((one for one in earlier if _mark_of(table, one) == file.since), None)
    if number is None or _needs_engine(table):
        raise NotAppended
    try:
        with with_reasons():
            old = _table_of(replace(file.source, version=f"v{number}"))
            is_same = old.schema().to_json() == table.schema().to_json() and not _needs_engine(old)
            before, now = ({one.path for one in it.to_pyarrow_dataset().get_fragments()} for it in (old, table))
    except TableReadError as error:  # the log was cleaned up since
        raise NotAppended from error
    if not is_same or not before <= now:
        raise NotAppended
    return before


def _queried(table: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
    deltalake = import_optional("deltalake", extra="delta", purpose="reading Delta tables")
    chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    found = deltalake.QueryBuilder().register("given", table).execute(f"SELECT {chosen} FROM given")
    yield from pa.RecordBatchReader.from_stream(found)
