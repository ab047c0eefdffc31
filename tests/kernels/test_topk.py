"""The heap of the best against sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.topk import offer, rank_heap
from tests.oracles.kernels import naive_top


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30), st.integers(0, 9), st.data())
def test_the_heap_keeps_the_best_whatever_the_order_of_offers(items, k, data):
    scores = np.array([score for score, _ in items], np.int32)
    ties = np.array([tie for _, tie in items], np.int64)
    heap = np.empty(k, np.int32)
    size = 0
    offered = []
    for item in data.draw(st.permutations(range(len(items)))):
        size = offer(heap, size, item, scores, ties)
        offered.append(item)
        best = naive_top(scores.tolist(), offered, [], ties.tolist(), 0, k)
        assert sorted(heap[:size].tolist()) == sorted(best)
        if size:
            assert heap[0] == best[-1]
    rank_heap(heap, size, scores, ties)
    assert heap[:size].tolist() == best if offered else size == 0
