"""Plans of a search by distance: the same counts, whichever runs; the cheaper one is chosen."""

import numpy as np
import pytest

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import MatchTally, QueryVectors, TokenColumns, VectorTable
from dfjoin.search.embedding import near_plans
from dfjoin.search.embedding.near_plans import NearSegment, run_near_plan
from dfjoin.search.params import SearchStats
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.trees import features_of

N_COLUMNS = 20


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(3000, 24)))
    queries = unit_rows(rows[:200] + rng.normal(size=(200, 24)) * 0.05)
    cells, order = build_cells(rows)
    group = as_read_only(rng.integers(0, N_COLUMNS, 3000).astype(np.uint32))
    postings = TokenColumns(
        group,
        as_read_only(np.zeros(1, np.int64)),
        as_read_only(np.empty(0, np.int32)),
        as_read_only(np.ones(N_COLUMNS, np.uint8)),
    )
    table = VectorTable(as_read_only(rows[order]), as_read_only(order.astype(np.uint32)))
    features = features_of(queries, cells.projection)
    made = QueryVectors(features, queries, np.arange(200), np.full(200, -1), np.ones(200, np.int64), np.ones(200))
    return NearSegment(cells, table, postings), made


def run(case, radius, plan):
    segment, queries = case
    zeros = np.zeros((2, N_COLUMNS), np.int64)
    tally = MatchTally(zeros[0], zeros[1], np.full(N_COLUMNS, -1), np.full(0, -1), False)
    stats = SearchStats()
    radii = radius * np.where(queries.numbers % 3, 1.0, 0.5)
    run_near_plan(segment, queries._replace(radii=radii), None, tally, plan, stats)
    return tally.hits, stats


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3, 0.7, 1.4, 2.0])
def test_plans_agree(case, radius, monkeypatch):
    hits, stats = run(case, radius, "tree")
    assert stats.plan == "tree" and stats.bytes_read > 0
    monkeypatch.setattr(near_plans, "_CHUNK", 700)
    monkeypatch.setattr(near_plans, "MOST_PAIRS", 5000)
    monkeypatch.setattr(near_plans, "QUERIES_AT_ONCE", 33)
    monkeypatch.setattr(near_plans, "_CELLS", 3)
    monkeypatch.setattr(near_plans, "_STEP", 2)
    monkeypatch.setattr(near_plans, "_ROOM", 600)
    monkeypatch.setattr(near_plans, "MOST_PAIRS", 9000)
    for plan in ("gemm", None, "tree"):
        other, read = run(case, radius, plan)
        np.testing.assert_array_equal(other, hits)
        assert read.near_pairs == stats.near_pairs


def test_the_cheaper_plan_is_chosen(case, monkeypatch):
    assert run(case, 0.1, None)[1].plan == "tree"
    monkeypatch.setattr(near_plans, "_PRODUCT_NS", 1e-9)
    assert run(case, 0.1, None)[1].plan == "tree+gemm"
