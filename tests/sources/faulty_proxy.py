"""A proxy in front of a server that speaks HTTP, which makes faults as a test says."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_EXPIRED = (
    b'<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>'
)
_BUSY = b'<?xml version="1.0"?><Error><Code>InternalError</Code><Message>We are having a bad day.</Message></Error>'


class FaultyProxy:
    """Passes requests on, but for those that `fault` names a fault for.

    Attributes
    ----------
    fault : callable
        Gets method, path and how often this request came; returns a fault: ``""`` none, ``"500"``, ``"expired"``,
        ``"cut"`` (the connection ends in the middle of the answer), ``"hang"`` (no answer for a minute), ``"slow"`` (the
        answer comes in ten pieces within two seconds).
    counts : Counter
        How many requests met each fault.
    """

    def __init__(self, port: int) -> None:
        self.fault: Callable[[str, str, int], str] = lambda *_: ""
        self.counts: Counter[str] = Counter()
        self._seen: Counter[tuple[str, str]] = Counter()
        self._ends = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(port))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reset(self) -> None:
        """Pass everything on again."""
        self.fault = lambda *_: ""
        self.counts.clear()
        self._seen.clear()

    def close(self) -> None:
        """End the server and all that waits."""
        self._ends.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(proxy, port: int) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # an answer is written in two pieces

            def log_message(self, *_: object) -> None:
                pass

            def handle_one_request(self) -> None:
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def _pass(self) -> None:
                body = self._body()
                path = self.path.partition("?")[0]
                proxy._seen[self.command, path] += 1
                fault = proxy.fault(self.command, path, proxy._seen[self.command, path])
                proxy.counts[fault] += 1
                if fault == "hang":
                    proxy._ends.wait(60)
                    self.close_connection = True
                    return
                if fault in ("500", "expired"):
                    status, error = (500, _BUSY) if fault == "500" else (400, _EXPIRED)
                    self._answer(status, [("Content-Type", "application/xml")], error, "")
                    return
                there = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                dropped = ("transfer-encoding", "content-length", "expect", "connection")
                headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
                there.request(self.command, self.path, body, headers)
                answer = there.getresponse()
                self._answer(answer.status, answer.getheaders(), answer.read(), fault)
                there.close()

            def _body(self) -> bytes:
                if self.headers.get("Expect", "").lower() == "100-continue":
                    self.send_response_only(100)
                    self.end_headers()
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pieces = []
                while size := int(self.rfile.readline().partition(b";")[0], 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
                return b"".join(pieces)

            def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, fault: str) -> None:
                self.send_response_only(status)
                is_head = self.command == "HEAD"
                for name, value in headers:
                    if name.lower() not in ("transfer-encoding", "connection") and (
                        is_head or name.lower() != "content-length"
                    ):
                        self.send_header(name, value)
                if not is_head:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if is_head:
                    return
                if fault == "cut":
                    self.wfile.write(data[: len(data) // 2])
                    self.close_connection = True
                    return
                pieces = 10 if fault == "slow" else 1
                size = -(-len(data) // pieces) or 1
                for first in range(0, len(data), size):
                    self.wfile.write(data[first : first + size])
                    if pieces > 1:
                        self.wfile.flush()
                        time.sleep(0.2)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass

        return Handler
