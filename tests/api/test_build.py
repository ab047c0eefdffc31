"""build_lake: argument checks, settings, patterns, and frames of every dtype and index."""

import datetime
import decimal
import os
import re
import stat

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    IncompatibleSettingsError,
    InvalidParameterError,
    InvalidTypeError,
    TableReadError,
)
from dfjoin.types import IndexSettings

FRAME = pd.DataFrame({"c": ["a", "b"], "n": [1, 2]})


def make(source, index, **options):
    return dfjoin.build_lake(source, index, **{"engine": "inline", "progress": False, **options})


def find(values, lake, **options):
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": values}), "q", lake, **options, rank="matched")
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


BAD = [
    (
        {"if_exists": "overwrite"},
        InvalidParameterError,
        r"`if_exists` must be one of 'error', 'replace', 'add', got 'ov",
    ),
    ({"engine": "dask"}, InvalidParameterError, r"`engine` must be one of None, 'spark', 'inline', got 'dask'"),
    ({"on_error": "ignore"}, InvalidParameterError, r"`on_error` must be one of 'skip', 'raise', got 'ignore'"),
    ({"keep_data": 1}, InvalidParameterError, r"`keep_data` must be one of True, False, got 1"),
    ({"spark": object()}, InvalidParameterError, r"`spark` belongs to engine=\"spark\", but the engine is \"inline\""),
    ({"columns": 5}, InvalidTypeError, r"`columns` must be a pattern or a list of patterns, got 5"),
    ({"exclude": [None]}, InvalidTypeError, r"`exclude` must be a pattern or a list of patterns"),
    ({"settings": "fast"}, InvalidTypeError, r"`settings` must be a dict or IndexSettings, got str"),
    ({"settings": {"speed": 9}}, InvalidParameterError, r"`settings` may hold 'null_spellings', .*got 'speed'"),
    ({"settings": {"columns": ["a"]}}, InvalidParameterError, r"`settings` may hold .*got 'columns'"),
    ({"settings": {"unicode_version": "1"}}, InvalidParameterError, r"`settings` may hold .*got 'unicode_version'"),
    (
        {"settings": {"null_spellings": [1]}},
        InvalidTypeError,
        r"`settings\['null_spellings'\]` must be a text or a list of texts, got",
    ),
    (
        {"settings": {"dayfirst": "no"}},
        InvalidParameterError,
        r"`settings\['dayfirst'\]` must be one of None, True, Fa",
    ),
    ({"settings": {"samples": -1}}, InvalidParameterError, r"`settings\['samples'\]` must be an integer of at least 0"),
    ({"settings": {"samples": 1.5}}, InvalidParameterError, r"`settings\['samples'\]` must be an integer"),
    ({"settings": {"samples": True}}, InvalidParameterError, r"`settings\['samples'\]` must be an integer"),
    ({"settings": {"segment_bytes": 0}}, InvalidParameterError, r"`settings\['segment_bytes'\]` must be at least 1"),
    ({"settings": {"task_bytes": "1G"}}, InvalidTypeError, r"`settings\['task_bytes'\]` must be an integer"),
    ({"settings": {"hash_seed": 0}}, InvalidParameterError, r"`settings\['hash_seed'\]` must be at least 1"),
    ({"index": 5}, InvalidTypeError, r"`index` must be a path, got int"),
    (
        {"index": "nosuch://bucket/x"},
        InvalidParameterError,
        r"`index` must be a path, or a URI that pyarrow\.fs opens \(s3, gs.*'nosuch://bucket/x' cannot be opened",
    ),
    ({"source": {}}, InvalidParameterError, r"`source` must hold at least one table, got an empty mapping"),
    ({"source": {5: FRAME}}, InvalidTypeError, r"`source` must map table names to frames, got the name 5"),
    ({"source": {" ": FRAME}}, InvalidTypeError, r"`source` must map table names to frames, got the name ' '"),
    (
        {"source": {"a": [1]}},
        InvalidTypeError,
        r"`source` must map names to frames of pandas, polars, Arrow, DuckDB or Spark, got list for 'a",
    ),
    (
        {"source": "no_such_name"},
        InvalidParameterError,
        r"`source` 'no_such_name' is no path that exists here; if it is",
    ),
    ({"source": "no/such/place"}, InvalidParameterError, r"`source` must be an existing directory, file, glob"),
    ({"source": 5}, InvalidTypeError, r"`source` must be a path, a glob pattern, a URI or a list of paths; got int"),
    ({"source": ["no/such.csv"]}, InvalidParameterError, r"`source` lists .*which does not exist"),
]


