"""The time of each stage, and the tables that are read."""

import pytest

from dfjoin.augment import budget as module
from dfjoin.augment.budget import AugmentBudget, OutOfTimeError
from dfjoin.errors import InvalidParameterError


def test_each_stage_ends_at_its_share(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "process_time", lambda: now[0])
    budget = AugmentBudget.of(10, False)
    for stage, share in module._SHARES.items():
        budget.begin(stage)
        now[0] = 100 + 10 * share - 0.01
        budget.check()
        now[0] += 0.02
        with pytest.raises(OutOfTimeError, match="the budget of 10 seconds is used"):
            budget.check()
        assert budget.over() == budget.over_time() == "the budget of 10 seconds is used"
    assert list(module._SHARES.values()) == sorted(module._SHARES.values())


def test_waiting_counts_a_tenth(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module.time, "process_time", lambda: 7.0)
    budget = AugmentBudget.of(3, False)
    now[0] += 29
    assert budget.over_time() == "" and budget.elapsed == 29
    now[0] += 2
    assert budget.over_time() == "the budget of 3 seconds is used"


def test_tables_are_counted():
    budget = AugmentBudget.of({"tables": 2}, False)
    assert budget.over() == ""
    budget.n_tables = 2
    assert budget.over() == "the budget of 2 tables is used" and budget.over_time() == ""


@pytest.mark.parametrize("value", [0, -1, True, "10", {"seconds": 0}, {"rows": 3}, {"tables": "many"}])
def test_illegal_budgets_are_told(value):
    with pytest.raises(InvalidParameterError, match='`budget` must be a number of seconds, or a dict of "seconds"'):
        AugmentBudget.of(value, False)
