"""What the set containment join is compared with: the methods of the literature, and what a user would write otherwise.

PRETTI, LIMIT+ and TT-Join are written from their papers and compiled, one thread each. Every contender takes two
collections as `encode_sides` returns them, and returns the number of pairs.
"""

from __future__ import annotations

import numba
import numpy as np

from dfjoin.containment.set_collection import SetCollection
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import SetLists
from dfjoin.kernels.sets.subset_tree import order_sets

_CHUNK = 1 << 20


def ordered(left: SetCollection, right: SetCollection, is_rarest_first: bool = True):
    """Both sides with the elements of each set in the order of their frequency on the right side, and its lists."""
    counts = right.count_elements()
    by_count = np.argsort(counts if is_rarest_first else -counts, kind="stable")
    rank = np.empty(by_count.size, np.int64)
    rank[by_count] = np.arange(by_count.size)
    found = []
    for side in (left,) if left is right else (left, right):
        owner = np.repeat(np.arange(len(side), dtype=np.int64), side.sizes)
        keys = owner * by_count.size + rank[side.elements]
        keys.sort()
        found.append((np.asarray(side.indptr), (keys - owner * by_count.size).astype(np.int32)))
    elements = found[-1][1]
    list_indptr = np.append(0, np.cumsum(counts[by_count]))
    lists = np.repeat(np.arange(len(right), dtype=np.int32), right.sizes)[np.argsort(elements, kind="stable")]
    return found[0], found[-1], list_indptr, lists


def lexicographic(side) -> np.ndarray:
    """Numbers of the sets in lexicographic order, which is the order in which a prefix tree is traversed."""
    order = np.arange(side[0].size - 1, dtype=np.int32)
    sets = SetLists(as_read_only(side[0]), as_read_only(side[1].astype(np.uint32)))
    order_sets(order, sets, np.empty_like(order))
    return order.astype(np.int64)


@numba.njit(cache=True)
def _walk(order, indptr, elements, list_indptr, lists, right_indptr, right_elements, limit, kept, read, stack, starts):
    """Intersect the lists along the paths of the prefix tree of the left sets; below `limit` elements verify instead.

    Intersections are kept for the next set as long as they have `kept` entries in all; pages of lists are counted in `read`.
    """
    n_pairs = 0
    before = -1
    depth_before = 0
    for row in order:
        size = indptr[row + 1] - indptr[row]
        depth = min(size, limit)
        common = 0
        if before >= 0:
            while common < depth and common < depth_before:
                if elements[indptr[row] + common] != elements[indptr[before] + common]:
                    break
                common += 1
        if size == 0:
            continue
        while common > 0 and starts[common] > kept:
            common -= 1
        if common == 0:
            e = elements[indptr[row]]
            read[0] += (list_indptr[e + 1] * 4 - 1) // 4096 - list_indptr[e] * 4 // 4096 + 1
            n = list_indptr[e + 1] - list_indptr[e]
            for i in range(n):
                stack[i] = lists[list_indptr[e] + i]
            starts[0] = 0
            starts[1] = n
            common = 1
        for d in range(common, depth):
            e = elements[indptr[row] + d]
            out = starts[d]
            i, i_end = starts[d - 1], starts[d]
            j, j_end = list_indptr[e], list_indptr[e + 1]
            if i < i_end:
                read[0] += (j_end * 4 - 1) // 4096 - j * 4 // 4096 + 1
            if (j_end - j) > 16 * (i_end - i):  # a short list is searched in a long one
                while i < i_end:
                    low, high = j, j_end
                    while low < high:
                        middle = (low + high) // 2
                        if lists[middle] < stack[i]:
                            low = middle + 1
                        else:
                            high = middle
                    j = low
                    if j < j_end and lists[j] == stack[i]:
                        stack[out] = stack[i]
                        out += 1
                    i += 1
            else:
                while i < i_end and j < j_end:
                    if stack[i] == lists[j]:
                        stack[out] = stack[i]
                        out += 1
                        i += 1
                        j += 1
                    elif stack[i] < lists[j]:
                        i += 1
                    else:
                        j += 1
            starts[d + 1] = out
        if size <= limit:
            n_pairs += starts[depth] - starts[depth - 1]
        else:
            for i in range(starts[depth - 1], starts[depth]):
                other = stack[i]
                a, b, b_end = indptr[row] + depth, right_indptr[other], right_indptr[other + 1]
                while a < indptr[row + 1] and b < b_end:
                    if elements[a] == right_elements[b]:
                        a += 1
                        b += 1
                    elif elements[a] > right_elements[b]:
                        b += 1
                    else:
                        break
                n_pairs += a == indptr[row + 1]
        before = row
        depth_before = depth
    return n_pairs


