import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import TableReadError
from dfjoin.sources import delimited
from dfjoin.sources.delimited import (
    EncodingError,
    RaggedError,
    layout_of,
    max_width,
    read_text,
    stream_text,
)
from dfjoin.types import Dialect


def rows_of(batches):
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


def written(rows, dialect):
    """Write rows as a file of this dialect would hold them."""
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote_char,
        doublequote=dialect.double_quote,
        escapechar=dialect.escape_char or None,
        quoting=csv.QUOTE_ALL,
        lineterminator="\n",
    )
    writer.writerows(rows)
    return buffer.getvalue()


DIALECTS = st.sampled_from(
    [
        Dialect(),
        Dialect(delimiter=";"),
        Dialect(delimiter="\t"),
        Dialect(double_quote=False, escape_char="\\"),
    ]
)
CELLS = st.text('ab,;\t"\n é😀', max_size=5)
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6)


@given(TABLES, DIALECTS)
def test_cells_are_read_as_they_were_written_whole_and_streamed(rows, dialect):
    text = written([("x", "y", "z"), *rows], dialect)
    layout = layout_of(text, dialect)
    assert layout.names == ["x", "y", "z"]
    assert rows_of(read_text(text.encode(), layout)) == rows
    if rows:
        assert rows_of(stream_text(lambda: io.BytesIO(text.encode()), layout)) == rows


@given(st.lists(st.lists(st.text("ab é", min_size=1, max_size=3), min_size=1, max_size=5), min_size=1, max_size=6))
def test_ragged_rows_are_padded_with_nulls_and_lose_nothing(rows):
    text = written([("x", "y"), *rows], Dialect())
    dialect = Dialect(ragged=True)
    width = max_width(text.encode(), layout_of(text, dialect))
    assert width == max(map(len, rows))
    layout = layout_of(text, dialect, max(0, width - 2))
    n = len(layout.names)
    assert n == max(2, width)
    assert rows_of(read_text(text.encode(), layout)) == [tuple(row) + (None,) * (n - len(row)) for row in rows]


def test_rows_of_another_length_are_reported_unless_the_layout_says_so():
    text = "a,b\n1,2\n3\n"
    with pytest.raises(RaggedError, match="Expected 2 columns, got 1"):
        list(read_text(text.encode(), layout_of(text, Dialect())))


def test_cells_that_are_not_utf8_are_reported():
    data = b"a,b\n1,\xff\n"
    with pytest.raises(EncodingError, match="UTF8"):
        list(read_text(data, layout_of("a,b\n", Dialect())))


def test_threads_of_arrow_hold_no_memory_of_python(monkeypatch):
    """A process that ended right after it had read a small table was aborted, one time in forty."""
    sources = []
    real = pa.BufferReader
    monkeypatch.setattr(pa, "BufferReader", lambda source: sources.append(source) or real(source))
    text = b"a,b\n1,2\n3,4\n"
    assert rows_of(read_text(text, layout_of(text.decode(), Dialect()))) == [("1", "2"), ("3", "4")]
    (source,) = sources
    start = pa.py_buffer(text).address
    assert isinstance(source, pa.Buffer) and source.is_mutable
    assert not start <= source.address < start + len(text)


def test_columns_come_in_the_order_asked_for():
    text = "a,b,c\n1,2,3\n"
    for dialect in (Dialect(), Dialect(ragged=True)):
        (batch,) = read_text(text.encode(), layout_of(text, dialect), ["c", "a"])
        assert (batch.schema.names, rows_of([batch])) == (["c", "a"], [("3", "1")])
        assert batch.schema.types == [pa.string(), pa.string()]
    (batch,) = stream_text(lambda: io.BytesIO(text.encode()), layout_of(text, Dialect()), ["b"])
    assert rows_of([batch]) == [("2",)]


def test_empty_cells_are_empty_texts_and_na_is_text():
    text = 'a,b\n,NA\n"",null\n'
    assert rows_of(read_text(text.encode(), layout_of(text, Dialect()))) == [("", "NA"), ("", "null")]


@pytest.mark.parametrize("rest", ["", "\n", " \r\n\n"])
def test_a_header_without_rows_gives_no_batches(rest):
    text = "a,b\n" + rest
    assert list(read_text(text.encode(), layout_of(text, Dialect()))) == []


