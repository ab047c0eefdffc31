"""Legal values of the parameters of stored steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.characters import CLASSES
from dfjoin.programs.lookup import TABLES
from dfjoin.programs.numeric import BASES, GROUP_SEPARATORS, STYLES
from dfjoin.programs.quantities import QUANTITIES
from dfjoin.programs.rewrite import CASES

__all__ = ["MAX_TEXT", "check_growth", "check_step", "is_stored_text"]

MAX_TEXT = 1000
"""Characters of a text of a stored program."""

_MAX_GROWTH = 100
"""How many times as long as its text the steps of a piece may make it."""

_MAX_INDEX = 1_000_000


def _is_integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_text(value: Any, shortest: int = 1) -> bool:
    return isinstance(value, str) and shortest <= len(value) <= MAX_TEXT and not _has_surrogate(value)


def _has_surrogate(value: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in value)


def _is_index(value: Any) -> bool:
    return _is_integer(value, -_MAX_INDEX, _MAX_INDEX)


def _is_decimal(value: Any, before: int, behind: int) -> bool:
    return isinstance(value, str) and re.fullmatch(f"-?[0-9]{{1,{before}}}([.][0-9]{{1,{behind}}})?", value) is not None


def _one_of(choices: Any) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: type(value) in (str, int) and value in choices), f"one of {', '.join(map(repr, choices))}"


_TEXT = (_is_text, f"a text of 1 to {MAX_TEXT} characters")
_INDEX = (_is_index, f"an integer from -{_MAX_INDEX} to {_MAX_INDEX}")
_RULES: dict[tuple[str, str], tuple[Callable[[Any], bool], str]] = {
    ("after", "separator"): _TEXT,
    ("before", "separator"): _TEXT,
    ("split", "separator"): _TEXT,
    ("split", "index"): _INDEX,
    ("base", "old"): _one_of(BASES),
    ("base", "new"): _one_of(BASES),
    ("linear", "scale"): (lambda value: _is_decimal(value, 5, 15), "a decimal of at most 5 and 15 digits"),
    ("linear", "offset"): (lambda value: _is_decimal(value, 10, 10), "a decimal of at most 10 and 10 digits"),
    ("linear", "digits"): (lambda value: _is_integer(value, 0, 12), "an integer from 0 to 12"),
    ("linear", "style"): _one_of(STYLES),
    ("run", "kind"): _one_of(tuple(CLASSES)),
    ("run", "index"): _INDEX,
    ("slice", "start"): _INDEX,
    ("slice", "stop"): (lambda value: value is None or _is_index(value), f"{_INDEX[1]}, or null"),
    ("case", "style"): _one_of(CASES),
    ("keep", "kind"): _one_of(tuple(CLASSES)),
    ("replace", "old"): _TEXT,
    ("replace", "new"): (lambda value: _is_text(value, 0), f"a text of at most {MAX_TEXT} characters"),
    ("pad", "width"): (lambda value: _is_integer(value, 1, 64), "an integer from 1 to 64"),
    ("pad", "fill"): (
        lambda value: isinstance(value, str) and len(value) == 1 and " " <= value <= "~",
        "one printable ASCII character",
    ),
    ("round", "digits"): (lambda value: _is_integer(value, 0, 6), "an integer from 0 to 6"),
    ("group", "separator"): _one_of(GROUP_SEPARATORS),
    ("year", "pivot"): (lambda value: _is_integer(value, 0, 100), "an integer from 0 to 100"),
    ("lookup", "table"): _one_of(TABLES),
    ("quantity", "table"): _one_of(QUANTITIES),
}


def check_step(step: str, parameter: str, value: Any) -> None:
    """Raise, naming step and parameter, unless the value is a legal one.

    Raises
    ------
    InvalidParameterError
        Always of this class, so that a hostile file has one way to fail.
    """
    is_legal, legal = _RULES[step, parameter]
    if not is_legal(value):
        raise InvalidParameterError(f"`{parameter}` of step {step!r} must be {legal}, got {value!r:.80}")


def is_stored_text(value: Any) -> bool:
    """Tell whether a value is a text that a stored program may hold: valid, not empty and not too long."""
    return _is_text(value)


def check_growth(steps: Sequence[Any]) -> None:
    """Raise when the replacements among the steps of a piece could make a text very much longer.

    A replacement of each character by a thousand, four times over, makes 10^12 of one.

    Raises
    ------
    InvalidParameterError
    """
    growth = 1.0
    for step in steps:
        if step.name == "replace":
            growth *= max(1.0, len(step.new.encode()) / len(step.old.encode()))
    if growth > _MAX_GROWTH:
        raise InvalidParameterError(
            f"the replacements of a piece must make a text at most {_MAX_GROWTH} times as long, and these "
            f"make it {growth:.3g} times as long"
        )
