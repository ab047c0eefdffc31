import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dfjoin.errors import ColumnNotFoundError, TableReadError
from dfjoin.sources import delimited, delimited_reader, json_reader
from dfjoin.sources.encodings import SAMPLE_BYTES
from dfjoin.sources.listing import list_tables
from dfjoin.sources.one_table import read_table
from dfjoin.sources.readers import current_fingerprint, open_table
from dfjoin.sources.roots import fingerprint_bytes
from dfjoin.sources.table_reader import TableReader
from dfjoin.types import Dialect

NASTY = Path(__file__).parents[2].parent / "shared" / "lake" / "nasty"


def rows_of(batches):
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


@pytest.fixture
def source(tmp_path):
    """Write files and list the one table they are: ``source({"a.csv": b"..."})``."""

    def make(files):
        for name, data in files.items():
            path = tmp_path / "lake" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        _, (table,), _ = list_tables(tmp_path / "lake")
        return table

    return make


@pytest.fixture
def read(source):
    """Write one file and read it: ``read(data, name)`` → (names, rows, dialect)."""

    def make(data, name="t.csv", **options):
        reader = open_table(source({name: data}), **options)
        return reader.names, rows_of(reader.batches()), reader.dialect

    return make


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("limit", [1 << 20, 20], ids=["whole", "streamed"])
def test_every_encoding_is_read(read, monkeypatch, encoding, limit):
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", limit)
    names, rows, dialect = read("Ä,name\né,1\n“ü”,2\nz,3\n".encode(encoding))
    assert names == ["Ä", "name"]
    assert rows == [("é", "1"), ("“ü”", "2"), ("z", "3")]
    assert dialect.encoding == encoding.replace("utf-16-sig", "utf-16")


def test_latin_1_is_read_where_cp1252_has_no_letter(read):
    assert read("a,b\né\x81,1\nx,2\n".encode("latin-1"))[1] == [("é\x81", "1"), ("x", "2")]


def test_letters_of_another_encoding_behind_the_sample_are_found(read):
    body = b"x,1\n" * (SAMPLE_BYTES // 4 + 10)
    _, rows, dialect = read(b"a,b\n" + body + b"caf\xe9,2\n")
    assert (rows[-1], dialect.encoding) == (("café", "2"), "cp1252")


def test_a_few_damaged_bytes_leave_utf8_as_it_is(read):
    text = "a,b\n" + "é,1\n" * 20
    _, rows, dialect = read(text.encode() + b"x\xffy,2\n")
    assert rows == [("é", "1")] * 20 + [("x\ufffdy", "2")]
    assert dialect.encoding == "utf-8"


@pytest.mark.parametrize(
    ("data", "names", "rows"),
    [
        ("a,b\r1,x\r2,y\r", ["a", "b"], [("1", "x"), ("2", "y")]),
        ("a;b\n1,5;x\n2,5;y\n", ["a", "b"], [("1.5", "x"), ("2.5", "y")]),
        ('a,b\n"x ""q"", y",2\n"z",4\n', ["a", "b"], [('x "q", y', "2"), ("z", "4")]),
        ('a,b\n"x \\"q\\", y",2\n"z",4\n', ["a", "b"], [('x "q", y', "2"), ("z", "4")]),
        ('"first\nname",c\n"x\r\ny",2\nz,4\n', ["first name", "c"], [("x\r\ny", "2"), ("z", "4")]),
        ("a,a,,b, a \n1,2,3,4,5\n", ["a", "a.1", "Unnamed: 2", "b", "a.2"], [("1", "2", "3", "4", "5")]),
        ("a,b\nr,1,2\ns,3,4\n", ["Unnamed: 0", "a", "b"], [("r", "1", "2"), ("s", "3", "4")]),
        ("a,b\n1,2,\n3,4,\n", ["a", "b", "Unnamed: 2"], [("1", "2", ""), ("3", "4", "")]),
        ("My report\n\nn,k,l\na,1,2\nb,3,4\n", ["n", "k", "l"], [("a", "1", "2"), ("b", "3", "4")]),
        ("x,1\ny,2\nz,3\n", ["column_0", "column_1"], [("x", "1"), ("y", "2"), ("z", "3")]),
        (
            "a,b\n1,2\n3\n\n4,5,6\n",
            ["a", "b", "Unnamed: 2"],
            [("1", "2", None), ("3", None, None), ("4", "5", "6")],
        ),
        ("name\nx\n\ny\n", ["name"], [("x",), ("y",)]),
        ('a,b\n5" pipe,1\n6" pipe,2\n', ["a", "b"], [('5" pipe', "1"), ('6" pipe', "2")]),
        ("a,b", ["a", "b"], []),
        ("a,b\nNA,\n", ["a", "b"], [("NA", "")]),
    ],
    ids=[
        "CR only",
        "semicolons",
        "doubled quotes",
        "escaped quotes",
        "newlines in cells",
        "names",
        "row names",
        "trailing delimiter",
        "title",
        "no header",
        "ragged",
        "one column",
        "quote in a cell",
        "no rows",
        "na",
    ],
)
def test_odd_files_are_read_as_they_are_meant(read, data, names, rows):
    assert read(data)[:2] == (names, rows)


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstd)])
def test_compressed_files_are_read_whole_and_streamed(read, tmp_path, monkeypatch, ending, pack):
    data = "a,b\n" + "".join(f"{i},é\n" for i in range(100))
    expected = ["a", "b"], [(str(i), "é") for i in range(100)]
    names, rows, dialect = read(pack(data.encode()), f"t.csv.{ending}")
    assert ((names, rows), dialect.compression) == (expected, ending)
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", 100)
    assert read(pack(data.encode()), f"t.csv.{ending}")[:2] == expected
    lines = "".join(json.dumps({"a": i}) + "\n" for i in range(5))
    path = tmp_path / f"u.jsonl.{ending}"
    path.write_bytes(pack(lines.encode()))
    _, (table,), _ = list_tables(path)
    assert rows_of(open_table(table).batches()) == [(str(i),) for i in range(5)]


