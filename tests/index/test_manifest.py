"""Manifests: round trips, refusals, and commits that happen once or not at all."""

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    IndexCorruptedError,
    IndexVersionError,
)
from dfjoin.index.commit import commit, list_versions, read_manifest
from dfjoin.index.components import GROUPS, ComponentMeta, manifest_path
from dfjoin.index.manifest import FEATURES, GroupMeta, Manifest, SegmentMeta, seal
from dfjoin.types import IndexSettings, Root


def make_manifest(version=1, **changes):
    component = ComponentMeta("hash", "tokens-1/hash.npy", "<u8", (3,), 152, 7)
    catalog = ComponentMeta("catalog", "catalog-1/catalog.arrow", "arrow-ipc", (900,), 900, 8)
    groups = (GroupMeta("tokens", "tokens-1", (component,)), GroupMeta("catalog", "catalog-1", (catalog,)))
    tombstones = {
        "file": "tombstones/s1.npy",
        "n_deleted": 2,
        "n_deleted_tables": 1,
        "n_deleted_indexed": 1,
        "crc32": 9,
    }
    segments = (
        SegmentMeta("s1", {"tables": 1, "columns": 2, "indexed_columns": 2, "tokens": 0}, groups),
        SegmentMeta("s2", {"tables": 3, "columns": 4, "indexed_columns": 3, "tokens": 0}, groups, tombstones),
    )
    settings = IndexSettings(null_spellings=("", "na"), dayfirst=True, columns=("a/*",), samples=0)
    return Manifest("u1", version, settings, (Root(0, "", "data"), Root(1, "r", "x", "spark")), segments, **changes)


def edited(change, **options):
    values = json.loads(make_manifest(**options).to_json())
    change(values)
    return json.dumps(values)


class TestRoundTrip:
    def test_json(self):
        manifest = make_manifest()
        assert Manifest.from_json(manifest.to_json(), "here") == manifest

    def test_counts_add_up(self):
        nothing = dict.fromkeys(("skipped", "tokens", "lists", "postings", "pairs"), 0)
        assert make_manifest().counts == {"tables": 3, "columns": 4, "indexed_columns": 4, **nothing}

    def test_segment(self):
        segment = make_manifest().segments[1]
        assert SegmentMeta.from_dict(json.loads(json.dumps(segment.to_dict()))) == segment
        assert segment.size == 1052
        assert segment.group("tokens").id == "tokens-1" and segment.group("vectors") is None

    def test_commit_and_read(self, tmp_path):
        manifest = make_manifest()
        commit(tmp_path, manifest)
        assert read_manifest(tmp_path) == manifest
        assert read_manifest(tmp_path, 1) == manifest
        assert os.listdir(tmp_path / "manifests") == [f"{1:020d}.json"]

    def test_next_keeps_all_but_the_changes(self):
        following = make_manifest(created_by="dfjoin 0", created_at="").next("remove all", segments=())
        assert following.version == 2 and following.segments == () and following.roots == make_manifest().roots
        assert following.created_by == f"dfjoin {dfjoin.__version__}"

    def test_a_version_tells_when_and_by_what_it_came(self):
        following = make_manifest().next("remove all")
        assert following.operation == "remove all" and make_manifest().operation == "build"
        age = datetime.now(UTC) - datetime.fromisoformat(following.created_at)
        assert timedelta(seconds=-1) < age < timedelta(seconds=60)
        assert Manifest.from_json(following.to_json(), "here") == following
        assert make_manifest().next("x", version=9).version == 9

    def test_manifests_without_time_and_operation_are_read(self):
        def change(values):
            del values["created_at"], values["operation"]

        assert Manifest.from_json(edited(change), "here").created_at == ""

    def test_unknown_fields_are_ignored(self):
        def change(values):
            values["later"] = 1
            values["settings"]["later"] = 2
            values["segments"][0]["later"] = 3
            values["segments"][0]["groups"][0]["components"][0]["later"] = 4

        assert Manifest.from_json(edited(change), "here") == make_manifest()

    def test_features_are_the_groups_present(self):
        values = json.loads(make_manifest().to_json())
        assert values["reader_features"] == values["writer_features"] == ["catalog", "tokens", "null_evidence"]
        older = replace(make_manifest(), segments=(), settings=IndexSettings(null_evidence=False))
        assert json.loads(older.to_json())["reader_features"] == []

    def test_an_index_of_before_keeps_its_rule_of_nulls(self):
        values = make_manifest().settings.to_dict()
        del values["null_evidence"]
        assert not IndexSettings.from_dict(values).null_evidence
        assert IndexSettings.from_dict({"samples": 3}).null_evidence


