"""A server of one design over HTTP, which can be told to refuse: between a provisioner and what it fetches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import requests


class FileServer:
    """Serves on a free port of this machine alone, unless told otherwise.

    Parameters
    ----------
    upstream : str, optional
        A server that answers in its stead; without one, `files` by their path, and else `content`.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, upstream: str | None = None) -> None:
        self.content = b""
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._refusals: list[tuple[int, bytes, Callable[[str], bool]]] = []
        self._upstream = upstream
        self._server = ThreadingHTTPServer((host, port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def refuse(
        self, status: int, body: bytes, count: int = 1, where: Callable[[str], bool] = lambda path: True
    ) -> None:
        """Answer the next requests, of those whose path is meant, with this."""
        self._refusals += [(status, body, where)] * count

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        for position, (status, body, where) in enumerate(self._refusals):
            if where(path):
                del self._refusals[position]
                return status, body
        if self._upstream is None:
            return 200, self.files.get(path, self.content)
        answer = requests.get(f"{self._upstream}{path}", timeout=30)
        return answer.status_code, answer.content

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = answer(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler
