"""What searches found, and each row of a result as a candidate: in its segment, with its column."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.ingest import driver
from dfjoin.search.found import rows_of
from tests.search.protocol import candidates, find_by

TABLES = {
    f"t{i}": pd.DataFrame({"a": [f"w{n + i}" for n in range(6)], "b": [f"w{n * i}" for n in range(5)] + ["x"]})
    for i in range(5)
}
QUERY = [f"w{n}" for n in range(8)]


@pytest.fixture
def lakes(build, monkeypatch):
    """The same tables in one segment, and in one for each table."""
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
    found = [build(TABLES), build(TABLES, settings={"segment_bytes": 1})]
    assert [len(lake.segments) for lake in found] == [1, 5]
    return found


def test_a_candidate_is_a_column_of_its_segment(lakes):
    for lake in lakes:
        found = candidates("exact", lake, QUERY)
        assert len(found) == 10
        for (table, column), one in found.items():
            assert one.segment is lake.segments[one.number]
            catalog = one.segment.catalog
            assert (catalog.table_name(one.column), catalog.column_name(one.column)) == (table, column)
            assert catalog.numbers["cardinality"][one.column] == TABLES[table][column].nunique()
            assert (one.row["table"], one.row["column"]) == (table, column)


def test_hits_do_not_depend_on_the_number_of_segments(lakes):
    one, many = (find_by("exact", lake, QUERY) for lake in lakes)
    assert (one.hits.tables, one.hits.names) == (many.hits.tables, many.hits.names)
    assert one.hits.hits.matched.tolist() == many.hits.hits.matched.tolist()
    assert set(one.hits.hits.segments.tolist()) == {0} and set(many.hits.hits.segments.tolist()) == set(range(5))


def test_rows_are_those_of_itertuples(lake):
    df = pd.DataFrame({"one": ["a", "b", "c"], "two": ["y", "z", "q"]})
    found = dfjoin.discover_joinable(df, "*", lake, min_score=0, rank="useful", weighted=True)
    others = {"two words": 1.5, 3: True, "missing": pd.array([None] * len(found), "Int64"), "class": np.nan}
    for hits in (found, found.iloc[:0], found.assign(**{"pad": 5}), pd.DataFrame(found).assign(x=None), found.head(1)):
        for label, cell in others.items():
            hits[label] = cell if np.isscalar(cell) else cell[: len(hits)]
        expected = [(row._fields, tuple(row)) for row in hits.itertuples(index=False)]
        rows = [(row._fields, tuple(row)) for row in rows_of(hits)]
        assert repr(rows) == repr(expected)


def test_a_context_has_each_query_column_by_its_name(lake):
    df = pd.DataFrame({"one": ["a", "b", "c"], "two": ["y", "z", "q"]})
    context = dfjoin.discover_joinable(df, "*", lake, k=3, rank="matched").context
    assert list(context.queries) == list(context.stats) == ["one", "two"]
    for name in df:
        pd.testing.assert_series_equal(context.queries[name].column, df[name])
        assert context.queries[name].values.values() == df[name].tolist()
    assert [context.stats[name].n_found for name in df] == [3, 2]
    assert context.snapshot is lake.snapshot and context.params.k == 3


def test_what_joins_by_equality_has_no_programs(lake):
    assert dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b"]}), "q", lake, rank="matched").context.joins == {}


def test_what_joins_by_programs_has_them_by_its_names(build):
    names = [f"{a}{b}, {c}{b}" for a in ("Mill", "Baum", "Koch") for b in ("er", "an", "ix") for c in ("Pet", "Ann")]
    turned = [" ".join(reversed(name.split(", "))) for name in names]
    lake = build(
        {"x": pd.DataFrame({"who": turned}), "y": pd.DataFrame({"n": np.arange(5)})}, settings={"patterns": True}
    )
    hits = dfjoin.discover_joinable(pd.DataFrame({"name": names}), "name", lake, mode="transform", rank="matched")
    assert set(hits.context.joins) == {("name", "x", "who")}
    assert hits.context.joins["name", "x", "who"].programs
