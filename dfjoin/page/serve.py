"""The server of the page: it listens on this machine, and its address holds a secret."""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from dfjoin import _validation as check
from dfjoin._optional import import_optional
from dfjoin._user_cache import user_cache
from dfjoin.api import build_lake
from dfjoin.errors import IndexNotFoundError, InvalidParameterError, InvalidTypeError
from dfjoin.lake import Lake, open_lake, resolve_lake

_STARTED_IN = 20.0
_NEEDED = ("starlette", "uvicorn", "jinja2", "python_multipart", "duckdb")


class PageServer:
    """A page that is being served, by a thread of this process.

    Parameters
    ----------
    url : str
        The address with its token: who has it may do what the page can do.
    server, thread : object
        What serves it.

    Notes
    -----
    Made by `Lake.explore`. The page ends with the process, or with `stop`.
    """

    def __init__(self, url: str, server: Any, thread: threading.Thread) -> None:
        self.url = url
        self._server = server
        self._thread = thread

    def __repr__(self) -> str:
        return f"<PageServer {self.url}>"

    def _repr_html_(self) -> str:
        """Write the address as a link, for notebooks."""
        return f'<a href="{self.url}" target="_blank" rel="noopener">{self.url}</a>'

    def wait(self) -> None:
        """Wait until the server ends; an interrupt ends it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End the server; requests that run are given two seconds."""
        self._server.should_exit = True
        self._thread.join(5)


def explore(
    source: Lake | str | os.PathLike[str],
    df: pd.DataFrame | str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
) -> PageServer:
    """Serve the page for a lake, see `dfjoin.Lake.explore`.

    Parameters
    ----------
    source : Lake or path
        A lake, an index, or a directory of tables: an index of it is built in the user's cache first, while the page
        says so.
    df : DataFrame or path, optional
        The table to begin with; of a directory it is opened when the index is there.
    host, port, open_browser
        As in `dfjoin.Lake.explore`.

    Returns
    -------
    PageServer

    Raises
    ------
    MissingDependencyError
        If a library of the extra ``page`` is not installed.
    InvalidParameterError, InvalidTypeError
        If an argument is illegal, or the address cannot be listened on.
    """
    for name in _NEEDED:
        import_optional(name, extra="page", purpose="the page")
    check.check_text(host, "host")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise InvalidParameterError(f"`port` must be a number from 0, any free one, to 65535, got {check.show(port)}")
    if df is not None and not isinstance(df, (pd.DataFrame, str, os.PathLike)):
        raise InvalidTypeError(f"`df` must be a DataFrame or the path of a table, got {type(df).__name__}")
    from dfjoin.page.site import Site, make_site

    site, path = _site_of(source, df, Site)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    server, thread = _run(make_site(site, token, port, host), listening)
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    page = PageServer(f"http://{shown}:{port}{path}?token={token}", server, thread)
    if open_browser:
        webbrowser.open(page.url)
    return page


def _site_of(source: Any, df: Any, make: Any) -> tuple[Any, str]:
    """Return the site of a lake, an index or a directory of tables, and the path of its first page."""
    from dfjoin.page.stoppable_thread import BuildProgress

    home = _home()
    lake = source if isinstance(source, Lake) else _opened(source)
    if isinstance(df, (str, os.PathLike)) and not Path(df).is_file():
        raise InvalidParameterError(f"`table` must be an existing file, got {str(df)!r}; check the spelling")
    if lake is not None:
        work = _work(lake, home)
        return make(work), "/" if df is None else _first_path(work, df)
    folder = str(Path(source).resolve())
    index = home / "indexes" / f"{hashlib.sha256(folder.encode()).hexdigest()[:16]}.dfjoin"
    site = make(None)
    if df is not None:
        site.begin = lambda work: _first_path(work, df)

    def build(report: Callable[[Any], None]) -> Any:
        return _work(_built(folder, index, report), home)

    site.progress = BuildProgress(folder, build, lambda work: setattr(site, "work", work))
    site.progress.start()
    return site, "/"


def _built(folder: str, index: Path, report: Callable[[Any], None]) -> Lake:
    """Build the index of a directory, or bring it up to date: what is new is added, what is gone removed."""
    known: Lake | None
    try:
        known = open_lake(index)
    except IndexNotFoundError:  # none yet, or one whose first build was ended
        shutil.rmtree(index, ignore_errors=True)
        known = None
    if_exists = "error" if known is None else "add"
    lake = build_lake(folder, index, if_exists=if_exists, engine="inline", progress=report)
    if known is None:
        return lake
    gone = [name for name in lake.tables["table"] if not _is_there(Path(folder), name)]
    return lake.remove([glob.escape(name) for name in gone]) if gone else lake


def _is_there(folder: Path, table: str) -> bool:
    """Tell whether a table, or the file that holds it, still lies below a directory."""
    path = folder / table
    above = (parent for parent in path.parents if parent.is_relative_to(folder))
    return path.exists() or any(parent.is_file() for parent in above)


def _opened(source: Any) -> Lake | None:
    """Open an index; None for a directory of tables."""
    try:
        return resolve_lake(source, "source")
    except IndexNotFoundError:
        if not Path(source).is_dir():
            raise
        return None


def _work(lake: Lake, home: Path) -> Any:
    from dfjoin.page.work import Work

    own = open_lake(lake.path, version=lake.version, roots=lake.snapshot.moved)  # the page moves it, not the user's
    return Work(own, home)


def _first_path(work: Any, df: Any) -> str:
    """Keep the table to begin with; return the path of its page."""
    from dfjoin.page.given_table import read_own

    if not isinstance(df, pd.DataFrame):
        path = Path(df)
        return f"/s/{work.start_with_file(path.name, path, read_own)}"
    with tempfile.TemporaryDirectory() as directory:
        return f"/s/{work.start_with_frame(df, Path(directory) / 'frame.parquet')}"


def _home() -> Path:
    home = user_cache("page")
    if home is None:
        raise InvalidParameterError(
            "`source` cannot be explored, since no directory of this user can be written; set DFJOIN_CACHE_DIR to one"
        )
    return home


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio sends small answers at once (TCP_NODELAY) on sockets that name the protocol alone
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name != "nt":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        raise InvalidParameterError(
            f"`host` and `port` must be an address of this machine that is free, got {host}:{port} ({error}); "
            "port 0 takes a free one"
        ) from error
    return listening


def _run(app: Any, listening: socket.socket) -> tuple[Any, threading.Thread]:
    """Serve an application in a thread; return when it answers."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=2, server_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    end = time.monotonic() + _STARTED_IN
    while not server.started and thread.is_alive() and time.monotonic() < end:
        time.sleep(0.005)
    return server, thread
