"""The commands that show what an index holds: ``dfjoin info | search | show``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dfjoin.cli.command import add_command, add_format
from dfjoin.cli.output import print_json, print_lines, print_table, print_text, summary

if TYPE_CHECKING:
    from dfjoin.lake import Lake

_INFO_HELP = """\
Show what an index holds: versions, tables, columns, what was skipped and why.

  dfjoin info lake.dfjoin
  dfjoin info lake.dfjoin --skipped
  dfjoin info lake.dfjoin --verify        read everything and compare checksums"""

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
    parser = add_command(commands, "info", _INFO_HELP, _info)
    parser.add_argument("--tables", action="store_true", help="list the tables")
    parser.add_argument("--columns", action="store_true", help="list the columns with their profiles")
    parser.add_argument("--skipped", action="store_true", help="list what was skipped and why")
    parser.add_argument("--doubtful", action="store_true", help="list files that may have to be read in another way")
    parser.add_argument("--verify", action="store_true", help="read everything and compare checksums")
    parser.add_argument("--versions", action="store_true", help="list the versions that still exist")
    parser.add_argument("--check", action="store_true", help="list the tables that changed since they were indexed")
    add_format(parser)
    parser = add_command(commands, "search", _SEARCH_HELP, _search)
    parser.add_argument("words", nargs="+", help="words to look for")
    parser.add_argument("-k", type=int, default=10, help="most tables (default 10)")
    add_format(parser)
    parser = add_command(commands, "show", _SHOW_HELP, _show)
    parser.add_argument("name", metavar="table", help="name of the table, as search and discover print it")
    add_format(parser)


def _info(options: argparse.Namespace) -> int:
    from dfjoin.lake import open_lake

    lake = open_lake(options.index)
    problems = lake.verify() if options.verify else []
    if problems and options.format == "json":
        print_json({"index": options.index, "version": lake.version, "problems": problems})
    elif problems:
        print_lines(problems)
    if problems:
        return 1
    return _info_as_json(lake, options) if options.format == "json" else _info_as_text(lake, options)


def _info_as_json(lake: Lake, options: argparse.Namespace) -> int:
    info = lake.info()
    info["tables"] = lake.tables.to_dict(orient="records") if options.tables else None
    info["columns"] = lake.columns.to_dict(orient="records") if options.columns else None
    info["problems"] = [] if options.verify else None
    info["versions"] = lake.versions().to_dict(orient="records") if options.versions else None
    info["changed"] = lake.check().to_dict(orient="records") if options.check else None
    return print_json({key: value for key, value in info.items() if value is not None})


def _info_as_text(lake: Lake, options: argparse.Namespace) -> int:
    info = lake.info()
    if options.format == "table":
        print_text(summary(info))
    if options.tables:
        print_table(lake.tables.drop(columns="root"), options.format)
    if options.columns:
        shown = ["table", "column", "kind", "is_indexed", "n_rows", "n_null", "cardinality"]
        print_table(lake.columns[shown], options.format)
    if options.skipped:
        print_lines(f"{record['name']}: {record['reason']}" for record in info["skipped"])
    if options.doubtful:
        print_lines(f"{record['name']}: {record['reason']}" for record in info["doubtful"])
    if options.verify:
        print_text("every file is as it was written")
    if options.versions:
        print_table(lake.versions(), options.format)
    if options.check:
        changed = lake.check()
        if len(changed):
            print_table(changed, options.format)
        else:
            print_text("every table is the one that was indexed")
    return 0


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
