import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import Base, StripZeros
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.text_operators import Case, Count, EachPart, Gaps, Headline, Pad, Reverse, Translate


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (EachPart(".", 0, "kept", ".", (Pad(3),)), "203.17.170.2", "203.017.170.002"),
        (EachPart("", 2, "kept", ":", (Case("upper"),)), "3c9893", "3C:98:93"),
        (EachPart("", 1, "kept", " ", (Base(16, 2), Pad(4))), "1A", "0001 1010"),
        (EachPart(",", 0, "kept", "", (Base(10, 16), Pad(2))), "67,18,1", "431201"),
        (EachPart(", ", 0, "reversed", " | ", ()), "a, b, c", "c | b | a"),
        (EachPart(" ", 0, "sorted", " ", ()), "b a C", "C a b"),
        (EachPart(" ", 0, "distinct", " ", ()), "b a b", "b a"),
        (EachPart(".", 0, "kept", ".", (Base(10, 16),)), "1.x", None),
        (EachPart(".", 0, "kept", "-", (StripZeros(),)), ".01.", "-1-"),
        (EachPart("", 4, "kept", " ", ()), "123456", "1234 56"),
        (Reverse(), "abc", "cba"),
        (Translate("ACGT", "TGCA"), "GATTACA", "CTAATGT"),
        (Translate("aeiou", ""), "the lord", "th lrd"),
        (Gaps("_"), "camelCaseOfABCde", "camel_Case_Of_AB_Cde"),
        (Gaps("\\1"), "aB", "a\\1B"),
        (Headline(), "THE lord OF the rings", "The Lord of the Rings"),
        (Headline(), "of mice and men", "Of Mice and Men"),
        (Count("characters"), "a\nb", "3"),
        (Count("words"), " the lord\tof ", "3"),
        (Count("digits"), "a12b3", "2"),
        (Count("capitals"), "ABc", "2"),
    ],
)
def test_parts_and_characters(step, text, expected):
    assert step(text) == expected


@given(st.lists(st.text("ab1é", min_size=1, max_size=3), min_size=1, max_size=6))
def test_orders_of_parts_are_those_of_lists(parts):
    text = ",".join(parts)
    expected = {"kept": parts, "reversed": parts[::-1], "sorted": sorted(parts), "distinct": list(dict.fromkeys(parts))}
    for order, listed in expected.items():
        assert EachPart(",", 0, order, ";", ())(text) == ";".join(listed)


def test_the_steps_of_parts_are_pasted_as_python():
    program = Program(("a",), (Extract(0, (EachPart(".", 0, "kept", ".", (Base(10, 16), Pad(2))),)),))
    space = {}
    exec(program.to_python("pasted"), space)
    assert space["pasted"]("10.255.1") == program("10.255.1") == "0A.FF.01"
    assert str(program) == "a.split('.').each(base(10 to 16).pad(2, '0')).join('.')"
