"""Files as arrays: mapped without keeping them open, and read ahead."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["advise_willneed", "forget_pages", "is_mapped", "map_file", "map_npy"]

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


def forget_pages(array: NDArray[Any]) -> None:
    """Give back the memory of a stretch of a mapped file that was read; read again, it comes from the file.

    Arrays that are not mapped stay as they are: given back, memory of their own would be read as zeros.
    """
    madvise = _madvise()
    first = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if madvise is not None and end > first and is_mapped(array):
        madvise(first, end - first, mmap.MADV_DONTNEED)
