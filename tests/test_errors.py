"""Errors as users catch them, short lists, and warnings that point at the user's line."""

import _thread
import ast
import threading
import warnings
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin import errors
from dfjoin.errors import ApproximateResultWarning, DfjoinWarning, did_you_mean, shortlist, warn

PACKAGE = Path(dfjoin.__file__).parent

BUILTINS = {
    "InvalidParameterError": ValueError, "InvalidTypeError": TypeError, "ColumnNotFoundError": ValueError,
    "TableNotFoundError": ValueError, "IndexNotFoundError": FileNotFoundError, "IndexFormatError": ValueError,
    "IndexVersionError": ValueError, "IndexCorruptedError": ValueError, "IncompatibleSettingsError": ValueError,
    "ConcurrentCommitError": RuntimeError, "MissingDependencyError": ImportError, "TableChangedError": RuntimeError,
    "TableReadError": ValueError, "NoMatchError": ValueError, "JoinExpansionError": ValueError,
    "EngineError": RuntimeError,
}  # fmt: skip


@pytest.mark.parametrize("name", BUILTINS)
def test_an_error_is_caught_as_the_builtin_of_its_kind(name):
    with pytest.raises(BUILTINS[name], match=r"^what happened$"):
        raise getattr(errors, name)("what happened")


def test_damage_and_another_version_are_told_apart_below_one_error():
    assert issubclass(errors.IndexCorruptedError, errors.IndexFormatError)
    assert issubclass(errors.IndexVersionError, errors.IndexFormatError)
    assert not issubclass(errors.IndexCorruptedError, errors.IndexVersionError)


ITEMS = st.lists(st.one_of(st.text(max_size=5), st.integers(), st.none(), st.booleans()), max_size=12)


@given(ITEMS, st.integers(1, 8))
def test_a_short_list_can_be_read_back(items, limit):
    text = shortlist(iter(items), limit)
    end = f", … ({len(items)} in all)"
    if len(items) > limit:
        assert text.endswith(end)
        text = text.removesuffix(end)
    assert ast.literal_eval(f"[{text}]" if items else "[]") == items[:limit]
    assert items or text == "none"


def test_five_items_are_shown_unless_told_otherwise():
    assert shortlist("abcde") == "'a', 'b', 'c', 'd', 'e'"
    assert shortlist("abcdef") == "'a', 'b', 'c', 'd', 'e', … (6 in all)"


def function_in(path, body="warn(*arguments)"):
    """A function whose code seems to lie in a file; it calls `inner`, or warns."""
    names = {"warn": warn}
    exec(compile(f"def call(*arguments, inner=None):\n    return {body}\n", str(path), "exec"), names)
    return names["call"]


def caught_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (one,) = caught
    return one


def test_a_warning_has_the_line_of_the_caller():
    first = test_a_warning_has_the_line_of_the_caller.__code__.co_firstlineno
    one = caught_line(lambda: warn("look"))
    assert (one.filename, one.lineno, one.category, str(one.message)) == (__file__, first + 2, DfjoinWarning, "look")


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "search" / "exact", PACKAGE.parent / "spark_ext"])
@pytest.mark.parametrize("n_frames", [1, 3])
def test_frames_of_the_package_are_passed_over(folder, n_frames):
    call = function_in(folder / "made_up.py")
    for _ in range(n_frames - 1):
        call = partial(function_in(folder / "outer.py", "inner(*arguments)"), inner=call)
    one = caught_line(lambda: call("look", ApproximateResultWarning))
    first = test_frames_of_the_package_are_passed_over.__code__.co_firstlineno
    assert one.filename == __file__ and one.category is ApproximateResultWarning
    assert one.lineno == first + 6


def test_a_function_of_the_user_that_the_package_calls_is_the_user_s_code(tmp_path):
    callback = function_in(tmp_path / "mine.py")
    own = function_in(PACKAGE / "made_up.py", "inner(*arguments)")
    assert caught_line(lambda: own("look", inner=callback)).filename == str(tmp_path / "mine.py")


def test_a_file_beside_the_package_whose_name_begins_alike_is_the_user_s_code():
    path = PACKAGE.parent / "dfjoin_study.py"
    assert caught_line(lambda: function_in(path)("look")).filename == str(path)


def test_a_stack_of_the_package_alone_warns_too():
    """A thread may begin inside the package: there is no line of the user then."""
    done = threading.Event()
    body = "(warn(*arguments), inner())"
    one = caught_line(
        lambda: (
            _thread.start_new_thread(function_in(PACKAGE / "made_up.py", body), ("look",), {"inner": done.set}),
            done.wait(10),
        )
    )
    assert str(one.message) == "look" and one.category is DfjoinWarning


def test_the_same_warning_from_two_lines_is_shown_for_each():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("look")
            warn("look")
    assert len(caught) == 2 and len({one.lineno for one in caught}) == 2


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("map", "roadmap", "; did you mean 'roadmap'?"),  # three letters that the other has
        ("ap", "roadmap", ""),  # two say too little
        ("roadmpa", "roadmap", "; did you mean 'roadmap'?"),
        ("x", "x1", ""),
    ],
)
def test_a_name_of_three_letters_or_more_may_be_part_of_the_one_that_is_meant(name, known, meant):
    assert did_you_mean(name, [known, "other"]) == meant
