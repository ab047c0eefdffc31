"""Reading a file that a person brought: as a lake would read it, and within limits."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dfjoin._optional import import_optional
from dfjoin.api import build_lake
from dfjoin.errors import DfjoinError, TableReadError

__all__ = ["DIALECT_OPTIONS", "GivenTable", "read_given"]

DIALECT_OPTIONS = ("delimiter", "decimal", "header", "encoding")
"""What a person may say of a delimited text, arguments of `dfjoin.build_lake`."""

UNPACKED_BYTES = 2 << 30
"""Bytes that a compressed file may have when it is unpacked."""

_CELL = 8
"""Bytes of a cell of columns that declare their number of rows, at least."""

_CHUNK = 1 << 20
_ROWS = 1 << 13
_STREAMS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ARCHIVES = (".zip", ".xlsx", ".xlsm", ".ods")
_SQLITE, _DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb", ".ddb")


@dataclass(frozen=True)
class GivenTable:
    """A table of a file, and how it was read.

    Parameters
    ----------
    frame : DataFrame
    table : str
        Its name among the tables of the file.
    tables : list of str
        All tables of the file: the sheets of a workbook, the members of an archive.
    dialect : str
        Delimiter and encoding of a delimited text, in words.
    format : str
    doubt : str
        Why the file may have to be read in another way; empty if there is no doubt.
    null_spellings : dict of str
        Column → texts that were read as missing values.
    """

    frame: pd.DataFrame
    table: str
    tables: list[str]
    dialect: str
    format: str
    doubt: str
    null_spellings: dict[str, list[str]]


def read_given(path: Path, options: dict[str, Any], table: str | None = None) -> GivenTable:
    """Read a table of a file.

    Parameters
    ----------
    path : Path
    options : dict
        What the person says of the text, as `DIALECT_OPTIONS` names it.
    table : str, optional
        Name of the table; the first one by default.

    Raises
    ------
    TableReadError
        If the file is no table, has no such table, or is larger than the limits when it is unpacked.

    Notes
    -----
    A lake of this file alone is built, so that a file reads here as it does in a lake; that takes some tenths of a
    second. Of a database its tables are read, and not its views.
    """
    _refuse_large(path)
    with tempfile.TemporaryDirectory() as directory, _without_views(path) as readable:
        try:
            lake = build_lake(str(readable), Path(directory) / "index", engine="inline", progress=False, **options)
        except DfjoinError as error:
            raise TableReadError(f"the file cannot be read: {error}") from error
        info, tables = lake.info(), lake.tables
        if not len(tables):
            reason = info["skipped"][0]["reason"] if info["skipped"] else "it holds no table"
            raise TableReadError(f"the file cannot be read: {reason}")
        names = tables["table"].tolist()
        chosen = names[0] if table is None else table
        told = lake.describe(chosen)
        doubts = {one["name"]: one["reason"] for one in info["doubtful"]}
        spellings = zip(told["columns"]["column"], told["columns"]["null_spellings"], strict=True)
        return GivenTable(
            lake.table(chosen),
            chosen,
            names,
            told["dialect"],
            told["format"],
            doubts.get(chosen, ""),
            {name: list(texts) for name, texts in spellings if len(texts)},
        )


def _refuse_large(path: Path) -> None:
    """Raise where a file is larger than the limits when it is unpacked."""
    try:
        with path.open("rb") as file:
            n_bytes = _unpacked(file, path.name.lower(), UNPACKED_BYTES)
    except TableReadError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return  # the reader says what is wrong with it
    if n_bytes > UNPACKED_BYTES:
        raise TableReadError(
            f"the file has more than {UNPACKED_BYTES >> 30} GB when it is unpacked; bring a part of it"
        )


def _unpacked(file: IO[bytes], name: str, most: int) -> int:
    """Count the bytes that a file has when it is unpacked, up to the first excess; 0 if it is not packed."""
    ending = PurePosixPath(name).suffix
    if ending in _ARCHIVES and zipfile.is_zipfile(file):
        return _unpacked_members(file, most)
    if ending in _STREAMS:
        with _STREAMS[ending](file, "rb") as plain:
            return _first_excess(iter(partial(_length_of_chunk, plain), 0), most)
    if ending == ".zst":
        with pa.CompressedInputStream(pa.PythonFile(file), "zstd") as plain:
            return _first_excess(iter(partial(_length_of_chunk, plain), 0), most)
    return _first_excess(_COLUMNAR[ending](file), most) if ending in _COLUMNAR else 0


def _unpacked_members(file: IO[bytes], most: int) -> int:
    """Add up what the members declare, of which no more is read, and what those hold that are packed themselves."""
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        n_bytes = sum(member.file_size for member in members)
        for member in members:
            name = member.filename.lower()
            if PurePosixPath(name).suffix in (*_SQLITE, *_DUCKDB):
                raise TableReadError("an archive that holds a database cannot be brought; bring the database itself")
            if n_bytes > most:
                break
            if PurePosixPath(name).suffix in (*_STREAMS, ".zst", *_COLUMNAR):
                with archive.open(member) as packed, tempfile.TemporaryFile() as unpacked:
                    shutil.copyfileobj(packed, unpacked, _CHUNK)
                    unpacked.seek(0)
                    n_bytes += _unpacked(unpacked, name, most - n_bytes)
    return n_bytes


def _first_excess(sizes: Iterable[int], most: int) -> int:
    """Add up sizes, up to the first excess."""
    total = 0
    for size in sizes:
        total += size
        if total > most:
            break
    return total


def _length_of_chunk(file: Any) -> int:
    return len(file.read(_CHUNK))


def _parquet_sizes(file: Any) -> Iterator[int]:
    """Yield what the columns declare, then the cells of texts: few bytes hold a text that many rows refer to."""
    opened = pq.ParquetFile(file)
    told = opened.metadata
    yield told.num_rows * told.num_columns * _CELL
    for number in range(told.num_row_groups):
        yield told.row_group(number).total_byte_size
    texts = [name for name, kind in zip(told.schema.names, opened.schema_arrow.types, strict=False) if _is_text(kind)]
    file.seek(0)
    coded = pq.ParquetFile(file, read_dictionary=texts)
    for batch in coded.iter_batches(_ROWS, columns=texts) if texts else ():
        for column in batch.columns:
            lengths = pc.binary_length(column.dictionary)
            yield pc.sum(lengths.take(column.indices)).as_py() or 0


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_binary(kind)


def _arrow_sizes(file: Any) -> Iterator[int]:
    try:
        opened = pa.ipc.open_file(file)
        yield from (opened.get_batch(number).nbytes for number in range(opened.num_record_batches))
    except pa.ArrowInvalid:  # the other form, without a list of its batches
        file.seek(0)
        yield from (batch.nbytes for batch in pa.ipc.open_stream(file))


def _orc_sizes(file: Any) -> Iterator[int]:
    from pyarrow import orc

    opened = orc.ORCFile(file)
    yield opened.nrows * len(opened.schema) * _CELL
    yield from (opened.read_stripe(number).nbytes for number in range(opened.nstripes))


def _avro_sizes(file: Any) -> Iterator[int]:
    fastavro = import_optional("fastavro", extra="avro", purpose="reading .avro")
    for block in fastavro.block_reader(file):
        yield len(block.bytes_.getvalue()) + block.num_records * _CELL


_COLUMNAR: dict[str, Callable[[Any], Iterator[int]]] = {
    ".parquet": _parquet_sizes,
    ".pq": _parquet_sizes,
    ".feather": _arrow_sizes,
    ".arrow": _arrow_sizes,
    ".ipc": _arrow_sizes,
    ".arrows": _arrow_sizes,
    ".orc": _orc_sizes,
    ".avro": _avro_sizes,
}


# Views ----------------------------------------------------------------------------------------------------------


@contextmanager
def _without_views(path: Path) -> Iterator[Path]:
    """Give a database without its views, each of which may be a query without an end; another file as it is."""
    ending = path.suffix.lower()
    if ending not in (*_SQLITE, *_DUCKDB):
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / path.name
        shutil.copyfile(path, copy)
        try:
            (_drop_views_of_sqlite if ending in _SQLITE else _drop_views_of_duckdb)(copy)
        except Exception as error:  # of either library
            raise TableReadError(f"the file cannot be read: {error}") from error
        yield copy


def _drop_views_of_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base, base:
        for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            base.execute(f"DROP VIEW {_quoted(name)}")


def _drop_views_of_duckdb(path: Path) -> None:
    duckdb = import_optional("duckdb", extra="databases", purpose="reading databases of DuckDB")
    with duckdb.connect(str(path), config={"enable_external_access": "false"}) as base:
        views = base.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        for schema, name in views:
            base.execute(f"DROP VIEW {_quoted(schema)}.{_quoted(name)}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
