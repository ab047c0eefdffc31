"""The files of an index where it lies, on this machine or elsewhere: listed, read, written and removed."""

from __future__ import annotations

import errno
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import IndexNotFoundError, IndexWriteError, InvalidParameterError
from dfjoin.index.components import create_file, make_directory

_CHUNK = 8 << 20

_CLAIM_SECONDS = 600
"""How long the claim of a writer that died keeps others from a file."""

_OBJECT_STORES = ("s3", "gcs", "abfs")
"""File systems that show a file whole or not at all."""


class StoredEntry(NamedTuple):
    """A file or directory: its bytes, and when it was last modified, in seconds since 1970.

    A file whose time is not known counts as new, a directory as old.
    """

    size: int
    modified: float
    is_directory: bool


class FileStore:
    """A directory on a file system. Names are POSIX paths below it.

    Parameters
    ----------
    uri : str
        Of the directory, without credentials, as errors show it.
    filesystem : pyarrow.fs.FileSystem
    path : str
        Of the directory there.

    Notes
    -----
    An operation that the file system lacks is an `InvalidParameterError` that names both.
    """

    def __init__(self, uri: str, filesystem: fs.FileSystem, path: str) -> None:
        self.uri = uri
        self._filesystem = filesystem
        self._path = path

    @classmethod
    def local(cls, directory: Path) -> FileStore:
        """Return the store of a directory of this machine."""
        return cls(str(directory), fs.LocalFileSystem(), str(directory.absolute()))

    def _there(self, name: str) -> str:
        return f"{self._path}/{name}".rstrip("/")

    def at(self, names: Iterable[str]) -> tuple[fs.FileSystem, list[str]]:
        """Return the file system and the paths of some files there, for what reads them by these."""
        return self._filesystem, [self._there(name) for name in names]

    @contextmanager
    def _able_to(self, what: str) -> Iterator[None]:
        """Say that the file system cannot do something, if that is why an operation failed."""
        try:
            yield
        except NotImplementedError as error:  # Arrow's own is one as well
            raise InvalidParameterError(
                f"`index` lies at `{self.uri}`, whose file system ({self._filesystem.type_name}) cannot {what}; mount "
                "the place, or copy the index to a file system that can, and open it there"
            ) from error

    def entries(self, name: str = "", recursive: bool = False) -> dict[str, StoredEntry]:
        """List what is in a directory, or everything below it; nothing where there is no such directory.

        Raises
        ------
        IndexNotFoundError
            If the location cannot be reached.
        """
        selector = fs.FileSelector(self._there(name), allow_not_found=True, recursive=recursive)
        start = len(self._path) + 1
        now = time.time()
        found = {}
        try:
            with self._able_to("list files"):
                infos = self._filesystem.get_file_info(selector)
        except (pa.ArrowException, OSError) as error:
            raise IndexNotFoundError(
                f"the index at `{self.uri}` cannot be reached: {reason_of_store(error)}. Check the network and the "
                "credentials"
            ) from error
        for info in infos:
            is_directory = info.type == fs.FileType.Directory
            modified = info.mtime_ns / 1e9 if info.mtime_ns else 0.0 if is_directory else now
            found[info.path[start:]] = StoredEntry(info.size or 0, modified, is_directory)
        return found

    def files(self, name: str, recursive: bool = False) -> dict[str, StoredEntry]:
        """List the files of a directory, or all below it."""
        return {name: entry for name, entry in self.entries(name, recursive).items() if not entry.is_directory}

    def exists(self, name: str) -> bool:
        """Tell whether there is a file or directory of that name."""
        return self._filesystem.get_file_info(self._there(name)).type != fs.FileType.NotFound

    def chunks(self, name: str) -> Iterator[bytes]:
        """Read a file in pieces of 8 MiB; raises `FileNotFoundError` where there is none."""
        with self._able_to("read files"), self._filesystem.open_input_stream(self._there(name), compression=None) as it:
            while chunk := it.read(_CHUNK):
                yield chunk

    def checksum(self, name: str) -> tuple[int, int] | None:
        """Read a file; return its bytes and its CRC-32, None where there is none."""
        size = crc = 0
        try:
            for chunk in self.chunks(name):
                size, crc = size + len(chunk), zlib.crc32(chunk, crc)
        except FileNotFoundError:
            return None
        return size, crc

    def copy_to(self, name: str, target: Path) -> bool:
        """Copy a file to this machine, whole or not at all; return whether it is there."""
        make_directory(target.parent)
        draft = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
        try:
            with create_file(draft) as out:
                for chunk in self.chunks(name):
                    out.write(chunk)
            draft.replace(target)
        except FileNotFoundError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def copy_from(self, source: Path, name: str) -> None:
        """Copy a file of this machine into the directory."""
        with source.open("rb") as stream:
            self.write(name, lambda out: shutil.copyfileobj(stream, out, _CHUNK))

    def write(self, name: str, write: Callable[[Any], object]) -> None:
        """Write a file, which is there as a whole or not at all.

        Raises
        ------
        IndexWriteError
            If an object store does not take it.
        """
        if self._filesystem.type_name not in _OBJECT_STORES:
            self._write_as_draft(name, write)
            return
        try:
            with (
                self._able_to("write files"),
                self._filesystem.open_output_stream(self._there(name), compression=None) as stream,
            ):
                write(stream)
        except (pa.ArrowException, OSError) as error:
            raise IndexWriteError(
                f"the index at `{self.uri}` cannot be written: {reason_of_store(error)}. Nothing of this change is "
                "visible; check the network and the credentials, and repeat it"
            ) from error

    def _write_as_draft(self, name: str, write: Callable[[Any], object]) -> None:
        """Write a file beside its path, and rename it."""
        target = self._there(name)
        draft = f"{name}.{uuid.uuid4().hex}.draft"
        with self._able_to("write files"):
            self._filesystem.create_dir(str(PurePosixPath(target).parent), recursive=True)
            with self._filesystem.open_output_stream(self._there(draft), compression=None) as stream:
                write(stream)
        try:
            with self._able_to("rename files"):
                self._filesystem.move(self._there(draft), target)
        except BaseException:
            self.discard(draft)
            raise

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Be the only one to create a file, on a file system that cannot create one only if there is none.

        Raises
        ------
        FileExistsError
            If the file exists, or another writer is about to create it; `strerror` says which.

        Notes
        -----
        A writer claims the name by a file of its own, lists the claims, and gives up unless it is alone and the file
        does not exist. Of two writers one sees the other, as each writes before it lists; both may give up, and try
        again. This needs a store that lists what was written before, as local disks, S3, GCS, Azure and HDFS do. The
        claim of a writer that died ends by its age.
        """
        stem = name.removesuffix(PurePosixPath(name).suffix)
        claim = f"{stem}.{uuid.uuid4().hex}.claim"
        try:
            self.write(claim, lambda stream: stream.write(b"claimed"))
            there = self.files(name.rpartition("/")[0])
            claims = {other for other in there if other.startswith(f"{stem}.") and other.endswith(".claim")} - {claim}
            left = max((there[other].modified - time.time() + _CLAIM_SECONDS for other in claims), default=-1.0)
            if self.exists(name):  # asked last: who has created it may have withdrawn its claim while they were listed
                raise FileExistsError(errno.EEXIST, "was committed by another writer in the meantime", name)
            if left >= 0:
                reason = "is being committed by another writer; should that one have died, others can commit"
                raise FileExistsError(errno.EEXIST, f"{reason} in {left:.0f} seconds", name)
            yield
        finally:
            self.discard(claim)

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all below it; nothing happens where there is none."""
        with suppress(pa.ArrowException, OSError), self._able_to("remove files"):
            if self._filesystem.get_file_info(self._there(name)).type == fs.FileType.Directory:
                self._filesystem.delete_dir(self._there(name))
            else:
                self._filesystem.delete_file(self._there(name))

    def discard(self, name: str) -> None:
        """Remove what nothing names, as far as the file system can; what stays is an orphan."""
        with suppress(InvalidParameterError):
            self.remove(name)


