"""How densely numbers, days, times and codes fill their grid."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.transform.evidence.chance import MIN_BITS, chance_of_match, evidence_bits
from dfjoin.transform.evidence.grids import grid_density, same_tokens
from dfjoin.transform.evidence.prepared_columns import SETTINGS
from dfjoin.values.normalize import normalize_column


@settings(max_examples=40)
@given(
    st.sets(st.integers(0, 300), min_size=2, max_size=60),
    st.sets(st.integers(0, 300), min_size=2, max_size=60),
)
def test_the_density_of_numbers_is_that_of_their_ranges(some, others):
    """Against the definition, without the ends that are cut off: below 20 values there are none."""
    numbers = sorted(some)[:19], sorted(others)[:19]
    step = int(np.gcd.reduce(np.diff(np.unique([*numbers[0], *numbers[1]])))) if set(numbers[0]) != {*numbers[1]} else 0
    step = step or int(np.gcd.reduce(np.diff(numbers[0])))
    cells = [(max(side) - min(side)) // step + 1 for side in numbers]
    inside = [
        sum(min(box) <= n <= max(box) for n in side)
        for side, box in ((numbers[1], numbers[0]), (numbers[0], numbers[1]))
    ]
    expected = max(inside[0] / cells[0], inside[1] / len(numbers[0]) * len(numbers[1]) / cells[1])
    assert grid_density(*[[str(n) for n in side] for side in numbers]) == pytest.approx(expected)


FULL = {
    "days": [f"2024-{month:02d}-{day:02d}" for month in (1, 2) for day in range(1, 29)],
    "months of years": [f"{year}-{month:02d}" for year in (2020, 2021) for month in range(1, 13)],
    "months by name": [f"{month} {year}" for month in ("jan", "feb", "mar") for year in range(2000, 2012)],
    "hours": [
        f"2024-01-0{day}t{hour:02d}:00:00" if hour else f"2024-01-0{day}" for day in (1, 2) for hour in range(24)
    ],
    "minutes": [f"{hour:02d}:{minute:02d}" for hour in (9, 10) for minute in range(60)],
    "codes": [f"inv-{number}" for number in range(1000, 1060)],
    "classes": [f"{letter} {number:02d}" for letter in "abc" for number in range(20)],
}


@pytest.mark.parametrize("kind", FULL)
def test_values_that_fill_their_grid_are_dense_and_few_of_them_are_not(kind):
    values = FULL[kind]
    assert grid_density(values, values) > 0.85
    order = np.random.default_rng(0).permutation(len(values))
    halves = [[values[i] for i in order[part::2]] for part in (0, 1)]
    assert 0.3 < grid_density(*halves) < 0.75


STEPS = {
    "month starts": "MS",
    "month ends": "ME",
    "twice a month": "SMS",
    "quarters": "QS",
    "weeks": "W-MON",
    "hours": "h",
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("spelling", ["%Y-%m-%dt%H:%M:%S", "%Y-%m-%d"])
def test_half_of_a_calendar_is_half_of_its_grid(step, spelling):
    if step == "h" and "H" not in spelling:
        return
    days = pd.Series(pd.date_range("1951-04-01", periods=240, freq=step)).sample(frac=1, random_state=1)
    halves = [
        normalize_column(pa.array(half.dt.strftime(spelling)), SETTINGS).values() for half in (days[::2], days[1::2])
    ]
    assert 0.35 < grid_density(*halves) < 0.65
    moved = sorted({value[:6] + value[:1] + value[7:] for value in halves[0]})  # to the first of the ten months
    n_hits = len(set(halves[1]).intersection(moved))
    assert evidence_bits(n_hits, len(moved), chance_of_match(moved, halves[1])) < MIN_BITS


def test_few_days_of_different_months_are_days():
    days = ["2024-01-05", "2024-02-11", "2024-03-05", "2024-05-11", "2024-07-23"]
    assert grid_density(days, days) < 0.05


def test_names_and_random_codes_lie_on_no_grid_or_a_wide_one():
    rng = np.random.default_rng(1)
    names = ["".join(rng.choice(list("abcdefgh"), 7)) for _ in range(50)]
    assert grid_density(names, names) is None
    assert grid_density(["-", "--"], ["-"]) is None
    numbers = [f"inv-{number}" for number in rng.integers(0, 10**6, 100)]
    assert grid_density(numbers, numbers) < 1e-3
    assert grid_density(numbers, names) == 0.0, "of another build"
    long = [str(number) * 20 for number in range(10, 40)]
    assert grid_density(long, long) is None


def test_a_date_that_does_not_exist_is_three_numbers():
    assert grid_density(["2023-02-30", "2023-02-31"], ["2023-02-30"]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("some", "other", "expected"),
    [
        ("april 2023", "2023-04", True),
        ("q2 2023", "2023q2", True),
        ("fri 07", "7 friday", True),
        ("2015-03-01", "2015-01-03", False),
        ("2015-03", "2015-03-01", False),
        ("inv-7", "po-7", False),
        ("a b", "b a", False),
    ],
)
def test_the_same_words_and_numbers_in_another_build(some, other, expected):
    assert same_tokens(some, other) is expected
    assert same_tokens(other, some) is expected


def test_all_orders_of_one_build_are_told_from_spellings():
    parts = ["2015", "03", "11"]
    spelled = {"-".join(order) for order in itertools.permutations(parts)}
    assert not any(same_tokens(a, b) for a in spelled for b in spelled)


def test_a_number_that_is_repeated_is_one_axis():
    twice = [f"page {n}, image {n + 3}" for n in range(40)]
    assert grid_density(twice, twice) == pytest.approx(grid_density(FULL["codes"], FULL["codes"]), abs=0.1)
