"""Component files: written once, mapped read-only, checked before they are used."""

import io
import subprocess
import sys
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import IndexCorruptedError
from dfjoin.index import component_files
from dfjoin.index.component_files import ComponentStream, crc_of_file, map_component, write_bytes, write_component
from dfjoin.index.components import TOKENS, ComponentMeta


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_round_trip(tmp_path, rng, name, size):
    array = rng.integers(0, 200, size).astype(TOKENS[name].dtype)
    meta = write_component(tmp_path, "tokens-1", name, array)
    mapped = map_component(tmp_path, meta)
    assert mapped.dtype == TOKENS[name].dtype and np.array_equal(mapped, array)
    assert not mapped.flags.writeable
    path = tmp_path / meta.file
    assert meta == ComponentMeta(
        name,
        f"tokens-1/{name}.npy",
        TOKENS[name].dtype.str,
        (size,),
        path.stat().st_size,
        zlib.crc32(path.read_bytes()),
    )
    assert np.array_equal(np.load(path, allow_pickle=False), array)


def test_an_array_larger_than_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(component_files, "_CHUNK", 64)
    array = np.arange(1000, dtype="<u8")
    meta = write_component(tmp_path, "g", "hash", array)
    assert np.array_equal(map_component(tmp_path, meta), array)
    assert crc_of_file(tmp_path / meta.file) == meta.crc32 == zlib.crc32((tmp_path / meta.file).read_bytes())


def test_an_array_of_another_layout_is_written_as_declared(tmp_path):
    meta = write_component(tmp_path, "g", "hash", np.arange(20, dtype=">u8")[::2])
    assert map_component(tmp_path, meta).tolist() == list(range(0, 20, 2))


def test_meta_round_trips_and_ignores_unknown_fields():
    meta = ComponentMeta("hash", "g/hash.npy", "<u8", (3,), 152, 7)
    assert ComponentMeta.from_dict({**meta.to_dict(), "later": 1}) == meta
    assert meta.to_dict()["shape"] == [3]


def test_bytes_are_written_as_they_are(tmp_path):
    meta = write_bytes(tmp_path, "catalog-1", "catalog.arrow", b"12345")
    assert (tmp_path / "catalog-1" / "catalog.arrow").read_bytes() == b"12345"
    assert meta == ComponentMeta("catalog", "catalog-1/catalog.arrow", "arrow-ipc", (5,), 5, zlib.crc32(b"12345"))


def test_a_component_is_never_overwritten(tmp_path):
    write_component(tmp_path, "g", "hash", np.arange(3))
    with pytest.raises(FileExistsError):
        write_component(tmp_path, "g", "hash", np.arange(4))
    write_bytes(tmp_path, "g", "catalog.arrow", b"1")
    with pytest.raises(FileExistsError):
        write_bytes(tmp_path, "g", "catalog.arrow", b"2")


