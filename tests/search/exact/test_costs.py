"""Costs of reading: bytes as they lie in the index, constants as the kernels take them."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.index.components import TOKENS
from dfjoin.search.exact.costs import COUNTED_POSTING_BYTES, ENTRY_BYTES, KEPT_POSTING_BYTES, READ_COSTS, ReadCosts

SETS = {
    "all": ["w0", "w1", "w2", "w3", "w4", "w5"],
    "even": ["w0", "w2", "w4", "e1"],
    "low": ["w0", "w1", "w2", "l1", "l2"],
    "odd": ["w1", "w3", "w5", "o1"],
}
QUERY = ["w0", "w1", "w4", "w5", "none"]


@pytest.fixture
def told(build):
    """What the search by a plan says that it read."""
    lake = build({name: pd.DataFrame({"c": values}) for name, values in SETS.items()}, settings={"permutations": 0})

    def search(plan):
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": QUERY}), "q", lake, plan=plan, rank="matched")
        return hits.attrs["dfjoin"]["searches"][0]

    return search


def test_bytes_are_those_of_the_components():
    assert TOKENS["list_columns"].dtype.itemsize == COUNTED_POSTING_BYTES
    assert TOKENS["set_lists"].dtype.itemsize == ENTRY_BYTES
    assert TOKENS["list_columns"].dtype.itemsize + TOKENS["list_positions"].dtype.itemsize < KEPT_POSTING_BYTES


def test_a_merge_reads_each_distinct_list_once(told):
    lists = {tuple(name for name in SETS if value in SETS[name]) for value in QUERY} - {()}
    n_postings = sum(map(len, lists))
    stats = told("mergelist")
    assert (stats["lists_read"], stats["postings_read"], stats["sets_read"]) == (len(lists), n_postings, 0)
    assert stats["bytes_read"] == 4 * n_postings


@pytest.mark.parametrize("plan", ["probeset", "josie"])
def test_a_plan_with_candidates_reads_twelve_bytes_a_posting_and_four_an_entry(told, plan):
    stats = told(plan)
    assert stats["postings_read"] > 0
    assert stats["bytes_read"] == 12 * stats["postings_read"] + 4 * stats["set_entries_read"]


def test_constants_come_in_the_order_of_the_kernels():
    list_ns, kept_ns, set_ns, entry_ns = ReadCosts(3.0, 5.0, 7.0, 11.0).as_array().tolist()
    assert (list_ns, set_ns, entry_ns) == (3.0, 7.0, 11.0)
    assert kept_ns == 20.0, "a posting costs four times as much where candidates are kept"
    assert READ_COSTS.as_array().dtype == np.float64 and (READ_COSTS.as_array() > 0).all()