@pytest.mark.parametrize(("options", "error", "match"), BAD)
def test_an_illegal_argument_is_named_and_nothing_is_made(tmp_path, options, error, match):
    arguments = {"source": {"t": FRAME}, "index": tmp_path / "lake", **options}
    with pytest.raises(error, match=match):
        make(**arguments)
    assert os.listdir(tmp_path) == []


def test_a_source_without_tables(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(InvalidParameterError, match=r"`source` holds no table that dfjoin reads .*check the path"):
        make(tmp_path / "data", tmp_path / "lake")
    assert os.listdir(tmp_path) == ["data"]


class TestIndexPlace:
    def test_an_index_is_not_overwritten_unasked(self, tmp_path):
        make({"t": FRAME}, tmp_path / "lake")
        with pytest.raises(
            InvalidParameterError, match=r"is an index already \(version 1\); pass if_exists=\"replace\" "
        ):
            make({"t": FRAME}, tmp_path / "lake")
        assert dfjoin.open_lake(tmp_path / "lake").version == 1

    @pytest.mark.parametrize("if_exists", ["error", "replace", "add"])
    def test_a_directory_of_other_files_is_refused(self, tmp_path, if_exists):
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "precious.txt").write_text("x")
        with pytest.raises(InvalidParameterError, match=r"`index` must be a new or empty directory, or an index"):
            make({"t": FRAME}, tmp_path / "lake", if_exists=if_exists)
        assert os.listdir(tmp_path / "lake") == ["precious.txt"]

    @pytest.mark.parametrize("if_exists", ["error", "replace", "add"])
    def test_a_new_or_empty_directory(self, tmp_path, if_exists):
        (tmp_path / "empty").mkdir()
        for name in ("empty", "deep/new"):
            assert make({"t": FRAME}, tmp_path / name, if_exists=if_exists).version == 1

    def test_a_uri_and_a_text(self, tmp_path):
        assert make({"t": FRAME}, f"file://{tmp_path}/one").path == tmp_path / "one"
        assert make({"t": FRAME}, str(tmp_path / "two")).path == tmp_path / "two"

    @pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
    def test_the_index_is_for_its_owner_only(self, tmp_path):
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        lake = make(tmp_path / "t.csv", tmp_path / "lake")
        assert stat.S_IMODE(lake.path.stat().st_mode) == 0o700


