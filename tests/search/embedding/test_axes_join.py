"""Joins by points: the nearest one, all within the radius, and plans that repeat them."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.search.embedding.axes_join import AxesRelation
from tests.oracles.places import haversine

SHOPS = pd.DataFrame(
    {
        "shop": list("abcdefgh"),
        "latitude": [50.0, 50.001, 50.002, 51.0, 51.0, -20.0, None, 52.5],
        "longitude": [8.0, 8.0, 8.0, 9.0, 9.0, 179.9999, 8.0, 13.4],
        "sales": [1.0, 2.0, 3.0, 10.0, 20.0, 7.0, 100.0, 5.0],
    }
)
SITES = pd.DataFrame(
    {"lat": [50.0006, 51.0, -20.0, 0.0, np.nan], "lon": [8.0, 9.0, -179.9999, 0.0, 8.0]}, index=list("vwxyz")
)


def found(lake, radius, **options):
    return SITES.discover_joinable(["lat", "lon"], lake, mode="embedding", radius=radius, radius_unit="m", **options)


def test_each_row_joins_its_nearest_place(build):
    lake = build({"shops": SHOPS})
    hits = found(lake, 100)
    assert hits["matched"].tolist() == [3] and hits["query_cardinality"].tolist() == [4]
    wide = SITES.auto_join(hits.iloc[[0]], columns=["shop", "sales"])
    assert wide.index.tolist() == list("vwxyz")
    assert wide["sales"].fillna(-1).tolist() == [2.0, 15.0, 7.0, -1, -1]
    assert wide["shops_rows"].tolist() == [1, 2, 1, 0, 0]
    assert "by distance: the nearest key up to 100 m" in str(dfjoin.report(wide))
    again = SITES.iloc[[2, 0]].auto_join(wide.attrs["dfjoin"]["plan"])
    assert again["sales"].tolist() == [7.0, 2.0]
    whole = SITES.auto_join(hits.iloc[[0]])
    assert {"latitude", "longitude"} <= set(whole.columns)
    outer = SITES.auto_join(hits.iloc[[0]], how="outer", aggregate=None, columns=["shop"])
    assert set(outer["shop"].dropna()) == set(SHOPS["shop"])


@pytest.mark.parametrize("radius", [50.0, 100.0, 200.0, 1e7])
def test_all_places_within_the_radius_are_aggregated(build, radius):
    lake = build({"shops": SHOPS})
    hits = found(lake, radius)
    wide = SITES.auto_join(hits.iloc[[0]], partners="all", aggregate={"sales": "sum"}, columns=["sales"])
    expected = [
        sum(
            sales
            for lat, lon, sales in SHOPS[["latitude", "longitude", "sales"]].itertuples(index=False)
            if not np.isnan(lat) and haversine((lat, lon), site) <= radius
        )
        for site in SITES.itertuples(index=False, name=None)
    ]
    expected[4] = 0
    assert wide["sales"].fillna(0).tolist() == expected
    assert "by distance: all keys up to" in str(dfjoin.report(wide))
    pd.testing.assert_frame_equal(SITES.auto_join(wide.attrs["dfjoin"]["plan"]), wide)


def test_pairs_and_explanation_have_distances(build):
    hits = found(build({"shops": SHOPS}), 100)
    pairs = hits.pairs(0)
    assert pairs["query_value"].tolist() == ["(50.0006, 8)", "(50.0006, 8)", "(51, 9)", "(-20, -179.9999)"]
    assert pairs["candidate_value"].tolist() == ["(50.001, 8)", "(50, 8)", "(51, 9)", "(-20, 179.9999)"]
    assert pairs["distance"].tolist() == pytest.approx(
        [
            haversine((50.0006, 8), (50.001, 8)),
            haversine((50.0006, 8), (50, 8)),
            0,
            haversine((-20, -179.9999), (-20, 179.9999)),
        ],
        abs=1e-6,
    )
    told = str(hits.explain(0))
    assert "great-circle distance up to 100 m" in told and "(51, 9) ~ (51, 9) (0 m)" in told
    assert "only in the table: 2" in told and "verdict" not in told
    assert "latitude, longitude" in hits._repr_html_() and hits.explain(0)._repr_html_()
    assert hits.explain(0).to_dict()["score"] is None


def test_scaled_axes_join_on_their_scale(build):
    frames = {"t": pd.DataFrame({"x": [0.0, 0.0], "t": [0.0, 100.0], "what": ["a", "b"]})}
    lake = build(frames, axes=[{"x": 1.0, "t": 0.01}])
    df = pd.DataFrame({"x": [0.4], "t": [60.0]})
    hits = df.discover_joinable(["x", "t"], lake, mode="embedding", radius=0.7, radius_unit="absolute")
    assert df.auto_join(hits.iloc[[0]], columns=["what"])["what"].tolist() == ["b"]


def test_partners_belong_to_distances(build):
    lake = build({"shops": SHOPS})
    hits = SHOPS.discover_joinable("shop", lake, rank="matched")
    with pytest.raises(
        InvalidParameterError, match="`partners` belongs to candidates that were found by distance, got"
    ):
        SHOPS.auto_join(hits.iloc[[0]], partners="all")
    with pytest.raises(InvalidParameterError, match="`partners` must be one of None, 'nearest', 'all', got 'some'"):
        SITES.auto_join(found(lake, 5), partners="some")
    with pytest.raises(InvalidParameterError, match="`partners` does not apply when `other` is a DataFrame"):
        SITES.auto_join(SHOPS, on="lat", right_on="latitude", partners="all")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"radius": -1.0}, "a relation of points must have a finite radius"),
        ({"radius": float("inf")}, "a relation of points must have a finite radius"),
        ({"radius_unit": "miles"}, "a relation of points must have a finite radius"),
        ({"scales": [1.0] * 99}, "a relation of points must have a finite radius"),
        ({"scales": "ab"}, "a relation of points must have a finite radius"),
        ({"partners": "some"}, "`partners` must be one of 'nearest', 'all', got 'some'"),
        ({"scales": [1.0]}, "a relation of places must have two columns"),
    ],
)
def test_hostile_plans_are_refused(build, fields, text):
    own = AxesRelation(1.0, "m", [1.0, 1.0]).to_dict()["axes"]
    assert AxesRelation.from_dict({"axes": own}).to_dict() == {"axes": own}
    with pytest.raises(InvalidParameterError, match=text):
        AxesRelation.from_dict({"axes": {**own, **fields}})
    with pytest.raises(InvalidTypeError, match="a relation of points must have"):
        AxesRelation.from_dict({"axes": {**own, "more": 1}})
    lake = build({"shops": SHOPS})
    plan = SITES.auto_join(found(lake, 100).iloc[[0]]).attrs["dfjoin"]["plan"]
    plan["steps"][0]["relation"] = {"axes": {**own, **fields}}
    with pytest.raises(InvalidParameterError):
        SITES.auto_join(plan)
    plan["steps"][0] |= {"on": ["lat"], "relation": {"axes": own}}
    with pytest.raises(InvalidParameterError, match=r"`on` and `right_on` of a step name equally many|as many columns"):
        SITES.auto_join(plan)


def test_lists_are_joined_with_the_nearest(build):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 5))
    lake = build({"t": pd.DataFrame({"v": list(vectors), "name": [f"n{i}" for i in range(40)]})}, axes=[["v"]])
    rows = [*(vectors[[3, 30, 7]] + 0.01), None, np.zeros(3), vectors[3] + 9]
    df = pd.DataFrame({"own": [None if row is None else list(row) for row in rows]})
    near = {"mode": "embedding", "radius": 0.1, "radius_unit": "absolute"}
    hits = df.discover_joinable("own", lake, **near)
    assert hits["matched"].tolist() == [3]
    joined = df.auto_join(hits, columns=["name"])
    assert joined["name"].fillna("").tolist() == ["n3", "n30", "n7", "", "", ""]
    assert df.iloc[1:2].auto_join(joined.attrs["dfjoin"]["plan"])["name"].tolist() == ["n30"]
    whole = df.auto_join(hits)
    np.testing.assert_allclose(whole["v"][0], vectors[3])


def test_one_column_of_numbers_says_the_same_as_a_list_of_it(build):
    lake = build({"t": pd.DataFrame({"x": [1.5, 2.5, 9.0], "y": list("abc")})}, axes=[["x"]])
    df = pd.DataFrame({"x": [1.4, 2.6, 5.0]})
    near = {"mode": "embedding", "radius": 0.2, "radius_unit": "absolute"}
    one, other = (df.discover_joinable(on, lake, **near) for on in ("x", ["x"]))
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other))
    assert one["matched"].tolist() == [2]
    for on in ("x", ["x"]):
        with pytest.raises(InvalidParameterError, match='`radius_unit` must be "absolute" for columns of numbers'):
            df.discover_joinable(on, lake, mode="embedding")