class TestRefusals:
    def test_newer_format_version(self):
        text = edited(lambda v: v.update(format_version=2))
        with pytest.raises(
            IndexVersionError,
            match=r"written by 'dfjoin .*', has format version 2, this dfjoin .* reads up to 1; upgrade dfjoin",
        ):
            Manifest.from_json(text, "here")

    def test_unknown_feature(self):
        text = edited(lambda v: v["reader_features"].append("clusters"))
        with pytest.raises(
            IndexVersionError,
            match=r"index here, written by 'dfjoin .*', needs the features 'clusters', this dfjoin .* knows 't",
        ):
            Manifest.from_json(text, "here")

    def test_features_belong_to_the_version_that_brought_them(self):
        """What is frozen here is released: a further feature is one of a further version of dfjoin."""
        released = {
            "0.1.0": ("tokens", "catalog", "signatures"),
            "0.2.0": (
                "patterns",
                "vectors",
                "axes",
                "rows",
                "null_evidence",
                "dialects",
                "parts",
                "declared_keys",
                "tables",
            ),
        }
        assert released == FEATURES
        latest, own = ([int(n) for n in v.split(".")] for v in (list(FEATURES)[-1], dfjoin.__version__))
        assert latest <= own
        features = [feature for features in FEATURES.values() for feature in features]
        assert sorted(features) == sorted([*GROUPS, "null_evidence", "dialects", "parts", "declared_keys", "tables"])

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (lambda v: v["segments"][1]["tombstones"].update(n_deleted=float("nan")), "NaN is no number of JSON"),
            (lambda v: v["segments"][1]["tombstones"].update(n_deleted_indexed=10**29), "n_deleted_indexed must be a whole"),
            (lambda v: v["segments"][1]["tombstones"].update(n_deleted=5), "segment s2 has more deleted than it holds"),
            (lambda v: v["segments"].append(v["segments"][0]), "a segment is named twice"),
            (lambda v: v["roots"].append(v["roots"][0]), "a root is named twice"),
            (lambda v: v["segments"][0]["groups"].append(v["segments"][0]["groups"][0]), "a group of segment s1 is named tw"),
            (lambda v: v["segments"][0]["groups"][0].update(components=[]), "components must be a list of 1 entries or more"),
            (lambda v: v["segments"][0]["groups"][0].update(id="a/b"), "or of one of its groups, is not a plain name"),
            (lambda v: v["segments"][0]["groups"][0]["components"][0].update(name=["hash"]), "name must be a text"),
            (lambda v: v["segments"][0]["groups"][0]["components"][0].update(file="x" * 10**6), "a name of at most 255 bytes"),
            (lambda v: v["segments"][0]["groups"][0]["components"][0].update(file="\ud800"), "a name of at most 255 bytes"),
            (lambda v: v["roots"][0].update(uri=["data"]), r"manifest.roots\[0\].uri must be a text"),
            (lambda v: v["roots"][0].update(kind="ftp"), "kind must be one of files, spark, memory, database, got 'ftp'"),
            (lambda v: v["settings"].update(signature_min={}), "manifest.settings.signature_min must be a whole number"),
            (lambda v: v["settings"].update(dialects=[["header", "*"]]), r"dialects\[0\] must be a list of 3 entries"),
            (lambda v: v["settings"].update(dialects=[["sep", "*", ";"]]), r"dialects\[0\]\[0\] must be one of delimiter"),
        ],
    )  # fmt: skip
    def test_a_field_of_another_type_or_range(self, change, text):
        with pytest.raises(IndexCorruptedError, match=text):
            Manifest.from_json(edited(change), "here")

    def test_a_component_that_is_named_twice(self):
        def change(values):
            components = values["segments"][0]["groups"][0]["components"]
            components.append({**components[0]})

        with pytest.raises(IndexCorruptedError, match="a component of group tokens-1 is named twice"):
            Manifest.from_json(edited(change), "here")

    def test_unknown_writer_feature_is_readable(self):
        text = edited(lambda v: v["writer_features"].append("clusters"))
        found = Manifest.from_json(text, "here")
        assert replace(found, later_features=()) == make_manifest() and found.later_features == ("clusters",)

    def test_unknown_writer_feature_cannot_be_changed(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
        path = manifest_path(lake.path, 1)
        values = json.loads(path.read_text("utf-8"))
        values["writer_features"].append("clusters")
        path.write_text(seal(values), "utf-8")
        opened = dfjoin.open_lake(lake.path)
        assert opened.tables["table"].tolist() == ["t"]
        (lake.path / "segments" / "orphan").mkdir()
        for change in (lambda: opened.remove("t"), lambda: opened.add_patterns(), lambda: opened.restore(1)):
            with pytest.raises(IndexVersionError, match=r"has to keep up 'clusters', which this .* upgrade dfjoin"):
                change()
        assert opened.vacuum(0)["files"] == 0 and (lake.path / "segments" / "orphan").exists()
        assert list_versions(lake.path) == [1]

    @pytest.mark.parametrize("other", [1, 3])
    def test_a_manifest_in_the_place_of_another_version(self, tmp_path, other):
        """A copy of another version's manifest is sound in itself; its number tells that it does not belong there."""
        for version in (1, 2, 3):
            commit(tmp_path, make_manifest(version))
        shutil.copy(manifest_path(tmp_path, other), manifest_path(tmp_path, 2))
        with pytest.raises(IndexCorruptedError, match=r"is not as it was committed .*call dfjoin.repair"):
            read_manifest(tmp_path, 2)
        assert read_manifest(tmp_path).version == 3

    def test_an_edited_manifest(self, tmp_path):
        commit(tmp_path, make_manifest(1))
        path = manifest_path(tmp_path, 1)
        path.write_text(path.read_text("utf-8").replace('"operation":"build"', '"operation":"other"'), "utf-8")
        with pytest.raises(IndexCorruptedError, match="is not as it was committed"):
            read_manifest(tmp_path)

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", "1", '"text"', "{}", '{"format": "other"}', '{"format": "dfjoin-index"}']
    )
    def test_no_manifest(self, text):
        with pytest.raises(IndexCorruptedError, match=r"the manifest here cannot be read .*open an older version"):
            Manifest.from_json(text, "here")

    @pytest.mark.parametrize(
        "key", ["index_uuid", "version", "settings", "roots", "segments", "created_by", "reader_features"]
    )
    def test_missing_field(self, key):
        with pytest.raises(IndexCorruptedError, match=f"manifest lacks `{key}`"):
            Manifest.from_json(edited(lambda v: v.pop(key)), "here")

    @pytest.mark.parametrize("key", ["settings", "roots", "segments", "version", "reader_features", "format_version"])
    @pytest.mark.parametrize("value", [None, 5.5, "text", [1], {"a": 1}, [None]])
    def test_field_of_another_type_never_crashes(self, key, value):
        """Either refused as damaged, or read as something harmless."""
        try:
            manifest = Manifest.from_json(edited(lambda v: v.update({key: value})), "here")
        except (IndexCorruptedError, IndexVersionError):
            return
        assert isinstance(manifest, Manifest)

    @pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "..", "", ".", "a\\b"])
    def test_component_path_that_escapes(self, path):
        def change(values):
            values["segments"][0]["groups"][0]["components"][0]["file"] = path

        with pytest.raises(IndexCorruptedError, match="leads outside the index"):
            Manifest.from_json(edited(change), "here")

    @pytest.mark.parametrize("path", ["../x", "/etc/x", "..", "", "\\\\host\\x"])
    def test_segment_id_that_escapes(self, path):
        with pytest.raises(IndexCorruptedError, match="leads outside the index"):
            Manifest.from_json(edited(lambda v: v["segments"][0].update(id=path)), "here")

    def test_segment_id_with_a_slash(self):
        with pytest.raises(IndexCorruptedError, match=r"the id of segment 'a/b', or .* is not a plain name"):
            Manifest.from_json(edited(lambda v: v["segments"][0].update(id="a/b")), "here")

    @pytest.mark.parametrize("path", ["../x", "/etc/x"])
    def test_tombstone_path_that_escapes(self, path):
        with pytest.raises(IndexCorruptedError, match="leads outside the index"):
            Manifest.from_json(edited(lambda v: v["segments"][1]["tombstones"].update(file=path)), "here")

    @pytest.mark.parametrize("shape", [[2**62], [3, 3], [], [4]])
    def test_another_shape_is_damage_when_it_is_used(self, build, shape):
        """A huge shape in a manifest leads to an error, not to an allocation."""
        lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
        path = next((lake.path / "manifests").glob("*.json"))
        values = json.loads(path.read_text())
        component = values["segments"][0]["groups"][0]["components"][0]
        component["shape"] = shape
        path.write_text(seal(values))
        opened = dfjoin.open_lake(lake.path)
        with pytest.raises(IndexCorruptedError, match=f"component `{component['name']}`"):
            dfjoin.discover_joinable(pd.DataFrame({"q": ["a"]}), "q", opened, rank="matched")

    @pytest.mark.parametrize("shape", [5, None, ["x"], "(3,)", {"a": 1}, [-1], [2**70]])
    def test_a_shape_that_is_none(self, shape):
        def change(values):
            values["segments"][0]["groups"][0]["components"][0]["shape"] = shape

        with pytest.raises(IndexCorruptedError, match="the manifest here cannot be read"):
            Manifest.from_json(edited(change), "here")

    @pytest.mark.parametrize("n_columns", [0, 1, 3, 2**31 - 1])
    def test_another_number_of_columns_is_damage(self, build, n_columns):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"], "d": ["a", "b"]})})
        path = next((lake.path / "manifests").glob("*.json"))
        values = json.loads(path.read_text())
        values["segments"][0]["counts"]["columns"] = n_columns
        path.write_text(seal(values))
        opened = dfjoin.open_lake(lake.path)
        with pytest.raises(IndexCorruptedError):
            dfjoin.discover_joinable(pd.DataFrame({"q": ["a"]}), "q", opened, rank="matched")
        with pytest.raises(IndexCorruptedError, match=r"component `catalog` of segment .* lists 2 columns"):
            opened.columns  # noqa: B018


