"""From tables to segments: in order, of the target size, noted as they are written."""

import pandas as pd
import pytest

from dfjoin.index.commit import Uncommitted
from dfjoin.index.segment import Segment
from dfjoin.ingest import driver
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.driver import freeze_partitions, write_segments
from dfjoin.ingest.engine import InlineEngine
from dfjoin.ingest.source import Input, gather
from dfjoin.types import IndexSettings, SkippedFile

OPTIONS = BuildOptions(None, "inline", progress=False)


class Backwards(InlineEngine):
    """An engine that returns results in another order."""

    def run(self, requests, work, on_table):
        return super().run(requests, work, on_table)[::-1]


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
    metas = write(tmp_path, tables, IndexSettings(segment_bytes=1, permutations=0), engine)
    catalogs = [Segment(tmp_path, meta).catalog for meta in metas]
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
        given.extra.append(lambda: read.append(1) or [])
        (meta,) = write_segments(given, IndexSettings(), InlineEngine(), OPTIONS, written)
    assert read == [1] and meta.counts["tables"] == 1


def test_no_tables_no_segments(tmp_path):
    with Uncommitted(tmp_path) as written:
        assert write_segments(Input([], []), IndexSettings(), InlineEngine(), OPTIONS, written) == []


def test_partitions_are_those_of_the_signed_columns(tmp_path):
    tables = {f"t{n}": pd.DataFrame({"c": [f"w{i}" for i in range(n)]}) for n in (3, 8, 20, 50)}
    settings = IndexSettings(permutations=4, signature_min=5, partitions=2, partitioning="equal_depth")
    metas = write(tmp_path, tables, settings)
    assert freeze_partitions(tmp_path, settings, metas).partition_ends == (8, 50)
    without = IndexSettings(permutations=0)
    assert freeze_partitions(tmp_path, without, metas) is without
