"""A watched number behaves as its present value, and notes where another value would decide otherwise."""

from argparse import Namespace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks.thresholds import THRESHOLDS, Trial, places_of, report, scores_with, watch, without_some
from tests.benchmarks.watched import Watched, setting

NUMBERS = st.integers(-3, 3) | st.floats(-3, 3)


def watched(value, **others):
    noted = set()
    return Watched(value, others, noted), noted


DECISIONS = [
    lambda number, x: number < x,
    lambda number, x: x >= number,
    lambda number, x: min(number, x) == x,
    lambda number, x: 2 * number + 1 <= x - number / 4,
    lambda number, x: max(number * 0.5, 1 - number) > x,
    lambda number, x: (np.array([x, 0.0, x + 1]) >= number).tolist(),
    lambda number, x: (np.array([x, 1.0]) > number * np.float64(2)).tolist(),
]


def scalars_ask():
    """Tell whether numpy's scalars leave a comparison to the other number; those of numpy 2.0 do not."""
    number, noted = watched(0.0, other=2.0)
    return not np.float64(1) < number and bool(noted)


if scalars_ask():
    DECISIONS.append(lambda number, x: bool(np.float64(x) < number))


@pytest.mark.parametrize("decide", DECISIONS)
@given(value=NUMBERS, other=NUMBERS, x=NUMBERS)
@settings(max_examples=60)
def test_what_is_not_noted_is_decided_alike(decide, value, other, x):
    number, noted = watched(value, other=other)
    assert decide(number, x) == decide(value, x)
    assert noted or decide(other, x) == decide(value, x)


def test_a_decision_that_stays_the_same_is_not_noted():
    number, noted = watched(0.5, low=0.3, high=0.7)
    assert number > 0.2 and not noted
    assert number < 0.6 and noted == {"high"}


@pytest.mark.parametrize(
    "use", [float, int, np.log, lambda n: np.maximum(n, [1, 3]), lambda n: np.array([1.0, 2.0]) * n]
)
def test_a_use_that_cannot_be_followed_is_noted(use):
    number, noted = watched(2, other=3)
    assert np.array_equal(use(number), use(2)) and noted == {"other"}


def test_two_watched_numbers_are_compared_in_the_settings_of_both():
    noted = set()
    one, other = Watched(1, {"a": 3}, noted), Watched(2, {"b": 0}, noted)
    assert one < other and noted == {"a", "b"}


def test_a_setting_ends_with_its_block():
    module = ModuleType("some")
    module.LIMIT = 1
    with pytest.raises(KeyError), setting([(module, "LIMIT")], 2):
        assert module.LIMIT == 2
        raise KeyError
    assert module.LIMIT == 1


def test_every_threshold_is_a_constant_that_exists():
    assert len({(one.module, one.name) for one in THRESHOLDS}) == len(THRESHOLDS)
    for one in THRESHOLDS:
        present = getattr(*places_of(one)[0])
        assert isinstance(present, int | float) and present not in one.others, one


def test_trials_are_run_again_where_another_value_decides_otherwise(monkeypatch):
    one = next(t for t in THRESHOLDS if t.name == "MIN_COVERAGE")
    (module, name), *_ = places_of(one)
    runs = []

    def trial(share):
        return Trial("some", str(share), lambda: runs.append(share) or float(share >= getattr(module, name)))

    now, affected = watch([trial(0.9), trial(0.2)], [one])
    assert list(now.values()) == [1.0, 0.0]
    assert [len(settings) for settings in affected.values()] == [0, 1]
    found = scores_with((one, 0.15), now, affected)
    assert (list(found.values()), runs) == ([1.0, 1.0], [0.9, 0.2, 0.2])
    assert [without_some(one, now, affected, most) == now for most in (1, 0)] == [True, False]


def test_the_table_says_which_value_the_folds_choose():
    one = next(t for t in THRESHOLDS if t.name == "MIN_COVERAGE")
    (module, name), *_ = places_of(one)
    trials = [Trial("some", f"{i}", lambda i=i: float(i % 4 > 0 or getattr(module, name) < 0.2)) for i in range(40)]
    now, affected = watch(trials, [one])
    row = report(one, now, affected, Namespace(most=40, verbose=False))
    assert row == (
        "| `transform.pairs.accept` `MIN_COVERAGE` | 0.3 | 0.15: +0.2500 (10), 0.5: – | 0.15 (6) | +0.2500 |"
    )
