"""Search from Spark: in this process, in tasks, by groups of segments, it is the search of pandas."""

import datetime
import json
import subprocess
import sys
import threading
import time
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import dfjoin
import spark_ext
from dfjoin.errors import (
    ApproximateResultWarning,
    ColumnNotFoundError,
    EngineError,
    InvalidParameterError,
    InvalidTypeError,
)
from dfjoin.search import composite_search
from spark_ext import jobs, long_search, several_columns, transfer
from spark_ext import search as spark_search
from spark_ext.queries import query_rows
from spark_ext.transfer import collect, to_pandas
from tests.conftest import PROJECT
from tests.spark.frames import pair, rows

pytestmark = pytest.mark.spark

WHERE = ("driver", "cluster")


@pytest.fixture(scope="module")
def query(spark):
    spark_ext.enable(spark)
    frame = pd.read_csv(PROJECT / "examples" / "facilities.csv")
    return pair(spark, **{name: pa.array(frame[name], from_pandas=True) for name in frame})


@pytest.fixture(scope="module")
def parted(tmp_path_factory):
    """A lake of several segments, with ties between them."""
    rng = np.random.default_rng(3)
    index = tmp_path_factory.mktemp("parted") / "ix"
    lake = None
    for part in range(4):
        frames = {}
        for number in range(3):
            words = [f"w{i}" for i in rng.choice(60, 25 + 5 * (number == 1))]
            frames[f"t{part}{number}"] = pd.DataFrame(
                {"word": words, "size": rng.integers(0, 99, len(words)), "x": part}
            )
        frames[f"same{part}"] = pd.DataFrame({"word": [f"w{i}" for i in range(20)], "n": range(20)})
        options = {"engine": "inline", "progress": False}
        if lake is None:
            settings = {"signature_min": 8, "permutations": 64}
            lake = dfjoin.build_lake(frames, index, settings=settings, **options)
        else:
            lake = lake.add(frames, **options)
    assert len(lake.segments) == 4
    return lake


def equal(found, want):
    """Compare a result of Spark with that of pandas."""
    got = to_pandas(collect(found))
    want = pd.DataFrame(want)
    assert list(got.columns) == list(want.columns)
    pd.testing.assert_frame_equal(got, want, check_dtype=False)


