"""Pieces against a slow reading of their definition; scores against a plain sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.hashing import hash_values
from dfjoin.kernels.records import Groups, Sets
from dfjoin.kernels.texts.value_pieces import PieceLists, QueryValues, column_pieces, score_columns, value_pieces
from tests.kernels.packing import SEED, csr, pack, uncsr
from tests.oracles.values import naive_pieces

TEXTS = st.text("abcz019é文 .,-_@/–、·", max_size=40)


def hashes_of(pieces):
    return np.sort(hash_values(*pack([piece.encode() for piece in sorted(pieces)]), SEED)).tolist()


@given(st.lists(TEXTS, max_size=8))
def test_pieces_are_those_of_the_definition(texts):
    indptr, hashes = value_pieces(*pack([text.encode() for text in texts]), SEED)
    assert uncsr(indptr, hashes) == [hashes_of(naive_pieces(text)) for text in texts]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("obama, barack", {"obama", "obam", "bama", "barack", "bara", "rack", "obamabarack"}),
        ("(312) 555-1234", {"312", "555", "1234", "3125551234"}),
        ("ab12345", {"12345", "1234", "2345", "ab12345"}),
        ("2019–2020", {"2019", "2020", "20192020"}),
        ("josé élodie", {"josé", "élodie", "élod", "odie", "joséélodie"}),
        ("a b c d e", {"abcde"}),
        ("ab", set()),
        ("", set()),
        ("word " * 60, set()),
    ],
)
def test_pieces_of_some_values(text, pieces):
    assert naive_pieces(text) == pieces
    _, hashes = value_pieces(*pack([text.encode()]), SEED)
    assert hashes.tolist() == hashes_of(pieces)


@given(st.binary(max_size=30))
def test_bytes_that_are_no_text_do_no_harm(value):
    indptr, hashes = value_pieces(*pack([value]), SEED)
    assert indptr.tolist() == [0, hashes.size]


@given(
    st.lists(
        st.tuples(TEXTS, st.sampled_from([(0,), (1,), (0, 1), (0, 2), (1, 2)])), max_size=12, unique_by=lambda t: t[0]
    )
)
def test_columns_have_the_pieces_of_their_values(entries):
    n_columns = 3
    lists = [(0, 1), (0, 2), (1, 2)]
    groups = [c[0] if len(c) == 1 else n_columns + lists.index(c) for _, c in entries]
    members = [[i for i, g in enumerate(groups) if g == group] for group in range(n_columns + len(lists))]
    group_indptr, group_tokens = csr(members, np.uint32)
    set_indptr, set_lists = csr([[i for i, one in enumerate(lists) if c in one] for c in range(n_columns)], np.uint32)
    data, offsets = pack([text.encode() for text, _ in entries])
    columns = np.array([0, 2], np.int32)
    indptr, hashes = column_pieces(
        columns, offsets, data, Groups(group_indptr, group_tokens), Sets(set_indptr, set_lists), SEED
    )
    wanted = [
        hashes_of(set().union(*(naive_pieces(text) for text, columns in entries if c in columns))) for c in (0, 2)
    ]
    assert uncsr(indptr, hashes) == wanted


def test_a_column_of_many_pieces():
    """More than fit into the first buffers."""
    texts = [f"word{i} other{i}" for i in range(1000)]
    data, offsets = pack([text.encode() for text in texts])
    columns = np.array([0], np.int32)
    groups = Groups(np.array([0, 1000]), np.arange(1000, dtype=np.uint32))
    sets = Sets(np.zeros(2, np.int64), np.empty(0, np.uint32))
    _, hashes = column_pieces(columns, offsets, data, groups, sets, SEED)
    assert hashes.tolist() == hashes_of(set().union(*map(naive_pieces, texts)))


@given(st.data())
def test_scores_are_sums_of_the_best_piece_of_each_value(data):
    n_columns, n_pieces = 4, 5
    lists = [sorted(data.draw(st.sets(st.integers(0, n_columns - 1)))) for _ in range(n_pieces)]
    values = [sorted(data.draw(st.sets(st.integers(0, n_pieces - 1)))) for _ in range(data.draw(st.integers(0, 6)))]
    bits = np.array(data.draw(st.lists(st.integers(0, 12), min_size=n_pieces, max_size=n_pieces)), float)
    size_bits = np.array(data.draw(st.lists(st.integers(0, 8), min_size=n_columns, max_size=n_columns)), float)
    holders = np.array([max(1, sum(p in value for value in values)) for p in range(n_pieces)])
    scores, touched = np.zeros(n_columns), np.zeros(n_columns, np.int32)
    query = QueryValues(*csr(values), holders, bits)
    score_columns(query, PieceLists(*csr(lists)), size_bits, 10.0, scores, touched)
    for column in range(n_columns):
        said = [
            max([min(10.0, bits[p] - size_bits[column]) / holders[p] for p in value if column in lists[p]], default=0.0)
            for value in values
        ]
        assert scores[column] == pytest.approx(sum(one for one in said if one > 0))
        assert touched[column] == sum(one > 0 for one in said)
