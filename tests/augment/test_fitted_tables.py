"""A lake that changes between fit and transform."""

import pickle

import numpy as np
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, IndexNotFoundError, TableChangedError


@pytest.fixture
def fitted_to_files(world, tmp_path):
    """An augmenter that joined `climate.csv`, its lake, and a function that changes that file and tells the lake."""
    path = tmp_path / "lake"
    path.mkdir()
    for name in ("climate", "noise0"):
        world.frames[name].to_csv(path / f"{name}.csv", index=False)
    lake = dfjoin.build_lake(path, tmp_path / "index", engine="inline", progress=False)
    augmenter = dfjoin.LakeAugmenter(lake, max_hops=1).fit(world.X, world.y)
    assert augmenter.tables_ == ["climate.csv"]

    def change(frame):
        frame.to_csv(path / "climate.csv", index=False)
        lake.add(path, progress=False)

    return augmenter, lake, change


def test_further_tables_change_nothing(world, fitted_to_files, tmp_path):
    augmenter, lake, _ = fitted_to_files
    want = augmenter.transform(world.X)
    lake.add({"visits": world.frames["visits"]}, progress=False)
    for one in (augmenter, pickle.loads(pickle.dumps(augmenter))):
        assert one.transform(world.X).equals(want)


def test_other_values_under_the_same_name_are_told(world, fitted_to_files):
    augmenter, _, change = fitted_to_files
    climate = world.frames["climate"]
    change(climate.assign(rain=climate["rain"] + 1000))
    for one in (augmenter, pickle.loads(pickle.dumps(augmenter))):
        with pytest.raises(TableChangedError, match=r"`climate.csv` is not the one that was joined by fit.*fit again"):
            one.transform(world.X)
    with pytest.warns(DfjoinWarning, match="the lake has read it anew"):
        found = augmenter.set_params(on_stale="warn").transform(world.X)
    np.testing.assert_allclose(found["rain"], climate["rain"] + 1000)
    assert augmenter.set_params(on_stale="ignore").transform(world.X).equals(found)
    assert augmenter.set_params(on_stale="error").fit(world.X, world.y).transform(world.X).equals(found)


def test_another_dtype_is_told(world, fitted_to_files):
    augmenter, _, change = fitted_to_files
    climate = world.frames["climate"]
    change(climate.assign(rain=climate["rain"].astype(str) + " mm"))
    with pytest.raises(TableChangedError, match="the feature 'rain' had the dtype float64 when fit joined it"):
        augmenter.set_params(on_stale="ignore").transform(world.X)


def test_index_and_tables_that_were_moved(world, fitted_to_files, tmp_path):
    augmenter, lake, _ = fitted_to_files
    want, kept = augmenter.transform(world.X), pickle.dumps(augmenter)
    lake.add({"visits": world.frames["visits"]}, progress=False).vacuum(0)
    assert pickle.loads(kept).transform(world.X).equals(want), "the version that it was fitted to is gone"
    for name in ("lake", "index"):
        (tmp_path / name).rename(tmp_path / f"moved {name}")
    augmenter = pickle.loads(kept)
    moved = dfjoin.open_lake(tmp_path / "moved index", roots={"lake": tmp_path / "moved lake"})
    with pytest.raises(IndexNotFoundError):
        augmenter.transform(world.X)
    assert augmenter.set_params(lake=moved).transform(world.X).equals(want)
    assert augmenter.fit(world.X, world.y).transform(world.X).equals(want)


def test_an_older_version_is_joined_as_it_is(world, fitted_to_files, tmp_path):
    _, lake, _ = fitted_to_files
    old = dfjoin.open_lake(tmp_path / "index", version=1)
    lake.remove("climate.csv")
    augmenter = dfjoin.LakeAugmenter(old, max_hops=1).fit(world.X, world.y)
    assert augmenter.tables_ == ["climate.csv"] and "rain" in augmenter.transform(world.X)


def test_a_table_that_left_is_told(world, fitted_to_files):
    augmenter, lake, _ = fitted_to_files
    lake.remove("climate.csv")
    with pytest.raises(TableChangedError, match=r"the table `climate.csv` has left the lake since fit; fit again"):
        augmenter.set_params(on_stale="ignore").transform(world.X)