class TestAdd:
    def test_tables_are_added_beside_those_there(self, tmp_path):
        make({"a": FRAME}, tmp_path / "lake", settings={"null_spellings": ["", "none"]})
        lake = make({"y": FRAME, "z": FRAME}, tmp_path / "lake", if_exists="add")
        assert lake.version == 2 and lake.tables["table"].tolist() == ["a", "y", "z"]
        assert lake.settings.null_spellings == ("", "none")
        assert lake.table("z")["c"].tolist() == ["a", "b"] and len(lake.segments) == 2
        assert find(["1", "2"], lake) == [("a", "n", 2), ("y", "n", 2), ("z", "n", 2)]

    def test_frames_beside_files_have_the_root_memory(self, tmp_path):
        (tmp_path / "more").mkdir()
        FRAME.to_csv(tmp_path / "more" / "t.csv", index=False)
        make(tmp_path / "more", tmp_path / "lake")
        make({"a": FRAME}, tmp_path / "lake", if_exists="add")
        lake = make({"b": FRAME}, tmp_path / "lake", if_exists="add")
        assert lake.tables["table"].tolist() == ["memory/a", "memory/b", "t.csv"]
        assert list(lake.roots) == ["more", "memory"]
        assert find(["1", "2"], lake) == [("memory/a", "n", 2), ("memory/b", "n", 2), ("t.csv", "n", 2)]

    def test_files_are_prefixed_by_their_root(self, tmp_path):
        (tmp_path / "more").mkdir()
        FRAME.to_csv(tmp_path / "more" / "t.csv", index=False)
        make({"a": FRAME}, tmp_path / "lake")
        lake = make(tmp_path / "more", tmp_path / "lake", if_exists="add")
        assert lake.tables["table"].tolist() == ["a", "more/t.csv"]
        again = make(tmp_path / "more", tmp_path / "lake", if_exists="add")
        assert again.tables["table"].tolist() == ["a", "more/t.csv"] and again.version == lake.version
        (tmp_path / "deep" / "more").mkdir(parents=True)
        FRAME.to_csv(tmp_path / "deep" / "more" / "t.csv", index=False)
        other = make(tmp_path / "deep" / "more", tmp_path / "lake", if_exists="add")
        assert other.tables["table"].tolist() == ["a", "more-2/t.csv", "more/t.csv"]

    def test_files_below_a_root_belong_to_it(self, tmp_path):
        (tmp_path / "more" / "sub").mkdir(parents=True)
        FRAME.to_csv(tmp_path / "more" / "t.csv", index=False)
        make(tmp_path / "more", tmp_path / "lake")
        FRAME.to_csv(tmp_path / "more" / "sub" / "u.csv", index=False)
        lake = make(tmp_path / "more" / "sub", tmp_path / "lake", if_exists="add")
        assert lake.tables["table"].tolist() == ["sub/u.csv", "t.csv"] and len(lake.roots) == 1
        assert lake.table("sub/u.csv")["n"].tolist() == [1, 2]

    def test_a_taken_name_is_refused(self, tmp_path):
        make({"a": FRAME}, tmp_path / "lake")
        with pytest.raises(
            InvalidParameterError, match=r"`source` brings tables whose names the index has .*'a'; use `Lake.replace"
        ):
            make({"a": FRAME}, tmp_path / "lake", if_exists="add")
        assert dfjoin.open_lake(tmp_path / "lake").version == 1

    def test_a_second_batch_of_frames_can_be_added(self, tmp_path):
        make({"a": FRAME}, tmp_path / "lake")
        make({"b": FRAME}, tmp_path / "lake", if_exists="add")
        lake = make({"c": FRAME}, tmp_path / "lake", if_exists="add")
        assert len(lake.tables) == 3
        for name in lake.tables["table"]:
            assert lake.table(name)["n"].tolist() == [1, 2]

    def test_settings_are_frozen(self, tmp_path):
        make({"a": FRAME}, tmp_path / "lake", settings={"samples": 2})
        with pytest.raises(
            IncompatibleSettingsError, match=r"`settings` differ from those of the index in 'samples', wh"
        ):
            make({"b": FRAME}, tmp_path / "lake", if_exists="add", settings={"samples": 3})
        assert make({"b": FRAME}, tmp_path / "lake", if_exists="add", settings={"samples": 2}).version == 2


