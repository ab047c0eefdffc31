"""Other spellings of a query column: how the rows that they find come into the result.

Three kinds of columns are spelled otherwise: codes that have lost their zeros (`lost_zeros`, column ``pad`` of the
result), dates, as the periods in which they lie (`period_search`, column ``period``), and things that have several
names (`entity_search`, column ``alias``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.found import SearchContext, name_of_row
from dfjoin.search.query import QueryColumn
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.periods import is_period

__all__ = ["SpelledRows", "may_hold_periods", "merge_spelled"]

_LOOKED_AT = 16
"""Values, spread over a query, of which one has to be a date or a period."""

_MAY_BE_DIGIT = (np.arange(256) >= 128) | ((np.arange(256) >= ord("0")) & (np.arange(256) <= ord("9")))
"""Bytes that a digit of any script may begin or end with."""


class SpelledRows(NamedTuple):
    """Rows that another spelling of the query has found, what the result says of the spelling, and their search."""

    rows: pd.DataFrame
    labels: Any
    context: SearchContext


def may_hold_periods(query: QueryColumn) -> bool:
    """Tell whether a query may hold dates or periods: one of some values is read as such.

    Whole numbers are years where the header says so, see `read_periods`.
    """
    values = query.values
    if not len(values) or (query.kind == "integer" and not is_year_name(query.label)):
        return False
    if query.kind == "date":
        return True
    codes = np.arange(0, len(values), -(-len(values) // _LOOKED_AT))
    ends = values.data[values.offsets[codes]], values.data[values.offsets[codes + 1] - 1]
    some = [values.value(code) for code in codes[_MAY_BE_DIGIT[ends[0]] | _MAY_BE_DIGIT[ends[1]]].tolist()]
    return any(  # a year begins or ends them
        is_period(text) for text in some if text[:1].isdigit() or text[-1:].isdigit()
    )


def merge_spelled(frame: JoinCandidates, column: str, found: Sequence[SpelledRows]) -> JoinCandidates:
    """Put rows that other spellings of the query have found into a result; a column of the lake stands there once.

    Parameters
    ----------
    frame : JoinCandidates
        What was found for the query as it is.
    column : str
        New column of the result, which has the labels, null in rows of the former.
    found : sequence of SpelledRows

    Returns
    -------
    JoinCandidates
        `frame` itself where nothing was found.
    """
    found = [one for one in found if len(one.rows)]
    if not found:
        return frame
    spelled = {name: one.context for one in found for name in map(name_of_row, one.rows.itertuples(index=False))}
    rest = pd.DataFrame(frame[[name_of_row(row) not in spelled for row in frame.itertuples(index=False)]])
    nulls = pd.array([None] * len(rest), found[0].labels.dtype)
    parts = [(rest, nulls), *((one.rows, one.labels) for one in found)]
    labelled = [rows.assign(**{column: labels}) for rows, labels in parts if len(rows)]
    context = frame.context
    queries = [*context.queries] if context.key is None else [context.key.query.name]
    merged = JoinCandidates(_in_order(pd.concat(labelled), queries, context.params.k))
    merged._context = replace(context, spelled={**context.spelled, **spelled})
    merged.attrs = dict(frame.attrs)
    return merged


def _in_order(frame: pd.DataFrame, queries: list[str], k: int | None) -> pd.DataFrame:
    """Sort rows as a result is sorted, query column by query column, and keep the k best of each."""
    counts = frame["matched_rows" if "matched_rows" in frame else "matched"].to_numpy()
    useful = frame["usefulness"].to_numpy(float) if "usefulness" in frame else np.zeros(len(frame))
    rank = {name: number for number, name in enumerate(queries)}
    columns = (frame["query_column"].map(rank), -useful, -counts, frame["cardinality"], frame["table"], frame["column"])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    order = sorted(range(len(rows)), key=rows.__getitem__)
    merged = frame.iloc[order].reset_index(drop=True)
    if k is None:
        return merged
    return merged[merged.groupby("query_column").cumcount() < k].reset_index(drop=True)
