"""MergeList on a segment, against a count of every column."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.search.exact.posting_lists import (
    Query,
    Scratch,
    WorkArrays,
    gather,
    lists_of,
    match_tokens,
    merge_list,
    wanted_of,
)
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.oracles.kernels import naive_top

N_COLUMNS, N_WORDS = 80, 240
_rng = np.random.default_rng(3)
SETS = [
    {f"w{n}" for n in _rng.choice(N_WORDS, _rng.integers(2, 12), replace=False)} | {f"own {i}", f"own {i} too"}
    for i in range(N_COLUMNS)
]
HOLDERS = Counter(value for held in SETS for value in held)
FEW = [next(value for value, n in HOLDERS.items() if 1 < n < N_COLUMNS // 4)]
MANY = [f"w{i}" for i in range(60)]
VALUES = st.one_of(st.integers(0, N_WORDS + 20).map("w{}".format), st.integers(0, N_COLUMNS - 1).map("own {}".format))
QUERIES = st.one_of(st.lists(VALUES, unique=True, max_size=3), st.lists(VALUES, unique=True, min_size=25, max_size=60))


@pytest.fixture(scope="module")
def segment(tmp_path_factory):
    """A segment of 80 columns in one table: column i holds the values of ``SETS[i]``."""
    length = max(map(len, SETS))
    columns = {f"c{i:02}": [*sorted(held), *[None] * (length - len(held))] for i, held in enumerate(SETS)}
    index = tmp_path_factory.mktemp("lists") / "x"
    lake = dfjoin.build_lake(
        {"t": pd.DataFrame(columns)}, index, engine="inline", progress=False, settings={"permutations": 0}
    )
    (segment,) = lake.segments
    return segment


def groups_of(segment, values):
    """The posting group of each value, -1 for none."""
    found = match_tokens(normalize_column(pa.array(values, pa.string()), IndexSettings()), segment.tokens)
    return np.array([-1 if t < 0 else segment.tokens.group[t] for t in found.tolist()], np.int64)


def work_arrays(segment):
    return WorkArrays(segment.n_columns, segment.tokens.list_indptr.size - 1)


def make_query(segment, values, weights=(), allowed=(), minimum=1, k=10):
    return Query(groups_of(segment, values), np.array(weights, np.int32), np.array(allowed, np.uint8), minimum, k)


def distinct_lists(values):
    """The distinct sets of two columns and more that hold a query value."""
    holders = {frozenset(c for c, held in enumerate(SETS) if value in held) for value in values}
    return {columns for columns in holders if len(columns) > 1}


@given(QUERIES)
def test_the_lists_of_a_query_are_gathered_once(segment, values):
    arrays = work_arrays(segment)
    found = gather(segment, arrays, make_query(segment, values))
    lists = lists_of(segment)
    read = [frozenset(lists.columns[lists.indptr[n] : lists.indptr[n + 1]].tolist()) for n in found.lists.tolist()]
    assert len(read) == len(set(read)) and set(read) == distinct_lists(values)
    assert found.n_postings == sum(map(len, read))
    alone = {c for v in values if HOLDERS[v] == 1 for c, held in enumerate(SETS) if v in held}
    assert found.n_private == len(alone)


@given(QUERIES, st.integers(1, 4), st.integers(1, 100), st.data())
def test_the_best_columns_are_those_of_a_plain_count(segment, values, minimum, k, data):
    is_weighted, is_filtered = data.draw(st.booleans()), data.draw(st.booleans())
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values))) if is_weighted else []
    allowed = data.draw(st.lists(st.integers(0, 1), min_size=N_COLUMNS, max_size=N_COLUMNS)) if is_filtered else []
    weight_of = dict(zip(values, weights, strict=True)) if is_weighted else dict.fromkeys(values, 1)
    counts = [sum(weight_of[v] for v in values if v in held) for held in SETS]
    best = naive_top(counts, range(N_COLUMNS), allowed, [len(held) for held in SETS], minimum, k)
    arrays = work_arrays(segment)
    query = make_query(segment, values, weights, allowed, minimum, k)
    top = merge_list(segment, arrays, query, gather(segment, arrays, query))
    assert top.columns.tolist() == best
    assert top.counts.tolist() == [counts[c] for c in best]
    n_postings = sum(map(len, distinct_lists(values)))
    assert (top.stats.plan, top.stats.postings_read, top.stats.bytes_read) == ("mergelist", n_postings, 4 * n_postings)
    assert not arrays.tally.counts.any() and not arrays.tally.list_weights.any(), "clean for the next search"


def test_both_ways_of_counting_are_met():
    """More postings than a quarter of the columns: all columns are scanned, else those met are recorded."""
    few, many = (sum(map(len, distinct_lists(words))) for words in (FEW, MANY))
    assert 0 < few <= N_COLUMNS // 4 < many


def test_what_is_wanted_are_the_query_s_limits_and_the_cardinalities(segment):
    wanted = wanted_of(segment, make_query(segment, ["w1"], allowed=[1] * N_COLUMNS, minimum=3, k=7))
    assert wanted.cardinality.tolist() == [len(held) for held in SETS]
    assert (wanted.minimum, wanted.k, wanted.is_allowed.tolist()) == (3, 7, [1] * N_COLUMNS)


class TestScratch:
    def test_arrays_are_lent_to_one_search_at_a_time_and_used_again(self, segment):
        scratch = Scratch(segment)
        with scratch.lend() as first, scratch.lend() as second:
            assert first is not second and not np.shares_memory(first.tally.counts, second.tally.counts)
        with scratch.lend() as third, scratch.lend() as fourth:
            assert {id(third), id(fourth)} == {id(first), id(second)}

    def test_arrays_of_a_search_that_failed_are_dropped(self, segment):
        scratch = Scratch(segment)
        with pytest.raises(KeyboardInterrupt), scratch.lend() as dirty:
            dirty.tally.counts[0] = 1
            raise KeyboardInterrupt
        with scratch.lend() as arrays:
            assert arrays is not dirty and not arrays.tally.counts.any()

    def test_clearing_leaves_zeros(self, segment):
        arrays = work_arrays(segment)
        found = gather(segment, arrays, make_query(segment, [f"w{i}" for i in range(40)] + ["own 3"]))
        assert arrays.tally.list_weights.any() and arrays.tally.counts.any()
        arrays.clear(found.lists, found.n_private)
        assert not arrays.tally.list_weights.any() and not arrays.tally.counts.any()

    def test_what_josie_notes_does_not_overlap(self):
        arrays = WorkArrays(6, 2)
        candidates = arrays.candidates(4)
        assert candidates.counts is arrays.tally.counts and candidates.met is arrays.tally.columns
        assert not candidates.marks.any() and candidates.best.shape == (4,)
        assert arrays.candidates(9).best.shape == (6,), "no more than there are columns"
        for i, one in enumerate(candidates):
            assert not any(np.shares_memory(one, other) for other in candidates[i + 1 :])


def test_postings_that_lead_outside_name_the_segment(segment):
    tokens = segment.tokens._replace(list_columns=np.full_like(segment.tokens.list_columns, N_COLUMNS))
    broken = SimpleNamespace(tokens=tokens, n_columns=N_COLUMNS, catalog=segment.catalog, meta=segment.meta)
    for words in (FEW, MANY):
        arrays, query = work_arrays(segment), make_query(segment, words)
        found = gather(broken, arrays, query)
        with pytest.raises(IndexCorruptedError) as caught:
            merge_list(broken, arrays, query, found)
        assert str(caught.value) == (
            f"component `list_columns` or `set_lists` of segment {segment.meta.id} is damaged: it names columns or "
            "lists that the segment does not have; call dfjoin.repair, or build the index again"
        )
