import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.fuzzy_join import apply_fuzzy, find_fuzzy
from dfjoin.fuzzy.result import FuzzySettings
from dfjoin.fuzzy.texts import fold_text

FIRST = ["anna", "bernd", "carla", "dmitri", "elena", "farid", "greta", "hiro", "ines", "jakob", "katya", "luis"]
LAST = [
    "abbott",
    "bianchi",
    "castellano",
    "dvorak",
    "eriksson",
    "fitzgerald",
    "gruber",
    "hashimoto",
    "ivanova",
    "jankowski",
]
PEOPLE = [f"{first.title()} {last.title()}" for first in FIRST for last in LAST]


def mess_up(name, rng):
    first, last = name.split()
    at = int(rng.integers(1, len(last)))
    forms = [f"{last}, {first}", f"{first} {last[:at]}{last[at + 1 :]}", f"Dr. {name.upper()}", f"{name} (b. 1970)"]
    return forms[int(rng.integers(4))]


@pytest.fixture(scope="module")
def people():
    """A reference of 120 names and 80 queries: 60 spelled differently, 20 of strangers."""
    rng = np.random.default_rng(7)
    chosen = rng.permutation(120)[:60]
    strangers = [f"{a}{b}wick" for a in ("zul", "qor", "wex", "yop") for b in ("mo", "ti", "ra", "fu", "ne")]
    return PEOPLE, [*(mess_up(PEOPLE[i], rng) for i in chosen), *strangers], chosen


def pairs(found):
    return list(zip(found.left_rows.tolist(), found.right_rows.tolist(), strict=True))


def find(left, right, **options):
    return find_fuzzy(pa.array(left, pa.string()), pa.array(right, pa.string()), **options)


def test_differently_spelled_names_are_joined_and_strangers_are_not(people):
    reference, query, chosen = people
    found = find(reference, query)
    truth = {(int(row), i) for i, row in enumerate(chosen)}
    assert len(truth & set(pairs(found))) >= 0.95 * len(found)
    assert len(truth & set(pairs(found))) >= 0.8 * len(truth)
    assert found.settings.reference == "left"
    assert found.estimated_precision >= 0.95
    assert 0.5 < found.estimated_recall <= 1
    assert (found.errors <= 0.05).all()
    assert ((found.distances >= 0) & (found.distances < 1)).all()
    assert f"{len(found)} of 80 texts joined" in found.reason


def test_sides_can_be_swapped(people):
    reference, query, _ = people
    there, back = find(reference, query), find(query, reference)
    assert back.settings.reference == "right"
    assert sorted((b, a) for a, b in pairs(back)) == pairs(there)


@settings(max_examples=8)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(people, random):
    reference, query, _ = people
    order, other = list(range(len(reference))), list(range(len(query)))
    random.shuffle(order)
    random.shuffle(other)
    expected = pairs(find(reference, query))
    found = find([reference[i] for i in order], [query[i] for i in other])
    assert sorted((order[a], other[b]) for a, b in pairs(found)) == expected


@settings(max_examples=15)
@given(
    st.lists(st.one_of(st.none(), st.sampled_from(PEOPLE), st.text(max_size=6)), max_size=30),
    st.lists(st.one_of(st.none(), st.sampled_from(PEOPLE), st.text(max_size=6)), max_size=30),
)
def test_constraints_hold_and_nulls_match_nothing(left, right):
    found = find(left, right, precision=0.0)
    texts = {(fold_text(left[a] or ""), fold_text(right[b] or "")) for a, b in pairs(found)}
    assert all(a and b for a, b in texts)
    assert len(set(pairs(found))) == len(found)
    if len(found):
        query = 1 if found.settings.reference == "left" else 0
        assert len({pair[query] for pair in texts}) == len(texts), "a query text has one partner"


def test_rows_with_equal_texts_share_their_matches(people):
    reference, query, _ = people
    plain = find(reference, query)
    doubled = find([*reference, None, reference[0].upper()], [None, query[0], *query])
    assert doubled.settings.reference == plain.settings.reference
    expected = {(a, b + 2) for a, b in pairs(plain)}
    expected |= {(a, 1) for a, b in pairs(plain) if b == 0}
    expected |= {(121, b) for a, b in expected if a == 0}
    assert set(pairs(doubled)) == expected


