"""What the provisioner's list of nodes says about the state of a node: its words, and its power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from strategy_lib.node_condition import (
    IN_MAINTENANCE,
    IRONIC_WORDS,
    LISTED_TWICE,
    MAAS_WORDS,
    OWNED_BY,
    TO_BE_REBUILT,
    NodeCondition,
    whose,
)
from strategy_lib.node_states.generated import REPORTED, NodeAvailability, least_available

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
    "deleting": _A.STOPPING,
}
_AT_WORK = {
    **{
        word: _A.INITIALIZING
        for word, condition in IRONIC_WORDS.items()
        if condition in (NodeCondition.COMMISSIONING, NodeCondition.DEPLOYING)
    },
    **_AT_WORK,
}
_DEPLOYED = frozenset({"deployed", "active"})
# MAAS has no word for what its "Deployed" hides after a release that went wrong half-way.
_DOWN = {*MAAS_WORDS, *IRONIC_WORDS, "deployed, half released"} - {*_AT_WORK, *_DEPLOYED}


@dataclass(frozen=True, slots=True)
class Reported:
    """What was seen of a node in one look at the list, or heard from the node itself.

    Attributes
    ----------
    state : up, initializing, stopping or down.
    reason : the provisioner's word, where it is not simply up.
    operating : the provisioner is at work on the node.
    undefined : the word is not one that this version knows: an event says so.
    signed : the version of the signature by which a node said it (rule 63); 0: nobody signed it.
    """

    state: NodeAvailability
    reason: str = ""
    operating: bool = False
    undefined: bool = False
    signed: int = field(default=0, compare=False)


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
    known = word.partition(OWNED_BY)[0].partition(IN_MAINTENANCE)[0].strip().lower()
    known = known.removesuffix(", retired").removesuffix(TO_BE_REBUILT)
    if whose(word):
        is_known = known in _DEPLOYED or known in _AT_WORK or known in _DOWN
        return Reported(_A.DOWN, word, undefined=not is_known)
    if known in _DEPLOYED:
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


UNNAMED = "its answer does not name its node (signature of version 1)"
"""Of an answer: another node that has the site's key may have given it."""
UNNAMED_ADVICE = f"{UNNAMED}, so that another node could answer in its place: put the present agent on it"
UNNAMED_NOW = f"{UNNAMED}, and it has answered by version 2 before: put the present agent on it"
LONGEST_REASON = 200
"""Characters of a node's reason that are kept: it is told to everybody."""
_WORDS = {state.value: state for state in NodeAvailability if state in REPORTED}


@dataclass(frozen=True, slots=True)
class Hearing:
    """The last word of a node.

    Attributes
    ----------
    word : what it said.
    silent_since : when it first did not answer after that; None: it answers, or was not asked since. Seconds.
    """

    word: Reported
    silent_since: float | None = None

    def silent(self, now: float) -> Hearing:
        """Return it after the node did not answer."""
        return self if self.silent_since is not None else replace(self, silent_since=now)

    def holds(self, now: float, transition_time: float) -> bool:
        """Tell whether the word holds still: of a node that does not answer for the transition time, as a restart may.

        After that it is as if the node said nothing: the provisioner's list alone decides.
        """
        return self.silent_since is None or now < self.silent_since + transition_time


def read_word(data: object) -> Reported:
    """Return what a node's answer says. Raises `ValueError`: it is none that this version knows."""
    said = data if isinstance(data, Mapping) else {}
    state = said.get("state")
    if not isinstance(state, str) or state not in _WORDS:
        raise ValueError(f"state must be {', '.join(_WORDS)}")
    reason = said.get("reason")
    printable = "".join(sign if sign.isprintable() else " " for sign in reason) if isinstance(reason, str) else ""
    return Reported(_WORDS[state], " ".join(printable.split())[:LONGEST_REASON])


def said_by(reported: Reported, provisioner: Reported) -> str:
    """Return what the node says, where it is that which lowers its state; "" where the provisioner's word decides."""
    return reported.reason if reported.state is not provisioner.state else ""


def reason_with(reason: str, said: str) -> str:
    """Return the reason of a published state, with what the node says of itself."""
    return f"{reason}; the node says: {said}" if said else reason
