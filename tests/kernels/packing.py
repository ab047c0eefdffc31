"""Python values → the packed arrays that kernels take."""

import itertools

import numpy as np

SEED = np.uint64(0x5DF0A1B2C3D4E5F6)


def pack(values):
    """Pack byte strings: (data with 8 bytes of padding, offsets), both read-only."""
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(v) for v in values], out=offsets[1:])
    data = np.frombuffer(b"".join(values) + bytes(8), np.uint8)
    offsets.flags.writeable = False
    return data, offsets


def csr(lists, dtype=np.int32):
    """Pack lists of numbers: (indptr of int64, numbers)."""
    indptr = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(one) for one in lists], out=indptr[1:])
    return indptr, np.array([x for one in lists for x in one], dtype)


def uncsr(indptr, numbers):
    """Unpack what `csr` packed."""
    return [numbers[a:b].tolist() for a, b in itertools.pairwise(indptr)]


def run_in_place(kernel, text):
    """Run a kernel that writes in place, behind two other bytes; return the text and its class."""
    raw = text.encode()
    out = np.frombuffer(b"9-" + raw + b"7" * 48, np.uint8).copy()
    end, kind = kernel(out, 2, 2 + len(raw))
    assert out[:2].tobytes() == b"9-"
    return out[2:end].tobytes().decode(), int(kind)
