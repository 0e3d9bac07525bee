"""A provisioner's list of nodes as JSON values, as it is kept and shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from provisioner_client.protocol import NO_ADDRESSES, ListedNode
from strategy_lib.outcome import NodeCondition

_CAPACITY: Final = ("cores", "memory")
_CONDITIONS: Final = {condition.value: condition for condition in NodeCondition}


def nodes_to_text(nodes: Mapping[str, ListedNode]) -> str:
    """Return a list as a text."""
    return msgspec.json.encode({name: node_to_data(node) for name, node in nodes.items()}).decode()


def nodes_from_text(text: str) -> dict[str, ListedNode]:
    """Return the list of such a text."""
    return {name: node_from_data(name, data) for name, data in msgspec.json.decode(text).items()}


def node_to_data(node: ListedNode) -> dict[str, Any]:
    """Return a node of a list, all but its name, as JSON values."""
    said: dict[str, Any] = {
        "status": node.status_name,
        "power": node.power_state,
        "condition": node.condition.value,
    }
    said |= {name: size for name in _CAPACITY if (size := getattr(node, name)) is not None}
    if node.key:
        said["key"] = node.key
    if node.can_power_on:
        said["can_power_on"] = True
    return said | {"addresses": dict(node.addresses)} if node.addresses else said


def node_from_data(name: str, data: Mapping[str, Any]) -> ListedNode:
    """Return the node of this name again."""
    return ListedNode(
        name,
        _CONDITIONS.get(data["condition"], NodeCondition.OTHER),
        data["status"],
        data["power"],
        data.get("addresses", NO_ADDRESSES),
        cores=data.get("cores"),
        memory=data.get("memory"),
        key=data.get("key", ""),
        can_power_on=data.get("can_power_on", False),
    )
