"""Reading a corpus of CSV dialects: dfjoin beside DuckDB, polars, clevercsv and Python's Sniffer."""

from __future__ import annotations

import csv
import datetime
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from dfjoin.sources.one_table import read_table
from dfjoin.store.table import with_types
from tests.sources.csv_corpus import Case, corpus

__all__ = ["READERS", "is_right", "measure_csv", "read_with_dfjoin"]

_Table = tuple[list[str], list[tuple[Any, ...]]]
_ENCODINGS = ("utf-8-sig", "cp932", "cp1252")


def read_with_dfjoin(path: Path) -> _Table:
    """Read as a lake's table is read."""
    return _of_frame(with_types(read_table(str(path))))


def _of_frame(frame: pd.DataFrame) -> _Table:
    rows = [
        tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.astype(object).itertuples(index=False)
    ]
    return list(frame.columns), rows


def _with_duckdb(path: Path) -> _Table:
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM read_csv_auto('{path}')")
        return [column[0] for column in found.description], found.fetchall()


def _with_polars(path: Path) -> _Table:
    import polars

    frame = polars.read_csv(path, infer_schema_length=None)
    return frame.columns, frame.rows()


def _with_sniffer(path: Path) -> _Table:
    text = path.read_text("utf-8")
    sniffer = csv.Sniffer()
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), sniffer.sniff(text[:65536], ",;\t|")) if row]
    return _cut(rows, sniffer.has_header(text[:65536]))


def _with_clevercsv(path: Path) -> _Table:
    import clevercsv

    text = path.read_text("utf-8")
    dialect = clevercsv.Sniffer().sniff(text)
    rows = [row for row in clevercsv.reader(io.StringIO(text, newline=""), dialect) if row]
    return _cut(rows, clevercsv.Sniffer().has_header(text))


def _cut(rows: list[list[str]], has_header: bool) -> _Table:
    names = rows[0] if has_header else [f"column_{i}" for i in range(len(rows[0]))]
    return names, [tuple(row) for row in rows[1 if has_header else 0 :]]


READERS: dict[str, Callable[[Path], _Table]] = {
    "dfjoin": read_with_dfjoin,
    "DuckDB": _with_duckdb,
    "polars": _with_polars,
    "clevercsv": _with_clevercsv,
    "csv.Sniffer": _with_sniffer,
}


def is_right(case: Case, found: _Table, *, numbers: bool) -> bool:
    """Tell whether names, rows and cells are those of the case; with `numbers`, numbers have to be numbers."""
    names, rows = found
    if len(names) != len(case.columns) or len(rows) != len(case.rows):
        return False
    named = [(a, b) for a, b in zip(names, case.columns, strict=True) if not b.startswith(("Unnamed", "column_"))]
    if any(a.strip() != b for a, b in named):
        return False
    return all(
        _is_cell(row[i] if i < len(row) else None, cell, numbers)
        for row, truth in zip(rows, case.rows, strict=True)
        for i, cell in enumerate(truth)
    )


def _is_cell(found: Any, cell: Any, numbers: bool) -> bool:
    if cell is None or found is None:
        return (found in (None, "")) and cell is None
    if isinstance(cell, str):
        return isinstance(found, datetime.date | datetime.time) or str(found).strip() == cell.strip()
    if not isinstance(found, str):
        return abs(float(found) - cell) < 1e-9
    if numbers:
        return False
    digits = re.sub(r"\D", "", found).lstrip("0")
    return digits in {re.sub(r"\D", "", spelled).lstrip("0") for spelled in (str(cell), f"{cell:.2f}", f"{cell:.0f}")}


def measure_csv(seeds: tuple[int, ...]) -> pd.DataFrame:
    """Read the corpus with every reader; return the share of files that each reads right.

    The others get UTF-8, as they do not tell encodings; dfjoin gets the file as it is. ``table``: names, rows and cells
    as texts; ``numbers``: numbers are numbers, too. ``headers``: files whose names or number of rows are wrong without an
    error.
    """
    found: dict[str, dict[str, float]] = {
        name: dict.fromkeys(("table", "numbers", "wrong header"), 0.0) for name in READERS
    }
    cases = list(corpus(seeds))
    with tempfile.TemporaryDirectory() as place:
        for case in cases:
            own, plain = Path(place) / f"own_{case.name}", Path(place) / case.name
            own.write_bytes(case.data)
            plain.write_bytes(_in_utf8(case.data))
            for name, read in READERS.items():
                try:
                    table = read(own if name == "dfjoin" else plain)
                except Exception:  # whatever a rival raises: it has not read the file
                    continue
                found[name]["table"] += is_right(case, table, numbers=False)
                found[name]["numbers"] += is_right(case, table, numbers=True)
                found[name]["wrong header"] += [n.strip() for n in table[0]] != list(
                    case.columns
                ) and "column_0" not in case.columns
    frame = pd.DataFrame(found).T
    frame[["table", "numbers"]] /= len(cases)
    return frame.assign(files=len(cases))


def _in_utf8(data: bytes) -> bytes:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16").encode()
    from dfjoin.sources.encodings import name_encoding

    return data.decode(
        name_encoding(data, is_whole=True).replace("utf-8", "utf-8-sig", 1).replace("-sig-sig", "-sig")
    ).encode()
