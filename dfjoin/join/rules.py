"""Rules by which the cells of several rows of a key become one: their names, what they need, several for a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.join.output_names import free_name

RULES = (
    "mean",
    "sum",
    "min",
    "max",
    "median",
    "std",
    "first",
    "last",
    "count",
    "nunique",
    "most_frequent",
    "majority",
    "latest",
    "share",
)
"""Aggregation rules: statistics of the non-null values of a key's rows; first and last take a row's value as it is."""

KEEPING = tuple(rule for rule in RULES if rule not in ("std", "count", "nunique", "share"))
"""Rules that give a cell back as it is when a key has one row."""

SERIES_RULES = ("trend", "top_share")
"""Further rules, of steps that have several for a column: the change of a number from one row of a key to the next, by
least squares, and the share of the rows with a value that have the most frequent one."""

COMPUTED = ("mean", "sum", "median", "std", "trend")
"""Rules that compute something of the numbers of a key's rows."""

CHOOSING = tuple(rule for rule in KEEPING if rule not in COMPUTED)
"""Rules that choose the value of one of a key's rows."""

AGE_RULES = ("trend", "since")
"""Rules that need dates: the change from one row of a key to the next, and the days from the end of the latest row's
date or period to the date of the frame's row, so that yesterday is 0."""

_WINDOW = re.compile(r"(\w+), (\d+) days")

_BY_KIND = {
    "measure": ("mean", "std", "min", "max"),
    "boolean": ("share",),
    "date": ("min", "max"),
    "name": ("majority", "nunique", "top_share"),
}
_IN_ORDER = {"measure": ("last", "trend"), "boolean": ("last",), "date": ("since",), "name": ("last",)}


def check_aggregate(value: Any, columns: list[str]) -> Any:
    """Check the `aggregate` argument: ``"auto"``, None, one rule, or a dict of column → rule."""
    if value is None:
        return value
    if isinstance(value, str):
        return value if value == "auto" else _rule(value)
    if not isinstance(value, dict):
        raise InvalidTypeError(
            f'`aggregate` must be "auto", None, a rule or a dict of column → rule, got {type(value).__name__}'
        )
    for name in value:
        if name not in columns:
            raise ColumnNotFoundError(
                f"`aggregate` must name columns of the joined table ({shortlist(columns)}), got {show(name)}"
            )
    return {name: rule if rule in SERIES_RULES else _rule(rule) for name, rule in value.items()}


def _rule(rule: Any) -> str:
    """Check one rule."""
    if not isinstance(rule, str) or rule not in RULES:
        raise InvalidParameterError(f"`aggregate` must be one of {shortlist(RULES, 20)}, got {show(rule)}")
    return rule


@dataclass(frozen=True)
class CellRules:
    """How the cells of a key's rows become one, for each column of a right table.

    Parameters
    ----------
    aggregate : str or dict
        As `check_aggregate` returns it.
    is_unique : bool
        Each key of the right table has one row, so that cells keep value and type.
    is_measure : callable
        Tells of the name of a column of numbers whether a mean of its values says something.
    """

    aggregate: Any
    is_unique: bool
    is_measure: Callable[[str], bool]

    def rule_of(self, name: str, kind: str) -> str:
        """Return the rule for a column.

        ``"auto"``: a measure → mean, a boolean → share, everything else, and where keys have one row each → majority.

        Parameters
        ----------
        name : str
        kind : str
            See `cell_kind`.

        Examples
        --------
        >>> rules = CellRules("auto", False, lambda name: name == "area")
        >>> rules.rule_of("area", "float"), rules.rule_of("zip_code", "integer"), rules.rule_of("is_open", "bool")
        ('mean', 'majority', 'share')
        """
        if isinstance(self.aggregate, dict) and name in self.aggregate:
            return self.aggregate[name]
        if isinstance(self.aggregate, str) and self.aggregate != "auto":
            return self.aggregate
        if self.is_unique:
            return "majority"
        if kind == "bool":
            return "share"
        return "mean" if kind in ("integer", "float", "decimal") and self.is_measure(name) else "majority"


def without_dates(aggregate: Any, columns: Iterable[str], dated: dict[str, Any] | None) -> Any:
    """Write one rule for all columns as a rule for each, but for the dates of the rows that an as-of join chooses.

    Parameters
    ----------
    aggregate : str or dict
        As `check_aggregate` returns it.
    columns : iterable of str
        Of the right side.
    dated : dict or None
        Of the step.

    Examples
    --------
    >>> without_dates("mean", ["price", "day"], {"on": "day", "right_on": ["day"], "rule": "latest"})
    {'price': 'mean'}
    """
    if dated is None or dated["rule"] != "latest" or isinstance(aggregate, dict) or aggregate == "auto":
        return aggregate
    return {name: aggregate for name in columns if name not in dated["right_on"]}


