"""The plan of what was chosen: each table joined once, with the chosen columns and the keys of the next joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dfjoin.augment.table_choice import ChosenTable
from dfjoin.join.lakes.table_hops import ReachedTable, path_stem
from dfjoin.join.output_names import free_name, output_names, stem_of
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rows.several_rules import names_of_rules

__all__ = ["FrozenPlan", "freeze_plan"]


@dataclass(frozen=True)
class FrozenPlan:
    """A plan that brings features, and their names.

    Parameters
    ----------
    plan : JoinPlan
    features : list of str
        Columns of the result that are features; the other columns that the plan brings are keys of further joins.
    names : list of dict of str
        For each chosen table: its column → the name of the feature; the count of rows has the key "".
    """

    plan: JoinPlan
    features: list[str]
    names: list[dict[str, str]]


@dataclass
class _Stop:
    """A table of the plan: what is taken of it."""

    reached: ReachedTable
    features: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    is_counted: bool = False
    on: Any = None
    names: dict[str, str] = field(default_factory=dict)
    counted: str = ""


def freeze_plan(chosen: Sequence[ChosenTable], labels: Sequence[Any], index: str) -> FrozenPlan:
    """Write what was chosen as one plan.

    Parameters
    ----------
    chosen : sequence of ChosenTable
    labels : sequence of labels
        Columns of the frame.
    index : str
        Path of the lake.

    Notes
    -----
    A column of a table that is joined to the frame itself is named as `dfjoin.auto_join` names it. Behind a further
    join the name has the path: ``area__airports__countries`` is the column ``area`` of ``countries``, joined through
    ``airports``. One of several aggregates of a column is named with its rule: ``visits.days (mean)``. Names that the
    frame has already get a number.
    """
    stops: dict[tuple[str, ...], _Stop] = {}
    for one in chosen:
        chain: list[ReachedTable] = []
        node: ReachedTable | None = one.candidate.reached
        while node is not None:
            chain.insert(0, node)
            node = node.parent
        for before, reached in zip([None, *chain], chain, strict=False):
            way = tuple(hop.table for hop in reached.hops)
            if way not in stops:
                stops[way] = _Stop(reached)
            if before is not None:
                keys = stops[way[:-1]].keys
                keys += [column for column in reached.hops[-1].on if column not in keys]
        last = stops[tuple(hop.table for hop in one.candidate.reached.hops)]
        for feature in one.features:
            if feature.column:
                last.features.append(feature.column)
            else:
                last.is_counted = True
    taken = set(labels)
    steps = []
    for way, stop in sorted(stops.items(), key=lambda item: len(item[0])):
        _name_columns(stop, taken)
        stop.on = stop.reached.step.on
        if len(way) > 1:
            stop.on = [stops[way[:-1]].names[column] for column in stop.reached.hops[-1].on]
        steps.append(_step(stop))
    names = []
    features: list[str] = []
    for one in chosen:
        stop = stops[tuple(hop.table for hop in one.candidate.reached.hops)]
        own = {f.column: stop.names[f.column] if f.column else stop.counted for f in one.features}
        names.append(own)
        features += own.values()
    return FrozenPlan(JoinPlan(tuple(steps), "left", index), features, names)


def _name_columns(stop: _Stop, taken: set[Any]) -> None:
    """Find free names for the columns of a table; `taken` grows."""
    columns = list(dict.fromkeys([*stop.features, *stop.keys]))
    hops = stop.reached.hops
    stem = path_stem(hops)
    if len(hops) == 1:
        stop.names = output_names(columns, stem, taken, is_stem_named=True)
    else:
        stop.names = {column: free_name(f"{column}__{stem}", stem, taken) for column in columns}
    for column in _sources(stop.reached.step):
        if column in stop.names:
            taken.discard(stop.names[column])
            stop.names[column] = free_name(f"{stem}.{column}", stem, taken)
    if stop.is_counted:
        own = stem_of(hops[-1].table)  # as the join names it
        stop.counted = free_name(f"{own}_rows", own, taken)


def _sources(step: JoinStep) -> dict[str, tuple[str, str]]:
    """Return the aggregates of a step that has several for a column, each with the column and the rule."""
    return names_of_rules(step.columns or (), step.aggregate)


def _step(stop: _Stop) -> JoinStep:
    """Write the join of one table."""
    known = stop.reached.step
    aggregate, sources = known.aggregate, _sources(known)
    columns = list(dict.fromkeys(sources.get(name, (name, ""))[0] for name in stop.names))
    if isinstance(aggregate, dict):
        aggregate = {name: rule for name, rule in aggregate.items() if name in columns}
        for name in {sources[name][0] for name in stop.names if name in sources}:
            aggregate[name] = [rule for made, (own, rule) in sources.items() if own == name and made in stop.names]
    made_of = {source: made for made, source in names_of_rules(columns, aggregate).items()}
    names = {made_of[sources[name]] if name in sources else name: own for name, own in stop.names.items()}
    return replace(
        known,
        on=stop.on,
        columns=columns,
        names=names,
        aggregate=aggregate,
        counted=stop.is_counted,
    )
