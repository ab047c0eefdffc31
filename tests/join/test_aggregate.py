"""One value per key, against dicts."""

import datetime
import decimal
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import ColumnNotFoundError, DfjoinError, InvalidParameterError, InvalidTypeError
from dfjoin.join.aggregate import aggregate_column, cell_kind, count_disagreeing, nullable_column, take_rows
from dfjoin.join.rules import KEEPING, RULES, CellRules, check_aggregate
from dfjoin.values.profile import is_measured, number_column
from tests.oracles.join import n_disagreeing, statistic

N_KEYS = 4
NUMBER_RULES = [rule for rule in RULES if rule != "share"]


def _groups(rows):
    groups = {key: [] for key in range(N_KEYS)}
    for key, value in rows:
        groups[key].append(value)
    return groups


def _same(got, want):
    if want is None:
        assert pd.isna(got), f"{got!r} where there is no value"
    elif isinstance(want, float):
        assert math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-9)
    else:
        assert got == want


def _check(rule, rows, dtype, held_by_all=False):
    codes = np.array([key for key, _ in rows], np.int64)
    column = pd.Series([value for _, value in rows], dtype=dtype, name="x")
    result = aggregate_column(column, codes, N_KEYS, rule)
    assert len(result) == N_KEYS
    for key, values in _groups(rows).items():
        if rule == "sum" and all(value is None for value in values):
            continue  # see test_the_sum_of_nothing_is_null_whether_or_not_the_key_repeats
        _same(result.iloc[key], statistic(rule, values))
    counted = count_disagreeing(column, codes, result, rule)
    if rule in ("sum", "std", "count", "nunique", "share"):
        assert counted is None, "no value of the column, which a row could agree with"
    else:
        chosen = {key: statistic(rule, values) for key, values in _groups(rows).items()}
        assert counted == n_disagreeing(rows, chosen)
    return result


def _rows(values):
    return st.lists(st.tuples(st.integers(0, N_KEYS - 1), values), min_size=1, max_size=14)


@pytest.mark.parametrize("rule", NUMBER_RULES)
@given(rows=_rows(st.sampled_from([None, 0, 1, 2, 5, -3])))
def test_integers_with_nulls(rule, rows):
    _check(rule, rows, "Int64")


@pytest.mark.parametrize("rule", NUMBER_RULES)
@given(rows=_rows(st.sampled_from([None, 0.5, 1.5, -2.25, 7.0])))
def test_floats_with_nulls(rule, rows):
    _check(rule, rows, "float64")


@pytest.mark.parametrize(
    "rule", ["min", "max", "first", "last", "count", "nunique", "most_frequent", "majority", "latest"]
)
@pytest.mark.parametrize("dtype", ["str", object, "string"])
@given(rows=_rows(st.sampled_from([None, "a", "b", "c", "B"])))
def test_text_with_nulls(rule, dtype, rows):
    if dtype is object and all(value is None for _, value in rows):
        return  # no text in it
    _check(rule, rows, dtype)