def _tree_walk(left, right, limit, kept=1 << 60, is_rarest_first=True):
    """The number of pairs, and of pages of lists that were read."""
    first, second, list_indptr, lists = ordered(left, right, is_rarest_first)
    depth = int(np.diff(first[0]).max(initial=0)) + 2
    longest = int(np.diff(list_indptr).max(initial=0))
    stack = np.empty(longest * min(depth, limit + 1) + 1, np.int32)
    read, starts = np.zeros(1, np.int64), np.zeros(depth, np.int64)
    n = _walk(lexicographic(first), *first, list_indptr, lists, *second, limit, kept, read, stack, starts)
    return n, int(read[0])


def pretti(left, right):
    """PRETTI (Jampani and Pudi, DASFAA 2005): intersect lists down a prefix tree of the left sets; rarest elements first."""
    return _tree_walk(left, right, 1 << 30)[0]


def limit_plus(left, right):
    """LIMIT+ (Bouros et al., KAIS 2016): the same down to two elements, the rest by comparing candidates."""
    return _tree_walk(left, right, 2)[0]


def expretti(left, right, budget):
    """Pairs and pages read by the extended PRETTI of section 7.2.2 of Yang et al., in the better one of both orders.

    The left sets come in lexicographic order, each reads the lists of its elements but those of the prefix that it shares
    with the one before, as far as the intersections of that prefix fit the budget. A list is not read where nothing is left.
    """
    found = [_tree_walk(left, right, 1 << 30, budget // 4, is_rarest_first) for is_rarest_first in (True, False)]
    return min(found, key=lambda one: one[1])


@numba.njit(cache=True)
def _tt(indptr, elements, right_indptr, right_elements, group_indptr, grouped, k, marks):
    """Look up each right set among the signatures of the left ones."""
    n_pairs = 0
    for other in range(right_indptr.shape[0] - 1):
        for p in range(right_indptr[other], right_indptr[other + 1]):
            marks[right_elements[p]] = other + 1
        for p in range(right_indptr[other], right_indptr[other + 1]):
            e = right_elements[p]
            g = group_indptr[e]
            while g < group_indptr[e + 1]:  # left sets whose rarest element it is, in lexicographic order
                row = grouped[g]
                size = indptr[row + 1] - indptr[row]
                is_held = True
                d = 1
                while d < size:
                    if marks[elements[indptr[row] + d]] != other + 1:
                        is_held = False
                        break
                    d += 1
                if is_held:
                    n_pairs += 1
                    g += 1
                elif d < k:  # all sets of that branch of the tree of signatures fail
                    e_lost = elements[indptr[row] + d]
                    g += 1
                    while g < group_indptr[e + 1]:
                        following = grouped[g]
                        if indptr[following + 1] - indptr[following] <= d or elements[indptr[following] + d] != e_lost:
                            break
                        is_same = True
                        for c in range(1, d):
                            if elements[indptr[following] + c] != elements[indptr[row] + c]:
                                is_same = False
                        if not is_same:
                            break
                        g += 1
                else:
                    g += 1
    return n_pairs


def tt_join(left, right):
    """TT-Join (Yang et al., ICDE 2017), k = 3: a tree of the 3 rarest elements of the left sets, which right sets walk."""
    first, second, list_indptr, _ = ordered(left, right)
    order = lexicographic(first)
    order = order[np.diff(first[0])[order] > 0]
    rarest = first[1][first[0][order]]
    group_indptr = np.searchsorted(rarest, np.arange(list_indptr.size))
    return _tt(*first, *second, group_indptr, order, 3, np.zeros(list_indptr.size, np.int64))


def numpy_rarest_first(left, right):
    """The sets that hold the rarest element of each left set, filtered by its other elements, rarest first; numpy alone."""
    (indptr, elements), (right_indptr, right_elements), list_indptr, lists = ordered(left, right)
    n = list_indptr.size - 1
    keys = np.repeat(np.arange(len(right), dtype=np.int64), np.diff(right_indptr)) * n + right_elements
    sizes = np.diff(indptr)
    rows = np.flatnonzero(sizes > 0)
    lengths = np.diff(list_indptr)[elements[indptr[rows]]]
    total, start = 0, 0
    ends = np.cumsum(lengths)
    while start < rows.size:
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _CHUNK, "right")))
        own, n_own = rows[start:stop], lengths[start:stop]
        a = np.repeat(own, n_own)
        begin = list_indptr[elements[indptr[own]]]
        b = lists[np.arange(n_own.sum()) + np.repeat(begin - (np.cumsum(n_own) - n_own), n_own)].astype(np.int64)
        depth = 1
        while a.size:
            is_open = sizes[a] > depth
            total += int(np.count_nonzero(~is_open))
            a, b = a[is_open], b[is_open]
            wanted = b * n + elements[indptr[a] + depth]
            at = np.searchsorted(keys, wanted)
            is_held = keys[np.minimum(at, keys.size - 1)] == wanted
            a, b = a[is_held], b[is_held]
            depth += 1
        start = stop
    return total


