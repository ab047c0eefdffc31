"""Databases: each table and view is a table of the lake, read only, with the types that the database gives."""

import getpass
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources import postgresql_reader, sqlite_reader
from dfjoin.sources.database_server import location_of, one_snapshot, safe_text
from dfjoin.sources.listing import Listing
from dfjoin.sources.readers import open_table, tables_of
from dfjoin.store import table as store_table
from dfjoin.types import GivenDialect
from tests.sources import zoo

NESTED = ("list", "texts", "struct", "map")
CITIES = [("Rome", 2.8, "0039"), ("Oslo", 0.7, "0047"), ("Lima", 10.1, "0051")]
NUMBERS = "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 30000) SELECT value FROM n)"
FRAME = pd.DataFrame({"town": ["Oslo", "Rome", "Paris"]})


def build(source, tmp_path, **options):
    return dfjoin.build_lake(source, tmp_path / "i.dfjoin", engine="inline", progress=False, **options)


def read_tables(path, kind):
    found = {}
    for source in Listing(path, kind).tables():
        for own, opened in tables_of(source, GivenDialect(), 1000):
            table = pa.Table.from_batches(opened().batches())
            again = open_table(own, columns=table.column_names[::-1])
            assert pa.Table.from_batches(again.batches()).select(table.column_names).equals(table)
            found[own.name.partition("/")[2]] = table
    return found


def make_sqlite(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE cities (name TEXT, people REAL, dial TEXT)")
        base.executemany("INSERT INTO cities VALUES (?, ?, ?)", CITIES)
        base.execute('CREATE VIEW "big / ""cities""" AS SELECT name FROM cities WHERE people > 1')
        base.execute("CREATE TABLE hollow (a INTEGER, b)")
    base.close()


def test_sqlite_is_searched_joined_and_followed(tmp_path):
    path = tmp_path / "base.bin"
    make_sqlite(path)
    lake = build(f"sqlite:///{path}", tmp_path)
    names = ['base.bin/big / "cities"', "base.bin/cities", "base.bin/hollow"]
    assert lake.tables["table"].tolist() == names
    assert lake.table(names[1]).to_dict("list") == {
        "name": ["Rome", "Oslo", "Lima"],
        "people": [2.8, 0.7, 10.1],
        "dial": ["0039", "0047", "0051"],
    }
    assert FRAME.auto_join(lake, on="town")["dial"].tolist()[:2] == ["0047", "0039"]
    assert lake.add(f"sqlite:///{path}", progress=False).info()["version"] == 1
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE hollow")
        base.execute("INSERT INTO cities VALUES ('Paris', 2.1, '0033')")
    base.close()
    later = lake.add(f"sqlite:////{path}", progress=False)
    assert later.tables["table"].tolist() == names[:2] and later.check().empty and later.verify() == []
    assert FRAME.auto_join(later, on="town")["dial"].tolist() == ["0047", "0039", "0033"]


@pytest.mark.parametrize("on_error", ["skip", "raise"])
def test_a_database_without_a_wanted_table_is_passed_over(tmp_path, on_error):
    for name in ("a", "b"):
        make_sqlite(tmp_path / f"{name}.sqlite")
    with sqlite3.connect(tmp_path / "b.sqlite") as base:
        base.execute("CREATE TABLE tx AS SELECT * FROM cities")
    base.close()
    lake = build(tmp_path, tmp_path / on_error, tables="*/tx", on_error=on_error)
    assert lake.tables["table"].tolist() == ["b.sqlite/tx"] and not lake.info()["skipped"]
    assert lake.add(tmp_path, progress=False).info()["version"] == 1 and lake.check().empty
    with sqlite3.connect(tmp_path / "b.sqlite") as base:
        base.execute("DROP TABLE tx")
    base.close()
    later = lake.add(tmp_path, progress=False)
    assert later.tables.empty and not later.info()["skipped"], "the table is gone, and nothing is unreadable"


def test_a_write_ahead_log_is_read_and_left_alone(tmp_path):
    """Pages that are not in the file yet: of a database that is open, of one whose process died, and of none."""
    path = tmp_path / "lake" / "b.sqlite"
    path.parent.mkdir()

    def files(place=path.parent):
        return {f.name: f.read_bytes() for f in place.iterdir() if not f.name.endswith("-shm")}

    writer = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "CREATE TABLE t (a TEXT, b INTEGER)"):
        writer.execute(statement)
    writer.execute("INSERT INTO t VALUES ('x', 1), ('y', 2)")
    before = files()
    lake = build(path.parent, tmp_path)
    assert lake.table("b.sqlite/t")["a"].tolist() == ["x", "y"] and lake.check().empty
    assert lake.add(path.parent, progress=False).info()["version"] == 1
    assert files() == before and len(before["b.sqlite-wal"]) > 4096
    stat = path.stat()
    writer.execute("INSERT INTO t VALUES ('z', 3)")
    assert path.stat() == stat and lake.check()["state"].tolist() == ["changed"]
    lake.add(path.parent, progress=False)
    assert lake.table("b.sqlite/t")["a"].tolist() == ["x", "y", "z"]
    (tmp_path / "died").mkdir()
    for name in ("b.sqlite", "b.sqlite-wal"):
        shutil.copy(path.parent / name, tmp_path / "died")
    before = files(tmp_path / "died")
    died = build(tmp_path / "died", tmp_path / "d")
    assert died.table("b.sqlite/t")["b"].tolist() == [1, 2, 3]
    assert files(tmp_path / "died") == before and len(list((tmp_path / "died").iterdir())) == 2
    writer.close()
    assert {f.name for f in path.parent.iterdir()} == {"b.sqlite"}
    lake.add(path.parent, progress=False)
    assert lake.table("b.sqlite/t")["a"].tolist() == ["x", "y", "z"]
    assert {f.name for f in path.parent.iterdir()} == {"b.sqlite"}


