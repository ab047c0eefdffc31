"""Names of one thing in many languages: a table of countries, currencies, months and the like, and its step.

The table is made by ``python -m tests.benchmarks.entity_table``, mostly of Unicode CLDR.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import pyarrow as pa

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs import scalar_names
from dfjoin.programs.characters import LOWER, PLAIN
from dfjoin.programs.lookup import MAX_PAIRS_TEXT, SEPARATOR
from dfjoin.programs.operator import Legal, Operator, Step, is_text, one_of
from dfjoin.programs.spark_sql import quote, when_empty
from dfjoin.programs.string_column import StringColumn
from dfjoin.programs.text_operators import translate

ENTITIES = files(__package__).joinpath("entities.tsv.gz")
"""A line for each thing: its kind, its name in English, and its other names."""

GIVEN = "given"
"""Kind of things that only the user has named."""

ENTITY_KINDS = (
    "country",
    "US state",
    "Canadian province",
    "Australian state",
    "German state",
    "Brazilian state",
    "language",
    "currency",
    "unit",
    "month",
    "weekday",
    "chemical element",
    GIVEN,
)
"""Kinds of things; a name may mean another thing in each of them, as ``Georgia``."""

_LONGEST = 100
"""Characters of a name."""

_MOST_KEPT = 64
"""Tables that are kept: one for each kind, and as many for the names of each of a few users."""

_LETTERS = (PLAIN, LOWER)
_RULES = (
    ("[.'\u2018\u2019\u02bc`\u00b4]", ""),
    ("[-\u2010-\u2015_,;:/()&|\u00a0]+", " "),
    (" +", " "),
    ("^ ", ""),
    (" $", ""),
)


def fold_name(text: str) -> str:
    """Write a name as names are compared: no accents of Latin letters, small letters, no full stops, single spaces.

    Examples
    --------
    >>> fold_name("U.S.A."), fold_name("Côte-d\u2019Ivoire"), fold_name("Korea (South)")
    ('usa', 'cote divoire', 'korea south')
    """
    return scalar_names.plain_name(text, _LETTERS, _RULES)


class NameTable(NamedTuple):
    """The names of the things of one kind.

    Parameters
    ----------
    meanings : dict of str to str
        Folded name → the thing, by its name in English.
    names : dict of str to list of str
        The thing → all of its names, as they are written.
    """

    meanings: dict[str, str]
    names: dict[str, list[str]]

    def share(self, texts: Iterable[str]) -> float:
        """Return the share of some names, folded already, that the table has; 0 of none."""
        known = [text in self.meanings for text in texts]
        return sum(known) / len(known) if known else 0.0


@cache
def _lines() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {kind: [] for kind in ENTITY_KINDS}
    for line in gzip.decompress(ENTITIES.read_bytes()).decode().splitlines():
        kind, name, others = line.split("\t")
        found[kind].append([name, *others.split(SEPARATOR)])
    return found


@lru_cache(maxsize=_MOST_KEPT)
def name_table(kind: str, keys: str = "", values: str = "") -> NameTable:
    """Return the names of the things of a kind.

    Parameters
    ----------
    kind : str
        One of `ENTITY_KINDS`.
    keys, values : str
        Names that a user gives, and what they mean, U+001F between them. They go before those of the table.

    Notes
    -----
    Read when first asked for, 10 ms for the largest kind.
    """
    meanings: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    lines = _lines()[kind]
    text = SEPARATOR.join(name for own in lines for name in own)
    text = scalar_names.plain_name(text, _LETTERS, _RULES)  # of all names at once, but for the spaces around each
    folded = (name.strip(" ") for name in text.split(SEPARATOR))
    for own in lines:
        names[own[0]] = list(own)
        meanings.update((next(folded), own[0]) for _ in own)
    for key, value in zip(keys.split(SEPARATOR), values.split(SEPARATOR), strict=True) if keys else ():
        thing = meanings.get(fold_name(value), value)
        meanings[fold_name(key)] = meanings[fold_name(value)] = thing
        names.setdefault(thing, [value]).append(key)
    return NameTable(meanings, names)


@lru_cache(maxsize=_MOST_KEPT)
def _pairs(step: Step) -> tuple[str, str]:
    """Return the folded names of a step, and what they mean, U+001F between them."""
    meanings = name_table(step.kind, step.keys, step.values).meanings
    return SEPARATOR.join(meanings), SEPARATOR.join(meanings.values())


def _sql(step: Step, operand: str) -> str:
    """Fold the name by ``regexp_replace``, and use a map."""
    folded = operand
    for table in _LETTERS:
        folded = translate(folded, table)
    for pattern, new in _RULES:
        folded = f"regexp_replace({folded}, {quote(pattern)}, {quote(new)})"
    keys, values = (f"split({quote(text)}, {quote(SEPARATOR)}, -1)" for text in _pairs(step))
    return when_empty(f"coalesce(try_element_at(map_from_arrays({keys}, {values}), {folded}), {folded})")


def _column(step: Step, strings: StringColumn) -> StringColumn:
    """Look each distinct text up in one table."""
    meanings = name_table(step.kind, step.keys, step.values).meanings
    folded = [None if text is None else fold_name(text) for text in strings.to_arrow().to_pylist()]
    named = [None if text is None else meanings.get(text, text) or None for text in folded]
    return StringColumn.of(pa.array(named, pa.string()))


_PAIRS_TEXT = Legal(lambda value: is_text(value, 0, MAX_PAIRS_TEXT), f"a text of at most {MAX_PAIRS_TEXT} characters")


def _fault(step: Step) -> str:
    listed, texts = step.keys.split(SEPARATOR), step.values.split(SEPARATOR)
    if len(listed) == len(texts) and max(map(len, listed + texts)) <= _LONGEST:
        return ""
    return (
        "`keys` and `values` of step 'entity' must be equally many, none above "
        f"{_LONGEST} characters; got {step.keys!r:.80}, {step.values!r:.80}"
    )


def check_aliases(value: Any, name: str) -> bool | dict[str, str] | None:
    """Return whether names are to be looked up, or further names and what they mean, in one spelling each.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If it is no such value, or too long to be kept in a plan.
    """
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for item in value.items() for text in item):
        raise InvalidTypeError(
            f'`{name}` must be True, False or a dict of texts, as {{"big apple": "New York City"}}, got {show(value)}'
        )
    step = {"keys": SEPARATOR.join(value), "values": SEPARATOR.join(value.values())}
    is_short = all(_PAIRS_TEXT.test(text) and text.count(SEPARATOR) == len(value) - 1 for text in step.values())
    names = [*value, *value.values()]
    if not value or not is_short or not all(fold_name(one) and len(one) <= _LONGEST for one in names):
        raise InvalidParameterError(
            f"`{name}` must have at least one entry, names of 1 to {_LONGEST} characters, and at most "
            f"{MAX_PAIRS_TEXT:,} characters in all, got {show(value)}"
        )
    meanings: dict[str, str] = {}
    for one, meaning in value.items():
        known = meanings.setdefault(fold_name(one), meaning)
        if fold_name(known) != fold_name(meaning):
            raise InvalidParameterError(
                f"`{name}` must give each name one meaning, whatever its case and accents, got {known!r} and "
                f"{meaning!r} for {one!r}; leave one of them out"
            )
    return dict(value)


Entity = Operator(
    "entity",
    {"kind": one_of(ENTITY_KINDS), "keys": _PAIRS_TEXT, "values": _PAIRS_TEXT},
    scalar_names.name_entity,
    words=lambda step: f"entity({step.kind!r})",
    arguments=lambda step: (_LETTERS, _RULES, *_pairs(step)),
    sql=_sql,
    apply=_column,
    weight=6,
    defaults=("", ""),
    growth=lambda step: float(_LONGEST),
    fault=_fault,
)
"""The thing that a name means, by its name in English; other texts in small letters, without accents and full stops.

Parameters
----------
kind : str
    One of `ENTITY_KINDS`.
keys, values : str
    Further names, and what they mean, U+001F between them.

Examples
--------
>>> Entity("country")("U.S.A."), Entity("country")("Deutschland"), Entity("US state")("Ga."), Entity("month")("Okt.")
('United States', 'Germany', 'Georgia', 'October')
"""