def test_names_follow_from_the_dialect():
    text = "a,b\n1,2\n"
    assert layout_of(text, Dialect()).names == ["a", "b"]
    assert layout_of(text, Dialect(header_lines=0)).names == ["column_0", "column_1"]
    assert layout_of(text, Dialect(implicit_index=True)).names == ["Unnamed: 0", "a", "b"]
    assert layout_of(text, Dialect(), extra_columns=2).names == ["a", "b", "Unnamed: 2", "Unnamed: 3"]
    assert layout_of("t\n\nä,b\n1,2\n", Dialect(skip_lines=1)).offset == len("t\n\nä,b\n".encode())


def test_cells_larger_than_a_block_are_read(monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 1 << 16)
    text = "a,b\n" + "".join(f"{'x' * size},{size}\n" for size in (5, 200_000, 1, 70_000))
    found = rows_of(read_text(text.encode(), layout_of(text, Dialect())))
    assert [(len(a), int(b)) for a, b in found] == [(5, 5), (200_000, 200_000), (1, 1), (70_000, 70_000)]


def test_a_cell_that_no_block_holds_is_explained():
    error = delimited._explained(pa.ArrowInvalid("straddling object straddles two block boundaries"))
    assert isinstance(error, TableReadError)
    assert str(error) == "a row is longer than 64 MiB; is a quote missing?"


@pytest.fixture
def strict(monkeypatch):
    """Python's parser in its strict mode, in which a text can be refused."""
    plain = delimited.csv_options
    monkeypatch.setattr(delimited, "csv_options", lambda dialect: {**plain(dialect), "strict": True})


def test_rows_that_the_parser_refuses_are_a_table_error(strict):
    text = 'a,b\n"x"y,1\n'
    layout = layout_of(text, Dialect(ragged=True))
    with pytest.raises(TableReadError, match=r"its rows cannot be parsed: .* expected"):
        list(read_text(text.encode(), layout))
    with pytest.raises(TableReadError, match=r"its rows cannot be parsed: .* expected"):
        max_width(text.encode(), layout)


def test_a_stream_that_arrow_refuses_is_a_table_error(monkeypatch):
    def refuse(*_):
        raise pa.ArrowInvalid("no such thing")

    monkeypatch.setattr(delimited.arrow_csv, "open_csv", refuse)
    with pytest.raises(TableReadError, match="its rows cannot be parsed: no such thing"):
        list(stream_text(lambda: io.BytesIO(b"a\n1\n"), layout_of("a\n1\n", Dialect())))


def test_ragged_rows_of_a_stream_come_last_padded_or_cut():
    text = 'a,b\nx,1\nshort\n"p\nq",2,3\nz,4\n'
    found = rows_of(stream_text(lambda: io.BytesIO(text.encode()), layout_of(text, Dialect())))
    assert found == [("x", "1"), ("z", "4"), ("short", None), ("p\nq", "2")]


def test_many_ragged_rows_of_a_stream_are_handed_out_on_the_way(monkeypatch):
    monkeypatch.setattr(delimited, "_ROWS_PER_BATCH", 10)
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 200)
    text = "a,b\n" + "".join(f"{i},x\n" if i % 3 else f"{i}\n" for i in range(300))
    found = rows_of(stream_text(lambda: io.BytesIO(text.encode()), layout_of(text, Dialect())))
    assert sorted(found) == sorted((str(i), "x" if i % 3 else None) for i in range(300))
    first_short = next(i for i, row in enumerate(found) if row[1] is None)
    assert any(row[1] == "x" for row in found[first_short:])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_a_stream_is_read_in_its_encoding(encoding):
    text = "ä,b\n" + "".join(f"é{i},{i}\n" for i in range(50))
    layout = layout_of(text, Dialect(encoding=encoding))
    found = rows_of(stream_text(lambda: io.BytesIO(text.encode(encoding)), layout))
    assert found == [(f"é{i}", str(i)) for i in range(50)]


def test_bytes_of_a_stream_that_are_not_of_its_encoding_keep_their_readable_part():
    data = b"a,b\nx\xffy,1\n\xe9,2\n"
    found = rows_of(stream_text(lambda: io.BytesIO(data), layout_of("a,b\n", Dialect())))
    assert found == [("x\ufffdy", "1"), ("\ufffd", "2")]
