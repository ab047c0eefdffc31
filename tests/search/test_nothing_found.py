"""A search without rows says why, in the frame, in a notebook, in the shell and in a join."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning

LANDS = ["Peru", "Chad", "Oman", "Togo", "Mali", "Laos", "Cuba", "Fiji", "Iran", "Iraq"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    numbers = pd.DataFrame({"rank": range(1, 11), "seats": range(101, 111)})
    frames = {"lands": pd.DataFrame({"land": LANDS, "code": range(70, 80)}), "numbers": numbers}
    index = tmp_path_factory.mktemp("index") / "lake.dfjoin"
    return dfjoin.build_lake(frames, index, engine="inline", progress=False)


@pytest.mark.parametrize(
    ("values", "arguments", "text"),
    [
        (["Mars", "Venus"], {}, "no column of the lake shares a value"),
        (["Peru", "Venus"], {"threshold": 0.9}, "no column of the lake shares a value, given `threshold`"),
        (LANDS, {"tables": "numbers"}, "no column of the lake shares a value, given `tables`"),
        (LANDS, {"tables": "land"}, "`tables` 'land' matches no table of the lake; did you mean 'lands'?"),
        ([None, None], {}, "nothing to search with: no value in 'a'"),
        ([1, 2, 3], {}, "nothing useful: 1 column shares values by chance, it seems; pass min_score=0 to see them"),
        (["Mars", "Venus"], {"mode": "fuzzy"}, "no column of the lake has a value that is spelled alike"),
    ],
)
def test_an_empty_result_says_why(lake, values, arguments, text):
    hits = pd.DataFrame({"a": values}).discover_joinable("a", lake, **arguments)
    assert repr(hits) == hits.why_empty() == text
    assert f"<p>{text.replace(chr(39), '&#x27;')}</p>" in hits._repr_html_()


def test_keys_of_several_columns_that_no_table_has(lake):
    hits = pd.DataFrame({"a": LANDS, "b": range(10)}).discover_joinable(["a", "b"], lake)
    assert hits.why_empty() == "no table has rows with these keys that are worth showing; pass min_score=0 for all"


def test_rows_that_a_filter_took_away_are_no_matter_of_the_search(lake):
    hits = pd.DataFrame({"a": LANDS}).discover_joinable("a", lake)
    assert len(hits) and hits.why_empty() == ""
    assert hits[hits["matched"] < 0].why_empty() == ""
    assert repr(hits[hits["matched"] < 0]).startswith("Empty JoinCandidates")


def test_a_join_with_no_pick_says_so(lake):
    df = pd.DataFrame({"a": ["Mars", "Venus"]})
    hits = df.discover_joinable("a", lake)
    text = r"the search result has no row \(no column of the lake shares a value\); the frame is unchanged"
    with pytest.warns(DfjoinWarning, match=text):
        assert df.auto_join(hits).equals(df)


def test_a_join_with_no_table_of_the_name_says_so(lake):
    with pytest.warns(DfjoinWarning, match="`tables` 'land' matches no table of the lake; did you mean 'lands'"):
        pd.DataFrame({"a": LANDS}).auto_join(lake, on="a", tables="land")


def test_a_column_that_is_no_key_hides_no_other_reason(lake):
    df = pd.DataFrame({"a": ["Mars", "Venus", "Pluto"], "n": [1, 2, 3]})
    with pytest.warns(DfjoinWarning, match="^`tables` 'land' matches no table of the lake; did you mean 'lands'"):
        df.auto_join(lake, tables="land")
    text = "no column that can be a key shares a value with a candidate; passed over: 1, the first: column 'n' as a key: it is a serial"
    with pytest.warns(DfjoinWarning, match=f"^{text}"):
        df.auto_join(lake)
