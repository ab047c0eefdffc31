"""Opening a table of any format as names and record batches. The one way that files are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited_reader import open_delimited
from dfjoin.sources.fingerprint import fingerprint
from dfjoin.sources.json_reader import open_json_lines
from dfjoin.sources.parquet_reader import open_parquet
from dfjoin.sources.roots import open_root, resolve
from dfjoin.sources.table_reader import TableReader, WantedColumns
from dfjoin.types import Dialect, GivenDialect, IndexSettings, TableSource

__all__ = ["current_fingerprint", "fingerprint_of_files", "open_table"]


def open_table(
    source: TableSource,
    *,
    dialect: Dialect | GivenDialect | None = None,
    columns: Sequence[str] | None = None,
    max_columns: int = IndexSettings.max_columns,
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
    filesystem, _ = open_root(source.root.uri)
    try:
        paths = [resolve(source.root, part) for part in source.parts or (source.path,)]
        if source.format == "parquet":
            return open_parquet(filesystem, paths, source, WantedColumns(columns, max_columns))
        if source.format == "jsonl":
            return open_json_lines(filesystem, paths[0], source, WantedColumns(columns, max_columns))
        written = dialect or GivenDialect()
        return open_delimited(filesystem, paths[0], source, written, WantedColumns(columns, max_columns))
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableReadError(_reason(error)) from error


def current_fingerprint(source: TableSource) -> int:
    """Compute the fingerprint of a table's files as they are now, without parsing them.

    Raises
    ------
    TableReadError
        If a file is missing or cannot be read.
    """
    filesystem, _ = open_root(source.root.uri)
    return fingerprint_of_files(filesystem, (resolve(source.root, part) for part in source.parts or (source.path,)))


def fingerprint_of_files(filesystem: fs.FileSystem, paths: Iterable[str]) -> int:
    """Compute the fingerprint of the files of a table, see `current_fingerprint`."""
    try:
        files = list(paths)
        size = sum(info.size or 0 for info in filesystem.get_file_info(files))
        return fingerprint(filesystem, files, size)
    except (pa.ArrowException, OSError) as error:
        raise TableReadError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file is not there any more"
    if isinstance(error, PermissionError):
        return "no permission to read the file"
    if isinstance(error, pa.ArrowInvalid) and "Parquet magic bytes" in str(error):
        return "the file is no Parquet file, or is cut off: its footer is missing"
    if isinstance(error, OSError) and "zlib inflate failed" in str(error):
        return f"the file is not what its ending .gz says, or is damaged ({error})"
    return f"{type(error).__name__}: {error}"
