"""Carrying out one step of a join: measure, guard, pair the rows, build the frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import JoinExpansionError, warn
from dfjoin.join.aggregate import aggregate_column, as_kept, cell_kind, count_disagreeing, take_rows
from dfjoin.join.options import JoinOptions
from dfjoin.join.output_names import free_name, output_names, taken_names
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.right_side import RightSide
from dfjoin.join.rules import KEEPING, CellRules, check_aggregate, check_rule
from dfjoin.kernels.sorting import are_all_rows
from dfjoin.values.cells import CONVERSION_ERRORS
from dfjoin.values.frames import as_objects, frame_of_columns, name_columns_of, workable_frame
from dfjoin.values.key_index import KeyIndex, MetKeys

MARKS = ("_match", "_distance", "_probability")
"""Columns that `indicator` adds where keys are not equal: how they were matched, how far they are apart, how likely
they belong together."""

_NO_ROWS = np.empty(0, np.int64)


def match_marks(kinds: NDArray[np.object_], pairs: Any, of_row: NDArray[np.int64]) -> pd.DataFrame:
    """Tell of each row of a right side how its key was matched, for `indicator`.

    Parameters
    ----------
    kinds : ndarray of object, shape (n_pairs,)
    pairs : PairedKeys or KeyPairs
        With the distance of each pair, and how likely it is right, unless that is not estimated.
    of_row : ndarray of int64
        Number of the pair; -1: the row has no partner.
    """
    chances = pairs.chances if pairs.chances.size else np.full(pairs.left.size, np.nan)
    numbers = [np.append(one, np.nan)[of_row] for one in (pairs.distances, chances)]
    kind = pd.Series(np.append(kinds, np.array([None], object)), dtype="str").take(of_row).reset_index(drop=True)
    return pd.DataFrame(dict(zip(MARKS, (kind, *numbers), strict=True)))


@dataclass(frozen=True)
class StepResult:
    """The joined frame of one step, and what the report says of it.

    Parameters
    ----------
    frame : DataFrame
    left_rows : ndarray of int64, shape (n_rows,)
        Row of the left frame for each row; -1 where only the right side has one.
    is_whole : bool
        These are all rows of the left frame, each once and in order.
    names, rules : dict of str
        Column of the right side → its name in the frame, and how its values were made one, where they were.
    disagreeing : dict of str
        Column → how many right rows have another value than their key was given.
    counted : str
        Name of the column that counts the right rows of each row; empty where there is none.
    relationship : str
        1:1, 1:m, m:1 or m:m: the first is m where a right row joins several left rows, whatever their keys.
    met : MetKeys
        How the rows of both sides meet.
    decided : dict
        Fields of the step that fix the types of a later join by the same plan.
    """

    frame: pd.DataFrame
    left_rows: NDArray[np.int64]
    is_whole: bool
    names: dict[str, str]
    rules: dict[str, str]
    disagreeing: dict[str, int]
    counted: str
    relationship: str
    met: MetKeys
    decided: dict[str, Any] = field(default_factory=dict)


def relationship_of(
    left: NDArray[np.int64], right: NDArray[np.int64], n_keys: int, rows: NDArray[np.int64] | None = None
) -> str:
    """Measure the relationship of the rows that pair: ``1:1``, ``1:m``, ``m:1`` or ``m:m``.

    Parameters
    ----------
    left, right : ndarray of int64
        Key of each row of either side, -1 for none.
    n_keys : int
        Keys are below it.
    rows : ndarray of int64, optional
        Row of the table for each entry of `right`, where a row has several keys: it is joined with all rows of the left
        side that have one of these.

    Examples
    --------
    >>> import numpy as np
    >>> belgium_belarus, bel = np.array([0, 1]), np.array([0, 1])  # two names, and the one code that both lead to
    >>> relationship_of(belgium_belarus, bel, 2, rows=np.array([0, 0]))
    'm:1'
    """
    met = MetKeys(left, right, n_keys)
    return met.relationship if rows is None else _relationship_of_rows(met, rows)


def _relationship_of_rows(met: MetKeys, rows: NDArray[np.int64]) -> str:
    """Measure the relationship of rows of which those of the right side have several keys."""
    has_key = met.right >= 0
    n_partners = np.bincount(rows[has_key], weights=met.left_counts[met.right[has_key]])
    is_many = (n_partners > 1).any(), (met.right_counts[met.left_counts > 0] > 1).any()
    return ":".join("m" if many else "1" for many in is_many)


def join_step(df: pd.DataFrame, step: JoinStep, left: KeyIndex, right: RightSide, options: JoinOptions) -> StepResult:
    """Join one right side to a frame.

    Parameters
    ----------
    df : DataFrame
        The left frame.
    step : JoinStep
        Its `aggregate` is None to keep every pair of rows, else there is one row per left row; its `names` are
        those that an earlier join gave, by default free ones are found; its `counted` says whether the right rows
        are counted, by default where keys are 1:m.
    left : KeyIndex
        The keys of `df`.
    right : RightSide
    options : JoinOptions
        `how`, `max_expansion` and `indicator`.

    Returns
    -------
    StepResult
        Left rows in order, with their index for ``left`` and ``inner``; rows that only the right side
        has come last, under a new RangeIndex.

    Raises
    ------
    JoinExpansionError
        Before anything is built, naming the key that multiplies most.
    """
    df = workable_frame(df)
    right = replace(right, frame=workable_frame(right.frame), keys=workable_frame(right.keys))
    if options.indicator and right.marks is not None:
        held = taken_names(map(_flat, right.frame.columns), ignores_case=options.ignores_case)
        marks = {free_name(name, right.stem, held): column for name, column in right.marks.items()}
        right = replace(right, frame=right.frame.assign(**marks))
    aggregate = check_aggregate(step.aggregate, list(right.frame.columns))
    met = MetKeys(left.codes, right.codes, right.n_keys)
    relationship = met.relationship if right.rows is None else _relationship_of_rows(met, right.rows)
    made_one = MadeOne(right.frame, right.keys, right.codes)
    count: pd.Series | None = None
    if aggregate is None:
        _guard(df, step, met, right, options)
    else:
        made_one = one_row_per_key(right, right.rules(aggregate, step), met, drops_nulls=options.keeps_right_rows)
        n_lost = int(np.count_nonzero(right.codes < 0)) if options.keeps_right_rows else 0
        warn_of_lost_rows(n_lost, step)
        is_counted = met.relationship == "1:m" if step.counted is None else step.counted
        count = pd.Series(made_one.counts) if is_counted else None
    frame, keys, codes = made_one.frame, made_one.keys, made_one.codes
    joined = met if codes is right.codes else MetKeys(left.codes, codes, right.n_keys)
    left_rows, right_rows = _positions(joined, options.how)
    is_whole = joined.is_row_by_row or (left_rows.size == len(df) and are_all_rows(left_rows))
    result = df if is_whole and not options.keeps_right_rows else _take_left(df, left_rows, options.how)
    if options.keeps_right_rows and keys.shape[1]:
        result = _fill_keys(result, step.on, keys, left_rows, right_rows)
    # Names are looked up before anything is added, so that they do not depend on the order of columns.
    taken = taken_names(map(_flat, df.columns), ignores_case=options.ignores_case)
    subject = "" if right.facts is None else right.facts.subject(step)
    given = name_columns(list(frame.columns), step, right.stem, taken, subject)
    may_lack = options.how in ("left", "outer")  # dtypes follow from the kind of join, not from its rows
    is_right_whole = joined.is_row_by_row or (right_rows.size == len(frame) and are_all_rows(right_rows))
    block = _take_right(frame, given, None if is_right_whole else right_rows, may_lack=may_lack)
    counted = "" if count is None else free_name(f"{right.stem}_rows", right.stem, taken)
    if count is not None:
        block[counted] = take_rows(count, right_rows).fillna(0).astype(np.int64).array
    if options.indicator:
        sides = np.where(left_rows < 0, "right_only", np.where(right_rows < 0, "left_only", "both"))
        block[free_name("_merge", right.stem, taken)] = pd.Categorical(sides, ["left_only", "right_only", "both"])
    wide = _attach(result, block)
    return StepResult(
        frame=wide,
        left_rows=left_rows,
        is_whole=is_whole,
        names=given,
        rules=made_one.rules,
        disagreeing=made_one.disagreeing,
        counted=counted,
        relationship=relationship,
        met=met,
        decided=made_one.decided | right.decided,
    )


def warn_of_lost_rows(n_lost: int, step: JoinStep) -> None:
    """Tell how many rows of the right side have no key, and are in no row of a join that keeps its other rows."""
    if n_lost:
        warn(
            f"{n_lost:,} row{'s' if n_lost > 1 else ''} of {step.table or 'the other frame'} without a key are "
            "left out, since the result has one row for each key; pass aggregate=None for all rows"
        )


def _guard(df: pd.DataFrame, step: JoinStep, met: MetKeys, right: RightSide, options: JoinOptions) -> None:
    """Stop a join that would multiply rows beyond what the caller allows."""
    if len(df) == 0:
        return
    n_out = met.n_pairs
    if options.how in ("left", "outer"):
        n_out += len(df) - met.n_matched
    if n_out <= options.max_expansion * len(df):
        return
    own, counts = met.left_counts, met.right_counts
    worst = int(np.argmax(counts * own))
    row = int(np.flatnonzero(met.left == worst)[0])
    key = " + ".join(repr(df[label].iloc[row]) for label in step.on)
    other = repr(right.stem) if step.table else "the other frame"
    n_own = f"{int(own[worst]):,} row" + ("s" if own[worst] > 1 else "")
    raise JoinExpansionError(
        f"the join with {other} would make {n_out:,} rows of {len(df):,}, {n_out / len(df):.1f} times as many, above "
        f"`max_expansion` {options.max_expansion:g}; the worst key, {key}, stands in {n_own} of yours and "
        f'{int(counts[worst]):,} of the table: pass aggregate="auto" for one row per key, or a higher `max_expansion`'
    )


@dataclass(frozen=True)
class MadeOne:
    """A right side with a row per key, or as it is.

    Parameters
    ----------
    frame, keys : DataFrame
        The columns to bring, and the key columns.
    codes : ndarray of int64, shape (n_rows,)
        Key of each row.
    rules, disagreeing : dict of str
        Columns that were aggregated → their rule, and how many rows have another value than their key was given.
    row_counts : ndarray of int64, shape (n_rows,), or None
        How many rows became one; None: each is one.
    decided : dict
        See `StepResult`.
    """

    frame: pd.DataFrame
    keys: pd.DataFrame
    codes: NDArray[np.int64]
    rules: dict[str, str] = field(default_factory=dict)
    disagreeing: dict[str, int] = field(default_factory=dict)
    row_counts: NDArray[np.int64] | None = None
    decided: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows became one."""
        return np.ones(self.codes.size, np.int64) if self.row_counts is None else self.row_counts


