"""SQL of a person: what it computes, and what it cannot reach."""

import ast
import threading
import time

import pandas as pd
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.page.sql_query import SqlLimits, run_query
from dfjoin.page.steps import RunSql

DF = pd.DataFrame({"a": [3, 1, 2], "b": ["x", "y", None]})


def test_a_query_sees_the_table_and_nothing_of_python():
    secret = pd.DataFrame({"a": [1]})
    assert run_query(DF, "SELECT a, b FROM t ORDER BY a")["a"].tolist() == [1, 2, 3]
    with pytest.raises(InvalidParameterError, match="secret does not exist"):
        run_query(DF, "SELECT * FROM secret")
    assert len(secret) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM sniff_csv('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
        "SELECT getenv('HOME')",
        "COPY t TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{file}'",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA enable_profiling",
        "CREATE TABLE u AS SELECT 1",
        "DROP VIEW t",
        "SELECT 1; SELECT 2",
        "",
        "-- nothing",
    ],
)
def test_what_is_no_select_over_the_table_is_refused(query, tmp_path):
    file = tmp_path / "secret.csv"
    file.write_text("password\nhunter2\n")
    with pytest.raises(InvalidParameterError) as error:
        run_query(DF, query.format(file=file, folder=tmp_path))
    assert "hunter2" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]


def test_one_statement_is_asked_for():
    with pytest.raises(InvalidParameterError, match=r"`query` must be one SELECT over the table t; write a single"):
        run_query(DF, "DROP VIEW t")


@pytest.mark.parametrize("cell", ["INTERVAL 1 DAY", "[INTERVAL 1 DAY]", "union_value(n := 2)"])
def test_a_type_that_is_not_kept_is_refused(cell):
    with pytest.raises(InvalidParameterError, match=r"the result of the query cannot be a table .*; cast its columns"):
        run_query(DF, f"SELECT {cell} AS x FROM t")


SLOW = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"


def test_a_long_query_ends_at_its_time():
    start = time.monotonic()
    with pytest.raises(InvalidParameterError, match=r"^the query was stopped: it took more than 0.5 seconds$"):
        run_query(DF, SLOW, SqlLimits(seconds=0.5))
    assert time.monotonic() - start < 5


def test_a_query_ends_when_the_person_leaves():
    left = threading.Event()
    threading.Timer(0.3, left.set).start()
    with pytest.raises(InvalidParameterError, match=r"^the query was stopped: it was cancelled$"):
        run_query(DF, SLOW, SqlLimits(seconds=30, is_left=left.is_set))


def test_memory_and_result_are_bounded():
    with pytest.raises(InvalidParameterError, match=r"result has more than 16 MB; add a LIMIT or a condition"):
        run_query(DF, "SELECT range AS a, range AS b FROM range(10000000)", SqlLimits(memory=16 << 20))
    with pytest.raises(InvalidParameterError, match="Out of Memory"):
        run_query(DF, "SELECT list(range) FROM range(100000000)", SqlLimits(memory=64 << 20))


def test_an_error_has_the_words_of_duckdb_and_its_place():
    with pytest.raises(InvalidParameterError, match=r"Binder Error.*\"c\" not found"):
        run_query(DF, "SELECT c FROM t")
    with pytest.raises(InvalidParameterError, match=r"Parser Error[\s\S]*LINE 2: FROM FROM t"):
        run_query(DF, "SELECT a\nFROM FROM t")


def test_texts_that_duckdb_does_not_count_are_bounded():
    with pytest.raises(InvalidParameterError, match=r"Out of Memory|it needs more than 64 MB"):
        run_query(DF, "SELECT repeat('x', 1000000) AS s FROM range(2500)", SqlLimits(memory=64 << 20))
    with pytest.raises(InvalidParameterError, match=r"`query` must have at most 100,000 characters, got 100,001"):
        run_query(DF, "x" * 100_001)


def test_whole_numbers_decimals_and_dates_keep_their_type():
    made = run_query(DF, "SELECT sum(a) AS s, 1.5 * count(*) AS m, DATE '2024-01-02' AS d FROM t")
    assert (
        made["s"].tolist() == [6] and made["m"].tolist() == [4.5] and made["d"].tolist() == [pd.Timestamp("2024-01-02")]
    )
    assert [str(dtype) for dtype in made.dtypes] == ["Int64", "float64", "datetime64[ms]"]
    exact = run_query(DF, "SELECT 9007199254740993 AS x UNION ALL SELECT NULL")["x"]
    assert exact.dropna().tolist() == [9007199254740993]


@pytest.mark.parametrize(
    "query", ["SELECT 'a\x00b' AS x", "SELECT length('a\rb') AS x", "SELECT '\\' || '\t\"\"\"' AS x"]
)
def test_the_code_of_a_query_can_be_run(query):
    assert compile(RunSql(query).code(), "script.py", "exec") and "\x00" not in RunSql(query).code()
    assert (
        ast.literal_eval(RunSql(query).code().partition("connection.sql(")[2].rpartition(").to_arrow")[0]).strip()
        == query
    )
