"""Who may speak to the page, and what it refuses: requests without a token, of other sites, that reach for files."""

import gzip
import http.client
import random
import socket
import sqlite3
import tempfile
import time
import zipfile
from urllib.parse import urlsplit

import duckdb
import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

from dfjoin.errors import TableReadError
from dfjoin.page import given_table
from dfjoin.page.guard import MOST_UPLOADED, Guard
from dfjoin.page.site import _CHANGES, _PAGES
from dfjoin.page.stoppable_thread import StoppableThread
from tests.page.load import ADDRESSES, random_requests

PATHS = ["/", "/lake", "/static/page.css", "/s/0123456789abcdef0123456789abcdef", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_token_nothing_is_answered(origin, path):
    answer = httpx.get(origin + path)
    assert (answer.status_code, answer.text) == (403, "Open the address that the server printed: it holds the token.")
    assert httpx.get(f"{origin}{path}?token=guess").status_code == 403
    assert httpx.get(origin + path, cookies={f"dfjoin-{urlsplit(origin).port}": "guess"}).status_code == 403


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(server, origin):
    answer = httpx.get(server.url)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", f"dfjoin-{urlsplit(origin).port}="))


def test_the_token_leads_to_this_server_alone(server, origin):
    token = server.url.rpartition("token=")[2]
    connection = http.client.HTTPConnection(urlsplit(origin).netloc)
    connection.request("GET", f"//evil.example/?token={token}")
    assert connection.getresponse().getheader("location") == "/evil.example/"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example:{port}"]
)
def test_the_name_of_another_host_is_refused(client, host):
    given = host.format(port=client.base_url.port)
    answer = client.get("/lake", headers={"Host": given})
    assert answer.status_code == 421
    assert answer.text == "This address is not the one that the server printed."


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_names_of_this_machine_are_its_own(client, name):
    host = f"{name}:{client.base_url.port}"
    assert client.get("/lake", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize("origin_of_form", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_forms_of_other_sites_are_refused(client, people, origin_of_form):
    answer = client.post(f"{people}/sql", data={"query": "SELECT 1 AS a"}, headers={"Origin": origin_of_form})
    assert (answer.status_code, answer.text) == (403, "This request comes from another site.")


def test_a_form_without_an_origin_is_refused(client, people, server):
    with httpx.Client(base_url=client.base_url, cookies=client.cookies) as other:
        assert other.get("/lake").status_code == 200
        assert other.post(f"{people}/sql", data={"query": "SELECT 1 AS a"}).status_code == 403


def test_each_answer_has_the_headers_that_forbid_scripts(client):
    for path in ("/", "/lake", "/static/page.js", "/none", "/s/none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_a_request_of_ten_gigabytes_is_refused_before_it_is_read(client, origin):
    place = urlsplit(origin)
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        head = f"POST /upload HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\n"
        head += f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {10 << 30}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert client.get("/lake").status_code == 200


def test_a_body_that_hides_its_length_is_cut(client, origin, monkeypatch):
    monkeypatch.setattr("dfjoin.page.guard.MOST_UPLOADED", 1 << 20)

    def endless():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(64):
            yield b"a,b\n" * (1 << 14)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    try:
        status = client.post("/upload", content=endless(), headers=headers).status_code
    except httpx.TransportError:  # the server has closed while it was written to
        status = 413
    assert status == 413 and MOST_UPLOADED == 512 << 20
    assert client.get("/lake").status_code == 200


NAMES = [
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\secret.csv",
    "....//x.csv",
    "%2e%2e/x",
    "a\x00b.csv",
    "." * 300,
    "CON",
    "-rf",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_an_upload_is_no_path(client, name, no_user_files):
    before = set(no_user_files.parent.iterdir())
    answer = client.post("/upload", files={"file": (name, b"a,b\nx,1\ny,2\n")})
    assert answer.status_code in (200, 400)
    kept = [path for path in (no_user_files / "dfjoin" / "page").rglob("*") if path.is_file()]
    assert all(path.parents[1].name == "sources" or path.parent.name in ("states", "results") for path in kept)
    assert set(no_user_files.parent.iterdir()) == before


@pytest.mark.parametrize(
    "path",
    [
        "/static/%2e%2e/serve.py",
        "/static/..%2fserve.py",
        "/static//etc/passwd",
        "/s/..%2f..%2fstates/x",
        "/lake/table?name=../../etc/passwd",
        "/lake/graph?table=/etc/passwd",
    ],
)
def test_no_address_reaches_a_file(client, path):
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text and "import" not in answer.text


def test_script_in_names_and_cells_is_text(client):
    evil = "<script>alert(1)</script>"
    table = f'"{evil}","b""onmouseover=""x"\n"<img src=x onerror=alert(1)>",{{{{7*7}}}}\n"</textarea><b>",2\n'
    page = client.post("/upload", files={"file": (f"{evil}.csv", table.encode())})
    assert page.status_code == 200
    state = page.url.path
    for path in (
        state,
        f"{state}/sql",
        f"{state}/change",
        f"{state}/leave",
        f"{state}/search?on={evil}",
        f"{state}/nothing",
    ):
        text = client.get(path).text
        assert (
            "<script>alert" not in text
            and "<img src=x" not in text
            and "</textarea><b>" not in text
            and 'onmouseover="x' not in text
        )
    assert "{{7*7}}" in client.get(state).text and "&lt;script&gt;" in client.get(state).text


def test_a_compressed_file_that_is_huge_when_unpacked_is_refused(client, monkeypatch):
    import io

    monkeypatch.setattr("dfjoin.page.given_table.UNPACKED_BYTES", 1 << 22)
    rows = b"a,b\n" + b"1,2\n" * (2 << 20)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", rows)
    for name, content in (("bomb.zip", bomb.getvalue()), ("bomb.csv.gz", gzip.compress(rows))):
        assert len(content) < 1 << 20
        answer = client.post("/upload", files={"file": (name, content)})
        assert answer.status_code == 400 and "when it is unpacked" in answer.text


def test_random_requests_are_refused_or_harmless(client, people, wide):
    """The seeded short run of `tests.page.load --random`, which makes 10,000."""
    statuses = random_requests(client, [people, wide], random.Random(7), 80)
    assert statuses and max(statuses) < 500, {s: n for s, n in statuses.items() if s >= 500}
    start = time.monotonic()
    assert client.get("/lake").status_code == 200 and time.monotonic() - start < 20


def test_an_index_that_was_opened_is_not_built(client):
    for path in ("/build/cancel", "/build/again"):
        answer = client.post(path)
        assert (answer.status_code, answer.url.path) == (200, "/"), path


def test_random_requests_know_each_address():
    known = {(method, path.replace("{state}", "/s/{state}")) for method, path in ADDRESSES}
    pages = {("GET", path.replace("{format}", "csv")) for path in _PAGES}
    assert known >= pages | {("POST", path) for path in _CHANGES}


def test_what_is_packed_within_what_is_packed_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(given_table, "UNPACKED_BYTES", 1 << 22)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * (2 << 20)))
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"a": coded}).cast(pa.schema([("a", pa.string())])), tmp_path / "b.parquet")
    zeros = pa.table({"a": pa.array([0] * (1 << 20))})
    feather.write_feather(zeros, tmp_path / "c.feather", compression="zstd")
    orc.write_table(zeros, tmp_path / "d.orc")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(TableReadError, match="when it is unpacked; bring a part of it"):
            given_table.read_given(path, {})