def test_a_database_that_another_process_changes_is_read_as_it_was(tmp_path):
    """The log is empty, but somebody has it open, and moves pages into the file while it is read."""
    path = tmp_path / "b.sqlite"
    writer = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode=WAL",
        "CREATE TABLE t (a TEXT, b INTEGER)",
        f"INSERT INTO t SELECT 'old', value FROM {NUMBERS}",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    ):
        writer.execute(statement)
    assert not (tmp_path / "b.sqlite-wal").stat().st_size
    base = sqlite_reader._Base(str(path))
    assert base.rows("SELECT count(*) FROM sqlite_master") == [(1,)]
    for statement in ("DELETE FROM t", f"INSERT INTO t SELECT 'new', -value FROM {NUMBERS}", "PRAGMA wal_checkpoint"):
        writer.execute(statement)
    assert [n for rows in base.batches("SELECT b FROM t ORDER BY b") for (n,) in rows] == list(range(1, 30001))
    writer.close()


def test_columns_of_sqlite_have_the_type_of_their_values(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE TABLE t (a INTEGER, b BOOLEAN, c DATE, d DATETIME, e TEXT, f BLOB, g, h REAL, i DATE, j)")
        rows = [
            (1, 1, "2020-01-02", "2020-01-02 03:04:05", "1", b"x", 1, 1.5, "soon", None),
            (None, 0, None, "2020-01-02T03:04:05.678", "x", None, "one", 2, "2020-01-02", None),
        ]
        base.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    base.close()
    table = read_tables(tmp_path / "t.sqlite", "sqlite")["t"]
    assert table.to_pydict() == {
        "a": [1, None],
        "b": [True, False],
        "c": [date(2020, 1, 2), None],
        "d": [datetime(2020, 1, 2, 3, 4, 5), datetime(2020, 1, 2, 3, 4, 5, 678000)],
        "e": ["1", "x"],
        "f": [b"x", None],
        "g": ["1", "one"],
        "h": [1.5, 2.0],
        "i": ["soon", "2020-01-02"],
        "j": [None, None],
    }


def test_the_zoo_in_sqlite_and_duckdb(tmp_path):
    """Differences: SQLite has five kinds of values; DuckDB takes no halves and no decimals above 38 digits."""
    table = zoo.without(zoo.zoo(), *NESTED)
    zoo.write_sqlite(table, tmp_path / "z.sqlite")
    found = read_tables(tmp_path / "z.sqlite", "sqlite")["zoo"]
    as_texts = {"decimal128", "decimal_wide", "decimal256", "date64", "time32", "time64", "second", "milli", "micro"}
    as_texts |= {"nano", "zoned", "duration"}
    assert {c for c in table.column_names if found[c].to_pylist() != table[c].to_pylist()} == as_texts
    for column in as_texts:
        texts = [None if value is None else str(value) for value in table[column].to_pylist()]
        assert found[column].to_pylist() == texts
    pytest.importorskip("duckdb")
    table = zoo.without(zoo.zoo(), "float16", "decimal256")
    zoo.write_duckdb(table, tmp_path / "z.duckdb")
    found = read_tables(tmp_path / "z.duckdb", "duckdb")["zoo"]
    assert {c for c in table.column_names if found[c].to_pylist() != table[c].to_pylist()} == {"duration"}  # interval


def test_tables_of_sqlite_as_strangers_make_them(tmp_path):
    """Texts of other encodings, computed columns, virtual tables, and names that have to be quoted."""
    path = tmp_path / "b.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE computed (a INTEGER, twice INTEGER GENERATED ALWAYS AS (a * 2) VIRTUAL)")
        base.execute("INSERT INTO computed (a) VALUES (1), (2)")
        base.execute("CREATE TABLE old (t TEXT)")
        base.execute(f"INSERT INTO old SELECT 'n' || value FROM {NUMBERS}")
        base.execute("INSERT INTO old VALUES (CAST(x'47f6746521' AS TEXT)), ('a' || char(0) || 'b')")
        base.execute("CREATE VIRTUAL TABLE words USING fts5(title)")
        base.execute("INSERT INTO words VALUES ('hello')")
        base.execute("""CREATE TABLE "o'd""d; x" ("sel""ect" TEXT PRIMARY KEY, "" INT) WITHOUT ROWID""")
        base.execute("""INSERT INTO "o'd""d; x" VALUES ('k', 5)""")
    base.close()
    lake = build(path, tmp_path)
    assert lake.tables["table"].tolist() == [
        "b.sqlite/computed",
        """b.sqlite/o'd"d; x""",
        "b.sqlite/old",
        "b.sqlite/words",
    ]
    assert lake.table("b.sqlite/computed").to_dict("list") == {"a": [1, 2], "twice": [2, 4]}
    texts = lake.table("b.sqlite/old")["t"].tolist()
    assert texts[:30000] == [f"n{n}" for n in range(1, 30001)] and texts[30000:] == ["G\ufffdte!", "a\0b"]
    assert lake.table("b.sqlite/words").to_dict("list") == {"title": ["hello"]}
    assert lake.table("""b.sqlite/o'd"d; x""").to_dict("list") == {'sel"ect': ["k"], "Unnamed: 1": [5]}


