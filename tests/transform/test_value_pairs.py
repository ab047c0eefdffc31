import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.value_pairs import SuffixArray, find_pairs, no_pairs

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


def test_a_value_takes_three_partners_of_its_best_gram():
    several = [f"{letter * 3} abcdef" for letter in "uvwxyz"]
    assert [pair[0] for pair in named(["abcdef"], several)] == ["abcdef"] * 3
    assert set(named(["abcdef"], several[:2])) == {("abcdef", several[0]), ("abcdef", several[1])}


def test_a_gram_in_too_many_values_pairs_nothing():
    assert named(["abcdef"], [f"{i:03d} abcdef" for i in range(65)]) == []
    assert len(named(["abcdef"], [f"{i:03d} abcdef" for i in range(64)])) == 3


def test_of_long_values_the_beginning_is_looked_at():
    tail = "é" * 3000
    left, right = [f"a{i:03d} {tail}{i * 7}" for i in range(20)], [f"{i:03d} a" for i in range(20)]
    array = SuffixArray(column(left).values)
    assert array.parts[0].order.size <= 20 * 1600
    assert array.texts[0].tobytes().decode()  # no character is cut
    assert ("a003 " + tail + "21", "003 a") in named(left, right)


@given(st.lists(st.text("aé中😀", max_size=1200), min_size=1, max_size=5))
def test_what_is_looked_at_begins_each_value(texts):
    values = column(texts).values
    data, offsets = SuffixArray(values).texts
    cut = [data[a:b].tobytes().decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    for number, text in enumerate(cut):
        assert values.value(number).startswith(text)
        assert len(text.encode()) > 1596 or text == values.value(number)
