"""Other spellings of a query column: lost zeros, and how the rows that any spelling finds come into the result.

Three kinds of columns are spelled otherwise: codes that have lost their zeros, as ZIP codes read as numbers, in the
query or in the lake (column ``pad`` of the result), dates, as the periods in which they lie (`period_search`, column
``period``), and things that have several names (`entity_search`, column ``alias``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import warn
from dfjoin.kernels.texts.numbers import INTEGER, TEXT
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.exact.posting_lists import shared_mask
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.found import Found, SearchContext, name_of_row, rows_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import IndexSettings
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import ValueSet, keep_values, normalize_column
from dfjoin.values.periods import is_period
from dfjoin.values.profile import Profile, profile_values
from dfjoin.values.zero_padding import pad_integers, respell_zeros

_EXTRA_DIGITS = 2
"""Digits more than the longest number has, up to which many values of the query are looked up."""

_SETTINGS = IndexSettings()
_MAX_DIGITS = 18
_SAMPLES = 32, 8
"""Values of the query, at most, that tell whether the vocabulary holds a width: a near one, another one."""

_LEAST_GAIN, _LEAST_SHARE = 2, 0.05
"""Values that another spelling has to match more, and their share of all that it matches."""

_LEAST_CONTAINMENT = 0.5
"""Share of the query's values that a column has to hold in the other spelling."""

_SERIAL_DIGITS = 2
"""Up to this width, integers without a gap are taken for serial numbers, and not for codes."""

_MOST_COMPARED = 1000


def is_clearly_more(respelled: int, plain: int) -> bool:
    """Tell whether another spelling matches clearly more values: at least two, and a twentieth of all."""
    gain = respelled - plain
    return gain >= _LEAST_GAIN and gain >= _LEAST_SHARE * respelled


# In a lake ------------------------------------------------------------------------------------------------


