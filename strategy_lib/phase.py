"""The words of a deployment: the two phases of a group, the states and reasons of a group, the verdict."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """The two steps that a group goes through."""

    PREPARE = "prepare"
    DEPLOY = "deploy"


class GroupState(StrEnum):
    """State of a group in one deployment."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"


class Reason(StrEnum):
    """Why a group failed.

    `INTERRUPTED` is only set from outside: the task that drove the group ended without a verdict.
    """

    PREPARE_CRITERIA = "prepare_criteria"
    DEPLOY_CRITERIA = "deploy_criteria"
    DEPENDENCY = "dependency"
    INTERRUPTED = "interrupted"


class Verdict(StrEnum):
    """How a whole deployment ended (rule 19)."""

    SUCCESS = "success"
    FAILURE = "failure"