# File systems by URI: those of object stores give up after a known number of attempts, and errors tell it.


ATTEMPTS = 5
"""How often a request is sent to an object store that does not answer, or answers that it is busy or broken."""

_NOT_REPEATED = ("ACCESS_DENIED", "status 4", "NoSuchBucket", "NO_SUCH", "INVALID_ACCESS_KEY")


def open_filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """Open the file system that a URI names, as ``pyarrow.fs.FileSystem.from_uri`` does.

    Parameters
    ----------
    uri : str

    Returns
    -------
    tuple of (pyarrow.fs.FileSystem, str)
        The file system and the path on it. One of S3 sends a request five times, at growing distances; a connection
        over which nothing comes for three seconds counts as failed.
    """
    filesystem, path = fs.FileSystem.from_uri(uri)
    if filesystem.type_name == "s3":
        _, (options,) = filesystem.__reduce__()  # all that the URI said, as when it is sent to another process
        filesystem = fs.S3FileSystem(**options, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS))
    return filesystem, path


def is_of_store(error: BaseException | None) -> bool:
    """Tell whether an object store did not do what it was asked for: it may do it later."""
    return isinstance(error, OSError) and "AWS Error" in str(error)


def reason_of_store(error: BaseException) -> str:
    """Return the text of an error, and how often it was tried if it is that of an object store that did not answer."""
    text = " ".join(str(error).split()).rstrip(".")
    is_repeated = is_of_store(error) and not any(mark in text for mark in _NOT_REPEATED)
    return f"{text} ({ATTEMPTS} attempts)" if is_repeated else text
