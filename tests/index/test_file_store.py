"""Files of an index by ``pyarrow.fs``: listed, read, written whole, removed; what a file system cannot do is told."""

import os
import time
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


class TestClaim:
    """Only one writer creates a file, although the file system cannot refuse to write it twice."""

    def create(self, store, text="mine"):
        with store.claim("d/7.json"):
            store.write("d/7.json", lambda out: out.write(text.encode()))

    def test_the_first_creates_it_and_leaves_no_claim(self, store, tmp_path):
        self.create(store)
        with pytest.raises(FileExistsError, match="was committed by another writer in the meantime"):
            self.create(store, "other")
        assert [path.name for path in (tmp_path / "d").iterdir()] == ["7.json"]
        assert (tmp_path / "d" / "7.json").read_text() == "mine"

    def test_of_two_claims_neither_creates_it(self, store, tmp_path):
        with store.claim("d/7.json"), pytest.raises(FileExistsError, match="is being committed by another writer"):
            self.create(store, "other")
        assert list((tmp_path / "d").iterdir()) == []
        with store.claim("d/6.json"), store.claim("d/77.json"):  # of other files
            self.create(store)

    @pytest.mark.parametrize("name", ["7.0123.claim", "7.claim"])
    def test_the_claim_of_a_writer_that_died_ends(self, store, tmp_path, name):
        (tmp_path / "d").mkdir()
        claim = tmp_path / "d" / name
        claim.write_text("claimed")
        os.utime(claim, (time.time() - 590,) * 2)
        with pytest.raises(FileExistsError, match=r"should that one have died, others can commit in ([89]|10) seconds"):
            self.create(store)
        os.utime(claim, (time.time() - 601,) * 2)
        self.create(store)

    def test_a_writer_that_withdrew_its_claim_while_it_was_looked_for(self, store, tmp_path, monkeypatch):
        """A directory that changes while it is listed may show neither the claim nor the file."""
        real = store.files

        def listed(name):
            before = real(name)
            (tmp_path / "d" / "7.json").write_text("theirs")
            return before

        monkeypatch.setattr(store, "files", listed)
        with pytest.raises(FileExistsError, match="was committed by another writer"):
            self.create(store)
        assert (tmp_path / "d" / "7.json").read_text() == "theirs"


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
