"""The Spark SQL form of programs against the form for one string, on arbitrary text."""

import ast
import re
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.programs.calendar_operators import FIRST_UNITS, ReadDuration
from dfjoin.programs.combinations import COMBINATIONS
from dfjoin.programs.conditions import Condition
from dfjoin.programs.confidence import Alternative, Confidence
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Extract
from tests.programs.strategies import PROGRAMS, STEP_KINDS, TEXTS, WORDS

pytestmark = pytest.mark.spark


def run(spark, programs, rows):
    """Return the results of each program: a list of columns."""
    frame = spark.createDataFrame([(a, b) for a, b in rows], "a string, b string")
    names = [f"p{i}" for i in range(len(programs))]
    written = [f"{p.to_spark_sql(['a', 'b'])} AS {n}" for p, n in zip(programs, names, strict=True)]
    found = frame.coalesce(1).selectExpr(*written).collect()
    return [[row[name] for row in found] for name in names]


@contextmanager
def interpreted(spark):
    """Let Spark walk through expressions: it takes long to compile those of many steps, which meet few rows."""
    options = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name, None) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


CELLS = st.lists(st.tuples(TEXTS, TEXTS), min_size=30, max_size=30).filter(lambda rows: len(set(rows)) > 9)
"""Rows of cells; the simplest ones, which come first and are all alike, take as long and tell nothing."""


PARTED = "[x, y]aaé'b\\c.$d|e😀f\n"
"""What every separator parts."""


def check(spark, programs, rows):
    """Compare results on given rows, and on all words that a step may read: on most other texts most steps give None."""
    rows = [
        *rows,
        (None, "a"),
        ("", "b"),
        ("a, b", None),
        (PARTED * 5, PARTED * 5),
        *zip(WORDS, WORDS[1:] + WORDS[:1], strict=True),
    ]
    for program, found in zip(programs, run(spark, programs, rows), strict=True):
        assert found == [program(*row) for row in rows], program


def listed(legal):
    """Return the values of a parameter that has a list of them, which its words show."""
    if not legal.words.startswith("one of "):
        return []
    shown = re.findall(r"""'[^']*'|"[^"]*"|-?\d+""", legal.words)
    return [value for value in map(ast.literal_eval, shown) if legal.test(value)]


def varied(step):
    """Return a step, and it with each value of each parameter that has a list of values, in place of its own."""
    found = {step.settings: step}
    for i, legal in enumerate(step.operator.parameters.values()):
        made = (Step(step.operator, (*step.settings[:i], value, *step.settings[i + 1 :])) for value in listed(legal))
        found |= {one.settings: one for one in made if not (step.operator.fault and step.operator.fault(one))}
    return list(found.values())


@pytest.mark.slow
@settings(max_examples=1)
@given(steps=st.tuples(*STEP_KINDS), rows=CELLS)
def test_each_step_gives_what_it_gives_in_python(spark, steps, rows):
    """With each of the codes, cases, layouts and so on that it knows: their SQL is written one by one."""
    every = [one for step in steps for one in varied(step)]
    programs = [Program(("a", "b"), (Extract(i % 2, (step,)),)) for i, step in enumerate(every)]
    with interpreted(spark):
        for part in range(0, len(programs), 60):
            check(spark, programs[part : part + 60], rows)


@settings(max_examples=1)  # the SQL of times is long
@given(programs=st.lists(PROGRAMS, min_size=8, max_size=8), rows=CELLS)
def test_programs_give_what_they_give_in_python(spark, programs, rows):
    check(spark, programs, rows)


def test_of_two_parts_of_a_duration_spark_reads_hours_or_minutes(spark):
    programs = [Program(("a", "b"), (Extract(0, (ReadDuration(first),)),)) for first in FIRST_UNITS]
    assert run(spark, programs, [("12:05", "")]) == [["43500"], ["725"]]


def test_spark_combines_two_columns_as_python_does(spark):
    moments = [
        "1980-02-29T??:??:??",
        "2024-02-29T10:15:00",
        "2023-03-01T23:59:59",
        "????-??-??T08:00:36",
        "2023-02-30T??:??:??",
    ]
    texts = [
        *moments,
        "????-??-??T18:30:00",
        "0000-01-01T??:??:??",
        "2023-04-??T??:??:??",
        "1.5",
        "-0.000001",
        "999999999999.5",
    ]
    rows = [(a, b) for a in [*texts, None, "", "x"] for b in [*texts, None, "x"]]
    programs = [Program(("a", "b"), (Combined(kind, Extract(0), Extract(1)),)) for kind in COMBINATIONS]
    for program, found in zip(programs, run(spark, programs, rows), strict=True):
        assert found == [program(*row) for row in rows], program


@pytest.mark.parametrize("name", ["made", "dfjoin_made"])
def test_a_level_of_confidence_reads_a_column_of_any_name(spark, name):
    last = Alternative((Extract(0, (Split(" ", -1),)),), -1.0)
    sure = Confidence(1.0, (last,), ((Condition(0, "shape", "A A"),),), 0.5, 0.7, (("Bo K Li",),))
    program = Program((name,), (Extract(0, (Split(" ", 1),)),), confidence=sure)
    texts = ["Ann Lee", "Ann K Lee", "Ann", None, "Bo K Li"]
    found = spark.createDataFrame([(text,) for text in texts], f"{name} string").selectExpr(
        program.to_spark_sql([name])
    )
    assert [row[0] for row in found.collect()] == [program(text) for text in texts] == ["Lee", None, None, None, "K"]