def check_rule(name: Any, dtype: Any, kind: str, rule: str, argument: str = "aggregate") -> None:
    """Raise `InvalidParameterError` when a rule needs numbers or booleans and a column holds others."""
    needs_number = rule in COMPUTED and kind not in ("bool", "integer", "float", "decimal", "complex")
    if needs_number or (rule == "share" and kind != "bool"):
        needed = "booleans" if rule == "share" else "numbers"
        raise InvalidParameterError(
            f"`{argument}` rule {rule!r} needs {needed}, but column {name!r} holds {dtype}; use "
            '"most_frequent", "first", "count" or "nunique"'
        )


def names_of_rules(columns: Iterable[str], aggregate: Any) -> dict[str, tuple[str, str]]:
    """Return the names of the aggregates of columns that have several, each with its column and rule.

    Parameters
    ----------
    columns : iterable of str
        Of the right side. An aggregate gets another name where one of them that stays has its name.
    aggregate : str, dict or None
        Of a step.

    Examples
    --------
    >>> list(names_of_rules(["price", "price (max)"], {"price": ["mean", "mean, 30 days", "max"]}))
    ['price (mean)', 'price (mean, 30 days)', 'price (max)__2']
    """
    given = aggregate if isinstance(aggregate, dict) else {}
    several = [name for name in columns if isinstance(given.get(name), list)]
    taken: set[Hashable] = {name for name in columns if name not in several}
    return {free_name(f"{name} ({rule})", "2", taken): (name, rule) for name in several for rule in given[name]}


def check_rules(rules: Any) -> tuple[str, ...]:
    """Check `aggregates`, a list of rules.

    Raises
    ------
    InvalidParameterError
        If one of them is no rule, or there is none.
    """
    legal = tuple(dict.fromkeys((*RULES, *SERIES_RULES, *AGE_RULES)))
    own = [rules] if isinstance(rules, str) else rules
    if isinstance(own, (list, tuple)) and not own:
        raise InvalidParameterError(
            f"`aggregates` must be rules ({shortlist(legal, 20)}), got {show(rules)}; None is one rule a column"
        )
    for rule in own if isinstance(own, (list, tuple)) else [own]:
        if rule not in legal:
            raise InvalidParameterError(f"`aggregates` must be rules ({shortlist(legal, 20)}), got {show(rule)}")
    return tuple(own)


def rules_by_kind(wanted: Any, kind: str, *, is_measure: bool, is_dated: bool) -> tuple[str, ...]:
    """Return the aggregates of a column.

    Parameters
    ----------
    wanted : "auto" or sequence of str
        Rules; those are taken that suit the column. "auto": what tells most about columns of its kind.
    kind : str
        As the catalogue has it: "text", "integer", "decimal", "float", "boolean", "date", or another one.
    is_measure : bool
        Whether a mean of its numbers says something.
    is_dated : bool
        Whether the rows have an order in time.

    Examples
    --------
    >>> rules_by_kind("auto", "date", is_measure=False, is_dated=True)
    ('min', 'max', 'since')
    >>> rules_by_kind(["median", "nunique", "share"], "text", is_measure=False, is_dated=False)
    ('nunique',)
    """
    numbers = ("integer", "decimal", "float")
    which = "measure" if kind in numbers and is_measure else kind if kind in ("boolean", "date") else "name"
    if wanted == "auto":
        return (*_BY_KIND[which], *(_IN_ORDER[which] if is_dated else ()))
    needs = dict.fromkeys(("mean", "median", "sum", "std", "trend"), "measure") | {"share": "boolean", "since": "date"}
    return tuple(r for r in wanted if needs.get(r, which) == which and (is_dated or r not in AGE_RULES))


def split_rule(name: str, rule: str, *, is_dated: bool) -> tuple[str, int | None]:
    """Return a rule without its window, and the days of the window, None without one.

    Raises
    ------
    InvalidParameterError
        If it needs the order of rows in time and they have none.

    Examples
    --------
    >>> split_rule("price", "mean, 30 days", is_dated=True)
    ('mean', 30)
    """
    window = _WINDOW.fullmatch(rule)
    base = window[1] if window else rule
    if (window or base in AGE_RULES) and not is_dated:
        raise InvalidParameterError(f"`aggregates` rule {rule!r} of column {name!r} needs the dates of `as_of`")
    return base, int(window[2]) if window else None
