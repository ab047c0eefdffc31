"""Runs and segments merged: catalogues in the order of names, parts of one table united."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.index.catalog import (
    COLUMN_FIELDS,
    KINDS,
    SKIPPED_FIELDS,
    TABLE_FIELDS,
    Catalog,
    describe_type,
    reason_of,
    write_catalog,
)
from dfjoin.index.segment import write_alive
from dfjoin.ingest.merge_task import merge_catalogs, merge_segments


def record(fields, **values):
    empty = {f.name: [] if pa.types.is_list(f.type) else "" if pa.types.is_string(f.type) else 0 for f in fields}
    return {**empty, **values}


@pytest.fixture
def catalog(tmp_path):
    """Make a catalogue: ``catalog({"t": {"c": {...}}}, format="delimited")``."""
    count = 0

    def make(tables, **values):
        nonlocal count
        count += 1
        names = sorted(tables)
        table_records, column_records = [], []
        for number, name in enumerate(names):
            columns = tables[name]
            table_records.append(
                record(
                    TABLE_FIELDS, name=name, first_column=len(column_records), n_columns=len(columns),
                    **{"n_rows": 10, "format": "delimited", **values},
                )
            )  # fmt: skip
            column_records += [
                record(COLUMN_FIELDS, table=number, name=c, **{"is_indexed": 1, "n_rows": 10, **columns[c]})
                for c in sorted(columns)
            ]
        path = tmp_path / f"{count}.arrow"
        path.write_bytes(write_catalog(table_records, column_records, pa.array([], SKIPPED_FIELDS)))
        return Catalog(path)

    return make


def named(tables, columns):
    names = tables.field("name").to_pylist()
    return [
        (names[t], c)
        for t, c in zip(columns.field("table").to_pylist(), columns.field("name").to_pylist(), strict=True)
    ]


def test_tables_are_in_the_order_of_code_points_and_maps_lead_there(catalog):
    names = ["\U0001f600", "b", "\uffee", "B", "é"]
    catalogs = [catalog({name: {"x": {}, "a": {}} for name in part}) for part in (names[:2], names[2:], [])]
    tables, columns, maps = merge_catalogs(catalogs)
    assert tables.field("name").to_pylist() == sorted(names)
    assert named(tables, columns) == [(name, c) for name in sorted(names) for c in "ax"]
    assert tables.field("first_column").to_pylist() == [0, 2, 4, 6, 8]
    for part, column_map in zip(catalogs[:2], maps, strict=False):
        for number in range(part.n_columns):
            assert named(tables, columns)[column_map[number]] == (part.table_name(number), part.column_name(number))


def test_columns_that_are_not_indexed_lead_nowhere(catalog):
    _, _, (column_map,) = merge_catalogs([catalog({"t": {"a": {"is_indexed": 0}, "b": {}, "c": {"is_indexed": 0}}})])
    assert column_map.tolist() == [-1, 1, -1]


def test_deleted_tables_are_left_out(catalog):
    catalogs = [catalog({"a": {"x": {}}, "b": {"x": {}, "y": {}}}), catalog({"c": {"x": {}}})]
    tables, columns, maps = merge_catalogs(catalogs, 5, [np.array([False, True]), np.array([True])])
    assert named(tables, columns) == [("b", "x"), ("b", "y"), ("c", "x")]
    assert [m.tolist() for m in maps] == [[-1, 0, 1], [2]]


def test_parts_of_one_table_are_united(catalog):
    integer, text = KINDS.index("integer"), KINDS.index("text")
    parts = [
        {"kind": integer, "cardinality": 3, "has_range": 1, "min_integer": -4, "max_integer": 2, "min": "-4",
         "max": "2", "n_null": 1, "samples": ["2", "-4"]},
        {"kind": integer, "cardinality": 2, "has_range": 1, "min_integer": 0, "max_integer": 9, "min": "0",
         "max": "9", "n_null": 2, "samples": ["2", "9"]},
    ]  # fmt: skip
    other = {"kind": text, "cardinality": 2, "min": "a", "max": "b"}
    catalogs = [catalog({"t": {"n": part, "x": other}}, format="spark") for part in parts]
    tables, columns, maps = merge_catalogs(catalogs, n_samples=3)
    assert named(tables, columns) == [("t", "n"), ("t", "x")] and tables.field("n_rows").to_pylist() == [20]
    (n, _) = columns.to_pylist()
    assert (n["n_rows"], n["n_null"], n["min_integer"], n["max_integer"], n["has_range"]) == (20, 3, -4, 9, 1)
    assert n["samples"] == ["2", "-4", "9"] and n["is_indexed"] == 1
    assert [m.tolist() for m in maps] == [[0, 1], [0, 1]]


def test_a_column_that_one_part_gave_up_is_not_indexed_and_keeps_the_reason(catalog):
    whole = {"type": "string", "kind": KINDS.index("text"), "cardinality": 3, "samples": ["a"]}
    reason = describe_type("string", "its values cannot be written as text (ValueError)")
    given_up = {"type": reason, "kind": KINDS.index("binary"), "is_indexed": 0}
    for parts in ([whole, given_up, whole], [given_up, whole]):
        _, columns, maps = merge_catalogs([catalog({"t": {"x": part}}, format="spark") for part in parts])
        (x,) = columns.to_pylist()
        assert (x["type"], x["is_indexed"], KINDS[x["kind"]], x["samples"]) == (reason, 0, "binary", [])
        assert reason_of(x) == "its values cannot be written as text (ValueError)"
        assert [m.tolist() for m in maps] == [[-1]] * len(parts)


def test_merging_segments_tells_their_first_table(build):
    lake = build({"b": pd.DataFrame({"c": ["p", "q"]})})
    lake.add({"a": pd.DataFrame({"c": ["p", "r"]})}, engine="inline", progress=False)
    name, meta = merge_segments(list(lake.manifest.segments), lake.path, lake.settings)
    assert name == "a" and meta.counts["tables"] == 2 and meta.counts["lists"] == 1
    dead = [
        replace(m, tombstones=write_alive(lake.path, m.id, 9, np.zeros(1, np.uint8))) for m in lake.manifest.segments
    ]
    name, meta = merge_segments(dead, lake.path, lake.settings)
    assert name == "" and meta.counts["tables"] == 0
