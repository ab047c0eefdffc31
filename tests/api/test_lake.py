"""The handle of a lake: what it lists, reads, refuses, and shares."""

import copy
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ColumnNotFoundError,
    DfjoinWarning,
    IndexNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
    TableChangedError,
    TableNotFoundError,
)
from dfjoin.ingest import driver

CITIES = "city;people\nRome;2,75\nOslo;0,7\nLima;10\n"
ROWS = pd.DataFrame({"code": ["007", "010"], "n": [1, 2]})


@pytest.fixture
def files(tmp_path):
    place = tmp_path / "data"
    (place / "geo").mkdir(parents=True)
    (place / "geo" / "cities.csv").write_text(CITIES)
    ROWS.to_csv(place / "rows.csv", index=False)
    ROWS.to_parquet(place / "rows.parquet")
    (place / "broken.parquet").write_text("no table")
    return place


@pytest.fixture
def lake(files, tmp_path):
    return dfjoin.build_lake(files, tmp_path / "lake.dfjoin", engine="inline", progress=False)


class TestWithoutTables:
    """An index from which every table was removed works in every method."""

    FRAME = pd.DataFrame({"code": ["a", "b", "c"], "v": [1, 2, 3]})

    @pytest.fixture
    def empty(self, build):
        return build({"t": self.FRAME}).remove("*")

    def test_what_it_lists(self, empty):
        info = empty.info()
        assert set(info["counts"]) == {
            "tables", "columns", "indexed_columns", "skipped", "tokens", "lists", "postings", "pairs",
        }  # fmt: skip
        assert set(info["counts"].values()) == {0} and info["segments"] == [] and info["bytes"] == 0
        assert len(empty.tables) == len(empty.columns) == len(empty.check()) == 0 and empty.verify() == []
        assert empty.versions()["tables"].tolist() == [1, 0] and "0 tables" in repr(empty)
        assert not empty.has_table("t") and empty.refresh() is empty

    def test_nothing_is_found_in_it(self, empty):
        empty.add_patterns()
        for mode in ("exact", "lsh", "transform"):
            for on in ("code", "*"):
                found = self.FRAME.discover_joinable(on, empty, mode=mode, rank="matched")
                assert (
                    len(found) == 0
                    and "matched" in found
                    and repr(found) == found.why_empty() != ""
                    and found._repr_html_()
                )
            wide = self.FRAME.auto_join(empty, on="code", mode=mode, on_no_match="ignore")
            pd.testing.assert_frame_equal(wide, self.FRAME)
        assert len(dfjoin.discover_joinable_batch({"q": ["a"]}, empty, weighted=True, rank="matched")) == 0

    def test_each_change(self, empty):
        assert empty.compact(full=True).version == empty.version == 2
        assert empty.repair()["problems"] == [] and empty.add_signatures(permutations=16).version == 3
        assert empty.add_patterns().version == 4 and empty.restore(2).version == 5
        assert empty.vacuum(0)["versions"] == [1, 2, 3, 4] and empty.info()["counts"]["tables"] == 0
        assert empty.add({"t": self.FRAME}, progress=False).info()["counts"]["tables"] == 1
        assert empty.remove("t").replace({"t": self.FRAME}, progress=False).tables["table"].tolist() == ["t"]

    def test_a_name_is_an_error_that_says_there_is_none(self, empty):
        with pytest.raises(TableNotFoundError, match=r"must be a table of the lake \(none\), got 't'"):
            empty.table("t")
        with pytest.raises(TableNotFoundError, match=r"must name tables of the lake \(none\), got '\*'"):
            empty.remove("*")