DAYS = [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-06-30"), pd.Timestamp("1999-12-31"), None]


@pytest.mark.parametrize(
    "rule", ["min", "max", "first", "last", "count", "nunique", "most_frequent", "majority", "latest"]
)
@given(rows=_rows(st.sampled_from(DAYS)))
def test_dates_with_nulls(rule, rows):
    result = _check(rule, rows, "datetime64[us]")
    if rule not in ("count", "nunique"):
        assert result.dtype.kind == "M"


@pytest.mark.parametrize("rule", ["share", "mean", "first", "last", "count", "nunique", "most_frequent", "majority"])
@given(rows=_rows(st.sampled_from([None, True, False])))
def test_booleans_with_nulls(rule, rows):
    _check(rule, rows, "boolean")


@pytest.mark.parametrize("rule", ["count", "nunique"])
def test_counts_are_integers_and_zero_for_keys_without_rows(rule):
    result = aggregate_column(pd.Series(["a", None]), np.array([1, 1]), 3, rule)
    assert result.dtype == np.int64
    assert result.tolist() == [0, 1, 0]


def test_ties_of_the_most_frequent_go_to_the_smallest_whatever_the_order():
    for values in (["b", "a", "b", "a", "c"], ["a", "b", "a", "b", "c"], ["c", "b", "b", "a", "a"]):
        result = aggregate_column(pd.Series(values), np.zeros(5, np.int64), 1, "most_frequent")
        assert result.tolist() == ["a"]
    numbers = aggregate_column(pd.Series([10, 9, 10, 9]), np.zeros(4, np.int64), 1, "most_frequent")
    assert numbers.tolist() == [9], "numbers tie as numbers, not as text"


def test_of_equal_values_the_first_row_tells_the_spelling():
    for texts in (["1.0", "1.00", "2"], ["1.00", "1.0", "1.000", "2"]):
        column = pd.Series([decimal.Decimal(text) for text in texts], dtype=object)
        result = aggregate_column(column, np.zeros(len(texts), np.int64), 1, "most_frequent")
        assert str(result[0]) == texts[0]


def test_most_frequent_keeps_the_dtype():
    codes = np.array([0, 0, 1])
    for column in (
        pd.Series([3, 3, 4], dtype="int32"),
        pd.Series(["x", "x", "y"], dtype="string"),
        pd.Series(["x", "x", "y"], dtype="category"),
        pd.Series([True, True, False]),
        pd.Series(DAYS[:3]),
    ):
        result = aggregate_column(column, codes, 2, "most_frequent")
        assert result.dtype == nullable_column(column).dtype
        assert result.tolist() == [column[0], column[2]] or column.dtype.kind == "M"


def test_most_frequent_of_mixed_objects_is_defined():
    column = pd.Series([1, "a", "a", None], dtype=object)
    assert aggregate_column(column, np.zeros(4, np.int64), 1, "most_frequent").tolist() == ["a"]


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("rule", ["auto", *KEEPING])
def test_cells_of_unique_keys_are_as_they_are_in_their_own_type(rule, how):
    left = pd.DataFrame({"k": ["a", "b", "c"]})
    right = pd.DataFrame({"k": ["c", "a", "b"], "x": np.array([5, 6, 7], "int16")})
    result = dfjoin.auto_join(left, right, on="k", how=how, aggregate=rule)["x"]
    assert str(result.dtype) == ("Int16" if how == "left" else "int16")
    assert result.tolist() == [6, 7, 5]


@pytest.mark.parametrize("value", [1, 100])
@pytest.mark.parametrize(("name", "dtype"), [("int8", "Int64"), ("uint8", "UInt64"), ("Int16", "Int64")])
def test_a_sum_of_narrow_integers_is_wide_whether_or_not_it_fits(name, dtype, value):
    column = pd.Series([value, value], dtype=name)
    result = aggregate_column(column, np.zeros(2, np.int64), 1, "sum")
    assert str(result.dtype) == dtype and result.tolist() == [2 * value]


COLUMNS = {
    **{name: pd.Series([1, 2, 3, 4]).astype(name) for name in ("int8", "int64", "uint16", "float32", "float64")},
    **{
        name: pd.Series([1, 2, 3, 4]).astype(name) for name in ("Int64", "Float64", "int64[pyarrow]", "double[pyarrow]")
    },
    **{name: pd.Series([True, False, True, True]).astype(name) for name in ("bool", "boolean", "bool[pyarrow]")},
    **{name: pd.Series(list("abcd")).astype(name) for name in ("str", "category", "string[pyarrow]")},
    "datetime": pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"])),
    "timedelta": pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="D")),
}


