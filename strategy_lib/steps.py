"""The steps of a deployment: what comes next, for which nodes, on behalf of which group (rules 8, 11 and 58)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class Prepare:
    """Send these nodes (sorted) for prepare, on behalf of this group."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are sent for."""
        return Phase.PREPARE


@dataclass(frozen=True, slots=True)
class Deploy:
    """Send these nodes (sorted) for deploy, on behalf of this group."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are sent for."""
        return Phase.DEPLOY


@dataclass(frozen=True, slots=True)
class AskReady:
    """Ask these nodes (sorted), which are deployed, until they say that they are up, on behalf of this group."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are asked in."""
        return Phase.READY


@dataclass(frozen=True, slots=True)
class Release:
    """Destroy what stands on these nodes (sorted), on behalf of this group: they are prepared anew afterwards."""

    group: str
    nodes: tuple[str, ...]

    @property
    def phase(self) -> Phase:
        """The phase that the nodes are sent for."""
        return Phase.RELEASE


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to do: every group has a verdict."""


Step = Prepare | Deploy | AskReady | Release

_STEPS: Mapping[Phase, type[Step]] = {
    Phase.PREPARE: Prepare,
    Phase.DEPLOY: Deploy,
    Phase.READY: AskReady,
    Phase.RELEASE: Release,
}


def step_of(group: str, phase: Phase, nodes: tuple[str, ...]) -> Step:
    """Return the step of a phase."""
    return _STEPS[phase](group, nodes)
