"""Who may speak to the page: the token, the host, the origin, the size of a request, and the headers of each answer."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from dfjoin.page.page_texts import TEXTS

MOST_UPLOADED = 512 << 20
"""Bytes of a request, which holds a file that is uploaded."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of each answer. No script or style within a page is obeyed, whatever a cell or a name holds."""


class Guard:
    """Answers requests that may not pass, and gives each answer its headers.

    Parameters
    ----------
    app : ASGI application
    token : str
        The secret that the address has when it is opened first; a cookie has it afterwards.
    port : int
    host : str
        The address that the server listens on.

    Notes
    -----
    ``Host`` has to be an address of this machine as numbers, ``localhost`` or a name of the machine: the name of a page
    elsewhere that was made to lead here (DNS rebinding) is none of them. ``Origin`` has to be the same host, and a
    request that changes something must have it.
    """

    def __init__(self, app: Any, token: str, port: int, host: str = "127.0.0.1") -> None:
        self._app = app
        self._token = token.encode()
        self._port = port
        self._cookie = f"dfjoin-{port}"
        names = {"localhost", host.casefold(), socket.gethostname().casefold(), socket.getfqdn().casefold()}
        self._names = names - {""}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if not (name == "Cache-Control" and name in headers):
                        headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
        else:
            await self._app(scope, _bounded(receive), send_guarded)

    def _refusal(self, scope: Any) -> Response | None:
        """Return the answer to a request that may not pass; None for one that may."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_own_host(host):
            return PlainTextResponse(TEXTS["refused_host"], 421)
        origin = headers.get("origin")
        is_reading = scope["method"] in ("GET", "HEAD")
        if (origin is None and not is_reading) or (origin is not None and origin != f"http://{host}"):
            return PlainTextResponse(TEXTS["refused_origin"], 403)
        if int(headers.get("content-length", "0") or 0) > MOST_UPLOADED:
            return PlainTextResponse(TEXTS["refused_size"].format(MOST_UPLOADED >> 20), 413)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        is_known = self._is_token(self._cookie_of(headers))
        if is_known and (given is None or not is_reading):
            return None
        if not (is_known or (is_reading and self._is_token(given or ""))):
            return PlainTextResponse(TEXTS["refused_token"], 403)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")  # a path that begins with // names another host
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict", path="/")
        return answer

    def _is_own_host(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or "]" in port:  # browsers leave the usual port out
            name, port = host, "80"
        if port != str(self._port):
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.casefold() in self._names
        return True

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token)

    def _cookie_of(self, headers: Headers) -> str:
        return cookie_parser(headers.get("cookie", "")).get(self._cookie, "")


def _bounded(receive: Any) -> Any:
    """Receive a body up to the limit, whatever length it announced."""
    n_bytes = 0

    async def bounded() -> Any:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > MOST_UPLOADED:
            raise HTTPException(413, TEXTS["refused_size"].format(MOST_UPLOADED >> 20))
        return message

    return bounded
