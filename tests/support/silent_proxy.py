"""A way to a PostgreSQL on which everything can be lost without a word, as behind a firewall that forgot."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class SilentProxy:
    """Passes everything on, until it is told to be silent; it goes on accepting connections then."""

    def __init__(self, unix_socket: str) -> None:
        self._target = unix_socket
        self._open = threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """From now on nothing is passed on, in no direction."""
        self._open.clear()

    def talk(self) -> None:
        """Pass on again; what was lost stays lost."""
        self._open.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._sockets += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._open.is_set():
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def stop(self) -> None:
        """End it, and every connection."""
        for one in [self._server, *self._sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextlib.contextmanager
def silent_proxy(unix_socket: str) -> Iterator[SilentProxy]:
    """Run one before a server."""
    proxy = SilentProxy(unix_socket)
    try:
        yield proxy
    finally:
        proxy.stop()