class TestListing:
    def test_tables(self, lake, files):
        tables = lake.tables
        assert list(tables) == ["table", "n_rows", "n_columns", "size", "format", "dialect", "root"]
        assert tables["table"].tolist() == ["geo/cities.csv", "rows.csv", "rows.parquet"]
        assert tables["n_rows"].tolist() == [3, 2, 2] and tables["n_columns"].tolist() == [2, 2, 2]
        assert tables["size"][0] == len(CITIES) and set(tables["root"]) == {str(files)}
        assert tables["format"].tolist() == ["delimited", "delimited", "parquet"]

    def test_columns(self, lake):
        columns = lake.columns.set_index(["table", "column"])
        assert len(columns) == 6
        code = columns.loc[("rows.csv", "code")]
        assert code["kind"] == "text" and bool(code["is_indexed"]) and code["cardinality"] == 2
        assert (code["min"], code["max"]) == ("007", "010") and list(code["samples"]) == ["007", "010"]
        assert columns.loc[("rows.csv", "n"), "kind"] == "integer"
        assert (columns["key_likeness"] == 1).all()

    def test_key_likeness_is_cardinality_per_filled_row(self, build):
        lake = build({"t": pd.DataFrame({"a": ["x", "x", "y", None], "e": [None] * 4, "f": [0.5, 1.5, 0.5, 1.0]})})
        columns = lake.columns.set_index("column")
        assert columns.loc["a", "key_likeness"] == 2 / 3 and columns.loc["a", "n_null"] == 1
        assert columns.loc["e", "key_likeness"] == 0 and columns.loc["e", "kind"] == "empty"
        assert columns.loc["f", "kind"] == "float" and not columns.loc["f", "is_indexed"]

    def test_listing_is_sorted_by_code_point_over_segments(self, build, monkeypatch):
        monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
        names = ["b", "a", "B", "é", "\U0001f600", "\uffee"]
        lake = build(
            {n: pd.DataFrame({"y": ["p", "q"], "x": ["p", "q"]}) for n in names}, settings={"segment_bytes": 1}
        )
        assert len(lake.segments) == 6
        assert lake.tables["table"].tolist() == sorted(names)
        expected = [(n, c) for n in sorted(names) for c in "xy"]
        assert list(zip(lake.columns["table"], lake.columns["column"], strict=True)) == expected

    def test_repr(self, lake):
        assert repr(lake) == f"<Lake {str(lake.path)!r} version 1: 3 tables, 6 columns>"

    def test_info(self, lake):
        info = lake.info()
        assert info["version"] == 1 and info["index"] == str(lake.path)
        assert info["counts"]["tables"] == 3 and info["counts"]["columns"] == 6
        assert info["bytes"] == sum(s["bytes"] for s in info["segments"]) > 0
        assert info["settings"]["null_spellings"] == [""] and info["roots"] == lake.roots
        assert [s["name"] for s in info["skipped"]] == ["broken.parquet"]
        assert sum(info["skipped_reasons"].values()) == 1
        import json

        json.dumps(info)

    def test_verify(self, lake):
        assert lake.verify() == []


