"""Places that tables come from: open a root, and find a path below it without leaving it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from dfjoin._validation import has_credentials, is_uri, strip_credentials
from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.index.file_store import open_filesystem, reason_of_store
from dfjoin.index.mirror import mirror_of
from dfjoin.types import Root, TableSource

_LOCAL_FILES = fs.LocalFileSystem()


def local_path(location: str) -> str | None:
    """Return the path on this machine that a path or ``file://`` URI means, None for other URIs."""
    if not is_uri(location):
        return os.path.abspath(os.path.expanduser(location))  # noqa: PTH100, PTH111 (keeps links as given)
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme == "file" else None


# File systems by the URI without credentials, so that a root listed with them in this process can be read
# by its stored URI; they are never written anywhere.
_opened: dict[str, tuple[fs.FileSystem, str]] = {}
_with_credentials: set[str] = set()
"""Those of them that another process cannot open by its stored URI."""


def _open_uri(uri: str) -> tuple[fs.FileSystem, str]:
    stripped = strip_credentials(uri)
    if uri == stripped and stripped in _opened:
        return _opened[stripped]
    try:
        filesystem, path = open_filesystem(uri)
    except (pa.ArrowException, OSError, ValueError) as error:
        scheme = urlsplit(uri).scheme
        if "nrecognized filesystem" in str(error):
            raise InvalidParameterError(
                f"`source` must be a path or a URI that pyarrow.fs opens (file, s3, gs, hdfs …); got one with the "
                f"scheme {scheme!r}, which it does not open. Mount the place and give its path instead."
            ) from error
        raise cannot_be_opened(uri, error) from error
    _opened[stripped] = filesystem, path.rstrip("/") or "/"
    if has_credentials(uri):
        _with_credentials.add(stripped)
    return _opened[stripped]


def is_opened_with_credentials(uri: str) -> bool:
    """Tell whether this process alone can open a root, as the URI that it was given has credentials."""
    return uri in _with_credentials


def cannot_be_opened(uri: str, error: BaseException) -> InvalidParameterError:
    """Return the error that says why a place on another machine cannot be opened, without its credentials."""
    shown = strip_credentials(uri)
    reason = reason_of_store(error).replace(uri, shown)
    return InvalidParameterError(
        f"`source` {shown!r} cannot be opened: {type(error).__name__}: {reason[:400]}. Check the network, the "
        "credentials and, for an object store, the region; or mount the place and give its path."
    )


def open_root(uri: str) -> tuple[fs.FileSystem, str]:
    """Open the file system of a root.

    Parameters
    ----------
    uri : str
        Absolute path, or a URI that ``pyarrow.fs.FileSystem.from_uri`` opens.

    Returns
    -------
    tuple of (pyarrow.fs.FileSystem, str)
        The file system and the path of the root on it, without a slash at its end.

    Raises
    ------
    InvalidParameterError
        The URI has a scheme that no file system of Arrow serves.
    """
    path = local_path(uri)
    if path is not None:
        return _LOCAL_FILES, path
    return _open_uri(uri)


def resolve(root: Root, relative_path: str) -> str:
    """Return the path of a table's file on the root's file system; refuse every way out of the root.

    Paths come from an index and are not trusted: an absolute path, one with ``..`` and one that a
    symbolic link leads out of the root are all refused.

    Parameters
    ----------
    root : Root
        A root of kind ``files``.
    relative_path : str
        POSIX path below it.

    Returns
    -------
    str

    Raises
    ------
    InvalidParameterError
        The path leads out of the root, or the root holds no files.
    """
    if root.kind != "files":
        raise InvalidParameterError(
            f"`root` {root.id} ({root.kind}) has no files below it; only a root of files has. "
            "Read its tables through the session or the index that holds them."
        )
    pure = PurePosixPath(relative_path)
    windows = os.name == "nt" and ("\\" in relative_path or ":" in relative_path)
    if not relative_path or pure.is_absolute() or ".." in pure.parts or "\0" in relative_path or windows:
        raise InvalidParameterError(
            f"`relative_path` must be a POSIX path below the root, without '..'; got {relative_path!r}. "
            "The index that names it is damaged, or was changed by something else: build it again."
        )
    base = local_path(root.uri)
    if base is None:
        return f"{open_root(root.uri)[1].rstrip('/')}/{pure}"
    path = os.path.join(base, *pure.parts)  # noqa: PTH118 (names with odd characters stay as they are)
    if _may_have_links(base, pure.parts) and not is_below(path, os.path.realpath(base)):
        raise InvalidParameterError(
            f"`relative_path` {relative_path!r} is a link that leads out of its root. "
            "Give the place it leads to as a root of its own."
        )
    return path


