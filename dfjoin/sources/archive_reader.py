"""Opening zip archives: each file in one that is a table, as if it lay beside the others of the lake."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from pyarrow import fs

from dfjoin._validation import is_valid_text
from dfjoin.errors import TableReadError
from dfjoin.sources.readers import reader_of
from dfjoin.sources.table_kinds import KINDS, is_hidden, kind_of_file
from dfjoin.sources.table_reader import Member, TableFile, TableReader, reject_pointer

_MAX_FILES = 10_000
_MAX_BYTES = 4 << 30
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}


def members_of_zip(file: TableFile) -> Iterator[Member]:
    """Find the tables of an archive, see `dfjoin.sources.readers.tables_of`.

    Notes
    -----
    A file is unpacked when it is read, to a temporary file of a name of its own: no path of the archive is used. All
    together may have 10,000 entries and 4 GiB.
    """
    reject_pointer(file.filesystem, file.path)
    with _reasons(), file.filesystem.open_input_file(file.path) as stream, zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > _MAX_FILES:
            raise TableReadError(f"the archive has more than {_MAX_FILES:,} entries; unpack it")
        if sum(entry.file_size for entry in entries) > _MAX_BYTES:
            raise TableReadError(f"the archive holds more than {_MAX_BYTES >> 30} GiB; unpack it")
        for entry in entries:
            _read_as_utf8(entry)
        seen = set()
        for entry in sorted(entries, key=lambda entry: entry.filename):
            name, kind = entry.filename, kind_of_file(entry.filename)
            if kind is None or entry.is_dir() or name in seen or any(map(is_hidden, _steps(name))):
                continue
            seen.add(name)
            if not file.member or file.member == name or file.member.startswith(f"{name}/"):
                yield from _members_of_entry(file, archive, entry, kind)


def _read_as_utf8(entry: zipfile.ZipInfo) -> None:
    """Correct a name in UTF-8 that the archive does not say to be one, as archives of macOS."""
    if not entry.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            entry.filename = entry.filename.encode("cp437").decode()


def _steps(name: str) -> list[str]:
    return [step for step in name.split("/") if step != ".."]


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, TableReadError):
            raise
        raise TableReadError(f"the archive is damaged or encrypted ({error})") from error


def _members_of_entry(file: TableFile, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str) -> Iterator[Member]:
    name = entry.filename
    reason = _refused(entry, kind)
    if reason:
        yield Member(name, partial(_refuse, TableReadError(reason)), kind)
    elif not KINDS[kind].has_members:
        yield Member(name, partial(_open_entry, file, archive, entry, kind), kind)
    else:
        try:
            inner, scratch = _unpacked(file, archive, entry, kind)
            for member in reader_of(kind)(inner):
                own = f"{name}/{member.name}" if member.name else name
                yield Member(own, partial(_within, file, member.open, scratch), member.format or kind)
        except TableReadError as error:
            yield Member(name, partial(_refuse, error), kind)


def _refused(entry: zipfile.ZipInfo, kind: str) -> str:
    """Return why an entry is not read; empty if it is."""
    pure = PurePosixPath(entry.filename)
    if pure.is_absolute() or ".." in pure.parts or "\\" in entry.filename or not is_valid_text(entry.filename):
        return "its path leads out of the archive, or is no valid text"
    if entry.flag_bits & 1:
        return "it is encrypted"
    if entry.compress_type not in _METHODS:
        return "it is compressed by a method other than deflate and bzip2"
    if kind == "zip":
        return "an archive within an archive; unpack it"
    needed = KINDS[kind]
    return "" if needed.is_ready() else f'reading it needs: pip install "dfjoin[{needed.extra}]"'


def _refuse(error: TableReadError) -> TableReader:
    raise error


def _unpacked(
    file: TableFile, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str
) -> tuple[TableFile, tempfile.TemporaryDirectory[str]]:
    """Unpack an entry to a temporary file; it is removed when what holds its directory is gone."""
    scratch = tempfile.TemporaryDirectory(prefix="dfjoin-archive-")
    path = Path(scratch.name) / f"table{''.join(PurePosixPath(entry.filename.lower()).suffixes[-2:])[-20:]}"
    with _reasons(), archive.open(entry) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain, 1 << 20)
    source = replace(file.source, path=path.name, parts=(path.name,), size=path.stat().st_size, format=kind)
    member = file.member[len(entry.filename) + 1 :]
    return replace(file, filesystem=fs.LocalFileSystem(), paths=[str(path)], source=source, member=member), scratch


def _open_entry(file: TableFile, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str) -> TableReader:
    inner, scratch = _unpacked(file, archive, entry, kind)
    return _within(file, partial(reader_of(kind), inner), scratch)


def _within(file: TableFile, opened: Any, scratch: object) -> TableReader:
    return opened().within(file.fingerprint, scratch)
