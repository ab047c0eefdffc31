"""A table opened for reading: what the reader of each format returns, and what all of them need."""

from __future__ import annotations

import io
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import ColumnNotFoundError, DfjoinError, TableReadError, shortlist
from dfjoin.index.file_store import reason_of_store
from dfjoin.sources.declared_keys import DeclaredKeys
from dfjoin.sources.delimited import max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES, name_encoding
from dfjoin.sources.roots import fingerprint
from dfjoin.sources.wanted_rows import RowsByKey
from dfjoin.types import Dialect, GivenDialect, TableSource
from dfjoin.values.cells import workable_batch
from dfjoin.values.header_meaning import clean_names

_CODECS = {"gz": "gzip", "zst": "zstd", "bz2": "bz2"}
_XZ_MEMORY = 256 << 20
"""Memory that the dictionary of an ``.xz`` file may take; ``xz -9`` asks for 65 MiB."""

_LFS_PREFIX = b"version https://git-lfs"
"""How a Git LFS pointer begins."""

_MARKUP = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml|svg|rss|feed|!--)", re.IGNORECASE)
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
    b"PAR1": "a Parquet file under another name",
    b"\x1f\x8b": "gzip content without the extension .gz",
    b"\x28\xb5\x2f\xfd": "zstd content without the extension .zst",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
}


class NotAppended(Exception):
    """A table has not only more rows than it had, or its log does not tell; all of it has to be read."""


class TableReader:
    """A table opened for reading, once.

    Parameters
    ----------
    names : list of str
        Names of its columns, each once.
    dialect : Dialect or None
        How a delimited file is written.
    batches : callable
        Starts reading; yields record batches with these columns in this order.
    fingerprint : callable
        Computes the fingerprint of the table's files.
    declared : callable, optional
        Returns the keys that its database declares.
    """

    def __init__(
        self,
        names: list[str],
        dialect: Dialect | None,
        batches: Callable[[], Iterator[pa.RecordBatch]],
        fingerprint: Callable[[], int],
        declared: Callable[[], DeclaredKeys] = DeclaredKeys,
    ) -> None:
        self.names = names
        self.dialect = dialect
        self._batches = batches
        self._fingerprint = fingerprint
        self._declared = declared
        self._holds: object = None

    def within(self, fingerprint: Callable[[], int], holds: object) -> TableReader:
        """Return this reader as that of a part of another file, which `holds` keeps while it is read."""
        self._fingerprint, self._holds = fingerprint, holds
        return self

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the table; every failure is a `TableReadError` whose text is the reason."""
        try:
            yield from self._batches()
        except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
            raise TableReadError(f"{type(error).__name__}: {reason_of_store(error)}") from error

    def fingerprint(self) -> int:
        """Return the 64-bit fingerprint of the table's files."""
        with with_reasons():
            return self._fingerprint()

    def declared(self) -> DeclaredKeys:
        """Return the keys and foreign keys that its database declares; none of a table of files."""
        with with_reasons():
            return self._declared()


@dataclass(frozen=True)
class WantedColumns:
    """The columns that are wanted of a table, None for all, and the most that it may have."""

    columns: Sequence[str] | None
    limit: int

    def check(self, names: list[str]) -> None:
        """Raise unless the table has these columns, and no more than it may have."""
        if len(names) > self.limit:
            raise max_columns_error(self.limit)
        known = set(names)
        missing = [c for c in self.columns or () if c not in known]
        if missing:
            raise ColumnNotFoundError(
                f"`columns` must name columns of the table ({shortlist(names)}), got {missing[0]!r}"
            )

    def raw(self, raw: list[str], names: list[str]) -> list[str]:
        """Return the wanted columns as the file calls them."""
        if self.columns is None:
            return raw
        own = dict(zip(names, raw, strict=True))
        return [own[name] for name in self.columns]

    def names(self, names: list[str]) -> list[str]:
        """Return the names of the wanted columns."""
        return names if self.columns is None else list(self.columns)


class Member(NamedTuple):
    """A table of a file that holds several: its name there, what opens it, and its kind if not that of the file."""

    name: str
    open: Callable[[], TableReader]
    format: str = ""


@dataclass(frozen=True)
class TableFile:
    """The files of a table, as a reader of its kind gets them.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
    paths : list of str
        On that file system, in the order of the rows.
    source : TableSource
    written : Dialect or GivenDialect
        What was recorded when it was first read; or what is given of it, and the file tells the rest.
    wanted : WantedColumns
    member : str
        The table that is wanted of a file that holds several; empty for all.
    wanted_paths : frozenset of str, optional
        Those of `paths` whose rows are wanted, of a directory of Parquet files; all by default.
    rows : RowsByKey, optional
        The rows that are wanted of a table of a database, which may hand out others, too; all by default.
    since : int, optional
        Fingerprint of an earlier state of a table of a format with a log: the rows that were appended since are wanted.
        Such a reader raises `NotAppended` where it cannot tell them.
    """

    filesystem: fs.FileSystem
    paths: list[str]
    source: TableSource
    written: Dialect | GivenDialect
    wanted: WantedColumns
    member: str = ""
    wanted_paths: frozenset[str] | None = None
    rows: RowsByKey | None = None
    since: int | None = None

    @property
    def path(self) -> str:
        """The path of the only file."""
        return self.paths[0]

    def fingerprint(self) -> int:
        """Return the fingerprint of the files."""
        return self._mark

    def rows_by_raw(self, raw: list[str]) -> RowsByKey | None:
        """Return the wanted rows by keys as the database calls them; None for all, as where it has not all keys."""
        own = dict(zip(clean_names(raw), raw, strict=True))
        if self.rows is None or not set(self.rows.keys) <= set(own):
            return None
        return replace(self.rows, keys=tuple(own[key] for key in self.rows.keys))

    @cached_property
    def _mark(self) -> int:
        return fingerprint(self.filesystem, self.paths, self.source.size)


