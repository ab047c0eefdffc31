"""The argument `source`: files, frames and Spark tables, and the roots that they belong to."""

import os
import re
import stat
import zlib

import pandas as pd
import pytest
from pyarrow import parquet

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.index.commit import Uncommitted
from dfjoin.ingest.source import Input, frames_directory, gather, root_for
from dfjoin.types import IndexSettings, Root

FRAME = pd.DataFrame({"a": ["x", "y"]})


@pytest.fixture
def files(tmp_path):
    place = tmp_path / "data"
    (place / "sub").mkdir(parents=True)
    FRAME.to_csv(place / "b.csv", index=False)
    FRAME.to_csv(place / "sub" / "a.csv", index=False)
    return place


def ask(source, tmp_path, roots=(), spark=None):
    index = tmp_path / "index"
    return gather(source, list(roots), spark, index / "frames", Uncommitted(index), IndexSettings())


def names(given):
    return [table.name for table in given.tables]


def test_files_of_the_first_root_are_named_by_their_path(files, tmp_path):
    given = ask(files, tmp_path)
    assert given.roots == [Root(0, "data", str(files))] and names(given) == ["b.csv", "sub/a.csv"]
    assert not (tmp_path / "index").exists(), "listing writes nothing"


def test_files_below_a_root_belong_to_it(files, tmp_path):
    root = Root(0, "data", str(files))
    given = ask(files / "sub", tmp_path, [root])
    assert given.roots == [root] and [(t.name, t.path, t.parts) for t in given.tables] == [
        ("sub/a.csv", "sub/a.csv", ("sub/a.csv",))
    ]


def test_the_nearest_root_above_takes_them(files, tmp_path):
    roots = [Root(0, "data", str(files)), Root(7, "sub", f"{files}/sub/")]
    (table,) = ask(files / "sub", tmp_path, roots).tables
    assert (table.root, table.name, table.path) == (roots[1], "sub/a.csv", "a.csv")


def test_files_of_a_later_root_carry_its_name(files, tmp_path):
    first = Root(0, "data", "/elsewhere")
    given = ask(files, tmp_path, [first])
    assert names(given) == ["data-2/b.csv", "data-2/sub/a.csv"] and given.roots[0] == first
    assert given.roots[1].name == "data-2"


def test_what_is_skipped_is_named_as_tables_are(files, tmp_path):
    (files / "sub" / "t.xlsb").write_bytes(b"no workbook")
    given = ask(files, tmp_path, [Root(0, "other", "/elsewhere")])
    assert [file.name for file in given.skipped] == ["data/*.xlsb"]


def test_frames_are_written_where_they_are_kept(tmp_path):
    written = Uncommitted(tmp_path / "index")
    given = gather({"t": FRAME}, [], None, tmp_path / "index" / "frames", written, IndexSettings())
    (table,) = given.tables
    assert (table.name, table.format, given.roots) == ("t", "parquet", [Root(0, "", "frames", "memory")])
    assert parquet.read_table(tmp_path / "index" / "frames" / table.path).to_pydict() == {"a": ["x", "y"]}
    with pytest.raises(OSError), written:
        raise OSError
    assert not (tmp_path / "index" / "frames" / table.path).exists(), "it is noted before it is written"


def test_frames_that_are_not_kept_lie_elsewhere_for_a_while(tmp_path):
    with frames_directory(tmp_path, True) as place:
        assert place == tmp_path / "frames"
    with frames_directory(tmp_path, False) as place:
        assert place.is_dir() and tmp_path not in place.parents
    assert not place.exists()


@pytest.mark.parametrize("name", ["", "  ", 5, None])
def test_names_of_frames_are_text(tmp_path, name):
    with pytest.raises(InvalidTypeError, match="must map table names to frames"):
        ask({name: FRAME}, tmp_path)


def test_other_things_are_no_frames(tmp_path):
    with pytest.raises(
        InvalidTypeError, match="must map names to frames of pandas, polars, Arrow, DuckDB or Spark, got list for 't'"
    ):
        ask({"t": [1]}, tmp_path)
    with pytest.raises(InvalidParameterError, match="got an empty mapping"):
        ask({}, tmp_path)


@pytest.mark.parametrize("options", [{"engine": "inline"}, {"workers": 2}])
def test_frames_of_spark_are_for_spark(tmp_path, options):
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    text = (
        '`source` holds Spark DataFrames, which neither engine="inline" nor `workers` read; leave both out, or use '
        'engine="spark"'
    )
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(text)}$"):
        dfjoin.build_lake({"t": frame}, tmp_path / "index", progress=False, **options)


def test_names_that_are_no_paths_are_spark_tables(tmp_path):
    asked = []

    def reader(tables, root):
        asked.append((tables, root))
        return Input([root], [], extra=[list])

    ask(["db.t", "u"], tmp_path, spark=reader)
    assert asked == [({"db.t": "db.t", "u": "u"}, Root(0, "", "spark:", "spark"))]
    with pytest.raises(InvalidParameterError, match=r"`source` 'db.t' is no path that exists here"):
        ask("db.t", tmp_path)


def test_a_place_without_tables(files, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidParameterError, match="`source` holds no table that dfjoin reads"):
        ask(tmp_path / "empty", tmp_path)


def test_later_roots_have_ids_that_follow_from_their_place():
    first = root_for("files", "/a", "a", [])
    assert first == Root(0, "a", "/a") and root_for("files", "/a", "x", [first]) is first
    later = root_for("files", "/b", "a", [first])
    assert later == Root(zlib.crc32(b"files|/b") & 0x7FFFFFFF, "a-2", "/b")
    taken = Root(later.id, "z", "/z")
    assert root_for("files", "/b", "b", [first, taken]).id == later.id + 1
    assert root_for("memory", "frames", "memory", []).name == ""


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_an_index_of_frames_is_for_its_owner_only(build):
    """The directory of the frames is made first, and its parents with the default mode."""
    lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
    assert stat.S_IMODE(lake.path.stat().st_mode) == 0o700


def test_frames_added_twice_have_one_root(tmp_path):
    """Frames of one index have one root, so that `roots` holds it and `tables` knows where each is."""
    frame = pd.DataFrame({"c": ["a", "b"]})
    for name in ("a", "b", "c"):
        lake = dfjoin.build_lake({name: frame}, tmp_path / "lake", if_exists="add", engine="inline", progress=False)
    assert len(lake.roots) == 1 and lake.tables["table"].tolist() == ["a", "b", "c"]
    assert (lake.tables["root"] != "").all()


def test_frames_that_are_not_wanted_are_not_written(tmp_path):
    frames, settings = tmp_path / "index" / "frames", IndexSettings(tables=("t*",))
    given = gather({"t1": FRAME, "secret": FRAME}, [], None, frames, Uncommitted(tmp_path / "index"), settings)
    assert names(given) == ["t1"] and len(list(frames.iterdir())) == 1
    with pytest.raises(InvalidParameterError, match="holds no table that `tables` names"):
        gather({"secret": FRAME}, [], None, tmp_path / "other", Uncommitted(tmp_path / "index"), settings)
    assert not list((tmp_path / "other").iterdir())
