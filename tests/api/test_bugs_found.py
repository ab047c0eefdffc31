"""Bugs of the index's life cycle; each test fails until its bug is repaired."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import IndexVersionError, InvalidParameterError, TableNotFoundError, TableReadError
from dfjoin.index import commit as commit_module
from dfjoin.index.layout import manifest_path
from dfjoin.index.manifest import list_versions, seal
from dfjoin.index.merge_policy import choose_merges
from dfjoin.store import check as check_module

OPTIONS = {"engine": "inline", "progress": False}


def frame(*values):
    return pd.DataFrame({"c": list(values)})


def names(lake):
    return lake.tables["table"].tolist()


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.sampled_from([0.0, 0.1, 0.25, 0.26, 1.0])), max_size=40), st.booleans()
)
@example([(133, 0.0), (434, 0.0), (578, 0.25)], True)
@example([(300, 0.0)] * 3 + [(450, 0.3)], False)
def test_what_is_mostly_deleted_is_rewritten(segments, is_full):
    """A segment that is left alone in its group is taken for merged, and is not written anew."""
    sizes, deleted = [size for size, _ in segments], [share for _, share in segments]
    members = {n for group in choose_merges(sizes, deleted, 1000, is_full=is_full) for n in group}
    assert {n for n, share in enumerate(deleted) if share > (0 if is_full else 0.25)} <= members


@pytest.mark.parametrize("kind", ["compact", "add"])
def test_an_interruption_just_after_the_commit_deletes_no_segment_of_the_new_version(build, monkeypatch, kind):
    """`compact` removes what it wrote on any exception, though the version that names it is there."""
    lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commit_module, "_sync_directory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lake.compact(full=True) if kind == "compact" else lake.add({"z": frame("p", "q")}, **OPTIONS)
    opened = dfjoin.open_lake(lake.path)
    assert opened.version == 3 and opened.verify() == [] and names(opened)[:2] == ["a", "b"]


def test_a_table_without_columns_is_skipped_with_the_reason(build):
    lake = build({"a": frame("p", "q"), "empty": pd.DataFrame(index=[0, 1])})
    assert names(lake) == ["a"]
    assert lake.info()["skipped"] == [{"name": "empty", "reason": "the table has no columns"}]


class TestSkippedFiles:
    """A file that cannot be read is no table, so that it is new at each `add`."""

    @pytest.fixture
    def place(self, tmp_path):
        (tmp_path / "files").mkdir()
        frame("p", "q").to_csv(tmp_path / "files" / "t.csv", index=False)
        (tmp_path / "files" / "bad.parquet").write_bytes(b"no parquet at all")
        return tmp_path / "files"

    def test_adding_again_does_nothing(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        lake.add(place, **OPTIONS)
        assert lake.version == 1 and len(lake.segments) == 1

    def test_it_is_listed_once(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        for number in range(2):
            frame("r", "s").to_csv(place / f"n{number}.csv", index=False)
            lake.add(place, **OPTIONS)
        assert [record["name"] for record in lake.info()["skipped"]] == ["bad.parquet"]

    def test_it_is_listed_no_more_once_it_is_read(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        frame("r", "s").to_parquet(place / "bad.parquet")
        lake.add(place, **OPTIONS)
        assert names(lake) == ["bad.parquet", "t.csv"] and lake.info()["skipped"] == []

    def test_skipped_files_are_not_forgotten_when_their_segment_is_emptied(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        lake.replace(place / "t.csv", **OPTIONS)
        assert [record["name"] for record in lake.info()["skipped"]] == ["bad.parquet"]

    @pytest.mark.parametrize("call", ["add", "replace"])
    def test_a_changed_file_that_cannot_be_read_leaves_the_table_that_was_indexed(self, place, tmp_path, call):
        """The old table is superseded by nothing: it is gone, without a word."""
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        frame("r", "s").to_parquet(place / "u.parquet")
        lake.add(place, **OPTIONS)
        (place / "u.parquet").write_bytes(b"half written")
        getattr(lake, call)(place, **OPTIONS)
        assert "u.parquet" in names(lake)


class TestRepair:
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

    def test_other_versions_are_listed_beside_an_unreadable_one(self, build):
        lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)
        manifest_path(lake.path, 1).write_text("{")
        assert 2 in lake.versions()["version"].tolist()


class TestCheck:
    def test_a_directory_that_the_index_knows_is_no_place_to_move_to(self, tmp_path):
        """Of two directories of part files with the same content, one vanishes: it was not moved."""
        place = tmp_path / "files"
        for name in ("x", "y"):
            (place / name).mkdir(parents=True)
        frame("p", "q").to_parquet(place / "x" / "part-0.parquet")
        frame("r", "s").to_parquet(place / "x" / "part-1.parquet")
        for part in ("part-0.parquet", "part-1.parquet"):
            shutil.copy(place / "x" / part, place / "y" / part)
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        assert names(lake) == ["x", "y"] and lake.check().empty
        shutil.rmtree(place / "y")
        assert lake.check()["state"].tolist() == ["missing"]

    def test_data_that_was_not_kept_is_not_missing(self, build):
        """There never was a file to compare with."""
        lake = build({"a": frame("p", "q")}, keep_data=False)
        assert lake.check().empty

    def test_an_unreadable_file_among_those_looked_through(self, tmp_path, monkeypatch):
        place = tmp_path / "files"
        place.mkdir()
        frame("p", "q").to_csv(place / "t.csv", index=False)
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        (place / "t.csv").rename(place / "u.csv")
        real = check_module.current_fingerprint

        def refuse(source):
            if source.path == "u.csv":
                raise TableReadError("it vanished meanwhile")
            return real(source)

        monkeypatch.setattr(check_module, "current_fingerprint", refuse)
        assert lake.check()["state"].tolist() == ["missing"]


def test_a_removed_table_is_not_proposed(build):
    """The error says that `name` must be one of the tables, and lists the one that was asked for."""
    lake = build({"a": frame("p", "q"), "b": frame("p", "r")}).remove("a")
    with pytest.raises(TableNotFoundError, match=r"must be a table of the lake \('b'\), got 'a'"):
        lake.table("a")


@pytest.mark.parametrize("retain", [np.int64(1), np.int32(0)])
def test_numpy_numbers_are_numbers_of_days(build, retain):
    assert build({"a": frame("p", "q")}).vacuum(retain)["versions"] == []


def test_a_failed_add_leaves_no_frames(build):
    lake = build({"a": frame("p", "q")})
    with pytest.raises(ValueError, match="whose names the index has already"):
        lake.add({"a": frame("r", "s")}, **OPTIONS)
    assert len(list((lake.path / "frames").iterdir())) == 1


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


def test_a_mapping_is_no_list_of_names(build):
    """Removing is not to be done on a guess: the keys of a dict of frames are taken as names."""
    lake = build({"a": frame("p", "q"), "b": frame("p", "r")})
    with pytest.raises(TypeError):
        lake.remove({"a": 1})


def test_replacing_what_another_writer_has_just_added(build, monkeypatch):
    """The later one puts its table in the place of the other; it is told to call `replace`, which it did."""
    lake = build({"a": frame("p", "q")})
    real = commit_module.commit

    def overtaken(*args):
        monkeypatch.setattr(commit_module, "commit", real)
        dfjoin.open_lake(lake.path).add({"b": frame("p", "r")}, **OPTIONS)
        real(*args)

    monkeypatch.setattr(commit_module, "commit", overtaken)
    lake.replace({"b": frame("p", "s")}, **OPTIONS)
    assert lake.version == 3 and names(lake) == ["a", "b"] and lake.table("b")["c"].tolist() == ["p", "s"]


@pytest.mark.parametrize("call", ["add", "replace", "compact"])
def test_a_session_belongs_to_spark(build, call):
    """As in `build_lake`: an engine that is not Spark has no use for a session, and does not silently become it."""
    lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)
    given = {"full": True} if call == "compact" else {"source": {"c": frame("r", "s")}}
    with pytest.raises(InvalidParameterError, match='`spark` belongs to engine="spark"'):
        getattr(lake, call)(**given, spark=object(), engine="inline")


def test_a_new_part_file_changes_a_table(tmp_path):
    """`add` reads such a table again, `check` says that it is as it was."""
    (tmp_path / "files" / "x").mkdir(parents=True)
    frame("p", "q").to_parquet(tmp_path / "files" / "x" / "part-0.parquet")
    frame("r", "s").to_parquet(tmp_path / "files" / "x" / "part-1.parquet")
    lake = dfjoin.build_lake(tmp_path / "files", tmp_path / "lake", **OPTIONS)
    frame("t", "u").to_parquet(tmp_path / "files" / "x" / "part-2.parquet")
    assert lake.check()["state"].tolist() == ["changed"]


def test_a_root_that_was_moved_is_added_to_at_its_new_place(tmp_path):
    """The object knows where the root is now; its files are no second root, to be read once more."""
    (tmp_path / "files").mkdir()
    frame("p", "q").to_csv(tmp_path / "files" / "t.csv", index=False)
    dfjoin.build_lake(tmp_path / "files", tmp_path / "lake", **OPTIONS)
    (tmp_path / "files").rename(tmp_path / "elsewhere")
    frame("p", "r").to_csv(tmp_path / "elsewhere" / "u.csv", index=False)
    lake = dfjoin.open_lake(tmp_path / "lake", roots={"files": str(tmp_path / "elsewhere")})
    lake.add(tmp_path / "elsewhere", **OPTIONS)
    assert names(lake) == ["t.csv", "u.csv"]
