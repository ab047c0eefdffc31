from hashlib import blake2b

import pytest
from pyarrow import fs

from dfjoin.sources import roots as module
from dfjoin.sources.roots import fingerprint, fingerprint_bytes

LOCAL = fs.LocalFileSystem()


def mark(path):
    return fingerprint(LOCAL, [str(path)], path.stat().st_size)


def test_the_fingerprint_is_blake2b_of_the_content_and_the_size():
    for data in (b"", b"a,b\n", bytes(range(256)) * 9):
        digest = blake2b(data + len(data).to_bytes(8, "little"), digest_size=8).digest()
        assert fingerprint_bytes(data) == int.from_bytes(digest, "little")


def test_a_file_and_its_content_have_one_fingerprint(tmp_path):
    for number, data in enumerate((b"", b"a,b\n1,2\n", b"x" * 5_000_000)):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(data)
        assert mark(path) == fingerprint_bytes(data)


def test_the_name_of_a_single_file_does_not_count(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(b"same")
    assert mark(tmp_path / "a.csv") == mark(tmp_path / "b.csv")


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_FILE_LIMIT", 1000)
    monkeypatch.setattr(module, "_EDGE_BYTES", 50)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 10)
    monkeypatch.setattr(module, "_N_BLOCKS", 4)


def test_edges_blocks_and_size_of_a_large_file_count_and_what_lies_between_does_not(tmp_path, small_limits):
    path = tmp_path / "large.csv"
    size = 3010
    plain = bytes(size)
    path.write_bytes(plain)
    before = mark(path)
    seen = {*range(50), *range(size - 50, size)}
    seen |= {start + i for start in (0, 1000, 2000, 3000) for i in range(10)}
    for place in (0, 49, 50, 999, 1000, 1009, 1010, 1999, 2000, 2009, 2010, size - 51, size - 50, size - 1):
        changed = bytearray(plain)
        changed[place] = 1
        path.write_bytes(changed)
        assert (mark(path) != before) == (place in seen), place
    path.write_bytes(plain + b"\0")
    assert mark(path) != before


def write_parts(base, parts):
    for name, data in parts.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return fingerprint(LOCAL, [str(base / name) for name in parts], sum(map(len, parts.values())))


def test_several_files_count_with_their_relative_names_wherever_they_lie(tmp_path):
    parts = {"x=1/part-0": b"a", "x=2/part-0": b"bc"}
    first = write_parts(tmp_path / "one", parts)
    assert write_parts(tmp_path / "two" / "deeper", parts) == first
    others = [
        {"x=1/part-0": b"a", "x=3/part-0": b"bc"},
        {"x=1/part-0": b"a", "x=2/part-0": b"bd"},
        {"x=1/part-0": b"ab", "x=2/part-0": b"c"},
        {"x=2/part-0": b"bc", "x=1/part-0": b"a"},
        {"x=1/part-0": b"a", "x=2/part-0": b"bc", "x=2/part-1": b""},
    ]
    found = {write_parts(tmp_path / f"other {i}", parts) for i, parts in enumerate(others)}
    assert len(found) == len(others)
    assert first not in found


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        fingerprint(LOCAL, [str(tmp_path / "no.csv")], 3)
