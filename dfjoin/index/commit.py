"""Committing a version: in one step, after every other writer, and without a trace when it fails."""

from __future__ import annotations

import errno
import os
import random
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from dfjoin.errors import (
    ConcurrentCommitError,
    IndexCorruptedError,
    IndexFormatError,
    IndexNotFoundError,
    IndexWriteError,
    InvalidParameterError,
    shortlist,
)
from dfjoin.index.components import (
    MANIFESTS,
    RUNS,
    create_file,
    group_directory,
    is_mark_of,
    make_directory,
    manifest_path,
    run_directory,
    version_of,
)
from dfjoin.index.file_store import FileStore
from dfjoin.index.manifest import Manifest, SegmentMeta, check_seal
from dfjoin.index.mirror import discard_there, index_uri, mirror_of

NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""Errors of the system by which a full disk, a quota or a limit of file sizes shows."""

_NO_RIGHT = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

_ATTEMPTS = 100
_LONGEST_PAUSE = 0.25


class Uncommitted:
    """What a change has written and no version names yet; a context that removes it when the change fails.

    Everything is kept if a version names any of it: an interruption may come just after the commit. A directory
    that held no index before, and holds no version after the failure, is left as it was found.

    Parameters
    ----------
    index : Path
        Directory of the index.
    """

    def __init__(self, index: Path) -> None:
        self.index = index
        self._written: list[Path] = []

    def __enter__(self) -> Uncommitted:
        self._latest = latest_version(self.index)
        self._was_there = self.index.exists()
        return self

    def add(self, *paths: Path) -> None:
        """Take note of files or directories that belong to the change."""
        self._written += paths

    def move_groups(self, name: str, segment: SegmentMeta, work: Path) -> None:
        """Move component groups that tasks wrote to their segment, unless they were written there.

        Parameters
        ----------
        name : {"vectors", "axes"}
        segment : SegmentMeta
            Has these groups.
        work : Path
            The directory that tasks of this machine wrote them below.
        """
        for group in segment.groups_of(name):
            target = group_directory(self.index, segment.id, group.id)
            self.add(target)
            made = group_directory(work, segment.id, group.id)
            if made.exists() or mirror_of(self.index) is None:
                made.rename(target)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or (self._written and self._is_committed()):
            return
        for path in self._written:
            _remove(path)
            discard_there(path)
        if latest_version(self.index) == 0:
            for path in list(self.index.iterdir()) if self.index.is_dir() else []:
                _remove(path)
            if not self._was_there:
                shutil.rmtree(self.index, ignore_errors=True)
        _explain(self.index, error)

    def _is_committed(self) -> bool:
        """Tell whether a version that came since names what was written."""
        wanted = {path.relative_to(self.index).as_posix() for path in self._written if path.is_relative_to(self.index)}
        for version, manifest in read_manifests(self.index):
            if version <= self._latest:
                return False
            # One that cannot be read may name them: better an orphan than a loss.
            if isinstance(manifest, IndexFormatError) or manifest.named_paths() & wanted:
                return True
        return False


def _explain(index: Path, error: BaseException | None) -> None:
    """Raise the error that says what to do, if a change failed for want of room, or of the right to write."""
    if not isinstance(error, OSError) or isinstance(error, IndexWriteError) or error.errno is None:
        return
    there = next(location for location in (index, *index.parents) if location.exists())
    if error.errno in NO_ROOM:
        free = shutil.disk_usage(there).free / 1e6
        what, remedy = (
            "there is no room",
            f"It needs more than the {free:,.1f} MB that are free now: make room (Lake.vacuum removes old versions), "
            "or build the index on a larger disk",
        )
    elif error.errno in _NO_RIGHT and not os.access(there, os.W_OK):
        what, remedy = "this process has no right", "Change a copy of it at a place that can be written"
    else:
        return
    latest = latest_version(index)
    state = f"version {latest} is still the latest" if latest else "there is no index"
    failure = IndexWriteError(
        f"{what} to write the index `{index}` ({os.strerror(error.errno)}); what this change had written is removed, "
        f"and {state}. {remedy}"
    )
    failure.errno = error.errno
    raise failure from error


@contextmanager
def scratch_directory(index: Path, purpose: str) -> Iterator[Path]:
    """Make a directory for the runs of one build or compaction; remove it in the end, wherever it has files."""
    work = run_directory(index, f"{purpose}-{uuid.uuid4().hex}")
    make_directory(work / RUNS)
    try:
        yield work
    finally:
        _remove(work)
        discard_there(work)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def commit(index: Path, manifest: Manifest) -> None:
    """Make a manifest the next version, in one step that either happens or does not.

    The text is written beside the manifests and synced, then given its name by a hard link, which
    fails when that version exists already. Where the file system has no hard links, the version is claimed
    and the text renamed to its name. An index on another file system gets it from its mirror.

    Parameters
    ----------
    index : Path
        Directory of the index.
    manifest : Manifest
        Its `version` is the one to create.

    Raises
    ------
    ConcurrentCommitError
        If another writer has created that version.
    """
    mirror = mirror_of(index)
    try:
        if mirror is None:
            _publish(index, manifest)
        else:
            mirror.publish(manifest.version, manifest.to_json(), sorted(manifest.named_paths()))
    except FileExistsError as error:
        raise ConcurrentCommitError(
            f"version {manifest.version} of the index at `{index_uri(index)}` {error.strerror}; nothing of this change "
            "is visible: call `refresh()` and repeat it"
        ) from None


def _publish(index: Path, manifest: Manifest) -> None:
    directory = index / MANIFESTS
    make_directory(directory)
    draft = directory / f".draft-{uuid.uuid4().hex}"
    try:
        with create_file(draft) as stream:
            stream.write(manifest.to_json().encode())
            stream.flush()
            os.fsync(stream.fileno())
        _link(draft, manifest_path(index, manifest.version))
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(directory)


def _link(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "was committed by another writer in the meantime", str(target)) from None
    except OSError:  # no hard links here
        with FileStore.local(target.parent).claim(target.name):
            draft.rename(target)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def commit_change(index: Path, change: Callable[[Manifest], Manifest]) -> Manifest:
    """Apply a change to the latest version and commit the result as the next one.

    Parameters
    ----------
    index : Path
        Directory of the index.
    change : callable
        Latest manifest → the manifest that follows it; called again with a newer one when another writer
        has committed in the meantime. It raises when the two changes do not go together.

    Returns
    -------
    Manifest
        As committed.

    Raises
    ------
    ConcurrentCommitError
        If others came first a hundred times in a row.

    Notes
    -----
    Every change is applied exactly once: a version is created by an operation that either happens or
    does not, so the history is linear.
    """
    pause = 0.002
    for attempt in range(_ATTEMPTS):
        try:
            manifest = change(read_manifest(index))
        except OSError as error:
            _explain(index, error)
            raise
        try:
            with Uncommitted(index) as written:
                # Segments serve the next attempt as well; an alive mask is made for one version.
                marks = [path for path in manifest.named_paths() if is_mark_of(path, manifest.version)]
                written.add(*(index / mark for mark in marks))
                commit(index, manifest)
        except ConcurrentCommitError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(pause * random.random())
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        return manifest
    raise AssertionError("unreachable")


# The versions of an index: which there are, the manifest of one or of all, and holds of those that are
# restored.


_HOLD = ".hold"


def list_versions(index: Path) -> list[int]:
    """List the versions that have a manifest, ascending; empty when there is no index."""
    mirror = mirror_of(index)
    if mirror is not None:
        mirror.fetch_manifests()
    try:
        names = [path.name for path in (index / MANIFESTS).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(version for name in names if (version := version_of(name)) is not None)


def latest_version(index: Path) -> int:
    """Return the highest version, 0 when there is no index."""
    return max(list_versions(index), default=0)


def _how_to_build(index: Path) -> str:
    """Say how an index is built where there is none; a directory of files is taken for the lake itself."""
    if index.is_file():
        return "it is a file: read it into a frame, or build an index of the directory that it lies in"
    try:
        holds_files = any(index.iterdir())
    except OSError:  # there is no such directory
        holds_files = False
    if holds_files:
        made = f"dfjoin.build_lake({str(index)!r}, {f'{index.name}.dfjoin'!r})"
        return f"it is a directory of other files: if these are your tables, build an index of them with {made}"
    return f"build one with dfjoin.build_lake(source, {str(index)!r})"


def read_manifest(index: Path, version: int | None = None) -> Manifest:
    """Read the manifest of a version, the latest by default.

    Parameters
    ----------
    index : Path
        Directory of the index.
    version : int, optional
        A version that still exists.

    Returns
    -------
    Manifest

    Raises
    ------
    IndexNotFoundError
        If there is no index at that location.
    InvalidParameterError
        If there is one, but not this version of it.
    """
    versions = list_versions(index)
    if not versions:
        raise IndexNotFoundError(f"there is no dfjoin index at `{index}`: no manifest below it; {_how_to_build(index)}")
    wanted, version = version, versions[-1] if version is None else version
    if version not in versions:
        raise InvalidParameterError(
            f"`version` must be a version that the index has ({shortlist(versions[::-1])}), got {version!r}"
        )
    path = manifest_path(index, version)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        if version in list_versions(index) and not path.exists():
            raise
        return read_manifest(index, wanted)  # it was removed, or fetched anew, since the versions were listed
    except UnicodeDecodeError as error:
        raise IndexCorruptedError(
            f"the manifest {path} cannot be read ({error}); open an older version with `version=`, call "
            "dfjoin.repair, or build the index again"
        ) from error
    manifest = Manifest.from_json(text, str(path))
    check_seal(text, version, path)
    return manifest


def read_manifests(index: Path) -> Iterator[tuple[int, Manifest | IndexFormatError]]:
    """Read the manifests of all versions, the latest first; those that are removed meanwhile are passed over.

    Yields
    ------
    version : int
    manifest : Manifest or IndexFormatError
        Where it cannot be read, the error that says why.
    """
    for version in reversed(list_versions(index)):
        try:
            yield version, read_manifest(index, version)
        except IndexFormatError as error:
            yield version, error
        except InvalidParameterError:
            continue


@contextmanager
def hold(store: FileStore, version: int) -> Iterator[None]:
    """Let an old version keep its files while it is restored, although vacuum may remove it meanwhile.

    Who restores a version writes a hold and then looks whether the version is there. Who removes a version removes
    its manifest and then looks for holds. So one of the two sees the other, without a lock that a killed process
    would leave.
    """
    name = f"{manifest_path(Path(), version).with_suffix('').as_posix()}.{uuid.uuid4().hex}{_HOLD}"
    store.write(name, lambda stream: stream.write(b"held"))
    try:
        yield
    finally:
        store.discard(name)


def held_versions(store: FileStore, limit: float) -> set[int]:
    """Return the versions that have a hold younger than `limit`, in seconds since 1970; older ones are of the dead."""
    files = store.files(MANIFESTS).items()
    names = [name.removeprefix(f"{MANIFESTS}/") for name, file in files if file.modified > limit]
    return {int(name.partition(".")[0]) for name in names if name.endswith(_HOLD)}
