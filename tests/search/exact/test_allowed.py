"""The columns that a search may return: tombstones and filters, alone and together."""

import pandas as pd
import pytest

from dfjoin.search.exact.posting_lists import allowed_columns
from dfjoin.search.params import SearchParams
from tests.search.searching import find

TABLES = {
    "a": pd.DataFrame({"n": [1, 2], "t": ["p", "q"]}),
    "b": pd.DataFrame({"n": [1, 2], "t": ["p", "q"]}),
    "c": pd.DataFrame({"n": [1, 2], "t": ["p", "q"]}),
}


def names(lake, **filters):
    (segment,) = lake.segments
    allowed = allowed_columns(segment, SearchParams(**filters))
    catalog = segment.catalog
    chosen = [c for c in range(segment.n_columns) if allowed.size == 0 or allowed[c]]
    return [catalog.table_name(c) + catalog.column_name(c) for c in chosen]


FILTERS = [
    ({}, ["an", "at", "bn", "bt", "cn", "ct"]),
    ({"kinds": ("integer",)}, ["an", "bn", "cn"]),
    ({"kinds": ("integer", "text")}, ["an", "at", "bn", "bt", "cn", "ct"]),
    ({"tables": ("a", "b")}, ["an", "at", "bn", "bt"]),
    ({"exclude": ("a",), "kinds": ("text",)}, ["bt", "ct"]),
    ({"tables": ("[bc]",), "exclude": ("c",)}, ["bn", "bt"]),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_filters_hold_together_and_with_tombstones(build, filters, expected):
    lake = build(TABLES)
    assert names(lake, **filters) == expected
    lake.remove("b")
    assert names(lake, **filters) == [name for name in expected if name[0] != "b"]


def test_everything_is_allowed_without_a_mask(build):
    lake = build(TABLES)
    assert allowed_columns(lake.segments[0], SearchParams()).size == 0


@pytest.mark.parametrize("plan", [None, "mergelist", "probeset", "josie"])
def test_deleted_columns_of_a_kind_are_not_found(build, plan):
    lake = build(TABLES)
    lake.remove("b")
    hits = find([1, 2], lake, kinds="integer", plan=plan)
    assert hits["table"].tolist() == ["a", "c"]


def test_a_name_that_looks_like_a_pattern_names_its_table(build):
    lake = build({"sales [2020].csv": TABLES["a"], "other.csv": TABLES["b"]})
    assert find([1, 2], lake, tables="sales [2020].csv")["table"].tolist() == ["sales [2020].csv"]
    assert find([1, 2], lake, tables="sales ?2020?.csv")["table"].tolist() == ["sales [2020].csv"]
    assert find([1, 2], lake, exclude="sales [2020].csv")["table"].tolist() == ["other.csv"]
