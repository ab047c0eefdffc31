"""Keys of two sides of which one part is a date, and the other side has the periods in which dates lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.keys import KeyColumns
from dfjoin.types import IndexSettings
from dfjoin.values.cells import CONVERSION_ERRORS
from dfjoin.values.header_meaning import is_year_name, names_agree, names_period
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.normalize import ValueSet, normalize_column
from dfjoin.values.periods import GRANULARITIES, PeriodColumn, read_periods
from dfjoin.values.shares import NEARLY_EVERY

_SETTINGS = IndexSettings(null_evidence=False)
"""Of numbers of periods, all of which count, as -1 does."""


class PeriodKeys(NamedTuple):
    """Columns of two frames that are equal, but for the last ones, whose dates lie in the same period.

    Parameters
    ----------
    labels : tuple of list
        On the left and on the right.
    period : str
        One of `dfjoin.values.periods.GRANULARITIES`.
    share : float
        Of the keys of the left frame that the right one has.
    is_right_key : bool
        Whether a key that both frames have stands in one row of the right one.
    """

    labels: tuple[list[Any], list[Any]]
    period: str
    share: float
    is_right_key: bool


def find_period_keys(
    left: KeyColumns, right: KeyColumns, keys: tuple[list[Any], list[Any]], threshold: float
) -> PeriodKeys | None:
    """Find the pair of key columns that holds dates of one granularity on the left, and of another one on the right.

    Parameters
    ----------
    left, right : KeyColumns
    keys : tuple of list
        Columns of either side that make a key together, in pairs.
    threshold : float
        Smallest share of the keys of the left frame that the right one has.

    Returns
    -------
    PeriodKeys or None
        Of the pair that relates the most keys; the coarser granularity of the two is the period. None where equality
        reaches the threshold.

    Notes
    -----
    Days that all are the first ones of their months, or all the last ones, hold months. O(rows × key columns).
    """
    dates = [[dates_of(side, label) for label in labels] for side, labels in zip((left, right), keys, strict=True)]
    found: list[PeriodKeys] = []
    for position, (own, theirs) in enumerate(zip(*dates, strict=True)):
        period = _common_period(own, theirs)
        if period is None:
            continue
        equal = left.index(keys[0])
        if equal.n_matched(right.parts(keys[1])) >= threshold * equal.n_keys:
            return None
        own_keys, their_keys = ([*side[:position], *side[position + 1 :], side[position]] for side in keys)
        found.append(_keys_of(left, right, (own_keys, their_keys), period))
    found = [key for key in found if key.share and key.share >= threshold]
    return max(found, key=lambda key: key.share, default=None)


def _keys_of(left: KeyColumns, right: KeyColumns, labels: tuple[list[Any], list[Any]], period: str) -> PeriodKeys:
    """Count the keys that columns share if the dates of the last ones need to lie in one period only."""
    index = KeyIndex.of(parts_by_period(left, labels[0], period))
    codes = index.match(parts_by_period(right, labels[1], period))
    counts = np.bincount(codes[codes >= 0], minlength=index.n_keys)
    n_matched = int(np.count_nonzero(counts))
    is_right_key = bool(n_matched >= NEARLY_EVERY * counts.sum())
    return PeriodKeys(labels, period, n_matched / max(1, index.n_keys), is_right_key)


def is_in_doubt(left: KeyColumns, right: KeyColumns, found: PeriodKeys) -> bool:
    """Tell whether both sides have days, and neither name says that those of one stand for periods.

    Payments that are due on first days of months are paid on these.
    """
    names = [labels[-1] for labels in found.labels]
    days = (dates_of(side, label) for side, label in zip((left, right), names, strict=True))
    are_days = all(one is not None and one.granularity in ("day", "second") for one in days)
    return are_days and not any(names_period(name, found.period) for name in names)


def find_entity_and_period(
    left: KeyColumns, right: KeyColumns, repeated: Sequence[tuple[Any, Any]], threshold: float
) -> PeriodKeys | None:
    """Find a key of an entity and a date, where the other frame has one row for the entity and a period.

    Parameters
    ----------
    left, right : KeyColumns
    repeated : sequence of tuple
        Labels of pairs of columns whose shared values stand in many rows of both sides, which are no key alone.
    threshold : float
        Smallest share of the keys of the left frame that the right one has.

    Returns
    -------
    PeriodKeys or None
        None if two of them are equally good.

    Notes
    -----
    The names of the entity agree, and it is text. O(pairs of columns × rows).
    """
    entities = []
    for pair in repeated:
        own, theirs = (side.query(side.position(label)) for side, label in zip((left, right), pair, strict=True))
        if own.kind == theirs.kind == "text" and names_agree(own.name, theirs.name):
            entities.append(pair)
    if not entities:
        return None
    dates = [[(label, dates_of(side, label)) for label in side.frame.columns] for side in (left, right)]
    found: list[PeriodKeys] = []
    for (day, days), (month, months) in product(*dates):
        period = _common_period(days, months)
        if period is not None:
            labels = [([own, day], [theirs, month]) for own, theirs in entities if own != day and theirs != month]
            found += [_keys_of(left, right, pair, period) for pair in labels]
    found = [key for key in found if key.is_right_key and key.share and key.share >= threshold]
    found.sort(key=lambda key: -key.share)
    return found[0] if found and (len(found) == 1 or found[0].share > found[1].share) else None


def _common_period(own: PeriodColumn | None, theirs: PeriodColumn | None) -> str | None:
    """Return the coarser granularity of two columns; None if it is the same, one has none, or weeks are in months."""
    if own is None or theirs is None:
        return None
    held = {_granularity(own), _granularity(theirs)}
    coarser = min(held, key=GRANULARITIES.index)
    are_weeks = "week" in (own.granularity, theirs.granularity)  # days that begin weeks lie in months, too
    return None if len(held) == 1 or (are_weeks and coarser != "week") else coarser


def _granularity(periods: PeriodColumn) -> str:
    """Return what a column of dates holds: days that all begin or all end periods are these periods."""
    if np.unique(periods.starts[~periods.is_null]).size > 1 and periods.granularity in ("day", "second"):
        return next((one for one in GRANULARITIES[:4] if periods.are_bounds_of(one)), periods.granularity)
    return periods.granularity


def dates_of(side: KeyColumns, label: Any, *, is_known: bool = False) -> PeriodColumn | None:
    """Read a column of a frame as dates or periods, None if it holds none.

    Texts are read as they are, else in the canonical form that keys have: ``31.12.2020`` is a date there. Whole numbers
    are years where the name says so. A column of nulls alone holds dates that are all null. Of a column that is known
    to hold dates, since a plan says so or others of its rows have told it, what cannot be read is null, if one can be.
    """
    position = side.position(label)
    column = side.frame.iloc[:, position]
    if column.isna().all():
        nothing = np.zeros(len(column), np.int64)
        return PeriodColumn("day", nothing, nothing, np.ones(len(column), bool))
    try:
        found, is_number = read_periods(column, is_year=is_year_name(label)), is_numeric_dtype(column.dtype)
    except CONVERSION_ERRORS:  # Arrow types that pandas does not know, and dates beyond its years
        found, is_number = None, False
    if found is not None or is_number:
        return found
    try:
        values = side.values(position)
    except InvalidTypeError:
        return None
    canonical = pd.Series(np.array([*values.values(), None], object)[values.codes])
    found = read_periods(canonical)
    if found is None and is_known:
        readings = [read_periods(texts, is_year=is_year_name(label), share=0.0) for texts in (column, canonical)]
        return min((one for one in readings if one), key=lambda one: int(one.is_null.sum()), default=None)
    return found


def parts_by_period(side: KeyColumns, labels: Sequence[Any], period: str) -> list[ValueSet]:
    """Return the canonical values of key columns, and the numbers of the periods in which the last one's dates lie."""
    *others, label = labels
    periods = check_periods(dates_of(side, label, is_known=True), period, label)
    return [*side.parts(others), number_periods(periods, period)]


def check_periods(periods: PeriodColumn | None, period: str, name: Any) -> PeriodColumn:
    """Return periods that lie in those of a granularity; raises InvalidParameterError if there are no such ones."""
    found = "none" if periods is None else periods.granularity
    weeks = (found == "week") != (period == "week") and found not in ("day", "second")
    if periods is None or weeks or GRANULARITIES.index(found) < GRANULARITIES.index(period):
        raise InvalidParameterError(
            f"`on` must be columns of dates or of periods that lie in a {period}, got {show(name)} with "
            f"periods of {found}"
        )
    return periods


def number_periods(periods: PeriodColumn, granularity: str) -> ValueSet:
    """Return the numbers of the periods in which others lie, as a part of a key."""
    return key_part(periods.numbers(granularity), periods.is_null)


def key_part(numbers: NDArray[np.int64], is_null: NDArray[np.bool_]) -> ValueSet:
    """Return numbers as a part of a key."""
    return normalize_column(pa.array(numbers, mask=is_null), _SETTINGS)
