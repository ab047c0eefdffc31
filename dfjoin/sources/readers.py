"""Opening a table of any kind as names and record batches. The one way that tables of files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import MissingDependencyError, TableReadError
from dfjoin.index.file_store import reason_of_store
from dfjoin.sources.roots import fingerprint, fingerprints_of_parts, open_root, resolve
from dfjoin.sources.table_kinds import KINDS, kind_of_file
from dfjoin.sources.table_reader import Member, TableFile, TableReader, WantedColumns
from dfjoin.sources.wanted_rows import RowsByKey
from dfjoin.types import Dialect, GivenDialect, IndexSettings, TableSource


def tables_of(
    source: TableSource, given: GivenDialect, max_columns: int
) -> Iterator[tuple[TableSource, Callable[[], TableReader]]]:
    """Find the tables of a source: itself, or those that its file holds, each with what opens it.

    Parameters
    ----------
    source : TableSource
    given : GivenDialect
        What the user says of how it is written.
    max_columns : int
        The most columns that a table may have.

    Raises
    ------
    TableReadError
        If the file cannot be opened, or holds no table.
    """
    if not KINDS[source.format].has_members or source.member:
        yield source, partial(open_table, source, dialect=given, max_columns=max_columns)
        return
    n = 0
    try:
        for member in _members(_file_of(source, given, WantedColumns(None, max_columns))):
            n += 1
            ending = f"/{member.name}" if member.name else ""
            format_ = member.format or source.format
            own = replace(source, name=source.name + ending, path=source.path + ending, format=format_)  # type: ignore[arg-type]
            yield own, partial(_open, member.open)
    except (pa.ArrowException, OSError, UnicodeError, MissingDependencyError) as error:
        raise TableReadError(_reason(error)) from error
    if not n:
        raise TableReadError("it holds no table")


def open_table(
    source: TableSource,
    *,
    dialect: Dialect | GivenDialect | None = None,
    columns: Sequence[str] | None = None,
    max_columns: int = IndexSettings.max_columns,
    parts: Sequence[str] | None = None,
    rows: RowsByKey | None = None,
) -> TableReader:
    """Open a table of a file root.

    Parameters
    ----------
    source : TableSource
        The table; its files are looked for below its root only.
    dialect : Dialect or GivenDialect, optional
        How a delimited file is written, as recorded when it was first read; or what the user says of it, where the file
        itself tells the rest, or all by default.
    columns : sequence of str, optional
        The columns wanted, in this order; all by default.
    max_columns : int
        The most columns that the table may have.
    parts : sequence of str, optional
        Those of `source.parts` whose rows are wanted, of a table that is a directory of files; all by default.
    rows : RowsByKey, optional
        The rows that are wanted, by their keys; a server of a database sends these alone, other sources all rows.

    Returns
    -------
    TableReader
        Delimited files have text columns only; other formats keep their types.

    Raises
    ------
    TableReadError
        If the file is no table, or has too many columns; the text is the reason.
    ColumnNotFoundError
        If a wanted column is not there.

    Notes
    -----
    A delimited file up to 64 MiB (decompressed) is read at once, a larger one streamed.
    """

    def opened() -> TableReader:
        file = _file_of(source, dialect or GivenDialect(), WantedColumns(columns, max_columns))
        if not _is_container(source):
            wanted = None if parts is None else frozenset(resolve(source.root, part) for part in parts)
            return reader_of(source.format)(replace(file, wanted_paths=wanted, rows=rows))
        for member in _members(file):
            if member.name == source.member or not source.member:
                return member.open()
        raise TableReadError(f"its file holds no table {source.member!r} any more")

    return _open(opened)


def open_appended(source: TableSource, since: int, max_columns: int) -> TableReader:
    """Open the rows of a table that were appended since an earlier state.

    Parameters
    ----------
    source : TableSource
        Its kind `has_log`.
    since : int
        Fingerprint of that state.
    max_columns : int
        The most columns that the table may have.

    Raises
    ------
    NotAppended
        If rows that were there are not there any more, columns are others, or the log does not tell.
    TableReadError
        As from `open_table`.
    """
    file = replace(_file_of(source, GivenDialect(), WantedColumns(None, max_columns)), since=since)
    return _open(lambda: reader_of(source.format)(file))


def reader_of(kind: str) -> Callable[..., Any]:
    """Return the function that reads a kind: ``open_<kind>``, or ``members_of_<kind>`` of one with several tables."""
    return function_of("members_of" if KINDS[kind].has_members else "open", kind)


def function_of(what: str, kind: str) -> Callable[..., Any]:
    """Return a function of the reader of a kind, as ``fingerprint_of_delta``; others begin with location, tables."""
    return getattr(import_module(f"dfjoin.sources.{KINDS[kind].reader}"), f"{what}_{kind}")


def _is_container(source: TableSource) -> bool:
    """Tell whether a source is one of the tables that a file holds, or such a file."""
    return bool(source.member) or KINDS[source.format].has_members


def _members(file: TableFile) -> Iterator[Member]:
    """Return the tables of a file that holds several, as the kind of the file says."""
    name = file.source.parts[0] if file.source.parts else file.source.path
    kind = file.source.format if not file.source.member else kind_of_file(name) or file.source.format
    yield from reader_of(kind)(file)


def _file_of(source: TableSource, written: Dialect | GivenDialect, wanted: WantedColumns) -> TableFile:
    if source.root.kind == "database":
        return TableFile(fs.LocalFileSystem(), [], source, written, wanted)
    filesystem, _ = open_root(source.root.uri)
    paths = [resolve(source.root, part) for part in source.parts or (source.path,)]
    return TableFile(filesystem, paths, source, written, wanted, source.member)


def _open(opened: Callable[[], TableReader]) -> TableReader:
    try:
        return opened()
    except (pa.ArrowException, OSError, UnicodeError, MissingDependencyError) as error:
        raise TableReadError(_reason(error)) from error


def current_fingerprint(source: TableSource) -> int:
    """Compute the fingerprint of a table's files as they are now, without parsing them.

    Raises
    ------
    TableReadError
        If a file is missing or cannot be read.
    """
    try:
        if source.format in KINDS and KINDS[source.format].has_version:
            return function_of("fingerprint_of", source.format)(source)
        filesystem, _ = open_root(source.root.uri)
    except (pa.ArrowException, OSError, MissingDependencyError) as error:
        raise TableReadError(_reason(error)) from error
    return fingerprint_of_files(filesystem, (resolve(source.root, part) for part in source.parts or (source.path,)))


def part_fingerprints(source: TableSource, parts: Sequence[str]) -> list[int]:
    """Compute the fingerprint of some files of a table, each for itself; raises `TableReadError` like the above."""
    try:
        filesystem, _ = open_root(source.root.uri)
        return fingerprints_of_parts(filesystem, [resolve(source.root, part) for part in parts])
    except (pa.ArrowException, OSError) as error:
        raise TableReadError(_reason(error)) from error


def fingerprint_of_files(filesystem: fs.FileSystem, paths: Iterable[str]) -> int:
    """Compute the fingerprint of the files of a table, see `current_fingerprint`."""
    try:
        files = list(paths)
        size = sum(info.size or 0 for info in filesystem.get_file_info(files))
        return fingerprint(filesystem, files, size)
    except (pa.ArrowException, OSError) as error:
        raise TableReadError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, MissingDependencyError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "the file is not there any more"
    if isinstance(error, PermissionError):
        return "no permission to read the file"
    if isinstance(error, pa.ArrowInvalid) and "Parquet magic bytes" in str(error):
        return "the file is no Parquet file, or is cut off: its footer is missing"
    if isinstance(error, OSError) and "zlib inflate failed" in str(error):
        return f"the file is not what its ending .gz says, or is damaged ({error})"
    return f"{type(error).__name__}: {reason_of_store(error)}"
