"""Reading a file that a person brought: as a lake would read it, and within limits."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dfjoin.api import build_lake
from dfjoin.errors import DfjoinError, TableReadError

__all__ = ["DIALECT_OPTIONS", "GivenTable", "read_given"]

DIALECT_OPTIONS = ("delimiter", "decimal", "header", "encoding")
"""What a person may say of a delimited text, arguments of `dfjoin.build_lake`."""

UNPACKED_BYTES = 2 << 30
"""Bytes that a compressed file may have when it is unpacked."""

_MOST_CELLS = 200_000_000
_CHUNK = 1 << 20
_STREAMS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ARCHIVES = (".zip", ".xlsx", ".xlsm", ".ods")


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
    second.
    """
    _refuse_large(path)
    with tempfile.TemporaryDirectory() as directory:
        try:
            lake = build_lake(str(path), Path(directory) / "index", engine="inline", progress=False, **options)
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
    ending = path.suffix.lower()
    n_bytes = n_cells = 0
    try:
        if ending in _ARCHIVES and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                n_bytes = sum(_inflated(archive, member) for member in archive.infolist())
        elif ending in _STREAMS:
            with _STREAMS[ending](path, "rb") as file:
                n_bytes = _count(file)
        elif ending == ".zst":
            with pa.input_stream(str(path), compression="zstd") as file:
                n_bytes = _count(file)
        elif ending in (".parquet", ".pq"):
            told = pq.read_metadata(path)
            n_cells = told.num_rows * max(1, told.num_columns)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return  # the reader says what is wrong with it
    if n_cells > _MOST_CELLS:
        raise TableReadError(f"the file has more than {_MOST_CELLS:,} cells; bring a part of it")
    if n_bytes > UNPACKED_BYTES:
        raise TableReadError(
            f"the file has more than {UNPACKED_BYTES >> 30} GB when it is unpacked; bring a part of it"
        )


def _inflated(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Return the bytes of a member: what it declares if that is too many, else what it has."""
    if member.file_size > UNPACKED_BYTES or member.is_dir():
        return member.file_size
    with archive.open(member) as file:
        return _count(file)


def _count(file: IO[bytes]) -> int:
    """Count the bytes of a stream, up to the first beyond the limit."""
    n_bytes = 0
    while n_bytes <= UNPACKED_BYTES and (chunk := file.read(_CHUNK)):
        n_bytes += len(chunk)
    return n_bytes
