"""What is taught by examples of two columns, and found without any where there is evidence."""

import datetime
import random

import pandas as pd
import pytest

import dfjoin
from dfjoin.transform.compose.by_example import learn_from_examples


def days(rng, n, low=datetime.date(1950, 1, 1), span=20_000):
    return [low + datetime.timedelta(days=rng.randrange(span)) for _ in range(n)]


def age(born, at):
    return at.year - born.year - ((at.month, at.day) < (born.month, born.day))


RNG = random.Random(1)
BORN, SEEN = days(RNG, 40), days(RNG, 40, datetime.date(2006, 1, 1), 6_000)
WEIGHED = [(round(RNG.uniform(50, 900), 2), round(RNG.uniform(1, 40), 2)) for _ in range(40)]
CAME = [(RNG.randrange(5 * 60, 9 * 60), RNG.randrange(11 * 60, 23 * 60)) for _ in range(40)]


def clock(minutes):
    return f"{minutes // 60}:{minutes % 60:02d}"


TAUGHT = {
    "age": [((b.isoformat(), s.isoformat()), str(age(b, s))) for b, s in zip(BORN, SEEN, strict=True)],
    "age in words": [
        ((f"{b:%d.%m.%Y}", f"{s:%B} {s.day}, {s.year}"), f"{age(b, s)} years") for b, s in zip(BORN, SEEN, strict=True)
    ],
    "days": [((b.isoformat(), s.isoformat()), str((s - b).days)) for b, s in zip(BORN, SEEN, strict=True)],
    "weeks": [((b.isoformat(), s.isoformat()), f"{(s - b).days // 7} wk") for b, s in zip(BORN, SEEN, strict=True)],
    "worked": [((clock(a), clock(b)), clock(b - a)) for a, b in CAME],
    "net": [((f"{gross}", f"{tare}"), f"{gross - tare:.2f}") for gross, tare in WEIGHED],
    "gross": [((f"${gross:,.2f}", f"${tare:,.2f}"), f"{gross + tare:.2f}") for gross, tare in WEIGHED],
}
"""Name → rows with their results."""


@pytest.mark.parametrize("kind", TAUGHT)
def test_three_examples_teach_what_is_computed_of_two_columns(kind):
    pairs = TAUGHT[kind]
    rows = [row for row, _ in pairs]
    programs = learn_from_examples(["a", "b"], rows[:3], [target for _, target in pairs[:3]], inputs=rows)
    assert len(programs) == 1 and sorted(programs[0].columns) == ["a", "b"]
    wanted = [target.rstrip("0").rstrip(".") if kind in ("net", "gross") else target for _, target in pairs]
    made = [programs[0](*(dict(zip("ab", row, strict=True))[name] for name in programs[0].columns)) for row in rows]
    made = [text.rstrip("0").rstrip(".") if kind in ("net", "gross") else text for text in made]
    assert made == wanted


def test_one_column_that_explains_the_examples_is_enough():
    rows = [("12 kg", "3 kg"), ("15 kg", "4 kg"), ("19 kg", "1 kg")]
    (program,) = learn_from_examples(["a", "b"], rows, ["12", "15", "19"], inputs=rows)
    assert program.columns == ("a",)


def test_examples_of_a_join_read_the_other_columns_of_their_rows():
    left = pd.DataFrame({"born": [b.isoformat() for b in BORN], "seen": [s.isoformat() for s in SEEN]})
    lived = [(s - b).days for b, s in zip(BORN, SEEN, strict=True)]
    right = pd.DataFrame({"lived": lived[::-1], "row": range(40)})
    examples = [((left["born"][i], left["seen"][i]), str(lived[i])) for i in range(3)]
    wide = dfjoin.auto_join(left, right, on=["born", "seen"], right_on="lived", examples=examples)
    assert wide["row"].tolist() == list(range(40))[::-1]


def frames(kind, order):
    """Return two tables whose right one holds what is computed of two columns of the left one."""
    rows, made = [row for row, _ in TAUGHT[kind]], [target for _, target in TAUGHT[kind]]
    rng = random.Random(order)
    own, theirs = rng.sample(range(40), 40), rng.sample(range(40), 40)
    left = pd.DataFrame(
        {"a": [rows[i][0] for i in own], "b": [rows[i][1] for i in own], "place": [f"p{i}" for i in own]}
    )
    return left, pd.DataFrame({"made": [made[i] for i in theirs], "origin": [f"q{i}" for i in theirs]})


@pytest.mark.parametrize("kind", ["days", "net", "gross"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("names", [{}, {"on": ["a", "b"], "right_on": "made"}])
def test_sums_and_days_between_are_found_with_no_examples(kind, turned, names):
    left, right = frames(kind, 1)
    if turned:
        left, right = right, left
        names = {"on": names["right_on"], "right_on": names["on"]} if names else {}
    wide = dfjoin.auto_join(left, right, aggregate=None, **names)
    assert len(wide) == 40 and wide["place"].str[1:].tolist() == wide["origin"].str[1:].tolist()


def test_ages_and_small_sums_are_no_evidence():
    rng = random.Random(2)
    left = pd.DataFrame({"a": [rng.randrange(30) for _ in range(60)], "b": [rng.randrange(30) for _ in range(60)]})
    right = pd.DataFrame({"c": rng.sample(range(60), 50)})
    assert not dfjoin.auto_join(left, right, on_no_match="ignore").attrs["dfjoin"]["joined"]
    left, right = frames("age", 1)
    assert not dfjoin.auto_join(left, right, on_no_match="ignore").attrs["dfjoin"]["joined"]
