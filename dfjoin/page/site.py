"""The site: its addresses, and what answers each."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dfjoin.page import change_views, lake_views, leave_views, review_views, search_views, table_views
from dfjoin.page.guard import Guard
from dfjoin.page.page_texts import TEXTS
from dfjoin.page.rendering import environment, palette
from dfjoin.page.stoppable_thread import BuildProgress
from dfjoin.page.visit import handler
from dfjoin.page.work import Work

_AT_ONCE = 32
"""Requests that are answered at once; others wait."""

_STATIC = Path(__file__).parent / "static"
_FILES = {path.name: path for path in _STATIC.iterdir() if path.is_file()}

_PAGES = {
    "/": table_views.home,
    "/tables": table_views.choose_table,
    "/lake": lake_views.show_lake,
    "/lake/table": lake_views.show_table,
    "/lake/graph": lake_views.show_graph,
    "/lake/path": lake_views.show_path,
    "/s/{state}": table_views.show,
    "/s/{state}/search": search_views.search,
    "/s/{state}/evidence": search_views.evidence,
    "/s/{state}/family": search_views.family,
    "/s/{state}/radius": search_views.radius,
    "/s/{state}/join": search_views.show_join,
    "/s/{state}/alone": search_views.alone,
    "/s/{state}/disagreeing": search_views.disagreeing,
    "/s/{state}/review": review_views.show_review,
    "/s/{state}/sql": change_views.show_sql,
    "/s/{state}/change": change_views.show_change,
    "/s/{state}/leave": leave_views.show_leave,
    "/s/{state}/download/{format}": leave_views.download,
}
"""Address → what answers a request that reads."""

_CHANGES = {
    "/build/cancel": table_views.cancel_build,
    "/build/again": table_views.build_again,
    "/upload": table_views.upload,
    "/paste": table_views.paste,
    "/start": table_views.start,
    "/lake/refresh": lake_views.refresh,
    "/s/{state}/read": table_views.read_again,
    "/s/{state}/join": search_views.accept_join,
    "/s/{state}/review": review_views.answer_review,
    "/s/{state}/sql": change_views.run_sql,
    "/s/{state}/change": change_views.change,
    "/s/{state}/remove": change_views.remove_step,
}
"""Address → what answers a request that makes a state."""


class Site:
    """What all requests share.

    Parameters
    ----------
    work : Work or None
        None until the index is built.
    progress : BuildProgress, optional
        Of the build that makes it.
    """

    def __init__(self, work: Work | None, progress: BuildProgress | None = None) -> None:
        self.work = work
        self.progress = progress
        self.begin: Callable[[Work], str] | None = None
        """Opens the table to begin with, once the index is built; returns the path of its page."""
        self.at_once = asyncio.Semaphore(_AT_ONCE)


def make_site(site: Site, token: str, port: int, host: str = "127.0.0.1") -> Guard:
    """Make the application that a server runs."""
    routes = [Route(path, handler(function)) for path, function in _PAGES.items()]
    routes += [Route(path, handler(function), methods=["POST"]) for path, function in _CHANGES.items()]
    routes.append(Route("/static/{name}", _static))
    app = Starlette(routes=_merged(routes), exception_handlers={HTTPException: _problem, Exception: _problem})
    app.state.site = site
    return Guard(app, token, port, host)


def _merged(routes: list[Route]) -> list[Route]:
    """Put routes that change something before those that read at the same address."""
    return sorted(routes, key=lambda route: "POST" not in (route.methods or ()))


def _static(request: Request) -> Response:
    """Return a file of the page; a name is looked up, so that it can be no path."""
    path = _FILES.get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    content = path.read_bytes()
    if path.suffix == ".css":
        content = palette().encode() + content
    kind = mimetypes.guess_type(path.name)[0] or "text/plain"
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


def _problem(request: Request, error: Any) -> Response:
    """Return a page for an address that does not exist, or an error that nobody expected."""
    status = getattr(error, "status_code", 500)
    title = TEXTS["not_found"] if status == 404 else TEXTS["refused"] if status < 500 else TEXTS["failed"]
    text = getattr(error, "detail", "") if status != 500 else f"{TEXTS['failed_why']} ({type(error).__name__})"
    site = request.app.state.site
    page = environment().get_template("problem.html")
    lake = None if site.work is None else site.work.lake
    values = {
        "title": title,
        "text": text,
        "lake": lake,
        "warnings": [],
        "fields": {},
        "path": "",
        "visit": None,
        "state": "",
    }
    return HTMLResponse(page.render(**values), status)
