from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.extract import After, Before, CharacterRun, Slice, Split
from dfjoin.programs.lookup import TABLES, Lookup, look_up_pairs, tables_with
from dfjoin.programs.numeric import BASES, STYLES, Base, Linear, Round, StripZeros, Thousands, Year
from dfjoin.programs.rewrite import Case, Keep, Pad, Plain, Replace, Squeeze
from dfjoin.programs.string_column import StringColumn
from dfjoin.transform.linear import fit_linear
from tests.transform.strategies import STEPS, TEXTS


@given(STEPS, st.lists(TEXTS, max_size=20))
def test_columns_give_what_single_texts_give(step, texts):
    found = step.apply(StringColumn.of(pa.array(texts, pa.string()))).to_arrow().to_pylist()
    assert found == [(step(text) or None) if text else None for text in texts]


@pytest.mark.parametrize("texts", [[], [None], [""], [None, "", None]])
@given(step=STEPS)
def test_columns_without_a_text_give_nulls(texts, step):
    assert step.apply(StringColumn.of(pa.array(texts, pa.string()))).to_arrow().to_pylist() == [None] * len(texts)


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
        (Case("title"), "o'NEIL van-dam 3rd", "O'Neil Van-Dam 3Rd"),
        (Case("sentence"), "éCOLE Two", "École two"),
        (Case("upper"), "straße", "STRAßE"),
        (Plain(), "Łódź", "Łodz"),
        (Keep("capitals"), "Ärzte Ohne Grenzen", "ÄOG"),
        (Keep("digits"), "none", ""),
        (Replace("a", ""), "aaa", ""),
        (Squeeze(), "  a   b ", "a b"),
        (Pad(3), "é", "00é"),
        (StripZeros(), "000", "0"),
        (StripZeros(), "007", "7"),
        (Round(1), "-0.05", "-0.1"),
        (Round(0), "-0.4", "0"),
        (Round(2), "1e3", None),
        (Thousands(), "-1234567.891", "-1,234,567.891"),
        (Thousands(), "12a", None),
        (Year(70), "69", "2069"),
        (Year(70), "70", "1970"),
        (Year(70), "1970", None),
        (Lookup("weekday to long"), "TUE", "Tuesday"),
        (Lookup("number to month"), "09", "September"),
        (Base(16, 2), "fF", "11111111"),
        (Base(2, 10), "000", "0"),
        (Base(2, 10), "102", None),
        (Base(16, 10), "1" * 13, None),
        (Linear("2.54", "0", 2, "fixed"), "10", "25.40"),
        (Linear("2.54", "0", 2, "plain"), "10", "25.4"),
        (Linear("0.039370078740157", "0", 6, "significant"), "1", "0.0393701"),
        (Linear("1.8", "32", 0, "fixed"), "-40", "-40"),
        (Linear("0.0000001", "0", 3, "significant"), "1", None),
        (Linear("0.0000001", "0", 8, "fixed"), "1", None),
        (Linear("1", "-1", 3, "significant"), "1", "0"),
        (Linear("2", "0", 0, "fixed"), "1234567890", None),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


@given(st.decimals("-99999", "99999", places=6), st.integers(0, 6))
def test_rounding_is_half_away_from_zero(number, digits):
    expected = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    assert Round(digits)(format(number, "f")) == format(expected, "f").replace("-0" if expected == 0 else "\0", "0")


@given(
    st.decimals("-99999", "99999", places=4),
    st.decimals("-999", "999", places=6),
    st.decimals("-99", "99", places=3),
    st.integers(0, 6),
)
def test_linear_is_exact(number, scale, offset, digits):
    exact = Fraction(number) * Fraction(scale) + Fraction(offset)
    step = Linear(format(scale, "f"), format(offset, "f"), digits, "fixed")
    assert abs(Fraction(step(format(number, "f"))) - exact) <= Fraction(1, 2 * 10**digits)


@given(st.integers(0, 10**9), st.sampled_from(BASES), st.sampled_from(BASES))
def test_bases_are_read_as_python_reads_them(number, old, new):
    formats = {2: "b", 8: "o", 10: "d", 16: "X"}
    written = format(number, formats[old])
    if len(written) <= 12:
        assert Base(old, new)(written) == format(number, formats[new])


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


def test_tables_have_one_value_for_each_key():
    for table in TABLES:
        keys, values = (text.split(",") for text in look_up_pairs(table))
        assert len(keys) == len(set(keys)) == len(values)
        assert all(key == key.lower() for key in keys)
        assert all(table in tables_with(key) for key in keys)
    assert tables_with("no such thing") == []


def test_styles_are_those_that_are_tested():
    assert STYLES == ("fixed", "plain", "significant")
