"""How a component file is written, mapped and checked."""

from __future__ import annotations

import ctypes
import io
import itertools
import math
import mmap
import os
import shutil
import sys
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.components import DTYPES, ComponentMeta, create_file, make_directory
from dfjoin.index.mirror import mirror_above

_CHUNK = 16 << 20


def damaged(segment: str | None, component: str, what: str) -> IndexCorruptedError:
    """Return the error for a component that is not as it was written.

    Parameters
    ----------
    segment : str or None
        Id of its segment; None where it is not known.
    component : str
        Its name.
    what : str
        What is wrong with it, as a clause.
    """
    location = "the index" if segment is None else f"segment {segment}"
    return IndexCorruptedError(
        f"component `{component}` of {location} is damaged: {what}; call dfjoin.repair, or build the index again"
    )


def write_component(directory: Path, group: str, name: str, array: NDArray) -> ComponentMeta:
    """Write one array as ``<group>/<name>.npy`` below the segment's directory, and sync it.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    group : str
        Directory name of the component group.
    name : str
        Component name, in `dfjoin.index.components.COMPONENTS`.
    array : ndarray
        Of the dtype that these say.

    Returns
    -------
    ComponentMeta
    """
    array = np.ascontiguousarray(array, DTYPES[name])
    return write_rows(directory, group, name, array.shape, [array])


def write_rows(
    directory: Path, group: str, name: str, shape: tuple[int, ...], parts: Iterable[NDArray]
) -> ComponentMeta:
    """Write an array that comes in parts of its first axis, so that it need not be held whole, and sync it.

    Parameters
    ----------
    directory, group, name
        As in `write_component`.
    shape : tuple of int
        Of the whole array.
    parts : iterable of ndarray
        Consecutive stretches of it.

    Returns
    -------
    ComponentMeta
    """
    file = f"{group}/{name}.npy"
    size, crc = _write(directory / file, itertools.chain([_header(name, shape)], _chunks(parts, DTYPES[name])))
    return ComponentMeta(name, file, DTYPES[name].str, shape, size, crc)


