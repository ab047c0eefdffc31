"""Evidence that two columns are keys of the same things."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.join.keys import KeyColumns
from dfjoin.join.relation import key_evidence
from dfjoin.join.relation.key_evidence import (
    is_row_number,
    names_agree,
    one_sided,
    reason_against,
    rows_agree,
    rows_contradict,
)
from dfjoin.types import IndexSettings


def columns(**values):
    return KeyColumns(pd.DataFrame(values), IndexSettings())


def query(values, name="k"):
    return columns(**{name: values}).query(0)


@pytest.mark.parametrize(
    ("some", "other", "expected"),
    [
        ("customer_id", "Customer", True),
        ("Release Year", "year", True),
        ("customerName", "customer_no", True),
        ("team1", "team", True),
        ("id", "ID", False),
        ("rank", "rank", False),
        ("order_id", "id", False),
        ("home", "away", False),
        ("1", "1", False),
    ],
)
def test_names_agree_by_words_that_say_something(some, other, expected):
    assert names_agree(some, other) is names_agree(other, some) is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(20), True),
        (range(1, 21), True),
        ([*range(1, 20), 21], True),
        (range(100, 120), False),
        ([*range(19), 40], False),
        ([*range(19), 3], False),
        (["a", "b"], False),
        ([1, 1], False),
    ],
)
def test_row_numbers_begin_with_0_or_1_and_have_hardly_a_gap(values, expected):
    assert is_row_number(query(list(values))) is expected
    assert is_row_number(query(list(values)[::-1])) is expected


@pytest.mark.parametrize(
    ("own", "theirs", "expected"),
    [([1, 1], [1, 1], 1), ([3, 2], [1, 1], 1), ([1, 1], [5, 4], 1), ([4, 4], [4, 4], 0.25)],
)
def test_a_relation_of_many_to_many_has_more_pairs_than_rows(own, theirs, expected):
    assert one_sided(np.array(own), np.array(theirs)) == expected


def test_small_integers_need_names_or_more_than_chance():
    own, theirs = query(range(30), "stage"), query(range(40), "place")
    assert "chance may explain the shared values (0 bits of evidence, 10 needed)" in reason_against(
        own, theirs, 30, 1.0, 1
    )
    assert reason_against(own, query(range(40), "stage"), 30, 1.0, 1) == ""
    assert reason_against(own, query(range(40), "stage"), 30, 0.8, 1) != "", "names alone are not enough for that"
    rng = np.random.default_rng(0)
    sparse = rng.choice(10**6, 40, replace=False)
    assert reason_against(query(sparse[:30], "a"), query(sparse, "b"), 30, 1.0, 100) == ""
    assert reason_against(query(["pear", "plum"], "a"), query(["pear"], "b"), 1, 1.0, 1) == ""
    gender, capitals = query(["Male", "Female"], "gender"), query(["Male", "Paris", "Rome"], "capital")
    assert reason_against(gender, capitals, 1, 1.0, 1) == "one value of several is shared, which chance may explain"
    assert reason_against(query(["Male", "Female"], "capital"), capitals, 1, 1.0, 1) == ""


def test_rows_agree_if_another_pair_of_columns_does_more_than_chance():
    rng = np.random.default_rng(2)
    kinds = rng.choice(list("uvwxyz"), 60).tolist()
    left = columns(id=range(60), kind=kinds)
    for their_kinds, expected in ((kinds, True), (rng.permutation(kinds).tolist(), False), (["u"] * 60, False)):
        right = columns(no=range(60), sort=their_kinds)
        found = rows_agree(left, right, left.candidates()[0], right.candidates()[0])
        assert found is expected
    constant = columns(id=range(60), kind=["u"] * 59 + ["v"])
    assert not rows_agree(constant, constant, constant.candidates()[0], constant.candidates()[0]), "no wonder"


def test_columns_that_agree_in_half_of_the_rows_do_not_speak_for_a_key():
    rng = np.random.default_rng(3)
    kinds = rng.choice(list("uvwxyz"), 100)
    for share, expected in ((0.6, False), (0.9, True)):
        theirs = np.where(rng.random(100) < share, kinds, "t")
        left, right = columns(id=range(100), kind=kinds), columns(no=range(100), sort=theirs)
        assert rows_agree(left, right, left.candidates()[0], right.candidates()[0]) is expected


@pytest.mark.parametrize(("n_displaced", "expected"), [(0, False), (2, False), (10, True), (40, True)])
def test_names_in_other_rows_speak_against_equal_codes(n_displaced, expected):
    names = [f"{a}land {b}" for a in "ABCDEFGH" for b in ("north", "south", "east", "west", "old")]
    codes = [f"{name[0]}{name[6].upper()}" for name in names]
    turned = [*names[1:n_displaced], *names[: min(1, n_displaced)], *names[n_displaced:]]
    left, right = columns(fips=codes, country=names), columns(alpha2=codes[::-1], label=turned[::-1])
    assert rows_contradict(left, right, left.query(0), right.query(0)) is expected
    assert not rows_contradict(left, right, left.query(1), right.query(1))


def test_values_that_are_no_names_contradict_nothing():
    codes = [f"{a}{b}" for a in "ABCDEFGH" for b in "XYZ"]
    cities = ["Bonn", "Oslo", "Rome"] * 8
    left, right = columns(code=codes, home=cities), columns(code=codes, birth=cities[1:] + cities[:1])
    assert not rows_contradict(left, right, left.query(0), right.query(0))


def test_columns_are_asked_once_whether_they_hold_names(monkeypatch):
    asked = []
    monkeypatch.setattr(key_evidence, "_are_names", lambda column: asked.append(column.name))
    side = columns(**{name: [f"{name}{i}" for i in range(20)] for name in "abcd"})
    for key in side.candidates():
        assert not rows_contradict(side, side, key, key)
    assert sorted(asked) == ["a", "b", "c", "d"]


def test_columns_that_share_few_values_are_not_compared_with_chance(monkeypatch):
    compared = []
    monkeypatch.setattr(key_evidence, "_agree", lambda *_: bool(compared.append(1)))
    values = {name: np.roll(np.arange(20), i) for i, name in enumerate("abcd")}
    left, right = columns(k=[f"k{i}" for i in range(20)], **values), columns(k=[f"k{i}" for i in range(20)], **values)
    assert not rows_agree(left, right, left.candidates()[0], right.candidates()[0])
    assert len(compared) == 4, "each column with its copy alone"
