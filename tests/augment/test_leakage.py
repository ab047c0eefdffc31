"""Leaks of the target, and what looks like one and is none."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.augment.encoding import encode_target
from dfjoin.augment.leakage import LeakGuard, is_allowed
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_paths import path_tables
from dfjoin.join.options import JoinOptions

N = 200


@pytest.fixture
def rows(rng):
    key = [f"k{i}x" for i in range(N)]
    frame = pd.DataFrame({"key": key, "size": rng.normal(size=N), "age": rng.integers(20, 70, N)})
    return frame, pd.Series(np.where(rng.random(N) < 0.3, "yes", "no"), name="answer")


def findings(build, frame, y, table, allow=(), as_of=None):
    lake = build({"t": table})
    (joined,) = path_tables(
        frame, lake.snapshot, PathOptions(on=(("key",),), max_hops=1, join=JoinOptions(threshold=0.2), as_of=as_of)
    )
    target = None if y is None else encode_target(y, "auto")
    return LeakGuard(frame, target, lake.snapshot.settings, allow).look_at(joined)


def refused(*args, **options):
    return findings(*args, **options).refused


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
    assert found["c"] == "it stands in a table with `a`, which is the target"
    assert list(found) == ["a", "b", "c"]
    assert refused(build, frame, y, table, ["t/a"])["c"].startswith("it stands in a table with `b`")
    assert refused(build, frame, y, table, ["t/[ab]"]) == {}
    assert refused(build, frame, y, table, ["t"]) == {}
    assert refused(build, frame, None, table) == {}


def test_a_target_of_some_rows_is_refused(build, rows):
    frame, y = rows
    table = pd.DataFrame({"key": frame["key"], "a": y, "other": frame["age"] // 2}).iloc[:80]
    assert list(refused(build, frame, y, table)) == ["a", "other"]


def test_a_function_of_a_number_is_refused_and_a_good_predictor_is_not(build, rows, rng):
    frame, _ = rows
    y = frame["size"] * 2 + rng.normal(0, 1, N)
    table = pd.DataFrame({"key": frame["key"], "log": np.exp(y), "near": y + rng.normal(0, 1.0, N)})
    assert list(refused(build, frame, y, table)) == ["log", "near"]
    found = findings(build, frame, y, table.drop(columns="log"))
    assert found.refused == found.suspicious == {}


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
    assert refused(build, small, y, table)["twice"] == "it is the target in another unit: the target is a · value + b"


def test_a_copy_with_columns_of_two_values_has_the_target(build, rows, rng):
    frame, y = rows
    frame = frame[["key"]].assign(sex=rng.choice(["m", "f"], N), old=rng.random(N) < 0.4)
    copy = frame.assign(fare=rng.random(N))
    assert refused(build, frame, y, copy) == {}, "passengers of the same sex and age: no evidence"
    beside = refused(build, frame, y, copy.assign(label=y.map({"yes": 1, "no": 0})))
    assert beside["fare"] == "it stands in a table with `label`, which is the target"
    assert set(refused(build, frame, y, copy.assign(label=y))) == {"sex", "old", "fare", "label"}


@pytest.mark.parametrize("tail", [False, True], ids=["normal", "heavy tail"])
def test_noise_of_a_hundredth_of_the_variance_does_not_hide_the_target(build, rows, rng, tail):
    frame, _ = rows
    y = pd.Series(np.exp(3 * rng.normal(size=N)) if tail else rng.normal(size=N))
    noise = rng.normal(size=N) * y.std()
    told = []
    for share in (0.001, 0.01, 0.1, 1):
        found = findings(build, frame, y, pd.DataFrame({"key": frame["key"], "near": y + share**0.5 * noise}))
        told.append({**found.refused, **found.suspicious}.get("near", ""))
    assert [bool(reason) for reason in told] == [True, True, False, False]
    assert told[1].endswith("of the target's variance alone, on held-out rows")


def test_parts_of_the_target_are_suspicious_together(build, rows, rng):
    frame, _ = rows
    parts = rng.gamma(2.0, size=(3, N))
    table = pd.DataFrame({"key": frame["key"], "a": parts[0], "b": parts[1], "c": parts[2], "d": rng.normal(size=N)})
    told = "it is a part of the target: {} with {}, it makes the target exactly"
    for y, verb in ((parts.sum(axis=0), "added up"), (parts.prod(axis=0), "multiplied")):
        found = findings(build, frame, pd.Series(y), table)
        assert found.suspicious == dict.fromkeys("abc", told.format(verb, "2 others"))
        assert findings(build, frame, pd.Series(y), table, ["t/a"]).suspicious == {}, "the rest makes nothing"
    rest = findings(build, frame, parts[0] - frame["size"], table)
    assert rest.suspicious == {"a": told.format("added up", "columns of the frame")}
    noisy = pd.Series(parts.sum(axis=0) + 0.1 * rng.normal(size=N))
    assert findings(build, frame, noisy, table).suspicious == {}


def test_two_columns_that_say_the_class_together(build, rows, rng):
    frame, y = rows
    first = rng.random(N) < 0.5
    is_yes = (y == "yes").to_numpy()
    table = pd.DataFrame({"key": frame["key"], "a": is_yes & first, "b": is_yes & ~first, "c": rng.random(N) < 0.3})
    told = "with `{}` it says the class of the target"
    assert findings(build, frame, y, table).suspicious == {"a": told.format("b"), "b": told.format("a")}


def test_a_name_like_that_of_the_target_makes_a_strong_column_suspicious(build, rows, rng):
    frame, _ = rows
    y = pd.Series(rng.normal(size=N), name="sale price")
    near = y + 0.5 * rng.normal(size=N)
    for name, is_told in (("price_eur", True), ("weight", False), ("sale_value", True)):
        found = findings(build, frame, y, pd.DataFrame({"key": frame["key"], name: near}))
        assert list(found.suspicious) == [name] * is_told
        if is_told:
            assert found.suspicious[name].startswith("its name is like that of the target, 'sale price'; it explains ")
    assert findings(build, frame, y, pd.DataFrame({"key": frame["key"], "price": rng.normal(size=N)})).suspicious == {}


def test_what_was_known_before_is_not_suspicious(build, rows, rng):
    frame, y = rows
    frame = frame.assign(day=pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 99, N), unit="D"))
    persistent = y.where(rng.random(N) < 0.98, "no")
    for days in (30, -30):
        seen = frame["day"] - pd.to_timedelta(days, unit="D")
        table = pd.DataFrame({"key": frame["key"], "seen": seen, "state": persistent})
        found = findings(build, frame, y, table)
        told = list(found.refused), list(found.suspicious)
        assert found.known_before == {}, "the date may be of anything"
        assert told == (([], ["state"]) if days > 0 else (["seen", "state"], [])), "the past is no leak for sure"
    past = pd.DataFrame({"key": frame["key"], "seen": frame["day"] - pd.Timedelta(days=3), "state": persistent})
    dated = findings(build, frame, y, past, as_of="day")
    assert dated.known_before["state"].endswith(
        "% of the rows that have a value; only rows dated before `as_of` are joined"
    )
    assert findings(build, frame, y, past.assign(state=y)).refused["state"].startswith("it equals the target in 100%")


def test_a_past_date_is_told_and_clears_nothing(build, rows, rng):
    frame, _ = rows
    y = pd.Series(rng.normal(size=N))
    frame = frame.assign(day=pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 99, N), unit="D"))
    birth = pd.Series(pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D"))
    table = pd.DataFrame({"key": frame["key"], "band": pd.qcut(y, 10, labels=False).astype(str), "birth": birth})
    told = "; `birth` lies before the date of each row: if it dates the row, pass `as_of`"
    for n_dated, is_told in ((N, True), (N - 5, True), (10, False)):
        found = findings(build, frame, y, table.assign(birth=birth.where(np.arange(N) < n_dated)))
        assert list(found.suspicious) == ["band"] and found.known_before == {}
        assert found.suspicious["band"].endswith(told) == is_told


def test_a_share_below_one_is_not_told_as_all(build, rows):
    frame, y = rows
    other = y.where(np.arange(N) > 0, "unknown")
    found = refused(build, frame, y, pd.DataFrame({"key": frame["key"], "a": other}))
    assert found == {"a": "it equals the target in 99.5% of the rows that have a value"}


def test_patterns():
    assert is_allowed(["a/b"], "a", "b") and is_allowed(["a"], "a", "b") and is_allowed(["*/b"], "x/a", "b")
    assert not is_allowed(["a/c", "b"], "a", "b") and not is_allowed([], "a", "b")