@cache
def columns_of(rule):
    """Names of `COLUMNS` that a rule takes: some rules refuse columns that are no numbers or no flags."""
    taken = []
    for name, values in COLUMNS.items():
        try:
            left, right = pd.DataFrame({"k": list("pqrs")}), pd.DataFrame({"k": list("pqrs"), "x": values})
            dfjoin.auto_join(left, right, on="k", aggregate=rule)
        except InvalidParameterError as error:
            assert "needs" in str(error)
        else:
            taken.append(name)
    return taken


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
@pytest.mark.parametrize("rule", ["auto", None, *RULES])
def test_the_dtype_of_a_joined_column_does_not_depend_on_the_rows(rule, how):
    names = columns_of(rule)
    assert len(names) >= 3
    left = pd.DataFrame({"k": list("pqrs"), "n": range(4), "flag": [True, False, True, False]})
    right = pd.DataFrame({"k": list("pqrs"), **{name: COLUMNS[name] for name in names}})
    holey = {
        name: COLUMNS[name].where([True, False, True, False])
        for name in names
        if not (isinstance(COLUMNS[name].dtype, np.dtype) and COLUMNS[name].dtype.kind in "biu")
        and COLUMNS[name].dtype.kind != "b"
    }  # the frame itself would hold floats or objects of the others
    cases = {
        "each once": (left, right),
        "some without partner": (left, right.iloc[:2]),
        "null": (left, right.assign(**holey)),
        "no row": (left.iloc[:0], right),
        "no right row": (left, right.iloc[:0]),
    }
    found = {}
    for case, (df, other) in cases.items():
        wide = dfjoin.auto_join(df, other, on="k", how=how, aggregate=rule, on_no_match="ignore")
        found[case] = wide.dtypes.astype(str)[["n", "flag", *names]].to_dict()
    for case, dtypes in found.items():
        assert dtypes == found["each once"], case


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("rule", ["auto", None, "max", "sum", "first"])
def test_a_plan_gives_train_and_test_rows_the_same_dtypes(build, rule, how):
    frame = pd.DataFrame(
        {"code": ["C1", "C2", "C3", "C3", "C4"], "n": [1, 2, 3, 4, 5], "gap": [1, None, 3, 4, 5], "f": [0.5] * 5}
    ).astype({"gap": "Int64"})
    lake = build({"t": frame.assign(flag=[True, False, None, True, True])})
    train, test = pd.DataFrame({"c": ["C1", "C2", "C3", "C9"]}), pd.DataFrame({"c": ["C4", "C1"]})
    if rule == "sum":
        rule = {"n": "sum", "gap": "sum"}
    wide = train.auto_join(lake, on="c", how=how, aggregate=rule)
    for rows in (test, test.iloc[:1], test.iloc[:0], pd.DataFrame({"c": ["C8", "C2"]})):
        again = rows.auto_join(wide.attrs["dfjoin"]["plan"])
        assert again.dtypes.drop("flag").to_dict() == wide.dtypes.drop("flag").to_dict()
        if rule is not None:
            assert again["flag"].dtype == wide["flag"].dtype


@pytest.mark.parametrize("rule", ["mean", "sum", "median", "std"])
@pytest.mark.parametrize("values", [["a", "b"], DAYS[:2]])
@pytest.mark.parametrize("is_unique", [True, False])
def test_a_rule_for_numbers_refuses_other_columns(rule, values, is_unique):
    codes = np.array([0, 1 if is_unique else 0])
    with pytest.raises(InvalidParameterError, match=rf"`aggregate` rule '{rule}' needs numbers.*'place'.*most_freq"):
        aggregate_column(pd.Series(values, name="place"), codes, 2, rule)


@pytest.mark.parametrize(
    ("name", "values", "rule"),
    [
        ("area", [1.5], "mean"),
        ("people", [3], "mean"),
        ("zip_code", [1], "majority"),
        ("zipCode", [1], "majority"),
        ("id", [1], "majority"),
        ("customer_id", [1], "majority"),
        ("year", [1999], "majority"),
        ("ISBN", [9], "majority"),
        ("width", [1], "mean"),
        ("paid", [1], "mean"),
        ("yearly_income", [1], "mean"),
        ("name", ["x"], "majority"),
        ("flag", [True], "share"),
        ("seen", [pd.Timestamp("2020-01-01")], "majority"),
        ("z", [1j], "majority"),
    ],
)
def test_auto_rule_follows_the_kind_and_the_name(name, values, rule):
    assert _rule("auto", name, pd.Series(values)) == rule


def _rule(aggregate, name, column, *, is_unique=False):
    numbers = number_column(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), is_exact=True)
    return CellRules(aggregate, is_unique, lambda own: is_measured(own, numbers)).rule_of(name, cell_kind(column))


