"""An index on another file system: built, searched, changed and pickled there, by way of a local copy."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError, IndexCorruptedError, IndexNotFoundError, InvalidParameterError
from dfjoin.index import commit as commit_module
from dfjoin.index import mirror as module
from dfjoin.index.commit import read_manifest
from dfjoin.index.file_store import FileStore
from dfjoin.index.mirror import index_path, index_uri, mirror_of
from dfjoin.ingest import source as source_module
from tests.conftest import PROJECT

FRAMES = {
    "cities": pd.DataFrame({"city": ["Rome", "Oslo", "Bern"], "people": [28, 7, 1]}),
    "rivers": pd.DataFrame({"river": ["Aare", "Po"], "city": ["Bern", "Turin"]}),
}
QUERY = pd.DataFrame({"c": ["rome", "bern", "x"]})


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Mirrors of the test's own."""
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_mirrors", {})
    return tmp_path / "cache"


@pytest.fixture
def uri(tmp_path):
    """A place that pyarrow.fs opens by another scheme than that of files."""
    return f"local://{tmp_path / 'there' / 'lake.dfjoin'}"


def forget(cache, monkeypatch):
    """Be another machine: without mirrors."""
    monkeypatch.setattr(module, "_mirrors", {})
    shutil.rmtree(cache, ignore_errors=True)


def make(uri, frames=FRAMES, **options):
    return dfjoin.build_lake(frames, uri, engine="inline", progress=False, **options)


def test_an_index_elsewhere_is_built_searched_and_joined(uri, tmp_path, cache, monkeypatch):
    built = make(uri)
    there = tmp_path / "there" / "lake.dfjoin"
    assert [path.name for path in (there / "manifests").iterdir()] == ["00000000000000000001.json"]
    forget(cache, monkeypatch)
    lake = dfjoin.open_lake(uri)
    copied = [path for path in cache.rglob("*") if path.is_file() and path.suffix == ".npy"]
    assert copied == [], "nothing but the manifest is copied before it is asked for"
    pd.testing.assert_frame_equal(lake.columns, built.columns)
    hits = QUERY.discover_joinable("c", lake, rank="matched")
    assert hits[["table", "matched"]].values.tolist() == [["cities", 2], ["rivers", 1]]
    assert QUERY.auto_join(lake, on="c", tables="cities", min_score=0)["people"].tolist()[:2] == [28, 1]
    assert lake.verify() == []
    same = dfjoin.open_lake(there)  # by its path it is the index itself
    pd.testing.assert_frame_equal(same.columns, built.columns)


def test_changes_are_versions_elsewhere(uri, tmp_path, cache, monkeypatch):
    lake = make(uri)
    lake.add({"lakes": pd.DataFrame({"lake": ["Como", "Garda"]})}, engine="inline", progress=False)
    lake.remove("rivers")
    lake.compact(full=True)
    forget(cache, monkeypatch)
    again = dfjoin.open_lake(uri)
    assert again.version == 4 and again.tables["table"].tolist() == ["cities", "lakes"]
    assert again.verify() == []
    assert dfjoin.open_lake(uri, version=2).has_table("rivers")
    old = dfjoin.open_lake(uri, version=3)
    assert not old.has_table("rivers") and old.verify() == []
    left = {path.name for path in (tmp_path / "there" / "lake.dfjoin").iterdir()}
    assert left <= {"manifests", "segments", "tombstones", "frames"}, "no scratch is copied there"


def test_an_index_that_was_built_anew_is_seen(uri, tmp_path, cache, monkeypatch):
    make(uri)
    shutil.rmtree(tmp_path / "there")
    with pytest.raises(IndexNotFoundError):
        dfjoin.open_lake(uri)
    mine = dict(module._mirrors)
    monkeypatch.setattr(module, "_mirrors", {})
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / "other cache"))
    make(uri, {"new": FRAMES["rivers"]})
    monkeypatch.setattr(module, "_mirrors", mine)
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(cache))
    assert dfjoin.open_lake(uri).tables["table"].tolist() == ["new"]


