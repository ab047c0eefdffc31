import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.transform.evidence.prepared_columns import as_columns
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs import sides
from dfjoin.transform.pairs.sides import sample_sides
from dfjoin.transform.relations.linear_search import search_lines
from dfjoin.transform.relations.relate_numbers import read_numbers, relate_numbers


def joined(left, right, **options):
    """The programs found, and the joined pairs of values."""
    left, right = {"a": pa.array(left)}, {"b": pa.array(right)}
    found = find_programs(left, right, **options)
    rows = join_rows(found, left, right)
    pairs = zip(left["a"].take(pa.array(rows.left_rows)), right["b"].take(pa.array(rows.right_rows)), strict=True)
    return found, [(a.as_py(), b.as_py()) for a, b in pairs]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["3", "37", "100", "12", "58"], ["7.62", "93.98", "254", "30.48", "147.32"]),
        (["1", "8", "17", "22", "63"], ["0.0393701", "0.314961", "0.669291", "0.866142", "2.48031"]),
        (["12.3", "45.1", "31.7", "88.8"], ["54.14", "113.18", "89.06", "191.84"]),
        (["33 psia", "17 psia", "100 psia", "3 psia", "22 psia"],
         ["18.304051 psig", "2.304051 psig", "85.304051 psig", "-11.695949 psig", "7.304051 psig"]),
        (["22", "2156", "9876", "777"], ["16", "86C", "2694", "309"]),
        (["1.2 M", "350 K", "4.75 M", "12.5 K"], ["1,200,000", "350,000", "4,750,000", "12,500"]),
        (["45%", "12.5%", "99%", "3%"], ["0.45", "0.125", "0.99", "0.03"]),
        (["12.5 kg", "3.1 kg", "88.8 kg", "41.3 kg"], ["27.6 lb", "6.8 lb", "195.8 lb", "91.1 lb"]),
        (["2.431", "17.689", "123.449", "5.05"], ["2.4", "17.7", "123.4", "5.1"]),
    ],
    ids=["inch", "six digits", "fahrenheit", "offset", "base", "magnitude", "per cent", "units", "rounding"],
)  # fmt: skip
@pytest.mark.parametrize("is_turned", [False, True])
def test_numbers_are_related_with_no_pairs_known(left, right, is_turned):
    pairs = list(zip(left, right, strict=True))
    left, right = (right, left) if is_turned else (left, right)
    _, found = joined(left, right[2:] + right[:2], on="a", right_on="b")
    assert sorted(found) == sorted((b, a) if is_turned else (a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["1", "2", "3", "4", "5"], ["3", "6", "9", "12", "15"]),
        (["1", "2", "5", "10", "20", "50", "100"], ["10", "20", "50", "100", "200", "500", "1000"]),
        (["7", "7.5", "8", "9", "14"], ["5.5", "6", "6.5", "7.5", "12.5"]),
        (["10", "20", "30", "40"], ["1", "2", "3", "4"]),
        ([str(i) for i in range(100)], [str(i + 40) for i in range(100)]),
        ([str(2**i) for i in range(12)], [str(3 * 2**i) for i in range(3, 15)]),
        ([str(i / 10) for i in range(5, 300)], [str(round(i * 0.63918, 2)) for i in range(200)]),
    ],
    ids=["small", "round", "dense", "tens", "row numbers", "powers of two", "hidden grid"],
)
def test_numbers_that_chance_may_relate_are_not(left, right):
    assert not joined(left, right, on="a", right_on="b")[0].found


@pytest.mark.parametrize("seed", range(6))
def test_unrelated_numbers_are_not_joined(seed):
    rng = np.random.default_rng(seed)
    prices = [f"{v:.2f}" for v in rng.lognormal(4, 1, 300)]
    counts = [str(v) for v in rng.integers(0, 10**6, 300)]
    assert not joined(prices[:150], prices[150:])[0].found
    assert not joined(counts[:150], counts[150:])[0].found
    assert not joined(prices, counts)[0].found


def test_part_of_the_rows_is_enough(rng):
    values = np.unique(np.round(rng.lognormal(4, 1, 2000), 2))
    rng.shuffle(values)
    left, right = values[:1000], 0.9273 * values[400:1400]
    found, pairs = joined([f"{v:.2f}" for v in left], [f"{v:.3f}" for v in right])
    assert str(found.programs[0].program) == "a.number(* 0.9273, 3 fixed)"
    assert len(pairs) >= 600
    assert np.mean([abs(0.9273 * float(a) - float(b)) < 6e-4 for a, b in pairs]) == 1


def test_what_chance_explains_is_told():
    found, _ = joined(["1", "2", "3", "4", "5"], ["3", "6", "9", "12", "15"], on="a", right_on="b")
    assert any("a.number(* 3, 0 fixed) = b: chance may explain it" in line for line in found.tried)


