"""Frames of polars, Arrow and DuckDB in the public functions: what goes in comes out, and errors say what is wrong."""

import gc
import subprocess
import sys
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from tests.benchmarks.frame_cases import in_kind, make_case, outcome

KINDS = ("polars", "lazy", "arrow", "duckdb")
PEOPLE = pl.DataFrame({"name": ["Ann", "Bo", "Cy"], "land": ["peru", "CHAD", None]})
LANDS = pl.DataFrame({"land": ["Peru", "Chad"], "area": pl.Series([1285216, 1284000], dtype=pl.UInt32)})


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    areas = {"lands": LANDS, "capitals": pa.table({"land": ["Peru", "Chad"], "capital": ["Lima", "N'Djamena"]})}
    index = tmp_path_factory.mktemp("frames") / "lake"
    return dfjoin.build_lake(areas, index, engine="inline", progress=False)


def in_polars(frame):
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.from_arrow(pa.table(frame))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_joins_are_those_of_pandas(connection, seed):
    case = make_case(seed)
    wanted = outcome(*(in_kind(frame, "pandas", connection) for frame in (case.left, case.right)), case.options)
    for kind in KINDS:
        sides = (in_kind(frame, kind, connection) for frame in (case.left, case.right))
        assert outcome(*sides, case.options) == wanted, (kind, case)


@pytest.mark.parametrize("kind", KINDS)
def test_what_goes_in_comes_out_with_its_report(connection, lake, kind):
    frame = in_kind(PEOPLE, kind, connection)
    for other in (
        lake,
        in_kind(LANDS, kind, connection),
        LANDS.to_pandas(),
        dfjoin.discover_joinable(frame, "land", lake),
    ):
        wide = dfjoin.auto_join(frame, other, on=None if isinstance(other, dfjoin.JoinCandidates) else "land")
        assert type(wide) is type(frame)
        assert in_polars(wide).select("name", "land").rows() == PEOPLE.rows()
        report = dfjoin.report(wide).to_dict()
        assert [step["rows_matched"] for step in report["joined"][:1]] == [2]
    again = dfjoin.auto_join(frame, dfjoin.report(dfjoin.auto_join(frame, lake, on="land")).to_dict()["plan"])
    assert in_polars(again)["area"].to_list() == [1285216, 1284000, None]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_a_lake_come_with_the_types_of_their_table(connection, lake, kind):
    wide = in_polars(dfjoin.auto_join(in_kind(PEOPLE, kind, connection), lake, on="land", tables="lands"))
    assert wide.schema["area"] == pl.UInt32


def test_a_second_join_passes_over_what_was_joined_before(lake):
    once = dfjoin.auto_join(PEOPLE, lake, on="land")
    twice = dfjoin.auto_join(once, lake, on="land")
    assert sorted(twice.columns) == ["area", "capital", "land", "name"]


@pytest.mark.parametrize("kind", KINDS)
def test_searches_are_those_of_pandas(connection, lake, kind):
    frame = in_kind(PEOPLE, kind, connection)
    wanted = dfjoin.discover_joinable(PEOPLE.to_pandas(), "land", lake)
    found = dfjoin.discover_joinable(frame, "land", lake)
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(wanted))
    assert found.pairs(0).to_numpy().tolist() == wanted.pairs(0).to_numpy().tolist()
    assert str(found.explain(0)) == str(wanted.explain(0))
    every = dfjoin.discover_joinable(frame, lake=lake)
    assert every["query_column"].unique().tolist() == ["land"]
    assert lake.paths(frame, "lands").equals(lake.paths(PEOPLE.to_pandas(), "lands"))


def test_a_result_of_a_search_goes_to_polars_and_arrow(lake):
    found = dfjoin.discover_joinable(PEOPLE, "land", lake)
    table, frame = found.to_arrow(), found.to_polars()
    assert table.column_names == frame.columns == list(found.columns)
    assert table["matched"].to_pylist() == frame["matched"].to_list() == found["matched"].tolist()
    assert found.iloc[:0].to_polars().columns == list(found.columns)


