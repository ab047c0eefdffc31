"""The pairs of values behind a hit by distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.vector_group import text_columns
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import distances_of_pairs
from dfjoin.search.distance.distance_mode import MatchedPairs
from dfjoin.search.embedding.near_search import Reach
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.found import Candidate
from dfjoin.search.shared_values import tokens_of_column
from dfjoin.vectors.metrics import PROJECTED, metric_of

__all__ = ["near_pairs", "pairs_within"]

_CHUNK = 1 << 22
_LANES = 32


def near_pairs(candidate: Candidate, rows: NDArray[np.float32], reach: Reach) -> MatchedPairs:
    """List the pairs of a candidate: equal values, and values whose vectors lie within the radius.

    Parameters
    ----------
    candidate : Candidate
    rows : ndarray of float32, shape (n_values, d)
        Vectors of the query's values.
    reach : Reach

    Returns
    -------
    MatchedPairs
        Distances in the unit of the user. Pairs of one distance are in the order of tokens.
    """
    segment, values = candidate.segment, candidate.found.query.values
    held = np.sort(tokens_of_column(segment, candidate.column))
    own = match_tokens(values, segment.tokens)
    equal = np.flatnonzero(np.isin(own, held) & (own >= 0))
    codes, tokens, distances = equal, own[equal], np.zeros(equal.size)
    if text_columns(segment)[candidate.column] and rows.any():
        stored = segment.vectors
        places = np.flatnonzero(np.isin(stored.tokens, held))
        with_vector = np.flatnonzero(rows.any(axis=1))
        left, right, chords = pairs_within(rows[with_vector], stored.rows[places], reach)
        left, right = with_vector[left], stored.tokens[places[right]].astype(np.int64)
        is_new = own[left] != right
        codes = np.append(codes, left[is_new])
        tokens = np.append(tokens, right[is_new])
        distances = np.append(distances, reach.shown(chords[is_new]))
    order = np.lexsort((tokens, distances, codes))
    return MatchedPairs(codes[order], tokens[order], distances[order], held)


def pairs_within(
    one: NDArray[np.float32], other: NDArray[np.float32], reach: Reach
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """List the pairs of unit vectors within a radius, as a search compares them.

    Parameters
    ----------
    one, other : ndarray of float32, shapes (n, d), (m, d)
    reach : Reach

    Returns
    -------
    rows, columns : ndarray of int64
        The pairs, by row.
    distances : ndarray of float64
        As `Reach.shown` takes them.

    Notes
    -----
    Products in float32 propose, distances in float64 decide. O(n m d).
    """
    if reach.metric not in PROJECTED:
        return _pairs_of_metric(one, other, reach)
    radius = reach.chord
    least = 1 - radius**2 / 2 - (one.shape[1] + 16) * 2.0**-23
    step = max(1, _CHUNK // max(1, other.shape[0]))
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    transposed = np.ascontiguousarray(other.T)
    for start in range(0, one.shape[0], step):
        i, j = np.nonzero(one[start : start + step] @ transposed >= least)
        rows.append(i + start)
        columns.append(j)
    left, right = np.concatenate(rows), np.concatenate(columns)
    distances = np.empty(left.size, np.float64)
    arrays = (as_read_only(np.ascontiguousarray(a)) for a in (one, left, other, right))
    distances_of_pairs(*arrays, np.empty(_LANES), distances)
    is_near = distances <= radius
    return left[is_near], right[is_near], distances[is_near]


def _pairs_of_metric(
    one: NDArray[np.float32], other: NDArray[np.float32], reach: Reach
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """List the pairs within a radius of a metric that was registered."""
    metric = metric_of(reach.metric)
    rows, columns, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for i in range(one.shape[0] if other.size else 0):
        own = metric.distances(one[i], other)
        near = np.flatnonzero(own <= reach.distance)
        rows.append(np.full(near.size, i))
        columns.append(near)
        distances.append(own[near])
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(distances)
