"""Keys that equality leaves alone: programs, likeness, two columns together, as `auto_join` decides on them."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.join.plan import JoinPlan
from tests.benchmarks.augmentation_truth import CASES

OPTIONS = {"select": None, "k": 1, "max_hops": 1}


@pytest.fixture
def misspelled(build):
    """The frame, its target, the lake, and what the lake knows of each row."""
    case = CASES["misspelled, a third"](np.random.default_rng(3))
    case.tables["facts"] = case.tables["facts"].sample(frac=1, random_state=0, ignore_index=True)
    rows = case.frame.head(400)
    return rows, case.y[:400], build(case.tables), case.facts[:400, 0]


def test_misspelled_keys_are_joined_by_likeness(misspelled):
    rows, y, lake, a = misspelled
    found = dfjoin.LakeAugmenter(lake, **OPTIONS).fit(rows, y)
    assert found.features_ == ["a"], "the key in its other spelling is no feature"
    wide = found.transform(rows)
    known = wide["a"].notna()
    equal = dfjoin.LakeAugmenter(lake, precision=None, **OPTIONS).fit(rows, y)
    assert known.mean() > 0.9 > 0.8 > equal.transform(rows)["a"].notna().mean()
    assert np.isclose(wide["a"], a)[known].mean() >= 0.95
    plan = JoinPlan.from_dict(json.loads(json.dumps(found.plan_.to_dict())))
    pd.testing.assert_series_equal(rows.auto_join(plan)["a"], wide["a"], check_dtype=False)


def test_keys_none_of_which_is_equal(build):
    case = CASES["misspelled, all"](np.random.default_rng(3))
    lake = build(case.tables)
    found = dfjoin.LakeAugmenter(lake, **OPTIONS).fit(case.frame, case.y)
    wide = found.transform(case.frame)
    known = wide["a"].notna()
    assert known.mean() > 0.75 and np.isclose(wide["a"], case.facts[:, 0])[known].mean() >= 0.9
    assert dfjoin.LakeAugmenter(lake, precision=None, **OPTIONS).fit(case.frame, case.y).features_ == []


@pytest.mark.parametrize("name", ["two names", "two keys, repeated rows"])
def test_keys_of_two_columns_that_nobody_named(build, name):
    case = CASES[name](np.random.default_rng(3))
    (table,) = case.tables
    found = dfjoin.LakeAugmenter(build(case.tables), **OPTIONS).fit(case.frame, case.y)
    (step,) = found.plan_.steps
    assert len(step.on) == 2 and step.table == table
    wide = found.transform(case.frame).set_index(step.on)
    feature, value = {"facts": ("a", "a"), "log": ("log.level (mean)", "level")}[table]
    expected = case.tables[table].groupby(step.right_on)[value].mean()
    np.testing.assert_allclose(wide[feature], expected.reindex(wide.index))


def test_a_precision_that_is_none(misspelled):
    rows, y, lake, _ = misspelled
    with pytest.raises(InvalidParameterError, match="`precision` must be"):
        dfjoin.LakeAugmenter(lake, precision=2).fit(rows, y)


def test_keys_that_are_alike_and_others_are_not_joined(build, rng):
    """Models of one maker resemble those of another list: likeness joins too few of them for sure."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    stems = ["".join(rng.choice(letters, 6)) for _ in range(300)]
    frame = pd.DataFrame({"model": [f"{stem} one" for stem in stems], "own": rng.normal(size=300)})
    table = pd.DataFrame(
        {"product": ["".join(rng.choice(letters, 6)) + " one" for _ in stems], "v": rng.normal(size=300)}
    )
    lake = build({"other": table})
    found = dfjoin.LakeAugmenter(lake, min_score=0, threshold=0.3, **OPTIONS).fit(frame, frame["own"] * 2 + table["v"])
    assert found.tables_ == []


def test_many_keys_that_are_left_are_not_related(misspelled, monkeypatch):
    """A search reads dozens of tables: what takes seconds for each is left to a join by hand."""
    rows, y, lake, _ = misspelled
    monkeypatch.setattr("dfjoin.join.lakes.path_search._MOST_LEFT", 50)
    found = dfjoin.LakeAugmenter(lake, **OPTIONS).fit(rows, y)
    assert found.plan_.steps[0].relation is None and found.features_ == ["a"]


def test_keys_by_distance_are_joined_within_the_radius(build, rng):
    names = [
        f"Company {letters} {n}" for letters, n in zip(rng.choice(list("aeiou"), 120), range(200, 320), strict=True)
    ]
    sizes = rng.normal(size=120)
    lake = build({"firms": pd.DataFrame({"firm": [n.replace("Comp", "Cmp") for n in names], "size": sizes})})
    X = pd.DataFrame({"firm": names, "y": 2 * sizes + rng.normal(size=120) / 2})
    plan = dfjoin.LakeAugmenter(lake, target="y", mode="fuzzy", on="firm").fit(X).plan_
    held = plan.steps[0].relation["similar"]
    assert "precision" not in held
    assert held["radius"] < 1


def test_places_are_joined_with_the_nearest_within_a_radius(tmp_path, rng):
    stations = pd.DataFrame(
        {"lat": rng.uniform(45, 55, 90), "lon": rng.uniform(5, 15, 90), "height": rng.normal(size=90)}
    )
    own = rng.integers(0, 90, 300)
    X = stations.iloc[own][["lat", "lon"]].reset_index(drop=True) + rng.normal(0, 0.003, (300, 2))
    far = stations.assign(lat=stations["lat"] - 20).rename(columns={"height": "depth"})
    lake = dfjoin.build_lake({"s": stations, "far": far}, tmp_path / "lake", engine="inline", progress=False)
    options = {"on": ["lat", "lon"], "mode": "embedding", "radius": 3, "radius_unit": "km"}
    y = 2 * stations["height"].to_numpy()[own] + 1.5 * rng.normal(size=300)
    augmenter = dfjoin.LakeAugmenter(lake, **options).fit(X, y)
    assert augmenter.features_ == ["height"]
    squares = [((stations[["lat", "lon"]] - point) ** 2).sum(axis=1).idxmin() for point in X.head(20).to_numpy()]
    assert augmenter.transform(X.head(20))["height"].tolist() == stations["height"].loc[squares].tolist()
    lost = augmenter.transform(pd.DataFrame({"lat": [10.0], "lon": [10.0]}))
    assert lost["height"].isna().all()
    with pytest.raises(InvalidParameterError, match="`radius_unit` must be"):
        dfjoin.LakeAugmenter(lake, on=["lat", "lon"], mode="embedding").fit(X, y)
