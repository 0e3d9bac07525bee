"""Routes of everything that is no machine: tags, zones, pools, events, results, images, users, version."""

from __future__ import annotations

from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.maas.cost import CostBook
from provisioner_client.simulator.maas.events import EventLedger
from provisioner_client.simulator.maas.http.answers import BASE, BadParameters, document, first, no_such, nothing, text
from provisioner_client.simulator.maas.http.call import Call
from provisioner_client.simulator.maas.http.filters import EVENT_FILTERS, MachineFilter
from provisioner_client.simulator.maas.http.machines_api import MachinesApi
from provisioner_client.simulator.maas.images import boot_resources
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.machines.script_sets import ScriptSets, describe_set, installation_results
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.maas.tags import Tags

VERSION = {
    "version": "3.7.3",
    "subversion": "simulated",
    "capabilities": [
        "networks-management",
        "static-ipaddresses",
        "ipv6-deployment-ubuntu",
        "devices-management",
        "storage-deployment-ubuntu",
        "network-deployment-ubuntu",
        "bridging-interface-ubuntu",
        "bridging-automatic-ubuntu",
        "authenticate-api",
    ],
}
_SET_KINDS = {
    "commissioning": "commissioning",
    "commission": "commissioning",
    "0": "commissioning",
    "testing": "testing",
    "test": "testing",
    "2": "testing",
    "installation": "installation",
    "install": "installation",
    "1": "installation",
}


