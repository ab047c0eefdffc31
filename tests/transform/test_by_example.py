from dfjoin.transform.by_example import learn_from_examples


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


def test_examples_that_nothing_explains_give_no_programs():
    assert learn_from_examples(["x"], [("abc",)], ["1"]) == ()
