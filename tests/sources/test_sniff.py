import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import TableReadError
from dfjoin.sources import sniff as module
from dfjoin.sources.delimited import header_of, split_lines
from dfjoin.sources.encodings import name_encoding
from dfjoin.sources.sniff import sniff
from dfjoin.sources.table_reader import reject_foreign
from dfjoin.types import Dialect


def tell(text, name="t.csv", known=None, **options):
    return replace(sniff(text, known or Dialect(), name=name, **options), doubt="")


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_the_delimiter_is_told_whatever_ends_the_lines(delimiter, end):
    rows = [["name", "n", "k"], ["a b", "1", "x"], ["c", "2", "y"], ["d", "3", "z"]]
    text = end.join(delimiter.join(row) for row in rows) + end
    assert tell(text) == Dialect(delimiter=delimiter)


def test_commas_inside_numbers_do_not_hide_semicolons():
    assert tell("a;b\n1,5;2,5\n3,5;4,1\n").delimiter == ";"


def test_the_extension_decides_between_equally_good_delimiters():
    text = "a,b\tc,d\n1,2\t3,4\n5,6\t7,8\n"
    assert tell(text, "t.tsv").delimiter == "\t"
    assert tell(text, "T.TAB.gz", Dialect(compression="gz")).delimiter == "\t"
    text = "a b;c d|e f\nu;v|w\nx;y|z\n"
    assert [tell(text, name).delimiter for name in ("t.csv", "t.psv")] == [";", "|"]


def test_a_delimiter_of_half_the_lines_is_one():
    assert tell("Prices of 2020\n\nname;n\nx;1\n") == Dialect(delimiter=";", skip_lines=1)


def test_a_single_column_is_read_with_commas():
    assert tell("name\nparis\nlyon\n") == Dialect()


def test_doubled_quotes_are_told():
    assert tell('a,b\n"x, ""q"" y",2\n"z",4\n') == Dialect()


def test_quotes_escaped_by_a_backslash_are_told():
    dialect = tell('a,b\n"x, \\"q\\" y",2\n"z",4\n"u \\"v\\"",5\n')
    assert (dialect.double_quote, dialect.escape_char) == (False, "\\")


def test_quotes_that_swallow_the_rows_are_no_quotes():
    text = "id\tname\tn\n" + "\n".join(f'"{i}\tx\ty\tz' if i == 7 else f"{i}\tx\ty" for i in range(80)) + "\n"
    assert tell(text, "t.tsv").quote_char == ""


def test_titles_above_the_header_are_skipped():
    text = "Report of 2020\n\nname,n,k\na,1,2\nb,2,3\nc,3,4\n"
    dialect = tell(text)
    assert (dialect.skip_lines, dialect.has_header) == (1, True)
    cells, offset, _ = header_of(text, dialect)
    assert cells == ["name", "n", "k"]
    assert text[offset:].startswith("a,1,2")


def test_comments_and_wide_titles_above_the_header_are_skipped():
    assert tell("# made by hand, in 2020\nname,n,k\na,1,2\nb,2,3\n").skip_lines == 1
    assert tell("Title,,,\nname,n,k,l\na,1,2,3\nb,2,3,4\n").skip_lines == 1
    assert tell('"A title\nof two lines"\nname,n,k\na,1,2\nb,2,3\n').skip_lines == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n5,6\n", False),
        ("x,1\ny,2\nz,3\n", False),
        ("a,b\n1,2\n3,4\n", True),
        ("a,b\nx,y\n", True),
        ("c,2000,2001\nx,1,2\ny,3,4\n", True),
        ("c,0,1,2\nx,5,6,7\ny,8,9,10\n", True),
        ("a,b\n", True),
        ("5,5\n1,2\n", False),
        ("-1.5e3,x\n2%,y\n", False),
        ("1,b\n,x\n", True),
    ],
)
def test_a_first_row_of_numbers_over_numbers_is_data_unless_they_are_labels(text, expected):
    assert tell(text).has_header is expected


def test_one_field_more_than_the_header_is_an_index_without_a_name():
    assert tell("a,b\nr1,1,2\nr2,3,4\n").implicit_index
    assert not tell("a,b\n1,2,\n3,4,\n").implicit_index
    assert not tell("a,b\n1,2\n3,4,5\n6,7\n").implicit_index


