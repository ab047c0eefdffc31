"""Reading a file that a person uploaded: as a lake would read it, within limits, in a process of its own."""

from __future__ import annotations

import atexit
import bz2
import gzip
import json
import lzma
import shutil
import sqlite3
import tempfile
import threading
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
from dfjoin.errors import DfjoinError, TableReadError, warn
from dfjoin.page.limited_process import LimitedProcess
from dfjoin.page.page_texts import refusal

DIALECT_OPTIONS = ("delimiter", "decimal", "header", "encoding")
"""What a person may say of a delimited text, arguments of `dfjoin.build_lake`."""

UNPACKED_BYTES = 2 << 30
"""Bytes that a compressed file may have when it is unpacked."""

MEMORY_BYTES = 3 * UNPACKED_BYTES
"""Memory that the process may take which reads a file, where the system limits it (Linux)."""

SECONDS = 300
"""Time that it may take."""

_AT_ONCE = threading.BoundedSemaphore(2)
"""Files that are read at once, each with the memory of its limit; others wait."""

_idle: list[LimitedProcess] = []
"""A process that waits for the next file: it has loaded what reading takes, some 250 MB; at most one."""

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
        If the file is no table, has no such table, or exceeds the limits of size, time and memory.

    Notes
    -----
    A process reads the file, and is kept for the next one: libraries that unpack a file are not asked whether somebody
    still waits, nor how much memory they take. Where the thread of the person is ended, the process is.
    """
    while not _AT_ONCE.acquire(timeout=0.1):
        pass
    try:
        with tempfile.TemporaryDirectory(prefix="dfjoin-read-") as name:
            directory = Path(name)
            request: dict[str, Any] = {"path": str(path.resolve()), "options": options, "table": table}
            request |= {"unpacked": UNPACKED_BYTES, "memory": MEMORY_BYTES, "seconds": SECONDS}
            (directory / "request.json").write_text(json.dumps(request), "ascii")
            _run_process(directory)
            answer = json.loads((directory / "answer.json").read_text("ascii"))
            if "problem" in answer:
                raise TableReadError(answer["problem"])
            for text in answer["warnings"]:
                warn(text)
            with pa.OSFile(str(directory / "frame.arrow")) as file:
                frame = pa.ipc.open_file(file).read_all().to_pandas()
            return GivenTable(frame, **answer["given"])
    finally:
        _AT_ONCE.release()


def read_own(path: Path, options: dict[str, Any], table: str | None = None) -> GivenTable:
    """Read a table of a file as `read_given` does, in this process: the person who starts the server named the file."""
    return GivenTable(**read_here(path, options, table, UNPACKED_BYTES))


@atexit.register
def _end_idle() -> None:
    """End the process that waits, with the one that started it."""
    while _idle:
        _idle.pop().end()


def _process() -> LimitedProcess:
    """Take the process that waits, or start one."""
    try:
        process = _idle.pop()
    except IndexError:
        return LimitedProcess("read_process.py")
    return process if process.is_alive else LimitedProcess("read_process.py")


def _run_process(directory: Path) -> None:
    """Let an idle process read the file, or a new one; it is idle afterwards, or ended where it exceeds a limit."""
    process = _process()
    stopped = "left"
    try:
        stopped = process.run(directory, SECONDS)
    finally:
        if stopped or _idle:
            process.end()
        else:
            _idle.append(process)
    if stopped == "time":
        raise TableReadError(refusal("file_time", SECONDS))
    if stopped:
        raise TableReadError(refusal("file_memory", MEMORY_BYTES >> 30))


def read_here(path: Path, options: dict[str, Any], table: str | None, most_bytes: int) -> dict[str, Any]:
    """Read a table of a file in this process; return the fields of a `GivenTable`.

    Parameters
    ----------
    path, options, table
        As in `read_given`.
    most_bytes : int
        That the file may have when it is unpacked.

    Raises
    ------
    DfjoinError
        As `read_given` does.

    Notes
    -----
    A lake of this file alone is built, so that a file reads here as it does in a lake. Of a database its tables are
    read, and not its views.
    """
    _refuse_large(path, most_bytes)
    with tempfile.TemporaryDirectory() as directory, _without_views(path) as readable:
        try:
            lake = build_lake(str(readable), Path(directory) / "index", engine="inline", progress=False, **options)
        except DfjoinError as error:
            raise TableReadError(refusal("file", error)) from error
        info, tables = lake.info(), lake.tables
        if not len(tables):
            reason = info["skipped"][0]["reason"] if info["skipped"] else refusal("file_empty")
            raise TableReadError(refusal("file", reason))
        names = tables["table"].tolist()
        chosen = names[0] if table is None else table
        described = lake.describe(chosen)
        doubts = {one["name"]: one["reason"] for one in info["doubtful"]}
        spellings = zip(described["columns"]["column"], described["columns"]["null_spellings"], strict=True)
        return {
            "frame": lake.table(chosen),
            "table": chosen,
            "tables": names,
            "dialect": described["dialect"],
            "format": described["format"],
            "doubt": doubts.get(chosen, ""),
            "null_spellings": {name: list(texts) for name, texts in spellings if len(texts)},
        }


def _refuse_large(path: Path, most_bytes: int) -> None:
    """Raise where a file has more bytes than it may when it is unpacked."""
    try:
        with path.open("rb") as file:
            n_bytes = _unpacked(file, path.name.lower(), most_bytes)
    except TableReadError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return  # the reader says what is wrong with it
    if n_bytes > most_bytes:
        raise TableReadError(refusal("file_unpacked", most_bytes >> 30))


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
                raise TableReadError(refusal("file_archive"))
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
    metadata = opened.metadata
    yield metadata.num_rows * metadata.num_columns * _CELL
    for number in range(metadata.num_row_groups):
        yield metadata.row_group(number).total_byte_size
    texts = [
        name for name, kind in zip(metadata.schema.names, opened.schema_arrow.types, strict=False) if _is_text(kind)
    ]
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
            raise TableReadError(refusal("file", error)) from error
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
