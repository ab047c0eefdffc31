"""Foreign keys that a database declares are edges of the join graph, and are marked."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.containment.foreign_keys import choose_edges
from dfjoin.containment.key_features import KeyCandidates

EDGES = ["table", "column", "key_table", "key_column"]


@pytest.fixture
def lake(tmp_path):
    with sqlite3.connect(tmp_path / "b.sqlite") as base:
        base.executescript("""
            CREATE TABLE towns (id INTEGER PRIMARY KEY, name TEXT UNIQUE, twin INTEGER REFERENCES towns);
            CREATE TABLE shops (nr INTEGER PRIMARY KEY, place INTEGER REFERENCES towns(id), kind TEXT);
            CREATE TABLE visits (shop INTEGER, day TEXT, x INTEGER, y TEXT, only_one INTEGER REFERENCES shops(nr),
              FOREIGN KEY (shop) REFERENCES shops, FOREIGN KEY (x, y) REFERENCES pairs(a, b),
              FOREIGN KEY (x) REFERENCES gone(a));
            CREATE TABLE pairs (a INTEGER, b TEXT, UNIQUE (a, b));
        """)
        base.executemany("INSERT INTO towns VALUES (?, ?, ?)", [(n, f"Town {n}", 41 - n) for n in range(1, 41)])
        base.executemany("INSERT INTO shops VALUES (?, ?, 'k')", [(n, 1 + n % 7) for n in range(900, 950)])
        base.executemany("INSERT INTO pairs VALUES (?, ?)", [(n, f"b{n}") for n in range(30)])
        rows = [(900 + n % 50, f"2024-01-{1 + n % 28:02d}", n % 30, f"b{n % 30}", 905) for n in range(90)]
        base.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    base.close()
    return dfjoin.build_lake(tmp_path / "b.sqlite", tmp_path / "i", engine="inline", progress=False)


DECLARED = {
    ("b.sqlite/shops", "place", "b.sqlite/towns", "id"),
    ("b.sqlite/towns", "twin", "b.sqlite/towns", "id"),
    ("b.sqlite/visits", "only_one", "b.sqlite/shops", "nr"),
    ("b.sqlite/visits", "shop", "b.sqlite/shops", "nr"),
    ("b.sqlite/visits", "x + y", "b.sqlite/pairs", "a + b"),
}


def declared_of(graph):
    rows = graph.edges[graph.edges["declared"]]
    return set(rows[EDGES].itertuples(index=False, name=None))


def test_declared_foreign_keys_are_edges(lake):
    graph = lake.join_graph()
    assert declared_of(graph) == DECLARED and graph.edges["declared"].tolist()[:5] == [True] * 5
    assert (graph.edges["score"][:5] == 1).all()
    shares = graph.edges.set_index("column")["containment"]
    assert np.isnan(shares["only_one"]) and shares["place"] == shares["x + y"] == 1
    text = graph.explain("b.sqlite/shops", "place")
    assert "refers to b.sqlite/towns.id, score 1.00\n    + the database declares it as a foreign key" in text
    assert "declares" in graph.explain("b.sqlite/visits", "only_one")
    assert graph.shortest_paths("b.sqlite/visits", "b.sqlite/towns")["right_column"].tolist() == ["nr", "id"]
    assert declared_of(lake.join_graph(tables=["*/shops", "*/towns"])) == {d for d in DECLARED if "visits" not in d[0]}
    assert declared_of(graph.around("b.sqlite/towns")) == {d for d in DECLARED if "visits" not in d[0]}


def test_the_catalogue_keeps_keys(lake, tmp_path):
    segment = lake.segments[0]
    records = {record["name"]: record for record in segment.catalog.tables().to_pylist()}
    assert records["b.sqlite/towns"]["keys"] == [["id"], ["name"]]
    assert records["b.sqlite/pairs"]["keys"] == [["a", "b"]] and records["b.sqlite/pairs"]["foreign_keys"] == []
    assert {"columns": ["x", "y"], "path": "b.sqlite/pairs", "key_columns": ["a", "b"]} in records["b.sqlite/visits"][
        "foreign_keys"
    ]
    assert "declared_keys" in segment.meta.features
    before = declared_of(lake.join_graph())
    lake.add(
        {"more": pd.DataFrame({"id": range(40), "name": [f"Town {n}" for n in range(40)]})},
        engine="inline",
        progress=False,
    )
    lake.compact(full=True)
    assert len(lake.segments) == 1 and declared_of(lake.join_graph()) == before
    lake.remove("b.sqlite/towns")
    assert declared_of(lake.join_graph()) == {d for d in DECLARED if "towns" not in d[2]}
    plain = dfjoin.build_lake({"t": pd.DataFrame({"a": [1, 2]})}, tmp_path / "p", engine="inline", progress=False)
    assert "declared_keys" not in plain.segments[0].meta.features


def test_declared_edges_are_taken_though_they_form_a_circle():
    class Columns:
        cardinality = np.array([5, 5, 5])

    pairs = KeyCandidates(np.array([0, 1, 2, 2]), np.array([1, 0, 0, 1]), np.full(4, 5))
    is_declared = np.array([True, True, False, False])
    chosen = choose_edges(Columns(), pairs, np.array([1, 1, 0.9, 0.8]), 0.5, is_declared)
    assert chosen.tolist() == [1, 0, 2]


def test_duckdb_declares_keys(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as base:
        base.execute(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT UNIQUE); CREATE TABLE b (x INTEGER REFERENCES a(id), y INTEGER)"
        )
        base.execute(
            "INSERT INTO a SELECT i, 'n' || i FROM range(20) t(i); INSERT INTO b SELECT i % 9, i FROM range(50) t(i)"
        )
    lake = dfjoin.build_lake(tmp_path / "b.duckdb", tmp_path / "i", engine="inline", progress=False)
    assert declared_of(lake.join_graph()) == {("b.duckdb/b", "x", "b.duckdb/a", "id")}
    records = lake.segments[0].catalog.tables().to_pylist()
    assert [sorted(record["keys"]) for record in records] == [[["id"], ["n"]], []]


def test_what_sqlite_declares_of_other_names_and_of_computed_columns(tmp_path):
    """Names in other case are the same to SQLite; computed columns may refer and be keys; `id` refers to itself."""
    with sqlite3.connect(tmp_path / "b.sqlite") as base:
        base.executescript("""
            CREATE TABLE cities (id INTEGER PRIMARY KEY REFERENCES cities(id), b TEXT AS ('b' || id) UNIQUE, n TEXT);
            CREATE TABLE shops (Place INTEGER, kind TEXT, c INTEGER AS (place) REFERENCES cities(id),
              FOREIGN KEY (PLACE) REFERENCES CITIES(ID));
            CREATE TABLE others (town INTEGER REFERENCES Cities, x TEXT);
        """)
        base.executemany("INSERT INTO cities (id, n) VALUES (?, ?)", [(n, f"n{n}") for n in range(20)])
        base.executemany("INSERT INTO shops (Place, kind) VALUES (?, 'k')", [(n % 7,) for n in range(40)])
        base.executemany("INSERT INTO others VALUES (?, 'x')", [(n % 9,) for n in range(40)])
    base.close()
    lake = dfjoin.build_lake(tmp_path / "b.sqlite", tmp_path / "i", engine="inline", progress=False)
    assert lake.tables["table"].tolist() == ["b.sqlite/cities", "b.sqlite/others", "b.sqlite/shops"]
    assert declared_of(lake.join_graph()) == {
        ("b.sqlite/shops", "Place", "b.sqlite/cities", "id"),
        ("b.sqlite/shops", "c", "b.sqlite/cities", "id"),
        ("b.sqlite/others", "town", "b.sqlite/cities", "id"),
    }
    assert [record["keys"] for record in lake.segments[0].catalog.tables().to_pylist()] == [[["id"], ["b"]], [], []]
