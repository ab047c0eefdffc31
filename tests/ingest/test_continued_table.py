"""Tables that are directories of files: after `add` the index is the one that a build of all files makes."""

import os
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import TableReadError
from dfjoin.sources import parquet_reader
from dfjoin.sources import roots as fingerprint_module

OPTIONS = {"engine": "inline", "progress": False}
QUERY = pd.DataFrame({"key": ["n 1", "n 2", "n 3", "na", "na", "4", "yes"], "more": range(7)})


@pytest.fixture
def opened(monkeypatch):
    """The files whose rows or bytes are read, in order."""
    paths = []
    for module, name in ((parquet_reader, "_open_parquet_file"), (fingerprint_module, "_fingerprint_file")):
        real = getattr(module, name)

        def noting(filesystem, path, *rest, real=real):
            paths.append(os.path.relpath(path, os.path.dirname(os.path.dirname(path))))
            return real(filesystem, path, *rest)

        monkeypatch.setattr(module, name, noting)
    return paths


def rows(seed, strange=False):
    """Rows of a part; strange ones make columns others than they were: nulls into values, numbers into texts."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 9))
    words = ["na", "n/a", "-", "de", "fr", "12.5"] if strange else ["n 1", "n 2", "n 3", "n 4", "Ōsaka"]
    return pd.DataFrame(
        {
            "id": random.integers(0, 50, n) + 2.0**40,
            "name": random.choice(words, n),
            "flag": random.choice(["yes", "maybe"] if strange else ["yes", "no"], n),
            "amount": random.choice([0.25, 0.5, 7.0, np.nan], n),
            "text amount": random.choice(["1.5", "2.5", "x" if strange else "na"], n),
            "day": random.choice(["01/02/2020", "03/04/2021", "25/12/2020" if strange else "05/06/2020"], n),
            "one": "same" if not strange else "other",
            "list": [[1, 2]] * n,
            "none": None,
        }
    ).astype({"none": "str"})


def put(place, month, frame):
    folder = place / "sales" / f"month={month}"
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / "a.parquet")


def content(lake, samples):
    """All that an index knows of its tables: records, values of each column, answers, evidence."""
    lake = dfjoin.open_lake(lake.path)
    tables, columns = [], []
    for segment in lake.segments:
        for number in range(segment.catalog.n_tables):
            if segment.is_table_alive(number):
                table = segment.catalog.table_record(number)
                first = table.pop("first_column")
                del table["mtime_ns"], table["part_times"]  # a file that was touched alone is not read again
                tables.append(table)
                columns += segment.catalog.column_records(range(first, first + table["n_columns"]))
    for column in columns:
        del column["table"]
        if not samples:
            column["samples"] = len(column["samples"])
    return tables, columns, answers(lake)


def answers(lake):
    hits = QUERY.discover_joinable("key", lake, k=50, min_score=0)
    told = [re.sub("[0-9]+ bytes", "bytes", repr(hits.explain(i))) for i in range(len(hits))]  # segments share lists
    return repr(hits.drop(columns=["brings"]).to_dict("list")), told


def built(place, target):
    return dfjoin.build_lake(place, target, **OPTIONS)


@pytest.fixture
def sales(tmp_path):
    place = tmp_path / "lake"
    for month in (1, 3):
        put(place, month, rows(month))
    pd.DataFrame({"n": ["n 1", "n 2"], "m": [1, 2]}).to_csv(place / "other.csv", index=False)
    return place, built(place, tmp_path / "index")


@pytest.mark.parametrize(("month", "samples"), [(4, True), (2, False), (10, False)])
def test_a_new_part_is_read_alone(sales, tmp_path, opened, month, samples):
    place, lake = sales
    put(place, month, rows(month))
    opened.clear()
    lake.add(place, **OPTIONS)
    assert set(opened) == {f"month={month}/a.parquet"}
    found = content(lake, samples)
    assert found == content(built(place, tmp_path / "new"), samples) and len(found[-1][-1]) > 2
    assert lake.check().empty and lake.verify() == []
    opened.clear()
    assert lake.add(place, **OPTIONS).version == 2 and opened == []


def test_sequences_of_changes_give_what_a_build_gives(tmp_path):
    for seed in range(4):
        random = np.random.default_rng(seed)
        place, months = tmp_path / f"lake{seed}", [1, 5]
        for month in months:
            put(place, month, rows(random.integers(10**6), random.random() < 0.3))
        lake = built(place, tmp_path / f"index{seed}")
        for step in range(4):
            what = random.choice(["append", "append", "insert", "change", "remove", "touch"])
            month = int(random.choice(months))
            if what == "remove" and len(months) > 1:
                months.remove(month)
                shutil.rmtree(place / "sales" / f"month={month}")
            elif what == "touch":
                os.utime(place / "sales" / f"month={month}" / "a.parquet", ns=(10**18 + step, 10**18 + step))
            else:
                month = month if what == "change" else max(months) + 10 if what == "append" else 2 + step
                months = sorted({*months, month})
                put(place, month, rows(random.integers(10**6), random.random() < 0.3))
            lake.add(place, **OPTIONS)
            if random.random() < 0.3:
                lake.compact(full=True)
            new = built(place, tmp_path / f"new{seed}-{step}")
            assert content(lake, samples=False) == content(new, samples=False), (seed, step, what)


@pytest.mark.parametrize("what", ["changed", "removed", "columns", "type", "null", "signatures"])
def test_what_makes_all_parts_be_read(sales, tmp_path, opened, what):
    place, lake = sales
    frame = rows(7)
    if what == "changed":
        put(place, 1, rows(8))
    elif what == "removed":
        shutil.rmtree(place / "sales" / "month=1")
    elif what == "columns":
        frame = frame.rename(columns={"name": "title"})
    elif what == "type":
        frame = frame.astype({"id": "str"})
    elif what == "null":
        assert "na" in lake.columns.set_index(["table", "column"]).loc[("sales", "text amount"), "null_spellings"]
        codes = [a + b for a in "defghi" for b in "lmnop"]  # among so many, `na` is one
        frame = frame.iloc[np.arange(len(codes)) % len(frame)].reset_index(drop=True).assign(**{"text amount": codes})
    else:
        lake.add_row_signatures()
    put(place, 0, frame)
    opened.clear()
    lake.add(place, **OPTIONS)
    assert {path for path in opened if "=3" in path}
    if what != "signatures":
        assert content(lake, samples=True) == content(built(place, tmp_path / "new"), samples=True)


class DeltaPlace:
    """A Delta table below a directory, and what can be done to it."""

    def __init__(self, place):
        import deltalake

        self.library, self.path = deltalake, str(place / "sales")

    def append(self, frame):
        self.library.write_deltalake(self.path, pa.Table.from_pandas(frame, preserve_index=False), mode="append")

    def delete(self, condition):
        self.library.DeltaTable(self.path).delete(condition)

    def compact(self):
        self.library.DeltaTable(self.path).optimize.compact()

    def widen(self, name):
        self.library.DeltaTable(self.path).alter.add_columns(self.library.Field(name, "long"))


class IcebergPlace:
    """An Iceberg table."""

    def __init__(self, place):
        sql = pytest.importorskip("pyiceberg.catalog.sql")
        place.mkdir()
        where = {"uri": f"sqlite:///{place.parent}/catalogue", "warehouse": f"file://{place}"}
        self.catalogue = sql.SqlCatalog("c", **where)
        self.catalogue.create_namespace("n")
        self.table = None

    def append(self, frame):
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        self.table = self.table or self.catalogue.create_table("n.sales", schema=rows.schema)
        self.table.append(rows)

    def delete(self, condition):
        self.table.delete(condition)

    def compact(self):
        self.table.overwrite(self.table.scan().to_arrow())

    def widen(self, name):
        from pyiceberg.types import LongType

        with self.table.update_schema() as update:
            update.add_column(name, LongType())


LOGGED = pytest.mark.parametrize("kind", [DeltaPlace, IcebergPlace])


def logged_rows(seed, strange=False):
    """Rows whose columns keep their types; a null column has no type in these formats."""
    return rows(seed, strange).drop(columns=["none", "list"]).astype({"id": "int64"})


@LOGGED
@pytest.mark.filterwarnings("ignore")
def test_what_was_appended_is_read_alone(tmp_path, kind):
    place = tmp_path / "lake"
    table = kind(place)
    for seed in (1, 2):
        table.append(logged_rows(seed))
    lake = built(place, tmp_path / "index")
    old = list(place.rglob("*.parquet"))
    table.append(logged_rows(3))
    new = content(built(place, tmp_path / "new"), samples=False)
    sound = {path: path.read_bytes() for path in old}
    for path in old:
        path.write_bytes(b"x" * path.stat().st_size)
    lake.add(place, **OPTIONS)
    for path, data in sound.items():
        path.write_bytes(data)
    found = content(lake, samples=False)
    assert found == new and len(found[-1][-1]) > 1
    assert lake.add(place, **OPTIONS).version == 2 and lake.check().empty and lake.verify() == []


@pytest.mark.filterwarnings("ignore")
def test_all_is_read_where_pyiceberg_reads_other_files_than_the_new_ones(tmp_path, monkeypatch):
    table = IcebergPlace(tmp_path / "lake")
    table.append(logged_rows(1))
    lake = built(tmp_path / "lake", tmp_path / "index")
    table.append(logged_rows(2))
    scan = pytest.importorskip("pyiceberg.table").DataScan
    read, asked = scan.to_arrow_batch_reader, []

    def read_by_an_own_plan(self, *options):
        asked.append("plan_files" in vars(self))
        vars(self).pop("plan_files", None)
        return read(self, *options)

    monkeypatch.setattr(scan, "to_arrow_batch_reader", read_by_an_own_plan)
    lake.add(tmp_path / "lake", **OPTIONS)
    assert asked == [True, False]
    assert content(lake, samples=True) == content(built(tmp_path / "lake", tmp_path / "new"), samples=True)


@LOGGED
@pytest.mark.filterwarnings("ignore")
def test_sequences_of_changes_of_a_log_give_what_a_build_gives(tmp_path, kind):
    for seed in range(3):
        random = np.random.default_rng(seed)
        base = tmp_path / str(seed)
        base.mkdir()
        place = base / "lake"
        table = kind(place)
        table.append(logged_rows(seed))
        lake, wide = built(place, base / "index"), 0
        for step in range(5):
            what = random.choice(["append", "append", "strange", "delete", "compact", "widen"])
            if what in ("append", "strange"):
                frame = logged_rows(random.integers(10**6), what == "strange")
                table.append(frame.assign(**{f"c{i}": np.arange(len(frame)) for i in range(wide)}))
            elif what == "delete":
                table.delete(f"id < {2**40 + int(random.integers(0, 40))}")
            elif what == "compact":
                table.compact()
            else:
                table.widen(f"c{wide}")
                wide += 1
            if random.random() < 0.3:
                continue  # two changes at once
            lake.add(place, **OPTIONS)
            assert content(lake, samples=False) == content(built(place, base / f"new{step}"), samples=False), what


@LOGGED
@pytest.mark.filterwarnings("ignore")
def test_a_log_that_does_not_tell_makes_all_be_read(tmp_path, kind):
    place = tmp_path / "lake"
    table = kind(place)
    for seed in (1, 2):
        table.append(logged_rows(seed))
    lake = built(place, tmp_path / "index")
    table.append(logged_rows(3))
    if kind is DeltaPlace:
        table.library.DeltaTable(table.path).create_checkpoint()
        for number in (0, 1):
            (place / "sales" / "_delta_log" / f"{number:020}.json").unlink()
    else:
        first = table.table.metadata.snapshots[1].snapshot_id
        table.table.maintenance.expire_snapshots().by_id(first).commit()
    lake.add(place, **OPTIONS)
    assert content(lake, samples=True) == content(built(place, tmp_path / "new"), samples=True)


def test_many_values_of_a_float_are_counted_up_to_a_bound(tmp_path, opened):
    place = tmp_path / "lake"
    for month, start in ((1, 0), (2, 2500)):
        put(place, month, pd.DataFrame({"x": (np.arange(5000) + start) / 7, "k": np.arange(5000)}))
        if month == 1:
            lake = built(place, tmp_path / "index")
    opened.clear()
    lake.add(place, **OPTIONS)
    assert set(opened) == {"month=2/a.parquet"}
    found, new = (lake_.columns.set_index("column").loc["x"] for lake_ in (lake, built(place, tmp_path / "new")))
    assert (found["cardinality"], new["cardinality"]) == (10000, 7500)
    assert list(found[["n_rows", "min", "max"]]) == list(new[["n_rows", "min", "max"]])


def test_a_part_that_cannot_be_read_leaves_what_was_there(sales):
    place, lake = sales
    (place / "sales" / "month=4").mkdir()
    (place / "sales" / "month=4" / "a.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(TableReadError, match="the table `sales` cannot be read"):
        lake.add(place, on_error="raise", **OPTIONS)
    before = lake.tables["n_rows"].tolist()
    lake.add(place, **OPTIONS)
    assert lake.tables["n_rows"].tolist() == before
    assert [one["name"] for one in lake.info()["skipped"]] == ["sales"]
    assert lake.add(place, **OPTIONS).version == 2, "it is not tried again"


def test_an_index_that_does_not_know_its_parts_reads_them_once(sales, tmp_path, opened, monkeypatch):
    place, _ = sales
    from dfjoin.ingest import read_task

    with monkeypatch.context() as earlier:
        real = read_task.table_record
        lists = ("part_sizes", "part_times", "part_fingerprints")
        earlier.setattr(read_task, "table_record", lambda *given: real(*given) | {key: [] for key in lists})
        lake = built(place, tmp_path / "earlier")
    assert lake.segments[0].meta.features == ()
    for month, expected in ((5, {"month=1", "month=3", "month=5"}), (6, {"month=6"})):
        put(place, month, rows(month))
        opened.clear()
        lake.add(place, **OPTIONS)
        assert {path.partition("/")[0] for path in opened} == expected


def test_an_index_without_sets_reads_all_files(tmp_path):
    place = tmp_path / "lake"
    for month in (1, 2):
        put(place, month, pd.DataFrame({"id": np.arange(120.0) + 120 * month}))
    options = OPTIONS | {"settings": {"keep_sets": False}}
    lake = dfjoin.build_lake(place, tmp_path / "index", **options)
    put(place, 3, pd.DataFrame({"id": np.arange(120.0) + 360}))
    lake.add(place, **OPTIONS)
    new = dfjoin.build_lake(place, tmp_path / "new", **options)
    sizes = [one.columns[["column", "cardinality"]].sort_values("column").values.tolist() for one in (lake, new)]
    assert sizes[0] == sizes[1] and ["id", 360] in sizes[0]
