"""Which cells of a workbook of Excel show a percentage: the number format says so, which the reader does not tell."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any
from xml.etree import ElementTree

__all__ = ["column_number", "sheets_with_percentages", "show_percentages"]

_MOST_BYTES = 16 << 20
"""Of the styles and of the list of sheets; more is none of a workbook that people made."""

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BUILT_IN = {"9": 0, "10": 2}
"""Formats that Excel has without a definition: ``0%`` and ``0.00%``, with their decimals."""

_PERCENT = re.compile(r'(?:[^"\\[;]|"[^"]*"|\\.|\[[^\]]*\])*?0(?:\.(0+))?%')
_STYLED_CELL = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})" s="(\d{1,6})"')


def sheets_with_percentages(archive: zipfile.ZipFile) -> dict[str, tuple[str, dict[bytes, int]]]:
    """Return the sheets of a workbook where cells may show percentages.

    Parameters
    ----------
    archive : zipfile.ZipFile

    Returns
    -------
    dict of str to (str, dict of bytes to int)
        Name of the sheet → its file, and the numbers of styles that show a percentage with their decimals; empty where
        the workbook has no such style.
    """
    try:
        styles = _percent_styles(archive)
        if not styles:
            return {}
        book, links = _tree(archive, "xl/workbook.xml"), _tree(archive, "xl/_rels/workbook.xml.rels")
    except (KeyError, ElementTree.ParseError):
        return {}
    files = {link.get("Id"): link.get("Target", "").removeprefix("/xl/") for link in links}
    sheets = {sheet.get("name", ""): files.get(sheet.get(_RELATION)) for sheet in book.iter(f"{_MAIN}sheet")}
    return {name: (f"xl/{file}", styles) for name, file in sheets.items() if file}


def _tree(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > _MOST_BYTES:
        raise KeyError(name)
    return ElementTree.fromstring(archive.read(name))


def _percent_styles(archive: zipfile.ZipFile) -> dict[bytes, int]:
    """Return the styles of cells whose format is a percentage, by number, with its decimals."""
    root = _tree(archive, "xl/styles.xml")
    formats = dict(_BUILT_IN)
    for own in root.iter(f"{_MAIN}numFmt"):
        found = _PERCENT.match(own.get("formatCode", ""))
        if found:
            formats[own.get("numFmtId", "")] = len(found[1] or "")
    cells = root.find(f"{_MAIN}cellXfs")
    numbers = enumerate(cells if cells is not None else ())
    return {str(n).encode(): formats[id_] for n, cell in numbers if (id_ := cell.get("numFmtId", "")) in formats}


def show_percentages(
    archive: zipfile.ZipFile, sheet: tuple[str, dict[bytes, int]], rows: list[list[Any]], start: tuple[int, int]
) -> None:
    """Write the numbers of cells that show percentages as these: ``0.125`` with one decimal is ``12.5%``.

    Parameters
    ----------
    archive : zipfile.ZipFile
    sheet : tuple
        As `sheets_with_percentages` returns it.
    rows : list of list
        The cells, which are changed.
    start : tuple of (int, int)
        Row and column of the first cell, from 0 on.
    """
    file, styles = sheet
    for row, column, style in _styled_cells(archive, file):
        if style in styles:
            y, x = row - start[0], column - start[1]
            if 0 <= y < len(rows) and 0 <= x < len(rows[y]) and type(rows[y][x]) in (int, float):
                rows[y][x] = _percentage(rows[y][x], styles[style])


def _percentage(value: float, decimals: int) -> str:
    """Write a number as a percentage, rounded as a spreadsheet does: halves away from zero."""
    with localcontext(prec=400):
        hundredfold = Decimal(repr(value)) * 100
        return f"{hundredfold.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}%"


def _styled_cells(archive: zipfile.ZipFile, file: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield row, column and style of the cells of a sheet that have a style."""
    rest = b""
    with archive.open(file) as stream:
        while block := stream.read(1 << 20):
            data, end = rest + block, 0
            for found in _STYLED_CELL.finditer(data):
                end = found.end()
                yield int(found[2]) - 1, column_number(found[1]) - 1, found[3]
            rest = data[max(end, len(data) - 40) :]


def column_number(letters: bytes) -> int:
    """Return the number of a column that letters name, A as 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
