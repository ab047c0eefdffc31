"""Commits happen once or not at all; changes are applied to the latest version; failures leave nothing behind."""

import os
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError, IndexNotFoundError
from dfjoin.index import commit as module
from dfjoin.index.commit import Uncommitted, commit, commit_change, list_versions, read_manifest
from dfjoin.index.file_store import FileStore
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.types import IndexSettings, Root


@pytest.fixture
def index(tmp_path):
    commit(tmp_path, Manifest("u", 1, IndexSettings()))
    return tmp_path


def version(number, **changes):
    return Manifest("u", number, IndexSettings(), **changes)


def add_root(name):
    return lambda latest: latest.next(
        f"add {name}", roots=(*latest.roots, Root(len(latest.roots), name, name, "files"))
    )


def names(index):
    return [root.name for root in read_manifest(index).roots]


def test_a_change_is_the_next_version(index):
    done = commit_change(index, add_root("a"))
    assert done == read_manifest(index) and done.version == 2 and done.operation == "add a"


def test_a_change_follows_the_newest_version(index, monkeypatch):
    """Three writers come first: the change is made of each of their versions in turn."""
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    real = module.commit
    left = ["x", "y", "z"]
    seen = []

    def overtaken(place, manifest):
        if left:
            real(place, add_root(left.pop(0))(read_manifest(place)))
        real(place, manifest)

    def change(latest):
        seen.append(latest.version)
        return add_root("mine")(latest)

    monkeypatch.setattr(module, "commit", overtaken)
    done = commit_change(index, change)
    assert seen == [1, 2, 3, 4] and done.version == 5 and names(index) == ["x", "y", "z", "mine"]


def test_it_gives_up_after_a_hundred_attempts(index, monkeypatch):
    pauses, attempts = [], []
    monkeypatch.setattr(module.time, "sleep", pauses.append)

    def refuse(*_):
        attempts.append(1)
        raise ConcurrentCommitError("version 2 was committed by another writer")

    monkeypatch.setattr(module, "commit", refuse)
    with pytest.raises(ConcurrentCommitError, match="version 2 was committed by another writer"):
        commit_change(index, add_root("a"))
    assert len(attempts) == 100 and len(pauses) == 99 and min(pauses) >= 0 and max(pauses) <= 0.25
    assert list_versions(index) == [1]


def test_what_the_change_raises_is_passed_on_at_once(index):
    calls = []

    def change(latest):
        calls.append(latest)
        raise ConcurrentCommitError("they do not go together")

    with pytest.raises(ConcurrentCommitError, match="do not go together"):
        commit_change(index, change)
    assert len(calls) == 1 and list_versions(index) == [1]


