"""Search among points against all pairs; what does not change the answer; the life of an index with points."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import DfjoinWarning, IncompatibleSettingsError, InvalidParameterError
from dfjoin.search.column_search import finish_search, search_queries
from dfjoin.search.discover import query_columns
from dfjoin.search.distance import distance_search
from dfjoin.search.embedding import axes_search
from dfjoin.search.params import search_params
from tests.oracles.places import count_points, haversine
from tests.oracles.vectors import distance

OPTIONS = {"engine": "inline", "progress": False}
AXES = [["x", "y"], ["n"], ["v"]]


def tables(seed, n=6):
    """Tables with places, two axes, integers and lists; points are shared, repeated, missing and out of range."""
    rng = np.random.default_rng(seed)
    places = np.column_stack([rng.uniform(-60, 60, 40), rng.uniform(-180, 180, 40)]).round(4)
    made = {}
    for i in range(n):
        m = int(rng.integers(3, 15))
        own = places[rng.integers(0, 40, m)] + rng.choice([0, 0.01], (m, 1))
        made[f"t{i}"] = pd.DataFrame(
            {
                "Latitude": np.where(rng.random(m) < 0.1, np.nan, own[:, 0]),
                "Longitude": own[:, 1],
                "x": rng.integers(0, 8, m) / 2,
                "y": rng.integers(0, 8, m) / 2,
                "n": rng.choice(30, m, replace=False),
                "v": [[float(a), 1.0, -1.0] for a in rng.integers(0, 5, m)],
            }
        )
    return made


def columns_of(frames, names):
    return {table: list(zip(*(frame[name] for name in names), strict=True)) for table, frame in frames.items()}


def answer(hits):
    return dict(zip(hits["table"], hits["matched"], strict=True))


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """The same tables as one segment and as three."""
    frames = tables(0)
    root = tmp_path_factory.mktemp("axes")
    whole = dfjoin.build_lake(frames, root / "whole", axes=AXES, **OPTIONS)
    names = list(frames)
    parts = dfjoin.build_lake({n: frames[n] for n in names[:2]}, root / "parts", axes=AXES, **OPTIONS)
    parts.add({n: frames[n] for n in names[2:4]}, **OPTIONS).add({n: frames[n] for n in names[4:]}, **OPTIONS)
    assert len(parts.segments) == 3
    return frames, whole, parts


def near(df, on, lake, **options):
    return df.discover_joinable(on, lake, mode="embedding", **{"threshold": 0.0, **options})


@pytest.mark.parametrize("radius", [0, 10, 2000, 1e6, 3e7])
@pytest.mark.parametrize("plan", [None, "pexeso"])
def test_places_are_those_of_the_haversine_formula(lakes, radius, plan):
    frames, whole, parts = lakes
    df = tables(0, 2)["t1"]
    query = list(zip(df["Latitude"], df["Longitude"], strict=True))
    expected = count_points(query, columns_of(frames, ["Latitude", "Longitude"]), haversine, radius + 1e-6)
    for lake in (whole, parts):
        options = {"radius": radius, "radius_unit": "m", "plan": plan}
        hits = near(df, ["Latitude", "Longitude"], lake, **options)
        assert answer(hits) == {table: counts[0] for table, counts in expected.items()}
        pairs = near(df, ["Longitude", "Latitude"], lake, count="all", **options)
        found = dict(zip(pairs["table"], pairs["matched_pairs"], strict=True))
        assert found == {table: counts[1] for table, counts in expected.items()}
    kilometres = near(df, ["Latitude", "Longitude"], whole, radius=radius / 1000, radius_unit="km")
    assert answer(kilometres) == answer(hits)
    assert set(hits["column"]) <= {"Latitude, Longitude"} and set(hits["kind"]) <= {"place"}


@given(st.integers(0, 10**6), st.floats(0, 4), st.integers(1, 9), st.sampled_from([None, 0.2, 0.5]))
@settings(max_examples=10, deadline=None)
def test_random_points(lakes, seed, radius, k, threshold):
    """Threshold, top-k, weights and order: those of the whole list."""
    frames, whole, parts = lakes
    rng = np.random.default_rng(seed)
    df = pd.DataFrame(rng.integers(-2, 12, (rng.integers(1, 15), 2)) / 2, columns=["a", "b"])
    df = pd.concat([df, df], ignore_index=True)
    options = {"radius": radius, "radius_unit": "absolute"}
    query = list(zip(df["a"], df["b"], strict=True))
    expected = count_points(query, columns_of(frames, ["x", "y"]), distance, radius)
    every = near(df, ["a", "b"], whole, **options)
    assert answer(every) == {table: counts[0] for table, counts in expected.items()}
    assert (every["query_cardinality"] == len(set(query))).all()
    chosen = every[every["containment"] >= (threshold or 0)].head(k)
    for lake in (whole, parts):
        best = near(df, ["a", "b"], lake, k=k, **{**options, "threshold": threshold})
        pd.testing.assert_frame_equal(pd.DataFrame(best), pd.DataFrame(chosen), check_exact=True)
    pivots = near(df, ["a", "b"], whole, plan="pexeso", **options)
    pd.testing.assert_frame_equal(pd.DataFrame(pivots), pd.DataFrame(every))
    weighted = near(df, ["a", "b"], whole, weighted=True, **options)
    rows = pd.Series(query).value_counts()
    assert (weighted["matched_rows"] <= rows.sum()).all()
    assert (weighted["matched_rows"] >= 2 * weighted["matched"]).all()


def test_radius_zero_is_equality_of_numbers(lakes):
    _, whole, _ = lakes
    df = pd.DataFrame({"n": [3, 4, 5, 12, 12, 99]})
    by_distance = near(df, ["n"], whole, radius=0, radius_unit="absolute")
    exact = df.discover_joinable("n", whole, rank="matched", threshold=0.0)
    assert answer(by_distance) == answer(exact[exact["column"] == "n"])
    assert set(by_distance["kind"]) == {"vector"}


def test_columns_of_lists(lakes):
    frames, whole, _ = lakes
    df = pd.DataFrame({"e": [[2.1, 1, -1], [9, 9, 9], None]})
    hits = near(df, ["e"], whole, radius=0.2, radius_unit="absolute")
    with_two = {table for table, frame in frames.items() if any(v[0] == 2 for v in frame["v"])}
    assert set(hits["table"]) == with_two and (hits["matched"] == 1).all()
    assert hits.pairs(0)["candidate_value"].tolist() == ["(2, 1, -1)"]
    assert len(near(pd.DataFrame({"e": [[1.0, 2.0]]}), ["e"], whole, radius=9, radius_unit="absolute")) == 0
    wide = pd.DataFrame({"e": [np.arange(9.0)]})
    assert len(near(wide, ["e"], whole, radius=9, radius_unit="absolute")) == 0


def test_a_radius_beyond_everything_and_numbers_far_away(lakes):
    frames, whole, _ = lakes
    df = pd.DataFrame({"a": [1.0, 1e30, np.inf], "b": [1.0, -1e30, 0]})
    for radius, matched in ((1e9, 1), (1e31, 2), (1e200, 2)):
        hits = near(df, ["a", "b"], whole, radius=radius, radius_unit="absolute")
        assert answer(hits) == dict.fromkeys(frames, matched)


def test_scales_stretch_the_axes(build):
    frames = {"t": pd.DataFrame({"x": [0.0, 1.0], "t": [0.0, 100.0]})}
    lake = build(frames, axes=[{"x": 1.0, "t": 0.01}])
    df = pd.DataFrame({"x": [0.0], "t": [90.0]})
    assert len(near(df, ["x", "t"], lake, radius=0.5, radius_unit="absolute")) == 0
    hits = near(df, ["x", "t"], lake, radius=0.9000001, radius_unit="absolute", count="all")
    assert hits["matched_pairs"].tolist() == [1] and hits.pairs(0)["candidate_value"].tolist() == ["(0, 0)"]
    assert hits.pairs(0)["distance"].iloc[0] == pytest.approx(0.9)


def test_life_of_an_index_with_points(build):
    frames = tables(1)
    lake = build(dict(list(frames.items())[:3]), axes=AXES)
    lake.add(dict(list(frames.items())[3:]), **OPTIONS)
    df = frames["t0"]
    options = {"radius": 3e7, "radius_unit": "m"}
    assert set(near(df, ["Latitude", "Longitude"], lake, **options)["table"]) == set(frames)
    before = near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")
    lake.remove("t1")
    lake.replace({"t2": frames["t2"].assign(Latitude=np.nan)}, **OPTIONS)
    left = set(frames) - {"t1", "t2"}
    assert set(near(df, ["Latitude", "Longitude"], lake, **options)["table"]) == left
    assert set(near(df, ["Latitude", "Longitude"], lake, tables="t3", **options)["table"]) == {"t3"}
    lake.compact(full=True)
    assert len(lake.segments) == 1 and lake.verify() == []
    assert set(near(df, ["Latitude", "Longitude"], lake, **options)["table"]) == left
    after = near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")
    assert answer(after) == {table: n for table, n in answer(before).items() if table != "t1"}
    lake.vacuum(retain=1)
    assert answer(near(df, ["x", "y"], dfjoin.open_lake(lake.path), radius=1, radius_unit="absolute")) == answer(after)


def test_restoring_a_version_restores_its_axes(build):
    lake = build({"t": tables(2)["t0"]}, axes=[])
    df = tables(2)["t0"]
    with pytest.raises(IncompatibleSettingsError, match=r"the index has no places and axes, .*`lake.add_axes\(\)`"):
        near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")
    lake.add_axes()
    assert len(near(df, ["Latitude", "Longitude"], lake, radius=1, radius_unit="m")) == 1
    assert len(near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")) == 0
    lake.add_axes([["X", "Y"]])
    assert len(near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")) == 1
    lake.restore(2)
    assert lake.manifest.axes == () and len(near(df, ["x", "y"], lake, radius=1, radius_unit="absolute")) == 0
    lake.add_axes([])
    assert lake.manifest.axes is None and not [g for s in lake.segments for g in s.meta.groups_of("axes")]


@pytest.mark.parametrize(
    ("on", "options", "text"),
    [
        (["Latitude", "Longitude"], {}, '`radius_unit` must be "m" or "km" for places, as on=.*got None; for example'),
        (["Latitude", "Longitude"], {"radius": 1, "radius_unit": "absolute"}, '`radius_unit` must be "m" or "km" for'),
        (["Latitude", "Longitude"], {"radius_unit": "m"}, "`radius` must be given for columns of numbers"),
        (["x", "y"], {"radius": 1}, '`radius_unit` must be "absolute" for columns of numbers, as on='),
        (
            ["x", "y"],
            {"radius": 1, "radius_unit": "fraction"},
            '`radius_unit` must be "absolute" for columns of numbers',
        ),
        (["x", "y", "n"], {"radius": 1, "radius_unit": "m"}, '`radius_unit` must be "absolute" for on=.*: metres and'),
        (["x", "y"], {"radius": 1, "radius_unit": "absolute", "plan": "gemm"}, "`plan` for columns of numbers must be"),
        (["x", "y"], {"radius": 1, "radius_unit": "absolute", "metric": "angular"}, "`metric` belongs to texts, got"),
    ],
)
def test_illegal_arguments(lakes, on, options, text):
    frames, whole, _ = lakes
    with pytest.raises(InvalidParameterError, match=text):
        near(frames["t0"], on, whole, **options)


def test_vectors_that_can_match_nothing_are_told(build):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    frames = {"v": pd.DataFrame({"e": [row.tolist() for row in rows]})}
    options = {"mode": "embedding", "radius": 0.5, "radius_unit": "absolute"}
    lake = build(frames, axes=[["e"]])
    for one, text in ((build(frames), "the lake has no columns of vectors; name"), (lake, "those of the lake 2; make")):
        with pytest.warns(DfjoinWarning, match=f"vectors of on='e' have 3 numbers, and match nothing: {text}"):
            found = pd.DataFrame({"e": [[1.0, 2, 3], [2, 3, 4]]}).discover_joinable("e", one, **options)
        assert len(found) == 0
    query = pd.DataFrame({"e": [rows[0].tolist(), [1.0, 2, 3], None, [1.0, None]]})
    with pytest.warns(DfjoinWarning, match="2 rows of on='e' have no vector: lists must have 2 numbers"):
        found = query.discover_joinable("e", lake, **options)
    assert found["matched"].tolist() == [1]


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"rank": "useful", "min_score": 0.0, "families": False},
        {"rank": "useful", "min_score": 0.0, "families": False, "threshold": 0.5, "k": 2},
        {"rank": "matched", "k": 2},
        {"rank": "matched", "threshold": 0.3, "count": "all", "plan": "pexeso"},
        {"rank": "matched", "weighted": True},
    ],
)
def test_points_that_are_dealt_out_give_what_one_search_gives(lakes, monkeypatch, options, is_full):
    if is_full:
        monkeypatch.setattr(distance_search, "_ROOM", 20)  # fewer than all points have, more than some of them
    _, whole, parted = lakes
    df = pd.concat([tables(0, 2)["t1"], tables(0, 2)["t1"].head(3)], ignore_index=True)
    places, axes = ["Latitude", "Longitude"], ["x", "y"]
    for lake, on, radius, unit in (
        (whole, places, 0.5, "km"),
        (whole, places, 2000, "km"),
        (parted, places, 2000, "km"),
        (whole, axes, 0.1, "absolute"),
        (parted, axes, 1.0, "absolute"),
    ):
        snapshot = lake.snapshot
        params = search_params(mode="embedding", radius=radius, radius_unit=unit, **options)
        (query,) = query_columns(df, on, snapshot, params)
        want = pd.DataFrame(search_queries(snapshot, [query], params))
        for n in (1, 2, 5):
            dealt = axes_search.deal_points(snapshot, query, n, params)
            assert len(dealt) == n and sum(len(one.points) for one in dealt) == len(query.points)
            parts = [axes_search.search_part(snapshot, one, params) for one in dealt]
            found = axes_search.merge_points(snapshot, query, parts, params)
            pd.testing.assert_frame_equal(pd.DataFrame(finish_search(snapshot, [found], params)), want)
