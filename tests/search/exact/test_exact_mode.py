"""mode="exact" through the protocol of modes, against sets of values."""

from collections import Counter

import pandas as pd
import pytest

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.ingest import driver
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from tests import oracles
from tests.search.protocol import candidates, find_by

MODE = mode_of("exact")
QUERY = ["Peru", "chad ", None, "PERU", "Mali", "Oz", "chad", "Laos"]
TABLES = {
    "a": pd.DataFrame({"land": ["peru", "chad", "cuba", "iran"], "n": [1, 2, 3, 4]}),
    "b": pd.DataFrame({"x": ["CHAD", "Mali", "Laos", "Peru"], "y": ["oz", "oz", "mali", "z"]}),
}
SETS = {(t, c): oracles.value_set(frame[c].tolist()) for t, frame in TABLES.items() for c in frame}
WEIGHTS = Counter(value for cell in QUERY if (value := oracles.canonical(cell)))
SPELLED = {value: next(cell for cell in QUERY if cell and oracles.canonical(cell) == value) for value in WEIGHTS}
"""Value → its first spelling, in order of first row."""


@pytest.fixture
def lake(build):
    return build(TABLES)


def test_an_index_without_sets_is_refused(build, lake):
    MODE.check(lake.snapshot)
    bare = build(TABLES, settings={"keep_sets": False})
    with pytest.raises(IncompatibleSettingsError) as caught:
        MODE.check(bare.snapshot)
    assert str(caught.value) == (
        'the index keeps no token sets of its large columns (keep_sets=False), which mode="exact" needs; '
        'use mode="lsh", or build it anew with keep_sets=True'
    )


@pytest.mark.parametrize("options", [{}, {"k": 1}, {"threshold": 0.5}, {"weighted": True}])
def test_the_columns_that_share_a_value_are_found(lake, options):
    found = find_by("exact", lake, QUERY, **options)
    weights = WEIGHTS if options.get("weighted") else None
    expected = oracles.rank(set(WEIGHTS), SETS, options.get("k"), options.get("threshold"), weights)
    scores = found.hits.hits.matched_rows.tolist()
    assert list(zip(found.hits.tables, found.hits.names, scores, strict=True)) == expected
    assert found.stats.n_values == len(WEIGHTS) and found.stats.n_found == len(
        set(WEIGHTS) & set().union(*SETS.values())
    )
    assert found.stats.is_complete and MODE.columns(found) == {}


def test_the_best_of_all_segments_are_found(build, monkeypatch):
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
    lake = build(TABLES, settings={"segment_bytes": 1})
    assert len(lake.segments) == 2
    for k in (1, 2, 3):
        found = find_by("exact", lake, QUERY, k=k)
        ranked = zip(found.hits.tables, found.hits.names, found.hits.hits.matched.tolist(), strict=True)
        assert list(ranked) == oracles.rank(set(WEIGHTS), SETS, k)


def test_there_is_one_stage(lake):
    params = search_params(k=3)
    assert list(MODE.stages(lake.snapshot, params)) == [params]


def test_an_explanation_shows_both_sides(lake):
    found = candidates("exact", lake, QUERY)
    assert len(found) == 3
    for (table, column), one in found.items():
        told, held = MODE.explain(one), SETS[table, column]
        assert (told.matched, told.query_cardinality, told.cardinality) == (len(held & set(WEIGHTS)), 5, len(held))
        assert told.shared == [cell for value, cell in SPELLED.items() if value in held]
        assert told.only_query == [cell for value, cell in SPELLED.items() if value not in held]
        assert sorted(told.only_candidate) == sorted(held - set(WEIGHTS))
        assert told.error is None and told.found_by["n_values"] == 5


def test_pairs_are_the_shared_values_in_order_of_first_row(lake):
    for key, one in candidates("exact", lake, QUERY).items():
        pairs = MODE.pairs(one)
        shared = [value for value in WEIGHTS if value in SETS[key]]
        assert pairs["candidate_value"].tolist() == shared
        assert [oracles.canonical(cell) for cell in pairs["query_value"]] == shared
        assert pairs["query_rows"].tolist() == [WEIGHTS[value] for value in shared]
