"""What a provisioner's list says of a node: its condition, and the words that lists have for it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

OWNED_BY = ", owned by "
"""Behind a status: the name of somebody else, who has the node at the provisioner."""
IN_MAINTENANCE = ", in maintenance"
"""Behind a status: somebody has put the node aside; the reason may follow."""
TO_BE_REBUILT = ", to be rebuilt"
"""Behind a status: it serves until a deployment writes over it, for which it has been released."""
LISTED_TWICE = "listed twice, with different states: "
"""How the words for a node begin of which the list has two; their states follow."""


class NodeCondition(StrEnum):
    """Condition of a node as seen in the provisioner's own list of nodes; `NOT_LISTED`: the list did not have it.

    `RELEASING`: also while its disks are erased. `RESCUE`: it is in rescue mode, enters or leaves it, or is serviced.
    `UNFIT`: a person has to look at it first. `LISTED_TWICE`: the list has two machines of this name, in different
    states. `TO_REDEPLOY`: what is deployed has been released for a deployment that writes over it in its place.

    `OTHER`: a status that this version does not know.
    """

    NEW = "new"
    COMMISSIONING = "commissioning"
    READY = "ready"
    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    FAILED_COMMISSIONING = "failed_commissioning"
    FAILED_DEPLOYMENT = "failed_deployment"
    ALLOCATED = "allocated"
    FAILED_RELEASE = "failed_release"
    TESTING = "testing"
    FAILED_TESTING = "failed_testing"
    RELEASING = "releasing"
    RESCUE = "rescue"
    TO_REDEPLOY = "to_redeploy"
    UNFIT = "unfit"
    OTHER = "other"
    LISTED_TWICE = "listed_twice"
    NOT_LISTED = "not_listed"


MAAS_WORDS: Mapping[str, NodeCondition] = {
    "new": NodeCondition.NEW,
    "commissioning": NodeCondition.COMMISSIONING,
    "failed commissioning": NodeCondition.FAILED_COMMISSIONING,
    "missing": NodeCondition.UNFIT,
    "ready": NodeCondition.READY,
    "reserved": NodeCondition.UNFIT,
    "deployed": NodeCondition.DEPLOYED,
    "retired": NodeCondition.UNFIT,
    "broken": NodeCondition.UNFIT,
    "deploying": NodeCondition.DEPLOYING,
    "allocated": NodeCondition.ALLOCATED,
    "failed deployment": NodeCondition.FAILED_DEPLOYMENT,
    "releasing": NodeCondition.RELEASING,
    "releasing failed": NodeCondition.FAILED_RELEASE,
    "disk erasing": NodeCondition.RELEASING,
    "failed disk erasing": NodeCondition.FAILED_RELEASE,
    "rescue mode": NodeCondition.RESCUE,
    "entering rescue mode": NodeCondition.RESCUE,
    "failed to enter rescue mode": NodeCondition.UNFIT,
    "exiting rescue mode": NodeCondition.RESCUE,
    "failed to exit rescue mode": NodeCondition.UNFIT,
    "testing": NodeCondition.TESTING,
    "failed testing": NodeCondition.FAILED_TESTING,
}
"""What MAAS calls the states of machines, in lower case, whole and all of them; Drydock's list has the same words.

"Failed" begins the name of states that say nothing about a deployment.
"""


IRONIC_WORDS: Mapping[str, NodeCondition] = {
    "enroll": NodeCondition.NEW,
    "verifying": NodeCondition.COMMISSIONING,
    "manageable": NodeCondition.NEW,
    "inspecting": NodeCondition.COMMISSIONING,
    "inspect wait": NodeCondition.COMMISSIONING,
    "inspect failed": NodeCondition.FAILED_COMMISSIONING,
    "cleaning": NodeCondition.COMMISSIONING,
    "clean wait": NodeCondition.COMMISSIONING,
    "clean hold": NodeCondition.COMMISSIONING,
    "clean failed": NodeCondition.FAILED_COMMISSIONING,
    "available": NodeCondition.READY,
    "deploying": NodeCondition.DEPLOYING,
    "wait call-back": NodeCondition.DEPLOYING,
    "deploy hold": NodeCondition.DEPLOYING,
    "deploy failed": NodeCondition.FAILED_DEPLOYMENT,
    "active": NodeCondition.DEPLOYED,
    "deleting": NodeCondition.RELEASING,
    "error": NodeCondition.FAILED_RELEASE,
    "rescue": NodeCondition.RESCUE,
    "rescuing": NodeCondition.RESCUE,
    "rescue wait": NodeCondition.RESCUE,
    "unrescuing": NodeCondition.RESCUE,
    "rescue failed": NodeCondition.UNFIT,
    "unrescue failed": NodeCondition.UNFIT,
    "adopting": NodeCondition.COMMISSIONING,
    "adopt failed": NodeCondition.UNFIT,
    "servicing": NodeCondition.RESCUE,
    "service wait": NodeCondition.RESCUE,
    "service hold": NodeCondition.RESCUE,
    "service failed": NodeCondition.UNFIT,
}
"""What Ironic calls the states of nodes. It cleans a node once what was on it is gone, before it is available."""


def condition_of(word: str) -> NodeCondition:
    """Return the condition for a word of a list; OTHER for those that this version does not know."""
    return MAAS_WORDS.get(" ".join(word.lower().split()), NodeCondition.OTHER)


def whose(word: str) -> str:
    """Return who else has a node, by the provisioner's word for it; "" where it says nothing of that."""
    return word.partition(OWNED_BY)[2]


def left_alone(word: str) -> str:
    """Say of a node that somebody else has what becomes of it, and what helps."""
    return f"the node list says {word}: it is left alone until {whose(word)} releases it"
