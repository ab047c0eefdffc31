"""Frames that must not be joined, or not by a part of the key: accidents that look like relations."""

import numpy as np
import pandas as pd
import pytest

import dfjoin

QUIET = {"on_no_match": "ignore", "aggregate": None, "how": "inner", "max_expansion": 1e6}


def people(n, seed):
    """Distinct persons whose last names repeat as real ones do, and whose first names do so more."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abdeghiklmnoprstuv"))
    words = ["".join(rng.choice(letters, rng.integers(4, 9))).capitalize() for _ in range(4 * n)]
    firsts, lasts = words[:n], words[n:]
    chances = [1 / (np.arange(len(some)) + offset) for some, offset in ((firsts, n / 20), (lasts, n / 5))]
    drawn = [
        rng.choice(some, 3 * n, p=weights / weights.sum()).tolist()
        for some, weights in zip((firsts, lasts), chances, strict=True)
    ]
    return list(dict.fromkeys(zip(*drawn, strict=True)))[:n]


@pytest.mark.parametrize("n", [300, 6_000])
@pytest.mark.parametrize("overlap", [0.35, 0.2])
def test_last_first_is_not_joined_with_first_last_by_the_last_name(n, overlap):
    persons = people(int(n * (2 - overlap)), seed=n)
    start = n - int(overlap * n)
    left = pd.DataFrame({"k": [f"{b}, {a}" for a, b in persons[:n]]})
    right = pd.DataFrame({"k2": [f"{a} {b}" for a, b in persons[start : start + n]]}).sample(frac=1, random_state=1)
    wide = left.auto_join(right, fuzzy=False, **QUIET)
    swapped = wide["k"].str.split(", ").str[1] + " " + wide["k"].str.split(", ").str[0]
    assert len(wide) == int(overlap * n) and (swapped == wide["k2"]).all()


def test_one_person_does_not_get_the_salary_of_another_with_the_same_last_name():
    firsts = ["Ann", "Bob", "Cid", "Dee", "Eva", "Fay", "Gus", "Hal", "Ivy", "Jon"]
    lasts = ["Smith", "Jones", "Brown", "White", "Green", "Black", "Stone", "Woods", "Marsh", "Field"]
    staff = pd.DataFrame({"first": firsts, "last": lasts})
    names = [f"{a} {b}" for a, b in zip(firsts[:5], lasts[:5], strict=True)] + [f"Zoe {b}" for b in lasts[5:]]
    wide = staff.auto_join(pd.DataFrame({"name": names, "salary": range(10)}), **QUIET)
    assert wide["first"].tolist() == firsts[:5] and wide["salary"].tolist() == list(range(5))


@pytest.mark.parametrize("n", [15, 80])
@pytest.mark.parametrize("seed", range(3))
def test_two_columns_are_not_joined_by_one_of_them(n, seed):
    persons = people(2 * n, seed)
    left = pd.DataFrame(persons[:n], columns=["first", "last"])
    right = pd.DataFrame({"name": [f"{a} {b}" for a, b in persons[n // 2 : n // 2 + n]], "v": range(n)})
    wide = left.auto_join(right.sample(frac=1, random_state=seed), fuzzy=False, **QUIET)
    assert (wide["first"] + " " + wide["last"] == wide["name"]).all()
    assert len(wide) == n - n // 2


@pytest.fixture
def orders():
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2021-01-01") + pd.to_timedelta(rng.integers(0, 364, 80), "D")
    return pd.DataFrame({"order_date": days, "amount": rng.uniform(1, 99, 80)})


def test_days_are_not_moved_to_the_months_of_another_year(orders):
    months = pd.date_range("2010-01-01", periods=60, freq="MS")
    prices = pd.DataFrame({"month": months, "cpi": np.random.default_rng(1).uniform(1, 9, 60)})
    assert not orders.auto_join(prices, **QUIET).attrs["dfjoin"]["joined"]
    assert orders.auto_join(prices, on="order_date", right_on="month", **QUIET).empty


@pytest.mark.parametrize("step", ["h", "MS"])
def test_halves_of_a_calendar_are_not_joined(step):
    stamps = pd.Series(pd.date_range("2019-01-01", periods=120, freq=step)).sample(frac=1, random_state=3)
    for spelled in (stamps, stamps.dt.strftime("%d/%m/%Y %H:%M")):
        left, right = spelled[:60].to_frame("a"), spelled[60:].to_frame("b")
        assert not left.auto_join(right, **QUIET).attrs["dfjoin"]["joined"]


CODES = {
    "numbers": (range(1000, 1100), range(1040, 1140)),
    "other prefixes": ([f"INV-{i}" for i in range(1001, 1101)], [f"PO-{i}" for i in range(1011, 1111)]),
    "letters": ([f"K{i:04d}" for i in range(1, 101)], [f"M{i:04d}" for i in range(1, 101)]),
    "letters of base 16": ([f"A{i:04d}" for i in range(1, 101)], [f"B{i:04d}" for i in range(1, 101)]),
    "months and years": ([f"{1950 + i // 12}-{1 + i % 12:02d}" for i in range(696)], range(1950, 2009)),
    "days and weeks": (
        [str(day)[:10] for day in pd.date_range("2015-01-01", periods=300)],
        [f"{2018 + i // 52}-W{1 + i % 52:02d}" for i in range(104)],
    ),
    "years and numbers in a text": (range(1950, 2010), [f"part-{i:03d}.csv" for i in range(20, 80)]),
    "districts": ([f"tx-lower-{i}" for i in range(1, 91)], [f"tx-lower-{i}" for i in range(91, 151)]),
}


@pytest.mark.parametrize("case", CODES)
def test_numbers_and_codes_in_sequence_are_not_joined(case):
    left, right = CODES[case]
    wide = pd.DataFrame({"a": left}).auto_join(pd.DataFrame({"b": right, "v": 1}), **QUIET)
    assert not wide.attrs["dfjoin"]["joined"], str(dfjoin.report(wide))


def test_a_right_program_is_taken_whatever_it_covers_where_keys_are_named():
    persons = people(1_950, seed=4)
    left = pd.DataFrame({"k": [f"{b}, {a}" for a, b in persons[:1_000]]})
    right = pd.DataFrame({"k2": [f"{a} {b}" for a, b in persons[950:]]})
    wide = left.auto_join(right, on="k", right_on="k2", fuzzy=False, **QUIET)
    assert len(wide) == 50


@pytest.mark.parametrize("keys", [{}, {"on": "a", "right_on": "b"}])
def test_the_same_words_and_numbers_in_another_order_are_a_relation_on_a_full_calendar(keys):
    quarters = [(quarter, year) for year in range(2015, 2024) for quarter in range(1, 5)]
    left = pd.DataFrame({"a": [f"Quarter {q} {y}" for q, y in quarters]})
    right = pd.DataFrame({"b": [f"{y}, quarter {q}" for q, y in quarters], "v": range(36)}).sample(
        frac=1, random_state=1
    )
    wide = left.auto_join(right, **keys, **QUIET)
    assert wide["v"].tolist() == list(range(36))


def test_several_columns_are_related_to_one():
    persons = people(120, seed=5)
    left = pd.DataFrame(persons[:90], columns=["first", "last"])
    right = pd.DataFrame({"name": [f"{b}, {a}" for a, b in persons[20:110]], "v": range(90)})
    wide = left.auto_join(right, on=["first", "last"], right_on="name", fuzzy=False, **QUIET)
    assert len(wide) == 70 and (wide["last"] + ", " + wide["first"] == wide["name"]).all()
    back = right.auto_join(left, on="name", right_on=["first", "last"], fuzzy=False, **QUIET)
    assert len(back) == 70 and (back["last"] + ", " + back["first"] == back["name"]).all()


def test_programs_serve_what_equality_leaves():
    persons = people(170, seed=6)
    marked = [f"{a} {b}{'*' if i % 4 == 0 else ''}" for i, (a, b) in enumerate(persons[:150])]
    left = pd.DataFrame({"name": marked, "x": range(100, 250)})
    right = pd.DataFrame({"name": [f"{a} {b}" for a, b in persons[20:]], "v": range(150)})
    for keys in ({}, {"on": "name"}):
        wide = left.auto_join(right.sample(frac=1, random_state=1), fuzzy=False, indicator=True, **keys, **QUIET)
        assert len(wide) == 130 and (wide["x"] - 120 == wide["v"]).all()
        assert wide["_match"].value_counts().to_dict() == {"equal": 97, "program": 33}
    numbers = left.assign(name=range(1_000, 1_150)), right.assign(name=range(1_020, 1_170))
    assert "relation" not in numbers[0].auto_join(numbers[1], on="name").attrs["dfjoin"]["joined"][0]


def test_rows_of_one_name_are_told_apart_by_other_columns():
    names = [f"{a} {b}" for a, b in people(40, seed=7)]
    names[23] = names[21]
    years = [f"{1800 + 4 * i}-{1804 + 4 * i}" for i in range(40)]
    left = pd.DataFrame({"who": [f"{name} *" for name in names], "term": years, "a": range(0, 400, 10)})
    terms = [f"March 4 {year[:4]} to March 4 {year[5:]}" for year in years]
    right = pd.DataFrame({"name": names, "office": terms, "b": range(0, 400, 10)}).sample(frac=1, random_state=3)
    wide = left.auto_join(right.drop(columns="office"), fuzzy=False, **QUIET)
    assert len(wide) == 40 and (wide["a"] == wide["b"]).all(), "equal numbers"
    wide = left.auto_join(right, fuzzy=False, **QUIET)
    assert len(wide) == 40 and (wide["a"] == wide["b"]).all()
    wide = left.auto_join(right.rename(columns={"b": "v"}).assign(v=1), fuzzy=False, **QUIET)
    assert len(wide) == 40 and all(a[:4] in b for a, b in zip(wide["term"], wide["office"], strict=True))
    alone = left.drop(columns=["term", "a"]).auto_join(right, fuzzy=False, **QUIET)
    assert len(alone) == 42, "nothing tells them apart"


def _shuffled(frame, seed):
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_does_not_matter(seed):
    persons = people(90, seed=100 + seed)
    spelled = [f"{b}, {a}" if i % 3 else f"{b}, {a} jr" for i, (a, b) in enumerate(persons[:70])]
    left = pd.DataFrame({"who": spelled, "kind": [f"kind {i % 9}" for i in range(70)]})
    right = pd.DataFrame({"name": [f"{a} {b}" for a, b in persons[10:]], "sort": [f"{i % 7} sort" for i in range(80)]})
    found = []
    for order in range(3):
        sides = (_shuffled(left, order), _shuffled(right, 10 + order)) if order else (left, right)
        wide = sides[0].auto_join(sides[1], **QUIET)
        relation = wide.attrs["dfjoin"]["joined"][0]["relation"]
        texts = [program["text"] for program in relation["transform"]["programs"]]
        found.append((texts, sorted(zip(wide["who"], wide["name"], strict=True))))
    assert found[0] == found[1] == found[2]
