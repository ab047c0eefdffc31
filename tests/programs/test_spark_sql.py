import re
import sqlite3
from itertools import product

import pytest

from dfjoin.programs.part_operators import Slice
from dfjoin.programs.spark_sql import bind, quote, when_empty


@pytest.mark.parametrize("text", ["it's", "a\\b", "${x}", "`x`", 'say "x"', "tab\t", "line\n"])
def test_what_a_parser_might_change_is_written_by_its_bytes(text):
    assert quote(text) == f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


@pytest.mark.parametrize("text", ["", "a b", "é, ñ", "日本"])
def test_other_texts_are_written_as_they_are(text):
    assert quote(text) == f"'{text}'"


def test_an_operand_is_written_once():
    assert bind("f(y)", "concat(x, x)").count("f(y)") == 1
    assert when_empty("y") == "nullif(y, '')"


def evaluated(sql, text):
    """What an expression over `t` gives, by SQLite, which has other names for three functions, and no lambdas."""
    sql = re.sub(r"transform\(array\(t\), x -> (.*)\)\[0\]", r"\1", sql)
    sql = sql.replace("substring", "substr").replace("greatest", "max").replace("char_length", "length")
    return sqlite3.connect(":memory:").execute(f"SELECT {sql} FROM (SELECT ? AS t, ? AS x)", (text, text)).fetchone()[0]


@pytest.mark.parametrize(("start", "stop"), list(product([0, 1, 3, -1, -3], [None, 0, 1, 4, -1, -4])))
def test_a_slice_is_cut_from_either_end(start, stop):
    step = Slice(start, stop)
    sql = Slice.sql(step, "t")
    for text in ("", "é", "abc", "abcdefg"):
        assert evaluated(sql, text) == (text[start:stop] or None)
