"""The life of an index on Spark: adding and compacting there give what doing it in this process gives."""

import pandas as pd
import pytest

import dfjoin

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
