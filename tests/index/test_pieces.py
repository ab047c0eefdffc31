"""Pattern tokens in segments: of which columns, that they are those of the values, and that they survive every change."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError, IncompatibleSettingsError, IndexCorruptedError, InvalidParameterError
from dfjoin.index import commit as commit_module
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.component_files import write_component
from dfjoin.index.components import PATTERNS
from dfjoin.index.manifest import Manifest
from dfjoin.index.segment import Segment
from dfjoin.kernels.hashing import hash_values
from tests.kernels.packing import pack
from tests.oracles.values import naive_pieces

OPTIONS = {"engine": "inline", "progress": False}
SMALL = {"patterns": True}
NAMES = [f"{a}son, {b}rick" for a in ("Ander", "Johan", "Peder", "Ols", "Nil") for b in ("E", "F", "G", "Her")]


def frames():
    return {
        "a": pd.DataFrame({"name": NAMES, "n": range(20), "day": pd.date_range("2024-01-05", periods=20)}),
        "b": pd.DataFrame({"name": [n.upper() for n in NAMES[5:]], "code": [f"AB-{i}" for i in range(100, 115)]}),
    }


def patterns_of(lake):
    """(table, column) → hashes of its pieces, over all segments; dead columns left out."""
    found = {}
    for segment in lake.segments:
        stored = segment.patterns
        owners = np.repeat(stored.hash, np.diff(stored.indptr))
        for column in range(segment.n_columns):
            hashes = owners[stored.columns == column].tolist()
            assert hashes == sorted(set(hashes)) and len(hashes) == stored.sizes[column]
            if hashes and (segment.alive is None or segment.alive[column]):
                found[segment.catalog.table_name(column), segment.catalog.column_name(column)] = hashes
    return found


def computed(lake):
    """The same from the values of the text and date columns."""
    found = {}
    for segment in lake.segments:
        numbers = segment.catalog.numbers
        for column in range(segment.n_columns):
            key = segment.catalog.table_name(column), segment.catalog.column_name(column)
            if (segment.alive is not None and not segment.alive[column]) or not numbers["is_indexed"][column]:
                continue
            if key[1] == "n":
                continue
            values = [value_of_token(segment, token) for token in tokens_of_column(segment, column).tolist()]
            pieces = set().union(*map(naive_pieces, values))
            hashes = hash_values(*pack([piece.encode() for piece in pieces]), np.uint64(lake.settings.hash_seed))
            found[key] = sorted(hashes.tolist())
    return found


def test_text_and_dates_have_patterns_and_integers_have_none(build):
    lake = build(frames(), settings=SMALL)
    assert set(patterns_of(lake)) == {("a", "name"), ("a", "day"), ("b", "name"), ("b", "code")}
    assert patterns_of(lake) == computed(lake)
    for array in lake.segments[0].patterns:
        assert not array.flags.writeable


def test_they_are_off_by_default_and_the_error_names_the_call(build):
    lake = build(frames())
    assert not lake.settings.patterns and lake.segments[0].meta.group("patterns") is None
    with pytest.raises(IncompatibleSettingsError, match=r"has no pattern tokens, .*`lake.add_patterns\(\)`"):
        lake.segments[0].patterns  # noqa: B018


def test_settings_that_are_absent_mean_none(build):
    text = build(frames()).manifest.to_json().replace(',"patterns":false', "")
    assert "patterns" not in text and not Manifest.from_json(text, "here").settings.patterns


def test_a_setting_that_is_refused(build):
    with pytest.raises(InvalidParameterError, match=r"`settings\['patterns'\]` must be one of True, False, got 1"):
        build(frames(), settings={"patterns": 1})


def test_patterns_do_not_depend_on_segments_and_spills(build):
    whole = build(frames(), settings=SMALL)
    assert patterns_of(build(frames(), settings={**SMALL, "task_bytes": 4096})) == patterns_of(whole)
    cut = build({"a": frames()["a"]}, settings=SMALL).add({"b": frames()["b"]}, **OPTIONS)
    assert len(cut.segments) == 2 and patterns_of(cut) == patterns_of(whole)


def test_patterns_through_the_life_of_an_index(build):
    lake = build(frames(), settings=SMALL)
    lake.add({"c": pd.DataFrame({"z": NAMES[3:9]})}, **OPTIONS)
    assert patterns_of(lake) == computed(lake) and ("c", "z") in patterns_of(lake)
    lake.replace({"b": pd.DataFrame({"x": NAMES[:4]})}, **OPTIONS)
    assert patterns_of(lake) == computed(lake)
    lake.remove("a")
    assert set(patterns_of(lake)) == {("b", "x"), ("c", "z")}
    before = patterns_of(lake)
    lake.compact(full=True)
    assert len(lake.segments) == 1 and lake.segments[0].alive is None
    assert patterns_of(lake) == before == computed(lake) and lake.verify() == []
    lake.vacuum(0)
    assert patterns_of(dfjoin.open_lake(lake.path)) == before


def test_columns_whose_sets_are_dropped_have_none(build):
    lake = build(frames(), settings={**SMALL, "permutations": 16, "keep_sets": False})
    assert set(patterns_of(lake)) == {("b", "code")} | {("b", "name")} & set(patterns_of(lake))
    sizes = {key: len(hashes) for key, hashes in patterns_of(lake).items()}
    kept = {("a", "name"), ("a", "day")}
    assert not kept & set(sizes) and patterns_of(lake) == {k: v for k, v in computed(lake).items() if v}


class TestAddPatterns:
    def test_to_an_index_that_has_none(self, build):
        lake = build(frames())
        lake.add_patterns()
        assert lake.version == 2 and lake.manifest.operation == "add patterns" and lake.settings.patterns
        assert patterns_of(lake) == computed(lake) == patterns_of(build(frames(), settings=SMALL))
        assert lake.verify() == [] and lake.segments[0].signatures.columns.size == 0
        lake.add({"c": pd.DataFrame({"z": NAMES[3:9]})}, **OPTIONS)
        assert ("c", "z") in patterns_of(lake)
        lake.add_signatures(permutations=4)
        assert patterns_of(lake) == computed(lake)
        assert dfjoin.open_lake(lake.path, version=1).segments[0].meta.group("patterns") is None

    def test_a_second_time_does_nothing(self, build):
        assert build(frames(), settings=SMALL).add_patterns().version == 1

    def test_a_lake_without_tables(self, build):
        lake = build(frames())
        lake.remove(["a", "b"]).compact(full=True)
        assert lake.add_patterns().settings.patterns

    def test_another_writer_meanwhile(self, build, monkeypatch):
        lake = build(frames())
        real = commit_module.commit

        def overtaken(index, manifest):
            monkeypatch.setattr(commit_module, "commit", real)
            dfjoin.open_lake(index).remove("b")
            real(index, manifest)

        monkeypatch.setattr(commit_module, "commit", overtaken)
        with pytest.raises(ConcurrentCommitError, match=r"while patterns were added; .*add_patterns\(\) again"):
            lake.add_patterns()
        assert patterns_of(lake.refresh().add_patterns()) == computed(lake)


class TestDamage:
    def changed(self, lake, change):
        (meta,) = lake.manifest.segments
        groups = tuple(replace(g, components=change(g.components)) if g.name == "patterns" else g for g in meta.groups)
        return Segment(lake.path, replace(meta, groups=groups))

    @pytest.mark.parametrize("name", PATTERNS)
    def test_a_component_that_is_not_listed(self, build, name):
        segment = self.changed(build(frames(), settings=SMALL), lambda cs: tuple(c for c in cs if c.name != name))
        with pytest.raises(IndexCorruptedError, match=f"component `{name}` of segment .* is not in the manifest"):
            segment.patterns  # noqa: B018

    @pytest.mark.parametrize("name", PATTERNS)
    def test_arrays_that_do_not_fit_are_refused(self, build, name):
        lake = build(frames(), settings=SMALL)
        other = write_component(lake.segments[0].directory, "other", name, np.zeros(3))
        segment = self.changed(lake, lambda cs: tuple(other if c.name == name else c for c in cs))
        with pytest.raises(
            IndexCorruptedError, match=r"`pattern_\w+` of segment .*(the other components need|not from 0)"
        ):
            segment.patterns  # noqa: B018