def _may_have_links(base: str, parts: Sequence[str]) -> bool:
    """Tell whether a path below `base` may go through a link; Windows has further kinds of them."""
    path = base
    for part in parts:
        path = os.path.join(path, part)  # noqa: PTH118
        if os.name == "nt" or os.path.islink(path):  # noqa: PTH114
            return True
    return False


def is_below(path: str, real_base: str) -> bool:
    """Tell whether `path`, with its links followed, lies in the directory `real_base`."""
    real = os.path.realpath(path)
    return real == real_base or real.startswith(real_base.rstrip(os.sep) + os.sep)


def absolute_uri(location: str | os.PathLike[str]) -> str:
    """Return the absolute path of a local place, the URI itself of a remote one."""
    text = os.fspath(location)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    path = local_path(text)
    return text.rstrip("/") if path is None else str(Path(path))


def roots_at(roots: Sequence[Root], moved: Mapping[int, str]) -> list[Root]:
    """Return roots at their present locations; `moved` has that of each which was moved, by its id."""
    return [replace(root, uri=moved.get(root.id, root.uri)) for root in roots]


def catalogued_source(index: Path, root: Root, record: dict[str, Any]) -> TableSource:
    """Return where the table of a catalogue record is read from.

    The root of frames kept in an index becomes a root of files below the index.

    Parameters
    ----------
    index : Path
        Directory of the index.
    root : Root
        Of the table, at its present location.
    record : dict
        Keys of `dfjoin.index.catalog.TABLE_FIELDS`.
    """
    version = record["version"]
    if root.kind == "memory":
        version = ""
        mirror = mirror_of(index)
        if mirror is not None:
            for part in record["parts"]:
                mirror.fetch(f"{root.uri}/{part}")
        root = Root(root.id, root.name, str(index / root.uri), "files")
    same = {name: record[name] for name in ("name", "path", "format", "size", "mtime_ns")}
    return TableSource(root=root, parts=tuple(record["parts"]), version=version, **same)


# The 64-bit fingerprint of a table's files, by which a changed table is recognised --------------------------


WHOLE_FILE_LIMIT = 64 << 20
"""Files up to this size are read whole, in bytes."""

_EDGE_BYTES = 1 << 20
_BLOCK_BYTES = 64 << 10
_N_BLOCKS = 64
_READ_BYTES = 4 << 20


def _as_int(digest: bytes) -> int:
    return int.from_bytes(digest, "little")


def _size_bytes(size: int) -> bytes:
    return size.to_bytes(8, "little")


def fingerprint_bytes(data: bytes) -> int:
    """Compute the fingerprint of one file of at most 64 MiB from its content.

    Parameters
    ----------
    data : bytes
        The whole content of the file, as stored (still compressed).

    Returns
    -------
    int
        Unsigned, 64 bits; what :func:`fingerprint` returns for the same file.

    Examples
    --------
    >>> fingerprint_bytes(b"a,b") == fingerprint_bytes(b"a,c")
    False
    """
    digest = blake2b(data, digest_size=8)
    digest.update(_size_bytes(len(data)))
    return _as_int(digest.digest())


def fingerprint_text(text: str) -> int:
    """Fingerprint what a table format or a server says of the state of a table; 64 bits."""
    return _as_int(blake2b(text.encode(), digest_size=8).digest())