def test_of_two_writers_one_commits(uri, tmp_path, monkeypatch):
    lake = make(uri)
    mirror = mirror_of(lake.path)
    text = (lake.path / "manifests" / f"{1:020d}.json").read_text()
    with pytest.raises(FileExistsError, match="was committed by another writer in the meantime"):
        mirror.publish(1, text, [])
    manifests = tmp_path / "there" / "lake.dfjoin" / "manifests"
    claim = manifests / f"{2:020d}.0123.claim"
    claim.write_text("claimed")
    with pytest.raises(FileExistsError, match="is being committed by another writer"):
        mirror.publish(2, text, [])
    add = {"source": {"new": FRAMES["rivers"]}, "engine": "inline", "progress": False}
    with (
        monkeypatch.context() as patch,
        pytest.raises(
            ConcurrentCommitError,
            match=r"version 2 of the index at `local://.*/lake.dfjoin` is being committed by another",
        ),
    ):
        patch.setattr(commit_module, "_ATTEMPTS", 2)
        lake.add(**add)
    assert sorted(path.name for path in manifests.iterdir()) == [f"{1:020d}.json", claim.name]
    os.utime(claim, (1, 1))  # of a writer that died
    assert lake.add(**add).version == 2


def test_what_was_committed_stays_although_the_answer_was_lost(uri, monkeypatch, cache):
    lake = make(uri)
    store = mirror_of(lake.path).store
    write = store.write

    def lose(name, content):
        write(name, content)
        if name == f"manifests/{2:020d}.json":
            raise OSError(5, "the network is gone")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="network is gone"):
        patch.setattr(store, "write", lose)
        lake.add({"new": FRAMES["rivers"]}, engine="inline", progress=False)
    forget(cache, monkeypatch)
    again = dfjoin.open_lake(uri)
    assert again.version == 2 and again.verify() == [] and again.table("new")["river"].tolist() == ["Aare", "Po"]


def test_what_is_not_committed_is_removed_there(uri, tmp_path, monkeypatch):
    mirror = mirror_of(index_path(uri))
    write = mirror.store.write

    def fail(name, content):
        if name.startswith("manifests"):
            raise OSError(5, "the network is gone")
        write(name, content)

    monkeypatch.setattr(mirror.store, "write", fail)
    with pytest.raises(OSError, match="the network is gone"):
        make(uri)
    assert [path for path in (tmp_path / "there").rglob("*") if path.is_file()] == []
    monkeypatch.setattr(mirror.store, "write", write)
    assert make(uri).version == 1


def test_damage_there_is_told(uri, tmp_path, cache, monkeypatch):
    make(uri)
    forget(cache, monkeypatch)
    (hashes,) = (tmp_path / "there").rglob("hash.npy")
    data = bytearray(hashes.read_bytes())
    data[-1] ^= 1
    hashes.write_bytes(data)
    with pytest.raises(IndexCorruptedError, match=r"`hash`.*what local://.* holds is not what was written"):
        QUERY.discover_joinable("c", dfjoin.open_lake(uri))
    hashes.unlink()
    with pytest.raises(IndexCorruptedError, match="the file is missing"):
        QUERY.discover_joinable("c", dfjoin.open_lake(uri))


def test_a_lake_is_pickled_by_its_uri(uri, tmp_path, cache, monkeypatch):
    lake = make(uri)
    assert index_uri(lake.path) == uri and index_uri(tmp_path) == str(tmp_path)
    data = pickle.dumps(lake)
    assert str(cache).encode() not in data
    forget(cache, monkeypatch)
    assert pickle.loads(data).tables["table"].tolist() == ["cities", "rivers"]


ELSEWHERE = """
import sys, dfjoin, pandas as pd
lake = dfjoin.open_lake(sys.argv[1])
print(pd.DataFrame({"c": ["rome", "bern"]}).discover_joinable("c", lake, rank="matched")["matched"].tolist())
"""


def test_another_process_with_a_cache_of_its_own(uri, tmp_path):
    make(uri)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "DFJOIN_CACHE_DIR": str(tmp_path / "theirs")}
    command = [sys.executable, "-c", ELSEWHERE, uri]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[2, 1]\n"


def test_a_worker_finds_the_mirror_by_its_directory(uri, monkeypatch):
    lake = make(uri)
    monkeypatch.setattr(module, "_mirrors", {})
    assert mirror_of(lake.path).uri == uri


def files_below(place):
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


