"""Legal values of the parameters of stored steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.calendars import CALENDAR_UNITS, SERIALS
from dfjoin.programs.characters import CLASSES
from dfjoin.programs.check_digits import CHECK_DIGITS, ISBN_LENGTHS
from dfjoin.programs.codes import CODES, EXPONENT_MARKS, is_weights
from dfjoin.programs.conditions import CONDITIONS, MAX_SHAPE, is_shape
from dfjoin.programs.durations import DURATION_LAYOUTS, FIRST_UNITS
from dfjoin.programs.element_wise import COUNTED, ELEMENT_STEPS, MAX_ELEMENT_STEPS, PART_ORDERS
from dfjoin.programs.intervals import DECIMAL_MARKS, GROUPS, ROUNDINGS
from dfjoin.programs.listings import TOTALS
from dfjoin.programs.lookup import SEPARATOR, TABLES
from dfjoin.programs.numeric import BASES, GROUP_SEPARATORS, STYLES
from dfjoin.programs.quantities import QUANTITIES
from dfjoin.programs.rewrite import CASES
from dfjoin.programs.times import DAY, ORDERS, is_layout

__all__ = [
    "MAX_TEXT",
    "check_condition",
    "check_growth",
    "check_pairs",
    "check_parts",
    "check_step",
    "is_stored_text",
]

MAX_TEXT = 1000
"""Characters of a text of a stored program."""

_MAX_GROWTH = 100
"""How many times as long as its text the steps of a piece may make it."""

_MAX_INDEX = 1_000_000
_MAX_SECONDS = 100 * DAY
_MAX_ORDERS = 12
_MAX_RUN = 100
_MAX_PAIRS = 20_000


def _is_integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_text(value: Any, shortest: int = 1) -> bool:
    return isinstance(value, str) and shortest <= len(value) <= MAX_TEXT and not _has_surrogate(value)


def _has_surrogate(value: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in value)


def _is_country(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("([A-Z]{2})?", value) is not None


def _is_mark(value: str) -> bool:
    return " " <= value <= "~" and not value.isalnum()


def _is_index(value: Any) -> bool:
    return _is_integer(value, -_MAX_INDEX, _MAX_INDEX)


def _is_decimal(value: Any, before: int, behind: int) -> bool:
    return isinstance(value, str) and re.fullmatch(f"-?[0-9]{{1,{before}}}([.][0-9]{{1,{behind}}})?", value) is not None


def _one_of(choices: Any) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: type(value) in (str, int) and value in choices), f"one of {', '.join(map(repr, choices))}"


_TEXT = (_is_text, f"a text of 1 to {MAX_TEXT} characters")
_SECONDS = (lambda value: _is_integer(value, -_MAX_SECONDS, _MAX_SECONDS), f"an integer up to {_MAX_SECONDS} in size")
_RUN = (lambda value: _is_integer(value, -_MAX_RUN, _MAX_RUN), f"an integer from -{_MAX_RUN} to {_MAX_RUN}")
_LONG_TEXT = (
    lambda value: isinstance(value, str) and 1 <= len(value) <= _MAX_PAIRS and not _has_surrogate(value),
    f"a text of 1 to {_MAX_PAIRS} characters",
)
_SHORT_DECIMAL = (lambda value: _is_decimal(value, 6, 6), "a decimal of at most 6 and 6 digits")
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
    ("from_run", "kind"): _one_of(tuple(CLASSES)),
    ("from_run", "index"): _RUN,
    ("upto_run", "kind"): _one_of(tuple(CLASSES)),
    ("upto_run", "index"): _RUN,
    ("parts", "separator"): _TEXT,
    ("parts", "first"): _INDEX,
    ("parts", "last"): _INDEX,
    ("check_digit", "kind"): _one_of(CHECK_DIGITS),
    ("isbn", "length"): _one_of(ISBN_LENGTHS),
    ("mod_97", "country"): (_is_country, "two capital letters, or empty"),
    ("read_duration", "first"): _one_of(FIRST_UNITS),
    ("write_duration", "layout"): _one_of(DURATION_LAYOUTS),
    ("ratio", "digits"): (lambda value: _is_integer(value, 0, 6), "an integer from 0 to 6"),
    ("total", "kind"): _one_of(TOTALS),
    ("all_runs", "kind"): (
        lambda value: isinstance(value, str) and (value in CLASSES or (len(value) == 1 and _is_mark(value))),
        f"one of {', '.join(map(repr, CLASSES))}, or one printable ASCII character, no letter and no digit",
    ),
    ("all_runs", "least"): (lambda value: _is_integer(value, 1, 9), "an integer from 1 to 9"),
    ("all_runs", "mark"): (lambda value: _is_text(value, 0) and len(value) <= 9, "a text of at most 9 characters"),
    ("pairs", "keys"): _LONG_TEXT,
    ("pairs", "values"): _LONG_TEXT,
    ("nth_number", "index"): _INDEX,
    ("nth_number", "mark"): _one_of(DECIMAL_MARKS),
    ("round_to", "after"): _SHORT_DECIMAL,
    ("round_to", "before"): _SHORT_DECIMAL,
    ("round_to", "interval"): (
        lambda value: _is_decimal(value, 6, 6) and value[0] != "-" and bool(value.strip("0.")),
        "a decimal above 0 of at most 6 and 6 digits",
    ),
    ("round_to", "mode"): _one_of(ROUNDINGS),
    ("write_number", "least"): (lambda value: _is_integer(value, 0, 18), "an integer from 0 to 18"),
    ("write_number", "most"): (
        lambda value: value is None or _is_integer(value, 0, 18),
        "an integer from 0 to 18, or null",
    ),
    ("write_number", "mark"): _one_of(DECIMAL_MARKS),
    ("write_number", "group"): _one_of(GROUPS),
    ("move_time", "after"): _SECONDS,
    ("move_time", "before"): _SECONDS,
    ("move_time", "interval"): (lambda value: _is_integer(value, 1, DAY), f"an integer from 1 to {DAY}"),
    ("read_time", "orders"): (
        lambda value: (
            _is_text(value) and 1 <= len(value.split(" ")) <= _MAX_ORDERS and set(value.split(" ")) <= {*ORDERS}
        ),
        f"1 to {_MAX_ORDERS} names of orders with a space between, of {', '.join(ORDERS)}",
    ),
    ("read_time", "pivot"): (lambda value: _is_integer(value, 0, 100), "an integer from 0 to 100"),
    ("write_time", "layout"): (
        lambda value: _is_text(value) and is_layout(value),
        "a layout with at least one part of a time, such as '%Y-%m-%d'",
    ),
    ("move_date", "unit"): _one_of(CALENDAR_UNITS),
    ("move_date", "months"): (lambda value: _is_integer(value, -1200, 1200), "an integer from -1200 to 1200"),
    ("move_date", "days"): (lambda value: _is_integer(value, -36_500, 36_500), "an integer from -36500 to 36500"),
    ("read_serial", "origin"): _one_of(SERIALS),
    ("write_serial", "origin"): _one_of(SERIALS),
    ("coded", "code"): _one_of(tuple(CODES)),
    ("scientific", "digits"): (lambda value: _is_integer(value, 0, 9), "an integer from 0 to 9"),
    ("scientific", "mark"): _one_of(EXPONENT_MARKS),
    ("weighted_sum", "weights"): (
        lambda value: isinstance(value, str) and is_weights(value),
        "two to four whole numbers of at most 8 digits with a space between",
    ),
    ("weighted_sum", "divisor"): (lambda value: _is_integer(value, 1, 10**6), "an integer from 1 to 1000000"),
    ("unit_part", "unit"): (lambda value: _is_integer(value, 1, 10**9), "an integer from 1 to 1000000000"),
    ("unit_part", "modulus"): (lambda value: _is_integer(value, 0, 10**9), "an integer from 0 to 1000000000"),
    ("each_part", "separator"): (lambda value: _is_text(value, 0), f"a text of at most {MAX_TEXT} characters"),
    ("each_part", "width"): (lambda value: _is_integer(value, 0, 64), "an integer from 0 to 64"),
    ("each_part", "order"): _one_of(PART_ORDERS),
    ("each_part", "joiner"): (lambda value: _is_text(value, 0) and len(value) <= 9, "a text of at most 9 characters"),
    ("each_part", "steps"): (
        lambda value: (
            isinstance(value, tuple)
            and len(value) <= MAX_ELEMENT_STEPS
            and all(step.name in ELEMENT_STEPS for step in value)
        ),
        f"at most {MAX_ELEMENT_STEPS} steps of {', '.join(ELEMENT_STEPS)}",
    ),
    ("translate", "old"): (
        lambda value: _is_text(value) and len(value) <= 64 and len(set(value)) == len(value),
        "1 to 64 different characters",
    ),
    ("translate", "new"): (lambda value: _is_text(value, 0) and len(value) <= 64, "a text of at most 64 characters"),
    ("gaps", "mark"): (lambda value: _is_text(value) and len(value) <= 9, "a text of 1 to 9 characters"),
    ("count", "kind"): _one_of(COUNTED),
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
    """Raise when the steps of a piece, by what they replace or put in, could make a text very much longer.

    A replacement of each character by a thousand, four times over, makes 10^12 of one.

    Raises
    ------
    InvalidParameterError
    """
    growth = 1.0
    for step in steps:
        if step.name == "replace":
            growth *= max(1.0, len(step.new.encode()) / len(step.old.encode()))
        elif step.name == "all_runs":  # between two runs there is one character at least
            growth *= max(1.0, (1 + len(step.mark.encode())) / 2)
        elif step.name == "gaps":
            growth *= (2 + len(step.mark.encode())) / 2
        elif step.name == "translate":
            growth *= max(1, *(len(c.encode()) for c in step.new or " "))
        elif step.name == "each_part":  # a part may be one character
            longest = [inner.width if inner.name == "pad" else 4 for inner in step.steps]
            growth *= max(1, *longest, 1) * (4 if len(longest) > 1 else 1) + len(step.joiner.encode())
    if growth > _MAX_GROWTH:
        raise InvalidParameterError(
            f"the replacements of a piece must make a text at most {_MAX_GROWTH} times as long, and these "
            f"make it {growth:.3g} times as long"
        )


def check_parts(separator: str, width: int) -> None:
    """Raise unless the parts of step 'each_part' have a separator or a width, and not both.

    Raises
    ------
    InvalidParameterError
    """
    if bool(separator) == bool(width):
        raise InvalidParameterError(
            f"`separator` and `width` of step 'each_part': one must be empty or 0, got {separator!r:.80} and {width}"
        )


def check_pairs(keys: str, values: str) -> None:
    """Raise unless given pairs are as many keys as values, and no key comes twice.

    Raises
    ------
    InvalidParameterError
    """
    listed = keys.split(SEPARATOR)
    texts = values.split(SEPARATOR)
    if len(listed) != len(texts) or len(set(listed)) != len(listed) or max(map(len, texts)) > MAX_TEXT:
        raise InvalidParameterError(
            "`keys` and `values` of step 'pairs' must be equally many, no key twice, no value above "
            f"{MAX_TEXT} characters; got {keys!r:.80}, {values!r:.80}"
        )


def check_condition(kind: Any, text: Any, is_negated: Any) -> None:
    """Raise unless kind, text and negation of a condition are legal ones.

    Raises
    ------
    InvalidParameterError
    """
    if not isinstance(kind, str) or kind not in CONDITIONS:
        raise InvalidParameterError(
            f"`condition` of a program must be one of {', '.join(map(repr, CONDITIONS))}, got {kind!r:.80}"
        )
    if kind == "has":
        is_legal, legal = isinstance(text, str) and text in CLASSES, f"one of {', '.join(map(repr, CLASSES))}"
    elif kind == "longer":
        is_legal, legal = isinstance(text, str) and re.fullmatch("[0-9]{1,4}", text) is not None, "1 to 4 digits"
    elif kind == "at least":
        is_legal, legal = _is_decimal(text, 12, 6), "a decimal of at most 12 and 6 digits"
    elif kind == "divisible":
        is_legal = isinstance(text, str) and re.fullmatch("[1-9][0-9]{0,5}", text) is not None
        legal = "a whole number of 1 to 6 digits above 0"
    elif kind == "shape":
        is_legal = _is_text(text, 0) and is_shape(text)
        legal = (
            f"a shape of at most {MAX_SHAPE} characters: 'A' for each run of letters, '9' for each run of digits, "
            "other characters as they are"
        )
    else:
        is_legal, legal = _is_text(text), f"a text of 1 to {MAX_TEXT} characters"
    if not is_legal:
        raise InvalidParameterError(f"`text` of condition {kind!r} must be {legal}, got {text!r:.80}")
    if not isinstance(is_negated, bool):
        raise InvalidParameterError(f"`negated` of condition {kind!r} must be true or false, got {is_negated!r:.80}")
