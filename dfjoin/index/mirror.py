"""An index on another file system: a local copy of what is read of it, and the writing back at a commit.

Everything else works on a local directory, the mirror. A file of the index is copied when it is first asked for, and
compared with what the manifest says of it; a commit copies new files to the index before it names them there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path, PurePosixPath

import pyarrow as pa

from dfjoin import _validation as check
from dfjoin._user_cache import user_cache
from dfjoin.errors import InvalidParameterError
from dfjoin.index.components import FRAMES, MANIFESTS, manifest_path, version_of
from dfjoin.index.file_store import FileStore, open_filesystem

_CACHE = "indexes"
"""Name of the directory that holds the mirrors of a user."""

_CACHE_BYTES = 64 << 30
"""Bytes of mirrors that are kept, unless ``DFJOIN_CACHE_BYTES`` says another number."""

_KEPT_SECONDS = 86_400.0
"""How long a mirror stays after it was opened: a process that builds an index there may not have copied it yet."""

_mirrors: dict[Path, Mirror | None] = {}


def index_path(index: str | os.PathLike[str]) -> Path:
    """Return the local directory that stands for an index: its own, or its mirror if `index` is a URI.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is no path, or a URI that ``pyarrow.fs`` does not open.
    """
    text = check.check_path(index, "index")
    if not check.is_uri(text) or text.startswith("file://"):
        return check.check_local_path(text, "index")
    shown = check.strip_credentials(text).rstrip("/")
    directory = _cache() / blake2b(shown.encode(), digest_size=12).hexdigest()
    known = _mirrors.get(directory)
    if known is None:
        try:
            filesystem, path = open_filesystem(text)
        except (pa.ArrowException, OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).replace(text, shown).split())[:300]
            raise InvalidParameterError(
                f"`index` must be a path, or a URI that pyarrow.fs opens (s3, gs, abfs, hdfs …); {shown!r} cannot be "
                f"opened: {reason}. Check the scheme, the network and the credentials, or mount the place"
            ) from error
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.with_suffix(".uri").write_text(shown)  # its time is that of the last use
        _trim_cache(directory)
        _mirrors[directory] = Mirror(FileStore(shown, filesystem, path.rstrip("/")), directory)
    return directory


def index_uri(directory: Path) -> str:
    """Return what `index_path` takes for a directory that it returned: the URI of a mirror, without credentials."""
    mirror = mirror_of(directory)
    return str(directory) if mirror is None else mirror.uri


def mirror_of(directory: Path) -> Mirror | None:
    """Return the mirror that a directory is; None for a directory that is an index itself."""
    if directory not in _mirrors:
        note = directory.with_suffix(".uri")
        if not note.exists():
            _mirrors[directory] = None
        else:  # made by another process, as the driver of this worker
            index_path(note.read_text())
    return _mirrors.get(directory)


def mirror_above(path: Path) -> tuple[Mirror, str] | None:
    """Return the mirror that a path lies in and its name there; None for a path of an index on this machine."""
    for directory in path.parents:
        mirror = mirror_of(directory) if directory.parent.name == _CACHE else None
        if mirror is not None:
            return mirror, path.relative_to(directory).as_posix()
    return None


def store_of(directory: Path) -> FileStore:
    """Return the files of an index where it lies."""
    mirror = mirror_of(directory)
    return FileStore.local(directory) if mirror is None else mirror.store


def fetch_below(path: Path) -> None:
    """Copy the files below a directory of a mirror that are not here; nothing happens for other paths."""
    found = mirror_above(path)
    if found is not None:
        found[0].fetch_all(found[1])


def discard_there(path: Path) -> None:
    """Remove what a path of a mirror stands for on the other file system; nothing happens for other paths."""
    found = mirror_above(path)
    if found is not None:
        found[0].store.discard(found[1])


def _cache() -> Path:
    """Return the user's directory for mirrors; nobody else may write there."""
    cache = user_cache(_CACHE)
    if cache is None:
        raise InvalidParameterError(
            "`index` is a URI, whose files are kept in a directory of this user, and none can be written; set "
            "DFJOIN_CACHE_DIR to one"
        )
    return cache


def _trim_cache(own: Path) -> None:
    """Remove mirrors beside one that is opened, the one used the longest ago first, until they have `_CACHE_BYTES`.

    Those stay that this process uses, or any opened within a day. What another one has mapped it keeps, and it copies
    again what it asks for.
    """
    asked = os.environ.get("DFJOIN_CACHE_BYTES", str(_CACHE_BYTES))
    if not asked.isdecimal():
        raise InvalidParameterError(f"`DFJOIN_CACHE_BYTES` must be a number of bytes, got {asked!r:.80}; unset it")
    used: dict[Path, float] = {}
    for note in own.parent.glob("*.uri"):
        with suppress(OSError):  # another process removes it
            used[note] = note.stat().st_mtime
    sizes = {note: _size_of(note.with_suffix("")) for note in used}
    excess = sum(sizes.values()) - int(asked)
    for note in sorted(used, key=used.__getitem__):
        if excess <= 0:
            return
        directory = note.with_suffix("")
        is_old = time.time() - used[note] > _KEPT_SECONDS
        if is_old and directory != own and _mirrors.get(directory) is None:
            shutil.rmtree(directory, ignore_errors=True)
            note.unlink(missing_ok=True)
            excess -= sizes[note]