def test_damaged_compression_is_a_table_error(source):
    table = source({"t.csv.gz": b"no gzip at all"})
    with pytest.raises(TableReadError, match=r"the file is not what its ending .gz says, or is damaged \(zlib"):
        open_table(table)


TEXTS = st.text('ab,"\n é;', max_size=4)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 99).map(str)), min_size=2, max_size=10))
def test_a_streamed_file_is_the_one_read_whole(tmp_path_factory, rows):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("x", "y", "n"), *rows])
    lake = tmp_path_factory.mktemp("lake")
    (lake / "t.csv").write_bytes(buffer.getvalue().encode())
    _, (table,), _ = list_tables(lake)
    dialect = Dialect()
    whole = open_table(table, dialect=dialect)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", 12)
        streamed = open_table(table, dialect=dialect)
        assert rows_of(streamed.batches()) == rows_of(whole.batches()) == rows
        assert streamed.names == whole.names == ["x", "y", "n"]
        assert streamed.fingerprint() == whole.fingerprint()


def test_a_streamed_file_larger_than_the_sample_is_the_one_read_whole(read, monkeypatch):
    data = "id,näme\n" + "".join(f'{i},"ü {i % 97}, x"\n' for i in range(15_000))
    assert len(data) > SAMPLE_BYTES
    whole = read(data)
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", SAMPLE_BYTES)
    assert read(data) == whole
    assert read(data, columns=["näme"])[1] == [(row[1],) for row in whole[1]]


def test_a_recorded_dialect_is_used_again(read):
    dialect = Dialect(delimiter=";", header_lines=0)
    names, rows, used = read("a,1;b\nc,2;d\n", dialect=dialect)
    assert (names, rows, used) == (["column_0", "column_1"], [("a,1", "b"), ("c,2", "d")], dialect)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "a Git LFS pointer, not the data",
        ),
        (b"<!doctype html>\n<p>a,b\n", "HTML or XML, not a table"),
        (bytes(range(256)), "binary content, not text"),
        (b"PK\x03\x04" + bytes(50), "a ZIP archive or an Excel workbook"),
        (b"\xff\xfe\n\0", "the file holds no columns"),
    ],
    ids=["empty", "blank", "lfs", "html", "binary", "excel", "blank utf-16"],
)
def test_what_is_no_table_is_refused_with_the_reason(source, tmp_path, data, reason):
    table = source({"t.csv": data})
    with pytest.raises(TableReadError, match=reason):
        open_table(table)
    with pytest.raises(TableReadError, match=f"cannot be read: .*{reason}"):
        read_table(str(tmp_path / "lake" / "t.csv"))


