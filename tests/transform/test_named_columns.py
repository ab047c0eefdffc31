"""Several columns that are named together: no program joins by one of them alone."""

import random
import warnings
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.errors import DfjoinWarning
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.named_columns import _is_determined

FORMS = {
    "first last": lambda first, last: f"{first} {last}",
    "last, first": lambda first, last: f"{last}, {first}",
    "last (first)": lambda first, last: f"{last} ({first})",
}


def name(rng, ending=""):
    syllables = [rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice([2, 3, 3]))]
    return "".join(syllables).capitalize() + ending


def names(rng, n, ending=""):
    found = {}
    while len(found) < n:
        found[name(rng, ending)] = None
    return list(found)


def table(**columns):
    return {key: pa.array(values, pa.string()) for key, values in columns.items()}


def joined(left, right, on, right_on):
    found = find_programs(left, right, on=on, right_on=right_on)
    if not found.found:
        return found, set()
    rows = join_rows(found, left, right)
    return found, set(zip(rows.left_rows.tolist(), rows.right_rows.tolist(), strict=True))


def people(seed, n_first, n_last, n):
    rng = random.Random(seed)
    lasts = names(rng, n_last, "son")
    pairs = [(first, last) for first in names(rng, n_first) for last in lasts]
    return rng, rng.sample(pairs, min(n, len(pairs)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n_first", "n_last"), [(1, 60), (2, 300), (30, 60), (60, 3)])
@pytest.mark.parametrize("seed", [0])
def test_strangers_who_share_one_of_the_named_columns_are_not_joined(form, n_first, n_last, seed):
    rng, known = people(seed, n_first, n_last, 80)
    half = len(known) // 2
    strangers = [(name(rng, "x"), last) for _, last in known[:half]]
    others = [*known[half:], *strangers]
    rng.shuffle(others)
    left = table(first=[first for first, _ in known], last=[last for _, last in known])
    right = table(name=[FORMS[form](*one) for one in others])
    _, pairs = joined(left, right, ("first", "last"), "name")
    assert pairs == {(known.index(one), number) for number, one in enumerate(others) if one in known}
    _, turned = joined(right, left, "name", ("first", "last"))
    assert turned == {(theirs, own) for own, theirs in pairs}


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_all_rows_of_one_table_have_is_still_compared(form):
    rng, known = people(3, 12, 40, 150)
    zoe = [("Zoe", last) for last in names(rng, 40, "man")]
    pairs = rng.sample([*known, *zoe], len(known) + len(zoe))
    left = table(first=[first for first, _ in pairs], last=[last for _, last in pairs])
    others = [("Zoe", last) for last in dict.fromkeys(left["last"].to_pylist())]
    right = table(name=[FORMS[form](*one) for one in others])
    _, found = joined(left, right, ("first", "last"), "name")
    expected = {(own, others.index(one)) for own, one in enumerate(pairs) if one in others}
    assert len(expected) >= 30
    assert found in (expected, set())  # no join where a grid of few names may explain it


def test_an_initial_is_read_in_the_place_of_the_letter_that_all_have():
    _, known = people(4, 1, 60, 60)
    left = table(first=[first for first, _ in known], last=[last for _, last in known])
    found, pairs = joined(left, table(key=[f"{a[0]}. {b}" for a, b in known]), ("first", "last"), "key")
    assert str(found.programs[0].program) == "first[:1] + '. ' + last"
    assert len(pairs) == 60


def test_rows_that_differ_in_a_named_column_do_not_join_one_value():
    _, known = people(5, 20, 20, 200)
    left = table(first=[first for first, _ in known], last=[last for _, last in known])
    right = table(key=sorted({last.upper() + "!" for _, last in known}))
    found, pairs = joined(left, right, ("first", "last"), "key")
    assert not pairs
    reason = "rows that differ in 'first', which is named, would join the same value"
    assert any(reason in line for line in found.tried)


def test_a_named_column_that_constants_may_stand_for_is_warned_of():
    _, known = people(6, 20, 90, 80)
    lasts = dict.fromkeys(last for _, last in known)
    left = table(first=[name(random.Random(i)) for i in range(len(lasts))], last=list(lasts))
    right = table(name=[f"Dr {last}" for last in lasts])
    with pytest.warns(DfjoinWarning, match="the key columns 'first' are named, and not compared: 'dr ' \\+ last"):
        _, pairs = joined(left, right, ("first", "last"), "name")
    assert len(pairs) == len(lasts)


def test_what_says_nothing_is_not_warned_of():
    lasts = names(random.Random(7), 40, "son")
    left = table(country=["US"] * 40, last=lasts, copy=[f"{last}!" for last in lasts])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for named in (("country", "last"), ("last", "copy")):
            _, pairs = joined(left, table(key=[f"({last})" for last in lasts]), named, "key")
            assert len(pairs) == 40


def test_a_column_of_the_target_that_the_source_does_not_have_is_warned_of():
    rng = random.Random(8)
    codes = [str(code) for code in rng.sample(range(10_000, 99_999), 80)]
    right = table(country=["US"] * 60 + ["CA"] * 20, code=codes)
    left = table(key=[f"no. {code}" for code in codes[:60]])
    with pytest.warns(DfjoinWarning, match="the key columns 'country' are named, and not compared"):
        _, pairs = joined(left, right, "key", ("country", "code"))
    assert pairs == {(i, i) for i in range(60)}


@pytest.mark.parametrize(("targets", "expected"), [([0, 1], False), ([1, 0], False), ([-1, 0], True), ([0, -1], True)])
def test_rows_that_join_any_row_decide_whether_a_column_is_determined(targets, expected):
    """Two rows give one result and hold two values; a row that joins nothing says nothing."""
    outcome = SimpleNamespace(row_targets=np.array(targets), outputs=SimpleNamespace(codes=np.zeros(2, np.int32)))
    column = SimpleNamespace(values=type("Values", (), {"codes": np.arange(2), "__len__": lambda self: 2})())
    assert _is_determined(outcome, column) == expected
