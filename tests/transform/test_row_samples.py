"""Samples of rows: a row and its partner are chosen together, whatever the order of the rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.evidence.prepared_columns import as_columns, order_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs import sides
from dfjoin.transform.pairs.sides import sample_rows

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def columns_of(**columns):
    return as_columns({name: pa.array(values, pa.string()) for name, values in columns.items()})


def people(n, n_names, seed=0):
    """Names that are made of few first and last names, in two spellings."""
    rng = np.random.default_rng(seed)
    first, last = ([*map("".join, LETTERS[rng.integers(0, 26, (n_names, 6))])] for _ in range(2))
    chosen = rng.permutation(n_names**2)[:n].tolist()
    pairs = [(first[i % n_names], last[i // n_names]) for i in chosen]
    return [f"{surname}, {name}" for name, surname in pairs], [f"{name} {surname}" for name, surname in pairs]


def test_a_name_and_its_other_spelling_are_chosen_together():
    left, right = people(20_000, 600)
    chosen = [set(sample_rows(columns_of(name=names), 500).tolist()) for names in (left, right)]
    assert len(chosen[0]) == len(chosen[1]) == 500
    assert len(chosen[0] & chosen[1]) > 490  # by chance: 12


def test_what_all_texts_of_a_column_begin_with_makes_the_choice_one_of_chance():
    _, right = people(20_000, 600)
    chosen = [set(sample_rows(columns_of(name=names), 2_000).tolist()) for names in (right, ["Dr " + n for n in right])]
    assert 140 < len(chosen[0] & chosen[1]) < 260  # by chance: 200


def test_with_another_key_half_of_the_partners_are_chosen_together():
    left, right = people(20_000, 600)
    own = sample_rows(columns_of(name=left, code=[f"x{i}" for i in range(20_000)]), 500)
    others = sample_rows(columns_of(number=[str(7 * i) for i in range(20_000)], name=right), 500)
    assert np.intersect1d(own, others).size > 150


@given(st.lists(st.text("ab ,-é1", max_size=4), min_size=1, max_size=30, unique=True), st.integers(0, 31), st.randoms())
def test_the_rows_chosen_do_not_depend_on_their_order(texts, size, random):
    again = random.sample(texts, len(texts))
    chosen = [texts[row] for row in sample_rows(columns_of(a=texts), size).tolist()]
    assert chosen == [again[row] for row in sample_rows(columns_of(a=again), size).tolist()]
    assert len(chosen) == min(size, len(texts)) and len(set(chosen)) == len(chosen)


@given(st.lists(st.text("abé1 -,", max_size=6), min_size=1, max_size=40), st.integers(1, 50))
def test_values_of_the_same_letters_have_one_number(texts, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides, "_BLOCK", block)
        values = columns_of(a=texts)[0].values
        got = sides._hash_letters(values).tolist()
    data = bytes(values.data)
    bounds = values.offsets.tolist()
    held = [data[start:end].decode() for start, end in zip(bounds[:-1], bounds[1:], strict=True)]
    letters = [tuple(sorted(letter for letter in text if letter.isalnum())) for text in held]
    for number, own in zip(got, letters, strict=True):
        same = [other == own for other in letters]
        assert [other == number for other in got] == same


def test_without_a_column_that_tells_rows_apart_rows_are_chosen_by_all_they_hold():
    columns = columns_of(a=["x", "y"] * 50, b=[str(i % 30) for i in range(100)])
    assert sample_rows(columns, 20).tolist() == order_rows(columns, 20).tolist()


def test_nulls_are_chosen_last():
    columns = columns_of(a=[None, "b", None, "c", "d", "e"])
    assert set(sample_rows(columns, 4).tolist()) == {1, 3, 4, 5}


def test_names_of_a_large_table_are_related_though_each_part_stands_in_many_rows():
    left, right = people(20_000, 600)
    found = find_programs({"name": pa.array(left)}, {"who": pa.array(right)})
    program = found.programs[0].program
    source, made = (left, right) if found.direction == "left_to_right" else (right, left)
    assert program.apply([pa.array(source[:50])]).to_pylist() == made[:50]
