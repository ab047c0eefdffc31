from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import Linear
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.compose.linear import fit_linear, known_lines, number_styles


@pytest.mark.parametrize(
    ("texts", "targets", "text", "target"),
    [
        (["3", "37", "100"], ["7.62", "93.98", "254"], "17", "43.18"),
        (["1", "8", "17"], ["0.0393701", "0.314961", "0.669291"], "22", "0.866142"),
        (["32", "212", "50"], ["0", "100", "10"], "77", "25"),
        (["8", "67", "360"], ["8.86", "74.20", "398.70"], "21", "23.26"),
        (["1", "12", "12.3"], ["274.15", "285.15", "285.45"], "0", "273.15"),
        (["3", "59"], ["0.003", "0.059"], "123", "0.123"),
        (["1", "3"], ["-2", "-6"], "5", "-10"),
        (["1", "3", "5"], ["3", "9", "15"], "100", "300"),
        (["1", "3", "10.5"], ["0.3", "0.9", "3.2"], "12", "3.7"),
    ],
)
def test_constants_are_fitted_to_the_last_digit(texts, targets, text, target):
    steps = fit_linear(texts, targets)
    assert steps[0](text) == target
    assert all([step(t) for t in texts] == targets for step in steps)


@pytest.mark.parametrize(
    ("texts", "targets"),
    [
        (["1"], ["2"]),
        (["1", "2"], ["1", "2"]),
        (["1", "2"], ["x", "4"]),
        (["a", "2"], ["2", "4"]),
        (["1", "2", "3"], ["1", "4", "9"]),
    ],
)
def test_nothing_is_fitted_to_what_is_not_linear(texts, targets):
    assert fit_linear(texts, targets) == []


@given(
    st.lists(st.integers(-500, 500), min_size=4, max_size=6, unique=True), st.integers(-400, 400), st.integers(-50, 50)
)
def test_any_line_through_whole_numbers_is_found(xs, hundredths, offset):
    scale = Fraction(hundredths, 100)
    texts, exact = [str(x) for x in xs], [x * scale + offset for x in xs]
    targets = [format(Decimal(y.numerator) / Decimal(y.denominator), ".2f").replace("-0.00", "0.00") for y in exact]
    steps = fit_linear(texts, targets)
    assert steps or scale == 0 or (scale, offset) == (1, 0)
    assert all([step(t) for t in texts] == targets for step in steps)


def test_known_lines_are_different_and_hold_their_inverses():
    lines = set(zip(*(part.tolist() for part in known_lines()), strict=True))
    assert len(lines) == known_lines()[0].size
    assert {(2.54, 0.0), (1.8, 32.0), (12.0, 0.0), (1000.0, 0.0), (1.0, 0.0)} <= lines
    assert all(any(abs(a * c - 1) < 1e-12 and abs(c * b + d) < 1e-9 for c, d in lines) for a, b in lines)


def test_numbers_may_be_written_in_another_style():
    fixed = Program(("a",), (Constant("$"), Extract(0, (Split(" ", 0), Linear("2", "0", 2, "fixed")))))
    assert [one("1.25 x") for one in number_styles(fixed)] == ["$2.50", "$2.5"]
    assert number_styles(Program.identity("a")) == [Program.identity("a")]
