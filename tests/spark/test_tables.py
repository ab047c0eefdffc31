"""Tables of a session: by pattern, known again when they changed or not, joined in pandas as files are."""

import datetime
import warnings
from decimal import Decimal

import pandas as pd
import pytest

import dfjoin
import spark_ext
from dfjoin.errors import DfjoinWarning, InvalidParameterError, TableChangedError, TableReadError
from dfjoin.ingest import axes_driver, engine
from spark_ext.tables import SessionTable, match_tables

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(spark):
    """A schema with plain, partitioned and nested tables."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS dfjoin_shop")
    for table in spark.catalog.listTables("dfjoin_shop"):  # temporary views of other tests are listed, too
        spark.sql(f"DROP TABLE IF EXISTS dfjoin_shop.`{table.name}`")
    people = spark.createDataFrame(
        [(f"person {i}", i % 5, datetime.date(2024, 1, 1 + i % 28), Decimal(i) / 2) for i in range(40)],
        "name string, team long, since date, score decimal(8,2)",
    )
    people.write.saveAsTable("dfjoin_shop.people")
    people.select("name", "score", "team").write.partitionBy("team").saveAsTable("dfjoin_shop.by_team")
    nested = spark.sql(
        "SELECT cast(id as string) AS key, named_struct('a', id) AS inner, array(id) AS list FROM range(6)"
    )
    nested.write.saveAsTable("dfjoin_shop.nested")
    yield "dfjoin_shop"
    spark.sql("DROP SCHEMA dfjoin_shop CASCADE")


@pytest.fixture(scope="module")
def lake(spark, shop, tmp_path_factory):
    """An index of the schema; one test, after those that read the tables, changes both."""
    index = tmp_path_factory.mktemp("shop") / "i"
    return spark_ext.build_index(spark, tables=f"{shop}.*", index=index, progress=False)


def test_patterns_name_tables(spark, shop):
    whole = [f"{shop}.by_team", f"{shop}.nested", f"{shop}.people"]
    assert match_tables(spark, [f"{shop}.*"]) == whole
    assert match_tables(spark, ["dfjoin_s*.pe*", f"{shop}.people"]) == [f"{shop}.people"]
    catalog = spark.catalog.currentCatalog()
    assert match_tables(spark, [f"{catalog}.{shop}.people"]) == [f"{catalog}.{shop}.people"]
    assert match_tables(spark, [f"{catalog[:3]}*.{shop}.p*"]) == [f"{catalog}.{shop}.people"]
    assert spark.catalog.currentCatalog() == catalog
    spark.range(3).createOrReplaceTempView("dfjoin_view")
    assert match_tables(spark, ["dfjoin_vi*"]) == ["dfjoin_view"]
    with pytest.raises(InvalidParameterError, match=r"`tables` 'no\.such' matches no table of the Spark session"):
        match_tables(spark, ["no.such"])
    with pytest.raises(InvalidParameterError, match="at most three parts"):
        match_tables(spark, ["a.b.c.d"])


def test_a_source_or_tables(spark, tmp_path):
    none = {"tables": [], "index": tmp_path}
    for arguments in ({}, {"source": "x", "tables": "y", "index": tmp_path}, {"tables": "y"}, none):
        with pytest.raises(InvalidParameterError, match="`source` or `tables` must be given, and `index`"):
            spark_ext.build_index(spark, **arguments)


def test_the_catalog_is_built(lake, shop):
    columns = lake.columns.set_index(["table", "column"])
    assert columns.loc[(f"{shop}.people", "name"), "cardinality"] == 40
    assert columns.loc[(f"{shop}.by_team", "team"), "cardinality"] == 5
    nested = columns.loc[f"{shop}.nested"]
    assert nested["is_indexed"].to_dict() == {"inner": False, "key": True, "list": False}
    assert lake.verify() == []


def test_columns_are_chosen_by_pattern(spark, shop, tmp_path):
    lake = spark_ext.build_index(
        spark, tables=[f"{shop}.people"], index=tmp_path / "i", columns=["*/name", "*.people/team"], progress=False
    )
    assert lake.columns.set_index("column")["is_indexed"].to_dict() == {
        "name": True, "score": False, "since": False, "team": True,
    }  # fmt: skip


def test_a_table_is_read_and_joined_in_pandas(lake, shop):
    people = lake.table(f"{shop}.people")
    assert people["name"].nunique() == 40 and people["since"].map(type).eq(datetime.date).all()
    assert lake.table(f"{shop}.by_team", "team")["team"].nunique() == 5
    df = pd.DataFrame({"who": [f"PERSON {i}" for i in range(0, 30, 3)]})
    hits = df.discover_joinable("who", lake, rank="matched")
    assert set(hits["table"]) == {f"{shop}.people", f"{shop}.by_team"}
    wide = df.auto_join(lake, on="who", tables=f"{shop}.people")
    assert wide["team"].tolist() == [i % 5 for i in range(0, 30, 3)]
    again = df.auto_join(hits.iloc[[0]])
    assert len(again) == 10


def test_only_changed_tables_are_read_again(spark, lake, shop):
    version = lake.version
    names = match_tables(spark, [f"{shop}.*"])
    lake.add(names, spark=spark, progress=False)
    assert lake.version == version
    spark.sql(f"INSERT INTO {shop}.people VALUES ('somebody new', 1, date'2024-05-05', 1.5)")
    assert lake.check().to_dict("records") == [
        {"table": f"{shop}.people", "state": "changed", "detail": "its content is another"}
    ]
    with pytest.raises(
        TableChangedError, match=r"is not the one that was indexed: its content is another; read it anew"
    ):
        lake.table(f"{shop}.people")
    spark_ext.build_index(spark, tables=f"{shop}.*", index=lake.path, if_exists="add", progress=False)
    lake.refresh()
    assert lake.version == version + 1 and lake.manifest.operation == "add 1 tables"
    assert lake.columns.query("column == 'name' and table.str.endswith('people')")["cardinality"].tolist() == [41]
    assert len(lake.table(f"{shop}.people")) == 41 and len(lake.check()) == 0


def test_a_table_that_is_gone(spark, tmp_path):
    spark.range(5).selectExpr("cast(id as string) k").createOrReplaceTempView("dfjoin_gone")
    lake = dfjoin.build_lake("dfjoin_gone", tmp_path / "i", spark=spark, progress=False)
    assert lake.table("dfjoin_gone")["k"].nunique() == 5
    spark.catalog.dropTempView("dfjoin_gone")
    assert lake.check()["state"].tolist() == ["missing"]
    with pytest.raises(TableReadError, match="cannot be read: the Spark session has no table `dfjoin_gone`"):
        lake.table("dfjoin_gone")


def test_without_a_session_the_error_says_so(spark, lake, shop, monkeypatch):
    monkeypatch.setattr(engine, "is_session_there", lambda: False)
    with pytest.raises(TableReadError, match=r"no Spark session is active; start one that knows it"):
        lake.table(f"{shop}.people")


def test_a_frame_is_known_by_its_name_once_it_is_a_view(spark, tmp_path):
    frame = spark.range(5).selectExpr("cast(id as string) k")
    lake = dfjoin.build_lake({"numbers_of": frame}, tmp_path / "i", spark=spark, progress=False)
    with pytest.raises(TableReadError, match=r"df\.createOrReplaceTempView\('numbers_of'\) makes it known"):
        lake.table("numbers_of")
    frame.createOrReplaceTempView("numbers_of")
    assert lake.table("numbers_of")["k"].nunique() == 5
    with pytest.raises(InvalidParameterError, match="names the index has already"):
        lake.add({"numbers_of": frame}, spark=spark, progress=False)


class Row(dict):
    def __getattr__(self, name):
        return self[name]


class History:
    """A session whose catalog answers as Delta's or Iceberg's does; there are no jars of theirs here."""

    def __init__(self, spark, provider, answers):
        self._spark, self._provider, self._answers, self.asked = spark, provider, answers, []

    def __getattr__(self, name):
        return getattr(self._spark, name)

    def sql(self, query):
        self.asked.append(query)
        if query.startswith("DESCRIBE TABLE EXTENDED"):
            reported = [("Provider", "a column"), ("# Detailed Table Information", ""), ("Provider", self._provider)]
            rows = [Row(col_name=name, data_type=type_) for name, type_ in reported]
            return type("Result", (), {"collect": lambda self: rows})()
        for start, rows in self._answers.items():
            if query.startswith(start):
                return type("Result", (), {"collect": lambda self: rows})()
        raise ValueError("PARSE_SYNTAX_ERROR")


@pytest.mark.parametrize(
    ("answers", "version"),
    [
        ({"DESCRIBE HISTORY `dfjoin_shop`.`people` LIMIT 1": [Row(version=7)]}, "delta:7"),
        (
            {
                "SELECT snapshot_id FROM `dfjoin_shop`.`people`.history ORDER BY made_current_at DESC LIMIT 1": [
                    Row(snapshot_id=12345)
                ]
            },
            "iceberg:12345",
        ),
    ],
)
def test_a_table_with_a_history_is_known_by_it(spark, shop, answers, version):
    session = History(spark, version.partition(":")[0], answers)
    assert SessionTable(session, "t", f"{shop}.people").version() == version


def test_histories_are_asked_for_where_tables_have_one(spark, shop):
    """And an error of the history is one of the table, not another version."""
    session = History(spark, "parquet", {})
    assert SessionTable(session, "t", f"{shop}.people").version().startswith("files:")
    assert len(session.asked) == 1
    with pytest.raises(TableReadError, match="PARSE_SYNTAX_ERROR"):
        SessionTable(History(spark, "delta", {}), "t", f"{shop}.people").version()


def test_a_file_that_is_written_anew_under_its_name_is_another_version(spark, shop, tmp_path):
    for number in range(2):
        spark.range(number, 9 + number).coalesce(1).write.parquet(str(tmp_path / str(number)))
    (old,), (new,) = (list((tmp_path / str(number)).glob("*.parquet")) for number in range(2))
    spark.sql(f"CREATE TABLE {shop}.rewritten USING parquet LOCATION '{tmp_path / '0'}'")
    try:
        before = SessionTable(spark, "t", f"{shop}.rewritten").version()
        old.write_bytes(new.read_bytes())
        old.with_name(f".{old.name}.crc").unlink()
        spark.sql(f"REFRESH TABLE {shop}.rewritten")
        after = SessionTable(spark, "t", f"{shop}.rewritten").version()
    finally:
        spark.sql(f"DROP TABLE {shop}.rewritten")
    assert before.startswith("files:1:") and after.startswith("files:1:") and before != after


def test_a_table_without_a_history_is_known_by_its_files_or_rows(spark, shop, monkeypatch):
    table = SessionTable(spark, "t", f"{shop}.people")
    assert table.version().startswith("files:") and table.version() == table.version()
    monkeypatch.setattr(SessionTable, "_digest_of_files", None)  # pyspark logs an error where a view is asked for files
    spark.range(9).selectExpr("id", "id + 1 AS other").createOrReplaceTempView("dfjoin_rows")
    one = SessionTable(spark, "t", "dfjoin_rows").version()
    assert one.startswith("rows:9:")
    spark.range(9).repartition(3).selectExpr("id", "id + 1 AS other").createOrReplaceTempView("dfjoin_rows")
    assert SessionTable(spark, "t", "dfjoin_rows").version() == one
    spark.range(9).selectExpr("id", "id + 2 AS other").createOrReplaceTempView("dfjoin_rows")
    assert SessionTable(spark, "t", "dfjoin_rows").version() != one


def test_a_table_in_parts_equals_the_same_frame(spark, tmp_path, build):
    """Null spellings and all-digit dates are decided by the whole table, whatever its partitions."""
    frame = pd.DataFrame(
        {
            "code": ["de", "fr", "it", "es"] * 10 + ["NA"] * 20,
            "number": [str(i) for i in range(40)] + ["NA"] * 20,
            "day": [f"{i % 12 + 1}/{i % 12 + 1}/2024" for i in range(59)] + ["28/1/2024"],
            "same": ["x"] * 60,
        }
    )
    parts = spark.createDataFrame([tuple(row) for row in frame.values.tolist()], list(frame)).repartition(5)
    lake = dfjoin.build_lake({"t": parts}, tmp_path / "i", spark=spark, progress=False)
    columns = [
        "column",
        "kind",
        "is_indexed",
        "reason",
        "n_rows",
        "n_null",
        "cardinality",
        "min",
        "max",
        "null_spellings",
    ]
    pd.testing.assert_frame_equal(lake.columns[columns], build({"t": frame}).columns[columns])


def test_columns_of_one_name_in_several_tables_are_hits_of_their_own(spark, tmp_path):
    """Tables without a fingerprint are no copies of each other."""
    frames = {f"t{i}": pd.DataFrame({"city": [f"c{n}" for n in range(20 + i)], f"v{i}": 1.5}) for i in range(3)}
    given = {name: spark.createDataFrame(frame) for name, frame in frames.items()}
    lake = spark_ext.build_index(spark, given, tmp_path / "spark", progress=False)
    inline = dfjoin.build_lake(frames, tmp_path / "inline", engine="inline", progress=False)
    found = [pd.DataFrame(frames["t0"].discover_joinable("city", one, min_score=0)) for one in (lake, inline)]
    assert len(found[0]) == 3
    pd.testing.assert_frame_equal(*found)


def test_places_of_tables_are_found(spark, tmp_path, monkeypatch):
    """The session reads them: of small tables in a build, of others when it is asked for."""
    spark.range(20).selectExpr("id AS n", "id + 0.25 AS lat", "id + 0.5 AS lon").createOrReplaceTempView(
        "dfjoin_places"
    )
    here = pd.DataFrame({"lat": [3.25, 9.25], "lon": [3.5, 9.5]})
    options = {"mode": "embedding", "radius": 1, "radius_unit": "km"}

    def found(lake):
        return here.discover_joinable(["lat", "lon"], lake, **options)["matched"].tolist()

    asked = {"tables": "dfjoin_places", "index": tmp_path / "i", "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DfjoinWarning)
        assert found(spark_ext.build_index(spark, **asked)) == [2]
    monkeypatch.setattr(axes_driver, "_SMALL_BYTES", 1)
    with pytest.warns(DfjoinWarning, match=r"dfjoin_places \(a Spark table\)'; repeat it with `lake.add_axes\(\)`"):
        lake = spark_ext.build_index(spark, **asked, if_exists="replace")
    assert found(lake) == [] and found(lake.add_axes()) == [2]
    spark.range(20).createOrReplaceTempView("dfjoin_places")
    with pytest.warns(DfjoinWarning, match=r"dfjoin_places \(its columns have changed\)"):
        lake.add_axes()


def test_an_empty_frame_is_a_table(spark, tmp_path):
    frames = {"none": spark.range(0), "names differ by case": spark.range(3).selectExpr("id AS a", "id + 1 AS A")}
    lake = dfjoin.build_lake(frames, tmp_path / "i", spark=spark, progress=False)
    assert lake.tables.set_index("table")["n_rows"].to_dict() == {"names differ by case": 3, "none": 0}
    assert lake.columns.query("table == 'none'")["column"].tolist() == ["id"]