class TestTable:
    def test_reads_with_the_dialect_and_dtypes_of_the_catalogue(self, lake):
        cities = lake.table("geo/cities.csv")
        assert list(cities) == ["city", "people"] and cities["city"].tolist() == ["Rome", "Oslo", "Lima"]
        rows = lake.table("rows.csv")
        assert rows["code"].tolist() == ["007", "010"] and rows["n"].tolist() == [1, 2]
        assert rows["n"].dtype == "int64"
        pd.testing.assert_frame_equal(lake.table("rows.parquet"), ROWS)

    def test_some_columns_in_the_order_asked(self, lake):
        assert list(lake.table("rows.parquet", ["n"])) == ["n"]
        frame = lake.table("rows.parquet", ["n", "code"])
        assert list(frame) == ["n", "code"] and frame["code"].tolist() == ["007", "010"]
        assert list(lake.table("rows.csv", ["n", "code"])["code"]) == ["007", "010"]

    def test_unknown_names(self, lake):
        with pytest.raises(
            TableNotFoundError, match=r"`name` must be a table of the lake \('geo/cities.csv', .*got 'x'"
        ):
            lake.table("x")
        with pytest.raises(
            ColumnNotFoundError, match=r"`columns` must name columns of `rows.csv` \('code', 'n'\), got 'z'"
        ):
            lake.table("rows.csv", ["n", "z"])
        with pytest.raises(InvalidParameterError, match="`on_stale` must be one of"):
            lake.table("rows.csv", on_stale="maybe")

    def test_a_changed_file_is_refused(self, lake, files):
        (files / "rows.csv").write_text("code,n\n007,1\n011,2\n")
        with pytest.raises(
            TableChangedError, match=r"the table `rows.csv` is not the one that was indexed: its content"
        ):
            lake.table("rows.csv")
        with pytest.warns(DfjoinWarning, match="is not the one that was indexed"):
            assert lake.table("rows.csv", on_stale="warn")["code"].tolist() == ["007", "011"]
        assert lake.table("rows.csv", on_stale="ignore")["code"].tolist() == ["007", "011"]
        assert lake.table("rows.parquet")["n"].tolist() == [1, 2]

    @pytest.mark.parametrize("on_stale", ["error", "warn", "ignore"])
    def test_a_file_that_is_gone(self, lake, files, on_stale):
        (files / "rows.csv").unlink()
        with pytest.raises(
            TableChangedError,
            match=r"`rows.csv` is not the one that was indexed: .*join with open_lake\(index, roots=…\); else",
        ):
            lake.table("rows.csv", on_stale=on_stale)

    def test_a_link_that_leads_out_of_the_root_is_refused(self, lake, files, tmp_path):
        outside = tmp_path / "outside.csv"
        (files / "rows.csv").rename(outside)
        (files / "rows.csv").symlink_to(outside)
        with pytest.raises(TableChangedError, match="leads out of its root"):
            lake.table("rows.csv")


class TestRoots:
    def test_a_moved_lake(self, lake, files, tmp_path):
        moved = tmp_path / "elsewhere"
        shutil.move(files, moved)
        with pytest.raises(TableChangedError):
            lake.table("rows.csv")
        (name,) = lake.roots
        opened = dfjoin.open_lake(lake.path, roots={name: str(moved)})
        assert opened.roots == {name: str(moved)} and opened.table("rows.csv")["n"].tolist() == [1, 2]
        assert dfjoin.open_lake(lake.path, roots={name: moved}).table("rows.csv")["n"].tolist() == [1, 2]
        assert pickle.loads(pickle.dumps(opened)).table("rows.csv")["n"].tolist() == [1, 2]
        wide = ROWS[["code"]].auto_join(opened, on="code", tables="rows.csv")
        plan = wide.attrs["dfjoin"]["plan"]
        with pytest.raises(TableChangedError):
            wide[["code"]].auto_join(plan)
        again = wide[["code"]].auto_join(opened, plan=plan)
        pd.testing.assert_frame_equal(again, wide)
        assert again.attrs["dfjoin"]["plan"] == plan

    def test_an_index_that_was_moved(self, build, tmp_path):
        lake = build({"t": ROWS})
        shutil.move(lake.path, tmp_path / "other")
        pd.testing.assert_frame_equal(dfjoin.open_lake(tmp_path / "other").table("t"), ROWS)

    def test_unknown_root(self, lake):
        with pytest.raises(InvalidTypeError, match=r"`roots` must name roots of the index \(.*got 'x'"):
            dfjoin.open_lake(lake.path, roots={"x": "y"})


class TestOpening:
    def test_versions(self, tmp_path):
        index = tmp_path / "lake"
        for number, frame in enumerate((ROWS, ROWS.assign(extra=["p", "q"])), 1):
            lake = dfjoin.build_lake({"t": frame}, index, if_exists="replace", engine="inline", progress=False)
            assert lake.version == number
        old = dfjoin.open_lake(index, version=1)
        assert old.version == 1 and len(old.columns) == 2 and len(dfjoin.open_lake(index).columns) == 3
        assert list(old.table("t")) == ["code", "n"]
        assert old.refresh() is old and old.version == 2 and len(old.columns) == 3
        with pytest.raises(InvalidParameterError, match="`version` must be a version that the index has"):
            dfjoin.open_lake(index, version=7)
        shutil.rmtree(index)
        dfjoin.build_lake({"other": ROWS}, index, engine="inline", progress=False)
        assert old.refresh().version == 1 and old.tables["table"].tolist() == ["other"], "an index that was built anew"

    def test_no_index(self, tmp_path):
        with pytest.raises(IndexNotFoundError, match="there is no dfjoin index"):
            dfjoin.open_lake(tmp_path)
        with pytest.raises(FileNotFoundError):
            dfjoin.open_lake(tmp_path / "none")

    def test_remote(self):
        with pytest.raises(InvalidParameterError, match=r"`index` must be a path, or a URI that pyarrow\.fs opens"):
            dfjoin.open_lake("nosuch://b/x")

    def test_relative_paths_are_kept_absolute(self, build, monkeypatch, tmp_path):
        lake = build({"t": ROWS})
        monkeypatch.chdir(lake.path.parent)
        opened = dfjoin.open_lake(lake.path.name)
        monkeypatch.chdir(tmp_path.parent)
        assert opened.path == lake.path and len(opened.tables) == 1


