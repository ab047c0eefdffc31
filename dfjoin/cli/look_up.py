"""The commands that look something up by name: ``dfjoin search | show``."""

from __future__ import annotations

import argparse
from typing import Any

from dfjoin.cli.command import add_command, add_format
from dfjoin.cli.output import print_json, print_lines, print_table, print_text

_SEARCH_HELP = """\
Find tables by words in their names, in the names of their columns and in samples of their values.

  dfjoin search lake.dfjoin population by county
  dfjoin search lake.dfjoin airports -k 30 --format csv"""

_SHOW_HELP = """\
Show a table of an index: its columns, what they hold, and samples of their values.

  dfjoin show lake.dfjoin geo/countries.csv"""

_SHOWN = ("column", "kind", "n_null", "cardinality", "min", "max", "samples")


def add_look_up_commands(commands: Any) -> None:
    """Add the commands to a parser."""
    parser = add_command(commands, "search", _SEARCH_HELP, _search)
    parser.add_argument("words", nargs="+", help="words to look for")
    parser.add_argument("-k", type=int, default=10, help="most tables (default 10)")
    add_format(parser)
    parser = add_command(commands, "show", _SHOW_HELP, _show)
    parser.add_argument("name", metavar="table", help="name of the table, as search and discover print it")
    add_format(parser)


def _search(options: argparse.Namespace) -> int:
    from dfjoin.lake import open_lake

    found = open_lake(options.index).search(" ".join(options.words), k=options.k)
    if options.format == "json":
        return print_json({"tables": found.to_dict(orient="records")})
    if not len(found):
        return print_text("no table holds one of these words")
    shown = found.assign(columns=[", ".join(names) for names in found["columns"]], score=found["score"].round(2))
    return print_table(shown, options.format)


def _show(options: argparse.Namespace) -> int:
    from dfjoin.lake import open_lake

    record = open_lake(options.index).describe(options.name)
    columns = record.pop("columns")
    if options.format == "json":
        return print_json({**record, "columns": columns.to_dict(orient="records")})
    shown = columns[list(_SHOWN)].assign(samples=[", ".join(samples) for samples in columns["samples"]])
    if options.format == "table":
        print_lines(
            [
                f"{record['table']}: {record['n_rows']:,} rows, {record['n_columns']:,} columns, "
                f"{record['size']:,} bytes, "
                f"{record['format']}{' ' * bool(record['dialect'])}{record['dialect']}, in {record['root']}"
            ]
        )
    return print_table(shown, options.format)
