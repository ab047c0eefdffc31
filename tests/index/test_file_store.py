"""Files of an index by ``pyarrow.fs``: listed, read, written whole, removed; what a file system cannot do is told."""

import os
import zlib

import pyarrow as pa
import pytest
from pyarrow import fs

from dfjoin.errors import IndexNotFoundError, InvalidParameterError
from dfjoin.index.file_store import FileStore


@pytest.fixture
def store(tmp_path):
    return FileStore.local(tmp_path)


class Limited:
    """A file system that lacks an operation."""

    type_name = "limited"

    def __init__(self, lacking):
        self._lacking = lacking
        self._local = fs.LocalFileSystem()

    def __getattr__(self, name):
        def refuse(*arguments, **options):
            raise pa.ArrowNotImplementedError("not here")

        return refuse if name == self._lacking else getattr(self._local, name)


def test_entries_have_size_and_time(store, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("xyz")
    os.utime(tmp_path / "a" / "b" / "c", (5, 5))
    assert set(store.entries("a")) == {"a/b"} and store.entries("a")["a/b"].is_directory
    assert store.files("", recursive=True) == {"a/b/c": (3, 5.0, False)}
    assert store.entries("none") == {} and store.exists("a/b") and not store.exists("b")


def test_files_are_written_read_and_removed(store, tmp_path):
    store.write("d/x", lambda out: out.write(b"123"))
    assert list((tmp_path / "d").iterdir()) == [tmp_path / "d" / "x"], "no draft is left"
    assert b"".join(store.chunks("d/x")) == b"123" and store.checksum("d/x") == (3, zlib.crc32(b"123"))
    assert store.copy_to("d/x", tmp_path / "e" / "y") and (tmp_path / "e" / "y").read_bytes() == b"123"
    store.copy_from(tmp_path / "e" / "y", "d/z")
    assert (tmp_path / "d" / "z").read_bytes() == b"123"
    assert store.checksum("none") is None and not store.copy_to("none", tmp_path / "w")
    store.remove("d")
    store.remove("d")
    store.remove("e/y")
    assert not (tmp_path / "d").exists() and list((tmp_path / "e").iterdir()) == []


@pytest.mark.parametrize(
    ("lacking", "call", "what"),
    [
        ("get_file_info", lambda s: s.entries("a"), "list files"),
        ("open_input_stream", lambda s: s.checksum("a/x"), "read files"),
        ("open_output_stream", lambda s: s.write("a/y", lambda out: None), "write files"),
        ("move", lambda s: s.write("a/y", lambda out: None), "rename files"),
        ("delete_file", lambda s: s.remove("a/x"), "remove files"),
    ],
)
def test_what_a_file_system_cannot_do_is_told(tmp_path, lacking, call, what):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("x")
    store = FileStore("limited://lake", Limited(lacking), str(tmp_path))
    text = rf"`index` lies at `limited://lake`, whose file system \(limited\) cannot {what}; mount the place, or copy"
    with pytest.raises(InvalidParameterError, match=text):
        call(store)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["x"]
    store.discard("a/none")


def test_a_place_that_cannot_be_reached(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexNotFoundError, match="the index at `local://lake` cannot be reached"):
        FileStore("local://lake", fs.LocalFileSystem(), str(tmp_path)).entries("file")
