"""The nodes of a design, whichever provisioner's documents describe them, and what it states of them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from design_rendering import drydock_kinds, slipway_kinds
from design_rendering.drydock_kinds import NETWORK_SCHEMA, NODE_SCHEMA
from design_rendering.kinds import drydock_nodes
from design_rendering.kinds.drydock_nodes import depends_on_nodes
from design_rendering.kinds.slipway_nodes import slipway_nodes, stated_address
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.errors import InventoryError, Problem, StrategyLibError
from strategy_lib.node import Node

NODE_SCHEMAS: Final = (NODE_SCHEMA, slipway_kinds.NODE_SCHEMA)
NODE_MAKERS: Final = (*drydock_kinds.NODE_MAKERS, *slipway_kinds.NODE_MAKERS)
"""The kinds of documents of which tags, labels and racks of nodes are made."""


def has_nodes(documents: Iterable[Document]) -> bool:
    """Return whether any of the documents, abstract ones included, is a node."""
    return any(document.schema in NODE_SCHEMAS for document in documents)


def node_documents(documents: Iterable[Document]) -> dict[str, Document]:
    """Return the document of each node by its name.

    Raises `DocumentError` when two of one kind have the same schema, layer and name.
    """
    read = list(documents)
    return {name: document for schema in NODE_SCHEMAS for name, document in find_documents(read, schema).items()}


def nodes_from_documents(documents: Iterable[Document]) -> list[Node]:
    """Return the nodes that a design describes, as groups select them, in document order.

    What is missing adds nothing: see `missing_makers`.

    Raises `DocumentError` when two nodes, or two documents that they are made of, have the same name; `InventoryError`
    with everything that is wrong with them.
    """
    read = list(documents)
    found = {node.name: node for node in drydock_nodes.nodes_from_documents(read)}
    own = slipway_nodes(read)[0]
    problems: dict[Problem, None] = {}
    written = find_documents(read, slipway_kinds.NODE_SCHEMA)
    for name, node in own.items():
        waits_for = depends_on_nodes(written[name], problems)
        found[name] = Node(name, node.tags, node.labels, node.rack, waits_for)
    if problems:
        raise InventoryError(problems)
    return list(found.values())


def missing_makers(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each host profile, node set or user data that nodes name and that is not there.

    Raises `StrategyLibError`: documents are wrong in themselves.
    """
    _, missing = slipway_nodes(documents)
    return [*drydock_nodes.missing_profiles(documents), *(replace(one, level="warning") for one in missing)]


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
    for name, document in node_documents(read).items():
        if document.schema == NODE_SCHEMA:
            addresses = {network: said for network, said in _addresses(document.data) if network in ranges}
            networks = {network: ranges[network] for network in addresses}
        else:
            own = stated_address(document.data)
            addresses = {} if own is None else {OWN_ADDRESS: str(own.ip)}
            networks = {} if own is None else {OWN_ADDRESS: own.network}
        found[name] = StatedNode(addresses, networks, document.metadata.get("monitor") is not False)
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


LONGEST_HOST_NAME: Final = 32
"""Drydock keeps no more characters of a node's name."""


def node_limit_problems(documents: Sequence[Document]) -> list[Problem]:
    """Return an error for each name that a provisioner cannot take, and a warning for each address that two nodes have.

    Names of Slipway's own nodes are judged by their shape. Documents that cannot be read are judged elsewhere.
    """
    try:
        written = node_documents(documents)
        stated = stated_nodes(documents)
    except StrategyLibError:
        return []
    problems = []
    for name, document in written.items():
        if document.schema == NODE_SCHEMA and len(name) > LONGEST_HOST_NAME:
            message = (
                f"has {len(name)} characters, and Drydock loses nodes with more than {LONGEST_HOST_NAME}; shorten it"
            )
            problems.append(document.problem("$.metadata.name", message))
    first: dict[tuple[str, str], str] = {}
    for name, node in stated.items():
        for network, address in node.addresses.items():
            other = first.setdefault((network, address), name)
            if other != name and name in written:
                where = f" in network {network}" if network != OWN_ADDRESS else ""
                message = f"node {other} has the address {address}{where} too; give each node its own"
                path = "$.data.addressing" if network != OWN_ADDRESS else "$.data.address"
                problems.append(written[name].problem(path, message, "warning"))
    return problems
