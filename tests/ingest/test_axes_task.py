"""Which columns of a table make points, and tables that cannot be read again."""

import shutil

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, InvalidParameterError
from dfjoin.index.axis_group import axis_spaces

OPTIONS = {"engine": "inline", "progress": False}


def sets_of(lake):
    found = []
    for segment in lake.segments:
        for space in axis_spaces(segment):
            for number, columns in enumerate(space.columns):
                names = [segment.catalog.column_name(c) for c in columns.tolist()]
                found.append(
                    (segment.catalog.table_name(int(columns[0])), names, space.shape.is_place, int(space.sizes[number]))
                )
    return sorted(found)


def test_places_are_recognised_by_header_and_range(build):
    frames = {
        "good": pd.DataFrame({"Lat": [1.5, 2.5], "Lng": [3.5, 200.0], "a": ["x", "y"]}),
        "two": pd.DataFrame({"start_lat": [1, 2], "start_lon": [3, 4], "end_lat": [5, 6], "end_lon": [7, 8]}),
        "range": pd.DataFrame({"lat": [100.5, 2.5], "lon": [3.5, 4.5]}),
        "text": pd.DataFrame({"lat": ["a", "b"], "lon": ["c", "d"]}),
        "alone": pd.DataFrame({"lat": [1.5, 2.5]}),
    }
    assert sets_of(build(frames)) == [
        ("good", ["Lat", "Lng"], True, 2), ("two", ["end_lat", "end_lon"], True, 2), ("two", ["start_lat", "start_lon"], True, 2)
    ]  # fmt: skip
    assert sets_of(build(frames, axes=[])) == []
    named = build(frames, axes=[["LON", "lat"], {"places": ["end_lat", "start_lon"]}, ["a"]])
    assert sets_of(named) == [
        ("good", ["Lat", "Lng"], True, 2), ("range", ["lat", "lon"], True, 1), ("two", ["end_lat", "end_lon"], True, 2),
        ("two", ["end_lat", "start_lon"], True, 2), ("two", ["start_lat", "start_lon"], True, 2),
    ]  # fmt: skip
    left_out = build(frames, exclude=["*/end_lat", "good/*"])
    assert [names for _, names, _, _ in sets_of(left_out)] == [["start_lat", "start_lon"]]


def test_files_of_every_format_are_read_again(tmp_path):
    df = pd.DataFrame({"latitude": [1.25, 2.5, None], "longitude": [3.0, 4.0, 5.0], "v": [[1.0, 2.0]] * 3})
    (tmp_path / "lake").mkdir()
    df.drop(columns="v").to_csv(tmp_path / "lake" / "a.csv", index=False)
    df.to_parquet(tmp_path / "lake" / "b.parquet")
    df.to_json(tmp_path / "lake" / "c.jsonl", orient="records", lines=True)
    lake = dfjoin.build_lake(tmp_path / "lake", tmp_path / "index", axes=[["v"]], **OPTIONS)
    assert sets_of(lake) == [
        ("a.csv", ["latitude", "longitude"], True, 2), ("b.parquet", ["latitude", "longitude"], True, 2),
        ("b.parquet", ["v"], False, 1), ("c.jsonl", ["latitude", "longitude"], True, 2),
    ]  # fmt: skip
    shutil.move(tmp_path / "lake", tmp_path / "moved")
    with pytest.warns(DfjoinWarning, match=r"the numbers of 3 tables could not be read again.*`lake.add_axes\(\)`"):
        lake.add_axes()
    assert sets_of(lake) == []
    moved = dfjoin.open_lake(tmp_path / "index", roots={"lake": str(tmp_path / "moved")})
    assert len(sets_of(moved.add_axes([["v"]]))) == 4


def test_points_of_many_batches_are_each_held_once(build, monkeypatch):
    monkeypatch.setattr("dfjoin.ingest.axes_task._MOST_HELD", 10)
    monkeypatch.setattr("dfjoin.sources.parquet_reader._PARQUET_ROWS", 50)
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"lat": rng.integers(0, 5, 400) + 0.5, "lon": rng.integers(0, 4, 400) + 0.5})
    assert sets_of(build({"t": df})) == [("t", ["lat", "lon"], True, 20)]


def test_axes_belong_to_a_new_index(build, tmp_path):
    lake = build({"t": pd.DataFrame({"a": [1.5, 2.5]})})
    with pytest.raises(InvalidParameterError, match='`axes` belongs to a new index, and if_exists="add" keeps the one'):
        dfjoin.build_lake({"u": pd.DataFrame({"a": [1]})}, lake.path, if_exists="add", axes=[["a"]], **OPTIONS)
