"""The best k of many items, in a heap whose root is the worst of them."""

from __future__ import annotations

from dfjoin.kernels.numba._compile import njit_inner, njit_lean


@njit_inner
def _is_better(scores, ties, a, b):
    """Tell whether item `a` ranks before item `b`: higher score, then smaller tie, then smaller number."""
    if scores[a] != scores[b]:
        return scores[a] > scores[b]
    if ties[a] != ties[b]:
        return ties[a] < ties[b]
    return a < b


@njit_inner
def _sift_down(heap, size, scores, ties):
    """Move the root of the heap to its place."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and _is_better(scores, ties, heap[child], heap[child + 1]):
            child += 1
        if not _is_better(scores, ties, heap[i], heap[child]):
            return
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@njit_lean
def offer(heap, size, item, scores, ties):
    """Offer an item to the heap of the best.

    Parameters
    ----------
    heap : ndarray of int32, shape (k,)
        The best items so far, the first `size` of it; the worst of them stands in front.
    size : int
    item : int
        Neither its score nor that of any item in the heap may change afterwards.
    scores : ndarray, shape (n_items,)
        Higher ranks first.
    ties : ndarray, shape (n_items,)
        Of equal scores the smaller ranks first; of equal ties the smaller item.

    Returns
    -------
    int
        The new size. O(log k), and one comparison for an item that is not among the best.
    """
    if size < heap.shape[0]:
        child = size
        heap[child] = item
        while child > 0:
            parent = (child - 1) // 2
            if not _is_better(scores, ties, heap[parent], heap[child]):
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            child = parent
        return size + 1
    if size > 0 and _is_better(scores, ties, item, heap[0]):
        heap[0] = item
        _sift_down(heap, size, scores, ties)
    return size


@njit_lean
def rank_heap(heap, size, scores, ties):
    """Turn the heap into a list, best first, in place.

    Parameters
    ----------
    heap, size, scores, ties
        As in `offer`.

    Notes
    -----
    O(size log size).
    """
    while size > 1:
        size -= 1
        heap[0], heap[size] = heap[size], heap[0]
        _sift_down(heap, size, scores, ties)