def test_auto_rule_sees_nullable_and_zoned_dtypes():
    assert _rule("auto", "n", pd.Series([1, None], dtype="Int64")) == "mean"
    assert _rule("auto", "b", pd.Series([True, None], dtype="boolean")) == "share"
    assert _rule("auto", "t", pd.Series(pd.to_datetime(["2020-01-01"], utc=True))) == "majority"


def test_given_rules_win_and_a_dict_leaves_the_rest_to_auto():
    number = pd.Series([1.0])
    assert _rule("max", "zip", number) == "max"
    assert _rule({"a": "std"}, "a", number) == "std"
    assert _rule({"a": "std"}, "b", number) == "mean"
    assert _rule({"a": "std"}, "b", number, is_unique=True) == "majority"


def test_check_aggregate_accepts_what_is_legal():
    assert check_aggregate(None, []) is None
    assert check_aggregate("auto", []) == "auto"
    assert check_aggregate({"a": "most_frequent", "b": "sum"}, ["a", "b"]) == {"a": "most_frequent", "b": "sum"}
    for rule in RULES:
        assert check_aggregate(rule, []) == rule


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("average", InvalidParameterError, r"`aggregate` must be one of 'mean', .*'share', got 'average'"),
        ({"a": "average"}, InvalidParameterError, "got 'average'"),
        ({"a": None}, InvalidParameterError, "got None"),
        ({"z": "sum"}, ColumnNotFoundError, r"`aggregate` must name columns of the joined table \('a'\), got 'z'"),
        (3, InvalidTypeError, "`aggregate` must be .*, got int"),
        (["mean"], InvalidTypeError, "got list"),
    ],
)
def test_check_aggregate_says_what_is_legal(value, error, text):
    with pytest.raises(error, match=text):
        check_aggregate(value, ["a"])


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [("int64", "Int64"), ("uint8", "UInt8"), ("int32", "Int32"), ("bool", "boolean"), ("float64", "float64")],
)
def test_take_rows_makes_nullable_what_gains_nulls(dtype, wider):
    column = pd.Series([1, 0, 1], index=[7, 7, 9]).astype(dtype)
    taken = take_rows(column, np.array([2, -1, 0]))
    assert str(taken.dtype) == wider
    assert taken.isna().tolist() == [False, True, False]
    assert taken.iloc[0] == column.iloc[2]
    whole = take_rows(column, np.array([2, 0]))
    assert str(whole.dtype) == dtype
    assert whole.index.tolist() == [0, 1]


def test_large_integers_survive_gaining_nulls():
    column = pd.Series([2**53 + 1, 1])
    assert take_rows(column, np.array([0, -1])).iloc[0] == 2**53 + 1


def _joined(values, keys, **options):
    left = pd.DataFrame({"k": sorted(set(keys))})
    return dfjoin.auto_join(left, pd.DataFrame({"k": keys, "v": values}), on="k", **options)["v"]


def test_the_sum_of_nothing_is_null_whether_or_not_the_key_repeats():
    once = _joined([None, 1.0], ["a", "b"], aggregate="sum")
    twice = _joined([None, None, 1.0], ["a", "a", "b"], aggregate="sum")
    assert once.isna().tolist() == twice.isna().tolist()


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "UInt8"])
def test_the_sum_of_integers_is_null_for_a_key_without_any(dtype):
    column = pd.Series([1, None, 3, None], dtype=dtype)
    result = aggregate_column(column, np.array([0, 0, 2, 1]), 3, "sum")
    assert [None if value is pd.NA else value for value in result] == [1, None, 3]


def test_the_smallest_boolean_is_a_boolean():
    values = _joined([True, False, True], ["a", "a", "b"], aggregate="min")
    assert values.tolist() == [False, True]


@pytest.mark.parametrize("values", [["x", "y", "z"], [3, 4, 5]])
def test_the_share_of_no_booleans_is_an_error_of_dfjoin(values):
    with pytest.raises(InvalidParameterError, match="share"):
        _joined(values, ["a", "a", "b"], aggregate={"v": "share"})


