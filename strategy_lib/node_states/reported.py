"""What the provisioner's list of nodes says about the state of a node: its words, and its power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from strategy_lib.node_states.generated import NodeAvailability, least_available

OWNED_BY = ", owned by "
"""Behind a status: the name of somebody else, who has the node at the provisioner."""
LISTED_TWICE = "listed twice, with different states: "
"""How the words for a node begin of which the list has two; their states follow."""
_A = NodeAvailability
_AT_WORK: Mapping[str, NodeAvailability] = {
    "deploying": _A.INITIALIZING,
    "commissioning": _A.INITIALIZING,
    "testing": _A.INITIALIZING,
    "allocated": _A.INITIALIZING,
    "entering rescue mode": _A.INITIALIZING,
    "exiting rescue mode": _A.INITIALIZING,
    "releasing": _A.STOPPING,
    "disk erasing": _A.STOPPING,
}
_DOWN = frozenset(
    {
        "new",
        "failed commissioning",
        "missing",
        "ready",
        "reserved",
        "retired",
        "broken",
        "failed deployment",
        "releasing failed",
        "failed disk erasing",
        "rescue mode",
        "failed to enter rescue mode",
        "failed to exit rescue mode",
        "failed testing",
        # Not MAAS's own: what its "Deployed" hides after a release that went wrong half-way.
        "deployed, half released",
    }
)


@dataclass(frozen=True, slots=True)
class Reported:
    """What was seen of a node in one look at the list, or heard from the node itself.

    Attributes
    ----------
    state : up, initializing, stopping or down.
    reason : the provisioner's word, where it is not simply up.
    operating : the provisioner is at work on the node.
    undefined : the word is not one that this version knows: an event says so.
    """

    state: NodeAvailability
    reason: str = ""
    operating: bool = False
    undefined: bool = False


def reported_state(word: str, power: str | None, last: NodeAvailability | None) -> Reported:
    """Translate the provisioner's word for a node.

    Parameters
    ----------
    word : its status, such as "Deployed" or "Disk erasing"; in any case.
    power : "on" or "off"; anything else, and None, is unknown.
    last : what was reported of the node before; None at the first sight.

    Returns
    -------
    Reported
        A deployed node whose power is unknown keeps its last state. At the first sight it is down: nothing shows it up.
        A node that somebody else has is down, whatever he does with it: it does not serve us.
    """
    known = word.partition(OWNED_BY)[0].strip().lower()
    if whose(word):
        is_known = known == "deployed" or known in _AT_WORK or known in _DOWN
        return Reported(_A.DOWN, word, undefined=not is_known)
    if known == "deployed":
        if power == "on":
            return Reported(_A.UP)
        if power == "off":
            return Reported(_A.DOWN, f"{word}, power off")
        return Reported(last or _A.DOWN, f"{word}, power unknown")
    if known in _AT_WORK:
        return Reported(_AT_WORK[known], word, operating=True)
    return Reported(_A.DOWN, word, undefined=known not in _DOWN and not word.startswith(LISTED_TWICE))


@lru_cache(maxsize=1000)
def is_undefined(word: str) -> bool:
    """Tell whether a status is no word that this version knows."""
    return reported_state(word, None, None).undefined


def lower_of(provisioner: Reported, node: Reported | None) -> Reported:
    """Return the less available of what the provisioner and the node itself report; None: the node says nothing.

    What a node says may lower its state, and never raises it. Whether the provisioner is at work, it alone says.
    """
    if node is None or least_available((provisioner.state, node.state)) is provisioner.state:
        return provisioner
    return Reported(node.state, node.reason or f"the node says {node.state}", provisioner.operating)


def whose(word: str) -> str:
    """Return who else has a node, by the provisioner's word for it; "" where it says nothing of that."""
    return word.partition(OWNED_BY)[2]


def left_alone(word: str) -> str:
    """Say of a node that somebody else has what becomes of it, and what helps."""
    return f"the node list says {word}: it is left alone until {whose(word)} releases it"
