"""The command ``dfjoin build``."""

from __future__ import annotations

import argparse
from typing import Any

from dfjoin.cli.command import add_command, add_reading_options, arguments_of
from dfjoin.cli.output import show_index

_BUILD_HELP = """\
Build an index of every table below a directory (CSV, workbooks, Parquet, JSON and others).

  dfjoin build data/ lake.dfjoin                     with Spark, local by default
  dfjoin build data/ lake.dfjoin --engine inline     in this process, no Java needed
  dfjoin build data/ lake.dfjoin --workers 8         in eight processes of this machine
  dfjoin build data/ lake.dfjoin --exclude '*/ssn'   leave columns out of the index

The index holds a copy of every distinct value of the columns it indexes."""

_DIALECT_OPTIONS = {
    "delimiter": "delimiter of CSV files (tab for a tabulator)",
    "decimal": "decimal mark of CSV files, . or ,",
    "header": "lines of CSV files that name the columns: 0, 1 or 2",
    "encoding": "encoding of CSV files",
}
_SETTINGS = ("samples", "permutations", "keep_sets", "row_signatures", "patterns")
_ESCAPES = {"tab": "\t", "\\t": "\t"}


def add_build_command(commands: Any) -> None:
    """Add ``dfjoin build`` to the commands."""
    parser = add_command(commands, "build", _BUILD_HELP, _build, has_index=False)
    parser.add_argument("source", help="directory, glob or file of tables")
    parser.add_argument("index", help="directory of the index, by custom NAME.dfjoin")
    parser.add_argument("--if-exists", choices=("error", "replace", "add"), default="error")
    add_reading_options(parser)
    parser.add_argument("--tables", action="append", help="pattern of the tables to read; may be repeated")
    parser.add_argument("--columns", action="append", help="pattern of table/column to index; may be repeated")
    parser.add_argument("--exclude", action="append", help="pattern of table/column to leave out")
    parser.add_argument(
        "--null", action="append", dest="null_spellings", metavar="TEXT", help="a spelling of null, such as NA"
    )
    for name, what in _DIALECT_OPTIONS.items():
        parser.add_argument(f"--{name}", action="append", metavar="[PATTERN=]VALUE", help=f"{what}; may be repeated")
    parser.add_argument("--samples", type=int, help="sample values kept per column (default 5)")
    parser.add_argument(
        "--permutations", type=int, help="values of a column's MinHash signature (default 256, 0: none)"
    )
    parser.add_argument(
        "--drop-sets",
        action="store_false",
        default=None,
        dest="keep_sets",
        help="keep the signatures of large columns alone, for lsh",
    )
    parser.add_argument(
        "--row-signatures",
        action="store_true",
        default=None,
        help="keep rows, for keys of several columns that are found at once",
    )
    parser.add_argument(
        "--patterns", action="store_true", default=None, help="index pieces of values, for discover --mode transform"
    )
    parser.add_argument("--embedder", help="ngrams, fasttext or the file of a model: vectors for --mode embedding")


def _by_pattern(values: list[str] | None) -> dict[str, Any] | None:
    """Return what the shell says of files as a dict of pattern → value; what looks like a number is one.

    A value for all files comes last: of several patterns that match a table the first counts.
    """
    if values is None:
        return None
    split = [value.rpartition("=") for value in values]
    found = {
        pattern or "*": int(value) if value.isdecimal() else _ESCAPES.get(value, value) for pattern, _, value in split
    }
    return dict(sorted(found.items(), key=lambda item: item[0] == "*"))


def _build(options: argparse.Namespace) -> int:
    from dfjoin.api import build_lake

    given = arguments_of(build_lake, options)
    given |= {name: _by_pattern(given[name]) for name in _DIALECT_OPTIONS}
    settings = {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}
    if options.null_spellings is not None:
        settings["null_spellings"] = ["", *options.null_spellings]
    lake = build_lake(**given, settings=settings or None)
    return show_index(lake, options.json)
