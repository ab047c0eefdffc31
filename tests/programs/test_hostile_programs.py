"""Programs of others end: no stored step or condition takes more than linear time on any text."""

import ast
import random
import re
import signal

import pyarrow as pa
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.characters import CLASSES
from dfjoin.programs.conditions import CONDITIONS, Condition, shape_pattern
from dfjoin.programs.program import Program
from dfjoin.programs.spark_sql import END
from dfjoin.programs.step_table import OPERATORS, read_condition
from dfjoin.programs.time_operators import ORDERS

N = 20_000
"""Repetitions in a text."""
SECONDS = 1.0
"""Of the processor, which a call may take: the slowest step takes 0.08, one that takes the square of `N` above 2."""
UNITS = ("a", "1", "1,", ",111", " ", "Aa", "A9", "-", "1.", "é", "- ", "0", "1:", "jan ", "[{(", "2024-01-01T")


@pytest.fixture
def within():
    """Call a function, and end it when it takes too long, wherever it is; regular expressions look for signals."""

    def end(*_):
        raise TimeoutError("a stored program does not end")

    def call(function, *arguments):
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            return function(*arguments)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    before = signal.signal(signal.SIGVTALRM, end)
    yield call
    signal.signal(signal.SIGVTALRM, before)


def listed_values():
    """The values that the rules of parameters list, as their texts say."""
    for legal in (legal.words for operator in OPERATORS.values() for legal in operator.parameters.values()):
        if legal.startswith("one of "):
            yield from ast.literal_eval(f"[{legal[7:].partition(', or one ')[0]}]")


POOL = [
    *listed_values(), *ORDERS, " ".join(list(ORDERS)[:12]), " ".join(list(ORDERS)[-12:]), None, "",
    *(-(10**6), -100, -1, 0, 1, 2, 3, 6, 9, 12, 18, 64, 99, 100, 1000, 86_400, 10**6),
    *("a", "A", "9", "-", " ", ",", "1", "ab", "aa", "a" * 1000, "é" * 1000, "\x1f", " ," * 20, "-" * 9),
    *("1.5", "-12345.123456789", "0.000001", "2 3", "3 5 7 11", "DE", "%Y-%m-%d", "%%%Y" + "%m" * 100, "%B" * 300),
]  # fmt: skip


def legal_values(legal):
    return [value for value in POOL if legal.test(value)]


def program_of(*steps, conditions=()):
    values = {"version": 2 if conditions else 1, "columns": ["n"], "pieces": [{"column": 0, "steps": list(steps)}]}
    return Program.from_dict(values | ({"conditions": list(conditions)} if conditions else {}))


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - {"each_part"}))
def test_a_stored_step_ends_on_any_text(name, within):
    draw = random.Random(name)
    pools = {parameter: legal_values(legal) for parameter, legal in OPERATORS[name].parameters.items()}
    assert all(pools.values()), "the pool has a legal value for each parameter"
    chosen = {parameter: draw.choice(values) for parameter, values in pools.items()}
    if name == "pairs":
        chosen["values"] = chosen["keys"]
    if name == "band":
        chosen["names"] = "\x1f".join("a" * chosen["bounds"].count(" "))
    if name == "replace":
        chosen["old"] = "1" * max(1, len(chosen["new"]))
    program = program_of({"step": name, **chosen})
    for unit in UNITS:
        within(program, unit * N + "!")
        within(program, "1" + unit * N)


def test_a_column_with_a_long_text_ends(within):
    program = program_of({"step": "group", "separator": ","}, {"step": "run", "kind": "digits", "index": -1})
    column = pa.array(["1" * N, *map(str, range(200))])
    assert program.apply([column[1:]]).to_pylist()[0] == "0"
    assert within(program.apply, [column]).to_pylist()[0] == "111"


def shape(text, negated=False):
    return {"column": 0, "condition": "shape", "text": text, "negated": negated}


@pytest.mark.parametrize("text", ["AA", "A" * 10, "99", "9-99", "AéA", "AbA", "a", "1", "A" + "-" * 40])
def test_a_shape_that_no_text_has_is_refused(text):
    with pytest.raises(InvalidParameterError, match="`text` of condition 'shape' must be a shape of at most 40 char"):
        program_of(conditions=[shape(text)])


SHAPES = ["A9" * 20, "A-" * 20, "9.9.9", "[A]", "^A\\9&", "A²9", ""]


@pytest.mark.parametrize("text", SHAPES)
def test_a_stored_condition_ends_on_any_text_in_python_and_as_it_is_exported(text, within):
    condition = read_condition(shape(text), 1)
    namespace = {}
    exec(program_of(conditions=[shape(text)]).to_python(), namespace)
    exported = next(value for key, value in namespace.items() if key == "transform")
    for unit in UNITS:
        long = unit * N + "!"
        assert not within(condition, long)
        assert within(exported, long) is None
        assert within(re.match, f"^{shape_pattern(text)}{END}", long) is None, "as RLIKE of Spark, which goes back too"


@pytest.mark.parametrize("kind", [kind for kind in CONDITIONS if kind != "shape"])
def test_the_other_conditions_end(kind, within):
    texts = {"has": list(CLASSES), "longer": ["9999"], "at least": ["123.5"], "divisible": ["7"]}
    for text in texts.get(kind, ["a", "a" * 1000, "aab" * 300]):
        condition = Condition(0, kind, text)
        for unit in UNITS:
            within(condition, unit * N + "!")
