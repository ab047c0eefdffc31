"""The command that finds the foreign keys of a lake: ``dfjoin graph``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dfjoin.cli.command import add_command, add_format
from dfjoin.cli.output import print_json, print_table, print_text
from dfjoin.errors import InvalidParameterError

_GRAPH_HELP = """\
Find the likely foreign keys of an index: which column refers to which key of which table.

  dfjoin graph lake.dfjoin
  dfjoin graph lake.dfjoin --from orders.csv --to countries.csv     the shortest ways to join two tables
  dfjoin graph lake.dfjoin -o keys.graphml                          for Gephi, yEd or networkx; also .png, .svg, .pdf
  dfjoin graph lake.dfjoin --around orders.csv -o near.png          what joins with one table, as a picture
  dfjoin graph lake.dfjoin --explain orders.csv customer_id         what speaks for and against each key"""

_PICTURES = (".png", ".svg", ".pdf")


def add_graph_command(commands: Any) -> None:
    """Add the command to a parser."""
    parser = add_command(commands, "graph", _GRAPH_HELP, _graph)
    parser.add_argument(
        "--threshold", type=float, default=0.9, help="share of the values that the key holds (default 0.9)"
    )
    parser.add_argument("--min-score", type=float, default=0.5, help="smallest score of an edge (default 0.5)")
    parser.add_argument("--from", dest="start", metavar="TABLE", help="with --to: the shortest ways to join two tables")
    parser.add_argument("--to", dest="end", metavar="TABLE", help="the other table")
    parser.add_argument("-k", type=int, default=3, help="most ways (default 3)")
    parser.add_argument("--explain", nargs=2, metavar=("TABLE", "COLUMN"), help="the keys that a column may refer to")
    parser.add_argument("--around", metavar="TABLE", help="only the tables that join with this one")
    parser.add_argument("-o", "--output", help="write the graph: .graphml, .csv, .png, .svg or .pdf")
    add_format(parser)


def _graph(options: argparse.Namespace) -> int:
    from dfjoin.lake import open_lake

    if (options.start is None) != (options.end is None):
        raise InvalidParameterError("`--from` and `--to` name the two ends of a path: give both")
    ending = Path(options.output).suffix.lower() if options.output else ""
    if options.output and ending not in (".graphml", ".csv", *_PICTURES):
        raise InvalidParameterError(
            f"`--output` must end in .graphml, .csv, .png, .svg or .pdf, got {options.output!r}"
        )
    graph = open_lake(options.index).join_graph(options.threshold, min_score=options.min_score)
    if options.around:
        graph = graph.around(options.around)
    if options.explain:
        return print_text(graph.explain(*options.explain))
    if options.output:
        _write(graph, options, ending)
        return print_text(f"{len(graph)} edges written to {options.output}")
    shown = graph.edges if options.start is None else graph.shortest_paths(options.start, options.end, k=options.k)
    if options.format == "json":
        return print_json({"edges" if options.start is None else "paths": shown.to_dict(orient="records")})
    if not len(shown):
        return print_text("no edge" if options.start is None else "no path joins these tables")
    return print_table(shown.round(3), options.format)


def _write(graph: Any, options: argparse.Namespace, ending: str) -> None:
    """Write a graph in the form that the ending names."""
    path = options.output
    if ending == ".csv":
        graph.edges.to_csv(path, index=False)
    elif ending == ".graphml":
        graph.to_graphml(path)
    else:
        graph.plot(options.around).figure.savefig(path, bbox_inches="tight")
