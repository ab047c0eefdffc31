"""Tombstones: which columns of an immutable segment are still alive. A new file per change."""

from __future__ import annotations

import os
import uuid
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.component_files import damaged, save_array
from dfjoin.index.layout import TOMBSTONES, create_file, make_directory, tombstones_file
from dfjoin.index.mirror import mirror_of

if TYPE_CHECKING:
    from dfjoin.index.manifest import SegmentMeta

__all__ = ["read_alive", "verify_alive", "write_alive"]


def read_alive(index: Path, meta: SegmentMeta) -> NDArray[np.uint8] | None:
    """Read the alive mask of a segment.

    Parameters
    ----------
    index : Path
        Directory of the index.
    meta : SegmentMeta
        Its `tombstones` name the file, if there is one.

    Returns
    -------
    ndarray of uint8, shape (n_columns,), or None
        1 for a column that is alive; None when nothing was deleted.
    """
    if meta.tombstones is None:
        return None
    path = index / meta.tombstones["file"]
    mirror = mirror_of(index)
    if mirror is not None:
        mirror.fetch(meta.tombstones["file"])
    try:
        if zlib.crc32(path.read_bytes()) != meta.tombstones["crc32"]:
            raise ValueError("its CRC-32 is not the recorded one")
        alive = np.load(path, allow_pickle=False)
        if alive.dtype != np.uint8 or alive.shape != (meta.counts["columns"],):
            raise ValueError(f"it holds {alive.dtype} of shape {alive.shape}")
    except (OSError, ValueError, KeyError, EOFError, SyntaxError, TokenError) as error:
        raise damaged(meta.id, "tombstones", f"{path.name}: {error}") from error
    alive.flags.writeable = False
    return alive


def verify_alive(index: Path, meta: SegmentMeta) -> None:
    """Raise what `read_alive` raises, for the file where the index lies: the copy in a mirror may be sound."""
    mirror = mirror_of(index)
    if mirror is not None and meta.tombstones is not None:
        file, crc32 = meta.tombstones["file"], meta.tombstones["crc32"]
        found = mirror.checksum(file, crc32)
        if found is None or found[1] != crc32:
            what = "the file is missing" if found is None else "its CRC-32 is not the recorded one"
            raise damaged(meta.id, "tombstones", f"{Path(file).name}: {what}")
    read_alive(index, meta)


def write_alive(
    index: Path,
    segment_id: str,
    version: int,
    alive: NDArray[np.uint8],
    n_deleted_tables: int = 0,
    n_deleted_indexed: int = 0,
) -> dict[str, Any]:
    """Write an alive mask for one version; return its manifest entry.

    Parameters
    ----------
    index : Path
        Directory of the index.
    segment_id : str
    version : int
        The version that will name this file.
    alive : ndarray of uint8, shape (n_columns,)
    n_deleted_tables : int
        Tables whose columns are deleted.
    n_deleted_indexed : int
        Columns among the deleted that are indexed.

    Returns
    -------
    dict
        ``file``, ``n_deleted``, ``n_deleted_tables``, ``n_deleted_indexed``, ``crc32``.
    """
    make_directory(index / TOMBSTONES)
    # Writers that race for one version must not write one file.
    file = tombstones_file(segment_id, version, uuid.uuid4().hex[:8])
    path = index / file
    try:
        with create_file(path) as stream:
            save_array(stream, alive)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return {
        "file": file,
        "n_deleted": int((alive == 0).sum()),
        "n_deleted_tables": n_deleted_tables,
        "n_deleted_indexed": n_deleted_indexed,
        "crc32": zlib.crc32(path.read_bytes()),
    }
