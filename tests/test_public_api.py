"""The public surface: names, signatures of functions, methods and commands, documentation."""

import inspect

import pandas as pd
import pytest

import dfjoin
from dfjoin import accessors, api, errors

VERBS = ["discover_joinable", "auto_join"]


@pytest.mark.parametrize("name", dfjoin.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    value = getattr(dfjoin, name)
    if name != "__version__":
        assert inspect.getdoc(value)
    assert name in dir(dfjoin)


def test_the_surface_is_what_is_promised():
    promised = {"build_lake", "open_lake", "discover_joinable", "auto_join", "report", "Lake", "JoinCandidates"}
    assert promised | {"JoinPlan", "IndexSettings", "Program", "repair", "errors"} <= set(dfjoin.__all__)
    assert sorted(set(dfjoin.__all__)) == sorted(dfjoin.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'dfjoin' has no attribute 'no_such'"):
        dfjoin.no_such  # noqa: B018


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("owner", [pd.DataFrame, accessors.DfjoinAccessor], ids=["DataFrame", "namespace"])
def test_accessors_have_the_signature_of_the_function_without_the_frame(owner, name):
    own = list(inspect.signature(getattr(owner, name)).parameters.values())
    function = list(inspect.signature(getattr(api, name)).parameters.values())
    assert own[0].name == "self"
    assert function[0].name == "df"
    assert own[1:] == function[1:]
    assert getattr(owner, name).__doc__ == getattr(api, name).__doc__
    assert getattr(owner, name).__name__ == name


def test_bound_accessors_show_the_signature_without_self():
    df = pd.DataFrame({"a": [1]})
    for name in VERBS:
        function = list(inspect.signature(getattr(dfjoin, name)).parameters)
        assert list(inspect.signature(getattr(df, name)).parameters) == function[1:]
        assert list(inspect.signature(getattr(df.dfjoin, name)).parameters) == function[1:]


def test_signatures_are_those_of_the_contract():
    def defaults(function):
        return {p.name: p.default for p in inspect.signature(function).parameters.values()}

    empty = inspect.Parameter.empty
    assert defaults(dfjoin.auto_join) == {
        "df": empty, "other": empty, "on": None, "right_on": None, "k": 1, "threshold": 0.5,
        "min_score": 0.5, "tables": None, "exclude": None, "mode": "exact",
        "columns": None, "how": "left", "aggregate": "auto", "max_expansion": 10.0, "indicator": False,
        "transform": None, "fuzzy": None, "precision": None, "examples": None, "reviewed": None, "aliases": None,
        "pad": None, "dayfirst": None, "plan": None, "partners": None, "min_margin": None, "radius": None,
        "radius_unit": None, "metric": None, "on_no_match": "warn",
        "on_stale": "error",
    }  # fmt: skip
    discover = defaults(dfjoin.discover_joinable)
    contract = {
        "mode": "exact", "k": None, "threshold": None, "weighted": False, "tables": None, "exclude": None,
        "kinds": None, "plan": None, "verify": True, "pad": None, "dayfirst": None, "recall": None, "progressive": False,
        "rank": None, "min_score": None, "families": True,
    }  # fmt: skip
    assert list(discover)[:3] == ["df", "on", "lake"]
    assert contract.items() <= discover.items()
    build = defaults(dfjoin.build_lake)
    assert build == {
        "source": empty, "index": empty, "if_exists": "error", "engine": None, "spark": None, "tables": None, "columns": None,
        "exclude": None, "embedder": None, "axes": None, "settings": None, "keep_data": True,
        "on_error": "skip", "progress": True, "workers": 1,
        "delimiter": None, "decimal": None, "header": None, "encoding": None,
    }  # fmt: skip
    assert defaults(dfjoin.open_lake) == {"index": empty, "version": None, "roots": None, "verify": None}


@pytest.mark.parametrize(
    ("function", "positional"),
    [
        (dfjoin.auto_join, ["df", "other"]),
        (dfjoin.discover_joinable, ["df", "on", "lake"]),
        (dfjoin.build_lake, ["source", "index"]),
        (dfjoin.open_lake, ["index"]),
    ],
)
def test_the_rest_is_keyword_only(function, positional):
    kinds = inspect.signature(function).parameters.values()
    assert [p.name for p in kinds if p.kind is not inspect.Parameter.KEYWORD_ONLY] == positional


def test_accessors_call_the_function_with_the_same_arguments(build):
    df = pd.DataFrame({"a": ["x", "y"]})
    lake = build({"t": pd.DataFrame({"b": ["x", "y"], "v": [1.5, 2.5]})})
    expected = dfjoin.discover_joinable(df, "a", lake, k=1)
    pd.testing.assert_frame_equal(df.discover_joinable("a", lake, k=1), expected)
    pd.testing.assert_frame_equal(df.dfjoin.discover_joinable(on="a", lake=lake, k=1), expected)


def test_registering_twice_changes_nothing():
    before = pd.DataFrame.auto_join, pd.DataFrame.__dict__["dfjoin"]
    accessors.register()
    assert (pd.DataFrame.auto_join, pd.DataFrame.__dict__["dfjoin"]) == before


def test_the_namespace_is_of_frames_only():
    with pytest.raises(AttributeError, match="attribute of DataFrames"):
        accessors.DfjoinAccessor(pd.Series([1]))


CLASSES = [value for name in errors.__all__ if isinstance(value := getattr(errors, name), type)]


@pytest.mark.parametrize("error", CLASSES, ids=lambda e: e.__name__)
def test_every_error_is_of_the_family_and_a_builtin(error):
    assert error.__doc__
    if issubclass(error, Warning):
        assert issubclass(error, UserWarning)
        return
    assert issubclass(error, errors.DfjoinError)
    if error is not errors.DfjoinError:
        builtin = (ValueError, TypeError, OSError, RuntimeError, ImportError, KeyError)
        assert issubclass(error, builtin)


@pytest.mark.parametrize("owner", [dfjoin.Lake, dfjoin.JoinCandidates, dfjoin.JoinPlan], ids=lambda c: c.__name__)
def test_public_methods_are_documented(owner):
    own = [part for part in owner.__mro__ if part.__module__.startswith("dfjoin")]
    for name, member in (item for part in own for item in vars(part).items()):
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            assert inspect.getdoc(member), f"{owner.__name__}.{name}"
