"""The shell: ``dfjoin build | discover | join | info``; each is one call into the library.

``dfjoin add | remove | compact | vacuum`` are in `dfjoin.cli.maintain`, ``search | show`` in `dfjoin.cli.look_up`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfjoin._optional import import_optional
from dfjoin._version import __version__
from dfjoin.cli.command import Parser, add_command, add_format, in_shell_words
from dfjoin.cli.graph import add_graph_command
from dfjoin.cli.look_up import add_look_up_commands
from dfjoin.cli.maintain import add_life_commands
from dfjoin.cli.output import (
    print_json,
    print_table,
    print_text,
    read_frame,
    read_typed,
    show_index,
    summary,
    to_json,
    write_frame,
)
from dfjoin.errors import DfjoinError, InvalidParameterError, MissingDependencyError
from dfjoin.search.modes import MODES, mode_of

if TYPE_CHECKING:
    from dfjoin.lake import Lake

__all__ = ["main"]

_BUILD_HELP = """\
Build an index of every table below a directory (CSV, TSV, Parquet, JSON lines).

  dfjoin build data/ lake.dfjoin                     with Spark, local by default
  dfjoin build data/ lake.dfjoin --engine inline     in this process, no Java needed
  dfjoin build data/ lake.dfjoin --exclude '*/ssn'   leave columns out of the index

The index holds a copy of every distinct value of the columns it indexes."""

_DISCOVER_HELP = """\
Find the columns of a lake that join usefully with a column of a table; --rank matched: that share the most values.

  dfjoin discover lake.dfjoin orders.csv --on country
  dfjoin discover lake.dfjoin orders.csv --on zip --pad 5 --threshold 0.8
  dfjoin discover lake.dfjoin orders.csv --on country --explain 0
  dfjoin discover lake.dfjoin orders.csv --on id --mode lsh --threshold 0.7

Without --on, every column of text, integers or dates is tried in turn."""

_JOIN_HELP = """\
Join a table with the best tables of a lake, or with another table, and write the result.

  dfjoin join orders.csv lake.dfjoin --on country -o wide.csv
  dfjoin join orders.csv lake.dfjoin --on country -k 3 --columns population -o wide.parquet
  dfjoin join orders.csv countries.csv --on country --right-on name -o wide.csv
  dfjoin join people.csv mails.csv -o wide.csv              learns how the keys belong together
  dfjoin join people.csv mails.csv --example "Doe, Jane" jane.doe@x.org -o wide.csv

The rows and their order stay; what was joined, and why, is printed."""

_INFO_HELP = """\
Show what an index holds: versions, tables, columns, what was skipped and why.

  dfjoin info lake.dfjoin
  dfjoin info lake.dfjoin --skipped
  dfjoin info lake.dfjoin --verify        read everything and compare checksums"""


_WARMUP_HELP = """\
Compile all kernels now, and not at their first use; in an image of a container, say.

  dfjoin warmup

