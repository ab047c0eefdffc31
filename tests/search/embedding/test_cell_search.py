"""Pairs by cells do not depend on batches and room."""

import numpy as np
import pytest

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import QueryVectors, VectorTable
from dfjoin.search.embedding import cell_search
from dfjoin.search.embedding.cell_search import near_places
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
    arrays = features_of(queries, cells.projection), queries, np.arange(n), np.full(n, -1), np.ones(n, np.int64)
    made = QueryVectors(*(as_read_only(np.ascontiguousarray(array)) for array in arrays))
    table = VectorTable(as_read_only(rows[order]), as_read_only(np.arange(700, dtype=np.uint32)))

    def pairs():
        read, found = np.zeros(4, np.int64), []
        for (first, last), indptr, places in near_places(cells, table, made, radius, read):
            owners = first + np.repeat(np.arange(last - first), np.diff(indptr))
            found += zip(owners.tolist(), order[places].tolist(), strict=True)
        assert read[3] == len(found)
        return found

    expected = pairs()
    assert expected == sorted(expected, key=lambda pair: pair[0]) and len(set(expected)) == len(expected)
    gaps = np.sqrt(((queries[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(-1))
    assert sorted(expected) == [tuple(pair) for pair in np.argwhere(gaps <= radius).tolist()]
    for name, value in {"_BATCH": 7, "_CELLS": 3, "_STEP": 2, "_ROOM": 700, "_MOST_PAIRS": 1400}.items():
        monkeypatch.setattr(cell_search, name, value)
    assert pairs() == expected
