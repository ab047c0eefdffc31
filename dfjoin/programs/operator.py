"""Operators of programs as data: one record each, and the step that is an operator with values for its parameters.

An operator has one meaning in four forms: a function of one text, a column of texts, Python source and Spark SQL.
The function (of `scalar` and its kin) is the definition. The column form applies it to each distinct text, and the
source pastes it, so that only the SQL is written by hand, and a kernel where one pays. The texts that steps take are
never empty: an empty result counts as no result, and a null stays null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.programs.string_column import StringColumn

MAX_TEXT = 1000
"""Characters of a text of a stored program."""
_MAX_INDEX = 1_000_000


class Legal(NamedTuple):
    """What a parameter may be: a test, and the same in words, behind "must be"."""

    test: Callable[[Any], bool]
    words: str


def is_text(value: Any, shortest: int = 1, longest: int = MAX_TEXT) -> bool:
    """Tell whether a value is a text that a stored program may hold: one that UTF-8 can write, and not too long."""
    if not isinstance(value, str) or not shortest <= len(value) <= longest:
        return False
    return not any("\ud800" <= c <= "\udfff" for c in value)


def integer(low: int, high: int) -> Legal:
    """Allow whole numbers between two."""
    return Legal(lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}")


def decimal(before: int, behind: int) -> Legal:
    """Allow plain decimals, as texts, with so many digits on either side of the point."""
    pattern = re.compile(f"-?[0-9]{{1,{before}}}([.][0-9]{{1,{behind}}})?")
    words = f"a decimal of at most {before} and {behind} digits"
    return Legal(lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None, words)


def one_of(choices: Collection[Any]) -> Legal:
    """Allow the texts or numbers of a list."""
    listed = tuple(choices)
    return Legal(lambda value: type(value) in (str, int) and value in listed, f"one of {', '.join(map(repr, listed))}")


def or_null(legal: Legal) -> Legal:
    """Allow None too."""
    return Legal(lambda value: value is None or legal.test(value), f"{legal.words}, or null")


TEXT = Legal(is_text, f"a text of 1 to {MAX_TEXT} characters")
OPTIONAL_TEXT = Legal(lambda value: is_text(value, 0), f"a text of at most {MAX_TEXT} characters")
SHORT_TEXT = Legal(lambda value: is_text(value, 0, 9), "a text of at most 9 characters")
INDEX = integer(-_MAX_INDEX, _MAX_INDEX)


@dataclass(frozen=True, eq=False)
class Operator:
    """All that is known of an operator; a call with values for its parameters gives a step.

    Parameters
    ----------
    name : str
        Under which it is stored.
    parameters : mapping of str to Legal
        Name of each parameter → its legal values.
    function : callable, or mapping of str to callable
        What the operator makes of one text and its arguments: None or an empty text where it does not apply. Of
        several, the first parameter names the one.
    words : str or callable
        For people, as what follows ``column.``: a format of the parameters, or a function of the step.
    sql : callable
        Writes a step over an operand as Spark SQL.
    arguments : callable, optional
        Makes the arguments of the function behind the text from a step; default: the values of the parameters.
    apply : callable, optional
        A faster form for a whole column.
    weight : int
        Smaller for a more likely operator: the learner adds up weights, and prefers the least sum.
    computes : bool
        Whether numbers or times are computed, so that results may agree by accident.
    defaults : tuple
        Values of the last parameters.
    growth : callable, optional
        How many times as long as its text a step can make it; only of those that can.
    fault : callable, optional
        Says of a step whose values are legal one by one what is wrong with them together; empty if nothing is.
    """

    name: str
    parameters: Mapping[str, Legal]
    function: Callable[..., Any] | Mapping[str, Callable[..., Any]]
    words: str | Callable[[Step], str]
    sql: Callable[[Step, str], str]
    arguments: Callable[[Step], tuple[Any, ...]] | None = None
    apply: Callable[[Step, StringColumn], StringColumn] | None = None
    weight: int = 3
    computes: bool = False
    defaults: tuple[Any, ...] = ()
    growth: Callable[[Step], float] | None = None
    fault: Callable[[Step], str] | None = None
    indices: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", {name: i for i, name in enumerate(self.parameters)})

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *values: Any, **named: Any) -> Step:
        """Make a step of values for the parameters, by order or by name."""
        if not named and len(values) == len(self.parameters):
            return Step(self, values)
        given = dict(zip(self.parameters, values, strict=False)) | named
        first = len(self.parameters) - len(self.defaults)
        omitted = dict(zip(list(self.parameters)[first:], self.defaults, strict=True))
        if len(values) > len(self.parameters) or (omitted | given).keys() != self.parameters.keys():
            raise TypeError(f"{self.name} takes {shortlist(self.parameters)}, got {values} and {named}")
        return Step(self, tuple((omitted | given)[name] for name in self.parameters))

    def checked(self, given: Mapping[str, Any]) -> Step:
        """Make a step of values that were stored, all of them legal.

        Raises
        ------
        InvalidParameterError
            Always of this class, so that a hostile file raises one kind of error.
        """
        if set(given) != set(self.parameters):
            raise InvalidParameterError(
                f"step {self.name!r} must have the parameters {shortlist(sorted(self.parameters))}, "
                f"got {shortlist(sorted(map(str, given)))}"
            )
        for name, legal in self.parameters.items():
            if not legal.test(given[name]):
                raise InvalidParameterError(
                    f"`{name}` of step {self.name!r} must be {legal.words}, got {given[name]!r:.80}"
                )
        step = self(**given)
        if self.fault and (fault := self.fault(step)):
            raise InvalidParameterError(fault)
        return step


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program: an operator with a value for each parameter, which is an attribute of the step.

    Parameters
    ----------
    operator : Operator
    settings : tuple
        The values, in the order of the parameters.
    """

    operator: Operator
    settings: tuple[Any, ...]
    _made: tuple[Any, tuple[Any, ...]] | None = field(default=None, init=False, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.settings[self.operator.indices[name]]
        except (KeyError, RecursionError):
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in zip(self.operator.parameters, self.settings, strict=True))
        return f"{self.name}({', '.join(shown)})"

    @property
    def name(self) -> str:
        """The stored name of the operator."""
        return self.operator.name

    @property
    def weight(self) -> int:
        """The weight of the operator."""
        return self.operator.weight

    @property
    def computes(self) -> bool:
        """Whether numbers or times are computed."""
        return self.operator.computes

    def python(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the function, and its arguments behind the text."""
        if self._made is None:
            function, make = self.operator.function, self.operator.arguments
            chosen = function if callable(function) else function[self.settings[0]]
            object.__setattr__(self, "_made", (chosen, self.settings if make is None else make(self)))
        return self._made  # type: ignore[return-value]

    def __call__(self, text: str) -> str | None:
        """Return what the step makes of one text; None or empty if it does not apply."""
        function, arguments = self._made or self.python()
        made: str | None = function(text, *arguments)
        return made

    def apply(self, strings: StringColumn) -> StringColumn:
        """Return what the step makes of each text of a column: of each distinct one, or by `Operator.apply`."""
        return self.operator.apply(self, strings) if self.operator.apply else strings.mapped(self)

    def sql(self, operand: str) -> str:
        """Write the step as Spark SQL."""
        return self.operator.sql(self, operand)

    def describe(self) -> str:
        """Write the step for people, as what follows ``column.``."""
        words = self.operator.words
        if callable(words):
            return words(self)
        return words.format(**dict(zip(self.operator.parameters, self.settings, strict=True)))

    def changed(self, **values: Any) -> Step:
        """Return the step with other values."""
        return self.operator(**dict(zip(self.operator.parameters, self.settings, strict=True)) | values)
