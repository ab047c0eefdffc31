"""The command ``dfjoin join``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dfjoin.cli.command import add_command, add_search_options, add_spelling_options, arguments_of, one_or_all
from dfjoin.cli.output import (
    check_output,
    is_index,
    print_lines,
    print_text,
    read_frame,
    read_typed,
    to_json,
    write_frame,
)
from dfjoin.errors import InvalidParameterError
from dfjoin.search.params import MODES

_JOIN_HELP = """\
Join a table with the best tables of a lake, or with another table, and write the result.

  dfjoin join orders.csv lake.dfjoin --on country -o wide.csv
  dfjoin join orders.csv lake.dfjoin --on country -k 3 --columns population -o wide.parquet
  dfjoin join orders.csv countries.csv --on country --right-on name -o wide.csv
  dfjoin join people.csv mails.csv -o wide.csv              learns how the keys belong together
  dfjoin join people.csv mails.csv --example "Doe, Jane" jane.doe@x.org -o wide.csv

The rows and their order stay; what was joined, and why, is printed. Cells are written as they are, also those that
begin with =, which a spreadsheet reads as formulas: import a table of others there as text."""


def add_join_command(commands: Any) -> None:
    """Add ``dfjoin join`` to the commands."""
    parser = add_command(commands, "join", _JOIN_HELP, _join, has_index=False)
    parser.add_argument("table", help="your table: a file that a lake may have; - for CSV on standard input")
    parser.add_argument("other", help="an index, or another table")
    where = "where to write: .csv, .tsv, .parquet, .jsonl, texts also compressed (.csv.gz); CSV to standard output"
    parser.add_argument("-o", "--output", help=where)
    parser.add_argument("--on", action="append", help="key column; repeat for a composite key")
    parser.add_argument("--right-on", action="append", help="key column of the other table")
    add_search_options(parser)
    parser.add_argument("--tables", action="append", help="pattern of tables of the index to join")
    parser.add_argument("--exclude", action="append", help="pattern of tables to leave out")
    parser.add_argument("--columns", action="append", help="column to bring; all by default")
    parser.add_argument("--how", choices=("left", "inner", "right", "outer", "asof"), default="left")
    parser.add_argument(
        "--keep-rows",
        action="store_const",
        const=None,
        default="auto",
        dest="aggregate",
        help="keep every pair of rows, aggregate nothing",
    )
    parser.add_argument("--max-expansion", type=float, default=10.0, help="most rows out per row in")
    parser.add_argument("--mode", choices=MODES, help="how tables of an index are found")
    add_spelling_options(parser)
    _add_relation_options(parser)
    parser.add_argument("--on-stale", choices=("error", "warn", "ignore"), help="files that changed since the build")
    parser.add_argument("--on-no-match", choices=("warn", "raise", "ignore"), help="when nothing is joined")
    parser.add_argument("--plan", help="JSON file with a plan of an earlier join (from --json)")


def _add_relation_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how two tables may be related whose keys are not equal."""
    both = argparse.BooleanOptionalAction
    parser.add_argument("--transform", action=both, default=None, help="look for programs that make one key the other")
    parser.add_argument("--fuzzy", action=both, default=None, help="join by likeness what is left over")
    parser.add_argument("--precision", type=float, help="share of right pairs that likeness aims at (0.95)")
    parser.add_argument(
        "--example",
        dest="examples",
        nargs=2,
        action="append",
        metavar=("LEFT", "RIGHT"),
        help="values that belong together, to learn from; may be repeated",
    )
    parser.add_argument(
        "--indicator", action="store_true", default=None, help="say for each row whether and how it was matched"
    )


def _join(options: argparse.Namespace) -> int:
    from dfjoin.api import auto_join, report

    check_output(options.output)
    df = read_frame(options.table)
    given = arguments_of(auto_join, options) | {"on": one_or_all(options.on), "right_on": one_or_all(options.right_on)}
    apart = ("other", "aggregate", "plan")
    chosen = {name: value for name, value in given.items() if value is not None and name not in apart}
    if options.examples is not None:
        chosen["examples"] = [tuple(pair) for pair in options.examples]
    if options.aggregate is None:
        chosen["aggregate"] = None
    if options.plan:
        own = ("on_stale", "on_no_match")
        others = [f"`{n}`" for n, value in chosen.items() if n not in own and value not in ("left", 10.0)]
        if others:
            raise InvalidParameterError(
                f"`--plan` brings every choice with it, got {', '.join(others)} too; leave it out"
            )
        chosen = {name: chosen[name] for name in own if name in chosen} | {"plan": _plan(options.plan)}
    wide = auto_join(df, options.other if is_index(options.other) else read_typed(options.other), **chosen)
    write_frame(wide, options.output)
    file = sys.stdout if options.output else sys.stderr
    if options.json:
        return print_text(to_json(wide.attrs["dfjoin"]), file)
    lines = str(report(wide)).split("\n")
    return print_lines((options.in_words(one) if one.startswith("passed over") else one for one in lines), file)


def _plan(path: str) -> Any:
    """Read a plan, or the report that holds one."""
    from dfjoin.join.plan import JoinPlan

    try:
        values = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = f"is no JSON ({error})" if isinstance(error, ValueError) else f"cannot be read ({error.strerror})"
        raise InvalidParameterError(
            f"`--plan` must be a JSON file that `join --json` wrote, but {path!r} {reason}"
        ) from error
    return JoinPlan.from_dict(values.get("plan", values) if isinstance(values, dict) else values)
