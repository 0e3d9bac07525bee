"""A provisioner's list of nodes, read once for all that need it by then, and as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from provisioner_client.protocol import NO_ADDRESSES, ListedNode
from provisioner_client.redacting import Redact, redacted_nodes
from provisioner_client.shared_lists import SharedLists
from strategy_lib.outcome import NodeCondition

_CAPACITY: Final = ("cores", "memory")
_CONDITIONS: Final = {condition.value: condition for condition in NodeCondition}


def shared_nodes(
    lists: SharedLists,
    name: str,
    timeout: float,
    redact: Redact,
    slow_answers: Callable[[float], AbstractContextManager[None]],
    ask: Callable[[], Mapping[str, ListedNode]],
    names: Collection[str] | None = None,
) -> dict[str, ListedNode]:
    """Return the nodes by name, as they are listed after this call.

    It is a provisioner's dearest request: one process at a time asks for it, for all that need it by then.

    Parameters
    ----------
    lists, name : how the list is shared, and under which name.
    timeout : the seconds that it is waited for at least.
    redact : takes the secrets of the design out of what is shared.
    slow_answers : has the session wait for so many seconds for each answer.
    names : only these nodes are returned. None: all.
    """

    def asked(seconds: float) -> str:
        with slow_answers(seconds):
            return nodes_to_text(redacted_nodes(ask(), redact))

    return nodes_from_text(lists.read(name, asked, timeout), names)


def nodes_to_text(nodes: Mapping[str, ListedNode]) -> str:
    """Return a list as a text."""
    return msgspec.json.encode({name: node_to_data(node) for name, node in nodes.items()}).decode()


def nodes_from_text(text: str, names: Collection[str] | None = None) -> dict[str, ListedNode]:
    """Return the list of such a text, or of it these nodes."""
    said: dict[str, dict[str, Any]] = msgspec.json.decode(text)
    return {name: node_from_data(name, said[name]) for name in (said if names is None else names) if name in said}


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
