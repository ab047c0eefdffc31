import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.token_difference import pair_differences, rule_hits
from tests.kernels.packing import csr

ROWS = st.lists(st.sets(st.integers(0, 7), max_size=5).map(sorted), min_size=1, max_size=5)


def all_pairs(a, b):
    return tuple(np.array([(i, j) for i in range(len(a)) for j in range(len(b))], np.int32).T.copy())


@given(ROWS, ROWS)
def test_differences_are_those_of_the_sets(a, b):
    rows_a, rows_b = all_pairs(a, b)
    counts, last = pair_differences(*csr(a), *csr(b), rows_a, rows_b)
    for pair, (i, j) in enumerate(zip(rows_a, rows_b, strict=True)):
        only = set(a[i]) - set(b[j]), set(b[j]) - set(a[i])
        assert counts[pair].tolist() == [len(side) for side in only]
        assert last[pair].tolist() == [max(side, default=-1) for side in only]


@given(ROWS, ROWS, st.dictionaries(st.tuples(st.integers(1, 5), st.integers(0, 5)), st.integers(1, 9)))
def test_hits_are_the_highest_counts_over_all_pairs_of_words(a, b, rules):
    rules = {(max(pair), min(pair)): count for pair, count in rules.items()}
    keys = sorted((high << 31) + low for high, low in rules)
    counts = [rules[key >> 31, key & (2**31 - 1)] for key in keys]
    kinds = np.array([1, 1, 2, 3, 4, 5, 2, 3], np.int64)
    rows_a, rows_b = all_pairs(a, b)
    found = rule_hits(*csr(a), *csr(b), kinds, np.array(keys, np.int64), np.array(counts, np.int64), rows_a, rows_b)
    for pair, (i, j) in enumerate(zip(rows_a, rows_b, strict=True)):
        only = [kinds[t] for t in set(a[i]) - set(b[j])], [kinds[t] for t in set(b[j]) - set(a[i])]
        exchanged = max((rules.get((max(x, y), min(x, y)), 0) for x in only[0] for y in only[1]), default=0)
        single = max((rules.get((x, 0), 0) for side in only for x in side), default=0)
        assert found[pair].tolist() == [exchanged, single]
