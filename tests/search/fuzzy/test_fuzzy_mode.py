"""mode="fuzzy" against every pair of values: counts, threshold, top-k, pairs, explanation, joins."""

import gc

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, IncompatibleSettingsError, IndexCorruptedError, InvalidParameterError
from dfjoin.search.distance.distance_search import MatchRecord
from dfjoin.search.fuzzy import fuzzy_mode
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from tests.oracles.spelling import spelling_distance

OPTIONS = {"engine": "inline", "progress": False}
NAMES = ["anna lee", "bob ross", "carl sagan", "dora márquez", "emil", "fay wray", "gus", "hugo boss"]


def frames(seed=0, n=5):
    rng = np.random.default_rng(seed)
    made = {}
    for i in range(n):
        words = rng.choice(NAMES, rng.integers(2, 7), replace=False)
        words = [w if rng.random() < 0.5 else w[:2] + w[3:] for w in words]
        made[f"t{i}"] = pd.DataFrame(
            {"name": [*words, "12-3"], "number": rng.choice(30, len(words) + 1, replace=False)}
        )
    return made


def expected(query, tables, metric, unit, radius):
    """Column → query values with a partner, and pairs."""
    found = {}
    for table, frame in tables.items():
        for column in ("name", "number"):
            values = {str(v) for v in frame[column]}
            counts = [
                sum(
                    q == v
                    or (
                        column == "name"
                        and any(c.isalpha() for c in q)
                        and any(c.isalpha() for c in v)
                        and spelling_distance(q, v, metric, unit) <= radius
                    )
                    for v in values
                )
                for q in query
            ]
            if any(counts):
                found[table, column] = sum(n > 0 for n in counts), sum(counts)
    return found


def answer(hits, name="matched"):
    return {(t, c): m for t, c, m in zip(hits["table"], hits["column"], hits[name], strict=True)}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    tables = frames()
    root = tmp_path_factory.mktemp("fuzzy")
    whole = dfjoin.build_lake(tables, root / "whole", **OPTIONS)
    parts = dfjoin.build_lake({"t0": tables["t0"]}, root / "parts", **OPTIONS)
    parts.add({name: frame for name, frame in tables.items() if name != "t0"}, **OPTIONS)
    return tables, whole, parts


QUERY = [
    "ana lee",
    "bob ros",
    "ross, bob",
    "sagan carl",
    "carl sagan",
    "dora marquez",
    "emi",
    "gos",
    "12-3",
    "5",
    "7",
    "zzz",
]


@pytest.mark.parametrize(
    ("metric", "unit", "radius"),
    [
        ("edit", "fraction", 0.2),
        ("edit", "fraction", 0),
        ("edit", "absolute", 2),
        ("jaccard", "fraction", 0.5),
        ("tokens", "fraction", 0.2),
    ],
)
def test_counts_are_those_of_all_pairs(lakes, metric, unit, radius):
    tables, whole, parts = lakes
    df = pd.DataFrame({"q": QUERY * 2})
    counts = expected(QUERY, tables, metric, unit, radius)
    options = {"mode": "fuzzy", "metric": metric, "radius_unit": unit, "radius": radius}
    every = df.discover_joinable("q", whole, threshold=0.0, **options)
    assert answer(every) == {name: n for name, (n, _) in counts.items()}
    pairs = df.discover_joinable("q", whole, threshold=0.0, count="all", **options)
    assert answer(pairs, "matched_pairs") == {name: n for name, (_, n) in counts.items()}
    for k, threshold in ((1, None), (3, 0.2), (None, 0.3)):
        chosen = every[every["containment"] >= (threshold or 0)].head(k)
        for lake in (whole, parts):
            best = df.discover_joinable("q", lake, k=k, threshold=threshold, **options)
            pd.testing.assert_frame_equal(pd.DataFrame(best), pd.DataFrame(chosen))
    weighted = df.discover_joinable("q", whole, weighted=True, threshold=0.0, **options)
    assert (weighted["matched_rows"] == 2 * weighted["matched"]).all()
    assert every["jaccard"].isna().all() and every["relationship"].isna().all()


