import pytest

from dfjoin.transform.by_example import learn_from_examples


def first_result(programs, *row):
    return next((result for program in programs if (result := program(*row)) is not None), None)


def test_several_programs_share_the_examples_where_one_cannot():
    rows = [("Lee, Ann",), ("Bob Ray",), ("Poe, Cy",), ("Dee Fox",)]
    programs = learn_from_examples(["x"], rows, ["Ann Lee", "Bob Ray", "Cy Poe", "Dee Fox"])
    results = {next(r for p in programs if (r := p(text)) is not None) for text in ("Day, Jo", "Kay, Al")}
    assert len(programs) == 2
    assert results == {"Jo Day", "Al Kay"}


def test_other_rows_choose_between_programs_that_agree():
    rows, targets = [("Ann K Lee",), ("Bob J Ray",)], ["Lee", "Ray"]
    (program,) = learn_from_examples(["x"], rows, targets, inputs=[("Cy Poe",), ("Dee Fox",)])
    assert program("Cy Poe") == "Poe"


@pytest.mark.parametrize(
    ("pairs", "others", "expected"),
    [
        ({"875-259": "none", "490-896": "none", "596-501 x0339": "x0339"}, ["144-038 x9062", "1-2"], ["x9062", "none"]),
        ({"Lee, Ann": "Ann", "Bob Ray": "Bob", "Poe, Cy": "Cy"}, ["Dee Fox", "Day, Jo"], ["Dee", "Jo"]),
        ({"": "N/A", "Foo": "F", "Abc": "A"}, ["Baz", ""], ["B", "N/A"]),
        ({"M": "0", "F": "1"}, ["F", "M"], ["1", "0"]),
    ],
)
def test_conditions_are_learned(pairs, others, expected):
    rows = [(text,) for text in pairs]
    programs = learn_from_examples(["x"], rows, list(pairs.values()), inputs=[(text,) for text in others])
    assert [first_result(programs, text) for text in others] == expected


def test_other_rows_tell_words_from_positions():
    rows, targets = [("size = 96 of 206",), ("size = 74 of 242",)], ["96", "74"]
    programs = learn_from_examples(["x"], rows, targets, inputs=[("size = 207 of 81",), ("size = 5 of 11",)])
    assert first_result(programs, "size = 1234 of 5") == "1234"


def test_an_example_of_two_columns_is_no_constant():
    programs = learn_from_examples(["a", "b"], [("susan", "chang")], ["susan chang"], inputs=[("aaron", "kim")])
    assert first_result(programs, "aaron", "kim") == "aaron kim"


def test_times_and_numbers_are_learned():
    rows = [("6 Oct 2143",), ("Mar 30 2002",)]
    programs = learn_from_examples(["x"], rows, ["Sunday", "Saturday"], inputs=[("01 Feb 1953",)])
    assert first_result(programs, "22 Apr 1953") == "Wednesday"
    programs = learn_from_examples(["x"], [("163",), ("88",)], ["160-169", "80-89"], inputs=[("6",)])
    assert first_result(programs, "6") == "0-9"


def test_examples_that_nothing_explains_give_no_programs():
    assert learn_from_examples(["x"], [("abc",)], ["1"]) == ()
    assert learn_from_examples(["x"], [], []) == ()
    assert learn_from_examples(["x"], [("a",)], [""]) == ()
