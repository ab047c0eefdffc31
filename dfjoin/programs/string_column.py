"""A column of strings on its way through a program: one buffer of bytes, and where each row's part lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels import rewriting

__all__ = ["Spans"]

_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Spans:
    """Strings as spans of one buffer; see `dfjoin.kernels.spans`.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8 bytes, read-only.
    starts, ends : ndarray of int64, shape (n,)
        Where each row's string lies; a start of -1 is a null. No string is empty.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray) -> Spans:
        """View an Arrow array of strings; empty strings are nulls."""
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(
                [chunk.cast(pa.large_string()) for chunk in array.chunks] or [pa.array([], pa.string())]
            )
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            array = array.cast(pa.string())
        n = len(array)
        _, offsets_buffer, data_buffer = array.buffers()
        if n == 0 or data_buffer is None:
            return cls(
                _locked(np.zeros(8, np.uint8)), _locked(np.full(n, -1, np.int64)), _locked(np.full(n, -1, np.int64))
            )
        dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
        offsets = np.frombuffer(offsets_buffer, dtype, n + 1, array.offset * dtype.itemsize).astype(np.int64)
        starts, ends = offsets[:-1].copy(), offsets[1:]
        starts[starts == ends] = -1
        if array.null_count:
            starts[array.is_null().to_numpy(zero_copy_only=False)] = -1
        return cls(np.frombuffer(data_buffer, np.uint8), _locked(starts), _locked(ends))

    def narrowed(self, parts: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Spans:
        """Return other spans of the same buffer."""
        return Spans(self.data, _locked(parts[0]), _locked(parts[1]))

    @property
    def n_bytes(self) -> int:
        """Bytes of all strings together."""
        present = self.starts >= 0
        return int((self.ends[present] - self.starts[present]).sum())

    def to_arrow(self) -> pa.Array:
        """Copy the strings into an Arrow array; large_string above 2 GiB."""
        total = self.n_bytes
        dtype = np.dtype(np.int32 if total <= _MAX_INT32 else np.int64)
        out = np.empty(total, np.uint8)
        offsets = np.empty(self.starts.shape[0] + 1, dtype)
        rewriting.copy_spans(self.data, self.starts, self.ends, out, offsets)
        is_null = self.starts < 0
        validity = pa.array(~is_null).buffers()[1] if is_null.any() else None
        type_ = pa.string() if dtype == np.int32 else pa.large_string()
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(out)]
        return pa.Array.from_buffers(type_, self.starts.shape[0], buffers)


def _locked(array: NDArray) -> NDArray:
    """Make an array read-only, so that kernels are compiled once."""
    array.flags.writeable = False
    return array
