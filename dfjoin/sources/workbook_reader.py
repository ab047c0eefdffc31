"""Opening workbooks of Excel and LibreOffice: each sheet a table, or several that stand below each other."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import max_columns_error
from dfjoin.sources.header_rows import CellKind, HeaderRows, find_header, join_headers, kind_of_cell
from dfjoin.sources.table_reader import Member, TableFile, TableReader, reject_pointer, with_reasons
from dfjoin.types import Dialect
from dfjoin.values.names import clean_names

__all__ = ["members_of_workbook"]

_MAX_CELLS = 1 << 25
"""Cells of a sheet that are held, with the empty ones between them: a sheet of one cell at its far end claims all."""

_MAX_BYTES = 1 << 30
_ROWS_PER_BATCH = 1 << 16
_LOOKED_AT = 100
_CELL_PLACE = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')
_FAR_PLACE = re.compile(rb' r="(?:[A-Z][A-Z][A-Z]|[B-Z][A-Z]|[A-Z][A-Z]?\d\d\d\d\d\d)')
"""Behind the 52nd column, or below row 99,999: cells before these are few enough in any case."""


def members_of_workbook(file: TableFile) -> Iterator[Member]:
    """Find the tables of a workbook, see `dfjoin.sources.readers.tables_of`.

    Notes
    -----
    The first table of a sheet has the name of the sheet, further ones a number behind it. Sheets are held in memory.
    """
    calamine = import_optional("python_calamine", extra="excel", purpose="reading workbooks")
    reject_pointer(file.filesystem, file.path)
    with _without_panic(), file.filesystem.open_input_file(file.path) as stream:
        _check_size(stream)
        stream.seek(0)
        book = calamine.CalamineWorkbook.from_filelike(stream)
        for name in book.sheet_names:
            if file.member and file.member != name and not file.member.startswith(f"{name}/"):
                continue
            try:
                with _without_panic():
                    rows = book.get_sheet_by_name(name).to_python()
                    places = _places(rows, file)
            except TableReadError as error:
                yield Member(name, partial(_refuse, error))
                continue
            for number, (place, written) in enumerate(places, 1):
                own = name if number == 1 else f"{name}/{number}"
                yield Member(own, partial(_open_cells, file, rows, place, written))


def _refuse(error: TableReadError) -> TableReader:
    raise error


@contextmanager
def _without_panic() -> Iterator[None]:
    """Turn what the library raises on a damaged file into the reason; a panic of Rust is no `Exception`."""
    try:
        with with_reasons():
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TableReadError("the workbook is damaged") from None


def _check_size(stream: pa.NativeFile) -> None:
    """Refuse a workbook that would take all memory: the library holds every cell between the first and the last."""
    if stream.read(4) != b"PK\x03\x04":
        return
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
            raise TableReadError(f"its content is larger than {_MAX_BYTES >> 30} GiB")
        for entry in archive.infolist():
            if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                with archive.open(entry) as sheet:
                    _check_places(sheet)


def _check_places(sheet: Any) -> None:
    rest, columns, rows = b"", {b"AZ"}, {99_999}
    while block := sheet.read(1 << 20):
        if _FAR_PLACE.search(rest + block) is not None:
            found = _CELL_PLACE.findall(rest + block)
            columns.update({column for column, _ in found})
            rows.add(max((int(row) for row in {row for _, row in found}), default=0))
        rest = block[-20:]
    width = max(map(_number, columns))
    if width * max(rows) > _MAX_CELLS:
        raise TableReadError(f"a sheet has more than {_MAX_CELLS:,} cells between its first and its last")


def _number(letters: bytes) -> int:
    """Return the number of a column that letters name, A as 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


@dataclass(frozen=True)
class _Stretch:
    """Rows of a sheet without an empty one between them: the first, the one after the last, and the filled columns."""

    first: int
    end: int
    left: int
    right: int

    @property
    def width(self) -> int:
        return self.right - self.left

    def texts(self, rows: list[list[Any]]) -> list[list[str]]:
        """Return the first rows as the sniffer takes them."""
        return _texts(rows, (self.first, self.left, self.end, self.right))


def _places(rows: list[list[Any]], file: TableFile) -> list[tuple[tuple[int, int, int, int], HeaderRows]]:
    """Return where the tables of a sheet are (row, column, row after, column after), from the header on."""
    if isinstance(file.written, Dialect) and file.written.cells:
        known = file.written
        top, left, end, right = known.cells
        return [((top, left, end, right), HeaderRows(0, known.header_lines))] * _number_of(file.member)
    given = None if isinstance(file.written, Dialect) else file.written.header
    places = []
    for stretches in _tables(_stretches(rows), rows):
        first, end = stretches[0].first, stretches[-1].end
        left, right = min(s.left for s in stretches), max(s.right for s in stretches)
        header = find_header(_texts(rows, (first, left, end, right)), right - left, given)
        filled = (n for n in range(first, end) if not _is_empty(rows[n][left:right]))
        named = next(islice(filled, header.first, None), None)
        if named is not None:
            places.append(((named, left, end, right), replace(header, first=0)))
    return places


def _number_of(member: str) -> int:
    """Return how many tables come up to the wanted one, so that its place is that of the last."""
    number = member.rpartition("/")[2]
    return int(number) if "/" in member and number.isdecimal() and len(number) < 5 else 1


