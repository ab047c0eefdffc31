"""Pairs by cells do not depend on batches and room."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import QueryVectors, VectorTable
from dfjoin.search.embedding import near_plans
from dfjoin.search.embedding.near_plans import near_positions
from dfjoin.vectors import near_cells as vector_cells
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.trees import features_of


@pytest.mark.parametrize("radius", [0.2, 1.0, 2.0])
def test_pairs_do_not_depend_on_batches(radius, monkeypatch):
    monkeypatch.setattr(vector_cells, "_OF_CELL", 40)
    rows = unit_rows(np.random.default_rng(3).normal(size=(700, 10)))
    cells, order = build_cells(rows)
    queries, n = rows[::11], len(rows[::11])
    part = np.random.default_rng(4).choice([0.25, 0.5, 1.0], n)
    arrays = features_of(queries, cells.projection), queries, np.arange(n), np.full(n, -1), np.ones(n, np.int64)
    arrays = *arrays, radius * part
    made = QueryVectors(*(as_read_only(np.ascontiguousarray(array)) for array in arrays))
    table = VectorTable(as_read_only(rows[order]), as_read_only(np.arange(700, dtype=np.uint32)))

    def pairs():
        read, found = np.zeros(4, np.int64), []
        for (first, last), indptr, positions in near_positions(cells, table, made, read):
            owners = first + np.repeat(np.arange(last - first), np.diff(indptr))
            found += zip(owners.tolist(), order[positions].tolist(), strict=True)
        assert read[3] == len(found)
        return found

    expected = pairs()
    assert expected == sorted(expected, key=lambda pair: pair[0]) and len(set(expected)) == len(expected)
    gaps = np.sqrt(((queries[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(-1))
    assert sorted(expected) == [tuple(pair) for pair in np.argwhere(gaps <= radius * part[:, None]).tolist()]
    for name, value in {"QUERIES_AT_ONCE": 7, "_CELLS": 3, "_STEP": 2, "_ROOM": 700, "MOST_PAIRS": 1400}.items():
        monkeypatch.setattr(near_plans, name, value)
    assert pairs() == expected


_ENDLESS = """
import sys, numpy as np
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import QueryVectors, VectorTable
from dfjoin.search.embedding.near_plans import near_positions
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, SpellingRadius
from dfjoin.vectors.embedders import to_texts, unit_rows
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.trees import features_of

def vectors(n, n_queries):
    rows = unit_rows(np.random.default_rng(0).normal(size=(n, 32)))
    cells, order = build_cells(rows)
    table = VectorTable(as_read_only(rows[order]), as_read_only(np.arange(n, dtype=np.uint32)))
    own = rows[:n_queries]
    numbers = np.arange(n_queries), np.full(n_queries, -1), np.ones(n_queries, np.int64), np.full(n_queries, 0.9)
    queries = QueryVectors(*map(as_read_only, (features_of(own, cells.projection), own, *numbers)))
    return lambda: list(near_positions(cells, table, queries, np.zeros(4, np.int64)))

def texts(n, n_queries):
    words = ["north street number " + str(i) for i in range(n)]
    reach = SpellingRadius("jaccard", 0.4, "fraction")
    one, other = (SimilarTexts.of(to_texts(part), "jaccard") for part in (words[:n_queries], words))
    return lambda: other.pairs(one, reach)

make = {"vectors": vectors, "texts": texts}[sys.argv[1]]
make(200, 20)()
search = make(40_000, 1_000)
print("ready", flush=True)
while True:
    search()
"""


@pytest.mark.parametrize("kind", ["vectors", "texts"])
def test_a_search_ends_within_two_seconds_of_an_interrupt(kind):
    with subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        start = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=30)
        assert time.monotonic() - start < 2
    assert b"KeyboardInterrupt" in errors
