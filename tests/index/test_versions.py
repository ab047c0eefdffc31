"""The versions of an index: listed, read, and refused where there are none."""

import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError, IndexNotFoundError, InvalidParameterError
from dfjoin.index.commit import commit, latest_version, list_versions, read_manifest
from dfjoin.index.manifest import Manifest
from dfjoin.types import IndexSettings


def make_manifest(version):
    return Manifest("uuid", version, IndexSettings())


def test_no_index(tmp_path):
    assert list_versions(tmp_path / "none") == [] and latest_version(tmp_path / "none") == 0
    with pytest.raises(IndexNotFoundError, match=r"there is no dfjoin index at `.*none`: .*build one with"):
        read_manifest(tmp_path / "none")


def test_a_directory_of_tables_is_no_index(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    text = r"a directory of other files: if these are your tables, build .*build_lake\(.*, '.*\.dfjoin'\)"
    with pytest.raises(IndexNotFoundError, match=text):
        read_manifest(tmp_path)


def test_a_file_is_no_index(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexNotFoundError, match=r"there is no dfjoin index .*it is a file: read it into a frame"):
        dfjoin.open_lake(tmp_path / "file")


def test_a_version_that_is_not_there(tmp_path):
    commit(tmp_path, make_manifest(1))
    commit(tmp_path, make_manifest(2))
    with pytest.raises(InvalidParameterError, match=r"`version` must be a version .*\(2, 1\), got 3"):
        read_manifest(tmp_path, 3)


def test_other_files_beside_manifests_are_ignored(tmp_path):
    for version in (2, 10, 1):
        commit(tmp_path, make_manifest(version))
    for name in (".draft-1", "1.json", f"{11:020d}.json.bak", f"{12:020d}.claim", "notes.txt"):
        (tmp_path / "manifests" / name).write_text("x")
    assert list_versions(tmp_path) == [1, 2, 10] and latest_version(tmp_path) == 10
    assert read_manifest(tmp_path).version == 10


def test_a_damaged_latest_version_leaves_the_older_one(tmp_path):
    commit(tmp_path, make_manifest(1))
    (tmp_path / "manifests" / f"{2:020d}.json").write_text("{")
    with pytest.raises(IndexCorruptedError, match=f"{2:020d}.json cannot be read"):
        read_manifest(tmp_path)
    assert read_manifest(tmp_path, 1).version == 1
