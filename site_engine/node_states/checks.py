"""What is looked at of nodes that were done: checks, Slipway's own and those of other packages (`slipway.checks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from provisioner_client.protocol import NO_ADDRESSES
from strategy_lib.node_states.repair import POWER_IS_OFF
from strategy_lib.outcome import NodeCondition, whose

if TYPE_CHECKING:
    from datetime import datetime

    from design_rendering.kinds.nodes import StatedNode

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
