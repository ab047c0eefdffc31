"""What a join is asked for, checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.plan import HOWS, JoinPlan
from dfjoin.join.rules import RULES
from dfjoin.programs.entity_operators import check_aliases
from dfjoin.search.distance.distance_join import PARTNERS
from dfjoin.search.modes import mode_of
from dfjoin.search.params import MODES, RADIUS_UNITS, SearchParams, search_params
from dfjoin.store.table import ON_STALE
from dfjoin.transform.taught_join import Example, as_taught, is_taught, is_unicode

RELATION_OPTIONS = ("transform", "fuzzy", "precision", "examples", "reviewed")
"""Options that say how the keys of two frames may be related."""

_PRECISION = 0.95

CHANCE_SCORE = 0.1
"""Score below which chance explains what a candidate shares, as the verdict says."""

MANY_HOWS = ("left", "inner", "asof")
"""Ways to join more than one table: rows that only one of them has would have no keys for the others."""


@dataclass(frozen=True)
class JoinOptions:
    """How to join; the arguments of ``auto_join`` after they were checked.

    Parameters
    ----------
    on, right_on : column label, list of labels or None
        The key of either side; None: to be chosen.
    k : int
        Tables of a lake to join at most.
    threshold : float
        Smallest containment of the left key in the right one.
    min_score : float
        Smallest score of a candidate of a lake.
    tables, exclude : sequence of str or None
        Patterns of the tables of a lake that may be joined, and of those that may not.
    mode : str
        How candidates are found over a lake, one of `dfjoin.search.params.MODES`.
    radius : float or None
        Distance up to which values match, of the modes that search by distance.
    radius_unit : {"fraction", "by_length", "absolute", "m", "km", None}
    metric : str or None
        How these modes measure the distance of texts.
    columns : tuple of labels or None
        Columns to bring; None: all but the key.
    how : {"left", "inner", "right", "outer", "asof"}
        Which rows stay; ``"asof"``: those of the frame, each with the latest row that is not dated after it.
    aggregate : str, dict or None
        How several right rows of a key become one; None keeps them. Checked against the columns of each table.
    max_expansion : float
        Most rows out per row in.
    indicator : bool
        Add a column that says which rows found a partner.
    transform, fuzzy : bool or None
        Whether two frames may be related by programs, and by string similarity; None: where equal keys do not do.
        `transform` may be "accept", too: a relation in doubt is joined.
    precision : float
        Share of right pairs that the fuzzy join is to reach.
    examples : tuple of (left value, right value) or None
        Values that belong together, to learn programs from: a text, or a tuple of texts for several columns.
    reviewed : tuple of (left value, right value, bool) or None
        Texts that are joined, or not, whatever else says.
    aliases : bool, dict or None
        Whether names of one thing in other languages, and codes, are equal, see
        `dfjoin.transform.relations.relate_entities`; a dict: with further names → what they mean. None: between frames.
    pad : int or None
        Digits to which integers of the key are written with zeros in front.
    dayfirst : bool or None
        How all-digit dates of the key are read; None: as the column itself tells.
    plan : JoinPlan or dict or None
        How two other frames were joined, to join these two so.
    partners : {"nearest", "all", None}
        Which keys within the radius are partners, of a candidate that was found by distance.
    min_margin : float or None
        By how much the next key has to be farther than the nearest one.
    on_no_match : {"warn", "raise", "ignore"}
        What to do when nothing is joined.
    on_stale : {"error", "warn", "ignore"}
        What to do when a table's file is not the one that was indexed.
    as_of : column label or None
        Dates of the frame, of a join with tables of a lake as of them; `asof_join.asof_options` tells it from `on`.
    ignores_case : bool
        Names of columns that differ by case alone are one name, as in DuckDB and most sessions of Spark.
    holds_arrow : bool
        The frame holds Arrow columns of another library: columns of a lake are added as Arrow, too.
    """

    on: Any = None
    right_on: Any = None
    k: int = 1
    threshold: float = 0.5
    min_score: float = 0.5
    tables: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    mode: str = "exact"
    radius: float | None = None
    radius_unit: str | None = None
    metric: str | None = None
    columns: tuple[Any, ...] | None = None
    how: str = "left"
    aggregate: Any = "auto"
    max_expansion: float = 10.0
    indicator: bool = False
    transform: bool | str | None = None
    fuzzy: bool | None = None
    precision: float | None = None
    examples: tuple[Example, ...] | None = None
    reviewed: tuple[tuple[str, str, bool], ...] | None = None
    aliases: bool | dict[str, str] | None = None
    pad: int | None = None
    dayfirst: bool | None = None
    plan: Any = None
    partners: str | None = None
    min_margin: float | None = None
    on_no_match: str = "warn"
    on_stale: str = "error"
    as_of: Any = None
    ignores_case: bool = False
    holds_arrow: bool = False

    def lake_search(self, **more: Any) -> SearchParams:
        """Return the search of a lake for tables that may be joined, by usefulness; `more` is what it says besides."""
        own = {name: getattr(self, name) for name in ("mode", "pad", "dayfirst", "radius", "radius_unit", "metric")}
        given = {"tables": self.tables, "exclude": self.exclude}
        patterns = {name: list(own) for name, own in given.items() if own is not None}
        return search_params(rank="useful", **own, **patterns, **more)

    def least_score(self, is_unique: bool) -> float:
        """Return the smallest score of a candidate of a lake that may be joined.

        Parameters
        ----------
        is_unique : bool
            The key occurs once in the candidate's table.

        Notes
        -----
        Who names the key or the table has decided: if each row finds one row at most, the score orders candidates and
        refuses none whose values are not shared by chance; where tables are named, not even these. A `min_score`
        that is not the default holds in any case.
        """
        has_on = self.on is not None and self.on != "*"
        if not is_unique or self.min_score != JoinOptions.min_score or not (has_on or self.tables is not None):
            return self.min_score
        return 0.0 if self.tables is not None else CHANCE_SCORE

    @property
    def likeness_precision(self) -> float:
        """The precision that matching by similarity aims at."""
        return _PRECISION if self.precision is None else self.precision

    @property
    def is_by_equality(self) -> bool:
        """Whether `mode` finds keys that are equal; else they join within a distance, which has its own precision."""
        return mode_of(self.mode).is_by_equality

    @property
    def given_aliases(self) -> dict[str, str] | None:
        """Names that the user gives, and what they mean."""
        return self.aliases if isinstance(self.aliases, dict) else None

    @property
    def keeps_right_rows(self) -> bool:
        """Whether rows stay that only the right side has."""
        return self.how in ("right", "outer")

    @property
    def is_relation_requested(self) -> bool:
        """Whether a relation of the keys is to be found in any case, equal keys or not."""
        return bool(self.transform or self.fuzzy or self.examples or self.reviewed)

    @property
    def is_relation_allowed(self) -> bool:
        """Whether a relation of the keys may be found where equal keys do not do."""
        return self.is_relation_requested or self.transform is None or self.fuzzy is None


def _check_columns(value: Any, name: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(label, Hashable) for label in value):
        raise InvalidTypeError(f"`{name}` must be a column name or a list of column labels, got {check.show(value)}")
    return tuple(value)


def _check_aggregate(value: Any, name: str) -> Any:
    """Check the rules of a dict, whatever columns they are for; others are checked where the columns are known."""
    if isinstance(value, dict):
        for rule in value.values():
            check.check_choice(rule, name, RULES)
    return value


_MOST = 2.0**63
"""A larger expansion is not distinguished from this one."""


def _check_expansion(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= _MOST:
        raise InvalidParameterError(f"`{name}` must be a number of at least 1, got {check.show(value)}")
    return float(value)


def _check_examples(value: Any, name: str) -> tuple[Example, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidTypeError(
            f"`{name}` must be a list of pairs (left value, right value), got {check.show(value)}; give at least one"
        )
    for pair in value:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(map(is_taught, pair))):
            raise InvalidTypeError(
                f"`{name}` must be pairs of texts (left value, right value), with a tuple of texts for several "
                f"columns; got {check.show(pair)}"
            )
    return tuple((as_taught(left), as_taught(right)) for left, right in value)


def _check_reviewed(value: Any, name: str) -> tuple[tuple[str, str, bool], ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidTypeError(f"`{name}` must be a list of (left value, right value, bool), got {check.show(value)}")
    for one in value:
        is_pair = isinstance(one, (list, tuple)) and [type(part) for part in one] == [str, str, bool]
        if not is_pair or not all(map(is_unicode, one[:2])):
            raise InvalidTypeError(
                f"`{name}` must be triples of two texts and a bool, (left value, right value, True if they belong "
                f"together), got {check.show(one)}"
            )
    return tuple((left, right, is_right) for left, right, is_right in value)


def _check_plan(value: Any, name: str) -> Any:
    if isinstance(value, (JoinPlan, dict)):
        return value
    raise InvalidTypeError(
        f"`{name}` must be a JoinPlan or its dict, as in attrs['dfjoin']['plan'] of a join of two frames, got "
        f"{check.show(value)}"
    )


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "mode": check.one_of(*MODES),
    "radius": check.check_distance,
    "radius_unit": check.one_of(None, *RADIUS_UNITS),
    "metric": check.check_text,
    "how": check.one_of(*HOWS, "asof"),
    "k": check.check_positive_int,
    "threshold": check.check_fraction,
    "min_score": check.check_fraction,
    "tables": check.check_patterns,
    "exclude": check.check_patterns,
    "indicator": check.one_of(True, False),
    "transform": check.one_of(None, True, False, "accept"),
    "fuzzy": check.one_of(None, True, False),
    "precision": check.check_fraction,
    "examples": _check_examples,
    "reviewed": _check_reviewed,
    "max_expansion": _check_expansion,
    "columns": _check_columns,
    "aggregate": _check_aggregate,
    "aliases": check_aliases,
    "pad": check.check_width,
    "dayfirst": check.one_of(None, True, False),
    "plan": _check_plan,
    "partners": check.one_of(None, *PARTNERS),
    "min_margin": check.check_distance,
    "on_no_match": check.one_of("warn", "raise", "ignore"),
    "on_stale": check.one_of(*ON_STALE),
}
"""Argument → its check, which returns the value to use; None needs none where it is the default.

