"""A build that is interrupted, at any step, leaves what was there before."""

import os
import threading

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError
from dfjoin.index import commit, components, segment_writer
from dfjoin.ingest import build as build_module
from dfjoin.ingest import driver, engine, requests
from dfjoin.ingest import merge_task as merge
from dfjoin.ingest import read_task as task
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.types import IndexSettings

OLD = {"a": pd.DataFrame({"c": ["p", "q", "old"]}), "b": pd.DataFrame({"c": ["p", "x"]})}
NEW = {"a": pd.DataFrame({"c": ["p", "new"]}), "d": pd.DataFrame({"c": ["p", "q"], "n": [1, 2]})}
QUERY = pd.DataFrame({"q": ["p", "q", "old", "new"]})


def build(tables, index, **options):
    return dfjoin.build_lake(tables, index, engine="inline", progress=False, **options)


def answers(lake):
    hits = dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


OLD_ANSWERS = [("a", "c", 3), ("b", "c", 1)]
NEW_ANSWERS = [("a", "c", 2), ("d", "c", 2)]

STEPS = {
    "cutting tasks": (driver, "split_tables"),
    "before a task": (engine, "execute"),
    "reading a table": (task, "_read_table"),
    "opening a table": (task, "tables_of"),
    "writing a run": (task, "write_run"),
    "writing a run's catalogue": (task, "write_catalog"),
    "reporting a run": (requests, "build_run"),
    "before the merge": (driver, "_merge_requests"),
    "merging catalogues": (merge, "merge_catalogs"),
    "writing a segment": (merge, "write_segment"),
    "writing a component": (segment_writer, "write_component"),
    "writing a catalogue": (segment_writer, "write_bytes"),
    "reading what a merge made": (driver, "read_built"),
    "making the manifest": (build_module, "Manifest"),
    "before the commit": (build_module, "commit"),
    "after the draft was written": (commit, "_link"),
}


def raise_at(patch, step, error):
    module, name = STEPS[step]

    def fail(*_args, **_options):
        raise error("stopped by the test")

    patch.setattr(module, name, fail)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("step", STEPS)
class TestInterrupted:
    def test_the_previous_version_stays_and_a_following_build_succeeds(self, tmp_path, monkeypatch, step, error):
        index = tmp_path / "lake.dfjoin"
        opened = build(OLD, index)
        with monkeypatch.context() as patch:
            raise_at(patch, step, error)
            with pytest.raises(error, match="stopped by the test"):
                build(NEW, index, if_exists="replace")
        assert commit.list_versions(index) == [1]
        assert answers(dfjoin.open_lake(index)) == answers(opened) == OLD_ANSWERS
        assert opened.verify() == [] and opened.table("a")["c"].tolist() == ["p", "q", "old"]
        lake = build(NEW, index, if_exists="replace")
        assert lake.version == 2 and answers(lake) == NEW_ANSWERS and lake.verify() == []
        assert answers(dfjoin.open_lake(index, version=1)) == OLD_ANSWERS

    def test_a_first_build_leaves_no_index(self, tmp_path, monkeypatch, step, error):
        index = tmp_path / "lake.dfjoin"
        with monkeypatch.context() as patch:
            raise_at(patch, step, error)
            with pytest.raises(error, match="stopped by the test"):
                build(NEW, index)
        assert os.listdir(tmp_path) == []
        assert answers(build(NEW, index)) == NEW_ANSWERS


N_SYNCS = len(components.TOKENS) + 2  # the components, the catalogue, the draft of the manifest


@pytest.mark.parametrize("number", range(N_SYNCS))
def test_a_disk_that_fails_to_sync(tmp_path, monkeypatch, number):
    index = tmp_path / "lake.dfjoin"
    build(OLD, index)
    real, count = os.fsync, 0

    def fail(descriptor):
        nonlocal count
        count += 1
        if count > number:
            raise OSError("no space left")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no space left"):
            build(NEW, index, if_exists="replace")
    assert count == number + 1
    assert answers(dfjoin.open_lake(index)) == OLD_ANSWERS and dfjoin.open_lake(index).verify() == []
    assert answers(build(NEW, index, if_exists="replace")) == NEW_ANSWERS