@pytest.mark.parametrize("where", WHERE)
def test_every_column_of_a_frame_at_once(query, example_lake, where):
    df, sdf = query
    want = df.discover_joinable("*", example_lake)
    assert want["query_column"].nunique() > 1
    equal(sdf.discover_joinable("*", example_lake, where=where), want)
    equal(
        sdf.dfjoin.discover_joinable(None, example_lake, where=where, k=2), df.discover_joinable("*", example_lake, k=2)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"k": 30, "families": False},
        {"rank": "matched", "k": 7},
        {"rank": "matched", "threshold": 0.2},
        {"weighted": True, "k": 5},
        {"mode": "lsh", "threshold": 0.3},
        {"mode": "lsh", "threshold": 0.3, "rank": "matched", "verify": False},
        {"mode": "lsh", "rank": "matched", "k": 4},
        {"plan": "josie", "k": 3, "tables": "*2"},
        {"min_score": 0.2, "kinds": "text", "exclude": ["*same1"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("where", WHERE)
def test_groups_of_segments_give_what_one_search_gives(spark, parted, options, where):
    spark_ext.enable(spark)
    df, sdf = pair(spark, word=[f"W{i} " for i in [*range(25), 3, 3, 4]] + [None, ""], z=list(range(30)))
    want = df.discover_joinable("word", parted, **options)
    assert len(want)
    equal(sdf.repartition(3).discover_joinable("word", parted, where=where, **options), want)


def test_segments_are_dealt_out_by_bytes(parted):
    from dfjoin.search.segment_groups import group_segments

    groups = group_segments(parted.snapshot, 2)
    assert sorted(number for group in groups for number in group) == [0, 1, 2, 3]
    sizes = [sum(parted.segments[number].meta.size for number in group) for group in groups]
    assert max(sizes) - min(sizes) <= max(segment.meta.size for segment in parted.segments)
    assert len(group_segments(parted.snapshot, 99)) == 4


def test_codes_that_lost_their_zeros_and_empty_results(spark, query, example_lake):
    df, sdf = query
    want = df.discover_joinable("Postal", example_lake, k=3)
    assert want["pad"].notna().any()
    for where in WHERE:
        equal(sdf.discover_joinable("Postal", example_lake, where=where, k=3), want)
        nothing = sdf.where("false").discover_joinable("Country", example_lake, where=where)
        assert nothing.columns == list(df.discover_joinable("Country", example_lake).columns)
        assert nothing.count() == 0


def test_modes_by_program_and_by_distance(spark, tmp_path):
    spark_ext.enable(spark)
    people = [f"{a} {b}" for a in ("Ann", "Bob", "Cem", "Dora", "Emil") for b in ("Stone", "Rivers", "Woods", "Hill")]
    turned = [", ".join(reversed(name.split())) for name in people]
    lake = dfjoin.build_lake(
        {"staff": pd.DataFrame({"who": turned, "room": range(20)})}, tmp_path / "ix", engine="inline", progress=False,
        settings={"patterns": True}, embedder="fasttext",
    )  # fmt: skip
    lake.add(
        {"more": pd.DataFrame({"who": [p + "e" for p in people], "x": range(20)})}, engine="inline", progress=False
    )
    df, sdf = pair(spark, name=[*people, None, people[0]], n=list(range(22)))
    for options in ({"mode": "transform"}, {"mode": "embedding", "radius": 0.3}):
        want = df.discover_joinable("name", lake, **options)
        assert len(want)
        for where in WHERE:
            found = sdf.discover_joinable("name", lake, where=where, **options)
            equal(found, want)
        counted = {"count": 2} if options["mode"] == "transform" else {}
        assert found.dfjoin.report()["tasks"] == {**counted, "search": 2, "merge": 1}


def test_words_in_another_order_are_found_and_join(spark, build):
    spark_ext.enable(spark)
    lake = build({"staff": pd.DataFrame({"who": ["Stone, Ann", "Rivers Bob", "Cem O'Hill"], "room": [1, 2, 3]})})
    lake.add({"more": pd.DataFrame({"whom": ["ann stone", "Dora"], "x": [4, 5]})}, engine="inline", progress=False)
    df, sdf = pair(spark, name=["Ann Stone", "bob riverss", "hill o cem", "Dora Hill", None], n=list(range(5)))
    options = {"mode": "fuzzy", "metric": "tokens"}
    for order in ({}, {"rank": "useful", "min_score": 0.0}):
        want = df.discover_joinable("name", lake, **order, **options)
        assert dict(zip(want["table"], want["matched"], strict=True)) == {"staff": 3, "more": 1}
        for where in WHERE:
            found = sdf.discover_joinable("name", lake, where=where, **order, **options)
            equal(found, want)
            equal(spark_ext.pairs(found, sdf, 0), want.pairs(0))
        counted = {"count": 2} if "rank" in order else {}
        assert found.dfjoin.report()["tasks"] == {**counted, "search": 2, "merge": 1}
    hits = df.discover_joinable("name", lake, tables="staff", **options)
    joined = df.auto_join(hits, columns=["room"])
    assert joined["room"].fillna(0).tolist() == [1, 2, 3, 0, 0]
    for other in (hits, joined.attrs["dfjoin"]["plan"]):
        wide = sdf.auto_join(other, columns=["room"]) if other is hits else sdf.auto_join(other)
        assert rows(wide.orderBy("n")) == rows(joined)


def test_types_and_nulls_of_the_query(spark, build):
    spark_ext.enable(spark)
    lake = build(
        {
            "t": pd.DataFrame(
                {
                    "n": range(1, 9),
                    "d": pd.date_range("2020-01-01", periods=8),
                    "c": ["NA", "DE", "FR", "IT", "US", "X", "Y", "Z"],
                }
            )
        }
    )
    columns = {
        "i": pa.array([1, 2, None, 4], pa.int8()),
        "f": pa.array([1.0, float("nan"), 3.0, 4.0]),
        "d": pa.array([Decimal("1.00"), Decimal("2.50"), None, Decimal("4.00")], pa.decimal128(9, 2)),
        "day": pa.array([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2), datetime.date(1, 1, 1)]),
        "at": pa.array([datetime.datetime(2020, 1, 3), datetime.datetime(2020, 1, 3, 5), None, None]),
        "code": pa.array(["na", "de", "fr", None]),
        "flag": pa.array([True, False, None, True]),
        "list": pa.array([[1], [2], [3], None]),
    }
    df, sdf = pair(spark, **columns)
    want = df.drop(columns="list").discover_joinable("*", lake, min_score=0.0, rank="useful")
    assert set(want["query_column"]) == {"i", "f", "d", "day", "at", "code"}
    for where in WHERE:
        equal(sdf.drop("list").discover_joinable("*", lake, where=where, min_score=0.0, rank="useful"), want)
    assert set(query_rows(sdf, "*").names) == set(columns) - {"list"}
    with pytest.raises(InvalidTypeError, match="`on` must name a column whose values have a text, got 'list'"):
        sdf.discover_joinable("list", lake)


@pytest.mark.slow
def test_a_frame_of_queries_is_one_job(spark, parted):
    spark_ext.enable(spark)
    columns = {f"q{i:02}": [f"w{j}" for j in range(i, i + 15)] for i in range(12)}
    columns = {name: [*values, values[0], None] for name, values in columns.items()}
    table = [(name, value) for name, values in columns.items() for value in values]
    queries = spark.createDataFrame(table, "query_column string, value string").repartition(3)
    want = dfjoin.discover_joinable_batch(columns, parted, k=3)
    for where in WHERE:
        equal(queries.dfjoin.discover_joinable_batch(parted, k=3, where=where), want)
    renamed = queries.toDF("name", "text")
    found = spark_ext.discover_joinable_batch(renamed, parted, name="name", value="text", k=1)
    assert found.count() == 12
    with pytest.raises(ColumnNotFoundError, match="`value` must name a column of the frame"):
        spark_ext.discover_joinable_batch(renamed, parted, name="name")


@pytest.mark.slow
def test_groups_and_queries_are_spread_over_tasks(spark, parted, example_lake):
    """By number: a query has few bytes, and adaptive execution would make one task of them."""
    spark_ext.enable(spark)
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    columns = [(f"q{i:02}", f"w{j}") for i in range(12) for j in range(i, i + 15)]
    queries = spark.createDataFrame(columns, "query_column string, value string")
    hits = queries.where("query_column = 'q03'").discover_joinable("value", parted, where="cluster")
    work = hits.where("matched > 3").dfjoin.report()
    assert work["tasks"] == {"count": 2, "search": 2, "merge": 1} and work["processes"] == 2
    assert (work["where"], work["hosts"], work["bytes_fetched"], work["cache_hits"]) == ("cluster", 1, 0, 5)
    for options in ({}, {"mode": "lsh", "k": 4}):
        work = spark_ext.report(spark_ext.discover_joinable_batch(queries, parted, where="cluster", **options))
        assert work["tasks"]["count"] == work["tasks"]["search"] == 6 and work["tasks"]["merge"] >= 4
    work = spark_ext.report(spark_ext.discover_joinable_batch(queries, example_lake, where="cluster"))
    assert work["tasks"]["search"] >= 4 and work["processes"] == 2
    assert spark_ext.report(spark_ext.discover_joinable_batch(queries, example_lake)) == {"where": "driver"}


@pytest.mark.parametrize("options", [{"min_score": 0.0}, {"rank": "matched", "k": 3}])
def test_tables_of_a_key_are_compared_in_tasks(spark, parted, monkeypatch, options):
    """In tasks if that is asked for, or if the time of this process is over; tables of one family stand in all tasks."""
    spark_ext.enable(spark)
    rng = np.random.default_rng(5)
    df, sdf = pair(spark, word=[f"w{i}" for i in range(20)] * 2, n=[*range(20), *rng.integers(0, 20, 20)], z=[0] * 40)
    want = df.discover_joinable(["word", "n"], parted, **options)
    assert len(want) >= 1 and (options.get("rank") == "matched" or want["n_similar"].max() >= 3)
    hits = sdf.discover_joinable(["word", "n"], parted, where="cluster", **options)
    work = spark_ext.report(hits)
    assert work["tasks"] == {"search": 2} and work["processes"] == 2
    equal(hits, want)
    hits = sdf.discover_joinable(["word", "n"], parted, **options)
    assert spark_ext.report(hits) == {"where": "driver"}
    equal(hits, want)
    monkeypatch.setattr(composite_search, "_SECONDS", -1.0)  # in this process alone
    hits = sdf.discover_joinable(["word", "n"], parted, **options)
    assert spark_ext.report(hits)["tasks"] == {"search": 2}
    equal(hits, want)
    monkeypatch.setattr(several_columns, "require_index", partial(_refuse, InvalidParameterError("not seen by tasks")))
    for where in ("auto", "driver"):
        with pytest.warns(ApproximateResultWarning, match="ended before all tables were compared"):
            assert not sdf.discover_joinable(["word", "n"], parted, where=where, **options).count()
    with pytest.raises(InvalidParameterError, match="not seen by tasks"):
        sdf.discover_joinable(["word", "n"], parted, where="cluster", **options)


def test_points_are_searched_in_tasks(spark, tmp_path):
    """Each task takes some of the points; what they count is added."""
    spark_ext.enable(spark)
    rng = np.random.default_rng(4)
    places = rng.uniform(0, 60, (30, 2)).round(3)
    frames = {f"t{i}": pd.DataFrame(places[5 * i :], columns=["lat", "lon"]).assign(n=i) for i in range(4)}
    lake = dfjoin.build_lake(frames, tmp_path / "ix", engine="inline", progress=False, axes=[["lat", "lon"]])
    df, sdf = pair(spark, lat=[*places[:, 0], 1.0, None], lon=[*places[:, 1], 1.0, 2.0])
    options = {
        "mode": "embedding",
        "radius": 5,
        "radius_unit": "km",
        "rank": "useful",
        "min_score": 0.0,
        "families": False,
    }
    want = df.discover_joinable(["lat", "lon"], lake, **options)
    assert len(want) > 1
    hits = sdf.discover_joinable(["lat", "lon"], lake, where="cluster", **options)
    work = spark_ext.report(hits)
    assert work["tasks"] == {"search": 2} and work["processes"] == 2
    equal(hits, want)
    equal(sdf.discover_joinable(["lat", "lon"], lake, **options), want)


def _refuse(error, *_):
    raise error


def test_a_group_is_searched_by_the_same_task_every_time(spark):
    numbers = spark.range(9).selectExpr("id AS number").collect()
    keys = jobs.task_keys(spark, 9)
    assert len(set(keys)) == 9
    dealt = spark.createDataFrame([(row.number, keys[row.number]) for row in numbers], "number long, key long")
    placed = dealt.repartition(9, "key").selectExpr("number", "spark_partition_id() AS task").collect()
    assert all(row.number == row.task for row in placed)


def test_jobs_are_labelled_and_the_labels_of_the_caller_come_back(spark, query, example_lake, caplog):
    context, (_, sdf) = spark.sparkContext, query
    caplog.set_level("INFO", "dfjoin")
    own = set(context.statusTracker().getJobIdsForGroup("dfjoin"))
    others = set(context.statusTracker().getJobIdsForGroup(None))
    for where in WHERE:
        sdf.discover_joinable("Country", example_lake, where=where)
        sdf.auto_join(example_lake, on="Country", where=where)
    # Spark keeps its last thousand jobs alone: earlier ones may be gone by now.
    assert set(context.statusTracker().getJobIdsForGroup("dfjoin")) - own
    assert set(context.statusTracker().getJobIdsForGroup(None)) <= others
    assert "search: in tasks: " in caplog.text and "join: step 1 of " in caplog.text and "France" not in caplog.text
    context.setJobGroup("mine", "my description")
    try:
        with jobs.described(spark, "a step"):
            assert context.getLocalProperty("spark.job.description") == "dfjoin: a step"
            assert context.getLocalProperty("spark.jobGroup.id") == "mine" and list(context.getJobTags()) == ["dfjoin"]
        assert context.getLocalProperty("spark.job.description") == "my description"
        assert list(context.getJobTags()) == []
    finally:
        for name in ("spark.job.description", "spark.jobGroup.id"):
            context.setLocalProperty(name, None)


@pytest.mark.parametrize("where", [*WHERE, "join"])
def test_cancelled_searches_and_joins_leave_nothing_broken(spark, query, example_lake, tmp_path, where):
    df, sdf = query
    pause, waits = tmp_path / "pause", tmp_path / "waits"
    slow = jobs.in_tasks(sdf.repartition(2), partial(wait_for, pause, waits), sdf.schema)

    def run():
        if where == "join":
            return rows(slow.auto_join(example_lake, on="Country"))
        return rows(slow.discover_joinable("Country", example_lake, k=2, where=where))

    pause.touch()

    def cancel_what_waits():
        while pause.exists():
            if waits.exists():
                spark.sparkContext.cancelJobsWithTag(jobs.TAG)
            time.sleep(0.1)

    cancelling = threading.Thread(target=cancel_what_waits, daemon=True)
    cancelling.start()
    begin = time.monotonic()
    try:
        with pytest.raises(EngineError, match="the jobs were cancelled, by their tag or group"):
            run()
    finally:
        pause.unlink()
        cancelling.join()
    assert time.monotonic() - begin < 25 and list(spark.sparkContext.getJobTags()) == []
    want = df.auto_join(example_lake, on="Country")
    assert run() == rows(want if where == "join" else pd.DataFrame(df.discover_joinable("Country", example_lake, k=2)))


def wait_for(pause, waits, batches):
    """Hand batches on when a file is gone; until then there is another one."""
    while pause.exists():
        waits.touch()
        time.sleep(0.1)
    yield from batches


def test_tasks_run_this_python_whatever_the_session_was_started_with(spark, query, example_lake, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    spark_ext.enable(spark)
    assert spark.sql("select dfjoin_normalize(' A') as a").collect()[0]["a"] == "a"
    assert query[1].discover_joinable("Country", example_lake, k=1, where="cluster").count() == 1
    assert query[1].auto_join(example_lake, on="Country", where="cluster").count() == len(query[0])
    (mine, own), (other, theirs) = pair(spark, d=["1 May 2024", "NA"]), pair(spark, d=["2024-05-01"], n=[1])
    assert rows(own.auto_join(theirs, on="d")) == rows(mine.auto_join(other, on="d"))
    assert spark.sparkContext.pythonExec == "/no/such/python"


def in_two_files(spark, sdf, place):
    """Write a frame as two files, and read these as a stream of two micro-batches."""
    for part in range(2):
        sdf.where(f"hash(Country) % 2 {'=' if part else '!='} 0").write.parquet(str(place / str(part)))
    return spark.readStream.schema(sdf.schema).option("maxFilesPerTrigger", 1).parquet(str(place / "*"))


@pytest.mark.parametrize("by", ["plan", "hits"])
def test_a_stream_is_joined_by_a_plan_and_by_picked_hits(spark, query, example_lake, tmp_path, by):
    df, sdf = query
    if by == "plan":
        other = df.auto_join(example_lake, on="Country").attrs["dfjoin"]["plan"]
        want = df.auto_join(other)
    else:
        hits = sdf.limit(9).discover_joinable("Country", example_lake, k=3)
        first = df.discover_joinable("Country", example_lake, k=3).iloc[[0]]
        other, want = hits.where(hits["table"] == first["table"].iloc[0]), df.auto_join(first)
    stream = in_two_files(spark, sdf, tmp_path / "in")
    out = str(tmp_path / "out")

    def run():
        writer = stream.auto_join(other).writeStream.format("parquet").trigger(availableNow=True)
        run = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(out)
        assert run.awaitTermination(120)
        return [progress["numInputRows"] for progress in run.recentProgress if progress["numInputRows"]]

    batches = run()
    assert len(batches) >= 2 and sum(batches) == len(df)
    assert rows(spark.read.parquet(out)) == rows(want)
    assert run() == []  # the checkpoint tells that all was joined
    sdf.limit(1).write.parquet(str(tmp_path / "in" / "2"))
    assert run() == [1]
    assert spark.read.parquet(out).count() == len(want) + 1


def test_the_state_of_an_enriched_stream_outlives_a_restart(spark, query, example_lake, tmp_path):
    df, sdf = query
    hits = sdf.discover_joinable("Country", example_lake, k=1)
    stream, counts = in_two_files(spark, sdf, tmp_path / "in"), []

    def run():
        wide = stream.auto_join(hits, how="inner").groupBy("Country").count()
        writer = wide.writeStream.outputMode("complete").trigger(availableNow=True)
        writer = writer.foreachBatch(lambda batch, _: counts.append(dict(map(tuple, batch.collect()))))
        assert writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(120)
        return counts[-1]

    known = df.auto_join(df.discover_joinable("Country", example_lake, k=1), how="inner")["Country"].value_counts()
    assert run() == known.to_dict()
    country = known.index[0]
    sdf.where(sdf["Country"] == country).write.parquet(str(tmp_path / "in" / "2"))
    assert run() == {**known.to_dict(), country: 2 * known[country]}


def test_what_a_stream_does_not_tell_is_refused(spark, query, example_lake, build, tmp_path):
    df, sdf = query
    sdf.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(sdf.schema).parquet(str(tmp_path / "in"))
    plan = df.auto_join(example_lake, on="Country").attrs["dfjoin"]["plan"]
    hits = sdf.discover_joinable("Country", example_lake, k=1)
    lands = [*df["Country"].dropna().unique()]
    many = pd.DataFrame({"Country": lands * 5, "n": range(5 * len(lands))})
    near = pd.DataFrame({"land": [f"{name}x" for name in lands], "m": range(len(lands))})
    lake = build(
        {"many": many, "near": near, "days": pd.DataFrame({"day": ["2 January 2020", "3 May 2021"], "x": [1, 2]})}
    )
    dated = pd.DataFrame({"Country": ["2020-01-02", "2021-05-03"]})
    days = dated.auto_join(dated.discover_joinable("Country", lake, tables="days", rank="matched"))
    days = days.attrs["dfjoin"]["plan"]
    likely = df.discover_joinable("Country", lake, mode="fuzzy", radius=0.3, tables="near", rank="matched")
    likely = df.auto_join(likely).attrs["dfjoin"]["plan"]
    many = df.auto_join(lake, on="Country", aggregate=None, max_expansion=9).attrs["dfjoin"]["plan"]
    refused = {
        "`df` must not be a stream for a search": lambda: stream.discover_joinable("Country", example_lake),
        "`df` must not be a stream where something is decided": lambda: stream.auto_join(example_lake),
        "`how` must be 'left', 'inner' or 'asof' for a stream": lambda: stream.auto_join({**plan, "how": "outer"}),
        "`max_expansion` must be at least 5 for this stream": lambda: stream.auto_join({**many, "max_expansion": 2.0}),
        "`df` must not be a stream where keys are dates": lambda: stream.auto_join(days),
        "`df` must not be a stream where keys are related by distance": lambda: stream.auto_join(likely),
        "`other` has hits that this process did not search for": lambda: (
            spark_search.searched_frames.clear(),
            stream.auto_join(hits),
        ),
    }
    read = {
        "a stream has no rows that": lambda: sdf.auto_join(stream, on="Country"),
        "can be read at once": lambda: spark_ext.explain(hits, stream),
        "pass a frame of some of its rows": lambda: stream.dfjoin.discover_joinable_batch(
            lake, name="Country", value="Country"
        ),
    }
    for text, run in (read | refused).items():
        with pytest.raises(InvalidParameterError, match=text):
            run()


def test_a_session_that_has_ended_is_told(query, example_lake, monkeypatch):
    _, sdf = query
    monkeypatch.setattr(sdf.sparkSession.sparkContext, "_jsc", None)
    for run in (lambda: sdf.discover_joinable("Country", example_lake), lambda: sdf.auto_join(example_lake)):
        with pytest.raises(EngineError, match="the session has ended that the frame or the call is of; start one"):
            run()


def test_a_result_explains_itself_after_filters(query, example_lake):
    df, sdf = query
    want = df.discover_joinable("Country", example_lake, k=4)
    hits = sdf.discover_joinable("Country", example_lake, k=4)
    chosen = hits.where(hits["table"] == want["table"][2])
    assert str(spark_ext.explain(chosen, sdf)) == str(chosen.dfjoin.explain(sdf)) == str(want.explain(2))
    equal(spark_ext.pairs(hits, sdf, 1), want.pairs(1))
    equal(hits.dfjoin.pairs(sdf, 0), want.pairs(0))
    with pytest.raises(InvalidParameterError, match="`i` must be a position in this result of 1 rows, got 3"):
        spark_ext.explain(chosen, sdf, 3)
    with pytest.raises(InvalidParameterError, match="`hits` must be what discover_joinable of a Spark DataFrame"):
        spark_ext.explain(sdf, sdf)
    with pytest.raises(InvalidParameterError, match="which the frame does not match now"):
        spark_ext.explain(hits, sdf.where("Country = 'nowhere'"))
    with pytest.raises(InvalidParameterError, match="`hits` must keep the columns that name its candidates"):
        spark_ext.explain(hits.drop("column"), sdf)


def test_metadata_of_a_table_opens_no_index(query, example_lake):
    """Whoever writes a table writes its metadata: they are no reason to open what they name."""
    _, sdf = query
    hits = sdf.discover_joinable("Country", example_lake, k=1)
    reported = json.loads(hits.schema["table"].metadata["dfjoin"])
    wrong = hits.withMetadata("table", {"dfjoin": json.dumps({**reported, "index": "/data/of/others"})})
    for call in (lambda: wrong.dfjoin.explain(sdf), lambda: sdf.auto_join(wrong)):
        with pytest.raises(
            InvalidParameterError, match=r"'/data/of/others', which this process has not opened; if you tr"
        ):
            call()


def test_too_many_values_go_to_the_cluster(query, example_lake, monkeypatch):
    df, sdf = query
    monkeypatch.setattr(spark_search, "MOST_VALUES", 3)
    equal(sdf.discover_joinable("Country", example_lake), df.discover_joinable("Country", example_lake))
    with pytest.raises(InvalidParameterError, match='`where` "driver" brings at most 3 distinct values'):
        sdf.discover_joinable("Country", example_lake, where="driver")
    with pytest.raises(InvalidParameterError, match="has more; join the table by a plan"):
        spark_ext.explain(sdf.discover_joinable("Country", example_lake, where="cluster"), sdf)


def test_tasks_that_do_not_find_the_index(query, tmp_path):
    index = tmp_path / "here"
    lake = dfjoin.build_lake({"t": query[0]}, index, engine="inline", progress=False)
    index.rename(tmp_path / "there")
    with pytest.raises(InvalidParameterError, match=r'must lie where tasks read it.*pass where="driver"'):
        query[1].discover_joinable("Country", lake, where="cluster")


def test_points_are_made_distinct_in_tasks(spark, query, example_lake, monkeypatch):
    """The bound counts distinct rows; where the rows are too many, each that is repeated comes twice."""
    sdf = query[1]
    on = ["Country", "Postal"]
    few = sdf.select(*on).limit(3)
    many = few.unionByName(few).unionByName(few)
    n_distinct = few.distinct().count()
    monkeypatch.setattr(spark_search, "MOST_VALUES", n_distinct)
    assert len(spark_search.collect_points(few, on)) == 3
    points = spark_search.collect_points(many, on)
    assert len(points) == 2 * n_distinct and len(points.drop_duplicates()) == n_distinct
    monkeypatch.setattr(spark_search, "MOST_VALUES", n_distinct - 1)
    with pytest.raises(InvalidParameterError, match=r"must be one column where a frame has more than .* distinct rows"):
        few.discover_joinable(on, example_lake)


@pytest.mark.parametrize("on", ["Country", ["Country", "Opened"]])
def test_columns_are_named_as_the_session_compares_names(query, example_lake, on):
    df, sdf = query
    upper = [name.upper() for name in on] if isinstance(on, list) else on.upper()
    equal(sdf.discover_joinable(upper, example_lake, min_score=0), df.discover_joinable(on, example_lake, min_score=0))


def test_arguments(query, example_lake, monkeypatch):
    _, sdf = query
    for wrong in ("bogus", "n_threads"):
        with pytest.raises(TypeError, match=f"got an unexpected keyword argument '{wrong}'"):
            sdf.dfjoin.discover_joinable_batch(example_lake, name="Country", value="Country", **{wrong: 1})
    with pytest.raises(InvalidParameterError, match="`where` must be one of"):
        sdf.discover_joinable("Country", example_lake, where="there")
    with pytest.raises(InvalidParameterError, match="`progressive` returns two results"):
        sdf.discover_joinable("Country", example_lake, mode="lsh", progressive=True)
    with pytest.raises(InvalidParameterError, match="`aliases` are searched for by a frame of pandas"):
        sdf.discover_joinable("Country", example_lake, aliases=True)
    with pytest.raises(ColumnNotFoundError, match=r"`on` must name a column of the frame .*did you mean 'Country'"):
        sdf.discover_joinable("Cuntry", example_lake)
    twice = sdf.selectExpr("Country as x", "Postal as X")
    with pytest.raises(InvalidParameterError, match="2 columns of the frame are called 'x' in this session"):
        twice.discover_joinable("x", example_lake)
    with pytest.raises(InvalidParameterError, match=r"columns of the same name \('X', 'x'\)"):
        twice.discover_joinable("*", example_lake)
    with pytest.raises(InvalidParameterError, match="must be at most 8 different columns"):
        sdf.discover_joinable(["Country", "COUNTRY"], example_lake)
    with pytest.raises(InvalidTypeError, match="the column comes first"):
        sdf.discover_joinable(example_lake, "Country")
    with pytest.raises(ColumnNotFoundError, match="at least one column whose values have a text"):
        sdf.selectExpr("array(1) as a").discover_joinable("*", example_lake)
    monkeypatch.setattr("spark_ext.queries.MOST_ROWS", 5)
    with pytest.raises(InvalidParameterError, match="`weighted` counts rows up to 5"):
        sdf.discover_joinable("Country", example_lake, weighted=True)


def test_enabling_is_harmless_and_nothing_is_patched_before(spark):
    program = (
        "import pyspark.sql, spark_ext\n"
        "names = ('dfjoin', 'auto_join', 'discover_joinable')\n"
        "assert not any(hasattr(pyspark.sql.DataFrame, n) for n in names)\n"
        "spark_ext.enable(); first = pyspark.sql.DataFrame.auto_join; spark_ext.enable()\n"
        "assert pyspark.sql.DataFrame.auto_join is first\n"
        "import inspect, dfjoin\n"
        "own = list(inspect.signature(first).parameters)\n"
        "assert own[2:-1] == list(inspect.signature(dfjoin.auto_join).parameters)[2:] and own[-1] == 'where'\n"
        "assert inspect.signature(first).return_annotation is pyspark.sql.DataFrame\n"
        "print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "fine", done.stderr[-2000:]


def test_pandas_on_spark(spark, query, example_lake):
    try:
        import pyspark.pandas as ps
    except ImportError:  # pandas 3.1 with pyspark 4.3
        pytest.skip("pyspark.pandas cannot be imported with this pandas")
    spark_ext.enable(spark)
    df, sdf = query
    ps.set_option("compute.fail_on_ansi_mode", False)
    found = sdf.pandas_api().discover_joinable("Country", example_lake, k=2)
    assert type(found).__module__.startswith("pyspark.pandas")
    assert found["table"].to_list() == df.discover_joinable("Country", example_lake, k=2)["table"].tolist()
    wide = sdf.pandas_api().auto_join(example_lake, on="Country")
    assert "iso2" in wide.columns


@pytest.mark.slow
def test_long_query_columns_are_searched_by_ranges_of_their_values(spark, parted, monkeypatch):
    """Each value goes to one task, once; rows and numbers are those of pandas."""
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_search, "MOST_VALUES", 12)
    monkeypatch.setattr(long_search, "_RANGE_VALUES", 15)
    words = [f"W{i} " for i in range(40)] + ["w3", "W 3", None, "", "na", "-", "w3"]
    dates = [f"{1 + i % 28:02}/{1 + i % 12:02}/2020" for i in range(46)] + ["13/01/2020"]
    df, sdf = pair(spark, word=words, z=list(range(47)), day=dates, few=[f"w{i % 5}" for i in range(47)])
    for options in (
        {"k": 30, "families": False, "exclude": ["*same1"]},
        {"rank": "matched", "k": 7, "threshold": 0.4},
        {"weighted": True, "k": 5, "pad": 3},
    ):
        want = df.discover_joinable("word", parted, **options)
        assert len(want), options
        found = sdf.repartition(3).discover_joinable("word", parted, where="cluster", **options)
        equal(found, want)
        assert found.dfjoin.report()["tasks"] == {"search": 3}, options
    with monkeypatch.context() as patch:
        patch.setattr(long_search, "MOST_ROWS", 5)
        with pytest.raises(InvalidParameterError, match="`weighted` counts rows up to 5 of a Spark DataFrame, and 'w"):
            sdf.discover_joinable("word", parted, where="cluster", weighted=True)
    want = df.discover_joinable("*", parted, k=20, min_score=0.0)
    assert set(want["query_column"]) >= {"word", "few", "z"}
    found = sdf.discover_joinable("*", parted, k=20, min_score=0.0)
    equal(found, want)
    assert found.dfjoin.report()["tasks"]["merge"] == 1
    queries = sdf.selectExpr("'a' AS query_column", "word AS value").union(sdf.selectExpr("'b'", "few")).distinct()
    columns = {"a": list(dict.fromkeys(words)), "b": [f"w{i}" for i in range(5)]}
    for mode in ("exact", "lsh"):
        want = dfjoin.discover_joinable_batch(columns, parted, k=3, mode=mode)
        equal(queries.dfjoin.discover_joinable_batch(parted, k=3, mode=mode, where="cluster"), want)


def test_values_are_counted_only_where_they_may_be_many(spark, query, example_lake, caplog, tmp_path):
    """Spark knows how few bytes a frame has: no job counts its values, and nothing is kept for a second one."""
    caplog.set_level("INFO", "dfjoin")
    _, sdf = query
    sdf.write.parquet(str(tmp_path / "few"))
    many = sdf.crossJoin(spark.range(200_000)).select("Country")
    for frame, is_counted in ((sdf, False), (spark.read.parquet(str(tmp_path / "few")), False), (many, True)):
        caplog.clear()
        frame.discover_joinable("Country", example_lake, where="cluster", k=1)
        assert ("search: count the values" in caplog.text) == is_counted
    assert transfer.estimated_bytes(object()) is None


def test_rows_of_a_plan_are_bounded_by_what_spark_has_counted(spark, tmp_path):
    spark.range(20).selectExpr("id", "id % 3 AS v").write.parquet(str(tmp_path / "twenty"))
    stored = spark.read.parquet(str(tmp_path / "twenty"))
    assert transfer.most_rows(stored) is None and transfer.most_rows(spark.range(20).groupBy("id").count()) == 20
    with jobs.kept(stored) as frame:
        assert transfer.most_rows(frame.where("v > 0")) is None  # not read yet
        assert frame.count() == 20
        assert transfer.most_rows(frame.where("v > 1").groupBy("v").count()) == 20
        twice = frame.select("v", F.explode(F.array("v", "v")).alias("w")), frame.union(frame), frame.join(frame, "v")
        assert [transfer.most_rows(more) for more in twice] == [None] * 3
    assert transfer.most_rows(object()) is None


def test_rows_are_kept_where_the_session_allows_it():
    class Serverless:
        def persist(self):
            raise RuntimeError("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported")

    frame = Serverless()
    with jobs.kept(frame) as rows_:
        assert rows_ is frame


@pytest.mark.parametrize("dayfirst", [None, False])
def test_what_a_whole_long_column_decides_is_decided_once(spark, build, monkeypatch, dayfirst):
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_search, "MOST_VALUES", 3)
    monkeypatch.setattr(long_search, "_RANGE_VALUES", 12)
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d").tolist()
    codes = [a + b for a in "abcdef" for b in "mnopqa"]
    lake = build({"days": pd.DataFrame({"day": days}), "codes": pd.DataFrame({"code": [*codes, "na"]})})
    texts = [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in days]
    df, sdf = pair(spark, day=[*texts, "n/a", "NA"], code=[*codes, "NA", *codes[:5]], n=list(range(42)))
    for name in ("day", "code") if dayfirst is None else ("day",):
        want = df.discover_joinable(name, lake, dayfirst=dayfirst, rank="matched")
        assert len(want) or dayfirst is False
        equal(sdf.discover_joinable(name, lake, dayfirst=dayfirst, rank="matched", where="cluster"), want)
