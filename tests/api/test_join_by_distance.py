"""Joining candidates that were found by distance: each row with its nearest partner, and again by a plan."""

import json

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from tests.vectors.makers import letters, scattered

CITIES = pd.DataFrame(
    {
        "city": ["Paris", "Pariss", "New York", "Berlin", "Lima", "Lima"],
        "people": [2.1, 9.9, 8.4, 3.6, 10.0, 12.0],
        "mayor": ["p", "x", "n", "b", "l", "l"],
    }
)
QUERY = pd.DataFrame({"q": ["Parris", "New Yorck", "berlin", "Limma", "Quito", None, "paris"]})


@pytest.fixture
def lake(build):
    return build({"cities": CITIES, "numbers": pd.DataFrame({"n": range(9)})}, embedder=letters)


def joined(wide):
    return list(zip(wide["city"].where(wide["city"].notna(), None), wide["people"].round(1).tolist(), strict=True))


def test_each_row_gets_its_nearest_partner(lake):
    hits = QUERY.discover_joinable("q", lake, mode="embedding", radius=0.25, rank="matched")
    wide = QUERY.auto_join(hits.iloc[[0]])
    assert wide["q"].tolist()[:5] == QUERY["q"].tolist()[:5] and len(wide) == len(QUERY)
    assert wide["mayor"].fillna("").tolist() == ["p", "n", "b", "l", "", "", "p"]
    assert wide["city"].iloc[0] == "Paris" and wide["people"].iloc[3] == 11.0  # the mean over both rows
    report = wide.attrs["dfjoin"]
    assert report["joined"][0]["relationship"] == "m:m"  # Paris for two rows, and two rows of Lima for one
    relation = report["joined"][0]["relation"]["near"]
    assert (relation["radius"], relation["metric"]) == (0.25, "euclidean")
    assert "by distance: the nearest key up to 0.25 (fraction), euclidean" in str(dfjoin.report(wide))
    again = QUERY.auto_join(json.loads(json.dumps(report["plan"])))
    pd.testing.assert_frame_equal(again, wide)


@pytest.mark.parametrize("how", ["inner", "right", "outer"])
def test_rows_without_a_partner_follow_the_kind_of_join(lake, how):
    hits = QUERY.discover_joinable("q", lake, mode="embedding", radius=0.25, rank="matched")
    wide = QUERY.auto_join(hits.iloc[[0]], how=how, aggregate=None)
    found = {(q if isinstance(q, str) else None, c) for q, c in zip(wide["q"], wide["mayor"], strict=True)}
    assert {("Parris", "p"), ("New Yorck", "n"), ("berlin", "b"), ("Limma", "l"), ("paris", "p")} <= found
    assert ((None, "x") in found) == (how != "inner") and (len(wide) == 6) == (how == "inner")


def test_a_lake_is_joined_by_distance(lake):
    wide = QUERY.auto_join(lake, on="q", mode="embedding", threshold=0.1)
    assert wide["mayor"].tolist()[2] == "b"


def test_a_column_that_is_not_text_is_joined_by_equal_values(lake):
    df = pd.DataFrame({"q": ["3", "x"]})
    hits = df.discover_joinable("q", lake, mode="embedding", rank="matched")
    wide = df.auto_join(hits[hits["column"] == "n"], how="inner", aggregate=None)
    assert wide["q"].tolist() == ["3"] and "relation" not in wide.attrs["dfjoin"]["joined"][0]


def test_another_embedder_is_refused_and_so_is_a_damaged_plan(lake):
    hits = QUERY.discover_joinable("q", lake, mode="embedding", radius=0.25, rank="matched")
    plan = QUERY.auto_join(hits.iloc[[0]]).attrs["dfjoin"]["plan"]
    changed = json.loads(json.dumps(plan))
    changed["steps"][0]["relation"]["near"]["radius"] = -1
    with pytest.raises(InvalidParameterError, match="`radius` must be finite and at least 0"):
        QUERY.auto_join(changed)
    del changed["steps"][0]["relation"]["near"]["radius"]
    with pytest.raises(InvalidParameterError, match="a relation by distance must have"):
        QUERY.auto_join(changed)
    lake.add_vectors(scattered)
    with pytest.raises(
        IncompatibleSettingsError, match=r"`plan` joins by distances of the embedder 'function:tests.*search again"
    ):
        QUERY.auto_join(plan)
