import pytest

from dfjoin.programs.lookup import TABLES, Lookup, look_up_pairs, tables_with


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Lookup("weekday to long"), "TUE", "Tuesday"),
        (Lookup("number to month"), "09", "September"),
        (Lookup("number to word"), "19", "nineteen"),
        (Lookup("number to word"), "20", "twenty"),
        (Lookup("number to word"), "99", "ninety-nine"),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


def test_tables_have_one_value_for_each_key():
    for table in TABLES:
        keys, values = (text.split(",") for text in look_up_pairs(table))
        assert len(keys) == len(set(keys)) == len(values)
        assert all(key == key.lower() for key in keys)
        assert all(table in tables_with(key) for key in keys)
    assert tables_with("no such thing") == []
