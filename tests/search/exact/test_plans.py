"""The choice between plans: JOSIE is tried, gives up or not, and the rows are those of MergeList."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.search.exact import searcher
from dfjoin.search.params import PLANS
from tests import oracles
from tests.search.searching import find

N_TABLES = 150


@pytest.fixture
def lake(build, rng):
    """Weak matches everywhere: no k-th count cuts the rest, so that JOSIE is not worth its while."""
    words = np.array([f"w{i}" for i in range(3000)])
    sets = {f"t{i:03}": rng.choice(words, 200, replace=False).tolist() for i in range(N_TABLES)}
    return build({table: pd.DataFrame({"c": values}) for table, values in sets.items()})


@pytest.fixture
def query(rng):
    """600 values, half of them twice."""
    words = rng.permutation([f"w{i}" for i in range(3000)])[:600].tolist()
    return [*words, *words[:300]]


@pytest.fixture
def outcomes(monkeypatch):
    """JOSIE is tried for every query; what becomes of each trial is noted, "done" or "gave up"."""
    noted = []
    josie = searcher.run_josie

    def watched(*arguments):
        top = josie(*arguments)
        noted.append("gave up" if top is None else "done")
        return top

    monkeypatch.setattr(searcher, "run_josie", watched)
    monkeypatch.setattr(searcher, "_SMALL_NS", 0.0)
    monkeypatch.setattr(searcher, "_LONG_LISTS", 0)
    return noted


def expected(lake, query, k, weighted):
    sets = {(table, "c"): set(lake.table(table)["c"]) for table in lake.tables["table"]}
    weights = dict(zip(*np.unique(query, return_counts=True), strict=True))
    return oracles.rank(set(query), sets, k, weights=weights if weighted else None)


def rows(hits, weighted):
    scores = hits["matched_rows" if weighted else "matched"].tolist()
    return list(zip(hits["table"], hits["column"], scores, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_mergelist_counts_everything_after_josie_gave_up(lake, query, outcomes, weighted):
    for k in (1, 10):
        hits = find(query, lake, k=k, weighted=weighted)
        assert rows(hits, weighted) == expected(lake, query, k, weighted)
        assert hits.attrs["dfjoin"]["searches"][0]["plan"] == "mergelist"
    assert outcomes == ["gave up", "gave up"]


def test_what_josie_finds_is_the_answer_when_it_does_not_give_up(lake, query, outcomes, monkeypatch):
    watched = searcher.run_josie
    monkeypatch.setattr(searcher, "run_josie", lambda *arguments: watched(*arguments[:-1], 0.0))  # without a budget
    hits = find(query, lake, k=10)
    assert rows(hits, False) == expected(lake, query, 10, False)
    assert outcomes == ["done"] and hits.attrs["dfjoin"]["searches"][0]["plan"] == "josie"


def test_cheap_queries_and_short_lists_are_merged_at_once(lake, query, outcomes, monkeypatch):
    for name, value in (("_SMALL_NS", 1e12), ("_LONG_LISTS", 10**9)):
        with monkeypatch.context() as patch:
            patch.setattr(searcher, name, value)
            assert find(query, lake).attrs["dfjoin"]["searches"][0]["plan"] == "mergelist"
    assert outcomes == []


@pytest.mark.parametrize("plan", PLANS)
def test_the_plan_that_is_asked_for_runs(lake, query, plan):
    hits = find(query, lake, plan=plan)
    assert hits.attrs["dfjoin"]["searches"][0]["plan"] == plan
    assert rows(hits, False) == expected(lake, query, 10, False)
