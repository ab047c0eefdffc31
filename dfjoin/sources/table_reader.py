"""A table opened for reading: what the reader of each format returns, and what all of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import ColumnNotFoundError, TableReadError, shortlist
from dfjoin.sources.delimited import max_columns_error
from dfjoin.sources.encodings import SAMPLE_BYTES, name_encoding
from dfjoin.sources.sniff import LFS_PREFIX, reject_foreign
from dfjoin.types import Dialect

__all__ = [
    "TableReader",
    "WantedColumns",
    "compression_of",
    "encoding_of",
    "open_stream",
    "read_head",
    "reject_pointer",
]

_CODECS = {"gz": "gzip", "zst": "zstd"}


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
    """

    def __init__(
        self,
        names: list[str],
        dialect: Dialect | None,
        batches: Callable[[], Iterator[pa.RecordBatch]],
        fingerprint: Callable[[], int],
    ) -> None:
        self.names = names
        self.dialect = dialect
        self._batches = batches
        self._fingerprint = fingerprint

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the table; every failure is a `TableReadError` whose text is the reason."""
        try:
            yield from self._batches()
        except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
            raise TableReadError(f"{type(error).__name__}: {error}") from error

    def fingerprint(self) -> int:
        """Return the 64-bit fingerprint of the table's files."""
        return self._fingerprint()


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


def compression_of(path: str) -> str:
    """Return how the name of a file says that it is compressed: ``gz``, ``zst``, or empty."""
    ending = path.rpartition(".")[2].lower()
    return ending if ending in _CODECS else ""


def open_stream(filesystem: fs.FileSystem, path: str) -> pa.NativeFile:
    """Open a file for reading in order, decompressed as its name says."""
    compression = compression_of(path)
    raw = filesystem.open_input_stream(path, compression=None)
    return pa.CompressedInputStream(raw, _CODECS[compression]) if compression else raw


def read_head(stream: pa.NativeFile, limit: int) -> bytes:
    """Read up to `limit` bytes, however the stream hands them out."""
    parts = []
    while limit > 0:
        chunk = stream.read(limit)
        if not chunk:
            break
        parts.append(chunk)
        limit -= len(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def encoding_of(data: bytes) -> str:
    """Name the encoding of a text from its beginning."""
    return name_encoding(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES)


def reject_pointer(filesystem: fs.FileSystem, path: str) -> None:
    """Refuse a Git LFS pointer that stands for a file of another format."""
    with filesystem.open_input_stream(path, compression=None) as stream:
        head = stream.read(64)
    if head.startswith(LFS_PREFIX):
        reject_foreign(head)