def test_a_stripe_that_is_unpacked_before_it_is_counted_finds_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(given_table, "MEMORY_BYTES", 400 << 20)
    orc.write_table(pa.table({"a": pa.array(["x" * 1000] * 500_000)}), tmp_path / "a.orc", compression="zstd")
    assert (tmp_path / "a.orc").stat().st_size < 1 << 20
    with pytest.raises(TableReadError, match=r"the file cannot be read: .*(memory|malloc|MemoryError)"):
        given_table.read_given(tmp_path / "a.orc", {})
    monkeypatch.undo()
    (tmp_path / "b.csv").write_text("a,b\n1,x\n2,y\n")
    assert len(given_table.read_given(tmp_path / "b.csv", {}).frame) == 2, "the next file is read"


def test_a_reading_that_is_ended_leaves_no_file(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,x y z\n" * (8 << 20))
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(given_table, "_idle", [])
    thread = StoppableThread(lambda: given_table.read_given(tmp_path / "a.csv", {}))
    thread.start()
    end = time.monotonic() + 60
    while not any(place.rglob("index")) and time.monotonic() < end:
        time.sleep(0.01)
    assert any(place.rglob("index"))
    thread.stop(at_once=True)
    assert thread._ended.wait(10) and not any(place.iterdir())


def test_a_file_that_takes_long_is_given_up_and_ends_with_its_thread(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,x y z\n" * (8 << 20))
    started = []
    begin = given_table.LimitedProcess

    def noted(script):
        started.append(begin(script))
        return started[-1]

    monkeypatch.setattr(given_table, "_idle", [])
    monkeypatch.setattr(given_table, "LimitedProcess", noted)
    thread = StoppableThread(lambda: given_table.read_given(tmp_path / "a.csv", {}))
    thread.start()
    while not started:
        time.sleep(0.01)
    thread.stop()
    assert thread._ended.wait(10) and not started[0].is_alive and given_table._idle == []
    monkeypatch.setattr(given_table, "SECONDS", 0.5)
    with pytest.raises(TableReadError, match=r"it takes more than 0\.5 seconds; bring a part of it"):
        given_table.read_given(tmp_path / "a.csv", {})
    assert not started[1].is_alive


def test_views_of_a_database_are_not_read(tmp_path):
    with duckdb.connect(str(tmp_path / "v.duckdb")) as base:
        base.execute("CREATE TABLE k AS SELECT range AS a, 'x' AS b FROM range(5)")
        base.execute('CREATE VIEW "v""w" AS SELECT range AS a, md5(range::VARCHAR) AS b FROM range(100000000000)')
    with sqlite3.connect(tmp_path / "v.sqlite") as base:
        base.execute("CREATE TABLE k AS SELECT 1 AS a, 'x' AS b UNION SELECT 2, 'y'")
        base.execute("CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c")
    for name in ("v.duckdb", "v.sqlite"):
        assert given_table.read_given(tmp_path / name, {}).tables == [f"{name}/k"]
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.write(tmp_path / "v.sqlite", "v.sqlite")
    with pytest.raises(TableReadError, match="an archive that holds a database cannot be brought"):
        given_table.read_given(tmp_path / "v.zip", {})
    (tmp_path / "bad.duckdb").write_bytes(b"nothing" * 1000)
    with pytest.raises(TableReadError, match="the file cannot be read"):
        given_table.read_given(tmp_path / "bad.duckdb", {})


def test_an_odd_neighbour_hides_no_cookie_and_the_token_always_leaves_the_address(server, origin):
    token = server.url.rpartition("token=")[2]
    cookie = f'other={{"a": 1}}; dfjoin-{urlsplit(origin).port}={token}'
    assert httpx.get(f"{origin}/lake", headers={"Cookie": cookie}).status_code == 200
    again = httpx.get(f"{origin}/lake?x=1&token=old", headers={"Cookie": cookie})
    assert again.status_code == 303 and again.headers["location"] == "/lake?x=1"


def test_browsers_leave_the_usual_port_out():
    guard = Guard(None, "token", 80)
    assert guard._is_own_host("127.0.0.1") and guard._is_own_host("[::1]") and guard._is_own_host("localhost:80")
    assert not guard._is_own_host("evil.example") and not Guard(None, "token", 8000)._is_own_host("127.0.0.1")


def test_a_path_that_no_client_tidied_reaches_no_file(client, origin):
    place = urlsplit(origin)
    connection = http.client.HTTPConnection(place.netloc)
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    connection.request("GET", "/static/../serve.py", headers={"Cookie": cookie})
    answer = connection.getresponse()
    assert answer.status == 404 and b"import" not in answer.read()