class TestSettings:
    def test_null_spellings(self, build):
        frame = pd.DataFrame({"c": ["NA", "n/a", "", "x", "y"]})
        assert find(["na", "n/a", "x"], build({"t": frame})) == [("t", "c", 1)], "by evidence"
        assert find(["na", "n/a", "x"], build({"t": frame}, settings={"null_spellings": [""]})) == [("t", "c", 3)]
        lake = build({"t": frame}, settings={"null_spellings": ["", "NA", " N/A"]})
        assert find(["na", "n/a", "X"], lake) == [("t", "c", 1)]
        assert lake.columns["n_null"].tolist() == [3] and lake.columns["cardinality"].tolist() == [2]

    def test_no_null_spellings(self, build):
        lake = build({"t": pd.DataFrame({"c": ["", "x", None]})}, settings={"null_spellings": []})
        assert lake.columns["n_null"].tolist() == [1] and lake.columns["cardinality"].tolist() == [2]

    def test_samples(self, build):
        frame = pd.DataFrame({"c": ["B ", "b", None, "A", "c", "d", "e", "f", "g"]})
        assert list(build({"t": frame}).columns["samples"][0]) == ["B ", "A", "c", "d", "e"]
        assert list(build({"t": frame}, settings={"samples": 2}).columns["samples"][0]) == ["B ", "A"]
        assert list(build({"t": frame}, settings={"samples": 0}).columns["samples"][0]) == []

    def test_dayfirst(self, build):
        frame = pd.DataFrame({"d": ["01/02/2024", "03/02/2024"]})
        assert find(["2024-02-01"], build({"t": frame}, settings={"dayfirst": True})) == [("t", "d", 1)]
        assert find(["2024-01-02"], build({"t": frame}, settings={"dayfirst": False})) == [("t", "d", 1)]
        assert find(["2024-02-01", "2024-01-02"], build({"t": frame})) == []

    def test_a_record_of_settings(self, build):
        lake = build({"t": FRAME}, settings=IndexSettings(samples=1, hash_seed=99))
        assert lake.settings.samples == 1 and lake.settings.hash_seed == 99 and lake.settings.unicode_version
        assert find(["a", "b"], lake) == [("t", "c", 2)]

    def test_settings_are_kept_in_the_index(self, build):
        lake = build({"t": FRAME}, settings={"task_bytes": 12345}, columns="*/c", exclude=["x"])
        settings = dfjoin.open_lake(lake.path).settings
        assert settings.task_bytes == 12345 and settings.columns == ("*/c",) and settings.exclude == ("x",)


class TestPatterns:
    TABLES = {"geo/a": FRAME, "geo/b": FRAME, "x": FRAME}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("options", "indexed"),
        [
            ({"columns": "*/c"}, ["geo/a/c", "geo/b/c", "x/c"]),
            ({"columns": ["geo/*/c", "x/n"]}, ["geo/a/c", "geo/b/c", "x/n"]),
            ({"exclude": "geo/*"}, ["x/c", "x/n"]),
            ({"columns": "*/c", "exclude": ["geo/a/*"]}, ["geo/b/c", "x/c"]),
            ({}, ["geo/a/c", "geo/a/n", "geo/b/c", "geo/b/n", "x/c", "x/n"]),
        ],
    )
    def test_which_columns_are_indexed(self, build, options, indexed):
        lake = build(self.TABLES, **options)
        columns = lake.columns
        chosen = columns[columns["is_indexed"]]
        assert [f"{t}/{c}" for t, c in zip(chosen["table"], chosen["column"], strict=True)] == indexed
        assert len(columns) == 6
        found = find(["a", "b", 1, 2], lake, k=100)
        assert sorted(f"{t}/{c}" for t, c, _ in found) == indexed

    @pytest.mark.parametrize(("argument", "pattern"), [("columns", "c"), ("exclude", "*")])
    def test_patterns_that_leave_no_column_are_refused(self, tmp_path, argument, pattern):
        told = f"`{argument}` must leave a column .* got '{re.escape(pattern)}', which leaves none of 6; .* 'geo/a/c'"
        with pytest.raises(InvalidParameterError, match=told):
            make(self.TABLES, tmp_path / "lake", **{argument: pattern})
        assert not (tmp_path / "lake").exists()

    def test_values_of_other_columns_are_nowhere_in_the_index(self, tmp_path):
        secret = pd.DataFrame({"name": ["hushhush1", "hushhush2"], "open": ["plain1", "plain2"], "id": [987654321, 5]})
        lake = make({"t": secret}, tmp_path / "lake", exclude=["*/name", "*/id"], keep_data=False)
        data = b"".join(p.read_bytes() for p in lake.path.rglob("*") if p.is_file())
        assert b"plain1" in data and b"hushhush" not in data and b"987654321" not in data
        assert lake.columns.set_index("column").loc["name", "min"] == ""
        assert np.int64(987654321).tobytes() not in data


