"""The compacted prefix tree: nodes, order and local lists; the joins themselves are tested in tests/containment."""

import numpy as np

from dfjoin.containment.set_collection import encode_sides
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import InvertedLists
from dfjoin.kernels.sets.subset_tree import TreeNodes, build_local_lists, build_tree, forget_local_lists, order_sets


def make(sets):
    indptr = np.append(0, np.cumsum([len(one) for one in sets]))
    return encode_sides((indptr, np.array([e for one in sets for e in one], np.uint32)))[0]


def test_sets_are_ordered_as_python_orders_lists(rng):
    sets = [sorted(set(rng.integers(0, 5, rng.integers(0, 5)).tolist())) for _ in range(50)]
    order = np.arange(50, dtype=np.int32)
    order_sets(order, make(sets).lists, np.empty_like(order))
    assert order.tolist() == sorted(range(50), key=lambda i: (sets[i], i))


def test_the_tree_has_a_node_for_each_set_and_each_fork():
    sets = make([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 4], [0, 1], [5], [5, 6, 7]])
    order = np.arange(6, dtype=np.int32)
    order_sets(order, sets.lists, np.empty_like(order))
    nodes = TreeNodes(np.empty(13, np.int64), *(np.empty(13, np.int32) for _ in range(3)), np.empty(13, np.int64))
    n = build_tree(as_read_only(order), sets.lists, nodes, np.empty(6, np.int64))
    ends = {}
    for node in range(1, n):
        path, at = [], node
        while at > 0:
            row, above = nodes.row[at], nodes.parent[at]
            begin = sets.indptr[row]
            path = sets.elements[begin + nodes.depth[above] : begin + nodes.depth[at]].tolist() + path
            at = above
        ends[tuple(path)] = order[nodes.first[node] : nodes.last[node]].tolist()
    assert ends == {(0, 1): [3], (0, 1, 2, 3): [0, 1], (0, 1, 4): [2], (5,): [4], (5, 6, 7): [5]}


def test_a_fork_inside_a_label_is_a_node_without_sets():
    sets = make([[0, 1, 2], [0, 1, 3]])
    nodes = TreeNodes(np.empty(5, np.int64), *(np.empty(5, np.int32) for _ in range(3)), np.empty(5, np.int64))
    assert build_tree(np.arange(2, dtype=np.int32), sets.lists, nodes, np.empty(5, np.int64)) == 4
    assert sorted(nodes.depth[:4].tolist()) == [0, 2, 3, 3]


def test_local_lists_hold_the_chosen_sets_alone():
    sets = make([[0, 1, 2], [1, 2], [0, 2], [3]])
    lists = InvertedLists(np.zeros(4, np.int64), np.zeros(4, np.int64), np.empty(9, np.int32))
    cursors = np.zeros(4, np.int64)
    rows = as_read_only(np.array([0, 2], np.int32))
    assert build_local_lists(rows, sets.lists, 1, cursors, lists) == 3
    held = [lists.rows[a:b].tolist() for a, b in zip(lists.starts, lists.ends, strict=True)]
    assert held == [[], [0], [0, 1], []]
    forget_local_lists(rows, sets.lists, 1, cursors, lists)
    assert not cursors.any() and not lists.starts.any() and not lists.ends.any()
