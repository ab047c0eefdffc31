"""MySQL by a server of MariaDB: tables and views of one or all databases, read only, as one moment shows them."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from datetime import UTC, date, datetime
from datetime import time as time_type
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError, TableChangedError, TableReadError
from dfjoin.sources import database_server, mysql_reader, wanted_rows
from dfjoin.sources.database_server import one_snapshot
from dfjoin.sources.readers import current_fingerprint, open_table
from dfjoin.sources.wanted_rows import RowsByKey
from tests.sources import zoo

CITIES = [("Rome", 2.8, "0039"), ("Oslo", 0.7, "0047"), ("Lima", 10.1, "0051")]
FRAME = pd.DataFrame({"town": ["Oslo", "Rome", "Paris"]})
PASSWORD = "s3cr3t/wörd"

pytestmark = pytest.mark.xdist_group("mysql")


@pytest.fixture(scope="module")
def server():
    """A server of MariaDB from Debian's package, for this module."""
    pytest.importorskip("pymysql")
    programs = {name: shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("mariadbd", "mariadb-install-db")}
    if None in programs.values():
        pytest.skip("MariaDB is not installed (Debian: mariadb-server)")
    is_root = os.geteuid() == 0
    if is_root and subprocess.run(["id", "mysql"], capture_output=True).returncode:
        pytest.skip("there is no user `mysql` to run the server as")
    with tempfile.TemporaryDirectory() as home:
        yield from serve(programs, Path(home), "mysql" if is_root else getpass.getuser())