def _header(name: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a component; those of one component are equally long for any lengths of one dimension."""
    header = io.BytesIO()
    fields = {"descr": DTYPES[name].str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def _chunks(parts: Iterable[NDArray], dtype: np.dtype) -> Iterator[memoryview]:
    for part in parts:
        view = np.ascontiguousarray(part, dtype).view(np.uint8).reshape(-1)
        for i in range(0, view.size, _CHUNK):
            yield view[i : i + _CHUNK].data


@contextmanager
def removed_on_error(directory: Path) -> Iterator[None]:
    """Remove a directory when what writes into it fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def save_array(stream: BinaryIO, array: NDArray) -> None:
    """Write an array as ``.npy``; a full disk is the system's own error here, which numpy hides."""
    array = np.ascontiguousarray(array)
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(array.view(np.uint8).reshape(-1).data)


class ComponentStream:
    """Writes a component that comes in parts, so that it is never held whole.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    group : str
        Directory name of the component group.
    name : str
        Component name.
    """

    def __init__(self, directory: Path, group: str, name: str) -> None:
        self._name, self._file = name, f"{group}/{name}.npy"
        self._path = directory / self._file
        make_directory(self._path.parent)
        self._stream = create_file(self._path)
        self._stream.write(_header(self._name, (0,)))
        self.length = 0

    def append(self, array: NDArray) -> None:
        """Write the next part."""
        self._stream.write(np.ascontiguousarray(array, DTYPES[self._name]).data)
        self.length += array.size

    def finish(self) -> ComponentMeta:
        """Complete the header, sync the file and return what the manifest says of it."""
        self._stream.seek(0)
        self._stream.write(_header(self._name, (self.length,)))  # as long as the first one
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        size = self._path.stat().st_size
        # The header comes first and is known last: the checksum takes a second pass.
        return ComponentMeta(
            self._name, self._file, DTYPES[self._name].str, (self.length,), size, crc_of_file(self._path)
        )


def write_bytes(directory: Path, group: str, file_name: str, data: Any) -> ComponentMeta:
    """Write a ready Arrow IPC file below the segment's directory, and sync it."""
    file = f"{group}/{file_name}"
    size, crc = _write(directory / file, [data])
    return ComponentMeta(file_name.partition(".")[0], file, "arrow-ipc", (size,), size, crc)


def _write(path: Path, parts: Iterable[Any]) -> tuple[int, int]:
    make_directory(path.parent)
    size = crc = 0
    with create_file(path) as stream:
        for part in parts:
            stream.write(part)
            crc = zlib.crc32(part, crc)
            size += len(part)
        stream.flush()
        os.fsync(stream.fileno())
    return size, crc


def map_component(directory: Path, meta: ComponentMeta, *, is_compared: bool = False) -> NDArray:
    """Map one component file, read-only; nothing is read yet, unless it is compared.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    meta : ComponentMeta
        What the manifest says of it.
    is_compared : bool
        Read the whole file and compare its CRC-32, as a change does that carries over what it reads.

    Returns
    -------
    ndarray, read-only

    Raises
    ------
    IndexCorruptedError
        If the file is missing, has another size or CRC-32, or its header says another dtype or shape.
    """
    path = directory / meta.file
    check_size(directory, meta)
    if is_compared:
        check_crc(directory, meta)
    try:
        mapped = map_npy(path)
    except (ValueError, EOFError, SyntaxError, TokenError, OverflowError) as error:
        raise damaged(directory.name, meta.name, f"its header cannot be read ({error})") from error
    expected = DTYPES.get(meta.name)
    if mapped.dtype != expected or mapped.dtype.str != meta.dtype or mapped.shape != meta.shape:
        found = f"it holds {mapped.dtype.str} of shape {mapped.shape}"
        raise damaged(directory.name, meta.name, f"{found}, the manifest says {meta.dtype} of shape {meta.shape}")
    return mapped


def check_size(directory: Path, meta: ComponentMeta) -> None:
    """Raise `IndexCorruptedError` when a component file is missing or has another size than written."""
    try:
        size = (directory / meta.file).stat().st_size
    except FileNotFoundError:
        if _is_fetched(directory, meta):
            return
        what = f"the file is missing ({meta.file}; if vacuum removed it with an older version, call Lake.refresh)"
        raise damaged(directory.name, meta.name, what) from None
    if size != meta.size:
        raise damaged(directory.name, meta.name, f"it has {size} bytes, the manifest says {meta.size} ({meta.file})")


def check_crc(directory: Path, meta: ComponentMeta) -> None:
    """Raise `IndexCorruptedError` when the bytes of a component file are not those that were written."""
    if crc_of_file(directory / meta.file) != meta.crc32:
        raise damaged(directory.name, meta.name, f"its CRC-32 is not the recorded one ({meta.file})")


def _is_fetched(directory: Path, meta: ComponentMeta) -> bool:
    """Copy a component file of an index on another file system; return whether it is what was written."""
    path = directory / meta.file
    found = mirror_above(path)
    if found is None or not found[0].fetch(found[1]):
        return False
    if path.stat().st_size == meta.size and crc_of_file(path) == meta.crc32:
        return True
    path.unlink()
    raise damaged(directory.name, meta.name, f"what {found[0].uri} holds is not what was written ({meta.file})")


def find_damage(directory: Path, meta: ComponentMeta) -> str:
    """Read a component file where the index lies; say as a clause what is wrong with it, nothing if it is sound."""
    path = directory / meta.file
    elsewhere = mirror_above(path)
    found: tuple[int, int] | None
    if elsewhere is not None:
        found = elsewhere[0].checksum(elsewhere[1], meta.crc32)
    else:
        found = (path.stat().st_size, crc_of_file(path)) if path.exists() else None
    if found is None:
        return f"the file is missing ({meta.file})"
    if found[0] != meta.size:
        return f"it has {found[0]} bytes, the manifest says {meta.size} ({meta.file})"
    return "" if found[1] == meta.crc32 else f"its CRC-32 is not the recorded one ({meta.file})"


def crc_of_file(path: Path) -> int:
    """Compute the CRC-32 of a file, in chunks."""
    crc = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


# Files as arrays: mapped without keeping them open, and read ahead ------------------------------------------


_mapped: weakref.WeakValueDictionary[int, pa.Buffer] = weakref.WeakValueDictionary()
"""Mapped files that are in use, by address. Other buffers of Arrow are read-only, too, and lie in memory."""


def map_file(path: Path) -> pa.Buffer:
    """Map a file, which must not be empty; the file is closed again."""
    with pa.memory_map(str(path)) as file:
        buffer = file.read_buffer()  # lives on when the file is closed
    _mapped[buffer.address] = buffer
    return buffer


def map_npy(path: Path) -> NDArray[Any]:
    """Map a ``.npy`` file as a read-only array; nothing but its header is read.

    The file is closed again: a mapping that held it open, as numpy's does, would let an index of a hundred
    segments exceed the number of files that a process may open.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray, read-only

    Raises
    ------
    ValueError, EOFError, SyntaxError, TokenError
        If the header is not numpy's, says objects or another order, or promises more than the file holds.
    FileNotFoundError
        If there is no such file.
    """
    with path.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ValueError(f"its header is of version {version[0]}.{version[1]}, not 1.0")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        offset = stream.tell()
    if dtype.hasobject or is_fortran or any(n < 0 for n in shape):
        raise ValueError(f"it says {dtype} of shape {shape} {'by columns' if is_fortran else 'by rows'}")
    size = math.prod(shape)
    buffer = map_file(path)
    if offset + size * dtype.itemsize > buffer.size:
        raise ValueError(f"it says {size} entries, and holds fewer")
    return np.frombuffer(buffer, dtype, size, offset).reshape(shape)


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array is a view of a file that was mapped here."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, pa.Buffer) and _mapped.get(base.address) is base


@cache
def _madvise() -> Any:
    """Return the system's ``madvise``, None where there is none."""
    if sys.platform == "win32" or not hasattr(mmap, "MADV_WILLNEED"):
        return None
    function = ctypes.CDLL(None, use_errno=True).madvise
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


def advise_willneed(array: NDArray[Any], start: int, end: int) -> None:
    """Ask the operating system to read the entries `start` to `end` of a mapped array, without waiting.

    Entries beyond the array are left out; where the system cannot be asked, nothing happens.
    """
    madvise = _madvise()
    start, end = max(0, start), min(end, array.size)
    if madvise is None or end <= start:
        return
    first = array.ctypes.data + start * array.itemsize
    first -= first % mmap.PAGESIZE
    madvise(first, array.ctypes.data + end * array.itemsize - first, mmap.MADV_WILLNEED)


@cache
def _malloc_trim() -> Any:
    """Return the C library's ``malloc_trim``, None where it has none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def release_memory() -> None:
    """Give the memory of arrays that are gone back to the system, which Arrow and the C library keep for others."""
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(ctypes.c_size_t(0))


def forget_pages(array: NDArray[Any]) -> None:
    """Give back the memory of a stretch of a mapped file that was read; read again, it comes from the file.

    Arrays that are not mapped stay as they are: given back, memory of their own would be read as zeros.
    """
    madvise = _madvise()
    first = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if madvise is not None and end > first and is_mapped(array):
        madvise(first, end - first, mmap.MADV_DONTNEED)
