"""Ranking of hits on arrays, against a sort of Python objects."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.search.exact.searcher import _smallest_of_best
from dfjoin.search.hits import Hits, best_positions, join_hits, rank_columns, rank_hits
from tests.oracles import search as oracles

NAMES = ["a", "B", "é", "\ue000", "\uffee", "\U0001f600", "z"]


class Catalog:
    """Tables and columns in the order of their names, and a number for each field of a column."""

    def __init__(self, names):
        self.names = sorted(names)
        ids = np.arange(len(names))
        fields = ("kind", "n_rows", "n_null", "has_range", "min_integer", "max_integer")
        self.numbers = {field: 10 * ids + i for i, field in enumerate(fields)}

    def table_name(self, column):
        return self.names[column][0]

    def column_name(self, column):
        return self.names[column][1]

    def names_of(self, columns):
        return [self.names[c][0] for c in columns.tolist()], [self.names[c][1] for c in columns.tolist()]


def make_hits(rows):
    arrays = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    segments, columns, scores, cardinality = arrays or [np.empty(0, np.int64)] * 4
    return Hits(segments, columns, scores, scores, cardinality, np.full(scores.size, np.nan))


@st.composite
def found(draw):
    """Segments of distinct columns, and hits among them in any order, with many ties."""
    pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("xyz")), unique=True, max_size=14))
    cut = draw(st.integers(0, len(pairs)))
    segments = [SimpleNamespace(catalog=Catalog(part)) for part in (pairs[:cut], [], pairs[cut:])]
    everything = [(number, c) for number, s in enumerate(segments) for c in range(len(s.catalog.names))]
    order = draw(st.permutations(everything))
    return segments, [(n, c, draw(st.integers(1, 3)), draw(st.integers(2, 4))) for n, c in order]


@given(found(), st.one_of(st.none(), st.integers(1, 16)))
def test_hits_are_ranked_as_python_sorts_them(case, k):
    segments, rows = case
    names = [segments[number].catalog.names[column] for number, column, _, _ in rows]
    expected = oracles.rank_columns(names, [(-score, cardinality) for _, _, score, cardinality in rows], k)
    ranked = rank_hits(segments, make_hits(rows), k, has_range=True)
    assert ranked.order.tolist() == expected
    assert list(zip(ranked.tables, ranked.names, strict=True)) == [names[i] for i in expected]
    assert ranked.hits.columns.tolist() == [rows[i][1] for i in expected]
    assert ranked.profile["max_integer"].tolist() == [10 * rows[i][1] + 5 for i in expected]
    assert set(rank_hits(segments, make_hits(rows), k, has_range=False).profile) == {"kind", "n_rows", "n_null"}


@given(found(), st.integers(1, 16))
def test_the_best_hits_are_the_first_of_all_when_sorted(case, most):
    rows = case[1]
    order = sorted(range(len(rows)), key=lambda i: (-rows[i][2], rows[i][3], rows[i][0], rows[i][1]))
    assert best_positions(make_hits(rows), most).tolist() == sorted(order[:most])


@given(found())
def test_hits_of_each_segment_are_told_apart(case):
    hits = make_hits(case[1])
    positions = np.arange(len(hits))
    parts = {number: positions[own].tolist() for number, own in hits.by_segment()}
    expected = {n: [i for i, row in enumerate(case[1]) if row[0] == n] for n in sorted({row[0] for row in case[1]})}
    assert parts == expected


def test_only_ties_across_segments_read_names():
    segments = [SimpleNamespace(catalog=Catalog([(name, "x") for name in "bd"])), SimpleNamespace(catalog=None)]
    rows = [(0, 1, 5, 2), (0, 0, 5, 2), (1, 0, 4, 2)]
    hits = make_hits(rows)
    order = rank_columns(segments, (hits.segments, hits.columns), (-hits.matched_rows, hits.cardinality))
    assert order.tolist() == [1, 0, 2]


def test_ties_at_the_last_place_are_broken_by_name():
    segments = [
        SimpleNamespace(catalog=Catalog([("b", "x"), ("d", "x")])),
        SimpleNamespace(catalog=Catalog([("a", "x")])),
    ]
    hits = make_hits([(0, 0, 9, 2), (0, 1, 5, 2), (1, 0, 5, 2)])
    assert rank_hits(segments, hits, 2, False).tables == ["b", "a"]
    assert rank_hits(segments, hits, 1, False).tables == ["b"]


def test_hits_that_are_ranked_keep_their_order():
    segments = [SimpleNamespace(catalog=Catalog([("b", "x"), ("a", "x")]))]
    hits = make_hits([(0, 1, 5, 2), (0, 0, 5, 2)])
    ranked = rank_hits(segments, Hits(*(getattr(hits, name) for name in hits.__slots__[:6]), is_ranked=True), 10, False)
    assert ranked.tables == ["b", "a"] and ranked.order.tolist() == [0, 1]


@given(st.lists(st.lists(st.integers(1, 9), max_size=5), max_size=4), st.integers(1, 12))
def test_the_bound_of_the_next_segment_is_the_kth_score_so_far(parts, k):
    scores = sorted((score for part in parts for score in part), reverse=True)
    hits = [make_hits([(0, i, score, 2) for i, score in enumerate(part)]) for part in parts] or [make_hits([])]
    assert _smallest_of_best(hits, k) == (scores[k - 1] if len(scores) >= k else 0)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_parts_are_joined_in_their_order(n):
    parts = [make_hits([(number, 3, 2, 2)]) for number in range(n)]
    joined = join_hits(parts)
    assert len(joined) == n and joined.segments.tolist() == list(range(n)) and not joined.is_ranked
