"""From tables to segments: in order, of the target size, noted as they are written."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from dfjoin.errors import IndexWriteError, TableReadError
from dfjoin.index.commit import Uncommitted
from dfjoin.index.segment import Segment
from dfjoin.ingest import driver
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.driver import freeze_partitions, write_segments
from dfjoin.ingest.engine import InlineEngine
from dfjoin.ingest.row_spool import TableSpool
from dfjoin.ingest.source import Input, gather
from dfjoin.types import IndexSettings, Root, SkippedFile, TableSource

OPTIONS = BuildOptions(None, "inline", progress=False)


class Backwards(InlineEngine):
    """An engine that returns results in another order."""

    def run(self, requests, work, on_table):
        return list(super().run(requests, work, on_table))[::-1]


def write(index, tables, settings, engine=None):
    with Uncommitted(index) as written:
        given = gather(tables, [], None, index / "frames", written, IndexSettings())
        given.skipped.append(SkippedFile("zz", "for a reason"))
        return write_segments(given, settings, engine or InlineEngine(), OPTIONS, written)


@pytest.mark.parametrize("engine", [InlineEngine(), Backwards()])
def test_segments_are_in_the_order_of_their_tables(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
    names = ["\U0001f600", "b", "\uffee", "B"]
    tables = {name: pd.DataFrame({"c": ["p", "q", name]}) for name in names}
    built = write(tmp_path, tables, IndexSettings(segment_bytes=1, permutations=0), engine)
    catalogs = [Segment(tmp_path, one.meta).catalog for one in built]
    assert [catalog.table_names() for catalog in catalogs] == [[name] for name in sorted(names)]
    assert sum(len(catalog.skipped()) for catalog in catalogs) == 1
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_fails_later_is_removed(tmp_path):
    index = tmp_path / "index"
    with pytest.raises(OSError, match="later"), Uncommitted(index) as written:
        given = gather({"t": pd.DataFrame({"c": ["p", "q"]})}, [], None, index / "frames", written, IndexSettings())
        write_segments(given, IndexSettings(), InlineEngine(), OPTIONS, written)
        raise OSError("later")
    assert not index.exists()


def test_runs_that_an_engine_reads_by_itself_are_merged_too(tmp_path):
    read = []
    with Uncommitted(tmp_path) as written:
        given = gather({"t": pd.DataFrame({"c": ["p", "q"]})}, [], None, tmp_path / "frames", written, IndexSettings())
        given.extra.append(lambda work: read.append(work.parent) or [])
        (built,) = write_segments(given, IndexSettings(), InlineEngine(), OPTIONS, written)
    assert read == [tmp_path / "runs"] and built.meta.counts["tables"] == 1


class Unreadable:
    """A table of an engine that fails."""

    name = "bad"

    def __call__(self, work):
        raise TableReadError("the Spark table `bad` cannot be read: boom")


def test_a_table_of_an_engine_that_fails_is_skipped_or_raised(tmp_path):
    with Uncommitted(tmp_path) as written:
        given = gather({"t": pd.DataFrame({"c": ["p", "q"]})}, [], None, tmp_path / "frames", written, IndexSettings())
        given.extra.append(Unreadable())
        with pytest.raises(TableReadError, match="boom"):
            write_segments(given, IndexSettings(), InlineEngine(), replace(OPTIONS, on_error="raise"), written)
        (built,) = write_segments(given, IndexSettings(), InlineEngine(), OPTIONS, written)
    assert (built.meta.counts["tables"], built.meta.counts["skipped"]) == (1, 1)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_build_of_nothing_is_an_error_with_the_reason(tmp_path):
    with Uncommitted(tmp_path) as written:
        given = gather({"t": pd.DataFrame({"c": ["p"]})}, [], None, tmp_path / "frames", written, IndexSettings())
        given.tables, given.extra = [], [Unreadable(), Unreadable()]
        with pytest.raises(TableReadError, match=r"that can be read, and none is: `bad`: .*boom, and 1 others"):
            write_segments(given, IndexSettings(), InlineEngine(), OPTIONS, written)


def test_work_is_cut_for_slots_but_not_into_crumbs():
    def n_tasks(n_bytes, n_slots, **settings):
        tables = [TableSource(f"t{n}", Root(0, "r", "/r"), "t.csv", "delimited", n_bytes // 8, 0) for n in range(8)]
        return driver._n_tasks(TableSpool(tables).work, n_slots, IndexSettings(**settings))

    assert n_tasks(100_000, 1) == n_tasks(100_000, 8) == 1
    assert n_tasks(100_000_000, 1) == 2 and n_tasks(100_000_000, 2) == 6 and n_tasks(100_000_000, 64) == 12
    assert n_tasks(10 << 30, 1) == 161
    assert n_tasks(100_000, 2, segment_bytes=50_000) == 6  # a run is not cut, and segments are to be small


def test_segments_that_others_wrote_are_removed_when_one_had_no_room(tmp_path):
    class Full(InlineEngine):
        def run(self, requests, work, on_table):
            results = list(super().run(requests, work, on_table))
            return [json.dumps({"no_room": 28}), *results] if "segment" in results[0] else results

    index = tmp_path / "index"
    with pytest.raises(IndexWriteError, match="there is no room to write the index"), Uncommitted(index) as written:
        given = gather({"t": pd.DataFrame({"c": ["p", "q"]})}, [], None, index / "frames", written, IndexSettings())
        write_segments(given, IndexSettings(), Full(), OPTIONS, written)
    assert not index.exists()


def test_no_tables_no_segments(tmp_path):
    with Uncommitted(tmp_path) as written:
        assert write_segments(Input([], []), IndexSettings(), InlineEngine(), OPTIONS, written) == []


def test_partitions_are_those_of_the_signed_columns(tmp_path):
    tables = {f"t{n}": pd.DataFrame({"c": [f"w{i}" for i in range(n)]}) for n in (3, 8, 20, 50)}
    settings = IndexSettings(permutations=4, signature_min=5, partitions=2, partitioning="equal_depth")
    sizes = [one.sizes for one in write(tmp_path, tables, settings)]
    assert freeze_partitions(settings, sizes).partition_ends == (8, 50)
    without = IndexSettings(permutations=0)
    assert freeze_partitions(without, sizes) is without
