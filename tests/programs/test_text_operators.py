import pytest

from dfjoin.programs.text_operators import Case, Keep, Pad, Plain, Replace, Squeeze


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Case("title"), "o'NEIL van-dam 3rd", "O'Neil Van-Dam 3Rd"),
        (Case("sentence"), "éCOLE Two", "École two"),
        (Case("upper"), "straße", "STRAßE"),
        (Plain(), "Łódź", "Łodz"),
        (Keep("capitals"), "Ärzte Ohne Grenzen", "ÄOG"),
        (Keep("digits"), "none", ""),
        (Replace("a", ""), "aaa", ""),
        (Squeeze(), "  a   b ", "a b"),
        (Pad(3), "é", "00é"),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected
