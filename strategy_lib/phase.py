"""The words of a deployment: the phases of a group, steps on named nodes, states and reasons, the verdict."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """The two steps that a group goes through."""

    PREPARE = "prepare"
    DEPLOY = "deploy"


class NodeStep(StrEnum):
    """What can be done to named nodes besides deploying them: undo a deployment, and renew labels (rule 25)."""

    DESTROY = "destroy_nodes"
    RELABEL = "relabel_nodes"


def phase_from(text: str) -> Phase | NodeStep:
    """Return the phase or node step of this name; ValueError if there is none."""
    return Phase(text) if text in tuple(Phase) else NodeStep(text)


class GroupState(StrEnum):
    """State of a group in one deployment."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"


class Reason(StrEnum):
    """Why a group failed.

    `INTERRUPTED` is only set from outside: the task that drove the group ended without a verdict. `NODE_STEP`: its
    nodes were to be destroyed or relabelled, and not every one of them is proven done (rule 25).
    """

    PREPARE_CRITERIA = "prepare_criteria"
    DEPLOY_CRITERIA = "deploy_criteria"
    DEPENDENCY = "dependency"
    INTERRUPTED = "interrupted"
    NODE_STEP = "node_step"


class Verdict(StrEnum):
    """How a whole deployment ended (rule 19)."""

    SUCCESS = "success"
    FAILURE = "failure"
