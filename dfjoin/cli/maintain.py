"""The commands that change an index: ``dfjoin add | remove | compact | vacuum``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dfjoin.cli.command import add_command
from dfjoin.cli.output import print_json, print_text, show_index

if TYPE_CHECKING:
    from dfjoin.lake import Lake

__all__ = ["add_life_commands"]

_ADD_HELP = """\
Add tables to an index; of a directory that is indexed already, only new and changed files are read.

  dfjoin add lake.dfjoin data/                 what is new or changed since the last time
  dfjoin add lake.dfjoin extra/sales.csv       one more table
  dfjoin add lake.dfjoin extra/ --replace      put tables in the place of those of the same names"""

_REMOVE_HELP = """\
Remove tables from an index; their files stay where they are.

  dfjoin remove lake.dfjoin old/sales.csv
  dfjoin remove lake.dfjoin 'old/*'            every table whose name matches"""

_COMPACT_HELP = """\
Merge small segments, and rewrite segments of which much is deleted.

  dfjoin compact lake.dfjoin
  dfjoin compact lake.dfjoin --full            as far as the size of a segment allows"""

_VACUUM_HELP = """\
Remove old versions, and the files that no remaining version needs.

  dfjoin vacuum lake.dfjoin --dry-run          only tell what would go
  dfjoin vacuum lake.dfjoin --retain 30        keep a month

Pass --retain 0 only while nobody else reads an older version or writes."""


def add_life_commands(commands: Any) -> None:
    """Add the four commands to argparse's subparsers."""
    parser = add_command(commands, "add", _ADD_HELP, _add)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("source", help="directory, glob or file of tables")
    parser.add_argument("--replace", action="store_true", help="supersede tables of the same names")
    parser.add_argument("--full", action="store_true", help="read everything, changed or not")
    parser.add_argument("--engine", choices=("spark", "inline"), help="where the work is done; by size if not given")
    parser.add_argument("--on-error", choices=("skip", "raise"), default="skip", help="unreadable tables")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser = add_command(commands, "remove", _REMOVE_HELP, _remove)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("tables", nargs="+", help="names or patterns of tables")
    parser = add_command(commands, "compact", _COMPACT_HELP, _compact)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("--full", action="store_true", help="merge all that may be merged")
    parser.add_argument("--engine", choices=("spark", "inline"), default="inline", help="where the work is done")
    parser = add_command(commands, "vacuum", _VACUUM_HELP, _vacuum)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("--retain", type=float, metavar="DAYS", help="how long to keep older versions (default 7)")
    parser.add_argument("--dry-run", action="store_true", help="remove nothing")


def _open(index: str) -> Lake:
    from dfjoin.lake import open_lake

    return open_lake(index)


def _add(options: argparse.Namespace) -> int:
    lake = _open(options.index)
    chosen = {"engine": options.engine, "on_error": options.on_error, "progress": not options.quiet}
    if options.replace:
        lake.replace(options.source, **chosen)
    else:
        lake.add(options.source, full=options.full, **chosen)
    return show_index(lake, options.json)


def _remove(options: argparse.Namespace) -> int:
    return show_index(_open(options.index).remove(options.tables), options.json)


def _compact(options: argparse.Namespace) -> int:
    return show_index(_open(options.index).compact(full=options.full, engine=options.engine), options.json)


def _vacuum(options: argparse.Namespace) -> int:
    report = _open(options.index).vacuum(options.retain, dry_run=options.dry_run)
    if options.json:
        return print_json(report)
    verb = "would remove" if options.dry_run else "removed"
    return print_text(
        f"{verb} {len(report['versions'])} versions and {report['files']} files, {report['bytes'] / 1e6:,.1f} MB"
    )
