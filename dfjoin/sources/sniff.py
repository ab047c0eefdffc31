"""Telling how a delimited text is written: delimiter, quotes, title lines, header, marks of numbers.

Parsing is left to well-kept parsers; they lack only this.
"""

from __future__ import annotations

import csv
import enum
import itertools
import math
import operator
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import csv_options, split_lines
from dfjoin.sources.number_marks import find_marks
from dfjoin.types import Dialect, GivenDialect
from dfjoin.values.nulls import NULL_TEXTS

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


class _Sample:
    """The beginning of a text, parsed at most once under each dialect."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parsed: dict[tuple[Any, ...], tuple[list[list[str]], int]] = {}

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
        options = csv_options(dialect)
        key = tuple(options.values())
        known = self._parsed.get(key)
        if known is not None:
            return known
        reader = csv.reader(split_lines(self.text), **options)
        records = filter(None, reader)
        try:
            rows = list(itertools.islice(records, _FEWEST_RECORDS))
            rows += itertools.islice(records, _n_records(rows) - len(rows))
        except csv.Error as error:
            raise TableReadError(f"it is no delimited text: {error}") from error
        self._parsed[key] = rows, reader.line_num
        return self._parsed[key]


def _n_records(rows: list[list[str]]) -> int:
    """Return how many records of a text are parsed, by the width of the first ones."""
    width = max(map(len, rows[:_FEWEST_RECORDS]), default=1)
    return max(_FEWEST_RECORDS, min(_MAX_RECORDS, _MAX_PARSED_CELLS // width))


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


# Which of the first records of a delimited text are titles, which name the columns, and which are data ------


_MAX_TITLES = 30
_N_LOOKED_AT = 10
_SHORT = 40
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")
_PLAIN_COLUMN = re.compile(rf"(?:{_PLAIN.pattern}(?:\n|\Z))*")
_BLANKS = " \u00a0\u202f\u2009"
_NUMBER = re.compile(rf"\s*[-+]?(?:\d+(?:[.,'’{_BLANKS}]\d+)*[.,]?|[.,]\d+)(?:[eE][-+]?\d+)?[{_BLANKS}]?%?\s*")
_DATE = re.compile(
    r"\s*(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})\.?|\d{1,2}[- ][A-Za-z]{3}[- ]\d{2,4})"
    r"(?:[T ]\s?\d{1,2}:\d{2}.{0,20})?\s*|\s*\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*"
)
_NULLS = frozenset(NULL_TEXTS)


class CellKind(enum.Enum):
    """What a cell is by its spelling."""

    EMPTY = 0
    TEXT = 1
    NUMBER = 2
    DATE = 3


_EMPTY, _TEXT, _NUMBER_CELL, _DATE_CELL = CellKind  # an attribute of an Enum takes longer than a name


def kind_of_cell(cell: str) -> CellKind:
    """Return what a cell is; a text that usually stands for a null counts as empty, a time of day as a date."""
    return _kind_of_short(cell) if len(cell) <= _SHORT else _kind_of(cell)


def _kind_of(cell: str) -> CellKind:
    if not cell or cell.isspace():
        return _EMPTY
    if _PLAIN.fullmatch(cell):
        return _NUMBER_CELL
    if cell[-1].isalpha() and cell[0].isalpha():
        return _EMPTY if cell.lower() in _NULLS else _TEXT
    if _DATE.fullmatch(cell):
        return _DATE_CELL
    if _NUMBER.fullmatch(cell):
        return _NUMBER_CELL
    return _EMPTY if cell.strip().lower() in _NULLS else _TEXT


_kind_of_short = lru_cache(1 << 14)(_kind_of)  # cells come again: nulls, years, codes


@dataclass(frozen=True)
class HeaderRows:
    """Where the table of a text begins.

    Parameters
    ----------
    first : int
        Number of the first record that is no title.
    n_lines : int
        Records that name the columns: 0, 1 or 2.
    implicit_index : bool
        The records below have one field more.
    doubt : str
        Why it may be otherwise; empty if nothing speaks for that.
    """

    first: int = 0
    n_lines: int = 1
    implicit_index: bool = False
    doubt: str = ""


def find_header(rows: list[list[str]], width: int, given: int | None = None) -> HeaderRows:
    """Find titles, the header, and whether records carry one field more than it.

    Parameters
    ----------
    rows : list of list of str
        The first records, without blank ones.
    width : int
        Fields of most of them.
    given : {0, 1, 2}, optional
        Lines of the header, where they are known.

    Returns
    -------
    HeaderRows

    Notes
    -----
    A first record is data if its cells are numbers and dates wherever the columns below hold such, unless its numbers
    are years or count upwards; or, in a table of texts, if two cells of it come again in their columns. A second record
    belongs to the header if it has texts alone above columns of numbers and dates, two or more, or beside empty cells.
    """
    first = _first_table_row(rows, width)
    body = rows[first:]
    if not body:
        return HeaderRows()
    n_lines, typed = _count_lines(body)
    n_lines = n_lines if given is None else given
    if n_lines == 0:
        return HeaderRows(
            first, 0, doubt="" if given is not None else "the first line is taken for data, not for names"
        )
    data = body[n_lines:]
    doubts = ["two lines are taken for the header"] if n_lines == 2 else []
    if n_lines == 1 and not typed and _n_again(body[0], data):
        doubts.append("the first line is taken for names, and may be data")
    n_wider = list(map(len, data)).count(len(body[0]) + 1)
    # Every row may end in a delimiter that the header lacks: then the extra field is always empty.
    is_wider = n_wider * 2 > len(data) and any(row[-1].strip() for row in data if len(row) == len(body[0]) + 1)
    return HeaderRows(first, n_lines, is_wider, "" if given is not None else "; ".join(doubts))


def _first_table_row(rows: list[list[str]], width: int) -> int:
    """Number of the first record that is not a title: as wide as the others, or filled."""
    if width < 2:
        n = next((i for i, row in enumerate(rows[:_MAX_TITLES]) if not row[0].lstrip().startswith("#")), 0)
        return n if n + 1 < len(rows) else 0
    first_unsure = -1
    for number, row in enumerate(rows[:_MAX_TITLES]):
        filled = [i for i, cell in enumerate(row) if cell.strip()]
        is_title = len(filled) <= 1 and (len(row) == 1 or (width >= 4 and bool(row[0].strip())))
        is_comment = row[0].lstrip().startswith("#") and (len(row) != width or _is_comment(rows, number, width))
        if is_title or is_comment:
            continue
        is_pair = len(filled) <= 2 and filled == list(range(len(filled)))  # a word and its value
        if len(row) < width - 1 or (is_pair and width >= 4):
            first_unsure = number if first_unsure < 0 else first_unsure
            continue
        if first_unsure >= 0 and not _are_names(row, rows[number + 1 :]):
            return first_unsure
        return number
    return max(first_unsure, 0)


def _is_comment(rows: list[list[str]], number: int, width: int) -> bool:
    """Tell whether a record that begins with # is a comment: names follow it, or further comments."""
    following = rows[number + 1 :]
    if not following or len(following[0]) != width or not rows[number][0].strip("# "):
        return False
    return following[0][0].lstrip().startswith("#") or (
        len(following) > 1 and _are_names(following[0], following[1:]) and _typed_columns(following[1:]) != {}
    )


