"""The join graph of a lake: edges, paths, explanations and exports."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.containment import foreign_keys
from dfjoin.containment.foreign_keys import choose_edges
from dfjoin.containment.key_features import KeyCandidates, find_key_pairs
from dfjoin.containment.lake_columns import LakeColumns
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, TableNotFoundError

KEYS = {
    ("orders", "customer_id", "customers", "id"),
    ("orders", "country_code", "countries", "code"),
    ("customers", "country", "countries", "code"),
    ("lines", "order_id", "orders", "order_id"),
    ("lines", "product_id", "products", "product_id"),
}


@pytest.fixture
def lake(rng, build):
    codes = [f"{a}{b}" for a in "abcd" for b in "wxyz"]
    n = 300
    return build(
        {
            "countries": pd.DataFrame({"code": codes, "population": rng.integers(10**6, 10**7, 16)}),
            "customers": pd.DataFrame(
                {"id": range(1, 61), "country": rng.choice(codes, 60), "age": rng.integers(20, 80, 60)}
            ),
            "orders": pd.DataFrame(
                {
                    "order_id": range(1000, 1000 + n),
                    "customer_id": rng.integers(1, 61, n),
                    "country_code": rng.choice(codes, n),
                    "quantity": rng.integers(1, 9, n),
                }
            ),
            "products": pd.DataFrame({"product_id": range(1, 41), "price": rng.random(40)}),
            "lines": pd.DataFrame(
                {
                    "order_id": rng.integers(1000, 1000 + n, 900),
                    "product_id": rng.integers(1, 41, 900),
                    "pieces": rng.integers(1, 20, 900),
                }
            ),
            "alone": pd.DataFrame({"colour": ["red", "blue"]}),
        }
    )


@pytest.fixture
def graph(lake):
    return lake.join_graph()


def test_declared_keys_are_found_among_accidents(lake, graph):
    found = set(zip(*(graph.edges[name] for name in ("table", "column", "key_table", "key_column")), strict=True))
    assert found >= KEYS
    assert len(found - KEYS) <= 1
    assert len(lake.containment_join(0.9, 1).to_frame()) > 2 * len(found)
    assert graph.edges["score"].is_monotonic_decreasing
    assert repr(graph) == f"<JoinGraph: {len(graph)} edges between 5 of 6 tables>"
    assert "<table" in graph._repr_html_()
    assert set(graph.edges.loc[graph.edges["key_table"] == "countries", "relationship"]) == {"n:1"}


def test_dates_and_columns_that_a_program_named_refer_to_no_key(build):
    days = pd.date_range("2024-01-01", periods=40).astype(str)
    names = [f"town {i}" for i in range(40)]
    first = {"Unnamed: 0": range(40), "1": names, "day": days, "town": names}
    lake = build({"days": pd.DataFrame(first), "towns": pd.DataFrame({"town": names, "rain": range(40)})})
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, 0.9).keys
    assert {columns.name(c) for c in pairs.left.tolist()} == {("days", "town")}


def test_scores_do_not_depend_on_how_many_are_scored_at_once(lake, graph, monkeypatch):
    parts = []
    features = foreign_keys.key_features
    monkeypatch.setattr(foreign_keys, "key_features", lambda c, p: (parts.append(set(p.left)), features(c, p))[1])
    for n in (1, 3):
        parts.clear()
        monkeypatch.setattr(foreign_keys, "_AT_ONCE", n)
        pd.testing.assert_frame_equal(lake.join_graph().candidates, graph.candidates)
        whole = set().union(*parts)
        assert len(whole) == sum(map(len, parts)) > 1, "the pairs of a column are compared with each other: in one part"


def test_fewer_edges_are_left_where_more_is_asked(lake, graph):
    assert len(lake.join_graph(min_score=0.99)) < len(graph)
    assert len(lake.join_graph(min_score=0)) >= len(graph)


def test_an_edge_is_explained(graph):
    text = graph.explain("orders", "customer_id")
    assert text.startswith("orders.customer_id\n  refers to customers.id, score 0.")
    assert "+ the header names the key" in text
    with pytest.raises(
        ColumnNotFoundError, match="`column` must be one that a key may hold, see `candidates`; got 'colour'"
    ):
        graph.explain("alone", "colour")


def test_paths_are_the_shortest(graph):
    path = graph.shortest_paths("products", "customers")
    assert path["left_table"].tolist() == ["products", "lines", "orders"]
    assert path["right_table"].tolist() == ["lines", "orders", "customers"]
    assert path["left_column"].tolist() == ["product_id", "order_id", "customer_id"]
    two = graph.shortest_paths("lines", "countries", k=5)
    lengths = two.groupby("path").size()
    assert lengths.tolist() == sorted(lengths) and lengths.iloc[0] == 2
    assert len(graph.shortest_paths("alone", "orders")) == 0
    with pytest.raises(TableNotFoundError, match="`start` and `end` must be tables of the lake"):
        graph.shortest_paths("order", "lines")
    with pytest.raises(InvalidParameterError, match="`k` must be at least 1"):
        graph.shortest_paths("orders", "lines", k=0)


def test_a_column_refers_to_one_key_and_circles_are_left_open():
    class Columns:
        cardinality = np.array([5, 5, 5, 9])

    pairs = KeyCandidates(np.array([0, 0, 1, 1, 2]), np.array([1, 3, 2, 0, 0]), np.full(5, 5))
    score = np.array([0.9, 0.9, 0.8, 0.7, 0.95])
    assert choose_edges(Columns(), pairs, score, 0.5).tolist() == [4, 0]
    assert choose_edges(Columns(), pairs, score, 0.99).tolist() == []


def test_the_graph_is_written(graph, tmp_path):
    graph.to_graphml(tmp_path / "graph.graphml")
    assert (tmp_path / "graph.graphml").stat().st_size > 500


def test_tables_that_are_asked_for_are_the_whole_lake_of_the_graph(lake, graph):
    part = lake.join_graph(tables=["orders", "line*", "customers"])
    assert part.tables == ["customers", "lines", "orders"]
    assert {("orders", "customer_id", "customers", "id"), ("lines", "order_id", "orders", "order_id")} <= _edges(part)
    assert set(part.candidates["key_table"]) | set(part.candidates["table"]) <= set(part.tables)
    assert _edges(lake.join_graph(tables="*")) == _edges(graph)
    with pytest.raises(TableNotFoundError, match=r"`tables` 'order' matches no table of the lake.*orders"):
        lake.join_graph(tables="order")


def test_the_neighbourhood_of_a_table_has_all_edges_between_its_tables(graph):
    one, two = graph.around("lines"), graph.around("lines", hops=2)
    assert set(one.tables) == {"lines", "orders", "products"} and set(two.tables) >= {*one.tables, "customers"}
    for part in (one, two):
        within = {edge for edge in _edges(graph) if {edge[0], edge[2]} <= set(part.tables)}
        assert _edges(part) == within
    for row in two.candidates.itertuples():
        told = graph.explain(row.table, row.column).splitlines()
        assert set(two.explain(row.table, row.column).splitlines()) <= set(told)
    assert graph.around("alone").tables == ["alone"] and len(graph.around("alone")) == 0
    with pytest.raises(TableNotFoundError, match=r"`table` must be a table of the graph .*got 'line'.*lines"):
        graph.around("line")


def test_versions_of_one_table_do_not_refer_to_each_other(build):
    years = {f"sales/{year}": pd.DataFrame({"shop": range(100, 130), "sold": range(30)}) for year in (2020, 2021)}
    shops = pd.DataFrame({"shop": range(100, 160), "city": [f"c{i}" for i in range(60)]})
    graph = build(years | {"shops": shops}).join_graph(min_score=0.0)
    assert {(table, key) for table, _, key, _ in _edges(graph)} >= {("sales/2020", "shops"), ("sales/2021", "shops")}
    assert not any(table[:5] == key[:5] == "sales" and table != key for table, _, key, _ in _edges(graph))


def _edges(graph):
    return set(zip(*(graph.edges[name] for name in ("table", "column", "key_table", "key_column")), strict=True))


def test_wrong_arguments_are_refused(build):
    lake = build({"a": pd.DataFrame({"x": ["p", "q"]})})
    with pytest.raises(InvalidParameterError, match="`threshold` must be above 0, got 0: a key holds"):
        lake.join_graph(0)
    with pytest.raises(InvalidParameterError, match="`min_score` must be between 0 and 1, got 7"):
        lake.join_graph(min_score=7)
    assert len(lake.join_graph()) == 0