def respell_query(snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> QueryColumn | None:
    """Write a query with the zeros that it may have lost, or without those that a column of the lake may have lost.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    params : SearchParams
        Filters of the search.

    Returns
    -------
    QueryColumn or None
        Integers, written with zeros to the width of which the vocabulary holds the most spellings, `pad` digits. Or
        texts of which some are digits with a zero in front: those of the most frequent width are read as integers,
        −`pad` digits. None where neither applies, where no column holds enough of the values that change, and for a
        query whose `pad` was given.

    Notes
    -----
    Widths from the longest number to 18 digits are looked up: 32 values of the query, spread over those that zeros
    would change, in widths up to two digits above it, 8 in the others. Then the values that change are searched for:
    only if some column holds so many that it may match clearly more, and half of the query, is the query spelled anew.
    """
    if query.pad is not None or not len(query.values):
        return None
    pad = _width_of_vocabulary(snapshot, query) or -_width_of_codes(query.values)
    if not pad or not _may_match_more(snapshot, query, pad, params):
        return None
    values = respell_zeros(query.values, pad, snapshot.settings)
    profile = profile_values(values, pa.string(), has_texts=False)
    return replace(query, values=values, profile=profile, pad=pad)


def _may_match_more(snapshot: Snapshot, query: QueryColumn, pad: int, params: SearchParams) -> bool:
    """Tell whether some column holds so many of the values that another spelling changes that it may gain by it."""
    n_query, lengths = len(query.values), np.diff(query.values.offsets)
    if pad > 0:
        is_changed = lengths < pad
    else:
        is_changed = (query.values.data[query.values.offsets[:-1]] == ord("0")) & (lengths == -pad)
    changed = respell_zeros(keep_values(query.values, is_changed), pad, snapshot.settings)
    only_best = replace(params, k=1, threshold=None, is_weighted=False)
    hits, _ = searcher_of(snapshot).search(MatchedQuery(snapshot, changed), only_best)
    gain = int(hits.matched.max(initial=0))
    most = gain + n_query - int(np.count_nonzero(is_changed))
    least = max(_LEAST_GAIN, _LEAST_SHARE * _LEAST_CONTAINMENT * n_query)
    return gain >= least and most >= _LEAST_CONTAINMENT * n_query


def better_with_zeros(snapshot: Snapshot, plain: Found, respelled: Found) -> NDArray[np.bool_]:
    """Tell which hits of the other spelling match clearly more than the same columns do as they are.

    Parameters
    ----------
    snapshot : Snapshot
    plain, respelled : Found
        The search of a query column as it is, and the other one.

    Returns
    -------
    ndarray of bool, shape (n_hits,)
    """
    compared = range(min(len(respelled.hits), _MOST_COMPARED))
    is_better = np.zeros(len(respelled.hits), bool)
    is_better[: len(compared)] = [_is_better(snapshot, plain, respelled, row) for row in compared]
    return is_better


def _is_better(snapshot: Snapshot, plain: Found, respelled: Found, row: int) -> bool:
    """Tell whether a hit of the other spelling matches clearly more than the same column does as it is."""
    hits = respelled.hits.hits
    number, column, matched = int(hits.segments[row]), int(hits.columns[row]), int(hits.matched[row])
    if matched < _LEAST_CONTAINMENT * len(respelled.query.values) or not is_clearly_more(matched, 0):
        return False
    segment = snapshot.segments[number]
    own = int(np.count_nonzero(shared_mask(segment, column, plain.matched.groups(number))))
    if not is_clearly_more(matched, own):
        return False
    width = respelled.query.pad or 0
    if width > 0:
        return True
    numbers = segment.catalog.numbers  # integers of the same largest width are what codes of it have become
    largest, smallest = int(numbers["max_integer"][column]), int(numbers["min_integer"][column])
    return bool(numbers["has_range"][column]) and smallest >= 0 and len(str(largest)) == -width


def _width_of_vocabulary(snapshot: Snapshot, query: QueryColumn) -> int:
    """Return the width in which the vocabulary holds the most of some integers of a query, 0 if it holds hardly any."""
    widths = _widths(query.profile)
    if not widths:
        return 0
    near = range(widths.start, min(widths.start + _EXTRA_DIGITS + 1, widths.stop))
    texts: list[str] = []
    counts: list[int] = []
    for width in widths:
        changed = query.integers[: int(np.searchsorted(query.integers, 10 ** (width - 1)))]
        n_taken = _SAMPLES[0 if width in near else 1]
        taken = changed[:: max(1, -(-changed.size // n_taken))].tolist()
        texts += [str(integer).zfill(width) for integer in taken]
        counts.append(len(taken))
    values = normalize_column(pa.array(texts, pa.large_string()), snapshot.settings)
    is_found = np.zeros(len(values) + 1, bool)  # the last one serves code -1, the null
    for one in _is_found(snapshot, MatchedQuery(snapshot, values)):
        is_found[:-1] |= one
    ends = np.cumsum(counts)
    n_found = [int(part.sum()) for part in np.split(is_found[values.codes], ends[:-1])]
    best = max(range(len(widths)), key=lambda position: (n_found[position] / max(1, counts[position]), -position))
    width = widths[best]
    is_serial = query.profile.max_integer - query.profile.min_integer < len(query.values)
    return width if n_found[best] >= _LEAST_GAIN and not (is_serial and width <= _SERIAL_DIGITS) else 0


def _is_found(snapshot: Snapshot, matched: MatchedQuery) -> Iterator[NDArray[np.bool_]]:
    """Tell for each segment which values its vocabulary holds."""
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens:
            yield matched.groups(number) >= 0


def _width_of_codes(values: ValueSet) -> int:
    """Return the most frequent width of texts that are digits with a zero in front; 0 where hardly any are."""
    has_zero = values.data[values.offsets[:-1]] == ord("0")
    if np.count_nonzero(has_zero) < _LEAST_GAIN:
        return 0
    lengths = np.diff(values.offsets)
    positions = np.flatnonzero((values.classes == TEXT) & has_zero & (lengths > 1) & (lengths <= _MAX_DIGITS))
    if positions.size < _LEAST_GAIN:
        return 0
    width = int(np.argmax(np.bincount(lengths[positions])))
    positions = positions[lengths[positions] == width]
    digits = values.data[values.offsets[positions][:, None] + np.arange(width)]
    n_codes = int(((digits >= ord("0")) & (digits <= ord("9"))).all(axis=1).sum())
    longer = (values.classes == INTEGER) & (lengths > width)
    return width if n_codes >= _LEAST_GAIN and not longer.any() else 0


def _widths(profile: Profile) -> range:
    """Return the widths that change an integer of a column and not the longest one."""
    if not profile.has_range or profile.min_integer < 0:
        return range(0)
    longest, shortest = len(str(profile.max_integer)), len(str(profile.min_integer))
    return range(longest + (longest == shortest), _MAX_DIGITS + 1)


# Between two frames ---------------------------------------------------------------------------------------


class LostZeros(NamedTuple):
    """A width of codes that integers of one column had: how many values match in it, and how many as they are."""

    width: int
    respelled: int
    plain: int


def find_lost_zeros_between(integers: QueryColumn, texts: ValueSet) -> LostZeros:
    """Find a width to which zero-padding the integers of a column matches more values of another than they do.

    Parameters
    ----------
    integers : QueryColumn
    texts : ValueSet
        Distinct values of the other column.

    Returns
    -------
    LostZeros
        The width is 0 when none is better.
    """
    widths = _widths(integers.profile)
    if not widths or texts.integers is not None:  # whole numbers have no zeros in front
        return LostZeros(0, 0, 0)
    lengths = np.diff(texts.offsets)
    begins_with_zero = (lengths > 1) & (texts.data[texts.offsets[:-1]] == ord("0"))
    best: LostZeros | None = None
    for width in np.unique(lengths[begins_with_zero]).tolist():
        if width not in widths:
            continue
        vocabulary = Vocabulary(texts)
        if best is None:
            plain = int(np.count_nonzero(vocabulary.codes_of(integers.values) >= 0))
            best = LostZeros(0, plain, plain)
        padded = pad_integers(integers.values, width, _SETTINGS)
        matched = int(np.count_nonzero(vocabulary.codes_of(padded) >= 0))
        if matched > best.respelled:
            best = LostZeros(width, matched, best.plain)
    return best or LostZeros(0, 0, 0)


def warn_of_lost_zeros(plain: Found, respelled: Found) -> None:
    """Warn when a query matches more in the other spelling than any column does as it is."""
    own, other = (int(found.hits.hits.matched.max(initial=0)) for found in (plain, respelled))
    width = respelled.query.pad or 0
    if other <= own:
        return
    name = plain.query.name
    if width > 0:
        warn(
            f"the integers of column {name!r} match {other:,} values when written with zeros up to {width} digits, and "
            f"{own:,} as they are; read the column with dtype=str, or pass `pad={width}`"
        )
    elif is_clearly_more(other, own):
        remedy = 'rank="useful" finds' if plain.useful is None else "rows with `pad` are"
        warn(
            f"the codes of column {name!r} match {other:,} values when their zeros in front are left out, as integers "
            f"have lost theirs, and {own:,} as they are; {remedy} the columns of the lake that lost them"
        )


def tell_lost_zeros(snapshot: Snapshot, plain: Found, respelled: Found) -> dict[str, int]:
    """Return what a search by matched values, whose rows have values as they are, says of the other spelling.

    Parameters
    ----------
    snapshot : Snapshot
    plain, respelled : Found
        The search of a query column as it is, and the other one.

    Returns
    -------
    dict
        ``pad`` (digits; below 0: codes without their zeros) and ``n_matched_with_pad``, of the best column that
        matches clearly more by it; nothing where none does, or that matches less than half of the query.
    """
    matched = respelled.hits.hits.matched[better_with_zeros(snapshot, plain, respelled)]
    return {"pad": respelled.query.pad or 0, "n_matched_with_pad": int(matched.max())} if matched.size else {}


_LOOKED_AT = 16
"""Values, spread over a query, of which one has to be a date or a period."""

_MAY_BE_DIGIT = [byte >= 128 or ord("0") <= byte <= ord("9") for byte in range(256)]
"""Whether a digit of any script may begin or end with a byte."""


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
    step, data = -(-len(values) // _LOOKED_AT), values.data.data
    for start, end in zip(values.offsets[:-1:step].tolist(), values.offsets[1::step].tolist(), strict=True):
        if _MAY_BE_DIGIT[data[start]] or _MAY_BE_DIGIT[data[end - 1]]:  # a year begins or ends them
            text = str(data[start:end], "utf-8", "replace")
            if (text[0].isdigit() or text[-1].isdigit()) and is_period(text):
                return True
    return False


def merge_spelled(frame: JoinCandidates, column: str, found: Sequence[SpelledRows]) -> JoinCandidates:
    """Put rows that other spellings of the query have found into a result; a column of the lake stands there once.

    Parameters
    ----------
    frame : JoinCandidates
        What was found for the query as it is.
    column : str
        New column of the result, which has the labels, null in rows of the former; none where no row has one.
    found : sequence of SpelledRows

    Returns
    -------
    JoinCandidates
        `frame` itself where nothing was found.
    """
    found = [one for one in found if len(one.rows)]
    if not found:
        return frame
    spelled = {name: one.context for one in found for name in map(name_of_row, rows_of(one.rows))}
    rest = [position for position, row in enumerate(rows_of(frame)) if name_of_row(row) not in spelled]
    parts = [(one.rows, one.labels) for one in found]
    if rest:
        parts.insert(0, (pd.DataFrame(frame), pd.array([None] * len(frame), found[0].labels.dtype)))
    rows = pd.concat([part for part, _ in parts]) if len(parts) > 1 else parts[0][0].copy()
    rows[column] = pd.concat([pd.Series(labels) for _, labels in parts]).array
    first = len(frame) if rest else 0
    context = frame.context
    queries = [*context.queries] if context.key is None else [context.key.query.name]
    kept = _best(rows, [*rest, *range(first, len(rows))], queries, context.params.k)
    merged = JoinCandidates(rows.iloc[kept])
    merged.index = pd.RangeIndex(len(kept))
    if merged[column].isna().all():
        del merged[column]
    merged._context = replace(context, spelled={**context.spelled, **spelled})
    merged.attrs = dict(frame.attrs)
    return merged


def _best(frame: pd.DataFrame, kept: list[int], queries: list[str], k: int | None) -> list[int]:
    """Sort some rows as a result is sorted, query column by query column, and return the k best of each.

    Of equal rows those of the plain search come first, in its order: what stands for a family stays before the others.
    """
    names = frame["query_column"].tolist()
    counts = frame["matched_rows" if "matched_rows" in frame else "matched"].tolist()
    useful = frame["usefulness"].tolist() if "usefulness" in frame else [0.0] * len(frame)
    sizes = frame["cardinality"].tolist()
    rank = {name: number for number, name in enumerate(queries)}
    order = sorted(kept, key=lambda row: (rank[names[row]], -useful[row], -counts[row], sizes[row]))
    if k is None:
        return order
    return [row for _, rows in groupby(order, key=names.__getitem__) for row in islice(rows, k)]
