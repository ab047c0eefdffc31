"""The search for features: tables are joined, checked for leaks, screened, and chosen from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.augment.augment_report import AugmentReport, JoinedTable
from dfjoin.augment.budget import INTERRUPTED, AugmentBudget
from dfjoin.augment.elimination import choose_tables
from dfjoin.augment.encoding import PredictionTarget, encode_column
from dfjoin.augment.held_out import BOOSTED_TREES, Learning, one_thread, shared_keys
from dfjoin.augment.known_columns import KnownColumns
from dfjoin.augment.leakage import is_allowed
from dfjoin.augment.screening import CandidateTable, FeatureColumn, screen_table
from dfjoin.augment.table_choice import ChosenTable, SelectionTask, TableChoice
from dfjoin.augment.table_reading import ReadingTask, TableReading
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable, WaitingTables, path_stem
from dfjoin.join.output_names import free_name, output_names, stem_of
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rules import names_of_rules
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.periods import read_periods


@dataclass(frozen=True)
class FeatureSearch:
    """What features are searched for.

    Parameters
    ----------
    frame : DataFrame
        The rows to learn from, without the target.
    target : PredictionTarget or None
    groups : ndarray of int64 or None
        Group of each row, if the caller gave groups; None: the keys of a join are the groups.
    snapshot : Snapshot
    paths : PathOptions
    select : {"auto", "relevance", None}
    k : int or None
    allow : sequence of str
    seed : int
    budget : AugmentBudget
    on_suspicious : {"warn", "refuse"}
        Whether columns that seem to be made of the target are refused.
    is_kept : bool
        Whether what is read of the lake is kept for further searches of the same rows.
    learning : Learning
    """

    frame: pd.DataFrame
    target: PredictionTarget | None
    groups: NDArray[np.int64] | None
    snapshot: Snapshot
    paths: PathOptions
    select: str | None
    k: int | None
    allow: Sequence[str]
    seed: int
    budget: AugmentBudget
    on_suspicious: str = "warn"
    is_kept: bool = False
    learning: Learning = BOOSTED_TREES


@dataclass(frozen=True)
class FoundFeatures:
    """A plan that brings the features, and the report of the search."""

    frozen: FrozenPlan
    report: AugmentReport


def find_features(search: FeatureSearch) -> FoundFeatures:
    """Search a lake for features.

    Notes
    -----
    Interrupted by Ctrl-C or out of budget, the search ends with what it has found until then, and the report says so.
    """
    finder = _Finder(search)
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_thread():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        if search.groups is None:  # those of the keys are passed to every splitter
            warnings.filterwarnings("ignore", message="The groups parameter is ignored by")
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # infinite and huge cells of the lake are no news
        finder.gather()
        choice = finder.choose()
    frozen = freeze_plan(choice.chosen, list(search.frame.columns), str(search.snapshot.path))
    return FoundFeatures(frozen, finder.report(choice, frozen))


class _Finder:
    """One search, step by step."""

    def __init__(self, search: FeatureSearch) -> None:
        self._search = search
        self._own = [encode_column(search.frame.iloc[:, i]) for i in range(search.frame.shape[1])]
        self._known = KnownColumns()
        for column in self._own:
            self._known.add(column, "the frame")
        self._candidates: list[CandidateTable] = []
        self._refused: dict[str, dict[str, str]] = {}
        self._suspicious: dict[str, dict[str, str]] = {}
        self._known_before: dict[str, dict[str, str]] = {}
        self._passed_over: dict[str, str] = {}
        self._stopped = ""
        self._groups: dict[Any, NDArray[np.int64] | None] = {}
        refuses = search.on_suspicious == "refuse"
        task = ReadingTask(search.frame, search.target, search.snapshot, search.paths, search.allow, refuses)
        begin = TableReading.kept if search.is_kept else TableReading
        self._reading = begin(task, self._key_groups)

    def gather(self) -> None:
        """Reach tables, and keep what passes the checks."""
        search = self._search
        if len(search.frame) == 0 or search.frame.shape[1] == 0:
            return
        waiting = WaitingTables(0, ())
        search.budget.begin("read" if search.select == "auto" and search.target is not None else "check")
        try:
            for found in self._reading.tables(search.paths.max_hops):
                if isinstance(found, WaitingTables):
                    waiting = found
                    continue
                if isinstance(found, PathTable):
                    self._passed_over.pop(found.table, None)
                    self._check(found)
                else:
                    self._passed_over.setdefault(found.hops[-1].table, found.reason)
                search.budget.n_tables += 1
                if over := search.budget.over():
                    self._stopped = over
                    break
        except KeyboardInterrupt:
            self._stopped = INTERRUPTED
        if self._stopped or waiting.n_hops > search.paths.max_hops:
            reason = self._stopped or f"it is {waiting.n_hops} joins away, more than `max_hops`"
            known = {candidate.joined.table for candidate in self._candidates} | set(self._passed_over)
            left = (table for table in waiting.tables if table not in known)
            self._passed_over |= dict.fromkeys(left, f"not tried: {reason}")

    def _check(self, joined: PathTable) -> None:
        self._search.budget.report(f"read {joined.text}")
        groups, leaks = self._key_groups(joined), self._reading.leaks[joined.table]
        refused = self._refused[joined.table] = dict(leaks.refused)
        self._suspicious[joined.table] = dict(leaks.suspicious)
        self._known_before[joined.table] = leaks.known_before
        if joined.step.relation is not None:
            refused = refused | dict.fromkeys(joined.step.right_on, "the key in another spelling")
        if self._search.select is None:
            names = joined.new_columns | ({"": joined.counted} if joined.counted else {})
            features = tuple(_as_it_is(joined, c, name) for c, name in names.items() if c not in refused)
            candidate = CandidateTable(joined, features if set(joined.new_columns) - set(refused) else (), {})
        else:
            n_keys = len(self._search.frame) if groups is None else int(groups.max()) + 1
            candidate = screen_table(joined, self._known, refused, n_keys)
            if refused and set(refused) == set(joined.new_columns):
                candidate = replace(candidate, features=())
        self._candidates.append(candidate)

    def choose(self) -> TableChoice:
        """Choose among the tables that were joined; anew without columns that together turn out to be the target."""
        search = self._search
        task = None
        if search.target is not None:
            task = SelectionTask(search.target, self._own, self._groups_of, search.seed, search.budget, search.learning)
        try:
            choice = choose_tables(self._candidates, search.select, task, search.k)
            if task is None or not self._suspect_together(choice):
                return choice
            self._candidates = [self._without_refused(candidate) for candidate in self._candidates]
            return choose_tables(self._candidates, search.select, task, search.k)
        except KeyboardInterrupt:
            self._stopped = INTERRUPTED
            return TableChoice((), {})

    def _suspect_together(self, choice: TableChoice) -> bool:
        """Look for parts of the target among all columns that were chosen; tell whether any is refused."""
        features = [(one.candidate.joined.table, feature) for one in choice.chosen for feature in one.features]
        reasons = self._reading.guard.reasons_together([feature.encoded for _, feature in features])
        for i, reason in reasons.items():
            table, feature = features[i]
            if is_allowed(self._search.allow, table, feature.column):
                continue
            if self._search.on_suspicious == "refuse":
                self._refused[table][feature.column] = f"it is suspicious: {reason}"
            else:
                self._suspicious[table].setdefault(feature.column, reason)
        return bool(reasons) and self._search.on_suspicious == "refuse"

    def _without_refused(self, candidate: CandidateTable) -> CandidateTable:
        refused = self._refused[candidate.joined.table]
        return replace(candidate, features=tuple(f for f in candidate.features if f.column not in refused))

    def _groups_of(self, candidate: CandidateTable) -> NDArray[np.int64] | None:
        """Return the rows that are held out together: those of one key, unless the caller said it."""
        if self._search.groups is not None:
            return self._search.groups
        return self._key_groups(candidate.joined)

    def _key_groups(self, joined: PathTable) -> NDArray[np.int64] | None:
        """Number the keys of the frame by which a table is joined; None where every row has one of its own."""
        hop = joined.hops[0]
        key = hop.on, hop.period
        if key not in self._groups:
            frame = self._search.frame
            positions = [list(frame.columns).index(label) for label in hop.on]
            keys = [self._own[position].values for position in positions]
            if hop.period is not None:
                periods = read_periods(frame.iloc[:, positions[0]], is_year=is_year_name(hop.on[0]))
                keys = keys if periods is None else [periods.numbers(hop.period).astype(np.float64)]
            self._groups[key] = shared_keys(np.column_stack(keys))
        return self._groups[key]

    def report(self, choice: TableChoice, frozen: FrozenPlan) -> AugmentReport:
        """Write what was done."""
        listed = []
        for one, names in zip(choice.chosen, frozen.names, strict=True):
            joined = one.candidate.joined
            listed.append(
                JoinedTable(
                    joined.table,
                    joined.text,
                    names,
                    joined.score,
                    joined.containment,
                    ", ".join(hop.relationship for hop in joined.hops),
                    None if one.gain is None else one.gain.share,
                    None if one.gain is None else one.gain.error,
                    one.candidate.left_out,
                    float(joined.account.joined[-1]["coverage"]),
                    tuple((hop.key_text, hop.table) for hop in joined.hops),
                )
            )
        budget = self._search.budget
        all_refused = {c.joined.table for c in self._candidates if not c.features and self._refused[c.joined.table]}
        passed_over = self._passed_over | choice.rejected | dict.fromkeys(all_refused, "its columns were refused")
        return AugmentReport(
            tuple(listed),
            _by_column(self._refused),
            passed_over,
            None if choice.gain is None else choice.gain.share,
            None if choice.gain is None else choice.gain.error,
            budget.n_tables,
            budget.elapsed,
            self._stopped or choice.stopped,
            _by_column(self._suspicious),
            _by_column(self._known_before),
        )


def _by_column(reasons: dict[str, dict[str, str]]) -> dict[str, str]:
    return {f"{table}/{column}": reason for table, own in reasons.items() for column, reason in own.items()}


def _as_it_is(joined: PathTable, column: str, name: str) -> FeatureColumn:
    encoded = encode_column(joined.frame[name])
    return FeatureColumn(column, name, encoded, np.zeros(encoded.values.size, np.int64))


# The plan of what was chosen: each table joined once, with the chosen columns and the keys of the next joins.


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

    joined: PathTable
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
        chain: list[PathTable] = []
        node: PathTable | None = one.candidate.joined
        while node is not None:
            chain.insert(0, node)
            node = node.parent
        for before, joined in zip([None, *chain], chain, strict=False):
            path = tuple(hop.table for hop in joined.hops)
            if path not in stops:
                stops[path] = _Stop(joined)
            if before is not None:
                keys = stops[path[:-1]].keys
                keys += [column for column in joined.hops[-1].on if column not in keys]
        last = stops[tuple(hop.table for hop in one.candidate.joined.hops)]
        for feature in one.features:
            if feature.column:
                last.features.append(feature.column)
            else:
                last.is_counted = True
    taken = set(labels)
    steps = []
    for path, stop in sorted(stops.items(), key=lambda item: len(item[0])):
        _name_columns(stop, taken)
        stop.on = stop.joined.step.on
        if len(path) > 1:
            stop.on = [stops[path[:-1]].names[column] for column in stop.joined.hops[-1].on]
        steps.append(_step(stop))
    names = []
    features: list[str] = []
    for one in chosen:
        stop = stops[tuple(hop.table for hop in one.candidate.joined.hops)]
        own = {f.column: stop.names[f.column] if f.column else stop.counted for f in one.features}
        names.append(own)
        features += own.values()
    return FrozenPlan(JoinPlan(tuple(steps), "left", index), features, names)


def _name_columns(stop: _Stop, taken: set[Any]) -> None:
    """Find free names for the columns of a table; `taken` grows."""
    columns = list(dict.fromkeys([*stop.features, *stop.keys]))
    hops = stop.joined.hops
    stem = path_stem(hops)
    if len(hops) == 1:
        stop.names = output_names(columns, stem, taken, is_stem_named=True)
    else:
        stop.names = {column: free_name(f"{column}__{stem}", stem, taken) for column in columns}
    for column in _sources(stop.joined.step):
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
    known = stop.joined.step
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
