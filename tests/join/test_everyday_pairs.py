"""Keys that two tables write differently, as anybody meets them: 200 rows, shuffled, no columns named."""

import datetime
import random
import string
import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin

N = 200
_STATES = (
    "Alabama=AL Alaska=AK Arizona=AZ Arkansas=AR California=CA Colorado=CO Connecticut=CT Delaware=DE Florida=FL "
    "Georgia=GA Hawaii=HI Idaho=ID Illinois=IL Indiana=IN Iowa=IA Kansas=KS Kentucky=KY Louisiana=LA Maine=ME "
    "Maryland=MD Massachusetts=MA Michigan=MI Minnesota=MN Mississippi=MS Missouri=MO Montana=MT Nebraska=NE Nevada=NV "
    "Ohio=OH Oklahoma=OK Oregon=OR Pennsylvania=PA Tennessee=TN Texas=TX Utah=UT Vermont=VT Virginia=VA Washington=WA"
)
STATES = dict(pair.split("=") for pair in _STATES.split())
GIVEN = [
    "José",
    "María",
    "André",
    "Zoë",
    "Björn",
    "Søren",
    "Chloé",
    "Jürgen",
    "Anna",
    "Peter",
    "Mary",
    "Thomas",
    "Łukasz",
    "Renée",
    "Noël",
    "Inês",
    "Ana",
    "Karl",
    "Eva",
    "Ida",
]
FAMILY = [
    "García",
    "Müller",
    "Núñez",
    "Smith",
    "Jones",
    "Brown",
    "Davis",
    "Wilson",
    "Petrović",
    "Kowalski",
    "Novák",
    "Larsen",
    "Dubois",
    "Conté",
    "Silva",
    "Rossi",
]


def days(rng, low="2015-01-01", n_days=3000, n=N):
    start = datetime.date.fromisoformat(low)
    return [start + datetime.timedelta(days=d) for d in rng.sample(range(n_days), n)]


def isbn(stem):
    ten = stem + "0123456789X"[-sum((10 - i) * int(c) for i, c in enumerate(stem)) % 11]
    long = "978" + stem
    return ten, long + str(-sum(int(c) * (1 + 2 * (i % 2)) for i, c in enumerate(long)) % 10)


def names(rng):
    pairs = [(a, b) for a in GIVEN for b in FAMILY]
    return rng.sample(pairs, N)


def plain(text):
    return text.translate(str.maketrans("éíúóáñüößøłëèêïćčçãÉŁ", "eiuoanuosoleeeicccaEL"))


def mistyped(text, rng):
    at = rng.randrange(1, len(text) - 1)
    return text[:at] + rng.choice(string.ascii_lowercase) + text[at + 1 :]


def _dates(left, right):
    return lambda rng: [(left(d), right(d)) for d in days(rng)]


def _numbers(low, high, left, right):
    return lambda rng: [(left(n), right(n)) for n in rng.sample(range(low, high), N)]


def _teams(rng):
    cities = [a + b for a in ("North", "South", "East", "West", "Old") for b in ("ton", "ham", "field", "port", "bury")]
    pairs = rng.sample([(a, b) for a in cities for b in cities if a != b], N)
    return [(f"{a} vs {b}", (a, b)) for a, b in pairs]


def _chinese(rng):
    family, given = "王李张刘陈杨黄赵吴周徐孙马朱胡", "伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂"
    full = rng.sample([(f, a + b) for f in family for a in given for b in given], N)
    return [(f + g, f"{f} {g}") for f, g in full]