@contextmanager
def with_reasons() -> Iterator[None]:
    """Turn every failure of a library into a `TableReadError` whose text is the reason."""
    try:
        yield
    except (DfjoinError, NotAppended):
        raise
    except Exception as error:
        text = str(error).partition("\n   0: ")[0]  # libraries of Rust add where they were
        raise TableReadError(f"{type(error).__name__}: {' '.join(text.split())[:300]}") from error


def open_typed(
    file: TableFile,
    schema: pa.Schema,
    read: Callable[[list[str]], Iterator[pa.RecordBatch]],
    declared: Callable[[], DeclaredKeys] = DeclaredKeys,
) -> TableReader:
    """Return the reader of a file whose columns have types.

    Parameters
    ----------
    file : TableFile
    schema : pyarrow.Schema
        Of all of its columns.
    read : callable
        Reads the columns of these names, or all columns where two have one name.
    declared : callable, optional
        Returns the keys that the database declares of the table.
    """
    names = clean_names(schema.names)
    file.wanted.check(names)
    is_unique = len(set(schema.names)) == len(names)
    chosen = file.wanted.raw(schema.names, names)
    wanted = file.wanted.names(names)

    def batches() -> Iterator[pa.RecordBatch]:
        n = 0
        with with_reasons():
            for batch in read(chosen if is_unique else schema.names):
                n += 1
                if is_unique:
                    yield workable_batch(batch.select(chosen).rename_columns(wanted))
                else:
                    yield workable_batch(batch.rename_columns(names).select(wanted))
        if file.rows is not None and not n:  # no row has a wanted key: the types are known all the same
            types = [schema.field(name).type for name in chosen]
            yield workable_batch(pa.record_batch([pa.array([], type_) for type_ in types], names=wanted))

    def renamed() -> DeclaredKeys:
        return declared().renamed(dict(zip(schema.names, names, strict=True)))

    return TableReader(names, None, batches, file.fingerprint, renamed)


class _XzStream(io.RawIOBase):
    """Decompresses an ``.xz`` file within bounded memory."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        """Read up to `size` bytes; nothing is the end."""
        try:
            while size:
                if self._decoder.eof:
                    self._rest = (self._decoder.unused_data or self._raw.read(1 << 16)).lstrip(b"\0")
                    if not self._rest:
                        return b""
                    self._decoder = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
                if self._decoder.needs_input and not self._rest:
                    self._rest = self._raw.read(1 << 16)
                    if not self._rest:
                        raise OSError("the compressed file is cut off")
                given, self._rest = self._rest, b""
                data = self._decoder.decompress(given, size)
                if data:
                    return data
        except lzma.LZMAError as error:
            raise OSError(f"the file is not what its ending .xz says, or is damaged ({error})") from error
        return b""

    def close(self) -> None:
        self._raw.close()
        super().close()


def compression_of(path: str) -> str:
    """Return how the name of a file says that it is compressed: ``gz``, ``zst``, ``bz2``, ``xz``, or empty."""
    ending = path.rpartition(".")[2].lower()
    return ending if ending in _CODECS or ending == "xz" else ""


_READ_BYTES = 1 << 16
"""Bytes that are read at a time of a file that is longer than its size says, as a compressed one is."""


def open_stream(filesystem: fs.FileSystem, path: str) -> pa.NativeFile:
    """Open a file for reading in order, decompressed as its name says."""
    compression = compression_of(path)
    raw = filesystem.open_input_stream(path, compression=None)
    if compression == "xz":
        return pa.PythonFile(io.BufferedReader(_XzStream(raw), 1 << 20), mode="r")
    return pa.CompressedInputStream(raw, _CODECS[compression]) if compression else raw


def read_head(stream: pa.NativeFile, limit: int, expected: int) -> bytes:
    """Read up to `limit` bytes, however the stream hands them out; room is made for as many as are expected."""
    parts = []
    wanted = max(1, expected)
    while limit > 0:
        chunk = stream.read(min(limit, wanted))
        if not chunk:
            break
        parts.append(chunk)
        limit -= len(chunk)
        wanted = _READ_BYTES
    return parts[0] if len(parts) == 1 else b"".join(parts)


def encoding_of(data: bytes) -> str:
    """Name the encoding of a text from its beginning."""
    return name_encoding(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES)


def reject_foreign(head: bytes) -> None:
    """Refuse what only claims to be a table, with the true reason.

    Parameters
    ----------
    head : bytes
        Beginning of the file, decompressed.

    Raises
    ------
    TableReadError
        For an empty file, a Git LFS pointer, HTML or XML, and binary content.
    """
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise TableReadError("the file is empty")
    if head.startswith(_LFS_PREFIX):
        raise TableReadError("a Git LFS pointer, not the data; fetch the file with `git lfs pull`")
    if _MARKUP.match(head.removeprefix(b"\xef\xbb\xbf")):
        raise TableReadError("HTML or XML, not a table")
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise TableReadError(f"{what}, not delimited text")
    if b"\0" in head and name_encoding(head) not in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        raise TableReadError("binary content, not text")


def reject_pointer(filesystem: fs.FileSystem, path: str) -> None:
    """Refuse a Git LFS pointer that stands for a file of another format."""
    with filesystem.open_input_stream(path, compression=None) as stream:
        head = stream.read(64)
    if head.startswith(_LFS_PREFIX):
        reject_foreign(head)
