"""The arguments of a join after they were checked."""

import dataclasses

import pytest

from dfjoin.api import auto_join
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.options import JoinOptions, join_options, refuse_options


def test_the_defaults_are_those_of_auto_join():
    defaults = auto_join.__kwdefaults__
    own = {field.name: getattr(JoinOptions, field.name) for field in dataclasses.fields(JoinOptions)}
    assert own.pop("as_of") is None, "told from `on` where how is asof"
    assert own.pop("ignores_case") is False, "told by the session of Spark"
    assert own.pop("holds_arrow") is False, "told by the library of the frame"
    assert defaults == own
    assert join_options(**defaults) == join_options() == JoinOptions()


def test_options_are_what_they_will_be_used_as():
    options = join_options(columns="area", max_expansion=2, threshold=1, examples=[["a", "b"]])
    assert options.columns == ("area",) and options.examples == (("a", "b"),)
    assert [type(value) for value in (options.max_expansion, options.threshold)] == [float, float]
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.k = 2


def test_the_smallest_expansion_is_one():
    assert join_options(max_expansion=1).max_expansion == 1.0
    with pytest.raises(InvalidParameterError, match=r"`max_expansion` must be a number of at least 1, got 0\.99"):
        join_options(max_expansion=0.99)


@pytest.mark.parametrize(
    ("given", "is_requested", "is_allowed"),
    [
        ({}, False, True),
        ({"transform": True, "fuzzy": False}, True, True),
        ({"transform": False, "fuzzy": True}, True, True),
        ({"transform": False}, False, True),
        ({"fuzzy": False}, False, True),
        ({"transform": False, "fuzzy": False}, False, False),
        ({"fuzzy": False, "examples": [("a", "b")]}, True, True),
    ],
)
def test_when_a_relation_of_keys_is_looked_for(given, is_requested, is_allowed):
    options = join_options(**given)
    assert (options.is_relation_requested, options.is_relation_allowed) == (is_requested, is_allowed)


@pytest.mark.parametrize(("how", "keeps"), [("left", False), ("inner", False), ("right", True), ("outer", True)])
def test_right_rows_stay_in_right_and_outer_joins(how, keeps):
    assert join_options(how=how).keeps_right_rows is keeps
    if keeps:
        with pytest.raises(InvalidParameterError, match=r"\(k=2\)"):
            join_options(how=how, k=2)
    else:
        assert join_options(how=how, k=2).k == 2


def test_only_options_that_were_given_are_refused():
    options = join_options(k=3, threshold=0.5)
    refuse_options(options, "a lake", ("threshold", "right_on"))
    with pytest.raises(InvalidParameterError, match="`k` does not apply when `other` is a lake, got 3; leave it out"):
        refuse_options(options, "a lake", ("threshold", "k"))


@pytest.mark.parametrize("columns", [{"a": 1}, 3, [["a"]]])
def test_columns_are_a_name_or_a_list_of_labels(columns):
    with pytest.raises(InvalidTypeError, match="`columns` must be a column name or a list of column labels, got"):
        join_options(columns=columns)
