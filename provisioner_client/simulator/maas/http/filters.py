"""The filters of the list of machines: a repeated one is OR, `tags` are AND, and an empty value is no filter at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from provisioner_client.simulator.maas.http.answers import BadParameters, Form
from provisioner_client.simulator.maas.machines.hardware import mac_address
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.statuses import LABELS
from provisioner_client.simulator.maas.places import POOL, ZONE, Places
from provisioner_client.simulator.maas.tags import Tags

# Filters that MAAS has and the simulator does not play: it refuses them, and does not pretend that all machines match.
NOT_PLAYED = frozenset(
    {
        "cpu_count",
        "cpu_speed",
        "deployment_target",
        "devices",
        "fabric_classes",
        "fabrics",
        "interfaces",
        "link_speed",
        "mem",
        "not_deployment_target",
        "not_fabric_classes",
        "not_fabrics",
        "not_pod",
        "not_pod_type",
        "not_simple_status",
        "not_subnets",
        "not_vlans",
        "pod",
        "pod_type",
        "simple_status",
        "storage",
        "subnets",
        "vlans",
    }
)

_VALUES: dict[str, Callable[[Machine], str]] = {
    "hostname": lambda one: one.hostname,
    "id": lambda one: one.system_id,
    "system_id": lambda one: one.system_id,
    "mac_address": lambda one: mac_address(one.system_id),
    "domain": lambda _: "maas",
    "zone": lambda one: one.zone,
    "pool": lambda one: one.pool,
    "agent_name": lambda one: one.agent_name,
    "owner": lambda one: one.owner or "",
    "power_state": lambda one: one.power_state,
    "arch": lambda one: one.architecture,
}
_NEGATED = {
    "not_id": "id",
    "not_hostname": "hostname",
    "not_domain": "domain",
    "not_agent_name": "agent_name",
    "not_owner": "owner",
    "not_power_state": "power_state",
    "not_arch": "arch",
    "not_in_zone": "zone",
    "not_in_pool": "pool",
}
FILTERS = frozenset(_VALUES) | set(_NEGATED) | {"status", "not_status", "tags", "not_tags"}
# Events are found by these alone; any other filter is passed over there, and all events are meant.
EVENT_FILTERS = frozenset({"hostname", "mac_address", "id", "domain", "zone", "agent_name"})


class MachineFilter:
    """`select` is called inside a transaction of the store."""

    def __init__(self, tags: Tags, places: Places) -> None:
        self._tags, self._places = tags, places

    def select(self, form: Form, machines: Iterable[Machine]) -> list[Machine]:
        """Return the machines that match all filters; a parameter that MAAS does not know is passed over.

        Raises `BadParameters` for a zone, pool, tag or status that does not exist, and for a filter that is not played.
        """
        found = list(machines)
        for name, values in form.items():
            wanted = [value for value in values if value]
            if not wanted:
                continue
            if name in NOT_PLAYED:
                raise BadParameters({name: ["The simulator does not play this filter."]})
            if name in FILTERS:
                matches = self._matches(name, wanted)
                found = [one for one in found if matches(one)]
        return found

    def _matches(self, name: str, wanted: Sequence[str]) -> Callable[[Machine], bool]:
        if name in ("status", "not_status"):
            if unknown := [one for one in wanted if one not in LABELS]:
                said = f"Select a valid choice. {unknown[0]} is not one of the available choices."
                raise BadParameters({name: [said]})
            statuses = {LABELS[one] for one in wanted}
            return lambda one: (one.status in statuses and not one.unknown_status) is (name == "status")
        if name in ("tags", "not_tags"):
            names = {tag for value in wanted for tag in value.split(",") if tag}
            if unknown := sorted(tag for tag in names if not self._tags.exists(tag)):
                raise BadParameters({name: [f"No such tag(s): {', '.join(map(repr, unknown))}."]})
            if name == "tags":
                return lambda one: names <= set(one.tags)
            return lambda one: names.isdisjoint(one.tags)
        kind = _NEGATED.get(name, name)
        if kind in (ZONE, POOL):
            for value in wanted:
                if not self._places.exists(kind, value):
                    raise BadParameters({name: [f"No such {kind}: '{value}'."]})
        value_of, values = _VALUES[kind], set(wanted)
        if kind == "arch":
            return lambda one: any(fnmatchcase(value_of(one), f"{want}*") for want in values) is (name == kind)
        return lambda one: (value_of(one) in values) is (name == kind)
