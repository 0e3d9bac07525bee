"""HTTP itself, on the standard library's server: there a reset connection and half a body are a few plain lines."""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Protocol
from urllib.parse import urlsplit

from provisioner_client.simulator.errors import SimulatorError
from provisioner_client.simulator.http.answer import Answer, phrase
from provisioner_client.simulator.http.faults import Fault, FaultKind
from provisioner_client.simulator.http.request import Request


class Simulated(Protocol):
    """What the server needs of a simulation, be it a Drydock or a MAAS."""

    @property
    def is_stopped(self) -> bool:
        """Whether it was ended; requests that are still under way then fail."""

    @property
    def keeps_alive(self) -> bool:
        """Whether the real server keeps a connection open after an answer."""

    def is_admin(self, request: Request) -> bool:
        """Return whether a request is the simulator's own, which has no faults and is not in the journal."""

    def admin(self, request: Request) -> Answer:
        """Answer a request of the simulator's own."""

    def ask_agent(self, url: str, request: Request) -> Answer:
        """Answer in place of the agent at a node's own address, which is reached through the simulator as a proxy."""

    def handle(self, request: Request) -> Answer:
        """Let a request take effect and return its true answer, after the time that the real server takes."""

    def crashed(self) -> Answer:
        """Return the answer to a request over which the simulator itself crashed."""

    def take_fault(self, request: Request) -> Fault | None:
        """Return the fault that this request meets, and use it up by one."""

    def fault_answer(self, fault: Fault) -> Answer | None:
        """Return what the real server would say in this trouble, or None if it would say nothing of its own."""

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that the real server adds to every answer."""

    def note(self, request: Request, status: int | None, effect: str, reference: str | None = None) -> None:
        """Write a request to the journal; `status` None for one that got no answer."""


class SimulatorServer(ThreadingHTTPServer):
    """One thread per connection; none of them keeps the process alive.

    Parameters
    ----------
    threads : so many requests are answered at a time, besides those to the simulator itself; 0: any number.

    Raises
    ------
    SimulatorError : if the port is taken.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, simulation: Simulated, threads: int = 0) -> None:
        self.simulation = simulation
        self.place: AbstractContextManager[object] = threading.BoundedSemaphore(threads) if threads else nullcontext()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SimulatorError(f"cannot listen on {host}:{port}: {error.strerror}") from error

    def server_bind(self) -> None:
        """Bind without the standard library's look-up of the host's name, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: SimulatorServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _is_stale = False
    _METHODS: ClassVar[tuple[str, ...]] = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")

    def __getattr__(self, name: str) -> object:
        if name.startswith("do_") and name[3:] in self._METHODS:
            return self._serve
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: there is a journal."""

    def _serve(self) -> None:
        if self._is_stale:
            self.close_connection = True
            return
        target = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            method=self.command,
            path=target.path,
            query=target.query,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length) if length else b"",
        )
        simulation = self.server.simulation
        if target.netloc:
            self._send(self._guarded(partial(simulation.ask_agent, self.path), request))
            return
        if simulation.is_admin(request):
            self._send(self._guarded(simulation.admin, request))
            return
        with self.server.place:
            fault = simulation.take_fault(request)
            if fault is None:
                answer = self._guarded(simulation.handle, request)
                simulation.note(request, answer.status, answer.effect, answer.reference)
                self._send(answer)
            else:
                self._play(fault, request)

    def _guarded(self, handle: Callable[[Request], Answer], request: Request) -> Answer:
        try:
            return handle(request)
        except Exception:  # noqa: BLE001 - a crash of ours must be seen as such, not as a lost connection
            if not self.server.simulation.is_stopped:
                traceback.print_exc()
            return self.server.simulation.crashed()

    def _play(self, fault: Fault, request: Request) -> None:
        """Let a request meet a fault; the journal says both what took effect and what the client saw of it."""
        simulation = self.server.simulation
        true_answer = None
        if fault.effect_after:
            later = threading.Timer(fault.effect_after, self._guarded, (simulation.handle, request))
            later.daemon = True
            later.start()
        elif fault.after:
            true_answer = self._guarded(simulation.handle, request)
        effect = f"fault {fault.kind}, " + (
            f"takes effect {fault.effect_after:g} s later"
            if fault.effect_after
            else (true_answer.effect if true_answer else "no effect")
        )
        reference = true_answer.reference if true_answer else None
        if (instead := simulation.fault_answer(fault)) is not None:
            simulation.note(request, instead.status, effect, reference)
            self._send(instead)
        elif true_answer is None or fault.kind in (FaultKind.RESET_AFTER, FaultKind.TIMEOUT):
            simulation.note(request, None, effect, reference)
            if fault.kind is FaultKind.TIMEOUT:
                time.sleep(fault.seconds)
            self._reset_connection()
        else:
            simulation.note(request, true_answer.status, effect, reference)
            self._distort(fault, true_answer)

    def _distort(self, fault: Fault, answer: Answer) -> None:
        data = self._bytes(answer)
        if fault.kind is FaultKind.LATENCY:
            time.sleep(fault.seconds)
            self.wfile.write(data)
        elif fault.kind is FaultKind.STALE:
            self.wfile.write(data.replace(b"\r\nConnection: close\r\n", b"\r\n", 1))
            self.close_connection, self._is_stale = False, True
        elif fault.kind is FaultKind.TRUNCATED:
            self.wfile.write(data[: len(data) - (len(answer.body) + 1) // 2])
            self.close_connection = True
        else:
            for position in range(len(data)):
                self.wfile.write(data[position : position + 1])
                time.sleep(fault.seconds)

    def _send(self, answer: Answer) -> None:
        self.wfile.write(self._bytes(answer))

    def _bytes(self, answer: Answer) -> bytes:
        """Return the whole answer, so that it goes out in one piece."""
        body = b"" if self.command == "HEAD" else answer.body
        lines = [f"HTTP/1.1 {answer.status} {phrase(answer.status)}", f"Date: {self.date_time_string()}"]
        if answer.content_type:
            lines.append(f"Content-Type: {answer.content_type}")
        if answer.status != 204:
            lines.append(f"Content-Length: {len(answer.body)}")
        if not self.server.simulation.keeps_alive:
            lines.append("Connection: close")
            self.close_connection = True
        lines += [f"{name}: {value}" for name, value in (*self.server.simulation.headers(), *answer.headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def _reset_connection(self) -> None:
        """Close so that the client sees a reset and not an orderly end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        os.close(self.connection.detach())


def serve_in_background(server: SimulatorServer) -> threading.Thread:
    """Answer requests in a thread until `server.shutdown()`."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="http", daemon=True)
    thread.start()
    return thread
