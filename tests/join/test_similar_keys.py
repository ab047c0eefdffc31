"""Which columns a join by similarity takes for keys."""

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.join.relation import pair_keys
from dfjoin.join.relation.pair_keys import choose_similar_keys, is_named_by_words
from dfjoin.transform.evidence.prepared_columns import Column

BIRDS = [
    "heron",
    "osprey",
    "plover",
    "quail",
    "raven",
    "swan",
    "tern",
    "kite",
    "lark",
    "merle",
    "noddy",
    "ibis",
    "goose",
    "finch",
    "eagle",
    "drake",
]
TREES = [
    "alder",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "holly",
    "juniper",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "spruce",
    "willow",
    "yew",
]


def table(**columns):
    return {name: Column(name, pa.array(values, pa.string())) for name, values in columns.items()}


def test_chinese_names_share_pairs_of_characters():
    names = [
        "大华科技",
        "星河贸易",
        "长安机械",
        "明珠食品",
        "东海物流",
        "金山软件",
        "蓝天航空",
        "白云药业",
        "红星家居",
        "绿洲农业",
    ]
    own, other = [f"北京{name}有限公司" for name in names], [f"{name}（北京）" for name in names]
    left = table(number=[f"A{i}" for i in range(10)], firm=own)
    assert choose_similar_keys(left, table(code=[f"B{i}" for i in range(10)], name=other)) == ("firm", "name")
    assert choose_similar_keys(left, table(name=["".join(reversed(name)) for name in names])) is None


def test_the_chosen_columns_share_rare_words():
    left = table(id=[str(i) for i in range(30)], name=[f"the {w} inn" for w in BIRDS])
    right = table(kind=["inn", "pub"] * 10, house=[f"{w.title()} Hotel" for w in BIRDS])
    assert choose_similar_keys(left, right) == ("name", "house")
    assert choose_similar_keys(table(a=["x"] * 50), right) is None, "too few distinct values"
    assert choose_similar_keys(left, table(a=TREES)) is None
    assert choose_similar_keys(left, table()) is None


def test_words_of_other_alphabets_count():
    left = table(
        name=[
            f"Улица {w}"
            for w in ["Липовая", "Новая", "Старая", "Лесная", "Речная", "Горная", "Южная", "Зимняя", "Летняя", "Тихая"]
        ]
    )
    right = table(street=[f"{v.split()[1]} (улица)" for v in left["name"].array.to_pylist()])
    assert choose_similar_keys(left, right) == ("name", "street")


@pytest.mark.parametrize("n", [12, 300, 40_000])
def test_the_number_of_rows_does_not_matter(n, monkeypatch):
    monkeypatch.setattr(pair_keys, "_MAX_WORDS", 500)
    rng = np.random.default_rng(n)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(word) for word in rng.choice(letters, (2 * n, 6))]
    names = [f"{a} {b}" for a, b in zip(words[::2], words[1::2], strict=True)]
    spelled = [name[:-1] + "z" for name in names]
    left = table(city=rng.choice(BIRDS, n), name=names)
    right = table(person=[spelled[i] for i in rng.permutation(n)])
    assert choose_similar_keys(left, right) == ("name", "person")
    assert choose_similar_keys(right, left) == ("person", "name"), "neither side nor the order of rows matters"


@pytest.mark.parametrize(
    "values",
    [
        [f"A{i:04}" for i in range(200)],
        [f"2018-W{i:02}" for i in range(1, 53)],
        [str(i) for i in range(1900, 2000)],
        [f"{d} {m} {y}" for y in (2020, 2021, 2022) for m in ("Apr", "May", "Jun") for d in range(1, 29)],
        ["aaa"] * 100,
    ],
)
def test_dates_counts_and_sequential_codes_are_not_named_by_words(values):
    array = pa.array(values, pa.string())
    assert not is_named_by_words(array)
    assert choose_similar_keys(table(a=array), table(b=array)) is None


def test_names_with_numbers_are_named_by_words():
    assert is_named_by_words(pa.array([f"{bird} {i}" for i, bird in enumerate(BIRDS)]))
    assert not is_named_by_words(pa.array([None, ""], pa.string()))


def test_columns_that_the_caller_chooses_may_have_few_values():
    few = pa.array(["Ann Lee", "Bob Ray", "Cy Fox"])
    assert is_named_by_words(few, True) and not is_named_by_words(few)
    assert not is_named_by_words(pa.array([f"A-{i}" for i in range(100, 140)]), True)


def test_one_column_of_a_composite_key_that_is_named_by_words_is_enough():
    years = pa.array([str(year) for year in range(1990, 1990 + len(BIRDS))])
    assert is_named_by_words(pa.StructArray.from_arrays([pa.array(BIRDS), years], ["bird", "year"]))
    assert not is_named_by_words(pa.StructArray.from_arrays([years, years], ["from", "to"]))


def test_many_names_with_many_years_each_are_named_by_words():
    names = [f"{tree} {bird}" for tree in TREES for bird in BIRDS]
    years = range(1950, 2023)
    assert is_named_by_words(pa.array([f"{year} {name}" for name in names[:100] for year in years]))
    assert not is_named_by_words(pa.array([f"{year} {name}" for name in names[:99] for year in years]))


def test_slices_of_arrays_are_read_from_their_offset():
    left = pa.array([*TREES, *BIRDS], pa.large_string())[len(TREES) :]
    assert choose_similar_keys(table(a=TREES), {"b": Column("b", left)}) is None
    assert choose_similar_keys(table(a=BIRDS), {"b": Column("b", left)}) == ("a", "b")


def test_the_share_of_common_words_is_one_of_the_column_with_less_weight():
    few = np.array([1, 2, 4], np.uint64), np.array([1.0, 1.0, 2.0])
    many = np.array([1, 2, 3, 9, 12], np.uint64), np.array([1.0, 0.5, 3.0, 4.0, 7.0])
    assert pair_keys._shared_weight(few, many) == pair_keys._shared_weight(many, few) == 1.5 / 4
    nothing = np.array([], np.uint64), np.array([])
    assert pair_keys._shared_weight(few, nothing) == 0
