"""The versions of an index: which there are, and the manifest of one."""

from __future__ import annotations

from pathlib import Path

from dfjoin.errors import IndexCorruptedError, IndexNotFoundError, InvalidParameterError, shortlist
from dfjoin.index.layout import MANIFESTS, manifest_path, version_of
from dfjoin.index.manifest import Manifest, check_seal
from dfjoin.index.mirror import mirror_of

__all__ = ["latest_version", "list_versions", "read_manifest"]


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
    if version is None:
        version = versions[-1]
    elif version not in versions:
        raise InvalidParameterError(
            f"`version` must be a version that the index has ({shortlist(versions[::-1])}), got {version!r}"
        )
    path = manifest_path(index, version)
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise IndexCorruptedError(
            f"the manifest {path} cannot be read ({error}); open an older version with `version=`, call "
            "dfjoin.repair, or build the index again"
        ) from error
    manifest = Manifest.from_json(text, str(path))
    check_seal(text, version, path)
    return manifest
