import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lists.paging import Pages, cold_blocks, cold_ranges, has_cold_pages
from dfjoin.kernels.lists.postings import build_directory

PAGE, BASE, ITEM = 64, 16, 4


def pages_of(lists, indptr):
    found = set()
    for number in lists:
        begin, end = BASE + indptr[number] * ITEM, BASE + indptr[number + 1] * ITEM
        if end > begin or begin % PAGE:
            found |= set(range(begin // PAGE, -(-end // PAGE)))
    return found


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.data(), st.integers(0, 3))
def test_every_page_is_asked_for_once(lengths, data, gap):
    indptr = np.append(0, np.cumsum(lengths)).astype(np.int64)
    n_pages = int(-(-(BASE + indptr[-1] * ITEM) // PAGE))
    seen = np.zeros(n_pages, np.uint8)
    asked = set()
    for _ in range(3):
        lists = sorted(data.draw(st.sets(st.integers(0, len(lengths) - 1))))
        ranges = np.zeros((200, 2), np.int64)
        array = np.array(lists, np.uint32)
        pages = Pages(ITEM, BASE, PAGE)
        expected = pages_of(lists, indptr.tolist()) - asked
        firsts = {(BASE + int(indptr[n]) * ITEM) // PAGE for n in lists}
        assert has_cold_pages(array, indptr, pages, seen) == any(p < n_pages and not seen[p] for p in firsts)
        n = cold_ranges(array, indptr, pages, gap, seen, ranges)
        covered = {p for first, count in ranges[:n].tolist() for p in range(first, first + count)}
        assert expected <= covered
        asked |= expected
        assert set(np.flatnonzero(seen).tolist()) >= asked
        if gap == 0:
            assert covered == expected


@pytest.mark.parametrize(("gap", "expected"), [(1, [[0, 1], [3, 1]]), (2, [[0, 4]])])
def test_ranges_are_joined_over_so_many_pages_and_no_more(gap, expected):
    indptr = np.arange(5, dtype=np.int64) * (PAGE // ITEM)
    ranges = np.zeros((4, 2), np.int64)
    n = cold_ranges(np.array([0, 3], np.uint32), indptr, Pages(ITEM, 0, PAGE), gap, np.zeros(4, np.uint8), ranges)
    assert ranges[:n].tolist() == expected


def test_it_stops_when_there_is_no_more_room():
    indptr = np.arange(11, dtype=np.int64) * 160
    ranges = np.zeros((2, 2), np.int64)
    lists = np.array([0, 4, 8], np.uint32)
    assert cold_ranges(lists, indptr, Pages(ITEM, 0, PAGE), 0, np.zeros(200, np.uint8), ranges) == 2


@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=60, unique=True),
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), min_size=1, max_size=3),
    st.integers(1, 9),
)
def test_every_block_of_a_vocabulary_is_asked_for_once(vocabulary, queries, block_tokens):
    vocabulary = sorted(vocabulary)
    directory = build_directory(np.array(vocabulary, np.uint64), 4)
    seen = np.zeros(-(-len(vocabulary) // block_tokens), np.uint8)
    asked = set()
    for query in queries:
        hashes = np.array(query, np.uint64)
        blocks = np.zeros(len(query), np.int64)
        n = cold_blocks(hashes, directory, block_tokens, seen, blocks)
        starts = [sum(h >> 60 < q >> 60 for h in vocabulary) for q in query]
        wanted = {s // block_tokens for s in starts if s < len(vocabulary)} - asked
        assert sorted(blocks[:n].tolist()) == sorted(wanted & set(range(seen.size)))
        asked |= wanted
        assert set(np.flatnonzero(seen).tolist()) == asked & set(range(seen.size))
