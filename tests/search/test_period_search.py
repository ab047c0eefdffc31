"""Columns of periods in which dates lie, alone and with an entity, against pandas' own periods."""

import json
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search import period_search

DAYS = pd.date_range("1990-01-03", "1999-12-30", freq="9D")
MONTHS = pd.period_range("1988-01", "2001-12", freq="M")
COUNTIES = [f"{name} County" for name in ("Adams", "Baker", "Clark", "Dixon", "Essex", "Floyd")]
WAYS = {
    "Mon YYYY": ("month", "M", lambda p: p.strftime("%b %Y").upper()),
    "YYYY-MM": ("month", "M", str),
    "first days": ("month", "M", lambda p: p.start_time),
    "last days": ("month", "M", lambda p: p.end_time.normalize()),
    "YYYYQn": ("quarter", "Q", str),
    "YYYY": ("year", "Y", lambda p: p.year),
    "YYYY-Www": ("week", "W", lambda p: "{}-W{:02d}".format(*p.start_time.isocalendar()[:2])),
}


def _periods(way):
    _, freq, spell = WAYS[way]
    found = pd.period_range("1988-01-01", "2001-12-31", freq=freq)
    return found, [spell(p) for p in found]


@pytest.fixture
def frame(rng):
    days = np.repeat(DAYS.to_numpy(), 3)
    return pd.DataFrame({"county": rng.choice(COUNTIES, days.size), "date": days, "v": rng.normal(size=days.size)})


@pytest.mark.parametrize("way", WAYS)
def test_periods_of_dates_are_listed_explained_and_joined(build, rng, way):
    granularity, freq, _ = WAYS[way]
    periods, texts = _periods(way)
    rates = pd.DataFrame({"year" if way == "YYYY" else "when": texts, "unemployment": rng.normal(size=len(texts))})
    df = pd.DataFrame({"date": DAYS, "v": np.arange(len(DAYS)) / 7})
    hits = df.discover_joinable("date", build({"rates": rates}))
    assert hits["period"].tolist() == [granularity] and hits["table"].tolist() == ["rates"]
    own = DAYS.to_period(freq).unique()
    assert (hits["matched"][0], hits["query_cardinality"][0]) == (own.isin(periods).sum(), own.size)
    explained = hits.explain(0)
    assert f"by the {granularity} in which they lie; {own.size} of them are compared" in str(explained)
    assert explained.period == granularity and explained.rows
    assert hits.pairs(0)["query_rows"].sum() == len(DAYS)
    assert granularity in repr(hits) and granularity in hits._repr_html_()
    wide = df.auto_join(hits.iloc[[0]])
    by_period = pd.Series(rates["unemployment"].to_numpy(), periods)
    np.testing.assert_allclose(wide["unemployment"], by_period[DAYS.to_period(freq)])
    again = df[:7].auto_join(json.loads(json.dumps(wide.attrs["dfjoin"]["plan"])))
    np.testing.assert_allclose(again["unemployment"], wide["unemployment"][:7])


def test_periods_stand_beside_equal_days_of_other_tables(build, rng, frame):
    rates = pd.DataFrame({"month": [str(p) for p in MONTHS], "unemployment": rng.normal(size=len(MONTHS))})
    daily = pd.DataFrame({"date": pd.date_range("1990-01-01", "1999-12-31")}).assign(
        temp=lambda t: np.arange(len(t)) / 9
    )
    hits = frame.discover_joinable("date", build({"rates": rates, "daily": daily}))
    found = dict(zip(hits["table"], hits["period"].astype(object).where(hits["period"].notna(), None), strict=True))
    assert found == {"rates": "month", "daily": None}
    both = frame.auto_join(hits)
    assert both["temp"].notna().all() and both["unemployment"].notna().all()
    assert "period" not in frame.discover_joinable("date", build({"daily": daily}))
    assert "period" not in frame.discover_joinable("date", build({"rates": rates}), rank="matched")
    assert "period" not in frame.discover_joinable("county", build({"rates": rates}))