def _stretches(rows: list[list[Any]]) -> list[_Stretch]:
    found: list[_Stretch] = []
    first = -1
    for number in range(len(rows) + 1):
        is_empty = number == len(rows) or _is_empty(rows[number])
        if not is_empty and first < 0:
            first = number
        elif is_empty and first >= 0:
            filled = [_filled(row) for row in rows[first:number]]
            found.append(_Stretch(first, number, min(left for left, _ in filled), max(right for _, right in filled)))
            first = -1
    return found


def _is_empty(row: list[Any]) -> bool:
    for cell in row:  # noqa: SIM110 (most rows are told by their first cell, before a generator would have begun)
        if cell != "" and not (isinstance(cell, str) and not cell.strip()):
            return False
    return True


def _filled(row: list[Any]) -> tuple[int, int]:
    """Return the first filled column of a row, and the one after the last."""
    left, end = 0, len(row)
    while row[left] == "":
        left += 1
    while row[end - 1] == "":
        end -= 1
    return left, end


def _tables(stretches: list[_Stretch], rows: list[list[Any]]) -> list[list[_Stretch]]:
    """Put stretches together that are one table with gaps in it.

    A stretch of one column is titles or notes where others have more. A stretch begins a table if it has names above
    numbers or dates, or names above other columns than those of the table before; else it goes on with that.
    """
    if all(stretch.width == 1 for stretch in stretches):
        return [stretches] if stretches else []
    tables: list[list[_Stretch]] = []
    for stretch in stretches:
        if stretch.width == 1:
            continue
        if not tables or _begins(stretch, tables[-1][0], rows):
            tables.append([stretch])
        else:
            tables[-1].append(stretch)
    return tables


def _begins(stretch: _Stretch, before: _Stretch, rows: list[list[Any]]) -> bool:
    texts = stretch.texts(rows)
    if len(texts) < 2:
        return False
    header = find_header(texts, stretch.width)
    if header.n_lines == 0:
        return False
    is_other = (stretch.left, stretch.right) != (before.left, before.right)
    data = texts[header.first + header.n_lines :]
    return is_other or any(kind_of_cell(cell) in (CellKind.NUMBER, CellKind.DATE) for row in data for cell in row)


def _texts(rows: list[list[Any]], place: tuple[int, int, int, int]) -> list[list[str]]:
    """Return the first rows of some cells as the sniffer takes them: titles above a table are rows of one cell."""
    top, left, end, right = place
    texts: list[list[str]] = []
    is_above = right - left > 1
    for row in rows[top : min(end, top + _LOOKED_AT)]:
        cells = [_text(cell) for cell in row[left:right]]
        filled = [cell for cell in cells if cell.strip()]
        is_above = is_above and len(filled) <= 1
        if filled:
            texts.append(filled if is_above else cells)
    return texts


def _text(cell: Any) -> str:
    """Write a cell as a text that a person would write."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        is_day = cell.time() == datetime.time()
        return cell.date().isoformat() if is_day else cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, (datetime.date, datetime.time)) else str(cell)


def _open_cells(
    file: TableFile, rows: list[list[Any]], place: tuple[int, int, int, int], header: HeaderRows
) -> TableReader:
    """Open the cells of a table; a column of cells of one type has that type, any other is text."""
    top, left, end, right = place
    if right - left > file.wanted.limit:
        raise max_columns_error(file.wanted.limit)
    if left or right < len(rows[top]):
        rows, top, end = [row[left:right] for row in rows[top:end]], 0, end - top
    kept = [row for row in rows[top:end] if not _is_empty(row)]
    named = [[_text(cell) for cell in row] for row in kept[: max(1, header.n_lines)]]
    cells = join_headers(named) if header.n_lines else [f"column_{n}" for n in range(right - left)]
    names = clean_names(cells)
    file.wanted.check(names)
    data = kept[header.n_lines :]
    wanted = file.wanted.names(names)

    def batches() -> Iterator[pa.RecordBatch]:
        with with_reasons():
            cells_of = dict(zip(names, zip(*data, strict=True), strict=True)) if data else dict.fromkeys(names, ())
            columns = [_column(cells_of[name]) for name in wanted]
            table = pa.table(columns, names=wanted) if columns else pa.table({})
            yield from table.to_batches(_ROWS_PER_BATCH)

    dialect = Dialect(header_lines=header.n_lines, cells=place, doubt=header.doubt)
    return TableReader(names, dialect, batches, file.fingerprint)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _column(cells: Sequence[Any]) -> pa.Array:
    kinds, values = set(map(type, cells)), cells
    if str in kinds:
        kinds = {type(cell) for cell in cells if cell != ""}
        values = [None if cell == "" else cell for cell in cells]
    if kinds in ({int}, {bool}, {datetime.date}):
        return pa.array(values)
    if kinds <= {int, float} and kinds:
        floats = pa.array(values, pa.float64()) if kinds == {float} else pa.array(map(_float, values), pa.float64())
        is_whole = pc.all(pc.and_(pc.equal(pc.floor(floats), floats), pc.less(pc.abs(floats), 2.0**53))).as_py()
        return floats.cast(pa.int64()) if is_whole else floats
    if kinds <= {datetime.datetime, datetime.date} and kinds:
        day = datetime.time()
        at = [datetime.datetime.combine(v, day) if type(v) is datetime.date else v for v in values]
        return pa.array(at, pa.timestamp("us"))
    if kinds == {datetime.time}:
        return pa.array(values, pa.time64("us"))
    if kinds == {datetime.timedelta}:
        return pa.array(values, pa.duration("us"))
    if kinds != {str}:
        values = [None if value is None else _text(value) for value in values]
    return pa.array(values, pa.string())
