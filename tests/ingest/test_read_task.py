"""A task reads tables into a run: sorted, whole tables or nothing, the same whatever the memory."""

import fnmatch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.errors import TableReadError
from dfjoin.index.catalog import Catalog
from dfjoin.index.components import CATALOG_FILE, make_directories, run_directory
from dfjoin.index.runs import read_run
from dfjoin.ingest.read_task import TableFeed, build_part, build_run, feeds_of_file
from dfjoin.sources.listing import list_tables
from dfjoin.types import IndexSettings, Root, TableSource


@pytest.fixture
def index(tmp_path):
    make_directories(tmp_path / "index")
    return tmp_path / "index"


def sources(*names):
    return [TableSource(name, Root(0, "r", "/r"), name, "delimited", 10, 1, (name,)) for name in names]


def feeds(tables):
    """Open tables given as name → list of batches of column → values; an exception among the batches is raised."""

    def feed(source):
        batches = tables[source.name]

        def read():
            for batch in batches:
                if isinstance(batch, Exception):
                    raise batch
                yield pa.record_batch(batch)

        record = {
            "name": source.name, "root": 0, "path": source.path, "format": "delimited", "size": 10, "mtime_ns": 1,
            "fingerprint": 0, "dialect": "", "parts": [source.path], "version": "",
            "part_sizes": [], "part_times": [], "part_fingerprints": [],
        }  # fmt: skip
        return [(source.name, lambda: TableFeed(record, list(batches[0]), read(), 10))]

    return feed


def only_feed(source):
    """Open the one table of a file."""
    ((_, opened),) = feeds_of_file(source)
    return opened()


def content(index, run):
    """(table, column) → values of a run."""
    directory = run_directory(index, run.id)
    catalog = Catalog(directory / CATALOG_FILE)
    found = {
        (catalog.table_name(n), catalog.column_name(n)): set()
        for n in range(catalog.n_columns)
        if catalog.numbers["is_indexed"][n]
    }
    hashes = []
    for part in sorted(p for p in directory.iterdir() if p.is_dir()):
        stretch = read_run(part)
        hashes += stretch.hash.tolist()
        for token in range(stretch.n_tokens):
            value = stretch.value_bytes[stretch.value_offsets[token] : stretch.value_offsets[token + 1]].tobytes()
            for column in stretch.columns[stretch.indptr[token] : stretch.indptr[token + 1]].tolist():
                found[catalog.table_name(column), catalog.column_name(column)].add(value.decode())
    assert hashes == sorted(hashes)
    return found


def test_names_are_in_the_order_of_code_points(index):
    names = ["\U0001f600", "b", "\uffee", "B", "é"]
    tables = {name: [{c: ["p", "q"] for c in ("\U0001f600", "\uffee", "a")}] for name in names}
    run = build_run(sources(*names), index, IndexSettings(), feeds=feeds(tables))
    catalog = Catalog(run_directory(index, run.id) / CATALOG_FILE)
    assert catalog.table_names() == sorted(names) and run.first_table == "B"
    for table in range(5):
        record = catalog.table_record(table)
        columns = range(record["first_column"], record["first_column"] + record["n_columns"])
        assert [catalog.column_name(n) for n in columns] == ["a", "\uffee", "\U0001f600"]


@pytest.mark.parametrize("task_bytes", [1 << 20, 2000, 1])
def test_spills_change_nothing(index, task_bytes):
    words = [f"word {i}" for i in range(300)]
    tables = {
        "a": [{"x": words[i : i + 50], "d": ["2024-01-05"] * 50} for i in range(0, 300, 50)],
        "b": [{"x": words[100:200]}],
    }
    run = build_run(sources("a", "b"), index, IndexSettings(task_bytes=task_bytes), feeds=feeds(tables))
    assert content(index, run) == {("a", "x"): set(words), ("b", "x"): set(words[100:200])}
    assert run.n_rows == 400 and run.n_tables == 2


