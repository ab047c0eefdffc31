"""Reading tables of the lake: dtypes, names, and the check that the file is the indexed one."""

import datetime
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import (
    ColumnNotFoundError,
    DfjoinWarning,
    InvalidParameterError,
    TableChangedError,
    TableNotFoundError,
)
from dfjoin.store.table import LakeTable, read_frame

CSV = """\
code,people,area,founded,open,name,empty,price,big,x,x
007,12,1.5,2020-01-31,true,  Ann ,,"1,5",9007199254740993,1,2
010,,2.0,,false,ÉCOLE,,2,1,3,4
,1.0,,1999-12-31,,NA,,3.25,2,5,6
"""


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "t.csv").write_text(CSV, "utf-8")
    return folder


@pytest.fixture
def lake(files, tmp_path):
    return dfjoin.build_lake(files, tmp_path / "lake.dfjoin", engine="inline", progress=False)


def test_columns_of_a_text_file_get_the_dtypes_of_their_kinds(lake):
    frame = lake.table("sub/t.csv")
    assert len(frame) == 3
    assert isinstance(frame.index, pd.RangeIndex)
    assert list(frame)[:3] == ["code", "people", "area"]
    assert str(frame["people"].dtype) == "Int64"
    assert frame["people"].tolist() == [12, pd.NA, 1]
    assert frame["area"].dtype == np.float64
    assert frame["founded"].dtype.kind == "M"
    assert frame["founded"].isna().tolist() == [False, True, False]
    assert frame["founded"][0] == pd.Timestamp("2020-01-31")
    assert str(frame["open"].dtype) == "boolean"
    assert frame["open"].tolist() == [True, False, pd.NA]


def test_integers_are_exact_above_two_to_the_53(lake):
    big = lake.table("sub/t.csv", ["big"])["big"]
    assert big.dtype == np.int64
    assert big[0] == 9007199254740993


def test_zero_padded_codes_and_spellings_stay_text(lake):
    frame = lake.table("sub/t.csv", ["code", "name"])
    assert frame["code"].tolist()[:2] == ["007", "010"]
    assert pd.isna(frame["code"][2])
    assert [name.strip() for name in frame["name"][:2]] == ["Ann", "ÉCOLE"]
    assert pd.isna(frame["name"][2]), "NA among names"
    assert frame["name"][1] == "ÉCOLE"


def test_an_empty_column_is_all_null(lake):
    assert lake.table("sub/t.csv", ["empty"])["empty"].isna().all()


def test_repeated_names_are_those_of_the_catalogue(lake):
    frame = lake.table("sub/t.csv")
    assert list(frame)[-2:] == ["x", "x.1"]
    assert frame["x.1"].tolist() == [2, 4, 6]
    columns = lake.columns
    assert sorted(frame) == sorted(columns.loc[columns["table"] == "sub/t.csv", "column"])


def test_wanted_columns_come_in_the_order_asked_for(lake):
    assert list(lake.table("sub/t.csv", ["name", "code"])) == ["name", "code"]
    assert list(lake.table("sub/t.csv", ["name", "name"])) == ["name", "name"]
    assert lake.table("sub/t.csv", []).shape == (0, 0)


def test_unknown_names_are_errors_that_list_what_there_is(lake):
    with pytest.raises(TableNotFoundError, match=r"`name` must be a table of the lake \('sub/t.csv'\), got 'nope'"):
        lake.table("nope")
    with pytest.raises(ColumnNotFoundError, match=r"`columns` must name columns of `sub/t.csv` \('code'.*got 'zip'"):
        lake.table("sub/t.csv", ["code", "zip"])


def test_on_stale_is_checked(lake):
    with pytest.raises(InvalidParameterError, match="`on_stale` must be one of 'error', 'warn', 'ignore'"):
        lake.table("sub/t.csv", on_stale="maybe")


def test_a_changed_file_raises_warns_or_is_read_as_told(lake, files):
    path = files / "sub" / "t.csv"
    path.write_text(CSV.replace("ÉCOLE", "ECOLE!"), "utf-8")
    with pytest.raises(TableChangedError, match=r"`sub/t.csv` is not the one that was indexed.*on_stale=\"warn\""):
        lake.table("sub/t.csv")
    with pytest.warns(DfjoinWarning, match="`sub/t.csv` is not the one that was indexed"):
        frame = lake.table("sub/t.csv", on_stale="warn")
    assert frame["name"][1] == "ECOLE!"
    assert lake.table("sub/t.csv", ["name"], on_stale="ignore")["name"][1] == "ECOLE!"


