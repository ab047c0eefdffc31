import pytest

from dfjoin.programs.part_operators import After, Before, CharacterRun, Slice, Split, position


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Split("--", 1), "a--b--c", "b"),
        (Split("aa", -1), "baaa", "a"),
        (Split(",", 1), ",,", ""),
        (Split(",", -2), "a", None),
        (After(", "), "a, b, c", "b, c"),
        (After(","), "a", ""),
        (Before(", "), "a, b, c", "a, b"),
        (CharacterRun("digits", -1), "a12b3", "3"),
        (CharacterRun("letters", 0), "12é3", "é"),
        (CharacterRun("decimals", 0), "at 3.5 kg", "3.5"),
        (CharacterRun("words", 2), "a b", None),
        (Slice(-3, None), "ab", "ab"),
        (Slice(1, -1), "[x]", "x"),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


def test_positions_are_counted_from_one_for_people():
    assert [position(i) for i in (0, 3, -1, -2)] == ["1", "4", "last", "2 from the end"]
