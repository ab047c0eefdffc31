"""Relating columns that name the same things in other languages or by codes: countries, months, units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.programs.entity_operators import ENTITY_KINDS, GIVEN, Entity, fold_name, name_table
from dfjoin.programs.lookup import SEPARATOR
from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.transform.pairs.sides import MIN_PAIRS
from dfjoin.values.header_meaning import share_a_word

_MOST_VALUES = 20_000
"""Distinct values of a column up to which names are looked up: a name takes 3 microseconds."""
_LOOKED_AT = 64
"""Values, spread over a column, that tell whether the others are looked up."""
_LEAST_KNOWN, _NEAR_BEST = 0.6, 0.9
"""Share of the values of a column that a kind has to know, and over that of the kind that knows the most: two in three
codes of states are codes of countries, too."""
_FEWEST, _MIN_SHARE = 3, 0.5
"""Values that have to be related, and their share of the smaller column."""
_LONGEST_CODE = 3
"""Bytes up to which a name may be that of anything (``S``, ``no``, ``May``), unless the header says of what."""


class _Related(NamedTuple):
    """Two columns by the things that they name: values of either that the other names, of how many."""

    step: Step
    columns: tuple[Column, Column]
    joined: tuple[int, int]
    sizes: tuple[int, int]


def entity_steps(aliases: Mapping[str, str] | None) -> list[Step]:
    """Return the step of each kind, with names that a user gives: a name → what it means."""
    keys, values = SEPARATOR.join(aliases or {}), SEPARATOR.join((aliases or {}).values())
    return [Entity(kind, keys, values) for kind in ENTITY_KINDS if kind != GIVEN or aliases]


def kinds_of(folded: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Return of which kinds the things are that some distinct names, folded, may mean: the column is the evidence.

    Parameters
    ----------
    folded : sequence of str
    steps : sequence of Step
        Of `entity_steps`.

    Returns
    -------
    list of Step
        Those whose table has six in ten of the names, and nine in ten of what the best one has.

    Notes
    -----
    O(names × kinds), where one kind knows enough of 64 of them.
    """
    steps = _likely_kinds(folded[_spread(len(folded))], steps)
    shares = [name_table(step.kind).share(folded) for step in steps]
    least = max(_LEAST_KNOWN, _NEAR_BEST * max(shares, default=0.0))
    return [step for step, share in zip(steps, shares, strict=True) if share >= least]


def _spread(size: int) -> slice:
    """Return where some values stand, spread over all."""
    return slice(None, None, max(1, size // _LOOKED_AT))


def _likely_kinds(some: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Return the kinds that know enough of some folded names for the others to be looked up."""
    return [step for step in steps if step.kind != GIVEN and name_table(step.kind).share(some) >= _LEAST_KNOWN / 2]


def relate_entities(
    left: Mapping[str, Column],
    right: Mapping[str, Column],
    found: TransformJoin,
    aliases: Mapping[str, str] | None = None,
    *,
    is_named: bool = True,
) -> TransformJoin | None:
    """Relate two columns by the things that they name, if that relates more of them than is related otherwise.

    Parameters
    ----------
    left, right : mapping of str to Column
        Columns that may be keys.
    found : TransformJoin
        The programs that relate the columns otherwise, or none.
    aliases : mapping of str to str, optional
        Further names, and what they mean.
    is_named : bool, default True
        The caller named both columns. Else they have to show that they are of one kind.

    Returns
    -------
    TransformJoin or None

    Notes
    -----
    The table of a kind has to know six in ten of the values of either column. A relation is taken if it relates half of
    the values of the smaller column, at least three, and more than equality and the programs do; of several the one
    that relates the most. Names that only the user gives relate two columns that are named. Columns that nobody named
    need four related names, as programs do, that can hardly mean another thing: longer than three letters, or under a
    header that names the kind, as ``month`` does; else sizes (``S``, ``M``, ``L``) are units. O(characters).
    """
    is_pair = len(left) == len(right) == 1
    steps = [step for step in entity_steps(aliases) if is_pair or step.kind != GIVEN]
    kinds = [
        {name: held for name, column in side.items() if (held := _Names.of(column, steps))} for side in (left, right)
    ]
    best: _Related | None = None
    for own, other in product(*(side.values() for side in kinds)):
        for step in own.steps:
            if step not in other.steps:
                continue
            related = _relate(step, own, other, found, is_named)
            if related is not None and (best is None or min(related.joined) > min(best.joined)):
                best = related
    if best is None:
        return None
    source, target = best.columns
    return as_join(best.step, (source.name, target.name), best.joined, best.sizes)


class _Names(NamedTuple):
    """A column, its distinct folded names, and the steps that may tell what they mean."""

    column: Column
    folded: list[str]
    steps: list[Step]

    @classmethod
    def of(cls, column: Column, steps: Sequence[Step]) -> _Names | None:
        """Look at a column; None where its values are no names of things."""
        if len(column.first_rows) > _MOST_VALUES:
            return None
        given = [step for step in steps if step.kind == GIVEN]
        some = column.first_rows[_spread(column.first_rows.size)]
        likely = _likely_kinds(_folded(column, some), steps)
        if not likely and not given:  # to fold all names takes the longest
            return None
        folded = _folded(column, column.first_rows)
        held = [*kinds_of(folded, likely), *given] if folded else []
        return cls(column, folded, held) if held else None

    def clear(self, step: Step) -> list[str]:
        """Return the folded names that can hardly mean another thing than one of the kind of a step."""
        if share_a_word(self.column.name, step.kind.rpartition(" ")[2]):
            return self.folded
        return [name for name in self.folded if len(name.encode()) > _LONGEST_CODE]


def _folded(column: Column, rows: NDArray[np.int64]) -> list[str]:
    return [fold_name(text) for text in column.array.take(pa.array(rows)).to_pylist() if text]


def _relate(step: Step, own: _Names, other: _Names, found: TransformJoin, is_named: bool) -> _Related | None:
    """Relate two columns by the things of one kind; None if that is not worth it."""
    meanings = name_table(step.kind, step.keys, step.values).meanings
    made = [[meanings.get(name, name) for name in side.folded] for side in (own, other)]
    shared = set(made[0]) & set(made[1])
    joined = [sum(thing in shared for thing in side) for side in made]
    sizes = [len(side) for side in made]
    smaller = min(sizes)
    known = len(set(own.column.values.values()) & set(other.column.values.values()))
    if found.found:
        known = max(known, round(max(found.source_coverage, found.target_coverage) * smaller))
    if min(joined) < max(_FEWEST, _MIN_SHARE * smaller) or min(joined) <= known:
        return None
    if not is_named:
        clear = [sum(meanings.get(name, name) in shared for name in side.clear(step)) for side in (own, other)]
        if min(clear) < MIN_PAIRS:
            return None
    return _Related(step, (own.column, other.column), (joined[0], joined[1]), (sizes[0], sizes[1]))


def as_join(step: Step, columns: tuple[str, str], joined: tuple[int, int], sizes: tuple[int, int]) -> TransformJoin:
    """Write a relation by the things that two columns name as a join by a program.

    Parameters
    ----------
    step : Step
        Says what a name means.
    columns : pair of str
    joined, sizes : pair of int
        Distinct values of either that are joined, and how many there are.
    """
    source, target = (Program((name,), (Extract(0, (step,)),)) for name in columns)
    mine, theirs = (n / size for n, size in zip(joined, sizes, strict=True))
    ranked = RankedProgram(source, joined[0], mine, (joined[0] + 1) / (joined[0] + 2), 0.0)
    return TransformJoin("left_to_right", columns[:1], columns[1:], target, (ranked,), mine, theirs)
