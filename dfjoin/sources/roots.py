"""Places that tables come from: open a root, and find a path below it without leaving it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from dfjoin._validation import has_credentials, is_uri, strip_credentials
from dfjoin.errors import InvalidParameterError
from dfjoin.index.mirror import mirror_of
from dfjoin.index.object_store import open_filesystem, reason_of_store
from dfjoin.types import Root, TableSource

__all__ = [
    "absolute_uri",
    "cannot_be_opened",
    "catalogued_source",
    "is_below",
    "is_opened_with_credentials",
    "local_path",
    "open_root",
    "resolve",
]

_LOCAL_FILES = fs.LocalFileSystem()


def local_path(place: str) -> str | None:
    """Return the path on this machine that a path or ``file://`` URI means, None for other URIs."""
    if not is_uri(place):
        return os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111 (keeps links as given)
    parts = urlsplit(place)
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


def absolute_uri(place: str | os.PathLike[str]) -> str:
    """Return the absolute path of a local place, the URI itself of a remote one."""
    text = os.fspath(place)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    path = local_path(text)
    return text.rstrip("/") if path is None else str(Path(path))


def catalogued_source(index: Path, root: Root, record: dict[str, Any]) -> TableSource:
    """Return where the table of a catalogue record is read from.

    The root of frames kept in an index becomes a root of files below the index.

    Parameters
    ----------
    index : Path
        Directory of the index.
    root : Root
        Of the table, at its present place.
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
