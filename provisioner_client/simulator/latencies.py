"""How long each stage of a node takes, in simulated seconds; one seed gives one result in any order of work. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping

from provisioner_client.simulator.machines import Phase

# Typical of a rack server: commissioning takes minutes, installing an operating system about ten.
STAGE_SECONDS: Mapping[Phase, tuple[float, ...]] = {
    Phase.PREPARE: (5.0, 20.0, 100.0, 240.0),
    Phase.DEPLOY: (20.0, 15.0, 540.0, 30.0),
    Phase.DESTROY: (120.0,),
    Phase.RELABEL: (5.0,),
}
AT_ONCE_SECONDS = 0.5
SITE_SECONDS: Mapping[str, float] = {
    "validate_design": 2.0,
    "verify_site": 8.0,
    "prepare_site": 30.0,
    "verify_nodes": 10.0,
}


def stage_seconds(seed: int, node: str, phase: Phase, attempt: int) -> tuple[float, ...]:
    """Return the simulated seconds of each stage of one submission of a node (same order as `scripts.STAGES`)."""
    source = random.Random(f"{seed}:{node}:{phase}:{attempt}")
    pace = source.uniform(0.8, 1.25)
    return tuple(base * pace * source.uniform(0.85, 1.2) for base in STAGE_SECONDS[phase])


def site_seconds(seed: int, action: str, ordinal: int) -> float:
    """Return the simulated seconds of an action without a course for each node; `ordinal`: its place in the queue."""
    return SITE_SECONDS[action] * random.Random(f"{seed}:{action}:{ordinal}").uniform(0.85, 1.2)
