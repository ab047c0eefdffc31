"""The options of a build: checked when they are made, frozen afterwards."""

from dataclasses import FrozenInstanceError, replace

import pytest

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, InvalidTypeError
from dfjoin.index.manifest import Manifest
from dfjoin.ingest.build_options import BuildOptions, check_same_settings, index_settings
from dfjoin.types import IndexSettings
from dfjoin.values.unicode import UNICODE_VERSION


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"engine": "dask"}, r"`engine` must be one of None, 'spark', 'inline', got 'dask'"),
        ({"on_error": "ignore"}, r"`on_error` must be one of 'skip', 'raise', got 'ignore'"),
        ({"progress": 1}, r"`progress` must be True, False or a function, got 1"),
        ({"keep_data": 1}, r"`keep_data` must be one of True, False, got 1"),
    ],
)
def test_illegal_values_are_named(options, match):
    with pytest.raises(InvalidParameterError, match=match):
        BuildOptions("data", **options)


def test_options_do_not_change():
    options = BuildOptions("data")
    assert (options.engine, options.on_error, options.keep_data, options.progress) == (None, "skip", True, True)
    with pytest.raises(FrozenInstanceError):
        options.engine = "spark"


def test_the_password_of_a_source_is_not_shown():
    assert "secret" not in repr(BuildOptions("mysql://u:secret@h/"))


def test_settings_are_completed():
    made = index_settings({"null_spellings": "NA", "samples": 0}, "a/*", ["b/*", "c"])
    assert made.null_spellings == ("NA",) and made.samples == 0 and made.unicode_version == UNICODE_VERSION
    assert made.columns == ("a/*",) and made.exclude == ("b/*", "c")
    assert index_settings(None) == replace(IndexSettings(), unicode_version=UNICODE_VERSION)
    again = index_settings(replace(made, partition_ends=(5,)))
    assert again.partition_ends == () and again.columns == ()


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ("fast", InvalidTypeError, "`settings` must be a dict or IndexSettings, got str"),
        ({"speed": 1}, InvalidParameterError, "`settings` may hold 'null_spellings'.*, got 'speed'"),
        ({"columns": ["a"]}, InvalidParameterError, "got 'columns'"),
        ({"samples": -1}, InvalidParameterError, r"`settings\['samples'\]` must be an integer of at least 0, got -1"),
        ({"samples": True}, InvalidParameterError, r"`settings\['samples'\]` must be an integer of at least 0"),
        ({"task_bytes": 0}, InvalidParameterError, r"`settings\['task_bytes'\]` must be at least 1, got 0"),
        ({"dayfirst": 1}, InvalidParameterError, r"`settings\['dayfirst'\]` must be one of None, True, False, got 1"),
        ({"patterns": "yes"}, InvalidParameterError, r"`settings\['patterns'\]` must be one of True, False"),
    ],
)
def test_illegal_settings_are_named(settings, error, match):
    with pytest.raises(error, match=match):
        index_settings(settings)


def test_settings_of_an_index_are_frozen_but_only_those_that_are_given_count():
    base = Manifest("u", 1, index_settings({"samples": 2}, "a/*"))
    check_same_settings(base, index_settings(None), None)
    check_same_settings(base, index_settings({"samples": 2}), {"samples": 2})
    with pytest.raises(
        IncompatibleSettingsError, match="differ from those of the index in 'samples', which are frozen"
    ):
        check_same_settings(base, index_settings({"samples": 3}), {"samples": 3})
    with pytest.raises(IncompatibleSettingsError, match="in 'columns'"):
        check_same_settings(base, index_settings(None, "b/*"), None, columns="b/*")
    with pytest.raises(IncompatibleSettingsError, match="in 'tables'"):
        check_same_settings(base, index_settings(None, tables="t"), None, tables="t")
