"""The command ``dfjoin discover``."""

from __future__ import annotations

import argparse
from typing import Any

from dfjoin.cli.command import (
    add_command,
    add_format,
    add_search_options,
    add_spelling_options,
    arguments_of,
    one_or_all,
)
from dfjoin.cli.output import print_json, print_table, print_text, read_frame
from dfjoin.errors import InvalidParameterError

_DISCOVER_HELP = """\
Find the columns of a lake that join usefully with a column of a table; --rank matched: that share the most values.

  dfjoin discover lake.dfjoin orders.csv --on country
  dfjoin discover lake.dfjoin orders.csv --on zip --pad 5 --threshold 0.8
  dfjoin discover lake.dfjoin orders.csv --on country --explain 0
  dfjoin discover lake.dfjoin orders.csv --on id --mode lsh --threshold 0.7

Without --on, every column of text, integers or dates is tried in turn."""


def add_discover_command(commands: Any) -> None:
    """Add ``dfjoin discover`` to the commands."""
    parser = add_command(commands, "discover", _DISCOVER_HELP, _discover)
    parser.add_argument("table", help="your table: a file that a lake may have; - for CSV on standard input")
    parser.add_argument("--on", action="append", help="column to search with; repeat for a composite key")
    add_search_options(parser)
    parser.add_argument("--rank", help="useful (default), or matched: by shared values")
    parser.add_argument("--no-families", action="store_false", dest="families", help="list similar tables one by one")
    parser.add_argument("--weighted", action="store_true", help="rank by rows instead of distinct values")
    parser.add_argument("--tables", action="append", help="pattern of tables to search")
    parser.add_argument("--exclude", action="append", help="pattern of tables to leave out")
    parser.add_argument("--kinds", action="append", help="kind of candidate columns: text, integer, date …")
    parser.add_argument("--plan", help="force a plan of the search")
    parser.add_argument(
        "--mode",
        default="exact",
        help="exact; lsh: candidates by MinHash signatures; transform: columns that join after a learned program; "
        "embedding: columns with values that lie near",
    )
    parser.add_argument("--radius", type=float, help="distance up to which values match, with embedding or fuzzy")
    units = "fraction (of the largest distance; the default), by_length (less for long values) or absolute"
    parser.add_argument("--radius-unit", help=units)
    parser.add_argument("--metric", help="with embedding: euclidean or angular; with fuzzy: edit, tokens or jaccard")
    parser.add_argument("--count", help="hit: rank by values with a partner (the default); all: by pairs of partners")
    parser.add_argument("--recall", type=float, help="share of the matching columns that lsh is to find (default 0.95)")
    parser.add_argument(
        "--no-verify", action="store_false", dest="verify", help="estimate what lsh finds instead of counting it"
    )
    add_spelling_options(parser)
    parser.add_argument("--explain", type=int, metavar="I", help="explain result number I")
    add_format(parser)


def _discover(options: argparse.Namespace) -> int:
    from dfjoin.api import discover_joinable

    df = read_frame(options.table)
    given = {**arguments_of(discover_joinable, options), "on": one_or_all(options.on)}
    hits = discover_joinable(df, lake=options.index, **given)
    if options.explain is not None:
        if not 0 <= options.explain < len(hits):
            found = f"{len(hits)} results, from 0" if len(hits) else f"no result: {hits!r}"
            raise InvalidParameterError(f"`--explain` must be the number of a result, got {options.explain} of {found}")
        explanation = hits.explain(options.explain)
        return print_json(explanation.to_dict()) if options.format == "json" else print_text(str(explanation))
    if options.format == "csv":
        return print_table(hits, "csv")
    if options.format == "json":
        return print_json({"hits": hits.to_dict(orient="records"), **hits.attrs["dfjoin"]})
    return print_text(repr(hits).replace("pass min_score=0", "pass --min-score 0"))
