"""What was known before the date of each row, over one join and over two, against loops over all rows."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import dfjoin
from tests.augment.conftest import land_names

START = pd.Timestamp("2020-01-01")
N_LANDS, N_ROWS = 40, 120


@pytest.fixture(scope="module")
def past():
    """Rows with days of their own, visits of lands on other days, and harbours that opened on some day."""
    rng = np.random.default_rng(3)
    lands = land_names(N_LANDS)
    harbours = [f"port {name}" for name in lands[::2]]
    rows = pd.DataFrame(
        {"land": rng.choice(lands, N_ROWS), "day": START + pd.to_timedelta(rng.integers(0, 300, N_ROWS), "D")}
    )
    places = rng.integers(0, N_LANDS, 500)
    usual = np.array(harbours)[places // 2]
    visits = pd.DataFrame(
        {
            "land": np.array(lands)[places],
            "seen": START + pd.to_timedelta(rng.integers(0, 300, 500), "D"),
            "days": rng.integers(1, 90, 500) / 4,
            "harbour": np.where(rng.random(500) < 0.8, usual, rng.choice(harbours, 500)),
        }
    )
    ports = pd.DataFrame(
        {
            "harbour": np.repeat(harbours, 3),
            "since": START + pd.to_timedelta(rng.integers(0, 300, 60), "D"),
            "berths": rng.integers(2, 400, 60) / 8,
        }
    )
    return rows, {"visits": visits, "ports": ports}


def known_visits(visits, row):
    """Visits of the row's land that have ended when its day begins."""
    return visits[(visits["land"] == row.land) & (visits["seen"] + pd.Timedelta(days=1) <= row.day)]


def majority(values):
    """The value of more than half of the rows."""
    counts = Counter(values)
    value, n = counts.most_common(1)[0] if counts else (None, 0)
    return value if 2 * n > len(values) else None


def test_rows_known_before_along_a_path(past, tmp_path):
    rows, tables = past
    lake = dfjoin.build_lake(tables, tmp_path / "lake", engine="inline", progress=False)
    augmenter = dfjoin.LakeAugmenter(lake, on="land", as_of="day", select=None, min_score=0, threshold=0.1, max_hops=2)
    wide = augmenter.fit(rows).transform(rows)
    found = {one.path: one.columns for one in augmenter.report_.joined}
    behind = "land → visits.harbour (majority) → ports"
    assert set(found) == {"land → visits", behind}
    name = found[behind]["berths (mean)"]
    assert name == "visits__ports.berths (mean)"
    for place, row in enumerate(rows.itertuples()):
        own = known_visits(tables["visits"], row)
        np.testing.assert_allclose(wide["visits.days (mean)"][place], own["days"].mean() if len(own) else np.nan)
        assert wide["visits_rows"][place] == len(own)
        ports = tables["ports"]
        there = ports[(ports["harbour"] == majority(own["harbour"].tolist())) & (ports["since"] < row.day)]
        np.testing.assert_allclose(wide[name][place], there["berths"].mean() if len(there) else np.nan)
    assert wide[name].notna().sum() > 10


def test_the_future_changes_nothing(past, tmp_path):
    """What is dated later than a row may be anything: the row gets the same."""
    rows, tables = past
    moment = START + pd.Timedelta(days=150)
    early = rows[rows["day"] <= moment].reset_index(drop=True)
    changed = {name: frame.copy() for name, frame in tables.items()}
    for name, date, value in (("visits", "seen", "days"), ("ports", "since", "berths")):
        changed[name].loc[changed[name][date] >= moment, value] = -1000.0
    found = []
    for number, frames in enumerate((tables, changed)):
        lake = dfjoin.build_lake(frames, tmp_path / str(number), engine="inline", progress=False)
        options = {"on": "land", "as_of": "day", "select": None, "min_score": 0, "threshold": 0.1}
        found.append(dfjoin.LakeAugmenter(lake, **options).fit(early).transform(early))
    pd.testing.assert_frame_equal(*found)
    numbers = found[1].select_dtypes("number")
    assert not (numbers[[name for name in numbers if "trend" not in name]] < 0).any(axis=None)


def test_a_leak_of_the_future_alone_is_no_feature(past, tmp_path):
    """The target itself, published the day after: without `as_of` it is refused as a leak, with it no row knows it."""
    rows, _ = past
    rng = np.random.default_rng(0)
    rows = rows.drop_duplicates("land").reset_index(drop=True)
    y = pd.Series(rng.normal(size=len(rows)))
    result = pd.DataFrame({"land": rows["land"], "published": rows["day"] + pd.Timedelta(days=1), "outcome": y})
    lake = dfjoin.build_lake({"result": result}, tmp_path / "lake", engine="inline", progress=False)
    assert "result/outcome" in dfjoin.LakeAugmenter(lake, on="land").fit(rows, y).report_.refused
    found = dfjoin.LakeAugmenter(lake, on="land", as_of="day").fit(rows, y)
    assert found.features_ == [] and found.report_.refused == {}
