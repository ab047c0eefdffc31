"""Cells of a right table keep value and type, whatever they are: every type, every rule, once and repeated keys."""

import datetime as dt
import decimal
import fractions
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.join.aggregate import aggregate_column, cell_kind, count_disagreeing, decimal_type
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rules import KEEPING

BIG = 2**60
UTC = dt.UTC


def _arrow(values, type_):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, type_)])))


DAYS = [dt.date(2020, 1, 1 + i) for i in range(5)]
MOMENTS = [dt.datetime(2020, 1, 1 + i, 3, tzinfo=UTC) for i in range(5)]
PRICES = [Decimal("12345678901234567.89"), Decimal("0.01"), Decimal("-7.25"), Decimal("1.10"), Decimal("3.30")]
TEXTS = ["b", "a", "é", "", "Z"]
COLUMNS = {
    "int8": pd.Series([3, 1, -2, 4, 5], dtype="int8"),
    "account": pd.Series([BIG + i for i in range(5)]),
    "uint64": pd.Series([2**63 + i for i in range(5)], dtype="uint64"),
    "float32": pd.Series([1.5, -2.25, 0.5, 3.0, 4.0], dtype="float32"),
    "float64": pd.Series([0.1, -2.25, 1e300, np.nan, 4.0]),
    "Int64": pd.Series([BIG + 1, None, 3, 4, 5], dtype="Int64"),
    "Float64": pd.Series([0.1, None, 3, 4, 5], dtype="Float64"),
    "bool": pd.Series([True, False, True, True, False]),
    "boolean": pd.Series([True, None, False, True, False], dtype="boolean"),
    "objects of bool": pd.Series([True, None, False, True, False], dtype=object),
    "str": pd.Series(TEXTS),
    "string": pd.Series([*TEXTS[:4], None], dtype="string"),
    "category": pd.Series(TEXTS, dtype="category"),
    "ordered": pd.Series(pd.Categorical(TEXTS, ["Z", "b", "a", "é", ""], ordered=True)),
    "datetime": pd.Series([moment.replace(tzinfo=None) for moment in MOMENTS]),
    "zoned": pd.Series(MOMENTS).dt.tz_convert("Europe/Vienna"),
    "timedelta": pd.Series(pd.to_timedelta([5, 1, None, 2, 3], unit="min")),
    "date": pd.Series(DAYS, dtype=object),
    "time": pd.Series([dt.time(1 + i) for i in range(5)], dtype=object),
    "decimal": pd.Series(PRICES, dtype=object),
    "bytes": pd.Series([b"x", b"a", None, b"\xff", b""], dtype=object),
    "list": pd.Series([[2], [1], [], [1, 2], [3]], dtype=object),
    "arrow int64": _arrow([BIG + 1, None, 3, 4, 5], pa.int64()),
    "arrow double": _arrow([0.1, None, 3.0, 4.0, 5.0], pa.float64()),
    "arrow bool": _arrow([True, None, False, True, False], pa.bool_()),
    "arrow string": _arrow(TEXTS, pa.string()),
    "arrow timestamp": _arrow(MOMENTS, pa.timestamp("us", "UTC")),
    "arrow date": _arrow(DAYS, pa.date32()),
    "arrow time": _arrow([dt.time(1 + i) for i in range(5)], pa.time64("us")),
    "arrow duration": _arrow([dt.timedelta(minutes=m) for m in (5, 1, 2, 4, 3)], pa.duration("us")),
    "arrow decimal": _arrow(PRICES, pa.decimal128(22, 2)),
    "arrow decimal256": _arrow([value.scaleb(20) for value in PRICES], pa.decimal256(50, 2)),
    "arrow binary": _arrow([b"x", b"a", None, b"\xff", b""], pa.binary()),
    "arrow list": _arrow([[2], [1], [], [1, 2], [3]], pa.list_(pa.int64())),
    "arrow struct": _arrow([{"a": i} for i in (3, 1, 2, 4, 5)], pa.struct([("a", pa.int64())])),
}
NUMBERS = ["int8", "account", "uint64", "float32", "float64", "Int64", "Float64", "arrow int64", "arrow double"]
DECIMALS = ["decimal", "arrow decimal", "arrow decimal256"]
UNIQUE = pd.DataFrame({"k": [f"key {i}" for i in range(5)], **COLUMNS})
REPEATED = UNIQUE.iloc[[0, 1, 1, 2, 3, 4]].assign(k=["p", "p", "p", "q", "s", "s"]).reset_index(drop=True)
ROWS = {"p": [0, 1, 1], "q": [2], "s": [3, 4]}


def _plain(cell):
    """Return a cell that can be compared, None for null."""
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    return cell if isinstance(cell, (list, dict)) or not pd.isna(cell) else None


