"""The commands that change an index: ``dfjoin add | replace | remove | restore | compact | vacuum | verify …``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dfjoin.cli.command import add_command, add_reading_options, arguments_of
from dfjoin.cli.output import print_json, print_lines, print_text, show_index

if TYPE_CHECKING:
    from dfjoin.lake import Lake


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

  dfjoin vacuum lake.dfjoin --dry-run          only say what would go
  dfjoin vacuum lake.dfjoin --retain 30        keep a month

Pass --retain 0 only while nobody else reads an older version or writes."""


_REPLACE_HELP = """\
Put tables in the place of those of the same names, and add the others.

  dfjoin replace lake.dfjoin extra/"""

_RESTORE_HELP = """\
Make the content of an older version the latest again.

  dfjoin info lake.dfjoin --versions           which versions there are
  dfjoin restore lake.dfjoin 3"""

_VERIFY_HELP = """\
Read the whole index and compare every file with its recorded size and checksum; status 1 when one is damaged.

  dfjoin verify lake.dfjoin"""

_REPAIR_HELP = """\
Drop the damaged parts of an index, even of one that does not open, and report what is lost.

  dfjoin repair lake.dfjoin

Add the lost tables again from their files: dfjoin add lake.dfjoin data/"""

_SIGNATURES_HELP = """\
Index the MinHash signatures that `discover --mode lsh` needs; no table is read.

  dfjoin add-signatures lake.dfjoin
  dfjoin add-signatures lake.dfjoin --permutations 512 --signature-min 100"""

_PATTERNS_HELP = """\
Index the pieces of values that `discover --mode transform` needs; no table is read.

  dfjoin add-patterns lake.dfjoin"""


_ROWS_HELP = """\
Keep which value each row has in each column, so that keys of several columns are found without reading tables; the
tables are read once more.

  dfjoin add-row-signatures lake.dfjoin"""


_VECTORS_HELP = """\
Index the vectors that `discover --mode embedding` needs; no table is read.

  dfjoin add-vectors lake.dfjoin
  dfjoin add-vectors lake.dfjoin --embedder wiki.en.bin"""


def add_maintenance_commands(commands: Any) -> None:
    """Add the commands to argparse's subparsers."""
    parser = add_command(commands, "add", _ADD_HELP, _add)
    parser.add_argument("source", help="directory, glob or file of tables")
    parser.add_argument("--replace", action="store_true", help="as the command replace")
    parser.add_argument("--full", action="store_true", help="read everything, changed or not")
    add_reading_options(parser)
    parser = add_command(commands, "replace", _REPLACE_HELP, _change)
    parser.add_argument("source", help="directory, glob or file of tables")
    add_reading_options(parser)
    parser = add_command(commands, "restore", _RESTORE_HELP, _change)
    parser.add_argument("version", type=int, help="number of the version")
    add_command(commands, "verify", _VERIFY_HELP, _verify)
    add_command(commands, "repair", _REPAIR_HELP, _repair)
    _add_group_commands(commands)
    parser = add_command(commands, "remove", _REMOVE_HELP, _change)
    parser.add_argument("tables", nargs="+", help="names or patterns of tables")
    parser = add_command(commands, "compact", _COMPACT_HELP, _change)
    parser.add_argument("--full", action="store_true", help="merge all that may be merged")
    parser.add_argument("--engine", choices=("spark", "inline"), default="inline", help="where the work is done")
    parser = add_command(commands, "vacuum", _VACUUM_HELP, _vacuum)
    parser.add_argument("--retain", type=float, metavar="DAYS", help="how long to keep older versions (default 7)")
    parser.add_argument("--dry-run", action="store_true", help="remove nothing")


def _add_group_commands(commands: Any) -> None:
    """Add the commands that index what modes of search need."""
    add_command(commands, "add-patterns", _PATTERNS_HELP, _change)
    parser = add_command(commands, "add-row-signatures", _ROWS_HELP, _change)
    parser.add_argument("--engine", choices=("spark", "inline"), help="where tables are read")
    parser = add_command(commands, "add-vectors", _VECTORS_HELP, _change)
    parser.add_argument("--embedder", help="ngrams (the default), fasttext (trained here) or the file of a model")
    parser.add_argument("--engine", choices=("spark", "inline"), default="inline", help="where values are embedded")
    parser.add_argument("--quiet", action="store_false", dest="progress", help="show no progress")
    parser = add_command(commands, "add-signatures", _SIGNATURES_HELP, _change)
    parser.add_argument("--permutations", type=int, default=256, help="values of a signature (default 256)")
    parser.add_argument("--signature-min", type=int, help="columns with fewer distinct values get none")
    parser.add_argument("--partitions", type=int, default=32, help="parts by set size, at most (default 32)")
    parser.add_argument("--partitioning", choices=("optimal", "equal_depth"), default="optimal")


def _open(index: str) -> Lake:
    from dfjoin.lake import open_lake

    return open_lake(index)


def _change(options: argparse.Namespace) -> int:
    """Call the method of the lake that has the name of the command, and show what the index holds then."""
    method = getattr(_open(options.index), options.command.replace("-", "_"))
    return show_index(method(**arguments_of(method, options)), options.json)


def _add(options: argparse.Namespace) -> int:
    if options.replace:
        options.command = "replace"
    return _change(options)


def _verify(options: argparse.Namespace) -> int:
    lake = _open(options.index)
    problems = lake.verify()
    if options.json:
        print_json({"index": options.index, "version": lake.version, "problems": problems})
    else:
        print_lines(problems or ["every file is as it was written"])
    return 1 if problems else 0


def _repair(options: argparse.Namespace) -> int:
    from dfjoin.store.repair import repair

    report = repair(options.index)
    if options.json:
        return print_json(report)
    lines = list(report["problems"])
    lines += [f"version {version} cannot be read" for version in report["unreadable_versions"]]
    if not lines:
        return print_text(f"nothing is damaged; version {report['version']} is the latest")
    lines += [f"lost: {table}" for table in report["tables"]]
    lines.append(f"{len(report['segments'])} segment(s) were dropped; version {report['version']} is sound")
    return print_lines(lines)


def _vacuum(options: argparse.Namespace) -> int:
    report = _open(options.index).vacuum(options.retain, dry_run=options.dry_run)
    if options.json:
        return print_json(report)
    verb = "would remove" if options.dry_run else "removed"
    return print_text(
        f"{verb} {len(report['versions'])} versions and {report['files']} files, {report['bytes'] / 1e6:,.1f} MB"
    )
