"""Where the parts of an index lie."""

import ast
import os
import re
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.index import components
from dfjoin.index.components import holds_index, is_mark_of, manifest_path, tombstones_file, version_of


@pytest.mark.parametrize("version", [1, 42, 10**19])
def test_a_manifest_is_named_by_its_version(tmp_path, version):
    path = manifest_path(tmp_path, version)
    assert path.parent == tmp_path / "manifests" and re.fullmatch(r"[0-9]{20}\.json", path.name)
    assert version_of(path.name) == version


@pytest.mark.parametrize("name", [".draft-1", "1.json", f"{1:020d}.json.bak", f"{1:020d}.claim", f"x{1:020d}.json"])
def test_other_names_are_no_versions(name):
    assert version_of(name) is None


def test_marks_belong_to_the_version_they_were_made_for():
    mark = tombstones_file("s1", 7, "ab12cd34")
    assert mark == f"tombstones/s1.{7:020d}.ab12cd34.npy"
    assert is_mark_of(mark, 7) and not is_mark_of(mark, 8)
    assert not is_mark_of(f"segments/x.{7:020d}.y", 7)


def test_an_index_is_known_by_two_directories():
    assert holds_index({"manifests", "segments", "more"}) and not holds_index({"manifests"})


def test_names_stand_nowhere_else():
    """A second place that spells a name would go its own way one day."""
    names = {components.TOMBSTONES, components.FRAMES, components.RUNS, components.CATALOG_FILE, components.MANIFESTS}
    places = set()
    for path in Path(dfjoin.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
                places |= (
                    {(path.name, node.right.value)} if node.right.value in names | {components.SEGMENTS} else set()
                )
    assert places == set()


def modes_below(index):
    return {oct(path.stat().st_mode & 0o777) for path in [index, *index.rglob("*")]}


def changed(index):
    """An index with all kinds of files."""
    frames = {"t": pd.DataFrame({"a": [f"w {i}" for i in range(12)], "b": range(12)})}
    settings = {"permutations": 4, "signature_min": 2, "patterns": True, "row_signatures": True}
    options = {"engine": "inline", "progress": False}
    lake = dfjoin.build_lake(frames, index, settings=settings, embedder="fasttext", axes=[["b"]], **options)
    return lake.add({"u": frames["t"].assign(c="x"), "v": frames["t"]}, **options).remove("u")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
class TestPermissions:
    def test_an_index_is_its_owners_with_all_that_is_inside(self, tmp_path):
        assert modes_below(changed(tmp_path / "above" / "lake").path) == {"0o700", "0o600"}

    def test_in_a_directory_that_is_open_to_others_so_are_its_files(self, tmp_path):
        index = tmp_path / "lake"
        index.mkdir()
        index.chmod(0o750)
        assert modes_below(changed(index).path) == {"0o750", "0o640"}

    def test_a_file_that_exists_is_not_created(self, tmp_path):
        with components.create_file(tmp_path / "x") as stream:
            stream.write(b"1")
        with pytest.raises(FileExistsError):
            components.create_file(tmp_path / "x")
