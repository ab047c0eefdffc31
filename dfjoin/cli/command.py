"""One command of the shell: its name, its help, ``--json``; and the library's messages in the words of the shell."""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

_SETTINGS = re.compile(r"""settings=\{["'](\w+)["']: ([^{}]*)\}|`settings\['(\w+)'\]`""")
_OPTION = re.compile(r"""\b(\w+)=("[^"]*"|'[^']*'|[\w.-]+)""")
_NAME = re.compile(r"`(\w+)=?`")
_CALL = re.compile(r"`?\b(?:[lL]ake|dfjoin)\.(\w+)\b(?:\([^()]*\))?`?|\bcall (\w+)\(\)")


class Parser(argparse.ArgumentParser):
    """argparse's parser, with a hint for a command or an option that is mistyped."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what was probably meant; end with status 2."""
        super().error(message + self._hint(message))

    def _hint(self, message: str) -> str:
        known = [name for action in self._actions for name in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                known += list(action.choices)
                known += [name for parser in action.choices.values() for name in parser._option_string_actions]
        words = re.findall(r"invalid choice: '([^']*)'|unrecognized arguments: (\S+)", message)
        for word in ((first or second).partition("=")[0] for first, second in words):
            close = difflib.get_close_matches(word, known, 1, 0.6)
            if close and close[0] != word:
                return f"; did you mean {close[0]}?"
        return ""


def add_command(commands: Any, name: str, text: str, run: Any, *, has_index: bool = True) -> argparse.ArgumentParser:
    """Add a command with its help and ``--json``; its first argument is an index, where it has one."""
    parser = commands.add_parser(
        name,
        help=text.partition("\n")[0],
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command=name)
    parser.add_argument("--json", action="store_true", help="write JSON, for programs")
    if has_index:
        parser.add_argument("index", help="directory of the index")
    return parser


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format`` to a command that prints a table; ``--json`` is short for one of them."""
    parser.set_defaults(format="table")
    parser.add_argument("--format", choices=("table", "csv", "json"), help="how to print (default table)")
    for action in parser._actions:
        if action.dest == "json":
            action.help = "short for --format json"
            action.__class__ = _Json  # keeps its place in the help


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which candidates are good enough, and how many are wanted."""
    parser.add_argument("-k", type=int, help="most results (discover: 10, join: 1 table)")
    parser.add_argument("--threshold", type=float, help="smallest containment, 0 to 1")
    parser.add_argument("--min-score", type=float, help="smallest score of a candidate, 0 to 1")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how tables are read into an index."""
    parser.add_argument("--engine", choices=("spark", "inline"), help="where the work is done; by size if not given")
    parser.add_argument("--workers", type=int, default=1, help="processes that read tables here (default 1)")
    parser.add_argument("--on-error", choices=("skip", "raise"), default="skip", help="unreadable tables")
    parser.add_argument("--quiet", action="store_false", dest="progress", help="show no progress")


def add_spelling_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how the key of the user's table is written."""
    parser.add_argument("--pad", type=int, help="write integers with zeros up to this many digits")
    parser.add_argument(
        "--dayfirst",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read 03/04/2024 as 3 April, or as March 4",
    )
    parser.add_argument(
        "--aliases",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="names of one thing in other languages and codes are equal",
    )


def arguments_of(function: Callable[..., Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that are arguments of a function or method: those whose ``dest`` is the argument's name."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in vars(options).items() if name in known}


def one_or_all(values: list[str] | None) -> Any:
    """Return the only item of a list, or the list."""
    return values[0] if values is not None and len(values) == 1 else values


class _Json(argparse._StoreTrueAction):
    """``--json``, which is ``--format json`` too."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, *arguments: Any) -> None:
        namespace.json, namespace.format = True, "json"


def in_shell_words(text: str, commands: Mapping[str, argparse.ArgumentParser], command: str) -> str:
    """Write a message of the library as the shell says it: options for arguments, commands for functions.

    Every word comes from the parsers: an option whose ``dest`` is the argument's name, a command that has the name of
    the function or method. What the shell has no word for stays as it is.

    Parameters
    ----------
    text : str
        A message that speaks Python.
    commands : dict
        Name of each command → its parser.
    command : str
        The one that runs; options of others are named together with their command.
    """

    def find(name: str) -> tuple[argparse.Action, str] | None:
        for owner in dict.fromkeys([command, *commands]):
            if owner not in commands:
                continue
            for action in commands[owner]._actions:
                if action.dest == name:
                    is_own = owner == command
                    return (action, "" if is_own else f"dfjoin {owner} ") if action.option_strings else None
        return None

    def setting(match: re.Match[str]) -> str:
        quote = "`" if match[3] else ""
        return f"{quote}{option(match, match[1] or match[3], match[2] or '')}{quote}"

    def option(match: re.Match[str], name: str, value: str) -> str:
        found = find(name)
        return match[0] if found is None else found[1] + _spell(found[0], value.strip("\"'"))

    def call(match: re.Match[str]) -> str:
        name = _COMMANDS.get(match[1] or match[2], (match[1] or match[2]).replace("_", "-"))
        if name not in commands:
            return _PRINTED.get(name, match[0])
        given = [action.dest.upper() for action in commands[name]._actions if not action.option_strings]
        return ("run " if match[2] else "") + f"`{' '.join(['dfjoin', name, *given])}`"

    def is_own_option(name: str) -> bool:
        found = find(name)
        return found is not None and not found[1]

    text = _CALL.sub(call, _SETTINGS.sub(setting, text))
    text = _OPTION.sub(lambda match: option(match, match[1], match[2]), text)
    return _NAME.sub(lambda match: f"`{option(match, match[1], '')}`" if is_own_option(match[1]) else match[0], text)


_COMMANDS = {"build_lake": "build", "discover_joinable": "discover", "auto_join": "join", "open_lake": "info"}
"""Functions of the library whose command has another name."""

_PRINTED = {"report": "the report"}
"""Functions of the library whose result every command that has one prints, and what it is called."""


def _spell(action: argparse.Action, value: str) -> str:
    """Write an option with a value as it is typed."""
    flag = max(action.option_strings, key=len)
    if isinstance(action, argparse.BooleanOptionalAction):
        return next(name for name in action.option_strings if name.startswith("--no-") == (value == "False"))
    if action.nargs == 0:
        is_set = value in ("", str(action.const))
        return flag if is_set else f"no {flag}"
    return f"{flag} {value}".rstrip()
