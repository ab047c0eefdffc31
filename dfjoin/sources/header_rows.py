"""Which of the first records of a delimited text are titles, which name the columns, and which are data."""

from __future__ import annotations

import enum
import itertools
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dfjoin.values.nulls import NULL_TEXTS

__all__ = ["CellKind", "HeaderRows", "find_header", "join_headers", "kind_of_cell"]

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


def join_headers(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns that one or two records tell.

    Of two, a name is both of its cells. A cell of the upper record holds for the empty ones to its right that have a
    cell below, as spreadsheets write groups of columns.

    Examples
    --------
    >>> join_headers([["region", "2019", "", "2020"], ["", "in", "out", "in"]])
    ['region', '2019 in', '2019 out', '2020 in']
    """
    if len(lines) == 1:
        return list(lines[0])
    upper, lower = lines
    names = []
    group = ""
    for position in range(max(len(upper), len(lower))):
        above = upper[position].strip() if position < len(upper) else ""
        below = lower[position].strip() if position < len(lower) else ""
        group = above or (group if below else "")
        names.append(f"{group} {below}".strip())
    return names