def test_types_of_duckdb_without_a_like_in_arrow_are_their_text(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    values = {
        "UHUGEINT": ("340282366920938463463374607431768211455", "340282366920938463463374607431768211455"),
        "HUGEINT": ("-170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"),
        "BIGNUM": ("'123456789012345678901234567890123456789012'", "123456789012345678901234567890123456789012"),
        "BIT": ("'0101'", "0101"),
        "TIMETZ": ("'10:00:00+02'", "10:00:00+02"),
        "UNION(n INTEGER, t TEXT)": ("'x'", "x"),
        "UUID": ("'6bfd6051-3779-4b78-a9ee-69b209e06bdd'", "6bfd6051-3779-4b78-a9ee-69b209e06bdd"),
        "ENUM('sad', 'ok')": ("'sad'", "sad"),
        "VARIANT": ("1", "1"),
    }
    is_known = {}
    with duckdb.connect(str(tmp_path / "b.duckdb")) as base:
        for kind, (value, _) in values.items():
            try:
                base.execute(f'CREATE TABLE "{kind.lower()[:4]}" AS SELECT CAST({value} AS {kind}) AS "the ""v"')
                is_known[kind] = True
            except duckdb.Error:  # a DuckDB that is older than the type
                is_known[kind] = False
    lake = build(tmp_path / "b.duckdb", tmp_path)
    for kind, (_, text) in values.items():
        if is_known[kind]:
            assert lake.table(f"b.duckdb/{kind.lower()[:4]}")['the "v'].astype(str).tolist() == [text], kind
    assert sum(is_known.values()) >= 7


def test_duckdb_is_searched_joined_and_has_no_way_to_other_files(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text("town\nRome\nOslo\nLima\n")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as base:
        base.execute("CREATE TABLE cities (name TEXT, people DOUBLE, dial TEXT)")
        base.executemany("INSERT INTO cities VALUES (?, ?, ?)", CITIES)
        base.execute("CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 1 AS a, 'x' AS b")
        base.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    lake = build(f"duckdb:///{tmp_path / 'b.duckdb'}", tmp_path)
    assert lake.tables["table"].tolist() == ["b.duckdb/cities", "b.duckdb/other.t"]
    (skipped,) = lake.info()["skipped"]
    assert skipped["name"] == "b.duckdb/outside" and "disabled" in skipped["reason"]
    assert FRAME.auto_join(lake, on="town")["dial"].tolist()[:2] == ["0047", "0039"]
    assert lake.add(tmp_path / "b.duckdb", progress=False).info()["version"] == 1


def test_what_is_no_database_has_a_reason(tmp_path, monkeypatch):
    (tmp_path / "a.sqlite").write_bytes(b"no database, but long enough")
    (tmp_path / "b.duckdb").write_bytes(b"no database, but long enough")
    with sqlite3.connect(tmp_path / "c.db") as base:
        base.execute(
            "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        )
    base.close()
    monkeypatch.setattr(sqlite_reader, "_SECONDS", 0.2)
    reasons = {}
    for source in Listing(tmp_path).tables():
        try:
            for own, opened in tables_of(source, GivenDialect(), 1000):
                try:
                    list(opened().batches())
                except TableReadError as error:
                    reasons[own.name] = str(error)
        except TableReadError as error:
            reasons[source.name] = str(error)
    assert reasons["a.sqlite"] == "it is no database of SQLite, or is encrypted"
    assert reasons["c.db/endless"] == "OperationalError: interrupted"
    with pytest.raises(InvalidParameterError, match="`source` must be an existing directory"):
        build(f"sqlite:///{tmp_path / 'none.sqlite'}", tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://user:/s3cret@host/db",
        "postgresql://user:12/s3@cret@host/db",
        "postgresql://user:12/s3cret@host/db",
        "postgresql://user:12#s3cret@host/",
        "postgresql://user:12?s3cret@host/db",
        "postgresql://user:s3cret%40host/db",
        "postgresql://s3cret%40host/db",
        "postgresql://host/db#s3cret",
    ],
)
def test_a_password_that_is_not_quoted_is_refused_and_not_shown(given):
    for scheme in ("postgresql", "mysql"):
        with pytest.raises(InvalidParameterError, match="got one that cannot be taken apart; write signs") as caught:
            location_of(given, scheme)
        assert "s3" not in str(caught.value)
    assert location_of("postgresql://u:s%2F3%23%40@[::1]:5/a%40b?x=1", "postgresql") == "postgresql://[::1]:5/a%40b"


def test_no_secret_of_a_uri_is_in_an_error():
    error = ValueError("bad token in se%ZZcret,\nnor in a b@c or a%20b%40c of user")
    full = "postgresql://user:s3cret@host/db?user=u1&password=se%ZZcret&key=a%20b%40c"
    assert safe_text(error, full) == "bad token in …, nor in … or … of user"


@pytest.fixture(scope="module")
def server():
    """A server of PostgreSQL from Debian's package, for this module."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs and shutil.which("initdb") is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    place = Path(programs[-1]) if programs else Path(shutil.which("initdb")).parent
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("there is no user `postgres` to run the server as")
        as_user = ["runuser", "-u", "postgres", "--"]
    with tempfile.TemporaryDirectory() as home:  # not below that of pytest, which other users cannot enter
        yield from serve(place, Path(home), as_user)


def serve(place, home, as_user):
    """Start a server, yield its URI with a password, and stop it."""
    if as_user:
        shutil.chown(home, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (home / "password").write_text("s3cr3t/word")
    (home / "password").chmod(0o644)
    user = "postgres" if as_user else getpass.getuser()

    def run(*command):
        done = subprocess.run([*as_user, *command], capture_output=True, text=True, timeout=120, cwd=home)
        if done.returncode:
            pytest.skip(f"PostgreSQL does not start here: {done.stderr[-300:]}")

    initdb = ["initdb", "-D", home / "data", "-U", user, "-A", "scram-sha-256", "--pwfile", home / "password", "-N"]
    run(place / initdb[0], *initdb[1:])
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
    run(place / "pg_ctl", "-D", home / "data", "-l", home / "data" / "log", "-o", options, "-w", "start")
    yield f"postgresql://{user}:s3cr3t%2Fword@127.0.0.1:{port}/postgres"
    run(place / "pg_ctl", "-D", home / "data", "-m", "immediate", "stop")


def execute(uri, *statements):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


TYPES = {
    "smallint": ([1, None], pa.int16()),
    "bigint": ([2**60, None], pa.int64()),
    "double precision": ([0.1, None], pa.float64()),
    "numeric(10,2)": ([Decimal("1.50"), None], pa.decimal128(10, 2)),
    "numeric(60,3)": ([Decimal("1e40"), None], pa.decimal256(60, 3)),
    "numeric": ([1.25, None], pa.float64()),
    "boolean": ([True, None], pa.bool_()),
    "text": (["it's", None], pa.string()),
    "varchar(9)": (["007", None], pa.string()),
    "bytea": ([b"\x00x", None], pa.binary()),
    "date": ([date(2020, 1, 2), None], pa.date32()),
    "timestamp": ([datetime(2020, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
    "timestamptz": ([datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
    "uuid": (["12345678-1234-5678-1234-567812345678", None], pa.string()),
    "jsonb": (['{"a": 1}', None], pa.string()),
    "inet": (["10.0.0.1/32", None], pa.string()),
    "integer[]": ([[1, None], None], pa.list_(pa.int32())),
}


@pytest.mark.xdist_group("postgresql")
def test_postgresql_is_searched_joined_and_followed(server, tmp_path):
    execute(
        server,
        "CREATE TABLE cities (name text, people float8, dial text)",
        "INSERT INTO cities VALUES " + ", ".join(str(row) for row in CITIES),
        'CREATE SCHEMA "Other"',
        'CREATE VIEW "Other"."a ""view""" AS SELECT name FROM cities',
        "CREATE TABLE empty (a int, b text)",
    )
    lake = build(server, tmp_path)
    names = ['Other.a "view"', "cities", "empty"]
    assert lake.tables["table"].tolist() == names
    wide = FRAME.auto_join(lake, on="town")
    assert wide["dial"].tolist()[:2] == ["0047", "0039"]
    assert lake.table("cities")["dial"].tolist() == ["0039", "0047", "0051"]
    assert lake.add(server, progress=False).info()["version"] == 1 and lake.check().empty
    execute(server, "UPDATE cities SET people = 3 WHERE name = 'Rome'", "DROP TABLE empty")
    assert sorted(lake.check()["table"]) == ["cities", "empty"]
    later = lake.add(server, progress=False)
    assert later.info()["version"] == 2 and later.table("cities")["people"].tolist() == [0.7, 10.1, 3.0]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"s3cr3t" not in file.read_bytes()
    assert "s3cr3t" not in str(lake.info()) + str(dfjoin.report(wide))
    with pytest.raises(InvalidParameterError, match="`source` must be a database that can be read") as caught:
        build(server.replace("s3cr3t", "wr0ng"), tmp_path / "x")
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="`source` must name the database"):
        build("postgresql://localhost", tmp_path / "x")