def serve(programs, home, user):
    """Start a server, yield its URI with a password and no database, and stop it."""
    if user != getpass.getuser():
        shutil.chown(home, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = [f"--datadir={home / 'data'}", f"--user={user}"]
    options = ["--no-defaults", *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
    done = subprocess.run([programs["mariadb-install-db"], *options], capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"MariaDB does not start here: {done.stderr[-300:]}")
    places = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={home / 'socket'}"]
    log = (home / "log").open("w")
    running = subprocess.Popen([programs["mariadbd"], "--no-defaults", *own, *places], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while not (home / "socket").exists() and running.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        execute(
            f"mysql://root@127.0.0.1:{port}/",
            f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'",
            "GRANT ALL ON *.* TO reader",
            "DELETE FROM mysql.global_priv WHERE user = 'root'",
            "FLUSH PRIVILEGES",
        )
        yield f"mysql://reader:s3cr3t%2Fw%C3%B6rd@127.0.0.1:{port}/"
    finally:
        running.terminate()
        running.wait(60)
        log.close()


def execute(uri, *statements):
    import pymysql

    database = uri.rpartition("/")[2] or None
    connection = pymysql.connect(**mysql_reader._arguments(uri), database=database, autocommit=True)
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def base(server):
    """An empty database."""
    execute(server, "DROP DATABASE IF EXISTS base", "CREATE DATABASE base")
    return f"{server}base"


def build(source, tmp_path, **options):
    return dfjoin.build_lake(source, tmp_path / "i.dfjoin", engine="inline", progress=False, **options)


def sources_of(uri):
    root = dfjoin.types.Root(0, "base", mysql_reader.location_of_mysql(uri), "database")
    return {source.name: source for source in mysql_reader.tables_of_mysql(root)}


def read(uri, table):
    return pa.Table.from_batches(open_table(sources_of(uri)[table]).batches())


def write_cities(uri):
    execute(
        uri,
        "CREATE TABLE base.cities (name varchar(50), people double, dial text)",
        "INSERT INTO base.cities VALUES " + ", ".join(map(str, CITIES)),
    )


def test_mysql_is_searched_joined_and_followed(server, base, tmp_path):
    write_cities(server)
    execute(
        base,
        "CREATE DATABASE IF NOT EXISTS `other/%`",
        "DROP TABLE IF EXISTS `other/%`.empty",
        "CREATE TABLE `other/%`.empty (a int, b text)",
        'CREATE VIEW base.`a "view"` AS SELECT name FROM base.cities',
    )
    lake = build(base, tmp_path)
    assert lake.tables["table"].tolist() == ['a "view"', "cities"]
    wide = FRAME.auto_join(lake, on="town")
    assert wide["dial"].tolist()[:2] == ["0047", "0039"]
    assert lake.table("cities")["dial"].tolist() == ["0039", "0047", "0051"]
    assert lake.add(base, progress=False).info()["version"] == 1 and lake.check().empty
    execute(base, "UPDATE cities SET people = 3 WHERE name = 'Rome'", 'DROP VIEW `a "view"`')
    assert sorted(lake.check()["table"]) == ['a "view"', "cities"]
    later = lake.add(base, progress=False)
    assert later.info()["version"] == 2 and later.table("cities")["people"].tolist() == [3.0, 0.7, 10.1]
    both = build(server.replace("mysql:", "mariadb:"), tmp_path / "both")
    assert both.tables["table"].tolist() == ["base.cities", "other/%.empty"]
    assert both.table("other/%.empty").columns.tolist() == ["a", "b"]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"s3cr3t" not in file.read_bytes()
    assert "s3cr3t" not in str(lake.info()) + str(dfjoin.report(wide))


def test_credentials_of_mysql(server, base, tmp_path, monkeypatch, caplog):
    write_cities(server)
    host = server.partition("@")[2]
    calls = []

    def current():
        calls.append(1)
        return base

    lake = build(current, tmp_path)
    n = len(calls)
    assert lake.table("cities").shape == (3, 3) and len(calls) > n >= 2
    with pytest.raises(InvalidParameterError, match="`source` must be a database that can be read") as caught:
        build(base.replace("s3cr3t", "wr0ng"), tmp_path / "x")
    assert "wr0ng" not in str(caught.value) + caplog.text and caught.value.__cause__ is None
    with pytest.raises(InvalidParameterError, match="`source` may have the options unix_socket"):
        mysql_reader._arguments(f"{base}?local_infile=1")
    with pytest.raises(InvalidTypeError, match="`source` may be a function that returns the URI of a database"):
        build(lambda: 5, tmp_path / "x")
    with pytest.raises(
        InvalidParameterError, match="has to return the URI of a database, and fails: ZeroDivisionError"
    ):
        build(lambda: 1 / 0, tmp_path / "x")
    with pytest.raises(InvalidTypeError, match="got one that returns a URI of 's3'"):
        build(lambda: "s3://a/b", tmp_path / "x")
    monkeypatch.setattr(database_server, "_given", {})  # as in another process
    with pytest.raises(TableChangedError, match="Access denied"):
        dfjoin.open_lake(lake.path).table("cities")
    for given in (base, current):
        again = dfjoin.open_lake(lake.path, roots={"base": given})
        assert again.table("cities").shape == (3, 3)
        assert "s3cr3t" not in str(again.roots) + str(again.info())
        monkeypatch.setattr(database_server, "_given", {})
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".my.cnf").write_text("[client]\nuser = reader\n")
    assert sources_of(f"mysql://{host}base").keys() == {"cities"}


TYPES = {
    "tinyint(1)": ("1", [1, None], pa.int8()),
    "mediumint unsigned": ("7", [7, None], pa.uint32()),
    "bigint": (str(2**60), [2**60, None], pa.int64()),
    "bigint unsigned": (str(2**64 - 1), [2**64 - 1, None], pa.uint64()),
    "float": ("0.5", [0.5, None], pa.float32()),
    "double": ("0.1", [0.1, None], pa.float64()),
    "decimal(10,2)": ("1.5", [Decimal("1.50"), None], pa.decimal128(10, 2)),
    "decimal(60,3)": ("1e40", [Decimal("1e40"), None], pa.decimal256(60, 3)),
    "bit(10)": ("513", [513, None], pa.uint64()),
    "year": ("1999", [1999, None], pa.int16()),
    "varchar(9) character set latin1": ("'naïve'", ["naïve", None], pa.string()),
    "char(9)": ("'it''s \\\\'", ["it's \\", None], pa.string()),
    "text": ("'名'", ["名", None], pa.string()),
    "enum('a','b')": ("'b'", ["b", None], pa.string()),
    "set('a','b')": ("'a,b'", ["a,b", None], pa.string()),
    "json": ("'{\"a\": 1}'", ['{"a": 1}', None], pa.string()),
    "uuid": ("'12345678-1234-5678-1234-567812345678'", ["12345678-1234-5678-1234-567812345678", None], pa.string()),
    "inet6": ("'::1'", ["::1", None], pa.string()),
    "varbinary(4)": ("x'00ff'", [b"\x00\xff", None], pa.binary()),
    "blob": ("x'80'", [b"\x80", None], pa.binary()),
    "date": ("'2020-01-02'", [date(2020, 1, 2), None], pa.date32()),
    "datetime(6)": ("'2020-01-02 03:04:05.000006'", [datetime(2020, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
    "timestamp null": (
        "'2020-01-02 03:04:05'",
        [datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), None],
        pa.timestamp("us", "UTC"),
    ),
    "time": ("'-12:30:00'", ["-12:30:00", None], pa.string()),
    "bit(64)": ("b'" + "1" * 64 + "'", [2**64 - 1, None], pa.uint64()),
    "int(6) zerofill": ("42", [42, None], pa.uint32()),
    "enum('','it''s')": ("''", ["", None], pa.string()),
    "text character set cp1251": ("'привет'", ["привет", None], pa.string()),
    "point": ("ST_GeomFromText('POINT(1 2)')", ["POINT(1 2)", None], pa.string()),
    "multilinestring": (
        "ST_GeomFromText('MULTILINESTRING((0 0,1 1))')",
        ["MULTILINESTRING((0 0,1 1))", None],
        pa.string(),
    ),
    "geometrycollection": (
        "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))')",
        ["GEOMETRYCOLLECTION(POINT(1 2))", None],
        pa.string(),
    ),
}


def test_types_of_mysql(server, base):
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(TYPES))
    values = ", ".join(text for text, _, _ in TYPES.values())
    nulls = ", ".join(["NULL"] * len(TYPES))
    execute(
        base,
        "SET NAMES utf8mb4",
        "SET time_zone = '+00:00'",
        f"CREATE TABLE types ({columns}) CHARACTER SET utf8mb4",
        f"INSERT INTO types VALUES ({values}), ({nulls})",
        f"CREATE TABLE others ({columns}) CHARACTER SET utf8mb4",
    )
    table = read(base, "types")
    assert current_fingerprint(sources_of(base)["types"]) != current_fingerprint(sources_of(base)["others"])
    found = {type_: (table[f"c{n}"].to_pylist(), table[f"c{n}"].type) for n, type_ in enumerate(TYPES)}
    assert {t: found[t] for t in TYPES if found[t] != TYPES[t][1:]} == {}


def test_the_zoo_in_mysql(server, base):
    """Differences: times may be negative and have more than a day, and are texts; what is nested is a text of JSON."""
    table = zoo.zoo()
    execute(base, "SET NAMES utf8mb4", "ALTER DATABASE base CHARACTER SET utf8mb4")
    statements = zoo.sql_statements(table, zoo.MYSQL_TYPES, "`", "x'{}'")
    execute(base, "SET NAMES utf8mb4", "SET time_zone = '+00:00'", *statements)
    found = read(base, "zoo")
    nested, times = {"list", "texts", "struct", "map"}, {"time32", "time64", "duration"}
    assert {c for c in table.column_names if found[c].to_pylist() != table[c].to_pylist()} == nested | times
    for name in nested:
        assert zoo.parsed(found[name]) == zoo.as_json(table[name])
    for name in times:
        for told, written in zip(found[name].to_pylist(), table[name].to_pylist(), strict=True):
            time_of_day = None if told is None else datetime.fromisoformat(f"2020-01-01 {told}")
            midnight = datetime(2020, 1, 1)
            wanted = midnight + written if name == "duration" and written is not None else written
            assert time_of_day == (datetime.combine(midnight, wanted) if isinstance(wanted, time_type) else wanted)


def test_days_that_no_calendar_has_are_nulls(server, base):
    execute(
        base,
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE d (d date, m datetime)",
        "INSERT INTO d VALUES ('0000-00-00', '0000-00-00 00:00:00'), ('2020-05-00', '2020-05-06 00:00:00')",
    )
    assert read(base, "d").to_pydict() == {"d": [None, None], "m": [None, datetime(2020, 5, 6)]}


def test_all_tables_of_a_build_are_of_one_moment(server, base, monkeypatch):
    write_cities(server)
    execute(base, "CREATE TABLE more (n int)", "INSERT INTO more VALUES (1), (2)")
    with one_snapshot():
        sources = sources_of(base)
        reader = open_table(sources["cities"])
        execute(base, "DELETE FROM cities", "INSERT INTO more VALUES (3)")
        assert pa.Table.from_batches(reader.batches()).num_rows == 3
        first = next(iter(open_table(sources["more"]).batches()))
        assert first.column(0).to_pylist() == [1, 2]
        server_ = mysql_reader._server_of(sources["more"].root)
        with pytest.raises(Exception, match="READ ONLY"):
            server_.rows("DELETE FROM base.more")
    assert read(base, "more")["n"].to_pylist() == [1, 2, 3]
    with one_snapshot():  # a table of which the rest is not read ends the transaction, and another one begins
        monkeypatch.setattr(mysql_reader, "_ROWS_PER_BATCH", 1)
        batches = open_table(sources_of(base)["more"]).batches()
        next(batches)
        batches.close()
        assert read(base, "more").num_rows == 3


def test_tables_that_are_wanted(server, base, tmp_path):
    write_cities(server)
    execute(base, "CREATE TABLE more (n int, m int)", "INSERT INTO more VALUES (1, 1), (2, 2)")
    lake = build(server, tmp_path, tables=["base.c*", "nothing.*"])
    assert lake.tables["table"].tolist() == ["base.cities"]
    execute(base, "CREATE TABLE cinemas (n int, m int)", "CREATE TABLE later (n int, m int)")
    assert lake.add(server, progress=False).tables["table"].tolist() == ["base.cinemas", "base.cities"]
    with pytest.raises(InvalidParameterError, match="`source` holds no table that `tables` names"):
        build(server, tmp_path / "x", tables="none")


@pytest.fixture
def queries(monkeypatch):
    """The queries of rows that are sent."""
    sent = []
    batches = mysql_reader._MysqlServer.batches
    monkeypatch.setattr(
        mysql_reader._MysqlServer, "batches", lambda self, query: sent.append(query) or batches(self, query)
    )
    return sent


def test_a_join_asks_for_the_rows_with_its_keys(server, base, tmp_path, monkeypatch, queries):
    from dfjoin.store import table as store_table

    names = [f"Name {n}" for n in range(3000)]
    names[1:5] = ["Köln", "koln", "KÖLN ", "köln\\'"]
    rows = ", ".join(
        f"({n}, '{name.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}', {n % 700}, {n})"
        for n, name in enumerate(names)
    )
    execute(
        base,
        "SET NAMES utf8mb4",
        "CREATE TABLE big (id bigint, name varchar(40), part int, v int) CHARACTER SET utf8mb4",
        f"INSERT INTO big VALUES {rows}",
    )
    lake = build(base, tmp_path)
    frames = {
        "id": (pd.DataFrame({"id": [5, 7, 2999, 88888]}), ["id"]),
        "name": (pd.DataFrame({"name": ["köln", "NAME 77", "name 2000", "nobody"]}), ["name"]),
        "pair": (pd.DataFrame({"name": ["NAME 1500", "name 2222"], "part": [100, 122]}), ["name", "part"]),
        "none": (pd.DataFrame({"id": [88888, 99999]}), ["id"]),
    }
    for name, (frame, on) in frames.items():
        whole = frame.auto_join(lake, on=on, tables="big")
        queries.clear()
        with monkeypatch.context() as patched:
            patched.setattr(store_table, "_ROWS_READ_WHOLE", 10)
            some = frame.auto_join(lake, on=on, tables="big")
        pd.testing.assert_frame_equal(some, whole)
        assert ("v" in some.columns) == (name != "none")
        assert name == "none" or " IN (" in queries[-1]
        assert name == "pair" or not any(query.endswith('"big" ') and "DISTINCT" not in query for query in queries)


def rows_with_keys(uri, table, **keys):
    """Read the rows with some keys, which the server is asked for; others may come, too."""
    with one_snapshot():
        source = sources_of(uri)[table]
        session = database_server._shared.get()[source.root.uri]

        def is_wanted(arrays):
            wanted = {tuple(key) for key in zip(*keys.values(), strict=True)}
            return np.array([row in wanted for row in zip(*(array.to_pylist() for array in arrays), strict=True)])

        reader = open_table(source, rows=RowsByKey(tuple(keys), is_wanted))
        found = pa.Table.from_batches(reader.batches())
        assert session.is_usable, "another transaction would see another moment"
    return found


def test_all_rows_are_read_where_keys_are_not_asked_for(base, queries, monkeypatch):
    """Keys without exact literals, and too many keys: the query for the distinct ones is not left half read."""
    times = [datetime(2020, 1, 1, hour) for hour in range(20)]
    values = ", ".join(f"('{time}', {n / 8}, {n})" for n, time in enumerate(times))
    execute(base, "CREATE TABLE t (m datetime, f double, n int)", f"INSERT INTO t VALUES {values}")
    monkeypatch.setattr(mysql_reader, "_ROWS_PER_BATCH", 3)
    monkeypatch.setattr(wanted_rows, "_MOST_KEYS", 5)
    for keys, n_queries in (({"m": times[:2]}, 1), ({"f": [0.125]}, 1), ({"n": range(15)}, 2)):
        queries.clear()
        assert rows_with_keys(base, "t", **keys)["n"].to_pylist() == list(range(20))
        assert len(queries) == n_queries and " IN (" not in queries[-1]
    assert rows_with_keys(base, "t", n=[3, 4])["f"].to_pylist() == [3 / 8, 0.5]


@pytest.mark.parametrize("collation", ["utf8mb4_general_nopad_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"])
def test_keys_that_differ_by_case_and_spaces_are_several(base, collation):
    names = [f"Name {n}{ending}" for n in range(9) for ending in ("", " ", "\t")] + ["NAME 5", "name 5 "]
    values = ", ".join(f"('{name}')" for name in names)
    execute(
        base,
        "SET NAMES utf8mb4",
        f"CREATE TABLE t (name varchar(20)) CHARACTER SET utf8mb4 COLLATE {collation}",
        f"INSERT INTO t VALUES {values}",
    )
    for wanted in (["Name 5"], ["Name 5 ", "name 5 "], names):
        assert sorted(rows_with_keys(base, "t", name=wanted)["name"].to_pylist()) == sorted(wanted)


def test_decimals_are_asked_for_exactly(base, queries):
    keys = [Decimal(f"12345678901234567890123456{n:02}.{n:02}") for n in range(60)] + [Decimal("-0.05")]
    execute(base, "CREATE TABLE t (d decimal(30, 2))", f"INSERT INTO t VALUES {', '.join(f'({d})' for d in keys)}")
    assert rows_with_keys(base, "t", d=keys[1::2])["d"].to_pylist() == keys[1::2]
    assert " IN (" in queries[-1]


def test_keys_are_columns_of_the_database_whatever_the_lake_calls_them(base, queries):
    execute(base, "CREATE TABLE t (` a` int, `a` int)", "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    for keys, rows in (({"a": [2]}, [2]), ({"a.1": [30]}, [3]), ({"a.1": [10], "a": [1]}, [1])):
        assert rows_with_keys(base, "t", **keys)["a"].to_pylist() == rows
        assert " IN (" in queries[-1]


def test_a_table_that_is_gone_has_a_reason(base):
    write_cities(base.removesuffix("base"))
    source = sources_of(base)["cities"]
    execute(base, "DROP TABLE cities")
    with pytest.raises(TableReadError, match="there is no such table in the database"):
        open_table(source)


def test_what_is_no_server_has_a_reason(tmp_path):
    with pytest.raises(InvalidParameterError, match="Check host and name"):
        build("mysql://127.0.0.1:1/base", tmp_path)
    with pytest.raises(InvalidParameterError, match="got one that cannot be taken apart"):
        build("mysql://u:a/b@127.0.0.1:x/base", tmp_path)
    source = dfjoin.types.TableSource(
        "t", dfjoin.types.Root(0, "b", "mysql://127.0.0.1:1/b", "database"), "b/t", "mysql", 0, 0
    )
    with pytest.raises(TableReadError, match="cannot be opened"):
        open_table(source)
