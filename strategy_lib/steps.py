"""The steps of a deployment: what comes next, for which nodes, on behalf of which group (rules 8, 11 and 58)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class NodeStep:
    """What is done with these nodes (sorted), on behalf of this group. Steps of two kinds are never equal."""

    phase: ClassVar[Phase]

    group: str
    nodes: tuple[str, ...]


class Prepare(NodeStep):
    """Send the nodes for prepare."""

    __slots__ = ()
    phase = Phase.PREPARE


class Deploy(NodeStep):
    """Send the nodes for deploy."""

    __slots__ = ()
    phase = Phase.DEPLOY


class AskReady(NodeStep):
    """Ask the nodes, which are deployed, until they say that they are up."""

    __slots__ = ()
    phase = Phase.READY


class Release(NodeStep):
    """Destroy what stands on the nodes: they are prepared anew afterwards."""

    __slots__ = ()
    phase = Phase.RELEASE


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do: every group has a verdict."""


Step = Prepare | Deploy | AskReady | Release

_STEPS: Mapping[Phase, type[Step]] = {step.phase: step for step in (Prepare, Deploy, AskReady, Release)}


def step_of(group: str, phase: Phase, nodes: tuple[str, ...]) -> Step:
    """Return the step of a phase."""
    return _STEPS[phase](group, nodes)
