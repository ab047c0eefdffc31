"""Delta and Iceberg directories: the live rows of the latest version, which is the fingerprint."""

import base64
import json
import shutil
import struct
import sys
import time
import uuid
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import current_fingerprint, open_table
from dfjoin.sources.roots import split_version
from tests.sources import zoo

FIRST = pa.table({"id": [1, 2, 3, 4], "city": ["Rome", "Oslo", "Lima", "Kyiv"], "part": ["a", "a", "b", "b"]})
MORE = pa.table({"id": [5, 6], "city": ["Bern", "Cairo"], "part": ["b", "c"], "score": [1.5, None]})


def build(place, index):
    return dfjoin.build_lake(place, index, engine="inline", progress=False)


def rows_of(lake, name):
    frame = lake.table(name)
    return frame.sort_values("id")[sorted(frame.columns)].to_dict("records")


def content(lake):
    """What an index says of its tables, whoever built it."""
    columns = lake.columns.drop(columns=["segment"], errors="ignore")
    columns["samples"] = columns["samples"].map(sorted)  # they are in the order in which files came
    return columns.sort_values(["table", "column"]).to_dict("records")


def iso(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def check_follows(place, name, tmp_path, changes):
    """After each change ``add`` gives what a build anew gives, and nothing to do without a change."""
    lake = build(place, tmp_path / "i.dfjoin")
    assert rows_of(lake, name) == FIRST.to_pandas()[["city", "id", "part"]].to_dict("records")
    for number, change in enumerate(changes):
        version = lake.info()["version"]
        assert lake.add(place, progress=False).info()["version"] == version and lake.check().empty, number
        moves = change()
        lake = lake.add(place, progress=False)
        assert lake.info()["version"] == version + moves, number
        anew = build(place, tmp_path / f"anew-{number}.dfjoin")
        pd.testing.assert_frame_equal(pd.DataFrame(rows_of(lake, name)), pd.DataFrame(rows_of(anew, name)))
        assert str(content(lake)) == str(content(anew))
    return lake


def test_a_delta_table_follows_its_versions(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    place = tmp_path / "lake"
    table = str(place / "cities")
    deltalake.write_deltalake(table, FIRST, partition_by=["part"])

    def of_version(change):
        def run():
            before = deltalake.DeltaTable(table).version()
            change(deltalake.DeltaTable(table))
            return int(deltalake.DeltaTable(table).version() > before)

        return run

    lake = check_follows(
        place,
        "cities",
        tmp_path,
        [
            of_version(lambda _: deltalake.write_deltalake(table, FIRST.slice(0, 1), mode="append")),
            of_version(lambda it: it.delete("id = 2")),
            of_version(lambda it: it.update({"city": "'Roma'"}, predicate="id = 1")),
            of_version(lambda _: deltalake.write_deltalake(table, MORE, mode="append", schema_mode="merge")),
            of_version(lambda it: it.optimize.compact()),
            of_version(lambda it: it.vacuum(0, dry_run=False, enforce_retention_duration=False)),
            of_version(lambda it: it.create_checkpoint()),
        ],
    )
    assert [row["city"] for row in rows_of(lake, "cities")] == ["Roma", "Roma", "Lima", "Kyiv", "Bern", "Cairo"]
    assert lake.describe("cities")["format"] == "delta"
    assert build(table, tmp_path / "own.dfjoin").tables["table"].tolist() == ["cities"]


def deletion_vector(rows):
    """Rows as an inline deletion vector of the protocol of Delta: a roaring bitmap in the 85 letters of ZeroMQ."""
    bitmap = pytest.importorskip("pyroaring").BitMap(rows).serialize()
    data = struct.pack("<iqI", 1681511377, 1, 0) + bitmap
    data += b"\0" * (-len(data) % 4)
    ours = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    theirs = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    text = base64.b85encode(data).translate(bytes.maketrans(theirs, ours)).decode()
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}


def test_rows_of_deletion_vectors_are_left_out(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    place = tmp_path / "lake" / "cities"
    deltalake.write_deltalake(str(place), FIRST)
    first = place / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    (add,) = [action["add"] for action in actions if "add" in action]
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    told = [{"protocol": protocol}, {"remove": remove}, {"add": {**add, "deletionVector": deletion_vector([1, 3])}}]
    (place / "_delta_log" / "00000000000000000001.json").write_text("".join(json.dumps(one) + "\n" for one in told))
    lake = build(tmp_path / "lake", tmp_path / "i.dfjoin")
    assert [row["city"] for row in rows_of(lake, "cities")] == ["Rome", "Lima"]


def test_columns_that_delta_maps_are_read_by_their_names(tmp_path):
    """With column mapping the files have other names than the table: after a column was renamed, or always."""
    deltalake = pytest.importorskip("deltalake")
    place = tmp_path / "lake" / "cities"
    fields = [("id", "long"), ("city", "string"), ("part", "string")]
    schema = deltalake.Schema([deltalake.Field(name, deltalake.schema.PrimitiveType(kind)) for name, kind in fields])
    versions = {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
    deltalake.DeltaTable.create(
        str(place),
        schema,
        partition_by=["part"],
        configuration={"delta.columnMapping.mode": "name", **versions},
    )
    deltalake.write_deltalake(str(place), FIRST, mode="append")
    lake = build(tmp_path / "lake", tmp_path / "i.dfjoin")
    assert rows_of(lake, "cities") == FIRST.to_pandas()[["city", "id", "part"]].to_dict("records")
    version = lake.info()["version"]
    deltalake.write_deltalake(str(place), MORE.drop_columns(["score"]), mode="append")
    lake = lake.add(tmp_path / "lake", progress=False)
    assert lake.info()["version"] == version + 1
    assert [row["city"] for row in rows_of(lake, "cities")] == ["Rome", "Oslo", "Lima", "Kyiv", "Bern", "Cairo"]


def test_what_a_delta_library_says_is_one_line(tmp_path):
    pytest.importorskip("deltalake")
    log = tmp_path / "lake" / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{bad")
    _, (source,), _ = list_tables(tmp_path / "lake")
    with pytest.raises(TableReadError) as caught:
        open_table(source)
    assert str(caught.value).startswith("DeltaError: ") and "\n" not in str(caught.value)


def test_a_delta_table_by_folders_whose_names_are_escaped_is_read(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    table = FIRST.append_column(
        "place", pa.array([f"north & {'east' if i % 2 else '50 %'}" for i in range(len(FIRST))])
    )
    deltalake.write_deltalake(str(tmp_path / "lake" / "t"), table, partition_by=["place"])
    lake = build(tmp_path / "lake", tmp_path / "i.dfjoin")
    assert lake.info()["skipped"] == []
    assert sorted(row["place"] for row in rows_of(lake, "t")) == sorted(table["place"].to_pylist())


def test_a_delta_table_with_files_elsewhere_is_refused(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    place = tmp_path / "lake"
    deltalake.write_deltalake(str(tmp_path / "secret"), FIRST)
    deltalake.write_deltalake(str(place / "t"), FIRST)
    (secret,) = (tmp_path / "secret").glob("*.parquet")
    (log,) = (place / "t" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    _, (source,), _ = list_tables(place)
    for path in (f"file://{secret}", str(secret), f"../../secret/{secret.name}", f"%2e%2e/%2e%2e/secret/{secret.name}"):
        for action in actions:
            if "add" in action:
                action["add"]["path"] = path
        log.write_text("".join(json.dumps(action) + "\n" for action in actions))
        with pytest.raises(TableReadError, match="a file of it is missing, or lies outside of its directory"):
            open_table(source)
    (place / "t" / "_delta_log" / log.name).write_text("no log")
    with pytest.raises(TableReadError, match="DeltaError: "):
        current_fingerprint(source)


@pytest.fixture
def catalogue(tmp_path):
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    (tmp_path / "lake").mkdir()
    made = sql.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalogue", warehouse=f"file://{tmp_path}/lake")
    made.create_namespace("n")
    yield made
    made.engine.dispose()


@pytest.mark.filterwarnings("ignore")
def test_an_iceberg_table_follows_its_snapshots(tmp_path, catalogue):
    from pyiceberg.types import DoubleType

    table = catalogue.create_table("n.cities", schema=FIRST.schema)
    table.append(FIRST)

    def widen():
        with table.update_schema() as update:
            update.add_column("score", DoubleType())
        return 1

    def change(run):
        def changed():
            run()
            return 1

        return changed

    lake = check_follows(
        tmp_path / "lake",
        "n/cities",
        tmp_path,
        [
            change(lambda: table.append(FIRST.slice(0, 1))),
            change(lambda: table.delete("id = 2")),
            widen,
            change(lambda: table.append(MORE)),
            change(lambda: table.overwrite(MORE.slice(0, 1), overwrite_filter="id = 1")),
        ],
    )
    assert [row["city"] for row in rows_of(lake, "n/cities")] == ["Lima", "Kyiv", "Bern", "Bern", "Cairo"]
    moved = tmp_path / "moved"
    shutil.copytree(tmp_path / "lake", moved)
    _, (source,), _ = list_tables(moved)
    with pytest.raises(TableReadError, match="the table was moved; write it anew"):
        open_table(source)


def test_names_of_versions(tmp_path):
    assert split_version("lake/cities@v3") == ("lake/cities", "v3")
    for source in ("g/*@2024-01-01", "g/[ab]@v1", "g/t?@v1", tmp_path):
        assert split_version(source) == (source, "")
    (tmp_path / "[a]").mkdir()
    assert split_version(f"{tmp_path}/[a]@v1") == (f"{tmp_path}/[a]", "v1")
    (tmp_path / "t@v1").mkdir()
    assert split_version(f"{tmp_path}/t@v1") == (f"{tmp_path}/t@v1", "")


def test_delta_as_it_was(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    place = str(tmp_path / "lake" / "cities")
    deltalake.write_deltalake(place, FIRST)
    (moment,) = (entry["timestamp"] for entry in deltalake.DeltaTable(place).history())
    time.sleep(0.02)
    deltalake.write_deltalake(place, MORE, mode="append", schema_mode="merge")
    deltalake.DeltaTable(place).delete("id = 1")
    index = tmp_path / "i"
    lake = build(f"{place}@v0", index)
    assert lake.tables["table"].tolist() == ["cities@v0"] and rows_of(lake, "cities@v0")[0]["city"] == "Rome"
    assert lake.columns["column"].tolist() == ["city", "id", "part"]
    for source, n in ((place, 5), (f"{place}@v1", 6), (f"{place}@{iso(moment + 10)}", 4)):
        lake.add(source, progress=False)
        name = source.rpartition("/")[2]
        assert len(lake.table(name)) == n, name
    version = lake.version
    deltalake.write_deltalake(place, FIRST, mode="overwrite", schema_mode="overwrite")
    assert lake.add(f"{place}@v1", progress=False).version == version
    assert lake.check()["table"].tolist() == ["cities"]
    wide = pd.DataFrame({"id": [1, 5]}).auto_join(lake, on="id", tables="cities@v1")
    assert wide["city"].tolist() == ["Rome", "Bern"]
    (tmp_path / "lake" / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidParameterError, match="which a Delta or Iceberg table may have"):
        build(f"{tmp_path / 'lake' / 't.csv'}@v1", tmp_path / "x")
    with pytest.raises(TableReadError, match=r"no time|[Vv]ersion"):
        dfjoin.build_lake(f"{place}@v99", tmp_path / "y", engine="inline", progress=False, on_error="raise")
    with pytest.raises(TableReadError, match="'2026-99-99' is no time"):
        dfjoin.build_lake(f"{place}@2026-99-99", tmp_path / "z", engine="inline", progress=False, on_error="raise")


@pytest.mark.filterwarnings("ignore")
def test_iceberg_as_it_was_and_by_its_catalogue(tmp_path, catalogue, monkeypatch):
    from pyiceberg.types import DoubleType

    table = catalogue.create_table("n.cities", schema=FIRST.schema)
    table.append(FIRST)
    first = table.current_snapshot()
    with table.update_schema() as update:
        update.add_column("score", DoubleType())
    time.sleep(0.02)
    table.append(MORE)
    place = tmp_path / "lake" / "n" / "cities"
    lake = build(f"{place}@v{first.snapshot_id}", tmp_path / "i")
    (name,) = lake.tables["table"]
    assert lake.columns["column"].tolist() == ["city", "id", "part"] and len(lake.table(name)) == 4
    moment = f"{place}@{iso(first.timestamp_ms)}"
    assert len(lake.add(moment, progress=False).table(moment.rpartition("/")[2])) == 4
    table.append(MORE)
    assert lake.check().empty
    monkeypatch.setenv("PYICEBERG_CATALOG__C__URI", f"sqlite:///{tmp_path}/catalogue")
    monkeypatch.setenv("PYICEBERG_CATALOG__C__WAREHOUSE", f"file://{tmp_path}/lake")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", type(sys.modules["pyiceberg.catalog"]._ENV_CONFIG)())
    catalogue.create_namespace("m")
    catalogue.create_table("m.other", schema=FIRST.schema).append(FIRST)
    by_name = build("iceberg://c", tmp_path / "c")
    assert by_name.tables["table"].tolist() == ["m.other", "n.cities"] and len(by_name.table("n.cities")) == 8
    assert by_name.add("iceberg://c", progress=False).version == 1 and by_name.check().empty
    table.delete("id = 5")
    assert by_name.check()["table"].tolist() == ["n.cities"]
    assert len(by_name.add("iceberg://c", progress=False).table("n.cities")) == 6
    assert build("iceberg://c/m", tmp_path / "m").tables["table"].tolist() == ["m.other"]
    with pytest.raises(InvalidParameterError, match="`source` must name a catalogue of pyiceberg alone"):
        build("iceberg://user:secret@c", tmp_path / "x")
    with pytest.raises(InvalidParameterError, match="`source` names version 'v3' of what a catalogue holds"):
        build("iceberg://c/n.cities@v3", tmp_path / "x")
    with pytest.raises(TableReadError, match="the table has no snapshot v5; `v` stands before the id of a snapshot"):
        dfjoin.build_lake(f"{place}@v5", tmp_path / "y", engine="inline", progress=False, on_error="raise")
    with pytest.raises(InvalidParameterError, match="`source` must be a database that can be read"):
        build("iceberg://unknown", tmp_path / "x")
    monkeypatch.setenv("PYICEBERG_CATALOG__D__URI", "nothing+x://user:s3/cret@host/db")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", type(sys.modules["pyiceberg.catalog"]._ENV_CONFIG)())
    with pytest.raises(InvalidParameterError, match=r"that can be read: ValueError: .*…@host/db") as caught:
        build("iceberg://d", tmp_path / "x")
    assert "cret" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_errors_of_an_iceberg_table_show_no_credentials_and_have_an_end(tmp_path, catalogue, monkeypatch):
    import pyiceberg.table as library

    catalogue.create_table("n.cities", schema=FIRST.schema).append(FIRST)
    _, (source,), _ = list_tables(tmp_path / "lake")
    reader = open_table(source)

    def failing(*given, **named):
        raise OSError("no answer of s3://user:s3cret@store/b " + "x" * 1000)

    for place in ("to_arrow_batch_reader", "plan_files"):
        monkeypatch.setattr(library.DataScan, place, failing)
    for run in (lambda: list(reader.batches()), lambda: open_table(source)):
        with pytest.raises(TableReadError, match=r"^OSError: no answer of …@store/b x+$") as caught:
            run()
        assert len(str(caught.value)) < 320


@pytest.mark.filterwarnings("ignore")
def test_the_zoo_comes_back(tmp_path, catalogue):
    """Differences: neither has unsigned numbers, categories, durations, nor decimals above 38 digits."""
    cannot = ("float16", "decimal256", "duration", "date64", "time32", "category", "null", "uint64")
    table = zoo.without(zoo.zoo(), *cannot, "string_view", "nano", "time64")
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "lake" / "delta"), table)
    plain = zoo.without(table, "uint8", "uint16", "uint32", "second", "milli")
    made = catalogue.create_table(f"n.z{uuid.uuid4().hex}", schema=plain.schema)
    made.append(plain)
    for source in list_tables(tmp_path / "lake")[1]:
        written = table if source.format == "delta" else plain
        found = pa.Table.from_batches(open_table(source).batches())
        assert found.column_names == written.column_names
        differ = {c for c in written.column_names if found[c].to_pylist() != written[c].to_pylist()}
        assert differ == set(), source.format
