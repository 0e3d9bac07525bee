"""One simulated MAAS put together: store, machines, ledger and the two APIs, without any network."""

from __future__ import annotations

import json
import time
from pathlib import Path

from provisioner_client.simulator.http.admin_api import PREFIX, AdminApi
from provisioner_client.simulator.http.answer import Answer, json_answer
from provisioner_client.simulator.http.faults import Fault, FaultBook, FaultKind
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.journal import Journal
from provisioner_client.simulator.maas.cost import CostBook
from provisioner_client.simulator.maas.events import EventLedger
from provisioner_client.simulator.maas.http.answers import Refused, document, first, text
from provisioner_client.simulator.maas.http.api import MaasApi
from provisioner_client.simulator.maas.http.auth import Gatekeeper
from provisioner_client.simulator.maas.http.filters import MachineFilter
from provisioner_client.simulator.maas.http.forms import form_of
from provisioner_client.simulator.maas.http.machine_api import MachineApi
from provisioner_client.simulator.maas.http.machines_api import MachinesApi
from provisioner_client.simulator.maas.http.things_api import ThingsApi
from provisioner_client.simulator.maas.machines.acts import Acts, find_reference
from provisioner_client.simulator.maas.machines.lifecycle import Lifecycle
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.machines.script_sets import ScriptSets
from provisioner_client.simulator.maas.machines.site_machines import plain_machines, read_site
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.maas.tables import MAAS_SCHEMA, MAAS_TABLES
from provisioner_client.simulator.maas.tags import Tags
from provisioner_client.simulator.maas.world import MaasWorld
from provisioner_client.simulator.scripts import ScriptBook
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store


class MaasSimulation:
    """Give it requests, get answers; `start` before, `stop` after. What is due is done with the next request.

    Raises
    ------
    SimulatorError : from the constructor, if the store cannot be used; from `start`, if a site file cannot be read.
    """

    def __init__(self, state: Path, settings: Settings) -> None:
        self._settings = settings
        self._stopped = False
        self._store = store = Store(state, MAAS_SCHEMA, MAAS_TABLES)
        events, sets, self._acts, cost = EventLedger(store), ScriptSets(store), Acts(store), CostBook(store)
        self._park = park = MachinePark(store, events, sets, self._acts)
        self._tags, self._places = tags, places = Tags(store, park), Places(store)
        gate = Gatekeeper(store, settings.users)
        filters = MachineFilter(tags, places, gate.names)
        lifecycle = Lifecycle(store, settings, park, events, sets, self._acts, tags)
        machines = MachinesApi(park, lifecycle, filters, places, sets, cost)
        self._api = MaasApi(
            gate,
            machines,
            MachineApi(park, lifecycle, events, places, machines, cost),
            ThingsApi(park, tags, places, events, sets, filters, machines, cost),
        )
        self._journal, self._faults = Journal(store), FaultBook(store)
        world = MaasWorld(store, park, events, self._acts, cost, places, settings, self._preload)
        self._admin = AdminApi(store, world, self._journal, self._faults)

    def start(self) -> None:
        """Take up what the last process left: machines go on where they would be by now."""
        with self._store.transaction():
            self._store.set_meta("starts", int(self._store.meta("starts") or 0) + 1)
            self._preload()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called; requests that are still under way then fail."""
        return self._stopped

    @property
    def keeps_alive(self) -> bool:
        """Whether a connection stays open: the proxy before a region keeps it."""
        return True

    def stop(self) -> None:
        """End; the store keeps everything."""
        self._stopped = True
        self._store.close()

    @staticmethod
    def is_admin(request: Request) -> bool:
        """Return whether a request is the simulator's own, which has no faults and is not in the journal."""
        return request.path.startswith(PREFIX)

    def admin(self, request: Request) -> Answer:
        """Answer a request of the simulator's own."""
        return self._admin.handle(request)

    @staticmethod
    def ask_agent(_url: str, _request: Request) -> Answer:
        """Answer as a proxy that reaches no node: a simulated MAAS has no agents."""
        return json_answer({"error": "the machines of a simulated MAAS have no agents"}, 502)

    @staticmethod
    def headers() -> list[tuple[str, str]]:
        """Return the headers of every answer."""
        return [("Server", "nginx"), ("Vary", "Authorization,Cookie"), ("X-MAAS-API-Hash", "simulated")]

    @staticmethod
    def crashed() -> Answer:
        """Return a crash of the simulator's own."""
        return text("Internal server error", 500, effect="the simulator itself crashed")

    @staticmethod
    def fault_answer(fault: Fault) -> Answer | None:
        """Return what MAAS, or the proxy before it, says in this trouble."""
        if fault.kind is FaultKind.UNAUTHORIZED:
            return text("Authorization Error: Invalid API key.", 401, effect="refused")
        if fault.kind is not FaultKind.STATUS:
            return fault.answer()
        if fault.shape == "d":
            answer = document({"__all__": ["Injected fault"]}, fault.status)
        else:
            answer = text("Injected fault", fault.status)
        return answer if fault.retry_after is None else answer.with_headers(("Retry-After", fault.retry_after))

    def take_fault(self, request: Request) -> Fault | None:
        """Return the fault that this request meets, and use it up by one."""
        return self._faults.take(request.method, request.path)

    def handle(self, request: Request) -> Answer:
        """Let a request take effect in one transaction and return its answer, after the time of its power action."""
        with self._store.transaction():
            self._park.advance(time.time())
            try:
                answer = self._api.handle(request)
            except Exception:
                self._park.load()  # what is in memory is not what the store keeps
                raise
            self._park.save()
            flying = self._acts.under_way()
            if flying > int(self._store.meta("max_in_flight") or 0):
                self._store.set_meta("max_in_flight", flying)
        if answer.delay:
            time.sleep(answer.delay)
        return answer

    def note(self, request: Request, status: int | None, effect: str, reference: str | None = None) -> None:
        """Write a request to the journal. Its reference is that of the tag, comment or agent name that it is about."""
        self._journal.write(
            request.method,
            request.path,
            request.query,
            reference=reference or _reference_in(request),
            status=status,
            effect=effect,
            marker=request.headers.get("x-context-marker"),
        )

    def _preload(self) -> None:
        """Add what the command line brings along, but nothing that was there before and is not any more."""
        ScriptBook(self._store).add(self._settings.scripts)
        self._park.load()
        found = [(one, self._settings.pool) for file in self._settings.sites for one in read_site(file)]
        found += [(one, "default") for one in plain_machines(self._settings.machines)]
        self._places.ensure(ZONE, [one.zone for one, _ in found])
        self._places.ensure(POOL, [pool for _, pool in found])
        known = set(json.loads(self._store.meta("enlisted") or "[]"))
        for one, pool in found:
            if one.hostname not in known:
                known.add(one.hostname)
                self._tags.ensure(one.tags)
                self._park.add(one.hostname, zone=one.zone, pool=pool, tags=[*one.tags], address=one.address)
        self._store.set_meta("enlisted", json.dumps(sorted(known)))
        self._park.save()


def _reference_in(request: Request) -> str | None:
    try:
        form = form_of(request)
    except Refused:
        return None
    tag = request.path.partition("/tags/")[2].partition("/")[0]
    return find_reference(tag, first(form, "name"), first(form, "agent_name"), first(form, "comment"))
