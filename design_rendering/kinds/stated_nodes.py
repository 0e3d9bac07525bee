"""What a design states of its nodes that can be seen at a provisioner, and what is not monitored. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from design_rendering import slipway_kinds
from design_rendering.drydock_kinds import NETWORK_SCHEMA, NODE_SCHEMA
from design_rendering.kinds.node_metadata import is_monitored
from design_rendering.kinds.slipway_nodes import stated_address
from design_rendering.reading.documents import Document, find_documents

OWN_ADDRESS: Final = ""
"""Stands for a network where a node has one address, and its network has no name."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class StatedNode:
    """What the design states of a node.

    Attributes
    ----------
    addresses : network to the node's address there; networks in which its address is left open are not here.
    networks : the same networks, each with its range.
    monitored : False: `metadata.monitor` says so.
    """

    addresses: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    monitored: bool = True

    def address_instead_of(self, seen: str) -> str | None:
        """Return the address that is stated where another one was seen; None: this one, or none, is.

        That is the node's address in the network that the seen address lies in.
        """
        if seen in self.addresses.values():
            return None
        try:
            address = ipaddress.ip_address(seen)
        except ValueError:
            return None
        stated = (self.addresses[name] for name, network in self.networks.items() if address in network)
        return next((one for one in stated if ipaddress.ip_address(one) != address), None)


def stated_nodes(documents: Iterable[Document]) -> dict[str, StatedNode]:
    """Return what a design states of each node. What is written wrongly is stated nowhere: validation names it."""
    read = list(documents)
    ranges = {
        name: cidr
        for name, document in find_documents(read, NETWORK_SCHEMA).items()
        if (cidr := _network(document.data)) is not None
    }
    found = {}
    for name, document in find_documents(read, NODE_SCHEMA).items():
        addresses = {network: said for network, said in _addresses(document.data) if network in ranges}
        networks = {network: ranges[network] for network in addresses}
        found[name] = StatedNode(addresses, networks, is_monitored(document))
    for name, document in find_documents(read, slipway_kinds.NODE_SCHEMA).items():
        own = stated_address(document.data)
        addresses = {} if own is None else {OWN_ADDRESS: str(own.ip)}
        found[name] = StatedNode(addresses, {} if own is None else {OWN_ADDRESS: own.network}, is_monitored(document))
    return found


def _network(data: Any) -> Network | None:
    cidr = data.get("cidr") if isinstance(data, Mapping) else None
    try:
        return ipaddress.ip_network(cidr, strict=False) if isinstance(cidr, str) else None
    except ValueError:
        return None


def _addresses(data: Any) -> Iterable[tuple[str, str]]:
    entries = data.get("addressing") if isinstance(data, Mapping) else None
    for entry in entries if isinstance(entries, list | tuple) else ():
        network, said = (entry.get("network"), entry.get("address")) if isinstance(entry, Mapping) else (None, None)
        if isinstance(network, str) and isinstance(said, str):
            try:
                # "dhcp", and whatever else is no address, leaves it open.
                yield network, str(ipaddress.ip_address(said))
            except ValueError:
                continue