COLUMNS_MATCH = r"`columns` must name columns of the table \('a', 'b'\), got 'c'"


@pytest.mark.parametrize("limit", [1 << 20, 4], ids=["whole", "streamed"])
def test_a_wanted_column_that_is_not_there_is_an_error(source, monkeypatch, limit):
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", limit)
    table = source({"t.csv": "a,b\n1,2\n3,4\n"})
    with pytest.raises(ColumnNotFoundError, match=COLUMNS_MATCH):
        open_table(table, columns=["b", "c"])


def test_wanted_columns_come_in_their_order_from_every_format(tmp_path):
    frame = pa.table({"a": ["1", "2"], "b": ["x", "y"], "d": ["p", "q"]})
    parquet.write_table(frame, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b,d\n1,x,p\n2,y,q\n")
    (tmp_path / "t.jsonl").write_text('{"a":1,"b":"x","d":"p"}\n{"a":2,"b":"y","d":"q"}\n')
    for part in ("d=p/part-0.parquet", "d=q/part-0.parquet"):
        (tmp_path / "h" / part).parent.mkdir(parents=True)
        parquet.write_table(frame.select(["a", "b"]).slice("d=q" in part, 1), tmp_path / "h" / part)
    _, tables, skipped = list_tables(tmp_path)
    assert [t.name for t in tables] == ["h", "t.csv", "t.jsonl", "t.parquet"]
    assert skipped == []
    for table in tables:
        reader = open_table(table, columns=["d", "a"])
        batches = list(reader.batches())
        assert batches[0].schema.names == ["d", "a"]
        assert sorted(rows_of(batches)) == [("p", "1"), ("q", "2")]
        assert reader.names == ["a", "b", "d"]
        with pytest.raises(ColumnNotFoundError, match=r"`columns` must name columns of the table .* got 'c'"):
            open_table(table, columns=["c"])


def test_parquet_keeps_its_types_and_names_become_unique(source, tmp_path):
    (tmp_path / "lake").mkdir()
    frame = pa.Table.from_arrays(
        [pa.array([1, None]), pa.array(["é", ""]), pa.array([1.5, 2.0])], names=["a", "a", " b\nc "]
    )
    parquet.write_table(frame, tmp_path / "lake" / "t.parquet")
    _, (table,), _ = list_tables(tmp_path / "lake")
    reader = open_table(table)
    assert reader.names == ["a", "a.1", "b c"]
    assert reader.dialect is None
    assert rows_of(reader.batches()) == [(1, "é", 1.5), (None, "", 2.0)]
    assert [f.type for f in next(reader.batches()).schema] == [pa.int64(), pa.string(), pa.float64()]
    assert rows_of(open_table(table, columns=["b c", "a.1"]).batches()) == [(1.5, "é"), (2.0, "")]


def test_a_directory_of_parts_is_one_table_in_the_order_of_their_names(tmp_path):
    lake = tmp_path / "sales"
    lake.mkdir()
    for number in (2, 0, 1):
        parquet.write_table(pa.table({"n": [number, number + 10]}), lake / f"part-0000{number}.parquet")
    (lake / "_SUCCESS").touch()
    _, (table,), _ = list_tables(tmp_path)
    assert (table.name, table.format, len(table.parts)) == ("sales", "parquet", 3)
    assert rows_of(open_table(table).batches()) == [(0,), (10,), (1,), (11,), (2,), (12,)]
    assert open_table(table).fingerprint() == current_fingerprint(table)


def test_hive_partitions_become_columns(tmp_path):
    for year, months in {2020: (1, 2), 2021: (3,)}.items():
        for month in months:
            place = tmp_path / "lake" / "sales" / f"year={year}" / f"m={month}"
            place.mkdir(parents=True)
            parquet.write_table(pa.table({"n": [year * 100 + month]}), place / "x.parquet")
    _, (table,), _ = list_tables(tmp_path / "lake")
    reader = open_table(table)
    assert (table.name, reader.names) == ("sales", ["n", "year", "m"])
    assert rows_of(reader.batches()) == [(202001, 2020, 1), (202002, 2020, 2), (202103, 2021, 3)]
    assert rows_of(open_table(table, columns=["m", "n"]).batches())[2] == (3, 202103)


def test_one_hive_partition_is_a_column_too(tmp_path):
    place = tmp_path / "lake" / "sales" / "year=2020"
    place.mkdir(parents=True)
    parquet.write_table(pa.table({"n": [7]}), place / "x.parquet")
    _, (table,), _ = list_tables(tmp_path / "lake")
    assert rows_of(open_table(table).batches()) == [(7, 2020)]


def test_broken_parquet_is_a_table_error(source):
    with pytest.raises(TableReadError, match="the file is no Parquet file, or is cut off: its footer is missing"):
        open_table(source({"t.parquet": b"no parquet at all"}))


def test_json_lines_become_columns_of_text(read):
    data = '{"a": 1, "b": "x"}\n\n{"b": null, "c": true, "a": 1.50}\n{"d": [1, "é"], "a": {"k": 2}, "c": false}'
    names, rows, dialect = read(data, "t.jsonl")
    assert (names, dialect) == (["a", "b", "c", "d"], None)
    assert rows == [
        ("1", "x", None, None),
        ("1.5", None, "true", None),
        ('{"k": 2}', None, "false", '[1, "é"]'),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_json_lines_are_read_in_their_encoding(read, encoding):
    assert read('{"a": "é “x”"}\r\n{"a": "ü"}\r\n'.encode(encoding), "t.ndjson")[1] == [("é “x”",), ("ü",)]


def test_json_lines_are_handed_out_in_batches(read, source, monkeypatch):
    monkeypatch.setattr(json_reader, "_ROWS_PER_BATCH", 4)
    table = source({"t.jsonl": "".join(json.dumps({"a": i}) + "\n" for i in range(10))})
    assert [batch.num_rows for batch in open_table(table).batches()] == [4, 4, 2]


def test_json_lines_larger_than_the_limit_are_read_to_their_end(read, monkeypatch):
    data = "".join(json.dumps({"a": i, "b": "é" * (i % 5)}) + "\n" for i in range(60))
    whole = read(data, "t.jsonl")
    monkeypatch.setattr(json_reader, "WHOLE_FILE_LIMIT", 200)
    assert read(data, "t.jsonl") == whole
    assert len(whole[1]) == 60


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{"a": 1}\n\n{"a": 2\n{"a": 3}\n', r"line 3 is not JSON \(.*delimiter"),
        ('{"a": 1}\n[1, 2]\n', "line 2 holds list, not an object with named fields"),
        ('{"a": 1}\n7', "line 2 holds int, not an object with named fields"),
        (
            '{"a": ' + "[" * 100_000 + "\n",
            "line 1 has lists or objects within each other .*; write such a field as a text",
        ),
        (" \n\n", "the file is empty"),
    ],
    ids=["broken", "list", "number", "deep", "empty"],
)
def test_a_broken_line_of_json_is_named(source, data, reason):
    with pytest.raises(TableReadError, match=reason):
        open_table(source({"t.jsonl": data}))


def test_an_integer_of_more_digits_than_python_converts_is_read(read):
    long, nested = "1" * 5000, "7" * 6000
    _, rows, _ = read(f'{{"a": {long}, "b": "x"}}\n{{"a": -2, "b": [{nested}, 3]}}\n'.encode(), "t.jsonl")
    assert list(map(tuple, rows)) == [(long, "x"), ("-2", f'["{nested}", 3]')]


def test_failures_while_reading_are_table_errors():
    def fail():
        yield pa.record_batch({"a": [1]})
        raise OSError("the disk is gone")

    reader = TableReader(["a"], None, fail, lambda: 7)
    batches = reader.batches()
    assert next(batches).num_rows == 1
    with pytest.raises(TableReadError, match="OSError: the disk is gone"):
        next(batches)
    assert reader.fingerprint() == 7


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_file_that_is_gone_is_a_table_error(source, tmp_path, name):
    table = source({name: b"a,b\n1,2\n"})
    (tmp_path / "lake" / name).unlink()
    with pytest.raises(TableReadError, match="the file is not there any more"):
        open_table(table)
    with pytest.raises(TableReadError, match="the file is not there any more"):
        current_fingerprint(table)


def test_a_file_that_may_not_be_read_is_a_table_error(source, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    table = source({"t.csv": b"a,b\n1,2\n"})
    monkeypatch.setattr(delimited_reader, "open_stream", refuse)
    with pytest.raises(TableReadError, match="no permission to read the file"):
        open_table(table)


def test_the_fingerprint_of_a_reader_is_that_of_the_file(source, tmp_path):
    data = "a,b\nx,1\ny,é\n".encode()
    table = source({"t.csv": data})
    reader = open_table(table)
    assert reader.fingerprint() == current_fingerprint(table) == fingerprint_bytes(data)
    (tmp_path / "lake" / "t.csv").write_bytes(data + b"z,2\n")
    assert current_fingerprint(table) != reader.fingerprint()


def test_the_nasty_files_are_all_read_or_skipped_with_the_true_reason():
    if not NASTY.is_dir():
        pytest.skip("the directory of nasty files is not here")
    with (NASTY / "manifest.csv").open(newline="", encoding="utf-8") as file:
        manifest = {row["file"]: row["why"] for row in csv.DictReader(file)}
    assert len(manifest) == 44
    _, tables, skipped = list_tables(NASTY)
    assert skipped == []
    assert {table.name for table in tables} == {*manifest, "manifest.csv"}
    refused = {}
    for table in tables:
        try:
            reader = open_table(table)
            batches = list(reader.batches())
        except TableReadError as error:
            refused[table.name] = str(error)
            continue
        n_rows = sum(batch.num_rows for batch in batches)
        assert n_rows > 0 or (NASTY / table.name).read_bytes().count(b"\n") == 1, table.name
        assert len(set(reader.names)) == len(reader.names), table.name
        assert all(batch.schema.names == reader.names for batch in batches), table.name
        if "one column: ';'" in manifest.get(table.name, ""):
            assert (reader.dialect.delimiter, len(reader.names) > 1) == (";", True)
    lfs = "a Git LFS pointer, not the data; fetch the file with `git lfs pull`"
    reasons = {"git-lfs pointer": lfs, "html/xml, not csv": "HTML or XML, not a table"}
    expected = {n: text for n, why in manifest.items() for part, text in reasons.items() if part in why}
    assert refused == expected
    assert len(expected) == 3


def listed(path, data):
    """Write one file into an empty directory and list it."""
    path.write_bytes(data)
    _, (table,), _ = list_tables(path.parent)
    return table


def table_rows(table):
    return rows_of(open_table(table).batches())


# The file system decompresses what it opens as a stream by default: the bytes as stored do not count.
def test_the_fingerprint_of_a_compressed_file_is_that_of_its_bytes(tmp_path):
    packed = gzip.compress(b"a,b\nx,1\ny,2\n", mtime=0)
    assert current_fingerprint(listed(tmp_path / "t.csv.gz", packed)) == fingerprint_bytes(packed)


# The offset of the first row counts U+FFFD (3 bytes) for the damaged byte (1): the row loses its beginning.
def test_a_damaged_byte_in_the_header_leaves_the_first_row_whole(tmp_path):
    text = "Paris éèàçùéèàçù,1\nLyon,2\n"
    table = listed(tmp_path / "t.csv", b"n\xe9m,b\n" + text.encode())
    assert table_rows(table) == [("Paris éèàçùéèàçù", "1"), ("Lyon", "2")]


# The sample of a large file is decoded with "ignore", the stream with "replace": 3 bytes too few are skipped.
def test_a_damaged_byte_in_the_header_of_a_large_file_leaves_the_first_row_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", SAMPLE_BYTES)
    n = SAMPLE_BYTES // 10
    table = listed(tmp_path / "t.csv", b"n\xe9m,bcdef\n" + "é éé,12\n".encode() * n)
    assert table_rows(table) == [("é éé", "12")] * n


# A ragged text is decoded with "replace" and never reports its encoding, which only the sample told.
def test_letters_of_another_encoding_behind_the_sample_are_found_in_a_ragged_file(tmp_path):
    data = b"a,b\n" + b"x,1\n" * (SAMPLE_BYTES // 4 + 10) + b"caf\xe9,2\nshort\n"
    assert table_rows(listed(tmp_path / "t.csv", data))[-2:] == [("café", "2"), ("short", None)]


# `stream_text` promises rows of up to 1 GiB; Arrow refuses a row that crosses two ends of an 8 MiB block.
def test_rows_of_a_stream_may_be_longer_than_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", 1000)
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 1 << 14)
    table = listed(tmp_path / "t.csv", b"a,b\nx,1\n" + b"y" * 100_000 + b",2\nz,3\n")
    assert [(len(a), b) for a, b in table_rows(table)] == [(1, "1"), (100_000, "2"), (1, "3")]


# Only keys of the first 64 MiB become columns; one that comes later is lost without a word.
def test_fields_that_come_late_in_a_large_json_file_are_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(json_reader, "WHOLE_FILE_LIMIT", 50)
    lines = [{"a": i} for i in range(10)] + [{"a": 10, "late": "x"}]
    table = listed(tmp_path / "t.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert open_table(table).names == ["a", "late"]


# The lines are split at the byte 0x0A before they are decoded.
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_json_lines_in_utf_16_are_read(tmp_path, encoding):
    assert table_rows(listed(tmp_path / "t.jsonl", '{"a": 1}\n{"a": 2}\n'.encode(encoding))) == [("1",), ("2",)]


# `reject_foreign` is asked about delimited files only.
@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_git_lfs_pointer_of_any_format_is_named(tmp_path, name):
    table = listed(tmp_path / name, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(TableReadError, match="a Git LFS pointer"):
        open_table(table)


# `name_encoding` is not told that its sample is the whole file: a bad byte near the end stays U+FFFD.
def test_a_header_alone_is_read_in_its_encoding(tmp_path):
    assert open_table(listed(tmp_path / "t.csv", b"a,caf\xe9\n")).names == ["a", "café"]


def wide_text(n_columns, title="", newline="\n", quote="", encoding="utf-8"):
    """A header far longer than the sample, and four rows of numbers."""
    names = [f"ENSG{i:011d}é" for i in range(n_columns)]
    lines = [",".join(quote + name + quote for name in names)]
    lines += [",".join(f"{row}.{i}" for i in range(n_columns)) for row in range(4)]
    return names, (title + newline.join(lines) + newline).encode(encoding)


@pytest.mark.parametrize(
    ("n_columns", "options"),
    [
        (40_000, {}),  # the sample grows more than once
        (9_000, {"newline": "\r\n"}),
        (9_000, {"title": "A title\n\n"}),
        (9_000, {"quote": '"'}),
        (9_000, {"encoding": "cp1252"}),
        (9_000, {"encoding": "utf-16"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_header_longer_than_the_sample_is_read_whole(read, monkeypatch, n_columns, options, streamed):
    names, data = wide_text(n_columns, **options)
    if streamed:
        monkeypatch.setattr(delimited_reader, "WHOLE_FILE_LIMIT", len(data) - 100)
    found, rows, dialect = read(data, "genes.csv")
    assert found == names and len(rows) == 4 and dialect.has_header
    assert rows[3] == tuple(f"3.{i}" for i in range(n_columns))


def test_a_wide_first_row_without_a_header_is_read_whole(read):
    data = "\n".join(",".join(str(i * i * row % 977) for i in range(30_000)) for row in (5, 1, 9)).encode() + b"\n"
    names, rows, dialect = read(data, "t.csv")
    assert len(names) == 30_000 and len(rows) == 3 and not dialect.has_header


def test_bytes_that_are_no_utf8_far_in_a_long_header(read):
    names = [f"column {i:06d}" for i in range(40_000)]
    data = (",".join(names)).encode() + b",caf\xe9\n" + b",".join([b"1"] * 40_001) + b"\n"
    found, rows, _ = read(data, "t.csv")
    assert found == [*names, "café"] and rows == [("1",) * 40_001]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", b"a,b,c,d\n1,2,3,4\n"),
        ("t.csv", b"a,b\n1,2,3,4\n"),
        ("t.csv", b'a,b\n1,2,"3",4\n'),
        ("t.csv", b"a,b,c\nx,1,2,3\ny,1,2,3\n"),
        ("t.jsonl", b'{"a":1,"b":2}\n{"c":3,"d":4}\n'),
    ],
)
def test_more_columns_than_allowed_are_refused(source, name, data):
    table = source({name: data})
    assert len(open_table(table, max_columns=4).names) == 4
    with pytest.raises(TableReadError, match=r"more than 3 columns, .*; allow more by the setting max_columns"):
        open_table(table, max_columns=3)


def test_more_columns_than_allowed_in_parquet(tmp_path):
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "t.parquet")
    _, (table,), _ = list_tables([tmp_path / "t.parquet"])
    with pytest.raises(TableReadError, match="more than 1 columns"):
        open_table(table, max_columns=1)


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("n_groups", [1, 6])
def test_parquet_is_never_held_whole(tmp_path, n_parts, n_groups):
    """The memory of Arrow while all of a file is read, whatever its row groups are."""
    n_rows = 300_000
    table = pa.table({f"c{i}": [x * 0.7 + i for x in range(n_rows)] for i in range(4)})
    place = tmp_path / "t"
    place.mkdir()
    for part in range(n_parts):
        parquet.write_table(
            table,
            place / f"part-{part}.parquet",
            row_group_size=n_rows // n_groups,
            use_dictionary=False,
            compression=None,
        )
    del table
    source = list_tables(place)[1][0]
    assert source.size > n_parts * (9 << 20)
    n_bytes = pa.default_memory_pool().bytes_allocated()
    reader = open_table(source)
    highest = n_seen = 0
    for batch in reader.batches():
        highest = max(highest, pa.default_memory_pool().bytes_allocated() - n_bytes)
        n_seen += batch.num_rows
    assert n_seen == n_rows * n_parts
    assert highest < 7 << 20


def test_parts_of_a_table_may_have_other_columns_and_types(tmp_path):
    place = tmp_path / "t"
    for year, frame in {
        "2020": {"a": pa.array([1], pa.int64()), "b": ["x"], "n": pa.nulls(1)},
        "2021": {"a": pa.array([2], pa.int32()), "n": ["late"]},
        "2022": {"a": [3.0], "b": pa.array([3]), "c": [True]},
    }.items():
        (place / f"year={year}").mkdir(parents=True)
        parquet.write_table(pa.table(frame), place / f"year={year}" / "part-0.parquet")
    (table,) = list_tables(tmp_path)[1]
    assert open_table(table).names == ["a", "b", "n", "c", "year"]
    found = [(1, "x", None, None, 2020), (2, None, "late", None, 2021), (3, "3", None, True, 2022)]
    assert rows_of(open_table(table).batches()) == found
    assert rows_of(open_table(table, columns=["year"]).batches()) == [(2020,), (2021,), (2022,)]
    assert rows_of(open_table(table, columns=["b"]).batches()) == [("x",), (None,), ("3",)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.array([1, 2]), pa.array([0.5]), [1.0, 2.0, 0.5]),
        (pa.array([1], pa.int32()), pa.array([2**40]), [1, 2**40]),
        (pa.array([True]), pa.array([2]), ["true", "2"]),
        (pa.array(["x"]).dictionary_encode(), pa.array(["y"]), ["x", "y"]),
        (pa.array([1], pa.timestamp("s")), pa.array([5], pa.timestamp("us")), None),
    ],
)
def test_columns_of_parts_have_a_type_that_holds_all(tmp_path, first, second, expected):
    (tmp_path / "t").mkdir()
    for number, values in enumerate((first, second)):
        parquet.write_table(pa.table({"c": values}), tmp_path / "t" / f"part-{number}.parquet")
    (table,) = list_tables(tmp_path)[1]
    expected = expected or [*first.cast(second.type).to_pylist(), *second.to_pylist()]
    assert [value for (value,) in rows_of(open_table(table).batches())] == expected


def test_a_record_without_parts_means_the_file_of_its_path(tmp_path):
    """A catalogue of somebody else may have such."""
    parquet.write_table(pa.table({"a": ["x", "y"]}), tmp_path / "t.parquet")
    _, tables, _ = list_tables(str(tmp_path))
    reader = open_table(replace(tables[0], parts=()))
    assert [cell for batch in reader.batches() for cell in batch.column(0).to_pylist()] == ["x", "y"]
    assert reader.fingerprint() == current_fingerprint(tables[0])