def test_an_interrupted_second_table_leaves_no_half_read_run(tmp_path, monkeypatch):
    index = tmp_path / "lake.dfjoin"
    real, seen = task._read_table, []

    def fail(feed, *args, **options):
        seen.append(feed.record["name"])
        if len(seen) == 2:
            raise KeyboardInterrupt
        return real(feed, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(task, "_read_table", fail)
        with pytest.raises(KeyboardInterrupt):
            build(NEW, index)
    assert seen == ["a", "d"] and not index.exists()


def test_a_successful_build_leaves_no_scratch(tmp_path):
    index = tmp_path / "lake.dfjoin"
    build(OLD, index)
    build(NEW, index, if_exists="replace")
    assert not any((index / "runs").iterdir())
    assert sorted(p.name for p in (index / "manifests").iterdir()) == [f"{v:020d}.json" for v in (1, 2)]
    assert len(list((index / "segments").iterdir())) == 2


def test_a_failed_replacement_removes_its_segments(tmp_path, monkeypatch):
    index = tmp_path / "lake.dfjoin"
    build(OLD, index)
    before = sorted((index / "segments").iterdir())
    raise_at(monkeypatch, "before the commit", OSError)
    with pytest.raises(OSError, match="stopped"):
        build(NEW, index, if_exists="replace")
    assert sorted((index / "segments").iterdir()) == before and not any((index / "runs").iterdir())


class TestConcurrentWriters:
    def test_a_writer_that_was_overtaken_gives_up(self, tmp_path, monkeypatch):
        """Two builds start from version 1; the second to commit finds version 2 taken."""
        index = tmp_path / "lake.dfjoin"
        build(OLD, index)
        real = build_module.commit

        def overtaken(*args):
            monkeypatch.setattr(build_module, "commit", real)
            build(NEW, index, if_exists="replace")
            real(*args)

        monkeypatch.setattr(build_module, "commit", overtaken)
        with pytest.raises(ConcurrentCommitError, match=r"version 2 .* committed by another writer .*`refresh\(\)`"):
            build(OLD, index, if_exists="replace")
        lake = dfjoin.open_lake(index)
        assert lake.version == 2 and answers(lake) == NEW_ANSWERS and lake.verify() == []
        assert lake.table("d")["n"].tolist() == [1, 2]
        assert len(list((index / "segments").iterdir())) == 2

    def test_two_first_builds_of_one_index(self, tmp_path, monkeypatch):
        index = tmp_path / "lake.dfjoin"
        real = build_module.commit

        def overtaken(*args):
            monkeypatch.setattr(build_module, "commit", real)
            other = BuildOptions(NEW, engine="inline", progress=False)
            build_module.build(index, None, IndexSettings(), other)
            real(*args)

        monkeypatch.setattr(build_module, "commit", overtaken)
        with pytest.raises(ConcurrentCommitError, match="version 1"):
            build(OLD, index)
        lake = dfjoin.open_lake(index)
        assert answers(lake) == NEW_ANSWERS and lake.verify() == []
        assert len(os.listdir(index / "segments")) == 1 and len(os.listdir(index / "frames")) == 2

    def test_threads_that_race(self, tmp_path, monkeypatch):
        index = tmp_path / "lake.dfjoin"
        build(OLD, index)
        barrier = threading.Barrier(2)
        real = build_module.commit

        def together(*args):
            barrier.wait(timeout=60)
            real(*args)

        monkeypatch.setattr(build_module, "commit", together)
        outcomes = {}

        def write(name, tables):
            try:
                outcomes[name] = build(tables, index, if_exists="replace")
            except Exception as error:
                outcomes[name] = error

        threads = [threading.Thread(target=write, args=item) for item in (("old", OLD), ("new", NEW))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        failed = [name for name, outcome in outcomes.items() if isinstance(outcome, Exception)]
        assert len(failed) == 1 and isinstance(outcomes[failed[0]], ConcurrentCommitError)
        lake = dfjoin.open_lake(index)
        expected = OLD_ANSWERS if failed == ["new"] else NEW_ANSWERS
        assert lake.version == 2 and answers(lake) == expected and lake.verify() == []

    @pytest.mark.parametrize("name", ["e", "f"])
    def test_adding_to_a_version_that_moved_on(self, tmp_path, monkeypatch, name):
        """Both are added, one after the other, unless they have one name."""
        index = tmp_path / "lake.dfjoin"
        build(OLD, index)
        real = commit.commit

        def overtaken(*args):
            monkeypatch.setattr(commit, "commit", real)
            build({"e": OLD["b"]}, index, if_exists="add")
            real(*args)

        monkeypatch.setattr(commit, "commit", overtaken)
        if name == "e":
            with pytest.raises(ConcurrentCommitError, match=r"another writer has added tables of the same names .*'e'"):
                build({name: OLD["b"]}, index, if_exists="add")
        else:
            assert build({name: OLD["b"]}, index, if_exists="add").version == 3
        lake = dfjoin.open_lake(index)
        assert lake.tables["table"].tolist() == sorted([*OLD, *{"e", name}])
        assert len(list((index / "segments").iterdir())) == lake.version and lake.verify() == []
