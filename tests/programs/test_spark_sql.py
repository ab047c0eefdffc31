import pytest

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
