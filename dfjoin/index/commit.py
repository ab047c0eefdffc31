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

from dfjoin.errors import ConcurrentCommitError, IndexFormatError, IndexWriteError
from dfjoin.index.file_store import FileStore
from dfjoin.index.layout import (
    MANIFESTS,
    RUNS,
    create_file,
    group_directory,
    is_mark_of,
    make_directory,
    manifest_path,
    run_directory,
)
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.mirror import discard_there, index_uri, mirror_of
from dfjoin.index.versions import latest_version, read_manifest, read_manifests

__all__ = ["NO_ROOM", "Uncommitted", "commit", "commit_change", "scratch_directory"]

NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""Errors of the system by which a full disk, a quota or a limit of file sizes shows."""

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
    """Raise the error that says what to do, if a change failed for want of room."""
    if not isinstance(error, OSError) or isinstance(error, IndexWriteError) or error.errno not in NO_ROOM:
        return
    there = next(place for place in (index, *index.parents) if place.exists())
    latest = latest_version(index)
    state = f"version {latest} is still the latest" if latest else "there is no index"
    free = shutil.disk_usage(there).free / 1e6
    failure = IndexWriteError(
        f"there is no room to write the index `{index}` ({error.strerror}); what this change had written is removed, "
        f"and {state}. It needs more than the {free:,.1f} MB that are free now: make room "
        "(Lake.vacuum removes old versions), or build the index on a larger disk"
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
    and the text renamed into place. An index on another file system gets it from its mirror.

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