def _are_names(row: list[str], data: list[list[str]]) -> bool:
    """Tell whether the cells of a record can be the names of columns: texts, no two alike, and no data."""
    texts = [cell.strip() for cell in row if cell.strip()]
    kinds = [kind_of_cell(cell) for cell in texts]
    return len(set(texts)) == len(texts) and set(kinds) == {_TEXT} and _count_lines([row, *data])[0] > 0


def _typed_columns(data: list[list[str]]) -> dict[int, CellKind]:
    """Return the columns whose cells are numbers alone, or dates alone; empty ones aside."""
    found: dict[int, CellKind] = {}
    for position, cells in enumerate(itertools.zip_longest(*data[:_N_LOOKED_AT], fillvalue="")):
        if _PLAIN.fullmatch(cells[0]) and _PLAIN_COLUMN.fullmatch("\n".join(cells)):  # nearly all columns of numbers
            found[position] = _NUMBER_CELL
            continue
        kind = _EMPTY
        for cell in cells:
            own = _kind_of_short(cell) if len(cell) <= _SHORT else _kind_of(cell)
            if own is _TEXT or (own is not _EMPTY and kind not in (own, _EMPTY)):
                kind = _TEXT
                break
            kind = kind if own is _EMPTY else own
        if kind in (_NUMBER_CELL, _DATE_CELL):
            found[position] = kind
    return found


