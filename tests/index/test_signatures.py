"""Signatures in segments: who has them, that they are those of the sets, and that they survive every change."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ConcurrentCommitError,
    IncompatibleSettingsError,
    IndexCorruptedError,
    InvalidParameterError,
    InvalidTypeError,
)
from dfjoin.index import commit as commit_module
from dfjoin.index.column_values import tokens_of_column
from dfjoin.index.commit import commit, read_manifest
from dfjoin.index.component_files import write_component
from dfjoin.index.components import SIGNATURES
from dfjoin.index.manifest import Manifest
from dfjoin.index.segment import Segment
from dfjoin.index.signatures import SizeCounts, add_sizes, cut_partitions, partition_slots, read_signatures
from dfjoin.kernels.sets.minhash import sign_hashes
from dfjoin.types import IndexSettings

OPTIONS = {"engine": "inline", "progress": False}
WORDS = [f"w{i}" for i in range(400)]
SMALL = {"permutations": 16}


def frames():
    return {
        "a": pd.DataFrame({"x": WORDS, "y": WORDS[::-1], "n": range(400), "few": WORDS[:3] * 133 + ["w9"]}),
        "b": pd.DataFrame({"x": WORDS[10:30], "tiny": WORDS[:2] * 10}),
    }


def signatures_of(lake):
    """(table, column) → signature, over all segments; dead columns left out."""
    found = {}
    for segment in lake.segments:
        signed = read_signatures(segment)
        for column, row in zip(signed.columns.tolist(), signed.matrix, strict=True):
            if segment.alive is None or segment.alive[column]:
                found[segment.catalog.table_name(column), segment.catalog.column_name(column)] = row.tolist()
    return found


def computed(lake):
    """The same from the token sets."""
    settings = lake.settings
    found = {}
    for segment in lake.segments:
        for column in range(segment.n_columns):
            if segment.alive is not None and not segment.alive[column]:
                continue
            if not segment.catalog.numbers["is_indexed"][column]:
                continue
            hashes = segment.tokens.hash[tokens_of_column(segment, column)]
            if hashes.size >= settings.smallest_signed:
                row = sign_hashes(hashes, settings.permutations, np.uint64(settings.hash_seed))
                found[segment.catalog.table_name(column), segment.catalog.column_name(column)] = row.tolist()
    return found


def test_large_columns_are_signed_and_no_others(build):
    lake = build(frames(), settings=SMALL)
    assert set(signatures_of(lake)) == {("a", "x"), ("a", "y"), ("a", "n"), ("b", "x")}
    assert signatures_of(lake) == computed(lake)
    assert signatures_of(lake)["a", "x"] == signatures_of(lake)["a", "y"]


def test_by_default_there_are_256_rows_for_columns_of_256_values(build):
    lake = build(frames())
    assert lake.settings.permutations == 256 and lake.settings.smallest_signed == 256
    stored = lake.segments[0].signatures
    assert stored.values.shape == stored.slots.shape == (256, 3)
    assert stored.sizes.tolist() == [400] * 3 and lake.settings.partition_ends == (400,)


def test_rows_are_sorted_and_slots_go_by_size(build):
    lake = build(frames(), settings={"permutations": 8, "signature_min": 2})
    stored = lake.segments[0].signatures
    assert stored.sizes.tolist() == sorted(stored.sizes.tolist()) and stored.sizes[0] == 2
    assert np.all(stored.values[:, 1:] >= stored.values[:, :-1])
    assert np.array_equal(np.sort(stored.slots, axis=1), np.tile(np.arange(stored.columns.size), (8, 1)))
    for array in stored[:3]:
        assert not array.flags.writeable


def test_an_index_without_signatures(build):
    lake = build(frames(), settings={"permutations": 0})
    assert lake.segments[0].meta.group("signatures") is None
    with pytest.raises(IncompatibleSettingsError, match=r"has no signatures, .*`lake.add_signatures\(\)`"):
        lake.segments[0].signatures  # noqa: B018


def test_settings_that_are_absent_mean_none(build):
    """An index that was written before there were signatures."""
    lake = build(frames(), settings={"permutations": 0})
    text = lake.manifest.to_json().replace('"permutations":0,', "")
    assert Manifest.from_json(text, "here").settings.permutations == 0


def test_signatures_do_not_depend_on_segments_and_spills(build):
    whole = build(frames(), settings=SMALL)
    spilled = build(frames(), settings={**SMALL, "task_bytes": 4096})
    assert signatures_of(spilled) == signatures_of(whole)
    assert spilled.settings.partition_ends == whole.settings.partition_ends
    cut = build({"a": frames()["a"]}, settings=SMALL).add({"b": frames()["b"]}, **OPTIONS)
    assert len(cut.segments) == 2 and signatures_of(cut) == signatures_of(whole)


def test_signatures_through_the_life_of_an_index(build):
    lake = build(frames(), settings=SMALL)
    ends = lake.settings.partition_ends
    lake.add({"c": pd.DataFrame({"z": WORDS[100:350]})}, **OPTIONS)
    assert signatures_of(lake) == computed(lake) and ("c", "z") in signatures_of(lake)
    lake.replace({"b": pd.DataFrame({"x": WORDS[50:80]})}, **OPTIONS)
    assert signatures_of(lake) == computed(lake)
    lake.remove("a")
    assert set(signatures_of(lake)) == {("b", "x"), ("c", "z")}
    before = signatures_of(lake)
    lake.compact(full=True)
    assert len(lake.segments) == 1 and lake.segments[0].alive is None
    assert signatures_of(lake) == before == computed(lake)
    assert lake.settings.partition_ends == ends and lake.verify() == []
    lake.vacuum(0)
    assert signatures_of(dfjoin.open_lake(lake.path)) == before


def test_compaction_merges_and_does_not_compute(build, monkeypatch):
    lake = build(frames(), settings=SMALL)
    lake.add({"c": pd.DataFrame({"z": WORDS[100:350]})}, **OPTIONS)
    before = signatures_of(lake)

    def refuse(*_):
        raise AssertionError("signatures were computed")

    monkeypatch.setattr("dfjoin.index.segment_writer.sign_large_columns", refuse)
    assert signatures_of(lake.compact(full=True)) == before


class TestWithoutSets:
    def test_sets_of_signed_columns_are_dropped_and_those_of_small_ones_kept(self, build):
        kept, dropped = build(frames(), settings=SMALL), build(frames(), settings={**SMALL, "keep_sets": False})
        assert signatures_of(dropped) == signatures_of(kept)
        pd.testing.assert_frame_equal(dropped.columns, kept.columns)
        (segment,) = dropped.segments
        held = {segment.catalog.column_name(c): tokens_of_column(segment, c).size for c in range(segment.n_columns)}
        assert held == {"x": 0, "y": 0, "n": 0, "few": 4, "tiny": 2}
        assert dropped.info()["counts"]["tokens"] == 4

    def test_they_are_merged(self, build):
        lake = build(frames(), settings={**SMALL, "keep_sets": False})
        lake.add({"c": pd.DataFrame({"z": WORDS[100:350], "s": WORDS[:5] * 50})}, **OPTIONS)
        before, columns = signatures_of(lake), lake.columns
        lake.compact(full=True)
        assert signatures_of(lake) == before and len(lake.segments) == 1
        pd.testing.assert_frame_equal(lake.columns, columns)

    def test_other_signatures_cannot_be_made(self, build):
        lake = build(frames(), settings={**SMALL, "keep_sets": False})
        assert lake.add_signatures(permutations=16).version == 1
        with pytest.raises(IncompatibleSettingsError, match=r"keeps no token sets .* if_exists=\"replace\""):
            lake.add_signatures(permutations=32)


class TestAddSignatures:
    def test_to_an_index_that_has_none(self, build):
        lake = build(frames(), settings={"permutations": 0, "segment_bytes": 4096})
        lake.add_signatures(permutations=16)
        assert lake.version == 2 and lake.manifest.operation == "add signatures"
        assert signatures_of(lake) == computed(lake) == signatures_of(build(frames(), settings=SMALL))
        assert lake.settings.partition_ends == build(frames(), settings=SMALL).settings.partition_ends
        assert lake.verify() == []
        lake.add({"c": pd.DataFrame({"z": WORDS[100:350]})}, **OPTIONS)
        assert ("c", "z") in signatures_of(lake)
        assert dfjoin.open_lake(lake.path, version=1).segments[0].meta.group("signatures") is None

    def test_a_second_time_does_nothing(self, build):
        lake = build(frames(), settings=SMALL)
        assert lake.add_signatures(permutations=16).version == 1

    def test_others_take_their_place_and_vacuum_removes_the_former(self, build):
        lake = build(frames(), settings=SMALL)
        (before,) = (segment.meta.group("signatures").id for segment in lake.segments)
        lake.add_signatures(permutations=32, signature_min=100, partitions=1, partitioning="equal_depth")
        assert set(signatures_of(lake)) == {("a", "x"), ("a", "y"), ("a", "n")}
        assert signatures_of(lake) == computed(lake) and lake.settings.partition_ends == (400,)
        assert (lake.segments[0].directory / before).is_dir()
        lake.vacuum(0)
        assert not (lake.segments[0].directory / before).exists()
        assert lake.verify() == [] and signatures_of(lake) == computed(lake)

    def test_another_writer_meanwhile(self, build, monkeypatch):
        lake = build(frames(), settings={"permutations": 0})
        real = commit_module.commit

        def overtaken(index, manifest):
            monkeypatch.setattr(commit_module, "commit", real)
            dfjoin.open_lake(index).remove("b")
            real(index, manifest)

        monkeypatch.setattr(commit_module, "commit", overtaken)
        with pytest.raises(ConcurrentCommitError, match=r"while signatures were added; .*add_signatures\(\) again"):
            lake.add_signatures()
        assert lake.refresh().add_signatures(permutations=16).version == 3
        assert signatures_of(lake) == computed(lake)

    def test_a_lake_without_tables(self, build):
        lake = build(frames(), settings={"permutations": 0})
        lake.remove(["a", "b"]).compact(full=True)
        assert lake.add_signatures().settings.permutations == 256


BAD_SETTINGS = [
    ({"permutations": -1}, InvalidParameterError, r"`settings\['permutations'\]` must be at least 1, got -1"),
    ({"permutations": 5000}, InvalidParameterError, r"must be at most 4096, or 0 for none, got 5000"),
    ({"permutations": False}, InvalidTypeError, r"`settings\['permutations'\]` must be an integer"),
    ({"signature_min": 0}, InvalidParameterError, r"`settings\['signature_min'\]` must be at least 1, got 0"),
    ({"partitions": 0}, InvalidParameterError, r"`settings\['partitions'\]` must be at least 1, got 0"),
    ({"partitioning": "deep"}, InvalidParameterError, r"'optimal', 'equal_depth', got 'deep'"),
    ({"keep_sets": 1}, InvalidParameterError, r"`settings\['keep_sets'\]` must be one of True, False, got 1"),
    ({"keep_sets": False, "permutations": 0}, InvalidParameterError, "needs signatures to stand for the sets"),
    ({"partition_ends": [3]}, InvalidParameterError, "got 'partition_ends'"),
]


@pytest.mark.parametrize(("settings", "error", "text"), BAD_SETTINGS)
def test_settings_that_are_refused(build, settings, error, text):
    with pytest.raises(error, match=text):
        build(frames(), settings=settings)


def test_settings_are_frozen(build):
    lake = build(frames(), settings=SMALL)
    with pytest.raises(IncompatibleSettingsError, match=r"differ from those of the index in 'permutations'"):
        dfjoin.build_lake({"c": frames()["b"]}, lake.path, if_exists="add", settings={"permutations": 8}, **OPTIONS)
    same = dfjoin.build_lake({"c": frames()["b"]}, lake.path, if_exists="add", settings=SMALL, **OPTIONS)
    assert same.version == 2


class TestPartitions:
    def test_optimal_and_equal_depth(self):
        sizes = np.array([3] * 4 + [4] * 4 + [99] * 3 + [100] * 3)
        assert cut_partitions(SizeCounts.of(sizes), IndexSettings(partitions=2)) == (4, 100)
        deep = IndexSettings(partitions=2, partitioning="equal_depth")
        assert cut_partitions(SizeCounts.of(np.append(sizes, 200)), deep) == (4, 200)
        assert cut_partitions(SizeCounts.of(sizes), IndexSettings(partitions=9)) == (3, 4, 99, 100)
        assert cut_partitions(SizeCounts.of(sizes[:0]), IndexSettings()) == ()

    def test_sizes_of_segments_are_added_up(self):
        parts = [SizeCounts.of(np.array(sizes, np.int64)) for sizes in ([3, 3, 9], [], [1, 9])]
        whole = SizeCounts.of(np.array([3, 3, 9, 1, 9]))
        assert all(np.array_equal(*pair) for pair in zip(add_sizes(parts), whole, strict=True))
        assert add_sizes([]).sizes.size == 0

    def test_slots_of_partitions(self):
        indptr, ends = partition_slots(np.array([3, 3, 4, 9]), (3, 5, 9))
        assert indptr.tolist() == [0, 2, 3, 4] and ends.tolist() == [3, 5, 9]

    def test_larger_columns_than_there_were(self):
        indptr, ends = partition_slots(np.array([3, 11, 30]), (3, 5))
        assert indptr.tolist() == [0, 1, 1, 1, 2, 3] and ends.tolist() == [3, 5, 10, 20, 40]
        indptr, ends = partition_slots(np.array([3, 1025]), ())
        assert indptr.tolist() == [0, 1, 2] and ends.tolist() == [1024, 2048]

    def test_no_slots(self):
        indptr, ends = partition_slots(np.empty(0, np.int64), ())
        assert indptr.tolist() == [0, 0] and ends.tolist() == [1024]


class TestDamage:
    def changed(self, lake, change):
        (meta,) = lake.manifest.segments
        groups = tuple(
            replace(g, components=change(g.components)) if g.name == "signatures" else g for g in meta.groups
        )
        return Segment(lake.path, replace(meta, groups=groups))

    @pytest.mark.parametrize("name", SIGNATURES)
    def test_a_component_that_is_not_listed(self, build, name):
        segment = self.changed(build(frames(), settings=SMALL), lambda cs: tuple(c for c in cs if c.name != name))
        with pytest.raises(IndexCorruptedError, match=f"component `{name}` of segment .* is not in the manifest"):
            segment.signatures  # noqa: B018

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("signature_columns", np.array([0, 1, 2, 99])),
            ("signature_columns", np.array([0, 1, 2, -1])),
            ("signature_columns", np.array([0, 1, 2])),
            ("signature_columns", np.array([2, 3, 0, 4])),
            ("signature_values", np.zeros((16, 3))),
            ("signature_values", np.zeros(64)),
            ("signature_slots", np.zeros((15, 4))),
        ],
    )
    def test_arrays_that_do_not_fit_are_refused(self, build, name, array):
        lake = build(frames(), settings=SMALL)
        other = write_component(lake.segments[0].directory, "other", name, array)
        segment = self.changed(lake, lambda cs: tuple(other if c.name == name else c for c in cs))
        with pytest.raises(
            IndexCorruptedError, match=r"`signature_\w+` of segment .*(there are|need|dimensions|order of their card)"
        ):
            segment.signatures  # noqa: B018

    @pytest.mark.parametrize("name", SIGNATURES)
    def test_a_changed_byte_is_found(self, build, name):
        lake = build(frames(), settings=SMALL)
        (group,) = (g for g in lake.manifest.segments[0].groups if g.name == "signatures")
        (file,) = (lake.segments[0].directory / c.file for c in group.components if c.name == name)
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(bytes(data))
        assert [f"component `{name}`" in problem for problem in lake.verify()] == [True]


def test_a_restored_version_has_the_signatures_it_had(build):
    lake = build(frames(), settings={"permutations": 0})
    lake.add_signatures(permutations=16)
    lake.restore(1)
    assert lake.settings.permutations == 0 and lake.segments[0].meta.group("signatures") is None
    lake.restore(2)
    assert signatures_of(lake) == computed(lake)
    assert read_manifest(lake.path).settings.permutations == 16
    commit(lake.path, lake.manifest.next("test"))
    assert dfjoin.open_lake(lake.path).settings == lake.settings