Keys and rules are checked against the columns, later.
"""


_MAY_BE_NONE = {name for name in _CHECKS if getattr(JoinOptions, name) is None}


def join_options(**arguments: Any) -> JoinOptions:
    """Check the arguments of a join and make its options of them.

    Parameters
    ----------
    **arguments
        Of `dfjoin.auto_join`, without `df` and `other`; those that are left out have their defaults.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If one of them is illegal, whatever is joined.
    """
    given = {name: value for name, value in arguments.items() if value is not None or name not in _MAY_BE_NONE}
    checked = {name: test(given[name], name) for name, test in _CHECKS.items() if name in given}
    options = JoinOptions(**given | checked)
    if options.examples is not None and options.transform is False:
        raise InvalidParameterError("`examples` are what programs are learned from; leave out transform=False")
    if options.aliases and (options.transform is False or options.examples is not None):
        other = "transform=False" if options.transform is False else "`examples`"
        raise InvalidParameterError(
            f"`aliases` relate keys by programs of their own, got {check.show(options.aliases)} and {other}; leave one "
            "of them out"
        )
    for name in ("partners", "min_margin"):
        value = getattr(options, name)
        if options.precision is not None and value is not None:
            raise InvalidParameterError(
                f"`{name}` must be left out where `precision` is given, got {value!r}: keys join that are likely right"
            )
    if options.partners == "all" and options.min_margin is not None:
        raise InvalidParameterError(
            f'`min_margin` belongs to partners="nearest", got {options.min_margin!r}; leave `partners` out'
        )
    if options.k > 1 and options.how not in MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left", "inner" or "asof" when several tables are joined (k={options.k}), got '
            f"{options.how!r}"
        )
    return options


def refuse_options(options: JoinOptions, what: str, names: Sequence[str]) -> None:
    """Raise when an option was given that means nothing where `other` is what `what` says."""
    for name in names:
        value, default = getattr(options, name), getattr(JoinOptions, name)
        if value is not default and not (type(value) is type(default) and value == default):
            raise InvalidParameterError(
                f"`{name}` does not apply when `other` is {what}, got {check.show(value)}; leave it out"
            )
