"""What is prefetched of a cold index covers what a query then reads, and is prefetched once."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.index.component_files import advise_willneed
from dfjoin.search.exact import posting_lists as readahead
from dfjoin.search.exact.posting_lists import ReadAhead, VocabularyReadAhead, match_tokens
from dfjoin.search.query import make_query


@pytest.fixture
def lake(build):
    values = [f"value number {i}" for i in range(40_000)]
    lake = build({"a": pd.DataFrame({"x": values}), "b": pd.DataFrame({"x": values[::7]})})
    return dfjoin.open_lake(lake.path)


@pytest.fixture
def asked(monkeypatch):
    """What was asked for, as (array, first, last + 1)."""
    calls = []

    def record(array, start, end):
        calls.append((array, start, end))
        advise_willneed(array, start, end)

    monkeypatch.setattr(readahead, "advise_willneed", record)
    return calls


def items(calls, owner):
    """Entries of an array that were asked for."""
    return {item for array, start, end in calls if array is owner for item in range(start, end)}


def test_the_pages_of_all_values_are_asked_for_before_they_are_looked_up(lake, asked):
    tokens = lake.segments[0].tokens
    ahead = VocabularyReadAhead(tokens)
    assert len(asked) == 1  # the directory
    query = pd.Series([f"value number {i}" for i in range(0, 40_000, 4001)])
    values = make_query(query, lake.settings, name="q").values
    n_ranges = ahead.prefetch(values.hashes)
    assert 1 < n_ranges <= len(values)
    found = match_tokens(values, tokens)
    assert (found >= 0).all()
    for array in (tokens.hash, tokens.value_offsets, tokens.group):
        assert set(found.tolist()) <= items(asked, array)
    starts, ends = tokens.value_offsets[found], tokens.value_offsets[found + 1]
    wanted = {byte for start, end in zip(starts.tolist(), ends.tolist(), strict=True) for byte in range(start, end)}
    assert wanted <= items(asked, tokens.value_bytes)
    n_asked = len(asked)
    assert ahead.prefetch(values.hashes) == 0 and len(asked) == n_asked


def test_a_vocabulary_asked_for_whole_is_left_alone(lake, asked):
    tokens = lake.segments[0].tokens
    ahead = VocabularyReadAhead(tokens)
    assert ahead.prefetch(np.array(tokens.hash)) == 1
    assert ahead._n_cold == 0
    assert ahead.prefetch(np.array(tokens.hash)) == 0


def test_arrays_in_memory_are_never_asked_for(lake, asked):
    query = make_query(pd.Series(["value number 1", "x"]), lake.settings, name="q").values
    tokens = lake.segments[0].tokens
    in_memory = tokens._replace(hash=np.sort(query.hashes), directory=np.array(tokens.directory))
    ahead = VocabularyReadAhead(in_memory)
    assert ahead.prefetch(query.hashes) == 0
    postings = ReadAhead(np.arange(10, dtype=np.int32))
    assert postings.prefetch(np.array([0], np.uint32), np.array([0, 10])) == 0
    assert asked == []


def test_the_pages_of_posting_lists_are_asked_for_once(lake, asked):
    tokens = lake.segments[0].tokens
    postings = ReadAhead(tokens.list_columns)
    lists = np.arange(tokens.list_indptr.size - 1, dtype=np.uint32)
    assert postings.prefetch(lists, tokens.list_indptr) == 1
    assert items(asked, tokens.list_columns) >= set(range(tokens.list_columns.size))
    assert postings.prefetch(lists, tokens.list_indptr) == 0
