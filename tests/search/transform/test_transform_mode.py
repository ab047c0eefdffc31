"""mode="transform" through the protocol of modes: pairs, examples and programs against the truth."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.modes import mode_of
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from tests.search.protocol import candidates, find_by

MODE = mode_of("transform")
SYLLABLES = ["ka", "mir", "to", "len", "bas", "ru", "vik", "nor"]
QUERY = [f"{a}{b}s, {b}{a}o".title() for a in SYLLABLES for b in SYLLABLES if a < b]
TRUTH = {name: " ".join(reversed(name.split(", "))).casefold() for name in QUERY[5:]}
LAKE = {
    "hidden": pd.DataFrame({"person": [*map(str.upper, reversed(TRUTH.values())), "NOBODY ELSE"]}),
    "other": pd.DataFrame({"code": [f"{a}-{i}" for i, a in enumerate(SYLLABLES * 3)]}),
}
ROWS = [*QUERY, QUERY[6], QUERY[6], None]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Names turned round in one of its columns; tests must not change it."""
    import dfjoin

    index = tmp_path_factory.mktemp("transform") / "x"
    return dfjoin.build_lake(LAKE, index, engine="inline", progress=False, settings={"patterns": True})


@pytest.fixture(scope="module")
def candidate(lake):
    (one,) = candidates("transform", lake, ROWS).values()
    return one


def test_an_index_without_pattern_tokens_is_refused(build, lake):
    MODE.check(lake.snapshot)
    with pytest.raises(IncompatibleSettingsError) as caught:
        MODE.check(build(LAKE).snapshot)
    assert str(caught.value) == (
        'the index has no pattern tokens, which mode="transform" needs; add them with `lake.add_patterns()`, or use '
        'mode="exact"'
    )


def test_each_hit_has_its_program_and_relationship_and_no_jaccard(lake):
    found = find_by("transform", lake, ROWS)
    columns = MODE.columns(found)
    assert (found.hits.tables, found.hits.hits.matched.tolist()) == (["hidden"], [len(TRUTH)])
    assert np.isnan(columns["jaccard"]).tolist() == [True] and columns["relationship"] == ["m:1"]
    (program,) = map(json.loads, columns["program"])
    assert "tried" not in program
    join = TransformJoin.from_dict(program)
    held = found.joins[0]
    assert (join.direction, join.programs, join.target) == (held.direction, held.programs, held.target)
    joined = join_rows(join, {"q": pa.array(QUERY)}, {"person": pa.array(LAKE["hidden"]["person"])})
    assert joined.left_rows.tolist() == list(range(5, len(QUERY)))


def test_a_search_without_a_hit_has_its_columns_all_the_same(lake):
    found = find_by("transform", lake, ["nothing", "like", "it"])
    columns = MODE.columns(found)
    assert len(found.hits) == 0
    assert (len(columns["jaccard"]), columns["relationship"], columns["program"]) == (0, [], [])
    assert MODE.nothing_found == "no column of the lake joins after a program"


def test_pairs_are_those_of_the_truth(candidate):
    pairs = MODE.pairs(candidate)
    assert dict(zip(pairs["query_value"], pairs["candidate_value"], strict=True)) == TRUTH
    assert pairs["query_value"].tolist() == list(TRUTH), "in order of first row"
    assert pairs["query_rows"].tolist() == [3 if name == QUERY[6] else 1 for name in TRUTH]


def test_an_explanation_prints_the_program_and_examples_of_each_side(candidate):
    told = MODE.explain(candidate)
    assert told.shared == [f"{name} = {TRUTH[name]}" for name in QUERY[5:10]]
    assert (told.only_query, told.only_candidate) == (QUERY[:5], ["nobody else"])
    assert (told.matched, told.query_cardinality, told.cardinality) == (len(TRUTH), len(QUERY), len(TRUTH) + 1)
    text = str(told)
    assert (
        "'q' joins hidden column 'person', m:1\n  by person.split(' ')[1] + ', ' + person.split(' ')[0] = q: " in text
    )
    assert f"= q: {len(TRUTH)} rows, precision about" in text
    assert "found by transform" in text and text.endswith("candidates learned from")
    assert told.to_dict()["program"] in text
