"""Integers of a query that have lost the zeros in front of them, as ZIP codes that were read as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import warn
from dfjoin.search.exact.matcher import Vocabulary, match_tokens, vocabulary_of
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.found import Found
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_column, pad_integers
from dfjoin.values.profile import Profile

__all__ = ["find_lost_zero_width", "find_lost_zero_width_between", "warn_of_lost_zeros"]

_EXTRA_DIGITS = 2
"""Digits more than the longest number has, up to which every value of the query is looked up."""

_SETTINGS = IndexSettings()
_MAX_DIGITS = 18
_SAMPLE = 16
"""Values of the query, at most, that tell whether the vocabulary holds any spelling of a greater width."""


def warn_of_lost_zeros(snapshot: Snapshot, found: Found, params: SearchParams) -> None:
    """Warn when a query's integers match more with zeros in front than as they are."""
    query, hits = found.query, found.hits.hits
    best = int(hits.matched[0]) if len(hits) else 0
    width, padded = find_lost_zero_width(snapshot, query, params, best)
    if width:
        warn(
            f"the integers of column {query.name!r} match {padded:,} values when written with zeros up "
            f"to {width} digits, and {best:,} as they are; read the column with dtype=str, or pass "
            f"`pad={width}`"
        )


def find_lost_zero_width(snapshot: Snapshot, query: QueryColumn, params: SearchParams, best: int) -> tuple[int, int]:
    """Find a width to which zero-padding the query's integers matches more than their own digits.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    params : SearchParams
        Filters of the search that was made.
    best : int
        Most values that a column shares with the query as it is.

    Returns
    -------
    width, matched : int
        The best width and what it matches; (0, best) when no width is better.

    Notes
    -----
    Widths from the longest number to 18 digits; those of more than two digits more than the longest number only
    when the vocabulary holds one of at most 16 numbers, spread over the query, in such a spelling. A width is
    searched only when the vocabulary holds more of its spellings than `best`, and none when some column holds all
    values as they are.
    """
    if query.pad is not None or best >= len(query.values):
        return 0, best
    widths = _widths(query.profile)
    if not widths:
        return 0, best
    found = 0
    single = replace(params, k=1, threshold=None, is_weighted=False)
    near = range(widths.start, min(widths.start + _EXTRA_DIGITS + 1, widths.stop))
    for width in (*near, *_widths_of_sample(snapshot, query, range(near.stop, widths.stop), best)):
        matched = MatchedQuery(snapshot, pad_integers(query.values, width, snapshot.settings))
        if sum(map(np.count_nonzero, _is_found(snapshot, matched))) <= best:
            continue
        hits, _ = searcher_of(snapshot).search(matched, single)
        if len(hits) and int(hits.matched.max()) > best:
            best, found = int(hits.matched.max()), width
    return found, best


def find_lost_zero_width_between(integers: QueryColumn, texts: ValueSet) -> tuple[int, int, int]:
    """Find a width to which zero-padding the integers of a column matches more values of another than they do.

    Parameters
    ----------
    integers : QueryColumn
    texts : ValueSet
        Distinct values of the other column.

    Returns
    -------
    width, padded, plain : int
        The best width, what it matches, and what the integers match as they are; the width is 0 when none is better.
    """
    widths = _widths(integers.profile)
    if not widths:
        return 0, 0, 0
    lengths = np.diff(texts.offsets)
    begins_with_zero = (lengths > 1) & (texts.data[texts.offsets[:-1]] == ord("0"))
    vocabulary: Vocabulary | None = None
    found, best, plain = 0, 0, 0
    for width in np.unique(lengths[begins_with_zero]).tolist():
        if width not in widths:
            continue
        if vocabulary is None:
            vocabulary = vocabulary_of(texts)
            best = plain = int(np.count_nonzero(match_tokens(integers.values, vocabulary) >= 0))
        padded = pad_integers(integers.values, width, _SETTINGS)
        matched = int(np.count_nonzero(match_tokens(padded, vocabulary) >= 0))
        if matched > best:
            found, best = width, matched
    return found, best, plain


def _widths(profile: Profile) -> range:
    """Return the widths that change an integer of a column and not the longest one."""
    if not profile.has_range or profile.min_integer < 0:
        return range(0)
    longest, shortest = len(str(profile.max_integer)), len(str(profile.min_integer))
    return range(longest + (longest == shortest), _MAX_DIGITS + 1)


def _is_found(snapshot: Snapshot, matched: MatchedQuery) -> Iterator[NDArray[np.bool_]]:
    """Tell for each segment which values its vocabulary holds."""
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens:
            yield matched.groups(number) >= 0


def _widths_of_sample(snapshot: Snapshot, query: QueryColumn, widths: range, best: int) -> list[int]:
    """Return the widths in which the vocabulary holds at least one of a few integers of the query.

    A width that is better than none holds more than `best` of them, so that few tell where `best` is high: three
    times the reciprocal of the share misses it once in twenty times.
    """
    if not widths:
        return []
    n_values = len(query.integers)
    n_taken = min(_SAMPLE, 1 + 3 * n_values // max(1, best))
    integers = query.integers[:: -(-n_values // n_taken)].tolist()
    texts = pa.array([str(integer).zfill(width) for width in widths for integer in integers], pa.large_string())
    values = normalize_column(texts, snapshot.settings)
    is_found = np.zeros(len(values) + 1, bool)  # the last one serves code -1, the null
    for one in _is_found(snapshot, MatchedQuery(snapshot, values)):
        is_found[:-1] |= one
    by_width = is_found[values.codes].reshape(len(widths), len(integers))
    return [widths[row] for row in np.flatnonzero(by_width.any(axis=1)).tolist()]