def _cells(frame, name):
    return [_plain(cell) for cell in frame[name].astype(object)]


def _rules(rule):
    """Return the argument that applies a rule where the type allows it."""
    if rule not in ("mean", "median", "sum"):
        return rule
    return dict.fromkeys([*NUMBERS, *DECIMALS], rule)


def _with_nulls(dtype):
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return "boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("u", "U")
    return str(dtype)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    place = tmp_path_factory.mktemp("cells")
    return dfjoin.build_lake({"unique": UNIQUE, "repeated": REPEATED}, place / "lake", engine="inline", progress=False)


def _joined(keys, name, source, lake, aggregate):
    """Join a table as a frame, from a lake, or by the plan of a join with other keys; also return the right table."""
    left = pd.DataFrame({"k": keys})
    right = UNIQUE if name == "unique" else REPEATED
    if source == "frame":
        return left.auto_join(right, on="k", aggregate=aggregate), right
    if source == "frame plan":
        plan = left.iloc[1:2].auto_join(right, on="k", aggregate=aggregate).attrs["dfjoin"]["plan"]
        return left.auto_join(right, plan=plan), right
    right = lake.table(name)
    if isinstance(aggregate, dict):
        aggregate = {column: rule for column, rule in aggregate.items() if cell_kind(right[column]) != "other"}
    asked = JoinPlan((JoinStep(["k"], name, ["k"], list(COLUMNS), aggregate=aggregate),), index=str(lake.path))
    if source == "lake":
        return left.auto_join(asked), right
    plan = left.iloc[1:2].auto_join(asked).attrs["dfjoin"]["plan"]
    return left.auto_join(plan), right


SOURCES = ["frame", "frame plan", "lake", "lake plan"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rule", ["auto", None, "mean", "sum", "max", "first", "majority"])
def test_cells_of_keys_that_stand_once_are_those_of_the_table(lake, source, rule):
    wide, right = _joined(["key 3", "key 0", "none", "key 4", "key 1", "key 2"], "unique", source, lake, _rules(rule))
    for name in COLUMNS:
        expected = _cells(right, name)
        assert _cells(wide, name) == [expected[3], expected[0], None, expected[4], expected[1], expected[2]], name
        assert str(wide[name].dtype) == _with_nulls(right[name].dtype), name


def _order(name, right):
    if name in ("list", "arrow list", "arrow struct"):
        return repr
    if isinstance(right[name].dtype, pd.CategoricalDtype) and right[name].dtype.ordered:
        return list(right[name].cat.categories).index
    return lambda value: value


def _chosen(rule, values, order):
    if rule in ("first", "last"):
        return values[0 if rule == "first" else -1]
    values = [value for value in values if value is not None]
    if not values:
        return None
    if rule in ("min", "max", "latest"):
        return (min if rule == "min" else max)(values, key=order)
    most = max(values, key=lambda value: sum(one == value for one in values))
    ties = [value for value in values if values.count(value) == values.count(most)]
    most = min(ties, key=order)
    return most if rule == "most_frequent" or 2 * values.count(most) > len(values) else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rule", [rule for rule in KEEPING if rule not in ("mean", "sum", "median")])
def test_rules_that_choose_a_value_keep_it_and_its_type(lake, source, rule):
    wide, right = _joined(["s", "p", "none", "q"], "repeated", source, lake, rule)
    for name in COLUMNS:
        cells, order = _cells(right, name), _order(name, right)
        at = {"p": [0, 1, 2], "q": [3], "s": [4, 5]}
        chosen = {key: _chosen(rule, [cells[row] for row in rows], order) for key, rows in at.items()}
        assert _cells(wide, name) == [chosen["s"], chosen["p"], None, chosen["q"]], name
        assert str(wide[name].dtype) == _with_nulls(right[name].dtype), name


def _rounded(value, places):
    with decimal.localcontext(decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)):
        return (Decimal(value.numerator) / value.denominator).quantize(Decimal(1).scaleb(-places))


