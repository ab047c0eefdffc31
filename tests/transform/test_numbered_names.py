import random
from collections import defaultdict

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.transform.evidence.chance import series_chance
from tests.transform.test_named_columns import names

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
FORMS = {
    "town I": lambda town, rng: [f"{town} {roman}" for roman in ROMAN[: rng.choice([4, 8, 12])]],
    "town District 1": lambda town, rng: [f"{town} District {i}" for i in range(1, rng.choice([3, 14, 54]))],
    "Ward 1, town": lambda town, rng: [f"Ward {i}, {town}" for i in range(1, rng.choice([5, 13, 30]))],
    "town 1A": lambda town, rng: [f"{town} {i}{c}" for i in range(1, rng.choice([3, 8])) for c in "ABC"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_halves_of_numbered_names_are_not_joined(form, seed):
    rng = random.Random(seed)
    values = [value for town in names(rng, 30) for value in FORMS[form](town, rng)]
    values = rng.sample(values, len(values))
    left, right = pd.DataFrame({"a": values[::2]}), pd.DataFrame({"b": values[1::2]})
    assert not dfjoin.auto_join(left, right, on_no_match="ignore").attrs["dfjoin"]["joined"]


def test_numbered_names_that_are_written_differently_are_joined():
    rng = random.Random(3)
    values = [(town, roman) for town in names(rng, 30) for roman in ROMAN[: rng.choice([3, 6])]]
    left = pd.DataFrame({"a": [f"{town} {roman}" for town, roman in values]})
    right = pd.DataFrame({"b": [f"{roman} ({town})" for town, roman in values][::-1]})
    wide = dfjoin.auto_join(left, right)
    assert wide["b"].tolist() == right["b"].tolist()[::-1]


def naive(outputs, targets):
    """Draw the number of each output from the other series, as lists."""
    cut = {value: (value.rsplit(" ", 1)[0], value.rsplit(" ", 1)[1]) for value in {*outputs, *targets}}
    series = defaultdict(set)
    for name, number in cut.values():
        series[name].add(number)
    chances = []
    for value in outputs:
        name = cut[value][0]
        others = [n for other in series if other != name and len(series[other]) >= 3 for n in series[other]]
        if len(series[name]) < 3:
            chances.append(0.0)
            continue
        held = {number for target in targets for own, number in [cut[target]] if own == name}
        chances.append(min(1.0, 2 * sum(others.count(number) for number in held) / max(1, len(others))))
    return sum(chances) / len(chances)


VALUES = st.sets(
    st.builds("{} {}".format, st.sampled_from(["salem", "dover", "old milton"]), st.integers(1, 6)), min_size=1
)


@settings(max_examples=50)
@given(VALUES, VALUES)
def test_chance_is_that_of_a_draw_from_the_numbers_of_other_names(outputs, targets):
    assert series_chance(sorted(outputs), sorted(targets)) == pytest.approx(naive(sorted(outputs), sorted(targets)))


def test_numbers_that_no_other_name_has_are_no_series():
    codes = [f"{town} {17 * i + 3 * n}" for n, town in enumerate(["salem", "dover"], 400) for i in range(5)]
    assert series_chance(codes[::2], codes[1::2]) == 0.0
    assert series_chance([f"item {i}" for i in range(9)], [f"item {i}" for i in range(9)]) == 0.0
