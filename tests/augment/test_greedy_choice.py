"""Tables that are weak alone are accepted together, and only then."""

from types import SimpleNamespace

import pandas as pd
import pytest

from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.encoding import encode_column, encode_target
from dfjoin.augment.greedy_choice import GreedyChoice
from dfjoin.augment.held_out import Gain
from dfjoin.augment.relevance import bin_column
from dfjoin.augment.screening import CandidateTable, FeatureColumn
from dfjoin.augment.table_choice import ChosenTable, SelectionTask

N = 200


@pytest.fixture
def choice_of(rng, monkeypatch):
    """A choice among five tables, of which it is told what any set of them adds."""
    y = rng.normal(size=N)

    def make(gain_of, k=5, more_rounds=None):
        candidates = []
        for i in range(5):
            encoded = encode_column(pd.Series(y + rng.normal(size=N)))
            feature = FeatureColumn("v", f"v{i}", encoded, bin_column(encoded.values, True))
            reached = SimpleNamespace(table=f"t{i}", text=f"key → t{i}")
            candidates.append(CandidateTable(reached, (feature,), {}))
        task = SelectionTask(encode_target(y, "auto"), [], lambda candidate: None, 0, AugmentBudget.of(None, False))

        def told(choice, some, n_rounds=1, *, is_control=False):
            tables = [one.reached.table for one in some]
            return gain_of(tables) if more_rounds is None or n_rounds == 1 else more_rounds(tables)

        monkeypatch.setattr(GreedyChoice, "_gain", told)
        return [one.candidate.reached.table for one in GreedyChoice(task, k, candidates).run().chosen]

    return make


def test_weak_tables_are_taken_together(choice_of):
    def gain(tables):
        return Gain(0.01 * len(tables), 0.008, 0.0)

    assert choice_of(gain) == ["t0", "t1", "t2", "t3", "t4"]
    assert choice_of(gain, k=2) == ["t0", "t1"]


def test_half_of_them_is_tried_where_all_do_not_help(choice_of):
    def gain(tables):
        return Gain(0.02 if len(tables) == 2 else 0.006, 0.008, 0.0)

    assert choice_of(gain) == ["t0", "t1"]


def test_tables_that_add_nothing_are_not_tried_together(choice_of):
    def gain(tables):
        assert len(tables) == 1 or set(tables) == {"t1", "t3"}
        return Gain(-0.01 if len(tables) == 1 and tables[0] not in ("t1", "t3") else 0.004 * len(tables), 0.003, 0.0)

    assert choice_of(gain) == [], "less than 0.5 % for each of them"


def test_a_gain_that_is_not_sure_is_measured_anew_after_each_table(choice_of):
    """Its error becomes smaller as the loss does."""
    errors = iter([0.2, 0.05, 0.05])

    def gain(tables):
        known = {"t0": Gain(0.2, 0.05), "t1": Gain(0.3, next(errors)) if tables == ["t1"] else None}
        return known.get(tables[0]) or Gain(-0.01, 0.01)

    assert choice_of(gain) == ["t0", "t1"]


def test_a_gain_that_is_nearly_sure_is_measured_in_more_rounds(choice_of):
    """One that turns out sure is taken, one that does not is not, others are not measured again."""
    once = {
        "t0": Gain(0.1, 0.02),
        "t1": Gain(0.2, 0.15),
        "t2": Gain(0.3, 0.2),
        "t3": Gain(0.2, 0.5),
        "t4": Gain(-0.1, 0.1),
    }

    def gain(tables):
        return once[tables[0]] if len(tables) == 1 else Gain(-0.1, 0.1)

    def more_rounds(tables):
        measured.append(*tables)
        return {"t1": Gain(0.18, 0.08), "t2": Gain(0.25, 0.18)}[tables[0]]

    measured = []
    assert choice_of(gain, more_rounds=more_rounds) == ["t0", "t1"]
    assert measured == ["t2", "t1", "t1"], "the largest first; what is sure once more with shuffled rows"
    measured = []
    assert choice_of(gain, k=1, more_rounds=more_rounds) == ["t0"] and measured == []


@pytest.fixture
def greedy(rng):
    """A choice that took tables: what they tell is given."""
    y = rng.normal(size=N)

    def make(columns, is_measured=True):
        target = encode_target(y, "auto")
        task = SelectionTask(target, [], lambda candidate: None, 0, AugmentBudget.of(None, False))
        found = GreedyChoice(task, 5, [])
        for i, column in enumerate(columns):
            encoded = encode_column(pd.Series(column))
            feature = FeatureColumn("v", f"v{i}", encoded, bin_column(encoded.values, True))
            candidate = CandidateTable(SimpleNamespace(table=f"t{i}", text=f"key → t{i}"), (feature,), {})
            found._chosen.append(ChosenTable(candidate, (feature,), Gain(0.1, 0.01) if is_measured else None))
        found._give_back()
        return [one.candidate.reached.table for one in found._chosen], found._rejected

    return y, make


def test_a_table_that_later_ones_replace_is_given_back(greedy, rng):
    y, take = greedy
    half = y + rng.normal(0, 0.5, N)
    kept, rejected = take([half + rng.normal(0, 0.5, N), half, rng.normal(size=N)])
    assert kept == ["t1"]
    assert set(rejected) == {"t0", "t2"}
    assert rejected["t2"].startswith("the other tables predict as well without it: ")
    assert take([rng.normal(size=N)])[0] == ["t0"], "the last one stays: all that was chosen is measured at the end"


def test_tables_that_add_something_are_kept(greedy, rng):
    y, take = greedy
    parts = rng.normal(size=(2, N))
    parts = [parts[0], y - parts[0]]
    assert take(parts) == (["t0", "t1"], {})


def test_a_weak_table_is_kept_where_it_adds_anything(greedy, rng, monkeypatch):
    y, take = greedy
    monkeypatch.setattr("dfjoin.augment.greedy_choice.compare_losses", lambda *losses: Gain(0.01, 0.02))
    assert take([y, y], is_measured=False)[0] == ["t0", "t1"]
    assert take([y, y])[0] == ["t1"], "one that was measured alone has to be sure"