class ThingsApi:
    """All methods are called inside a transaction of the store."""

    def __init__(
        self,
        park: MachinePark,
        tags: Tags,
        places: Places,
        events: EventLedger,
        sets: ScriptSets,
        filters: MachineFilter,
        machines: MachinesApi,
        cost: CostBook,
    ) -> None:
        self._park, self._tags, self._places, self._events, self._sets = park, tags, places, events, sets
        self._filter, self._machines, self._cost = filters, machines, cost

    def version(self, _: Call | None = None) -> Answer:
        """GET version/: open to all."""
        self._cost.count("other")
        return document(VERSION)

    def whoami(self, call: Call) -> Answer:
        """GET users/op-whoami."""
        self._cost.count("other")
        name = call.user.name
        return document(
            {
                "is_superuser": call.user.is_admin,
                "username": name,
                "email": f"{name}@example.org",
                "is_local": True,
                "resource_uri": f"{BASE}/users/{name}/",
            }
        )

    def query_events(self, call: Call) -> Answer:
        """GET events/op-query. It passes over filters that only the list of machines has, such as the tags."""
        self._cost.count("events")
        machines = None
        if EVENT_FILTERS & call.query.keys():
            machines = [one.system_id for one in self._filter.of_events(call.query, self._park.all())]
        return document(self._events.query(call.query, machines))

    def tags(self, _: Call) -> Answer:
        """GET tags/."""
        self._cost.count("tags")
        return document(self._tags.all())

    def create_tag(self, call: Call) -> Answer:
        """POST tags/."""
        call.need_admin()
        self._cost.count("tags")
        tag = self._tags.create(call.form)
        return document(tag, effect=f"created tag {tag['name']}", reference=str(tag["name"]))

    def tag(self, _: Call, name: str) -> Answer:
        """GET tags/{name}/."""
        self._cost.count("tags")
        return document(self._tags.read(name), reference=name)

    def update_tag(self, call: Call, name: str) -> Answer:
        """PUT tags/{name}/."""
        call.need_admin()
        self._cost.count("tags")
        return document(self._tags.update(name, call.form), effect=f"changed tag {name}", reference=name)

    def delete_tag(self, call: Call, name: str) -> Answer:
        """DELETE tags/{name}/."""
        call.need_admin()
        self._cost.count("tags")
        self._tags.delete(name)
        return nothing(f"deleted tag {name}")

    def rebuild_tag(self, call: Call, name: str) -> Answer:
        """POST tags/{name}/op-rebuild."""
        call.need_admin()
        self._cost.count("tags")
        return document(self._tags.rebuild(name), effect=f"rebuilt tag {name}", reference=name)

    def tag_machines(self, _: Call, name: str) -> Answer:
        """GET tags/{name}/op-machines: whole machines, and as dear as a list."""
        self._tags.read(name)
        found = self._tags.machines(name)
        self._cost.count("list", len(found))
        return document(self._machines.show(found), reference=name)

    def update_nodes(self, call: Call, name: str) -> Answer:
        """POST tags/{name}/op-update_nodes."""
        call.need_admin()
        self._cost.count("tags")
        changed = self._tags.update_nodes(name, call.form)
        return document(changed, effect=f"put tag {name} on {changed['added']} machines", reference=name)

    def zones(self, _: Call) -> Answer:
        """GET zones/."""
        self._cost.count("other")
        return document(self._places.all(ZONE))

    def create_zone(self, call: Call) -> Answer:
        """POST zones/."""
        return self._create(call, ZONE)

    def zone(self, _: Call, name: str) -> Answer:
        """GET zones/{name}/."""
        self._cost.count("other")
        return document(self._places.read(ZONE, name))

    def pools(self, _: Call) -> Answer:
        """GET resourcepools/."""
        self._cost.count("other")
        return document(self._places.all(POOL))

    def create_pool(self, call: Call) -> Answer:
        """POST resourcepools/."""
        return self._create(call, POOL)

    def pool(self, _: Call, place_id: str) -> Answer:
        """GET resourcepool/{id}/."""
        self._cost.count("other")
        return document(self._places.by_id(POOL, place_id))

    def images(self, call: Call) -> Answer:
        """GET boot-resources/: all, or those of a type."""
        self._cost.count("other")
        kind = first(call.query, "type")
        return document([one for one in boot_resources() if kind in ("", one["type"].lower())])

    def is_importing(self, _: Call) -> Answer:
        """GET boot-resources/op-is_importing."""
        self._cost.count("other")
        return text("false")

    def results(self, call: Call) -> Answer:
        """GET installation-results/: of the current runs of the machines that are asked for."""
        self._cost.count("other")
        wanted = set(call.query.get("system_id", ()))
        rows = []
        for machine in self._park.all():
            if not wanted or machine.system_id in wanted:
                current = (machine.commissioning_id, machine.installation_id, machine.testing_id)
                rows += [self._sets.one(machine.system_id, one) for one in current if one is not None]
        found = installation_results([row for row in rows if row is not None])
        names, kinds = set(call.query.get("name", ())), first(call.query, "result_type")
        return document(
            [one for one in found if (not names or one["name"] in names) and kinds in ("", str(one["result_type"]))]
        )

    def machine_results(self, call: Call, system_id: str) -> Answer:
        """GET nodes/{system_id}/results/: all runs of a machine."""
        self._cost.count("other")
        _refuse_filters(call)
        if self._park.get(system_id) is None:
            raise no_such("Node")
        asked = first(call.query, "type")
        if asked and asked not in _SET_KINDS:
            raise BadParameters(f'Unknown type "{asked}"')
        rows = self._sets.of(system_id, _SET_KINDS.get(asked))
        return document([describe_set(row, output=_wants_output(call)) for row in rows])

    def machine_result(self, call: Call, system_id: str, which: str) -> Answer:
        """GET nodes/{system_id}/results/{id}/: one run, by its id or `current-commissioning` and so on."""
        self._cost.count("other")
        _refuse_filters(call)
        machine = self._park.get(system_id)
        if machine is None:
            raise no_such("Node")
        current = {
            "current-commissioning": machine.commissioning_id,
            "current-testing": machine.testing_id,
            "current-installation": machine.installation_id,
        }
        if which not in current and not which.isdigit():
            raise BadParameters(f'Unknown id "{which}"')
        if which in current and current[which] is None:
            kind = which.removeprefix("current-")
            raise BadParameters(f"No current {kind} script set exists for this node.")
        row = self._sets.one(system_id, current[which] if which in current else int(which))
        if row is None:
            raise no_such("ScriptSet")
        return document(describe_set(row, output=_wants_output(call)))

    def _create(self, call: Call, kind: str) -> Answer:
        call.need_admin()
        self._cost.count("other")
        place = self._places.create(kind, call.form)
        return document(place, effect=f"created {kind} {place['name']}")


def _refuse_filters(call: Call) -> None:
    for name in ("filters", "hardware_type"):
        if first(call.query, name):
            raise BadParameters(f"The simulator does not play {name}.")


def _wants_output(call: Call) -> bool:
    return first(call.query, "include_output").lower() in ("1", "true", "yes", "on")
