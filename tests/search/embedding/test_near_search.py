"""Search by distance against every pair of values; what does not change the answer."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from dfjoin.index.manifest import EmbedderMeta
from dfjoin.search.embedding.near_search import DefaultRadius, default_of, vector_radius, with_radius
from dfjoin.search.params import search_params
from tests.oracles.vectors import count_near, unit
from tests.vectors.makers import letters, scattered

OPTIONS = {"engine": "inline", "progress": False}
WORDS = [a + b + c for a in "abcd" for b in "ef" for c in "ghij"]


def tables(seed, n=6):
    """Tables with a column of text and one of numbers each."""
    rng = np.random.default_rng(seed)
    made = {}
    for i in range(n):
        words = rng.choice(WORDS, rng.integers(2, 12), replace=False)
        words = [w[::-1] if rng.random() < 0.2 else w for w in words]
        numbers = rng.choice(30, len(words), replace=False)
        made[f"t{i}"] = pd.DataFrame({"text": [*words, "12-3"], "number": [*numbers, 99]})
    return made


def columns_of(frames):
    found = {}
    for table, frame in frames.items():
        found[table, "text"] = frame["text"].tolist(), True
        found[table, "number"] = [str(n) for n in frame["number"]], False
    return found


def vector_of(value):
    return unit(letters([value])[0])


def answer(hits):
    return {(t, c): m for t, c, m in zip(hits["table"], hits["column"], hits["matched"], strict=True)}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """The same tables as one segment and as three."""
    frames = tables(0)
    root = tmp_path_factory.mktemp("near")
    whole = dfjoin.build_lake(frames, root / "whole", embedder=letters, **OPTIONS)
    names = list(frames)
    parts = dfjoin.build_lake({n: frames[n] for n in names[:2]}, root / "parts", embedder=letters, **OPTIONS)
    parts.add({n: frames[n] for n in names[2:4]}, **OPTIONS).add({n: frames[n] for n in names[4:]}, **OPTIONS)
    assert len(parts.segments) == 3
    return frames, whole, parts


QUERY = ["aeg", "bfh", "gea", "zzz", "12-3", "5", "7", "cej", "cejj"]


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.4, 0.8, 1.2, 2.0])
@pytest.mark.parametrize("plan", [None, "tree", "gemm", "pexeso"])
def test_counts_are_those_of_all_pairs(lakes, radius, plan):
    frames, whole, parts = lakes
    df = pd.DataFrame({"q": QUERY})
    expected = count_near(QUERY, columns_of(frames), vector_of, radius)
    for lake in (whole, parts):
        options = {"mode": "embedding", "radius": radius, "radius_unit": "absolute", "plan": plan, "threshold": 0.0}
        hits = df.discover_joinable("q", lake, **options)
        assert answer(hits) == {name: counts[0] for name, counts in expected.items()}
        pairs = df.discover_joinable("q", lake, count="all", **options)
        assert answer(pairs) == answer(hits)
        found = dict(zip(zip(pairs["table"], pairs["column"], strict=True), pairs["matched_pairs"], strict=True))
        assert found == {name: counts[1] for name, counts in expected.items()}


@given(st.integers(0, 10**6), st.floats(0, 2), st.integers(1, 9), st.sampled_from([None, 0.2, 0.5]))
@settings(max_examples=8, deadline=None)
def test_random_queries(lakes, seed, radius, k, threshold):
    """Threshold, top-k and order: those of the whole list."""
    frames, whole, parts = lakes
    rng = np.random.default_rng(seed)
    values = [str(v) for v in rng.choice([*WORDS, "ge", "xyz", "3", "12-3"], rng.integers(1, 15), replace=False)]
    df = pd.DataFrame({"q": values * 2})
    options = {"mode": "embedding", "radius": radius, "radius_unit": "absolute"}
    every = df.discover_joinable("q", whole, threshold=0.0, **options)
    expected = count_near(values, columns_of(frames), vector_of, radius)
    assert answer(every) == {name: counts[0] for name, counts in expected.items()}
    chosen = every[every["containment"] >= (threshold or 0)].head(k)
    for lake in (whole, parts):
        best = df.discover_joinable("q", lake, k=k, threshold=threshold, **options)
        pd.testing.assert_frame_equal(pd.DataFrame(best), pd.DataFrame(chosen), check_exact=True)
    weighted = df.discover_joinable("q", whole, weighted=True, threshold=0.0, **options)
    assert (weighted["matched_rows"] == 2 * weighted["matched"]).all() and answer(weighted) == answer(every)


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_a_radius_by_length_is_smaller_for_long_texts(build, metric):
    rng = np.random.default_rng(1)

    def texts(n):
        words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(n)]
        return list(dict.fromkeys(word * int(rng.integers(1, 20)) for word in words))

    frames = {}
    for i in range(4):
        words = texts(40)
        frames[f"t{i}"] = pd.DataFrame({"text": words, "number": rng.choice(999, len(words), replace=False)})
    query = [*texts(60), *frames["t0"]["text"][:5], "5"]
    lake = build(frames, embedder=letters)
    chord = 0.6 if metric == "euclidean" else 2 * np.sin(0.15 * np.pi)
    expected, whole = {}, count_near(query, columns_of(frames), vector_of, chord)
    for value in query:
        part = 0.5 ** (np.ceil(2 * np.log2(max(len(value), 20) / 20)) / 4)
        for name, (n, _) in count_near([value], columns_of(frames), vector_of, chord * part).items():
            expected[name] = expected.get(name, 0) + n
    assert sum(expected.values()) < sum(n for n, _ in whole.values())
    df = pd.DataFrame({"q": query})
    for plan in (None, "tree", "gemm", "pexeso"):
        options = {"mode": "embedding", "radius": 0.3, "radius_unit": "by_length", "metric": metric, "plan": plan}
        hits = df.discover_joinable("q", lake, threshold=0.0, **options)
        assert answer(hits) == expected, plan
        some = df.discover_joinable("q", lake, threshold=0.5, **options)
        assert answer(some) == {name: n for name, n in expected.items() if n >= 0.5 * len(query)}, plan
        assert hits.pairs(0)["query_value"].nunique() == hits["matched"][0], plan


def test_radius_zero_contains_equality_and_equals_it_for_an_injective_embedder(build):
    frames = tables(5)
    df = pd.DataFrame({"q": [*WORDS[:20], "12-3", "3"]})
    exact = answer(df.discover_joinable("q", build(frames), threshold=0.0, rank="matched"))
    injective = df.discover_joinable("q", build(frames, embedder=scattered), mode="embedding", radius=0, threshold=0.0)
    assert answer(injective) == exact
    anagrams = answer(
        df.discover_joinable("q", build(frames, embedder=letters), mode="embedding", radius=0, threshold=0.0)
    )
    assert exact.items() != anagrams.items() and all(anagrams[name] >= n for name, n in exact.items())


def test_a_query_that_is_not_text_matches_equal_values(lakes):
    _, whole, _ = lakes
    df = pd.DataFrame({"q": [3, 4, 5, 12]})
    near = df.discover_joinable(None, whole, mode="embedding", radius=2.0, radius_unit="absolute", threshold=0.0)
    assert answer(near) == answer(df.discover_joinable("q", whole, threshold=0.0, rank="matched"))
    empty = pd.DataFrame({"q": pd.Series([], dtype=object)}).discover_joinable("q", whole, mode="embedding")
    assert len(empty) == 0 and "jaccard" in empty


def test_tables_can_be_chosen_and_removed_ones_are_gone(build):
    frames = tables(1)
    lake = build(frames, embedder=letters).remove("t1")
    df = pd.DataFrame({"q": WORDS})
    options = {"mode": "embedding", "radius": 0.5}
    assert set(df.discover_joinable("q", lake, **options, k=99)["table"]) == set(frames) - {"t1"}
    assert set(df.discover_joinable("q", lake, **options, tables="t2")["table"]) == {"t2"}
    assert set(df.discover_joinable("q", lake, **options, kinds="integer")["column"]) <= {"number"}


def test_angles_and_chords_give_the_same_rows(lakes):
    _, whole, _ = lakes
    df = pd.DataFrame({"q": QUERY})
    angle = 0.9
    by_angle = df.discover_joinable(
        "q", whole, mode="embedding", metric="angular", radius=angle, radius_unit="absolute", threshold=0.0
    )
    chord = 2 * np.sin(angle / 2)
    by_chord = df.discover_joinable("q", whole, mode="embedding", radius=chord, radius_unit="absolute", threshold=0.0)
    assert answer(by_angle) == answer(by_chord)
    pairs = by_angle.pairs(0)
    assert (pairs["distance"] <= angle).all() and (pairs["distance"] >= by_chord.pairs(0)["distance"] - 1e-12).all()


def test_many_query_columns_and_threads(lakes):
    _, whole, _ = lakes
    columns = {f"c{i}": pd.Series(np.random.default_rng(i).choice(WORDS, 20)) for i in range(6)}
    one, other = (
        dfjoin.discover_joinable_batch(columns, whole, mode="embedding", radius=0.3, n_threads=n) for n in (1, 4)
    )
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other))


def test_the_default_radius_is_that_of_the_embedder():
    params = search_params(mode="embedding")
    earlier, trained, other = (
        EmbedderMeta("fasttext-lake:ab12", 4, []),
        EmbedderMeta("fasttext-lake:ab12", 4, [], radius=0.37),
        EmbedderMeta("function:a.b", 4, []),
    )
    found = with_radius(params, default_of(trained))
    assert (found.radius, found.radius_unit, found.metric) == (0.37, "fraction", "euclidean")
    assert (default_of(earlier), default_of(other)) == ((0.2, "fraction"), (0.06, "fraction"))
    by_length = default_of(replace(trained, radius_unit="by_length"))
    assert with_radius(params, by_length).radius_unit == "by_length"
    assert with_radius(search_params(mode="embedding", radius_unit="fraction"), by_length).radius_unit == "fraction"
    assert with_radius(search_params(mode="embedding", radius=0.3), by_length).radius_unit == "fraction"
    assert with_radius(search_params(mode="embedding", radius=0.3), default_of(trained)).radius == 0.3
    chords = [
        vector_radius(
            with_radius(search_params(mode="embedding", metric=metric, radius_unit=unit), DefaultRadius(0.37))
        ).chord
        for metric in (None, "angular")
        for unit in (None, "absolute", "by_length")
    ]
    np.testing.assert_allclose(chords, 0.74)  # the same texts are near, however that is measured


def test_a_trained_index_states_its_radius(tmp_path):
    rng = np.random.default_rng(0)
    names = [" ".join(rng.choice(WORDS, 2)) + str(i) for i in range(250)]
    lake = dfjoin.build_lake({"t": pd.DataFrame({"name": names})}, tmp_path / "i", embedder="fasttext", progress=False)
    radius = lake.manifest.embedder.radius
    assert 0 < radius < 0.7
    assert lake.manifest.embedder == EmbedderMeta.from_dict(lake.manifest.embedder.to_dict())
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": names[:20]}), "q", lake, mode="embedding")
    assert f"up to {2 * radius:g} ({radius:g} of 2)" in str(hits.explain(0))


def test_reach():
    reach = vector_radius(search_params(mode="embedding", metric="angular", radius=0.25))
    assert reach.chord == pytest.approx(2 * np.sin(np.pi / 8))
    np.testing.assert_allclose(reach.shown(np.array([0.0, 2.0])), [0, 1])
    assert "less for texts of more" in str(replace(reach, is_by_length=True))
    assert str(reach) == "angular distance up to 0.785398 (0.25 of 3.14)"
    assert str(vector_radius(search_params(mode="embedding", radius=0.5, radius_unit="absolute"))) == (
        "euclidean distance up to 0.5"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"radius": -1}, "`radius` must be finite and at least 0, got -1"),
        ({"radius": float("nan")}, "`radius` must be finite and at least 0, got nan"),
        ({"radius": 10**400}, "`radius` must be finite and at least 0, got 1000"),
        ({"radius_unit": "m"}, '`radius_unit` of texts must be "fraction", "by_length" or "absolute", got'),
        ({"radius_unit": "miles"}, "`radius_unit` must be one of"),
        ({"metric": "cosine"}, "`metric` must be one of"),
        ({"count": "some"}, "`count` must be one of 'hit', 'all', got 'some'"),
        ({"count": "all", "weighted": True}, '`count` "all" ranks by pairs and `weighted` by rows; leave one'),
        ({"plan": "josie"}, "`plan` must be one of 'tree', 'gemm', 'pexeso' with mode='embedding', got 'josie'"),
    ],
)
def test_illegal_arguments(lakes, options, text):
    with pytest.raises(InvalidParameterError, match=text):
        pd.DataFrame({"q": ["a"]}).discover_joinable("q", lakes[1], mode="embedding", **options)


def test_an_embedder_that_changes_its_length_later_is_refused(build, monkeypatch):
    size = [3]

    def changing(texts):
        return np.ones((len(texts), size[0]))

    lake = build({"t": pd.DataFrame({"a": ["x", "y"]})}, embedder=changing)
    df = pd.DataFrame({"q": ["x"]})
    assert len(df.discover_joinable("q", lake, mode="embedding")) == 1
    size[0] = 4
    with pytest.raises(IncompatibleSettingsError, match="made vectors of 4 numbers, and the index has vectors of 3"):
        df.discover_joinable("q", lake, mode="embedding")
    with pytest.raises(IncompatibleSettingsError, match="makes vectors of 4 numbers, and the index has vectors of 3"):
        df.discover_joinable("q", dfjoin.open_lake(lake.path), mode="embedding")
