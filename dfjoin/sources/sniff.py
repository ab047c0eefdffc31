"""Telling how a delimited file is written: encoding, delimiter, quotes, title lines, header.

Parsing is left to well-kept parsers; they lack only this.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dfjoin.errors import TableReadError
from dfjoin.types import Dialect

__all__ = [
    "LFS_PREFIX",
    "SAMPLE_BYTES",
    "csv_options",
    "header_of",
    "name_encoding",
    "reject_foreign",
    "sniff",
    "split_lines",
]

SAMPLE_BYTES = 128 << 10
"""How much of a file is looked at to tell its dialect."""

LFS_PREFIX = b"version https://git-lfs"
"""How a Git LFS pointer begins."""

_MAX_RECORDS = 100
_NO_QUOTES_PENALTY = 0.3
_DELIMITERS = ",\t;|"
_NUMBER = re.compile(r"\s*[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?\s*")
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
_BOMS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
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


def name_encoding(data: bytes, *, is_whole: bool = False) -> str:
    """Name the encoding of a text: its byte order mark, else UTF-8, else cp1252, else Latin-1.

    A text that is UTF-8 but for a few damaged bytes stays UTF-8. A sample may end inside a character.

    Examples
    --------
    >>> name_encoding("née".encode()), name_encoding("née".encode("cp1252")), name_encoding(b"\\xff\\xfea\\0")
    ('utf-8', 'cp1252', 'utf-16')
    """
    for bom, encoding in _BOMS.items():
        if data.startswith(bom):
            return encoding
    if data.count(b"\0", 0, 2000) * 3 > len(data[:2000]):
        return "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not is_whole and error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return "utf-8"
        text = data.decode("utf-8", "replace")
        n_good = len(text) - len(text.encode("ascii", "ignore")) - text.count("�")
        if n_good > 4 * text.count("�"):
            return "utf-8"
        c1 = set(range(0x80, 0xA0)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D}  # what only cp1252 has letters for
        return "cp1252" if c1.intersection(data) or not set(range(0x80, 0xA0)).intersection(data) else "latin-1"
    return "utf-8"


def split_lines(text: str) -> Iterator[str]:
    """Iterate over physical lines with their ends: LF, CRLF or CR, and nothing else that Unicode calls one."""
    return iter(io.StringIO(text, newline=""))


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
        rows: list[list[str]] = []
        try:
            for row in reader:
                if row:
                    rows.append(row)
                if len(rows) >= _MAX_RECORDS:
                    break
        except csv.Error as error:
            raise TableReadError(f"it is no delimited text: {error}") from error
        self._parsed[dialect] = rows, reader.line_num
        return self._parsed[dialect]


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


def _consistency(rows: list[list[str]]) -> tuple[float, int]:
    """Return the share of records that have the most common width, and that width."""
    if not rows:
        return 0.0, 0
    widths = Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return count / len(rows), width


def sniff(text: str, *, encoding: str, name: str, compression: str = "", is_cut: bool = False) -> Dialect:
    """Tell the dialect of a delimited text from its beginning.

    Parameters
    ----------
    text : str
        The first `SAMPLE_BYTES`, decoded, without byte order mark.
    encoding : str
        Recorded in the dialect.
    name : str
        File name; its extension decides between equally good delimiters.
    compression : str
        Recorded in the dialect.
    is_cut : bool
        More text follows: the last record may be incomplete.

    Returns
    -------
    Dialect

    Notes
    -----
    The delimiter is the one under which the most records share one width above 1. Lines above the
    first record of about that width are titles. A first record whose cells are numbers wherever the
    column below holds numbers is data, unless those are years or count upwards.
    """
    sample = _Sample(text)
    best: tuple[tuple[float, float, int], Dialect, list[list[str]]] | None = None
    preferred = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
    base = name.lower().removesuffix(".gz").removesuffix(".zst")
    for delimiter in _DELIMITERS:
        if text.count(delimiter, 0, 20_000) * 2 < text.count("\n", 0, 20_000):
            continue  # not on every second line
        dialect = _quoting(sample, Dialect(encoding=encoding, delimiter=delimiter, compression=compression))
        rows = _drop_cut(sample.records(dialect), is_cut)
        share, width = _consistency(rows)
        bonus = 0.05 if preferred.get(base[-4:], ",") == delimiter else 0.0
        score = (0.0 if width < 2 else share + bonus, bonus, width)
        if best is None or score > best[0]:
            best = (score, dialect, rows)
        if score[0] > 1:
            break  # every record has this width, and the name agrees
    if best is None or best[0][0] == 0.0:
        fallback = Dialect(encoding=encoding, compression=compression)
        best = ((0.0, 0.0, 1), best[1] if best else _quoting(sample, fallback), [])
        best = (best[0], best[1], _drop_cut(sample.records(best[1]), is_cut))
    _, dialect, rows = best
    return _layout(text, dialect, rows)


def _drop_cut(rows: list[list[str]], is_cut: bool) -> list[list[str]]:
    return rows[:-1] if is_cut and len(rows) > 1 and len(rows) < _MAX_RECORDS else rows


def _quoting(sample: _Sample, dialect: Dialect) -> Dialect:
    """Choose between quotes that are doubled, escaped by a backslash, and none at all."""
    if '"' not in sample.text:
        return dialect
    choices = [dialect]
    if '\\"' in sample.text:
        choices.insert(0, _with(dialect, double_quote=False, escape_char="\\"))
        if '""' in sample.text:
            choices.insert(1, _with(dialect, escape_char="\\"))
    choices.append(_with(dialect, quote_char=""))
    # Quotes that swallow lines show as few records; parsing without quotes must be clearly better.
    best, best_score = dialect, 0.0
    for choice in choices:
        share, width = _consistency(sample.records(choice))
        penalty = _NO_QUOTES_PENALTY if choice.quote_char == "" else 0.0
        score = share - penalty - 0.5 * sample.has_swallowed_lines(choice) if width > 1 else 0.0
        if score > best_score:
            best, best_score = choice, score
        if best_score >= 1:
            break
    return best


def _with(dialect: Dialect, **changes: object) -> Dialect:
    return replace(dialect, **changes)  # type: ignore[arg-type]


def _layout(text: str, dialect: Dialect, rows: list[list[str]]) -> Dialect:
    """Find title lines, the header, and whether rows carry one field more than it."""
    _, width = _consistency(rows)
    first = _first_table_row(rows, width)
    skip = _lines_before(text, dialect, first)
    body = rows[first:]
    if not body:
        return dialect
    header, data = body[0], body[1:]
    has_header = not _is_data(header, data)
    data_width = _consistency(data)[1] if data else len(header)
    implicit = has_header and len(data) > 0 and data_width == len(header) + 1
    implicit = implicit and sum(len(row) == data_width for row in data) * 2 > len(data)
    # Every row may end in a delimiter that the header lacks: then the extra field is always empty.
    implicit = implicit and any(row[-1].strip() for row in data if len(row) == data_width)
    return _with(dialect, skip_lines=skip, has_header=has_header, implicit_index=implicit)


def _first_table_row(rows: list[list[str]], width: int) -> int:
    """Number of the first record that is not a title: at least half the common width is filled."""
    if width < 2:
        return 0
    for number, row in enumerate(rows[:20]):
        filled = sum(bool(cell.strip()) for cell in row)
        is_title = filled <= 1 and (len(row) == 1 or (width >= 4 and bool(row[0].strip())))
        is_comment = bool(row[0].lstrip().startswith("#")) and len(row) != width
        if not (is_title or is_comment):
            return number
    return 0


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


def _is_data(header: list[str], data: list[list[str]]) -> bool:
    """Tell whether the first record is data: numbers wherever the column holds numbers."""
    if len(set(header)) < len(header) and all(_NUMBER.fullmatch(cell) for cell in header):
        return True
    numeric = []
    for i, label in enumerate(header):
        cells = [row[i] for row in data[:10] if i < len(row) and row[i].strip()]
        if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
            if not _NUMBER.fullmatch(label):
                return False
            numeric.append(label.strip())
    return bool(numeric) and not _are_labels(numeric)


def _are_labels(cells: list[str]) -> bool:
    """Tell whether numbers in a first record are labels: years, or 0, 1, 2 …"""
    if not all(cell.isdigit() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    if all(1500 <= n <= 2200 for n in numbers) and len(set(numbers)) == len(numbers):
        return True
    steps = {b - a for a, b in zip(numbers, numbers[1:], strict=False)}
    return len(numbers) > 2 and len(steps) == 1 and steps != {0}


def header_of(text: str, dialect: Dialect) -> tuple[list[str], int, int]:
    """Return the cells of the first record, the number of characters before the first data record, and its own end.

    Parameters
    ----------
    text : str
        Beginning of the file, decoded, without byte order mark.
    dialect : Dialect

    Returns
    -------
    cells : list of str
        Of the header; without a header, of the first record.
    offset : int
        Characters that the title lines and the header take.
    end : int
        Characters up to the end of the first record; the whole text if that may be cut.
    """
    lines = split_lines(text)
    offset = sum(len(line) for _, line in zip(range(dialect.skip_lines), lines, strict=False))
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for line in lines:
            taken += len(line)
            yield line

    for row in csv.reader(counted(), **csv_options(dialect)):
        if row:
            return row, offset + (taken if dialect.has_header else 0), offset + taken
    return [], offset, len(text)
