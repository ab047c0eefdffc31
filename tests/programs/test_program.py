import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.lookup import Lookup
from dfjoin.programs.number_operators import Base
from dfjoin.programs.part_operators import Slice, Split
from dfjoin.programs.program import _FEW_ROWS, Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.programs.quantities import Quantity
from dfjoin.programs.text_operators import Case, Pad
from tests.programs.strategies import PROGRAMS, TEXTS

NAME = Program(("name",), (Extract(0, (Split(", ", 1), Case("upper"))), Constant(" "), Extract(0, (Split(", ", 0),))))
ROWS = st.lists(st.tuples(TEXTS, TEXTS), max_size=20)


@given(PROGRAMS, ROWS)
def test_columns_give_what_rows_give(program, rows):
    rows = rows + [(None, None)] * _FEW_ROWS  # fewer are done row by row
    arrays = [pa.array([row[i] for row in rows], pa.string()) for i in range(2)]
    assert program.apply(arrays).to_pylist() == [program(*row) for row in rows]


@given(PROGRAMS, ROWS)
def test_pasted_python_gives_what_rows_give(program, rows):
    space = {}
    exec(program.to_python("pasted"), space)
    assert [space["pasted"](*row) for row in rows] == [program(*row) for row in rows]


@given(PROGRAMS)
def test_json_brings_the_same_program_back(program):
    assert Program.from_dict(json.loads(json.dumps(program.to_dict()))) == program


@given(ROWS)
def test_sliced_chunked_and_large_arrays_give_the_same(rows):
    program = Program(("a", "b"), (Extract(0, (Slice(0, 2),)), Extract(1)))
    a, b = ([row[i] for row in rows] for i in range(2))
    expected = [program(*row) for row in rows]
    sliced = [pa.array(["xx", *column], pa.string())[1:] for column in (a, b)]
    chunked = [pa.chunked_array([column[:3], column[3:]], pa.string()) for column in (a, b)]
    large = [pa.array(column, pa.large_string()) for column in (a, b)]
    for arrays in (sliced, chunked, large):
        assert program.apply(arrays).to_pylist() == expected
        longer = [pa.concat_arrays([*pa.chunked_array(a).chunks, pa.nulls(_FEW_ROWS, a.type)]) for a in arrays]
        assert program.apply(longer).to_pylist() == [*expected, *[None] * _FEW_ROWS]


def test_a_program_is_one_readable_line():
    assert str(NAME) == "name.split(', ')[1].upper() + ' ' + name.split(', ')[0]"
    assert str(Program.identity("a b")) == "[a b]"


@pytest.mark.parametrize(
    ("steps", "text", "expected"),
    [
        ((Lookup("month to number"), Pad(2)), "March", "03"),
        ((Lookup("state to short"),), "NEW york", "NY"),
        ((Lookup("word to long"),), "blvd", "Boulevard"),
        ((Lookup("month to short"),), "Smarch", None),
        ((Slice(3, 3),), "abcdef", None),
        ((Slice(3, 3), Pad(2)), "abcdef", None),
    ],
)
def test_steps_apply_or_give_nothing(steps, text, expected):
    assert Program(("x",), (Extract(0, steps),))(text) == expected


def test_apply_needs_the_columns_of_the_program():
    with pytest.raises(InvalidParameterError, match=r"`arrays` must be 1 arrays of one length, .*got lengths \[1, 1\]"):
        NAME.apply([pa.array(["a"]), pa.array(["b"])])


def test_sql_needs_an_expression_for_each_column():
    with pytest.raises(InvalidParameterError, match=r"`columns` must be 1 SQL expressions, for 'name'; got 2"):
        NAME.to_spark_sql(["a", "b"])


def test_python_needs_a_name():
    with pytest.raises(InvalidParameterError, match=r"`name` must be a Python identifier that is no .*, got 'a b'"):
        NAME.to_python("a b")


@pytest.mark.parametrize("n", [1, _FEW_ROWS, _FEW_ROWS + 1])
def test_the_same_step_on_two_columns_and_twice_on_one(n):
    upper = (Case("upper"),)
    program = Program(("a", "b"), (Extract(0, upper), Extract(1, upper), Extract(0, (*upper, Slice(0, 1)))))
    made = program.apply([pa.array(["ab"] * n), pa.array(["cd"] * n)])
    assert made.to_pylist() == ["ABCDA"] * n


@pytest.mark.parametrize("name", ["class", "None", "re", "len", "nth_run", "annotations", "__name__"])
def test_a_function_takes_no_name_that_its_source_uses(name):
    text = "`name` must be a Python identifier that is no keyword and no name that the code uses, got"
    with pytest.raises(InvalidParameterError, match=text):
        Program.identity("a").to_python(name)


@pytest.mark.parametrize(("step", "computes"), [(Base(16, 10), True), (Quantity("mass"), True), (Pad(2), False)])
def test_programs_that_compute_are_told(step, computes):
    assert Program(("a",), (Constant("x"), Extract(0, (Pad(3), step)))).computes is computes
