"""What predicts together is kept together, and noise is not."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dfjoin.augment import elimination as module
from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.elimination import choose_by_elimination
from dfjoin.augment.encoding import encode_column, encode_target
from dfjoin.augment.relevance import bin_column
from dfjoin.augment.screening import CandidateTable, FeatureColumn
from dfjoin.augment.table_choice import SelectionTask

N = 500


def table(name, *columns):
    """A table with columns of numbers."""
    features = []
    for i, column in enumerate(columns):
        encoded = encode_column(pd.Series(column))
        features.append(FeatureColumn(f"{name}{i}", f"{name}{i}", encoded, bin_column(encoded.values, True)))
    return CandidateTable(SimpleNamespace(table=name, text=f"key → {name}"), tuple(features), {})


def choose(y, candidates, k=None, groups=lambda candidate: None, own=(), seed=0):
    """The tables that are chosen, with their columns, and the choice."""
    task = SelectionTask(encode_target(y, "auto"), [encode_column(pd.Series(c)) for c in own], groups, seed,
                         AugmentBudget.of(None, False))  # fmt: skip
    choice = choose_by_elimination(task, k, candidates)
    return {one.candidate.joined.table: [f.column for f in one.features] for one in choice.chosen}, choice


@pytest.fixture
def noise(rng):
    """Tables that tell nothing."""
    return [table(f"noise{i}", *rng.normal(size=(3, N))) for i in range(4)]


@pytest.mark.parametrize("n_tables", [1, 2])
def test_columns_that_tell_something_only_together_stay_together(rng, noise, n_tables):
    a, b, w = rng.normal(size=(3, N))
    y = 1.5 * np.sign(a) * np.sign(b) + w
    useful = [table("ab", a, b)] if n_tables == 1 else [table("a", a), table("b", b)]
    found, choice = choose(y, [*noise, *useful], own=[w])
    assert found == ({"ab": ["ab0", "ab1"]} if n_tables == 1 else {"a": ["a0"], "b": ["b0"]})
    assert choice.gain.share > 0.2 and choice.gain.sureness > 2
    assert set(choice.rejected) == {"noise0", "noise1", "noise2", "noise3"}
    assert choice.rejected["noise0"].startswith("the last of its columns was dropped among ")


def test_of_noise_nothing_is_taken(rng):
    for seed in range(5):
        w = rng.normal(size=N)
        tables = [table(f"noise{i}", *rng.normal(size=(3, N))) for i in range(4)]
        found, choice = choose(w + rng.normal(size=N), tables, own=[w], seed=seed)
        assert found == {} and set(choice.rejected.values()) == {
            "no choice of tables lowers the loss on held-out rows for sure"
        }


def test_the_table_that_adds_most_comes_first_and_says_by_how_much(rng, noise):
    parts = rng.normal(size=(2, N))
    y = parts[0] + 3 * parts[1] + 0.1 * rng.normal(size=N)
    found, choice = choose(y, [table("weak", parts[0]), *noise, table("strong", parts[1])])
    assert list(found) == ["strong", "weak"]
    strong, weak = (one.gain for one in choice.chosen)
    assert strong.share > weak.share > 0 and weak.sureness > 2


def test_no_more_tables_than_asked_for(rng):
    parts = rng.normal(size=(4, N))
    y = parts.T @ [4.0, 3.0, 2.0, 1.0]
    tables = [table(f"t{i}", part) for i, part in enumerate(parts)]
    assert set(choose(y, tables)[0]) == {"t0", "t1", "t2", "t3"}
    for k in (1, 2, 3):
        found = choose(y, tables, k)[0]
        assert 0 < len(found) <= k and "t0" in found


def test_of_two_tables_with_the_same_column_one_is_taken(rng):
    a = rng.normal(size=N)
    found, _ = choose(a + 0.3 * rng.normal(size=N), [table("one", a), table("two", a)])
    assert len(found) == 1


def test_classes_and_nulls(rng, noise):
    a = rng.normal(size=N)
    y = np.where(a > 0.5, "high", np.where(a < -0.5, "low", "middle"))
    holes = np.where(rng.random(N) < 0.3, np.nan, a)
    assert choose(y, [table("holes", holes), *noise])[0] == {"holes": ["holes0"]}
    empty = table("empty", np.full(N, np.nan))
    assert choose(y, [empty])[0] == {}


def test_a_value_of_each_key_tells_nothing_of_other_keys(rng):
    """Rows of one key have one target: by rows the column would seem to help."""
    keys = rng.integers(0, 25, N)
    value, own = rng.normal(size=(2, 25))
    y = own[keys] + 0.1 * rng.normal(size=N)
    tables = [table("t", value[keys])]
    assert choose(y, tables)[0] == {"t": ["t0"]}
    assert choose(y, tables, groups=lambda candidate: keys)[0] == {}


def test_each_key_is_held_out(rng, monkeypatch):
    """Folds are parts of one key after the other."""
    seen, real = [], module.fold_rows
    monkeypatch.setattr(
        module, "fold_rows", lambda target, groups, seed: seen.append(groups) or real(target, groups, seed)
    )
    shops, days = rng.integers(0, 30, N), rng.integers(0, 50, N)
    a, b = rng.normal(size=30)[shops], rng.normal(size=50)[days]
    groups = {"shop": shops, "day": days}
    y = a + b + 0.2 * rng.normal(size=N)
    found, choice = choose(y, [table("shop", a), table("day", b)], groups=lambda one: groups[one.joined.table])
    assert set(found) == {"shop", "day"} and choice.gain.share > 0.5
    assert {id(one) for one in seen} >= {id(seen[0]), id(seen[1])}
    assert [np.unique(one).size for one in seen[:2]] == [30, 50]


def test_of_many_cells_some_rows_choose(rng, noise, monkeypatch):
    monkeypatch.setattr(module, "_MOST_CELLS", 3_000)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 200)
    sizes, real = set(), module.train
    monkeypatch.setattr(module, "train", lambda target, *rest: sizes.add(target.codes.size) or real(target, *rest))
    a = rng.normal(size=N)
    assert choose(a + 0.3 * rng.normal(size=N), [table("a", a), *noise])[0] == {"a": ["a0"]}
    assert sizes == {3_000 // 13}


def test_nothing_is_taken_that_does_not_help_on_other_folds(rng, monkeypatch):
    a = rng.normal(size=N)
    lost = module.Gain(-0.01, 0.01)
    monkeypatch.setattr(module._Elimination, "measured_again", lambda own, tables, task: ([lost], lost))
    found, choice = choose(a, [table("a", a)])
    assert found == {} and choice.rejected == {"a": "all that was chosen does not help: -1.0% ± 1.0% of the loss"}


def test_without_columns_nothing_is_chosen(rng):
    assert choose(rng.normal(size=N), [])[0] == {}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_of_few_groups_there_are_few_folds(rng, n_groups):
    groups = np.arange(N) % n_groups
    a, other = rng.normal(size=(2, N))
    tables = [table("other", other), table("a", a)]
    assert choose(a + 0.1 * rng.normal(size=N), tables, groups=lambda one: groups)[0] == {"a": ["a0"]}


def test_further_columns_of_a_chosen_table_come_along_where_any_fold_keeps_them(rng, monkeypatch):
    a, w = rng.normal(size=(2, N))

    def run(own, task):
        lost = rng.uniform(0.1, 0.2, N)
        own.losses[:] = lost + 0.5, lost, lost + rng.normal(0.001, 0.05, N), lost + 2  # of 4, 2, 1 and no columns
        own.votes[:] = [5, 5, 5, 5], [5, 1, 4, 0], [4, 0, 1, 0], [0, 0, 0, 0]
        own.n_held[:], own.n_folds = 1, 5

    monkeypatch.setattr(module._Elimination, "run", run)
    tables = [table("a", a, w), table("b", *rng.normal(size=(2, N)))]
    assert choose(a + 0.1 * rng.normal(size=N), tables)[0] == {"a": ["a0", "a1"]}