def _count_lines(body: list[list[str]]) -> tuple[int, dict[int, CellKind]]:
    """Count the records that name the columns, 0, 1 or 2; return the columns of numbers and dates, too."""
    typed = _typed_columns(body[1:])
    if len(body) > 3 and _is_second_line(body[0], body[1], body[2:]):
        return 2, typed
    return 0 if _is_data(body[0], body[1:], typed) else 1, typed


def _is_second_line(upper: list[str], lower: list[str], data: list[list[str]]) -> bool:
    """Tell whether the second record belongs to the header: texts above columns of numbers and dates."""
    if any(kind_of_cell(cell) in (_NUMBER_CELL, _DATE_CELL) for cell in lower):
        return False
    typed = _typed_columns(data)
    labels = [lower[i].strip() for i in typed if i < len(lower) and lower[i].strip()]
    others = [lower[i].strip() for i in range(len(lower)) if i not in typed and lower[i].strip()]
    if not labels or any(kind_of_cell(label) is not _TEXT for label in labels):
        return False
    above = [upper[i].strip() if i < len(upper) else "" for i in typed]
    if any(kind in (_NUMBER_CELL, _DATE_CELL) for kind in map(kind_of_cell, above)) and not _are_labels(above):
        return False
    has_groups = "" in above or len(set(above)) < len(above)
    if not others:  # units, or names below groups
        return len(typed) > 1 or has_groups or len(lower) > 1
    has_words = not any(label[0].isdecimal() for label in labels)
    return has_words and len(labels) == len(typed) > 1 and (has_groups or len(set(labels)) > 1)


def _is_data(header: list[str], data: list[list[str]], typed: dict[int, CellKind]) -> bool:
    """Tell whether the first record is data: numbers and dates wherever the column holds them."""
    if len(set(header)) < len(header) and all(kind_of_cell(cell) is _NUMBER_CELL for cell in header):
        return True
    alike: dict[CellKind, list[str]] = {}
    for position, kind in typed.items():
        if position >= len(header):
            continue
        own = kind_of_cell(header[position])
        if own is _EMPTY and position > 0:
            continue  # a missing value, or a missing name
        if own is not kind:
            return False
        alike.setdefault(kind, []).append(header[position].strip())
    if not alike:
        return not typed and _n_again(header, data) > 1
    return set(alike) != {_NUMBER_CELL} or not _are_labels(alike[_NUMBER_CELL])


def _n_again(header: list[str], data: list[list[str]]) -> int:
    """Count the texts of a first record that come again in their columns; not in records that repeat most of it."""
    if not any(cell in column for cell, column in zip(header, itertools.zip_longest(*data), strict=False)):
        return 0
    others = [row for row in data if 2 * sum(map(operator.eq, row, header)) <= len(header)]
    columns = itertools.zip_longest(*others)
    return sum(cell in column and kind_of_cell(cell) is _TEXT for cell, column in zip(header, columns, strict=False))


def _are_labels(cells: list[str]) -> bool:
    """Tell whether numbers in a first record are labels: years, or 0, 1, 2 …"""
    named = [cell for cell in cells if cell]
    if not named or not all(cell.isdecimal() for cell in named):
        return False
    numbers = [int(cell) for cell in named]
    if all(1500 <= n <= 2200 for n in numbers) and len(set(numbers)) == len(numbers):
        return True
    steps = {b - a for a, b in zip(numbers, numbers[1:], strict=False)}
    return len(numbers) > 2 and len(steps) == 1 and steps != {0}
