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
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.delimited import join_headers, max_columns_error
from dfjoin.sources.sniff import CellKind, HeaderRows, find_header, kind_of_cell
from dfjoin.sources.table_reader import Member, TableFile, TableReader, reject_pointer, with_reasons
from dfjoin.types import Dialect
from dfjoin.values.header_meaning import clean_names

_MAX_CELLS = 1 << 25
"""Cells of a sheet that are held, with the empty ones between them: a sheet of one cell at its far end claims all."""

_MAX_BYTES = 1 << 30
_MAX_ROW = 1 << 24
_ROWS_PER_BATCH = 1 << 16
_LOOKED_AT = 100
_NO_SHEETS = ("xl/sharedStrings", "xl/styles", "xl/media/")
_FIRST_BYTES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_CELL_ADDRESS = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d*)")
_ODS_SHEET = re.compile(rb"<table:table[\s>]")
_ODS_REPEAT = re.compile(rb"number-(row|column)s-repeated(?:\s*=\s*[\"'](\d{1,9})[\"'])?")
_EMPTY_ODS_CELL = re.compile(
    rb"<table:(?:covered-)?table-cell(?:\s+(?!office:)[\w:.-]+=\"[^\"<>]*\")*\s*(?:/>|></table:[a-z-]*table-cell>)\s*"
)
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_FAR_ADDRESS = r"\sr\s*=\s*[\"'](?:[A-Za-z]{3}|[B-Zb-z][A-Za-z]|[A-Za-z]{0,2}\d{6})"
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
                    sheet = book.get_sheet_by_name(name)
                    rows = sheet.to_python()
                    merged = _merged(sheet, len(rows[0]) if rows else 0)
                    ranges = _cell_ranges(rows, file, merged)
            except TableReadError as error:
                yield Member(name, partial(_refuse, error))
                continue
            for number, (area, written) in enumerate(ranges, 1):
                own = name if number == 1 else f"{name}/{number}"
                _fill_merged(rows, merged, area[0] + written.n_lines, area[2])
                yield Member(own, partial(_open_cells, file, rows, area, written))


def _merged(sheet: Any, width: int) -> list[_Cells]:
    """Return the merged cells of a sheet: top, left, bottom and right, by the rows and columns that are read.

    What begins outside of these has no value.
    """
    if sheet.start is None:
        return []
    top, left = sheet.start
    found = getattr(sheet, "merged_cell_ranges", None) or ()  # of .xlsx and .xls
    return [(a - top, b - left, c - top, d - left) for (a, b), (c, d) in found if a >= top and 0 <= b - left < width]


def _fill_merged(rows: list[list[Any]], merged: list[_Cells], first: int, end: int) -> None:
    """Write the value of merged cells of some rows into each row that has other values, as a person reads it."""
    for top, left, bottom, _ in merged:
        for row in rows[top + 1 : bottom + 1] if first <= top < end else ():
            if row[left] == "" and not _is_empty(row):
                row[left] = rows[top][left]


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
    head = stream.read(4)
    if head not in _FIRST_BYTES:
        raise TableReadError("it is no workbook, whatever its name says; a text is read as .csv")
    if head != _FIRST_BYTES[0]:
        return
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
            raise TableReadError(f"its content is larger than {_MAX_BYTES >> 30} GiB")
        for entry in archive.infolist():
            if entry.filename == "xl/workbook.bin":  # its cells cannot be counted
                raise TableReadError("it is a binary workbook, whatever its name says; save it as .xlsx")
            if entry.filename.startswith("xl/") and not entry.filename.startswith(_NO_SHEETS):
                with archive.open(entry) as sheet:
                    _check_addresses(sheet)
            elif entry.filename == "content.xml":
                with archive.open(entry) as sheets:
                    _check_repeats(sheets)


def _check_addresses(sheet: Any) -> None:
    """Refuse a sheet by the addresses of its cells; long ones of few columns are looked at once more, in all rows."""
    if not _is_small(sheet, 52, 99_999):
        sheet.seek(0)
        if not _is_small(sheet, 0, 0):
            raise TableReadError(f"a sheet has more than {_MAX_CELLS:,} cells between its first and its last")


def _is_small(sheet: Any, width: int, height: int) -> bool:
    """Tell whether the cells between the first and the last are few; addresses may be written in any way that XML has.

    Only cells outside of `width` and `height` are looked for, up to the first one.
    """
    rest, loose, is_far = b"", 0, not height
    while block := sheet.read(1 << 20):
        block = rest + block
        is_far = is_far or pc.any(pc.match_substring_regex(pa.array([block], pa.binary()), _FAR_ADDRESS)).as_py()
        if is_far:
            found = _CELL_ADDRESS.findall(block)
            width = max([width, *(_number(letters) for letters in {letters for letters, _ in found})])
            height = max([height, *(int(row or 0) for row in {row[:9] for _, row in found})])
            loose += max(0, len(_CELL.findall(block)) - sum(letters != b"" for letters, _ in found))  # without a place
            if max(width, loose) * height > _MAX_CELLS:
                return False
        rest = block[max(block.rfind(b"<"), len(block) - (1 << 16)) :]  # a tag that has no end yet
    return True