def _fingerprint_file(filesystem: fs.FileSystem, path: str, size: int) -> int:
    digest = blake2b(digest_size=8)
    if size <= WHOLE_FILE_LIMIT:
        with filesystem.open_input_stream(path, compression=None) as stream:
            while chunk := stream.read(_READ_BYTES):
                digest.update(chunk)
    else:
        with filesystem.open_input_file(path) as file:
            last = size - _BLOCK_BYTES
            digest.update(file.read_at(_EDGE_BYTES, 0))
            for i in range(_N_BLOCKS):
                digest.update(file.read_at(_BLOCK_BYTES, i * last // (_N_BLOCKS - 1)))
            digest.update(file.read_at(_EDGE_BYTES, size - _EDGE_BYTES))
    digest.update(_size_bytes(size))
    return _as_int(digest.digest())


def fingerprint(filesystem: fs.FileSystem, paths: Sequence[str], size: int) -> int:
    """Compute the fingerprint of a table from its files.

    A file up to 64 MiB counts whole; of a larger one the first and last MiB and 64 blocks of 64 KiB
    at even distances. The size always counts. Several files count with their names, relative to their
    common directory, so the result does not depend on where the root lies.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where the files are.
    paths : sequence of str
        The files of the table, in the order of the table.
    size : int
        Bytes of the file; of all files when there are several.

    Returns
    -------
    int
        Unsigned, 64 bits.

    Raises
    ------
    OSError
        A file is missing or cannot be read.

    Notes
    -----
    Reads at most 64 MiB per file. The digest is BLAKE2b of 8 bytes (RFC 7693). A change between the
    sampled blocks of a large file that leaves its size alone goes unnoticed.
    """
    if len(paths) == 1:
        return _fingerprint_file(filesystem, paths[0], size)
    return unite_fingerprints(paths, fingerprints_of_parts(filesystem, paths), size)


def fingerprints_of_parts(filesystem: fs.FileSystem, paths: Sequence[str]) -> list[int]:
    """Compute the fingerprint of each of some files, see `fingerprint`."""
    found = filesystem.get_file_info(list(paths))
    return [_fingerprint_file(filesystem, path, info.size or 0) for path, info in zip(paths, found, strict=True)]


def unite_fingerprints(paths: Sequence[str], parts: Sequence[int], size: int) -> int:
    """Compute the fingerprint of a table from those of its files, in the order of the table; `size` as there."""
    if len(paths) == 1:
        return parts[0]
    base = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""  # noqa: PTH120
    digest = blake2b(digest_size=8)
    for path, part in zip(paths, parts, strict=True):
        digest.update(path[len(base) :].lstrip("/\\").replace("\\", "/").encode() + b"\0")
        digest.update(part.to_bytes(8, "little"))
    digest.update(_size_bytes(size))
    return _as_int(digest.digest())


# Older versions of tables that keep them: how a user names one, ``table@v3`` or ``table@2026-11-01T12:00``.


_VERSIONED = re.compile(r"(.+)@(v\d+|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?)")


def split_version(source: Any) -> tuple[Any, str]:
    """Return a source without the version that its name ends in, and this; empty for none.

    Parameters
    ----------
    source : object
        As in `dfjoin.build_lake`; only a path or URI names a version, no glob pattern, and no path that exists by its
        whole name.

    Examples
    --------
    >>> split_version("lake/cities@v3")
    ('lake/cities', 'v3')
    >>> split_version("s3://lake/cities@2026-11-01")
    ('s3://lake/cities', '2026-11-01')
    """
    text = os.fspath(source) if isinstance(source, os.PathLike) else source
    found = _VERSIONED.fullmatch(text) if isinstance(text, str) and not os.path.exists(text) else None  # noqa: PTH110
    if found is None or (glob.has_magic(found[1]) and not os.path.exists(found[1])):  # noqa: PTH110
        return source, ""
    return found[1], found[2]


def number_or_time(version: str) -> int | datetime:
    """Return the number of a version, or a time: that of UTC where no zone is named."""
    if version.startswith("v"):
        return int(version[1:])
    try:
        time = datetime.fromisoformat(version)
    except ValueError as error:
        raise TableReadError(f"{version!r} is no time: {error}") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
