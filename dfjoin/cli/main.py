"""The shell: a command is one call into the library; each has a file of its own.

``add | remove | compact | vacuum`` are in `dfjoin.cli.maintain`, ``info | search | show`` in `dfjoin.cli.look_up`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from dfjoin._optional import import_optional
from dfjoin._version import __version__
from dfjoin.cli.build_command import add_build_command
from dfjoin.cli.command import Parser, add_command, in_shell_words
from dfjoin.cli.discover_command import add_discover_command
from dfjoin.cli.explore_command import add_explore_command
from dfjoin.cli.graph import add_graph_command
from dfjoin.cli.join_command import add_join_command
from dfjoin.cli.look_up import add_look_up_commands
from dfjoin.cli.maintain import add_maintenance_commands
from dfjoin.cli.output import print_json, print_lines, print_text
from dfjoin.errors import DfjoinError, MissingDependencyError

_WARMUP_HELP = """\
Compile all kernels now, and not at their first use; in an image of a container, say.

  dfjoin warmup                for this processor; kept beside the package, or where NUMBA_CACHE_DIR says
  dfjoin warmup --portable     for all processors of the level x86-64-v3, as a part of the package: for images of
                               containers, and for installations that others use"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 (also without a command, which prints the help), 1 when ``info --verify`` finds damage, 2 for an
        error, which is one line on standard error with the remedy.
    """
    if argv is None:  # in a process of its own
        gc.freeze()  # what was imported stays: no collection of garbage looks at it, nor the one at the end
    parser, commands = _parsers()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0

    def in_words(text: str) -> str:
        return in_shell_words(text, commands, options.command)

    options.in_words = in_words

    def write_note(kind: str, message: object) -> None:
        text = " ".join(in_words(str(message)).split())
        print_lines([f"dfjoin: {kind}{text}"], sys.stderr)

    def show_warning(message: Any, category: type[Warning], *_: Any) -> None:
        if category.__module__.startswith("dfjoin"):
            write_note("note: ", message)

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
    except UnicodeEncodeError as error:
        name, text = error.encoding, error.object[error.start : error.end]
        write_note("", f"standard output has the encoding {name}, which lacks {text!r}; set PYTHONUTF8=1")
        return 2
    except (DfjoinError, OSError) as error:
        write_note("", error)
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
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    add_build_command(commands)
    add_discover_command(commands)
    add_join_command(commands)
    add_look_up_commands(commands)
    add_graph_command(commands)
    add_explore_command(commands)
    add_maintenance_commands(commands)
    parser_of_warmup = add_command(commands, "warmup", _WARMUP_HELP, _warmup, has_index=False)
    parser_of_warmup.add_argument("--portable", action="store_true", help="into the package, for many processors")
    return parser, commands.choices


def _warmup(options: argparse.Namespace) -> int:
    from dfjoin.cli.warmup import warm_up, warm_up_portable

    n_compiled, seconds = warm_up_portable() if options.portable else warm_up()
    if options.json:
        return print_json({"compiled": n_compiled, "seconds": round(seconds, 1)})
    if n_compiled:
        return print_text(f"{n_compiled} functions compiled in {seconds:.0f} s")
    return print_text("all kernels are compiled already")