def test_no_column_has_periods_that_holds_something_else(build, rng, frame):
    numbers = pd.DataFrame({"id": range(1900, 2100), "x": rng.normal(size=200)})
    firsts = [p.start_time for p in MONTHS]
    days = pd.DataFrame({"moment": [*firsts, *(DAYS + pd.Timedelta(days=4))]})
    lake = build({"numbers": numbers, "days": days.assign(x=np.arange(len(days)))})
    hits = frame.discover_joinable("date", lake, min_score=0.0)
    assert "period" not in hits or hits["period"].isna().all()


@pytest.mark.parametrize("k", [1, 3])
def test_periods_are_among_the_best_of_a_query(build, rng, frame, k):
    tables = {
        f"t{i}": pd.DataFrame({"month": [str(p) for p in MONTHS[i * 9 :]]}).assign(
            **{f"rate {i}": lambda t: np.arange(len(t)) / 7}
        )
        for i in range(5)
    }
    lake = build(tables)
    hits = frame.discover_joinable("date", lake, k=k, families=False)
    every = frame.discover_joinable("date", lake, k=20, families=False)
    assert len(hits) == k and hits["usefulness"].tolist() == every["usefulness"][:k].tolist()


@pytest.mark.parametrize("on", [["county", "date"], ["date", "county"], "county", None])
@pytest.mark.parametrize("way", ["Mon YYYY", "first days", "last days", "YYYYQn"])
def test_entity_and_period_are_one_key(build, rng, frame, way, on):
    granularity, freq, _ = WAYS[way]
    periods, texts = _periods(way)
    jobs = pd.DataFrame([(c, t, p) for c in COUNTIES for t, p in zip(texts, periods, strict=True)])
    jobs.columns = ["county", "when", "p"]
    jobs = jobs.assign(jobs=rng.normal(size=len(jobs))).sample(frac=0.9, random_state=3)
    lake = build({"jobs": jobs.drop(columns="p")})
    expected = frame.assign(p=frame["date"].dt.to_period(freq)).merge(
        jobs[["county", "p", "jobs"]], on=["county", "p"], how="left"
    )
    wide = frame.auto_join(lake, on=on)
    np.testing.assert_allclose(wide["jobs"], expected["jobs"])
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert (step["on"], step["right_on"], step["relationship"]) == (["county", "date"], ["county", "when"], "m:1")
    assert f"equal if both lie in the same {granularity}" in str(dfjoin.report(wide))
    plan = json.loads(json.dumps(wide.attrs["dfjoin"]["plan"]))
    np.testing.assert_allclose(frame[::5].auto_join(plan)["jobs"], expected["jobs"][::5])
    if isinstance(on, list):
        hits = frame.discover_joinable(on, lake)
        assert hits["period"].tolist() == [granularity] and hits["query_column"].tolist() == [" + ".join(on)]
        tuples = expected.drop_duplicates(["county", "p"])
        assert hits["matched"][0] == tuples["jobs"].notna().sum()
        assert (hits["query_cardinality"][0], hits["cardinality"][0]) == (len(tuples), len(jobs))
        assert hits.explain(0).period == granularity and hits.pairs(0)["query_rows"].sum() == wide["jobs"].notna().sum()
        np.testing.assert_allclose(frame.auto_join(hits.iloc[[0]])["jobs"], expected["jobs"])


@pytest.mark.parametrize("seed", range(4))
def test_keys_of_entity_and_period_are_those_of_all_tables(build, seed):
    rng = np.random.default_rng(seed)
    tables = {}
    for i in range(6):
        some = rng.choice(len(MONTHS), 60, replace=False)
        rows = [(c, str(MONTHS[m])) for c in rng.choice(COUNTIES, 4, replace=False) for m in some if rng.random() < 0.7]
        tables[f"t{i}"] = pd.DataFrame(rows, columns=["county", "month"]).assign(
            **{f"x{i}": rng.normal(size=len(rows))}
        )
    df = pd.DataFrame({"county": rng.choice(COUNTIES, 300), "date": rng.choice(DAYS, 300)})
    hits = df.discover_joinable(["county", "date"], build(tables), min_score=0.0, families=False)
    own = set(zip(df["county"], df["date"].dt.strftime("%Y-%m"), strict=True))
    shared = {name: len(own & set(zip(t["county"], t["month"], strict=True))) for name, t in tables.items()}
    assert dict(zip(hits["table"], hits["matched"], strict=True)) == {name: n for name, n in shared.items() if n}


