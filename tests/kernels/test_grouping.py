import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lists.grouping import expand_groups, group_lists, group_tokens, transpose_lists
from tests.kernels.packing import csr, uncsr

POSTINGS = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=5).map(sorted), max_size=16)
N_COLUMNS = 7


def rank_of_list(columns):
    return len(columns).bit_length(), columns


@given(POSTINGS)
def test_groups_number_the_distinct_lists_by_power_of_two_and_then_lexicographically(postings):
    indptr, ids = csr(postings)
    groups, list_indptr, list_columns = group_lists(indptr, ids, N_COLUMNS)
    lists = uncsr(list_indptr, list_columns)
    assert lists == sorted({tuple(p): p for p in postings if len(p) > 1}.values(), key=rank_of_list)
    expected = [p[0] if len(p) == 1 else N_COLUMNS + lists.index(p) for p in postings]
    assert groups.tolist() == expected


def test_lists_that_share_their_first_columns_are_ranked_in_full():
    postings = [[1, 8, 20], [1, 9, 11], [1, 8, 19], [1, 15], [1, 8], [0, 900], [1, 8, 19], [2]]
    indptr, ids = csr(postings)
    groups, list_indptr, list_columns = group_lists(indptr, ids, 1000)
    assert uncsr(list_indptr, list_columns) == [[0, 900], [1, 8], [1, 8, 19], [1, 8, 20], [1, 9, 11], [1, 15]]
    assert groups.tolist() == [1003, 1004, 1002, 1005, 1001, 1000, 1002, 2]


@given(POSTINGS)
def test_expanded_groups_are_the_posting_lists_again(postings):
    indptr, ids = csr(postings)
    groups, list_indptr, list_columns = group_lists(indptr, ids, N_COLUMNS)
    again_indptr, again = expand_groups(groups, list_indptr, list_columns, N_COLUMNS)
    assert uncsr(again_indptr, again) == postings


@given(st.lists(st.integers(0, 5), max_size=30))
def test_tokens_of_a_group_are_listed_in_ascending_order(groups):
    indptr, tokens = group_tokens(np.array(groups, np.uint32), 6)
    assert uncsr(indptr, tokens) == [[t for t, g in enumerate(groups) if g == group] for group in range(6)]


@given(POSTINGS)
def test_transposed_lists_are_the_sets_of_the_columns(postings):
    indptr, ids = csr(postings)
    groups, list_indptr, list_columns = group_lists(indptr, ids, N_COLUMNS)
    lists = uncsr(list_indptr, list_columns)
    group_indptr, _ = group_tokens(groups, N_COLUMNS + len(lists))
    set_indptr, set_lists, positions, cardinalities = transpose_lists(
        list_indptr, list_columns, group_indptr, N_COLUMNS
    )
    assert uncsr(set_indptr, set_lists) == [
        [number for number, one in enumerate(lists) if column in one] for column in range(N_COLUMNS)
    ]
    assert cardinalities.tolist() == [sum(column in p for p in postings) for column in range(N_COLUMNS)]
    before = [
        sum(column in p and groups[t] < N_COLUMNS + number for t, p in enumerate(postings))
        for number, one in enumerate(lists)
        for column in one
    ]
    assert positions.tolist() == before