They are kept beside the package, or in the directory that NUMBA_CACHE_DIR names."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit status: 0, 1 when ``info --verify`` finds damage, 2 for an error, which is one line on
        standard error with the remedy.
    """
    parser, commands = _parsers()
    options = parser.parse_args(argv)

    def tell(kind: str, message: object) -> None:
        text = " ".join(in_shell_words(str(message), commands, options.command).split())
        print(f"dfjoin: {kind}{text}", file=sys.stderr)

    def show_warning(message: Any, category: type[Warning], *_: Any) -> None:
        if category.__module__.startswith("dfjoin"):
            tell("note: ", message)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show_warning  # type: ignore[assignment]
            return options.run(options)
    except KeyboardInterrupt:
        print("dfjoin: interrupted; nothing was changed", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except (DfjoinError, OSError) as error:
        tell("", error)
        return 2


class _PrintCompletion(argparse.Action):
    """Print the completion of a shell and end."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        shell = arguments[1]
        try:
            shtab = import_optional("shtab", extra="completion", purpose="--print-completion")
        except MissingDependencyError as error:
            parser.exit(2, f"dfjoin: {error}\n")
        print(shtab.complete(parser, shell=shell))
        parser.exit(0)


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser, and that of each command by name."""
    parser = Parser(prog="dfjoin", description="Find what joins with your table in a data lake, and join it.")
    parser.add_argument("--version", action="version", version=f"dfjoin {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "fish"),
        help="write what completes commands and options by the Tab key in a shell",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(commands)
    _add_discover(commands)
    _add_join(commands)
    _add_info(commands)
    add_look_up_commands(commands)
    add_graph_command(commands)
    add_life_commands(commands)
    add_command(commands, "warmup", _WARMUP_HELP, _warmup)
    return parser, commands.choices


def _add_build(commands: Any) -> None:
    parser = add_command(commands, "build", _BUILD_HELP, _build)
    parser.add_argument("source", help="directory, glob or file of tables")
    parser.add_argument("index", help="directory of the index, by custom NAME.dfjoin")
    parser.add_argument("--if-exists", choices=("error", "replace", "add"), default="error")
    parser.add_argument("--engine", choices=("spark", "inline"), help="where the work is done; by size if not given")
    parser.add_argument("--columns", action="append", help="pattern of table/column to index; may be repeated")
    parser.add_argument("--exclude", action="append", help="pattern of table/column to leave out")
    parser.add_argument(
        "--null", action="append", dest="null_spellings", metavar="TEXT", help="a spelling of null, such as NA"
    )
    parser.add_argument("--samples", type=int, help="sample values kept per column (default 5)")
    parser.add_argument(
        "--permutations", type=int, help="values of a column's MinHash signature (default 256, 0: none)"
    )
    parser.add_argument(
        "--drop-sets",
        action="store_false",
        dest="keep_sets",
        help="keep the signatures of large columns alone, for lsh",
    )
    parser.add_argument("--patterns", action="store_true", help="index pieces of values, for discover --mode transform")
    parser.add_argument("--embedder", help="fasttext, or the file of a model: index vectors for --mode embedding")
    parser.add_argument("--on-error", choices=("skip", "raise"), default="skip", help="unreadable tables")
    parser.add_argument("--quiet", action="store_false", dest="progress", help="show no progress")


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-k", type=int, help="most results (discover: 10, join: 1 table)")
    parser.add_argument("--threshold", type=float, help="smallest containment, 0 to 1")
    parser.add_argument("--min-score", type=float, help="smallest score of a candidate, 0 to 1")


def _add_discover(commands: Any) -> None:
    parser = add_command(commands, "discover", _DISCOVER_HELP, _discover)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("table", help="your table: CSV, Parquet or JSON lines; - for CSV on standard input")
    parser.add_argument("--on", action="append", help="column to search with; repeat for a composite key")
    _add_search_options(parser)
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
    parser.add_argument("--radius-unit", help="fraction (of the largest distance; the default) or absolute")
    parser.add_argument("--metric", help="euclidean (the default) or angular, with embedding")
    parser.add_argument("--count", help="hit: rank by values with a partner (the default); all: by pairs of partners")
    parser.add_argument("--recall", type=float, help="share of the matching columns that lsh is to find (default 0.95)")
    parser.add_argument(
        "--no-verify", action="store_false", dest="verify", help="estimate what lsh finds instead of counting it"
    )
    _add_spelling_options(parser)
    parser.add_argument("--explain", type=int, metavar="I", help="explain result number I")
    add_format(parser)


def _add_spelling_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how the key of the user's table is written."""
    parser.add_argument("--pad", type=int, help="write integers with zeros up to this many digits")
    parser.add_argument(
        "--dayfirst",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read 03/04/2024 as 3 April, or as March 4",
    )


