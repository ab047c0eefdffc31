"""A column of strings in a program: one buffer of bytes, and where each row's part lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.texts import rewriting
from dfjoin.kernels.texts.spans import Spans

_MAX_INT32 = 2**31 - 1


def as_bytes(text: str) -> np.ndarray:
    """Return the UTF-8 bytes of a text as a read-only array."""
    return np.frombuffer(text.encode(), np.uint8)


@dataclass(frozen=True, slots=True)
class StringColumn:
    """Strings as spans of one buffer.

    Parameters
    ----------
    spans : Spans
        Bytes, and where each row's string lies in them; all arrays are read-only, so that kernels are compiled
        once. No string is empty.
    """

    spans: Spans

    @classmethod
    def view(cls, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> StringColumn:
        """Make a column of arrays, which become read-only."""
        for array in (data, starts, ends):
            array.flags.writeable = False
        return cls(Spans(data, starts, ends))

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray) -> StringColumn:
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
            return cls.view(np.zeros(8, np.uint8), np.full(n, -1, np.int64), np.full(n, -1, np.int64))
        dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
        offsets = np.frombuffer(offsets_buffer, dtype, n + 1, array.offset * dtype.itemsize).astype(np.int64)
        starts, ends = offsets[:-1].copy(), offsets[1:]
        starts[starts == ends] = -1
        if array.null_count:
            starts[array.is_null().to_numpy(zero_copy_only=False)] = -1
        return cls.view(np.frombuffer(data_buffer, np.uint8), starts, ends)

    def narrowed(self, parts: tuple[NDArray[np.int64], NDArray[np.int64]]) -> StringColumn:
        """Return other spans, starts and ends, of the same buffer."""
        return self.view(self.spans.data, *parts)

    def through(self, function: Callable[[pa.Array], pa.Array]) -> StringColumn:
        """Apply a function of Arrow to all strings."""
        return self.of(function(self.to_arrow()))

    def mapped(self, function: Callable[[str], str | None]) -> StringColumn:
        """Apply a function to each distinct string."""
        encoded = self.to_arrow().dictionary_encode()
        results = pa.array([function(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return self.of(results.take(encoded.indices))

    @property
    def n_bytes(self) -> int:
        """Bytes of all strings together."""
        _, starts, ends = self.spans
        is_present = starts >= 0
        return int((ends[is_present] - starts[is_present]).sum())

    def to_arrow(self) -> pa.Array:
        """Copy the strings into an Arrow array; large_string above 2 GiB."""
        total = self.n_bytes
        dtype = np.dtype(np.int32 if total <= _MAX_INT32 else np.int64)
        out = np.empty(total, np.uint8)
        is_null = self.spans.starts < 0
        offsets = np.empty(is_null.size + 1, dtype)
        rewriting.copy_spans(self.spans, out, offsets)
        validity = pa.array(~is_null).buffers()[1] if is_null.any() else None
        type_ = pa.string() if dtype == np.int32 else pa.large_string()
        return pa.Array.from_buffers(type_, is_null.size, [validity, pa.py_buffer(offsets), pa.py_buffer(out)])