CASES = {
    "20230401": _dates(lambda d: d.strftime("%Y%m%d"), lambda d: d.isoformat()),
    "01-Apr-23": _dates(lambda d: d.strftime("%d-%b-%y"), lambda d: d.isoformat()),
    "Apr 1st, 2023": _dates(
        lambda d: (
            f"{d:%b} {d.day}{'th' if 10 < d.day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(d.day % 10, 'th')}, {d:%Y}"
        ),
        lambda d: d.strftime("%Y-%m-%d"),
    ),
    "4/7/23 with 07.04.2023": _dates(lambda d: f"{d.month}/{d.day}/{d:%y}", lambda d: d.strftime("%d.%m.%Y")),
    "April 1, 2023 with 2023/04/01": _dates(lambda d: f"{d:%B} {d.day}, {d.year}", lambda d: d.strftime("%Y/%m/%d")),
    "three columns with a date": _dates(lambda d: (d.year, d.month, d.day), lambda d: d.isoformat()),
    "week and year": lambda rng: [
        (f"Week {w}, {y}", (y, w)) for y, w in rng.sample([(y, w) for y in range(2015, 2020) for w in range(1, 53)], N)
    ],
    "per cent": _numbers(1, 1000, lambda n: f"{n / 10:g}%", lambda n: n / 1000),
    "kilograms with pounds": _numbers(300, 1500, lambda n: f"{n / 10} kg", lambda n: f"{n / 10 * 2.20462262:.1f} lb"),
    "metres with feet, as numbers": _numbers(300, 9000, lambda n: n / 10, lambda n: round(n / 10 * 3.28084, 1)),
    "celsius with fahrenheit": _numbers(-300, 450, lambda n: n / 10, lambda n: round(n / 10 * 1.8 + 32, 2)),
    "1.2 M with 1,200,000": _numbers(10, 999, lambda n: f"{n / 10} M", lambda n: f"{n * 100_000:,}"),
    "thousands": _numbers(1000, 9_999_999, lambda n: f"{n:,}", lambda n: n),
    "decimal comma": _numbers(1000, 99_999, lambda n: f"{n / 100:.2f}".replace(".", ","), lambda n: f"{n / 100:.2f}"),
    "currency": _numbers(1000, 999_999, lambda n: f"${n / 100:,.2f}", lambda n: n / 100),
    "ISBN": lambda rng: [isbn(f"{n:09d}") for n in rng.sample(range(10**9), N)],
    "hexadecimal": _numbers(10**4, 10**7, lambda n: n, lambda n: f"{n:x}"),
    "padded": _numbers(1, 90_000, lambda n: n, lambda n: f"{n:06d}"),
    "prefix": _numbers(1000, 90_000, lambda n: f"INV-{n}", lambda n: n),
    "US-CA": lambda rng: [(f"US-{code}", code) for code in STATES.values()],
    "Texas with TX": lambda rng: list(STATES.items()),
    "teams": _teams,
    "Chinese names": _chinese,
    "accents": lambda rng: [(f"{a} {b}", plain(f"{a} {b}")) for a, b in names(rng)],
    "surname first": lambda rng: [(f"{b}, {a}", f"{a} {b}") for a, b in names(rng)],
    "two columns with a name": lambda rng: [((a, b), f"{a} {b}") for a, b in names(rng)],
    "user names": lambda rng: [(f"{a} {b}", f"{a.lower()}.{b.lower()}@example.org") for a, b in names(rng)],
    "telephone": lambda rng: [
        (f"({n[:3]}) {n[3:6]}-{n[6:]}", f"{n[:3]}.{n[3:6]}.{n[6:]}")
        for n in (str(rng.randrange(2 * 10**9, 10**10)) for _ in range(N))
    ],
    "a quarter mistyped": lambda rng: [
        (f"{a} {b}", mistyped(f"{a} {b}", rng) if i % 4 == 0 else f"{a} {b}") for i, (a, b) in enumerate(names(rng))
    ],
    "footnotes": lambda rng: [
        (f"{a} {b}" + (" [1]" if i % 3 == 0 else ""), f"{a} {b}") for i, (a, b) in enumerate(names(rng))
    ],
    "addresses": lambda rng: [
        (f"{n} {rng.choice(FAMILY)} Street, {rng.choice(list(STATES))}", n) for n in rng.sample(range(10, 9999), N)
    ],
    "file names": lambda rng: [(f"/data/in/run_{n:05d}.csv", f"run_{n:05d}") for n in rng.sample(range(10**5), N)],
}
"""Name → function of a generator that gives the keys of both tables; a tuple is a key of several columns."""
LEAST_RECALL = {"a quarter mistyped": 0.9}


def frame(keys, order, prefix):
    if isinstance(keys[0], tuple):
        columns = {f"{prefix}{i}": [keys[row][i] for row in order] for i in range(len(keys[0]))}
    else:
        columns = {f"{prefix}key": [keys[row] for row in order]}
    return pd.DataFrame(columns | {f"{prefix}row": [f"{prefix}#{row * 7919 % 100_003:05d}x{row}" for row in order]})


def joined(name, seed):
    """Return precision and recall of the join of two tables without names."""
    rng = random.Random(seed)
    pairs = CASES[name](rng)
    orders = [rng.sample(range(len(pairs)), len(pairs)) for _ in range(2)]
    left, right = (frame([pair[i] for pair in pairs], orders[i], "ab"[i]) for i in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = dfjoin.auto_join(left, right, how="inner", aggregate=None, on_no_match="ignore", max_expansion=1e6)
    if not wide.attrs["dfjoin"]["joined"]:
        return 1.0, 0.0
    own, theirs = ([int(text.partition("x")[2]) for text in wide[f"{side}row"]] for side in "ab")
    right_pairs = {(i, i) for i, j in zip(own, theirs, strict=True) if pairs[i] == pairs[j]}
    return float(np.mean([pairs[i] == pairs[j] for i, j in zip(own, theirs, strict=True)])), len(right_pairs) / len(
        pairs
    )


@pytest.mark.parametrize("name", CASES)
def test_everyday_pairs_are_joined(name):
    precision, recall = joined(name, 1)
    assert precision >= 0.99
    assert recall >= LEAST_RECALL.get(name, 0.98)


def test_states_are_joined_with_their_codes_where_the_tables_have_nothing_else():
    left, right = pd.DataFrame({"state": list(STATES)}), pd.DataFrame({"code": list(STATES.values())[::-1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = dfjoin.auto_join(left, right, aggregate=None)
    assert wide["code"].tolist() == list(STATES.values())


def test_days_and_months_that_may_be_exchanged_are_not_guessed():
    dates = [datetime.date(2000 + y, m, d) for y in range(4) for m in range(1, 13) for d in range(1, 13)]
    left = pd.DataFrame({"a": [d.strftime("%m/%d/%Y") for d in dates]})
    right = pd.DataFrame({"b": [d.strftime("%Y-%m-%d") for d in dates[::-1]]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not dfjoin.auto_join(left, right, on_no_match="ignore").attrs["dfjoin"]["joined"]
