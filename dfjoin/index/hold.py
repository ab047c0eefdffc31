"""Holds: an old version that is about to be restored keeps its files, although vacuum removes it meanwhile.

Who restores a version writes a hold and then looks whether the version is there. Who removes a version removes its
manifest and then looks for holds. So one of the two sees the other, without a lock that a killed process would leave.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dfjoin.index.file_store import FileStore
from dfjoin.index.layout import MANIFESTS, manifest_path

__all__ = ["held_versions", "hold"]

_SUFFIX = ".hold"


@contextmanager
def hold(store: FileStore, version: int) -> Iterator[None]:
    """Hold a version while it is restored."""
    name = f"{manifest_path(Path(), version).with_suffix('').as_posix()}.{uuid.uuid4().hex}{_SUFFIX}"
    store.write(name, lambda stream: stream.write(b"held"))
    try:
        yield
    finally:
        store.discard(name)


def held_versions(store: FileStore, limit: float) -> set[int]:
    """Return the versions that have a hold younger than `limit`, in seconds since 1970; older ones are of the dead."""
    files = store.files(MANIFESTS).items()
    names = [name.removeprefix(f"{MANIFESTS}/") for name, file in files if file.modified > limit]
    return {int(name.partition(".")[0]) for name in names if name.endswith(_SUFFIX)}
