"""Commits happen once or not at all; changes are applied to the latest version; failures leave nothing behind."""

import os
import threading
import time

import pytest

from dfjoin.errors import ConcurrentCommitError, IndexNotFoundError
from dfjoin.index import commit as module
from dfjoin.index.commit import commit, commit_change
from dfjoin.index.manifest import Manifest, list_versions, read_manifest
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
