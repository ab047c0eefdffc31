"""One request and what answers it: a function in a thread, which ends when the person leaves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dfjoin.errors import DfjoinError, collected_warnings
from dfjoin.page.page_texts import TEXTS
from dfjoin.page.rendering import environment
from dfjoin.page.stoppable_thread import StoppableThread
from dfjoin.page.work import StepError, TableState, Work

_MOST_TEXT = 64 << 20
"""Bytes of a field of a form: what a person pastes."""

_MOST_FIELDS = 100_000
"""Fields of a form: a wide table has some for each column, a review for each pair."""

_CLIENT_CLOSED_REQUEST = 499
"""Status for somebody who has left, as nginx has it; nobody reads it."""

_LOOKED_AT = 0.2
"""Seconds between two looks whether the person is still there."""


class UnknownState(Exception):
    """The address names no state that is kept here."""


class Visit:
    """A request of a person.

    Parameters
    ----------
    request : Request
    form : FormData or None
        Of a request that changes something.
    """

    def __init__(self, request: Request, form: FormData | None) -> None:
        self.request = request
        self.fields: Any = form if form is not None else request.query_params
        self.warnings: list[str] = []
        self._left = threading.Event()

    @property
    def site(self) -> Any:
        """The site that answers."""
        return self.request.app.state.site

    @property
    def work(self) -> Work:
        """The lake and the states."""
        work: Work = self.site.work
        return work

    @property
    def is_left(self) -> Callable[[], bool]:
        """Tells whether the person has gone, or has cancelled."""
        return self._left.is_set

    def state(self) -> TableState:
        """Return the state that the address names, with its table."""
        state = self.work.open(self.request.path_params["state"], self.is_left)
        if state is None:
            raise UnknownState
        return state

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Fill a template in."""
        work = self.site.work
        common = {
            "visit": self,
            "lake": None if work is None else work.lake,
            "fields": self.fields,
            "warnings": self.warnings,
            "path": self.request.url.path,
        }
        return HTMLResponse(environment().get_template(template).render(**common, **values), status)

    def part(self, template: str, **values: Any) -> Response:
        """Fill in the part of a page that a script asked for; without a script it is a page by itself."""
        is_part = "hx-request" in self.request.headers
        return self.render(template, layout="bare.html" if is_part else "page.html", **values)

    def go(self, path: str) -> Response:
        """Send the person to another page."""
        return RedirectResponse(path, 303)

    def answer(self, function: Callable[[Visit], Response]) -> Response:
        """Call what answers; an error of dfjoin becomes a page that says what is wrong."""
        if self.site.work is None and not getattr(function, "is_early", False):
            return self.go("/")
        with collected_warnings() as messages:
            self.warnings = messages
            try:
                return function(self)
            except UnknownState:
                return self._problem(404, TEXTS["unknown_state"], TEXTS["unknown_state_why"], "")
            except StepError as error:
                return self.render("broken_step.html", 409, error=error)
            except DfjoinError as error:
                return self._problem(400, TEXTS["refused"], str(error), self.request.path_params.get("state", ""))

    def _problem(self, status: int, title: str, text: str, state: str) -> Response:
        """Say what is wrong, with a way back to the table."""
        return self.render("problem.html", status, title=title, text=text, state=state)

    async def watch(self) -> None:
        """Look whether the person is still there."""
        while not await self.request.is_disconnected():
            await asyncio.sleep(_LOOKED_AT)
        self._left.set()


def _in_thread(make: Callable[[], Response]) -> tuple[asyncio.Future[Response], StoppableThread]:
    """Return what a thread will make, and the thread."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[Response] = loop.create_future()

    def hand_over(result: Response | None, error: BaseException | None) -> None:
        if not made.done():
            made.set_result(result) if result is not None else made.set_exception(error or RuntimeError())

    def run() -> None:
        result, problem = None, None
        try:
            result = make()
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(hand_over, result, problem)

    thread = StoppableThread(run)
    thread.start()
    return made, thread


def handler(function: Callable[[Visit], Response]) -> Callable[[Request], Any]:
    """Make an endpoint of a function that answers a visit; it runs in a thread."""

    async def endpoint(request: Request) -> Response:
        async with request.app.state.site.at_once:
            form = None
            if request.method == "POST":
                try:
                    form = await request.form(max_part_size=_MOST_TEXT, max_fields=_MOST_FIELDS)
                except ClientDisconnect:
                    return Response(status_code=_CLIENT_CLOSED_REQUEST)
            try:
                return await _answered(Visit(request, form), function)
            finally:
                if form is not None:
                    await form.close()

    return endpoint


async def _answered(visit: Visit, function: Callable[[Visit], Response]) -> Response:
    """Answer a visit, as long as somebody waits for it: who has left holds no place."""
    if await visit.request.is_disconnected():
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    watching: asyncio.Future[Any] = asyncio.create_task(visit.watch())
    made, thread = _in_thread(lambda: visit.answer(function))
    try:
        await asyncio.wait({made, watching}, return_when=asyncio.FIRST_COMPLETED)
        if made.done():
            return made.result()
        thread.stop()
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    finally:
        watching.cancel()
        made.cancel()
