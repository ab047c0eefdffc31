"""Several aggregates of one column, against pandas."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError
from dfjoin.join.aggregate import aggregate_column
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rules import check_rules, rules_by_kind

N = 300


@pytest.fixture
def log(rng):
    keys = [f"k{i}x" for i in rng.integers(0, 40, N)]
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(N), unit="D")
    reading = pd.Series(rng.normal(size=N)).where(rng.random(N) < 0.9)
    return pd.DataFrame({"key": keys, "seen": seen, "reading": reading, "kind": rng.choice(list("abc"), N)})


def joined(build, log, aggregate, frame=None, dated=None):
    lake = build({"log": log})
    frame = pd.DataFrame({"key": [f"k{i}x" for i in range(41)]}) if frame is None else frame
    step = JoinStep(["key"], "log", ["key"], list(aggregate), {}, aggregate, dated=dated)
    plan = JoinPlan((step,), "left", str(lake.snapshot.path))
    plan = JoinPlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    return frame.auto_join(plan).set_index("key")


def test_each_rule_has_a_column_of_its_own(build, log):
    rules = {"reading": ["mean", "std", "max", "count"], "kind": ["nunique", "top_share", "majority"]}
    found = joined(build, log, rules)
    groups = log.groupby("key")
    names = [f"{column} ({rule})" for column, own in rules.items() for rule in own]
    assert [name for name in found if not name.endswith("_rows")] == names
    for rule in rules["reading"]:
        expected = groups["reading"].agg(rule).reindex(found.index)
        np.testing.assert_allclose(found[f"reading ({rule})"].astype(float), expected)
    expected = groups["kind"].agg(lambda kinds: kinds.value_counts(normalize=True).iloc[0]).reindex(found.index)
    np.testing.assert_allclose(found["kind (top_share)"], expected)


def test_rows_before_a_date_in_their_order(build, log):
    frame = pd.DataFrame({"key": [f"k{i}x" for i in range(40)], "day": pd.Timestamp("2024-08-01")})
    rules = {"reading": ["last", "trend", "mean, 60 days"], "seen": ["since"]}
    dated = {"on": "day", "right_on": ["seen"], "rule": "before"}
    found = joined(build, log, rules, frame, dated)
    for key, own in log[log["seen"] < "2024-08-01"].sort_values("seen").groupby("key"):
        recent = own["seen"] >= pd.Timestamp("2024-08-01") - pd.Timedelta(days=60)
        held = own["reading"].dropna()
        expected = [
            own["reading"].iloc[-1],
            np.polyfit(np.arange(len(held)), held, 1)[0] if len(held) > 1 else np.nan,
            own["reading"][recent].mean(),
            len(pd.date_range(own["seen"].max(), "2024-08-01", inclusive="neither")),
        ]
        np.testing.assert_allclose(found.loc[key].drop("day").astype(float).iloc[:4], expected, err_msg=key)


def test_a_rule_of_dates_without_dates(build, log):
    for rule in ("since", "trend", "mean, 7 days"):
        with pytest.raises(
            InvalidParameterError, match=rf"rule '{rule}' of column 'reading' needs the dates of `as_of`"
        ):
            joined(build, log, {"reading": [rule]})


def test_rules_by_kind():
    assert rules_by_kind("auto", "integer", is_measure=False, is_dated=False) == ("majority", "nunique", "top_share")
    assert rules_by_kind("auto", "boolean", is_measure=False, is_dated=True) == ("share", "last")
    assert check_rules("mean") == ("mean",)
    with pytest.raises(InvalidParameterError, match=r"`aggregates` must be rules .*'since'.*, got 'avg'"):
        check_rules(["mean", "avg"])


def test_the_slope_of_few_values():
    values = pd.Series([1.0, np.nan, 4.0, 7.0, 5.0])
    found = aggregate_column(values, np.array([0, 0, 0, 1, 2]), 4, "trend")
    np.testing.assert_array_equal(found, [3, np.nan, np.nan, np.nan])
    shares = aggregate_column(pd.Series(["a", "a", "b", None]), np.array([0, 0, 0, 1]), 3, "top_share")
    np.testing.assert_allclose(shares, [2 / 3, np.nan, np.nan])


@pytest.mark.parametrize("rules", [[3], 3, {"a": [["b"]]}])
def test_a_plan_with_rules_that_are_no_texts(rules):
    plan = JoinPlan((JoinStep(["a"], "t", ["a"], aggregate={"a": rules}),), index="x").to_dict()
    with pytest.raises(InvalidParameterError, match="a mapping of columns to rules or lists of them, or null"):
        JoinPlan.from_dict(plan)


def test_windows_and_rules_of_an_augmenter(build, log, rng):
    pytest.importorskip("sklearn")
    frame = pd.DataFrame({"key": [f"k{i}x" for i in range(40)], "day": pd.Timestamp("2024-12-01")})
    options = {"select": None, "max_hops": 1}
    lake = build({"log": log})
    y = rng.normal(size=40)
    one = dfjoin.LakeAugmenter(lake, aggregates=None, **options).fit(frame[["key"]], y)
    assert "reading" in one.features_
    some = dfjoin.LakeAugmenter(lake, aggregates=["median", "nunique"], **options).fit(frame[["key"]], y)
    names = ["log.seen (nunique)", "log.reading (median)", "log.reading (nunique)", "log.kind (nunique)", "log_rows"]
    assert some.features_ == names
    named = dfjoin.LakeAugmenter(lake, aggregates={"reading": "median"}, **options).fit(frame[["key"]], y)
    assert "log.reading (median)" in named.features_
    dated = dfjoin.LakeAugmenter(lake, as_of="day", windows=90, **options).fit(frame, y)
    assert {"log.reading (mean, 90 days)", "log.reading (last)", "log.seen (since)"} <= set(dated.features_)
    wide = dated.transform(frame).set_index("key")
    recent = log[log["seen"] >= pd.Timestamp("2024-12-01") - pd.Timedelta(days=90)].groupby("key")["reading"].mean()
    np.testing.assert_allclose(wide["log.reading (mean, 90 days)"], recent.reindex(wide.index))
    with pytest.raises(InvalidParameterError, match="`windows` needs `as_of`, before which they lie, got 90"):
        dfjoin.LakeAugmenter(lake, windows=90).fit(frame, y)
    with pytest.raises(InvalidParameterError, match="`aggregates` must be rules"):
        dfjoin.LakeAugmenter(lake, aggregates=["no"]).fit(frame, y)
    with pytest.raises(InvalidParameterError, match=r"`aggregates` must be rules .*, got \[\]; None is one rule a col"):
        dfjoin.LakeAugmenter(lake, aggregates=[]).fit(frame, y)
    for rules in (["mean", "trend"], {"seen": ["since"]}):
        with pytest.raises(
            InvalidParameterError, match=r"`aggregates` rule '(trend|since)' needs `as_of`, the column of"
        ):
            dfjoin.LakeAugmenter(lake, aggregates=rules).fit(frame, y)
    with pytest.raises(ColumnNotFoundError, match=r"`aggregates` must name columns of tables of the lake .*got 'nope'"):
        dfjoin.LakeAugmenter(lake, aggregates={"nope": ["mean"]}).fit(frame, y)
    text = dfjoin.LakeAugmenter(lake, aggregates={"kind": ["mean"]}, **options).fit(frame[["key"]], y)
    assert text.report_.passed_over["log"].startswith(
        "`aggregates` rule 'mean' needs numbers, but column 'kind' holds "
    )


@pytest.mark.parametrize("windows", [1, [1, 2, 7]])
def test_a_window_has_so_many_days(build, rng, windows):
    """One reading a day, a power of two each: a sum of them tells which days were counted."""
    pytest.importorskip("sklearn")
    days = pd.date_range("2024-06-01", "2024-06-12")
    keys = [f"k{i}x" for i in range(40)]
    table = pd.DataFrame([(key, day, 2.0**day.day) for key in keys for day in days], columns=["key", "seen", "reading"])
    frame = pd.DataFrame({"key": keys, "day": pd.Timestamp("2024-06-10")})
    augmenter = dfjoin.LakeAugmenter(
        build({"log": table}), as_of="day", windows=windows, aggregates=["mean"], select=None, max_hops=1, on="key"
    )
    wide = augmenter.fit(frame, rng.normal(size=40)).transform(frame)
    for window in [windows] if isinstance(windows, int) else windows:
        expected = np.mean([2.0**day for day in range(10 - window, 10)])
        assert (wide[f"log.reading (mean, {window} days)"] == expected).all()


def test_a_table_has_a_column_with_the_name_of_an_aggregate(build, log, rng):
    pytest.importorskip("sklearn")
    log = log.assign(**{"reading (mean)": rng.normal(size=N)})
    found = joined(build, log, {"reading": ["mean"], "reading (mean)": "min"})
    groups = log.groupby("key")
    np.testing.assert_allclose(
        found["reading (mean)"].astype(float), groups["reading (mean)"].min().reindex(found.index)
    )
    np.testing.assert_allclose(found["reading (mean)__2"].astype(float), groups["reading"].mean().reindex(found.index))
    frame = pd.DataFrame({"key": [f"k{i}x" for i in range(40)]})
    fit = dfjoin.LakeAugmenter(build({"log": log}), aggregates={"reading": ["mean"]}, select=None, max_hops=1)
    wide = fit.fit(frame, rng.normal(size=40)).transform(frame).set_index("key")
    told = [name for name in wide if "reading" in name]
    assert len(told) == 2
    means = [groups[name].mean().reindex(wide.index) for name in ("reading", "reading (mean)")]
    for name in told:
        assert sum(np.allclose(wide[name], mean, equal_nan=True) for mean in means) == 1
    assert not np.allclose(wide[told[0]], wide[told[1]], equal_nan=True)