class TestSharing:
    def test_pickle_is_path_and_version(self, build):
        lake = build({"t": ROWS})
        data = pickle.dumps(lake)
        assert len(data) < 1000
        opened = pickle.loads(data)
        assert opened.version == lake.version and opened.path == lake.path
        pd.testing.assert_frame_equal(opened.columns, lake.columns)
        assert copy.deepcopy(lake).version == 1

    def test_a_pickle_keeps_its_version(self, tmp_path):
        index = tmp_path / "lake"
        lake = dfjoin.build_lake({"t": ROWS}, index, engine="inline", progress=False)
        data = pickle.dumps(lake)
        dfjoin.build_lake({"u": ROWS}, index, if_exists="replace", engine="inline", progress=False)
        assert pickle.loads(data).tables["table"].tolist() == ["t"]

    def test_eight_threads_search_one_lake(self, build, rng, monkeypatch):
        monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 100_000)
        frames = {f"t{i:02d}": pd.DataFrame({"c": [f"w{n}" for n in rng.integers(0, 400, 150)]}) for i in range(30)}
        lake = build(frames, settings={"segment_bytes": 50_000})
        assert len(lake.segments) > 1
        queries = [
            pd.DataFrame({"q": [f"w{n}" for n in rng.integers(0, 400, size)]}) for size in rng.integers(1, 300, 40)
        ]

        def run(df, lake=lake):
            return pd.DataFrame(dfjoin.discover_joinable(df, "q", lake, k=7, rank="matched"))

        expected = [run(df, dfjoin.open_lake(lake.path)) for df in queries]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                for found, single in zip(pool.map(run, queries), expected, strict=True):
                    pd.testing.assert_frame_equal(found, single)


class TestArguments:
    def test_one_column_is_taken_by_its_name(self, lake):
        assert lake.table("rows.csv", "code").columns.tolist() == ["code"]
        with pytest.raises(ColumnNotFoundError, match=r"`columns` must name columns of `rows.csv` .*got 'cod'"):
            lake.table("rows.csv", "cod")
        with pytest.raises(InvalidTypeError, match="`columns` must be a column or a list of columns, got 5"):
            lake.table("rows.csv", 5)

    def test_wrong_types_are_named(self, lake):
        for call in (lake.table, lake.has_table):
            with pytest.raises(InvalidTypeError, match="`name` must be the name of a table, got 5"):
                call(5)
        for wrong in (None, 5, b"x"):
            with pytest.raises(InvalidTypeError, match="`index` must be a path, got"):
                dfjoin.open_lake(wrong)
        for wrong in (1.0, True, "1"):
            with pytest.raises(InvalidTypeError, match="`version` must be an integer of at least 1"):
                dfjoin.open_lake(lake.path, version=wrong)
        with pytest.raises(InvalidTypeError, match="`roots` must map names of roots to their new places, got True"):
            dfjoin.open_lake(lake.path, roots=True)
        with pytest.raises(InvalidParameterError, match="`retain` must be at most 999999999 days"):
            lake.vacuum(10**400)
        with pytest.raises(InvalidParameterError, match="`dry_run` must be one of True, False, got 1"):
            lake.vacuum(dry_run=1)