def test_an_interrupted_commit_changes_nothing(index, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commit_change(index, add_root("a"))
    assert list_versions(index) == [1]


class TestUncommitted:
    def written(self, index):
        """A segment directory and an alive mask that no version names."""
        (index / "segments" / "s").mkdir(parents=True)
        (index / "segments" / "s" / "file").write_text("x")
        (index / "tombstones").mkdir(exist_ok=True)
        (index / "tombstones" / "mask").write_text("x")
        return index / "segments" / "s", index / "tombstones" / "mask"

    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
    def test_a_failure_removes_what_was_written_and_nothing_else(self, index, error):
        (index / "segments" / "other").mkdir(parents=True)
        with pytest.raises(error), Uncommitted(index) as written:
            written.add(*self.written(index))
            raise error
        assert [p.name for p in (index / "segments").iterdir()] == ["other"]
        assert list((index / "tombstones").iterdir()) == [] and list_versions(index) == [1]

    def test_success_keeps_it(self, index):
        with Uncommitted(index) as written:
            written.add(*self.written(index))
        assert all(path.exists() for path in self.written_paths(index))

    def written_paths(self, index):
        return index / "segments" / "s", index / "tombstones" / "mask"

    def test_what_a_version_names_is_kept_whole(self, index):
        """An interruption may come just after the commit, and another writer after that."""
        with pytest.raises(KeyboardInterrupt), Uncommitted(index) as written:
            written.add(*self.written(index))
            segments = (SegmentMeta("s", {"tables": 1, "columns": 1, "indexed_columns": 1, "tokens": 1}, ()),)
            commit(index, read_manifest(index).next("add", segments=segments))
            commit(index, read_manifest(index).next("remove", segments=()))
            raise KeyboardInterrupt
        assert all(path.exists() for path in self.written_paths(index))

    def test_a_version_that_cannot_be_read_may_name_it(self, index):
        with pytest.raises(KeyboardInterrupt), Uncommitted(index) as written:
            written.add(*self.written(index))
            (index / "manifests" / f"{2:020d}.json").write_text("{")
            raise KeyboardInterrupt
        assert all(path.exists() for path in self.written_paths(index))

    def test_an_older_version_that_cannot_be_read_names_nothing_new(self, index):
        (index / "manifests" / f"{2:020d}.json").write_text("{")
        with pytest.raises(OSError), Uncommitted(index) as written:
            written.add(*self.written(index))
            raise OSError
        assert not any(path.exists() for path in self.written_paths(index))

    @pytest.mark.parametrize("was_there", [True, False])
    def test_a_place_without_a_version_is_left_as_it_was(self, tmp_path, was_there):
        place = tmp_path / "new"
        if was_there:
            place.mkdir()
        with pytest.raises(OSError), Uncommitted(place) as written:
            written.add(self.written(place)[0])
            raise OSError
        assert place.exists() == was_there and (not was_there or list(place.iterdir()) == [])


def test_masks_of_an_attempt_that_was_overtaken_are_removed(index, monkeypatch):
    """Those of older versions stay: a change may name one again."""
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    (index / "tombstones").mkdir()
    real = module.commit

    def overtaken(place, manifest):
        monkeypatch.setattr(module, "commit", real)
        real(place, add_root("x")(read_manifest(place)))
        real(place, manifest)

    def change(latest):
        masks = [f"tombstones/s0.{1:020d}.old.npy", f"tombstones/s1.{latest.version + 1:020d}.mine.npy"]
        for mask in masks:
            (index / mask).write_text("x")
        counts = {"tables": 1, "columns": 1, "indexed_columns": 1, "tokens": 1}
        segments = (SegmentMeta(f"s{n}", counts, (), {"file": mask}) for n, mask in enumerate(masks))
        return latest.next("mask", segments=tuple(segments))

    monkeypatch.setattr(module, "commit", overtaken)
    assert commit_change(index, change).version == 3
    names = sorted(path.name for path in (index / "tombstones").iterdir())
    assert names == [f"s0.{1:020d}.old.npy", f"s1.{3:020d}.mine.npy"]


def test_no_index(tmp_path):
    with pytest.raises(IndexNotFoundError):
        commit_change(tmp_path / "none", add_root("a"))


def test_threads_that_race_each_change_it_once(index, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_PAUSE", 0.02)
    errors = []

    def write(writer):
        try:
            for number in range(8):
                commit_change(index, add_root(f"{writer}-{number}"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and time.perf_counter() - begun < 30
    found = names(index)
    assert sorted(found) == sorted(f"{w}-{n}" for w in range(4) for n in range(8))
    for writer in range(4):
        own = [name for name in found if name.startswith(f"{writer}-")]
        assert own == [f"{writer}-{n}" for n in range(8)], "the changes of one writer are in order"
    assert list_versions(index) == list(range(1, 34))


class TestCommit:
    def test_an_existing_version_is_refused(self, tmp_path):
        commit(tmp_path, version(1))
        with pytest.raises(ConcurrentCommitError, match=r"version 1 of the index .* was committed by another writer"):
            commit(tmp_path, version(1, created_by="someone else"))
        assert read_manifest(tmp_path) == version(1)
        assert len(os.listdir(tmp_path / "manifests")) == 1

    @pytest.fixture
    def no_links(self, monkeypatch):
        def refuse(*_args, **_options):
            raise PermissionError("no hard links here")

        monkeypatch.setattr(os, "link", refuse)

    def test_without_hard_links(self, tmp_path, no_links):
        commit(tmp_path, version(1))
        commit(tmp_path, version(2))
        assert list_versions(tmp_path) == [1, 2] and read_manifest(tmp_path) == version(2)

    def test_without_hard_links_a_writer_that_was_killed_keeps_nobody_out_for_ever(self, index, no_links, monkeypatch):
        def killed(_draft, _target):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "rename", killed)
            patch.setattr(FileStore, "discard", lambda *_: None)  # a process that is killed removes nothing
            commit(index, version(2))
        (claim,) = (index / "manifests").glob("*.claim")
        with pytest.raises(
            ConcurrentCommitError, match=r"version 2 of .* is being committed .* commit in \d+ seconds;"
        ):
            commit(index, version(2))
        os.utime(claim, (1, 1))
        commit(index, version(2))
        assert list_versions(index) == [1, 2]

    def test_without_hard_links_an_existing_version_is_refused(self, tmp_path, no_links):
        commit(tmp_path, version(1))
        with pytest.raises(ConcurrentCommitError, match="committed by another writer"):
            commit(tmp_path, version(1, created_by="someone else"))
        assert read_manifest(tmp_path) == version(1)

    def test_without_hard_links_a_version_that_was_linked_is_refused(self, tmp_path, monkeypatch):
        commit(tmp_path, version(1))

        def refuse(*_):
            raise OSError("no hard links here")

        monkeypatch.setattr(os, "link", refuse)
        with pytest.raises(ConcurrentCommitError):
            commit(tmp_path, version(1, created_by="someone else"))
        assert read_manifest(tmp_path) == version(1)

    def test_a_failed_commit_leaves_no_draft(self, tmp_path, monkeypatch):
        commit(tmp_path, version(1))
        monkeypatch.setattr(module, "_link", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            commit(tmp_path, version(2))
        assert os.listdir(tmp_path / "manifests") == [f"{1:020d}.json"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_was_committed_is_not_discarded(build, monkeypatch, tmp_path, error, is_first):
    """After the link the version exists: an interruption in the sync behind it must not remove its segments."""
    index = tmp_path / "lake.dfjoin"
    options = {"engine": "inline", "progress": False}
    if not is_first:
        dfjoin.build_lake({"a": pd.DataFrame({"c": ["old", "b"]})}, index, **options)

    def fail(_directory):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, "_sync_directory", fail)
        with pytest.raises(error):
            dfjoin.build_lake({"a": pd.DataFrame({"c": ["new", "b"]})}, index, if_exists="replace", **options)
    if index.exists():
        lake = dfjoin.open_lake(index)
        assert lake.verify() == []
        assert dfjoin.discover_joinable(pd.DataFrame({"q": ["b"]}), "q", lake, rank="matched")["matched"].tolist() == [
            1
        ]
