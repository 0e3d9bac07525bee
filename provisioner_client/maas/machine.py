"""A machine as MAAS has it: what its status means, and how it is set up. Pure; statuses count by their ids.

MAAS does not name the layouts that a machine has. So its disks and interfaces are compared by digests. What MAAS gives
out by itself, such as numbers and addresses, is left out of them: it differs each time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import NO_ADDRESSES, ON_ITS_WAY, ListedNode, size_of
from strategy_lib.node_condition import MAAS_WORDS, OWNED_BY, NodeCondition


class Status(IntEnum):
    """MAAS's own numbers, by its own words."""

    NEW = 0
    COMMISSIONING = 1
    FAILED_COMMISSIONING = 2
    MISSING = 3
    READY = 4
    RESERVED = 5
    DEPLOYED = 6
    RETIRED = 7
    BROKEN = 8
    DEPLOYING = 9
    ALLOCATED = 10
    FAILED_DEPLOYMENT = 11
    RELEASING = 12
    RELEASING_FAILED = 13
    DISK_ERASING = 14
    FAILED_DISK_ERASING = 15
    RESCUE_MODE = 16
    ENTERING_RESCUE_MODE = 17
    FAILED_TO_ENTER_RESCUE_MODE = 18
    EXITING_RESCUE_MODE = 19
    FAILED_TO_EXIT_RESCUE_MODE = 20
    TESTING = 21
    FAILED_TESTING = 22


STATUS_NAMES: Final[Mapping[str, Status]] = {status.name.lower().replace("_", " "): status for status in Status}
"""By the names that events have, in lower case."""

_CONDITIONS: Final = {status: MAAS_WORDS[word] for word, status in STATUS_NAMES.items()}

TRANSIENT: Final = frozenset(
    status for status in Status if _CONDITIONS[status] in ON_ITS_WAY and status is not Status.RESCUE_MODE
)
"""What MAAS itself ends, most of it within a time limit of its own."""

FAILED: Final = frozenset(status for status in Status if "FAILED" in status.name)
"""Whose names say that something failed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What of a machine's answer counts here. `status` is None where its id is unknown: `status_name` has the word."""

    system_id: str
    name: str
    status: Status | None
    status_name: str
    owner: str | None = None
    power_state: str | None = None
    locked: bool = False
    osystem: str = ""
    series: str = ""
    zone: str = ""
    pool: str = ""
    tags: frozenset[str] = frozenset()
    architecture: str = ""
    cores: int | None = None
    memory: int | None = None
    commissioning_result: int | None = None
    is_commissioning_aborted: bool = False
    addresses: Mapping[str, str] = field(default_factory=lambda: NO_ADDRESSES, hash=False)

    @property
    def is_half_released(self) -> bool:
        """Whether a release went wrong half-way: it says Deployed, and has no operating system any more."""
        return self.status is Status.DEPLOYED and not self.osystem

    @property
    def shown(self) -> str:
        """MAAS's word for its status, and what that word hides."""
        return f"{self.status_name}, half released" if self.is_half_released else self.status_name

    @property
    def condition(self) -> NodeCondition:
        """What it means for a deployment."""
        if self.is_half_released:
            return NodeCondition.FAILED_RELEASE
        return NodeCondition.OTHER if self.status is None else _CONDITIONS[self.status]

    def condition_for(self, account: str) -> NodeCondition:
        """What it means for a deployment of this account: what somebody else has does not serve us, however it is."""
        return NodeCondition.OTHER if self.is_owned_by_other(account) else self.condition

    @property
    def can_power_on(self) -> bool:
        """Whether it is deployed and off, so that its power brings back what runs on it."""
        return self.condition is NodeCondition.DEPLOYED and self.power_state == "off"

    def is_owned_by_other(self, account: str) -> bool:
        """Whether somebody else than this account has it."""
        return self.owner not in (None, "", account)

    def shown_to(self, account: str) -> str:
        """Return MAAS's word for its status, with who owns it behind, if that is another."""
        return f"{self.shown}{OWNED_BY}{self.owner}" if self.is_owned_by_other(account) else self.shown

    def listed(self, account: str) -> ListedNode:
        """Return it as a node of the provisioner's list."""
        return ListedNode(
            self.name,
            self.condition_for(account),
            self.shown_to(account),
            self.power_state,
            self.addresses,
            self.cores,
            self.memory,
            self.system_id,
            self.can_power_on and not self.is_owned_by_other(account),
        )


def read_machines(data: object) -> list[Machine]:
    """Read a list of machines. Raises `ProvisionerProtocolError`: it is none."""
    if not isinstance(data, list):
        raise ProvisionerProtocolError("MAAS's list of machines is not a list")
    return [read_machine(one) for one in data]