class TestOpening:
    def test_opening_touches_the_manifest_only(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
        shutil.rmtree(lake.path / "segments")
        opened = dfjoin.open_lake(lake.path)
        assert opened.version == 1 and "1 tables, 1 columns" in repr(opened)
        assert opened.manifest.counts["tokens"] == 2
        with pytest.raises(IndexCorruptedError, match="the file is missing"):
            dfjoin.discover_joinable(pd.DataFrame({"q": ["a"]}), "q", opened, rank="matched")
        with pytest.raises(IndexCorruptedError, match="the file is missing"):
            opened.tables  # noqa: B018

    def test_an_unknown_feature_is_refused_at_open(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
        path = next((lake.path / "manifests").glob("*.json"))
        values = json.loads(path.read_text())
        values["reader_features"].append("clusters")
        path.write_text(seal(values))
        with pytest.raises(IndexVersionError, match="clusters"):
            dfjoin.open_lake(lake.path)

    def test_the_manifest_does_not_grow_with_the_lake(self, build):
        sizes = []
        for n in (1, 40):
            lake = build({f"t{i}": pd.DataFrame({"c": ["a", f"b{i}"]}) for i in range(n)})
            sizes.append(next((lake.path / "manifests").glob("*.json")).stat().st_size)
        assert sizes[1] < sizes[0] + 100


def test_a_manifest_without_a_later_setting_has_its_default():
    old = {name: value for name, value in IndexSettings().to_dict().items() if name != "max_columns"}
    assert IndexSettings.from_dict(old).max_columns == 100_000
    assert IndexSettings.from_dict({**old, "max_columns": 7}).max_columns == 7
