"""Tuples of rows and of keys against dictionaries of Python."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lists import key_tuples
from dfjoin.kernels.lists.key_tuples import (
    Choices,
    Counts,
    count_possible,
    count_tuples,
    find_tuples,
    mark_held,
    new_slots,
    number_tuples,
    table_of,
)

CODES = st.integers(1, 3).flatmap(
    lambda n_parts: st.lists(st.tuples(*[st.integers(-1, 4)] * n_parts), min_size=1, max_size=40)
)


@given(CODES)
def test_tuples_are_numbered_in_the_order_of_their_first_row(rows):
    codes = np.array(rows, np.int32).T.copy()
    known, expected = {}, []
    for row in rows:
        expected.append(-1 if min(row) < 0 else known.setdefault(row, len(known)))
    out = np.empty(len(rows), np.int32)
    n = number_tuples(codes, np.arange(codes.shape[0]), new_slots(len(rows)), out)
    assert n == len(known) and out.tolist() == expected


@pytest.mark.parametrize("dense", [0, 1 << 16])
@given(
    keys=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12),
    rows=st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 5), st.integers(-1, 5)), min_size=1, max_size=40),
    data=st.data(),
)
def test_rows_that_hold_tuples_of_a_key_are_found_and_counted(dense, keys, rows, data):
    keys = sorted(keys)
    with patch.object(key_tuples, "_DENSE", dense), patch.object(key_tuples, "prod", _large_unless(dense)):
        key = table_of(np.array(keys, np.int32).T.copy(), [4, 4])
    assert bool(key.strides[0]) == bool(dense)
    codes = np.array(rows, np.int32).T.copy()
    tables = [[-1, *data.draw(st.lists(st.integers(-1, 3), min_size=6, max_size=6))] for _ in range(3)]
    numbers = np.array(tables, np.int32).reshape(-1)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    choices = Choices(np.array(pairs), np.array([[7 * a, 7 * b] for a, b in pairs]))
    counts = Counts(np.zeros(6, np.int64), np.zeros(6, np.int64), np.full(len(keys), -1, np.int32))
    count_tuples(codes, choices, numbers, key, counts)
    for choice, (a, b) in enumerate(pairs):
        held = [(tables[a][row[a] + 1], tables[b][row[b] + 1]) for row in rows]
        expected = [keys.index(one) if one in keys else -1 for one in held]
        out = np.empty(len(rows), np.int32)
        find_tuples(codes, Choices(choices.columns[choice:], choices.starts[choice:]), numbers, key, out)
        assert out.tolist() == expected
        found = [one for one in expected if one >= 0]
        assert (counts.matched[choice], counts.rows[choice]) == (len(set(found)), len(found))


def _large_unless(dense):
    """Let the product of sizes be as it is, or above what has a slot for each combination."""
    return key_tuples.prod if dense else lambda sizes: 1 << 40


@given(
    groups=st.lists(st.integers(-1, 12), min_size=1, max_size=9),
    lists=st.sets(st.integers(5, 12)),
    column=st.integers(0, 4),
    data=st.data(),
)
def test_tuples_whose_part_a_column_holds_are_marked(groups, lists, column, data):
    parts = data.draw(st.lists(st.integers(0, len(groups) - 1), max_size=20))
    held = np.full(len(parts), 7, np.uint8)
    ascending = np.array(sorted(lists), np.int64)
    mark_held(np.array(groups, np.int64), np.array(parts, np.int32), column, ascending, held)
    assert held.tolist() == [int(groups[part] in lists or groups[part] == column) for part in parts]


@given(st.integers(0, 20), st.data())
def test_tuples_that_all_columns_of_a_way_hold_are_counted(n_keys, data):
    held = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 1), min_size=n_keys, max_size=n_keys), min_size=4, max_size=4)),
        np.uint8,
    )
    choices = np.array([[0, 1], [2, 3], [1, 1]], np.int32)
    out = np.empty(3, np.int64)
    count_possible(held.reshape(4, n_keys).astype(np.uint8), choices, out)
    assert out.tolist() == [int((held.reshape(4, n_keys)[a] & held.reshape(4, n_keys)[b]).sum()) for a, b in choices]
