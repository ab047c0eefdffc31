"""Runs: written, mapped, cut and merged, against dictionaries of sets."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.index.runs import PADDING, Run, make_run, merge_runs, read_run, run_of_segment, write_run
from dfjoin.kernels.lists.postings import Entries

VALUES = [b"", b"a", b"b", b"ab", b"long" * 20, "é日".encode(), *(f"v{i}".encode() for i in range(20))]


def hash_of(value, is_colliding):
    """A stand-in for the value hash; colliding, so that bytes must decide."""
    number = sum((i + 1) * byte for i, byte in enumerate(value))
    return (number % 5) << 61 if is_colliding else (number * 0x9E3779B97F4A7C15) % 2**64


def run_of(entries, is_colliding=False):
    """Make a run of (value, column) pairs as a build task does: one entry each, in any order."""
    n = len(entries)
    data = b"".join(value for value, _ in entries) + bytes(PADDING)
    lengths = np.array([len(value) for value, _ in entries], np.int32)
    starts = np.cumsum([0, *lengths])[:-1].astype(np.int64) if n else np.empty(0, np.int64)
    columns = np.array([column for _, column in entries], np.int32)
    hashes = np.array([hash_of(value, is_colliding) for value, _ in entries], np.uint64)
    n_columns = int(columns.max()) + 1 if n else 0
    entries = Entries(hashes, np.arange(n + 1), columns, starts, lengths, np.frombuffer(data, np.uint8).copy())
    return make_run(entries, np.arange(n_columns, dtype=np.int32))


def content(run):
    """Value → set of columns; fails when a value stands twice or is out of order."""
    found = {}
    assert np.all(run.hash[1:] >= run.hash[:-1])
    assert run.value_bytes.size >= run.value_offsets[-1] + PADDING
    for token in range(run.n_tokens):
        value = run.value_bytes[run.value_offsets[token] : run.value_offsets[token + 1]].tobytes()
        columns = run.columns[run.indptr[token] : run.indptr[token + 1]].tolist()
        assert columns == sorted(set(columns)) and columns and value not in found
        found[value] = set(columns)
    return found


def expected_of(entries):
    found = {}
    for value, column in entries:
        found.setdefault(value, set()).add(column)
    return found


entry_lists = st.lists(st.tuples(st.sampled_from(VALUES), st.integers(0, 6)), max_size=40)


@given(entry_lists, st.booleans())
def test_make_run_unites_equal_values(entries, is_colliding):
    assert content(run_of(entries, is_colliding)) == expected_of(entries)


@given(entry_lists)
def test_write_and_read(entries):
    run = run_of(entries)
    with tempfile.TemporaryDirectory() as place:
        write_run(Path(place) / "deep" / "run", run)
        read = read_run(Path(place) / "deep" / "run")
        assert content(read) == content(run)
        assert read.hash.dtype == np.uint64 and read.columns.dtype == np.int32
        with pytest.raises(FileExistsError):
            write_run(Path(place) / "deep" / "run", run)


@given(entry_lists, st.data())
def test_slices_are_runs(entries, data):
    run = run_of(entries)
    start = data.draw(st.integers(0, run.n_tokens))
    end = data.draw(st.integers(start, run.n_tokens))
    parts = [run.slice(0, start), run.slice(start, end), run.slice(end, run.n_tokens)]
    assert [part.n_tokens for part in parts] == [start, end - start, run.n_tokens - end]
    together = {}
    for part in parts:
        assert part.value_offsets[0] == part.indptr[0] == 0
        together |= content(part)
    assert together == content(run)


@given(st.lists(entry_lists, min_size=1, max_size=4), st.sampled_from([1, 3, 1 << 30]), st.booleans(), st.data())
def test_merging_is_the_union_under_the_column_maps(lists, chunk, is_colliding, data):
    runs = [run_of(entries, is_colliding) for entries in lists]
    maps, n = [], 0
    for _ in runs:
        ids = list(range(n, n + 7))
        n += 7
        maps.append(np.array([data.draw(st.sampled_from([i, -1])) for i in ids], np.int32))
    expected = expected_of(
        (value, int(m[column]))
        for entries, m in zip(lists, maps, strict=True)
        for value, column in entries
        if m[column] >= 0
    )
    stretches = list(merge_runs(runs, maps, chunk))
    found, last = {}, 0
    for stretch in stretches:
        part = content(stretch)
        assert not part.keys() & found.keys()
        found |= part
        if stretch.n_tokens:
            assert int(stretch.hash[0]) >= last
            last = int(stretch.hash[-1])
    assert found == expected


def test_an_empty_run():
    run = run_of([])
    assert run.n_tokens == 0 and content(run) == {}
    (merged,) = merge_runs([run], [np.empty(0, np.int32)], 10)
    assert merged.n_tokens == 0


def test_a_segment_is_a_run(build):
    frames = {
        "a": pd.DataFrame({"x": ["p", "q", "r"], "y": ["p", "s", None]}),
        "b": pd.DataFrame({"x": ["p", "q", "t"], "z": [1, 2, 3]}),
    }
    (segment,) = build(frames).segments
    names = [(segment.catalog.table_name(i), segment.catalog.column_name(i)) for i in range(4)]
    run = run_of_segment(segment.tokens)
    assert isinstance(run, Run)
    found = {value.decode(): {names[c] for c in columns} for value, columns in content(run).items()}
    assert found == {
        "p": {("a", "x"), ("a", "y"), ("b", "x")}, "q": {("a", "x"), ("b", "x")}, "r": {("a", "x")},
        "s": {("a", "y")}, "t": {("b", "x")}, "1": {("b", "z")}, "2": {("b", "z")}, "3": {("b", "z")},
    }  # fmt: skip
