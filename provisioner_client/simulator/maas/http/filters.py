"""The filters of the list of machines: a repeated one is OR, `tags` are AND, and what MAAS does not know is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

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

_VALUES: dict[str, Callable[[Machine], str | None]] = {
    "hostname": lambda one: one.hostname,
    "id": lambda one: one.system_id,
    "system_id": lambda one: one.system_id,
    "mac_address": lambda one: mac_address(one.system_id),
    "domain": lambda _: "maas",
    "zone": lambda one: one.zone,
    "pool": lambda one: one.pool,
    "agent_name": lambda one: one.agent_name,
    "owner": lambda one: one.owner,
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
EVENT_FILTERS = frozenset({"hostname", "mac_address", "id", "domain", "zone", "pool", "agent_name"})
_POWERS = frozenset({"on", "off", "unknown", "error"})
_ARCHITECTURES = frozenset({"amd64", "arm64", "armhf", "i386", "ppc64el", "s390x"})
_MAC = re.compile(r"[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}", re.IGNORECASE)


class MachineFilter:
    """`select` is called inside a transaction of the store; `users` are the names of MAAS's users."""

    def __init__(self, tags: Tags, places: Places, users: Collection[str]) -> None:
        self._tags, self._places, self._users = tags, places, users

    def select(self, form: Form, machines: Iterable[Machine]) -> list[Machine]:
        """Return the machines that match all filters. An empty value is one: of `tags` alone it means all machines.

        Raises `BadParameters` for what does not exist, for a parameter that MAAS does not know, and for a filter that
        is not played.
        """
        found = list(machines)
        for name, values in form.items():
            if name in NOT_PLAYED:
                raise BadParameters({name: ["The simulator does not play this filter."]})
            if name == "op":
                continue
            if name not in FILTERS:
                raise BadParameters({name: ["No such constraint."]})
            matches = self._matches(name, values, found)
            found = [one for one in found if matches(one)]
        return found

    @staticmethod
    def of_events(form: Form, machines: Iterable[Machine]) -> list[Machine]:
        """Return the machines whose events are asked for; what does not exist has none.

        Raises `BadParameters` for what is no MAC address.
        """
        found = list(machines)
        for name in EVENT_FILTERS & form.keys():
            wrong = [one for one in form[name] if name == "mac_address" and _MAC.fullmatch(one) is None]
            if wrong:
                raise BadParameters(f"Invalid MAC address(es): {', '.join(wrong)}")
            found = [one for one in found if _VALUES[name](one) in form[name]]
        return found

    def _matches(self, name: str, wanted: Sequence[str], machines: Collection[Machine]) -> Callable[[Machine], bool]:
        if name in ("status", "not_status"):
            _refuse(name, [one for one in wanted if one not in LABELS], _NO_CHOICE)
            statuses = {LABELS[one] for one in wanted}
            return lambda one: (one.status in statuses and not one.unknown_status) is (name == "status")
        if name in ("tags", "not_tags"):
            names = {tag for value in wanted for tag in value.split(",") if tag}
            if name == "not_tags":
                return lambda one: names.isdisjoint(one.tags)
            if unknown := sorted(tag for tag in names if not self._tags.exists(tag)):
                raise BadParameters({name: [f"No such tag(s): {', '.join(map(repr, unknown))}."]})
            return lambda one: names <= set(one.tags)
        kind = _NEGATED.get(name, name)
        self._check(name, kind, wanted, machines)
        value_of, values = _VALUES[kind], set(wanted)
        if kind == "arch":
            return lambda one: any(value_of(one) in (want, f"{want}/generic") for want in values) is (name == kind)
        return lambda one: (value_of(one) in values) is (name == kind)

    def _check(self, name: str, kind: str, wanted: Sequence[str], machines: Collection[Machine]) -> None:
        """Raise `BadParameters` for a value that MAAS looks up, and does not have."""
        if kind in (ZONE, POOL):
            empty = "Enter a valid value." if name != kind else f"No such {kind}(s): {{}}."
            _refuse(name, [one for one in wanted if not one], empty)
            _refuse(name, [one for one in wanted if not self._places.exists(kind, one)], f"No such {kind}(s): {{}}.")
        elif kind == "power_state":
            _refuse(name, [one for one in wanted if one not in _POWERS], _NO_CHOICE)
        elif name == "owner":
            known = {*self._users, *(one.owner for one in machines if one.owner)}
            _refuse(name, [one for one in wanted if one not in known], "No such owner: {!r}.")
        elif name == "mac_address":
            _refuse(name, [one for one in wanted if _MAC.fullmatch(one) is None], "{!r} is not a valid MAC address.")
        elif name == "arch":
            unknown = [one for one in wanted if one.partition("/")[0] not in _ARCHITECTURES]
            _refuse(name, unknown, "Architecture not recognised.")


_NO_CHOICE = "Select a valid choice. {} is not one of the available choices."


def _refuse(name: str, wrong: Sequence[str], said: str) -> None:
    if wrong:
        raise BadParameters({name: [said.format(wrong[0])]})
