"""A signing client of MAAS's API that knows nothing: tests of the simulator speak to it with this."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import requests

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from provisioner_client.simulator.maas.simulation import MaasSimulation
from tests.support.maas_reference import ON_PURPOSE

BASE = "/MAAS/api/2.0/"
FORM = "application/x-www-form-urlencoded"
Values = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What MAAS answered."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def data(self) -> Any:
        """The body as JSON; fails where the answer was none."""
        assert self.status == 200, (self.status, self.text)
        return json.loads(self.body)


Send = Callable[[str, str, str, Mapping[str, str], bytes], Reply]


def signature(key: str = DEFAULT_KEY, **changes: str) -> str:
    """Return an Authorization header; `changes` replace parameters, such as `timestamp`."""
    consumer, token, secret = key.split(":")
    said = {
        "version": "1.0",
        "signature_method": "PLAINTEXT",
        "consumer_key": consumer,
        "token": token,
        "signature": f"&{secret}",
        "nonce": uuid.uuid4().hex,
        "timestamp": str(int(time.time())),
        **changes,
    }
    return "OAuth " + ", ".join(f'oauth_{name}="{quote(value, safe="")}"' for name, value in said.items())


class MaasCaller:
    """Asks a simulated MAAS, which holds itself against what is known of a real one (see `held_maas`).

    Parameters
    ----------
    send : takes method, path, query, headers and body to the server.
    key : of the user who asks.
    on_purpose : whether its requests may be such as no description of MAAS allows.
    """

    def __init__(self, send: Send, key: str = DEFAULT_KEY, *, on_purpose: bool = False) -> None:
        self._send, self._key, self._on_purpose = send, key, on_purpose

    def as_user(self, key: str) -> MaasCaller:
        """Return a client of the same server with another key."""
        return MaasCaller(self._send, key, on_purpose=self._on_purpose)

    @property
    def wrongly(self) -> MaasCaller:
        """The same client, which asks wrongly on purpose."""
        return MaasCaller(self._send, self._key, on_purpose=True)

    def raw(self, method: str, path: str, query: str = "", body: bytes = b"", **headers: str) -> Reply:
        """Send just this, without a signature."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._send(method, BASE + path, query, {ON_PURPOSE: "yes", **named}, body)

    def call(self, method: str, path: str, op: str | None = None, query: Values | None = None, **form: Any) -> Reply:
        """Send a signed request: the operation stands in the path, the form is urlencoded."""
        whole = f"{path}op-{op}" if op else path
        headers = {"authorization": signature(self._key)} | ({ON_PURPOSE: "yes"} if self._on_purpose else {})
        body = b""
        if method in ("POST", "PUT"):
            headers["content-type"] = FORM
            body = urlencode({name: value for name, value in form.items() if value is not None}, doseq=True).encode()
        asked = {} if query is None else query
        return self._send(method, BASE + whole, urlencode(asked, doseq=True), headers, body)

    def get(self, path: str, op: str | None = None, **query: Any) -> Reply:
        """Read something."""
        return self.call("GET", path, op, query)

    def post(self, path: str, op: str | None = None, **form: Any) -> Reply:
        """Do something."""
        return self.call("POST", path, op, None, **form)

    def machines(self, **query: Any) -> list[str]:
        """Return the names of the machines that match."""
        return [one["hostname"] for one in self.get("machines/", **query).data]

    def machine(self, name: str) -> dict[str, Any]:
        """Return a machine by its name."""
        (found,) = self.get("machines/", hostname=name).data
        return dict(found)

    def act(self, name: str, op: str, **form: Any) -> Reply:
        """Do something with a machine by its name."""
        return self.post(f"machines/{self.machine(name)['system_id']}/", op, **form)

    def wait(self, name: str, status: str) -> dict[str, Any]:
        """Wait until a machine has a status."""
        self.wait_for(lambda: self.machine(name)["status_name"] == status, f"{name} does not become {status}")
        return self.machine(name)

    @staticmethod
    def wait_for(is_so: Callable[[], bool], otherwise: str) -> None:
        """Wait until something is so; fail with a sentence after 300 s."""
        until = time.monotonic() + 300
        while not is_so():
            assert time.monotonic() < until, otherwise
            time.sleep(0.002)

    def events(self, name: str | None = None, **query: Any) -> list[dict[str, Any]]:
        """Return the ledger of a machine, or of all, oldest first."""
        of = {"hostname": name} if name else {}
        found = self.get("events/", "query", level="DEBUG", limit="1000", **of, **query).data["events"]
        return list(reversed(found))

    def ledger(self, name: str) -> list[tuple[str, str]]:
        """Return (type, description) of all events of a machine, oldest first."""
        return [(one["type"], one["description"]) for one in self.events(name)]


def over_http(url: str) -> Send:
    """Return how to reach a server."""
    session = requests.Session()

    def send(method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        where = f"{url}{path}" + (f"?{query}" if query else "")
        answer = session.request(method, where, headers=dict(headers), data=body, timeout=60, allow_redirects=False)
        kind = answer.headers.get("content-type", "")
        return Reply(answer.status_code, kind, {k.lower(): v for k, v in answer.headers.items()}, answer.content)

    return send


def in_process(simulation: MaasSimulation) -> Send:
    """Return how to reach a simulation without any network."""

    def send(method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        answer = simulation.handle(Request(method, path, query, headers, body))
        return Reply(answer.status, answer.content_type or "", dict(answer.headers), answer.body)

    return send