@pytest.mark.filterwarnings("ignore:no acceptable candidate", "ignore:no candidate shares")
def test_equal_days_with_an_entity_come_before_months(build, rng, frame):
    months = pd.DataFrame([(c, str(p)) for c in COUNTIES for p in MONTHS], columns=["county", "month"])
    lake = build(
        {
            "rain": frame[["county", "date"]].drop_duplicates().assign(rain=lambda t: np.arange(len(t)) / 7),
            "jobs": months.assign(jobs=np.arange(len(months)) / 3),
        }
    )
    assert list(frame.auto_join(lake, on=["county", "date"])) == [*frame, "rain"]
    assert list(frame.auto_join(lake, on=["county", "date"], k=2)) == [*frame, "rain", "jobs"]
    refused = frame.auto_join(
        build({"jobs": months[:300].assign(jobs=np.arange(300) / 3)}), on=["county", "date"], threshold=0.9
    )
    (reason,) = [one["reason"] for one in refused.attrs["dfjoin"]["passed_over"]]
    assert "is below the threshold 0.9" in reason


def test_periods_leave_equal_rows_in_the_order_that_a_join_takes(build):
    """What stands for a family of equal tables comes first, whether or not dates have found periods elsewhere."""
    days = pd.date_range("2001-01-01", periods=60, freq="MS")
    prices = pd.DataFrame({"Date": days.astype(str)} | {f"city {i}": np.arange(60) * 1.5 + i for i in range(4)})
    rates = pd.DataFrame({"Date": days.strftime("%b %Y"), "city 0": np.arange(60) / 7, "rate": np.arange(60) / 3})
    lake = build({"m/prices_nsa": prices, "m/prices_sa": prices.assign(**{"city 0": 0.5}), "rates": rates})
    df = pd.DataFrame({"Date": days, "city": np.arange(60) / 9})
    hits = df.discover_joinable("Date", lake, families=False)
    assert hits["period"].notna().any()
    plain = hits[hits["period"].isna()]
    assert plain["table"].tolist() == ["m/prices_sa", "m/prices_nsa"]
    assert dfjoin.auto_join(df, lake, on="Date").attrs["dfjoin"]["joined"][0]["table"] == "m/prices_sa"


class _Row(NamedTuple):
    query_column: str
    table: str
    usefulness: float
    matched: int
    accidental: bool = False


def test_of_equally_useful_columns_those_with_more_values_are_chosen_and_no_more_than_asked_for_are_read(monkeypatch):
    read = []
    monkeypatch.setattr(period_search, "_holds_periods", lambda _, one: read.append(one.position) or True)
    hits = pd.DataFrame({"query_column": ["day"], "table": ["daily"], "usefulness": [0.9]})
    hits.__dict__["context"] = SimpleNamespace(snapshot=None)
    rows = [
        _Row("day", "few", 0.5, 3),
        _Row("day", "best", 0.8, 2),
        _Row("day", "many", 0.5, 7),
        _Row("day", "many", 0.5, 5),
        _Row("day", "chance", 0.9, 9, accidental=True),
        _Row("day", "daily", 0.9, 9),
        _Row("month", "few", 0.1, 1),
    ]
    found = [period_search.PeriodCandidate("day", "month", None, i, row) for i, row in enumerate(rows)]
    for k, chosen in ((None, [1, 2, 0, 6]), (3, [1, 2, 6]), (2, [1, 6]), (1, [6])):
        read.clear()
        assert [one.position for one in period_search._more_useful(hits, found, k)] == read == chosen
