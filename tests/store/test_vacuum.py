"""Old versions and what only they need: removed when nobody can be reading them."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import dfjoin
from dfjoin.errors import (
    IndexCorruptedError,
    InvalidParameterError,
    InvalidTypeError,
)
from dfjoin.index import commit as commit_module
from dfjoin.index import commit as versions_module
from dfjoin.index.commit import list_versions, read_manifest
from dfjoin.index.components import manifest_path
from dfjoin.index.file_store import FileStore
from dfjoin.index.manifest import seal
from dfjoin.store import vacuum
from tests.store.lakes import (
    OPTIONS,
    all_answers,
    frame,
    names,
)


def set_age(lake, version, days):
    """Make a version older than it is."""
    path = manifest_path(lake.path, version)
    values = json.loads(path.read_text("utf-8"))
    values["created_at"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    path.write_text(seal(values), "utf-8")


def make_old(path, days=30):
    """Make everything below a path look older."""
    then = time.time() - days * 86400
    for entry in [path, *path.rglob("*")]:
        os.utime(entry, (then, then))


class TestVacuum:
    @pytest.fixture
    def lived(self, lake):
        """Versions 1 to 4, of which the first two are 10 and 8 days old."""
        lake.add({"d": frame("s", "t")}, **OPTIONS)
        lake.replace({"a": frame("r", "z")}, **OPTIONS).compact(full=True)
        set_age(lake, 1, 10)
        set_age(lake, 2, 8)
        return lake

    @pytest.mark.parametrize(
        ("retain", "left"),
        [
            (None, [2, 3, 4]), (timedelta(days=9), [1, 2, 3, 4]), (7.9, [2, 3, 4]), (8.5, [1, 2, 3, 4]),
            (timedelta(0), [4]), (0, [4]), (0.0, [4]), (float("inf"), [1, 2, 3, 4]), (timedelta(seconds=3600), [2, 3, 4]),
        ],
    )  # fmt: skip
    def test_versions_are_kept_by_age(self, lived, retain, left):
        before = all_answers(lived)
        report = lived.vacuum(retain)
        assert list_versions(lived.path) == left and report["versions"] == [v for v in range(1, 5) if v not in left]
        assert report["dry_run"] is False
        for version in left:
            opened = dfjoin.open_lake(lived.path, version=version)
            assert opened.verify() == [] and opened.check().empty
            assert [len(opened.table(name)) > 0 for name in names(opened)]
        assert all_answers(dfjoin.open_lake(lived.path)) == before

    def test_the_latest_is_kept_however_old(self, lake):
        set_age(lake, 1, 1000)
        assert lake.vacuum(0) == {"versions": [], "files": 0, "bytes": 0, "dry_run": False}
        assert all_answers(dfjoin.open_lake(lake.path)) and lake.table("a")["c"].tolist() == ["p", "q", "x"]

    @pytest.mark.parametrize("retain", ["7", [7], True, datetime(2024, 1, 1), {}])
    def test_another_type(self, lived, retain):
        text = f"`retain` must be a timedelta or a number of days, got {type(retain).__name__}"
        with pytest.raises(InvalidTypeError, match=text):
            lived.vacuum(retain)
        assert len(list_versions(lived.path)) == 4

    @pytest.mark.parametrize("retain", [-1, -0.001, timedelta(seconds=-1), float("nan")])
    def test_negative(self, lived, retain):
        with pytest.raises(InvalidParameterError, match="`retain` must not be negative, got"):
            lived.vacuum(retain)
        assert len(list_versions(lived.path)) == 4

    def test_dry_run(self, lived):
        files = sorted(lived.path.rglob("*"))
        told = lived.vacuum(0, dry_run=True)
        assert sorted(lived.path.rglob("*")) == files and told["dry_run"] is True
        size = sum(path.stat().st_size for path in files if path.is_file() and path.parent.name != "manifests")
        done = lived.vacuum(0)
        assert {**done, "dry_run": True} == told and told["files"] > 0
        kept = (p for p in lived.path.rglob("*") if p.is_file() and p.parent.name != "manifests")
        assert told["bytes"] == size - sum(p.stat().st_size for p in kept)
        assert lived.vacuum(0) == {"versions": [], "files": 0, "bytes": 0, "dry_run": False}

    def test_what_nobody_needs_goes(self, lived):
        """Of five frames written and three segments, four and one are left; no tombstones, no drafts."""
        path = lived.path
        assert len(list((path / "frames").iterdir())) == 5 and len(list((path / "tombstones").iterdir())) == 1
        (path / "runs" / "build-dead").mkdir()
        (path / "runs" / "build-dead" / "x").write_text("x")
        (path / "manifests" / ".draft-1").write_text("x")
        (path / "segments" / "orphan").mkdir()
        (path / "frames" / "orphan.parquet").write_text("x")
        (path / "tombstones" / "orphan.npy").write_text("x")
        lived.vacuum(0)
        left = {name: len(list((path / name).iterdir())) for name in ("frames", "segments", "runs", "manifests")}
        assert left == {"frames": 4, "segments": 1, "runs": 0, "manifests": 1}
        assert not list((path / "tombstones").iterdir())
        assert {name: lived.table(name)["c"].tolist()[0] for name in names(lived)} == {
            "a": "r", "b": "p", "d": "s", "geo/c": "q",
        }  # fmt: skip

    def test_young_orphans_may_belong_to_a_writer(self, lived):
        path = lived.path
        places = [path / "segments" / "young", path / "runs" / "young", path / "frames" / "young.parquet"]
        old = [p.with_name(p.name.replace("young", "old")) for p in places]
        for place in [*places, *old]:
            place.mkdir() if not place.suffix else place.write_text("x")
        for place in old:
            make_old(place)
        make_old(places[0])
        (places[0] / "x").write_text("x")  # an old directory that is written to
        lived.vacuum(7)
        assert all(place.exists() for place in places) and not any(place.exists() for place in old)
        lived.vacuum(0)
        assert not any(place.exists() for place in places)

    def test_tombstones_of_the_latest_stay(self, lake):
        lake.remove("a").remove("b")
        assert len(list((lake.path / "tombstones").iterdir())) == 2
        lake.vacuum(0)
        assert len(list((lake.path / "tombstones").iterdir())) == 1
        assert names(dfjoin.open_lake(lake.path)) == ["geo/c"] and len(lake.segments) == 1

    def test_frames_of_deleted_tables_stay_as_long_as_a_version_needs_them(self, lake):
        lake.remove("a").vacuum(1)
        assert dfjoin.open_lake(lake.path, version=1).table("a")["c"].tolist() == ["p", "q", "x"]
        lake.compact(full=True).vacuum(0)
        assert len(list((lake.path / "frames").iterdir())) == 2

    def test_files_outside_the_index_stay(self, filed, place):
        filed.remove("*").vacuum(0)
        assert len(list(place.rglob("*.csv"))) == 3

    def test_an_empty_lake(self, lake):
        lake.remove("*")
        lake.vacuum(0)
        assert not list((lake.path / "segments").iterdir()) and not list((lake.path / "frames").iterdir())
        assert names(lake.add({"n": frame("p", "q")}, **OPTIONS)) == ["n"]

    def test_nothing_readable(self, lake):
        manifest_path(lake.path, 1).write_text("{")
        with pytest.raises(IndexCorruptedError, match=r"no version of the index at .* can be read, so .*dfjoin.repair"):
            lake.vacuum(0)
        assert (lake.path / "segments").exists() and list_versions(lake.path) == [1]

    def test_with_a_young_unreadable_version_no_file_goes(self, lived):
        """Nobody knows what it needs, until it has been superseded for as long as the retention."""
        manifest_path(lived.path, 2).write_text("{")
        n_files = len(list((lived.path / "segments").rglob("*")))
        report = lived.vacuum(1)
        assert report["files"] == 0 and len(list((lived.path / "segments").rglob("*"))) == n_files
        assert 2 in list_versions(lived.path) and 4 in list_versions(lived.path)
        assert lived.vacuum(0)["versions"][-1] == 3 and list_versions(lived.path) == [4]

    @pytest.mark.parametrize("change", ["reader_features", "format_version"])
    def test_what_a_later_dfjoin_wrote_stays_whatever_its_age(self, lived, change):
        """What such a version needs is not known here, so that no file goes, and it stays itself."""
        path = manifest_path(lived.path, 2)
        values = json.loads(path.read_text("utf-8"))
        if change == "format_version":
            values[change] = 2
        else:
            values[change].append("clusters")
        path.write_text(seal(values), "utf-8")
        make_old(lived.path)
        files = sorted((lived.path / "segments").rglob("*"))
        report = lived.vacuum(0)
        assert report["files"] == 0 and sorted((lived.path / "segments").rglob("*")) == files
        assert 2 in list_versions(lived.path) and 2 not in report["versions"]

    def test_files_of_a_feature_that_only_writers_know_stay(self, lived):
        """The latest version is read here, but may need files that are named in a way not known here."""
        path = manifest_path(lived.path, 4)
        values = json.loads(path.read_text("utf-8"))
        values["writer_features"].append("clusters")
        path.write_text(seal(values), "utf-8")
        make_old(lived.path)
        files = sorted((lived.path / "segments").rglob("*"))
        assert lived.vacuum(0)["files"] == 0 and sorted((lived.path / "segments").rglob("*")) == files

    def test_nothing_goes_when_a_later_dfjoin_commits_meanwhile(self, lived):
        """Its version came after the versions to keep were listed, and may need files that are named in another way."""
        known = [read_manifest(lived.path, version) for version in (4, 3)]
        assert vacuum._remove_versions(lived.path, {}, known[1:], 0) == (known[:1], True)
        path = manifest_path(lived.path, 4)
        values = json.loads(path.read_text("utf-8"))
        values["writer_features"].append("clusters")
        path.write_text(seal(values), "utf-8")
        assert vacuum._remove_versions(lived.path, {}, known[1:], 0)[1] is False

    def test_damaged_versions_above_the_only_readable_one_stay(self, lived):
        """Repair passes over them, and commits above the highest: a writer must not take their numbers again."""
        make_old(lived.path)
        for version in (3, 4, 2):  # the last one a while after those above it, as after a restored backup
            path = manifest_path(lived.path, version)
            path.write_text("{")
            if version != 2:
                os.utime(path, (10**9, 10**9))
        assert lived.vacuum(1)["versions"] == [] and list_versions(lived.path) == [1, 2, 3, 4]
        assert dfjoin.repair(lived.path)["version"] == 5


@pytest.mark.parametrize("retain", [np.int64(1), np.int32(0)])
def test_numpy_numbers_are_numbers_of_days(build, retain):
    assert build({"a": frame("p", "q")}).vacuum(retain)["versions"] == []


def test_versions_that_were_just_superseded_are_kept(build):
    """Retention counts from when a version ceased to be the latest: until then it was in use."""
    lake = build({"a": frame("p", "q")})
    path = manifest_path(lake.path, 1)
    values = json.loads(path.read_text("utf-8"))
    path.write_text(seal(values | {"created_at": "2020-01-01T00:00:00.000+00:00"}), "utf-8")
    for entry in (lake.path / "frames", lake.path / "segments"):
        for old in entry.rglob("*"):
            os.utime(old, (10**9, 10**9))
    reader = dfjoin.open_lake(lake.path)
    lake.replace({"a": frame("p", "r")}, **OPTIONS).vacuum(7)
    assert reader.table("a")["c"].tolist() == ["p", "q"]


class TestAtTheSameTime:
    """Vacuum and another process, which is at work when the vacuum comes."""

    @pytest.fixture
    def aged(self, lake):
        """Version 1 holds a, b and geo/c; of it nothing is left in version 2, for ten days."""
        lake.replace({name: frame("new", "z") for name in ("a", "b", "geo/c")}, **OPTIONS)
        set_age(lake, 1, 20)
        set_age(lake, 2, 10)
        lake.add({"d": frame("s", "t")}, **OPTIONS)
        set_age(lake, 3, 9)
        for name in ("segments", "frames", "tombstones"):
            make_old(lake.path / name) if (lake.path / name).exists() else None
        return lake

    def is_restored(self, index):
        lake = dfjoin.open_lake(index)
        assert lake.verify() == [] and lake.table("a")["c"].tolist() == ["p", "q", "x"]
        assert names(lake) == ["a", "b", "geo/c"] and all_answers(lake)
        return True

    def test_vacuum_removes_what_nobody_restores(self, aged):
        report = aged.vacuum(7)
        assert report["versions"] == [1, 2] and report["files"] > 0

    def test_vacuum_comes_just_before_the_commit_of_a_restore(self, aged, monkeypatch):
        real, reports = commit_module.commit, []

        def overtaken(index, manifest):
            monkeypatch.setattr(commit_module, "commit", real)
            reports.append(dfjoin.open_lake(index).vacuum(7))
            real(index, manifest)

        monkeypatch.setattr(commit_module, "commit", overtaken)
        aged.restore(1)
        assert reports[0]["versions"] == [1, 2] and self.is_restored(aged.path)
        assert not list((aged.path / "manifests").glob("*.hold"))

    @pytest.mark.parametrize("step", ["entries", "remove", "files"])
    def test_a_restore_comes_while_vacuum_looks_and_removes(self, aged, monkeypatch, step):
        """Before the first manifest is removed it goes through, and nothing that it needs is removed."""
        real = getattr(FileStore, step)

        def overtaken(store, *args, **options):
            found = None if step == "remove" else real(store, *args, **options)
            if getattr(FileStore, step) is overtaken:
                monkeypatch.setattr(FileStore, step, real)
                try:
                    dfjoin.open_lake(aged.path).restore(1)
                except InvalidParameterError as error:
                    assert step == "files" and "`version` must be a version that the index has" in str(error)
            return real(store, *args, **options) if step == "remove" else found

        monkeypatch.setattr(FileStore, step, overtaken)
        dfjoin.open_lake(aged.path).vacuum(7)
        assert dfjoin.open_lake(aged.path).verify() == []
        assert dfjoin.open_lake(aged.path).version == (3 if step == "files" else 4)
        assert step == "files" or self.is_restored(aged.path)

    def test_the_hold_of_a_process_that_died_ends_with_the_retention(self, aged):
        hold = aged.path / "manifests" / f"{1:020d}.0123.hold"
        hold.write_text("held")
        assert aged.vacuum(7)["versions"] == [1, 2]
        segment = json.loads(manifest_path(aged.path, 3).read_text("utf-8"))["segments"]
        assert len(list((aged.path / "segments").iterdir())) > len(segment) and hold.exists()
        os.utime(hold, (1, 1))
        aged.vacuum(7)
        assert len(list((aged.path / "segments").iterdir())) == len(segment) and not hold.exists()

    def test_nothing_is_removed_of_a_held_version_that_another_vacuum_has_removed(self, aged):
        manifest_path(aged.path, 1).unlink()
        (aged.path / "manifests" / f"{1:020d}.0123.hold").write_text("held")
        before = list((aged.path / "segments").iterdir())
        report = aged.vacuum(7)
        assert report["versions"] == [2] and report["files"] == 0
        assert list((aged.path / "segments").iterdir()) == before

    def test_versions_that_go_while_they_are_listed(self, aged, monkeypatch):
        real = versions_module.list_versions

        def then_vacuumed(index):
            found = real(index)
            monkeypatch.setattr(versions_module, "list_versions", real)
            dfjoin.open_lake(index).vacuum(0)
            return found

        monkeypatch.setattr(versions_module, "list_versions", then_vacuumed)
        assert aged.versions()["version"].tolist() == [3]

    def test_a_version_that_goes_while_it_is_opened(self, aged, monkeypatch):
        real = Path.read_text

        def gone(path, *args):
            if path == manifest_path(aged.path, 3):
                monkeypatch.setattr(Path, "read_text", real)
                dfjoin.open_lake(aged.path).add({"e": frame("s", "t")}, **OPTIONS).vacuum(0)
            return real(path, *args)

        monkeypatch.setattr(Path, "read_text", gone)
        assert dfjoin.open_lake(aged.path).version == 4
        monkeypatch.setattr(Path, "read_text", gone)
        (aged.path / "manifests" / f"{9:020d}.json").symlink_to("nowhere")
        with pytest.raises(FileNotFoundError):
            dfjoin.open_lake(aged.path)
