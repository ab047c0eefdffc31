"""Parameters of a search, and the record of what it read."""

import inspect

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.search.params import MODES, SearchParams, SearchStats, search_params


def test_the_number_of_query_values_is_reported(build):
    """`SearchStats.add` replaces it by that of a segment's search, which is 0."""
    lake = build({"a": pd.DataFrame({"c": ["a", "b", "c"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "x"]}), "q", lake, rank="matched")
    (search,) = hits.attrs["dfjoin"]["searches"]
    assert (search["n_values"], search["n_found"]) == (2, 1)


class TestParams:
    def test_defaults_are_those_of_the_record(self):
        assert search_params() == search_params(mode="exact", k=None, threshold=None, recall=None) == SearchParams()

    def test_a_threshold_alone_has_no_limit(self):
        assert search_params(threshold=0.5).k is None
        assert search_params(threshold=0.0).k is None
        assert (search_params(threshold=0.5, k=3).k, search_params(k=3).threshold) == (3, None)

    def test_every_argument_of_the_public_function_has_a_check(self):
        arguments = inspect.signature(dfjoin.discover_joinable).parameters
        given = {name: p.default for name, p in arguments.items() if p.kind is p.KEYWORD_ONLY}
        assert search_params(**given) == SearchParams()
        with pytest.raises(KeyError, match="nearness"):
            search_params(nearness=1.0)

    def test_what_is_given_arrives(self):
        params = search_params(
            mode="lsh", weighted=True, tables="a", exclude=["b"], kinds=("date",), verify=False, recall=0.5,
            progressive=True, pad=5, dayfirst=False, rank="matched",
        )  # fmt: skip
        assert params == SearchParams(
            mode="lsh", is_weighted=True, tables=("a",), exclude=("b",), kinds=("date",), verify=False, recall=0.5,
            progressive=True, pad=5, dayfirst=False, rank="matched",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("argument", "value", "owner"),
        [("plan", "josie", "exact"), ("recall", 0.95, "lsh"), ("verify", False, "lsh"), ("progressive", True, "lsh")],
    )
    def test_an_argument_of_one_mode_is_refused_in_the_others(self, argument, value, owner):
        assert search_params(mode=owner, **{argument: value}).mode == owner
        for mode in MODES:
            if mode != owner:
                text = f"`{argument}` belongs to mode=\"{owner}\", but the mode is '{mode}'; leave it out"
                if argument == "plan" and mode == "embedding":  # which has plans of its own
                    text = "`plan` must be one of 'tree', 'gemm', 'pexeso' with mode='embedding', got 'josie'"
                with pytest.raises(InvalidParameterError, match=text):
                    search_params(mode=mode, **{argument: value})


def test_what_segments_read_is_added_up():
    stats = SearchStats("mergelist", n_values=7, lists_read=1, expected_recall=0.9)
    stats.add(SearchStats("josie", n_values=5, lists_read=2, sets_read=3, expected_recall=0.8, is_complete=False))
    stats.add(SearchStats("mergelist", lists_read=4))
    expected = SearchStats("mergelist+josie", 7, lists_read=7, sets_read=3, expected_recall=0.8, is_complete=False)
    assert stats == expected
