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