def test_query_columns_may_be_of_any_library(lake):
    columns = {
        "polars": PEOPLE["land"],
        "arrow": pa.chunked_array([["peru"], ["CHAD"]]),
        "array": pa.array(["peru", None, "CHAD"], pa.string_view()),
        "huge": pl.Series([1], dtype=pl.Int128),
    }
    found = dfjoin.discover_joinable_batch(columns, lake, rank="matched")
    assert found.groupby("query_column")["matched"].agg(list).to_dict() == {
        name: [2, 2] for name in ("array", "arrow", "polars")
    }


def test_containment_joins_take_columns_of_polars():
    sets = pl.Series([["sql"], ["sql", "java"]])
    assert dfjoin.containment_join(sets, sets.to_arrow()).to_frame()[["left", "right"]].to_numpy().tolist() == [
        [0, 0], [0, 1], [1, 1]
    ]  # fmt: skip


def test_the_namespace_of_polars(lake):
    assert PEOPLE.dfjoin.discover_joinable("land", lake)["matched"].tolist() == [2, 2]
    wide = PEOPLE.lazy().dfjoin.auto_join(LANDS, on="land")
    assert wide.collect()["area"].to_list() == [1285216, 1284000, None]


@pytest.mark.parametrize(
    "order",
    [
        "import dfjoin, sys, importlib.util\nassert importlib.util.find_spec('polars') and 'polars' not in sys.modules\nimport polars",
        "import polars, dfjoin",
    ],
)
def test_the_namespace_is_there_in_any_order_of_imports(order):
    code = f"{order}\nprint(polars.DataFrame({{'a': [1]}}).dfjoin, polars.LazyFrame.dfjoin)\nimport polars.selectors"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.count("DfjoinNamespace") == 2, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.modules['polars'] = None; import dfjoin",
        "import sys, types; sys.modules['polars'] = types.ModuleType('polars'); import dfjoin",
        "import sys, types; polars = types.ModuleType('polars'); polars.DataFrame = list; sys.modules['polars'] = polars; "
        "import dfjoin",
        "import dfjoin, sys; sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != '_PolarsFinder']; "
        "import polars",
        "import dfjoin, sys; own = next(f for f in sys.meta_path if type(f).__name__ == '_PolarsFinder'); "
        "spec = own.find_spec('polars', None); sys.meta_path.remove(own); import importlib.util; "
        "module = importlib.util.module_from_spec(spec); sys.modules['polars'] = module; "
        "spec.loader.exec_module(module); assert module.DataFrame.dfjoin",
    ],
)
def test_another_polars_or_none_is_no_obstacle(program):
    check = "; import pandas as pd; pd.DataFrame({'a': ['x']}).auto_join(pd.DataFrame({'a': ['x'], 'b': [1]}), on='a')"
    subprocess.run([sys.executable, "-c", program + check], check=True, timeout=60)


