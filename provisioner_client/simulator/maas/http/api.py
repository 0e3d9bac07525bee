"""MAAS's routes: which handler a path, method and operation belong to, after the signature was looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import unquote

from provisioner_client.simulator.http.answer import HTML, Answer
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.answers import BASE, Refused, text
from provisioner_client.simulator.maas.http.auth import Gatekeeper
from provisioner_client.simulator.maas.http.call import Call
from provisioner_client.simulator.maas.http.forms import form_of, operation_of, query_of
from provisioner_client.simulator.maas.http.machine_api import MachineApi
from provisioner_client.simulator.maas.http.machines_api import MachinesApi
from provisioner_client.simulator.maas.http.things_api import ThingsApi

LONGEST_URI = 8190
_ID = r"([a-z0-9]+)"
_NAME = r"([^/]+)"
Handler = Callable[..., Answer]
Route = tuple[str, str, str | None, Handler]


class MaasApi:
    """`handle` is called inside a transaction of the store."""

    def __init__(self, gate: Gatekeeper, machines: MachinesApi, machine: MachineApi, things: ThingsApi) -> None:
        self._gate, self._things = gate, things
        routes = [*_machine_routes(machines, machine), *_other_routes(things)]
        self._routes: dict[str, dict[tuple[str, str | None], Handler]] = {}
        for path, method, operation, handler in routes:
            self._routes.setdefault(f"{BASE}/{path}", {})[method, operation] = handler
        self._patterns = [(re.compile(path), handlers) for path, handlers in self._routes.items()]

    def handle(self, request: Request) -> Answer:
        """Answer one request; nothing that is refused takes effect."""
        if len(request.path) + len(request.query) > LONGEST_URI:
            page = "<html><head><title>414 Request-URI Too Large</title></head></html>"
            return Answer(414, page.encode(), HTML, effect="refused")
        try:
            return self._answer(request)
        except Refused as refused:
            return refused.answer()

    def _answer(self, request: Request) -> Answer:
        # The body is read before the signature is looked at: an unreadable one is a 500 for everybody.
        form = form_of(request)
        path, operation = operation_of(request, form)
        if path == f"{BASE}/version/" and request.method == "GET":
            return self._things.version()
        user = self._gate.admit(request)
        for pattern, handlers in self._patterns:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if user is None and path.startswith(f"{BASE}/machines/"):
                return _unrecognised(request.method, operation)
            if user is None:
                return text("Authorization Required", 401, effect="refused").with_headers(
                    ("WWW-Authenticate", 'OAuth realm="MAAS API"')
                )
            handler = handlers.get((request.method, operation))
            if handler is None and path != request.path and operation not in {one for _, one in handlers}:
                break
            if handler is None and request.method not in {method for method, _ in handlers}:
                return Answer(405, b"", HTML, effect="refused")
            if handler is None:
                return _unrecognised(request.method, operation)
            parts = [unquote(part) for part in match.groups()]
            answer = handler(Call(user, query_of(request), form), *parts)
            return replace(answer, body=b"") if request.method == "HEAD" else answer
        return text(f"Unknown API endpoint: {request.path}.", 404, effect="refused")


def _unrecognised(method: str, operation: str | None) -> Answer:
    return text(f"Unrecognised signature: method={method} op={operation}", 400, effect="refused")


def _machine_routes(machines: MachinesApi, machine: MachineApi) -> list[Route]:
    one = f"machines/{_ID}/"
    return [
        ("machines/", "GET", None, machines.list),
        ("machines/", "GET", "list_allocated", machines.list_allocated),
        ("machines/", "GET", "power_parameters", machines.power_parameters),
        ("machines/", "POST", "allocate", machines.allocate),
        ("machines/", "POST", "release", machines.release_many),
        ("machines/", "POST", "set_zone", machines.set_zone),
        (one, "GET", None, machine.read),
        (one, "PUT", None, machine.update),
        (one, "DELETE", None, machine.delete),
        (one, "GET", "query_power_state", machine.power_state),
        (one, "GET", "power_parameters", machine.power_parameters),
        (one, "POST", "commission", machine.commission),
        (one, "POST", "deploy", machine.deploy),
        (one, "POST", "release", machine.release),
        (one, "POST", "abort", machine.abort),
        (one, "POST", "mark_broken", machine.mark_broken),
        (one, "POST", "mark_fixed", machine.mark_fixed),
        (one, "POST", "lock", machine.lock),
        (one, "POST", "unlock", machine.unlock),
        (one, "POST", "set_owner_data", machine.set_owner_data),
        (one, "POST", "set_workload_annotations", machine.set_owner_data),
        (one, "POST", "test", machine.test),
        (one, "POST", "override_failed_testing", machine.override_failed_testing),
        (one, "POST", "set_storage_layout", machine.set_storage_layout),
        (one, "POST", "restore_default_configuration", machine.restore),
        (one, "POST", "restore_networking_configuration", partial(machine.restore, storage=False)),
        (one, "POST", "restore_storage_configuration", partial(machine.restore, network=False)),
        (one, "POST", "rescue_mode", machine.rescue_mode),
        (one, "POST", "exit_rescue_mode", machine.exit_rescue_mode),
        (one, "POST", "power_on", lambda call, system_id: machine.power(call, system_id, "on")),
        (one, "POST", "power_off", lambda call, system_id: machine.power(call, system_id, "off")),
    ]


def _other_routes(things: ThingsApi) -> list[Route]:
    results = f"nodes/{_ID}/results/"
    return [
        ("users/", "GET", "whoami", things.whoami),
        ("events/", "GET", "query", things.query_events),
        ("tags/", "GET", None, things.tags),
        ("tags/", "POST", None, things.create_tag),
        (f"tags/{_NAME}/", "GET", None, things.tag),
        (f"tags/{_NAME}/", "PUT", None, things.update_tag),
        (f"tags/{_NAME}/", "DELETE", None, things.delete_tag),
        (f"tags/{_NAME}/", "GET", "machines", things.tag_machines),
        (f"tags/{_NAME}/", "GET", "nodes", things.tag_machines),
        (f"tags/{_NAME}/", "POST", "update_nodes", things.update_nodes),
        (f"tags/{_NAME}/", "POST", "rebuild", things.rebuild_tag),
        ("zones/", "GET", None, things.zones),
        ("zones/", "POST", None, things.create_zone),
        (f"zones/{_NAME}/", "GET", None, things.zone),
        ("resourcepools/", "GET", None, things.pools),
        ("resourcepools/", "POST", None, things.create_pool),
        (r"resourcepool/(\d+)/", "GET", None, things.pool),
        ("boot-resources/", "GET", None, things.images),
        ("boot-resources/", "GET", "is_importing", things.is_importing),
        ("installation-results/", "GET", None, things.results),
        ("commissioning-results/", "GET", None, things.results),
        (results, "GET", None, things.machine_results),
        (f"{results}{_NAME}/", "GET", None, things.machine_result),
    ]
