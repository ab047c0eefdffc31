"""What programs make, folded by methods of Java, against the form for one row and the canonical form of Python."""

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dfjoin.programs.conditions import Condition
from dfjoin.programs.part_operators import After, Before, Slice, Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant, Extract
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from spark_ext import java_methods
from spark_ext.canonical_sql import KeyClasses, key_sql
from spark_ext.compiled_fold import fold_compiled, fold_program
from spark_ext.join_keys import program_key, with_sql
from spark_ext.transfer import collect, to_spark
from tests.programs.strategies import ODD

pytestmark = pytest.mark.spark

SETTINGS = IndexSettings(null_evidence=False)
CLASSES = KeyClasses(True, True, False, False)
TEXTS = (
    st.none() | st.text("aAb ,.-" + ODD, max_size=9) | st.sampled_from(["", "A, b", "😀,😀a", "a  , B", ", ", "aaa"])
)
SEPARATORS = st.sampled_from([" ", ",", ", ", "a", "é", "😀"])
STEPS = st.one_of(
    st.builds(Split, SEPARATORS, st.integers(-1, 4)),
    st.builds(After, SEPARATORS),
    st.builds(Slice, st.integers(0, 4), st.none() | st.integers(0, 5)),
    st.builds(Slice, st.integers(-4, 4), st.none()),
)
PIECES = st.one_of(
    st.builds(Extract, st.integers(0, 1), st.lists(STEPS, max_size=3).map(tuple)),
    st.builds(Constant, st.sampled_from([" ", "é", "x\n"])),
)
PROGRAMS = st.builds(
    Program,
    st.just(("a", "b")),
    st.lists(PIECES, min_size=1, max_size=4).filter(lambda pieces: any(one.columns for one in pieces)).map(tuple),
    st.just(()) | st.just((Condition(0, "contains", "a", False),)),
)


def folded(spark, programs, rows):
    """Return the keys that Spark makes, a list for each program."""
    a, b = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    frame = to_spark(spark, pa.table({"a": a, "b": b, "n": list(range(len(rows)))}))
    names = [f"k{i}" for i in range(len(programs))]
    for name, program in zip(names, programs, strict=True):
        made = fold_program(frame, program, ["a", "b"])
        assert made is not None, program
        frame = with_sql(frame, [made, *key_sql("", "string", CLASSES, SETTINGS, None)[2:]], name)
    found = collect(frame.select("n", *names)).sort_by("n")
    return [found[name].to_pylist() for name in names]


def canonical(texts):
    values = normalize_column(pa.array(texts, pa.string()), SETTINGS)
    return pa.array(values.values(), pa.string()).take(pa.array(values.codes, mask=values.codes < 0)).to_pylist()


SWAPPED = Program(("a", "b"), (Extract(0, (Split(", ", 1),)), Constant(" "), Extract(0, (Split(", ", 0),))))
ROWS = [("Obama, Barack", ""), ("Cher", None), ("a, b, c", "x"), (" É ,  İ ", ""), (", a", ""), ("a, ", ""), ("", "")]


@settings(max_examples=5)
@given(programs=st.lists(PROGRAMS, min_size=4, max_size=4), rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=30))
@example(programs=[SWAPPED], rows=ROWS)
def test_programs_give_what_they_give_in_python(spark, programs, rows):
    for program, found in zip(programs, folded(spark, programs, rows), strict=True):
        assert found == canonical([program(*row) for row in rows]), program


@pytest.mark.parametrize(
    "piece",
    [
        Extract(0, (Split("aa", -1),)),
        Extract(0, (Split(",", -2),)),
        Extract(0, (Split(",", 5),)),
        Extract(0, (Slice(0, -1),)),
        Extract(0, (Slice(-3, 2),)),
        Extract(0, (Before(","), Split(",", 0))),
        Combined("difference", Extract(0), Extract(0)),
    ],
    ids=str,
)
def test_other_steps_are_left_to_sql(spark, piece):
    frame = spark.createDataFrame([("aaa,b",)], "a string")
    program = Program(("a",), (piece, Constant("x")))
    assert fold_program(frame, program, ["a"]) is None
    (row,) = program_key(frame, program, {"a": "a"}, "k", CLASSES).collect()
    assert [row["k"]] == canonical([program("aaa,b")])


def test_programs_are_compiled_into_the_stage(spark):
    frame = spark.range(3).selectExpr("concat('A', id) AS a")
    program = Program(("a",), (Extract(0, (Split("A", 1),)), Constant("x")))
    plan = program_key(frame, program, {"a": "a"}, "k", CLASSES)._jdf.queryExecution().executedPlan().toString()
    assert "substringAfter" in plan and "reflect(" not in plan and "substring_index" not in plan
    assert plan.count("*(1) ") == 5, plan  # the key in three steps, a projection before it, and the rows


def test_nothing_depends_on_the_language_of_the_machine(spark):
    locale = spark._jvm.java.util.Locale
    before = locale.getDefault()
    locale.setDefault(locale.forLanguageTag("tr"))
    try:
        assert folded(spark, [Program(("a", "b"), (Extract(0),))], [("ISTANBUL", "")]) == [["istanbul"]]
    finally:
        locale.setDefault(before)


def test_another_spark_uses_sql(spark, monkeypatch):
    monkeypatch.setattr(java_methods, "_STRINGS", "org.apache.Unknown")
    frame = spark.createDataFrame([("B, a",)], "a string")
    program = Program(("a",), (Extract(0, (Split(", ", 1),)),))
    assert fold_compiled(frame, "`a`") is None and fold_program(frame, program, ["a"]) is None
    assert fold_compiled(object(), "`a`") is None
    assert program_key(frame, program, {"a": "a"}, "k", CLASSES).select("k").collect() == [("a",)]