def _check_repeats(sheets: Any) -> None:
    """Refuse sheets of LibreOffice by how often their cells and rows repeat; the library holds all sheets at once.

    Empty cells and rows behind the last filled one repeat up to the end of what a sheet can have, and take nothing.
    """
    n_cells, width, height, row = 0, 0, 0, 0
    for text in _row_texts(sheets):
        head, _, cells = text.partition(b"<table:table-row")
        if _ODS_SHEET.search(head) is not None:
            n_cells, width, height, row = n_cells + width * height, 0, 0, 0
        end = len(cells)
        while (last := cells.rfind(b"<table:", 0, end)) >= 0 and _EMPTY_ODS_CELL.fullmatch(cells, last, end):
            end = last
        columns = cells.count(b"<table:table-cell", 0, end) + cells.count(b"<table:covered-table-cell", 0, end)
        repeats = _ODS_REPEAT.findall(cells, 0, end)
        if b"<!" in cells or not all(number for _, number in repeats):
            raise TableReadError("it is not clear how often its cells repeat")
        row += 1 + cells.count(b"<table:table-row") + sum(int(n) - 1 for what, n in repeats if what == b"row")
        if columns:
            columns += sum(int(n) - 1 for what, n in repeats if what == b"column")
            width, height = max(width, columns), row
        if n_cells + width * height > _MAX_CELLS:
            raise TableReadError(f"its sheets have more than {_MAX_CELLS:,} cells up to the last of each")


def _row_texts(sheets: Any) -> Iterator[bytes]:
    """Return the text of each row, with what stands before it."""
    rest = b""
    while block := sheets.read(1 << 20):
        *texts, rest = (rest + block).split(b"</table:table-row>")
        yield from texts
        if len(rest) > _MAX_ROW:
            raise TableReadError(f"a row is longer than {_MAX_ROW >> 20} MiB")
    yield rest


def _number(letters: bytes) -> int:
    """Return the number of a column that letters name, A as 1."""
    number = 0
    for letter in letters[:4].upper():
        number = 26 * number + letter - 64
    return number


_Cells: TypeAlias = tuple[int, int, int, int]


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


def _cell_ranges(rows: list[list[Any]], file: TableFile, merged: list[_Cells]) -> list[tuple[_Cells, HeaderRows]]:
    """Return where the tables of a sheet are (row, column, row after, column after), from the header on."""
    if isinstance(file.written, Dialect) and file.written.cells:
        known = file.written
        top, left, end, right = known.cells
        return [((top, left, end, right), HeaderRows(0, known.header_lines))] * _number_of(file.member)
    given = None if isinstance(file.written, Dialect) else file.written.header
    ranges = []
    for stretches in _tables(_stretches(rows), rows):
        first, end = stretches[0].first, stretches[-1].end
        left, right = min(s.left for s in stretches), max(s.right for s in stretches)
        header = find_header(_texts(rows, (first, left, end, right)), right - left, given)
        filled = (n for n in range(first, end) if not _is_empty(rows[n][left:right]))
        named = next(islice(filled, header.first, None), None)
        if named is not None:
            is_two = given is None and named + 2 < end and _has_two_lines(rows[named : named + 2], merged, named)
            n_lines = 2 if is_two and header.n_lines else header.n_lines
            ranges.append(((named, left, end, right), replace(header, first=0, n_lines=n_lines)))
    return ranges


def _has_two_lines(lines: list[list[Any]], merged: list[_Cells], named: int) -> bool:
    """Tell whether merged cells say that two lines name the columns: one cell beside two, or one above several names.

    A line of data has a value in the other columns, too, and none beside that of a cell that is as wide as its name.
    """
    of_first = [(bottom, first, last) for top, first, bottom, last in merged if top == named]
    if any(bottom == named + 1 and first == last for bottom, first, last in of_first):
        return True
    grouped = {n for bottom, first, last in of_first if bottom == named for n in range(first, last + 1)}
    both = zip(*lines, strict=True)
    return bool(grouped) and all(
        below != "" if n in grouped else "" in (above, below) for n, (above, below) in enumerate(both)
    )


def _number_of(member: str) -> int:
    """Return how many tables come up to the wanted one, so that it is the last of them."""
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
            found.append(_Stretch(first, number, *_filled(rows[first:number])))
            first = -1
    return found


def _is_empty(row: list[Any]) -> bool:
    for cell in row:  # noqa: SIM110 (most rows are known by their first cell, before a generator would have begun)
        if cell != "" and not (isinstance(cell, str) and not cell.strip()):
            return False
    return True


def _filled(rows: list[list[Any]]) -> tuple[int, int]:
    """Return the first filled column of some rows, and the one after the last."""
    left, end = 0, len(rows[0])
    while all(row[left] == "" for row in rows):
        left += 1
    while all(row[end - 1] == "" for row in rows):
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


def _texts(rows: list[list[Any]], area: _Cells) -> list[list[str]]:
    """Return the first rows of some cells as the sniffer takes them: titles above a table are rows of one cell."""
    top, left, end, right = area
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


def _open_cells(file: TableFile, rows: list[list[Any]], area: _Cells, header: HeaderRows) -> TableReader:
    """Open the cells of a table; a column of cells of one type has that type, any other is text."""
    top, left, end, right = area
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

    dialect = Dialect(header_lines=header.n_lines, cells=area, doubt=header.doubt)
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