def test_lists_of_a_repeated_key_are_joined_or_refused_with_a_reason():
    try:
        values = _joined([[1], [2], [3]], ["a", "a", "b"])
    except DfjoinError:
        return
    assert len(values) == 2


def test_a_list_column_does_not_stop_the_join_of_a_lake_table(build):
    lake = build({"t": pd.DataFrame({"k": ["a", "a", "b"], "v": [[1], [2], [3]], "w": ["x", "x", "y"]})})
    wide = dfjoin.auto_join(pd.DataFrame({"k": ["a", "b"]}), lake, on="k")
    assert wide["w"].tolist() == ["x", "y"]
    assert wide.attrs["dfjoin"]["joined"][0]["columns"][0]["n_disagreeing"] == 2, "the lists of one key"


@pytest.mark.parametrize("of_lake", [True, False])
def test_dates_of_parquet_take_the_majority_or_the_latest(build, of_lake):
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2019, 1, 1)]
    other = pd.DataFrame({"k": ["a", "a", "a", "b"], "v": days})
    df, other = pd.DataFrame({"k": ["a", "b"]}), build({"t": other}) if of_lake else other
    assert pd.Timestamp(df.auto_join(other, on="k")["v"][0]) == pd.Timestamp("2020-01-01")
    assert pd.Timestamp(df.auto_join(other, on="k", aggregate="latest")["v"][0]) == pd.Timestamp("2021-01-01")


def test_decimals_take_the_mean():
    values = _joined([decimal.Decimal("1.5"), decimal.Decimal("2.5"), decimal.Decimal("9.5")], ["a", "a", "b"])
    assert [float(v) for v in values] == [2.0, 9.5]


TOWNS = pd.DataFrame(
    {
        "region": ["MB", "MB", "MB", "VD", "VD", "AG"],
        "country": ["Italy", "Italy", "Malta", "Romania", "Switzerland", "Oman"],
        "mayor": [None, "Ada", "Bea", "Cleo", None, None],
        "people": [10.0, 20.0, 60.0, 5.0, 7.0, 1.0],
    }
)


def test_what_no_majority_holds_is_null_and_the_report_counts_who_disagrees():
    df = pd.DataFrame({"r": ["MB", "VD", "AG", "ZZ"]})
    wide = dfjoin.auto_join(df, TOWNS, on="r", right_on="region")
    assert wide["country"].fillna("-").tolist() == ["Italy", "-", "Oman", "-"]
    assert wide["mayor"].fillna("-").tolist() == ["-", "Cleo", "-", "-"], "rows without a value have no voice"
    assert wide["people"].fillna(-1).tolist() == [30.0, 6.0, 1.0, -1.0]
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert {c["column"]: c["n_disagreeing"] for c in step["columns"]} == {"country": 3, "mayor": 2, "people": 5}
    text = str(dfjoin.report(wide))
    assert "country (majority; 3 rows disagree), mayor (majority; 2 rows disagree), people (mean; 5 rows " in text


@pytest.mark.parametrize(("rule", "places"), [("first", [0, 3, 5]), ("last", [2, 4, 5])])
def test_first_and_last_take_one_whole_row(rule, places):
    df = pd.DataFrame({"r": ["MB", "VD", "AG"]})
    wide = dfjoin.auto_join(df, TOWNS, on="r", right_on="region", aggregate=rule)
    expected = TOWNS.iloc[places, 1:].reset_index(drop=True)
    pd.testing.assert_frame_equal(wide[list(expected)], expected)


def test_more_than_half_is_needed():
    values = ["x"] * 3 + ["y"] * 3
    assert aggregate_column(pd.Series(values), np.zeros(6, np.int64), 1, "majority").isna().all()
    assert aggregate_column(pd.Series([*values, "x"]), np.zeros(7, np.int64), 1, "majority").tolist() == ["x"]


def test_rows_of_lists_disagree_as_they_print():
    column = pd.Series([[1], [1], [2]])
    chosen = aggregate_column(column, np.zeros(3, np.int64), 1, "majority")
    assert chosen.tolist() == [[1]] and count_disagreeing(column, np.zeros(3, np.int64), chosen, "majority") == 1