def read_machine(data: object) -> Machine:
    """Read one machine. Raises `ProvisionerProtocolError`: it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("system_id"), str):
        raise ProvisionerProtocolError("MAAS gives something that is no machine")
    number, power = data.get("status"), data.get("power_state")
    status = Status(number) if isinstance(number, int) and number in tuple(Status) else None
    word = one_line(data.get("status_name") or number)
    return Machine(
        system_id=data["system_id"],
        name=str(data.get("hostname") or ""),
        status=status,
        status_name=word,
        owner=str(data["owner"]) if data.get("owner") else None,
        power_state=power if isinstance(power, str) else None,
        locked=bool(data.get("locked")),
        osystem=str(data.get("osystem") or ""),
        series=str(data.get("distro_series") or ""),
        zone=_name_of(data.get("zone")),
        pool=_name_of(data.get("pool")),
        tags=frozenset(map(str, data.get("tag_names") or ())),
        architecture=str(data.get("architecture") or ""),
        cores=size_of(data.get("cpu_count")),
        memory=size_of(data.get("memory")),
        commissioning_result=size_of(data.get("current_commissioning_result_id")),
        is_commissioning_aborted=data.get("commissioning_status_name") == "Aborted",
        addresses=_addresses(data),
    )


def _name_of(given: object) -> str:
    return str(given.get("name") or "") if isinstance(given, dict) else str(given or "")


def _addresses(data: Mapping[str, Any]) -> Mapping[str, str]:
    boot = data.get("boot_interface")
    links = boot.get("links") if isinstance(boot, dict) else None
    for link in links if isinstance(links, list) else ():
        if isinstance(link, dict) and isinstance(link.get("ip_address"), str) and link["ip_address"]:
            return {"boot_ip": link["ip_address"]}
    return NO_ADDRESSES


_WRITTEN: Final = re.compile(r"set-up ([0-9a-f]{8})\.([0-9a-f]{8})")
_FILE_SYSTEM: Final = ("fstype", "mount_point", "mount_options")
_PARTITION: Final = ("size", "bootable", "used_for")
_DISK: Final = ("name", "type", "size", "partition_table_type", "used_for")
_GROUPS: Final = ("volume_groups", "bcaches", "raids", "cache_sets")
_INTERFACE: Final = ("name", "type", "mac_address", "enabled", "parents", "params")


@dataclass(frozen=True, slots=True)
class SetUp:
    """Digests of a machine's storage and of its network."""

    storage: str
    network: str

    @property
    def written(self) -> str:
        """It as it stands in the comment of an allocation, so that every process can compare with it."""
        return f"set-up {self.storage}.{self.network}"


def read_set_up(data: Mapping[str, Any]) -> SetUp:
    """Return how a machine is set up, from MAAS's answer about it."""
    storage = {
        "disks": _sorted(_disk(one) for one in _listed(data, "blockdevice_set")),
        "file_systems": _sorted(_kept(one, _FILE_SYSTEM) for one in _listed(data, "special_filesystems")),
        **{name: _sorted(_kept(one, ("name", "size")) for one in _listed(data, name)) for name in _GROUPS},
    }
    network = _sorted(_interface(one) for one in _listed(data, "interface_set"))
    return SetUp(_digest(storage), _digest(network))


def find_set_up(comment: str) -> SetUp | None:
    """Return what stands in a comment; None: nothing does."""
    found = _WRITTEN.search(comment)
    return None if found is None else SetUp(found[1], found[2])


def _disk(data: Mapping[str, Any]) -> dict[str, Any]:
    partitions = (
        {**_kept(one, _PARTITION), "filesystem": _kept(one.get("filesystem"), _FILE_SYSTEM)}
        for one in _listed(data, "partitions")
    )
    filesystem = _kept(data.get("filesystem"), _FILE_SYSTEM)
    return {**_kept(data, _DISK), "filesystem": filesystem, "partitions": _sorted(partitions)}


def _interface(data: Mapping[str, Any]) -> dict[str, Any]:
    vlan = _kept(data.get("vlan"), ("id",))
    return {**_kept(data, _INTERFACE), "vlan": vlan, "links": _sorted(_link(one) for one in _listed(data, "links"))}


def _link(data: Mapping[str, Any]) -> dict[str, Any]:
    # Any other address is given to it when it is deployed.
    address = ("ip_address",) if data.get("mode") == "static" else ()
    return {**_kept(data, ("mode", *address)), "subnet": _kept(data.get("subnet"), ("id",))}


def _listed(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    given = data.get(name)
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _kept(data: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: data.get(name) for name in names} if isinstance(data, dict) else {}


def _sorted(parts: Any) -> list[Any]:
    return sorted(parts, key=lambda one: json.dumps(one, sort_keys=True, default=str))


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:8]
