"""Small site designs, made in a test's own words."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from design_rendering.kinds.objects import DigestKey

KEY = DigestKey(bytes(range(32)))
"""The key of digests where no store is."""

# The same text in a quarter of the time, where PyYAML comes with libyaml: there are thousands of such sites.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def document(schema: str, name: str, data: Any, **metadata: Any) -> dict[str, Any]:
    """Return one Airship document."""
    return {
        "schema": schema,
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": name,
            "layeringDefinition": {"abstract": False, "layer": "site"},
            "storagePolicy": "cleartext",
            **metadata,
        },
        "data": data,
    }


def _address(name: str) -> str:
    """Return an address that no other node of a small site has."""
    number = zlib.crc32(name.encode())
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def node(name: str, rack: str = "r1", tags: Iterable[str] = (), profile: str = "compute") -> dict[str, Any]:
    """Return a ``drydock/BaremetalNode/v1``."""
    return document(
        "drydock/BaremetalNode/v1",
        name,
        {
            "host_profile": profile,
            "addressing": [{"network": "oob", "address": _address(name)}],
            "metadata": {"rack": rack, "tags": list(tags)},
        },
    )


def group(
    name: str, nodes: Iterable[str] = (), *, critical: bool = True, after: Iterable[str] = (), **criteria: int
) -> dict[str, Any]:
    """Return a group of a strategy; without nodes it selects all."""
    selectors = [{"node_names": list(nodes)}] if nodes else []
    data: dict[str, Any] = {"name": name, "critical": critical, "depends_on": list(after), "selectors": selectors}
    if criteria:
        data["success_criteria"] = criteria
    return data


def boot_action(name: str = "greeting", **data: Any) -> dict[str, Any]:
    """Return a ``drydock/BootAction/v1`` for all nodes: without any, a deploy crashes in the real driver."""
    asset = {
        "path": "/etc/motd",
        "type": "file",
        "permissions": "644",
        "data_pipeline": ["utf8_decode"],
        "data": "deployed\n",
    }
    return document("drydock/BootAction/v1", name, {"signaling": False, "assets": [asset], **data})


def site(
    nodes: Iterable[dict[str, Any]],
    groups: Iterable[dict[str, Any]],
    times: Mapping[str, int] | None = None,
    region: str = "alpha",
    *,
    boot_actions: Iterable[dict[str, Any]] | None = None,
) -> str:
    """Return a whole site design as YAML text; with a boot action for all nodes, unless others are given."""
    documents = [
        document("drydock/Region/v1", region, {"tag_definitions": [], "authorized_keys": []}),
        document("drydock/HostProfile/v1", "compute", {"metadata": {"owner_data": {"role": "compute"}}}),
        document("drydock/Network/v1", "oob", {"cidr": "10.0.0.0/24"}),
        *([boot_action()] if boot_actions is None else boot_actions),
        *nodes,
        document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": list(groups)}),
        document(
            "shipyard/DeploymentConfiguration/v1",
            "deployment-configuration",
            {"physical_provisioner": {"deployment_strategy": "deployment-strategy", **(times or {})}},
        ),
    ]
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, explicit_start=True)
