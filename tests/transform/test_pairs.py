import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.prepared_columns import Column, as_columns, match_rows
from dfjoin.transform.value_pairs import SuffixArray, find_pairs, no_pairs

WORDS = st.lists(st.text("abcdé ", max_size=8), max_size=12)


def column(values):
    return Column("x", pa.array(values, pa.string()))


def named(left, right):
    """Return the pairs as values, in their order."""
    a, b = column(left).values, column(right).values
    found = find_pairs(SuffixArray(a), SuffixArray(b))
    return [(a.value(i), b.value(j)) for i, j in zip(found.left, found.right, strict=True)]


def test_rare_grams_pair_what_belongs_together():
    left = ["Barack Obama", "George W. Bush", "Bill Clinton", "George H. W. Bush"]
    right = ["Bush, George W.(1946-)", "Clinton, Bill(1946-)", "Bush, George H. W.(1924-)", "Obama, Barack(1961-)"]
    assert set(named(left, right)) == {
        ("barack obama", "obama, barack(1961-)"),
        ("george w. bush", "bush, george w.(1946-)"),
        ("bill clinton", "clinton, bill(1946-)"),
        ("george h. w. bush", "bush, george h. w.(1924-)"),
    }


def test_better_scores_come_first_then_longer_grams():
    found = find_pairs(
        SuffixArray(column(["aaab", "abcdefgh", "xyz1", "xyz2"]).values),
        SuffixArray(column(["aaa", "abcdef", "xyz"]).values),
    )
    assert list(found.score) == sorted(found.score, reverse=True)
    assert found.length[0] == 6


@given(WORDS, WORDS)
def test_pairs_share_a_gram_of_three_bytes(left, right):
    for a, b in named(left, right):
        grams = {a.encode()[i : i + 3] for i in range(len(a.encode()) - 2)}
        assert any(gram in b.encode() for gram in grams)


def test_columns_without_values_give_no_pairs():
    assert named([], ["abc"]) == named(["abc"], [None, ""]) == named(["ab"], ["ab"]) == []
    assert len(no_pairs()) == 0


@given(WORDS, WORDS)
def test_match_rows_finds_equal_values(left, right):
    a, b = column(left).values, column(right).values
    found = match_rows(a, b)
    assert [b.value(int(j)) if j >= 0 else None for j in found] == [v if v in b.values() else None for v in a.values()]


def test_other_types_are_read_as_text():
    (one, two) = as_columns([("n", pa.array([1, None])), ("c", pa.chunked_array([["a"], ["b"]]))])
    assert one.array.to_pylist() == ["1", None]
    assert two.array.to_pylist() == ["a", "b"]
    assert (one.uniqueness, one.n_present) == (1.0, 1)
    assert column([None]).uniqueness == 0.0
