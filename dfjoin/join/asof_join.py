"""``how="asof"``: each row gets the latest row of its key that is not dated after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.join.aggregate import object_kind
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import RELATION_OPTIONS, JoinOptions, refuse_options
from dfjoin.join.plan import JoinStep, json_label
from dfjoin.join.relation.frame_relation import own_labels
from dfjoin.join.relation.period_keys import dates_of, key_part
from dfjoin.join.rows.dated_rows import DatedKeys, every_row
from dfjoin.join.rows.report import JoinAccount
from dfjoin.join.rows.right_side import FrameFacts, RightSide
from dfjoin.types import IndexSettings

Labels = list[Any]


def asof_options(df: pd.DataFrame, options: JoinOptions, *, is_picked: bool = False) -> JoinOptions:
    """Tell the key columns of a frame from its dates, for a join with tables of a lake.

    Parameters
    ----------
    df : DataFrame
    options : JoinOptions
        With ``how="asof"``. The last column that `on` names holds the dates; without `on` the only column of dates.
    is_picked : bool
        The candidates are picked, so that `on` names nothing but the dates.

    Returns
    -------
    JoinOptions
        A left join; `on` names the keys, or the dates if these are alone, and `as_of` the dates.
    """
    refuse_options(options, 'joined with how="asof"', RELATION_OPTIONS)
    left = KeyColumns(df, IndexSettings(dayfirst=options.dayfirst))
    labels = None if options.on is None else list(options.on) if isinstance(options.on, list) else [options.on]
    if labels is None:
        date = _only_dates(left)
    else:
        date = _checked_dates(left, labels, "on")
    if is_picked and labels is not None and len(labels) > 1:
        raise InvalidParameterError(
            f"`on` must name the column of dates alone when candidates are picked, got {show(options.on)}: their keys "
            "are those of the search"
        )
    keys = None if labels is None or is_picked else labels[:-1] or labels
    on = keys if keys is None or len(keys) > 1 else keys[0]
    return replace(options, how="left", on=on, as_of=date)


def _checked_dates(side: KeyColumns, labels: Labels, argument: str, *, is_known: bool = False) -> Any:
    """Return the last label; raise unless its column holds dates, or is known to."""
    if not labels:
        raise InvalidParameterError(f"`{argument}` must name at least one column, got an empty list")
    if dates_of(side, labels[-1], is_known=is_known) is None:
        raise InvalidParameterError(
            f'`{argument}` must end with a column of dates or periods for how="asof", got {show(labels[-1])} (not '
            f"read as dates: {_unread(side, labels[-1])}); name the keys first, and the dates last, and read dates by "
            "pd.to_datetime or pass `dayfirst` where they are written otherwise"
        )
    return labels[-1]


def _unread(side: KeyColumns, label: Any) -> str:
    """Write the first values of a column that are no dates."""
    dates = dates_of(side, label, is_known=True)
    column = side.frame.iloc[:, side.position(label)]
    is_unread = column.notna().to_numpy(bool) & (True if dates is None else dates.is_null)
    return shortlist(dict.fromkeys(map(str, column[is_unread])), 3)


def _only_dates(side: KeyColumns) -> Any:
    columns = ((label, dates_of(side, label)) for label in side.frame.columns)
    found = [label for label, dates in columns if dates is not None and not dates.is_null.all()]
    if len(found) != 1:
        raise InvalidParameterError(
            '`on` must be given for how="asof", with the column of dates last: `df` has '
            + (f"several ({shortlist(found)})" if found else "none that can be read as dates")
        )
    return found[0]


# Between two frames ---------------------------------------------------------------------------------------


def join_frames_asof(
    left: KeyColumns,
    right: KeyColumns,
    texts: dict[Any, str],
    options: JoinOptions,
    planned: JoinStep | None = None,
) -> JoinAccount:
    """Join another frame by equal keys and the latest date that is not after that of the row.

    Parameters
    ----------
    left, right : KeyColumns
    texts : dict of label to str
        The columns of the right frame as a plan names them.
    options : JoinOptions
        `on` and `right_on` name the keys, and last the dates.
    planned : JoinStep, optional
        The step of a plan that is carried out again: its columns get the same names again.
    """
    refuse_options(options, 'joined with how="asof"', (*RELATION_OPTIONS, "aliases"))
    labels, right_labels = _asof_keys(left, right, options, is_known=planned is not None)
    dates = dates_of(left, labels[-1], is_known=True), dates_of(right, right_labels[-1], is_known=True)
    assert dates[0] is not None and dates[1] is not None
    keys, right_keys = labels[:-1], right_labels[:-1]
    index = left.index(keys) if keys else every_row(len(left.frame))
    codes = index.match(right.parts(right_keys)) if keys else every_row(len(right.frame)).codes
    dated_keys = DatedKeys(index.codes, dates[0])
    own, theirs = dated_keys.pairs("latest", codes, [dates[1]])
    wanted = list(texts) if options.columns is None else options.columns
    new_columns = [label for label in texts if label in wanted and label not in right_keys]
    frame = right.frame[new_columns].set_axis([texts[label] for label in new_columns], axis=1)
    kinds = {name: object_kind(frame[name]) for name in frame.columns}
    begins = key_part(dates[1].starts, dates[1].is_null)  # rows of one date and key are aggregated
    facts = FrameFacts(frame, [*right.parts(right_keys), begins])
    frame = frame.iloc[theirs].reset_index(drop=True)
    dated = {"on": json_label(labels[-1]), "right_on": [texts[right_labels[-1]]], "rule": "latest"}
    n_keys, relation = dated_keys.index.n_keys, {"dated": dated}
    side = RightSide(frame, frame.iloc[:, :0], own, n_keys, "right", relation, {}, kinds, facts=facts)
    step = planned or JoinStep(
        on=keys or labels,
        table="",
        right_on=[texts[label] for label in right_keys or right_labels],
        columns=None if options.columns is None else [texts[label] for label in options.columns],
        aggregate=_by_text(options.aggregate, texts),
        pad=options.pad,
        dayfirst=options.dayfirst,
        dated=dated,
    )
    return JoinAccount(left).join(step, dated_keys.index, side, replace(options, how="left"))


def _by_text(aggregate: Any, texts: dict[Any, str]) -> Any:
    if not isinstance(aggregate, dict):
        return aggregate
    return {texts.get(label, label): rule for label, rule in aggregate.items()}


def _asof_keys(left: KeyColumns, right: KeyColumns, options: JoinOptions, *, is_known: bool) -> tuple[Labels, Labels]:
    """Return the keys and, last, the dates of both frames."""
    if options.on is None:
        raise InvalidParameterError(
            '`on` must be given for how="asof" between two frames: the keys, and last the column of dates'
        )
    labels = own_labels(left.frame, options.on, "on")
    right_on, argument = (options.on, "on") if options.right_on is None else (options.right_on, "right_on")
    theirs = own_labels(right.frame, right_on, argument)
    if len(labels) != len(theirs):
        raise InvalidParameterError(f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(theirs)}")
    _checked_dates(left, labels, "on", is_known=is_known)
    _checked_dates(right, theirs, "right_on", is_known=is_known)
    return labels, theirs
