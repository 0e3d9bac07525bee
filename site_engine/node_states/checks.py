"""What is looked at of nodes that were done: checks, Slipway's own and those of other packages (`slipway.checks`).

Of very many nodes few differ from one list of the provisioner to the next: only these are looked at (rule 56).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from design_rendering.kinds.nodes import StatedNode
from provisioner_client.protocol import NO_ADDRESSES
from strategy_lib.node_condition import NodeCondition, whose
from strategy_lib.node_states.publication import gone_keys, other_objects
from strategy_lib.node_states.repair import POWER_IS_OFF

AS_LEFT: Final = "as-left"
"""The name of Slipway's own check."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node that was done, as a check sees it.

    Attributes
    ----------
    condition, status, power : what the provisioner says of it: in Slipway's word, and in its own. `NOT_LISTED` and None
        where its list does not have the node; power None: not known.
    addresses : the addresses that the provisioner says: `boot_ip`, `power_address`.
    stated : what the design states of it; None where it was done in another design than the newest.
    done_version, done_revision, done_at : what it was done in, and when.
    """

    site: str
    name: str
    condition: NodeCondition
    status: str | None = None
    power: str | None = None
    addresses: Mapping[str, str] = field(default_factory=lambda: NO_ADDRESSES, hash=False)
    stated: StatedNode | None = None
    done_version: int | None = None
    done_revision: int | None = None
    done_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found: `reason` says what is not as it was left; "" where all is well."""

    reason: str = ""


OK: Final = Finding()


def drift(reason: str) -> Finding:
    """Return that a node is not as it was left; the reason names what is, as in "power is off"."""
    return Finding(" ".join(reason.split()) or "no reason is given")


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """A check.

    Attributes
    ----------
    check : says of one node whether it is as it was left. It is called in a thread of its own, and may take its time.
    interval : seconds between two looks; 0: with each new list of the provisioner. A drift is what two looks in a row
        have found.
    """

    check: Callable[[CheckedNode], Finding]
    interval: float = 0.0


def check_as_left(node: CheckedNode) -> Finding:
    """Tell whether a node is deployed and on, with the addresses that the design states; all else is left open."""
    if node.condition is NodeCondition.NOT_LISTED:
        return drift("the provisioner does not list it")
    if node.condition is NodeCondition.LISTED_TWICE and node.status is not None:
        return drift(node.status)
    if node.status is not None and whose(node.status):
        return drift(f"it is another's: the provisioner says {node.status}")
    if node.condition is not NodeCondition.DEPLOYED:
        return drift(f"the provisioner says {node.status or node.condition}")
    if node.power == "off":
        return drift(POWER_IS_OFF)
    if node.stated is not None and node.addresses:
        found = [
            f"{name} is {seen}, stated is {wanted}"
            for name, seen in sorted(node.addresses.items())
            if (wanted := node.stated.address_instead_of(seen)) is not None
        ]
        if found:
            return drift("; ".join(found))
    return OK


OWN_CHECKS: Final[Mapping[str, NodeCheck]] = {AS_LEFT: NodeCheck(check_as_left)}


Listed = Mapping[str, Mapping[str, Any]]
"""What the provisioner says of each node."""


class Suspects:
    """The nodes of one list that `check_as_left` may find something at, under one design."""

    def __init__(self) -> None:
        self._listed: Listed = {}
        self._stated: Mapping[str, StatedNode] | None = None
        self._names: set[str] = set()
        self._unread: set[str] = set()

    @property
    def names(self) -> Set[str]:
        """Those found so far: all of them once `read` was true."""
        return self._names

    def follow(self, listed: Listed, stated: Mapping[str, StatedNode]) -> None:
        """Go on with another list, or another design.

        Parameters
        ----------
        listed : the whole list.
        stated : what the design states of each node; the same object is the same design.
        """
        if stated is not self._stated:
            self._names, self._unread = set(), set(listed)
        elif listed is not self._listed:
            # Most are the same objects; where a list was read anew, they say the same.
            other = [name for name in other_objects(self._listed, listed) if listed[name] != self._listed.get(name)]
            self._unread.update(other)
            gone = gone_keys(self._listed, listed, other)
            self._names -= gone
            self._unread -= gone
        self._listed, self._stated = listed, stated

    def read(self, most: int) -> bool:
        """Look at so many of the nodes of which something new is said; return whether that were all of them."""
        some = list(islice(self._unread, most))
        stated = self._stated or {}
        bad = {name for name in some if not _is_plain(self._listed[name], stated.get(name))}
        self._names.difference_update(some)
        self._names |= bad
        self._unread.difference_update(some)
        return not self._unread


def _is_plain(said: Mapping[str, Any], stated: StatedNode | None) -> bool:
    """Whether `check_as_left` finds nothing in this: deployed, not off, and at no other address than a stated one."""
    if said["condition"] != NodeCondition.DEPLOYED or said["power"] == "off":
        return False
    addresses = said.get("addresses")
    if stated is None or not addresses:
        return True
    return all(stated.address_instead_of(seen) is None for seen in addresses.values())
