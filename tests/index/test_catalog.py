"""The catalogue file: records in, records out, names found by binary search."""

import json
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.catalog import (
    COLUMN_FIELDS,
    KINDS,
    TABLE_FIELDS,
    Catalog,
    catalog_features,
    describe_type,
    find_root,
    read_dialect,
    reason_of,
    replace_field,
    write_catalog,
)
from dfjoin.types import Dialect, Root

PARTED = {"part_sizes", "other_values"}
NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), unique=True, max_size=12)


def table_record(name, first, width):
    return {
        "name": name, "root": 0, "path": name, "format": "delimited", "size": 10, "mtime_ns": 5,
        "fingerprint": 2**64 - 1, "dialect": "", "parts": [name], "version": "", "n_rows": 3,
        "first_column": first, "n_columns": width, "part_sizes": [], "part_times": [], "part_fingerprints": [],
    }  # fmt: skip


def column_record(table, name, **changes):
    return {
        "table": table, "name": name, "position": 0, "type": "string", "kind": 0, "is_indexed": 1, "n_rows": 3,
        "n_null": 1, "cardinality": 2, "has_range": 0, "min_integer": -5, "max_integer": 7, "min": "a",
        "max": "b", "date_order": "", "samples": ["a", "B"],
        "null_spellings": [], "other_values": [], **changes,
    }  # fmt: skip


def write(path, tables):
    """Write the catalogue of {table: [column names]}, both in the order given."""
    records, columns = [], []
    for number, (name, names) in enumerate(tables.items()):
        records.append(table_record(name, len(columns), len(names)))
        columns += [column_record(number, column) for column in names]
    skipped = [{"name": "bad.csv", "reason": "no text"}]
    (path / "catalog.arrow").write_bytes(write_catalog(records, columns, skipped))
    return Catalog(path / "catalog.arrow"), records, columns


def test_nulls_by_evidence_are_kept_and_a_catalogue_without_them_is_as_it_was(tmp_path):
    tables = [table_record("t", 0, 2)]
    for nulls in (["-", "na"], []):
        columns = [column_record(0, "x", null_spellings=nulls), column_record(0, "y")]
        (tmp_path / "catalog.arrow").write_bytes(write_catalog(tables, columns, []))
        assert Catalog(tmp_path / "catalog.arrow").columns().to_pylist() == columns
        with pa.memory_map(str(tmp_path / "catalog.arrow")) as file:
            fields = {field.name for field in pa.ipc.open_file(file).schema.field("columns").type.value_type}
        assert ("null_spellings" in fields) == bool(nulls), "older versions read the latter"


PARTS = ("part_sizes", "part_times", "part_fingerprints")
DECLARED = {"keys": [["id"], ["a", "b"]], "foreign_keys": [{"columns": ["c"], "path": "s/t", "key_columns": ["id"]}]}


@pytest.mark.parametrize("held", [(), PARTS, ("other_values",), (*PARTS, "null_spellings")])
def test_fields_that_hold_nothing_are_left_out(tmp_path, held):
    values = {"part_sizes": [3, 4], "part_times": [0, 9], "part_fingerprints": [7, 8]}
    values |= {"null_spellings": ["na"], "other_values": ["no", "yes"]}
    given = {name: values[name] for name in held}
    table = {**table_record("t", 0, 1), "parts": ["t/a", "t/b"]}
    table |= {name: value for name, value in given.items() if name in table}
    column = column_record(0, "x", **{name: value for name, value in given.items() if name not in table})
    (tmp_path / "catalog.arrow").write_bytes(write_catalog([table], [column], []))
    catalog = Catalog(tmp_path / "catalog.arrow")
    assert catalog.tables().to_pylist() == [
        {"keys": [], "foreign_keys": [], **table}
    ] and catalog.columns().to_pylist() == [column]
    assert catalog_features(catalog.tables(), catalog.columns()) == (("parts",) if {*held} & PARTED else ())
    with pa.memory_map(str(tmp_path / "catalog.arrow")) as file:
        schema = pa.ipc.open_file(file).schema
        fields = {field.name for list_ in schema for field in list_.type.value_type}
    assert fields & {*values} == {*held}


