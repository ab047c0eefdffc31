"""The explanation of a candidate: its lines, its fields as JSON, and what a mode knows better than the hit."""

import json
from dataclasses import replace

import pytest

from dfjoin.search.explanation import Explanation, explain_hit
from dfjoin.search.params import SearchStats
from tests.search.protocol import candidates

STATS = SearchStats("mergelist", 12, 9, lists_read=1234, sets_read=5, bytes_read=4936, candidates_pruned=6)
PLAIN = Explanation(
    "land", "geo/c.csv", "name", 9, 12, 2000, "m:1", False, ["DE ", "fr"], ["xx"], ["peru", "chad"], STATS.to_dict(),
    0.912, 0.8, "strong", ["the headers are the same"], ["it is a serial number"],
)  # fmt: skip


def lines(explanation, **changes):
    return str(replace(explanation, **changes)).splitlines()


def test_an_explanation_prints_as_a_few_lines():
    assert lines(PLAIN) == [
        "'land' joins geo/c.csv column 'name', m:1",
        "  shared: 9 of 12 values (75.0%), as 'DE ', 'fr'",
        "  strong: score 0.91, usefulness 0.80",
        "    for: the headers are the same",
        "    against: it is a serial number",
        "  only in your column: 3, as 'xx'",
        "  only in the table: 1,991, as 'peru', 'chad'",
        "  details",
        "    found by mergelist: 1,234 lists, 5 sets, 4,936 bytes read, 6 candidates pruned",
    ]
    assert repr(PLAIN) == str(PLAIN)


def test_what_is_on_neither_side_has_no_examples():
    told = lines(PLAIN, matched=12, only_query=[], only_candidate=[])
    assert told[1] == "  shared: 12 of 12 values (100.0%), as 'DE ', 'fr'"
    assert told[5:7] == [
        "  only in your column: 0",
        "  only in the table: 1,988",
    ]


def test_a_query_without_values_shares_none_of_none():
    assert lines(PLAIN, matched=0, query_cardinality=0, shared=[])[1] == "  shared: 0 of 0 values (0.0%)"


@pytest.mark.parametrize("length", [40, 41, 400])
def test_long_values_are_cut_at_forty_characters(length):
    (example,) = lines(PLAIN, only_query=["é" * length])[5].split(", as ")[1:]
    assert example == repr("é" * 40 if length == 40 else "é" * 39 + "…")


def test_rows_that_join_are_a_table():
    told = lines(PLAIN, rows=[{"name": "de", "area": "1"}, {"name": "fr", "area": None}])
    assert told[7:11] == ["  rows that join, as", "    name area", "      de    1", "      fr     "]


def test_an_estimate_has_an_error_in_the_place_of_examples():
    told = lines(PLAIN, error=0.0312, shared=[])
    assert told[1] == "  shared: 9 of 12 values (75.0%), estimated, standard error 3.1%"


def test_signatures_add_a_line():
    stats = SearchStats("lsh", signatures_compared=12345, candidates=678, expected_recall=0.95)
    assert lines(PLAIN, found_by=stats.to_dict())[-2:] == [
        "    found by lsh: 0 lists, 0 sets, 0 bytes read, 0 candidates pruned",
        "    12,345 signatures compared, 678 candidates, expected recall 0.950",
    ]


def test_programs_stand_below_the_columns_that_they_join():
    told = lines(
        PLAIN, program="a = b: 3 rows\nc = d: 1 row", found_by=SearchStats("transform", candidates=7).to_dict()
    )
    assert told[:4] == [
        "'land' joins geo/c.csv column 'name', m:1",
        "  by a = b: 3 rows",
        "  by c = d: 1 row",
        "  shared: 9 of 12 values (75.0%), as 'DE ', 'fr'",
    ]
    assert told[-1] == "    7 candidates learned from"


def test_the_fields_are_json():
    assert Explanation(**json.loads(json.dumps(PLAIN.to_dict()))) == PLAIN


class TestHit:
    @pytest.fixture
    def candidate(self, lake):
        return candidates("exact", lake, ["a", "b", "q"])["ones", "key"]

    def test_the_hit_gives_what_the_mode_does_not(self, candidate):
        told = explain_hit(candidate, shared=["a"], only_query=[], only_candidate=["x"])
        assert (told.query_column, told.table, told.column, told.relationship) == ("q", "ones", "key", "1:1")
        assert (told.matched, told.query_cardinality, told.cardinality, told.accidental) == (2, 3, 4, False)
        assert (told.shared, told.only_query, told.only_candidate) == (["a"], [], ["x"])
        assert (told.error, told.program, told.found_by["n_values"]) == (None, "", 3)
        json.dumps(told.to_dict())

    def test_the_mode_knows_better(self, candidate):
        told = explain_hit(candidate, shared=[], only_query=[], only_candidate=[], matched=1, error=0.5, program="p")
        assert (told.matched, told.error, told.program) == (1, 0.5, "p")
