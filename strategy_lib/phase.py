"""The words of a deployment: the phases, states and reasons, the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """What one provisioner task is asked to do: the one list of it. The values are stored, and stand in the REST API.

    `READY` is no provisioner's: the agents of nodes that were deployed are asked until they say that they are up, for a
    group that asks for it (rule 58). `RELEASE` destroys what is on nodes before their group prepares them (rule 11):
    the same request as `DESTROY`, but on behalf of a group. `DESTROY` and `RELABEL` are for named nodes without a group
    (rule 25).
    """

    PREPARE = "prepare"
    DEPLOY = "deploy"
    READY = "ready"
    RELEASE = "release"
    VERIFY_SITE = "verify_site"
    PREPARE_SITE = "prepare_site"
    DESTROY = "destroy_nodes"
    RELABEL = "relabel_nodes"

    @property
    def is_node_step(self) -> bool:
        """Whether it is for named nodes without a group."""
        return self in NODE_STEPS

    @property
    def is_of_nodes(self) -> bool:
        """Whether it is for nodes at all, and not for a whole site."""
        return self not in (Phase.VERIFY_SITE, Phase.PREPARE_SITE)


GROUP_PHASES: Final = (Phase.PREPARE, Phase.DEPLOY, Phase.READY)
"""What a group goes through, in order; the last one only where it asks for it (rule 58)."""

SUBMITTED_PHASES: Final = (Phase.PREPARE, Phase.DEPLOY)
"""Those of them that are sent to a provisioner."""

NODE_STEPS: Final = (Phase.DESTROY, Phase.RELABEL)
"""What an action can do to named nodes besides deploying them; a step of its DAG has the same name."""


class GroupState(StrEnum):
    """State of a group in one deployment."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"


class Reason(StrEnum):
    """Why a group failed.

    `INTERRUPTED` is only set from outside: the task that drove the group ended without a verdict. `NODE_STEP`: its
    nodes were to be destroyed or relabelled, and not every one of them is proven done (rule 25). `APPROVAL`: it asked a
    person, who refused, or did not answer in time. `CANARY`: of the nodes that it deploys first, one did not succeed
    (rule 59).
    """

    PREPARE_CRITERIA = "prepare_criteria"
    DEPLOY_CRITERIA = "deploy_criteria"
    READY_CRITERIA = "ready_criteria"
    DEPENDENCY = "dependency"
    INTERRUPTED = "interrupted"
    NODE_STEP = "node_step"
    APPROVAL = "approval"
    CANARY = "canary"


class Verdict(StrEnum):
    """How a whole deployment ended (rule 19)."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Step:
    """Send these nodes (sorted) for this phase, on behalf of this group."""

    group: str
    phase: Phase
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do: every group has a verdict."""
