"""mode="lsh" through the protocol of modes: counted where the index keeps sets, else estimated."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.exact.costs import ReadCosts
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from tests.search.protocol import candidates, find_by

MODE = mode_of("lsh")
WORDS = [f"w{i}" for i in range(400)]
TABLES = {
    "copy": pd.DataFrame({"c": WORDS}),
    "half": pd.DataFrame({"c": WORDS[:200]}),
    "other": pd.DataFrame({"c": [f"x{i}" for i in range(300)]}),
    "small": pd.DataFrame({"c": WORDS[:7]}),
}
SIGNED = {"permutations": 64, "signature_min": 8}

pytestmark = pytest.mark.filterwarnings("ignore:the index keeps no token sets")


@pytest.fixture(autouse=True)
def signatures(monkeypatch):
    """Let signatures answer, though lakes are small."""
    monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts(1e9, 1e9, 0.0, 0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """Keeps sets → the lake; tests must not change them."""
    place = tmp_path_factory.mktemp("lsh")
    options = {"engine": "inline", "progress": False}
    return {
        kept: dfjoin.build_lake(TABLES, place / str(kept), settings={**SIGNED, "keep_sets": kept}, **options)
        for kept in (True, False)
    }


def shared(table, values):
    return len(set(TABLES[table]["c"]) & set(values))


def test_an_index_without_signatures_is_refused(build, lakes):
    for lake in lakes.values():
        MODE.check(lake.snapshot)
    with pytest.raises(IncompatibleSettingsError) as caught:
        MODE.check(build(TABLES, settings={"permutations": 0}).snapshot)
    assert str(caught.value) == (
        'the index has no signatures, which mode="lsh" needs; add them with `lake.add_signatures()`, or use mode="exact"'
    )


def test_columns_above_the_threshold_are_counted_where_there_are_sets(lakes):
    found = find_by("lsh", lakes[True], WORDS, threshold=0.4)
    assert dict(zip(found.hits.tables, found.hits.hits.matched.tolist(), strict=True)) == {"copy": 400, "half": 200}
    assert MODE.columns(found)["containment_error"].tolist() == [0.0, 0.0]
    assert not found.stats.is_complete and 0.9 < found.stats.expected_recall <= 1


def test_all_columns_above_a_threshold_are_ranked_by_usefulness(build):
    tables = {f"t{i}": pd.DataFrame({"c": WORDS[:200], f"x{i}": [i] * 200}) for i in range(60)}  # 50 are a pool
    tables["part"] = pd.DataFrame({"c": WORDS[:150], "y": range(150)})
    lake = build(tables, settings=SIGNED)
    query = pd.DataFrame({"c": WORDS[:200]})
    for verify in (True, False):
        options = {"mode": "lsh", "threshold": 0.5, "min_score": 0, "families": False, "verify": verify}
        assert set(query.discover_joinable("c", lake, **options)["table"]) == set(tables)


@pytest.mark.parametrize(("kept", "options"), [(False, {}), (True, {"verify": False})])
def test_estimates_have_a_standard_error_and_small_columns_none(lakes, kept, options):
    found = find_by("lsh", lakes[kept], WORDS, threshold=0.4, recall=0.999, **options)
    errors = MODE.columns(found)["containment_error"]
    assert sorted(found.hits.tables) == ["copy", "half"] and errors.shape == (2,)
    for table, matched, error in zip(found.hits.tables, found.hits.hits.matched.tolist(), errors.tolist(), strict=True):
        assert abs(matched - shared(table, WORDS)) / len(WORDS) <= 4 * error < 0.4
    found = find_by("lsh", lakes[kept], WORDS[:7], threshold=0.4, **options)
    place = found.hits.tables.index("small")
    assert (found.hits.hits.matched[place], MODE.columns(found)["containment_error"][place]) == (7, 0.0)


@pytest.mark.parametrize("threshold", [0.2, 0.45, 0.5, 0.55, 0.95])
@pytest.mark.parametrize("kept", [False, True])
def test_no_row_that_is_estimated_below_the_threshold_is_returned(lakes, kept, threshold):
    found = find_by("lsh", lakes[kept], WORDS, threshold=threshold, recall=0.999, verify=False)
    assert all(matched >= threshold * len(WORDS) for matched in found.hits.hits.matched.tolist())


def test_estimates_come_first_and_then_the_best_that_there_is(lakes):
    params = search_params(mode="lsh", threshold=0.4, progressive=True)
    first, second = MODE.stages(lakes[True].snapshot, params)
    assert (first.mode, first.verify, first.threshold) == ("lsh", False, 0.4)
    assert (second.mode, second.threshold) == ("exact", 0.4)
    first, second = MODE.stages(lakes[False].snapshot, params)
    assert first.verify is False and second is params


def test_explanations_and_pairs_are_those_of_the_sets(lakes):
    found = candidates("lsh", lakes[True], WORDS, threshold=0.4)
    for (table, _), one in found.items():
        told = MODE.explain(one)
        assert (told.matched, told.error) == (shared(table, WORDS), None)
        assert told.shared == WORDS[:5] and told.only_query == ([] if table == "copy" else WORDS[200:205])
        assert MODE.pairs(one)["candidate_value"].tolist() == WORDS[: told.matched]
        assert "found by lsh" in str(told) and "signatures compared, " in str(told)


def test_an_estimated_row_has_no_examples_and_no_pairs(lakes):
    one = candidates("lsh", lakes[False], WORDS, threshold=0.9)["copy", "c"]
    told = MODE.explain(one)
    assert told.error == one.row["containment_error"] and told.shared == told.only_query == told.only_candidate == []
    assert told.matched == one.row["matched"] and "estimated, standard error" in str(told)
    with pytest.raises(IncompatibleSettingsError) as caught:
        MODE.pairs(one)
    assert str(caught.value) == (
        "the index keeps no token set of `copy` column 'c' (keep_sets=False), so that its pairs cannot be listed; "
        "read the table with `lake.table(name)`"
    )


def test_the_smallest_signed_column_has_no_set(build):
    tables = {"seven": pd.DataFrame({"c": WORDS[:7]}), "eight": pd.DataFrame({"c": WORDS[:8]})}
    found = candidates("lsh", build(tables, settings={**SIGNED, "keep_sets": False}), WORDS[:8], threshold=0.5)
    assert MODE.explain(found["eight", "c"]).error is not None and MODE.explain(found["seven", "c"]).error is None
    assert MODE.pairs(found["seven", "c"])["query_value"].tolist() == WORDS[:7]
    with pytest.raises(IncompatibleSettingsError, match="keeps no token set of `eight`"):
        MODE.pairs(found["eight", "c"])