def test_old_versions_and_orphans_are_removed_there(uri, tmp_path, cache, monkeypatch):
    lake = make(uri)
    there = tmp_path / "there" / "lake.dfjoin"
    lake.add({"lakes": pd.DataFrame({"lake": ["Como", "Garda"]})}, engine="inline", progress=False)
    lake.remove("rivers")
    lake.compact(full=True)
    for orphan in ("segments/orphan/tokens-1/hash.npy", "runs/build-dead/runs/1/0000", "frames/x.parquet"):
        (there / orphan).parent.mkdir(parents=True, exist_ok=True)
        (there / orphan).write_text("x")
    (there / "manifests" / f"{9:020d}.0123.claim").write_text("of a writer that died")
    before = files_below(there)
    forget(cache, monkeypatch)
    lake = dfjoin.open_lake(uri)
    assert lake.vacuum()["files"] == 0 and files_below(there) == before, "all of it is young"
    told = lake.vacuum(0, dry_run=True)
    assert files_below(there) == before and told["versions"] == [1, 2, 3]
    assert {**lake.vacuum(0), "dry_run": True} == told
    left = files_below(there)
    assert {name for name in left if not name.startswith(("segments/", "frames/"))} == {f"manifests/{4:020d}.json"}
    assert len({name.split("/")[1] for name in left if name.startswith("segments/")}) == 1
    assert len([name for name in left if name.startswith("frames/")]) == 2
    assert lake.verify() == [] and lake.versions()["version"].tolist() == [4]
    assert QUERY.discover_joinable("c", dfjoin.open_lake(uri), rank="matched")["matched"].tolist() == [2]


def test_a_version_is_restored_whose_segments_were_never_copied_here(uri, cache, monkeypatch):
    make(uri).remove("rivers")
    forget(cache, monkeypatch)
    lake = dfjoin.open_lake(uri).restore(1)
    assert lake.has_table("rivers") and lake.version == 3


def test_damage_there_is_repaired_there(uri, tmp_path, cache, monkeypatch):
    """What counts is what lies there, whether or not the copy here is sound."""
    lake = make(uri)
    lake.add({"lakes": pd.DataFrame({"lake": ["Como", "Garda"]})}, engine="inline", progress=False)
    there = tmp_path / "there" / "lake.dfjoin"
    first = lake.segments[0].meta.id
    hashes = next((there / "segments" / first).rglob("hash.npy"))
    hashes.write_bytes(hashes.read_bytes()[:-1] + b"#")
    (there / "manifests" / f"{2:020d}.json").write_text("{")
    report = dfjoin.repair(uri)
    assert report["unreadable_versions"] == [2] and report["segments"] == [first] and report["version"] == 3
    assert report["tables"] == ["cities", "rivers"]
    forget(cache, monkeypatch)
    again = dfjoin.open_lake(uri)
    assert again.tables.empty and again.verify() == []


@pytest.mark.parametrize("pattern", ["segments/*/*/hash.npy", "tombstones/*", "frames/*", "models/*/word_bytes.npy"])
def test_verify_reads_what_lies_there_and_drops_copies_that_are_damaged(pattern, uri, tmp_path):
    lake = make(uri, embedder="fasttext").remove("rivers")
    there = next((tmp_path / "there" / "lake.dfjoin").glob(pattern))
    if pattern == "frames/*":
        (record,) = (r for s in lake.segments for r in s.catalog.tables().to_pylist() if r["name"] == "cities")
        there = there.with_name(record["path"])
    copy = lake.path / there.relative_to(tmp_path / "there" / "lake.dfjoin")
    sound = copy.read_bytes()
    copy.write_bytes(sound[:-1] + b"#")
    assert lake.verify() == [], "the copy is no part of the index"
    assert not copy.exists() or copy.read_bytes() == sound
    assert lake.table("cities")["people"].tolist() == [28, 7, 1]
    assert dfjoin.open_lake(uri).segments[0].tokens.hash.size
    for damage in (lambda: there.write_bytes(sound[:-1]), there.unlink):
        damage()
        assert len(lake.verify()) == 1, "whatever the copy holds"