@pytest.mark.xdist_group("postgresql")
def test_types_of_postgresql(server, tmp_path):
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(TYPES))
    texts = ["1", str(2**60), "0.1", "1.5", "1e40", "1.25", "true", "it''s", "007", "\\x0078", "2020-01-02"]
    texts += ["2020-01-02 03:04:05", "2020-01-02 03:04:05+00", TYPES["uuid"][0][0], '{"a": 1}', "10.0.0.1/32"]
    values = ", ".join(f"'{text}'" for text in [*texts, "{1,NULL}"])
    nulls = ", ".join(["NULL"] * len(TYPES))
    execute(server, f"CREATE TABLE types ({columns})", f"INSERT INTO types VALUES ({values}), ({nulls})")
    root = dfjoin.types.Root(0, "postgres", postgresql_reader.location_of_postgresql(server), "database")
    (source,) = [s for s in postgresql_reader.tables_of_postgresql(root) if s.name == "types"]
    table = pa.Table.from_batches(open_table(source).batches())
    found = {type_: (table[f"c{n}"].to_pylist(), table[f"c{n}"].type) for n, type_ in enumerate(TYPES)}
    assert {t for t in TYPES if found[t] != TYPES[t]} == set()


@pytest.mark.xdist_group("postgresql")
def test_further_types_of_postgresql(server):
    """Domains are their types, infinite times nulls, and types that Arrow has no like of their text."""
    values = {
        "whole": ("5", 5, pa.int32()),
        "price": ("1.5", Decimal("1.50"), pa.decimal128(6, 2)),
        "mood": ("'ok'", "ok", pa.string()),
        "couple": ("ROW(1, 'x')", "(1,x)", pa.string()),
        "date": ("'infinity'", None, pa.date32()),
        "timestamp": ("'-infinity'", None, pa.timestamp("us")),
        "timestamptz": ("'infinity'", None, pa.timestamp("us", "UTC")),
        "numeric(10, 2)": ("'NaN'", None, pa.decimal128(10, 2)),
        "float8": ("'Infinity'", float("inf"), pa.float64()),
        "int4range": ("'[1,5)'", "[1,5)", pa.string()),
        "daterange": ("'[2020-01-01,)'", "[2020-01-01,)", pa.string()),
        "bit(4)": ("B'0101'", "0101", pa.string()),
        "uuid[]": ("'{6bfd6051-3779-4b78-a9ee-69b209e06bdd}'", "{6bfd6051-3779-4b78-a9ee-69b209e06bdd}", pa.string()),
        "text[]": ("'{a,NULL}'", ["a", None], pa.list_(pa.string())),
        "timetz": ("'10:00+02'", "10:00:00+02", pa.string()),
        "macaddr": ("'08:00:2b:01:02:03'", "08:00:2b:01:02:03", pa.string()),
        "point": ("'(1,2)'", "(1,2)", pa.string()),
    }
    kinds = ["TYPE mood AS ENUM ('sad', 'ok')", "TYPE couple AS (a int, b text)"]
    kinds += ["DOMAIN whole AS int CHECK (value > 0)", "DOMAIN price AS numeric(6, 2)"]
    columns = ", ".join(f"c{n} {kind}" for n, kind in enumerate(values))
    cells = ", ".join(cell for cell, _, _ in values.values())
    creates = [f"CREATE {kind}" for kind in kinds]
    execute(server, *creates, f"CREATE TABLE further ({columns})", f"INSERT INTO further VALUES ({cells})")
    root = dfjoin.types.Root(0, "postgres", postgresql_reader.location_of_postgresql(server), "database")
    (source,) = [s for s in postgresql_reader.tables_of_postgresql(root) if s.name == "further"]
    table = pa.Table.from_batches(open_table(source).batches())
    for n, (kind, (_, value, type_)) in enumerate(values.items()):
        column = table[f"c{n}"]
        assert (column.to_pylist(), column.type.equals(type_)) == ([value], True), (kind, column.type)
    execute(server, "DROP TABLE further")


