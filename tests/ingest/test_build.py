"""A build: where it may go, what it follows, and what is left when it fails."""

import os

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError, TableReadError
from dfjoin.index.commit import read_manifest
from dfjoin.ingest.build import build, find_base
from dfjoin.ingest.build_options import BuildOptions, index_settings

TABLES = {"t": pd.DataFrame({"c": ["p", "q"]})}
OPTIONS = BuildOptions(TABLES, "inline", progress=False)


def test_a_build_follows_the_version_that_is_there(tmp_path):
    path, base = find_base(str(tmp_path / "x"), "error")
    assert (path, base) == (tmp_path / "x", None)
    first = build(path, base, index_settings(None), OPTIONS)
    assert (first.version, first.operation) == (1, "build") and first == read_manifest(path)
    _, base = find_base(path, "replace")
    assert base == first
    second = build(path, base, index_settings(None), OPTIONS)
    assert (second.version, second.operation, second.index_uuid) == (2, "replace all", first.index_uuid)
    with pytest.raises(InvalidParameterError, match=r"is an index already \(version 2\)"):
        find_base(path, "error")


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        (5, InvalidTypeError, "`index` must be a path, got int"),
        ("nosuch://b/x", InvalidParameterError, "`index` must be a path, or a URI that pyarrow.fs opens"),
    ],
)
def test_places_that_are_none(index, error, match):
    with pytest.raises(error, match=match):
        find_base(index, "error")


def test_a_directory_of_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InvalidParameterError, match="holds other files"):
        find_base(tmp_path, "add")


def test_a_first_build_that_was_killed_is_built_anew(tmp_path):
    """Nothing could remove what it had written: no version names it, and `vacuum` finds it."""
    index, frame = tmp_path / "ix", pd.DataFrame({"a": ["x", "y"]})
    for left in ("runs/build-1", "segments/1", "manifests"):
        (index / left).mkdir(parents=True)
    (index / "segments" / "1" / "tokens.npy").write_bytes(b"half")
    lake = dfjoin.build_lake({"t": frame}, index, engine="inline", progress=False)
    assert lake.verify() == [] and lake.tables["table"].tolist() == ["t"]
    (index / "manifests").rename(tmp_path / "kept")
    (index / "manifests").mkdir()
    (index / "manifests" / "mine.txt").write_text("x")
    with pytest.raises(InvalidParameterError, match="holds other files"):
        find_base(index, "add")


@pytest.mark.parametrize("was_there", [True, False])
def test_a_first_build_that_fails_leaves_the_place_as_it_was(tmp_path, was_there):
    index = tmp_path / "index"
    if was_there:
        index.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "t.parquet").write_bytes(b"no table")
    options = BuildOptions(tmp_path / "data", "inline", on_error="raise", progress=False)
    with pytest.raises(TableReadError):
        build(index, None, index_settings(None), options)
    assert index.exists() == was_there and list(tmp_path.glob("index/*")) == []
    assert find_base(index, "error") == (index, None)


def test_a_source_of_which_nothing_can_be_read_replaces_no_index(tmp_path):
    dfjoin.build_lake(TABLES, tmp_path / "index", engine="inline", progress=False)
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_bytes(b"no table")
    match = r"`source` must hold a table that can be read, and none is: `a.parquet`: .*, and 1 others"
    with pytest.raises(TableReadError, match=match):
        dfjoin.build_lake(
            [tmp_path / "a.parquet", tmp_path / "b.parquet"],
            tmp_path / "index",
            if_exists="replace",
            engine="inline",
            progress=False,
        )
    lake = dfjoin.open_lake(tmp_path / "index")
    assert (lake.version, lake.tables["table"].tolist(), lake.verify()) == (1, ["t"], [])
    assert len(list((tmp_path / "index" / "segments").iterdir())) == 1


@pytest.mark.parametrize("directory", [b"dir\xff", b"p/year=\xff"])
def test_a_directory_whose_name_is_not_utf_8_does_not_stop_a_build(tmp_path, directory):
    place = os.path.join(os.fsencode(tmp_path), b"lake", directory)
    os.makedirs(place)
    with open(os.path.join(place, b"t.csv"), "wb") as file:
        file.write(b"a\nx\ny\n")
    (tmp_path / "lake" / "ok.csv").write_text("a\nx\ny\n")
    lake = dfjoin.build_lake(tmp_path / "lake", tmp_path / "i", engine="inline", progress=False, on_error="raise")
    assert lake.tables["table"].tolist() == ["ok.csv"]
    assert [record["name"] for record in lake.info()["skipped"]] == [directory.replace(b"\xff", rb"\udcff").decode()]
    assert lake.check().empty and lake.add(tmp_path / "lake").version == 1
