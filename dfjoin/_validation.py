"""Argument checks; each takes the public name of the argument to report."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist

__all__ = ["check_choice", "check_fraction", "check_patterns", "check_positive_int"]


def check_positive_int(value: Any, name: str) -> int:
    """Return `value` as an int of at least 1, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidTypeError(f"`{name}` must be an integer of at least 1, got {value!r}")
    if value < 1:
        raise InvalidParameterError(f"`{name}` must be at least 1, got {value!r}")
    return operator.index(value)


def check_fraction(value: Any, name: str) -> float:
    """Return `value` as a float between 0 and 1, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidTypeError(f"`{name}` must be a number between 0 and 1, got {value!r}")
    if not 0 <= float(value) <= 1:
        raise InvalidParameterError(f"`{name}` must be between 0 and 1, got {value!r}")
    return float(value)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of the choices, or raise listing them."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise InvalidParameterError(f"`{name}` must be one of {shortlist(choices, 10)}, got {value!r}")
    return value


def check_patterns(value: Any, name: str) -> tuple[str, ...]:
    """Return a pattern or a list of patterns as a tuple, or raise naming the argument."""
    if value is None:
        return ()
    patterns = (value,) if isinstance(value, str) else value
    if isinstance(patterns, Mapping):
        patterns = (None,)
    try:
        patterns = tuple(patterns)
    except TypeError:
        patterns = (None,)
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidTypeError(f"`{name}` must be a pattern or a list of patterns, got {value!r}")
    return patterns
