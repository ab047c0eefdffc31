"""Joins of two frames against a nested loop: rows, order, index, dtypes, names."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import JoinExpansionError
from dfjoin.join.rows.execute import relationship_of
from dfjoin.values import key_index
from tests.oracles import canonical
from tests.oracles.join import nested_loop

HOWS = ["left", "inner", "right", "outer"]
KEYS = st.sampled_from([None, "a", "A", " a", "b", "c", "1", "1.0", "01"])
LEFT = st.lists(KEYS, min_size=1, max_size=9)
RIGHT = st.lists(st.tuples(KEYS, st.sampled_from([None, 1, 2, 3])), max_size=9)


def _left(keys):
    return pd.DataFrame({"key": pd.Series(keys, dtype=object), "row": range(len(keys))})


def _right(rows):
    return pd.DataFrame(
        {
            "key": pd.Series([k for k, _ in rows], dtype=object),
            "value": pd.Series([v for _, v in rows], dtype="Int64"),
            "line": pd.Series(range(len(rows)), dtype="int64"),
        }
    )


def _plain(value):
    return None if pd.isna(value) else value


@pytest.mark.parametrize("how", HOWS)
@given(left=LEFT, right=RIGHT)
def test_every_pair_of_rows(how, left, right):
    df = _left(left)
    wide = dfjoin.auto_join(
        df, _right(right), on="key", how=how, aggregate=None, max_expansion=100, on_no_match="ignore"
    )
    expected = nested_loop(left, [k for k, _ in right], how)
    got = [(_plain(r), _plain(j)) for r, j in zip(wide["row"], wide["line"], strict=True)]
    assert got == expected
    assert [_plain(v) for v in wide["value"]] == [None if j is None else right[j][1] for _, j in expected]
    for (i, j), key in zip(expected, wide["key"], strict=True):
        assert _plain(key) == (left[i] if i is not None else right[j][0])


@pytest.mark.parametrize("how", HOWS)
@given(left=LEFT, right=RIGHT)
def test_one_row_per_key(how, left, right):
    wide = dfjoin.auto_join(
        _left(left),
        _right(right),
        on="key",
        how=how,
        aggregate={"value": "sum", "line": "min"},
        indicator=True,
        on_no_match="ignore",
    )
    groups = {}
    for j, (key, value) in enumerate(right):
        if canonical(key) is not None:
            groups.setdefault(canonical(key), []).append((j, value))
    own = [canonical(k) for k in left]
    expected = []
    for i, key in enumerate(own):
        if key in groups or how in ("left", "outer"):
            expected.append((i, groups.get(key, []), "both" if key in groups else "left_only"))
    if how in ("right", "outer"):
        expected += [(None, rows, "right_only") for key, rows in groups.items() if key not in own]
    shared = [key for key in own if key in groups]
    is_counted = len(set(shared)) == len(shared) and any(len(groups[key]) > 1 for key in shared)
    assert ("right_rows" in wide) == is_counted, "1:m only"
    counts = wide["right_rows"] if is_counted else [None] * len(wide)
    got = list(zip(wide["row"], wide["line"], counts, wide["value"], wide["_merge"], strict=True))
    assert len(got) == len(expected)
    with_partner = [e for e in expected if e[0] is not None]
    for (row, line, count, value, side), (i, rows, wanted_side) in zip(got, with_partner, strict=False):
        assert (_plain(row), side) == (i, wanted_side)
        assert count is None or count == len(rows)
        assert _plain(line) == (min(j for j, _ in rows) if rows else None)
        values = [v for _, v in rows if v is not None]
        if values:
            assert value == sum(values)
    alone = {(_plain(g[1]), g[4]) for g in got[len(with_partner) :]}
    assert alone == {(min(j for j, _ in e[1]), e[2]) for e in expected[len(with_partner) :]}


@given(left=LEFT, right=RIGHT)
def test_pairs_are_those_of_pandas_on_normalised_keys(left, right):
    df, other = _left(left), _right(right)
    wide = dfjoin.auto_join(df, other, on="key", how="inner", aggregate=None, max_expansion=100, on_no_match="ignore")
    a = df.assign(k=[canonical(k) for k in left]).dropna(subset="k")
    b = other.assign(k=[canonical(k) for k, _ in right]).dropna(subset="k")
    merged = a.astype({"k": object}).merge(b.astype({"k": object}), on="k")
    assert sorted(zip(wide["row"], wide["line"], strict=True)) == sorted(
        zip(merged["row"], merged["line"], strict=True)
    )


INDEXES = {
    "default": pd.RangeIndex(5),
    "sliced": pd.RangeIndex(10, 0, -2),
    "string": pd.Index(list("vwxyz"), name="who"),
    "datetime": pd.date_range("2020-01-01", periods=5),
    "duplicated": pd.Index([1, 1, 0, 0, 0]),
    "with null": pd.Index(["a", None, "a", "b", None]),
    "multi": pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2), ("b", 1), ("c", 0)], names=["p", "q"]),
    "categorical": pd.CategoricalIndex(list("abaab")),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("aggregate", ["auto", None])
def test_left_keeps_rows_order_and_index(index, aggregate):
    df = pd.DataFrame({"key": ["b", None, "a", "zz", "b"], "n": [5, 4, 3, 2, 1]}, index=index)
    other = pd.DataFrame({"key": ["a", "b"], "v": [1.5, 2.5]})
    wide = dfjoin.auto_join(df, other, on="key", aggregate=aggregate)
    pd.testing.assert_index_equal(wide.index, df.index, exact=True)
    pd.testing.assert_frame_equal(wide[["key", "n"]], df)
    np.testing.assert_array_equal(wide["v"].to_numpy(), [2.5, np.nan, 1.5, np.nan, 2.5])


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_inner_keeps_the_index_of_the_rows_that_stay(index):
    df = pd.DataFrame({"key": ["b", None, "a", "zz", "b"]}, index=index)
    other = pd.DataFrame({"key": ["a", "b", "b"], "v": [1, 2, 3]})
    wide = dfjoin.auto_join(df, other, on="key", how="inner", aggregate=None)
    pd.testing.assert_index_equal(wide.index, df.index[[0, 0, 2, 4, 4]], exact=False)
    assert wide["v"].tolist() == [2, 3, 1, 2, 3]


def test_repeated_left_rows_keep_their_index_label_for_each_partner():
    df = pd.DataFrame({"key": ["x", "y"]}, index=["first", "second"])
    other = pd.DataFrame({"key": ["x", "x"], "v": [1, 2]})
    wide = dfjoin.auto_join(df, other, on="key", aggregate=None)
    assert wide.index.tolist() == ["first", "first", "second"]


@pytest.mark.parametrize("how", ["right", "outer"])
def test_right_and_outer_get_a_new_range_index_and_put_lone_right_rows_last(how):
    df = pd.DataFrame({"key": ["a", "zz"], "n": [1, 2]}, index=["p", "q"])
    other = pd.DataFrame({"key": ["new", "A"], "v": [True, False]})
    wide = dfjoin.auto_join(df, other, on="key", how=how, aggregate=None)
    assert isinstance(wide.index, pd.RangeIndex)
    assert wide["key"].tolist() == (["a", "new"] if how == "right" else ["a", "zz", "new"])
    assert str(wide["n"].dtype) == "Int64"


def test_integers_and_booleans_that_may_gain_nulls_are_nullable_and_others_are_left():
    df = pd.DataFrame({"key": ["a", "zz"]})
    other = pd.DataFrame(
        {
            "key": ["a"], "i": [2**53 + 1], "u": np.array([7], "uint8"), "b": [True], "f": [0.5],
            "s": ["x"], "t": [pd.Timestamp("2020-01-01")], "c": pd.Categorical(["k"]),
        }
    )  # fmt: skip
    wide = dfjoin.auto_join(df, other, on="key", aggregate=None)
    assert {name: str(wide[name].dtype) for name in "iubfc"} == {
        "i": "Int64", "u": "UInt8", "b": "boolean", "f": "float64", "c": "category"
    }  # fmt: skip
    assert wide["i"][0] == 2**53 + 1
    assert wide["t"].dtype == other["t"].dtype
    assert wide.iloc[1, 1:].isna().all()
    whole = dfjoin.auto_join(df.iloc[:1], other, on="key", aggregate=None)
    assert whole.dtypes.equals(wide.dtypes), "whether they gain nulls or not"
    inner = dfjoin.auto_join(df, other, on="key", aggregate=None, how="inner")
    assert [str(d) for d in inner.dtypes[1:]] == [str(d) for d in other.dtypes[1:]], "nothing can be gained"


def test_the_count_column_is_an_integer_and_zero_without_partners():
    df = pd.DataFrame({"key": ["a", "zz", None]})
    other = pd.DataFrame({"key": ["a", "A", None], "v": [1, 3, 5]})
    wide = dfjoin.auto_join(df, other, on="key")
    assert wide["right_rows"].dtype == np.int64
    assert wide["right_rows"].tolist() == [2, 0, 0]
    assert wide["v"].tolist()[0] == 2.0


def test_max_expansion_stops_before_and_names_the_worst_key_and_the_factor():
    df = pd.DataFrame({"key": ["mild", "Worst", "worst", "none"]})
    other = pd.DataFrame({"key": ["mild"] * 3 + ["WORST"] * 40, "v": range(43)})
    with pytest.raises(JoinExpansionError) as caught:
        dfjoin.auto_join(df, other, on="key", aggregate=None)
    text = str(caught.value)
    assert "84 rows of 4, 21.0 times" in text
    assert "above `max_expansion` 10" in text
    assert "the worst key, 'Worst', stands in 2 rows of yours and 40 of the table" in text
    assert 'aggregate="auto"' in text
    assert len(dfjoin.auto_join(df, other, on="key", aggregate=None, max_expansion=21)) == 84
    assert len(dfjoin.auto_join(df, other, on="key")) == 4, "one row per key needs no guard"


def test_max_expansion_counts_the_rows_of_each_kind_of_join():
    df = pd.DataFrame({"key": ["a", "zz", "zz"]})
    other = pd.DataFrame({"key": ["a"] * 5, "v": range(5)})
    options = {"on": "key", "aggregate": None}
    assert len(dfjoin.auto_join(df, other, how="inner", max_expansion=5 / 3, **options)) == 5
    with pytest.raises(JoinExpansionError, match="would make 7 rows of 3"):
        dfjoin.auto_join(df, other, how="left", max_expansion=5 / 3, **options)


def test_the_worst_composite_key_is_named_whole():
    df = pd.DataFrame({"a": ["x", "x"], "b": [1, 2]})
    other = pd.DataFrame({"a": ["x"] * 30, "b": [2] * 30, "v": range(30)})
    with pytest.raises(JoinExpansionError, match=r"'x' \+ (np\.int64\()?2"):
        dfjoin.auto_join(df, other, on=["a", "b"], aggregate=None, max_expansion=2)


def test_nulls_on_both_sides_neither_match_nor_multiply():
    df = pd.DataFrame({"key": [None] * 50 + ["a"]})
    other = pd.DataFrame({"key": [None] * 50 + ["a"], "v": range(51)})
    wide = dfjoin.auto_join(df, other, on="key", aggregate=None, max_expansion=1)
    assert len(wide) == 51
    assert wide["v"].notna().sum() == 1


def test_new_columns_never_take_a_name_of_the_frame():
    df = pd.DataFrame({"key": ["a"], "v": [0], "v__right": [0], "right_rows": [0], "_merge": [0]})
    other = pd.DataFrame({"key": ["A", "A"], "v": [1, 1], "right_rows": [2, 2], "_merge": [3, 3], "w": [4, 4]})
    wide = dfjoin.auto_join(df, other, on="key", indicator=True)
    assert wide.columns.is_unique
    assert list(wide)[:5] == list(df)
    assert list(wide)[5:] == [
        "v__right_2", "right_rows__right", "_merge__right", "w", "right_rows__right_2", "_merge__right_2"
    ]  # fmt: skip
    assert wide.iloc[0, 5:].tolist() == [1, 2, 3, 4, 2, "both"]


@pytest.mark.parametrize("how", HOWS)
def test_indicator_tells_the_sides(how):
    df = pd.DataFrame({"key": ["a", "b", None]})
    other = pd.DataFrame({"key": ["b", "c"], "v": [1, 2]})
    wide = dfjoin.auto_join(df, other, on="key", how=how, aggregate=None, indicator=True)
    expected = {
        "left": ["left_only", "both", "left_only"],
        "inner": ["both"],
        "right": ["both", "right_only"],
        "outer": ["left_only", "both", "left_only", "right_only"],
    }
    assert wide["_merge"].tolist() == expected[how]
    assert wide["_merge"].dtype == "category"


@given(left=LEFT, right=RIGHT)
def test_the_report_says_what_a_naive_count_says(left, right):
    theirs = [canonical(k) for k, _ in right]
    own = [canonical(k) for k in left]
    shared = {k for k in own if k is not None and k in theirs}
    wide = dfjoin.auto_join(_left(left), _right(right), on="key", on_no_match="ignore")
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert step["matched"] == len(shared)
    assert step["containment"] == len(shared) / max(1, len({k for k in own if k is not None}))
    assert step["rows_matched"] == sum(k in shared for k in own)
    assert step["coverage"] == step["rows_matched"] / len(left)
    sides = ["m" if any(side.count(k) > 1 for k in shared) else "1" for side in (own, theirs)]
    assert step["relationship"] == ":".join(sides)
    assert (wide.attrs["dfjoin"]["rows_in"], wide.attrs["dfjoin"]["rows_out"]) == (len(left), len(left))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([0, 1], [0, 1], "1:1"),
        ([0, 0], [0, 1], "m:1"),
        ([0, 1], [1, 1], "1:m"),
        ([0, 0], [0, 0], "m:m"),
        ([-1, -1, 0], [0], "1:1"),
        ([0, 0, 1], [1], "1:1"),
        ([], [], "1:1"),
    ],
)
def test_relationship_is_of_the_rows_that_pair(left, right, expected):
    assert relationship_of(np.array(left, np.int64), np.array(right, np.int64), 2) == expected


@given(
    left=st.lists(st.integers(-1, 4), max_size=8),
    pairs=st.sets(st.tuples(st.integers(-1, 4), st.integers(0, 5)), max_size=12),
)
def test_rows_with_several_keys_count_once(left, pairs):
    keys, rows = (np.array([pair[i] for pair in sorted(pairs)], np.int64) for i in (0, 1))
    met = {(own, row) for own, key in enumerate(left) for other, row in pairs if key == other >= 0}
    sides = [[pair[i] for pair in met] for i in (1, 0)]  # several left rows have one right row, and the other way round
    expected = ":".join("m" if len(side) > len(set(side)) else "1" for side in sides)
    assert relationship_of(np.array(left, np.int64), keys, 5, rows) == expected


@pytest.mark.parametrize("right", [["a", "b", "c"], ["a", "b", "b"], ["b", "a", None], ["c", "a", "d"]])
@pytest.mark.parametrize("how", HOWS)
def test_rows_of_keys_are_looked_for_once(monkeypatch, how, right):
    asked, ask = [], key_index.row_of_keys
    monkeypatch.setattr(key_index, "row_of_keys", lambda *codes: asked.append(codes) or ask(*codes))
    for aggregate in (None, "auto"):
        asked.clear()
        _left(["a", "b", None]).auto_join(_right([(key, 1) for key in right]), on="key", how=how, aggregate=aggregate)
        n_sides = 2 if aggregate and (right.count("b") > 1 or (None in right and how in ("right", "outer"))) else 1
        assert len(asked) == n_sides, "of the rows as they are, and of those that were made one of them"


@pytest.mark.parametrize("keys", [[1, 2, 3], [3, 1, 2], ["a", "b", "c"]])
@pytest.mark.parametrize("how", HOWS)
def test_what_is_joined_shares_nothing_with_its_sides(how, keys):
    df = pd.DataFrame({"key": keys, "own": [1.5, 2.5, 3.5]})
    other = pd.DataFrame({"key": keys, "x": [0.5, 1.5, 2.5], "y": [1, 2, 3], "z": ["a", "b", "c"]})
    for written in ("result", "sides"):
        sides = df.copy(), other.copy()
        wide = sides[0].auto_join(sides[1], on="key", how=how)
        before = wide.copy()
        for frame in (wide,) if written == "result" else sides:
            for position in range(frame.shape[1]):
                frame.iloc[0, position] = frame.iloc[2, position]
        if written == "result":
            pd.testing.assert_frame_equal(sides[0], df)
            pd.testing.assert_frame_equal(sides[1], other)
        else:
            pd.testing.assert_frame_equal(wide, before)


def test_examples_of_a_report_are_the_first_rows_whatever_stands_before_them():
    """Whether they are in the piece that is looked at first, or in those behind it."""
    for n_before in (3, 40_000):
        df = pd.DataFrame({"key": [0] * n_before + [7, 8, 7, 9, 1, 1, 2]})
        other = pd.DataFrame({"key": [1, 2, 3], "v": ["a", "b", "c"]})
        step = df.auto_join(other, on="key").attrs["dfjoin"]["joined"][0]
        assert step["without_partner"] == ["0", "7", "8", "9"]
        assert [row["v"] for row in step["rows"]] == ["a", "a", "b"]
        assert step["rows_matched"] == 3


def test_examples_of_keys_of_two_columns_come_in_the_order_of_their_rows():
    df = pd.DataFrame({"a": ["p", "q", "q", "p"], "b": ["x", "x", "y", "y"]})
    other = pd.DataFrame({"a": ["p"], "b": ["z"], "v": [1]})
    step = df.auto_join(other, on=["a", "b"], on_no_match="ignore").attrs["dfjoin"]["joined"][0]
    assert step["without_partner"] == ["p + x", "q + x", "q + y", "p + y"]


CATEGORICAL = {
    "text": pd.Series(["a", "b"]),
    "text categories": pd.Series(pd.Categorical(["a", "b"])),
    "integers": pd.Series([1, 2]),
    "integer categories": pd.Series(pd.Categorical([1, 2])),
    "flag categories": pd.Series(pd.Categorical([True, False])),
    "Arrow's integers": pd.Series([1, 2], dtype="int64[pyarrow]"),
    "Arrow's text": pd.Series(["a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "Arrow's views": pd.Series(["a", "b"], dtype=pd.ArrowDtype(pa.string_view())),
    "Arrow's days": pd.Series([1, 2], dtype="int32[pyarrow]").astype(pd.ArrowDtype(pa.date32())),
    "Arrow's dictionary": pd.Series(["a", "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "nullable integers": pd.Series([1, None], dtype="Int64"),
    "nullable floats": pd.Series([1.5, None], dtype="Float64"),
    "nullable flags": pd.Series([True, None], dtype="boolean"),
    "days": pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])),
    "sparse": pd.Series(pd.arrays.SparseArray([1, 2])),
}
"""Keys of the dtypes that mix with others in strange ways."""


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("theirs", CATEGORICAL)
@pytest.mark.parametrize("own", CATEGORICAL)
def test_keys_of_any_two_dtypes_are_joined_and_keep_their_spelling(own, theirs, how):
    left = pd.DataFrame({"k": CATEGORICAL[own]})
    right = pd.DataFrame({"k": CATEGORICAL[theirs], "z": [1, 2]})
    joined = left.auto_join(right, on="k", how=how, aggregate=None, transform=False, fuzzy=False)
    mine, other = ([None if pd.isna(v) else str(v) for v in side["k"]] for side in (left, right))
    shared = [k for k in mine if k is not None and k in other]
    found = [None if pd.isna(v) else str(v) for v in joined["k"]]
    alone = [k for k in other if k is None or k not in shared]
    expected = {"left": mine, "inner": shared, "right": [*shared, *alone], "outer": [*mine, *alone]}[how]
    if {own, theirs} & {"days", "Arrow's days"} and own != theirs:
        assert len(found) == len(expected)  # midnight and the day print differently and are one value
    else:
        assert found == expected


def test_keys_that_only_the_right_side_has_keep_their_spelling():
    other = pd.DataFrame({"k": ["007", "7"], "v": ["x", "y"]})
    wide = dfjoin.auto_join(pd.DataFrame({"k": [7, 8]}), other, on="k", how="outer", aggregate=None)
    assert wide["k"].tolist() == [7, 8, "007"]


def test_keys_that_only_the_right_side_has_are_not_lost_under_categories():
    df = pd.DataFrame({"k": pd.Categorical(["a", "b"])})
    wide = dfjoin.auto_join(df, pd.DataFrame({"k": ["a", "z"], "v": [1, 2]}), on="k", how="outer", aggregate=None)
    assert wide["k"].tolist() == ["a", "b", "z"]


@pytest.mark.parametrize(
    ("own", "theirs"), [([True, False], ["1", "true"]), ([1.5, None], ["1e3", "1.5"]), ([7, 8], ["+9", "7"])]
)
def test_a_text_that_is_another_key_is_not_read_as_a_number_or_a_flag(own, theirs):
    other = pd.DataFrame({"k": theirs, "v": ["x", "y"]})
    wide = dfjoin.auto_join(pd.DataFrame({"k": own}), other, on="k", how="outer", aggregate=None)
    assert len(wide) == 3
    assert wide["k"].iloc[2] == theirs[0]


def test_marks_leave_columns_of_the_table_as_they_are(tmp_path):
    names = ["Anna Abernathy", "Bertram Blomqvist", "Cecilia Castellano", "Dorothea Drummond"]
    table = pd.DataFrame({"person": names, "_match": list("abcd"), "_distance": [7, 8, 9, 10]})
    lake = dfjoin.build_lake({"log": table}, tmp_path / "lake", engine="inline", progress=False)
    df = pd.DataFrame({"who": [name[:-1] + "x" for name in names]})
    wide = df.auto_join(lake, on="who", mode="fuzzy", threshold=0.1, indicator=True)
    assert wide["_match"].tolist() == list("abcd") and wide["_distance"].tolist() == [7, 8, 9, 10]
    assert wide["_match__log"].tolist() == ["spelling"] * 4 and wide["_distance__log"].between(0.01, 0.1).all()
    again = df.auto_join(wide.attrs["dfjoin"]["plan"])
    pd.testing.assert_frame_equal(again, wide)
