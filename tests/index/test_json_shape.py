"""JSON values are what their shape says, or the first field that is not is named."""

import pytest

from dfjoin.index.json_shape import Flag, ListOf, MapOf, Number, OneOf, OrNull, Record, TextValue, Whole, check_shape

SHAPE = Record(
    {"n": Whole(1, 9), "name": TextValue(is_name=True)},
    {
        "on": Flag(),
        "x": Number(),
        "kind": OneOf(("a", "b")),
        "all": ListOf(OrNull(TextValue()), low=1),
        "of": MapOf(Whole()),
    },
)
LEGAL = {"n": 1, "name": "a/b", "on": True, "x": -0.5, "kind": "b", "all": [None, "x"], "of": {"k": 0}, "later": object}


def test_what_is_legal():
    assert check_shape(LEGAL, SHAPE, "it") is None
    assert check_shape({"n": 9, "name": "x" * 255}, SHAPE, "it") is None


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("n", 0, "it.n must be a whole number from 1 to 9, got 0"),
        ("n", 10**29, "it.n must be a whole number from 1 to 9, got 100000"),
        ("n", 1.0, "it.n must be a whole number"),
        ("n", True, "it.n must be a whole number"),
        ("n", float("nan"), "it.n must be a whole number from 1 to 9, got nan"),
        ("name", 5, "it.name must be a text without zero characters, got 5"),
        ("name", "a\0", "it.name must be a text without zero characters"),
        ("name", "x" * 256, "it.name must be a name of at most 255 bytes"),
        ("name", "a/" + "é" * 128, "it.name must be a name of at most 255 bytes"),
        ("name", "\ud800", r"it.name must be a name of at most 255 bytes, got '\\ud800'"),
        ("on", 1, "it.on must be true or false, got 1"),
        ("x", float("inf"), "it.x must be a finite number, got inf"),
        ("x", "1", "it.x must be a finite number, got '1'"),
        ("kind", "c", "it.kind must be one of a, b, got 'c'"),
        ("kind", [], r"it.kind must be one of a, b, got \[\]"),
        ("all", [], r"it.all must be a list of 1 entries or more, got \[\]"),
        ("all", ["x", 1], r"it.all\[1\] must be a text"),
        ("of", [], "it.of must be an object"),
        ("of", {"k": -1}, "it.of.k must be a whole number from 0"),
    ],
)
def test_the_field_that_is_not_legal_is_named(field, value, text):
    with pytest.raises(ValueError, match=text):
        check_shape({**LEGAL, field: value}, SHAPE, "it")


def test_a_record_that_is_none_or_lacks_a_field():
    with pytest.raises(ValueError, match="it must be an object, got 5"):
        check_shape(5, SHAPE, "it")
    with pytest.raises(ValueError, match="it lacks `name`"):
        check_shape({"n": 1}, SHAPE, "it")
    with pytest.raises(ValueError, match="it must be a list, got None"):
        check_shape(None, ListOf(TextValue()), "it")
