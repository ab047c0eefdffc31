"""What the commands read and write: the user's table, results as text or JSON, an index in a few lines."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfjoin.errors import InvalidParameterError

if TYPE_CHECKING:
    from dfjoin.lake import Lake

__all__ = ["print_json", "print_text", "read_frame", "show_index", "summary", "write_frame"]


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
    return "\n".join(lines)


def read_frame(path: str) -> pd.DataFrame:
    """Read the user's table: text columns as text, so that codes keep their zeros."""
    from dfjoin.sources.one_table import read_table

    return read_table(sys.stdin.buffer if path == "-" else path)


def write_frame(df: pd.DataFrame, path: str | None) -> None:
    """Write a table in the format of the path's ending; as CSV to standard output without a path."""
    if path is None or path.endswith(".csv"):
        df.to_csv(path or sys.stdout, index=False)
    elif path.endswith(".tsv"):
        df.to_csv(path, index=False, sep="\t")
    elif path.endswith(".parquet"):
        df.to_parquet(path, index=False)
    elif path.endswith(".jsonl"):
        df.to_json(path, orient="records", lines=True, force_ascii=False)
    else:
        raise InvalidParameterError(f"`--output` must end in .csv, .tsv, .parquet or .jsonl, got {path!r}")


def print_text(text: str) -> int:
    """Print a text; return the exit status 0."""
    print(text)
    return 0


def print_json(value: Any) -> int:
    """Print a value as JSON on one line; return the exit status 0."""
    print(json.dumps(value, ensure_ascii=False, default=_plain))
    return 0


def _plain(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