def test_other_columns_are_looked_at_where_none_is_named(rng):
    values = rng.permutation(10**6)[:60] / 100
    left = {"id": pa.array([f"x{i}" for i in range(60)]), "eur": pa.array([f"{v:.2f}" for v in values])}
    right = {
        "note": pa.array([f"n{v:.0f}" for v in rng.permutation(60)]),
        "usd": pa.array([f"{1.1075 * v:.4f}" for v in values[::-1]]),
    }
    rows = join_rows(find_programs(left, right), left, right)
    assert rows.left_rows.tolist() == list(range(60))
    assert rows.right_rows.tolist() == list(range(59, -1, -1))


def test_composite_keys_are_not_read_as_numbers(rng):
    table = as_columns({"a": pa.array(["1", "2"]), "b": pa.array(["3", "4"])})
    sides = sample_sides((table, table), (("a", "b"), ("a", "b")))
    assert relate_numbers(sides, rng, []) == []


def test_large_tables_are_related_by_known_units(rng, monkeypatch):
    monkeypatch.setattr("dfjoin.transform.relations.relate_numbers._LARGE", 1000)
    values = rng.permutation(10**7)[:2000]
    left = {"inches": pa.array([str(v) for v in values]), "x": pa.array([f"n{i}" for i in range(2000)])}
    right = {
        "centimetres": pa.array([f"{2.54 * v:.2f}" for v in values]),
        "y": pa.array([f"m{i}" for i in range(2000)]),
    }
    rows = join_rows(find_programs(left, right), left, right)
    assert (rows.left_rows == rows.right_rows).all()
    assert rows.left_rows.size == 2000
    right = {"odd": pa.array([str(7 * v + 1) for v in values]), "y": pa.array([f"m{i}" for i in range(2000)])}
    assert not find_programs(left, right).found
    assert find_programs(left, right, on="inches", right_on="odd").found


def test_complements_within_a_column_are_no_relation_of_two(rng):
    chances = np.unique(np.round(rng.random(60), 4))
    mixed = np.concatenate([chances, 1 - chances])
    rng.shuffle(mixed)
    left, right = ([f"{v:.4f}" for v in half] for half in (mixed[:60], mixed[60:]))
    assert not joined(left, right)[0].found
    both, others = [f"{v:.4f}" for v in chances], [f"{1 - v:.4f}" for v in chances]
    assert joined(both, others)[0].found


def test_complements_that_lie_across_by_luck_are_no_relation_while_the_others_lie_within(rng):
    chances = np.round(0.01 + 0.4 * rng.random(60), 4)
    across, within = chances[:48], chances[48:]
    left = [*across, *within[:6], *(1 - within[:6])]
    right = [*(1 - across), *within[6:], *(1 - within[6:])]
    found, *_ = joined([f"{v:.4f}" for v in left], [f"{v:.4f}" for v in right])
    assert not found.found
    assert any("relates the numbers of one column to one another as well" in reason for reason in found.tried)
    strangers = np.round(0.01 + 0.4 * rng.random(12), 4)
    left = [*across, *strangers[:6], *within[:6]]
    right = [*(1 - across), *strangers[6:], *within[6:]]
    assert joined([f"{v:.4f}" for v in left], [f"{v:.4f}" for v in right])[0].found


@pytest.mark.parametrize("seed", [5, 20, 21, 22])
def test_rounding_to_a_dense_grid_is_no_relation(seed):
    """A line through a few numbers meets most tenths once its results are rounded to tenths."""
    rng = np.random.default_rng(seed)
    tenths = rng.choice(np.arange(16, 52), 24, replace=False) / 10
    minutes = np.concatenate([tenths, np.round(rng.integers(96, 306, 100) / 60, 3)])
    index = np.round(rng.uniform(0.35, 1.45, 32), 4)
    frames = pd.DataFrame({"minutes": minutes}), pd.DataFrame({"index": index, "x": range(32)})
    assert "x" not in dfjoin.auto_join(*frames, on_no_match="ignore")


def test_pairs_of_many_columns_look_at_each_column_once(monkeypatch, rng):
    tables = [as_columns({f"{side}{i}": pa.array(rng.random(40)) for i in range(9)}) for side in "ab"]
    looked_at = []
    is_measure = sides._is_measure
    monkeypatch.setattr(sides, "_is_measure", lambda column: looked_at.append(column) or is_measure(column))
    relate_numbers(sample_sides(tuple(tables), ((), ())), rng, [])
    assert len(looked_at) <= 18


@pytest.mark.parametrize(("step", "n"), [(1, 1100), (3, 1100), (1, 5000)])
def test_row_numbers_are_refused_before_a_line_is_looked_for(monkeypatch, step, n):
    """The density of numbers that fill their grid is 1 around any result: no line is evidence."""
    texts = [str(step * i) for i in range(n)]
    (left,), (right,) = as_columns({"a": pa.array(texts)}), as_columns({"b": pa.array(texts)})
    (source,), (target,) = read_numbers(left), read_numbers(right)
    rng = np.random.default_rng(0)
    assert all(line.bits <= 0 for line in search_lines(source.numbers, target.numbers, rng))
    monkeypatch.setattr("dfjoin.transform.relations.relate_numbers.search_lines", None)
    assert joined(texts, texts[1:])[1] == []