@pytest.mark.parametrize("name", list(DECLARED))
def test_declared_keys_are_a_feature_of_their_own(tmp_path, name):
    table = {**table_record("t", 0, 0), "keys": [], "foreign_keys": [], name: DECLARED[name]}
    (tmp_path / "catalog.arrow").write_bytes(write_catalog([table], [], []))
    catalog = Catalog(tmp_path / "catalog.arrow")
    assert catalog.tables().to_pylist() == [table]
    assert catalog_features(catalog.tables(), catalog.columns()) == ("declared_keys",)
    table[name] = [[None]] if name == "keys" else [{"columns": ["c"], "path": None, "key_columns": []}]
    (tmp_path / "catalog.arrow").write_bytes(write_catalog([table], [], []))
    with pytest.raises(IndexCorruptedError, match="it holds nulls"):
        Catalog(tmp_path / "catalog.arrow")


@pytest.mark.parametrize(("sizes", "name"), [([1], "part_sizes"), ([1, 2], "part_times")])
def test_parts_of_which_one_is_not_described(tmp_path, sizes, name):
    table = {**table_record("t", 0, 0), "parts": ["t/a", "t/b"], "part_sizes": sizes}
    (tmp_path / "catalog.arrow").write_bytes(write_catalog([table], [], []))
    with pytest.raises(IndexCorruptedError, match=f"`{name}` does not say the same for all files of a table"):
        Catalog(tmp_path / "catalog.arrow")


@pytest.mark.parametrize(
    ("dialect", "features"),
    [
        (Dialect(), ()),
        (Dialect(delimiter=";", header_lines=0, doubt='"decimal" may be a comma'), ()),
        (Dialect(decimal=","), ("dialects",)),
        (Dialect(header_lines=2), ("dialects",)),
        (Dialect(cells=(0, 0, 2, 2)), ("dialects",)),
        (Dialect(number_columns=(1,)), ("dialects",)),
    ],
)
def test_what_earlier_readers_would_misread_is_a_feature(dialect, features):
    table = {**table_record("t", 0, 0), "dialect": json.dumps(dialect.to_dict())}
    tables, columns = pa.array([table], TABLE_FIELDS), pa.array([], COLUMN_FIELDS)
    assert catalog_features(tables, columns) == features


def test_round_trip(tmp_path):
    catalog, tables, columns = write(tmp_path, {"a": ["x", "y"], "b": [], "c": ["z"]})
    tables = [{**table, "keys": [], "foreign_keys": []} for table in tables]
    assert (catalog.n_tables, catalog.n_columns) == (3, 3)
    assert catalog.tables().to_pylist() == tables and catalog.columns().to_pylist() == columns
    (skipped,) = catalog.skipped().to_pylist()
    assert (skipped["name"], skipped["reason"]) == ("bad.csv", "no text")
    assert catalog.table_record(1) == tables[1] and catalog.column_records([2, 0]) == [columns[2], columns[0]]
    assert catalog.table_names() == ["a", "b", "c"]
    assert [catalog.column_name(i) for i in range(3)] == ["x", "y", "z"]
    assert [catalog.table_name(i) for i in range(3)] == ["a", "a", "c"]


def test_numbers_are_views(tmp_path):
    catalog, _, _ = write(tmp_path, {"a": ["x", "y"]})
    numbers = catalog.numbers
    assert numbers["min_integer"].tolist() == [-5, -5] and numbers["kind"].dtype == np.int8
    assert not numbers["cardinality"].flags.writeable
    assert set(numbers) == {f.name for f in COLUMN_FIELDS if pa.types.is_integer(f.type)}


def test_an_empty_catalogue(tmp_path):
    (tmp_path / "c").write_bytes(write_catalog([], [], []))
    catalog = Catalog(tmp_path / "c")
    assert catalog.n_tables == catalog.n_columns == 0 and catalog.find_table("a") == -1
    assert catalog.table_names() == [] and catalog.numbers["kind"].size == 0


