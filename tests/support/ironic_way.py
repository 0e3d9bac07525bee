"""A way to a real Ironic on which requests meet the faults of the simulators, and that keeps a journal of them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import requests

from provisioner_client.simulator.http.answer import Answer, json_answer
from provisioner_client.simulator.http.answers import text_error
from provisioner_client.simulator.http.faults import Fault, FaultKind, parse_fault
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.http.server import SimulatorServer, serve_in_background

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "date", "content-type"}


@dataclass(frozen=True)
class Passed:
    """A request and what its sender saw: `status` None for no answer. `mark` is what it writes to a node's mark."""

    method: str
    path: str
    status: int | None
    mark: Mapping[str, Any]


class IronicWay:
    """Stands before an Ironic, as a simulation does behind its server: it passes on what meets no fault.

    Parameters
    ----------
    origin : where Ironic is.
    """

    is_stopped = False
    keeps_alive = True

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.journal: list[Passed] = []
        self.taken: list[tuple[str, str, str]] = []
        """Reference, node and target of each change of state that Ironic has taken."""
        self._faults: list[tuple[Fault, int, int]] = []
        self._marks: dict[str, str] = {}
        self._lock = threading.Lock()
        self._server = SimulatorServer("127.0.0.1", 0, self)
        self._thread = serve_in_background(self._server)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def forget(self) -> None:
        """Have neither faults nor a journal any more."""
        with self._lock:
            self._faults, self.journal, self.taken = [], [], []
            self._marks.clear()

    def fault(self, data: Mapping[str, Any]) -> None:
        """Add a fault, in the form of the simulators' admin API."""
        with self._lock:
            self._faults.append(parse_fault(data))

    def faults(self) -> list[Fault]:
        """Return the faults that have something left to do."""
        return [fault for fault, _, _ in self._faults]

    def doubles(self) -> list[tuple[str, str, str]]:
        """Return what was asked of a node and taken more than once for one reference."""
        return [one for one, count in Counter(self.taken).items() if count > 1]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def is_admin(self, request: Request) -> bool:
        return False

    def admin(self, request: Request) -> Answer:
        raise NotImplementedError

    def ask_agent(self, url: str, request: Request) -> Answer:
        raise NotImplementedError

    def handle(self, request: Request) -> Answer:
        """Have Ironic do it."""
        headers = {name: value for name, value in request.headers.items() if name not in _HOP | {"host"}}
        kept = {"content-type": request.headers["content-type"]} if "content-type" in request.headers else {}
        url = f"{self.origin}{request.path}{f'?{request.query}' if request.query else ''}"
        answer = requests.request(request.method, url, data=request.body, headers=headers | kept, timeout=60)
        if answer.ok:
            self._note_taken(request)
        more = tuple((name, value) for name, value in answer.headers.items() if name.lower() not in _HOP)
        return Answer(answer.status_code, answer.content, answer.headers.get("content-type"), more)

    def crashed(self) -> Answer:
        return text_error(502, "Ironic does not answer")

    def take_fault(self, request: Request) -> Fault | None:
        """Return the oldest fault that this request meets, and use it up by one."""
        with self._lock:
            for place, (fault, count, skip) in enumerate(self._faults):
                if not fault.matches(request.method, request.path):
                    continue
                if skip:
                    self._faults[place] = (fault, count, skip - 1)
                    return None
                self._faults[place] = (fault, count - 1, 0)
                self._faults = [one for one in self._faults if one[1]]
                return fault
        return None

    def fault_answer(self, fault: Fault) -> Answer | None:
        """Return the answer of a fault; shape "a" is Ironic's own."""
        answer = fault.answer()
        if answer is None or fault.kind is FaultKind.HTML or fault.shape != "a":
            return answer
        said = json.dumps({"faultcode": "Client", "faultstring": "Injected fault", "debuginfo": None})
        made = json_answer({"error_message": said}, answer.status)
        return replace(made, headers=answer.headers)

    def headers(self) -> list[tuple[str, str]]:
        return []

    def note(self, request: Request, status: int | None, effect: str, reference: str | None = None) -> None:
        with self._lock:
            self.journal.append(Passed(request.method, request.path, status, _mark_in(request)))

    def _note_taken(self, request: Request) -> None:
        node = request.path.split("/")[3] if request.path.count("/") > 2 else ""
        with self._lock:
            if mark := _mark_in(request):
                self._marks[node] = str(mark.get("ref"))
            if request.path.endswith("/states/provision"):
                self.taken.append((self._marks.get(node, ""), node, json.loads(request.body)["target"]))


def _mark_in(request: Request) -> Mapping[str, Any]:
    if request.method != "PATCH":
        return {}
    values: list[dict[str, Any]] = json.loads(request.body)
    return next((one["value"] for one in values if one["path"] == "/extra/slipway"), {})
