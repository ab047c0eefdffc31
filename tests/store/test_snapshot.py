"""One version of an index, opened: which tables it has, and where they are read from."""

import pytest

from dfjoin.errors import InvalidTypeError, TableNotFoundError
from dfjoin.index.mirror import index_path
from dfjoin.store.snapshot import open_snapshot
from dfjoin.types import TableSource
from tests.store.lakes import OPTIONS, frame


def test_a_removed_table_is_not_proposed(build):
    """The error says that `name` must be one of the tables, and lists the one that was asked for."""
    lake = build({"a": frame("p", "q"), "b": frame("p", "r")}).remove("a")
    with pytest.raises(TableNotFoundError, match=r"must be a table of the lake \('b'\), got 'a'"):
        lake.table("a")


def test_a_record_of_a_frame_leads_to_its_file(lake):
    snapshot = lake.snapshot
    segment, number = snapshot.find_table("b")
    record = segment.catalog.table_record(number)
    source = snapshot.source_of(record)
    assert source == TableSource(
        "b", source.root, record["path"], "parquet", record["size"], record["mtime_ns"], (record["path"],)
    )
    assert (source.root.kind, source.root.uri) == ("files", str(lake.path / "frames"))


def test_a_record_of_a_file_leads_to_its_root_where_it_is_now(filed, place, tmp_path):
    place.rename(tmp_path / "elsewhere")
    snapshot = open_snapshot(filed.path, roots={"files": str(tmp_path / "elsewhere")})
    segment, number = snapshot.find_table("sub/v.csv")
    source = snapshot.source_of(segment.catalog.table_record(number))
    assert (source.root.uri, source.path) == (str(tmp_path / "elsewhere"), "sub/v.csv")
    assert snapshot.moved_roots() == {0: str(tmp_path / "elsewhere")}
    assert open_snapshot(filed.path).moved_roots() == {}


def test_versions_share_open_segments(lake):
    before = lake.snapshot
    lake.add({"d": frame("s", "t")}, **OPTIONS)
    assert lake.snapshot.segments[0] is before.segments[0] and len(before.segments) == 1
    assert not before.has_table("d") and lake.snapshot.has_table("d")


def test_an_unknown_root_is_refused(lake):
    with pytest.raises(InvalidTypeError, match=r"`roots` must name roots of the index"):
        open_snapshot(lake.path, roots={"zz": "/"})


def test_a_file_uri_is_its_path(tmp_path):
    assert index_path(f"file://{tmp_path}/x") == tmp_path / "x"