def test_a_record_that_the_sample_cuts_off_does_not_count():
    rows = "a,b,c\n" + "1,2,3\n" * 3
    assert tell(rows + "4", is_cut=True) == tell(rows)


def test_text_that_the_parser_refuses_is_no_table(monkeypatch):
    strict = module.csv_options
    monkeypatch.setattr(module, "csv_options", lambda dialect: {**strict(dialect), "strict": True})
    with pytest.raises(TableReadError, match=r"it is no delimited text: .* expected"):
        tell('a,b\n"x"y,1\n')


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf \t\r\n\n", "the file is empty"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
            "a Git LFS pointer, not the data",
        ),
        (b"<!DOCTYPE html><html>", "HTML or XML, not a table"),
        (b"\xef\xbb\xbf\n <?xml version='1.0'?>", "HTML or XML, not a table"),
        (b"<HTML>", "HTML or XML, not a table"),
        (b"PK\x03\x04abc", "a ZIP archive or an Excel workbook, not delimited text"),
        (b"\xd0\xcf\x11\xe0abc", "an old Excel workbook, not delimited text"),
        (b"%PDF-1.4", "a PDF document, not delimited text"),
        (b"SQLite format 3\0", "an SQLite database, not delimited text"),
        (b"PAR1abc", "a Parquet file under another name, not delimited text"),
        (b"\x1f\x8babc", "gzip content without the extension .gz, not delimited text"),
        (b"\x28\xb5\x2f\xfdabc", "zstd content without the extension .zst, not delimited text"),
        (b"\x89PNG\r\n", "a PNG image, not delimited text"),
        (b"\xff\xd8\xff\xe0", "a JPEG image, not delimited text"),
        (b"a,b\n1,\0\n2,3\n", "binary content, not text"),
    ],
)
def test_what_is_no_table_is_refused_with_the_true_reason(head, reason):
    with pytest.raises(TableReadError, match=reason):
        reject_foreign(head)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_in_every_encoding_is_not_refused_and_its_encoding_named(encoding):
    data = "naïve,b\nÄ,1\nb,2\n".encode(encoding)
    reject_foreign(data)
    assert data.decode(name_encoding(data)) == "naïve,b\nÄ,1\nb,2\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", "utf-8"),
        ("née".encode(), "utf-8"),
        (b"\x93quoted\x94", "cp1252"),
        (b"caf\xe9 au lait", "cp1252"),
        (b"a\x81\xe9 bcd", "latin-1"),
        (b"\x81\x8d\x93 letters", "cp1252"),
        (b"\xfe\xff\0a", "utf-16"),
        ("é".encode() * 9 + b"\xff" + b"abcd", "utf-8"),
        ("é".encode() * 3 + b"\xe9t\xe9", "cp1252"),  # as many letters are there by chance
        (b"\xff\xfe\x00\x00a\0\0\0", "utf-32"),
    ],
)
def test_encodings_are_named(data, expected):
    assert name_encoding(data) == expected


def test_a_sample_may_end_inside_a_character():
    data = "x,é".encode()[:-1]
    assert name_encoding(data) == "utf-8"
    assert name_encoding(data, is_whole=True) == "cp1252"


@given(st.text("a\n\r\x0b\x0c\x1c\x85\u2028", max_size=12))
def test_lines_end_at_lf_cr_and_crlf_only(text):
    lines = list(split_lines(text))
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines if line] == list(
        text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )[: len(lines)]


@given(st.lists(st.lists(st.text('ab",\n é', min_size=1, max_size=4), min_size=2, max_size=4), min_size=1, max_size=4))
def test_the_header_is_the_first_record_and_the_offset_is_behind_it(rows):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    text = buffer.getvalue()
    cells, offset, end = header_of("\n" + text, Dialect())
    assert end == offset
    assert cells == rows[0]
    assert list(csv.reader(io.StringIO(text[offset - 1 :], newline=""))) == rows[1:]
    assert header_of(text, Dialect(header_lines=0))[:2] == (rows[0], 0)


def test_there_is_no_header_in_an_empty_text():
    assert header_of("\n\n", Dialect())[0] == []
