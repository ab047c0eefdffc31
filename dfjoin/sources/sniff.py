"""Telling how a delimited text is written: delimiter, quotes, title lines, header, marks of numbers.

Parsing is left to well-kept parsers; they lack only this.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dfjoin.errors import TableReadError
from dfjoin.sources.encodings import name_encoding
from dfjoin.sources.header_rows import CellKind, HeaderRows, find_header, join_headers, kind_of_cell
from dfjoin.sources.number_marks import find_marks
from dfjoin.types import Dialect, GivenDialect

__all__ = ["LFS_PREFIX", "csv_options", "header_of", "reject_foreign", "sniff", "split_lines"]

LFS_PREFIX = b"version https://git-lfs"
"""How a Git LFS pointer begins."""

_FIRST_CHARACTERS = 1 << 14
_FEWEST_RECORDS, _MAX_RECORDS = 20, 100
_MAX_PARSED_CELLS = 20_000
"""Cells that are parsed with each delimiter; 20 records at least, 100 at most."""

_MAX_CELLS = 1000
"""Cells of a reading that are looked at, of as many records as make them up."""

_NO_QUOTES_PENALTY = 0.3
_DELIMITERS = ",\t;|"
_NO_DELIMITER = "\x1f"
"""Delimits the cells of a text of a single column that has commas in its cells."""

_ONE_COLUMN = 0.25
"""Score of a text as a single column, which columns of its cells have to exceed."""

_DOUBTFUL = 0.9
"""Share of the best score from which on another delimiter is nearly as good."""

_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[ \t]*(?:\r\n?|\n)', re.IGNORECASE)
_PREFERRED = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml|svg|rss|feed|!--)", re.IGNORECASE)
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
    b"PAR1": "a Parquet file under another name",
    b"\x1f\x8b": "gzip content without the extension .gz",
    b"\x28\xb5\x2f\xfd": "zstd content without the extension .zst",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
}


def reject_foreign(head: bytes) -> None:
    """Refuse what only claims to be a table, with the true reason.

    Parameters
    ----------
    head : bytes
        Beginning of the file, decompressed.

    Raises
    ------
    TableReadError
        For an empty file, a Git LFS pointer, HTML or XML, and binary content.
    """
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise TableReadError("the file is empty")
    if head.startswith(LFS_PREFIX):
        raise TableReadError("a Git LFS pointer, not the data; fetch the file with `git lfs pull`")
    if _MARKUP.match(head.removeprefix(b"\xef\xbb\xbf")):
        raise TableReadError("HTML or XML, not a table")
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise TableReadError(f"{what}, not delimited text")
    if b"\0" in head and name_encoding(head) not in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        raise TableReadError("binary content, not text")


def split_lines(text: str) -> Iterator[str]:
    """Iterate over physical lines with their ends: LF, CRLF or CR, and nothing else that Unicode calls one."""
    if len(text) <= _FIRST_CHARACTERS:
        return iter(io.StringIO(text, newline=""))
    cut = text.rfind("\n", 0, _FIRST_CHARACTERS) + 1  # most readers want the first lines; a StringIO copies all
    return itertools.chain.from_iterable(io.StringIO(part, newline="") for part in _parts(text, cut))


def _parts(text: str, cut: int) -> Iterator[str]:
    yield text[:cut]
    yield text[cut:]


class _Sample:
    """The beginning of a text, parsed at most once under each dialect."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parsed: dict[Dialect, tuple[list[list[str]], int]] = {}

    def records(self, dialect: Dialect) -> list[list[str]]:
        """Return the first records; the last may be one that the sample cuts off."""
        return self._parse(dialect)[0]

    def has_swallowed_lines(self, dialect: Dialect) -> bool:
        """Tell whether some cell runs over more than fifty lines, as after a quote that is never closed."""
        rows, n_lines = self._parse(dialect)
        if n_lines <= len(rows) + 50:
            return False
        return any(len(cell) > 100 and cell.count("\n") > 50 for row in rows for cell in row)

    def _parse(self, dialect: Dialect) -> tuple[list[list[str]], int]:
        known = self._parsed.get(dialect)
        if known is not None:
            return known
        reader = csv.reader(split_lines(self.text), **csv_options(dialect))
        records = filter(None, reader)
        try:
            rows = list(itertools.islice(records, _FEWEST_RECORDS))
            rows += itertools.islice(records, _n_records(rows) - len(rows))
        except csv.Error as error:
            raise TableReadError(f"it is no delimited text: {error}") from error
        self._parsed[dialect] = rows, reader.line_num
        return self._parsed[dialect]