class TestFrames:
    def test_keep_data(self, tmp_path):
        lake = make({"t": FRAME}, tmp_path / "kept")
        pd.testing.assert_frame_equal(lake.table("t"), FRAME)
        assert list((tmp_path / "kept" / "frames").iterdir())

    def test_without_keeping_data(self, tmp_path):
        lake = make({"t": FRAME}, tmp_path / "lake", keep_data=False)
        assert not list(lake.path.rglob("*.parquet")) and find(["a"], lake) == [("t", "c", 1)]
        with pytest.raises(dfjoin.errors.DfjoinError):
            lake.table("t")

    def test_the_frame_is_not_changed(self, build):
        frame = pd.DataFrame({"c": ["a", "b"]}, index=pd.Index([5, 5], name="key"))
        before = frame.copy(deep=True)
        build({"t": frame})
        pd.testing.assert_frame_equal(frame, before)

    DTYPES = {  # noqa: RUF012
        "object": (pd.Series(["a", "B", None], dtype=object), "text", ["a", "b"]),
        "string": (pd.Series(["a", "B", None], dtype="string"), "text", ["a", "b"]),
        "categorical": (pd.Series(pd.Categorical(["a", "B", None], categories=["z", "B", "a"])), "text", ["a", "b"]),
        "categorical integers": (pd.Series(pd.Categorical([7, 8, None])), "integer", ["7", "8"]),
        "int8": (pd.Series([1, -2, 1], dtype="int8"), "integer", ["1", "-2"]),
        "uint64": (pd.Series([1, 2**64 - 1], dtype="uint64"), "integer", ["1", str(2**64 - 1)]),
        "int64": (pd.Series([2**63 - 1, -(2**63)]), "integer", [str(2**63 - 1), str(-(2**63))]),
        "Int64": (pd.Series([1, None, 2**53 + 1], dtype="Int64"), "integer", ["1", str(2**53 + 1)]),
        "integral floats": (pd.Series([1.0, np.nan, -0.0]), "integer", ["1", "0"]),
        "Float64": (pd.Series([1.0, None, 2.0], dtype="Float64"), "integer", ["1", "2"]),
        "float": (pd.Series([0.5, np.inf]), "float", None),
        "bool": (pd.Series([True, False]), "boolean", None),
        "boolean": (pd.Series([True, None, False], dtype="boolean"), "boolean", None),
        "datetime": (
            pd.Series(pd.to_datetime(["2024-01-02", "2024-01-02 03:04:05.6", None], format="mixed")),
            "date",
            ["2024-01-02", "2024-01-02T03:04:05.6"],
        ),
        "zoned": (
            pd.Series(pd.to_datetime(["2024-01-02 01:00", "2024-01-03 05:00"]).tz_localize("Europe/Paris")),
            "date",
            ["2024-01-02", "2024-01-03T04:00:00"],
        ),
        "date": (pd.Series([datetime.date(2024, 1, 2), datetime.date(1, 1, 1)]), "date", ["2024-01-02", "0001-01-01"]),
        "decimal": (pd.Series([decimal.Decimal("1.10"), decimal.Decimal("2.00")]), "decimal", ["2"]),
        "arrow string": (pd.Series(["a", None, "B"], dtype="string[pyarrow]"), "text", ["a", "b"]),
        "arrow int": (pd.Series([1, None, 5], dtype="int32[pyarrow]"), "integer", ["1", "5"]),
        "mixed": (pd.Series(["a", 1, 2.0, None, 2.5, True], dtype=object), "text", ["a", "1", "2", "2.5", "true"]),
        "sparse": (pd.Series(pd.arrays.SparseArray([0, 0, 7])), "integer", ["0", "7"]),
        "all null": (pd.Series([None, None], dtype=object), "empty", None),
        "NaN": (pd.Series([np.nan, np.nan]), "empty", None),
        "NaT": (pd.Series(pd.to_datetime([None, None])), "empty", None),
        "one value": (pd.Series(["a", "A "]), "text", None),
        "lists": (pd.Series([["a"], ["b"]]), "nested", None),
        "dicts": (pd.Series([{"a": 1}, {"a": 2}]), "nested", None),
        "bytes": (pd.Series([b"a", b"b"]), "binary", None),
    }

    @pytest.mark.parametrize("kind", DTYPES)
    def test_every_dtype(self, build, kind):
        column, expected_kind, values = self.DTYPES[kind]
        lake = build({"t": pd.DataFrame({"c": column}), "other": FRAME})
        record = lake.columns.set_index("table").loc["t"]
        assert record["kind"] == expected_kind and record["n_rows"] == len(column)
        assert bool(record["is_indexed"]) == (values is not None)
        for value in values or ():
            assert ("t", "c", 1) in find([value], lake), value
        assert len(lake.table("t")) == len(column)

    def test_timedelta(self, build):
        lake = build({"t": pd.DataFrame({"c": pd.to_timedelta([1, 2], unit="D")}), "other": FRAME})
        assert lake.tables["table"].tolist() == ["other", "t"] and len(lake.table("t")) == 2

    def test_no_rows_and_no_columns(self, build):
        lake = build({"rows": FRAME[:0], "columns": pd.DataFrame(index=[1, 2]), "none": pd.DataFrame(), "t": FRAME})
        assert lake.tables.set_index("table")["n_columns"].to_dict() == {"rows": 2, "t": 2}
        assert [s["reason"] for s in lake.info()["skipped"]] == ["the table has no columns"] * 2
        assert find(["a"], lake) == [("t", "c", 1)]
        assert list(lake.table("rows")) == ["c", "n"] and len(lake.table("rows")) == 0

    def test_labels(self, build):
        frame = pd.DataFrame([["a", "b", "c", "d"], ["e", "f", "g", "h"]], columns=["x", "x", 5, ("y", 1)])
        lake = build({"t": frame})
        assert list(lake.table("t")) == ["x", "x.1", "5", "y 1"]
        assert find(["b"], lake) == [("t", "x.1", 1)] and find(["h"], lake) == [("t", "y 1", 1)]

    def test_multiindex_columns(self, build):
        frame = pd.DataFrame([["a", "b"], ["c", "d"]], columns=pd.MultiIndex.from_tuples([("x", "p"), ("x", "q")]))
        assert list(build({"t": frame}).table("t")) == ["x p", "x q"]

    def test_named_index_levels_become_columns(self, build):
        frame = FRAME.set_index("c")
        lake = build({"t": frame})
        assert list(lake.table("t")) == ["c", "n"] and find(["a"], lake) == [("t", "c", 1)]
        levels = pd.MultiIndex.from_tuples([("p", 1), ("q", 2)], names=["k", None])
        assert list(build({"t": FRAME.set_index(levels)}).table("t")) == ["k", "c", "n"]

    @pytest.mark.parametrize(
        "index", [pd.Index([7, 7]), pd.Index(["x", None]), pd.date_range("2024", periods=2),
                  pd.MultiIndex.from_tuples([(1, 2), (1, 2)]), pd.CategoricalIndex(["a", "a"])],
        ids=["repeated", "text", "dates", "multi", "categorical"],
    )  # fmt: skip
    def test_unnamed_indexes_are_passed_over(self, build, index):
        lake = build({"t": FRAME.set_index(index)})
        pd.testing.assert_frame_equal(lake.table("t"), FRAME)

    def test_table_names_of_any_kind(self, build):
        names = ["a b", "é/日", "x.csv", "UPPER", "-", "..", "/abs", "a\\b", "😀"]
        lake = build(dict.fromkeys(names, FRAME))
        assert lake.tables["table"].tolist() == sorted(names)
        for name in names:
            pd.testing.assert_frame_equal(lake.table(name), FRAME)


