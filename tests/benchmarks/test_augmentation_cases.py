"""Generated cases of augmentation: a seed gives the same ones, and each column is of the kind that it is said to be."""

import sys

import numpy as np
import pandas as pd
import pytest

# It comes with scikit-learn, which takes a second to load: tests import that themselves.
pytest.importorskip("threadpoolctl")

from tests.benchmarks import augmentation_leaks, augmentation_rivals, augmentation_time, augmentation_truth
from tests.benchmarks.augmentation_cases import LEAK, USELESS, VOID, cut_case, generated_cases, honest, leaks


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """One table whose rows have names, with a column that follows from two others."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("real") / "source"
    path.mkdir()
    frame = pd.DataFrame(rng.normal(size=(400, 6)).round(3), columns=list("abcdef"))
    frame["g"] = (frame["a"] + frame["b"] + frame["c"] + rng.normal(0, 0.5, 400)).round(3)
    frame.insert(0, "name", [f"name {i:x} of {i}" for i in range(400)])
    frame.to_csv(path / "table.csv", index=False)
    return path.parent


def test_a_seed_gives_the_same_case(directory):
    one, again = (next(iter(generated_cases(directory, 1, 0))) for _ in range(2))
    assert one.name == again.name and one.kinds == again.kinds and one.base.equals(again.base)
    for name in {table for table, _ in one.kinds}:
        pd.testing.assert_frame_equal(one.lake.table(name), again.lake.table(name))


def test_columns_are_of_their_kind(directory):
    frame = pd.read_csv(directory / "source" / "table.csv")
    case = cut_case("case", frame, "name", "g", np.random.default_rng(1))
    joined = case.base.merge(case.lake.table("leak moved"), on="name")
    np.testing.assert_allclose(joined["value moved"], 2.54 * joined["g"] + 17)
    assert {kind for (table, _), kind in case.kinds.items() if table.startswith("shuffled")} == {USELESS}
    assert {kind for (table, _), kind in case.kinds.items() if table in ("numbers", "same")} == {VOID}
    assert {kind for (table, _), kind in case.kinds.items() if table in ("copy", "sample")} == {LEAK}


@pytest.mark.parametrize("y", [pd.Series(np.random.default_rng(0).normal(size=3000)), pd.Series(list("abc") * 1000)])
def test_noise_is_as_much_as_its_name_says(y):
    rng = np.random.default_rng(2)
    for name, column in (leaks(y, rng) | honest(y, rng)).items():
        if name.startswith(("noise", "near")):
            share = float(name.lstrip("noisear")) / 100
            if y.dtype.kind == "f":
                assert ((column - y).var() / y.var()) == pytest.approx(share, rel=0.15)
            else:
                agree = column.groupby(y).agg(lambda values: values.value_counts().iloc[0]).sum() / len(y)
                assert 1 - agree == pytest.approx(share, rel=0.5)


@pytest.mark.slow  # a process for each budget, which loads all
def test_the_measure_of_time_prints_a_line_for_each_budget(monkeypatch, capfd):
    arguments = ["--rows", "600", "--keys", "300", "--tables", "8", "--budget", "30"]
    monkeypatch.setattr(sys, "argv", ["augmentation_time", *arguments])
    augmentation_time.main()
    default, limited = capfd.readouterr().out.splitlines()
    assert default.startswith("budget None: fit ") and limited.startswith("budget 30.0: fit ")
    assert "MB above what it began with" in default and "of 8 that were read; not stopped" in default


@pytest.mark.filterwarnings("ignore:columns were taken")
@pytest.mark.parametrize("kind", ["numbers", "two", "four"])
def test_some_designs_of_leaks(kind):
    told = {name: augmentation_leaks.measure(name, kind, 0)["told"] for name in ("the target", "parts", "driver")}
    assert told == {"the target": "refused", "parts": "suspicious", "driver": "passes"}


def test_the_keys_that_rivals_are_told_lead_to_the_tables():
    """Joined on them by pandas, each case has as many rows as before where tables have one row for a key."""
    rng = np.random.default_rng(0)
    for name in ("snowflake, 3 levels", "two names", "two keys"):
        case = augmentation_truth.CASES[name](rng)
        wide = case.frame
        for table, on, right_on in augmentation_rivals.keys_of(case):
            wide = wide.merge(case.tables[table], left_on=on, right_on=right_on, how="inner", suffixes=("", "_2"))
        assert len(wide) == len(case.frame)
    assert augmentation_rivals.lines_of(augmentation_rivals.with_dfjoin) == 2
