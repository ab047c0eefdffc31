"""Row signatures that an index is given afterwards are those of a build with them."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError, DfjoinWarning, InvalidParameterError
from tests.index.test_row_group import cells_of, expected, frame


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(4):
        frame(i, 8 + i).fillna("q").to_csv(folder / f"t{i}.csv", index=False)
    return folder


def test_rows_are_those_of_a_build_with_them(tmp_path, data):
    own = dfjoin.build_lake(data, tmp_path / "own", engine="inline", progress=False, settings={"row_signatures": True})
    lake = dfjoin.build_lake(data, tmp_path / "lake", engine="inline", progress=False)
    lake.add({"more": frame(9, 12)}, engine="inline", progress=False)
    version = lake.version
    assert lake.add_row_signatures().version == version + 1 and lake.settings.row_signatures
    for array, other in zip(own.segments[0].rows, lake.segments[0].rows, strict=True):
        assert np.array_equal(array, other)
    assert cells_of(lake, "memory/more") == expected(frame(9, 12)), "a frame that the index keeps"
    assert lake.add_row_signatures().version == version + 1
    assert lake.verify() == [] and not list((tmp_path / "lake" / "runs").iterdir())


def test_tables_that_have_changed_have_none_and_are_named(tmp_path, data):
    lake = dfjoin.build_lake(data, tmp_path / "lake", engine="inline", progress=False)
    (data / "t1.csv").write_text("a,b\nx,y\n")
    (data / "t2.csv").unlink()
    with pytest.warns(
        DfjoinWarning, match="the rows of 2 tables are not kept, since they are read through Spark, cann"
    ):
        lake.add_row_signatures()
    assert set(cells_of(lake, "t0.csv")) == {"a", "b", "c"}
    assert cells_of(lake, "t1.csv") == {} == cells_of(lake, "t2.csv")


def test_another_writer_is_told(tmp_path, data, monkeypatch):
    lake = dfjoin.build_lake(data, tmp_path / "lake", engine="inline", progress=False)
    from dfjoin.ingest.rows_task import RowsReader

    write = RowsReader.write

    def late(self, segment):
        dfjoin.open_lake(tmp_path / "lake").remove("t0.csv")
        return write(self, segment)

    monkeypatch.setattr(RowsReader, "write", late)
    with pytest.raises(
        ConcurrentCommitError, match="while row signatures were added; nothing of this change is visibl"
    ):
        lake.add_row_signatures()
    assert lake.refresh().segments[0].rows is None


def test_the_engine_is_checked(tmp_path):
    lake = dfjoin.build_lake({"t": pd.DataFrame({"a": ["x"]})}, tmp_path / "lake", engine="inline", progress=False)
    with pytest.raises(InvalidParameterError, match="`engine` must be one of None, 'spark', 'inline', got 'gpu'"):
        lake.add_row_signatures(engine="gpu")
    with pytest.raises(
        InvalidParameterError, match=r"`settings\['row_signatures'\]` must be one of True, False, got 1"
    ):
        dfjoin.build_lake({"t": pd.DataFrame({"a": ["x"]})}, tmp_path / "b", settings={"row_signatures": 1})
