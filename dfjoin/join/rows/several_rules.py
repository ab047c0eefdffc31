"""Several aggregates of one column: each rule gets a copy of the column, named as ``column (rule)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.join.aggregate import RULES, SERIES_RULES, cell_kind, check_rule
from dfjoin.join.output_names import free_name
from dfjoin.join.rows.execute import RightSide

DATED_RULES = ("trend", "since")
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


def check_rules(rules: Any, argument: str) -> tuple[str, ...]:
    """Check a list of rules.

    Raises
    ------
    InvalidParameterError
        If one of them is no rule, or there is none.
    """
    legal = tuple(dict.fromkeys((*RULES, *SERIES_RULES, *DATED_RULES)))
    own = [rules] if isinstance(rules, str) else rules
    if isinstance(own, (list, tuple)) and not own:
        raise InvalidParameterError(
            f"`{argument}` must be rules ({shortlist(legal, 20)}), got {show(rules)}; None is one rule a column"
        )
    for rule in own if isinstance(own, (list, tuple)) else [own]:
        if rule not in legal:
            raise InvalidParameterError(f"`{argument}` must be rules ({shortlist(legal, 20)}), got {show(rule)}")
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
    return tuple(r for r in wanted if needs.get(r, which) == which and (is_dated or r not in DATED_RULES))


def spread_rules(right: RightSide, aggregate: Any) -> tuple[RightSide, Any]:
    """Give a right side a copy of a column for each of its rules, where a step has several for it.

    Parameters
    ----------
    right : RightSide
        With `ages` where a rule needs the order of the rows in time.
    aggregate : str, dict or None
        Of a step: a dict may have a list of rules for a column.

    Returns
    -------
    right : RightSide
        Where rows have ages, the oldest row first: ``last`` is the latest one then.
    aggregate : str, dict or None
        One rule for each column.

    Raises
    ------
    InvalidParameterError
        If a rule needs dates and the rows have none, or does not suit the values of its column.
    """
    if not isinstance(aggregate, dict) or not any(isinstance(rules, list) for rules in aggregate.values()):
        return right, aggregate
    if right.ages is not None:
        right = _oldest_first(right, right.ages)
    kinds = dict(right.object_kinds)
    copies = names_of_rules(right.frame.columns, aggregate)
    stays = [name for name in right.frame.columns if not isinstance(aggregate.get(name), list)]
    made = {name: right.frame[name] for name in stays}
    rules = {name: aggregate[name] for name in stays if aggregate.get(name) is not None}
    for copy, (name, rule) in copies.items():
        made[copy], rules[copy] = _copy(right, name, rule)
        kinds |= {copy: kinds[name]} if name in kinds and rule != "since" else {}
    frame = pd.DataFrame(made, index=right.frame.index)
    return replace(right, frame=frame, object_kinds=kinds), rules


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
    if (window or base in DATED_RULES) and not is_dated:
        raise InvalidParameterError(f"`aggregates` rule {rule!r} of column {name!r} needs the dates of `as_of`")
    return base, int(window[2]) if window else None


def _oldest_first(right: RightSide, ages: np.ndarray) -> RightSide:
    order = np.argsort(-ages, kind="stable")
    take: Callable[[pd.DataFrame], pd.DataFrame] = lambda side: side.iloc[order].reset_index(drop=True)  # noqa: E731
    rows = None if right.rows is None else right.rows[order]
    sides = take(right.frame), take(right.keys)
    return replace(right, frame=sides[0], keys=sides[1], codes=right.codes[order], rows=rows, ages=ages[order])


def _copy(right: RightSide, name: str, rule: str) -> tuple[pd.Series, str]:
    """Return the cells that a rule is applied to, and the rule without its window."""
    column, (base, days) = right.frame[name], split_rule(name, rule, is_dated=right.ages is not None)
    if base != "since":
        check_rule(name, column.dtype, cell_kind(column, right.object_kinds.get(name, "")), base, "aggregates")
    else:
        assert right.ages is not None
        column, base = pd.Series(right.ages).where(column.notna().to_numpy()), "min"
    if days is not None:
        assert right.ages is not None
        column = column.where(right.ages < days)  # a row that ended a day ago is of the day before
    return column, base
