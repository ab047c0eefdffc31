"""How numbers are written in a delimited text: which mark stands before decimals, which between thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.types import Dialect
from dfjoin.values.nulls import NULL_TEXTS

_BLANKS = " \u00a0\u202f\u2009"
_CLASSES = {"": "", ".": r"\.", ",": ",", " ": f"[{_BLANKS}]", "'": "['’]"}
_MARKS = ((".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", " "), (",", "'"))
_NULLS = frozenset(NULL_TEXTS)
_MARKED = re.compile(rf"[.,'’{_BLANKS}](?<=\d.)(?:(?<!\.)\d|(?<=\.)\d{{3}}\.\d)")
"""A mark between digits, but not a single point. It begins with the mark, as that is rarer than a digit."""

_MARKS_BUT_POINT = f",'’{_BLANKS}"
_TWO_POINTS = re.compile(r"\.\d{3}\.")
_POINTED = re.compile(r"\d\.\d")
_DIGITS_AND_MARKS = re.compile(rf"[\s{_BLANKS}\d.,'’eE%+-]+")
_THREE_DECIMALS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_FIRST = 10
_FEWEST = 0.9
"""Share of the cells of a column that are numbers, at least, where it is a column of numbers: others may be remarks."""


@dataclass(frozen=True)
class NumberMarks:
    """Marks of the numbers of a text, and the columns that have such numbers.

    Parameters
    ----------
    decimal, thousands : str
        `thousands` is empty where nothing stands between thousands; a blank stands for every kind of blank.
    columns : tuple of int
        Positions of the columns whose cells are to be read so; empty for plain numbers.
    doubt : str
        What else the numbers may be; empty if nothing.
    """

    decimal: str = "."
    thousands: str = ""
    columns: tuple[int, ...] = ()
    doubt: str = ""


@cache
def _pattern(decimal: str, thousands: str) -> str:
    """Return a regular expression, of Python and of RE2, for numbers with these marks."""
    digits = r"\d+"
    if thousands:
        mark = _CLASSES[thousands]
        groups = (
            rf"(?:{mark}\d{{2,3}})*{mark}\d{{3}}" if thousands == "," else rf"(?:{mark}\d{{3}})+"
        )  # India: 1,23,456
        digits = rf"(?:[1-9]\d{{0,2}}{groups}|\d+)"
    point = _CLASSES[decimal]
    return rf"[\s{_BLANKS}]*[-+]?(?:{digits}(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?[{_BLANKS}]?%?[\s{_BLANKS}]*"


@cache
def _compiled(decimal: str, thousands: str) -> re.Pattern[str]:
    return re.compile(_pattern(decimal, thousands))


def find_marks(columns: Sequence[Sequence[str]], delimiter: str, decimal: str | None = None) -> NumberMarks:
    """Find the marks of the numbers of a text from some rows of all of its columns.

    Parameters
    ----------
    columns : sequence of sequence of str
        Cells of each column, without the header.
    delimiter : str
        Of the text.
    decimal : {".", ","}, optional
        The decimal mark where it is known.

    Returns
    -------
    NumberMarks

    Notes
    -----
    The marks are those under which the most columns hold numbers, and the most cells; plain numbers if these are as
    many. So ``1.234`` is an integer only where other cells of the text show a decimal comma, or two groups. ``1,234``
    has a mark of thousands in a text delimited by commas, and where shorter numbers of its column have none. Several
    groups of three digits that are all of one length are codes.
    """
    joined = {position: "\n".join(cells) for position, cells in enumerate(columns) if _may_be_numbers(cells)}
    whole = "\n".join(joined.values())
    may_be_odd = any(mark in whole for mark in _MARKS_BUT_POINT) or _TWO_POINTS.search(whole)  # a fast first look
    is_odd = delimiter == ";" or (may_be_odd and _MARKED.search(whole) is not None)
    marked = {
        position: [cell for cell in columns[position] if cell.strip() and cell.strip().lower() not in _NULLS]
        for position, text in joined.items()
        if is_odd and (_MARKED.search(text) or _POINTED.search(text))
    }
    order = sorted(_MARKS, key=lambda marks: marks != (",", "")) if delimiter == ";" else _MARKS
    legal = [marks for marks in order if decimal is None or marks[0] == decimal]
    if not marked:
        return NumberMarks() if decimal in (None, ".") else NumberMarks(",", "", tuple(range(len(columns))))
    fitting = _fitting(marked, legal)
    chosen = max(fitting, key=lambda marks: (len(fitting[marks]), sum(fitting[marks].values())))
    if not fitting[chosen]:
        chosen = (decimal or ".", "")
    elif chosen == (",", "") and fitting.get((".", ",")) == fitting[chosen]:
        chosen = (".", ",") if _are_grouped(marked, fitting[chosen], delimiter) else chosen
    if chosen[0] == "," == delimiter and decimal is None:
        grouped = _compiled(".", ",")
        if any("," in cell and grouped.fullmatch(cell) for p in fitting[chosen] for cell in marked[p]):
            return NumberMarks()  # commas before decimals and between thousands
    if chosen == (".", ""):
        return NumberMarks(doubt=_doubt([marked[p] for p in fitting[chosen]]) if delimiter == ";" else "")
    unmarked = {p for p, cells in enumerate(columns) if p not in marked and _are_plain(cells)}
    doubt = "decimal commas beside delimiting commas" if chosen[0] == "," == delimiter and decimal is None else ""
    return NumberMarks(*chosen, tuple(sorted(unmarked.union(fitting[chosen]))), doubt)


def _may_be_numbers(cells: Sequence[str]) -> bool:
    """Tell whether two cells at most of the first ones are seen before a column turns out to be no numbers."""
    n_others = 0
    for cell in cells[:_FIRST]:
        if _DIGITS_AND_MARKS.fullmatch(cell):
            return True
        n_others += bool(cell.strip()) and cell.strip().lower() not in _NULLS
        if n_others == 2:
            return False
    return True


def _fitting(marked: dict[int, list[str]], legal: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[int, int]]:
    """Count the numbers of the columns that hold such, under each pair of marks; plain ones are enough if all are."""
    numeric = {p: cells for p, cells in marked.items() if _count_matches(_DIGITS_AND_MARKS, cells[:_FIRST])}
    found: dict[tuple[str, str], dict[int, int]] = {}
    for marks in legal:
        found[marks] = {p: n for p, cells in numeric.items() if (n := _count_numbers(cells, *marks))}
        if marks == legal[0] == (".", "") and sum(found[marks].values()) == sum(map(len, numeric.values())):
            break
    return found


def _count_matches(pattern: re.Pattern[str], cells: list[str]) -> int:
    """Count the cells that match; 0 unless nearly all do."""
    n = sum(pattern.fullmatch(cell) is not None for cell in cells)
    return n if n >= _FEWEST * len(cells) else 0


def _count_numbers(cells: list[str], decimal: str, thousands: str) -> int:
    """Count the numbers with these marks in a column; 0 unless nearly all cells are such, and no codes."""
    whole = _compiled(decimal, thousands)
    numbers = [cell.strip() for cell in cells[:_FIRST] if whole.fullmatch(cell)]
    if len(numbers) < _FEWEST * len(cells[:_FIRST]) or not numbers:
        return 0
    numbers += [cell.strip() for cell in cells[_FIRST:] if whole.fullmatch(cell)]
    if len(numbers) < _FEWEST * len(cells):
        return 0
    if not thousands:
        return len(numbers)
    if len(numbers) < len(cells) and any(_is_list(cell, whole, thousands) for cell in cells):
        return 0
    plain = _compiled(decimal, "")
    grouped = [number for number in numbers if not plain.fullmatch(number)]
    if not grouped:
        return len(numbers)
    ungrouped = (number.lstrip("-+") for number in numbers if plain.fullmatch(number))
    if any(len(number.partition(decimal)[0]) > 4 for number in ungrouped):
        return 0  # a long number without the mark: it is none of thousands
    # Groups that are all of one length are codes, as of firms and banks; not two of them beside a point or comma.
    is_long = max(map(len, grouped)) > 8 or thousands not in ".,"
    are_codes = is_long and thousands != "," and len({*map(len, numbers)}) == 1 and decimal not in grouped[0]
    return 0 if are_codes else len(numbers)


def _is_list(cell: str, whole: re.Pattern[str], thousands: str) -> bool:
    """Tell whether a cell has the mark of thousands between digits where no thousands end: a list, as of codes."""
    return thousands in cell and cell.replace(thousands, "").strip().isdecimal() and not whole.fullmatch(cell)


def _are_grouped(marked: dict[int, list[str]], columns: Iterable[int], delimiter: str) -> bool:
    """Tell whether commas stand between thousands, where they may stand before three decimals."""
    if delimiter == ",":
        return True
    plain = _compiled(".", "")
    return any(sum(bool(plain.fullmatch(cell)) for cell in marked[p]) * 20 > len(marked[p]) for p in columns)


def _are_plain(cells: Sequence[str]) -> bool:
    """Tell whether a column has nothing but integers, if anything: cells below may be marked."""
    return all(cell.strip().lstrip("-+").isdecimal() for cell in cells if cell.strip())


def _doubt(columns: list[list[str]]) -> str:
    """Say that numbers with three decimals may be thousands."""
    for cells in columns:
        pointed = [cell for cell in cells if "." in cell]
        if len(pointed) > 1 and all(_THREE_DECIMALS.fullmatch(cell.strip()) for cell in pointed):
            return f"{pointed[0].strip()} may have a decimal point or a mark of thousands"
    return ""


def plain_numbers(
    batches: Iterator[pa.RecordBatch], dialect: Dialect, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Write the numbers of batches with a decimal point and nothing between thousands.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        Text columns, some of `names`.
    dialect : Dialect
        Tells the marks, and the columns that have such numbers, one at least. Of these, cells that are no numbers stay.
    names : sequence of str
        All columns of the file.
    """
    marked = {names[position] for position in dialect.number_columns if position < len(names)}
    for batch in batches:
        arrays = [
            _plain(array, dialect.decimal, dialect.thousands) if name in marked else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _plain(array: pa.Array, decimal: str, thousands: str) -> pa.Array:
    """Rewrite the cells of a column that are numbers with these marks."""
    is_number = pc.match_substring_regex(array, rf"\A(?:{_pattern(decimal, thousands)})\z")
    plain = pc.replace_substring_regex(array, _CLASSES[thousands], "") if thousands else array
    plain = pc.replace_substring(plain, ",", ".") if decimal == "," else plain
    return pc.if_else(is_number, plain, array)
