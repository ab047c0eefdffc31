"""The SQL functions, the table function and the data source: they give what Python gives."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyspark
import pytest

import dfjoin
import spark_ext
from dfjoin.kernels.sets.minhash import sign_hashes
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.search.lsh.bands import containment_of
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from spark_ext.functions import _containment, _jaccard
from spark_ext.transfer import collect, to_pandas
from tests.spark.frames import pair, rows

pytestmark = pytest.mark.spark

WORDS = [" Paris", "PARIS", "1.0", "Straße", None, "", "2 March 2020", "NA", "03/04/2020"]
CANONICAL = ["paris", "paris", "1", "strasse", None, None, "2020-03-02", "na", "03/04/2020"]


@pytest.fixture(scope="module")
def sql(spark):
    spark_ext.register_functions(spark)
    spark_ext.register_functions(spark)
    return lambda text: collect(spark.sql(text)).to_pylist()


def test_normalize(spark, sql, build):
    index = build(
        {"t": pd.DataFrame({"a": ["x", "y"]})}, settings={"dayfirst": True, "null_spellings": ["", "na"]}
    ).path
    _, words = pair(spark, w=WORDS)
    words.createOrReplaceTempView("dfjoin_words")
    found = sql(f"select dfjoin_normalize(w) as a, dfjoin_normalize(w, '{index}') as b from dfjoin_words")
    assert [row["a"] for row in found] == CANONICAL
    assert [row["b"] for row in found] == [*CANONICAL[:7], None, "2020-04-03"]
    (row,) = sql(
        "select dfjoin_normalize(7.50D) as f, dfjoin_normalize(cast(3 as decimal(9,2))) as d, dfjoin_normalize(true) as b,"
        " dfjoin_normalize(date'2020-01-02') as day, dfjoin_normalize(timestamp'2020-01-02 03:04:05') as at"
    )
    assert list(row.values()) == ["7.5", "3", "true", "2020-01-02", "2020-01-02t03:04:05"]
    (row,) = sql("select dfjoin_normalize(w) as x from dfjoin_words where false union all select 'none'")
    assert row["x"] == "none"


def test_sets_and_signatures(sql, build):
    one, other = [f"v{i}" for i in range(300)], [f"v{i}" for i in range(100, 600)]
    a, b = (f"transform(sequence({begin}, {end}), i -> concat('v', i))" for begin, end in ((0, 299), (100, 599)))
    (row,) = sql(
        f"select dfjoin_containment({a}, {b}) as c, dfjoin_jaccard({a}, {b}) as j, dfjoin_minhash({a}) as s,"
        f" dfjoin_minhash_containment(dfjoin_minhash({a}), 300, dfjoin_minhash({b}), 500) as m,"
        " dfjoin_containment(array('x', 'x', null), array('x')) as once, dfjoin_containment(array(), array('x')) as none,"
        " dfjoin_minhash(cast(null as array<string>)) as nothing"
    )
    assert (row["c"], row["j"], row["once"], row["none"], row["nothing"]) == (200 / 300, 200 / 600, 1.0, None, None)
    settings = IndexSettings()
    signatures = [
        sign_hashes(
            normalize_column(pa.array(v), settings).hashes, settings.permutations, np.uint64(settings.hash_seed)
        )
        for v in (one, other)
    ]
    assert row["s"] == signatures[0].tolist()
    many = sql(
        "select dfjoin_minhash(l) as s from values (array('x')), (null), (array('y', 'x', 'x')), (array()) as t(l)"
    )
    signed = [
        sign_hashes(normalize_column(pa.array(v), settings).hashes, 256, np.uint64(settings.hash_seed)).tolist()
        for v in (["x"], ["x", "y"])
    ]
    assert [row["s"] for row in many] == [signed[0], None, signed[1], [0xFFFFFFFF] * 256]
    agreed = np.count_nonzero(signatures[0] == signatures[1]) / settings.permutations
    assert row["m"] == pytest.approx(float(containment_of(agreed, 500, 300)))
    index = build({"t": pd.DataFrame({"a": ["x", "y"]})}, settings={"permutations": 32}).path
    (row,) = sql(f"select size(dfjoin_minhash(array('x', 'y'), '{index}')) as n")
    assert row["n"] == 32


def test_vectors(sql, build):
    frame = pd.DataFrame({"who": [f"{a} {b}" for a in ("ann", "bob", "cem") for b in ("stone", "hill", "wood")]})
    lake = build({"t": frame}, embedder="fasttext")
    (row,) = sql(
        f"select dfjoin_embed('Ann Stone', '{lake.path}') as v, dfjoin_embed('1', '{lake.path}') as none,"
        f" dfjoin_distance(dfjoin_embed('ann stone', '{lake.path}'), dfjoin_embed('ann hill', '{lake.path}')) as d,"
        " dfjoin_distance(array(0F, 1F), array(1F, 0F), 'angular') as angle, dfjoin_distance(null, array(1F)) as gone,"
        " dfjoin_distance(array(), array()) as empty"
    )
    assert np.linalg.norm(row["v"]) == pytest.approx(1.0, abs=1e-6) and row["none"] is None
    assert row["angle"] == pytest.approx(np.pi / 2) and row["gone"] is None is row["empty"]
    hits = pd.DataFrame({"q": ["ann stone"]}).discover_joinable(
        "q", lake, mode="embedding", radius=2, radius_unit="absolute"
    )
    pairs = hits.pairs(0).set_index("candidate_value")["distance"]
    assert row["d"] == pytest.approx(pairs["ann hill"], abs=1e-6)


def test_programs(spark, sql):
    left = pd.DataFrame({"name": ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald"]})
    right = pd.DataFrame({"president": [" ".join(reversed(name.split(", "))) for name in left["name"]]})
    relation = left.auto_join(right, aggregate=None).attrs["dfjoin"]["joined"][0]["relation"]
    text = json.dumps(relation["transform"]["programs"][0]["program"]).replace("'", "\\'")
    (row,) = sql(f"select dfjoin_transform('{text}', 'Truman, Harry') as a, dfjoin_transform('{text}', 'x') as b")
    assert row == {"a": "Harry Truman", "b": None}


def test_the_table_function_is_the_search(spark, sql, example_lake):
    df, sdf = pair(spark, land=["France", "peru ", None, "peru"], n=[1, 2, 3, 4])
    sdf.createOrReplaceTempView("dfjoin_lands")
    want = pd.DataFrame(dfjoin.discover_joinable_batch({"land": df["land"]}, example_lake, k=3))
    calls = (
        f"dfjoin_discover(TABLE(SELECT n, land FROM dfjoin_lands), column => 'LAND', lake => '{example_lake.path}', k => 3)",
        f"discover_joinable(TABLE(SELECT land FROM dfjoin_lands WHERE n > 0), 'land', '{example_lake.path}', 3)",
    )
    for call in calls:
        found = to_pandas(collect(spark.sql(f"SELECT * FROM {call}"))).drop(columns="pad")
        assert rows(found) == rows(want), call
    empty = f"SELECT * FROM dfjoin_discover(TABLE(SELECT land FROM dfjoin_lands WHERE n > 9), 'land', '{example_lake.path}')"
    assert sql(empty) == []
    for wrong, message in (
        ("'x', 'y'", "`column` must name a column"),
        ("'land', 5", "`lake` must be the path"),
        ("'land', '/no/such/index'", "there is no dfjoin index at"),
        (f"'land', '{example_lake.path}', 0", "`k` must be"),
    ):
        with pytest.raises(Exception, match=message):
            spark.sql(f"SELECT * FROM dfjoin_discover(TABLE(SELECT land FROM dfjoin_lands), {wrong})")  # not run
    with pytest.raises(Exception, match=r"`column` must name a column whose values have a text, got 'c' of type array"):
        spark.sql(f"SELECT * FROM dfjoin_discover(TABLE(SELECT array(1) AS c), 'c', '{example_lake.path}')")


def test_wrong_arguments_are_told_in_one_sentence(spark, sql, example_lake, build):
    """The lines of code that an error comes from are nothing to whoever wrote the SQL."""
    unsigned = build({"t": pd.DataFrame({"w": list("abc")})}, settings={"permutations": 0}).path
    of_two = json.dumps(Program(("a", "b"), (Extract(0), Extract(1))).to_dict())
    for wrong, message in (
        ("dfjoin_distance(array(1F), array(1F), 'nope')", "`metric` must be one of 'euclidean', 'angular', got 'nope'"),
        (
            "dfjoin_distance('a', 'b')",
            "must be dfjoin_distance(numbers, numbers [, text]), got dfjoin_distance(string, string)",
        ),
        ("dfjoin_distance(array('1'), array('1'))", "must be dfjoin_distance(numbers, numbers [, text])"),
        ("dfjoin_jaccard(array(array(1)), array(array(1)))", "must be dfjoin_jaccard(array, array)"),
        ("dfjoin_transform('no json', 'a')", "`program_json` must be the JSON of a learned program"),
        ("dfjoin_minhash('a')", "must be dfjoin_minhash(array [, index]), got dfjoin_minhash(string)"),
        ("dfjoin_normalize()", "must be dfjoin_normalize(value [, index]), got dfjoin_normalize()"),
        ("dfjoin_normalize('a', 'b', 'c')", "got dfjoin_normalize(string, string, string)"),
        ("dfjoin_normalize('a', 5)", "got dfjoin_normalize(string, int32)"),
        ("dfjoin_minhash_containment(array(1L), 'x', array(1L), 2)", ">, string, list<"),
        ("dfjoin_normalize('a', '/no/such')", "there is no dfjoin index at `/no/such`"),
        ("dfjoin_embed('a', null)", "`index` of dfjoin_embed must name the index"),
        ("dfjoin_transform('{}', 'a')", "a program must have version"),
        (f"dfjoin_transform('{of_two}', 'a')", "`program_json` must be a program of one column, got one of 2"),
        (f"dfjoin_minhash(array('a'), '{unsigned}')", "`index` must have signatures, and"),
    ):
        with pytest.raises(Exception) as caught:
            sql(f"select {wrong}")
        lines = [line for line in str(caught.value).splitlines() if line.strip()]
        (reported,) = (line for line in lines if line.startswith("dfjoin.errors."))
        assert message in reported
        shows_worker = pyspark.__version__.startswith("4.0.")  # a line of its own
        assert sum(line.startswith("  File ") for line in lines) == 1 + shows_worker, wrong
    for wrong in (
        lambda: spark.read.format("dfjoin").load("/no/such"),
        lambda: spark.sql("SELECT * FROM dfjoin_discover(TABLE(SELECT 'a' AS c), 'c', '/no/such')"),
    ):
        with pytest.raises(Exception, match="there is no dfjoin index at `/no/such`") as caught:
            wrong()
        assert str(caught.value).count("  File ") == 1


def test_functions_see_the_newest_version(spark, sql, build, tmp_path):
    """Workers live long: what they opened for one query is of no use for the next one."""
    names = ["Ann", "Bob", "Cem", "Dan"]
    frames = {name: pd.DataFrame({"w": names[i : i + 3], name: range(3)}) for i, name in enumerate(("one", "two"))}
    lake = build(frames)
    query = f"SELECT * FROM dfjoin_discover(TABLE(SELECT explode(array('bob', 'cem')) AS w), 'w', '{lake.path}', 5)"
    assert sorted(row["table"] for row in sql(query)) == ["one", "two"]
    lake.remove("one")
    assert [row["table"] for row in sql(query)] == ["two"]
    lake.vacuum(0)
    assert [row["table"] for row in sql(query)] == ["two"]
    dfjoin.build_lake(
        frames, lake.path, engine="inline", progress=False, if_exists="replace", settings={"dayfirst": True}
    )
    assert sql(f"select dfjoin_normalize('03/04/2020', '{lake.path}') as d") == [{"d": "2020-04-03"}]
    latest = spark.read.format("dfjoin").option("content", "tables")
    versions = {n: latest.option("version", str(n)).load(str(lake.path)).count() for n in (2, 3)}
    assert versions == {2: 1, 3: 2} and latest.load(str(lake.path)).count() == 2


def test_the_catalogue_is_a_data_source(spark, sql, example_lake):
    found = to_pandas(collect(spark.read.format("dfjoin").load(str(example_lake.path))))
    want = example_lake.columns
    assert list(found) == list(want)
    for name in ("table", "column", "kind", "cardinality", "n_rows", "is_indexed"):
        assert found[name].tolist() == want[name].tolist()
    tables = spark.read.format("dfjoin").option("content", "tables").load(str(example_lake.path))
    assert sorted(row["table"] for row in tables.select("table").collect()) == sorted(example_lake.tables["table"])
    sql(f"CREATE OR REPLACE TEMPORARY VIEW dfjoin_catalog USING dfjoin OPTIONS (path '{example_lake.path}')")
    assert sql("select count(*) as n from dfjoin_catalog where kind = 'text'")[0]["n"] == int(
        (want["kind"] == "text").sum()
    )
    for name, value, message in (
        ("content", "x", "`content` must be one of 'columns', 'tables', got 'x'"),
        ("verzion", "1", "the options of the format dfjoin are 'path', 'content', 'version', got 'verzion'"),
        ("version", "newest", "`version` must be the number of a version, 1 or more, got 'newest'"),
    ):
        with pytest.raises(Exception, match=message):
            spark.read.format("dfjoin").option(name, value).load(str(example_lake.path))
    with pytest.raises(Exception, match="`path` must be given"):
        spark.read.format("dfjoin").load()


def test_the_catalogue_has_a_task_for_each_segment(spark, sql, build):
    lake = build({"a": pd.DataFrame({"x": ["u", "v"]})})
    lake.add({"b": pd.DataFrame({"y": ["u", "v"], "z": [1, 2]})}, engine="inline", progress=False)
    frame = spark.read.format("dfjoin").load(str(lake.path))
    parts = frame.selectExpr("table", "column", "spark_partition_id() as part").collect()
    assert [(row["table"], row["column"]) for row in parts] == [("a", "x"), ("b", "y"), ("b", "z")]
    assert len({row["part"] for row in parts}) == len(lake.segments) == 2


def test_sql_opens_the_indexes_that_are_named(spark, example_lake, build):
    own, other = str(example_lake.path), str(build({"t": pd.DataFrame({"a": ["x", "y"]})}).path)
    spark_ext.register_functions(spark, indexes=[own])
    table = "TABLE(SELECT 'France' AS c)"
    try:
        assert collect(spark.sql(f"select dfjoin_normalize('A', '{own}') as a")).to_pylist() == [{"a": "a"}]
        assert collect(spark.sql(f"select * from dfjoin_discover({table}, 'c', '{own}')")).num_rows
        assert spark.read.format("dfjoin").load(own).count()
        for refused in (
            lambda: collect(spark.sql(f"select dfjoin_normalize('A', '{other}') as a")),
            lambda: spark.sql(f"select * from dfjoin_discover({table}, 'c', '{other}')"),
            lambda: spark.read.format("dfjoin").load(other),
        ):
            with pytest.raises(Exception, match="the index must be one of those that this session opens"):
                refused()
    finally:
        spark_ext.register_functions(spark)


def test_hits_and_catalogue_are_saved_as_tables(spark, example_lake, tmp_path):
    spark_ext.enable(spark)
    df, sdf = pair(spark, land=["France", "peru ", None, "peru"], n=[1, 2, 3, 4])
    hits = sdf.discover_joinable("land", example_lake, k=2)
    hits.write.parquet(str(tmp_path / "hits"))
    saved = spark.read.parquet(str(tmp_path / "hits"))
    picked = saved.where("table = 'geo/countries.csv'")
    want = df.auto_join(example_lake, on="land", tables="geo/countries.csv")
    assert rows(sdf.auto_join(picked)) == rows(want)


def test_shares_of_a_null_list_and_of_no_values_are_null():
    lists = pa.array([["a"], ["a"], [], None, ["a", "b"]])
    others = pa.array([["a"], None, ["a"], ["a"], ["b"]])
    assert _containment(lists, others).to_pylist() == [1.0, None, None, None, 0.5]
    assert _jaccard(lists, others).to_pylist() == [1.0, None, 0.0, None, 0.5]