def _n_records(rows: list[list[str]]) -> int:
    """Return how many records of a text are parsed, by the width of the first ones."""
    width = max(map(len, rows[:_FEWEST_RECORDS]), default=1)
    return max(_FEWEST_RECORDS, min(_MAX_RECORDS, _MAX_PARSED_CELLS // width))


def csv_options(dialect: Dialect) -> dict[str, Any]:
    """Return the dialect as keyword arguments of Python's ``csv.reader``."""
    csv.field_size_limit(2**31 - 1)
    return {
        "delimiter": dialect.delimiter,
        "quotechar": dialect.quote_char or None,
        "quoting": csv.QUOTE_MINIMAL if dialect.quote_char else csv.QUOTE_NONE,
        "doublequote": dialect.double_quote,
        "escapechar": dialect.escape_char or None,
    }


def _modal_width(rows: list[list[str]]) -> tuple[int, int]:
    """Return the width of the table in a text, and how many records have it.

    It is the width that most of them have; wide ones count more, as a table may have many short lines above it.
    """
    widths = Counter(map(len, rows)).items()
    if len(widths) == 1:
        return next(iter(widths))
    return max(widths, key=lambda item: (item[1] > 1, item[1] * math.log2(item[0]), item), default=(0, 0))


@dataclass(frozen=True)
class _Reading:
    """A text read with one delimiter: its first records, where its table begins, and how well that fits."""

    dialect: Dialect
    rows: list[list[str]]
    width: int
    header: HeaderRows
    score: float


def sniff(text: str, known: Dialect, *, name: str, is_cut: bool = False, given: GivenDialect | None = None) -> Dialect:
    """Tell the dialect of a delimited text from its beginning.

    Parameters
    ----------
    text : str
        The first `SAMPLE_BYTES`, decoded, without byte order mark.
    known : Dialect
        Its encoding and compression.
    name : str
        File name; its extension decides between equally good delimiters.
    is_cut : bool
        More text follows: the last record may be incomplete.
    given : GivenDialect
        What the user says of the file.

    Returns
    -------
    Dialect

    Notes
    -----
    Every delimiter is tried. The best is the one under which the most records share one width, with the fewest cells
    that hold another delimiter; of equally good ones that with more columns. A text of prose is a single column. Lines
    above the table are titles. See `find_header` and `find_marks` for the header and the numbers.
    """
    given = given or GivenDialect()
    separator = _SEPARATOR_LINE.match(text)
    skipped = separator.group(0) if separator else ""
    delimiters = given.delimiter or (separator.group(1) if separator else _DELIMITERS)
    sample = _Sample(text[len(skipped) :])
    n_lines = text.count("\n", 0, 20_000) or text.count("\r", 0, 20_000)
    present = [d for d in delimiters if d in sample.text]
    present = [d for d in present if d == delimiters[0] or text.count(d, 0, 20_000) * 2 >= n_lines]
    readings = [_read(sample, replace(known, delimiter=d), present, is_cut, given) for d in present]
    preferred = _PREFERRED.get(re.sub(r"\.(?:gz|zst|bz2|xz)$", "", name.lower())[-4:])
    weights = [r.score * (1.5 if r.dialect.delimiter == preferred else 1.0) for r in readings]
    single = given.delimiter is None and separator is None and max(weights, default=0.0) < _ONE_COLUMN
    if not readings or single:
        best = _read_single(sample, known, given, is_cut, delimiters)
        doubt = ""
    else:
        best = readings[weights.index(max(weights))]
        rivals = [r for r, weight in zip(readings, weights, strict=True) if weight > _DOUBTFUL * max(weights)]
        others = [repr(r.dialect.delimiter) for r in rivals if r is not best and r.width > 1]
        doubt = f"the delimiter may be {others[0]}" if others else ""
    return _completed(sample, best, skipped, given, doubt)


def _read(sample: _Sample, dialect: Dialect, present: list[str], is_cut: bool, given: GivenDialect) -> _Reading:
    """Read a text with one delimiter, and score that."""
    dialect = _quoting(sample, dialect)
    rows = _drop_cut(sample.records(dialect), is_cut)
    width, n_alike = _modal_width(rows)
    if max(map(len, rows), default=0) > width + 1:
        rows = [row[: width + 1] for row in rows]  # of a row out of all measure no more is needed
    header = find_header(rows, width, given.header)
    body = rows[header.first :]
    if width < 2 or not body:
        return _Reading(dialect, rows, width, header, 0.0)
    share = n_alike / max(n_alike, len(body) + header.first / 2)
    score = share * (1 - 1 / width) * _share_clean(rows, header, dialect, present)
    if len(body[0]) != width and body[0][width:] != [""] * (len(body[0]) - width):
        score *= 0.9 if len(body[0]) == width - 1 else 0.7  # the header has the width of the rows
    return _Reading(dialect, rows, width, header, score)


def _read_single(sample: _Sample, known: Dialect, given: GivenDialect, is_cut: bool, delimiters: str) -> _Reading:
    """Read a text as one column; its delimiter is one that its cells do not have."""
    delimiter = given.delimiter or (_DELIMITERS[0] if _DELIMITERS[0] not in sample.text else _NO_DELIMITER)
    dialect = _quoting(sample, replace(known, delimiter=delimiter if len(delimiters) > 1 else delimiters))
    rows = _drop_cut(sample.records(dialect), is_cut)
    rows = [row[:2] for row in rows]
    return _Reading(dialect, rows, 1, find_header(rows, 1, given.header), _ONE_COLUMN)


def _share_clean(rows: list[list[str]], header: HeaderRows, dialect: Dialect, present: list[str]) -> float:
    """Return the share of the cells that are numbers, dates or texts without another delimiter between two letters.

    A cell that begins with a blank, or has a quote that another delimiter would explain, is not clean.
    """
    body = rows[header.first :]
    width = len(body[0])
    if len(present) == 1 and width > 3:
        return 1.0
    body = body[: max(2, _MAX_CELLS // width)]
    joined = "\n".join(itertools.chain.from_iterable(body))
    suspect = {*present, dialect.quote_char} - {dialect.delimiter, ""}
    if "\n " not in joined and not any(mark in joined for mark in suspect):
        return 1.0
    others = "".join(re.escape(d) for d in present if d != dialect.delimiter)
    foreign = re.compile(rf"\S[{others}]\S|^[{others}]|[{others}]$" if others else r"(?!)")
    n_cells = n_clean = 0
    has_blanks = header.first == 0 and width > 1 and body[0][1].startswith(" ")  # ", " between the names, too
    for row in body:
        for position, cell in enumerate(row):
            if not cell.strip():
                continue
            n_cells += 1
            is_typed = kind_of_cell(cell) is not CellKind.TEXT and "\t" not in cell and ";" not in cell
            is_cut = bool(foreign.search(cell)) or (cell.startswith(" ") and position > 0 and not has_blanks)
            is_cut = is_cut or (dialect.quote_char != "" and cell.count(dialect.quote_char) % 2 == 1)
            n_clean += is_typed or not is_cut
    return n_clean / n_cells if n_cells else 1.0


def _completed(sample: _Sample, best: _Reading, skipped: str, given: GivenDialect, doubt: str) -> Dialect:
    """Complete the dialect of a reading by its header and the marks of its numbers."""
    header, dialect = best.header, best.dialect
    n_skipped = (1 if skipped else 0) + _lines_before(sample.text, dialect, header.first)
    data = best.rows[header.first + header.n_lines :]
    is_wider = header.n_lines > 0 and header.implicit_index
    data = data[: max(10, 4 * _MAX_CELLS // max(1, best.width))]
    width = min(best.width, max(map(len, data), default=0))
    is_even = {*map(len, data)} == {width}
    columns = list(zip(*data, strict=True)) if is_even else [[r[i] for r in data if i < len(r)] for i in range(width)]
    marks = find_marks(columns, dialect.delimiter, given.decimal)
    doubts = [text for text in (doubt, header.doubt, marks.doubt) if text]
    return replace(
        dialect,
        skip_lines=n_skipped,
        header_lines=header.n_lines,
        implicit_index=is_wider,
        decimal=marks.decimal,
        thousands=marks.thousands,
        number_columns=marks.columns,
        doubt="; ".join(doubts),
    )


def _drop_cut(rows: list[list[str]], is_cut: bool) -> list[list[str]]:
    return rows[:-1] if is_cut and len(rows) > 1 and len(rows) < _n_records(rows) else rows


def _quoting(sample: _Sample, dialect: Dialect) -> Dialect:
    """Choose between quotes that are doubled, escaped by a backslash, and none at all."""
    if '"' not in sample.text:
        return _single_quoting(sample, dialect)
    changes: list[dict[str, Any]] = [{}, {"quote_char": ""}]
    if '\\"' in sample.text:
        changes.insert(0, {"double_quote": False, "escape_char": "\\"})
        if '""' in sample.text:
            changes.insert(1, {"escape_char": "\\"})
    # Quotes that swallow lines show as few records; parsing without quotes must be clearly better.
    best, best_score = dialect, 0.0
    for change in changes:
        choice = replace(dialect, **change) if change else dialect
        rows = sample.records(choice)
        width, n_alike = _modal_width(rows)
        penalty = _NO_QUOTES_PENALTY if choice.quote_char == "" else 0.0
        score = n_alike / len(rows) - penalty - 0.5 * sample.has_swallowed_lines(choice) if width > 1 else 0.0
        if score > best_score:
            best, best_score = choice, score
        if best_score >= 1:
            break
    return best


def _single_quoting(sample: _Sample, dialect: Dialect) -> Dialect:
    """Take single quotes where no cell has a double one, and nearly all that begin with a single one end with one."""
    if f"{dialect.delimiter}'" not in sample.text:
        return dialect
    mark, text = re.escape(dialect.delimiter), "".join(itertools.islice(split_lines(sample.text), _MAX_RECORDS))
    n_begun = len(re.findall(rf"(?:^|{mark})'", text, re.MULTILINE))
    n_ended = len(re.findall(rf"'(?={mark}|\r?$)", text, re.MULTILINE))
    is_quoted = n_begun * 2 > text.count("\n") and n_ended >= 0.9 * n_begun
    return replace(dialect, quote_char="'") if is_quoted else dialect


def _lines_before(text: str, dialect: Dialect, n_records: int) -> int:
    """Count the physical lines of the first `n_records` non-blank records."""
    if n_records == 0:
        return 0
    reader = csv.reader(split_lines(text), **csv_options(dialect))
    for row in reader:
        n_records -= bool(row)
        if n_records == 0:
            break
    return reader.line_num


def header_of(text: str, dialect: Dialect) -> tuple[list[str], int, int]:
    """Return the names of the columns, the number of characters before the first data record, and the header's end.

    Parameters
    ----------
    text : str
        Beginning of the file, decoded, without byte order mark.
    dialect : Dialect

    Returns
    -------
    cells : list of str
        Of the header, of two lines joined; without a header, of the first record.
    offset : int
        Characters that the title lines and the header take.
    end : int
        Characters up to the end of the header, or of the first record; the whole text if that may be cut.
    """
    lines = split_lines(text)
    offset = sum(len(line) for _, line in zip(range(dialect.skip_lines), lines, strict=False))
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for line in lines:
            taken += len(line)
            yield line

    found: list[list[str]] = []
    for row in csv.reader(counted(), **csv_options(dialect)):
        if row:
            found.append(row)
        if found and len(found) >= dialect.header_lines:
            return join_headers(found), offset + (taken if dialect.has_header else 0), offset + taken
    return join_headers(found) if found else [], offset, len(text)
