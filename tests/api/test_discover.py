"""The argument checks of discover_joinable and its batch form: what is legal, what came, the remedy."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ColumnNotFoundError,
    IncompatibleSettingsError,
    IndexNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
)

DF = pd.DataFrame({"q": ["a", "b"], "n": [1, 2]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    frames = {"t": pd.DataFrame({"c": ["a", "b", "c"]})}
    return dfjoin.build_lake(frames, tmp_path_factory.mktemp("lake") / "x", engine="inline", progress=False)


def find(lake, df=DF, on="q", **options):
    return dfjoin.discover_joinable(df, on, lake, **options, rank="matched")


BAD = [
    (
        {"mode": "similar"},
        InvalidParameterError,
        r"`mode` must be one of 'exact', 'lsh', 'transform', 'embedding', 'fuzzy', got 'simil",
    ),
    ({"mode": "transform"}, IncompatibleSettingsError, r"no pattern tokens, .*`lake.add_patterns\(\)`, or use"),
    ({"mode": None}, InvalidParameterError, r"`mode` must be one of"),
    ({"k": 0}, InvalidParameterError, r"`k` must be at least 1, got 0"),
    ({"k": -3}, InvalidParameterError, r"`k` must be at least 1, got -3"),
    ({"k": 1.0}, InvalidTypeError, r"`k` must be an integer of at least 1, got 1.0"),
    ({"k": "5"}, InvalidTypeError, r"`k` must be an integer of at least 1, got '5'"),
    ({"k": True}, InvalidTypeError, r"`k` must be an integer"),
    ({"threshold": 1.01}, InvalidParameterError, r"`threshold` must be between 0 and 1, got 1.01"),
    ({"threshold": -0.1}, InvalidParameterError, r"`threshold` must be between 0 and 1"),
    ({"threshold": float("nan")}, InvalidParameterError, r"`threshold` must be between 0 and 1, got nan"),
    ({"threshold": "0.5"}, InvalidTypeError, r"`threshold` must be a number between 0 and 1, got '0.5'"),
    ({"threshold": True}, InvalidTypeError, r"`threshold` must be a number"),
    ({"weighted": 1}, InvalidParameterError, r"`weighted` must be one of True, False, got 1"),
    ({"tables": 5}, InvalidTypeError, r"`tables` must be a pattern or a list of patterns, got 5"),
    ({"tables": ["a", None]}, InvalidTypeError, r"`tables` must be a pattern or a list of patterns"),
    ({"exclude": b"x"}, InvalidTypeError, r"`exclude` must be a pattern or a list of patterns"),
    ({"kinds": 3}, InvalidTypeError, r"`kinds` must be a pattern or a list"),
    ({"kinds": "words"}, InvalidParameterError, r"`kinds` must be one of 'text', 'integer'.*got 'words'"),
    ({"plan": "fastest"}, InvalidParameterError, r"`plan` must be one of 'mergelist'.*got 'fastest'"),
    (
        {"verify": False},
        InvalidParameterError,
        r"`verify` belongs to mode=\"lsh\", but the mode is 'exact'; leave it out",
    ),
    (
        {"mode": "transform", "verify": False},
        InvalidParameterError,
        r"`verify` belongs to mode=\"lsh\", but .* 'transf",
    ),
    ({"recall": 0.95}, InvalidParameterError, r"`recall` belongs to mode=\"lsh\", but the mode is 'exact'"),
    (
        {"mode": "lsh", "plan": "josie"},
        InvalidParameterError,
        r"`plan` belongs to mode=\"exact\", but the mode is 'lsh'",
    ),
]
SINGLE = [
    ({"verify": None}, InvalidParameterError, r"`verify` must be one of True, False, got None"),
    ({"pad": 0}, InvalidParameterError, r"`pad` must be at least 1, got 0"),
    ({"pad": "5"}, InvalidTypeError, r"`pad` must be an integer of at least 1"),
    ({"dayfirst": "yes"}, InvalidParameterError, r"`dayfirst` must be one of None, True, False, got 'yes'"),
    ({"on": "missing"}, ColumnNotFoundError, r"`on` must name a column of the frame \('q', 'n'\), got 'missing'"),
    ({"on": 3}, ColumnNotFoundError, r"`on` must name a column of the frame"),
    ({"on": ["missing"]}, ColumnNotFoundError, r"got 'missing'"),
    ({"on": ["q", "n"], "mode": "lsh"}, InvalidParameterError, "`mode` must be 'exact' for a key of several columns"),
    ({"on": []}, InvalidParameterError, "`on` must name at least one column, got an empty list; leave it out for all"),
    ({"on": {"q": 1}}, ColumnNotFoundError, r"`on` must name a column of the frame"),
    (
        {"df": ["a", "b"]},
        InvalidTypeError,
        r"`df` must be a DataFrame of pandas or polars, .* got list; for a list of values use",
    ),
    ({"df": DF["q"]}, InvalidTypeError, r"`df` must be a DataFrame of pandas or polars, .* got Series"),
    ({"df": None}, InvalidTypeError, r"`df` must be a DataFrame of pandas or polars, .* got NoneType"),
]


@pytest.mark.parametrize(("options", "error", "match"), BAD + SINGLE)
def test_an_illegal_argument_is_named(lake, options, error, match):
    with pytest.raises(error, match=match):
        find(lake, **options)


@pytest.mark.parametrize(("options", "error", "match"), BAD)
def test_the_batch_form_checks_the_same(lake, options, error, match):
    with pytest.raises(error, match=match):
        dfjoin.discover_joinable_batch({"q": ["a"]}, lake, **options, rank="matched")


@pytest.mark.parametrize(("lake", "name"), [(None, "NoneType"), (5, "int"), (DF, "DataFrame")])
def test_what_is_no_lake_is_named(lake, name):
    match = rf"`lake` must be a Lake or the path of an index, got {name}; open one with dfjoin.open_lake"
    with pytest.raises(InvalidTypeError, match=match):
        find(lake)
    with pytest.raises(InvalidTypeError, match=match):
        dfjoin.discover_joinable_batch({"q": ["a"]}, lake, rank="matched")


def test_a_path_stands_for_the_lake(lake):
    expected = find(lake)
    for place in (lake.path, str(lake.path), f"file://{lake.path}"):
        pd.testing.assert_frame_equal(pd.DataFrame(find(place)), pd.DataFrame(expected))


def test_no_index_there(tmp_path):
    with pytest.raises(IndexNotFoundError, match="there is no dfjoin index at"):
        find(tmp_path / "none")


def test_a_column_label_that_occurs_twice(lake):
    df = pd.DataFrame([["a", "b"], ["c", "d"]], columns=["q", "q"])
    with pytest.raises(InvalidParameterError, match=r"2 columns of the frame are called 'q'; rename them"):
        find(lake, df=df)


@pytest.mark.parametrize(
    ("values", "kind"), [([[1], [2]], "list"), ([{"a": 1}, {"a": 2}], "struct"), ([b"a", b"b"], "binary"),
                         (["a", [1]], "list"), ([{1}, {2}], "list|set"), (["x", b"y"], "binary|bytes")],
)  # fmt: skip
def test_a_column_without_text_is_named(lake, values, kind):
    with pytest.raises(InvalidTypeError, match=rf"`on` must name a column of text.*'q' holds ({kind})"):
        find(lake, df=pd.DataFrame({"q": pd.Series(values, dtype=object)}))


class TestBatch:
    @pytest.mark.parametrize("columns", [["a"], DF["q"].tolist(), "q", None])
    def test_columns_must_be_a_mapping(self, lake, columns):
        with pytest.raises(InvalidTypeError, match=r"`columns` must map names to columns, got .*; give"):
            dfjoin.discover_joinable_batch(columns, lake, rank="matched")

    @pytest.mark.parametrize(
        ("n", "error"), [(0, InvalidParameterError), (1.5, InvalidTypeError), ("2", InvalidTypeError)]
    )
    def test_threads(self, lake, n, error):
        with pytest.raises(error, match="`n_threads` must be"):
            dfjoin.discover_joinable_batch({"q": ["a"]}, lake, n_threads=n, rank="matched")

    def test_a_column_without_text_is_named(self, lake):
        with pytest.raises(InvalidTypeError, match="`columns` must name a column of text"):
            dfjoin.discover_joinable_batch({"q": [[1], [2]]}, lake, rank="matched")


class TestLegal:
    def test_by_default_ten_rows(self, build):
        lake = build({f"t{i:02d}": pd.DataFrame({"c": ["a", "b"]}) for i in range(12)})
        assert len(find(lake)) == 10
        assert len(find(lake, threshold=0.5)) == 12
        assert len(find(lake, threshold=0.5, k=11)) == 11
        assert len(find(lake, k=10**12)) == 12

    def test_numpy_numbers_are_numbers(self, lake):
        import numpy as np

        assert len(find(lake, k=np.int64(1), threshold=np.float32(0.5))) == 1
        assert len(find(lake, threshold=1)) == len(find(lake, threshold=0)) == 1

    def test_a_single_pattern_or_several(self, lake):
        assert len(find(lake, tables="t")) == len(find(lake, tables=("u", "t"))) == 1
        assert len(find(lake, tables=[])) == len(find(lake, exclude="T")) == 1
        assert len(find(lake, exclude=["t"])) == len(find(lake, kinds="integer")) == 0

    def test_the_accessor_is_the_function(self, lake):
        pd.testing.assert_frame_equal(
            pd.DataFrame(DF.discover_joinable("q", lake, rank="matched")), pd.DataFrame(find(lake))
        )

    def test_exact_search_counts(self, lake):
        assert find(lake, verify=True)["exact"].all()

    def test_a_repeated_index_and_any_dtype(self, lake):
        df = pd.DataFrame({"q": pd.Categorical(["a", "b", "a"])}, index=[0, 0, 0])
        assert find(lake, df=df)["matched"].tolist() == [2]
        assert find(lake, df=df.astype("string"))["matched"].tolist() == [2]


def test_a_lake_in_the_place_of_the_column_is_seen(build):
    df = pd.DataFrame({"code": ["a", "b"]})
    lake = build({"t": df})
    remedy = r"`on` must be a column, and it is a lake: the column comes first, df.discover_joinable\('code', lake\)"
    for swapped in (lake, lake.path, str(lake.path)):
        for other in ("code", None):
            with pytest.raises(InvalidTypeError, match=remedy):
                df.discover_joinable(swapped, other, rank="matched")
    named = df.rename(columns={"code": str(lake.path)})
    assert len(named.discover_joinable(str(lake.path), lake, rank="matched")) == 1
    with pytest.raises(IndexNotFoundError, match="there is no dfjoin index at"):
        df.discover_joinable("code", "nowhere", rank="matched")


def test_a_label_that_stands_for_several_columns_is_no_key(build):
    lake = build({"t": pd.DataFrame({"v": [1, 2]}, index=pd.Index(["a", "b"], name="code"))})
    wide = pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex.from_tuples([("g", "x"), ("g", "y"), ("g", "z")]))
    text = r"'g' stands for 3 columns of a header with 2 levels; give a label of all levels, such as \('g', 'x'\)"
    with pytest.raises(InvalidParameterError, match=text):
        wide.discover_joinable("g", lake, rank="matched")


def test_the_width_of_codes_has_an_end(build):
    df = pd.DataFrame({"n": [1, 2]})
    with pytest.raises(InvalidParameterError, match="`pad` must be at most 100 digits, got 101"):
        df.discover_joinable("n", build({"t": df}), pad=101, rank="matched")


def test_a_query_of_a_batch_is_a_column(build):
    df = pd.DataFrame({"n": [1, 2]})
    with pytest.raises(
        InvalidTypeError, match=r"`columns` must map names to Series or lists of values, got DataFrame for 'q'"
    ):
        dfjoin.discover_joinable_batch({"q": df}, build({"t": df}), rank="matched")


def test_a_column_may_have_the_name_of_an_index(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"sales": ["a", "b"]})
    dfjoin.build_lake({"t": frame}, "sales", engine="inline", progress=False)
    assert find("sales", frame, "sales")["matched"].tolist() == [2]
