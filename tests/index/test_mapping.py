"""Mapped files: read-only, closed at once, and refused when they are not what their header says."""

import io
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.index.component_files import advise_willneed, forget_pages, is_mapped, map_file, map_npy


@pytest.mark.parametrize(
    "array", [np.arange(5), np.empty(0, np.int32), np.arange(100_000, dtype=np.uint8), np.ones((3, 4))]
)
def test_the_array_is_that_of_the_file_and_cannot_be_written(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    mapped = map_npy(tmp_path / "a.npy")
    assert mapped.dtype == array.dtype and mapped.tolist() == array.tolist()
    assert not mapped.flags.writeable and is_mapped(mapped) and is_mapped(mapped[1:])
    assert not is_mapped(np.array(mapped))
    advise_willneed(mapped, 0, mapped.size)
    advise_willneed(mapped, -5, 10 * mapped.size + 10)  # whatever lies outside is left out
    advise_willneed(mapped, 3, 2)


def test_a_file_that_is_removed_stays_readable(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(9))
    mapped = map_npy(tmp_path / "a.npy")
    (tmp_path / "a.npy").unlink()
    assert mapped.sum() == 36


def test_what_is_forgotten_has_its_values(tmp_path):
    """Arrow's buffers in memory are read-only as those of files are; given back, their pages would be zeros."""
    values = np.arange(1, 50_000)
    np.save(tmp_path / "a.npy", values)
    values.tofile(tmp_path / "a")
    in_memory = np.frombuffer(pa.py_buffer(values.tobytes()), values.dtype)
    of_file = np.frombuffer(map_file(tmp_path / "a"), values.dtype)
    for array, is_of_file in ((map_npy(tmp_path / "a.npy"), True), (of_file, True), (in_memory, False)):
        assert is_mapped(array) == is_of_file
        assert array.sum() == values.sum()
        forget_pages(array[10:])
        assert np.array_equal(array, values)


def header(fields, version=(1, 0)):
    stream = io.BytesIO()
    (np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0)(
        stream, fields
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no header at all", "magic"),
        (header({"descr": "<i8", "fortran_order": False, "shape": (9,)}), "holds fewer"),
        (header({"descr": "<i8", "fortran_order": False, "shape": (1 << 62, 8)}) + bytes(8), "holds fewer"),
        (header({"descr": "<i8", "fortran_order": False, "shape": (-1, 2)}) + bytes(8), r"shape \(-1, 2\)"),
        (header({"descr": "<i8", "fortran_order": True, "shape": (1, 1)}) + bytes(8), r"\(1, 1\) by columns"),
        (header({"descr": "|O", "fortran_order": False, "shape": (1,)}) + bytes(8), "says object"),
        (header({"descr": "<i8", "fortran_order": False, "shape": (1,)}, (2, 0)) + bytes(8), "version 2.0"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(tmp_path, data, message):
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        map_npy(tmp_path / "a.npy")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files by /proc")
def test_an_open_index_holds_no_file_open(build):
    lake = build({f"t{i}": pd.DataFrame({"x": ["a", "b", str(i)]}) for i in range(3)})
    for i in range(5):
        lake.add({f"more{i}": pd.DataFrame({"x": ["a", "b", str(i)]})}, engine="inline", progress=False)
    before = len(os.listdir("/proc/self/fd"))
    opened = dfjoin.open_lake(lake.path)
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b"]}), "q", opened, k=20, rank="matched")
    assert len(hits) == 8
    assert len(os.listdir("/proc/self/fd")) == before
