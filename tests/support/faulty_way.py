"""A way to a PostgreSQL that can be cut, fall silent, or freeze a process that holds a lease in an open transaction."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

_LOCKS_LEASE = (b"FROM lease", b"FOR SHARE")


class FaultyWay:
    """Passes everything on, until it is cut, is silent, or finds what it is to freeze at."""

    def __init__(self, unix_socket: str) -> None:
        self._target = unix_socket
        self._refuses = self._is_silent = False
        self._freeze: Callable[[], None] | None = None
        self._sockets: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End every connection, and accept no other."""
        self._refuses = True
        self._end_all()

    def silence(self) -> None:
        """From now on nothing is passed on, in no direction."""
        self._is_silent = True

    def mend(self) -> None:
        """Be a good way again; what was silent stays lost."""
        if self._is_silent:
            self._end_all()
        self._refuses = self._is_silent = False

    def freeze_in_transaction(self, freeze: Callable[[], None] | None) -> None:
        """Call this, once, or nothing any more, when the lease has been locked: before the process hears of it."""
        self._freeze = freeze

    def stop(self) -> None:
        """End it, and every connection."""
        self._refuses = True
        _end(self._server)
        self._end_all()

    def _end_all(self) -> None:
        for one in self._sockets:
            _end(one)
        self._sockets.clear()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if self._refuses:
                    _end(client)
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._sockets += [client, server]
                talk = _Talk()
                threading.Thread(target=self._ask, args=(client, server, talk), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client, talk), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, talk: _Talk) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                talk.asks(data)
                if not self._is_silent:
                    server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, server: socket.socket, client: socket.socket, talk: _Talk) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if talk.locks_lease and self._freeze is not None:
                    freeze, self._freeze = self._freeze, None
                    freeze()
                if not self._is_silent:
                    client.sendall(data)
            client.shutdown(socket.SHUT_WR)


class _Talk:
    """What a client asks on one connection: whether its last statement locks a lease, also one that was prepared."""

    def __init__(self) -> None:
        self.locks_lease = False
        self._rest = b""
        self._begun = False
        self._prepared: set[bytes] = set()

    def asks(self, data: bytes) -> None:
        """Read what came, message by message: a letter and a length, except the very first."""
        self._rest += data
        while len(self._rest) >= 5:
            head = 1 if self._begun else 0
            size = head + int.from_bytes(self._rest[head : head + 4])
            if len(self._rest) < size:
                return
            message, self._rest = self._rest[:size], self._rest[size:]
            if self._begun:
                self._says(message[:1], message[5:])
            self._begun = True

    def _says(self, kind: bytes, body: bytes) -> None:
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            is_lock = all(part in text for part in _LOCKS_LEASE)
            (self._prepared.add if is_lock else self._prepared.discard)(name)
        elif kind == b"B":
            self.locks_lease = body.split(b"\0", 2)[1] in self._prepared


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextlib.contextmanager
def faulty_way(unix_socket: str) -> Iterator[FaultyWay]:
    """Make one to a server."""
    way = FaultyWay(unix_socket)
    try:
        yield way
    finally:
        way.stop()
