"""Drydock's own kinds of documents: their names, and what a node or host profile names in its data.

What is only Drydock's stands here and in `drydock_nodes.py`; another provisioner's kinds are modules beside these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strategy_lib.errors import Step

NODE_SCHEMA = "drydock/BaremetalNode/v1"
PROFILE_SCHEMA = "drydock/HostProfile/v1"
HARDWARE_SCHEMA = "drydock/HardwareProfile/v1"
NETWORK_SCHEMA = "drydock/Network/v1"
LINK_SCHEMA = "drydock/NetworkLink/v1"
REGION_SCHEMA = "drydock/Region/v1"
BOOT_ACTION_SCHEMA = "drydock/BootAction/v1"
NODE_MAKERS = (NODE_SCHEMA, PROFILE_SCHEMA)
NODE_PARTS = (*NODE_MAKERS, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA, BOOT_ACTION_SCHEMA)
READ = (*NODE_MAKERS, HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA, REGION_SCHEMA)
# Passed on without being read: near to the above, and not misspelt.
PASSED_ON = ("drydock/Rack/v1", BOOT_ACTION_SCHEMA, "drydock/PromenadeJoin/v1")


def data_without_labels(schema: str, data: Any) -> Any:
    """Return the data of a document of this schema; of a node or host profile without the labels that it gives."""
    if schema not in NODE_MAKERS or not isinstance(data, Mapping):
        return data
    metadata = data.get("metadata")
    if not isinstance(metadata, Mapping) or "owner_data" not in metadata:
        return data
    kept = {key: value for key, value in metadata.items() if key != "owner_data"}
    return {key: value for key, value in data.items() if key != "metadata"} | ({"metadata": kept} if kept else {})


def shaping_data(schema: str, data: Any) -> Any:
    """Return what of a document's data shapes a node that uses it.

    Labels are apart (`data_without_labels`). Of a boot action the filter does not count: whether it is for a node is
    seen by the node's using it.
    """
    if schema == BOOT_ACTION_SCHEMA and isinstance(data, Mapping):
        return {key: value for key, value in data.items() if key != "node_filter"}
    return data_without_labels(schema, data)


def route_domains(data: object) -> frozenset[str]:
    """Return the route domains that a network has routes to: the provisioner routes to each network in them."""
    routes = data.get("routes") if isinstance(data, Mapping) else None
    known = [route for route in (routes if isinstance(routes, list) else ()) if isinstance(route, Mapping)]
    return frozenset(domain for route in known if isinstance(domain := route.get("routedomain"), str))


def part_names(data: object) -> Iterator[tuple[str, str]]:
    """Yield schema and name of the hardware profile, networks and links that the data of a node or profile names."""
    return ((schema, name) for schema, name, _ in placed_parts(data))


def placed_parts(data: object) -> Iterator[tuple[str, str, tuple[Step, ...]]]:
    """Yield the same, each with the steps in the data that lead to its name."""
    for schema, name, steps in _places(data):
        if isinstance(name, str) and name:
            yield schema, name, steps


def _places(data: object) -> Iterator[tuple[str, object, tuple[Step, ...]]]:
    """Yield what stands where a name may stand. Of each node of a large design this is asked several times."""
    if not isinstance(data, dict):
        return
    yield HARDWARE_SCHEMA, data.get("hardware_profile"), ("hardware_profile",)
    yield NETWORK_SCHEMA, data.get("primary_network"), ("primary_network",)
    oob, addressing, interfaces = data.get("oob"), data.get("addressing"), data.get("interfaces")
    if isinstance(oob, dict):
        yield NETWORK_SCHEMA, oob.get("network"), ("oob", "network")
    for place, address in enumerate(addressing if isinstance(addressing, list) else ()):
        if isinstance(address, dict):
            yield NETWORK_SCHEMA, address.get("network"), ("addressing", place, "network")
    for key, interface in interfaces.items() if isinstance(interfaces, dict) else ():
        if isinstance(interface, dict):
            yield LINK_SCHEMA, interface.get("device_link"), ("interfaces", key, "device_link")
            networks = interface.get("networks")
            for place, network in enumerate(networks if isinstance(networks, list) else ()):
                yield NETWORK_SCHEMA, network, ("interfaces", key, "networks", place)
