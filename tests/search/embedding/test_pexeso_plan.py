"""plan="pexeso": the same rows whatever its pivots and levels, early ends included, and for any metric."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search.embedding.pexeso import pexeso_plan
from dfjoin.search.embedding.pexeso.pivots import build_pivot_index
from dfjoin.vectors.metrics import METRICS, Metric
from tests.search.embedding.test_near_search import QUERY, WORDS, answer, columns_of, tables
from tests.vectors.makers import letters

OPTIONS = {"engine": "inline", "progress": False}
FRAMES = tables(3, n=9)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return dfjoin.build_lake(FRAMES, tmp_path_factory.mktemp("pexeso") / "x", embedder=letters, **OPTIONS)


def find(lake, values=QUERY, **options):
    df = pd.DataFrame({"q": values})
    return df.discover_joinable("q", lake, mode="embedding", radius_unit="absolute", **options)


@pytest.mark.parametrize("n_pivots", [1, 2, 5])
@pytest.mark.parametrize("n_levels", [1, 3, 6])
def test_pivots_and_levels_change_no_row(lake, n_pivots, n_levels, monkeypatch):
    def build(rows, metric):
        return build_pivot_index(rows, metric, n_pivots, n_levels)

    monkeypatch.setattr(pexeso_plan, "build_pivot_index", build)
    pexeso_plan._INDEXES.clear()
    for radius in (0.0, 0.5, 1.1):
        expected = find(lake, radius=radius, plan="tree", threshold=0.0)
        pd.testing.assert_frame_equal(
            pd.DataFrame(find(lake, radius=radius, plan="pexeso", threshold=0.0)), pd.DataFrame(expected)
        )
    pexeso_plan._INDEXES.clear()


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_columns_that_are_closed_early_change_no_row(lake, batch, monkeypatch):
    """Lemma 7 leaves work out, and no column that reaches the threshold is told with a part of its count."""
    monkeypatch.setattr(pexeso_plan, "_BATCH", batch)
    monkeypatch.setattr(pexeso_plan, "_ROOM", 4)
    for options in ({"threshold": 0.6}, {"threshold": 0.9}, {"threshold": 0.4, "weighted": True}, {"count": "all"}):
        expected = find(lake, [*WORDS, *WORDS[:9]], radius=0.7, plan="tree", **options)
        found = find(lake, [*WORDS, *WORDS[:9]], radius=0.7, plan="pexeso", **options)
        pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected))
    pruned = find(lake, WORDS, radius=0.7, plan="pexeso", threshold=0.9).attrs["dfjoin"]["searches"][0]
    if batch == 1:
        assert pruned["candidates_pruned"] > 0


def test_angles(lake):
    for plan in ("tree", "pexeso"):
        found = find(lake, metric="angular", radius=0.9, plan=plan, threshold=0.0)
        assert answer(found) == answer(find(lake, metric="angular", radius=0.9, plan="gemm", threshold=0.0))


def test_wide_angles_lose_no_pair(tmp_path_factory):
    """Near π an angle is steep in its chord, which is what float32 vectors know; all angles that occur are asked for."""
    angles = np.linspace(0, np.pi, 40)
    rows = {f"w{i}": (np.cos(angle), np.sin(angle)) for i, angle in enumerate(angles.tolist())}

    def embed(texts):
        return np.array([rows.get(text, (0.0, 0.0)) for text in texts], np.float32)

    frame = pd.DataFrame({"q": list(rows)})
    lake = dfjoin.build_lake({"t": frame}, tmp_path_factory.mktemp("angles") / "x", embedder=embed, **OPTIONS)
    for angle in [float(a) for a in angles[-9:]]:
        options = {"metric": "angular", "radius": angle, "count": "all"}
        pairs = [
            int(frame.discover_joinable("q", lake, mode="embedding", radius_unit="absolute", plan=plan, **options)
                ["matched_pairs"].sum())
            for plan in ("pexeso", "gemm")
        ]  # fmt: skip
        assert pairs[0] == pairs[1]


def test_a_registered_metric(lake, monkeypatch):
    def cityblock(one, many):
        return np.abs(many.astype(float) - one.astype(float)).sum(axis=1)

    monkeypatch.setitem(METRICS, "cityblock", Metric("cityblock", cityblock))

    def unit(value):
        vector = letters([value])[0].astype(float)
        norm = np.linalg.norm(vector)
        return None if norm == 0 else (vector / norm).astype(np.float32)

    def is_near(q, value):
        a, b = unit(q), unit(value)
        return a is not None and b is not None and cityblock(a, b[None])[0] <= 1.3

    expected = {}
    for name, (values, is_text) in columns_of(FRAMES).items():
        n = sum(any(q == v or (is_text and is_near(q, v)) for v in values) for q in set(QUERY))
        if n:
            expected[name] = n
    hits = find(lake, metric="cityblock", radius=1.3, threshold=0.0)
    assert answer(hits) == expected and hits.attrs["dfjoin"]["searches"][0]["plan"] == "pexeso"
    pairs = hits.pairs(0)
    assert pairs["query_value"].nunique() == hits["matched"].iloc[0] and pairs["distance"].max() <= 1.3
    wide = pd.DataFrame({"q": QUERY}).auto_join(hits.iloc[[0]])
    assert len(wide) == len(QUERY)


def test_an_index_is_kept_for_the_next_search(lake):
    find(lake, radius=0.3, plan="pexeso")
    (segment,) = lake.segments
    known = pexeso_plan._INDEXES[segment]["euclidean"]
    find(lake, radius=0.4, plan="pexeso")
    assert pexeso_plan._INDEXES[segment]["euclidean"] is known