@pytest.mark.parametrize("task_bytes", [1 << 20, 1])
def test_a_table_that_breaks_off_leaves_nothing(index, task_bytes):
    broken = [{"x": ["gone 1", "gone 2"]}, TableReadError("it breaks off")]
    tables = {"a": [{"x": ["p", "q"]}], "b": broken, "c": [{"x": ["p", "r"]}]}
    run = build_run(sources(*tables), index, IndexSettings(task_bytes=task_bytes), feeds=feeds(tables))
    assert content(index, run) == {("a", "x"): {"p", "q"}, ("c", "x"): {"p", "r"}}
    skipped = Catalog(run_directory(index, run.id) / CATALOG_FILE).skipped().to_pylist()
    assert skipped == [{"name": "b", "reason": "it breaks off", "size": 10, "mtime_ns": 1}]
    with pytest.raises(TableReadError, match=r"the table `b` cannot be read: it breaks off; skip such tables"):
        build_run(sources(*tables), index, IndexSettings(), feeds=feeds(tables), on_error="raise")
    assert not list((index / "runs").glob("task-*"))


@pytest.mark.parametrize(("columns", "exclude"), [((), ()), (("a/*",), ()), ((), ("*/y",)), (("a/*",), ("*/y", "b/*"))])
def test_patterns_say_which_columns_are_indexed(index, columns, exclude):
    tables = {name: [{"x": ["p", "q"], "y": ["r", "s"]}] for name in ("a", "b")}
    settings = IndexSettings(columns=columns, exclude=exclude)
    run = build_run(sources("a", "b"), index, settings, feeds=feeds(tables))
    wanted = {
        (t, c)
        for t in "ab"
        for c in "xy"
        if (not columns or any(fnmatch.fnmatchcase(f"{t}/{c}", p) for p in columns))
        and not any(fnmatch.fnmatchcase(f"{t}/{c}", p) for p in exclude)
    }
    assert set(content(index, run)) == wanted
    records = Catalog(run_directory(index, run.id) / CATALOG_FILE).columns().to_pylist()
    assert [bool(r["samples"]) for r in records] == [bool(r["is_indexed"]) for r in records]


def test_a_part_brings_every_column_that_may_be_indexed(index):
    """One value is no column to index; a part does not know what the others hold."""
    ((_, opened),) = feeds({"t": [{"x": ["p", "p"], "f": [0.5, 1.5], "b": [True, False]}]})(sources("t")[0])
    run = build_part(opened(), index, IndexSettings())
    assert run.is_part and set(content(index, run)) == {("t", "x"), ("t", "f")}


def test_a_file_is_recorded_as_it_was_read(tmp_path):
    (tmp_path / "data").mkdir()
    pd.DataFrame({"a": [1], "b": ["x"]}).to_csv(tmp_path / "data" / "t.csv", sep=";", index=False)
    _, (source,), _ = list_tables(tmp_path / "data")
    feed = only_feed(source)
    assert feed.names == ["a", "b"] and feed.n_bytes == source.size and '"delimiter": ";"' in feed.record["dialect"]
    assert feed.record["parts"] == ["t.csv"] and feed.record["fingerprint"] > 0
    (tmp_path / "data" / "t.csv").write_bytes(b"")
    with pytest.raises(TableReadError, match="the file is empty"):
        only_feed(source)


def test_bytes_behind_the_values_are_there(index):
    run = build_run(sources("a"), index, IndexSettings(), feeds=feeds({"a": [{"x": ["p", "q"]}]}))
    (part,) = (p for p in run_directory(index, run.id).iterdir() if p.is_dir())
    stretch = read_run(part)
    assert stretch.value_bytes.size == stretch.value_offsets[-1] + 8 and np.all(np.diff(stretch.value_offsets) == 1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_the_setting_of_the_index_says_how_many_columns_a_table_may_have(index, tmp_path, name):
    frame = pd.DataFrame({"a": ["p"], "b": ["q"], "c": ["r"]})
    write = {"t.csv": frame.to_csv, "t.parquet": frame.to_parquet, "t.jsonl": frame.to_json}[name]
    write(tmp_path / name, **({"orient": "records", "lines": True} if name == "t.jsonl" else {"index": False}))
    _, tables, _ = list_tables([tmp_path / name])
    assert build_run(tables, index, IndexSettings(max_columns=3)).n_tables == 1
    with pytest.raises(TableReadError, match="it has more than 2 columns, the most that the index takes"):
        build_run(tables, index, IndexSettings(max_columns=2), on_error="raise")


def test_parts_of_a_wide_table_are_refused(index):
    ((_, opened),) = feeds({"t": [{"x": ["p"], "y": ["q"]}]})(sources("t")[0])
    with pytest.raises(TableReadError, match="it has more than 1 columns"):
        build_part(opened(), index, IndexSettings(max_columns=1))
