"""A proxy before an API that loses answers, or requests, or fails: what may happen to Slipway's calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import requests

Loss = Literal["answer", "request", "failure"]
AIRFLOW = "/api/v2/"
"""Where Airflow has its API; other paths are not disturbed."""
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "server", "date"}


class LossyProxy:
    """Passes requests on; those of a method, to the API, are lost as often as was said."""

    def __init__(self, origin: str, api: str = AIRFLOW) -> None:
        self.origin, self._api = origin, api
        # What came for the API; the provisioner's way to the designs is not disturbed.
        self.requests: list[tuple[str, str]] = []
        self._losses: dict[str, list[Loss | None]] = {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                proxy.serve(self)

            def log_message(self, *arguments: Any) -> None:
                """Keep the tests' output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def lose(self, method: str, what: Loss, times: int = 1, *, after: int = 0) -> None:
        """Lose the next requests of a method, or only their answers; or answer 500, as with a database that is away.

        Parameters
        ----------
        after : so many of these requests are passed on before.
        """
        self._losses[method] = [what] * times + [None] * after

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Pass one request on, unless it is to be lost."""
        method, length = handler.command, int(handler.headers.get("content-length", 0))
        body = handler.rfile.read(length)
        to_api = handler.path.startswith(self._api)
        if to_api:
            self.requests.append((method, handler.path))
        losses = self._losses.get(method) if to_api else None
        loss = losses.pop() if losses else None
        if loss == "failure":
            handler.send_response(500)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if loss != "request":
            headers = {name: value for name, value in handler.headers.items() if name.lower() not in _HOP | {"host"}}
            answer = requests.request(method, self.origin + handler.path, data=body, headers=headers, timeout=30)
        if loss is not None:
            handler.close_connection = True
            return
        handler.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() not in _HOP:
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.content)))
        handler.end_headers()
        handler.wfile.write(answer.content)

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


@contextmanager
def lossy_proxy(origin: str, api: str = AIRFLOW) -> Iterator[LossyProxy]:
    """Run a proxy before an origin."""
    proxy = LossyProxy(origin, api)
    try:
        yield proxy
    finally:
        proxy.stop()
