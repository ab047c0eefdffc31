import pytest

from dfjoin.programs.lookup import TABLES, Band, Lookup, look_up_pairs, tables_with


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Lookup("weekday to long"), "TUE", "Tuesday"),
        (Lookup("number to month"), "09", "September"),
        (Lookup("number to word"), "19", "nineteen"),
        (Lookup("number to word"), "20", "twenty"),
        (Lookup("number to word"), "99", "ninety-nine"),
        (Band(".. 18 35", "<18\x1f18-34"), "-0.5", "<18"),
        (Band(".. 18 35", "<18\x1f18-34"), "34.99", "18-34"),
        (Band(".. 18 35", "<18\x1f18-34"), "35", None),
        (Band("-1 0 ..", "a\x1fb"), "-1.5", None),
        (Band("-1 0 ..", "a\x1fb"), "-0.5", "a"),
        (Band("-1 0 ..", "a\x1fb"), "1e9", None),
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
