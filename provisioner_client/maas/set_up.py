"""How a machine's disks and interfaces are set up, as digests: whether they still are as we have set them. Pure.

MAAS does not name the layout that a machine has. What it gives out by itself, such as numbers and addresses, is left
out: it differs each time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