@given(NAMES, st.text(max_size=3), st.data())
def test_every_name_is_found_and_no_other(names, other, data):
    import tempfile
    from pathlib import Path

    names = sorted(names)  # by code point
    wanted = {name: sorted(data.draw(NAMES)) for name in names}
    with tempfile.TemporaryDirectory() as place:
        catalog, _, columns = write(Path(place), wanted)
        for number, name in enumerate(names):
            assert catalog.find_table(name) == number
            for column in wanted[name]:
                found = catalog.find_column(number, column)
                assert columns[found]["name"] == column and columns[found]["table"] == number
            if other not in wanted[name]:
                assert catalog.find_column(number, other) == -1
        if other not in wanted:
            assert catalog.find_table(other) == -1


@given(
    st.lists(st.text("ab/[é", min_size=1, max_size=3), unique=True, max_size=12),
    st.lists(st.text("ab/é*?[]!", max_size=4), max_size=3),
)
@example(["geo/a", "geo/b", "geo"], ["geo/*"])
@example(["a", "a[b]", "ab"], ["a[b]"])
def test_tables_are_named_as_fnmatch_names_them(names, patterns):
    import tempfile
    from pathlib import Path

    names = sorted(names)
    with tempfile.TemporaryDirectory() as place:
        catalog, _, _ = write(Path(place), {name: ["x"] for name in names})
        expected = [any(name == one or fnmatchcase(name, one) for one in patterns) for name in names]
        assert catalog.tables_named(patterns).tolist() == expected


def test_replace_field():
    records = pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], pa.struct([("a", pa.int8()), ("b", pa.string())]))
    replaced = replace_field(records, "a", np.array([5, 6]))
    assert replaced.to_pylist() == [{"a": 5, "b": "x"}, {"a": 6, "b": "y"}] and replaced.type == records.type
    assert replace_field(records[1:], "a", np.array([9])).to_pylist() == [{"a": 9, "b": "y"}]


