"""Relating two tables: keys as data, programs, what these leave, or nothing."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import SavedRelation
from dfjoin.join.relation import relate as relate_module
from dfjoin.join.relation.key_relation import KINDS, KeyPairs, distinct_keys
from dfjoin.join.relation.pair_keys import texts_to_compare
from dfjoin.join.relation.relate import relate, relate_again
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.values.shares import FEW, SOME

CELLS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "A", "é", "a b"]))
OPTIONS = JoinOptions(transform=True, fuzzy=True)

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
STREETS = [f"{tree} {kind}" for tree in ("Elm", "Oak", "Ash", "Fir") for kind in ("Street", "Lane", "Road", "Way")]

FIRST = [
    "Ann",
    "Bea",
    "Cid",
    "Dan",
    "Eve",
    "Fay",
    "Gus",
    "Hal",
    "Ivy",
    "Jan",
    "Kim",
    "Lea",
    "Max",
    "Ned",
    "Ola",
    "Pam",
    "Quy",
    "Ray",
    "Sue",
    "Tom",
]
LAST = [
    "Adler",
    "Brook",
    "Crane",
    "Drake",
    "Eagle",
    "Finch",
    "Goose",
    "Heron",
    "Ibis",
    "Jay",
    "Kite",
    "Lark",
    "Merle",
    "Noddy",
    "Osprey",
    "Plover",
    "Quail",
    "Raven",
    "Swan",
    "Tern",
]


def strings(values):
    return pa.array(values, pa.string())


def table(**columns):
    return {name: Column(name, strings(values)) for name, values in columns.items()}


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30))
def test_keys_are_the_distinct_rows(rows):
    columns = {"a": strings([a for a, _ in rows]), "b": strings([b for _, b in rows])}
    keys = distinct_keys(columns)
    assert keys.index.n_keys == len(set(rows))
    held = list(zip(keys.columns["a"].to_pylist(), keys.columns["b"].to_pylist(), strict=True))
    assert [held[code] for code in keys.index.codes] == rows
    assert keys.texts().to_pylist() == [" ".join(part or "" for part in row) for row in held]
    assert distinct_keys({"a": columns["a"]}).texts().null_count == sum(a is None for a in {a for a, _ in rows})


def test_a_table_without_rows_has_no_keys():
    keys = distinct_keys({"a": strings([])})
    assert keys.index.n_keys == 0 and keys.index.codes.size == 0 and len(keys.texts()) == 0


@pytest.fixture
def people():
    left = table(name=[f"{last}, {first}" for first, last in zip(FIRST, LAST, strict=True)])
    right = table(person=[f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)][::-1])
    return left, right


def test_a_program_relates_each_key_to_its_own(people):
    relation, tried = relate(*people, None, None, OPTIONS)
    assert relation.left_columns == ["name"] and relation.right_columns == ["person"]
    assert relation.pairs.left.tolist() == list(range(20))
    assert relation.pairs.right.tolist() == list(range(20))[::-1]
    assert set(relation.pairs.kinds.tolist()) == {KINDS.index("program")} and not relation.pairs.distances.any()
    assert relation.fuzzy is None, "nothing was left over"
    described = relation.describe()
    assert described["n_keys"] == {"equal": 0, "program": 20, "fuzzy": 0}
    assert described["transform"]["programs"][0]["support"] == 20 and "tried" not in described["transform"]
    assert isinstance(tried, list)


def test_what_the_program_leaves_is_joined_by_likeness(people):
    left, _ = people
    spelled = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    spelled[3], spelled[7] = "Daan Draqe", "Hall Herorn"
    relation, _ = relate(left, table(person=spelled), None, None, replace(OPTIONS, precision=0.8))
    found = dict(zip(relation.pairs.left.tolist(), relation.pairs.right.tolist(), strict=True))
    assert all(found[i] == i for i in found)
    by_kind = {kind: set(relation.pairs.left[relation.pairs.kinds == n].tolist()) for n, kind in enumerate(KINDS)}
    assert by_kind["program"] == set(range(20)) - {3, 7}
    assert by_kind["fuzzy"] <= {3, 7}
    assert (relation.pairs.distances[relation.pairs.kinds == KINDS.index("fuzzy")] > 0).all()
    alone, _ = relate(left, table(person=spelled), None, None, replace(OPTIONS, fuzzy=False))
    assert alone.fuzzy is None and set(alone.pairs.left.tolist()) == by_kind["program"]


def test_each_pair_stands_once_and_in_order(people):
    left, right = people
    twice = table(person=2 * right["person"].array.to_pylist())
    relation, _ = relate(left, twice, None, None, OPTIONS)
    pairs = list(zip(relation.pairs.left.tolist(), relation.pairs.right.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_unrelated_tables_have_no_relation():
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, 8)) for _ in range(80)]
    relation, tried = relate(table(x=words[:40]), table(y=words[40:]), None, None, OPTIONS)
    assert relation is None
    assert all(isinstance(line, str) and line for line in tried)


def test_keys_that_the_caller_names_are_those_that_are_related(people):
    left, right = people
    wider = {**right, **table(note=[f"note {i}" for i in range(20)])}
    relation, _ = relate(left, wider, ["name"], ["person"], OPTIONS)
    assert relation.right_columns == ["person"] and relation.pairs.left.size == 20
    none, tried = relate(left, wider, ["name"], ["note"], OPTIONS)
    assert none is None and any("name = note" in line for line in tried)


def test_examples_teach_a_program(people):
    left, right = people
    given_ = [("Adler, Ann", "Ann Adler"), ("Brook, Bea", "Bea Brook")]
    relation, _ = relate(left, right, ["name"], ["person"], replace(OPTIONS, examples=given_))
    assert relation.pairs.left.size == 20


def test_codes_that_a_program_leaves_are_not_joined_by_likeness():
    numbers = np.random.default_rng(5).choice(90_000, 80, replace=False) + 10_000
    left = table(code=[f"INV-{n}" for n in numbers])
    right = table(invoice=[f"{n}/INV" for n in [*numbers[:60], *(numbers[60:] + 1)]])
    relation, tried = relate(left, right, None, None, OPTIONS)
    assert relation.fuzzy is None and relation.pairs.left.size == 60
    assert any("differ by digits alone" in line for line in tried)


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        ([f"INV-2023-{i:04d}" for i in range(1, 60)], [f"INV-2022-{i:04d}" for i in range(1, 60)]),
        ([f"2023-{i:02d}" for i in range(1, 13)], [f"2022-{i:02d}" for i in range(1, 13)]),
        ([f"A-{i}" for i in range(100, 140)], [f"B-{i}" for i in range(100, 140)]),
        ([f"10.0.0.{i}" for i in range(1, 60)], [f"10.0.1.{i}" for i in range(1, 60)]),
        ([f"AB {i:03d} CD" for i in range(1, 60)], [f"AB {i:03d} CE" for i in range(1, 60)]),
        ([f"{month} 2023" for month in MONTHS], [f"{month} 2022" for month in MONTHS]),
        ([f"v1.{i}.0" for i in range(40)], [f"v2.{i}.0" for i in range(40)]),
        ([f"-{i / 7:.2f}" for i in range(20, 60)], [f"{i / 7:.2f}" for i in range(20, 60)]),
        ([f"{i} {street}" for i, street in enumerate(STREETS, 10)], [f"{i} {s}" for i, s in enumerate(STREETS, 60)]),
    ],
    ids=["invoices", "months", "letters", "hosts", "plates", "words", "versions", "signs", "addresses"],
)
def test_keys_that_differ_by_digits_or_sign_are_not_joined_by_likeness(own, theirs):
    sides = table(k=own), table(k=theirs)
    for named in (["k"], None):
        relation, _ = relate(*sides, named, named, replace(OPTIONS, transform=False))
        assert relation is None
    shared = table(k=[*own[: len(own) // 2], *theirs[len(own) // 2 :]])  # half of the keys are equal
    relation, _ = relate(sides[0], shared, ["k"], ["k"], replace(OPTIONS, transform=False))
    assert relation is None or not (relation.pairs.kinds == KINDS.index("fuzzy")).any()


def test_several_columns_are_compared_one_by_one_and_applied_as_they_were_learned(people):
    left, right = people
    n = min(len(left["name"].array), len(right["person"].array))
    sides = [
        table(name=column.array.to_pylist()[:n], town=[f"town {i % 7}" for i in range(n)])
        for column in (left["name"], right["person"])
    ]
    relation, _ = relate(*sides, ["name", "town"], ["name", "town"], OPTIONS)
    weights = relation.fuzzy.settings.weights
    assert len(weights) == 2
    saved = SavedRelation.from_dict(json.loads(json.dumps(relation.saved().to_dict())))
    again, _ = relate_again(saved, *sides)
    assert again.pairs.left.tolist() == relation.pairs.left.tolist()
    assert again.fuzzy.settings.weights == weights


def test_cells_that_list_keys_are_joined_by_their_values():
    rng = np.random.default_rng(3)
    names = [f"{a} {b}" for a, b in zip(FIRST, LAST, strict=True)]
    chosen = [rng.choice(20, int(rng.integers(1, 4)), replace=False) for _ in range(40)]
    cells = ["; ".join(names[i] for i in row) for row in chosen]
    cells[0] = cells[0][:-1] + "q"  # a misspelled name
    sides = table(authors=cells), table(person=names)
    relation, _ = relate(*sides, ["authors"], ["person"], replace(OPTIONS, precision=0.8))
    keys = relation.left.columns["authors"].to_pylist()
    found = {(keys[i], names[j]) for i, j in zip(relation.pairs.left, relation.pairs.right, strict=True)}
    expected = {(cell, names[i]) for cell, row in zip(cells, chosen, strict=True) for i in row}
    assert found <= expected and len(expected - found) <= 1
    assert relation.describe()["elements"] == {"side": "left", "separator": ";"}
    saved = SavedRelation.from_dict(json.loads(json.dumps(relation.saved().to_dict())))
    assert (saved.elements, saved.likeness) == (relation.elements, relation.saved().likeness)
    again, reason = relate_again(saved, table(authors=["Ann Adler; Xyz Qqqqq", None]), sides[1])
    assert reason == "" and again.pairs.left.tolist() == [0] and again.pairs.right.tolist() == [0]
    back, _ = relate(sides[1], sides[0], ["person"], ["authors"], replace(OPTIONS, precision=0.8))
    assert back.pairs.left.size == relation.pairs.left.size


def test_a_fuzzy_join_that_would_take_minutes_has_to_be_asked_for(people, monkeypatch):
    left, right = people
    monkeypatch.setattr(relate_module, "_QUICK_KEYS", 10)
    fewer = table(person=right["person"].array.to_pylist()[:15])
    spoilt = table(name=[*left["name"].array.to_pylist(), "Nobody at all"])
    relation, tried = relate(spoilt, fewer, None, None, replace(OPTIONS, fuzzy=None))
    assert relation.fuzzy is None and relation.pairs.left.size == 15
    assert any("6 keys are left to be joined by likeness with 15" in line and "fuzzy=True" in line for line in tried)
    assert relate(spoilt, fewer, None, None, OPTIONS)[0].fuzzy is not None
    monkeypatch.setattr(relate_module, "_QUICK_KEYS", 15)
    assert relate(spoilt, fewer, None, None, replace(OPTIONS, fuzzy=None))[0].fuzzy is not None, "15 are not above 15"


def test_few_keys_that_are_alike_relate_no_columns_that_nobody_named():
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 9)).capitalize() for _ in range(160)]
    shared = [f"{word} {other}" for word, other in zip(words[:2], words[2:4], strict=True)]
    left = table(x=[*(f"The {name}" for name in shared), *words[4:40]])
    right = table(y=[*shared, *words[40:80]])
    relation, tried = relate(left, right, None, None, OPTIONS)
    assert relation is None
    assert relate(left, right, ["x"], ["y"], OPTIONS)[0] is not None
    assert all("too few, where `on` does not name them" in line for line in tried if "equal or alike" in line)


@pytest.mark.parametrize(
    ("n", "n_alike", "n_equal", "is_related"),
    [(40, 10, 0, False), (40, 9, 1, True), (40, 18, 0, True), (12, 5, 0, False), (12, 4, 1, True), (12, 6, 0, True)],
)
def test_without_an_equal_key_two_fifths_have_to_be_alike_and_six(n, n_alike, n_equal, is_related):
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 9)).capitalize() for _ in range(120)]
    names = [f"{word} {other}" for word, other in zip(words[:n], words[40 : 40 + n], strict=True)]
    spoilt = [name[:3] + name[4:] for name in names[:n_alike]]
    left = table(x=names)
    right = table(y=[*spoilt, *names[n_alike : n_alike + n_equal], *words[80 : 80 + n - n_alike - n_equal]])
    options = replace(OPTIONS, transform=False)
    relation, tried = relate(left, right, None, None, options)
    assert (relation is not None) == is_related, tried
    assert relate(left, right, ["x"], ["y"], options)[0].pairs.left.size == n_alike + n_equal


def test_keys_that_programs_relate_in_canonical_form_only_are_counted(people):
    left, right = people
    spelled = [name.upper() if i % 4 == 0 else name for i, name in enumerate(right["person"].array.to_pylist())]
    relation, _ = relate(left, table(person=spelled), None, None, OPTIONS)
    made = relation.describe()["transform"]
    assert made["n_respelled"] == relation.n_respelled == 5
    (program,) = (Program.from_dict(entry["program"]) for entry in made["programs"] if entry["support"])
    texts = {program(name) for name in left["name"].array.to_pylist()} if program.columns == ("name",) else set()
    if texts:
        assert len(texts & set(spelled)) == 15
    assert relate(left, right, None, None, OPTIONS)[0].n_respelled == 0


def test_likeness_compares_whole_keys_where_a_program_relates_few_of_them():
    keys = distinct_keys({"a": pa.array(["north wei state", "south wei state"])})
    first = RankedProgram(Program(("a",), (Extract(0, (Split(" ", 0),)),)), 1, 0.1, 1.0, 20.0)
    for share, expected in ((0.4, ["north wei state", "south wei state"]), (0.6, ["north", "south"])):
        programs = TransformJoin("left_to_right", ("a",), ("b",), Program.identity("b"), (first,), 0.1, share)
        other = distinct_keys({"b": pa.array(["north", "south"])})
        assert texts_to_compare(programs, keys, other)[0].to_pylist() == expected


@pytest.mark.parametrize("kind", ["equal", "fuzzy"])
def test_likeness_that_nobody_named_columns_for_joins_enough_keys_and_a_share_of_one_side(kind):
    """At the least number of keys and the least share it relates two columns; one key less, or one beside it more, and not."""
    least, share = {
        "equal": (FEW, SOME),
        "fuzzy": (2 * FEW, 2 * SOME),
    }[kind]
    most = int(least / share)

    def is_common(n_pairs, n_left, n_right):
        numbers = np.arange(n_pairs)
        kinds = np.full(n_pairs, KINDS.index(kind), np.int8)
        return relate_module._is_common(
            KeyPairs(numbers, numbers, kinds, np.zeros(n_pairs), np.ones(n_pairs)), n_left, n_right
        )

    assert is_common(least, most, 10 * most) and is_common(least, 10 * most, most)
    assert not is_common(least, most + 1, most + 1)
    assert not is_common(least - 1, least - 1, least - 1)


def test_names_are_compared_where_descriptions_share_more_words_and_are_not_alike():
    rng = np.random.default_rng(3)
    makers = ["Sony", "Bose", "Canon", "Linksys", "Panasonic", "Omnimount", "Delonghi", "Garmin", "Nikon", "Whirlpool"]
    kinds = ["turntable", "speaker system", "laser printer", "network switch", "wall mount", "coffee maker"]
    words = ["".join(rng.choice(list("abdefgiklmnoprstu"), rng.integers(4, 9))) for _ in range(300)]
    models = ["".join(rng.choice(list("bcdfghjkmnpqrstvwxz"), 3)) + str(rng.integers(100, 999)) for _ in range(60)]
    things = [(makers[i % 10], kinds[i % 6], model) for i, model in enumerate(models)]

    def describe():  # the same words, which say nothing about the thing
        return [" ".join(rng.permutation(words)[:15]) for _ in things]

    order = rng.permutation(len(things))
    items = [f"{maker} {kind} {model}" for maker, kind, model in things]
    titles = [
        f"{things[i][2][:3].upper()}{'-' * (i % 2)}{things[i][2][3:]} {things[i][1].title()} by {things[i][0]}"
        for i in order
    ]
    shop, rival = (
        {name: Column(name, pa.array(values)) for name, values in table.items()}
        for table in ({"item": items, "details": describe()}, {"about": describe(), "title": titles})
    )
    relation, tried = relate(shop, rival, None, None, JoinOptions(transform=False, fuzzy=True))
    assert (relation.left_columns, relation.right_columns) == (["item"], ["title"])
    own, other = relation.left.texts().to_pylist(), relation.right.texts().to_pylist()
    found = {(own[a], other[b]) for a, b in zip(relation.pairs.left, relation.pairs.right, strict=True)}
    right = {(items[thing], title) for thing, title in zip(order.tolist(), titles, strict=True)}
    assert found <= right and len(found) >= 54
    assert any(reason.startswith("details = about: ") for reason in tried)
    named, _ = relate(shop, rival, ["details"], None, JoinOptions(transform=False, fuzzy=True))
    assert named is None, "other columns are looked at where nobody names one"


def test_no_other_columns_are_compared_where_likeness_is_too_slow_for_the_first(monkeypatch):
    towns = ["Springfield", "Riverton", "Greenville", "Fairview", "Bristol", "Clinton", "Georgetown", "Salem"]
    towns += ["Madison", "Ashland", "Dover", "Oxford"]
    streets = [f"{street} {part}" for street in STREETS for part in ("north", "south", "middle")]
    left = table(address=streets, town=towns * 4)
    right = table(where=[f"at {street}" for street in streets], city=[f"{town} town" for town in towns] * 4)
    options = JoinOptions(transform=False)
    relation, _ = relate(left, right, None, None, options)
    assert (relation.left_columns, relation.right_columns) == (["address"], ["where"])
    monkeypatch.setattr(relate_module, "_QUICK_KEYS", 30)
    relation, tried = relate(left, right, None, None, options)
    assert relation is None, "towns are alike, but addresses are what relates the tables"
    assert len(tried) == 1 and "fuzzy=True to do it" in tried[0]


@pytest.mark.parametrize("named", [True, False])
def test_columns_of_very_long_texts_are_read_for_likeness_alone(named, monkeypatch):
    for name in ("find_programs", "relate_named", "relate_entities", "relate_names"):
        monkeypatch.setattr(relate_module, name, lambda *_, **__: pytest.fail("long texts are read"))
    numbers = np.random.default_rng(1).integers(0, 5_000, (50, 1_000))
    texts = [" ".join(f"w{number:x}" for number in row) for row in numbers]
    left, right = texts_of(a=texts), texts_of(b=[text.replace("w1", "v1") for text in texts])
    on = (["a"], ["b"]) if named else (None, None)
    relation, _ = relate(left, right, *on, JoinOptions())
    assert relation.pairs.left.tolist() == relation.pairs.right.tolist() == list(range(50))
    right = texts_of(b=[text[::-1] for text in texts])
    relation, tried = relate(left, right, *on, JoinOptions())
    assert relation is None and tried[0].startswith("a: texts of ") and tried[1].startswith("b: texts of ")
    assert tried[0].endswith("related by equality and likeness alone; pass `examples` to teach a program")


def test_a_column_of_very_long_texts_leaves_the_others_to_programs():
    numbers = [f"{i * 7919 % 100_003:05d}" for i in range(40)]
    long = ["text " * 1_200 + number for number in numbers]
    left, right = texts_of(a=[f"no {n}" for n in numbers], text=long), texts_of(b=numbers)
    relation, tried = relate(left, right, None, None, JoinOptions())
    assert (relation.left_columns, relation.pairs.left.size, tried) == (["a"], 40, [])
    taught = JoinOptions(examples=((long[0], numbers[0]), (long[1], numbers[1])))
    assert relate(left, right, ["text"], ["b"], taught)[0].pairs.left.size == 40
    with pytest.raises(InvalidParameterError, match="no column of text"):
        relate({}, right, None, None, taught)


def texts_of(**columns):
    return {name: Column(name, pa.array(texts)) for name, texts in columns.items()}
