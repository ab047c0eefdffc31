"""Learning rounding and the digits of numbers from examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import NthNumber, RoundTo
from dfjoin.transform.compose.roundings import find_numbers, fit_roundings, number_steps


def run(steps, text):
    for step in steps:
        text = step(text)
    return text


@pytest.mark.parametrize(
    ("numbers", "written", "number", "expected"),
    [
        (["1.14", "1.45", "1.82"], ["1.0", "1.5", "2.0"], "43.32", "43.5"),
        (["64", "158", "556"], ["100", "200", "600"], "6265", "6300"),
        (["249.60", "247.10", "2342.35"], ["250.00", "245.00", "2340.00"], "1284.42", "1285.00"),
        (["123.4567", "3.4", "123.4"], ["123.46", "3.4", "123.4"], "102", "102"),
        (["2345.23292", "243", "12.5"], ["2.345,23292", "243", "12,5"], "1202.34", "1.202,34"),
        (["243.425112", "12.5", "2345.23292"], ["243.5", "12.5", "2345"], "-0.1", "0"),
        (["0.0635", "0.0116", "0.011777"], ["0.07", "0.02", "0.02"], "-0.0116", "-0.02"),
    ],
)
def test_roundings_are_learned(numbers, written, number, expected):
    assert run(fit_roundings(numbers, written)[0][1], number) == expected


def test_ranges_begin_at_multiples():
    candidates = list(number_steps(["40.88", "27.95"], ["40-45", "25-30"], [NthNumber(0)]))
    assert [weighed[1][1] for weighed in candidates[:2]] == [
        RoundTo("0", "5", "floor", "0"),
        RoundTo("0", "5", "floor", "5"),
    ]


def test_numbers_of_a_target():
    assert find_numbers("1.234,50 and -7") == ["1.234,50", "-7"]
    assert find_numbers("160-169") == ["160", "169"]


@pytest.mark.parametrize(
    ("numbers", "written"), [(["1", "2"], ["5", "5"]), (["x"], ["1"]), (["1", "2", "9"], ["17", "3", "20"])]
)
def test_what_is_no_rounding_gives_nothing(numbers, written):
    assert fit_roundings(numbers, written) == []


@given(
    st.lists(st.decimals("0", "9999", places=2), min_size=3, max_size=6, unique=True),
    st.sampled_from(["0.5", "1", "5", "10", "100"]),
    st.sampled_from(["nearest", "floor", "up"]),
)
def test_what_is_learned_makes_the_examples(numbers, interval, mode):
    texts = [format(number, "f") for number in numbers]
    written = [RoundTo("0", interval, mode, "0")(text) for text in texts]
    for _, steps in fit_roundings(texts, written):
        assert [run(steps, text) for text in texts] == written
