"""Leaks of the target, and what looks like one and is none."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.augment.encoding import encode_target
from dfjoin.augment.leakage import LeakGuard, is_allowed
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_paths import reach_tables

N = 200


@pytest.fixture
def rows(rng):
    key = [f"k{i}x" for i in range(N)]
    frame = pd.DataFrame({"key": key, "size": rng.normal(size=N), "age": rng.integers(20, 70, N)})
    return frame, pd.Series(np.where(rng.random(N) < 0.3, "yes", "no"), name="answer")


def refused(build, frame, y, table, allow=()):
    lake = build({"t": table})
    (reached,) = reach_tables(frame, lake.snapshot, PathOptions(max_hops=1, threshold=0.2))
    target = None if y is None else encode_target(y, "auto")
    return LeakGuard(frame, target, lake.snapshot.settings, allow).reasons(reached)


def test_the_target_itself_is_refused(build, rows):
    frame, y = rows
    table = pd.DataFrame(
        {"key": frame["key"], "a": y.str.upper(), "b": y.map({"yes": 1, "no": 0}), "c": frame["age"] % 7}
    )
    found = refused(build, frame, y, table)
    assert found["a"] == "it equals the target in 100% of the rows that have a value"
    assert found["b"] == (
        "it names the classes of the target otherwise: its values tell the class in 100.0% of the rows"
    )
    assert list(found) == ["a", "b"]
    assert refused(build, frame, y, table, ["t/a"]).keys() == {"b"}
    assert refused(build, frame, y, table, ["t"]) == {}
    assert refused(build, frame, None, table) == {}


def test_a_target_of_some_rows_is_refused(build, rows):
    frame, y = rows
    table = pd.DataFrame({"key": frame["key"], "a": y, "other": frame["age"] // 2}).iloc[:80]
    assert list(refused(build, frame, y, table)) == ["a"]


def test_a_function_of_a_number_is_refused_and_a_good_predictor_is_not(build, rows, rng):
    frame, _ = rows
    y = frame["size"] * 2 + rng.normal(0, 1, N)
    table = pd.DataFrame({"key": frame["key"], "log": np.exp(y), "near": y + rng.normal(0, 1.0, N)})
    assert list(refused(build, frame, y, table)) == ["log"]


def test_a_rare_class_is_not_leaked_by_a_constant(build, rows, rng):
    frame, _ = rows
    y = pd.Series(np.where(np.arange(N) < 3, "yes", "no"))
    table = pd.DataFrame(
        {"key": frame["key"], "mostly": np.where(rng.random(N) < 0.02, "yes", "no"), "v": rng.random(N)}
    )
    assert refused(build, frame, y, table) == {}


def test_copies_of_the_frame_are_refused(build, rows, rng):
    frame, y = rows
    copy = frame.assign(answer=y, extra=rng.random(N)).sample(frac=0.6, random_state=0)
    copy["size"] = copy["size"].round(12)
    found = refused(build, frame, y, copy)
    assert set(found) == {"size", "age", "answer", "extra"}
    assert found["extra"] == "it comes from a copy of the frame: 2 of its 2 other columns are in the table, row by row"
    assert set(refused(build, frame, None, copy)) == set(found), "copies are found without a target"


def test_one_column_in_common_is_no_copy_without_the_target(build, rows, rng):
    frame, y = rows
    frame = frame[["key", "age"]]
    table = frame.assign(v=rng.random(N))
    assert refused(build, frame, y, table) == {}
    assert set(refused(build, frame, y, table.assign(answer=y))) == {"age", "v", "answer"}


def test_a_table_with_one_of_several_columns_is_no_copy(build, rows, rng):
    frame, y = rows
    assert refused(build, frame, y, frame[["key", "age"]].assign(v=rng.random(N))) == {}


def test_few_rows_tell_of_functions_alone(build, rows, rng):
    """Twenty rows in the same order are no accident; that they are near the target says little."""
    frame, _ = rows
    small = frame.iloc[:20]
    y = small["size"]
    table = pd.DataFrame({"key": small["key"], "near": 2 * y + rng.normal(0, 0.3, 20), "w": small["age"] // 3})
    assert refused(build, small, y, table) == {}
    table["twice"] = 2 * y
    assert list(refused(build, small, y, table)) == ["twice"]


def test_a_copy_with_columns_of_two_values_has_the_target(build, rows, rng):
    frame, y = rows
    frame = frame[["key"]].assign(sex=rng.choice(["m", "f"], N), old=rng.random(N) < 0.4)
    copy = frame.assign(fare=rng.random(N))
    assert refused(build, frame, y, copy) == {}, "passengers of the same sex and age: no evidence"
    assert set(refused(build, frame, y, copy.assign(label=y.map({"yes": 1, "no": 0})))) == {"label"}
    assert set(refused(build, frame, y, copy.assign(label=y))) == {"sex", "old", "fare", "label"}


@pytest.mark.parametrize("tail", [False, True], ids=["normal", "heavy tail"])
def test_noise_of_a_hundredth_of_the_variance_does_not_hide_the_target(build, rows, rng, tail):
    frame, _ = rows
    y = pd.Series(np.exp(3 * rng.normal(size=N)) if tail else rng.normal(size=N))
    noise = rng.normal(size=N) * y.std()
    table = pd.DataFrame({"key": frame["key"]} | {f"n{100 * s:g}": y + s**0.5 * noise for s in (0.001, 0.01, 0.1, 1)})
    assert list(refused(build, frame, y, table)) == ["n0.1", "n1"]


def test_patterns():
    assert is_allowed(["a/b"], "a", "b") and is_allowed(["a"], "a", "b") and is_allowed(["*/b"], "x/a", "b")
    assert not is_allowed(["a/c", "b"], "a", "b") and not is_allowed([], "a", "b")