def one_row_per_key(
    right: RightSide, rules: CellRules, met: MetKeys | None = None, *, drops_nulls: bool = True
) -> MadeOne:
    """Make one row of the rows of each key of a right side.

    Parameters
    ----------
    right : RightSide
    rules : CellRules
    met : MetKeys, optional
        How its rows meet those of a left side, where there is one.
    drops_nulls : bool, default True
        Leave out the rows without a key; else they may stay, as in a join that takes the rows of partners alone.

    Notes
    -----
    Where each key has one row its cells are taken as they are, and nothing is grouped. O(rows) else, but for rules
    that sort the distinct values of a column.
    """
    met = MetKeys(_NO_ROWS, right.codes, right.n_keys) if met is None else met
    is_single = met.is_right_unique
    columns = {name: right.frame.iloc[:, position] for position, name in enumerate(right.frame.columns)}
    kinds = {} if is_single and rules.is_unique and rules.aggregate == "auto" else _kinds(columns, right.object_kinds)
    chosen = {name: rules.rule_of(name, kind) for name, kind in kinds.items()}
    for name, rule in chosen.items():
        check_rule(name, columns[name].dtype, kinds[name], rule)
    decided: dict[str, Any] = {"is_unique": rules.is_unique}
    if not rules.is_unique:
        decided["measures"] = [name for name, rule in chosen.items() if rule == "mean"]
    kept = {name for name in columns if chosen.get(name, "majority") in KEEPING}
    if is_single and rules.is_unique and len(kept) == len(columns):
        frame, keys, codes = right.frame, right.keys, right.codes
        if drops_nulls and codes.min(initial=0) < 0:
            present = codes >= 0
            frame, keys = (side[present].reset_index(drop=True) for side in (frame, keys))
            codes = codes[present]
        return MadeOne(frame, keys, codes, decided=decided)
    counts = met.right_counts
    rows = np.flatnonzero(right.codes >= 0)
    codes = right.codes[rows]
    held = np.flatnonzero(counts > 0)
    first = np.full(right.n_keys, -1, np.int64)
    first[codes[::-1]] = rows[::-1]
    dense = (np.cumsum(counts > 0) - 1)[codes]  # keys that have rows, numbered without gaps
    several = np.flatnonzero(counts[codes] > 1)  # one row agrees with itself
    made: dict[str, pd.Series] = {}
    disagreeing: dict[str, int] = {}
    for name, column in columns.items():
        rule = chosen[name]
        if is_single and rules.is_unique and name in kept:
            made[name] = take_rows(column, first[held], may_lack=True)
            continue
        own, kind = column.iloc[rows], right.object_kinds.get(name, "")
        made[name] = aggregate_column(own, dense, held.size, rule, kind)
        if rules.is_unique and name in kept:
            made[name] = as_kept(made[name], column, rule)
        n_rows = None if is_single else count_disagreeing(own.iloc[several], dense[several], made[name], rule, kind)
        if n_rows is not None:
            disagreeing[name] = n_rows
    applied = {name: rule for name, rule in chosen.items() if not is_single or name not in kept}
    frame = pd.DataFrame(made, index=range(held.size))
    keys = right.keys.iloc[first[held]].reset_index(drop=True)
    return MadeOne(frame, keys, held, applied, disagreeing, counts[held], decided)