def _add_join(commands: Any) -> None:
    parser = add_command(commands, "join", _JOIN_HELP, _join)
    parser.add_argument("table", help="your table: CSV, Parquet or JSON lines; - for CSV on standard input")
    parser.add_argument("other", help="an index, or another table")
    parser.add_argument("-o", "--output", help="where to write: .csv, .tsv, .parquet, .jsonl; CSV to standard output")
    parser.add_argument("--on", action="append", help="key column; repeat for a composite key")
    parser.add_argument("--right-on", action="append", help="key column of the other table")
    _add_search_options(parser)
    parser.add_argument("--tables", action="append", help="pattern of tables of the index to join")
    parser.add_argument("--exclude", action="append", help="pattern of tables to leave out")
    parser.add_argument("--columns", action="append", help="column to bring; all by default")
    parser.add_argument("--how", choices=("left", "inner", "right", "outer"), default="left")
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
    _add_spelling_options(parser)
    _add_relation_options(parser)
    parser.add_argument("--on-stale", choices=("error", "warn", "ignore"), help="files that changed since the build")
    parser.add_argument("--on-no-match", choices=("warn", "raise", "ignore"), help="when nothing is joined")
    parser.add_argument("--plan", help="JSON file with a plan of an earlier join (from --json)")


def _add_relation_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how two tables may be related whose keys are not equal."""
    both = argparse.BooleanOptionalAction
    parser.add_argument("--transform", action=both, default=None, help="look for programs that make one key the other")
    parser.add_argument("--fuzzy", action=both, default=None, help="join by likeness what is left over")
    parser.add_argument("--precision", type=float, help="share of right pairs that likeness is to reach (0.95)")
    parser.add_argument(
        "--example",
        dest="examples",
        nargs=2,
        action="append",
        metavar=("LEFT", "RIGHT"),
        help="values that belong together, to learn from; may be repeated",
    )
    parser.add_argument("--indicator", action="store_true", help="tell for each row whether and how it was matched")


def _add_info(commands: Any) -> None:
    parser = add_command(commands, "info", _INFO_HELP, _info)
    parser.add_argument("index", help="directory of the index")
    parser.add_argument("--tables", action="store_true", help="list the tables")
    parser.add_argument("--columns", action="store_true", help="list the columns with their profiles")
    parser.add_argument("--skipped", action="store_true", help="list what was skipped and why")
    parser.add_argument("--verify", action="store_true", help="read everything and compare checksums")
    parser.add_argument("--versions", action="store_true", help="list the versions that still exist")
    parser.add_argument("--check", action="store_true", help="list the tables that changed since they were indexed")
    add_format(parser)


def _build(options: argparse.Namespace) -> int:
    from dfjoin.api import build_lake

    settings: dict[str, Any] = {}
    if options.null_spellings is not None:
        settings["null_spellings"] = ["", *options.null_spellings]
    if options.samples is not None:
        settings["samples"] = options.samples
    if options.permutations is not None:
        settings["permutations"] = options.permutations
    if not options.keep_sets:
        settings["keep_sets"] = False
    if options.patterns:
        settings["patterns"] = True
    lake = build_lake(
        options.source,
        options.index,
        if_exists=options.if_exists,
        engine=options.engine,
        columns=options.columns,
        exclude=options.exclude,
        embedder=options.embedder,
        settings=settings or None,
        on_error=options.on_error,
        progress=options.progress,
    )
    return show_index(lake, options.json)


def _discover(options: argparse.Namespace) -> int:
    from dfjoin.api import discover_joinable

    df = read_frame(options.table)
    hits = discover_joinable(
        df,
        _one(options.on),
        options.index,
        mode=options.mode,
        verify=options.verify,
        recall=options.recall,
        k=options.k,
        threshold=options.threshold,
        rank=options.rank,
        min_score=options.min_score,
        families=options.families,
        weighted=options.weighted,
        tables=options.tables,
        exclude=options.exclude,
        kinds=options.kinds,
        plan=options.plan,
        pad=options.pad,
        dayfirst=options.dayfirst,
        radius=options.radius,
        radius_unit=options.radius_unit,
        metric=options.metric,
        count=options.count,
    )
    if options.explain is not None:
        explanation = hits.explain(options.explain)
        return print_json(explanation.to_dict()) if options.format == "json" else print_text(str(explanation))
    if options.format == "csv":
        return print_table(hits, "csv")
    if options.format == "json":
        return print_json({"hits": hits.to_dict(orient="records"), **hits.attrs["dfjoin"]})
    n_below = sum(told.get("n_below", 0) for told in hits.attrs["dfjoin"]["searches"])
    nothing = f"nothing useful; {n_below:,} columns share values by chance, it seems: --min-score 0 lists them"
    if options.on is not None and len(options.on) > 1 and not len(hits):
        return print_text("no table has rows with these keys that are worth showing: --min-score 0 lists all")
    return print_text(repr(hits) if len(hits) else nothing if n_below else mode_of(options.mode).nothing_found)


def _join(options: argparse.Namespace) -> int:
    from dfjoin.api import auto_join, report

    df = read_frame(options.table)
    chosen: dict[str, Any] = {"how": options.how, "max_expansion": options.max_expansion}
    for name, value in (
        ("on", _one(options.on)),
        ("right_on", _one(options.right_on)),
        ("mode", options.mode),
        ("k", options.k),
        ("threshold", options.threshold),
        ("min_score", options.min_score),
        ("tables", options.tables),
        ("exclude", options.exclude),
        ("columns", options.columns),
        ("transform", options.transform),
        ("fuzzy", options.fuzzy),
        ("precision", options.precision),
        ("examples", None if options.examples is None else [tuple(pair) for pair in options.examples]),
        ("indicator", options.indicator or None),
        ("pad", options.pad),
        ("dayfirst", options.dayfirst),
        ("on_stale", options.on_stale),
        ("on_no_match", options.on_no_match),
    ):
        if value is not None:
            chosen[name] = value
    if options.aggregate is None:
        chosen["aggregate"] = None
    if options.plan:
        own = ("on_stale", "on_no_match")
        given = [f"`{n}`" for n, value in chosen.items() if n not in own and value not in ("left", 10.0)]
        if given:
            raise InvalidParameterError(
                f"`--plan` brings every choice with it, got {', '.join(given)} too; leave it out"
            )
        plan = _plan(options.plan)
        if _is_index(options.other):
            plan = replace(plan, index=options.other)
        wide = auto_join(df, plan, **{name: chosen[name] for name in own if name in chosen})
    else:
        wide = auto_join(df, options.other if _is_index(options.other) else read_typed(options.other), **chosen)
    write_frame(wide, options.output)
    text = to_json(wide.attrs["dfjoin"]) if options.json else str(report(wide))
    print(text, file=sys.stdout if options.output else sys.stderr)
    return 0


def _is_index(path: str) -> bool:
    from dfjoin.index.layout import MANIFESTS

    return (Path(path) / MANIFESTS).is_dir()


def _plan(path: str) -> Any:
    """Read a plan, or the report that holds one."""
    from dfjoin.join.plan import JoinPlan

    try:
        values = json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise InvalidParameterError(
            f"`--plan` must be a JSON file that `join --json` wrote, but {path!r} is no JSON ({error})"
        ) from error
    return JoinPlan.from_dict(values.get("plan", values) if isinstance(values, dict) else values)


def _info(options: argparse.Namespace) -> int:
    from dfjoin.lake import open_lake

    lake = open_lake(options.index)
    problems = lake.verify() if options.verify else []
    if problems and options.format != "json":
        print("\n".join(problems))
        return 1
    if problems:
        print_json({"index": options.index, "version": lake.version, "problems": problems})
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
        print(summary(info))
    if options.tables:
        print_table(lake.tables.drop(columns="root"), options.format)
    if options.columns:
        shown = ["table", "column", "kind", "is_indexed", "n_rows", "n_null", "cardinality"]
        print_table(lake.columns[shown], options.format)
    if options.skipped:
        for record in info["skipped"]:
            print(f"{record['name']}: {record['reason']}")
    if options.verify:
        print("every file is as it was written")
    if options.versions:
        print_table(lake.versions(), options.format)
    if options.check:
        changed = lake.check()
        if len(changed):
            print_table(changed, options.format)
        else:
            print("every table is the one that was indexed")
    return 0


def _one(values: list[str] | None) -> Any:
    """Return the only item of a list, or the list."""
    return values[0] if values is not None and len(values) == 1 else values


def _warmup(options: argparse.Namespace) -> int:
    from dfjoin.cli.warmup import warm_up

    n_compiled, seconds = warm_up()
    if options.json:
        return print_json({"compiled": n_compiled, "seconds": round(seconds, 1)})
    if n_compiled:
        return print_text(f"{n_compiled} functions compiled in {seconds:.0f} s")
    return print_text("all kernels are compiled already")