def test_a_frame_that_another_process_is_writing_is_not_sent_in_parts(uri, tmp_path, cache, monkeypatch):
    """Processes of one user share a mirror."""
    make(uri)
    real = source_module.parquet.write_table

    def write_slowly(table, stream, **options):
        stream.write(b"PAR1 half of a frame")
        stream.flush()
        monkeypatch.setattr(source_module.parquet, "write_table", real)
        dfjoin.open_lake(uri).remove("rivers")
        stream.seek(0)
        real(table, stream, **options)

    monkeypatch.setattr(source_module.parquet, "write_table", write_slowly)
    dfjoin.open_lake(uri).add({"lakes": pd.DataFrame({"lake": ["Como", "Garda"]})}, engine="inline", progress=False)
    forget(cache, monkeypatch)
    again = dfjoin.open_lake(uri)
    assert again.version == 3 and again.verify() == []
    assert again.table("lakes")["lake"].tolist() == ["Como", "Garda"]
    assert {path.suffix for path in (tmp_path / "there").rglob("frames/*")} == {".parquet"}


@pytest.mark.parametrize("wrong", ["nosuch://bucket/lake", "s3://key:secret@/"])
def test_a_uri_that_cannot_be_opened(wrong):
    with pytest.raises(
        InvalidParameterError, match=r"`index` must be a path, or a URI that pyarrow\.fs opens"
    ) as caught:
        index_path(wrong)
    assert "secret" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_told(uri, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path / "file")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    with pytest.raises(InvalidParameterError, match="none can be written; set DFJOIN_CACHE_DIR to one"):
        index_path(uri)


def test_the_cache_is_bounded(tmp_path, cache, monkeypatch):
    """Mirrors of other indexes go, the oldest first; those that this process uses stay, and one that went comes again."""
    uris = [f"local://{tmp_path / 'there' / name}" for name in "abc"]
    places = []
    for number, uri in enumerate(uris[:2]):
        make(uri)
        places.append(index_path(uri))
        os.utime(places[-1].with_suffix(".uri"), (number, number))
    monkeypatch.setenv("DFJOIN_CACHE_BYTES", "10")
    make(uris[2])
    assert all(place.exists() for place in places), "this process uses them"
    monkeypatch.setattr(module, "_mirrors", {})
    size = sum(path.stat().st_size for path in places[1].rglob("*") if path.is_file())
    monkeypatch.setenv("DFJOIN_CACHE_BYTES", str(int(2.5 * size)))  # room for two
    index_path(uris[2])
    assert [place.exists() for place in places] == [False, True]
    lake = dfjoin.open_lake(uris[0])
    assert QUERY.discover_joinable("c", lake, rank="matched")["matched"].tolist() == [2, 1]
    monkeypatch.setattr(module, "_mirrors", {})
    monkeypatch.setenv("DFJOIN_CACHE_BYTES", "10 GB")
    with pytest.raises(InvalidParameterError, match="`DFJOIN_CACHE_BYTES` must be a number of bytes, got '10 GB'"):
        index_path(uris[0])


def test_an_index_opens_while_another_process_removes_its_scratch_from_the_mirror(uri, monkeypatch):
    scratch = make(uri).path / "runs" / "build-1"
    scratch.mkdir(parents=True)
    real = os.scandir

    def scan(place="."):
        if str(place).endswith("build-1"):
            scratch.rmdir()
        return real(place)

    monkeypatch.setattr(module, "_mirrors", {})
    monkeypatch.setattr(os, "scandir", scan)
    assert len(dfjoin.open_lake(uri).tables) == 2 and not scratch.exists()


@pytest.mark.parametrize("place", ["here", "there"])
def test_an_index_opens_while_another_process_fetches_its_manifests_anew(place, uri, cache, monkeypatch):
    mirror = mirror_of(make(uri).path)
    real = FileStore.chunks

    def read_while_another_removes(store, name):
        monkeypatch.setattr(FileStore, "chunks", real)
        if place == "there":
            raise FileNotFoundError(name)
        shutil.rmtree(mirror.directory / "manifests")
        return real(store, name)

    monkeypatch.setattr(module, "_mirrors", {})
    monkeypatch.setattr(FileStore, "chunks", read_while_another_removes)
    assert len(dfjoin.open_lake(uri).tables) == 2


def test_a_manifest_is_read_that_another_process_fetches_anew_meanwhile(uri, monkeypatch):
    directory = make(uri).path
    real = Path.read_text

    def read_while_another_removes(path, *args, **options):
        if path.parent.name == "manifests":
            monkeypatch.setattr(Path, "read_text", real)
            path.unlink()
        return real(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", read_while_another_removes)
    assert read_manifest(directory).version == 1
