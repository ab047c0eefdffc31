"""The versions of an index: which there are, the manifest of one or of all, and holds of those that are restored."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dfjoin.errors import (
    IndexCorruptedError,
    IndexFormatError,
    IndexNotFoundError,
    InvalidParameterError,
    shortlist,
)
from dfjoin.index.file_store import FileStore
from dfjoin.index.layout import MANIFESTS, manifest_path, version_of
from dfjoin.index.manifest import Manifest, check_seal
from dfjoin.index.mirror import mirror_of

__all__ = ["held_versions", "hold", "latest_version", "list_versions", "read_manifest", "read_manifests"]

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
        If there is no index at that place.
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