def test_near_values_are_counted_up_to_a_number(build, monkeypatch):
    names = [f"item number {i:03}" for i in range(40)]
    lake = build({"a": pd.DataFrame({"x": names[:30]}), "b": pd.DataFrame({"x": names[20:], "y": range(20)})})
    query = make_query(pd.Series([name.replace("r", "s") for name in names[::3]]), lake.snapshot.settings, name="x")

    def searched():
        record = MatchRecord(query)
        _, hits = fuzzy_mode.FuzzyMode().find(lake.snapshot, query, search_params(mode="fuzzy"), record)
        return hits.matched.tolist(), record.held(), record.evidence(hits).sums

    matched, held, sums = searched()
    assert held.near.min() > 5
    monkeypatch.setattr(fuzzy_mode, "_MOST_NEAR", 5)
    fewer, limited, more = searched()
    assert fewer == matched and limited.counts.tolist() == held.counts.tolist()
    assert limited.near.tolist() == [5] * len(limited.near) and (more >= sums).all()


def test_pairs_and_explanation_have_distances(lakes):
    _, whole, _ = lakes
    df = pd.DataFrame({"q": ["Bob Ros", "hugo bos", "12-3"]})
    hits = df.discover_joinable("q", whole, mode="fuzzy", tables="t*", k=1)
    pairs = hits.pairs(0)
    for row in pairs.itertuples():
        assert row.distance == spelling_distance(row.query_value.lower(), row.candidate_value, "edit", "fraction")
    assert len(pairs) == hits["matched"].iloc[0]
    told = str(hits.explain(0))
    assert "edit distance up to 0.15 of the longer text" in told and "found by scan" in told
    assert "name" in hits._repr_html_()


def test_rows_join_what_is_spelled_alike(build):
    lake = build({"t": pd.DataFrame({"name": ["bob ross", "bob rosa", "anna"], "x": [1.0, 3.0, 5.0]})})
    df = pd.DataFrame({"q": ["bob rosss", "Anna", "bob rosa", None, "zz"]})
    hits = df.discover_joinable("q", lake, mode="fuzzy", radius=2, radius_unit="absolute")
    nearest = df.auto_join(hits.iloc[[0]], columns=["x"])
    assert nearest["x"].fillna(-1).tolist() == [1.0, 5.0, 3.0, -1, -1]
    every = df.auto_join(hits.iloc[[0]], columns=["x"], partners="all")
    assert every["x"].fillna(-1).tolist() == [2.0, 5.0, 2.0, -1, -1]
    assert "by spelling: all keys up to 2 (absolute), edit" in str(dfjoin.report(every))
    pd.testing.assert_frame_equal(df.auto_join(every.attrs["dfjoin"]["plan"]), every)
    with_key = df.auto_join(hits.iloc[[0]])
    assert with_key["name__t"].tolist()[:3] == ["bob ross", "anna", "bob rosa"]


def test_rows_join_whose_words_stand_in_another_order(build):
    people = pd.DataFrame({"person": ["Lee, Ann Mary", "Ross – Bob", "Sagan, Carl", "Lee, Ann"], "x": [1, 2, 3, 4]})
    df = pd.DataFrame({"q": ["ann mary lee", "bob ross", "carll sagan", "anna"]})
    lake = build({"t": people})
    hits = df.discover_joinable("q", lake, mode="fuzzy", metric="tokens")
    assert (hits["column"].iloc[0], hits["matched"].iloc[0]) == ("person", 3)
    assert "edit distance up to 0.15 of the longer text with words in order" in str(hits.explain(0))
    assert hits.pairs(0)["distance"].tolist() == [0, 0, 1 / 11]
    wide = df.auto_join(hits.iloc[[0]], columns=["x"])
    assert wide["x"].fillna(-1).tolist() == [1, 2, 3, -1]
    assert "by spelling: the nearest key up to 0.15 (fraction), tokens" in str(dfjoin.report(wide))
    pd.testing.assert_frame_equal(df.auto_join(wide.attrs["dfjoin"]["plan"]), wide)
    named = df.auto_join(lake, on="q", mode="fuzzy", metric="tokens", columns=["x"], min_score=0.0)
    assert named["x"].fillna(-1).tolist() == [1, 2, 3, -1]