@pytest.mark.xdist_group("postgresql")
def test_a_view_that_fails_is_passed_over(server, tmp_path):
    execute(
        server,
        "CREATE TABLE fine AS SELECT 'name ' || n AS name, n FROM generate_series(1, 9) n",
        "CREATE VIEW broken AS SELECT name, 1 / (n - 5) AS x FROM fine",
    )
    lake = build(server, tmp_path, tables=["broken", "fine"])
    assert lake.tables["table"].tolist() == ["fine"]
    (skipped,) = lake.info()["skipped"]
    assert skipped["name"] == "broken" and "division by zero" in skipped["reason"]
    execute(server, "DROP VIEW broken", "DROP TABLE fine")


@pytest.mark.xdist_group("postgresql")
def test_the_zoo_in_postgresql(server):
    """Differences: durations are intervals of months, days and nanoseconds; structs and maps are texts of JSON."""
    table = zoo.zoo()
    kind = "CREATE TYPE kind AS ENUM ('kind 0', 'kind 1', 'kind 2')"
    execute(server, "SET timezone = 'UTC'", kind)
    execute(server, *zoo.sql_statements(table, zoo.POSTGRESQL_TYPES, '"', "'\\x{}'"))
    root = dfjoin.types.Root(0, "postgres", postgresql_reader.location_of_postgresql(server), "database")
    (source,) = [s for s in postgresql_reader.tables_of_postgresql(root) if s.name == "zoo"]
    found = pa.Table.from_batches(open_table(source).batches())
    differ = {c for c in table.column_names if found[c].to_pylist() != table[c].to_pylist()}
    assert differ == {"duration", "struct", "map"}
    for name in ("struct", "map"):
        assert zoo.parsed(found[name]) == zoo.as_json(table[name])
    seconds = [None if one is None else one.nanoseconds // 10**9 for one in found["duration"].to_pylist()]
    assert seconds == [None if one is None else one.seconds for one in table["duration"].to_pylist()]
    execute(server, "DROP TABLE zoo")


@pytest.mark.xdist_group("postgresql")
def test_postgresql_of_one_moment_with_its_keys(server, tmp_path, monkeypatch):
    execute(
        server,
        'CREATE SCHEMA "a/b%"',
        'CREATE TABLE "a/b%".parents (id int PRIMARY KEY, name text UNIQUE)',
        'CREATE TABLE children (n int, parent int REFERENCES "a/b%".parents, kind text, price numeric(9, 2), more text)',
        "INSERT INTO \"a/b%\".parents SELECT i, 'Parent ' || i FROM generate_series(1, 30) i",
        "INSERT INTO children SELECT i, 1 + i % 30, 'Kind ' || i, i / 4.0, repeat('x', i % 5) FROM generate_series(1, 400) i",
    )
    lake = build(server, tmp_path, tables=["children", "a/b%.*"])
    assert lake.tables["table"].tolist() == ["a/b%.parents", "children"]
    edges = lake.join_graph().edges
    assert edges[edges["declared"]].iloc[:, :4].to_numpy().tolist() == [["children", "parent", "a/b%.parents", "id"]]
    assert lake.segments[0].catalog.table_record(0)["keys"] == [["name"], ["id"]]
    sent = []
    batches = postgresql_reader._PostgresServer.batches
    monkeypatch.setattr(
        postgresql_reader._PostgresServer, "batches", lambda self, query: sent.append(query) or batches(self, query)
    )
    for name, keys in {"n": [7, 400, 999], "kind": ["KIND 9", "kind 11", "none"], "price": [0.25, 50.0, 0.1]}.items():
        frame = pd.DataFrame({name: keys})
        if name == "price":
            frame[name] = frame[name].map(lambda x: Decimal(str(x)))
        whole = frame.auto_join(lake, on=name, tables="children")
        sent.clear()
        with monkeypatch.context() as patched:
            patched.setattr(store_table, "_ROWS_READ_WHOLE", 10)
            some = frame.auto_join(lake, on=name, tables="children")
        pd.testing.assert_frame_equal(some, whole)
        assert "more" in some.columns and " IN (" in sent[-1] and len(sent) == 2, name
    root = dfjoin.types.Root(0, "postgres", postgresql_reader.location_of_postgresql(server), "database")
    lost = dfjoin.types.TableSource("t", root, "public/gone", "postgresql", 0, 0)
    with pytest.raises(TableReadError, match="there is no such table in the database"):
        open_table(lost)
    with one_snapshot():
        sources = {source.name: source for source in postgresql_reader.tables_of_postgresql(root)}
        execute(server, "DELETE FROM children WHERE n > 100")
        table = pa.Table.from_batches(open_table(sources["children"]).batches())
        assert table.num_rows == 400
        with pytest.raises(Exception, match="read-only"):
            postgresql_reader._server_of(root).rows("DELETE FROM children")
        assert pa.Table.from_batches(open_table(sources["children"]).batches()).num_rows == 400
    assert pa.Table.from_batches(open_table(sources["children"]).batches()).num_rows == 100
