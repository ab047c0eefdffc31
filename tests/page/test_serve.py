"""Starting the page: from Python, from a shell, with an index or a directory of tables; and how it ends."""

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from types import SimpleNamespace

import httpx
import pandas as pd
import pytest
from starlette.requests import Request

import dfjoin
from dfjoin.cli.main import main
from dfjoin.errors import (
    IndexNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
    MissingDependencyError,
    collected_warnings,
    warn,
)
from dfjoin.page import serve
from dfjoin.page.site import Site
from dfjoin.page.stoppable_thread import BuildProgress, StoppableThread
from dfjoin.page.visit import handler
from tests.conftest import PROJECT


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser was asked to open."""
    addresses = []
    monkeypatch.setattr("webbrowser.open", addresses.append)
    return addresses


def test_a_lake_opens_its_page_and_ends_it(example_lake, opened):
    page = example_lake.explore(pd.DataFrame({"country": ["Peru"], 1: ["x"]}))
    assert opened == [page.url] and re.fullmatch(r"http://127\.0\.0\.1:\d+/s/[0-9a-f]{32}\?token=[\w-]{32}", page.url)
    assert page.url in repr(page) and f'href="{page.url}"' in page._repr_html_()
    with httpx.Client(follow_redirects=True) as client:
        assert "Peru" in client.get(page.url).text
    page.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.url)


def test_the_shell_prints_the_address_and_ends_with_an_interrupt(example_lake, opened, monkeypatch, capsys, tmp_path):
    statuses = []

    def look_and_interrupt(self, timeout=None):
        with httpx.Client(follow_redirects=True) as client:
            statuses.append(client.get(page_url()).status_code)
        monkeypatch.undo()
        raise KeyboardInterrupt

    def page_url():
        return capsys.readouterr().out.splitlines()[0]

    table = tmp_path / "mine.csv"
    table.write_text("country,n\nPeru,1\nChad,2\n")
    monkeypatch.setattr("threading.Thread.join", look_and_interrupt)
    assert main(["explore", str(example_lake.path), str(table), "--no-browser"]) == 0
    assert statuses == [200] and opened == []


def test_the_shell_has_json_and_says_what_is_wrong(example_lake, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(serve.PageServer, "wait", lambda self: self.stop())
    assert main(["explore", str(example_lake.path), "--no-browser", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["url"].startswith("http://127.0.0.1:")
    assert main(["explore", str(tmp_path / "none"), "--no-browser"]) == 2
    assert main(["explore", str(example_lake.path), str(tmp_path / "none.csv"), "--no-browser"]) == 2
    assert "must be an existing file, got" in capsys.readouterr().err


def test_a_directory_of_tables_is_indexed_first_and_read_again_when_it_changes(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    pd.DataFrame({"land": ["Peru", "Chad"], "n": [1, 2]}).to_csv(data / "lands.csv", index=False)
    for n_tables in (1, 2):
        page = serve.explore(data, open_browser=False)
        with httpx.Client(follow_redirects=True) as client:
            text, end = client.get(page.url).text, time.monotonic() + 30
            while "The index is being built" in text and time.monotonic() < end:
                time.sleep(0.1)
                text = client.get(page.url).text
        page.stop()
        assert "lands.csv" in text and text.count('class="table-list"') == 1 and text.count("<li>") == n_tables
        pd.DataFrame({"land": ["Oman"], "m": [3]}).to_csv(data / "more.csv", index=False)


@pytest.mark.parametrize("kind", ["file", "frame", "broken"])
def test_a_table_is_opened_when_its_directory_is_indexed(tmp_path, kind):
    data, given = tmp_path / "data", tmp_path / "mine.csv"
    data.mkdir()
    pd.DataFrame({"land": ["Peru", "Chad"], "n": [1, 2]}).to_csv(data / "lands.csv", index=False)
    given.write_text("" if kind == "broken" else "country,year\nPeru,1999\n")
    with pytest.raises(InvalidParameterError, match=r"must be an existing file, got '.*none.csv'; check the spelling"):
        serve.explore(data, str(tmp_path / "none.csv"), open_browser=False)
    page = serve.explore(data, pd.read_csv(given) if kind == "frame" else given, open_browser=False)
    base = page.url.split("/?")[0]
    with httpx.Client(follow_redirects=True) as client:
        answer, end = client.get(page.url, headers={"HX-Request": "true"}), time.monotonic() + 30
        while "HX-Redirect" not in answer.headers and time.monotonic() < end:
            time.sleep(0.1)
            answer = client.get(base, headers={"HX-Request": "true"})
        assert answer.headers["HX-Redirect"] == "/" and not answer.text
        answer = client.get(base)
        if kind == "broken":
            assert answer.status_code == 400 and "the file cannot be read" in answer.text
        else:
            assert answer.url.path.startswith("/s/") and "1999" in answer.text
        assert client.get(base).url.path == "/", "it is opened once"
    page.stop()


def test_a_build_that_fails_is_told(tmp_path):
    (tmp_path / "readme.txt").write_text("nothing")
    page = serve.explore(tmp_path, open_browser=False)
    with httpx.Client(follow_redirects=True) as client:
        text, end = client.get(page.url).text, time.monotonic() + 30
        while "The index is being built" in text and time.monotonic() < end:
            time.sleep(0.1)
            text = client.get(page.url).text
        assert client.get(page.url.split("/?")[0] + "/lake").url.path in ("/", "/lake")
    page.stop()
    assert "The index could not be built" in text and "holds no table" in text


def test_other_arguments_are_refused(example_lake, tmp_path):
    for port in (-1, 65536, "80", True):
        with pytest.raises(InvalidParameterError, match="`port` must be a number from 0, any free one, to 65535, got"):
            example_lake.explore(port=port, open_browser=False)
    with pytest.raises(InvalidTypeError, match="`df` must be a DataFrame or the path of a table, got int"):
        example_lake.explore(5, open_browser=False)
    with pytest.raises(InvalidTypeError, match="`host`"):
        example_lake.explore(host=5, open_browser=False)
    with pytest.raises(IndexNotFoundError):
        serve.explore(tmp_path / "none", open_browser=False)
    with pytest.raises(InvalidParameterError, match=r"must be an existing file, got '.*none.csv'; check the spelling"):
        example_lake.explore(str(tmp_path / "none.csv"), open_browser=False)


def test_an_address_that_is_taken_is_refused(example_lake):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidParameterError, match=r"must be an address of this machine that is free, got 127"):
            example_lake.explore(port=taken.getsockname()[1], open_browser=False)
    with pytest.raises(InvalidParameterError, match=r"got 192\.0\.2\.1:0 .*; port 0 takes a free one"):
        example_lake.explore(host="192.0.2.1", open_browser=False)


def test_small_answers_do_not_wait_for_others():
    """Without TCP_NODELAY each answer waits some 40 ms for a sign of the other side."""
    with serve._listen("127.0.0.1", 0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            asyncio.base_events._set_nodelay(accepted)
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_missing_library_is_named_with_its_extra(example_lake, monkeypatch):
    monkeypatch.setattr(serve, "_NEEDED", ("starlette", "no_such_library"))
    with pytest.raises(MissingDependencyError, match=r'no_such_library[\s\S]*pip install "dfjoin\[page\]"'):
        example_lake.explore(open_browser=False)


def test_without_a_cache_the_page_does_not_start(example_lake, monkeypatch):
    monkeypatch.setattr(serve, "user_cache", lambda name: None)
    with pytest.raises(
        InvalidParameterError, match="cannot be explored, since no directory of this user can be written"
    ):
        example_lake.explore(open_browser=False)


def test_several_people_have_steps_of_their_own(example_lake):
    page = serve.explore(example_lake, open_browser=False)
    origin = page.url.split("/?")[0]
    states = []
    for cells in ("country\tn\nPeru\t1\nChad\t2\n", "town\tn\nLima\t1\nOslo\t2\n"):
        with httpx.Client(follow_redirects=True, base_url=origin, headers={"Origin": origin}) as client:
            client.get(page.url)
            states.append(client.post("/paste", data={"cells": cells}))
    assert states[0].url != states[1].url and "Peru" not in states[1].text and "Oslo" in states[1].text
    page.stop()


def test_a_newer_version_is_offered(tmp_path):
    frames = {"lands": pd.DataFrame({"land": ["Peru", "Chad"]})}
    lake = dfjoin.build_lake(frames, tmp_path / "lake", engine="inline", progress=False)
    page = lake.explore(open_browser=False)
    origin = page.url.split("/?")[0]
    with httpx.Client(follow_redirects=True, base_url=origin, headers={"Origin": origin}) as client:
        client.get(page.url)
        assert "Read the new version" not in client.get("/lake").text
        more = {"towns": pd.DataFrame({"town": ["Lima", "Oslo"]})}
        dfjoin.open_lake(tmp_path / "lake").add(more, engine="inline", progress=False)
        assert "Another process has written version 2 of the index" in client.get("/lake").text
        assert "2 tables" in client.post("/lake/refresh").text
    page.stop()


def test_a_busy_server_ends_with_an_interrupt(example_lake, tmp_path):
    """A join that takes long does not keep the process."""
    code = (
        "import sys, threading, time, httpx\n"
        "from dfjoin.page import serve, site\n"
        "site._PAGES['/slow'] = lambda visit: time.sleep(60)\n"
        "page = serve.explore(sys.argv[1], open_browser=False)\n"
        "client = httpx.Client(follow_redirects=True)\n"
        "client.get(page.url)\n"
        "slow = threading.Thread(target=lambda: client.get(page.url.split('/?')[0] + '/slow'), daemon=True)\n"
        "slow.start()\n"
        "time.sleep(0.5)\n"
        "threading.Timer(0.2, __import__('_thread').interrupt_main).start()\n"
        "page.wait()\n"
        "print('ended')\n"
    )
    command = [sys.executable, "-c", code, str(example_lake.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=45, cwd=PROJECT, check=False)
    assert done.stdout == "ended\n", done.stderr


def test_a_build_that_was_ended_begins_anew_and_deleted_files_are_forgotten(tmp_path):
    data, index = tmp_path / "data", tmp_path / "index"
    data.mkdir()
    (index / "segments").mkdir(parents=True)
    for name in ("a", "b"):
        (data / f"{name}.csv").write_text("k,v\n1,x\n2,y\n")
    assert serve._built(str(data), index, print).tables["table"].tolist() == ["a.csv", "b.csv"]
    (data / "b.csv").unlink()
    assert serve._built(str(data), index, print).tables["table"].tolist() == ["a.csv"]


def test_a_build_shows_how_far_it_is_is_cancelled_and_begun_again(tmp_path, monkeypatch):
    begun, kept = threading.Event(), []

    def build(source, index, **options):
        options["progress"](
            {"stage": "reading", "tables": 3, "n_tables": 8, "rows": 1200, "done": 1, "n": 4, "seconds": 9.4}
            | {"seconds_left": 27.6}
        )
        begun.set()
        try:
            while not kept:
                time.sleep(0.01)
        finally:
            kept.append(1)
        return dfjoin.build_lake({"a": pd.DataFrame({"k": ["x", "y"]})}, index, engine="inline", progress=False)

    monkeypatch.setattr(serve, "build_lake", build)
    page = serve.explore(tmp_path, open_browser=False)
    origin = page.url.split("/?")[0]
    with httpx.Client(follow_redirects=True, base_url=origin, headers={"Origin": origin}, timeout=60) as client:
        assert begun.wait(20)
        text = " ".join(client.get(page.url).text.split())
        assert "3 of 8 tables, 1,200 rows · Time so far: 9 s · about 28 s left" in text and 'value="0.250"' in text
        assert client.get("/lake").url.path == "/", "nothing else is there yet"
        client.post("/build/cancel")
        end = time.monotonic() + 20
        while "It was cancelled" not in client.get("/").text and time.monotonic() < end:
            time.sleep(0.05)
        assert kept and "Build it again" in client.get("/").text
        client.post("/build/again")
        while "What joins with your table" not in client.get("/").text and time.monotonic() < end:
            time.sleep(0.05)
        assert "1 table" in client.get("/").text
    page.stop()


def test_a_build_is_stopped_once_however_often_it_is_cancelled(monkeypatch):
    stopped, begun, may_end = [], threading.Event(), threading.Event()
    monkeypatch.setattr(StoppableThread, "stop", lambda self, at_once: stopped.append(self))

    def build(tell):
        begun.set()
        may_end.wait(10)
        raise ValueError("no")

    progress = BuildProgress("x", build, print)
    for n in (1, 2):  # a build that begins again can be cancelled again
        begun.clear()
        progress.start()
        assert begun.wait(10)
        progress.cancel()
        progress.cancel()
        assert len(stopped) == n
        may_end.set()
        progress._thread._ended.wait(10)
        assert progress.problem == "no"


def test_a_build_that_fails_for_any_reason_is_told():
    progress = BuildProgress("x", lambda tell: 1 / 0, print)
    progress._run()
    assert progress.problem == "division by zero"


def test_the_page_moves_no_object_and_no_filter_of_the_user(tmp_path):
    lake = dfjoin.build_lake({"a": pd.DataFrame({"k": ["x", "y"]})}, tmp_path / "i", engine="inline", progress=False)
    work = serve._work(lake, tmp_path / "home")
    dfjoin.open_lake(tmp_path / "i").add({"b": pd.DataFrame({"k": ["x"]})}, engine="inline", progress=False)
    work.refresh()
    assert (work.lake.version, lake.version) == (2, 1)
    shown, filters = warnings.showwarning, list(warnings.filters)
    with collected_warnings() as told:
        warn("once")
        warn("once")
    assert told == ["once"] and warnings.showwarning is shown and warnings.filters == filters


def test_who_has_left_holds_no_place_and_what_was_asked_for_ends(example_lake):
    begun, ended = threading.Event(), threading.Event()

    def slow(visit):
        begun.set()
        try:
            while not ended.wait(0.01):  # as a join that nobody waits for: an error of its own would be caught
                with suppress(Exception):
                    _ = sum(range(100))
        finally:
            ended.set()

    async def leave():
        messages = iter([{"type": "http.request", "body": b""}])

        async def receive():
            message = next(messages, None)
            if message is None:
                while not begun.is_set():
                    await asyncio.sleep(0.01)
                return {"type": "http.disconnect"}
            return message

        site = Site(object())
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": [],
            "app": SimpleNamespace(),
        }
        scope["app"].state = SimpleNamespace(site=site)
        answer = await asyncio.wait_for(handler(slow)(Request(scope, receive)), 5)
        return answer.status_code, site.at_once.locked()

    assert asyncio.run(leave()) == (499, False) and begun.is_set()
    assert ended.wait(10)
