"""Whatever is read without Spark is read by a build of Spark, in tasks: every kind of file, table and database."""

from pathlib import Path

import pytest

import dfjoin
from dfjoin.sources.table_kinds import KINDS
from tests.benchmarks.mutate_sources import write_formats
from tests.sources.test_databases import server as postgresql
from tests.sources.test_mysql import execute
from tests.sources.test_mysql import server as mysql

__all__ = ["mysql", "postgresql"]


def content(lake):
    columns = lake.columns.drop(columns=["samples"])
    return columns.sort_values(["table", "column"]).reset_index(drop=True).astype(str).to_dict("records")


def write_tables(place: Path) -> None:
    """Write tables of every kind that is no server."""
    write_formats(place)
    (place / "t.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')


@pytest.mark.slow
def test_a_build_of_spark_reads_every_kind(spark, tmp_path):
    place = tmp_path / "lake"
    place.mkdir()
    write_tables(place)
    here = dfjoin.build_lake(place, tmp_path / "here", engine="inline", progress=False)
    there = dfjoin.build_lake(place, tmp_path / "there", engine="spark", spark=spark, progress=False)
    assert content(there) == content(here)
    assert there.info()["skipped"] == here.info()["skipped"]
    read = {record["format"] for segment in there.segments for record in segment.catalog.tables().to_pylist()}
    due = {name for name, kind in KINDS.items() if kind.is_ready()} - {"postgresql", "mysql", "zip"}
    assert read == due, "tables of an archive have the format of what is in it"
    assert there.add(place, engine="inline", progress=False).info()["version"] == 1


@pytest.mark.xdist_group("mysql")
def test_a_build_of_spark_reads_mysql(spark, mysql, tmp_path, monkeypatch):
    execute(
        mysql,
        "CREATE DATABASE sparks",
        "CREATE TABLE sparks.t (a int, b text)",
        "INSERT INTO sparks.t VALUES (1, 'x'), (2, 'y')",
    )
    lakes = [
        dfjoin.build_lake(
            f"{mysql}sparks",
            tmp_path / engine,
            engine=engine,
            spark=spark if engine == "spark" else None,
            progress=False,
        )
        for engine in ("inline", "spark")
    ]
    assert content(lakes[0]) == content(lakes[1]) != []
    for file in (tmp_path / "spark").rglob("*"):
        assert not file.is_file() or b"s3cr3t" not in file.read_bytes()


@pytest.mark.xdist_group("postgresql")
def test_a_build_of_spark_reads_postgresql(spark, postgresql, tmp_path):
    from tests.sources.test_databases import execute as run

    run(postgresql, "CREATE TABLE sparks (a int PRIMARY KEY, b text)", "INSERT INTO sparks VALUES (1, 'x'), (2, 'y')")
    lakes = [
        dfjoin.build_lake(
            postgresql, tmp_path / engine, engine=engine, spark=spark if engine == "spark" else None, progress=False
        )
        for engine in ("inline", "spark")
    ]
    assert content(lakes[0]) == content(lakes[1]) != []
    assert lakes[1].segments[0].catalog.table_record(0)["keys"] == [["a"]]