@pytest.mark.parametrize("rule", ["mean", "median", "sum"])
@pytest.mark.parametrize("name", DECIMALS)
def test_statistics_of_decimals_are_exact_decimals(rule, name):
    column = REPEATED[name]
    result = aggregate_column(column, np.array([0, 0, 0, 1, 2, 2]), 4, rule)
    cells = [fractions.Fraction(value) for value in column]
    for key, rows in enumerate([[0, 1, 2], [3], [4, 5]]):
        values = sorted(cells[row] for row in rows)
        middle = values[(len(values) - 1) // 2 : len(values) // 2 + 1]
        exact = {"sum": sum(values), "mean": sum(values) / len(values), "median": sum(middle) / len(middle)}[rule]
        assert isinstance(result[key], Decimal) and result[key] == _rounded(exact, 2 if rule == "sum" else 6)
    assert pd.isna(result[3])
    if isinstance(column.dtype, pd.ArrowDtype):
        type_ = column.dtype.pyarrow_dtype
        most = 38 if type_.byte_width == 16 else 76
        found = result.dtype.pyarrow_dtype
        assert (found.precision, found.scale) == decimal_type(type_.precision, type_.scale, rule, most)


def test_decimals_beyond_their_type_are_an_error():
    column = _arrow([Decimal(9 * 10**37)] * 2, pa.decimal128(38, 0))
    for rule in ("sum", "mean"):
        with pytest.raises(
            InvalidParameterError, match=f"rule '{rule}' makes numbers of column None .* than 38 digits"
        ):
            aggregate_column(column, np.zeros(2, np.int64), 1, rule)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_whole_decimals_of_all_digits_have_means_that_are_not_whole(rule):
    column = _arrow([Decimal(1), Decimal(2)], pa.decimal128(38, 0))
    assert aggregate_column(column, np.zeros(2, np.int64), 1, rule).tolist() == [Decimal("1.5")]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "int64[pyarrow]", "uint64"])
def test_sums_of_integers_are_exact_up_to_64_bits_and_an_error_beyond(dtype):
    most = 2**64 - 1 if dtype == "uint64" else 2**63 - 1
    column = pd.Series([most - 5, 5, most, 1], dtype=dtype, name="n")
    assert aggregate_column(column[:2], np.zeros(2, np.int64), 1, "sum").tolist() == [most]
    with pytest.raises(InvalidParameterError, match="rule 'sum' makes numbers of column 'n' that are beyond 64 bits"):
        aggregate_column(column[2:], np.zeros(2, np.int64), 1, "sum")


def test_integers_that_no_float_tells_apart_disagree_and_means_agree_within_a_billionth():
    codes = np.zeros(3, np.int64)
    column = pd.Series([BIG, BIG, BIG + 1])
    assert count_disagreeing(column, codes, pd.Series([BIG], dtype="Int64"), "majority") == 1
    near = pd.Series([1.0, 1.0 + 1e-10, 1.0 + 1e-6])
    assert count_disagreeing(near, codes, pd.Series([1.0]), "mean") == 1


def test_a_plan_says_whether_keys_have_one_row():
    left, once = pd.DataFrame({"k": ["a", "b"]}), pd.DataFrame({"k": ["a", "b"], "n": [1, 2], "m": [3, 4]})
    twice = pd.DataFrame({"k": ["a", "a", "b"], "n": [1, 2, 3], "m": [3, 3, 4]})
    wide = left.auto_join(once, on="k")
    plan = wide.attrs["dfjoin"]["plan"]
    assert plan["steps"][0]["is_unique"] is True and plan["steps"][0]["measures"] is None
    again = left.auto_join(twice, plan=plan)
    assert again[["n", "m"]].dtypes.equals(wide[["n", "m"]].dtypes)
    assert again["n"].isna().tolist() == [True, False] and again["m"].tolist() == [3, 4], "no mean is an integer"
    plan = left.auto_join(twice, on="k").attrs["dfjoin"]["plan"]
    assert plan["steps"][0]["is_unique"] is False and plan["steps"][0]["measures"] == ["n", "m"]
    assert left.auto_join(once, plan=plan)["n"].dtype == np.float64


def test_a_statistic_that_a_plan_has_no_type_for_is_an_error():
    left, once = pd.DataFrame({"k": ["a"]}), pd.DataFrame({"k": ["a"], "n": [1]})
    plan = left.auto_join(once, on="k", aggregate="mean").attrs["dfjoin"]["plan"]
    even = left.auto_join(pd.DataFrame({"k": ["a", "a"], "n": [1, 3]}), plan=plan)
    assert even["n"].tolist() == [2] and str(even["n"].dtype) == "Int64"
    with pytest.raises(InvalidParameterError, match=r"rule 'mean' makes values of column 'n' that are no Int64: when"):
        left.auto_join(pd.DataFrame({"k": ["a", "a"], "n": [1, 2]}), plan=plan)


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_rows_without_a_key_bring_no_cells(how):
    right = pd.DataFrame({"k": ["a", None, "c"], "n": [1, 2, 3]})
    wide = pd.DataFrame({"k": ["a", "b", None]}).auto_join(right, on="k", how=how, transform=False, fuzzy=False)
    assert 2 not in wide["n"].dropna().tolist()
    assert wide["k"].fillna("-").tolist() == {
        "left": ["a", "b", "-"], "inner": ["a"], "right": ["a", "c"], "outer": ["a", "b", "-", "c"]
    }[how]  # fmt: skip
