from dfjoin.programs.number_operators import Base
from dfjoin.programs.text_operators import Case, EachPart, Pad
from dfjoin.transform.compose.rewritings import element_steps


def test_each_part_is_rewritten():
    candidates = list(element_steps(("203.17.170.242", "7.86.1.1"), ("CB11AAF2", "07560101")))
    assert (EachPart(".", 0, "kept", "", (Base(10, 16), Pad(2))),) in candidates


def test_parts_are_put_in_another_order():
    assert (EachPart(", ", 0, "reversed", " | ", ()),) in list(element_steps(("a, b, c",), ("c | b | a",)))


def test_codes_are_cut_into_groups():
    candidates = list(element_steps(("3c9893", "cc0cbe"), ("3C:98:93", "CC:0C:BE")))
    assert (EachPart("", 2, "kept", ":", (Case("upper"),)),) in candidates


def test_long_texts_are_left_alone():
    assert list(element_steps(("a, " * 200,), ("a",))) == []
