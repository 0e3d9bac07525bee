"""Long lists of a server that all processes share: one asks, and its answer serves all that needed it before that.

A provisioner's list of nodes is one, as JSON values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from provisioner_client.protocol import NO_ADDRESSES, ListedNode
from provisioner_client.redacting import Redact, redacted_nodes
from strategy_lib.node_condition import NodeCondition


class SharedLists(Protocol):
    """Has lists asked for. Backends name them; who has a store shares them (`site_engine.shared_lists`)."""

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        """Return a list that was asked for after this call, by this process or another one.

        Parameters
        ----------
        name : which list of which server. It is the same for all who get the same answer.
        ask : asks the server once, given the seconds to wait for the answer, and returns it as a text.
        timeout : the seconds to wait for an answer at least; more where the last one took long.
        age : one that was asked for so many seconds before this call serves, too.

        Raises
        ------
        ProvisionerError : what `ask` has raised, also in another process; or the list ran out of time a moment ago.
        """
        ...

    def from_now(self) -> SharedLists:
        """Return the same for needs that arise with each call, also where they arose before for others."""
        ...


class Unshared:
    """Asks at once: there is no store."""

    def read(self, name: str, ask: Callable[[float], str], timeout: float, age: float = 0.0) -> str:
        """Return what the server answers."""
        return ask(timeout)

    def from_now(self) -> SharedLists:
        """Return itself."""
        return self


UNSHARED: Final = Unshared()


class SharedLock(Protocol):
    """One lock, as one client sees it. None of its methods raises; in doubt the client does not have it."""

    def take(self, seconds: float) -> bool:
        """Take it for so long, if it is free; whether that was so. A process that is killed has it until then."""
        ...

    def prolong(self, seconds: float) -> bool:
        """Keep it for so long from now; False: it has run out meanwhile, and another may have had it."""
        ...

    def give_up(self) -> None:
        """Let others have it, if this client still has it."""
        ...


Locks: TypeAlias = Callable[[str], SharedLock]
"""Returns the lock of a name."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What a client shares with those of other processes.

    `locks`: None: there is no store. `lists`: has long lists asked for by one of these processes at a time.
    """

    locks: Locks | None = None
    lists: SharedLists = UNSHARED


NOT_SHARED: Final = Shared()


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
            nodes = redacted_nodes(ask(), redact)
        return msgspec.json.encode({name: node_to_data(node) for name, node in nodes.items()}).decode()

    said: dict[str, dict[str, Any]] = msgspec.json.decode(lists.read(name, asked, timeout))
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