def scipy_sparse(left, right):
    """The product of two sparse matrices, some thousand left sets at a time."""
    from scipy.sparse import csr_matrix

    def matrix(side):
        ones = np.ones(side.elements.size, np.int32)
        return csr_matrix((ones, side.elements.astype(np.int32), side.indptr), (len(side), side.n_elements))

    turned = matrix(right).T.tocsr()
    mine, sizes, total = matrix(left), left.sizes, 0
    for start in range(0, len(left), 2000):
        shared = mine[start : start + 2000] @ turned
        total += int(np.count_nonzero(shared.data == np.repeat(sizes[start : start + 2000], np.diff(shared.indptr))))
    return total


def duckdb_sql(left, right):
    """A join on the elements, grouped by pair, in DuckDB with one thread."""
    import duckdb
    import pandas as pd

    frames = [
        pd.DataFrame({"s": np.repeat(np.arange(len(side)), side.sizes), "e": side.elements}) for side in (left, right)
    ]
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "6GB"})
    connection.register("l", frames[0])
    connection.register("r", frames[1])
    return connection.execute(
        "WITH n AS (SELECT s, count(*) AS n FROM l GROUP BY s), c AS (SELECT l.s AS a, r.s AS b, count(*) AS c FROM l JOIN r "
        "USING (e) GROUP BY 1, 2) SELECT count(*) FROM c JOIN n ON c.a = n.s WHERE c.c = n.n"
    ).fetchone()[0]


def spark_sql(left, right):
    """A join on the exploded elements, grouped by pair, in Spark on one core."""
    import pandas as pd
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 4).getOrCreate()
    for name, side in (("l", left), ("r", right)):
        elements = np.split(side.elements.astype(np.int64), side.indptr[1:-1])
        frame = pd.DataFrame({"s": range(len(side)), "e": [one.tolist() for one in elements]})
        session.createDataFrame(frame, "s bigint, e array<bigint>").createOrReplaceTempView(name)
    return session.sql(
        "SELECT count(*) FROM (SELECT a.s, b.s FROM (SELECT s, size(e) AS n, explode(e) AS x FROM l) a JOIN (SELECT s, "
        "explode(e) AS x FROM r) b ON a.x = b.x GROUP BY a.s, b.s, a.n HAVING count(*) = a.n)"
    ).first()[0]


RIVALS = {
    "PRETTI": pretti,
    "LIMIT+": limit_plus,
    "TT-Join": tt_join,
    "numpy rarest-first": numpy_rarest_first,
    "scipy.sparse": scipy_sparse,
    "DuckDB": duckdb_sql,
    "Spark SQL": spark_sql,
}
