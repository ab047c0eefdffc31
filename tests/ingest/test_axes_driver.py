"""Points that tasks read are those that this process reads, wherever tasks run and the index lies."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning
from dfjoin.index.axis_group import axis_spaces
from dfjoin.index.commit import Uncommitted
from dfjoin.ingest import axes_driver
from dfjoin.ingest.axes_task import AxesReader
from tests.ingest.test_at_store import Machines, below, elsewhere  # noqa: F401 (a fixture)
from tests.ingest.test_axes_task import sets_of
from tests.ingest.test_embed_driver import Tasks

OPTIONS = {"engine": "inline", "progress": False}


def files(directory, n):
    directory.mkdir()
    rng = np.random.default_rng(n)
    for number in range(n):
        places = {"lat": rng.integers(0, 60, 40) + 0.25, "lon": rng.integers(0, 60, 40) + 0.5, "x": rng.random(40)}
        pd.DataFrame(places).to_csv(directory / f"t{number}.csv", index=False)
    return directory


def points_of(lake):
    return [(space.shape, space.rows.tolist()) for segment in lake.segments for space in axis_spaces(segment)]


def read_again(lake, engine):
    """Read the axes of a lake that has some, as a build by an engine does; return the entries."""
    reader = AxesReader(lake.path, lake.settings, lake.manifest.roots, lake.manifest.axes)
    bare = [segment.with_groups("axes", []) for segment in lake.manifest.segments]
    with Uncommitted(lake.path) as written:
        return axes_driver.add_axes_of(bare, reader, written, engine)


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(axes_driver, "_SMALL_BYTES", 1)
    data = files(tmp_path / "data", 3)

    def build(index):
        lake = dfjoin.build_lake(data, index, axes=[["x"]], **OPTIONS)
        return lake.add({"none": pd.DataFrame({"a": ["p", "q"]})}, **OPTIONS)

    return build, data


def test_tasks_write_the_same_points_as_this_process(two, tmp_path):
    lake, engine = two[0](tmp_path / "index"), Tasks()
    for one, other in zip(read_again(lake, engine), lake.manifest.segments, strict=True):
        mine, theirs = ([c.crc32 for g in meta.groups_of("axes") for c in g.components] for meta in (one, other))
        assert mine == theirs
    assert engine.seen == [["axes"]], "a segment without points has no task"
    assert not list((lake.path / "runs").iterdir())


def test_small_tables_are_read_here(two, tmp_path, monkeypatch):
    monkeypatch.setattr(axes_driver, "_SMALL_BYTES", 1 << 20)
    engine = Tasks()
    read_again(two[0](tmp_path / "index"), engine)
    assert engine.seen == []


def test_what_tasks_cannot_read_is_told_once(two, tmp_path):
    build, data = two
    lake = build(tmp_path / "index")
    (data / "t1.csv").unlink()
    with pytest.warns(DfjoinWarning, match=r"the numbers of 1 tables could not be read again.*t1.csv.*add_axes\(\)"):
        found = read_again(lake, Tasks())
    assert len(found[0].groups_of("axes")) == 2


def test_points_are_read_where_the_index_lies(two, tmp_path, elsewhere):  # noqa: F811 (the fixture)
    build, _ = two
    driver = elsewhere("driver")
    uri = f"local://{tmp_path / 'there'}"
    lake, engine = build(uri), Machines(elsewhere)
    found = read_again(lake, engine)
    assert engine.seen == ["axes"]
    for one, other in zip(found, lake.manifest.segments, strict=True):
        mine, theirs = ([c.crc32 for g in meta.groups_of("axes") for c in g.components] for meta in (one, other))
        assert mine == theirs
    new = {group.id for meta in found for group in meta.groups_of("axes")}
    assert len(new) == 2 and all(list((tmp_path / "there").glob(f"segments/*/{group}/*.npy")) for group in new)
    kept = [name for place in (driver, *engine.places) for name in below(place) if any(one in name for one in new)]
    assert kept == [], "neither the driver nor a worker keeps what was written"
    assert len(sets_of(lake)) == 6 and lake.verify() == []
