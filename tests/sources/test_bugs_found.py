import gzip
import json

import pytest

from dfjoin.sources import delimited, readers
from dfjoin.sources.fingerprint import fingerprint_bytes
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import current_fingerprint, open_table
from dfjoin.sources.sniff import SAMPLE_BYTES


def listed(path, data):
    """Write one file into an empty directory and list it."""
    path.write_bytes(data)
    _, (table,), _ = list_tables(path.parent)
    return table


def rows_of(table):
    batches = open_table(table).batches()
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


# The file system decompresses what it opens as a stream by default: the bytes as stored do not count.
def test_the_fingerprint_of_a_compressed_file_is_that_of_its_bytes(tmp_path):
    packed = gzip.compress(b"a,b\nx,1\ny,2\n", mtime=0)
    assert current_fingerprint(listed(tmp_path / "t.csv.gz", packed)) == fingerprint_bytes(packed)


# The offset of the first row counts U+FFFD (3 bytes) for the damaged byte (1): the row loses its beginning.
def test_a_damaged_byte_in_the_header_leaves_the_first_row_whole(tmp_path):
    text = "Paris éèàçùéèàçù,1\nLyon,2\n"
    table = listed(tmp_path / "t.csv", b"n\xe9m,b\n" + text.encode())
    assert rows_of(table) == [("Paris éèàçùéèàçù", "1"), ("Lyon", "2")]


# The sample of a large file is decoded with "ignore", the stream with "replace": 3 bytes too few are skipped.
def test_a_damaged_byte_in_the_header_of_a_large_file_leaves_the_first_row_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "WHOLE_FILE_LIMIT", SAMPLE_BYTES)
    n = SAMPLE_BYTES // 10
    table = listed(tmp_path / "t.csv", b"n\xe9m,bcdef\n" + "é éé,12\n".encode() * n)
    assert rows_of(table) == [("é éé", "12")] * n


# A ragged text is decoded with "replace" and never reports its encoding, which only the sample told.
def test_letters_of_another_encoding_behind_the_sample_are_found_in_a_ragged_file(tmp_path):
    data = b"a,b\n" + b"x,1\n" * (SAMPLE_BYTES // 4 + 10) + b"caf\xe9,2\nshort\n"
    assert rows_of(listed(tmp_path / "t.csv", data))[-2:] == [("café", "2"), ("short", None)]


# `stream_text` promises rows of up to 1 GiB; Arrow refuses a row that crosses two ends of an 8 MiB block.
def test_rows_of_a_stream_may_be_longer_than_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "WHOLE_FILE_LIMIT", 1000)
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 1 << 14)
    table = listed(tmp_path / "t.csv", b"a,b\nx,1\n" + b"y" * 100_000 + b",2\nz,3\n")
    assert [(len(a), b) for a, b in rows_of(table)] == [(1, "1"), (100_000, "2"), (1, "3")]


# Only keys of the first 64 MiB become columns; one that comes later is lost without a word.
def test_fields_that_come_late_in_a_large_json_file_are_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "WHOLE_FILE_LIMIT", 50)
    lines = [{"a": i} for i in range(10)] + [{"a": 10, "late": "x"}]
    table = listed(tmp_path / "t.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert open_table(table).names == ["a", "late"]


# The lines are split at the byte 0x0A before they are decoded.
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_json_lines_in_utf_16_are_read(tmp_path, encoding):
    assert rows_of(listed(tmp_path / "t.jsonl", '{"a": 1}\n{"a": 2}\n'.encode(encoding))) == [("1",), ("2",)]


# `reject_foreign` is asked about delimited files only.
@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_git_lfs_pointer_of_any_format_is_named(tmp_path, name):
    table = listed(tmp_path / name, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(readers.TableReadError, match="a Git LFS pointer"):
        open_table(table)


# `name_encoding` is not told that its sample is the whole file: a bad byte near the end stays U+FFFD.
def test_a_header_alone_is_read_in_its_encoding(tmp_path):
    assert open_table(listed(tmp_path / "t.csv", b"a,caf\xe9\n")).names == ["a", "café"]