def test_a_query_that_is_not_text_matches_equal_values(lakes):
    _, whole, _ = lakes
    df = pd.DataFrame({"q": [3, 4, 5, 12]})
    near = df.discover_joinable("q", whole, mode="fuzzy", threshold=0.0)
    assert answer(near) == answer(df.discover_joinable("q", whole, threshold=0.0, rank="matched"))
    assert len(pd.DataFrame({"q": pd.Series([], dtype=object)}).discover_joinable("q", whole, mode="fuzzy")) == 0


def test_what_the_mode_needs_and_refuses(lakes, build):
    _, whole, _ = lakes
    df = pd.DataFrame({"q": ["x"]})
    lake = build(frames(), settings={"keep_sets": False})
    with pytest.raises(
        IncompatibleSettingsError, match='which mode="fuzzy" compares; build it anew with keep_sets=True'
    ):
        df.discover_joinable("q", lake, mode="fuzzy")
    with pytest.raises(
        InvalidParameterError, match='`radius` belongs to mode="embedding" and mode="fuzzy", but the mode'
    ):
        df.discover_joinable("q", whole, radius=1)
    with pytest.raises(InvalidParameterError, match=r"`mode` must be .exact. for a key of several columns"):
        df.discover_joinable(["q", "q"], whole, mode="fuzzy")


@pytest.mark.parametrize(
    "fields",
    [{"radius": -1}, {"radius": "x"}, {"metric": "euclidean"}, {"radius_unit": "m"}, {"partners": 1}, {"more": 1}],
)
def test_hostile_plans_are_refused(fields):
    own = SimilarRelation(0.2, "fraction", "edit").to_dict()["similar"]
    assert SimilarRelation.from_dict({"similar": own}).to_dict() == {"similar": own}
    with pytest.raises(DfjoinError):
        SimilarRelation.from_dict({"similar": {**own, **fields}})


def test_lakes_and_versions_of_one_index_share_their_texts(tmp_path, monkeypatch):
    made = []
    real = fuzzy_mode._prepared
    monkeypatch.setattr(fuzzy_mode, "_prepared", lambda *given: made.append(1) or real(*given))
    first = dfjoin.build_lake(frames(), tmp_path / "index", **OPTIONS)
    query = pd.DataFrame({"q": ["ana lee", "bob ros"]})

    def found_in(lake):
        hits = query.discover_joinable("q", lake, mode="fuzzy", rank="matched")
        return dict(zip(hits["table"], hits["matched"], strict=True))

    expected = found_in(first)
    assert len(made) == 1 and expected
    second = dfjoin.open_lake(tmp_path / "index")
    assert found_in(second) == expected
    second.remove("t0")
    assert found_in(second) == {table: n for table, n in expected.items() if table != "t0"}
    assert found_in(first) == expected
    assert len(made) == 1, "prepared once for two lakes and two versions"
    del first, second
    gc.collect()
    assert not any(str(tmp_path) in str(place) for place, _ in fuzzy_mode._PREPARED), "nothing holds them any more"
    assert len(made) == 1 and found_in(dfjoin.open_lake(tmp_path / "index")) and len(made) == 2


@pytest.mark.parametrize("metric", ["edit", "jaccard", "tokens"])
@pytest.mark.parametrize("offset", [-5, 0, 10**9])
def test_texts_that_lie_outside_of_the_index_are_damage(tmp_path, metric, offset):
    names = pd.DataFrame({"name": [f"name {i:03}" for i in range(200)]})
    dfjoin.build_lake({"names": names}, tmp_path / "index", **OPTIONS)
    (file,) = (tmp_path / "index").glob("segments/*/tokens-*/value_offsets.npy")
    offsets = np.load(file)
    offsets[100] = offset
    np.save(file, offsets)
    query = pd.DataFrame({"q": ["name 0x7", "nome 010", "nam 077"]})
    with pytest.raises(IndexCorruptedError, match=r"component `value_offsets` of segment .* points outside"):
        query.discover_joinable("q", dfjoin.open_lake(tmp_path / "index"), mode="fuzzy", metric=metric)
