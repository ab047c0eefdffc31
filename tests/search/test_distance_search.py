"""Scores by distance: rarity and chance are counted over what matches within the radius."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.kernels.lists.evidence import BITS, COUNT, SCALE, weigh_values
from dfjoin.kernels.records import as_read_only
from dfjoin.search.distance import distance_search
from dfjoin.search.distance.distance_search import MatchRecord
from dfjoin.search.embedding.near_search import query_rows, search_near
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from tests.oracles.vectors import distance, unit
from tests.vectors.makers import letters

OPTIONS = {"engine": "inline", "progress": False}
WORDS = [f"{a}{b}{c}" for a in "abcdefgh" for b in "lmnopq" for c in "vwxyz"]


def frames():
    """Columns of words; `near` has each word with a letter more, `far` others."""
    return {
        "near": pd.DataFrame({"word": [f"{w}{w}{w}a" for w in WORDS[:90]], "height": range(90)}),
        "some": pd.DataFrame({"word": [f"{w}{w}" for w in WORDS[60:200]], "x": range(140)}),
        "far": pd.DataFrame({"thing": ["kkk", "jjjj", "ttt"], "x": range(3)}),
    }


def naive(values, radius):
    """Column → query values that match it; query value → how many values of the lake lie near it."""
    rows = [unit(row) for row in letters(values)]
    of_column, held = {}, [set() for _ in values]
    for table, frame in frames().items():
        column = frame.columns[0]
        texts = sorted(set(frame[column]))
        for text, near in zip(texts, map(unit, letters(texts)), strict=True):
            for q, row in enumerate(rows):
                if text == values[q] or distance(row, near) <= radius:
                    of_column.setdefault((table, column), set()).add(q)
                    held[q].add(text)
    return of_column, np.array([len(one) for one in held])


@pytest.mark.parametrize("plan", ["tree", "gemm", "pexeso"])
def test_evidence_is_what_all_pairs_say(build, plan):
    lake = build(frames(), embedder=letters)
    values = [w * 3 for w in WORDS[40:120]]
    query = make_query(pd.Series(values), lake.settings, name="q")
    params = search_params(mode="embedding", radius=0.25, radius_unit="absolute", plan=plan, k=None, threshold=0.0)
    record = MatchRecord(query)
    hits, _ = search_near(lake.snapshot, query, query_rows(lake.snapshot, query), params, record)
    evidence = record.evidence(hits)
    order = [query.values.value(code) for code in range(len(query.values))]
    of_column, n_near = naive(order, 0.25)
    n_holding = np.array([sum(q in met for met in of_column.values()) for q in range(len(order))])
    weights = np.empty((len(order), 5), np.int64)
    packed = as_read_only(query.values.data), as_read_only(query.values.offsets)
    weigh_values(*packed, n_holding, lake.segments[0].n_columns, np.ones(len(order), np.int64), weights)
    chance = np.rint(np.log2(np.maximum(1, n_near)) * SCALE).astype(np.int64)
    weights[:, BITS] = np.maximum(0, weights[:, BITS] - chance)
    catalog, seen = lake.segments[0].catalog, 0
    for place, column in enumerate(hits.columns.tolist()):
        met = of_column.get((catalog.table_name(column), catalog.column_name(column)), set())
        np.testing.assert_array_equal(evidence.sums[place], weights[sorted(met)].sum(axis=0))
        assert evidence.sums[place, COUNT] == hits.matched[place]
        seen += len(met)
    assert seen == sum(map(len, of_column.values())) > 100


def test_a_log_without_room_gives_no_evidence(build, monkeypatch):
    monkeypatch.setattr(distance_search, "_ROOM", 10)
    lake = build(frames(), embedder=letters)
    df = pd.DataFrame({"q": [w * 3 for w in WORDS[40:120]]})
    hits = df.discover_joinable("q", lake, mode="embedding", rank="useful", k=3)
    assert hits["table"][0] in ("near", "some") and (hits["score"] > 0).all()  # of usual values


@pytest.mark.parametrize("mode", ["embedding", "fuzzy"])
def test_what_matches_by_chance_is_worth_less(build, mode):
    lake = build(frames(), embedder=letters)
    df = pd.DataFrame({"word": [f"{w}{w}{w}" for w in WORDS[:90]], "weight": range(90)})
    radius = {"embedding": 0.14, "fuzzy": 0.15}[mode]
    hits = df.discover_joinable("word", lake, mode=mode, rank="useful", k=3, radius=radius)
    assert hits["table"].tolist()[0] == "near" and hits["brings"][0] == "height"
    assert {"score", "usefulness", "verdict", "n_similar", "copy"} <= set(hits.columns)
    assert hits["score"].is_monotonic_decreasing
    told = hits.explain(0)
    assert told.score == pytest.approx(hits["score"][0]) and told.verdict == hits["verdict"][0] and told.evidence_for
    wide = df.discover_joinable("word", lake, mode=mode, rank="useful", k=3, radius=0.9)
    score = wide.set_index("table")["score"]
    assert score["near"] < hits["score"][0]  # everything matches within so large a radius
    joined = df.auto_join(lake, on="word", mode=mode, radius=radius)
    assert "height" in joined.columns and joined["height"].notna().all()


def test_places_have_scores_and_are_chosen_by_them(build):
    rng = np.random.default_rng(0)
    lat, lon = rng.uniform(40, 50, 60), rng.uniform(0, 10, 60)
    tables = {
        "stations": pd.DataFrame({"station": range(60), "latitude": lat, "longitude": lon, "height": range(60)}),
        "grid": pd.DataFrame({"Lat": np.repeat(np.arange(40, 50.0), 10), "Lng": np.tile(np.arange(10.0), 10), "g": 1}),
        "alone": pd.DataFrame({"lat": [10.0, 45.0], "lon": [10.0, 5.0], "z": ["p", "q"]}),
    }
    lake = build(tables)
    df = pd.DataFrame({"lat": lat[:50] + 1e-4, "lon": lon[:50], "what": range(50)})
    near = {"mode": "embedding", "radius": 100.0, "radius_unit": "m"}
    hits = df.discover_joinable(["lat", "lon"], lake, rank="useful", k=3, **near)
    assert hits["table"].tolist() == ["stations"] and hits["column"][0] == "latitude, longitude"
    assert hits["score"][0] > 0.5 and hits["verdict"][0] in ("strong", "plausible")
    assert hits["brings"][0] == "station, height"
    told = hits.explain(0)
    assert told.score == pytest.approx(hits["score"][0]) and told.evidence_for and "score" in str(told)
    wide = df.discover_joinable(["lat", "lon"], lake, rank="useful", k=3, **near | {"radius": 200_000.0})
    scores = wide.set_index("table")["score"]
    assert set(scores.index) == {"stations", "grid", "alone"} and scores["stations"] < hits["score"][0]
    joined = df.auto_join(lake, on=["lat", "lon"], **near)
    assert joined["height"].tolist() == list(range(50))
    again = df.iloc[:3].auto_join(joined.attrs["dfjoin"]["plan"])
    assert again["height"].tolist() == [0, 1, 2]
    with pytest.raises(dfjoin.errors.InvalidParameterError, match="`radius` must be given for columns of numbers"):
        df.auto_join(lake, on=["lat", "lon"], mode="embedding", radius_unit="m")
    lake.remove("stations")
    assert len(df.discover_joinable(["lat", "lon"], lake, rank="useful", k=3, **near)) == 0
