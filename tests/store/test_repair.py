"""Damage found by `verify`, and what `repair` saves."""

import json
import shutil

import pytest

import dfjoin
from dfjoin.errors import (
    IndexCorruptedError,
    IndexNotFoundError,
    IndexVersionError,
)
from dfjoin.index.commit import list_versions
from dfjoin.index.components import manifest_path
from dfjoin.index.manifest import seal
from tests.store.lakes import (
    OPTIONS,
    all_answers,
    damage,
    flip,
    frame,
    names,
    overtake,
)


class TestRepair:
    @pytest.fixture
    def parts(self, lake):
        return lake.add({"d": frame("s", "t", "p"), "e": frame("z", "p")}, **OPTIONS)

    def test_nothing_to_do(self, parts):
        nothing = {"version": 2, "unreadable_versions": [], "segments": [], "tables": [], "problems": []}
        assert parts.repair() == nothing and list_versions(parts.path) == [1, 2]

    @pytest.mark.parametrize("change", [flip, lambda data: data[:-1], lambda data: b""], ids=["flip", "cut", "empty"])
    def test_a_damaged_segment_is_dropped(self, parts, change):
        lost = damage(parts, 1, change)
        assert parts.verify() != []
        report = parts.repair()
        assert report["version"] == 3 == parts.version and report["segments"] == [lost]
        assert report["tables"] == ["d", "e"] and report["unreadable_versions"] == []
        assert len(report["problems"]) == 1 and "component `value_bytes` of " in report["problems"][0]
        assert names(parts) == ["a", "b", "geo/c"] and parts.verify() == []
        assert all_answers(parts) == [("geo/c", "c", 3), ("a", "c", 2), ("b", "c", 1)]
        assert (parts.path / "segments" / lost).is_dir(), "nothing is deleted from the disk"
        assert dfjoin.repair(parts.path)["version"] == 3
        assert parts.versions()["operation"].tolist()[-1] == "repair"
        assert names(parts.add({"d": frame("s", "t")}, **OPTIONS)) == ["a", "b", "d", "geo/c"]

    def test_deleted_tables_are_not_lost(self, parts):
        parts.remove("d")
        damage(parts, 1, flip)
        assert parts.repair()["tables"] == ["e"]

    def test_a_segment_that_is_gone(self, parts):
        """Its catalogue is gone too, so that its tables cannot be named."""
        gone = parts.segments[0]
        shutil.rmtree(gone.directory)
        report = parts.repair()
        assert report["segments"] == [gone.meta.id] and report["tables"] == [] and len(report["problems"]) > 5
        assert names(parts) == ["d", "e"] and parts.verify() == []

    def test_all_segments_damaged(self, parts):
        damage(parts, 0, flip)
        damage(parts, 1, flip)
        assert parts.repair()["tables"] == ["a", "b", "d", "e", "geo/c"] and names(parts) == []
        assert all_answers(parts) == []

    @pytest.mark.parametrize("text", [b"{", b"", b"\xff\xfe", b"[]", b'{"format": "dfjoin-index"}'])
    def test_an_unreadable_latest_manifest(self, parts, text):
        manifest_path(parts.path, 2).write_bytes(text)
        with pytest.raises(IndexCorruptedError):
            dfjoin.open_lake(parts.path)
        report = dfjoin.repair(parts.path)
        assert report == {"version": 3, "unreadable_versions": [2], "segments": [], "tables": [], "problems": []}
        opened = dfjoin.open_lake(parts.path)
        assert opened.version == 3 and names(opened) == ["a", "b", "geo/c"] and opened.verify() == []
        assert dfjoin.repair(parts.path)["unreadable_versions"] == []

    def test_both(self, parts):
        parts.remove("a")
        manifest_path(parts.path, 3).write_text("{")
        damage(dfjoin.open_lake(parts.path, version=2), 0, flip)
        report = dfjoin.repair(parts.path)
        assert report["version"] == 4 and report["unreadable_versions"] == [3]
        assert report["tables"] == ["a", "b", "geo/c"] and names(dfjoin.open_lake(parts.path)) == ["d", "e"]

    def test_no_version_can_be_read(self, parts):
        for version in (1, 2):
            manifest_path(parts.path, version).write_text("{")
        with pytest.raises(IndexCorruptedError, match=r"no version of the index at .* can be read; build it again"):
            dfjoin.repair(parts.path)
        assert list_versions(parts.path) == [1, 2]

    def test_no_index(self, tmp_path):
        with pytest.raises(
            IndexNotFoundError, match=r"there is no dfjoin index at .*none`; build one with dfjoin.build_l"
        ):
            dfjoin.repair(tmp_path / "none")

    def test_while_another_adds(self, parts, monkeypatch):
        damage(parts, 1, flip)
        other = dfjoin.open_lake(parts.path)
        overtake(monkeypatch, lambda: other.add({"f": frame("p", "q")}, **OPTIONS))
        report = dfjoin.repair(parts.path)
        assert report["version"] == 4 and names(dfjoin.open_lake(parts.path)) == ["a", "b", "f", "geo/c"]

    def test_vacuum_cleans_up_after_it(self, build):
        """An unreadable manifest stays for ever, and with it `vacuum` never removes a file again."""
        lake = build({"a": frame("p", "q")}).replace({"a": frame("p", "r")}, **OPTIONS)
        manifest_path(lake.path, 2).write_text("{")
        dfjoin.repair(lake.path)
        (lake.path / "segments" / "orphan").mkdir()
        lake.refresh().vacuum(0)
        assert list_versions(lake.path) == [3]
        assert len(list((lake.path / "segments").iterdir())) == 1

    @pytest.mark.parametrize("change", [{"format_version": 2}, {"reader_features": ["tokens", "later"]}])
    def test_a_newer_format_is_no_damage(self, build, change):
        """A version that a newer dfjoin wrote is sound: putting an older one above it would lose it."""
        lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)
        path = manifest_path(lake.path, 2)
        path.write_text(seal(json.loads(path.read_text("utf-8")) | change), "utf-8")
        with pytest.raises(IndexVersionError):
            dfjoin.repair(lake.path)
        assert list_versions(lake.path) == [1, 2]

    @pytest.mark.parametrize("is_missing", [True, False])
    def test_damaged_tombstones_are_found(self, build, is_missing):
        """They are files of the version: without them no search can be made."""
        lake = build({"a": frame("p", "q"), "b": frame("p", "r")}).add({"c": frame("p", "s")}, **OPTIONS).remove("a")
        path = next((lake.path / "tombstones").iterdir())
        path.unlink() if is_missing else path.write_bytes(b"no mask")
        opened = dfjoin.open_lake(lake.path)
        assert len(opened.verify()) == 1
        report = dfjoin.repair(lake.path)
        assert report["problems"] and names(opened.refresh())[-1] == "c"