class TestDamage:
    @pytest.fixture
    def written(self, tmp_path):
        return tmp_path, write_component(tmp_path, "g", "hash", np.arange(10, dtype="<u8"))

    def test_missing(self, written):
        directory, meta = written
        (directory / meta.file).unlink()
        with pytest.raises(
            IndexCorruptedError,
            match=r"component `hash` of segment .* the file is missing .* call Lake.refresh\); call dfjoin.repair, or build",
        ):
            map_component(directory, meta)

    @pytest.mark.parametrize("size", [0, 1, 100, 207, 209, 1000])
    def test_another_size(self, written, size):
        directory, meta = written
        data = (directory / meta.file).read_bytes()
        (directory / meta.file).write_bytes((data + bytes(1000))[:size])
        with pytest.raises(IndexCorruptedError, match=f"`hash`.* it has {size} bytes, the manifest says 208"):
            map_component(directory, meta)

    @pytest.mark.parametrize("data", [b"\x93NUMPY", bytes(208), b"x" * 208])
    def test_no_header(self, written, data):
        directory, meta = written
        (directory / meta.file).write_bytes(data)
        meta = ComponentMeta(**{**meta.to_dict(), "shape": meta.shape, "size": len(data)})
        with pytest.raises(IndexCorruptedError, match="`hash`"):
            map_component(directory, meta)

    def test_pickled_objects_are_refused(self, written):
        directory, meta = written
        stream = io.BytesIO()
        np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
        (directory / meta.file).write_bytes(stream.getvalue())
        meta = ComponentMeta("hash", meta.file, "<u8", (1,), len(stream.getvalue()), 0)
        with pytest.raises(IndexCorruptedError, match="its header cannot be read"):
            map_component(directory, meta)

    @pytest.mark.parametrize(
        "array", [np.arange(10, dtype="<i8"), np.arange(10, dtype=">u8"), np.arange(9, dtype="<u8"),
                  np.arange(10, dtype="<u8").reshape(2, 5), np.arange(10, dtype="<f8")],
    )  # fmt: skip
    def test_another_dtype_or_shape(self, written, array):
        directory, meta = written
        np.save(directory / meta.file, array)
        meta = ComponentMeta("hash", meta.file, "<u8", (10,), (directory / meta.file).stat().st_size, 0)
        with pytest.raises(IndexCorruptedError, match=r"it holds .* the manifest says <u8 of shape \(10,\)"):
            map_component(directory, meta)

    def test_a_component_of_an_unknown_name(self, written):
        directory, meta = written
        with pytest.raises(IndexCorruptedError, match="component `other`"):
            map_component(directory, ComponentMeta("other", meta.file, "<u8", (10,), meta.size, 0))

    def test_a_header_that_promises_more_than_the_file_holds(self, written):
        directory, meta = written
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, {"descr": "<u8", "fortran_order": False, "shape": (1 << 40,)})
        data = (stream.getvalue() + bytes(1000))[:208]
        (directory / meta.file).write_bytes(data)
        with pytest.raises(IndexCorruptedError, match="`hash`"):
            map_component(directory, ComponentMeta("hash", meta.file, "<u8", (1 << 40,), 208, 0))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), max_size=4))
def test_a_component_written_in_parts_is_the_file_of_the_whole(parts):
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        whole = write_component(directory, "whole", "hash", np.array([n for part in parts for n in part], np.uint64))
        stream = ComponentStream(directory, "parts", "hash")
        for part in parts:
            stream.append(np.array(part, np.uint64))
        streamed = stream.finish()
        assert (directory / streamed.file).read_bytes() == (directory / whole.file).read_bytes()
        assert replace(streamed, file=whole.file) == whole


def test_an_empty_component_file_is_damage(tmp_path):
    """numpy raises EOFError, not ValueError, for a file without a byte."""
    (tmp_path / "hash.npy").write_bytes(b"")
    with pytest.raises(IndexCorruptedError, match="`hash`"):
        map_component(tmp_path, ComponentMeta("hash", "hash.npy", "<u8", (0,), 0, 0))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_of_arrays_that_are_gone_is_given_back():
    code = (
        "import re\n"
        "import numpy as np\n"
        "from dfjoin.index.component_files import release_memory\n"
        "def held():\n"
        "    with open('/proc/self/status') as f:\n"
        "        return int(re.search(r'RssAnon:\\s+(\\d+)', f.read())[1]) >> 10\n"
        "kept = [np.ones(8 << 10) for _ in range(1600)]\n"
        "last = np.ones(8 << 10)  # above the others, so that the heap does not end where they did\n"
        "full = held()\n"
        "del kept\n"
        "release_memory()\n"
        "print(full - held())\n"
    )
    given_back = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(given_back.stdout) > 80  # of 100 MB


def test_memory_is_given_back_where_the_c_library_cannot(monkeypatch):
    monkeypatch.setattr(component_files, "_malloc_trim", lambda: None)
    component_files.release_memory()