def _size_of(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):  # passes over what another process removes meanwhile
        for name in names:
            with suppress(OSError):
                total += Path(folder, name).stat().st_size
    return total


class Mirror:
    """The local copy of an index on another file system.

    Parameters
    ----------
    store : FileStore
        The index there.
    directory : Path
        The copy.
    """

    def __init__(self, store: FileStore, directory: Path) -> None:
        self.store = store
        self.directory = directory
        self.n_fetched_bytes = 0
        """Bytes that this process has copied from there."""

    @property
    def uri(self) -> str:
        """Where the index is, without credentials."""
        return self.store.uri

    def fetch_manifests(self) -> None:
        """Bring the manifests of the mirror up to date; those that are not there any more go."""
        names = {name for name in self.store.files(MANIFESTS) if version_of(PurePosixPath(name).name) is not None}
        here = self.directory / MANIFESTS
        kept = {f"{MANIFESTS}/{path.name}" for path in here.iterdir()} if here.is_dir() else set()
        latest = max(names, default=None)
        # An index that was built anew has other manifests under the same names.
        valid = kept & names if latest not in kept or self._is_same(latest) else set()
        for name in kept - valid:
            (self.directory / name).unlink(missing_ok=True)
        for name in names - valid:
            self.fetch(name)

    def _is_same(self, name: str) -> bool:
        """Tell whether a file is here as it is there; not if another process removes it meanwhile."""
        try:
            return b"".join(self.store.chunks(name)) == (self.directory / name).read_bytes()
        except FileNotFoundError:
            return False

    def fetch(self, name: str) -> bool:
        """Copy a file of the index, unless it is here; return whether it is here now."""
        target = self.directory / name
        if target.exists():
            return True
        is_there = self.store.copy_to(name, target)
        self.n_fetched_bytes += target.stat().st_size if is_there else 0
        return is_there

    def fetch_all(self, name: str) -> None:
        """Copy the files below a directory of the index that are not here."""
        for file in self.store.files(name, recursive=True):
            self.fetch(file)

    def send_all(self, name: str) -> None:
        """Copy all files below a directory of the mirror to the index."""
        for file in self._files_of([name]):
            self.store.copy_from(self.directory / file, file)

    def send_new(self, name: str) -> None:
        """Copy the files below a directory of the mirror that the index does not have."""
        for file in self._new_files([name]):
            self.store.copy_from(self.directory / file, file)

    def checksum(self, name: str, crc32: int) -> tuple[int, int] | None:
        """Read a file of the index there; return its bytes and CRC-32, None where it is missing.

        A copy is removed if the file has that `crc32` and the copy is another.
        """
        found = self.store.checksum(name)
        copy = self.directory / name
        is_sound = found is not None and found[1] == crc32
        if is_sound and copy.exists() and FileStore.local(self.directory).checksum(name) != found:
            copy.unlink()
        return found

    def publish(self, version: int, text: str, names: Iterable[str]) -> None:
        """Copy the files that a version names to the index, then the manifest, as the version after the latest.

        Parameters
        ----------
        version : int
        text : str
            The manifest.
        names : iterable of str
            Files and directories below the index that it names; frames given in memory are copied all.

        Raises
        ------
        FileExistsError
            If another writer creates that version, see `FileStore.claim`.
        """
        name = manifest_path(Path(), version).as_posix()
        for file in self._new_files([*names, FRAMES]):
            self.store.copy_from(self.directory / file, file)
        with self.store.claim(name):
            self.store.write(name, lambda stream: stream.write(text.encode()))
        self.fetch(name)

    def _files_of(self, names: Iterable[str]) -> list[str]:
        """List the files of the mirror that some names are, or that lie below them."""
        here: list[str] = []
        for name in names:
            path = self.directory / name
            found = [path] if path.is_file() else sorted(path.rglob("*")) if path.is_dir() else []
            here += [f.relative_to(self.directory).as_posix() for f in found if f.is_file() and f.name[0] != "."]
        return list(dict.fromkeys(here))

    def _new_files(self, names: Iterable[str]) -> list[str]:
        """List the files below some names that the mirror has and the index has not."""
        here = self._files_of(names)
        parents = {"/".join(file.split("/")[:2]) if file.count("/") > 1 else file.split("/")[0] for file in here}
        there = {file for parent in parents for file in self.store.files(parent, recursive=True)}
        return [file for file in here if file not in there]
