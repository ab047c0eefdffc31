"""A segment: lazily mapped, its components fit together, and one that does not is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.index.catalog import TABLE_FIELDS
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.commit import commit
from dfjoin.index.component_files import write_component
from dfjoin.index.components import TOKENS
from dfjoin.index.segment import Segment, SegmentPool


@pytest.fixture
def lake(build):
    words = [f"w{i}" for i in range(40)]
    return build(
        {
            "a": pd.DataFrame({"x": words, "y": words[:20] * 2, "f": [0.5] * 40}),
            "b": pd.DataFrame({"x": words[10:30], "n": range(20)}),
        }
    )


@pytest.fixture
def segment(lake):
    return lake.segments[0]


def test_nothing_is_read_before_it_is_asked_for(lake):
    segment = Segment(lake.path / "nowhere", lake.manifest.segments[0])
    assert segment.n_columns == 5 and segment.n_tokens == 60 and segment.alive is None


def test_counts_are_those_of_the_arrays(segment):
    tokens = segment.tokens
    counts = segment.meta.counts
    assert counts["tokens"] == tokens.hash.size == 60
    assert counts["lists"] == tokens.list_indptr.size - 1 and counts["postings"] == tokens.list_columns.size
    assert counts["columns"] == 5 and counts["indexed_columns"] == 4 and counts["tables"] == 2
    assert counts["pairs"] == 40 + 20 + 20 + 20


def test_forward_index_and_posting_lists_hold_the_same_sets(segment):
    catalog = segment.catalog
    sets = {}
    for column in range(segment.n_columns):
        tokens = tokens_of_column(segment, column)
        values = [value_of_token(segment, int(token)) for token in tokens]
        assert len(values) == len(set(values)) == (catalog.numbers["cardinality"][column] if values else 0)
        sets[catalog.table_name(column), catalog.column_name(column)] = set(values)
    words = [f"w{i}" for i in range(40)]
    assert sets == {
        ("a", "x"): set(words), ("a", "y"): set(words[:20]), ("a", "f"): set(),
        ("b", "x"): set(words[10:30]), ("b", "n"): {str(i) for i in range(20)},
    }  # fmt: skip


def test_arrays_are_read_only_and_sorted(segment):
    tokens = segment.tokens
    for array in tokens:
        assert not array.flags.writeable
    assert np.all(tokens.hash[1:] >= tokens.hash[:-1])
    for low, high in zip(tokens.list_indptr, tokens.list_indptr[1:], strict=False):
        columns = tokens.list_columns[low:high].tolist()
        assert len(columns) >= 2 and columns == sorted(set(columns))


def test_posting_lists_are_distinct(segment):
    tokens = segment.tokens
    bounds = zip(tokens.list_indptr, tokens.list_indptr[1:], strict=False)
    lists = [tuple(tokens.list_columns[low:high].tolist()) for low, high in bounds]
    assert len(lists) == len(set(lists)) == 3


def test_positions_lead_back_to_the_set(segment):
    """The i-th posting of a list tells where the list stands in the column's set."""
    tokens = segment.tokens
    for number, (low, high) in enumerate(zip(tokens.list_indptr, tokens.list_indptr[1:], strict=False)):
        for column, position in zip(tokens.list_columns[low:high], tokens.list_positions[low:high], strict=True):
            start, end = tokens.set_indptr[column : column + 2]
            assert number in tokens.set_lists[start:end].tolist()
            assert position >= 0


def test_verify_finds_nothing_in_a_sound_segment(segment):
    assert segment.verify() == []


