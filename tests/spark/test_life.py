"""The life of an index on Spark: adding and compacting there give what doing it in this process gives."""

import os

import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from spark_ext import build as spark_build
from spark_ext.probe import Workers

pytestmark = pytest.mark.spark

QUERY = pd.DataFrame({"q": [f"v{i}" for i in range(0, 120, 3)]})


def frame(number):
    values = [f"v{i}" for i in range(number, 60 + 7 * number)]
    return pd.DataFrame({"key": values, "n": [number] * len(values)})


def files(directory, numbers):
    directory.mkdir()
    for number in numbers:
        frame(number).to_csv(directory / f"t{number}.csv", index=False)
    return directory


def answers(lake):
    hits = dfjoin.discover_joinable(QUERY, "q", lake, k=100, rank="matched")
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


def test_compaction_on_spark_is_that_of_this_process(spark, tmp_path):
    data = files(tmp_path / "data", range(2))
    lakes = {}
    for engine in ("inline", "spark"):
        lake = dfjoin.build_lake(data, tmp_path / engine, engine="inline", progress=False)
        for number in range(2, 7):
            lake.add({f"f{number}": frame(number)}, engine="inline", progress=False)
        lake.remove("memory/f3")
        options = {"spark": spark} if engine == "spark" else {}
        before = answers(lake)
        lake.compact(full=True, engine=engine, **options)
        assert len(lake.segments) == 1
        assert answers(lake) == before
        assert lake.verify() == []
        assert list((lake.path / "runs").iterdir()) == []
        lakes[engine] = lake
    pd.testing.assert_frame_equal(lakes["inline"].columns, lakes["spark"].columns)
    assert lakes["inline"].info()["counts"] == lakes["spark"].info()["counts"]


def test_several_merges_are_several_tasks_of_one_job(spark, tmp_path):
    settings = {"segment_bytes": 60_000}
    lake = dfjoin.build_lake(
        files(tmp_path / "d", [0]), tmp_path / "ix", engine="inline", settings=settings, progress=False
    )
    for number in range(1, 13):
        lake.add({f"f{number}": frame(number)}, engine="inline", progress=False)
    before, n_before = answers(lake), len(lake.segments)
    lake.compact(full=True, spark=spark, engine="spark")
    assert 1 < len(lake.segments) < n_before
    assert answers(lake) == before


def test_adding_and_replacing_on_spark(spark, tmp_path):
    lake = dfjoin.build_lake(files(tmp_path / "d", range(3)), tmp_path / "ix", engine="inline", progress=False)
    frame(4).to_csv(tmp_path / "d" / "t4.csv", index=False)
    frame(5).to_csv(tmp_path / "d" / "t0.csv", index=False)
    lake.add(tmp_path / "d", engine="spark", spark=spark, progress=False)
    fresh = dfjoin.build_lake(tmp_path / "d", tmp_path / "fresh", engine="inline", progress=False)
    assert answers(lake) == answers(fresh)
    frame(6).to_csv(tmp_path / "d" / "t1.csv", index=False)
    lake.replace(tmp_path / "d" / "t1.csv", engine="spark", spark=spark, progress=False)
    fresh = dfjoin.build_lake(tmp_path / "d", tmp_path / "fresh2", engine="inline", progress=False)
    assert answers(lake) == answers(fresh)


@pytest.fixture
def apart(spark, tmp_path, monkeypatch):
    """A lake at a URI whose workers reach that and the tables, and see nothing else of the driver."""
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / "driver"))
    looked = []

    def probe(session, place, paths=()):
        looked.append(place)
        return Workers(False, frozenset(paths), True)

    monkeypatch.setattr(spark_build, "probe_workers", probe)
    data, uri = files(tmp_path / "d", range(3)), f"local://{tmp_path / 'there'}"
    lake = dfjoin.build_lake(data, uri, spark=spark, progress=False)
    assert looked and worker_cache(spark) != str(tmp_path / "driver"), "workers have mirrors of their own"
    return lake, data


def worker_cache(spark):
    def look(batches):
        for _ in batches:
            yield pa.record_batch({"place": [os.environ.get("DFJOIN_CACHE_DIR", "")]})

    return spark.range(0, 1, 1, 1).mapInArrow(look, "place string").collect()[0][0]


def test_tables_are_replaced_where_executors_write(spark, apart, tmp_path):
    lake, data = apart
    frame(6).to_csv(data / "t1.csv", index=False)
    lake.replace(data / "t1.csv", engine="spark", spark=spark, progress=False)
    fresh = dfjoin.build_lake(data, tmp_path / "fresh", engine="inline", progress=False)
    assert lake.version == 2 and lake.verify() == [] and answers(lake) == answers(fresh)
    assert os.listdir(tmp_path / "there") and not list((tmp_path / "there" / "runs").glob("*"))


def test_what_executors_wrote_is_repaired(spark, apart, tmp_path):
    """A damaged segment goes, and its tables come back from their files, by executors."""
    lake, data = apart
    frame(5).to_csv(data / "t5.csv", index=False)
    lake.add(data, spark=spark, progress=False)
    before = answers(lake)
    (first, second) = (segment.meta.id for segment in lake.segments)
    (damaged,) = (tmp_path / "there" / "segments" / second).rglob("value_bytes.npy")
    damaged.write_bytes(damaged.read_bytes()[:-9])
    report = dfjoin.repair(f"local://{tmp_path / 'there'}")
    assert (report["segments"], report["tables"], report["version"]) == ([second], ["t5.csv"], 3)
    lake = dfjoin.open_lake(f"local://{tmp_path / 'there'}")
    assert [segment.meta.id for segment in lake.segments] == [first] and lake.verify() == []
    lake.add(data, spark=spark, progress=False)
    assert answers(lake) == before and lake.verify() == [] and lake.version == 4
    lake.vacuum(0)
    assert {path.name for path in (tmp_path / "there" / "segments").iterdir()} == {s.meta.id for s in lake.segments}
