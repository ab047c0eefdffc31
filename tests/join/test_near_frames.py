"""Two frames that are joined by distance: places, numbers, vectors, texts; plans, reports, errors."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, IncompatibleSettingsError, InvalidParameterError, InvalidTypeError
from dfjoin.search.embedding.near_join import NearKeys, NearRelation, ngrams_of_frames
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.vectors.embedders import to_texts, unit_rows
from dfjoin.vectors.metrics import METRICS
from tests.oracles.places import haversine
from tests.oracles.spelling import spelling_distance

PLACES = {"mode": "embedding", "radius_unit": "km"}
NAMES = pd.DataFrame({"name": ["Switzerlnd", "Portugall", "Atlantis", None]})
COUNTRIES = pd.DataFrame({"country": ["Portugal", "Switzerland", "Peru"], "code": ["PT", "CH", "PE"]})


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(0)
    shops = pd.DataFrame({"lat": rng.uniform(-60, 60, 60), "lon": rng.uniform(-180, 180, 60)})
    stations = pd.DataFrame({"lon": rng.uniform(-180, 180, 400), "lat": rng.uniform(-60, 60, 400)})
    shops.loc[0, "lat"] = None
    return shops, stations.assign(station=range(400))


def distances(shops, stations):
    return np.array([[haversine(a, b) / 1000 for b in stations[["lat", "lon"]].to_numpy()] for a in shops.to_numpy()])


def test_the_nearest_place_is_that_of_the_haversine_formula(places):
    shops, stations = places
    expected = distances(shops, stations)
    wide = shops.auto_join(stations, on=["lon", "lat"], radius=500, indicator=True, **PLACES)
    is_near = np.nanmin(np.where(np.isnan(expected), np.inf, expected), axis=1) <= 500
    assert 5 < is_near.sum() < 55 and (wide["station"].notna() == is_near).all() and not is_near[0]
    assert wide.loc[is_near, "station"].tolist() == expected[is_near].argmin(axis=1).tolist()
    np.testing.assert_allclose(wide.loc[is_near, "_distance"], expected[is_near].min(axis=1), rtol=1e-9)
    assert set(wide.loc[is_near, "_match"]) == {"distance"} and wide["lat"].equals(shops["lat"])
    assert "by distance: the nearest key up to 500 km" in str(dfjoin.report(wide))


def test_numbers_that_are_no_place_are_told(places):
    with pytest.warns(DfjoinWarning, match=r"1 rows of on=\['lat', 'lon'\] have no place"):
        pd.DataFrame({"lat": [91.0], "lon": [0.0]}).auto_join(
            places[1], on=["lat", "lon"], radius=1, on_no_match="ignore", **PLACES
        )


def test_all_places_within_a_radius(places):
    shops, stations = places
    expected = distances(shops, stations) <= 900
    wide = shops.auto_join(stations, on=["lat", "lon"], radius=900, partners="all", aggregate=None, **PLACES)
    assert wide["station"].notna().sum() == expected.sum()
    counted = shops.auto_join(
        stations, on=["lat", "lon"], radius=900, partners="all", aggregate={"station": "count"}, **PLACES
    )
    assert counted["station"].fillna(0).tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("margin", [0.0, 40.0, 400.0])
def test_a_margin_leaves_out_what_two_places_may_be(places, margin):
    shops, stations = places
    expected = np.sort(np.where(np.isnan(d := distances(shops, stations)), np.inf, d), axis=1)
    is_clear = (expected[:, 0] <= 900) & (expected[:, 1] - np.minimum(expected[:, 0], 1e9) >= margin)
    wide = shops.auto_join(stations, on=["lat", "lon"], radius=900, min_margin=margin, indicator=True, **PLACES)
    assert (wide["station"].notna() == is_clear).all() and 0 < is_clear.sum() < len(shops)
    assert f"if the next one is farther by {margin:g} or more" in str(dfjoin.report(wide))
    again = shops.auto_join(stations, plan=wide.attrs["dfjoin"]["plan"])
    assert again["station"].equals(wide["station"])


def test_a_margin_between_texts():
    names = pd.DataFrame({"name": ["Austrla", "Peru", "Chille", "Nigr"]})
    lands = pd.DataFrame({"land": ["Austria", "Australia", "Peru", "Perua", "Chile", "Niger", "Nigeria"]})
    options = {"on": "name", "right_on": "land", "mode": "fuzzy", "radius": 3, "radius_unit": "absolute"}
    loose = names.auto_join(lands, **options)
    assert loose["land"].tolist() == ["Austria", "Peru", "Chile", "Niger"]
    strict = names.auto_join(lands, **options, min_margin=2)
    assert strict["land"].isna().tolist() == [True, False, False, False]
    assert strict["land"].tolist()[1:] == ["Peru", "Chile", "Niger"]


def test_a_radius_by_length_between_texts():
    names = pd.DataFrame(
        {"name": ["Austrla", *(f"association of the friends of the {n}" for n in ("grand opera", "trains"))]}
    )
    lands = ["Austria", *(f"association of the friends of the {n}" for n in ("royal chess", "trrains"))]
    others = pd.DataFrame({"other": lands})
    options = {"on": "name", "right_on": "other", "mode": "embedding", "radius": 0.33}
    flat, by_length = (names.auto_join(others, radius_unit=unit, **options) for unit in ("fraction", "by_length"))
    assert flat["other"].notna().all() and by_length["other"].isna().tolist() == [False, True, False]
    assert "0.33 (by_length)" in str(dfjoin.report(by_length))
    again = names.auto_join(others, plan=by_length.attrs["dfjoin"]["plan"])
    assert again["other"].equals(by_length["other"])
    relation = NearRelation(0.33, "by_length", "euclidean", ngrams_of_frames().identity, min_margin=0.1)
    left, right = (normalize_column(pa.array(texts), IndexSettings()) for texts in (names["name"], others["other"]))
    keys = NearKeys(None, left, relation)
    assert keys.is_within(keys.measured(right, np.arange(3), np.arange(3))).tolist() == [True, False, True]
    clear = relation.wider()
    assert (clear.radius, clear.radius_unit) == (pytest.approx(0.43), "fraction")


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_a_plan_repeats_the_join(places, how):
    shops, stations = places
    wide = shops.auto_join(stations, on=["lat", "lon"], radius=700, how=how, **PLACES)
    n_stations = wide["station"].nunique()
    assert n_stations == 400 if how in ("right", "outer") else 5 < n_stations < 60
    again = shops.auto_join(stations, plan=wide.attrs["dfjoin"]["plan"])
    pd.testing.assert_frame_equal(again, wide)
    if how == "left":
        few = shops.iloc[5:9].auto_join(stations, plan=wide.attrs["dfjoin"]["plan"])
        pd.testing.assert_frame_equal(few, wide.iloc[5:9])


def test_numbers_and_lists_of_numbers():
    left, right = pd.DataFrame({"v": [1.0, 2, 30, None]}), pd.DataFrame({"w": [1.1, 2.4, 2.4, 9], "n": [1, 2, 3, 4]})
    options = {"on": "v", "right_on": "w", "mode": "embedding", "radius": 0.5, "radius_unit": "absolute"}
    wide = left.auto_join(right, **options, aggregate={"n": "sum"})
    assert wide["n"].fillna(0).tolist() == [1, 5, 0, 0] and wide["w"].tolist()[:2] == [1.1, 2.4]
    vectors = pd.DataFrame({"e": [[0.0, 1.0], [1.0, 0.0]]})
    other = pd.DataFrame({"e": [[0.9, 0.1], [5.0, 5.0]], "n": [1, 2]})
    wide = vectors.auto_join(other, on="e", mode="embedding", radius=0.5, radius_unit="absolute")
    assert wide["n"].fillna(0).tolist() == [0, 1]


@pytest.mark.parametrize(("mode", "match"), [("embedding", "distance"), ("fuzzy", "spelling")])
def test_texts_that_are_written_differently(mode, match):
    wide = NAMES.auto_join(COUNTRIES, on="name", right_on="country", mode=mode, indicator=True)
    assert wide["code"].fillna("").tolist() == ["CH", "PT", "", ""]
    assert wide["_match"].fillna("").tolist() == [match, match, "", ""] and (wide["_distance"].dropna() < 0.3).all()
    again = NAMES.auto_join(COUNTRIES, plan=wide.attrs["dfjoin"]["plan"])
    pd.testing.assert_frame_equal(again, wide)
    exact = COUNTRIES.auto_join(COUNTRIES, on="country", mode=mode, columns="code", indicator=True)
    assert exact["_distance"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("metric", "radius", "codes"),
    [
        ("edit", 0.2, ["CH", "", "", ""]),
        ("tokens", 0.2, ["CH", "PT", "GB", ""]),
        ("jaccard", 0.5, ["CH", "", "", ""]),
        ("euclidean", 0.3, ["CH", "PT", "GB", ""]),
        ("angular", 0.2, ["CH", "PT", "GB", ""]),
        ("euclidean", 0.01, ["", "PT", "", ""]),
    ],
)
def test_metrics(metric, radius, codes):
    names = pd.DataFrame({"name": ["Switzerlnd", "Republic Portugal", "Kingdom Unitd", "Atlantis"]})
    lands = pd.DataFrame({"land": ["Portugal Republic", "United Kingdom", "Switzerland"], "code": ["PT", "GB", "CH"]})
    mode = "embedding" if metric in ("euclidean", "angular") else "fuzzy"
    wide = names.auto_join(lands, on="name", right_on="land", mode=mode, metric=metric, radius=radius)
    assert wide["code"].fillna("").tolist() == codes
    plan = wide.attrs["dfjoin"]["plan"]
    assert f"{radius:g} (fraction), {metric}" in str(dfjoin.report(wide))
    pd.testing.assert_frame_equal(names.auto_join(lands, plan=plan), wide)


@pytest.mark.parametrize(("metric", "radius"), [("edit", 0.6), ("tokens", 0.5), ("jaccard", 0.9)])
def test_the_nearest_text_is_that_of_all_pairs(metric, radius):
    rng = np.random.default_rng(3)
    words = [" ".join("".join(rng.choice(list("abc "), rng.integers(3, 12))).split()) for _ in range(120)]
    left, right = (sorted(set(some) - {""}) for some in (words[:60], words[40:]))
    other, keys = pd.DataFrame({"b": right, "partner": right}), {"on": "a", "right_on": "b"}
    wide = pd.DataFrame({"a": left}).auto_join(other, **keys, mode="fuzzy", metric=metric, radius=radius)
    found = dict(zip(wide["a"], wide["partner"].fillna(""), strict=True))
    for text in left:
        near = {(spelling_distance(text, one, metric, "fraction") if one != text else -1.0, one) for one in right}
        gap, partner = min(near)
        assert found[text] == (partner if gap <= radius else "")


def test_a_metric_without_a_name_is_no_default():
    with pytest.raises(InvalidParameterError, match=r"`metric` must be one of 'euclidean', 'angular'.*, got ''"):
        NAMES.auto_join(COUNTRIES, on="name", right_on="country", mode="embedding", metric="")


def test_a_registered_metric_between_frames(monkeypatch):
    monkeypatch.delitem(METRICS, "cityblock", raising=False)
    dfjoin.register_metric(dfjoin.Metric("cityblock", lambda one, many: np.abs(many - one).sum(axis=1)))
    try:
        options = {"on": "name", "right_on": "country", "mode": "embedding", "metric": "cityblock"}
        wide = NAMES.auto_join(COUNTRIES, **options, radius=4.5, radius_unit="absolute", indicator=True)
        embedder = ngrams_of_frames()
        vectors = [unit_rows(embedder.embed(to_texts([text]))) for text in ("switzerlnd", "switzerland")]
        np.testing.assert_allclose(wide["_distance"].iloc[0], np.abs(vectors[0] - vectors[1]).sum(), rtol=1e-6)
        assert wide["code"].fillna("").tolist() == ["CH", "PT", "", ""]
        with pytest.raises(InvalidParameterError, match=r'`radius_unit` must be "absolute" for the metric .cityblock.'):
            NAMES.auto_join(COUNTRIES, **options, radius=0.2)
    finally:
        METRICS.pop("cityblock", None)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"mode": "fuzzy", "on": "name", "right_on": "country", "metric": "euclidean"},
            InvalidParameterError,
            "`metric` of mode=\"fuzzy\" must be one of 'edit', 'jaccard', 'tokens', got 'euclidean'",
        ),
        ({"metric": "edit"}, InvalidParameterError, "`metric` does not apply when `other` is a DataFrame"),
        ({"metric": 3, "mode": "fuzzy"}, InvalidTypeError, "`metric` must be"),
        ({"mode": "embedding"}, InvalidParameterError, r"`on` must name the columns that are near .* got None"),
        (
            {"mode": "fuzzy", "on": ["name"], "right_on": ["country", "code"], "transform": False},
            InvalidParameterError,
            r"`transform` does not apply when `other` is a DataFrame and mode='fuzzy'",
        ),
        (
            {"mode": "fuzzy", "on": ["name"], "right_on": ["country", "code"]},
            InvalidParameterError,
            r"`right_on` must name as many columns as `on` \(1\), got 2, with mode='fuzzy'",
        ),
        (
            {"mode": "fuzzy", "on": ["name", "name"], "right_on": ["country", "code"]},
            InvalidParameterError,
            r"`on` must name one column of text of both frames with mode='fuzzy', got \['name', 'name'\]",
        ),
        ({"mode": "embedding", "on": "name", "right_on": "country", "how": "asof"}, InvalidParameterError, "'asof'"),
        ({"mode": "embedding", "on": "name", "right_on": "country", "k": 3}, InvalidParameterError, "`k` does not app"),
        (
            {"mode": "embedding", "on": "name", "right_on": "country", "radius": 1, "radius_unit": "km"},
            InvalidParameterError,
            "`radius_unit`",
        ),
        (
            {
                "mode": "embedding",
                "on": ["name", "name"],
                "right_on": ["country", "code"],
                "radius_unit": "absolute",
                "radius": 1,
            },
            InvalidTypeError,
            "`on` must name columns of numbers, and 'name' holds none",
        ),
        (
            {"mode": "fuzzy", "on": "name", "right_on": "country", "partners": "all", "min_margin": 1},
            InvalidParameterError,
            '`min_margin` belongs to partners="nearest", got 1',
        ),
        (
            {"mode": "fuzzy", "on": "name", "right_on": "country", "precision": 0.9, "min_margin": 1},
            InvalidParameterError,
            "`min_margin` must be left out where `precision` is given, got 1",
        ),
        ({"radius": 1.0}, InvalidParameterError, "`radius` does not apply when `other` is a DataFrame"),
    ],
)
def test_what_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        NAMES.auto_join(COUNTRIES, **options)


def test_points_have_no_metric():
    options = {"on": "v", "right_on": "w", "mode": "embedding", "radius": 0.5, "radius_unit": "absolute"}
    with pytest.raises(InvalidParameterError, match="`metric` belongs to texts, got 'angular'; places are compared"):
        pd.DataFrame({"v": [1.0]}).auto_join(pd.DataFrame({"w": [1.1]}), **options, metric="angular")


def test_a_plan_with_other_vectors_is_refused():
    plan = NAMES.auto_join(COUNTRIES, on="name", right_on="country", mode="embedding").attrs["dfjoin"]["plan"]
    plan = {**plan, "steps": [{**plan["steps"][0], "relation": {"near": {**plan["steps"][0]["relation"]["near"]}}}]}
    plan["steps"][0]["relation"]["near"]["embedder"] = "ngrams:0"
    with pytest.raises(IncompatibleSettingsError, match="by distances of the embedder 'ngrams:0', and two frames have"):
        NAMES.auto_join(COUNTRIES, plan=plan)


@pytest.mark.parametrize("is_turned", [False, True])
def test_numbers_and_lists_are_no_points_of_one_length(is_turned):
    frames = [pd.DataFrame({"v": [1.0, 5.0]}), pd.DataFrame({"v": [[1.0, 100.0, 3.0], [5.0, 1.0, 2.0]]})]
    left, right = frames[::-1] if is_turned else frames
    with pytest.raises(
        InvalidParameterError, match=r"`on` must name points of one length in both frames, got [13] numbers"
    ):
        left.auto_join(right, on="v", mode="embedding", radius=0.5, radius_unit="absolute")


def test_a_larger_radius_is_the_remedy_where_nothing_is_near():
    with pytest.warns(DfjoinWarning, match="name other keys, or pass a larger `radius`"):
        pd.DataFrame({"v": [1.0]}).auto_join(pd.DataFrame({"v": [9.0]}), on="v", mode="embedding", radius=0.5,
                                             radius_unit="absolute")  # fmt: skip