class TestUnreadable:
    @pytest.fixture
    def files(self, tmp_path):
        place = tmp_path / "data"
        place.mkdir()
        FRAME.to_csv(place / "a.csv", index=False)
        (place / "bad.parquet").write_bytes(b"PAR1 this is none PAR1")
        FRAME.to_csv(place / "c.csv", index=False)
        return place

    def test_skipped_and_reported(self, files, tmp_path):
        lake = make(files, tmp_path / "lake")
        assert lake.tables["table"].tolist() == ["a.csv", "c.csv"]
        (record,) = lake.info()["skipped"]
        assert record["name"] == "bad.parquet" and record["reason"]
        assert lake.info()["skipped_reasons"] == {record["reason"]: 1}

    def test_raised_on_request(self, files, tmp_path):
        with pytest.raises(TableReadError, match=r"the table `bad.parquet` cannot be read: .*; skip such tables with"):
            make(files, tmp_path / "lake", on_error="raise")
        assert not (tmp_path / "lake").exists()


def test_progress_is_shown_on_standard_error_only_when_asked(tmp_path, capsys, monkeypatch):
    make({"t": FRAME}, tmp_path / "short", progress=True)
    assert capsys.readouterr() == ("", "")  # work below two seconds says nothing
    monkeypatch.setattr("dfjoin.ingest.progress._SILENT_SECONDS", 0.0)
    make({"t": FRAME}, tmp_path / "quiet")
    assert capsys.readouterr() == ("", "")
    make({"t": FRAME}, tmp_path / "loud", progress=True)
    captured = capsys.readouterr()
    assert captured.out == "" and "dfjoin" in captured.err