def test_a_change_that_keeps_the_size_is_noticed(lake, files):
    path = files / "sub" / "t.csv"
    before = path.stat()
    path.write_text(CSV.replace("007,12", "007,13"), "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lake.add(files, progress=False)
    with pytest.raises(
        TableChangedError, match=r"`lake.add\(source\)`, with full=True if its size and time are as they"
    ):
        lake.table("sub/t.csv")
    assert len(lake.add(files, full=True, progress=False).table("sub/t.csv")) == 3


def test_a_file_rewritten_with_the_same_bytes_is_the_same(lake, files):
    path = files / "sub" / "t.csv"
    path.unlink()
    path.write_text(CSV, "utf-8")
    assert len(lake.table("sub/t.csv")) == 3


@pytest.mark.parametrize("on_stale", ["error", "warn", "ignore"])
def test_a_file_that_is_gone_raises_whatever_is_told(lake, files, on_stale):
    (files / "sub" / "t.csv").unlink()
    with pytest.raises(TableChangedError, match=r"moved, join with open_lake\(index, roots=…\); else"):
        lake.table("sub/t.csv", on_stale=on_stale)


def test_a_frame_that_was_not_kept_says_so(build):
    lake = build({"t": pd.DataFrame({"a": ["x", "y"]})}, keep_data=False)
    with pytest.raises(TableChangedError, match=r"a frame that was not kept .* cannot be read: join the frame itself"):
        lake.table("t")


def test_frames_of_memory_come_back_with_their_dtypes(build):
    frame = pd.DataFrame(
        {
            "i": pd.Series([1, None, 3], dtype="Int64"),
            "n": [1, 2, 3],
            "b": pd.Series([True, None, False], dtype="boolean"),
            "f": [0.5, None, 2.5],
            "t": pd.to_datetime(["2020-01-01", None, "2021-05-05"]),
            "s": ["a ", "007", None],
        }
    )
    read = build({"mem": frame}).table("mem")
    assert [str(d) for d in read.dtypes[:4]] == ["Int64", "int64", "boolean", "float64"]
    assert read["t"].dtype.kind == "M"
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "parquet", "jsonl"])
def test_every_format_gives_the_same_values(tmp_path, ending):
    frame = pd.DataFrame({"key": ["a", "b", "c"], "n": [1, 2, 3], "f": [0.5, 1.5, 2.5]})
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / f"t.{ending}"
    if ending == "parquet":
        frame.to_parquet(path, index=False)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    lake = dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)
    read = lake.table(f"t.{ending}")
    assert read.to_dict("list") == frame.to_dict("list")
    assert read["n"].dtype == np.int64


def test_a_batch_reads_dates_as_the_column_was_indexed(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "d.csv").write_text("day,n\n31/01/2020,1\n02/03/2020,2\n05/06/2021,3\n")
    lake = dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)
    table = LakeTable(lake.snapshot, "d.csv")
    assert table.normalize("day", pa.array(["02/03/2020"])).values() == ["2020-03-02"]
    assert table.normalize("n", pa.array(["02/03/2020", "31/12/2020"])).values() == ["02/03/2020", "31/12/2020"]
    days = lake.table("d.csv")["day"]
    assert [d.date() for d in days] == [
        datetime.date(2020, 1, 31), datetime.date(2020, 3, 2), datetime.date(2021, 6, 5)
    ]  # fmt: skip


def test_null_spellings_of_the_index_are_nulls_in_the_frame(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "t.csv").write_text("key,n\na,1\nN/A,N/A\nb,3\n")
    lake = dfjoin.build_lake(
        folder, tmp_path / "lake", engine="inline", progress=False, settings={"null_spellings": ["", "N/A"]}
    )
    frame = read_frame(lake.snapshot, "t.csv", None, on_stale="error")
    assert frame["key"].isna().tolist() == [False, True, False]
    assert frame["n"].tolist() == [1, pd.NA, 3]
