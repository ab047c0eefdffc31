"""Joins that examples teach: rows, several columns, casing, contradictions."""

import pyarrow as pa
import pytest

from dfjoin.errors import DfjoinWarning, InvalidParameterError, InvalidTypeError
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from dfjoin.transform.find_programs import find_programs

FIRST = ["Ann", "Bob", "Cy", "Dee", "Ann", "Fay"]
LAST = ["Lee", "Ray", "Poe", "Fox", "Day", "Orr"]


def table(**columns):
    return {name: pa.array(values, pa.string()) for name, values in columns.items()}


PEOPLE = table(full=[f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)])
PARTS = table(first=FIRST, last=LAST)


def joined(found, left, right):
    rows = join_rows(found, left, right)
    return list(zip(rows.left_rows.tolist(), rows.right_rows.tolist(), strict=True))


def test_an_example_speaks_of_its_row():
    found = find_programs(PARTS, PEOPLE, on="first", right_on="full", examples=[("Bob", "Bob Ray"), ("Ann", "Ann Day")])
    assert joined(found, PARTS, PEOPLE) == [(i, i) for i in range(6)]
    assert str(found.programs[0].program) == "first + ' ' + last"


def test_examples_name_several_columns():
    examples = [("Bob Ray", ("Bob", "Ray")), ("Dee Fox", ("Dee", "Fox"))]
    found = find_programs(PEOPLE, PARTS, on="full", right_on=["first", "last"], examples=examples)
    assert joined(found, PEOPLE, PARTS) == [(i, i) for i in range(6)]


def test_pairs_that_differ_in_case_only_join():
    left, right = table(a=["AB-1", "CD-2", "EF-3"]), table(b=["ab-1", "cd-2", "ef-3"])
    found = find_programs(left, right, examples=[("AB-1", "ab-1"), ("CD-2", "cd-2")])
    assert joined(found, left, right) == [(0, 0), (1, 1), (2, 2)]
    assert found.programs[0].program("XY-9") == "xy-9"


def test_casing_is_taught_where_it_is_one():
    left, right = table(a=["lee, ann", "ray, bob", "poe, cy"]), table(b=["ANN LEE", "BOB RAY", "CY POE"])
    found = find_programs(left, right, examples=[("lee, ann", "ANN LEE"), ("ray, bob", "BOB RAY")])
    assert found.programs[0].program("fox, dee") == "DEE FOX"


def test_an_example_that_contradicts_the_others_is_told():
    left = table(a=["Lee, Ann", "Ray, Bob", "Poe, Cy", "Fox, Dee"])
    right = table(b=["Ann Lee", "Bob Ray", "Cy Poe", "Dee Fox"])
    examples = [("Lee, Ann", "Ann Lee"), ("Ray, Bob", "Bob Ray"), ("Poe, Cy", "Cy Poe"), ("Fox, Dee", "Bob Ray")]
    with pytest.warns(
        DfjoinWarning, match="example 4 contradicts the program that makes the others: .*'[Dd]ee [Ff]ox'"
    ):
        found = find_programs(left, right, examples=examples)
    assert any("example 4 contradicts" in line for line in found.tried)


def test_two_results_of_one_value_are_told():
    left, right = table(a=["Lee, Ann", "Ray, Bob"]), table(b=["Ann Lee", "Bob Ray"])
    with pytest.warns(DfjoinWarning, match="examples 1 and 2 contradict each other: 'Lee, Ann' belongs to 'Ann Lee'"):
        find_programs(left, right, examples=[("Lee, Ann", "Ann Lee"), ("Lee, Ann", "Bob Ray")])


def test_conditions_hold_for_the_rows_that_are_joined():
    left, right = table(code=["4", "7", "8", "9", "11"]), table(kind=["even", "odd"])
    found = find_programs(
        left, right, on="code", right_on="kind", examples=[("4", "even"), ("7", "odd"), ("8", "even")]
    )
    assert joined(found, left, right) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 1)]


def test_given_pairs_are_looked_up():
    left, right = table(sex=["M", "F", "M", None]), table(code=["0", "1"])
    found = find_programs(left, right, on="sex", right_on="code", examples=[("M", "0"), ("F", "1")])
    assert joined(found, left, right) == [(0, 0), (1, 1), (2, 0)]


@pytest.mark.parametrize("example", [("a", ("b", "c")), (("a", "b"), "c")])
def test_examples_of_several_columns_need_their_names(example):
    one = table(x=["a", "b"])
    with pytest.raises(
        InvalidParameterError, match=r"`examples` must give a text for each column of `(right_)?on`, or one"
    ):
        find_programs(one, one, examples=[example])


@pytest.mark.parametrize("example", [("a", ""), ("a", ()), ("\ud800", "a"), ("a", ("", ""))])
def test_examples_are_texts(example):
    with pytest.raises(InvalidTypeError, match="`examples` must be pairs of texts"):
        find_programs(PEOPLE, PEOPLE, examples=[example])


def test_a_join_takes_results_that_code_leaves_out():
    left = table(a=["Lee, Ann", "Ray, Bob", "Bob Ray Sr", "Poe, Cy", "Fox"])
    right = table(b=["Ann", "Bob", "Cy", "Sr"])
    found = find_programs(left, right, on="a", right_on="b", examples=[("Lee, Ann", "Ann"), ("Bob Ray Sr", "Sr")])
    stored = found.to_dict()
    exported = [Program.from_dict(one["program"]) for one in stored["programs"]]
    assert all(one.confidence is not None for one in exported)
    assert [one.certain for one in exported] == [ranked.program for ranked in found.programs]
    assert joined(TransformJoin.from_dict(stored), left, right) == joined(found, left, right)
    assert TransformJoin.from_dict(stored) == found
