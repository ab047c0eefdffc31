"""The target in another spelling, and columns that only look like it."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.augment.encoding import encode_column, encode_target
from dfjoin.augment.target_copies import numbers_in_texts, spelled_otherwise

N = 120
NAMES = "it names the classes of the target otherwise"
UNIT = "it is the target in another unit: the target is a · value + b"


def told(column, y, task="auto"):
    found = spelled_otherwise(encode_column(pd.Series(column)), encode_target(y, task))
    return found.reason if found else ""


@pytest.fixture
def answers(rng):
    return pd.Series(rng.choice(["yes", "no"], N, p=[0.3, 0.7]))


def test_classes_under_other_names(answers, rng):
    for names in ({"yes": 1, "no": 0}, {"yes": "ja", "no": "nein"}, {"yes": -3.5, "no": 8}, {"yes": True, "no": False}):
        assert told(answers.map(names), answers).startswith(NAMES)
    several = np.where(answers == "yes", rng.choice(["y", "Y", "yes"], N), rng.choice(["n", "NO"], N))
    assert told(several, answers).startswith(NAMES), "several spellings of a class"
    gaps = answers.map({"yes": 1, "no": 0}).where(rng.random(N) < 0.5)
    assert told(gaps, answers).startswith(NAMES)
    wrong = answers.map({"yes": 1, "no": 0})
    wrong[:2] = 1 - wrong[:2]
    assert told(wrong, answers) == NAMES + ": its values tell the class in 98.3% of the rows"
    wrong[:12] = 1 - answers.map({"yes": 1, "no": 0})[:12]
    assert told(wrong, answers) == "", "a tenth of the rows differ"


def test_what_says_little_of_classes(answers, rng):
    assert told(np.arange(N), answers) == "", "each row has a value of its own"
    assert told(rng.choice(["a", "b"], N), answers) == ""
    rare = pd.Series(["no"] * (N - 2) + ["yes"] * 2)
    assert told(["c"] * (N - 1) + ["d"], rare) == "", "nearly all rows agree by chance"
    assert told(answers[:9].map({"yes": 1, "no": 0}), answers[:9]) == "", "nine rows"
    assert told(["one"] * N, ["one"] * N) == ""


def test_more_classes(rng):
    y = pd.Series(rng.integers(0, 6, N))
    assert told(y.map(dict(enumerate("pqrstu"))), y).startswith(NAMES)
    assert told((y + 1) % 6, y).startswith(NAMES)
    assert told(y // 2, y) == "", "it joins classes"


def test_numbers_in_another_unit(rng):
    y = rng.normal(20, 5, N)
    for column in (1.8 * y + 32, -y, 1e-9 * y, y + 1e6):
        assert told(column, y) == UNIT
    for column in (np.exp(y / 9), y**3, np.argsort(np.argsort(y)) / 7):
        assert told(column, y).startswith("it is a function of the target: both have the same order, up")
    assert "order, down" in told(1 / y, np.abs(y)) or told(1 / np.abs(y), np.abs(y)).endswith("(ρ -1.0000)")
    assert told(y + rng.normal(0, 1, N), y) == ""
    assert told(np.round(y / 20), y) == ""
    assert told(y[:9], y[:9]) == "" and told(y[:10] * 2, y[:10]) == UNIT
    assert told(np.where(np.arange(N) < 60, y * 2, np.nan), y) == UNIT


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["12.5 kg", "7 kg", None], [12.5, 7, np.nan]),
        (["$1,250", "$ 8.5"], [1250, 8.5]),
        (["-3 °C", "+4 °C"], [-3, 4]),
        (["12 m x 8 m", "a 1 b 2"], None),
        (["none", "few"], None),
        ([None, None], None),
    ],
)
def test_numbers_in_texts(texts, numbers):
    column = pd.Series(texts, dtype=object)
    found = numbers_in_texts(column)
    if numbers is None:
        assert found is column
    else:
        np.testing.assert_array_equal(found, numbers)
    plain = pd.Series([1.5, 2.5])
    assert numbers_in_texts(plain) is plain
