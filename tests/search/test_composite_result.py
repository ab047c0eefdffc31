"""Explanations, pairs and pages of hits with a key of several columns."""

import json

import pandas as pd
import pytest

from dfjoin.errors import InvalidParameterError

LAKE = {
    "people": pd.DataFrame({"county": ["Clay", "Clay", "Lee"], "st": ["Ohio", "Utah", "Ohio"], "n": [5, 6, 7]}),
    "other": pd.DataFrame({"county": ["Clay", "Lee"], "mayor": ["x", "y"]}),
}
DF = pd.DataFrame({"County": ["LEE", "Clay", None, "Clay", "LEE"], "State": ["Ohio", "ohio", "Ohio", "Iowa", "Ohio"]})


@pytest.fixture
def hits(build):
    return DF.discover_joinable(["County", "State"], build(LAKE), k=5)


def test_the_explanation_tells_the_tuples_on_either_side(hits):
    told = hits.explain(0)
    assert (told.query_column, told.table, told.column) == ("County + State", "people", "county + st")
    assert (told.matched, told.query_cardinality, told.cardinality, told.relationship) == (2, 3, 3, "m:1")
    assert told.shared == ["LEE + Ohio", "Clay + Ohio"] and told.only_query == ["Clay + Iowa"]
    assert told.only_candidate == ["clay + utah"]
    assert [row["n"] for row in told.rows] == ["5", "7"]
    assert "of 2 keys whose parts the columns hold, 2 stand in one row of the table" in told.evidence_for
    assert told.score == hits["score"].iloc[0]
    json.dumps(told.to_dict())
    assert "'County + State' joins people column 'county + st', m:1" in str(told)


def test_pairs_are_in_the_order_of_the_rows(hits):
    pairs = hits.pairs(0)
    assert pairs["query_value"].tolist() == ["LEE + Ohio", "Clay + Ohio"]
    assert pairs["candidate_value"].tolist() == ["lee + ohio", "clay + ohio"]
    assert pairs["query_rows"].tolist() == [2, 1]


def test_a_page_has_a_card_with_rows_and_the_line_of_code(hits):
    page = hits._repr_html_()
    assert "county + st" in page and "df.auto_join(hits.iloc[[0]])" in page and "<td>5</td>" in page
    assert "county + st" in repr(hits)


def test_a_changed_row_is_refused(hits):
    changed = hits.assign(column="county")
    for ask in (changed.explain, changed.pairs):
        with pytest.raises(InvalidParameterError, match="`i` must be a row that the search found, got a changed one"):
            ask(0)
