"""Clients of a simulated MAAS in this process: their requests go to it without a network, and can be cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from urllib3 import HTTPResponse

from provisioner_client.designs import DesignSource
from provisioner_client.http_settings import HttpSettings, RetryPolicy
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.shared_lists import Shared
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY
from provisioner_client.simulator.maas.simulation import MaasSimulation

URL = "http://maas.test/MAAS"
_IMPATIENT = RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.002, longest_retry_after=0.01)
_DOCUMENT = """---
schema: {schema}
metadata: {{schema: metadata/Document/v1, name: {name}, layeringDefinition: {{abstract: false, layer: site}}}}
data: {data}
"""


def body_of(request: requests.PreparedRequest) -> str:
    """Return a request's body, which is a text here."""
    body = request.body or b""
    return body if isinstance(body, str) else bytes(body).decode()


class Killed(BaseException):
    """The process of a client was killed; nothing in it goes on."""


@dataclass
class Wire:
    """What goes between a client and the simulated MAAS.

    Attributes
    ----------
    seen : method and path of each request since the beginning, as far as it reached MAAS.
    forms : path of each request that was sent, and what stands in its body, or else in its query.
    cut : given method, path and how many were seen, it says whether the client is killed `before` or `after` it takes
        effect, or its answer is `lost`, or `nonsense`; or it gives the answer, and the request never reaches MAAS.
    """

    simulation: MaasSimulation
    seen: list[tuple[str, str]] = field(default_factory=list)
    forms: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    cut: Callable[[str, str, int], str | Answer] = lambda method, path, number: ""

    def send(self, request: requests.PreparedRequest) -> requests.Response:
        """Have MAAS answer a request."""
        parts = urlsplit(request.url or "")
        method, path, query = str(request.method), str(parts.path), str(parts.query)
        self.forms.append((path, parse_qs(body_of(request) or query, keep_blank_values=True)))
        how = self.cut(method, path, len(self.seen) + 1)
        if how == "before":
            raise Killed
        if isinstance(how, Answer):
            answer = how
        else:
            self.seen.append((method, path))
            headers = {name.lower(): str(value) for name, value in request.headers.items()}
            answer = self.simulation.handle(Request(method, path, query, headers, body_of(request).encode()))
        if how == "after":
            raise Killed
        if how == "lost":
            raise requests.ReadTimeout("no answer")
        if how == "nonsense":
            answer = replace(answer, body=b"[]")
        response = requests.Response()
        response.status_code = answer.status
        response.headers.update({"Content-Type": answer.content_type or "text/plain", **dict(answer.headers)})
        response.raw = HTTPResponse(BytesIO(answer.body), preload_content=False)
        response.request, response.url = request, str(request.url)
        return response

    def before(self, operation: str, what: Callable[[], object], *, once: bool = True) -> None:
        """Do something right before MAAS gets a request."""

        def cut(_method: str, path: str, _number: int) -> str:
            if path.endswith(operation):
                if once:
                    self.heal()
                what()
            return ""

        self.cut = cut

    def kill(self, when: str, operation: str) -> None:
        """Have clients killed at this request, from now on."""
        self.cut = lambda method, path, number: when if path.endswith(operation) else ""

    def kill_after(self, change: int) -> None:
        """Have a client killed when so many requests have changed something."""
        self.cut = lambda method, path, number: "after" if method != "GET" and len(self.changes) + 1 == change else ""

    def heal(self) -> None:
        """Cut nothing any more."""
        self.cut = lambda method, path, number: ""

    @property
    def changes(self) -> list[str]:
        """The paths of the requests that change something, below the API."""
        return [path.partition("/api/2.0/")[2] for method, path in self.seen if method != "GET"]


@pytest.fixture
def wire(simulation: MaasSimulation, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Send all requests of this process to the simulated MAAS."""
    made = Wire(simulation)
    monkeypatch.setattr(requests.Session, "send", lambda _, request, **__: made.send(request))
    return made


def client(key: str = DEFAULT_KEY, pool: str = "default", **options: Any) -> MaasProvisioner:
    """Return a client without patience, of a MAAS in which a lost request takes effect at once or never."""
    given = {"settle": 0.002, "first_look": 0.001, "retry": _IMPATIENT, **options}
    settings, http = (
        {one.name: given.pop(one.name) for one in fields(kind) if one.name in given}
        for kind in (TaskSettings, HttpSettings)
    )
    return MaasProvisioner(
        URL,
        ApiKey.parse(key),
        pool=pool,
        settings=TaskSettings(**settings),
        http=HttpSettings(**http),
        shared=Shared(given.pop("locks", None)),
        **given,
    )


def design(nodes: dict[str, str], user_data: str = "") -> DesignSource:
    """Return a design of these nodes, each with its data in YAML; `user_data` is that named ``secret``."""
    text = _DOCUMENT.format(schema="slipway/Site/v1", name="site", data="{provisioner: maas}")
    for name, data in nodes.items():
        text += _DOCUMENT.format(schema="slipway/Node/v1", name=name, data=data)
    if user_data:
        text += _DOCUMENT.format(schema="slipway/UserData/v1", name="secret", data=f"{{content: {user_data!r}}}")
    return DesignSource(f"design:{hash(text)}", lambda: text)
