"""The command ``dfjoin explore``."""

from __future__ import annotations

import argparse
from typing import Any

from dfjoin.cli.command import add_command
from dfjoin.cli.output import print_json, print_text

_EXPLORE_HELP = """\
Search, join, transform and search again on a page in the browser.

  dfjoin explore lake.dfjoin                 bring a table on the page
  dfjoin explore lake.dfjoin orders.csv      begin with a table
  dfjoin explore data/                       builds an index in your cache first
  dfjoin explore data/ orders.csv            and opens the table when it is there

The page is served on this machine alone, at an address with a secret token; Ctrl-C ends it. With --host others reach
it: who has the address may see the lake and every table that was brought."""


def add_explore_command(commands: Any) -> None:
    """Add the command to a parser."""
    parser = add_command(commands, "explore", _EXPLORE_HELP, _explore, has_index=False)
    parser.add_argument("source", metavar="index", help="directory of the index, or of tables")
    parser.add_argument("df", metavar="table", nargs="?", help="your table: a file that a lake may have")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1, this machine)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default any free one)")
    parser.add_argument("--no-browser", action="store_false", dest="open_browser", help="print the address only")


def _explore(options: argparse.Namespace) -> int:
    from dfjoin.page.serve import explore

    page = explore(options.source, options.df, host=options.host, port=options.port, open_browser=options.open_browser)
    (print_json({"url": page.url}) if options.json else print_text(f"{page.url}\nCtrl-C ends the page"))
    page.wait()
    return 0
