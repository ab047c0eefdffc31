"""The 64-bit fingerprint of a table's files, by which a changed table is recognised."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b

from pyarrow import fs

__all__ = [
    "WHOLE_FILE_LIMIT",
    "fingerprint",
    "fingerprint_bytes",
    "fingerprint_text",
    "fingerprints_of_parts",
    "unite_fingerprints",
]

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
