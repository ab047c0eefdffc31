"""Alive masks: what is deleted from an immutable segment."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError, TableNotFoundError
from dfjoin.index.commit import commit
from dfjoin.index.manifest import SegmentMeta
from dfjoin.index.segment import read_alive, write_alive


def meta_of(entry, n_columns=4):
    return SegmentMeta("s1", {"columns": n_columns}, (), entry)


def test_none_without_deletions(tmp_path):
    assert read_alive(tmp_path, meta_of(None)) is None


def test_round_trip(tmp_path):
    alive = np.array([1, 0, 0, 1], np.uint8)
    entry = write_alive(tmp_path, "s1", 3, alive)
    assert entry["n_deleted"] == 2 and entry["n_deleted_tables"] == entry["n_deleted_indexed"] == 0
    assert re.fullmatch(rf"tombstones/s1\.{3:020d}\.[0-9a-f]{{8}}\.npy", entry["file"])
    read = read_alive(tmp_path, meta_of(entry))
    assert np.array_equal(read, alive) and not read.flags.writeable


def test_each_version_has_a_file_of_its_own(tmp_path):
    first = write_alive(tmp_path, "s1", 2, np.array([1, 1, 1, 0], np.uint8))
    second = write_alive(tmp_path, "s1", 3, np.array([0, 1, 1, 0], np.uint8))
    assert read_alive(tmp_path, meta_of(first)).tolist() == [1, 1, 1, 0]
    assert read_alive(tmp_path, meta_of(second)).tolist() == [0, 1, 1, 0]


def test_two_writers_of_one_version_write_two_files(tmp_path):
    first = write_alive(tmp_path, "s1", 2, np.array([1, 1, 1, 0], np.uint8), 1)
    second = write_alive(tmp_path, "s1", 2, np.array([0, 1, 1, 0], np.uint8), 2)
    assert first["file"] != second["file"] and (first["n_deleted_tables"], second["n_deleted_tables"]) == (1, 2)
    assert read_alive(tmp_path, meta_of(first)).tolist() == [1, 1, 1, 0]


class TestDamage:
    @pytest.fixture
    def entry(self, tmp_path):
        return write_alive(tmp_path, "s1", 2, np.array([1, 0, 0, 1], np.uint8))

    def test_missing(self, tmp_path, entry):
        (tmp_path / entry["file"]).unlink()
        with pytest.raises(
            IndexCorruptedError,
            match=r"component `tombstones` of segment s1 is damaged: .*; call dfjoin.repair, or build the index",
        ):
            read_alive(tmp_path, meta_of(entry))

    def test_flipped(self, tmp_path, entry):
        path = tmp_path / entry["file"]
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(IndexCorruptedError, match="its CRC-32 is not the recorded one"):
            read_alive(tmp_path, meta_of(entry))

    @pytest.mark.parametrize("n_columns", [0, 3, 5])
    def test_another_length(self, tmp_path, entry, n_columns):
        with pytest.raises(IndexCorruptedError, match=r"it holds uint8 of shape \(4,\)"):
            read_alive(tmp_path, meta_of(entry, n_columns))

    def test_another_dtype(self, tmp_path):
        entry = write_alive(tmp_path, "s1", 2, np.ones(4, np.int64))
        with pytest.raises(IndexCorruptedError, match="it holds int64"):
            read_alive(tmp_path, meta_of(entry))


def test_deleted_tables_are_neither_found_nor_listed(build):
    """A later version with tombstones hides a table; the version before still has it."""
    lake = build({name: pd.DataFrame({"x": ["p", "q"], "y": ["p", "z"]}) for name in ["a", "b", "c"]})
    (segment,) = lake.segments
    alive = np.array([1, 1, 0, 0, 1, 1], np.uint8)
    entry = write_alive(lake.path, segment.meta.id, 2, alive)
    commit(lake.path, lake.manifest.next("test", segments=(replace(segment.meta, tombstones=entry),)))
    later = dfjoin.open_lake(lake.path)
    assert later.tables["table"].tolist() == ["a", "c"]
    assert later.columns["table"].tolist() == ["a", "a", "c", "c"]
    assert later.has_table("a") and not later.has_table("b")
    with pytest.raises(TableNotFoundError, match="got 'b'"):
        later.snapshot.find_table("b")
    query = pd.DataFrame({"q": ["p", "q"]})
    assert set(dfjoin.discover_joinable(query, "q", later, rank="matched")["table"]) == {"a", "c"}
    assert dfjoin.discover_joinable(query, "q", later, tables="b", rank="matched").empty
    assert set(dfjoin.discover_joinable(query, "q", lake, rank="matched")["table"]) == {"a", "b", "c"}
    assert set(dfjoin.discover_joinable(query, "q", lake.refresh(), rank="matched")["table"]) == {"a", "c"}
