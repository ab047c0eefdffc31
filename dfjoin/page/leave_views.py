"""The page on which a person leaves with the table and with the code that makes it: files and scripts."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse, Response

from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.page.page_texts import refusal
from dfjoin.page.scripts import notebook, script, spark_script, spark_stops
from dfjoin.page.visit import Visit

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What spreadsheets read as a formula begins so (OWASP, CSV injection); the last ones are of full width."""

_EXCEL_ROWS, _EXCEL_COLUMNS, _EXCEL_CHARACTERS = 1_048_575, 16_384, 32_767
_AT_ONCE = 50_000


def write_frame(df: pd.DataFrame, path: Path, *, escapes: bool, is_left: Callable[[], bool]) -> None:
    """Write a frame in the format that the ending of a path names, as long as somebody waits for it.

    Parameters
    ----------
    df : DataFrame
    path : Path
    escapes : bool
        Texts that a spreadsheet takes for a formula get an apostrophe in front, in CSV and Excel.
    is_left : callable
        Tells whether the person has left; asked after some ten thousand rows.

    Raises
    ------
    InvalidParameterError
        If the format cannot hold the table, or the person has left.
    """
    ending = path.suffix.lstrip(".")
    WRITERS[ending](escaped_formulas(df) if escapes and ending != "parquet" else df, path, is_left)


def escaped_formulas(df: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe in front of texts and headers that begin like a formula."""
    df = df.copy(deep=False)
    for name, cells in df.items():
        if not pd.api.types.is_numeric_dtype(cells.dtype):
            written = pd.Series(list(map(_escaped, cells)), cells.index, object)
            if not written.equals(cells.astype(object)):
                df[name] = written
    return df.rename(columns=_escaped)


def _escaped(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _refuse_left(is_left: Callable[[], bool]) -> None:
    if is_left():
        raise InvalidParameterError(refusal("download_cancelled"))


def _write_csv(df: pd.DataFrame, path: Path, is_left: Callable[[], bool]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in range(0, max(1, len(df)), _AT_ONCE):
            _refuse_left(is_left)
            df.iloc[start : start + _AT_ONCE].to_csv(file, index=False, header=start == 0)


def _write_parquet(df: pd.DataFrame, path: Path, is_left: Callable[[], bool]) -> None:
    df.to_parquet(path, index=False)


def _write_excel(df: pd.DataFrame, path: Path, is_left: Callable[[], bool]) -> None:
    """Write one sheet; a text is written as a text, whatever it begins with."""
    if len(df) > _EXCEL_ROWS or df.shape[1] > _EXCEL_COLUMNS:
        raise InvalidParameterError(refusal("excel_holds", _EXCEL_ROWS, _EXCEL_COLUMNS, *df.shape))
    openpyxl = import_optional("openpyxl", extra="page", purpose="writing Excel")
    cells = import_optional("openpyxl.cell", extra="page", purpose="writing Excel")
    illegal = import_optional("openpyxl.cell.cell", extra="page", purpose="writing Excel").ILLEGAL_CHARACTERS_RE
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell(value: Any) -> Any:
        value = _excel_value(value)
        if not isinstance(value, str):
            return value
        made = cells.WriteOnlyCell(sheet, illegal.sub("�", value[:_EXCEL_CHARACTERS]))
        made.data_type = "s"
        return made

    sheet.append([cell(str(name)) for name in df.columns])
    try:
        for start in range(0, len(df), _AT_ONCE):
            _refuse_left(is_left)
            for row in df.iloc[start : start + _AT_ONCE].astype(object).itertuples(index=False, name=None):
                sheet.append([cell(value) for value in row])
    finally:
        sheet.close()
    book.save(path)


def _excel_value(value: Any) -> Any:
    """Return a cell as Excel has one: numbers, truth values, times without a zone, and texts for all others."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None).to_pydatetime() if value.tz is None else str(value)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    return value if isinstance(value, (bool, int, float)) else str(value)


WRITERS: dict[str, Callable[[pd.DataFrame, Path, Callable[[], bool]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsx": _write_excel,
}
"""Ending → what writes the format."""


_CODES = {"py": script, "ipynb": notebook, "spark": spark_script}


def show_leave(visit: Visit) -> Response:
    """Show the formats, and the code."""
    state = visit.state()
    return visit.render(
        "leave.html",
        state=state,
        code=script(state.recipe, visit.work.lake),
        spark_stop=spark_stops(state.recipe),
        has_file=state.recipe.source["kind"] == "file",
    )


def download(visit: Visit) -> Response:
    """Return the table, or the code, as a file."""
    state = visit.state()
    form = visit.request.path_params["format"]
    stem = re.sub(r"\W+", "_", Path(state.recipe.source["name"]).stem)[:60].strip("_") or "table"
    if form in _CODES:
        text = _CODES[form](state.recipe, visit.work.lake)
        ending = "ipynb" if form == "ipynb" else "py"
        return PlainTextResponse(text, headers=_as_file(f"{stem}_spark.py" if form == "spark" else f"{stem}.{ending}"))
    if form == "source" and state.recipe.source["kind"] == "file":
        source = state.recipe.source
        path = visit.work.files.source(source["sha256"], source["file"])
        if path is None:
            raise InvalidParameterError(refusal("file_gone", source["name"]))
        return FileResponse(path, filename=source["file"])
    if form not in WRITERS:
        raise InvalidParameterError(refusal("one_of", "format", shortlist([*WRITERS, *_CODES], 9), form))
    directory = tempfile.TemporaryDirectory()
    path = Path(directory.name) / f"table.{form}"
    try:
        write_frame(state.frame, path, escapes=bool(visit.fields.get("escape")), is_left=visit.is_left)
    except BaseException:
        directory.cleanup()
        raise
    return FileResponse(path, filename=f"{stem}.{form}", background=BackgroundTask(directory.cleanup))


def _as_file(name: str) -> dict[str, Any]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