class TestDamage:
    match = "component `catalog` of the index is damaged: catalog.arrow: .*; call dfjoin.repair, or build the index"

    @pytest.mark.parametrize("data", [b"", b"ARROW1", b"x" * 1000, b"ARROW1\0\0" + bytes(500) + b"ARROW1"])
    def test_no_arrow_file(self, tmp_path, data):
        (tmp_path / "catalog.arrow").write_bytes(data)
        with pytest.raises(IndexCorruptedError, match=self.match):
            Catalog(tmp_path / "catalog.arrow")

    def test_missing(self, tmp_path):
        with pytest.raises(IndexCorruptedError, match=self.match):
            Catalog(tmp_path / "catalog.arrow")

    def test_another_schema(self, tmp_path):
        with pa.ipc.new_file(str(tmp_path / "catalog.arrow"), pa.schema([("a", pa.int64())])) as writer:
            writer.write_batch(pa.record_batch({"a": [1]}))
        with pytest.raises(IndexCorruptedError, match="its schema is not that of a catalogue"):
            Catalog(tmp_path / "catalog.arrow")

    def test_two_batches(self, tmp_path):
        path = tmp_path / "catalog.arrow"
        batch = pa.ipc.open_file(write_catalog([], [], [])).get_batch(0)
        with pa.ipc.new_file(str(path), batch.schema) as writer:
            writer.write_batch(batch)
            writer.write_batch(batch)
        with pytest.raises(IndexCorruptedError, match=self.match):
            Catalog(path)

    @pytest.mark.parametrize(
        ("which", "field", "value", "text"),
        [
            (0, "first_column", 1, "its tables do not divide its columns"),
            (0, "n_columns", -1, "its tables do not divide its columns"),
            (0, "n_columns", 3, "its tables do not divide its columns"),
            (0, "root", -1, "its field `root` goes from -1 to -1"),
            (0, "size", -(2**63), "its field `size` goes from"),
            (0, "name", None, "it holds nulls"),
            (0, "parts", ["a", None], "it holds nulls"),
            (1, "table", 2**31 - 1, "its columns name other tables than those that hold them"),
            (1, "kind", 9, "its field `kind` goes from 0 to 9"),
            (1, "kind", -1, "its field `kind` goes from -1 to 0"),
            (1, "is_indexed", 2, "its field `is_indexed` goes from 1 to 2"),
            (1, "position", -2, "its field `position` goes from -2 to 0"),
            (1, "n_rows", 1, "it has a column with more nulls or values than rows"),
            (1, "n_null", 4, "it has a column with more nulls or values than rows"),
            (1, "cardinality", 2**62, "it has a column with more nulls or values than rows"),
            (1, "cardinality", -1, "its field `cardinality` goes from -1 to 2"),
            (1, "samples", None, "it holds nulls"),
        ],
    )
    def test_records_that_contradict_each_other(self, tmp_path, which, field, value, text):
        records = [table_record("t", 0, 2)], [column_record(0, "x"), column_record(0, "y")]
        records[which][0][field] = value
        (tmp_path / "catalog.arrow").write_bytes(write_catalog(*records, []))
        with pytest.raises(IndexCorruptedError, match=text):
            Catalog(tmp_path / "catalog.arrow")

    def test_rows_that_are_none_or_null(self, tmp_path):
        path = tmp_path / "catalog.arrow"
        batch = pa.ipc.open_file(write_catalog([], [], [])).get_batch(0)
        for rows in (
            batch.slice(0, 0),
            pa.record_batch([pa.nulls(1, f.type) for f in batch.schema], schema=batch.schema),
        ):
            with pa.ipc.new_file(str(path), batch.schema) as writer:
                writer.write_batch(rows)
            with pytest.raises(IndexCorruptedError, match="it is not one row of lists"):
                Catalog(path)

    @pytest.mark.parametrize(
        "dialect",
        ["{", "[]", '{"encoding": 5}', '{"encoding": "utf-99"}', '{"delimiter": ""}', '{"quote_char": "ab"}',
         '{"skip_lines": -1}', '{"header_lines": 3}', '{"decimal": "*"}', '{"number_columns": [-1]}', '{"cells": [0, 1]}',
         "[" * 100_000],
    )  # fmt: skip
    def test_a_dialect_that_is_none(self, dialect):
        with pytest.raises(IndexCorruptedError, match=r"component `catalog` .*: the dialect of table 't': "):
            read_dialect({"name": "t", "dialect": dialect})
        assert read_dialect({"name": "t", "dialect": ""}) is None
        written = Dialect(delimiter=";", encoding="cp1252")
        assert read_dialect({"name": "t", "dialect": json.dumps({**written.to_dict(), "later": 1})}) == written

    def test_a_root_that_the_manifest_does_not_list(self):
        roots = [Root(0, "", "data"), Root(7, "r", "x")]
        assert find_root(roots, 7) is roots[1]
        with pytest.raises(IndexCorruptedError, match="a table names root 5, which the manifest does not list"):
            find_root(roots, 5)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, tmp_path, share):
        path = tmp_path / "catalog.arrow"
        write(tmp_path, {"a": ["x", "y"]})
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(IndexCorruptedError, match=self.match):
            Catalog(path)


@pytest.mark.parametrize(
    ("kind", "cardinality", "reason", "expected"),
    [
        ("float", 9, "", "numbers that are not whole are no keys"),
        ("boolean", 2, "", "booleans are no keys"),
        ("nested", 0, "", "nested values have no text"),
        ("empty", 0, "", "no value"),
        ("text", 1, "", "one value"),
        ("text", 0, "", "left out by `columns` or `exclude`"),
        ("text", 9, "", "left out by `columns` or `exclude`"),
        ("binary", 0, "", "binary values have no text"),
        ("binary", 0, "its objects have no text", "its objects have no text"),
    ],
)
def test_a_column_that_is_not_indexed_tells_why(kind, cardinality, reason, expected):
    record = {"type": describe_type("int64", reason), "kind": KINDS.index(kind), "cardinality": cardinality}
    assert reason_of({**record, "is_indexed": 0}) == expected
    assert reason_of({**record, "is_indexed": 1}) == ""
