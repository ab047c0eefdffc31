import pyarrow as pa
import pytest

from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.pair_signatures import SignedValues, signature_pairs

NAMES = [
    *("Association Computing Machinery", "Principles Of Programming Languages", "World Health Organization"),
    *("Special Interest Group on Management Of Data", "International Monetary Fund", "European Space Agency"),
]
CODES = ["ACM", "POPL", "WHO", "SIGMOD", "IMF", "ESA"]
STATES = ["Texas", "Ohio", "Utah", "Maine", "Iowa", "Nevada", "Oregon", "Kansas"]
SHORT = ["TX", "OH", "UT", "ME", "IA", "NV", "OR", "KS"]
TEAMS = [f"{side} {kind}" for side in ("North", "South", "East", "West") for kind in ("City", "Town", "Rovers")]
FIXTURES = [
    (a, b) if (i + j) % 3 else (b, a) for i, a in enumerate(TEAMS) for j, b in enumerate(TEAMS[:i]) if i * j % 2
]
CHINESE = [a + " " + b for a in "王李张刘陈杨赵黄" for b in ("伟", "芳娜", "敏静", "丽强")][::2]


def pairs_of(left, right):
    """The pairs of values of each kind of signature."""
    source, target = SignedValues(Column("a", pa.array(left))), SignedValues(Column("b", pa.array(right)))
    found = []
    for pairs in signature_pairs(source, target):
        found.append({(left[i], right[j]) for i, j in zip(pairs.left, pairs.right, strict=True)})
    return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (NAMES, CODES),
        (STATES, SHORT),
        ([f"US-{code}" for code in SHORT], SHORT),
        ([f"{a} vs {b}" for a, b in FIXTURES], [f"{b} {a}" for a, b in FIXTURES]),
        (["Week 5, 2023", "Week 12, 2021", "Week 40, 2022"], ["2023 05", "2021 12", "2022 40"]),
        (CHINESE, [name.replace(" ", "") for name in CHINESE]),
    ],
    ids=["initials", "lookup", "short words", "words", "numbers", "squeezed"],
)
def test_right_pairs_have_a_signature(left, right):
    truth = set(zip(left, right, strict=True))
    assert any(len(found & truth) >= 0.8 * len(truth) for found in pairs_of(left, right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["a", "b"], ["a", "b"]),
        ([], []),
        ([None], ["x"]),
        (["one", "two", "three"], ["9", "8", "7"]),
        (["x" * 300] * 4, ["x"]),
    ],
)
def test_too_few_pairs_are_none(left, right):
    assert pairs_of(left, right) == []


def test_a_signature_of_many_values_pairs_none():
    assert pairs_of([f"Ann Bob{'x' * i}" for i in range(20)], ["AB", "CD", "EF"]) == []


def test_the_score_is_that_of_the_rarest_signature():
    (pairs,) = signature_pairs(
        SignedValues(Column("a", pa.array(["Ann Bell", "Abe Boyd", "Cid Dorn", "Eva Fink"]))),
        SignedValues(Column("b", pa.array(["AB", "CD", "EF"]))),
    )
    assert sorted(pairs.score.tolist()) == [0.5, 0.5, 1.0, 1.0]
    assert set(pairs.length.tolist()) == {2}


def joined(left, right):
    """The joined pairs of rows."""
    rows = join_rows(find_programs(left, right), left, right)
    return sorted(zip(rows.left_rows.tolist(), rows.right_rows.tolist(), strict=True))


@pytest.mark.parametrize(
    ("left", "right"), [(NAMES, CODES), (STATES * 1, SHORT), (CHINESE, [n.replace(" ", "") for n in CHINESE])]
)
def test_programs_are_learned_from_such_pairs(left, right):
    order = list(range(len(left)))[::-1]
    found = joined({"a": pa.array(left)}, {"b": pa.array([right[i] for i in order])})
    assert found == [(i, order.index(i)) for i in range(len(left))]


def test_columns_that_are_a_key_together_are_reached_beside_a_key_of_another_kind():
    right = {
        "home": pa.array([a for a, _ in FIXTURES]),
        "away": pa.array([b for _, b in FIXTURES]),
        "code": pa.array([f"z{i}" for i in range(len(FIXTURES))]),
    }
    left = {"match": pa.array([f"{a} vs {b}" for a, b in FIXTURES])}
    assert joined(left, right) == [(i, i) for i in range(len(FIXTURES))]


def test_a_code_that_repeats_joins_many_to_one(rng):
    codes = ["".join(rng.choice(list("ABCDEFGHIJKLMNOPRSTUVW"), 4)) for _ in range(25)]
    left = {"name": pa.array([" ".join(c + tail for c in code) for code in codes for tail in ("olme", "abst")])}
    assert len(joined(left, {"code": pa.array(codes)})) == 50


@pytest.mark.parametrize("seed", range(4))
def test_unrelated_texts_join_nothing(seed, rng):
    letters = list("abcdefghijklmnopqrstuvwxyz")
    names = [" ".join("".join(rng.choice(letters, 6)).title() for _ in range(3)) for _ in range(60)]
    codes = sorted({"".join(rng.choice(letters, 3)).upper() for _ in range(60)})
    assert joined({"a": pa.array(names)}, {"b": pa.array(codes)}) == []
