"""What the commands read and write: the user's table, results as text or JSON, an index in a few lines."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pandas as pd

from dfjoin._validation import is_uri
from dfjoin._visible import visible, visible_lines
from dfjoin.errors import InvalidParameterError

if TYPE_CHECKING:
    from dfjoin.lake import Lake


_OUTPUTS = (".csv", ".tsv", ".parquet", ".jsonl")
"""Formats of a result, by the ending of its path."""

_COMPRESSED = (".gz", ".bz2", ".xz")
"""Further endings of texts; pandas compresses these without another library."""


def show_index(lake: Lake, as_json: bool) -> int:
    """Print what an index holds now; return the exit status 0."""
    info = lake.info()
    if as_json:
        return print_json({key: info[key] for key in ("index", "version", "counts", "bytes", "skipped_reasons")})
    return print_text(summary(info))


def summary(info: dict[str, Any]) -> str:
    """Say in a few lines what an index holds."""
    counts = info["counts"]
    lines = [
        f"{info['index']}, version {info['version']}: {counts['tables']:,} tables, {counts['columns']:,} columns "
        f"({counts['indexed_columns']:,} indexed), {counts['tokens']:,} distinct values, "
        f"{info['bytes'] / 1e6:,.1f} MB in {len(info['segments'])} segment(s)"
    ]
    if info["skipped"]:
        lines.append(f"skipped {len(info['skipped'])} files:")
        lines += [f"  {n:,} × {reason}" for reason, n in sorted(info["skipped_reasons"].items())[:10]]
    if info.get("n_doubtful"):
        lines.append(f"{info['n_doubtful']} files may have to be read in another way, see `dfjoin info --doubtful`")
    return "\n".join(lines)


def is_index(path: str) -> bool:
    """Tell whether a path is that of an index; a URI is, since tables are read from paths."""
    from dfjoin.index.components import MANIFESTS

    return is_uri(path) or (Path(path) / MANIFESTS).is_dir()


def read_frame(path: str, argument: str = "table") -> pd.DataFrame:
    """Read the user's table: text columns as text, so that codes keep their zeros."""
    from dfjoin.sources.one_table import read_table

    if path != "-" and not Path(path).exists():
        what = "an index or an existing file" if argument == "other" else "an existing file"
        raise InvalidParameterError(f"`{argument}` must be {what}, got {path!r}; check the spelling")
    try:
        return read_table(sys.stdin.buffer if path == "-" else path)
    except InvalidParameterError as error:
        if not Path(path).is_dir():
            raise
        if is_index(path):
            raise InvalidParameterError(
                f"`{argument}` must be a file with a table, got the index {path!r}; exchange the two arguments"
            ) from error
        table = "an index or a file with a table" if argument == "other" else "a file with a table"
        raise InvalidParameterError(
            f"`{argument}` must be {table}, got the directory {path!r}, which is not one table; give a file in it"
            + (f", or build an index of it first: dfjoin build {path} NAME.dfjoin" if argument == "other" else "")
        ) from error


def read_typed(path: str) -> pd.DataFrame:
    """Read the other table of a join: numbers, dates and booleans as such, as those of a lake's tables are."""
    from dfjoin.store.table import with_types

    return with_types(read_frame(path, "other"))


def check_output(path: str | None) -> None:
    """Raise unless a table can be written to a path, before anything is computed for it."""
    if path is None:
        return
    if not _format_of(path):
        raise InvalidParameterError(
            f"`--output` must end in {', '.join(_OUTPUTS[:-1])} or {_OUTPUTS[-1]}, "
            f"texts also in {', '.join(_COMPRESSED)} behind it, got {path!r}"
        )
    if not Path(path).parent.is_dir():
        raise InvalidParameterError(
            f"`--output` must lie in an existing directory, got {path!r}; make {str(Path(path).parent)!r} first"
        )


def _format_of(path: str) -> str:
    """Return the ending that says in what format a table is written to a path, empty for none."""
    name = path.lower()
    plain = next((name.removesuffix(ending) for ending in _COMPRESSED if name.endswith(ending)), name)
    form = next((ending for ending in _OUTPUTS if plain.endswith(ending)), "")
    return "" if form == ".parquet" and plain != name else form


def write_frame(df: pd.DataFrame, path: str | None) -> None:
    """Write a table in the format of the path's ending; as CSV to standard output without a path."""
    check_output(path)
    if path is None:
        return _print_csv(df)
    form, target = _format_of(path), Path(path).resolve()
    is_special = target.exists() and not target.is_file()  # a pipe is written to as it is
    written = target if is_special else target.with_name(f".{os.getpid()}.{target.name}")
    try:
        if form == ".parquet":
            df.to_parquet(written, index=False)
        elif form == ".jsonl":
            df.to_json(written, orient="records", lines=True, force_ascii=False)
        else:
            df.to_csv(written, index=False, sep="\t" if form == ".tsv" else ",")
        if target.exists():
            shutil.copymode(target, written)  # who may read the earlier file, and nobody else
        written.replace(target)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise InvalidParameterError(
            f"`--output` must be a file that can be written, and {path!r} cannot ({why})"
        ) from error
    finally:
        if not is_special:
            written.unlink(missing_ok=True)
    return None


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> int:
    """Print lines, on standard output by default; return the exit status 0."""
    print(visible_lines(lines), file=file)
    return 0


def print_text(text: str, file: TextIO | None = None) -> int:
    """Print a text of one or more lines; return the exit status 0."""
    return print_lines(text.split("\n"), file)


def _print_csv(frame: pd.DataFrame) -> None:
    """Print a frame as CSV: as it is for a file or a program, visible on a terminal."""
    if sys.stdout.isatty():
        print_text(frame.to_csv(index=False).removesuffix("\n"))
    else:
        frame.to_csv(sys.stdout, index=False)


def print_table(frame: pd.DataFrame, form: str) -> int:
    """Print a frame as an aligned table or as CSV, no name shortened; return the exit status 0."""
    if form == "csv":
        _print_csv(frame)
        return 0
    texts = frame.astype(object).where(frame.notna(), "").map(lambda value: visible(" ".join(str(value).split())))
    is_number = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    widths = [max([len(name), *map(len, texts[name])]) for name in frame]
    for row in [list(frame), *texts.values.tolist()]:
        cells = zip(row, widths, is_number, strict=True)
        print("  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in cells).rstrip())
    return 0


def print_json(value: Any) -> int:
    """Print a value as JSON on one line; return the exit status 0."""
    print(to_json(value))
    return 0


def to_json(value: Any) -> str:
    """Write a value as JSON on one line: what JSON has no word for (NaN, infinity, missing values) is null."""
    return visible(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Turn a value into what JSON has: numpy's and pandas' scalars and arrays as well."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
