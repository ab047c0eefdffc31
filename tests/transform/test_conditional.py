"""Two programs with a condition, with no examples."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.programs.conditions import Condition
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.chance import description_bits
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs import conditional
from tests.transform.test_named_columns import names, table


def numbers(rng, n=80, low=100, high=999):
    return [str(number) for number in rng.sample(range(low, high), n)]


KINDS = {
    "prefix": lambda rng: [(f"A-{n}", f"1/{n}") for n in numbers(rng)] + [(f"B-{n}", f"2/{n}") for n in numbers(rng)],
    "order": lambda rng: (
        [(f"P{n} north", f"{n}-N") for n in numbers(rng)] + [(f"{n} south", f"S-{n}") for n in numbers(rng)]
    ),
    "last digit": lambda rng: (
        [(f"x{n}", f"k{n}0") for n in numbers(rng, 150)] + [(f"y{n}", f"k{n}5") for n in numbers(rng, 150)]
    ),
    "title": lambda rng: [
        (f"{title} {first} {last}", f"{last}, {first} ({mark})")
        for title, mark in (("Mr", "m"), ("Ms", "f"))
        for first, last in zip(names(rng, 50), names(rng, 50, "son"), strict=True)
    ],
}
"""Name → pairs of values, which no program without a condition relates."""


def shuffled(pairs, seed):
    rng = random.Random(seed)
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    rng.shuffle(left)
    rng.shuffle(right)
    return table(a=left), table(b=right)


def joined(left, right):
    """Return the joined values and the programs."""
    found = find_programs(left, right)
    rows = join_rows(found, left, right) if found.found else None
    values = () if rows is None else zip(rows.left_rows.tolist(), rows.right_rows.tolist(), strict=True)
    pairs = {(left["a"][i].as_py(), right["b"][j].as_py()) for i, j in values}
    return pairs, [str(ranked.program) for ranked in found.programs]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_two_programs_explain_the_target_together(kind, seed):
    pairs = list(dict(KINDS[kind](random.Random(seed))).items())
    found, programs = joined(*shuffled(pairs, seed))
    assert found == set(pairs)
    assert len(programs) == 2 and all(" if " in program for program in programs)
    assert sum(" if not " in program for program in programs) == 1


@settings(max_examples=4)
@given(st.sampled_from(["prefix", "title"]), st.integers(0, 3), st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter(kind, seed, order):
    pairs = list(dict(KINDS[kind](random.Random(seed))).items())
    assert joined(*shuffled(pairs, order)) == joined(*shuffled(pairs, order + 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_values_of_which_none_belongs_to_another_are_not_joined(kind, seed):
    rng = random.Random(seed)
    pairs = list(dict(KINDS[kind](rng)).items())
    rng.shuffle(pairs)
    half = len(pairs) // 2
    left, right = table(a=[a for a, _ in pairs[:half]]), table(b=[b for _, b in pairs[half:]])
    assert joined(left, right) == (set(), [])


def test_a_grid_that_is_full_on_both_sides_shows_no_condition():
    pairs = [(f"{a}-{n}", f"{b}/{n}") for a, b in (("A", "1"), ("B", "2")) for n in range(100, 200)]
    _, programs = joined(*shuffled(pairs, 1))
    assert not any(" if " in program for program in programs)


def test_of_the_conditions_that_the_same_rows_meet_the_shortest_is_taken():
    rng = random.Random(0)
    pairs = [(f"Mr {n}", f"k{n}0") for n in numbers(rng)] + [(f"Ms {n}", f"k{n}5") for n in numbers(rng)]
    found, programs = joined(*shuffled(pairs, 0))
    assert found == set(pairs)
    assert all(" contains 'Mr'" in program for program in programs), "not: starts with 'Mr '"


def test_each_condition_counts_as_part_of_its_program():
    plain = Program(("a",), (Constant("x"), Extract(0)))
    guarded = Program(("a",), plain.pieces, (Condition(0, "starts", "AB"),))
    assert description_bits(guarded) == description_bits(plain) + 6


def test_programs_are_learned_a_bounded_number_of_times(monkeypatch):
    counts = []
    learn = conditional.learn_pair
    monkeypatch.setattr(conditional, "learn_pair", lambda *args, **options: counts.append(1) or learn(*args, **options))
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ab1 -"), 12)) for _ in range(400)]
    find_programs({"a": pa.array(texts[:200])}, {"b": pa.array([text[::-1] for text in texts[200:]])})
    assert len(counts) <= 2 * 4