def _kinds(columns: dict[str, pd.Series], object_kinds: dict[str, str]) -> dict[str, str]:
    return {name: cell_kind(column, object_kinds.get(name, "")) for name, column in columns.items()}


def _positions(met: MetKeys, how: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of either side for each row of the result; -1 where a side has none."""
    if met.partners is not None and how in ("left", "outer"):
        left_rows, right_rows = met.left_rows, met.partners
    else:
        left_rows, right_rows = met.pairs()
        if how in ("left", "outer"):
            has_partner = np.zeros(met.left.size, bool)
            has_partner[left_rows] = True
            alone = np.flatnonzero(~has_partner)
            left_rows = np.concatenate([left_rows, alone])
            right_rows = np.concatenate([right_rows, np.full(alone.size, -1)])
            order = np.argsort(left_rows, kind="stable")
            left_rows, right_rows = left_rows[order], right_rows[order]
    if how in ("right", "outer"):
        used = np.zeros(met.right.size, bool)
        used[right_rows[right_rows >= 0]] = True
        rest = np.flatnonzero(~used)
        left_rows = np.concatenate([left_rows, np.full(rest.size, -1)])
        right_rows = np.concatenate([right_rows, rest])
    return left_rows.astype(np.int64, copy=False), right_rows.astype(np.int64, copy=False)


def _take_left(df: pd.DataFrame, rows: NDArray[np.int64], how: str) -> pd.DataFrame:
    """Take the rows of the left frame; the index stays for left and inner joins."""
    if how in ("left", "inner"):
        return df.take(rows)
    columns = [take_rows(df.iloc[:, i].reset_index(drop=True), rows, may_lack=True) for i in range(df.shape[1])]
    taken = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(rows.size))
    taken.columns = df.columns
    return taken


def _fill_keys(
    result: pd.DataFrame,
    on: list[Any],
    keys: pd.DataFrame,
    left_rows: NDArray[np.int64],
    right_rows: NDArray[np.int64],
) -> pd.DataFrame:
    """Give rows that only the right side has the key in the right table's spelling."""
    alone = np.flatnonzero(left_rows < 0)
    if alone.size == 0:
        return result
    for label, name in zip(on, keys.columns, strict=True):
        position = result.columns.get_loc(label)
        theirs = keys[name].iloc[right_rows[alone]]
        column = result.iloc[:, position]
        filled = as_objects(column)
        filled.iloc[alone] = as_objects(theirs).to_numpy()
        if _keeps_spelling(theirs, column.dtype):
            filled = _as_dtype(filled, column.dtype)
        result.isetitem(position, filled)
    return result


def _keeps_spelling(values: pd.Series, dtype: Any) -> bool:
    """Tell whether values can become the dtype and still print the same; ``007`` would become 7."""
    if values.dtype == dtype:
        return True
    try:
        if isinstance(dtype, pd.CategoricalDtype) and not as_objects(values).isin(list(dtype.categories)).all():
            return False
        converted = as_objects(values).astype(dtype)
        if (converted.isna() & values.notna()).any():
            return False
        return bool((as_objects(converted).map(str) == as_objects(values).map(str))[values.notna()].all())
    except CONVERSION_ERRORS:
        return False


def _as_dtype(values: pd.Series, dtype: Any) -> pd.Series:
    """Convert objects to a dtype, where that is possible."""
    try:
        return values.astype(dtype)
    except CONVERSION_ERRORS:
        return values


def name_columns(columns: list[str], step: JoinStep, stem: str, taken: set[Any], subject: str = "") -> dict[str, str]:
    """Name the new columns; names of an earlier join are used again where they are free.

    Parameters
    ----------
    columns : list of str
        Of the right side.
    step : JoinStep
    stem : str
        Short name of the table.
    taken : set
        Names that are not free; it grows.
    subject : str, default ""
        See `RightFacts.subject`.
    """
    names: dict[str, str] = {}
    for column in columns:
        wanted = step.names.get(column)
        if wanted is not None and wanted not in taken:
            names[column] = wanted
            taken.add(wanted)
    rest = [column for column in columns if column not in names]
    is_free = bool(step.table) and step.columns is None
    return names | output_names(rest, stem, taken, is_stem_named=is_free, subject=subject if is_free else "")


def _flat(label: Any) -> Any:
    """Return the first level of a label of several levels."""
    return label[0] if isinstance(label, tuple) and label else label


def _take_right(
    frame: pd.DataFrame, names: dict[str, str], rows: NDArray[np.int64] | None, *, may_lack: bool
) -> pd.DataFrame:
    """Take the rows of the right frame, see `take_rows`, its columns renamed; what is taken whole is not copied."""
    taken = [take_rows(frame[column], rows, may_lack=may_lack) for column in frame.columns]
    if rows is None:
        block = frame.copy(deep=False)
        for position, (column, own) in enumerate(zip(frame.columns, taken, strict=True)):
            if own.dtype != frame[column].dtype:
                block.isetitem(position, own.array)
    else:
        block = frame_of_columns(dict(enumerate(taken))) if taken else pd.DataFrame(index=pd.RangeIndex(rows.size))
        block.columns = frame.columns
    name_columns_of(block, [names[column] for column in frame.columns])
    return block


def _attach(result: pd.DataFrame, block: pd.DataFrame) -> pd.DataFrame:
    """Put the new columns behind the frame's own."""
    if not block.shape[1]:
        return result.copy()
    block.index = result.index
    if result.columns.nlevels > 1:
        empty = [""] * (result.columns.nlevels - 1)
        block.columns = pd.MultiIndex.from_tuples([(name, *empty) for name in block.columns])
    elif isinstance(result.columns, pd.CategoricalIndex):
        result = result.set_axis(result.columns.astype(object), axis=1)
    return pd.concat([result, block], axis=1)