def test_a_table_without_columns_is_skipped_with_the_reason(build):
    lake = build({"a": pd.DataFrame({"c": ["p", "q"]}), "empty": pd.DataFrame(index=[0, 1])})
    assert lake.tables["table"].tolist() == ["a"]
    assert lake.info()["skipped"] == [{"name": "empty", "reason": "the table has no columns"}]


def test_the_home_directory_is_meant_by_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    lake = dfjoin.build_lake({"t": FRAME}, "~/of home", engine="inline", progress=False)
    assert lake.path == tmp_path / "of home" and not (tmp_path / "~").exists()
    assert dfjoin.open_lake("~/of home").path == lake.path and dfjoin.repair("~/of home")["problems"] == []


def test_a_frame_is_asked_for_its_name(tmp_path):
    for wrong in (FRAME, FRAME.iloc[:, 0]):
        with pytest.raises(
            InvalidTypeError, match=r"`source` must be .*got a \w+; give the table a name: \{\"name\": df\}"
        ):
            dfjoin.build_lake(wrong, tmp_path / "i", engine="inline", progress=False)
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize(
    ("index", "match"),
    [
        ("file", r"`index` must be a directory or a new path, but `.*file` is a file"),
        ("file/below", r"`index` '.*' lies below a file, not below a directory"),
        ("x" * 300, r"`index` 'x+…? ?.*cannot be reached: File name too long"),
        ("a\0b", r"`index` must be a path that a file can have, got 'a\\x00b'"),
        ("\ud800", r"`index` must be a path that a file can have, got '\\ud800'"),
        ("", r"`index` must be a path that a file can have, got ''"),
        (
            "/proc/none",
            r"`index` must be a directory that can be written, but `/proc/none` cannot be made: No such file",
        ),
    ],
)
def test_places_where_no_index_can_be(tmp_path, monkeypatch, index, match):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidParameterError, match=match):
        dfjoin.build_lake({"t": FRAME}, index, engine="inline", progress=False)


def test_a_table_name_is_text_that_can_be_written(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"the name '\\ud800', which is no valid Unicode text"):
        dfjoin.build_lake({"\ud800": FRAME}, tmp_path / "i", engine="inline", progress=False)


def test_numbers_of_settings_may_be_numpys_and_have_an_end(tmp_path):
    settings = {"permutations": np.int64(16), "hash_seed": np.int64(7), "segment_bytes": np.int32(1 << 20)}
    lake = dfjoin.build_lake({"t": FRAME}, tmp_path / "i", engine="inline", progress=False, settings=settings)
    assert lake.settings.hash_seed == 7 and type(lake.settings.permutations) is int
    with pytest.raises(InvalidParameterError, match=r"`settings\['hash_seed'\]` must be at most 2\*\*63 - 1, got 1180"):
        dfjoin.build_lake({"t": FRAME}, tmp_path / "j", engine="inline", settings={"hash_seed": 2**70})
