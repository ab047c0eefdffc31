import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.program import Program
from dfjoin.transform.compose.atoms import find_atoms

TEXTS = st.text("abAB 12,-", min_size=1, max_size=10)


def outputs(rows, targets, **options):
    return {atom.outputs for atom in find_atoms([(row,) for row in rows], tuple(targets), **options)}


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3), st.booleans())
def test_every_way_makes_its_outputs_and_these_occur_in_all_targets(examples, is_exact):
    rows = [(row,) for row, _ in examples]
    targets = tuple(target if is_exact else target.lower() for _, target in examples)
    for atom in find_atoms(rows, targets, is_exact=is_exact):
        assert all(out in target for out, target in zip(atom.outputs, targets, strict=True))
        assert [weight for weight, _ in atom.alternatives] == sorted(weight for weight, _ in atom.alternatives)
        assert atom.weight == atom.alternatives[0][0]
        for _, piece in atom.alternatives:
            made = [Program(("x",), (piece,))(*row) for row in rows]
            assert [m if is_exact or m is None else m.lower() for m in made] == list(atom.outputs)


@pytest.mark.parametrize(
    ("rows", "targets", "found"),
    [
        (["Obama, Barack", "Bush, George"], ["Barack", "George"], ("Barack", "George")),
        (["20240131", "19991201"], ["2024", "1999"], ("2024", "1999")),
        (["(a-1)", "(b-2)"], ["a-1", "b-2"], ("a-1", "b-2")),
        (["id 7 kg", "id 12 kg"], ["7", "12"], ("7", "12")),
        (["7", "12"], ["007", "012"], ("007", "012")),
        (["March", "May"], ["3", "5"], ("3", "5")),
        (["ann lee", "bob ray"], ["AL", "BR"], ("AL", "BR")),
        (["1234567", "2134"], ["1,234,567", "2,134"], ("1,234,567", "2,134")),
    ],
)
def test_what_is_found(rows, targets, found):
    assert found in outputs(rows, targets, is_exact=True)


def test_numbers_are_computed_only_on_demand():
    assert ("254", "508") in outputs(["100", "200"], ["254", "508"], is_exact=True)
    assert ("254", "508") not in outputs(["100", "200"], ["254", "508"], is_exact=True, computes=False)


def test_a_missing_value_makes_nothing():
    assert outputs(["", "a"], ["a", "a"], is_exact=True) == set()


@pytest.mark.parametrize(
    ("rows", "targets"),
    [(["a/b/c d/e", "f/g/h"], ("c d/e", "g/h")), (["a-b-c-d", "e-f-g-h"], ("b-c", "f-g"))],
)
def test_stretches_of_parts_are_for_examples_with_other_rows(rows, targets):
    assert targets in outputs(rows, list(targets), is_exact=True, is_deep=True)


def test_stretches_between_two_runs_are_for_examples_with_other_rows():
    rows, targets = ["206 558 Cecep 632_469 995 Al", "69 Jan 98@62 343 957 52 6 Pi"], ["Cecep 632_469", "Jan 98@62"]
    assert tuple(targets) in outputs(rows, targets, is_exact=True, is_deep=True)
