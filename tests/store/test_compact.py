"""Segments merged: the same answers, less of what is deleted, nothing lost to other writers."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ConcurrentCommitError,
    InvalidParameterError,
)
from tests.store.lakes import OPTIONS, all_answers, assert_same_content, frame, names, overtake


class TestCompact:
    @pytest.fixture
    def parts(self, lake):
        for number in range(4):
            lake.add({f"d{number}": frame("p", "t", f"only{number}"), f"e{number}": frame("s", "z")}, **OPTIONS)
        return lake

    @pytest.mark.parametrize("full", [False, True])
    def test_answers_stay(self, parts, build, full):
        parts.remove(["e*", "a"])
        tables, columns, before = parts.tables, parts.columns, all_answers(parts)
        assert len(parts.segments) == 5
        assert parts.compact(full=full) is parts and parts.version == 7 and len(parts.segments) == 1
        pd.testing.assert_frame_equal(parts.tables, tables)
        pd.testing.assert_frame_equal(parts.columns, columns)
        assert all_answers(parts) == before and parts.verify() == []
        assert_same_content(parts, build({name: parts.table(name) for name in names(parts)}))
        counts = parts.info()["counts"]
        fresh = build({name: parts.table(name) for name in names(parts)}).info()["counts"]
        assert counts == fresh, "every count is that of an index built afresh"
        assert parts.compact(full=full).version == 7

    def test_deleted_values_are_gone(self, parts):
        parts.remove("d2")
        parts.compact(full=True)
        parts.vacuum(0)
        files = [path for path in parts.path.rglob("*") if path.is_file()]
        assert len(files) > 5 and not any(b"only2" in path.read_bytes() for path in files)
        assert any(b"only1" in path.read_bytes() for path in files)

    def test_few_segments_stay(self, lake):
        lake.add({"d": frame("p", "t")}, **OPTIONS)
        assert lake.compact().version == 2 and len(lake.segments) == 2
        assert lake.compact(full=True).version == 3 and len(lake.segments) == 1

    def test_a_segment_of_which_much_is_deleted_is_written_anew(self, lake):
        lake.remove(["a", "b"])
        before = all_answers(lake)
        assert lake.segments[0].alive is not None
        lake.compact()
        assert lake.version == 3 and lake.segments[0].alive is None and all_answers(lake) == before

    def test_one_table(self, lake):
        assert lake.compact(full=True).version == 1 and lake.compact().version == 1

    def test_older_versions_stay(self, parts):
        before = all_answers(parts)
        parts.remove("d*").compact(full=True)
        assert all_answers(dfjoin.open_lake(parts.path, version=5)) == before

    def test_nothing_is_left_in_runs(self, parts):
        parts.compact()
        assert list((parts.path / "runs").iterdir()) == []

    def test_another_writer_changes_a_segment(self, parts, monkeypatch):
        n_segments = len(list((parts.path / "segments").iterdir()))
        overtake(monkeypatch, lambda: dfjoin.open_lake(parts.path).remove("d1"))
        text = (
            "another writer has changed 1 of the segments that were merged; nothing of this compaction is visible: "
            r"call compact\(\) again"
        )
        with pytest.raises(ConcurrentCommitError, match=text):
            parts.compact()
        assert len(list((parts.path / "segments").iterdir())) == n_segments
        before = all_answers(parts.refresh())
        assert all_answers(parts.compact()) == before and len(parts.segments) == 1

    def test_another_writer_adds(self, parts, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(parts.path).add({"new": frame("p", "q")}, **OPTIONS))
        parts.compact()
        assert len(parts.segments) == 2 and "new" in names(parts)

    @pytest.mark.parametrize(("argument", "value"), [("full", 1.5), ("engine", "fast")])
    def test_illegal_arguments(self, lake, argument, value):
        with pytest.raises(InvalidParameterError, match=f"`{argument}` must be .*{value}"):
            lake.compact(**{argument: value})

    def test_file_lakes(self, filed, place):
        for number in range(5):
            frame("p", f"x{number}").to_csv(place / f"n{number}.csv", index=False)
            filed.add(place, **OPTIONS)
        before = all_answers(filed)
        filed.compact()
        assert len(filed.segments) == 1 and all_answers(filed) == before and filed.check().empty
        assert filed.add(place, **OPTIONS).version == 7 and filed.table("n3.csv")["c"].tolist() == ["p", "x3"]


def test_what_was_skipped_is_remembered_when_every_table_is_gone(place, tmp_path):
    (place / "bad.parquet").write_bytes(b"no table")
    lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS).remove("*").compact(full=True)
    assert names(lake) == [] and len(lake.segments) == 1
    assert [record["name"] for record in lake.info()["skipped"]] == ["bad.parquet"]
    assert dfjoin.open_lake(lake.path).verify() == []