class TestDamage:
    def with_components(self, lake, change, group="tokens"):
        """Commit a version whose manifest lists other components of the group."""
        (meta,) = lake.manifest.segments
        groups = tuple(replace(g, components=change(g.components)) if g.name == group else g for g in meta.groups)
        commit(lake.path, lake.manifest.next("test", segments=(replace(meta, groups=groups),)))
        return dfjoin.open_lake(lake.path)

    @pytest.mark.parametrize("name", TOKENS)
    def test_a_component_that_is_not_listed(self, lake, name):
        other = self.with_components(lake, lambda cs: tuple(c for c in cs if c.name != name))
        with pytest.raises(IndexCorruptedError, match=f"component `{name}` of segment .* is not in the manifest"):
            other.segments[0].tokens  # noqa: B018

    @pytest.mark.parametrize("group", ["tokens", "catalog"])
    def test_a_group_that_is_missing(self, lake, group):
        (meta,) = lake.manifest.segments
        segment = Segment(lake.path, replace(meta, groups=tuple(g for g in meta.groups if g.name != group)))
        with pytest.raises(
            IndexCorruptedError, match=f"component `{group}` of segment .* the segment has no such group"
        ):
            getattr(segment, group)

    @pytest.mark.parametrize("name", TOKENS)
    @pytest.mark.parametrize("size", [0, 1, 9, 1000])
    def test_lengths_that_do_not_fit_are_refused(self, lake, name, size):
        """An array of another length, with a manifest to match, must not reach the kernels."""
        array = np.zeros(size, TOKENS[name].dtype)
        other = write_component(lake.segments[0].directory, "other", name, array)
        changed = self.with_components(lake, lambda cs: tuple(other if c.name == name else c for c in cs))
        with pytest.raises(IndexCorruptedError, match="component `"):
            dfjoin.discover_joinable(pd.DataFrame({"q": ["w1", "w2"]}), "q", changed, rank="matched")

    @pytest.mark.parametrize("name", ["value_offsets", "group_indptr", "list_indptr", "set_indptr", "directory"])
    @pytest.mark.parametrize("value", [0, 2**31 - 1])
    def test_ends_that_do_not_fit_are_refused(self, lake, name, value):
        array = getattr(lake.segments[0].tokens, name).copy()
        array[-1] = value
        other = write_component(lake.segments[0].directory, "other", name, array)
        changed = self.with_components(lake, lambda cs: tuple(other if c.name == name else c for c in cs))
        with pytest.raises(IndexCorruptedError, match=f"component `{name}` of segment .* to {value}, not from 0 to"):
            changed.segments[0].tokens  # noqa: B018

    @pytest.mark.parametrize("name", ["group", "list_columns"])
    @pytest.mark.parametrize("value", [1000, 2**31 - 1])
    def test_ids_outside_the_segment_are_refused(self, lake, name, value):
        array = np.full(getattr(lake.segments[0].tokens, name).size, value, TOKENS[name].dtype)
        other = write_component(lake.segments[0].directory, "other", name, array)
        changed = self.with_components(lake, lambda cs: tuple(other if c.name == name else c for c in cs))
        query = pd.DataFrame({"q": [f"w{i}" for i in range(40)]})
        with pytest.raises(IndexCorruptedError, match=f"component `{name}`.* of segment"):
            dfjoin.discover_joinable(query, "q", changed, rank="matched")

    def test_the_scratch_is_clean_after_a_failed_search(self, lake):
        """A search that failed half-way must not leave counts behind for the next one."""
        query = pd.DataFrame({"q": [f"w{i}" for i in range(40)]})
        before = dfjoin.discover_joinable(query, "q", lake, rank="matched")
        (segment,) = lake.segments
        sound = segment.tokens
        broken = sound.list_columns.copy()
        broken[-1] = 99
        segment.__dict__["tokens"] = sound._replace(list_columns=broken)
        with pytest.raises(IndexCorruptedError):
            dfjoin.discover_joinable(query, "q", lake, rank="matched")
        segment.__dict__["tokens"] = sound
        after = dfjoin.discover_joinable(query, "q", lake, rank="matched")
        pd.testing.assert_frame_equal(pd.DataFrame(before), pd.DataFrame(after))


def test_a_table_without_columns_is_never_deleted(lake, monkeypatch):
    """There is no column whose mark could tell."""
    segment = lake.segments[0]
    tables = segment.catalog.tables().to_pylist()
    empty = {**tables[0], "name": "e", "first_column": 3, "n_columns": 0}
    records = pa.array([tables[0], empty, {**tables[1], "name": "f"}], TABLE_FIELDS)
    catalog = type("Records", (), {"tables": lambda _: records, "table_record": lambda _, n: records[n].as_py()})()
    other = Segment(lake.path, segment.meta)
    monkeypatch.setattr(other, "catalog", catalog)
    for alive in ([1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]):
        monkeypatch.setattr(other, "alive", np.array(alive, np.uint8))
        expected = [alive[0] == 1, True, alive[4] == 1]
        assert [other.is_table_alive(n) for n in range(3)] == other.alive_tables().tolist() == expected


def test_versions_share_the_segments_that_did_not_change(lake):
    first = lake.segments[0]
    lake.add({"c": pd.DataFrame({"x": ["w1", "w2"]})}, engine="inline", progress=False)
    assert lake.segments[0] is first and len(lake.segments) == 2
    lake.remove("a")
    assert lake.segments[0] is not first and lake.segments[0].alive is not None
    pool = SegmentPool(lake.path, lake.segments)
    assert pool.of(lake.manifest.segments) == list(lake.segments)
    grown = replace(lake.manifest.segments[0], counts={**first.meta.counts, "columns": 99})
    assert pool.of([grown])[0].n_columns == 99