def test_known_rows_are_not_joined_again(people):
    reference, query, chosen = people
    known = chosen[:30], np.arange(30)
    found = find(reference, query, known=known)
    assert found.right_rows.min() >= 30
    assert {(int(chosen[b]), b) for _, b in pairs(found) if b < 60} >= {p for p in pairs(found) if p[1] < 60}
    assert len(found) >= 24


def test_known_rows_that_contradict_the_nearest_text_stop_the_join(people):
    reference, query, chosen = people
    wrong = np.roll(chosen[:40], 1), np.arange(40)
    found = find(reference, query, known=wrong)
    assert len(found) == 0
    assert "no fuzzy join: by estimate at best 0.0% of the pairs would be right" in found.reason


CAPITALS = [
    "Wien",
    "Paris",
    "Roma",
    "Madrid",
    "Lisboa",
    "Oslo",
    "Stockholm",
    "Helsinki",
    "Kyiv",
    "Warszawa",
    "Praha",
    "Budapest",
    "Sofia",
    "Athina",
]
COUNTRIES = [
    "Austria",
    "France",
    "Italy",
    "Spain",
    "Portugal",
    "Norway",
    "Sweden",
    "Finland",
    "Ukraine",
    "Poland",
    "Czechia",
    "Hungary",
]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (CAPITALS, COUNTRIES),
        (PEOPLE, CAPITALS),
        ([name[:3].upper() for name in CAPITALS], COUNTRIES),
        (PEOPLE, [f"{i:05d}" for i in range(300)]),
    ],
)
def test_columns_related_by_meaning_or_by_nothing_are_not_joined(left, right):
    found = find(left, right)
    assert len(found) == 0
    assert found.settings is None
    assert found.estimated_precision is None
    assert found.reason.startswith("no fuzzy join: ")
    assert found.to_dict()["settings"] is None


def test_a_word_that_one_reference_text_happens_to_have_joins_nothing():
    left = [f"University of {city}" for city in CAPITALS * 3]
    right = [*PEOPLE, "University Museum, Santa Barbara"]
    found = find([f"{name} {i % 3}" for i, name in enumerate(left)], right)
    assert len(found) == 0


def test_random_columns_are_not_joined(rng):
    joined = 0
    for _ in range(10):
        left, right = (["".join(rng.choice(list("abcdefgh"), 8)) for _ in range(60)] for _ in range(2))
        joined += len(find(left, right)) > 0
    assert joined == 0


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ([], [], "the right column has 0 distinct texts, and precision is not estimated from fewer than 10"),
        ([None], ["a", "b"], "the right column has 2 distinct texts"),
        (PEOPLE, [], "no text is left to join"),
        (PEOPLE, [None, ""], "no text is left to join"),
        (PEOPLE, ["+", "??"], "by estimate at best 0.0% of the pairs would be right, and 95.0% are asked for"),
    ],
)
def test_columns_with_too_little_are_not_joined(left, right, reason):
    found = find(left, right)
    assert len(found) == 0
    assert reason in found.reason


def test_columns_must_be_of_strings():
    with pytest.raises(InvalidTypeError, match=r"`left` must be a pyarrow array of strings, got int64; cast it"):
        find_fuzzy(pa.array([1]), pa.array(["a"]))
    with pytest.raises(InvalidTypeError, match=r"`right` must be a pyarrow array of strings, got list; cast it"):
        find_fuzzy(pa.array(["a"]), ["a"])


def test_precision_must_be_a_fraction():
    with pytest.raises(InvalidParameterError, match=r"`precision` must be between 0 and 1, got 95"):
        find(["a"], ["b"], precision=95)


@pytest.mark.parametrize("known", [([0], [5]), ([-1], [0]), ([0, 1], [0])])
def test_known_must_name_rows(known):
    message = (
        r"`known` must be two arrays of the same length, of left rows below 2 and right rows below 1, got \d and 1"
    )
    with pytest.raises(InvalidParameterError, match=message):
        find(["a", "b"], ["b"], known=known)