def test_a_file_of_the_caller_may_be_named_polars(tmp_path):
    (tmp_path / "polars.py").write_text("here = 1", encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import dfjoin; import polars; assert polars.here"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_other_frames_of_arrow_come_back_as_they_are():
    batch = PEOPLE.to_arrow().combine_chunks().to_batches()[0]
    assert isinstance(dfjoin.auto_join(batch, LANDS, on="land"), pa.RecordBatch)
    empty = dfjoin.auto_join(batch.slice(0, 0), LANDS, on="land", on_no_match="ignore")
    assert (type(empty), empty.num_rows, empty.schema.names) == (pa.RecordBatch, 0, ["name", "land", "area"])
    reader = dfjoin.auto_join(PEOPLE.to_arrow().to_reader(), LANDS, on="land")
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all()["area"].to_pylist() == [1285216, 1284000, None]

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return PEOPLE.to_arrow().__arrow_c_stream__(requested_schema)

    assert isinstance(dfjoin.auto_join(Stream(), Stream(), on="land", how="inner"), pa.Table)


def test_a_lazy_frame_is_collected_once():
    runs = []

    def watched(frame):
        runs.append(len(frame))
        return frame

    lazy = PEOPLE.lazy().map_batches(watched, schema=PEOPLE.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dfjoin.auto_join(lazy, LANDS.lazy(), on="land").collect()
    assert runs == [3]


def test_a_relation_stays_in_its_connection(connection):
    connection.sql("CREATE OR REPLACE TEMP TABLE lands AS SELECT * FROM (VALUES ('Peru', 1)) AS t(land, area)")
    wide = dfjoin.auto_join(connection.sql("SELECT 'PERU' AS land"), connection.table("lands"), on="land")
    assert wide.join(connection.table("lands").set_alias("l"), "area").fetchall() == [("PERU", 1, "Peru")]


@pytest.mark.parametrize("setting", ["true", "false"])
def test_tables_of_a_connection_do_not_stand_in_for_the_result(setting):
    with duckdb.connect(config={"threads": 1}) as own:
        for name in ("dfjoin_result", "table", "given"):
            own.execute(f"CREATE TABLE \"{name}\" AS SELECT 'WRONG' AS a, 666 AS b, 667 AS c")
        own.execute("CREATE TEMP VIEW dfjoin_given AS SELECT 1 AS mine")
        own.execute(f"SET python_enable_replacements = {setting}")
        made = dfjoin.auto_join(own.sql("SELECT 'x' AS a, 1 AS b"), pa.table({"a": ["x"], "c": [2]}), on="a")
        assert made.fetchall() == [("x", 1, 2)]
        assert own.execute("SELECT * FROM dfjoin_given").fetchall() == [(1,)]
        assert own.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == [("dfjoin_given",)]
        assert str(own.execute("SELECT current_setting('python_enable_replacements')").fetchone()[0]).lower() == setting


def test_names_are_free_as_duckdb_compares_them(connection):
    frame = connection.sql("SELECT 'x' AS k, 1 AS V")
    made = dfjoin.auto_join(frame, pa.table({"k": ["x"], "v": [2]}), on="k", transform=False, fuzzy=False)
    step = dfjoin.report(made).to_dict()["plan"]["steps"][0]
    assert made.columns == ["k", "V", step["names"]["v"]]
    assert step["names"]["v"].casefold() != "v"
    assert made.fetchall() == [("x", 1, 2)]


def test_to_a_frame_of_pandas_others_are_joined_as_pandas(connection):
    people = PEOPLE.to_pandas()
    for kind in KINDS:
        wide = people.auto_join(in_kind(LANDS, kind, connection), on="land")
        assert type(wide) is pd.DataFrame
        assert str(wide["area"].dtype) == "UInt32"
    objects = pl.DataFrame({"land": ["peru"], "v": pl.Series([{1}], dtype=pl.Object)})
    assert people.auto_join(objects, on="land")["v"].tolist()[0] == {1}


def test_pandas_with_arrow_dtypes_keeps_them():
    people = PEOPLE.to_pandas(use_pyarrow_extension_array=True)
    wide = people.auto_join(LANDS.to_pandas(use_pyarrow_extension_array=True), on="land")
    assert [str(dtype) for dtype in wide.dtypes] == [
        "large_string[pyarrow]",
        "large_string[pyarrow]",
        "uint32[pyarrow]",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_empty_frames(connection, lake, kind):
    frame = in_kind(PEOPLE.clear(), kind, connection)
    wide = dfjoin.auto_join(frame, lake, on="land", on_no_match="ignore")
    assert in_polars(wide).schema == PEOPLE.schema
    wide = dfjoin.auto_join(frame, in_kind(LANDS.clear(), kind, connection), on="land", on_no_match="ignore")
    assert in_polars(wide).schema == {**PEOPLE.schema, "area": pl.UInt32}


def test_columns_of_one_name():
    twice = pa.Table.from_arrays([pa.array(["Peru"]), pa.array([1]), pa.array([2])], names=["land", "x", "x"])
    wide = dfjoin.auto_join(twice, LANDS, on="land")
    assert wide.column_names == ["land", "x", "x", "area"]
    assert wide.columns[2].to_pylist() == [2]
    with pytest.raises(InvalidParameterError, match=r"`other` has columns of the same name \('x'\); rename them"):
        dfjoin.auto_join(LANDS, twice, on="land")


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([["a"]]),
        pl.Series([{"a": 1}]),
        pl.Series([b"a"]),
        pl.Series([["a"]], dtype=pl.Array(pl.String, 1)),
        pl.Series([{1}], dtype=pl.Object),
    ],
    ids=["list", "struct", "binary", "array", "object"],
)
def test_nested_keys_are_refused(values, lake):
    frame = pl.DataFrame({"k": values, "land": ["peru"]})
    text = r"`on` must name a column of text, numbers, dates or booleans; 'k' holds .*: turn its values into text first"
    with pytest.raises(InvalidTypeError, match=text):
        dfjoin.auto_join(frame, LANDS, on="k", right_on="land")
    with pytest.raises(InvalidTypeError, match=text):
        dfjoin.discover_joinable(frame, "k", lake)
    assert dfjoin.auto_join(frame, lake, on="land", tables="lands")["area"].to_list() == [1285216]


def test_what_is_no_frame_is_refused(lake):
    text = (
        r"`{}` must be a frame, got pyarrow.lib.ChunkedArray, whose Arrow stream is none of a table .*; give its values"
    )
    with pytest.raises(InvalidTypeError, match=text.format("df")):
        dfjoin.auto_join(pa.chunked_array([[1]]), lake)
    with pytest.raises(InvalidTypeError, match=text.format("other")):
        dfjoin.auto_join(PEOPLE, pa.chunked_array([[1]]))
    with pytest.raises(InvalidTypeError, match=r"`df` must be a DataFrame of pandas or polars, .*, got list"):
        dfjoin.auto_join([1], lake)
    with pytest.raises(InvalidTypeError, match="got a DataFrame; give the table a name"):
        dfjoin.build_lake(PEOPLE, "nowhere", engine="inline")
    with pytest.raises(InvalidTypeError, match="got a dict of frames"):
        dfjoin.auto_join(PEOPLE, {"lands": LANDS})
    with pytest.raises(InvalidParameterError, match="`df` carries no join report"):
        dfjoin.report(PEOPLE)


def test_a_report_lives_as_long_as_its_frame():
    from dfjoin.frames.given_frame import _attrs

    gc.collect()
    before = len(_attrs)
    wide = dfjoin.auto_join(PEOPLE, LANDS, on="land")
    assert len(_attrs) == before + 1
    del wide
    gc.collect()
    assert len(_attrs) == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_augmenter_gives_back_what_it_got(connection, tmp_path, kind):
    land = [f"{a}{b}" for a in ["al", "be", "co", "du"] for b in ["ran", "nia", "stan", "land", "mark", "via"]]
    area = pl.DataFrame({"land": land, "area": np.linspace(1, 9, 24)})
    lake = dfjoin.build_lake({"area": area}, tmp_path / "lake", engine="inline", progress=False)
    X = pl.DataFrame({"land": pl.Series(land * 5, dtype=pl.Enum(land)), "weight": np.linspace(1, 3, 120)})
    y = 2 * np.tile(area["area"], 5) ** 0.5 + X["weight"].to_numpy()
    augmenter = dfjoin.LakeAugmenter(lake, select="relevance").fit(in_kind(X, kind, connection), pl.Series(y))
    assert augmenter.features_ == ["area"]
    made = augmenter.transform(in_kind(X.head(2), kind, connection))
    assert type(made) is type(in_kind(X, kind, connection))
    assert in_polars(made)["area"].to_list() == area["area"].head(2).to_list()
    assert augmenter.transform(X.head(1)).schema == {**X.schema, "area": pl.Float64}
    with_target = X.with_columns(y=y)
    fitted = dfjoin.LakeAugmenter(lake, select="relevance", target="y").fit(in_kind(with_target, kind, connection))
    assert in_polars(fitted.transform(in_kind(with_target, kind, connection))).columns == ["land", "weight", "area"]
