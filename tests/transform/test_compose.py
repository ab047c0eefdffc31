import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.part_operators import Slice, Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.programs.text_operators import Case
from dfjoin.transform.compose.compose import MAX_OPERATORS, learn_programs

WORDS = st.text("abcdefghijklmnop", min_size=3, max_size=8)


def best(rows, targets, **options):
    """Return the simplest program for one column."""
    return learn_programs([(row,) for row in rows], targets, **options)[0].program(["x"])


def test_the_example_of_the_paper():
    rows = ["Obama, Barack(1961-)", "Bush, George W.(1946-)", "Clinton, Bill(1946-)"]
    program = best(rows, ["Barack Obama", "George W. Bush", "Bill Clinton"])
    assert program("Ford, Gerald(1913-2006)") == "Gerald Ford"
    assert program.n_operators == 3


@pytest.mark.parametrize(
    ("rows", "targets", "row", "target"),
    [
        (["2009/8/1", "2001/12/12", "2014/3/2"], ["08/01/2009", "12/12/2001", "03/02/2014"], "1999/1/9", "01/09/1999"),
        (["19851231", "19811120"], ["Dec 31, 1985", "Nov 20, 1981"], "20110301", "Mar 01, 2011"),
        (["1234567", "2134"], ["1,234,567", "2,134"], "99999", "99,999"),
        (["12.345", "0.27"], ["12.3", "0.3"], "7.777", "7.8"),
        (["the big lab", "one more try"], ["TBL", "OMT"], "as we do", "AWD"),
        (["1234567890", "9876543210"], ["(123) 456-7890", "(987) 654-3210"], "5550001111", "(555) 000-1111"),
        (["ann lee", "bob ray"], ["Lee, Ann", "Ray, Bob"], "cy poe", "Poe, Cy"),
        (["Smith -> UK", "Jones -> FR"], ["UK", "FR"], "Poe -> DE", "DE"),
        (["id 12 of 40", "id 7 of 9"], ["40/12", "9/7"], "id 3 of 5", "5/3"),
        (["New York, x", "Texas, y"], ["NY x", "TX y"], "Ohio, z", "OH z"),
        (["a - b - c - d", "e - f"], ["b - c - d", "f"], "g - h - i", "h - i"),
    ],
)
def test_programs_generalise(rows, targets, row, target):
    assert best(rows, targets)(row) == target


def test_casing_may_be_ignored():
    assert best(["ANN Lee", "Bob RAY"], ["lee ann", "ray bob"], is_exact=False)("Cy Poe") == "Poe Cy"


def test_an_example_without_a_program_gives_none():
    assert learn_programs([("abc",), ("def",)], ["xyz", "uvw"]) == []


def test_a_constant_alone_is_no_program():
    assert learn_programs([("abc",), ("def",)], ["--", "--"]) == []


@pytest.mark.parametrize(("rows", "targets"), [([], []), ([("a",)], [""]), ([("",)], ["a"])])
def test_nothing_is_learned_from_nothing(rows, targets):
    assert learn_programs(rows, targets) == []


def test_fewest_operators_come_first_and_the_limit_holds():
    learned = learn_programs([("ab cd",), ("ef gh",)], ["ab cd", "ef gh"])
    assert learned[0].pieces == (Extract(0),)
    assert [one.complexity for one in learned] == sorted(one.complexity for one in learned)
    assert all(len(one.pieces) <= MAX_OPERATORS for one in learned)


def test_learning_is_deterministic():
    rows, targets = [("Lee, Ann K.",), ("Ray, Bob J.",)], ["Ann Lee", "Bob Ray"]
    assert learn_programs(rows, targets) == learn_programs(rows, targets)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=6, max_size=8, unique_by=lambda row: row[0][:2]), st.data())
def test_a_random_program_is_recovered_or_an_equivalent_found(words, data):
    rows = [f"{a}, {b} ({c})" for a, b, c in words]
    parts = [(Split(", ", 0),), (Split(", ", 1), Split(" (", 0)), (Split("(", 1), Slice(0, -1)), (Slice(0, 1),)]
    cases = [(), (Case("upper"),), (Case("title"),)]
    steps = st.tuples(st.sampled_from(parts), st.sampled_from(cases)).map(lambda p: Extract(0, (*p[0], *p[1])))
    chosen = data.draw(st.lists(steps, min_size=1, max_size=3))
    gap = Constant(data.draw(st.sampled_from(["-", " ", ": "])))
    program = Program(("x",), tuple(piece for one in chosen for piece in (one, gap))[:-1])
    targets = [program(row) for row in rows]
    learned = learn_programs([(row,) for row in rows], targets)
    assert learned, program
    found = learned[0].program(["x"])
    assert [found(row) for row in rows] == targets
    assert found.n_operators <= program.n_operators