def shops(rng, n=150):
    """Shops of two directories: chains have many branches, told apart by street and telephone alone."""
    chains = ["burger barn", "noodle house", "corner bakery", "pizza port", "taco shack"]
    streets = [f"{a}{b} st" for a in ("oak", "elm", "pine", "mill", "lake") for b in ("wood", "ridge", "view", "ton")]
    left = [
        (
            chains[rng.integers(5)],
            f"{rng.integers(1, 999)} {streets[rng.integers(20)]}",
            f"555-{rng.integers(10**4):04d}",
        )
        for _ in range(n)
    ]
    right = []
    for name, street, phone in left[: n // 2]:
        number, *rest = street.split()
        right.append((f"{name} inc", f"{number} {' '.join(rest)}reet", None if rng.random() < 0.3 else phone))
    for name, street, _ in left[n // 2 : n * 3 // 4]:  # other branches in the same street
        number, *rest = street.split()
        other = int(number) + 2
        right.append((name, f"{other} {' '.join(rest)}", f"555-{rng.integers(10**4):04d}"))
    return left, right


def structs(rows):
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.StructArray.from_arrays(columns, ["name", "street", "phone"])


def test_composite_keys_are_compared_column_by_column(rng):
    left, right = shops(rng)
    found = find_fuzzy(structs(left), structs(right))
    truth = {(i, i) for i in range(75)}
    hits = truth & set(pairs(found))
    assert len(hits) >= 0.9 * len(found) and len(hits) >= 0.9 * len(truth)
    as_text = set(pairs(find(*([" ".join(part or "" for part in row) for row in side] for side in (left, right)))))
    assert len(set(pairs(found)) - truth) <= len(as_text - truth) and len(hits) >= len(as_text & truth)
    silent = {i for i in range(75) if right[i][2] is None}
    assert len(silent & {i for i, _ in hits}) >= 0.9 * len(silent) > 10, "a telephone that is missing says nothing"
    weights = np.array(found.settings.weights)
    assert weights.shape == (3, 9) and weights[2, -1] > weights[0, -1], "a telephone says more than a chain"


def test_weights_of_columns_are_those_of_the_earlier_join(rng):
    left, right = shops(rng)
    found = find_fuzzy(structs(left), structs(right))
    again = apply_fuzzy(structs(left), structs(right), found.settings)
    assert pairs(again) == pairs(found) and again.settings == found.settings
    half = apply_fuzzy(structs(left), structs(right[:5]), found.settings)
    assert set(pairs(half)) <= {(i, i) for i in range(5)} and len(half)
    alone = replace(found.settings, weights=None)
    assert apply_fuzzy(structs(left), structs(right), alone).settings.weights is None
    with pytest.raises(InvalidParameterError, match=r"as many columns as are joined \(3\), got 2"):
        apply_fuzzy(structs(left), structs(right), replace(found.settings, weights=found.settings.weights[:2]))


FIRMS = [
    f"{first} {trade} {kind}"
    for first in ("Acme", "Global", "United", "Pacific", "Northern")
    for trade in ("Steel", "Foods", "Motors", "Energy", "Textiles", "Logistics")
    for kind in ("Inc", "Ltd")
]


def misspelled():
    """Firms with a letter left out of each."""
    rng = np.random.default_rng(3)
    places = [int(rng.integers(1, len(name) - 1)) for name in FIRMS]
    return [name[:at] + name[at + 1 :] for name, at in zip(FIRMS, places, strict=True)]


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_a_few_rows_are_joined_as_all_rows_were(n):
    left, right = pa.array(misspelled()), pa.array(FIRMS)
    found = find_fuzzy(left, right)
    again = apply_fuzzy(left.slice(0, n), right, found.settings)
    assert again.settings == found.settings and found.settings.odds_shift != 0
    assert set(pairs(again)) <= {(i, i) for i in range(n)} and len(again) >= max(1, 0.8 * n)
    nothing = apply_fuzzy(pa.array(["Quartz Bakery GmbH"] * n), right, found.settings)
    assert len(nothing) == 0


def test_a_plan_gives_pairs_the_probabilities_that_they_had():
    left, right = pa.array(misspelled()), pa.array(FIRMS)
    found = find_fuzzy(left, right)
    again = apply_fuzzy(left, right, FuzzySettings.from_dict(found.settings.to_dict()))
    assert pairs(again) == pairs(found)
    np.testing.assert_allclose(again.chances, found.chances, rtol=1e-9)


def test_composite_keys_must_have_the_same_columns(rng):
    left, _ = shops(rng)
    with pytest.raises(InvalidTypeError, match=r"as many fields as `left` \(3\), got 1; put columns"):
        find_fuzzy(structs(left), pa.array(["a"]))
    numbers = pa.StructArray.from_arrays([pa.array([1]), pa.array(["a"])], ["id", "name"])
    with pytest.raises(InvalidTypeError, match=r"`left\.id` must be a pyarrow array of strings, got int64"):
        find_fuzzy(numbers, numbers)


_LONG_JOIN = """
import time
import numpy as np
import pyarrow as pa
from dfjoin.fuzzy.fuzzy_join import apply_fuzzy, find_fuzzy

words = np.random.default_rng(0).zipf(1.3, (60_000, 8)) % 50_000
texts = [" ".join(f"{word * 7919:x}" for word in row) for row in words.tolist()]
find_fuzzy(pa.array(texts[:500]), pa.array([text[:-1] + "q" for text in texts[:500]]))  # compiles all kernels
print("ready", flush=True)
try:
    find_fuzzy(pa.array(texts), pa.array([text[:-1] + "q" for text in texts]))
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to a process")
@pytest.mark.parametrize("delay", [0.2, 3.0])
def test_an_interrupt_ends_a_long_join_within_two_seconds(delay):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _LONG_JOIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert output, f"the join ended before the interrupt, or raised something else: {errors}"
    assert float(output) - sent < 2
    assert "Error" not in errors


def test_chinese_firms_in_other_forms_are_joined_and_strangers_are_not():
    rng = np.random.default_rng(0)
    letters = list("华东南西北新大中金银海天龙凤光明宏伟科创智信达通联合富贵安康平泰和美好友谊星河江山")
    cities, trades = ["北京", "上海", "广州", "深圳", "成都", "杭州"], ["科技", "贸易", "电子", "食品", "医药", "机械"]
    drawn = (
        (str(rng.choice(cities)), "".join(rng.choice(letters, rng.integers(2, 4))), str(rng.choice(trades)))
        for _ in range(160)
    )
    firms = list(dict.fromkeys(drawn))
    forms = ["{1}{2}（{0}）有限公司", "{0}市{1}{2}股份有限公司", "{0}{1}{2}公司", "{1}{2}"]
    own = [f"{city}{name}{trade}有限公司" for city, name, trade in firms[:120]]
    other = [forms[i % 4].format(*firm) for i, firm in enumerate(firms[40:])]  # the last 40 are strangers
    found = set(pairs(find(own, other, precision=0.9)))
    right = {(i + 40, i) for i in range(80)}
    assert len(found & right) >= 72 and len(found - right) <= 0.15 * len(found)
    assert not len(find(own[:60], own[60:], precision=0.9)), "different firms"


def test_words_that_differ_in_vowel_signs_or_voice_are_other_words():
    hindi = ["काला", "दिन", "मील", "सुर", "बल", "पिता", "फूल", "चाल", "जल", "तारा", "नदी", "रेत"]
    other = ["कली", "दान", "मेल", "सार", "बेल", "पता", "फल", "चील", "जाल", "तीर", "नाद", "रात"]
    assert pairs(find(hindi, [*other, *hindi], precision=0.9)) == [(i, i + 12) for i in range(12)]
    assert pairs(find([*hindi, "パリ"], ["バリ", *hindi], precision=0.9)) == [(i, i + 1) for i in range(12)]
